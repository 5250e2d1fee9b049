/* SPDX-License-Identifier: MIT */
/* Zero points of weights: a channel whose weights are bytes without it, too, has none in the blob. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"

#include <stddef.h>

enum { CHANNELS = 3 };

static void add_one(struct bytes *file, const char *name, enum onnx_type type, double v) {
    const struct number number = {v, (int64_t)v};
    add_constant(file, name, type, 0, NULL, &number, 1);
}

static const void *constant_at(const struct net_step *step, size_t field) {
    for (size_t i = 0; i < NET_MAX_CONSTANTS; i++)
        if (step->constants[i].data && step->constants[i].field == field) return step->constants[i].data;
    return NULL;
}

/* Two inputs to three outputs: weights in uint8 with the zero point 120, which are stored minus 128. */
static void try_weights(const int *weights, bool any, const int32_t *zeros) {
    static const int64_t dims[] = {CHANNELS, 2, 1, 1};
    struct number w[CHANNELS * 2];
    struct bytes file = {0};
    struct onnx_report report = {0};
    for (int i = 0; i < CHANNELS * 2; i++) w[i] = (struct number){0, weights[i]};
    add_value(&file, 11, "x", ONNX_UINT8, "1,2,1,1");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_one(&file, "s", ONNX_FLOAT, 0.5);
    add_one(&file, "z", ONNX_UINT8, 120);
    add_constant(&file, "w", ONNX_UINT8, 4, dims, w, CHANNELS * 2);
    add_node(&file, "conv", "QLinearConv", "x s z w s z s z", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s", report.refusals[0].why);
    const size_t sums = offsetof(struct morsel_blob_conv, sums);
    const int8_t *packed = constant_at(net->steps[0], sums + offsetof(struct morsel_blob_sums, weights));
    const int32_t *zero = constant_at(net->steps[0], sums + offsetof(struct morsel_blob_sums, weight_zero));
    assert_int_equal(zero != NULL, any);
    for (int c = 0; c < CHANNELS; c++) {
        if (zero) assert_int_equal(zero[c], zeros[c]);
        for (int i = 0; i < 2; i++) assert_int_equal(packed[4 * c + i] - zeros[c], weights[2 * c + i] - 120);
        for (int i = 2; i < 4; i++) assert_int_equal(packed[4 * c + i], zeros[c]); /* padding adds nothing */
    }
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void zero_points_go_where_weights_stay_bytes(void **unused) {
    (void)unused;
    static const int32_t none[CHANNELS] = {0}, some[CHANNELS] = {0, -8, 0};
    try_weights((const int[]){0, 247, 120, 119, 100, 200}, false, none);
    try_weights((const int[]){0, 247, 120, 248, 100, 200}, true, some); /* 248 - 120 is 128 */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(zero_points_go_where_weights_stay_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
