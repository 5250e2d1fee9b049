/* SPDX-License-Identifier: MIT */
/*
 * Two passes over the data. In the first the float network and the model run side by side, as they are: it measures errors as they
 * accumulate. Then it is known which channels the model holds rescaled or shifted. In the second each layer runs alone, with the model's
 * weights and rounding, on the float network's values. It measures what each layer adds by itself.
 */
#include "tools/compare/compare.h"
#include "tools/base/arena.h"
#include "tools/compare/whole.h"
#include "tools/network/host/over.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one point in the second pass. */
struct own_sums {
    double signal, noise;
    uint64_t clipped, count;
};

struct worker {
    struct comparison *c;
    /* First pass. */
    struct whole_run model;
    struct metric_sums **sums; /* [point][channels twice]: all, inside */
    float *lows, *highs;       /* [value] */
    struct observer *observer;
    float *numbers; /* of the largest point, twice */
    bool ran;
    /* Second pass. */
    struct executor_run *run;
    float **floats; /* [input of the cut graph] */
    size_t *slots;  /* [point]: the input that holds it */
    struct own_sums *own;
};

struct measuring {
    struct comparison *c;
    struct worker *workers;
    unsigned count;
};

static float within(const struct compare_point *p, float x) {
    return x < p->floor ? p->floor : x > p->ceiling ? p->ceiling : x;
}

/* --- First pass --- */

static void put_input(struct worker *w, const struct compare_point *p, const float *data) {
    const struct morsel_view view = whole_view(&w->model, p->tensor);
    int32_t *integers = view.type == MORSEL_INT32 ? (int32_t *)view.data : NULL;
    for (size_t i = 0; integers && i < p->count; i++) integers[i] = (int32_t)data[i];
    if (!integers) morsel_quantize(&view, data, p->count);
    w->ran = false;
}

static void add_channels(const struct compare_point *p, struct metric_sums *sums, const float *x, const float *y) {
    float low = (float)(p->qparams.least - p->qparams.zero) * p->qparams.scale,
          high = (float)(p->qparams.most - p->qparams.zero) * p->qparams.scale;
    for (size_t at = 0, c = 0; at < p->count; at += p->inner, c = c + 1 < p->channels ? c + 1 : 0) {
        struct metric_sums *inside = &sums[p->channels + c];
        metric_add(&sums[c], x + at, y + at, p->inner);
        for (size_t i = at; p->stored && i < at + p->inner; i++)
            if (y[i] > low && y[i] < high) metric_add(inside, x + i, y + i, 1);
    }
}

static void watch_both(void *context, unsigned index, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct measuring *m = context;
    struct worker *w = &m->workers[index];
    const struct compare_value *info = value->lowered;
    const struct compare_point *p = info->point;
    size_t at = (size_t)(info - w->c->values);
    (void)sample;
    for (size_t i = 0; i < count; i++) {
        w->lows[at] = data[i] < w->lows[at] ? data[i] : w->lows[at];
        w->highs[at] = data[i] > w->highs[at] ? data[i] : w->highs[at];
    }
    if (!p) return;
    if (value->is_input) {
        put_input(w, p, data);
    } else if (!w->ran) {
        struct failure failure; /* a session that is open runs */
        whole_compute(&w->model, &failure);
        w->ran = true;
    }
    float *wanted = w->numbers + count;
    whole_values(&w->model, p->tensor, w->numbers);
    for (size_t i = 0; i < count; i++) {
        wanted[i] = within(p, data[i]);
        w->numbers[i] = within(p, w->numbers[i]);
    }
    add_channels(p, w->sums[p - w->c->points], wanted, w->numbers);
    observer_see(w->observer, value, w->numbers, count);
}

static bool open_first(struct worker *w, struct failure *failure) {
    const struct comparison *c = w->c;
    size_t most = 1;
    w->sums = must_calloc(c->point_count, sizeof *w->sums);
    w->lows = must_calloc(c->value_count, sizeof(float));
    w->highs = must_calloc(c->value_count, sizeof(float));
    for (size_t i = 0; i < c->point_count; i++) {
        most = c->points[i].count > most ? c->points[i].count : most;
        w->sums[i] = must_calloc(2 * c->points[i].channels, sizeof **w->sums);
    }
    w->numbers = must_calloc(2 * most, sizeof(float));
    bool *wanted = must_calloc(c->value_count, sizeof *wanted);
    for (size_t i = 0; i < c->value_count; i++) {
        w->lows[i] = INFINITY;
        w->highs[i] = -INFINITY;
        wanted[i] = c->values[i].point != NULL;
    }
    w->observer = observer_open(c->graph, wanted);
    free(wanted);
    return whole_run_open(&w->model, c->network, failure);
}

