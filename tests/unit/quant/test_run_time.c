/* SPDX-License-Identifier: MIT */
/* Layers that quantize their input at run time among static ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/lower/lower.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/insert/place.h"

static void one(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -1;
    *high = 1;
}

static int steps_of(const struct net *net, enum morsel_step_kind kind) {
    int count = 0;
    for (uint32_t i = 0; i < net->step_count; i++) count += net->steps[i]->kind == kind;
    return count;
}

/* How many products of the blob find their scales as they run, and how many have them. */
static void check(const char *text, const char *shape, const char *named, const char *excluded, int dynamic, int fixed) {
    struct onnx_graph *g = network(13, shape, text);
    const struct scheme_options options = {.at_run_time = &named,
                                           .at_run_time_count = 1,
                                           .excluded = &excluded,
                                           .excluded_count = excluded != NULL};
    struct scheme *s = place(g, &options);
    scheme_set_ranges(s, one, NULL);
    scheme_make_layers(s);
    int layers = 0;
    for (size_t i = 0; i < s->layer_count; i++) layers += s->layers[i].dynamic;
    struct onnx_graph *made = insert(s);
    struct onnx_report report = {0};
    struct net *net = lower(made, &report);
    assert_non_null(net);
    if (layers != dynamic || steps_of(net, MORSEL_STEP_DYNAMIC_FC) + steps_of(net, MORSEL_STEP_DYNAMIC_CONV) != dynamic ||
        steps_of(net, MORSEL_STEP_FC) + steps_of(net, MORSEL_STEP_CONV) != fixed)
        fail_msg("%s, %s at run time", text, named);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(made);
    onnx_free(g);
}

static void layers_are_chosen_one_by_one(void **state) {
    (void)state;
    const char *words = "MatMul x %6x6 > m; Add m %6 > a; Relu a > r; Gemm r %6x6 %6 > h transB:1; Relu h > y";
    const char *both = "Conv x %6x4x8x8 > c; Flatten c > f; Gemm f %3x6 > y transB:1";
    check(both, "1,4,8,8", "Conv", NULL, 1, 1);
    check(both, "1,4,8,8", "Gemm", NULL, 1, 1);
    check(both, "1,4,8,8", "MatMul", NULL, 1, 1); /* a Gemm is one */
    check(words, "4,6", "MatMul", NULL, 2, 0);
    check(words, "4,6", "MatMul", "MatMul", 1, 0);                               /* float comes first */
    check("Gemm x %4x6 %6 > h transA:1; Relu h > y", "4,6", "Gemm", NULL, 0, 1); /* no rows */
    check("Conv x %6x4x1x1 > c; Relu c > r; Conv r %6x6x1x1 > y", "1,4,8,8", "Conv", NULL, 2, 0);
    check("Conv x %6x4x1x1 > c; Relu c > r; Conv r %6x6x1x1 > y", "2,4,8,8", "Conv", NULL, 0, 2);                /* several pictures */
    check("MatMul x %6x6 > m; Transpose m > t; MatMul m t > p; MatMul p %4x6 > y", "4,6", "MatMul", NULL, 2, 0); /* p has no weights */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_are_chosen_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
