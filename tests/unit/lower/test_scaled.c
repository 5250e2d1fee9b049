/* SPDX-License-Identifier: MIT */
/* Factors and offsets by channel behind a convolution go into it where a QuantizeLinear follows; all numbers here are exact in float. */
#include "tests/unit/support/onnx_file.h"

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

enum { CHANNELS = 2, MOST = 3, X_ZERO = 7, Y_ZERO = 10 };
#define X_SCALE 0.25
#define W_SCALE 0.5
#define Y_SCALE 2.0

static const int8_t weights[CHANNELS][CHANNELS] = {{5, -3}, {-100, 27}};
static const double epsilon_0[4][CHANNELS] = {{0.5, -1}, {1, 2}, {3, -1}, {4, 0.25}}; /* factor, offset, mean, variance */

/* Nodes one behind the other; "B" is the BatchNormalization above. */
struct step {
    const char *op;
    double by[CHANNELS];
    int each; /* whether `by` is for each channel */
    int left; /* the constant is the first operand */
};

struct chain {
    struct step steps[MOST];
    int relu;
    uint32_t left; /* steps of the net */
};

static const struct chain chains[] = {
    {{{"Div", {2, 0.5}, 1, 0}, {"B", {0}, 0, 0}}, 1, 1},
    {{{"Mul", {0.5}, 0, 1}, {"Sub", {1, -3}, 1, 0}, {"Add", {0.25, 0.75}, 1, 1}}, 0, 1},
    {{{"B", {0}, 0, 0}, {"Div", {4}, 0, 0}}, 1, 1},
    {{{"Mul", {2, 4}, 1, 0}, {"Sub", {16, 8}, 1, 1}}, 0, 0}, /* the difference is not one of these */
    {{{"Div", {256, 64}, 1, 1}}, 1, 0},                      /* nor is such a quotient */
    {{{"Mul", {1e30}, 0, 0}, {"Mul", {1e30}, 0, 0}}, 0, 0},  /* nor what is not finite */
};

static double apply(const struct step *s, double v, int c) {
    double by = s->by[s->each ? c : 0], left = s->left ? by : v, right = s->left ? v : by;
    if (*s->op == 'B') return (v - epsilon_0[2][c]) / sqrt(epsilon_0[3][c]) * epsilon_0[0][c] + epsilon_0[1][c];
    if (!strcmp(s->op, "Mul")) return left * right;
    if (!strcmp(s->op, "Div")) return left / right;
    return !strcmp(s->op, "Add") ? left + right : left - right;
}

