/* SPDX-License-Identifier: MIT */
/* Products of two activations in bytes read heads and transposed matrices where they lie, and store heads side by side. */
#include "tests/unit/support/graph_words.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

enum { ELEMENTS = 384 };

#define BYTES "Sqrt x > w; QuantizeLinear w #0.01 > xq; DequantizeLinear xq #0.01 > d;"
#define HEADS BYTES "Reshape d $1,8,3,16 > r; Transpose r > q perm=0,2,1,3; Transpose r > k perm=0,2,3,1;"
#define SHARES "Softmax s > p axis:-1; QuantizeLinear p #0.004 > pq; DequantizeLinear pq #0.004 > e;"

struct product {
    const char *x, *text;
    uint32_t views, gathers, turned; /* of the last product: whether it is stored turned */
    float step;                      /* of the result's bytes; 0: it is float */
};

static const struct product products[] = {
    {"8,48", BYTES "Transpose d > t perm=1,0; MatMul d t > y", 1, 0, 0, 0},
    {"8,48", BYTES "Transpose d > t perm=1,0; MatMul t d > y", 0, 1, 0, 0}, /* the k of its left operand lie apart */
    {"16,24", BYTES "Split d > a b axis:1; Transpose b > t perm=1,0; MatMul a t > y", 1, 0, 0, 0},
    {"8,48", BYTES "Slice d $0 $40 $1 > a; Transpose a > t perm=1,0; MatMul a t > y", 0, 2, 0, 0}, /* rows are no whole lines apart */
    {"8,48", BYTES "Slice d $0 $3 $0 > a; Transpose d > t perm=1,0; MatMul a t > y", 0, 2, 0, 0},  /* too few rows */
    {"64,6", BYTES "Transpose d > t perm=1,0; MatMul d t > y", 0, 1, 0, 0},                        /* six k are no fours */
    {"1,8,48", HEADS "MatMul q k > m; Reshape m $3,8,8 > y", 1, 0, 0, 0},
    {"1,8,48", HEADS "MatMul q k > m; QuantizeLinear m #0.05 > mq; DequantizeLinear mq #0.05 > f; Sqrt f > g; Reshape g $3,8,8 > y", 1, 0,
     0, 0.05F},
    {"1,8,48", HEADS "MatMul q k > s;" SHARES "MatMul e q > o; Transpose o > z perm=0,2,1,3; Reshape z $1,8,48 > y", 2, 0, 1, 0},
    {"1,8,48",
     HEADS "MatMul q k > s;" SHARES "MatMul e q > o; QuantizeLinear o #0.01 > oq; DequantizeLinear oq #0.01 > f;"
           "Transpose f > z perm=0,2,1,3; Reshape z $1,8,48 > g; Sqrt g > y",
     2, 0, 1, 0.01F},
    {"1,8,48", HEADS "MatMul q k > s;" SHARES "MatMul e q > o; Transpose o > z perm=0,1,3,2; Reshape z $3,128 > y", 2, 1, 0, 0},
    {"2,8,24",
     BYTES "Reshape d $2,8,3,8 > r; Transpose r > q perm=0,2,1,3; Transpose r > k perm=0,2,3,1; MatMul q k > m; Reshape m $6,8,8 > y", 1, 0,
     0, 0},
};

static void check_steps(const struct product *p, const struct net *net) {
    const struct net_step *last_one = NULL;
    uint32_t views = 0, gathers = 0;
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (net->steps[i]->kind == MORSEL_STEP_VIEW_MATMUL) views++, last_one = net->steps[i];
        gathers += net->steps[i]->kind == MORSEL_STEP_GATHER;
    }
    if (views != p->views || gathers != p->gathers) fail_msg("%s: %u views, %u gathers", p->text, (unsigned)views, (unsigned)gathers);
    if (last_one) assert_int_equal(last_one->parameters.view_matmul.product.turned, p->turned);
}

/* The numbers are those of the network that quantizes and computes in float. */
static void heads_stay_where_they_lie(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        const struct product *p = &products[k];
        struct onnx_report report = {0};
        struct onnx_graph *graph = network(14, p->x, p->text);
        float x[ELEMENTS];
        uint32_t random = 7;
        size_t count;
        for (int i = 0; i < ELEMENTS; i++) x[i] = (float)builder_between(&random, 0, 2550) / 1000;
        float *want = run_graph(graph, x, &count);
        struct net *net = lower(graph, &report);
        if (!net) fail_msg("%s: %s", p->text, report.refusals[0].why);
        check_steps(p, net);
        check_floats(net, p->text, x, want, count, p->step);
        free(want);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads_stay_where_they_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
