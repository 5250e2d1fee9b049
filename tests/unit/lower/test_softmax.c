/* SPDX-License-Identifier: MIT */
/* Softmax of bytes: what comes out is the quotient, however fine the output's scale and however many the elements. */
#include "tests/unit/support/onnx_file.h"

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

enum { LINES = 3, MOST = 40 };

/* Bytes -> softmax -> bytes; *inner: how far apart the elements of a line lie in the step that computes it. */
static uint8_t *softmax_of(const char *dims, int axis, float x_scale, float y_scale, size_t *bytes, uint32_t *inner) {
    static const struct blob_extras none = {0};
    const struct number scales[2] = {{(double)x_scale, 0}, {(double)y_scale, 0}}, zeros[2] = {{0, 128}, {0, 0}};
    struct bytes file = {0};
    struct onnx_report report = {0};
    char attributes[20];
    snprintf(attributes, sizeof attributes, "axis:%d opset:13", axis);
    add_value(&file, 11, "x", ONNX_UINT8, dims);
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "xs", ONNX_FLOAT, 0, NULL, &scales[0], 1);
    add_constant(&file, "xz", ONNX_UINT8, 0, NULL, &zeros[0], 1);
    add_constant(&file, "ys", ONNX_FLOAT, 0, NULL, &scales[1], 1);
    add_constant(&file, "yz", ONNX_UINT8, 0, NULL, &zeros[1], 1);
    add_node(&file, "softmax", "ms.QLinearSoftmax", "x xs xz ys yz", "y", attributes);
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s", report.refusals[0].why);
    for (uint32_t i = 0; i < net->step_count; i++)
        if (net->steps[i]->kind == MORSEL_STEP_SOFTMAX) *inner = net->steps[i]->parameters.softmax.inner;
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &none, bytes);
    assert_non_null(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return blob;
}

/* lines of `count` bytes each */
static uint8_t *softmax_blob(int count, float x_scale, float y_scale, size_t *bytes) {
    uint32_t inner;
    char dims[20];
    snprintf(dims, sizeof dims, "%d,%d", LINES, count);
    return softmax_of(dims, -1, x_scale, y_scale, bytes, &inner);
}

static void run(const uint8_t *blob, size_t bytes, uint32_t cpu, const uint8_t *x, uint8_t *y) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu};
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    memcpy(v.data, x, v.bytes);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
    memcpy(y, v.data, v.bytes);
    free(arena);
}

/* Within half a step, and what floats round. ONNX Runtime takes whole steps in 1. */
static void compare_line(const uint8_t *x, const uint8_t *y, int count, float x_scale, float y_scale, uint32_t seen[2]) {
    double sum = 0, steps = floor((double)(1 / y_scale));
    for (int i = 0; i < count; i++) sum += exp((double)x[i] * (double)x_scale);
    for (int i = 0; i < count; i++) {
        double want = exp((double)x[i] * (double)x_scale) * steps / sum;
        seen[want > 255]++;
        if (want > 255 ? y[i] < 254 : fabs(y[i] - want) > 0.51)
            fail_msg("%d elements, scales %g and %g: %d, not %g", count, (double)x_scale, (double)y_scale, y[i], want);
    }
}

static void any_scale_gives_the_quotient(void **unused) {
    (void)unused;
    static const int counts[] = {1, 2, 3, 10, MOST};
    static const float x_scales[] = {1e-4f, 0.01f, 0.1f}, each[] = {0.5f, 1, 100, 147, 149, 200, 255, 1000, 1e6f, 1e30f};
    uint32_t random = 1, seen[2] = {0, 0};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t s = 0; s < sizeof x_scales / sizeof *x_scales; s++)
            for (size_t e = 0; e < sizeof each / sizeof *each; e++) {
                uint8_t x[LINES * MOST], y[LINES * MOST], plain[LINES * MOST];
                float y_scale = 1 / (each[e] * (float)counts[c]); /* so many steps for each element */
                size_t bytes;
                uint8_t *blob = softmax_blob(counts[c], x_scales[s], y_scale, &bytes);
                for (int i = 0; i < LINES * counts[c]; i++) x[i] = (uint8_t)builder_between(&random, 150, 255);
                run(blob, bytes, MORSEL_CPU_ALL, x, y);
                run(blob, bytes, MORSEL_CPU_C, x, plain);
                assert_memory_equal(y, plain, (size_t)(LINES * counts[c]));
                for (int i = 0; i < LINES; i++) compare_line(x + i * counts[c], y + i * counts[c], counts[c], x_scales[s], y_scale, seen);
                free(blob);
            }
    assert_true(seen[0] > 500 && seen[1] > 500);
}

/* Kernels take lines that lie in order: others are gathered so, and the output is seen in its own order. */
static void lines_that_lie_apart_are_put_in_order(void **unused) {
    (void)unused;
    enum { OUTER = 2, COUNT = 12, INNER = 5, ALL = OUTER * COUNT * INNER };
    uint8_t x[ALL], y[ALL], in[COUNT], out[COUNT];
    uint32_t inner = 0, seen[2] = {0};
    size_t bytes;
    uint8_t *blob = softmax_of("2,12,5", 1, 0.05F, 1 / 256.0F, &bytes, &inner);
    assert_int_equal(inner, 1);
    for (int i = 0; i < ALL; i++) x[i] = (uint8_t)(i * 37 % 101);
    run(blob, bytes, 0, x, y);
    for (int line = 0; line < OUTER * INNER; line++) {
        int first = line / INNER * COUNT * INNER + line % INNER;
        for (int i = 0; i < COUNT; i++) in[i] = x[first + i * INNER];
        for (int i = 0; i < COUNT; i++) out[i] = y[first + i * INNER];
        compare_line(in, out, COUNT, 0.05F, 1 / 256.0F, seen);
    }
    free(blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_scale_gives_the_quotient),
                                       cmocka_unit_test(lines_that_lie_apart_are_put_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
