/* SPDX-License-Identifier: MIT */
/* A scheme handed over to the same network at another size: what is the same then, what stays, and what does not fit. */
#include "tests/unit/support/graph_words.h"

#include "tools/lower/lower.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/insert/place.h"
#include "tools/quant/insert/transfer.h"

#define LARGE "1,3,8,8"
#define SMALL "1,3,6,6"

static void one_range(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -2;
    *high = 3;
}

static struct scheme *chosen(struct onnx_graph *graph) {
    struct scheme *s = place(graph, &(struct scheme_options){0});
    scheme_set_ranges(s, one_range, NULL);
    scheme_make_layers(s);
    return s;
}

static const char *const convolutions = "Conv x %4x3x3x3 %4 > a pads=1,1,1,1; Relu a > b; Conv b %5x4x1x1 > c; GlobalAveragePool c > d; "
                                        "Flatten d > e; Gemm e %5x6 %6 > y";

/* Constants of a blob's step, one behind the other. */
static void same_constants(const struct net_step *a, const struct net_step *b) {
    assert_int_equal(a->constant_count, b->constant_count);
    for (uint32_t i = 0; i < a->constant_count; i++) {
        assert_int_equal(a->constants[i].bytes, b->constants[i].bytes);
        assert_memory_equal(a->constants[i].data, b->constants[i].data, a->constants[i].bytes);
    }
}

/* A network of the graph that the scheme makes. */
static struct net *lowered(const struct scheme *s, struct onnx_graph **made) {
    struct onnx_report report = {0};
    *made = insert(s);
    struct net *net = lower(*made, &report);
    if (!net || report.refusal_count) fail_msg("%s", report.refusal_count ? report.refusals[0].why : "it was not lowered");
    onnx_report_free(&report);
    return net;
}

static void the_steps_get_the_same_constants(void **state) {
    (void)state;
    struct failure failure;
    struct onnx_graph *large = network(13, LARGE, convolutions), *small = network(13, SMALL, convolutions), *made[2];
    struct scheme *s = chosen(large);
    s->layers[0].values[5] ^= 1; /* as adaptive rounding may */
    s->layers[0].bias[1] += 0.5F;
    for (int times = 0; times < 2; times++) { /* as often as there are attempts */
        struct scheme *t = scheme_transfer(s, large, small, &failure);
        assert_non_null(t);
        assert_ptr_equal(t->graph, small);
        assert_int_equal(t->layer_count, 3);
        struct net *a = lowered(s, &made[0]), *b = lowered(t, &made[1]);
        assert_int_equal(a->step_count, b->step_count);
        for (uint32_t i = 0; i < a->step_count; i++) {
            assert_int_equal(a->steps[i]->kind, b->steps[i]->kind);
            same_constants(a->steps[i], b->steps[i]);
            assert_true(a->steps[i]->output->scale == b->steps[i]->output->scale);
            assert_int_equal(a->steps[i]->output->zero, b->steps[i]->output->zero);
        }
        assert_int_equal(b->inputs[0].onnx_dims[3], 6);
        net_free(a);
        net_free(b);
        onnx_free(made[0]);
        onnx_free(made[1]);
    }
    onnx_free(small);
    onnx_free(large);
}

/* The constant that node n reads at input i. */
static const struct onnx_tensor *constant(const struct onnx_graph *g, const char *node, int i) {
    for (size_t n = 0; n < g->node_count; n++)
        if (!strcmp(g->nodes[n]->name, node)) return onnx_input_constant(g->nodes[n], i);
    fail_msg("no node %s", node);
    return NULL;
}

static const char *node_of(const struct onnx_graph *g, const char *op) {
    for (size_t n = 0; n < g->node_count; n++)
        if (!strcmp(g->nodes[n]->op, op)) return g->nodes[n]->name;
    fail_msg("no %s", op);
    return NULL;
}

