/* SPDX-License-Identifier: MIT */
/* Forms of float networks that were lowered to something else: the blob gives what the network gives, NaN for NaN. */
#include "tests/unit/support/graph_words.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

#include <math.h>

static const struct {
    const char *x, *text;
} forms[] = {
    /* a left operand whose lines are one number each */
    {"4,60", "Slice x $0 $1 $1 > s; Expand s $4,3 > b; Slice x $0 $3 $0 > r; Slice r $0 $2 $1 > q; MatMul b q > y"},
    {"4,60", "Slice x $2 $3 $1 > s; Tile s $1,3 > b; Slice x $0 $3 $0 > r; Slice r $0 $2 $1 > q; MatMul b q > y"},
    /* constants on the left, by batch, in a batch of one, and a vector */
    {"2,10,12", "MatMul %7x10 x > y"},
    {"2,10,12", "MatMul %2x7x10 x > y"},
    {"4,3,20", "MatMul x %4x20x5 > y"},
    {"4,3,20", "MatMul x %1x20x5 > y"},
    {"4,3,20", "MatMul x %20 > y"},
    {"1,12,20", "MatMul x %4x20x5 > y"},
};

static bool alike(float a, float b) {
    return (isnan(a) && isnan(b)) || a == b || fabsf(a - b) <= 1e-5F * fmaxf(1, fabsf(b));
}

static void blobs_give_what_networks_give(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const char *text = forms[k].text;
        struct onnx_report report = {0};
        struct onnx_graph *graph = network(14, forms[k].x, text), *same = network(14, forms[k].x, text);
        float x[240];
        uint32_t random = 7;
        size_t count;
        for (int i = 0; i < 240; i++) x[i] = ((float)builder_between(&random, 0, 6000) - 3000) / 2000;
        float *want = run_graph(graph, x, &count);
        graph_optimize(same, NULL);
        same->floats_meant = true;
        struct net *net = lower(same, &report);
        if (!net) fail_msg("%s: %s", text, report.refusals[0].why);
        for (uint32_t cpu = 0; cpu < 2; cpu++) {
            float *got = run_floats(net, cpu ? MORSEL_CPU_ALL : MORSEL_CPU_C, x, count);
            for (size_t i = 0; i < count; i++)
                if (!alike(got[i], want[i])) fail_msg("%s: %zu is %g, not %g", text, i, (double)got[i], (double)want[i]);
            free(got);
        }
        net_free(net);
        free(want);
        onnx_report_free(&report);
        onnx_free(graph);
        onnx_free(same);
    }
}

/* An operator that is taken in other forms is not said to be none. */
static void what_is_taken_is_said(void **unused) {
    (void)unused;
    static const char *const refused[][2] = {
        {"TopK x $17 > v i; Pow i $2 > y", "this TopK is not supported: taken is a constant number of floats along an axis"},
        {"Hardmax x > y axis:0", "export it with opset_version=13"},
        {"Tile x $1,2 > t; ReduceProd t > y", "this ReduceProd is not supported: taken are floats along axes of up to 64 in all"},
        {"IsNaN x > n; Cast n > y to:1", "this IsNaN is not supported: taken is one behind a Softmax"},
        {"Det x > y", "operator Det is not supported"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct onnx_report report = {0};
        struct onnx_graph *graph = network(12, "4,60", refused[i][0]);
        graph_optimize(graph, NULL);
        assert_null(lower(graph, &report));
        if (!strstr(report.refusals[0].why, refused[i][1])) fail_msg("%s: %s", refused[i][0], report.refusals[0].why);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blobs_give_what_networks_give), cmocka_unit_test(what_is_taken_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
