/* SPDX-License-Identifier: MIT */
/* Channels that a model holds with numbers added: no error where all that reads them makes up for it, and one where nothing does. */
#include "tests/unit/support/compared_nets.h"
#include "tools/compare/equations.h"

#include <math.h>

/* --- Equations --- */

enum { UNKNOWNS = 3, ROWS = 12 };
static const double truth[UNKNOWNS] = {2, -1, 0.5};

/* Between -1 and 1, without a pattern that would make rows depend on each other. */
static double scattered(size_t i) {
    return sin((double)(i * i) * 0.37 + 0.3);
}

static double weight_at(size_t row, size_t i) {
    return scattered(row * UNKNOWNS + i);
}

static struct equations *make_equations(struct onnx_graph *g, size_t rows) {
    struct equations *e = equations_make(g, rows, UNKNOWNS, 1e-6);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < UNKNOWNS; i++) {
            e->weights[row * UNKNOWNS + i] = weight_at(row, i);
            e->wanted[row] += weight_at(row, i) * truth[i];
        }
    return e;
}

static double farthest(const double *solution) {
    double most = 0;
    for (size_t i = 0; i < UNKNOWNS; i++) most = fmax(most, fabs(solution[i] - truth[i]));
    return most;
}

static void equations_are_solved(void **state) {
    struct failure failure;
    struct onnx_graph *g = onnx_load(NETWORK, &failure);
    double solution[UNKNOWNS] = {0}, doubts[UNKNOWNS];
    (void)state;
    assert_non_null(g);
    assert_true(equations_solve(g, make_equations(g, ROWS), solution, doubts));
    assert_true(farthest(solution) < 1e-5 && doubts[0] > 0 && doubts[0] < 1e-5);

    struct equations *wrong = make_equations(g, ROWS); /* one that has nothing to do with the others */
    wrong->wanted[4] += 7;
    memset(solution, 0, sizeof solution);
    assert_true(equations_solve(g, wrong, solution, doubts));
    assert_true(farthest(solution) < 1e-5);

    for (size_t row = 0; row < ROWS; row++) /* all of them, somewhat: the doubts say so */
        wrong->wanted[row] += row % 2 ? 0.3 : -0.3;
    memset(solution, 0, sizeof solution);
    assert_true(equations_solve(g, wrong, solution, doubts));
    assert_true(farthest(solution) > 1e-3 && doubts[0] > 0.03 && doubts[1] > 0.03 && doubts[2] > 0.03);

    struct equations *open = make_equations(g, ROWS); /* nothing is said of unknown 1 */
    for (size_t row = 0; row < ROWS; row++) open->weights[row * UNKNOWNS + 1] = 0;
    for (size_t row = 0; row < ROWS; row++) open->wanted[row] = weight_at(row, 0) * truth[0] + weight_at(row, 2) * truth[2];
    memcpy(solution, (double[]){0, 9, 0}, sizeof solution);
    assert_true(equations_solve(g, open, solution, doubts));
    assert_true(fabs(solution[0] - truth[0]) < 1e-5 && solution[1] == 9 && doubts[1] > 100 * doubts[0]);

    struct equations *few = make_equations(g, UNKNOWNS);
    assert_false(equations_solve(g, few, solution, doubts));
    memcpy(solution, truth, sizeof solution);
    assert_true(equations_explained(few, solution, 1));
    solution[1] = 3;
    assert_false(equations_explained(few, solution, 1));
    onnx_free(g);
}

/* --- A trunk without Relu, in front of the mean: squeeze, and project of expand added to it, read by widen --- */

enum { THIN = 6, WIDE = 24, PLAIN = 8 };

/* A 1x1 convolution, with a Relu behind it where `relu`. */
static struct onnx_value *add_layer(struct onnx_graph *g, struct onnx_node *before, const char *name, struct onnx_value *x, int out,
                                    bool relu) {
    const struct onnx_shape weights = {4, {out, x->shape.dims[1], 1, 1}}, row = {1, {out}};
    struct onnx_shape shape = x->shape;
    struct onnx_tensor *w, *b;
    struct onnx_value *wv = edit_constant(g, onnx_text(g, "%s.w", name), ONNX_FLOAT, &weights, &w);
    struct onnx_value *bv = edit_constant(g, onnx_text(g, "%s.b", name), ONNX_FLOAT, &row, &b);
    shape.dims[1] = out;
    for (size_t i = 0; i < w->count; i++)
        ((float *)w->data)[i] = (float)scattered(i + strlen(name)) * 1.5f / sqrtf((float)x->shape.dims[1]);
    for (int i = 0; i < out; i++) ((float *)b->data)[i] = 0.2f * cosf((float)i * 1.9f);
    struct onnx_value *y = edit_value(g, onnx_text(g, "%s.y", name), ONNX_FLOAT, &shape);
    edit_node(g, before, "Conv", "", name, (struct onnx_value *[]){x, wv, bv}, 3, &y, 1);
    if (!relu) return y;
    struct onnx_value *z = edit_value(g, onnx_text(g, "%s.z", name), ONNX_FLOAT, &shape);
    edit_node(g, before, "Relu", "", onnx_text(g, "%s.relu", name), &y, 1, &z, 1);
    return z;
}

