/* SPDX-License-Identifier: MIT */
/* Figures by hand; a blob whose tensors stay; a layer damaged on purpose, which has to be named; channels rescaled, which must not be. */
#include "tests/unit/support/compared_nets.h"
#include "tools/net/nets.h"

#include <math.h>

static bool near(double a, double b) {
    return fabs(a - b) < 1e-6;
}

static void figures_are_those_by_hand(void **state) {
    const float x[] = {3, 4}, y[] = {3, 3}, twice[] = {6.1f, 7.9f}, away[] = {4, -3};
    struct metric_sums sums = {0}, other = {0}, none = {0}, all = {0};
    (void)state;
    metric_add(&sums, x, y, 2);
    assert_true(near(sums.xx, 25) && near(sums.xy, 21) && near(sums.yy, 18));
    assert_true(near(sums.x, 7) && near(sums.y, 6) && near(sums.count, 2));
    assert_true(near(metric_noise(&sums), 1)); /* 25 - 42 + 18 */
    struct metric_sums half = metric_restored(&sums, 2, 0), moved = metric_restored(&sums, 2, -2), centred = metric_centred(&other);
    assert_true(near(metric_noise(&half), 8.5));                      /* (3 - 1.5)^2 + (4 - 1.5)^2 */
    assert_true(near(metric_noise(&moved), 0.5) && near(moved.y, 7)); /* 3.5 each */
    assert_true(near(metric_noise(&centred), 0));
    centred = metric_centred(&sums);
    assert_true(near(centred.xx, 0.5) && near(centred.yy, 0) && near(centred.xy, 0)); /* -0.5, 0.5; 0, 0 */
    assert_true(near(metric_sqnr(25, 1), 13.9794000867));
    assert_true(near(metric_sqnr(1, 100), -20));
    assert_true(near(metric_sqnr(25, 0), METRIC_MOST) && near(metric_sqnr(0, 0), METRIC_MOST) && near(metric_sqnr(0, 1), -METRIC_MOST));
    assert_true(near(metric_cosine(25, 21, 18), 21 / (5 * sqrt(18))));
    assert_true(near(metric_cosine(0, 0, 0), 1) && near(metric_cosine(1, 0, 0), 0));
    assert_true(near(metric_factor(&sums), exp2(-0.25))); /* 21 / 25 */
    metric_add(&other, x, twice, 2);
    assert_true(near(metric_factor(&other), 2));
    metric_add(&all, x, away, 2);
    assert_true(near(metric_factor(&all), 0) && near(metric_factor(&none), 0));
    metric_add(&none, (const float[]){-INFINITY, 2}, (const float[]){-INFINITY, 3}, 2); /* of a mask */
    assert_true(near(none.xx, 4) && near(none.xy, 6) && near(none.yy, 9));
    metric_add(&none, (const float[]){1}, (const float[]){NAN}, 1);
    assert_true(near(metric_sqnr(none.xx, metric_noise(&none)), -METRIC_MOST));
    metric_merge(&sums, &other);
    assert_true(near(sums.xx, 50) && near(sums.xy, 21 + 18.3 + 31.6));
}

static void stored_bytes_are_what_the_scale_gives(void **state) {
    const struct metric_qparams qparams = {0.5f, 10, 0, 255};
    const struct metric_channel one = {1, 0}, two = {2, 0}, moved = {2, -1.25f};
    (void)state;
    assert_true(metric_stored(&qparams, one, 1.3f) == 1.5f);
    assert_true(metric_stored(&qparams, one, -6) == -5);
    assert_true(metric_stored(&qparams, one, 1000) == 122.5f);
    assert_true(metric_stored(&qparams, two, 1.3f) == 1.25f);  /* 2.6 is 5 steps of a half, and half of them 1.25 */
    assert_true(metric_stored(&qparams, moved, 1.6f) == 1.5f); /* 0.7 is a step of a half: a quarter, and the 1.25 that were taken off */
    assert_true(metric_clips(&qparams, one, -6) && !metric_clips(&qparams, one, -5.2f) && metric_clips(&qparams, two, -2.8f));
    assert_true(metric_clips(&qparams, one, 123) && !metric_clips(&qparams, one, 122.7f));
    assert_true(!metric_clips(&qparams, moved, -1.3f) && metric_clips(&qparams, moved, -1.4f));
}

