/* SPDX-License-Identifier: MIT */
/* Boxes by the library's own rule, of outputs in float and in bytes alike, and pairs of them. */
#include "tools/quant/boxes.h"
#include "core/answer.h"
#include "tools/base/arena.h"
#include "tools/network/host/float_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the threshold: from where on boxes are looked for, and from where on they count as noise. */
static const float sought = 0.2F, counted = 0.5F;
static const double alike = 0.5, near = 0.3; /* parts of the union that two boxes share */
static const double most_off = 0.5;          /* parts of the threshold: what is more off has come or gone, however far */

static struct morsel_blob_answer *record_of(const struct boxes_rule *rule) {
    return (struct morsel_blob_answer *)(void *)rule->words;
}

static struct network_tensor tensor_of(const struct onnx_value *value) {
    struct network_tensor tensor = {.name = value->name,
                                    .rank = (uint32_t)value->shape.rank,
                                    .count = (size_t)onnx_elements(&value->shape)};
    for (uint32_t k = 0; k < tensor.rank; k++) tensor.dims[k] = (uint64_t)value->shape.dims[k];
    return tensor;
}

struct boxes_rule *boxes_rule_open(uint32_t *words, const struct onnx_graph *graph) {
    struct boxes_rule *rule = must_calloc(1, sizeof *rule);
    rule->words = words;
    rule->outputs = graph->output_count;
    rule->tensors = must_calloc(rule->outputs, sizeof *rule->tensors);
    for (size_t i = 0; i < rule->outputs; i++) rule->tensors[i] = tensor_of(graph->outputs[i]);
    struct morsel_blob_answer *record = record_of(rule);
    const struct network_tensor *t = &rule->tensors[record->output];
    rule->images = t->rank > 2 ? (uint32_t)t->dims[0] : 1;
    rule->threshold = record->threshold;
    record->threshold *= sought;
    return rule;
}

void boxes_rule_close(struct boxes_rule *rule) {
    if (!rule) return;
    free(rule->words);
    free(rule->tensors);
    free(rule);
}

/* An output as floats, for free(). */
static float *values_of(const struct boxes_rule *rule, const struct network_run *run, uint32_t output, struct morsel_view *view,
                        struct failure *failure) {
    const struct network_tensor *tensor = &rule->tensors[output];
    float *values = must_calloc(tensor->count, sizeof *values);
    *view = float_answer_view(tensor, values, tensor->count);
    if (network_get(run, output, values, failure)) return values;
    free(values);
    return NULL;
}

bool boxes_find(const struct boxes_rule *rule, const struct network_run *run, struct boxes *boxes, struct failure *failure) {
    const struct morsel_blob_answer *record = record_of(rule);
    struct morsel_view view[2];
    float *values[2] = {values_of(rule, run, record->output, &view[0], failure), NULL};
    if (values[0]) values[1] = values_of(rule, run, record->scores, &view[1], failure);
    const bool good = values[0] && values[1];
    boxes->list = must_calloc((size_t)rule->images * record->most, sizeof *boxes->list);
    boxes->counts = must_calloc(rule->images, sizeof *boxes->counts);
    for (uint32_t i = 0; good && i < rule->images; i++)
        morsel_detect_by_rule(record, &view[0], &view[1], i, boxes->list + (size_t)i * record->most, record->most, &boxes->counts[i]);
    free(values[0]);
    free(values[1]);
    return good;
}

void boxes_free(struct boxes *boxes) {
    free(boxes->list);
    free(boxes->counts);
    *boxes = (struct boxes){0};
}

float boxes_threshold(const struct boxes_rule *rule, int index) {
    return rule->threshold * (0.6F + 0.1F * (float)index);
}

size_t boxes_count(const struct boxes_rule *rule, const struct boxes *boxes, float least) {
    size_t count = 0;
    for (uint32_t image = 0; image < rule->images; image++)
        for (uint32_t i = 0; i < boxes->counts[image]; i++) count += boxes->list[(size_t)image * record_of(rule)->most + i].p >= least;
    return count;
}

static double area(const struct morsel_box *b) {
    return ((double)b->x1 - (double)b->x0) * ((double)b->y1 - (double)b->y0);
}

static double overlap(const struct morsel_box *a, const struct morsel_box *b) {
    const double wide = fmin((double)a->x1, (double)b->x1) - fmax((double)a->x0, (double)b->x0);
    const double high = fmin((double)a->y1, (double)b->y1) - fmax((double)a->y0, (double)b->y0);
    if (!(wide > 0 && high > 0)) return 0;
    return wide * high / (area(a) + area(b) - wide * high);
}

/* The one that shares most with it, half of the union at least, of at least that p and not taken; `count` where there is none. `any`: of
 * whatever class, and of less of the union, as is what takes a box's place by non-maximum suppression. */
static uint32_t nearest(const struct morsel_box *box, const struct morsel_box *list, uint32_t count, float least, const bool *taken,
                        bool any) {
    double most = any ? near : alike;
    uint32_t best = count;
    for (uint32_t i = 0; i < count && list[i].p >= least; i++) {
        const double shared = (any || list[i].index == box->index) && !(taken && taken[i]) ? overlap(box, &list[i]) : 0;
        if (!(shared >= most)) continue;
        most = shared;
        best = i;
    }
    return best;
}

size_t boxes_both(const struct boxes_rule *rule, const struct boxes *found, const struct boxes *wanted, float least) {
    const uint32_t most = record_of(rule)->most;
    bool *taken = must_calloc(most, sizeof *taken);
    size_t both = 0;
    for (uint32_t image = 0; image < rule->images; image++) {
        const struct morsel_box *f = found->list + (size_t)image * most, *w = wanted->list + (size_t)image * most;
        const uint32_t count = wanted->counts[image];
        memset(taken, 0, most * sizeof *taken);
        for (uint32_t i = 0; i < found->counts[image] && f[i].p >= least; i++) {
            const uint32_t at = nearest(&f[i], w, count, least, taken, false);
            if (at == count) continue;
            taken[at] = true;
            both++;
        }
    }
    free(taken);
    return both;
}

double boxes_noise(const struct boxes_rule *rule, const struct boxes *found, const struct boxes *wanted) {
    const uint32_t most = record_of(rule)->most;
    double noise = 0;
    for (uint32_t image = 0; image < rule->images; image++) {
        const struct morsel_box *f = found ? found->list + (size_t)image * most : NULL, *w = wanted->list + (size_t)image * most;
        const uint32_t count = found ? found->counts[image] : 0;
        for (uint32_t i = 0; i < wanted->counts[image] && w[i].p >= counted * rule->threshold; i++) {
            uint32_t at = nearest(&w[i], f, count, 0, NULL, false);
            if (at == count) at = nearest(&w[i], f, count, 0, NULL, true);
            const double p = at < count ? (double)f[at].p : 0, off = fmin(fabs((double)w[i].p - p), most_off * (double)rule->threshold);
            noise += off * off;
        }
    }
    return noise;
}