static void merge_first(struct comparison *c, struct worker *w) {
    for (size_t i = 0; i < c->point_count; i++)
        for (size_t k = 0; k < c->points[i].channels; k++) {
            metric_merge(&c->points[i].sums[k], &w->sums[i][k]);
            metric_merge(&c->points[i].inside[k], &w->sums[i][c->points[i].channels + k]);
        }
    for (size_t i = 0; i < c->value_count; i++) {
        c->values[i].low = fminf(c->values[i].low, w->lows[i]);
        c->values[i].high = fmaxf(c->values[i].high, w->highs[i]);
    }
    if (c->observer) {
        observer_merge(c->observer, w->observer);
        return;
    }
    c->observer = w->observer;
    w->observer = NULL;
}

static bool first_pass(struct measuring *m, const struct executor *executor, struct failure *failure) {
    const struct network network = network_of_executor(executor);
    for (unsigned i = 0; i < m->count; i++)
        if (!open_first(&m->workers[i], failure)) return false;
    if (!over_data(&network, m->c->data, m->count, "samples, in the network as it runs", watch_both, NULL, m, failure)) return false;
    for (unsigned i = 0; i < m->count; i++) merge_first(m->c, &m->workers[i]);
    return true;
}

/* Whether the model holds one number only, whatever comes in: 0, where nothing was added. */
static bool is_still(const struct metric_sums *sums, float shift) {
    return shift == 0 ? !(sums->yy > 0) : !(metric_centred(sums).yy > 0x1p-40 * sums->yy);
}

/* Error as it comes out, once the factors are known, and what was added. */
static void sum_up(struct comparison *c) {
    double signal = 0, noise = 0;
    for (size_t i = 0; i < c->point_count; i++) {
        struct compare_point *p = &c->points[i];
        double own = 0, xx = 0, xy = 0, yy = 0;
        for (size_t k = 0; k < p->channels; k++) {
            float factor = compare_factor(c, p->value, k), shift = compare_shift(p->value, k);
            const struct metric_sums s = metric_restored(&p->sums[k], (double)factor, (double)shift);
            own += metric_noise(&s);
            xx += s.xx;
            xy += s.xy;
            yy += s.yy;
            p->dead += !(s.xx > 0);
            p->died += s.xx > 0 && is_still(&p->sums[k], shift);
            p->rescaled += factor != 1 || shift != 0;
        }
        p->sqnr_out = metric_sqnr(xx, own);
        p->cosine = metric_cosine(xx, xy, yy);
        signal += p->value->is_output ? xx : 0;
        noise += p->value->is_output ? own : 0;
    }
    c->output_sqnr = metric_sqnr(signal, noise);
}

/* A channel that is always 0 in both: nothing says how it was rescaled, and its weights do nothing. */
static bool is_idle(const struct compare_point *p, size_t channel) {
    return channel < p->channels && !(p->sums[channel].xx > 0) && is_still(&p->sums[channel], compare_shift(p->value, channel));
}

static void weigh(struct comparison *c) {
    for (size_t i = 0; i < c->point_count; i++) {
        const struct compare_weights *w = c->points[i].weights;
        struct metric_sums sums = {0};
        for (size_t e = 0; w && e < w->linear.weights->count; e++) {
            int64_t in, out;
            linear_place(&w->linear, (int64_t)e, &in, &out);
            if (is_idle(&c->points[i], (size_t)out)) continue;
            float wanted = (float)(onnx_number(w->linear.weights, e) * w->linear.gain);
            float model = w->values[e] * compare_factor(c, w->linear.node->inputs[0], (size_t)in) /
                          compare_factor(c, w->linear.node->outputs[0], (size_t)out);
            double error = (double)model - (double)wanted;
            sums.xx += (double)wanted * (double)wanted;
            sums.yy += error * error;
        }
        c->points[i].sqnr_weight = metric_sqnr(sums.xx, sums.yy);
    }
}

/* --- Second pass --- */

static void keep_float(void *context, unsigned index, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct measuring *m = context;
    struct worker *w = &m->workers[index];
    const struct compare_value *info = value->lowered;
    (void)sample;
    if (info->point) memcpy(w->floats[w->slots[info->point - w->c->points]], data, count * sizeof *data);
}

static void add_own(struct worker *w, const struct compare_point *p, const float *y) {
    const float *x = w->floats[w->slots[p - w->c->points]];
    struct own_sums *own = &w->own[p - w->c->points];
    double signal = 0, noise = 0;
    for (size_t at = 0, c = 0; at < p->count; at += p->inner, c = c + 1 < p->channels ? c + 1 : 0) {
        const struct metric_channel channel = {compare_factor(w->c, p->value, c), compare_shift(p->value, c)};
        for (size_t i = at; i < at + p->inner; i++) {
            float wanted = within(p, x[i]), have = within(p, p->stored ? metric_stored(&p->qparams, channel, y[i]) : y[i]);
            if (metric_same_infinity(wanted, have)) continue;
            double error = (double)wanted - (double)have;
            signal += (double)wanted * (double)wanted;
            noise += error * error;
            own->clipped += p->stored && metric_clips(&p->qparams, channel, wanted);
        }
    }
    own->signal += signal;
    own->noise += noise;
    own->count += p->count;
}

