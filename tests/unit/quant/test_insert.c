/* SPDX-License-Identifier: MIT */
/* Where pairs are placed, which scales are shared, what becomes of weights and biases, and that a QDQ graph comes out that lowers. */
#include "tests/unit/support/scheme_graph.h"

#include "tools/lower/lower.h"
#include "tools/quant/insert/insert.h"

static void check_quantized(const struct scheme *s, const char *names, bool wanted) {
    char copy[200];
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok(copy, " "); name; name = strtok(NULL, " "))
        if (of(s, name)->quantized != wanted) fail_msg("'%s' is %squantized", name, wanted ? "not " : "");
}

static bool share(const struct scheme *s, const char *a, const char *b) {
    return of(s, a)->group == of(s, b)->group;
}

static float wave(int i) {
    return (float)(i % 7 - 3) / 8;
}

static float ones(int i) {
    (void)i;
    return 1;
}

static void from_minus_one(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -1;
    *high = 3;
}

/* Ranges, and by them layers. */
static void range(struct scheme *s) {
    scheme_set_ranges(s, from_minus_one, NULL);
    scheme_make_layers(s);
}

/* The graph that a scheme makes, which lowers to steps: nothing is refused. */
struct made {
    struct onnx_graph *graph;
    struct onnx_report report;
    struct net *net;
};

static void make(struct made *m, struct scheme *s) {
    *m = (struct made){.graph = insert(s)};
    m->net = lower(m->graph, &m->report);
    for (size_t i = 0; i < m->report.refusal_count; i++) print_message("%s: %s\n", m->report.refusals[i].node, m->report.refusals[i].why);
    assert_non_null(m->net);
}

static void made_free(struct made *m) {
    net_free(m->net);
    onnx_report_free(&m->report);
    onnx_free(m->graph);
}

static int steps_of(const struct net *net, enum morsel_step_kind kind) {
    int count = 0;
    for (uint32_t i = 0; i < net->step_count; i++) count += net->steps[i]->kind == kind;
    return count;
}

static int nodes_of(const struct onnx_graph *g, const char *op, const char *domain) {
    int count = 0;
    for (size_t i = 0; i < g->node_count; i++) count += !strcmp(g->nodes[i]->op, op) && !strcmp(g->nodes[i]->domain, domain);
    return count;
}

/* conv -> relu -> (pool, concat with itself moved) -> hard swish in pieces -> mean -> gemm -> softmax */
static struct onnx_graph *classifier(int opset) {
    struct building b = begin("1,2,8,8");
    constant(&b, "w", 4, (const int64_t[]){4, 2, 3, 3}, wave);
    constant(&b, "b", 1, (const int64_t[]){4}, wave);
    constant(&b, "w2", 2, (const int64_t[]){5, 8}, wave);
    constant(&b, "three", 0, NULL, ones);
    node(&b, "Conv", "x w b", "c", "pads=1,1,1,1");
    node(&b, "Relu", "c", "r", "");
    node(&b, "MaxPool", "r", "m", "kernel_shape=3,3 pads=1,1,1,1");
    node(&b, "Concat", "r m", "j", "axis:1");
    node(&b, "Add", "j three", "a", "");
    node(&b, "Sigmoid", "a", "s", "");
    node(&b, "Mul", "j s", "h", "");
    node(&b, "GlobalAveragePool", "h", "p", "");
    node(&b, "Flatten", "p", "f", "");
    node(&b, "Gemm", "f w2", "g", "transB:1");
    node(&b, "Softmax", "g", "y", "");
    return built(&b, opset);
}

