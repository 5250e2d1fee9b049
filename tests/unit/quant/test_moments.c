/* SPDX-License-Identifier: MIT */
/*
 * Layers of every kind as products of weights and patches of their input: a row of weights times a patch is what the float network gives,
 * moments are what their definitions say, and after refining no channel is off on average.
 */
#include "tests/unit/support/quant_trial.h"
#include "tools/quant/round/moments.h"

enum { SAMPLES = 5, MOST = 2048 };

struct layer {
    const char *op, *x, *weights, *bias, *attributes;
    int opset;
};

static const struct layer layers[] = {
    {"Conv", "2,3,7,6", "4,3,3,2", "4", "strides=2,1 pads=0,2,1,1", 13},
    {"Conv", "1,4,9,8", "6,2,2,3", "6", "group:2 dilations=3,2 pads=2,1,0,3 strides=1,2", 13},
    {"Conv", "1,5,7,7", "10,1,3,3", "", "group:5 pads=1,1,1,1 strides=2,2", 13},
    {"Conv", "1,2,8,5", "3,2,4,2", "3", "auto_pad@SAME_LOWER strides=3,2", 13},
    {"Conv", "2,3,17", "5,3,4", "5", "pads=3,0 strides=2 dilations=2", 13},
    {"Conv", "1,6,5,4", "7,6,1,1", "7", "", 13},
    {"Gemm", "4,9", "9,7", "7", "alpha~-0.5 beta~2", 13},
    {"Gemm", "4,9", "7,9", "1,7", "alpha~3 transB:1", 13},
    {"MatMul", "2,3,8", "8,5", "", "", 13},
};

static int read_dims(const char *text, int64_t *dims, int *count) {
    struct number numbers[4];
    int rank = read_numbers(text, numbers, 4);
    *count = 1;
    for (int i = 0; i < rank; i++) {
        dims[i] = numbers[i].integer;
        *count *= (int)dims[i];
    }
    return rank;
}

static void add_noise(struct bytes *graph, const char *name, const char *shape) {
    struct number numbers[256];
    int64_t dims[4];
    int count, rank = read_dims(shape, dims, &count);
    for (int i = 0; i < count; i++) numbers[i].floating = (double)noise();
    add_constant(graph, name, 1, rank, dims, numbers, count);
}

struct trial {
    struct setup setup;
    struct scheme_layer *layer;
    struct patch patch;
    float x[SAMPLES][MOST], y[SAMPLES][MOST], u[SAMPLES][MOST], b[SAMPLES][MOST], e[SAMPLES][MOST];
};

static struct onnx_graph *make_graph(const struct layer *layer) {
    struct bytes graph = {0};
    add_value(&graph, 11, "x", 1, layer->x);
    add_noise(&graph, "w", layer->weights);
    if (*layer->bias) add_noise(&graph, "c", layer->bias);
    add_node(&graph, "layer", layer->op, *layer->bias ? "x w c" : "x w", "y", layer->attributes);
    add_value(&graph, 12, "y", 1, NULL);
    struct bytes model = model_message(&graph, layer->opset);
    return inferred_bytes(&model);
}

/* Mostly within a narrow range, which the bytes get, and seldom far out of it. */
static const float *make_data(const struct onnx_graph *graph, bool constant) {
    static float all[SAMPLES * MOST];
    size_t count = (size_t)onnx_elements(&graph->inputs[0]->shape);
    assert_true(count <= MOST);
    for (size_t i = 0; i < SAMPLES * count; i++) all[i] = noise() * (noise() > 0.96f ? 3e4f : 1) * !constant + 0.25f;
    return all;
}

static void run_all(struct trial *t) {
    struct failure failure = {0};
    struct executor_run *run = executor_run_open(t->setup.q.executor, &failure);
    size_t count;
    assert_non_null(run);
    for (size_t s = 0; s < SAMPLES; s++) {
        float *inputs[] = {t->x[s]};
        assert_true(quant_data_load(t->setup.data, s, inputs, &failure));
        assert_true(executor_run(run, (const float *const *)inputs, NULL, NULL, &failure));
        const float *y = executor_output(run, 0, &count);
        assert_true(count <= MOST);
        memcpy(t->y[s], y, count * sizeof *y);
    }
    executor_run_close(run);
}