/* --- A blob whose tensors all stay --- */

static uint8_t *output_of(const struct morsel_model *network, uint32_t *size) {
    struct whole_run run = {0};
    struct morsel_view view;
    struct failure failure;
    assert_true(whole_run_open(&run, network, &failure));
    assert_false(morsel_input(&run.run->session, 0, &view));
    for (uint32_t i = 0; i < view.bytes; i++) ((uint8_t *)view.data)[i] = (uint8_t)(i * 37 % 251);
    assert_true(whole_compute(&run, &failure));
    assert_false(morsel_output(&run.run->session, 0, &view));
    uint8_t *copy = malloc(view.bytes);
    assert_non_null(copy);
    memcpy(copy, view.data, *size = view.bytes);
    whole_run_close(&run);
    return copy;
}

static void a_whole_blob_gives_the_same(void **state) {
    struct file_bytes blob;
    struct morsel_model network;
    struct failure failure;
    uint32_t size, again;
    (void)state;
    assert_true(nets_blob("resnet8-32", false, 0, &blob, &failure));
    assert_false(morsel_open(&network, blob.data, blob.size, 0));
    assert_true(morsel_blob_header(&network)->groups.count > 0);
    uint8_t *before = output_of(&network, &size);
    assert_true(whole_open(&network, blob.data, blob.size, &failure));
    assert_int_equal(morsel_blob_header(&network)->groups.count, 0);
    uint8_t *behind = output_of(&network, &again);
    assert_int_equal(size, again);
    assert_memory_equal(before, behind, size);
    free(before);
    free(behind);
    file_free(&blob);
}

/* Kernels keep notes where nothing is alive (core/plan_room.c): that is nowhere. */
static void what_a_step_made_stays(void **state) {
    struct file_bytes blob;
    struct morsel_model network;
    struct failure failure;
    (void)state;
    assert_true(nets_blob("resnet8-32", false, 0, &blob, &failure));
    assert_true(whole_open(&network, blob.data, blob.size, &failure));
    const struct morsel_blob_header *h = morsel_blob_header(&network);
    for (uint32_t i = 0; i < h->tensors.count; i++)
        if (!morsel_blob_tensor(&network, i)->place) assert_int_equal(morsel_blob_tensor(&network, i)->last_step, h->steps.count);
    file_free(&blob);
}

/* --- A small network, quantized here --- */

static struct made *make(change_graph *before, change_scheme *after) {
    return make_of(NULL, before, after);
}

static const struct compare_point *worst_of(const struct made *m) {
    const struct compare_point *order[64];
    assert_int_equal(compare_layers(&m->comparison, true, order), 5);
    return order[0];
}

static void a_sound_network_has_nothing_named(void **state) {
    struct made *m = make(NULL, NULL);
    (void)state;
    assert_int_equal(m->comparison.point_count, 6); /* five layers, and the input */
    for (size_t i = 0; i < m->comparison.point_count; i++) {
        const struct compare_point *p = &m->comparison.points[i];
        assert_true(p->sqnr_own > 35 && p->sqnr_out > 35 && p->cosine > 0.999 && p->clipped < 0.01);
        assert_true(!p->weights || (p->sqnr_weight > 40 && p->sqnr_weight < 60));
        assert_int_equal(p->rescaled, 0);
    }
    assert_non_null(point_of(m, "stem")->weights);
    assert_non_null(point_of(m, "depthwise")->weights);
    assert_non_null(point_of(m, "head")->weights);
    made_free(m);
}