static void pairs_are_placed_and_share_scales(void **state) {
    (void)state;
    struct onnx_graph *g = classifier(13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x r m j h p f", true);
    check_quantized(s, "c a s g y w b", false);
    assert_true(share(s, "r", "m") && share(s, "r", "j") && share(s, "p", "f"));
    assert_false(share(s, "j", "h") || share(s, "x", "r") || share(s, "h", "p"));
    assert_true(of(s, "r")->watched && of(s, "h")->watched);
    assert_false(of(s, "m")->watched || of(s, "j")->watched || of(s, "f")->watched);
    assert_int_equal(s->layer_count, 2);
    onnx_free(g);
}

static void excluded_layers_stay_in_float(void **state) {
    (void)state;
    struct onnx_graph *g = classifier(13);
    const char *const names[] = {"node0", "Gemm"};
    struct scheme *s = place(g, &(struct scheme_options){.excluded = names, .excluded_count = 2});
    check_quantized(s, "r j h", true);
    check_quantized(s, "x c f p", false); /* nothing that runs in integers reads them */
    assert_int_equal(s->layer_count, 0);
    onnx_free(g);
}

static void check_inserted(int opset, const char *domain) {
    struct onnx_graph *g = classifier(opset);
    struct scheme *s = place(g, &(struct scheme_options){0});
    range(s);
    size_t nodes = g->node_count, values = g->value_count;
    struct made m;
    make(&m, s);
    assert_int_equal(g->node_count, nodes);
    assert_int_equal(g->value_count, values);
    assert_int_equal(nodes_of(m.graph, "QuantizeLinear", domain), 7);
    assert_int_equal(nodes_of(m.graph, "DequantizeLinear", domain), 7 + 3); /* two layers' weights and one bias */
    assert_int_equal(steps_of(m.net, MORSEL_STEP_CONV), 1);
    assert_int_equal(steps_of(m.net, MORSEL_STEP_LUT), 1);
    assert_int_equal(steps_of(m.net, MORSEL_STEP_FC), 1);
    assert_int_equal(steps_of(m.net, MORSEL_STEP_CONCAT), 1);
    assert_int_equal(steps_of(m.net, MORSEL_STEP_UNARY), 0);
    made_free(&m);
    onnx_free(g);
}

static void an_inserted_graph_lowers(void **state) {
    (void)state;
    check_inserted(13, "");
    check_inserted(11, "com.microsoft"); /* DequantizeLinear has no axis there */
}

/* Zero is a byte to the bit, whatever the range, and the range fits. */
static void zero_is_a_byte_of_every_scale(void **state) {
    (void)state;
    const float ranges[][2] = {{0, 0}, {0, 6}, {-1, 3}, {-2, -1}, {5, 9}, {0, 1e30F}, {-1e-30F, 1e-30F}, {-1e6F, 1e-3F}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int kind = 0; kind < 4; kind++) {
            const struct scheme_options o = {.signed_bytes = kind & 1, .symmetric = kind & 2};
            struct scheme_value v = {.low = ranges[i][0], .high = ranges[i][1]};
            scheme_set_scale(&o, &v);
            assert_true(v.scale > 0 && isfinite(v.scale));
            assert_in_range(v.zero - scheme_least(&o), 0, 255);
            double low = (scheme_least(&o) - v.zero) * (double)v.scale, high = (scheme_most(&o) - v.zero) * (double)v.scale;
            assert_true(low <= fmin(ranges[i][0], 0) + (double)v.scale && high >= fmax(ranges[i][1], 0) - (double)v.scale);
            if (o.symmetric) assert_int_equal(v.zero, o.signed_bytes ? 0 : 128);
        }
}

/* A layer normalization that was decomposed runs in float from its difference to its term; what goes in and comes out are bytes. */
static void norms_run_in_float_between_bytes(void **state) {
    (void)state;
    struct building b = begin("1,6,8");
    constant(&b, "w", 2, (const int64_t[]){8, 8}, wave);
    constant(&b, "k", 1, (const int64_t[]){8}, ones);
    constant(&b, "two", 0, NULL, ones);
    node(&b, "MatMul", "x w", "a", "");
    node(&b, "ReduceMean", "a", "m", "axes=2");
    node(&b, "Sub", "a m", "d", "");
    node(&b, "Mul", "d d", "q", "");
    node(&b, "ReduceMean", "q", "v", "axes=2");
    node(&b, "Add", "v two", "e", "");
    node(&b, "Sqrt", "e", "r", "");
    node(&b, "Div", "d r", "n", "");
    node(&b, "Mul", "n k", "f", "");
    node(&b, "Add", "f k", "t", "");
    node(&b, "MatMul", "t w", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x a t", true);
    check_quantized(s, "m d q v e r n f y", false);
    range(s);
    struct made m;
    make(&m, s);
    assert_int_equal(steps_of(m.net, MORSEL_STEP_FC), 2);
    made_free(&m);
    onnx_free(g);
}

/* A sum that a layer normalization reads is float, and so are its mean and what the next sum reads of it. Layers read bytes. */
static void sums_before_norms_are_float(void **state) {
    (void)state;
    struct building b = begin("1,6,8");
    constant(&b, "w", 2, (const int64_t[]){8, 8}, wave);
    constant(&b, "k", 1, (const int64_t[]){8}, ones);
    constant(&b, "two", 0, NULL, ones);
    node(&b, "MatMul", "x w", "a", "");
    node(&b, "Add", "a x", "s", "");
    node(&b, "ReduceMean", "s", "m", "axes=2");
    node(&b, "Sub", "s m", "d", "");
    node(&b, "Mul", "d d", "q", "");
    node(&b, "ReduceMean", "q", "v", "axes=2");
    node(&b, "Add", "v two", "e", "");
    node(&b, "Sqrt", "e", "r", "");
    node(&b, "Div", "d r", "n", "");
    node(&b, "Mul", "n k", "t", "");
    node(&b, "MatMul", "t w", "c", "");
    node(&b, "Add", "c t", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x t", true);
    check_quantized(s, "a s m d q v e r n c y", false);
    range(s);
    struct made m;
    make(&m, s);
    const struct onnx_node *last = m.graph->outputs[0]->producer;
    assert_string_equal(last->inputs[1]->name, "t"); /* not t_dequantized */
    assert_int_equal(steps_of(m.net, MORSEL_STEP_FC), 2);
    made_free(&m);
    onnx_free(g);
}

/* A sum of two values in front of a Softmax that runs in float, as a mask made of inputs is added to scores: no bytes between. Large, as
 * the small end of a network runs in float. */
static void sums_before_softmax_are_float(void **state) {
    (void)state;
    for (int64_t width = 8; width <= 32; width += 24) { /* over eight a Softmax takes and gives bytes */
        struct building b = begin("1,4096,4");
        constant(&b, "w", 2, (const int64_t[]){4, width}, wave);
        constant(&b, "u", 2, (const int64_t[]){4, width}, wave);
        constant(&b, "v", 2, (const int64_t[]){width, 4}, wave);
        node(&b, "MatMul", "x w", "a", "");
        node(&b, "MatMul", "x u", "c", "");
        node(&b, "Add", "a c", "s", "");
        node(&b, "Softmax", "s", "p", "axis:2");
        node(&b, "MatMul", "p v", "y", "");
        struct onnx_graph *g = built(&b, 13);
        struct scheme *scheme = place(g, &(struct scheme_options){0});
        check_quantized(scheme, "x p", true);
        check_quantized(scheme, "a c s", width == 8);
        range(scheme);
        struct made m;
        make(&m, scheme);
        assert_int_equal(steps_of(m.net, MORSEL_STEP_UNARY), width == 32); /* makes bytes of shares */
        made_free(&m);
        onnx_free(g);
    }
}

/* Boxes and scores in one Concat at the end of a network: each keeps a scale of its own, however large they are. */
static void heads_keep_scales_of_their_own(void **state) {
    (void)state;
    struct building b = begin("1,2,128,128");
    constant(&b, "w", 4, (const int64_t[]){4, 2, 1, 1}, wave);
    node(&b, "Conv", "x w", "boxes", "");
    node(&b, "Conv", "x w", "c", "");
    node(&b, "Sigmoid", "c", "scores", "");
    node(&b, "Concat", "boxes scores", "j", "axis:1");
    node(&b, "Transpose", "j", "y", "perm=0,2,3,1");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x c", true);
    check_quantized(s, "boxes scores j y", false);
    range(s);
    struct made m;
    make(&m, s);
    made_free(&m);
    onnx_free(g);
}

static float layer_weight(int i) { /* channels: plain, dead, tiny, negative */
    const float of[4] = {0.5F, 0, 1e-30F, -3};
    return of[i / 2] * (i % 2 ? 1 : 0.25F);
}

static float layer_bias(int i) {
    const float of[4] = {1, 2, 1e9F, -0.5F};
    return of[i];
}

static struct onnx_graph *one_gemm(const char *inputs, const char *attributes) {
    struct building b = begin("1,2");
    constant(&b, "w", 2, (const int64_t[]){4, 2}, layer_weight);
    constant(&b, "b", 1, (const int64_t[]){4}, layer_bias);
    node(&b, "Gemm", inputs, "y", attributes);
    return built(&b, 13);
}

static void layers_get_their_scales(void **state) {
    (void)state;
    struct onnx_graph *g = one_gemm("x w b", "transB:1");
    struct scheme *s = place(g, &(struct scheme_options){0});
    range(s);
    const struct scheme_layer *l = &s->layers[0];
    assert_int_equal(l->axis, 0);
    assert_int_equal(l->outputs, 4);
    assert_int_equal(l->scale_count, 4);
    assert_int_equal(l->values[1], 127);
    assert_int_equal(l->values[0], 32); /* 31.75 */
    assert_int_equal(l->values[7], -127);
    for (int i = 2; i < 6; i++) assert_int_equal(l->values[i], 0);
    for (int o = 0; o < 4; o++) { /* every bias fits */
        double units = (double)l->bias[o] / ((double)l->scales[o] * (double)s->values[l->x].scale);
        assert_true(l->scales[o] > 0 && fabs(units) <= 0x1p30);
        assert_true(o == 2 || fabs(units) > 20); /* and is not lost */
    }
    onnx_free(g);
}

static void forms_of_a_layer_are_read(void **state) {
    (void)state;
    struct onnx_graph *g = one_gemm("x w b", "transB:1 alpha~2.0 beta~0.000000001");
    struct scheme *s = place(g, &(struct scheme_options){.per_tensor = true, .reduced = true});
    range(s);
    const struct scheme_layer *l = &s->layers[0];
    assert_int_equal(l->scale_count, 1);
    assert_int_equal(l->values[7], -63);
    assert_int_equal(l->values[6], -16); /* 1.5 of 6 are 15.75 of 63 */
    assert_true(fabs((double)l->scales[0] * 63 - 6) < 1e-5);
    assert_true(fabs((double)l->bias[2] - 1) < 1e-6);
    struct onnx_graph *q = insert(s);
    assert_true(onnx_attribute_float(q->nodes[q->node_count - 1], "alpha", 0) == 1);
    onnx_free(q);
    onnx_free(g);
}

/* A layer that was excluded is named as the network names it, also where it is lowered as another one. */
static void an_excluded_layer_is_named(void **state) {
    (void)state;
    static const char *const names[] = {"ConvTranspose"};
    struct building b = begin("1,2,4,4");
    constant(&b, "w", 4, (const int64_t[]){2, 3, 2, 2}, wave);
    constant(&b, "v", 4, (const int64_t[]){2, 3, 1, 1}, wave);
    node(&b, "ConvTranspose", "x w", "a", "strides=2,2");
    node(&b, "Conv", "a v", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){.excluded = names, .excluded_count = 1});
    range(s);
    struct made m;
    make(&m, s);
    assert_int_equal(m.report.notice_count, 1);
    assert_string_equal(m.report.notices[0], "node0 (ConvTranspose) runs in float: the quantizer left it so");
    made_free(&m);
    onnx_free(g);
}

static int float_biases(const struct net *net) {
    int count = 0;
    for (uint32_t i = 0; i < net->step_count; i++)
        for (uint32_t c = 0; net->steps[i]->kind == MORSEL_STEP_FC && c < net->steps[i]->constant_count; c++)
            count += net->steps[i]->constants[c].field == offsetof(struct morsel_blob_fc, sums.float_bias);
    return count;
}

/* Products of two activations, one of them of a MatMul that had no bias and got one: what comes out of the sum is quantized, not the
 * product in front of it. The bias is a number of steps of its sums. */
static void products_are_quantized_behind_their_sum(void **state) {
    (void)state;
    struct onnx_graph *g = queries_and_keys(wave);
    struct scheme *s = place(g, &(struct scheme_options){0});
    range(s);
    for (size_t i = 0; i < s->layer_count; i++) s->layers[i].bias[1] = 0.25F;
    struct made m;
    make(&m, s);
    const struct onnx_value *sum = onnx_find(m.graph, "q");
    assert_true(sum && !strcmp(sum->producer->op, "Add"));
    assert_string_equal(onnx_find(m.graph, "q_quantized")->producer->inputs[0]->name, "q");
    assert_int_equal(steps_of(m.net, MORSEL_STEP_FC), 2);
    assert_int_equal(float_biases(m.net), 0);
    made_free(&m);
    onnx_free(g);
}

/* A function of a value that is an output is no part of a chain. Where it comes together with the value again is a step of two operands,
 * and in bytes. */
static void a_chain_ends_at_an_output(void **state) {
    (void)state;
    struct building b = begin("1,2,128,128");
    add_value(&b.graph, 12, "a", 1, NULL);
    constant(&b, "w", 4, (const int64_t[]){2, 2, 1, 1}, wave);
    node(&b, "Conv", "x w", "c", "");
    node(&b, "LeakyRelu", "c", "a", "alpha~-0.5");
    node(&b, "Max", "a c", "m", "");
    node(&b, "Sigmoid", "m", "s", "");
    node(&b, "Conv", "s w", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x c a m s", true);
    onnx_free(g);
}

/* A function of a function is in one table with it, but what something else reads, too, is there as bytes. */
static void a_chain_ends_where_another_reads(void **state) {
    (void)state;
    struct building b = begin("1,2,128,128");
    constant(&b, "w", 4, (const int64_t[]){2, 2, 1, 1}, wave);
    node(&b, "Conv", "x w", "c", "");
    node(&b, "Sigmoid", "c", "s", "");
    node(&b, "LeakyRelu", "s", "l", "alpha~-0.5");
    node(&b, "Conv", "s w", "d", "");
    node(&b, "Sigmoid", "l", "m", "");
    node(&b, "Conv", "m w", "e", "");
    node(&b, "Add", "d e", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    check_quantized(s, "x c s m", true);
    check_quantized(s, "l", false);
    onnx_free(g);
}

/* From bytes to bytes a Softmax gives steps of 1/256, which is what kernels have; over many it runs in float. */
static void check_softmax(int64_t width, int opset, const char *axis, bool bytes) {
    struct building b = begin("1,6,4");
    constant(&b, "w", 2, (const int64_t[]){4, width}, wave);
    constant(&b, "v", 2, (const int64_t[]){width, 4}, wave);
    node(&b, "MatMul", "x w", "a", "");
    node(&b, "Softmax", "a", "p", axis);
    node(&b, "MatMul", "p v", "y", "");
    struct onnx_graph *g = built(&b, opset);
    struct scheme *s = place(g, &(struct scheme_options){0});
    scheme_set_ranges(s, from_minus_one, NULL);
    check_quantized(s, "x p", true);
    check_quantized(s, "a", bytes);
    assert_true(of(s, "p")->fixed == bytes && of(s, "p")->watched == !bytes);
    assert_true((of(s, "p")->scale == 0x1p-8F && of(s, "p")->zero == 0) == bytes);
    onnx_free(g);
}

static void softmax_in_bytes_where_it_fits(void **state) {
    (void)state;
    check_softmax(8, 13, "axis:-1", true);
    check_softmax(8, 13, "", true);
    check_softmax(31, 13, "axis:2", true);
    check_softmax(32, 13, "", false);
    check_softmax(8, 13, "axis:1", true);
    check_softmax(8, 12, "axis:2", true);
    check_softmax(8, 12, "", false); /* over 6 x 8: along the first axis but one, and what is behind it */
    check_softmax(8, 12, "axis:0", false);
    check_softmax(5, 12, "axis:-2", true);
}

/* A Cast of bytes gives whole numbers, each of which is kept, whatever the samples show; of other integers it does not. */
static void check_cast(int type, bool signed_bytes, bool fixed, float low, int zero) {
    struct building b = {0};
    add_value(&b.graph, 11, "x", type, "1,2,8,8");
    add_value(&b.graph, 12, "y", 1, NULL);
    constant(&b, "w", 4, (const int64_t[]){4, 2, 3, 3}, wave);
    node(&b, "Cast", "x", "f", "to:1");
    node(&b, "Conv", "f w", "c", "");
    node(&b, "Relu", "c", "r", "");
    node(&b, "GlobalMaxPool", "r", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){.signed_bytes = signed_bytes});
    range(s);
    check_quantized(s, "f", true);
    assert_true(of(s, "f")->fixed == fixed && of(s, "f")->watched == !fixed);
    if (fixed) assert_true(of(s, "f")->low == low && of(s, "f")->scale == 1 && of(s, "f")->zero == zero);
    onnx_free(g);
}

static void bytes_keep_their_numbers(void **state) {
    (void)state;
    check_cast(ONNX_UINT8, false, true, 0, 0);
    check_cast(ONNX_UINT8, true, true, 0, -128);
    check_cast(ONNX_INT8, false, true, -128, 128);
    check_cast(ONNX_INT8, true, true, -128, 0);
    check_cast(ONNX_INT32, false, false, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_placed_and_share_scales),
        cmocka_unit_test(excluded_layers_stay_in_float),
        cmocka_unit_test(an_inserted_graph_lowers),
        cmocka_unit_test(norms_run_in_float_between_bytes),
        cmocka_unit_test(sums_before_norms_are_float),
        cmocka_unit_test(sums_before_softmax_are_float),
        cmocka_unit_test(heads_keep_scales_of_their_own),
        cmocka_unit_test(an_excluded_layer_is_named),
        cmocka_unit_test(products_are_quantized_behind_their_sum),
        cmocka_unit_test(softmax_in_bytes_where_it_fits),
        cmocka_unit_test(a_chain_ends_at_an_output),
        cmocka_unit_test(a_chain_ends_where_another_reads),
        cmocka_unit_test(zero_is_a_byte_of_every_scale),
        cmocka_unit_test(layers_get_their_scales),
        cmocka_unit_test(forms_of_a_layer_are_read),
        cmocka_unit_test(bytes_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
