/* SPDX-License-Identifier: MIT */
/* GridSample and NonMaxSuppression: one step each, and what is refused says what to do. */
#include "tests/unit/support/graph_words.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

enum { ELEMENTS = 96 };

static const struct sampled {
    const char *text;
    uint32_t steps;
} samples[] = {
    {"GridSample x %1x3x5x2 > y", 1},
    {"GridSample x %1x3x5x2 > y mode@nearest padding_mode@border align_corners:1", 1},
    {"Relu x > r; GridSample r %1x3x5x2 > s padding_mode@reflection; Relu s > y", 3},
    {"Reshape x $1,4,12,2 > g; GridSample x g > y mode@linear", 2}, /* the grid as the graph has it */
};

/* The numbers are those of the float network, to the bit: it has the same kernel. */
static void samples_are_one_step(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        struct onnx_report report = {0};
        struct onnx_graph *graph = network(20, "1,4,4,6", samples[k].text);
        float x[ELEMENTS], lying[ELEMENTS];
        size_t count;
        for (int i = 0; i < ELEMENTS; i++) x[i] = (float)(i * 37 % 101) / 40 - 1.2F;
        for (int i = 0; i < ELEMENTS; i++) lying[i % 24 * 4 + i / 24] = x[i];
        float *want = run_graph(graph, x, &count);
        struct net *net = lower(graph, &report);
        if (!net) fail_msg("%s: %s", samples[k].text, report.refusals[0].why);
        if (net->step_count != samples[k].steps) fail_msg("%s: %u steps", samples[k].text, (unsigned)net->step_count);
        float *y = run_floats(net, MORSEL_CPU_ALL, lying, count);
        const size_t pixels = count / 4;
        for (size_t i = 0; i < count; i++) assert_true(y[i % pixels * 4 + i / pixels] == want[i]);
        free(want);
        free(y);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

static void selections_have_room_for_all(void **unused) {
    (void)unused;
    struct onnx_report report = {0};
    struct onnx_graph *graph = network(11, "1,4,6", "Reshape x $1,6,4 > b; NonMaxSuppression b x $100 #0.5 > y");
    struct net *net = lower(graph, &report);
    assert_non_null(net);
    assert_int_equal(net->step_count, 1);
    const struct morsel_blob_non_max_suppression *p = &net->steps[0]->parameters.non_max_suppression;
    assert_true(p->images == 1 && p->classes == 4 && p->count == 6 && p->most == 6 && !p->centre && p->overlap == .5F);
    assert_true(isinf(p->least) && p->least < 0);
    assert_int_equal(net->steps[0]->scratch_bytes, 6);
    assert_int_equal(net->outputs[0].buffer->type, MORSEL_INT32);
    assert_true(net->outputs[0].onnx_rank == 2 && net->outputs[0].onnx_dims[0] == 24 && net->outputs[0].onnx_dims[1] == 3);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static const struct {
    const char *x, *text, *why;
} refused[] = {
    {"1,4,4,6", "GridSample x %1x3x5x2 > y mode@cubic", "export it with one of those"},
    {"1,4,4,6", "GridSample x %1x3x5x2 > y padding_mode@wrap", "padding_mode"},
    {"1,4,4,6", "GridSample x %1x3x5x2 > y align_corners:2", "align_corners"},
    {"1,4,6", "Reshape x $1,6,4 > b; NonMaxSuppression b x $3 > s; Cast s > y to:1", "end the network here, by --output-node s"},
    {"1,4,6", "NonMaxSuppression %1x6x4 x $3 > s; Cast s > y to:1", "--output-node s"}, /* of boxes that overlap */
    {"1,4,6", "NonMaxSuppression ~1x6x4 x $3 #0 #-9 > s; Cast s > y to:1", "--output-node s"},
    {"1,4,6", "Reshape x $1,6,4 > b; NonMaxSuppression b x $3 > s; Shape s > n; Cast n > y to:1", "--output-node s"},
};

static void refusals_say_what_to_do(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        struct onnx_report report = {0};
        struct onnx_graph *graph = claimed_network(20, refused[k].x, NULL, refused[k].text, &report);
        assert_null(lower(graph, &report));
        bool found = false;
        for (size_t i = 0; i < report.refusal_count; i++) found = found || strstr(report.refusals[i].why, refused[k].why);
        if (!found) fail_msg("%s: %s", refused[k].text, report.refusals[0].why);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_one_step),
        cmocka_unit_test(selections_have_room_for_all),
        cmocka_unit_test(refusals_say_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
