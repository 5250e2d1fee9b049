/* SPDX-License-Identifier: MIT */
/* Convolutions whose windows reach far into the padding: taps that never meet the picture go, and the answer stays what ONNX says. */
#include "tests/unit/support/onnx_file.h"

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

enum { MOST = 6, TAPS = 4, CHANNELS = 4, X_ZERO = 7, Y_ZERO = 100 };

struct axis {
    int in, out, kernel, stride, dilation, before, after;
};

struct trial {
    struct axis rows, columns;
    int groups;
    int8_t weights[CHANNELS * CHANNELS * TAPS * TAPS];
    uint8_t x[CHANNELS * MOST * MOST];
};

/* Half of all axes have dilations that leave one tap inside. */
static struct axis random_axis(uint32_t *random) {
    for (;;) {
        struct axis a = {.in = (int)builder_between(random, 1, MOST), .kernel = (int)builder_between(random, 1, TAPS)};
        a.stride = (int)builder_between(random, 1, 3);
        a.dilation = (int)builder_between(random, 1, builder_between(random, 0, 1) ? 2 : 20);
        int reach = (a.kernel - 1) * a.dilation;
        a.before = builder_between(random, 0, 1) ? reach / 2 : (int)builder_between(random, 0, (uint32_t)reach + 2);
        a.after = builder_between(random, 0, 1) ? reach / 2 : (int)builder_between(random, 0, (uint32_t)reach + 2);
        int room = a.in + a.before + a.after - reach - 1;
        a.out = room / a.stride + 1;
        if (room >= 0 && a.out <= 2 * MOST) return a;
    }
}

/* Whether the first or the last tap of an axis lies in the padding in every window. */
static bool is_idle(const struct axis *a, int tap) {
    for (int o = 0; o < a->out; o++) {
        int at = o * a->stride + tap * a->dilation - a->before;
        if (at >= 0 && at < a->in) return false;
    }
    return true;
}

static uint8_t want_at(const struct trial *t, int o, int oy, int ox) {
    const struct axis *r = &t->rows, *c = &t->columns;
    int each = CHANNELS / t->groups, sum = 0;
    for (int i = 0; i < each; i++)
        for (int ky = 0; ky < r->kernel; ky++)
            for (int kx = 0; kx < c->kernel; kx++) {
                int iy = oy * r->stride + ky * r->dilation - r->before, ix = ox * c->stride + kx * c->dilation - c->before;
                if (iy < 0 || iy >= r->in || ix < 0 || ix >= c->in) continue;
                int x = t->x[((o / each * each + i) * r->in + iy) * c->in + ix];
                sum += (x - X_ZERO) * t->weights[((o * each + i) * r->kernel + ky) * c->kernel + kx];
            }
    double y = nearbyint(sum / 256.0) + Y_ZERO;
    return (uint8_t)(y < 0 ? 0 : y > 255 ? 255 : y);
}

static void add_byte(struct bytes *file, const char *name, double v) {
    const struct number number = {v, (int64_t)v};
    add_constant(file, name, ONNX_UINT8, 0, NULL, &number, 1);
}

static void add_float(struct bytes *file, const char *name, double v) {
    const struct number number = {v, 0};
    add_constant(file, name, ONNX_FLOAT, 0, NULL, &number, 1);
}

static struct onnx_graph *graph_of(const struct trial *t) {
    const struct axis *r = &t->rows, *c = &t->columns;
    const int64_t dims[] = {CHANNELS, CHANNELS / t->groups, r->kernel, c->kernel};
    struct number weights[sizeof t->weights], zero = {0, 0};
    struct bytes file = {0};
    char shape[40], attributes[200];
    for (size_t i = 0; i < sizeof t->weights; i++) weights[i] = (struct number){0, t->weights[i]};
    snprintf(shape, sizeof shape, "1,%d,%d,%d", CHANNELS, r->in, c->in);
    snprintf(attributes, sizeof attributes, "group:%d strides=%d,%d dilations=%d,%d pads=%d,%d,%d,%d", t->groups, r->stride, c->stride,
             r->dilation, c->dilation, r->before, c->before, r->after, c->after);
    add_value(&file, 11, "x", ONNX_UINT8, shape);
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_float(&file, "xs", 0.25);
    add_byte(&file, "xz", X_ZERO);
    add_constant(&file, "w", ONNX_INT8, 4, dims, weights, (size_t)(dims[0] * dims[1] * dims[2] * dims[3]));
    add_float(&file, "ws", 0.5);
    add_constant(&file, "wz", ONNX_INT8, 0, NULL, &zero, 1);
    add_float(&file, "ys", 32);
    add_byte(&file, "yz", Y_ZERO);
    add_node(&file, "conv", "QLinearConv", "x xs xz w ws wz ys yz", "y", attributes);
    struct bytes model = model_message(&file, 13);
    return inferred_bytes(&model);
}

