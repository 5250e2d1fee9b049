/* SPDX-License-Identifier: MIT */
/* Embeddings in bytes with a scale for each line: the floats of their DequantizeLinear, to the bit, and no table of floats. */
#include "tests/unit/support/onnx_file.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

enum { ROWS = 5, WIDTH = 6, IDS = 4 };

static float scale_of(int row) {
    return 0.01f + 0.003f * (float)row;
}

static int byte_of(int i) {
    return i * 37 % 255 - 127;
}

/* The Gather of `IDS` lines of a table whose zero points go up by `by` from line to line. */
static struct onnx_graph *embedding(int by) {
    static const int64_t table[] = {ROWS, WIDTH}, lines[] = {ROWS};
    struct number bytes_[ROWS * WIDTH], scales[ROWS], zeros[ROWS];
    struct bytes file = {0};
    for (int i = 0; i < ROWS * WIDTH; i++) bytes_[i] = (struct number){0, byte_of(i)};
    for (int r = 0; r < ROWS; r++) scales[r] = (struct number){(double)scale_of(r), 0}, zeros[r] = (struct number){0, 3 + by * r};
    add_value(&file, 11, "ids", ONNX_INT64, "1,4");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "w", ONNX_INT8, 2, table, bytes_, ROWS * WIDTH);
    add_constant(&file, "s", ONNX_FLOAT, 1, lines, scales, ROWS);
    add_constant(&file, "z", ONNX_INT8, 1, lines, zeros, ROWS);
    add_node(&file, "dequantize", "DequantizeLinear", "w s z", "f", "axis:0");
    add_node(&file, "gather", "Gather", "f ids", "y", "");
    struct bytes model = model_message(&file, 13);
    return inferred_bytes(&model);
}

static void check(int by, uint32_t steps, uint32_t largest) {
    static const int32_t ids[IDS] = {4, 0, -1, 2};
    struct onnx_report report = {0};
    struct onnx_graph *graph = embedding(by);
    struct net *net = lower(graph, &report);
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    size_t bytes;
    if (!net) fail_msg("%s", report.refusals[0].why);
    assert_int_equal(net->step_count, steps);
    for (uint32_t i = 0; i < net->step_count; i++)
        if (net->steps[i]->kind == MORSEL_STEP_LOOKUP) assert_true(net->steps[i]->constants[0].bytes <= largest);
    uint8_t *blob = blob_of(net, &bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), NULL), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    memcpy(v.data, ids, sizeof ids);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
    for (int i = 0; i < IDS * WIDTH; i++) {
        const int row = (ids[i / WIDTH] + ROWS) % ROWS;
        const float want = (float)(byte_of(row * WIDTH + i % WIDTH) - (3 + by * row)) * scale_of(row);
        assert_true(((const float *)v.data)[i] == want);
    }
    free(arena);
    free(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void lines_have_scales_of_their_own(void **unused) {
    (void)unused;
    check(0, 3, ROWS * WIDTH);
}

/* Then the table is one of floats. */
static void zero_points_that_differ_do_not(void **unused) {
    (void)unused;
    check(1, 1, ROWS * WIDTH * sizeof(float));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_scales_of_their_own),
        cmocka_unit_test(zero_points_that_differ_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
