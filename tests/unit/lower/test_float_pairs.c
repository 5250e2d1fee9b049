/* SPDX-License-Identifier: MIT */
/* Products of two float activations are one step each: read where they lie, with what follows them, stored as what follows wants it. */
#include "tests/unit/support/graph_words.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

enum { ELEMENTS = 240 };

#define HEADS "Reshape x $1,6,2,20 > r; Transpose r > q perm=0,2,1,3; Transpose r > k perm=0,2,3,1;"

struct pair {
    const char *x, *text;
    uint32_t steps, products, inputs, turned; /* of the first product: its inputs; of the last: whether it is stored turned */
    float factor;                             /* of the first */
};

static const struct pair pairs[] = {
    {"1,6,40", "Transpose x > t perm=0,2,1; MatMul x t > y", 1, 1, 2, 0, 1},
    {"1,6,40", "Transpose x > t perm=0,2,1; MatMul t x > y", 2, 1, 2, 0, 1}, /* rows of the left one lie apart */
    {"6,40", "Transpose x > t perm=1,0; MatMul x t > m; Mul #0.25 m > y", 1, 1, 2, 0, 0.25f},
    {"6,40", "Transpose x > t perm=1,0; MatMul x t > m; Div m #4 > d; Relu d > y", 1, 1, 2, 0, 0.25f},
    {"6,40", "Transpose x > t perm=1,0; MatMul x t > m; Div #4 m > y", 2, 1, 2, 0, 1}, /* no factor, but a quotient */
    {"6,40", "Transpose x > t perm=1,0; MatMul x t > m; Mul m m > y", 2, 1, 2, 0, 1},
    {"6,40", "Transpose x > t perm=1,0; MatMul x t > m; Mul m #0.5 > f; Mul f m > y", 3, 1, 2, 0, 1}, /* two read m */
    {"6,40", "ReduceMean x > b axes=1 keepdims:1; Transpose x > t perm=1,0; MatMul x t > m; Mul m #2 > f; Add b f > y", 2, 1, 3, 0, 2},
    {"6,40", "Slice x $0 $6 $1 > b; Transpose x > t perm=1,0; MatMul x t > m; Add m b > y", 1, 1, 3, 0, 1},
    {"6,40", "Slice x $1 $7 $1 > b; Transpose x > t perm=1,0; MatMul x t > m; Add m b > y", 2, 1, 3, 0, 1}, /* gathered, and then added */
    {"6,40", "Split x > a b axis:1; Transpose b > t perm=1,0; MatMul a t > y", 1, 1, 2, 0, 1},
    {"1,6,40", HEADS "MatMul q k > s; Softmax s > p axis:-1; MatMul p q > o; Transpose o > z perm=0,2,1,3; Reshape z $1,6,40 > y", 3, 2, 2,
     1, 1},
    {"1,6,40", HEADS "MatMul q k > s; Mul s #0.5 > f; Softmax f > p axis:-1; MatMul p q > o; Reshape o $2,120 > y", 3, 2, 2, 0, 0.5f},
    {"2,3,40", "Slice x $0 $1 $0 > a; Transpose x > t perm=0,2,1; MatMul a t > y", 1, 1, 2, 0, 1},
    {"2,3,40",
     "Slice x $0 $1 $0 > a; Slice x $0 $3 $1 > b; Reshape b $2,3,8,5 > c; Reshape a $1,3,5,8 > d; MatMul d c > o; Reshape o $6,25 > y", 1,
     1, 2, 0, 1},
    {"2,120",
     "Reshape x $2,2,2,30 > r; Slice r $0 $1 $1 > a; Slice r $0 $1 $2 > b; Transpose b > t perm=0,1,3,2; MatMul a t > o; Reshape o $2,4 > "
     "y",
     1, 1, 2, 0, 1},
    {"1,6,40", "Reshape x $240 > v; Reshape x $240 > w; MatMul v w > y", 1, 1, 2, 0, 1},
    {"6,40", "Slice x $0 $1 $0 > a; Reshape a $40 > v; MatMul x v > y", 1, 1, 2, 0, 1},
};

static void check_steps(const struct pair *p, const struct net *net) {
    const struct net_step *first_one = NULL, *last_one = NULL;
    uint32_t products = 0;
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (net->steps[i]->kind != MORSEL_STEP_FLOAT_MATMUL) continue;
        last_one = net->steps[i];
        if (!products++) first_one = last_one;
    }
    if (net->step_count != p->steps || products != p->products)
        fail_msg("%s: %u steps, %u products", p->text, (unsigned)net->step_count, (unsigned)products);
    if (first_one->input_count != p->inputs || last_one->parameters.float_matmul.turned != p->turned ||
        first_one->parameters.float_matmul.factor != p->factor)
        fail_msg("%s: %u inputs, turned %u, factor %g", p->text, (unsigned)first_one->input_count,
                 (unsigned)last_one->parameters.float_matmul.turned, (double)first_one->parameters.float_matmul.factor);
}

/* The numbers are those of the float network. */
static void pairs_are_one_step(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const struct pair *p = &pairs[k];
        struct onnx_report report = {0};
        struct onnx_graph *graph = network(14, p->x, p->text);
        float x[ELEMENTS];
        uint32_t random = 7;
        size_t count;
        for (int i = 0; i < ELEMENTS; i++) x[i] = ((float)builder_between(&random, 0, 6000) - 3000) / 4000;
        float *want = run_graph(graph, x, &count);
        struct net *net = lower(graph, &report);
        if (!net) fail_msg("%s: %s", p->text, report.refusals[0].why);
        check_steps(p, net);
        check_floats(net, p->text, x, want, count, 0);
        free(want);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_one_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