/* Puts another constant in the place of the one that the first node of the operator reads: so does equalization. */
static void change(struct onnx_graph *g, const char *op) {
    for (size_t n = 0; n < g->node_count; n++) {
        if (strcmp(g->nodes[n]->op, op)) continue;
        const struct onnx_tensor *old = g->nodes[n]->inputs[1]->constant;
        struct onnx_tensor *fresh = onnx_alloc(g, sizeof *fresh);
        *fresh = *old;
        fresh->data = onnx_alloc(g, old->count * sizeof(float));
        for (size_t i = 0; i < old->count; i++) ((float *)fresh->data)[i] = 2 * ((const float *)old->data)[i];
        g->nodes[n]->inputs[1]->constant = fresh;
        return;
    }
}

static void constants_that_equalization_changed_are_handed_over(void **state) {
    (void)state;
    static const char *const nodes = "Conv x %4x3x1x1 > a; PRelu a %4x1x1 > b; Conv b %2x4x1x1 > y";
    struct failure failure;
    struct onnx_graph *large = network(13, LARGE, nodes), *small = network(13, SMALL, nodes), *before = edit_copy(large);
    change(large, "PRelu");
    change(large, "Conv");
    struct scheme *s = chosen(large);
    for (int times = 0; times < 2; times++) {
        assert_non_null(scheme_transfer(s, before, small, &failure));
        assert_ptr_equal(constant(small, node_of(small, "PRelu"), 1), constant(large, node_of(large, "PRelu"), 1));
    }
    onnx_free(small);
    onnx_free(before);
    onnx_free(large);
}

static void constants_of_a_size_stay(void **state) {
    (void)state;
    struct failure failure;
    struct onnx_graph *large = network(13, LARGE, "Conv x %4x3x1x1 > a; Add a %1x4x8x8 > b; Conv b %2x4x1x1 > y"),
                      *small = network(13, SMALL, "Conv x %4x3x1x1 > a; Add a %1x4x6x6 > b; Conv b %2x4x1x1 > y");
    const struct onnx_tensor *own = constant(small, node_of(small, "Add"), 1);
    assert_non_null(scheme_transfer(chosen(large), large, small, &failure));
    assert_ptr_equal(constant(small, node_of(small, "Add"), 1), own);
    struct onnx_graph *before = edit_copy(large);
    change(large, "Add");
    assert_null(scheme_transfer(chosen(large), before, small, &failure));
    assert_non_null(strstr(failure.text, "equalization changes them"));
    onnx_free(before);
    onnx_free(small);
    onnx_free(large);
}

static void refused(const char *large_nodes, const char *small_nodes, const char *why) {
    struct failure failure = {0};
    struct onnx_graph *large = network(13, LARGE, large_nodes), *small = network(13, SMALL, small_nodes);
    assert_null(scheme_transfer(chosen(large), large, small, &failure));
    if (!strstr(failure.text, why)) fail_msg("'%s' does not say '%s'", failure.text, why);
    assert_int_equal(failure.status, STATUS_INPUT);
    onnx_free(small);
    onnx_free(large);
}

static void other_networks_are_refused(void **state) {
    (void)state;
    refused("Conv x %4x3x1x1 > a; Relu a > y", "Conv x %4x3x1x1 > y", "is not there at every size");
    refused("Conv x %4x3x1x1 > a; Relu a > y", "Conv x %4x3x1x1 > a; Sigmoid a > y", "other nodes");
    refused("Conv x %4x3x1x1 > y", "Conv x %4x3x1x1 > a; Relu a > y", "other nodes");
    refused("Flatten x > a; Gemm a %192x4 > y", "Flatten x > a; Gemm a %108x4 > y", "weights of its own");
    refused("Conv x %4x3x1x1 > a; Relu a > b; Add a b > y", "Conv x %4x3x1x1 > a; Relu a > b; Add b b > y", "other inputs");
    refused("Conv x %4x3x1x1 > a; Relu a > b; Add a b > y", "Conv x %4x3x1x1 > a; Relu a > b; Add a #0.5 > y", "other");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_steps_get_the_same_constants),
        cmocka_unit_test(constants_that_equalization_changed_are_handed_over),
        cmocka_unit_test(constants_of_a_size_stay),
        cmocka_unit_test(other_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