static void run(const uint8_t *blob, size_t bytes, uint32_t cpu, const struct trial *t) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu};
    const struct axis *r = &t->rows, *c = &t->columns;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (int i = 0; i < CHANNELS; i++)
        for (int p = 0; p < r->in * c->in; p++) ((uint8_t *)v.data)[p * CHANNELS + i] = t->x[i * r->in * c->in + p];
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
    for (int oy = 0; oy < r->out; oy++)
        for (int ox = 0; ox < c->out; ox++)
            for (int o = 0; o < CHANNELS; o++)
                assert_int_equal(((const uint8_t *)v.data)[(oy * c->out + ox) * CHANNELS + o], want_at(t, o, oy, ox));
    free(arena);
}

/* Returns the taps that the blob multiplies. */
static int try_one(const struct trial *t) {
    static const struct blob_extras none = {0};
    struct onnx_report report = {0};
    struct onnx_graph *graph = graph_of(t);
    struct net *net = lower(graph, &report);
    size_t bytes;
    if (!net) fail_msg("%s", report.refusals[0].why);
    const struct morsel_blob_window *w = &net->steps[0]->parameters.conv.window;
    int taps = (int)(w->kernel_h * w->kernel_w);
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &none, &bytes);
    assert_non_null(blob);
    run(blob, bytes, MORSEL_CPU_ALL, t);
    run(blob, bytes, MORSEL_CPU_C, t);
    free(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return taps;
}

static void idle_taps_go_and_the_answer_stays(void **unused) {
    (void)unused;
    static const int groups[] = {1, 2, CHANNELS};
    uint32_t random = 1;
    int shorter = 0;
    for (int i = 0; i < 2000; i++) {
        struct trial t = {.rows = random_axis(&random), .columns = random_axis(&random), .groups = groups[i % 3]};
        for (size_t k = 0; k < sizeof t.weights; k++) t.weights[k] = (int8_t)((int)builder_between(&random, 0, 255) - 128);
        for (size_t k = 0; k < sizeof t.x; k++) t.x[k] = (uint8_t)builder_between(&random, 0, 255);
        shorter += try_one(&t) < t.rows.kernel * t.columns.kernel;
    }
    assert_true(shorter > 500);
}

static void a_dilation_wider_than_the_picture_leaves_one_tap(void **unused) {
    (void)unused;
    const struct axis wide = {6, 6, 3, 1, 6, 6, 6}, narrow = {6, 6, 3, 1, 5, 5, 5}, one = {1, 1, 3, 1, 1, 1, 1};
    const struct axis late = {6, 2, 3, 3, 9, 9, 7}, *axes[] = {&wide, &narrow, &one, &late};
    static const int left[] = {1, 3, 1, 2};
    for (int i = 0; i < 16; i++) {
        struct trial t = {.rows = *axes[i / 4], .columns = *axes[i % 4], .groups = 1};
        memset(t.weights, 3, sizeof t.weights);
        memset(t.x, 200, sizeof t.x);
        assert_int_equal(is_idle(&t.rows, 0), left[i / 4] < 3);
        assert_int_equal(try_one(&t), left[i / 4] * left[i % 4]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle_taps_go_and_the_answer_stays),
                                       cmocka_unit_test(a_dilation_wider_than_the_picture_leaves_one_tap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