/* Inputs of layers are rounded when the model runs; what else is there is float. The first layer reads what both read. */
static void layers_of_a_dynamic_network_are_to_blame(void **state) {
    (void)state;
    dynamic = true;
    struct made *m = make(NULL, NULL);
    dynamic = false;
    size_t layers = 0;
    for (size_t i = 0; i < m->comparison.point_count; i++) {
        const struct compare_point *p = &m->comparison.points[i];
        assert_true(p->sqnr_out > 35 && !p->stored);
        if (!p->weights) continue;
        layers++;
        assert_true(p->weights->dynamic && p->weights->dynamic_axis == -1);
        assert_true(p->sqnr_own > 35 && p->sqnr_own < 60 && p->sqnr_own > p->sqnr_out - 1);
    }
    assert_int_equal(layers, 3);
    assert_true(fabs(point_of(m, "stem")->sqnr_own - point_of(m, "stem")->sqnr_out) < 0.01);
    made_free(m);
}

static size_t victim;
static const char *victim_name;

static void zero_weights(struct scheme *scheme) {
    struct scheme_layer *layer = &scheme->layers[victim];
    memset(layer->values, 0, layer->weights->count);
    victim_name = layer->node->name;
}

static void scale_weights(struct scheme *scheme) {
    struct scheme_layer *layer = &scheme->layers[victim];
    for (uint32_t i = 0; i < layer->scale_count; i++) layer->scales[i] *= 3;
    victim_name = layer->node->name;
}

static void scale_one_channel(struct scheme *scheme) {
    scheme->layers[victim].scales[1] *= 8;
    victim_name = scheme->layers[victim].node->name;
}

/* The input of the victim, which is what some layer makes, keeps a quarter of its range. */
static void narrow_range(struct scheme *scheme) {
    size_t group = scheme->values[scheme->layers[victim].x].group;
    for (size_t i = 0; i < scheme->value_count; i++)
        if (scheme->values[i].group == group) scheme->values[i].scale /= 4;
}

static void a_damaged_layer_is_the_worst(void **state) {
    change_scheme *const damages[] = {zero_weights, scale_weights, scale_one_channel};
    (void)state;
    for (size_t d = 0; d < sizeof damages / sizeof *damages; d++)
        for (victim = 0; victim < 3; victim++) {
            struct made *m = make(NULL, damages[d]);
            const struct compare_point *worst = worst_of(m);
            assert_string_equal(worst->node->name, victim_name);
            assert_true(worst->sqnr_own < 20 && worst->sqnr_weight < 20);
            assert_true(d == 1 || m->comparison.output_sqnr < 35);
            for (size_t i = 0; i < m->comparison.point_count; i++) {
                const struct compare_point *p = &m->comparison.points[i];
                assert_true(p == worst || p->sqnr_own > 30); /* nobody else is blamed */
                assert_int_equal(p->rescaled, 0);
            }
            made_free(m);
        }
}

static void a_narrow_range_clips(void **state) {
    (void)state;
    victim = 2;
    struct made *m = make(NULL, narrow_range);
    const struct compare_point *pool = point_of(m, "pool"), *add = point_of(m, "add");
    assert_true(pool->clipped > 0.05 || add->clipped > 0.05);
    assert_true(worst_of(m) == pool || worst_of(m) == add);
    made_free(m);
}

/* --- Channels rescaled --- */

static const double factors[8] = {1, 0.5, 0.35355339059327, 0.59460355750136, 1, 0.5, 0.70710678118655, 0.84089641525371};

static void rescale(struct onnx_graph *g, const char *name, bool in, bool out) {
    for (size_t n = 0; n < g->node_count; n++) {
        struct linear l;
        double inverse[8];
        if (strcmp(g->nodes[n]->name, name) || !linear_read(g->nodes[n], &l)) continue;
        double *bias = linear_bias(g, &l);
        for (int i = 0; i < 8; i++) inverse[i] = 1 / factors[i];
        for (int64_t o = 0; out && o < l.out_channels; o++) bias[o] *= factors[o];
        assert_true(linear_rewrite(g, &l, out ? factors : NULL, in ? inverse : NULL, bias));
        return;
    }
    fail_msg("no layer %s", name);
}

/* The channels of the trunk: stem, depthwise, their sum, its mean. */
static void rescale_trunk(struct onnx_graph *g) {
    rescale(g, "stem", false, true);
    rescale(g, "depthwise", true, true);
    rescale(g, "head", true, false);
}