/* The input as the bytes hold it, by the words of moments.h. */
static void split_all(struct trial *t) {
    const struct scheme_value *v = &t->setup.q.scheme->values[t->layer->x];
    size_t count = (size_t)onnx_elements(&t->setup.graph->inputs[0]->shape);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < count; i++) {
            int least = scheme_least(&t->setup.q.scheme->options) - v->zero, most = scheme_most(&t->setup.q.scheme->options) - v->zero;
            float u = fmaxf(fminf(t->x[s][i] / v->scale, (float)most + 1024), (float)least - 1024);
            t->u[s][i] = u;
            t->b[s][i] = fmaxf(fminf(rintf(u), (float)most), (float)least);
            t->e[s][i] = fmaxf(fminf(rintf((u - t->b[s][i]) * MOMENTS_STEPS), 1008), -1008);
        }
}

static void start(struct trial *t, const struct layer *layer, const struct quantize_options *options, bool constant) {
    struct failure failure = {0};
    struct onnx_graph *graph = make_graph(layer);
    struct quantizer *q = &t->setup.q;
    memset(t, 0, sizeof *t);
    setup_open(&t->setup, graph, SAMPLES, make_data(graph, constant), options);
    q->options.method = RANGE_PERCENTILE;
    q->options.percentile = 95;
    if (!quantize_prepare(q, &failure) || !quantize_observe(q, &failure)) fail_msg("%s", failure.text);
    quantize_choose(q);
    assert_int_equal(q->scheme->layer_count, 1);
    t->layer = &q->scheme->layers[0];
    assert_true(patch_of(t->layer, &t->patch));
    run_all(t);
    split_all(t);
}

static float patches[256 * PATCH_BLOCK];

/* to[k] = element k of one patch. Positions are asked for two at a time, the second being a decoy. */
static void one_patch(const struct trial *t, const float *x, int64_t group, int64_t position, float *to) {
    const int64_t both[2] = {position, t->patch.positions - 1 - position};
    patch_gather(&t->patch, x, group, both, 2, patches, PATCH_BLOCK);
    for (int64_t k = 0; k < t->patch.length; k++) to[k] = patches[k * PATCH_BLOCK];
}

/* Where output o of a group at a position lies among what the network gives. */
static int64_t place_of(const struct trial *t, int64_t group, int64_t row, int64_t position) {
    const struct patch *p = &t->patch;
    int64_t output = group * p->rows + row, outputs = p->groups * p->rows, plane = p->positions / p->images;
    bool conv = !strcmp(t->layer->node->op, "Conv");
    return conv ? (position / plane * outputs + output) * plane + position % plane : position * outputs + output;
}

static int64_t weight_of(const struct patch *p, int64_t group, int64_t row, int64_t k) {
    return group * p->weight_group + row * p->weight_row + k * p->weight_column;
}

static void check_products(const struct trial *t, const float *x, const float *y) {
    const struct patch *p = &t->patch;
    const float *w = t->layer->weights->data;
    float patch[256];
    for (int64_t g = 0; g < p->groups; g++)
        for (int64_t at = 0; at < p->positions; at++) {
            one_patch(t, x, g, at, patch);
            for (int64_t r = 0; r < p->rows; r++) {
                double sum = (double)t->layer->bias[g * p->rows + r], size = fabs(sum);
                for (int64_t k = 0; k < p->length; k++) {
                    double product = (double)patch[k] * (double)w[weight_of(p, g, r, k)] * (double)t->layer->factor;
                    sum += product;
                    size += fabs(product);
                }
                if (!(fabs(sum - (double)y[place_of(t, g, r, at)]) <= 1e-5 * size))
                    fail_msg("%s: group %d, output %d, position %d: %g, not %g", t->layer->node->op, (int)g, (int)r, (int)at, sum,
                             (double)y[place_of(t, g, r, at)]);
            }
        }
}

static void products_are_what_the_network_gives(void **state) {
    (void)state;
    static struct trial t;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        start(&t, &layers[i], &(struct quantize_options){0}, false);
        for (size_t s = 0; s < SAMPLES; s++) check_products(&t, t.x[s], t.y[s]);
        setup_close(&t.setup);
    }
}