static uint8_t want_at(const struct chain *chain, const uint8_t *x, int c) {
    double v = 0;
    for (int i = 0; i < CHANNELS; i++) v += (x[i] - X_ZERO) * weights[c][i] * X_SCALE * W_SCALE;
    for (int i = 0; i < MOST && chain->steps[i].op; i++) v = (double)(float)apply(&chain->steps[i], v, c);
    if (chain->relu && v < 0) v = 0;
    v = nearbyint(fmin(fmax(v / Y_SCALE, -300), 300)) + Y_ZERO;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void add_one(struct bytes *file, const char *name, enum onnx_type type, double v) {
    const struct number number = {v, type == ONNX_FLOAT ? 0 : (int64_t)v};
    add_constant(file, name, type, 0, NULL, &number, 1);
}

static void add_vector(struct bytes *file, const char *name, int rank, const double *v) {
    const int64_t dims[] = {CHANNELS, 1, 1};
    const struct number numbers[CHANNELS] = {{v[0], 0}, {v[1], 0}};
    add_constant(file, name, ONNX_FLOAT, rank, dims, numbers, CHANNELS);
}

static void add_step(struct bytes *file, const struct step *s, int i) {
    char name[16], from[40], to[16];
    snprintf(name, sizeof name, "k%d", i);
    if (*s->op == 'B') snprintf(from, sizeof from, "v%d bs bb bm bv", i);
    else snprintf(from, sizeof from, s->left ? "k%d v%d" : "v%d k%d", i, i);
    snprintf(to, sizeof to, "v%d", i + 1);
    if (*s->op == 'B') {
        add_node(file, to, "BatchNormalization", from, to, "epsilon~0");
        return;
    }
    if (s->each) add_vector(file, name, 3, s->by);
    else add_one(file, name, ONNX_FLOAT, s->by[0]);
    add_node(file, to, s->op, from, to, "");
}

static struct onnx_graph *graph_of(const struct chain *chain) {
    static const char *const names[] = {"bs", "bb", "bm", "bv"};
    const int64_t dims[] = {CHANNELS, CHANNELS, 1, 1};
    struct number w[CHANNELS * CHANNELS];
    struct bytes file = {0};
    char last[8];
    int n = 0;
    for (int i = 0; i < CHANNELS * CHANNELS; i++) w[i] = (struct number){0, weights[i / CHANNELS][i % CHANNELS]};
    add_value(&file, 11, "x", ONNX_UINT8, "1,2,1,1");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_one(&file, "xs", ONNX_FLOAT, X_SCALE);
    add_one(&file, "xz", ONNX_UINT8, X_ZERO);
    add_one(&file, "ws", ONNX_FLOAT, W_SCALE);
    add_one(&file, "wz", ONNX_INT8, 0);
    add_one(&file, "ys", ONNX_FLOAT, Y_SCALE);
    add_one(&file, "yz", ONNX_UINT8, Y_ZERO);
    add_constant(&file, "w", ONNX_INT8, 4, dims, w, CHANNELS * CHANNELS);
    for (int i = 0; i < 4; i++) add_vector(&file, names[i], 1, epsilon_0[i]);
    add_node(&file, "dx", "DequantizeLinear", "x xs xz", "xf", "");
    add_node(&file, "dw", "DequantizeLinear", "w ws wz", "wf", "");
    add_node(&file, "conv", "Conv", "xf wf", "v0", "");
    for (; n < MOST && chain->steps[n].op; n++) add_step(&file, &chain->steps[n], n);
    snprintf(last, sizeof last, "v%d", n);
    if (chain->relu) add_node(&file, "relu", "Relu", last, "r", "");
    add_node(&file, "q", "QuantizeLinear", chain->relu ? "r ys yz" : n == 1 ? "v1 ys yz" : n == 2 ? "v2 ys yz" : "v3 ys yz", "y", "");
    struct bytes model = model_message(&file, 13);
    return inferred_bytes(&model);
}

static void run(const uint8_t *blob, size_t bytes, uint32_t cpu, const struct chain *chain) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view in, out;
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu};
    uint32_t random = 1;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &in), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &out), MORSEL_OK);
    for (int i = 0; i < 300; i++) {
        uint8_t x[CHANNELS];
        for (int c = 0; c < CHANNELS; c++) ((uint8_t *)in.data)[c] = x[c] = (uint8_t)builder_between(&random, 0, i < 100 ? 30 : 255);
        assert_int_equal(morsel_run(&s), MORSEL_OK);
        for (int c = 0; c < CHANNELS; c++) assert_int_equal(((const uint8_t *)out.data)[c], want_at(chain, x, c));
    }
    free(arena);
}

static void chains_go_into_the_convolution(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        static const struct blob_extras none = {0};
        struct onnx_report report = {0};
        struct onnx_graph *graph = graph_of(&chains[i]);
        struct net *net = lower(graph, &report);
        size_t bytes;
        if (!net) fail_msg("%s", report.refusals[0].why);
        if (chains[i].left) assert_int_equal(net->step_count, chains[i].left);
        else assert_true(net->step_count > 1);
        assert_true(plan_arena(net));
        uint8_t *blob = blob_write(net, &none, &bytes);
        assert_non_null(blob);
        run(blob, bytes, MORSEL_CPU_ALL, &chains[i]);
        run(blob, bytes, MORSEL_CPU_C, &chains[i]);
        free(blob);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_go_into_the_convolution)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