static void rescaled_channels_are_no_error(void **state) {
    static const char *const names[] = {"stem", "depthwise", "add", "pool"};
    struct made *m = make(rescale_trunk, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct compare_point *p = point_of(m, names[i]);
        assert_int_equal(p->rescaled, 6); /* dead ones, too: by the weights */
        assert_true(p->sqnr_out > 30 && p->sqnr_own > 30);
        assert_true(!p->weights || p->sqnr_weight > 30);
    }
    assert_true(point_of(m, "head")->sqnr_own > 30 && point_of(m, "head")->sqnr_weight > 30);
    made_free(m);
}

/* --- Likely causes --- */

static bool warned(const struct made *m, const char *of, const char *where) {
    for (size_t i = 0; i < m->report.notice_count; i++)
        if (strstr(m->report.notices[i], of) && strstr(m->report.notices[i], where)) return true;
    return false;
}

static float head_size;

/* Beside the sum, channels `head_size` times as large, made of the stem's, join before the mean; the head reads both. */
static void add_head(struct onnx_graph *g) {
    const struct onnx_shape one = {4, {8, 8, 1, 1}}, each = {4, {1, 8, 16, 16}}, both = {4, {1, 16, 16, 16}};
    struct onnx_node *pool = node_named(g, "pool"), *head = node_named(g, "head"), *flat;
    struct onnx_value *sum = pool->inputs[0], *stem = node_named(g, "depthwise")->inputs[0];
    struct onnx_tensor *weights, *wider;
    struct onnx_value *w = edit_constant(g, "boxes_w", ONNX_FLOAT, &one, &weights);
    for (int i = 0; i < 8; i++) ((float *)weights->data)[i * 9] = head_size;
    struct onnx_value *boxes = edit_value(g, "boxes_y", ONNX_FLOAT, &each), *joined = edit_value(g, "joined", ONNX_FLOAT, &both);
    edit_node(g, pool, "Conv", "", "boxes", (struct onnx_value *[]){stem, w}, 2, &boxes, 1);
    struct onnx_node *join = edit_node(g, pool, "Concat", "", "join", (struct onnx_value *[]){sum, boxes}, 2, &joined, 1);
    edit_attribute_int(g, join, "axis", 1);
    edit_set_input(g, pool, 0, joined);
    pool->outputs[0]->shape.dims[1] = 16;
    assert_int_equal(edit_readers(g, pool->outputs[0], &flat, 1), 1);
    flat->outputs[0]->shape.dims[1] = 16;
    bool turned = onnx_attribute_int(head, "transB", 0);
    const struct onnx_tensor *old = head->inputs[1]->constant;
    const struct onnx_shape matrix = {2, {turned ? 10 : 16, turned ? 16 : 10}};
    struct onnx_value *wide = edit_constant(g, "head_wide", ONNX_FLOAT, &matrix, &wider);
    for (int i = 0; i < 80; i++) ((float *)wider->data)[turned ? i / 8 * 16 + i % 8 : i] = ((const float *)old->data)[i];
    edit_set_input(g, head, 1, wide);
    edit_clean(g);
}

static void heads_that_share_a_scale_are_named(void **state) {
    (void)state;
    head_size = 50;
    struct made *m = make_of(add_head, NULL, NULL);
    assert_true(warned(m, "heads share a scale", "join"));
    assert_true(warned(m, "boxes_y", "goes up to"));
    made_free(m);
    head_size = 2;
    m = make_of(add_head, NULL, NULL);
    assert_false(warned(m, "heads share", ""));
    made_free(m);
}

static double wider_by;
static void widen_range(struct scheme *scheme) {
    size_t group = scheme->values[scheme->layers[1].x].group;
    for (size_t i = 0; i < scheme->value_count; i++)
        if (scheme->values[i].group == group) scheme->values[i].scale *= (float)wider_by;
}