/* What the moments of one group are, from all its patches. */
static void check_group(const struct trial *t, const struct moments *m, int64_t g) {
    static double first[3][256], second[2][256 * 256];
    float u[256], b[256], e[256];
    int64_t n = t->patch.length;
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    for (size_t s = 0; s < SAMPLES; s++)
        for (int64_t at = 0; at < t->patch.positions; at++) {
            one_patch(t, t->u[s], g, at, u);
            one_patch(t, t->b[s], g, at, b);
            one_patch(t, t->e[s], g, at, e);
            for (int64_t j = 0; j < n; j++) {
                first[0][j] += (double)u[j];
                first[1][j] += (double)b[j];
                first[2][j] += (double)e[j];
                for (int64_t k = 0; k < n; k++) {
                    second[0][j * n + k] += (double)b[j] * (double)b[k];
                    second[1][j * n + k] += (double)e[j] * (double)b[k];
                }
            }
        }
    for (int64_t j = 0; j < n; j++) {
        assert_true(fabs(m->first_u[g * n + j] / MOMENTS_FINE - first[0][j]) <= (double)SAMPLES / MOMENTS_FINE);
        assert_true(m->first_b[g * n + j] == first[1][j]);
        assert_true(m->some_b[g * n + j] == first[1][j]);
        assert_true(m->some_e[g * n + j] == first[2][j]);
    }
    assert_memory_equal(m->second_bb + g * n * n, second[0], (size_t)(n * n) * sizeof(double));
    assert_memory_equal(m->second_eb + g * n * n, second[1], (size_t)(n * n) * sizeof(double));
}

static void moments_are_what_their_definitions_say(void **state) {
    (void)state;
    static struct trial t;
    for (size_t i = 0; i < 2 * sizeof layers / sizeof *layers; i++) {
        struct failure failure = {0};
        start(&t, &layers[i / 2], &(struct quantize_options){.scheme = {.signed_bytes = i % 2, .symmetric = i % 2}}, false);
        const struct moments_wish wish = {t.setup.q.scheme, t.setup.q.executor, t.setup.data, 1 + (unsigned)i % 2 * 3, 0, 1, 256};
        struct moments *m = moments_collect(&wish, &failure);
        assert_non_null(m);
        assert_true(m->count == (double)SAMPLES * (double)t.patch.positions && m->second_count == m->count);
        for (int64_t g = 0; g < t.patch.groups; g++) check_group(&t, m, g);
        moments_free(m, 1);
        setup_close(&t.setup);
    }
}

/* By how much the layer in integers is above what it is in float (of clamped inputs), on average over the data, in units of its sums. */
static double mean_error(const struct trial *t, int64_t g, int64_t row, float bias_before) {
    const struct patch *p = &t->patch;
    const float *w = t->layer->weights->data;
    int64_t output = g * p->rows + row;
    double unit = (double)t->setup.q.scheme->values[t->layer->x].scale * (double)t->layer->scales[t->layer->scale_count > 1 ? output : 0];
    double scale = (double)t->layer->scales[t->layer->scale_count > 1 ? output : 0], sum = 0;
    float u[256], b[256];
    for (size_t s = 0; s < SAMPLES; s++)
        for (int64_t at = 0; at < p->positions; at++) {
            one_patch(t, t->u[s], g, at, u);
            one_patch(t, t->b[s], g, at, b);
            for (int64_t k = 0; k < p->length; k++) {
                int64_t of = weight_of(p, g, row, k);
                sum += (double)t->layer->values[of] * (double)b[k] - (double)w[of] * (double)t->layer->factor / scale * (double)u[k];
            }
        }
    return sum / (SAMPLES * (double)p->positions) + ((double)t->layer->bias[output] - (double)bias_before) / unit;
}

/* No weight is far from what is best beside the others: for the variance of the row's sums about those of the float layer, and for a
 * little of the plain error. (Not all of them are at the best: sweeps end some time.) */