static void watch_own(void *context, const struct onnx_value *value, const float *data, size_t count) {
    (void)count;
    if (value->lowered) add_own(context, value->lowered, data);
}

static bool run_own(void *context, unsigned index, size_t sample, struct network_run *run, struct failure *failure) {
    struct measuring *m = context;
    struct worker *w = &m->workers[index];
    (void)sample, (void)run;
    for (size_t i = 0; i < m->c->point_count; i++) /* the rounding of inputs is theirs */
        if (!m->c->points[i].node) add_own(w, &m->c->points[i], w->floats[w->slots[i]]);
    return executor_run(w->run, (const float *const *)w->floats, watch_own, w, failure);
}

static bool open_second(struct worker *w, const struct onnx_graph *cut, const struct executor *own, struct failure *failure) {
    const struct comparison *c = w->c;
    size_t next = c->graph->input_count;
    w->floats = must_calloc(cut->input_count, sizeof *w->floats);
    w->slots = must_calloc(c->point_count, sizeof *w->slots);
    w->own = must_calloc(c->point_count, sizeof *w->own);
    for (size_t i = 0; i < cut->input_count; i++) w->floats[i] = must_calloc((size_t)onnx_elements(&cut->inputs[i]->shape), sizeof(float));
    for (size_t i = 0; i < c->point_count; i++) {
        const struct compare_point *p = &c->points[i];
        for (size_t k = 0; !p->node && k < c->graph->input_count; k++) w->slots[i] = c->graph->inputs[k] == p->value ? k : w->slots[i];
        if (p->node) w->slots[i] = next++;
    }
    w->run = executor_run_open(own, failure);
    return w->run != NULL;
}

static void merge_second(struct comparison *c, const struct worker *workers, unsigned count) {
    for (size_t i = 0; i < c->point_count; i++) {
        struct own_sums all = {0};
        for (unsigned k = 0; k < count; k++) {
            all.signal += workers[k].own[i].signal;
            all.noise += workers[k].own[i].noise;
            all.clipped += workers[k].own[i].clipped;
            all.count += workers[k].own[i].count;
        }
        c->points[i].sqnr_own = metric_sqnr(all.signal, all.noise);
        c->points[i].clipped = all.count ? (double)all.clipped / (double)all.count : 0;
    }
}

static bool second_pass(struct measuring *m, const struct executor *executor, const struct onnx_graph *cut, const struct executor *own,
                        struct failure *failure) {
    const struct network network = network_of_executor(executor);
    for (unsigned i = 0; i < m->count; i++)
        if (!open_second(&m->workers[i], cut, own, failure)) return false;
    if (!over_data(&network, m->c->data, m->count, "samples, each layer on its own", keep_float, run_own, m, failure)) return false;
    merge_second(m->c, m->workers, m->count);
    return true;
}

/* --- Both --- */

static void worker_close(struct worker *w, size_t floats) {
    whole_run_close(&w->model);
    observer_close(w->observer);
    executor_run_close(w->run);
    for (size_t i = 0; w->sums && i < w->c->point_count; i++) free(w->sums[i]);
    for (size_t i = 0; w->floats && i < floats; i++) free(w->floats[i]);
    free(w->sums);
    free(w->lows);
    free(w->highs);
    free(w->numbers);
    free(w->floats);
    free(w->slots);
    free(w->own);
}

bool compare_measure(struct comparison *c, struct failure *failure) {
    unsigned count = each_workers(quant_data_count(c->data), c->threads);
    struct measuring m = {.c = c, .count = count, .workers = must_calloc(count, sizeof(struct worker))};
    struct executor *executor = executor_open(c->graph, failure), *own = NULL;
    struct onnx_graph *cut = NULL;
    bool good = executor != NULL;
    for (unsigned i = 0; i < count; i++) m.workers[i].c = c;
    good = good && first_pass(&m, executor, failure);
    if (good) {
        compare_find_movable(c);
        compare_find_factors(c);
        compare_find_shifts(c);
        sum_up(c);
        weigh(c);
        cut = compare_own_graph(c);
        own = executor_open(cut, failure);
        good = own && second_pass(&m, executor, cut, own, failure);
    }
    for (unsigned i = 0; i < count; i++) worker_close(&m.workers[i], cut ? cut->input_count : 0);
    free(m.workers);
    executor_close(own);
    executor_close(executor);
    onnx_free(cut);
    return good;
}

void compare_close(struct comparison *c) {
    observer_close(c->observer);
    c->observer = NULL;
}