static void add_trunk(struct onnx_graph *g) {
    struct onnx_node *pool = node_named(g, "pool");
    struct onnx_value *squeeze = add_layer(g, pool, "squeeze", pool->inputs[0], THIN, false);
    struct onnx_value *expand = add_layer(g, pool, "expand", squeeze, WIDE, true);
    struct onnx_value *project = add_layer(g, pool, "project", expand, THIN, false);
    struct onnx_value *sum = edit_value(g, "sum.y", ONNX_FLOAT, &squeeze->shape);
    edit_node(g, pool, "Add", "", "sum", (struct onnx_value *[]){squeeze, project}, 2, &sum, 1);
    edit_set_input(g, pool, 0, add_layer(g, pool, "widen", sum, PLAIN, true));
    edit_clean(g);
}

static const double factors[THIN] = {1, 0.5, 2, 1.18920711500272, 0.70710678118655, 4};
static const double added[THIN] = {1.5, -0.8, 0.6, 2.5, -2, 0}, added_there[THIN] = {-0.5, 1.1, 0.9, 0, 1, -0.7};

/* What comes in has `in` added and is multiplied by the factors, and so is what goes out, by `out`; NULL: it is as it was. */
static void move_layer(struct onnx_graph *g, const char *name, const double *in, const double *out) {
    struct linear l;
    double inverse[THIN];
    assert_true(linear_read(node_named(g, name), &l));
    double *bias = linear_bias(g, &l);
    for (size_t i = 0; i < THIN; i++) inverse[i] = 1 / factors[i];
    for (size_t e = 0; in && e < l.weights->count; e++) {
        int64_t from, to;
        linear_place(&l, (int64_t)e, &from, &to);
        bias[to] -= onnx_number(l.weights, e) * in[from];
    }
    for (size_t o = 0; out && o < THIN; o++) bias[o] = (bias[o] + out[o]) * factors[o];
    assert_true(linear_rewrite(g, &l, out ? factors : NULL, in ? inverse : NULL, bias));
}

static void move_trunk(struct onnx_graph *g) {
    double sums[THIN];
    for (size_t i = 0; i < THIN; i++) sums[i] = added[i] + added_there[i];
    move_layer(g, "squeeze", NULL, added);
    move_layer(g, "expand", added, NULL);
    move_layer(g, "project", NULL, added_there);
    move_layer(g, "widen", sums, NULL);
}

static double shift_of(const struct made *m, const char *node, size_t channel) {
    return (double)compare_shift(point_of(m, node)->value, channel);
}

static void moved_channels_are_no_error(void **state) {
    struct made *m = make_of(add_trunk, move_trunk, NULL);
    (void)state;
    for (size_t i = 0; i < m->comparison.point_count; i++) {
        const struct compare_point *p = &m->comparison.points[i];
        assert_true(p->sqnr_own > 30 && p->sqnr_out > 28);
        assert_true(!p->weights || p->sqnr_weight > 30);
    }
    for (size_t i = 0; i < THIN; i++) {
        assert_true(fabs(shift_of(m, "squeeze", i) - added[i]) < 0.02);
        assert_true(fabs(shift_of(m, "project", i) - added_there[i]) < 0.02);
        assert_true(fabs(shift_of(m, "sum", i) - added[i] - added_there[i]) < 0.02);
    }
    assert_int_equal(point_of(m, "sum")->rescaled, THIN);
    assert_int_equal(point_of(m, "expand")->rescaled, 0);
    assert_int_equal(point_of(m, "widen")->rescaled, 0);
    made_free(m);
}

static void unmoved_channels_stay(void **state) {
    struct made *m = make_of(add_trunk, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < m->comparison.point_count; i++) {
        assert_true(m->comparison.points[i].sqnr_own > 30);
        assert_int_equal(m->comparison.points[i].rescaled, 0);
    }
    made_free(m);
}

/* --- Biases that are wrong --- */

static const char *victim;
static bool moved, whole; /* whole: all channels are wrong, not one */

static void damage_bias(struct onnx_graph *g) {
    struct linear l;
    if (moved) move_trunk(g);
    assert_true(linear_read(node_named(g, victim), &l));
    double *bias = linear_bias(g, &l);
    for (int64_t o = 0; o < l.out_channels; o++) bias[o] += o == 2 || whole ? 1.5 * cos((double)o * 1.3) : 0;
    assert_true(linear_rewrite(g, &l, NULL, NULL, bias));
}

static void a_damaged_bias_is_blamed(void **state) {
    static const char *const victims[] = {"squeeze", "expand", "project", "widen", "head"};
    (void)state;
    for (size_t i = 0; i < 4 * sizeof victims / sizeof *victims; i++) {
        const struct compare_point *order[64];
        victim = victims[i / 4];
        moved = i & 1;
        whole = i & 2;
        struct made *m = make_of(add_trunk, damage_bias, NULL);
        size_t count = compare_layers(&m->comparison, true, order);
        if (strcmp(order[0]->node->name, victim) || order[0]->sqnr_own > 25 || order[1]->sqnr_own < order[0]->sqnr_own + 6)
            fail_msg("%s%s%s: blamed %s (%.1f dB), then %s (%.1f dB)", victim, moved ? ", moved" : "", whole ? ", whole" : "",
                     order[0]->node->name, order[0]->sqnr_own, order[1]->node->name, order[1]->sqnr_own);
        for (size_t k = 0; k < count && !moved; k++) assert_int_equal(order[k]->rescaled, 0);
        made_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_are_solved),
        cmocka_unit_test(moved_channels_are_no_error),
        cmocka_unit_test(unmoved_channels_stay),
        cmocka_unit_test(a_damaged_bias_is_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