static void check_row(const struct trial *t, const float *exact, int64_t g, int64_t row) {
    const struct patch *p = &t->patch;
    double error = 0, mean[256] = {0}, square[256] = {0}, product[256] = {0}, trace = 0, count = SAMPLES * (double)p->positions;
    float b[256], e[256];
    for (size_t s = 0; s < SAMPLES; s++)
        for (int64_t at = 0; at < p->positions; at++) {
            double sum = 0;
            one_patch(t, t->b[s], g, at, b);
            one_patch(t, t->e[s], g, at, e);
            for (int64_t k = 0; k < p->length; k++) {
                int64_t of = weight_of(p, g, row, k);
                sum += (double)t->layer->values[of] * (double)b[k] - (double)exact[of] * ((double)b[k] + (double)e[k] / MOMENTS_STEPS);
            }
            error += sum / count;
            for (int64_t k = 0; k < p->length; k++) {
                mean[k] += (double)b[k] / count;
                square[k] += (double)b[k] * (double)b[k] / count;
                product[k] += sum * (double)b[k] / count;
            }
        }
    for (int64_t k = 0; k < p->length; k++) trace += square[k] - mean[k] * mean[k];
    for (int64_t k = 0; k < p->length; k++) {
        int64_t of = weight_of(p, g, row, k);
        double share = 0.03 * trace / (double)p->length, q = t->layer->values[of];
        double slope = product[k] - error * mean[k] + share * (q - (double)exact[of]), curve = square[k] - mean[k] * mean[k] + share;
        assert_true(fabs(q) <= t->layer->most);
        if (!(fabs(fmax(fmin(q - slope / curve, t->layer->most), -t->layer->most) - q) < 0.75))
            fail_msg("%s: weight %d of row %d of group %d is %g, where %g is better", t->layer->node->op, (int)k, (int)row, (int)g, q,
                     q - slope / curve);
    }
}

static void rounding_makes_the_error_less(void **state) {
    (void)state;
    static struct trial t;
    for (size_t i = 0; i < 2 * sizeof layers / sizeof *layers; i++) {
        struct failure failure = {0};
        float exact[256];
        start(&t, &layers[i / 2], &(struct quantize_options){.scheme = {.reduced = true, .per_tensor = i % 2}, .round_most = 1024}, false);
        scheme_exact_weights(t.layer, exact);
        assert_true(quantize_refine(&t.setup.q, &failure));
        for (int64_t g = 0; g < t.patch.groups; g++)
            for (int64_t r = 0; r < t.patch.rows; r++) check_row(&t, exact, g, r);
        setup_close(&t.setup);
    }
}

static void no_channel_is_off_on_average(void **state) {
    (void)state;
    static struct trial t;
    for (size_t i = 0; i < 2 * sizeof layers / sizeof *layers; i++) {
        struct failure failure = {0};
        start(&t, &layers[i / 2], &(struct quantize_options){.scheme = {.reduced = true, .per_tensor = i % 2}, .round_most = 1024}, false);
        float before[16];
        memcpy(before, t.layer->bias, t.layer->outputs * sizeof *before);
        assert_true(quantize_refine(&t.setup.q, &failure));
        for (int64_t g = 0; g < t.patch.groups; g++)
            for (int64_t r = 0; r < t.patch.rows; r++) {
                double error = mean_error(&t, g, r, before[g * t.patch.rows + r]);
                if (!(fabs(error) < 0.5))
                    fail_msg("%s (%d): output %d of group %d is off by %g on average", t.layer->node->op, (int)i, (int)r, (int)g, error);
            }
        setup_close(&t.setup);
    }
}

/* Inputs that never change say nothing of weights: they stay at the nearest integers, and biases make up for the rest. */
static void inputs_that_never_change_leave_weights_alone(void **state) {
    (void)state;
    static struct trial t;
    static int8_t nearest[256];
    struct failure failure = {0};
    start(&t, &(struct layer){"Conv", "1,3,4,4", "4,3,2,2", "", "", 13}, &(struct quantize_options){.round_most = 1024}, true);
    memcpy(nearest, t.layer->values, t.layer->weights->count);
    assert_true(quantize_refine(&t.setup.q, &failure));
    assert_memory_equal(nearest, t.layer->values, t.layer->weights->count);
    for (int64_t r = 0; r < t.patch.rows; r++) assert_true(fabs(mean_error(&t, 0, r, 0)) < 0.5);
    setup_close(&t.setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_what_the_network_gives),
                                       cmocka_unit_test(moments_are_what_their_definitions_say),
                                       cmocka_unit_test(no_channel_is_off_on_average), cmocka_unit_test(rounding_makes_the_error_less),
                                       cmocka_unit_test(inputs_that_never_change_leave_weights_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