static void dead_channels_and_wide_ranges_are_named(void **state) {
    (void)state;
    struct made *m = make(NULL, NULL);
    assert_true(warned(m, "0 whatever the sample", "2 of 8 of depthwise"));
    assert_int_equal(m->report.notice_count, 1);
    made_free(m);
    wider_by = 16;
    m = make(NULL, widen_range);
    assert_true(warned(m, "an outlier holds it", "stem"));
    assert_false(warned(m, "lost channels", ""));
    made_free(m);
    wider_by = 180;
    m = make(NULL, widen_range);
    assert_true(warned(m, "lost channels", "of 8 of stem"));
    made_free(m);
}

static bool matches(struct made *m, struct failure *failure) {
    struct comparison again = {.graph = m->wanted.graph, .network = &m->network, .threads = 1, .report = &m->report};
    bool good = compare_match(&again, failure);
    compare_close(&again);
    return good;
}

/* Each value is sought by halves, under each of three names. */
static void few_looks_find_the_tensors(void **state) {
    (void)state;
    struct made *m = make(NULL, NULL);
    const size_t tensors = morsel_blob_header(&m->network)->tensors.count, values = m->wanted.graph->value_count;
    size_t halves = 2;
    while ((size_t)1 << (halves - 2) < tensors) halves++;
    struct comparison again = {.graph = m->wanted.graph, .network = &m->network, .threads = 1, .report = &m->report};
    struct failure failure;
    assert_true(compare_match(&again, &failure));
    assert_in_range(again.looks, 1, 2 * 3 * values * halves); /* twice for an activation's input */
    compare_close(&again);
    made_free(m);
}

static void networks_with_nothing_in_common_are_refused(void **state) {
    (void)state;
    struct made *m = make(NULL, NULL);
    struct onnx_graph *g = m->wanted.graph;
    struct failure failure = {0};
    for (size_t i = 0; i < g->value_count; i++)
        if (!g->values[i]->is_input && !g->values[i]->is_output) g->values[i]->name = onnx_text(g, "other_%zu", i);
    assert_false(matches(m, &failure));
    assert_int_equal(failure.status, STATUS_INPUT);
    assert_non_null(strstr(failure.text, "FLOAT has 'other_"));
    assert_non_null(strstr(failure.text, "MODEL has 'r1' 1x8x16x16, 'r2' 1x8x16x16"));
    for (size_t i = 0; i < g->value_count; i++) /* a name that is cut says so */
        if (!g->values[i]->is_input && !g->values[i]->is_output)
            g->values[i]->name = onnx_text(g, "a_name_that_has_some_more_than_40_letters_%zu", i);
    assert_false(matches(m, &failure));
    assert_non_null(strstr(failure.text, "FLOAT has 'a_name_that_has_some_more_than_40_letter...' 1x"));
    node_named(g, "stem")->outputs[0]->name = "r1"; /* one is enough, */
    assert_true(matches(m, &failure));
    node_named(g, "stem")->outputs[0]->shape.dims[2]++; /* but not the name alone */
    assert_false(matches(m, &failure));
    g->outputs[0]->shape.dims[1] = 11;
    assert_false(matches(m, &failure));
    assert_non_null(strstr(failure.text, "the same outputs, in name and size: MODEL lacks 'scores' 1x11, and has 'scores' 1x10;"));
    g->inputs[0]->shape.dims[3] = 33;
    assert_false(matches(m, &failure));
    assert_non_null(strstr(failure.text, "the same inputs, in name and size: MODEL lacks 'input' 1x3x32x33, and has 'input' 1x3x32x32;"));
    made_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_by_hand),
        cmocka_unit_test(stored_bytes_are_what_the_scale_gives),
        cmocka_unit_test(a_whole_blob_gives_the_same),
        cmocka_unit_test(what_a_step_made_stays),
        cmocka_unit_test(a_sound_network_has_nothing_named),
        cmocka_unit_test(layers_of_a_dynamic_network_are_to_blame),
        cmocka_unit_test(a_damaged_layer_is_the_worst),
        cmocka_unit_test(a_narrow_range_clips),
        cmocka_unit_test(rescaled_channels_are_no_error),
        cmocka_unit_test(heads_that_share_a_scale_are_named),
        cmocka_unit_test(dead_channels_and_wide_ranges_are_named),
        cmocka_unit_test(few_looks_find_the_tensors),
        cmocka_unit_test(networks_with_nothing_in_common_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
