/* SPDX-License-Identifier: MIT */
/* Boxes by the library's own rule, of outputs in float and in bytes alike, and pairs of them. */
#include "tools/quant/boxes.h"
#include "core/answer.h"
#include "tools/base/arena.h"
#include "tools/network/found.h"
#include "tools/network/host/float_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the threshold: from where on boxes are looked for, and from where on they count as noise. */
static const float sought = 0.2F, counted = 0.5F;
static const double alike = 0.5;    /* the part of the union that two boxes share */
static const double most_off = 0.5; /* parts of the threshold: what is more off has come or gone, however far */

static struct morsel_blob_answer *record_at(uint32_t *words) {
    return (struct morsel_blob_answer *)(void *)words;
}

static struct network_tensor tensor_of(const struct onnx_value *value) {
    struct network_tensor tensor = {.name = value->name,
                                    .rank = (uint32_t)value->shape.rank,
                                    .count = (size_t)onnx_elements(&value->shape)};
    for (uint32_t k = 0; k < tensor.rank; k++) tensor.dims[k] = (uint64_t)value->shape.dims[k];
    return tensor;
}

/* Of each candidate of an image, as many as a rule may tell. */
static uint32_t *with_every(const uint32_t *words, size_t count, const struct network_tensor *tensor) {
    uint32_t *every = must_calloc(count, sizeof *every);
    memcpy(every, words, count * sizeof *every);
    record_at(every)->iou = 1;
    record_at(every)->most = tensor->count < MORSEL_ANSWER_MOST ? (uint32_t)tensor->count : MORSEL_ANSWER_MOST;
    return every;
}

struct boxes_rule *boxes_rule_open(uint32_t *words, size_t count, const struct onnx_graph *graph) {
    struct boxes_rule *rule = must_calloc(1, sizeof *rule);
    rule->words = words;
    rule->outputs = graph->output_count;
    rule->tensors = must_calloc(rule->outputs, sizeof *rule->tensors);
    for (size_t i = 0; i < rule->outputs; i++) rule->tensors[i] = tensor_of(graph->outputs[i]);
    struct morsel_blob_answer *record = record_at(words);
    const struct network_tensor *t = &rule->tensors[record->output];
    rule->images = t->rank > 2 ? (uint32_t)t->dims[0] : 1;
    rule->threshold = record->threshold;
    record->threshold *= sought;
    rule->every = with_every(words, count, t);
    return rule;
}

void boxes_rule_close(struct boxes_rule *rule) {
    if (!rule) return;
    free(rule->words);
    free(rule->every);
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

static bool find(const struct boxes_rule *rule, const struct morsel_blob_answer *record, const struct network_run *run, struct boxes *boxes,
                 struct failure *failure) {
    struct morsel_view view[2];
    float *values[2] = {values_of(rule, run, record->output, &view[0], failure), NULL};
    if (values[0]) values[1] = values_of(rule, run, record->scores, &view[1], failure);
    const bool good = values[0] && values[1];
    boxes->most = record->most;
    boxes->list = must_calloc((size_t)rule->images * boxes->most, sizeof *boxes->list);
    boxes->counts = must_calloc(rule->images, sizeof *boxes->counts);
    for (uint32_t i = 0; good && i < rule->images; i++)
        morsel_detect_by_rule(record, &view[0], &view[1], i, boxes->list + (size_t)i * boxes->most, boxes->most, &boxes->counts[i]);
    free(values[0]);
    free(values[1]);
    return good;
}

bool boxes_find(const struct boxes_rule *rule, const struct network_run *run, struct boxes *boxes, struct failure *failure) {
    return find(rule, record_at(rule->words), run, boxes, failure);
}

bool boxes_find_every(const struct boxes_rule *rule, const struct network_run *run, struct boxes *boxes, struct failure *failure) {
    return find(rule, record_at(rule->every), run, boxes, failure);
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
        for (uint32_t i = 0; i < boxes->counts[image]; i++) count += boxes->list[(size_t)image * boxes->most + i].p >= least;
    return count;
}

/* The one of its class that shares most with it, half of the union at least, of at least that p and not taken; `count` where there is
 * none. */
static uint32_t nearest(const struct morsel_box *box, const struct morsel_box *list, uint32_t count, float least, const bool *taken) {
    double most = alike;
    uint32_t best = count;
    for (uint32_t i = 0; i < count && list[i].p >= least; i++) {
        const double shared = list[i].index == box->index && !(taken && taken[i]) ? found_overlap(box, &list[i]) : 0;
        if (!(shared >= most)) continue;
        most = shared;
        best = i;
    }
    return best;
}

size_t boxes_both(const struct boxes_rule *rule, const struct boxes *found, const struct boxes *wanted, float least) {
    bool *taken = must_calloc(wanted->most, sizeof *taken);
    size_t both = 0;
    for (uint32_t image = 0; image < rule->images; image++) {
        const struct morsel_box *f = found->list + (size_t)image * found->most, *w = wanted->list + (size_t)image * wanted->most;
        const uint32_t count = wanted->counts[image];
        memset(taken, 0, wanted->most * sizeof *taken);
        for (uint32_t i = 0; i < found->counts[image] && f[i].p >= least; i++) {
            const uint32_t at = nearest(&f[i], w, count, least, taken);
            if (at == count) continue;
            taken[at] = true;
            both++;
        }
    }
    free(taken);
    return both;
}

/* p of the candidate that it was, as long as that is a box in its place: of a head whose network sorts them it need not be. */
static double p_of(const struct morsel_box *box, const struct morsel_box *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i].candidate == box->candidate && found_overlap(box, &list[i]) >= alike) return (double)list[i].p;
    const uint32_t at = nearest(box, list, count, 0, NULL);
    return at < count ? (double)list[at].p : 0;
}

double boxes_noise(const struct boxes_rule *rule, const struct boxes *every, const struct boxes *wanted) {
    double noise = 0;
    for (uint32_t image = 0; image < rule->images; image++) {
        const struct morsel_box *list = every ? every->list + (size_t)image * every->most : NULL;
        const struct morsel_box *w = wanted->list + (size_t)image * wanted->most;
        const uint32_t count = every ? every->counts[image] : 0;
        for (uint32_t i = 0; i < wanted->counts[image] && w[i].p >= counted * rule->threshold; i++) {
            const double off = fmin(fabs((double)w[i].p - p_of(&w[i], list, count)), most_off * (double)rule->threshold);
            noise += off * off;
        }
    }
    return noise;
}
