/* SPDX-License-Identifier: MIT */
/* Scores of classes become the best few, with their p. A NaN is larger than nothing, and nothing is larger than it. */
#include "answer_map.h"
#include "../kernels/float.h"

/* The best scores in order, the first of equal ones, at most `room`. */
static uint32_t gather(const struct morsel_answer_line *line, struct morsel_class *classes, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < line->count; k++) {
        const float score = morsel_line_value(line, k);
        uint32_t at = count < room ? count : room;
        while (at > 0 && score > classes[at - 1].p) at--;
        if (at == room || score != score) continue;
        if (count < room) count++;
        for (uint32_t i = count - 1; i > at; i--) classes[i] = classes[i - 1];
        classes[at].index = k;
        classes[at].p = score;
    }
    return count;
}

/* Of a softmax, whose largest score is `most`; a NaN where one of them is none. */
static float total_of(const struct morsel_answer_line *line, float most) {
    float sum = 0;
    for (uint32_t k = 0; k < line->count; k++) sum = sum + morsel_exp(morsel_line_value(line, k) - most);
    return sum;
}

/* Scores become p, which are in the same order. Returns how many are told: finite, and not below the threshold. */
static uint32_t finish(const struct morsel_blob_answer *rule, const struct morsel_answer_line *line, struct morsel_class *classes,
                       uint32_t count) {
    const int softmax = (rule->flags & MORSEL_ANSWER_SOFTMAX) != 0;
    const float most = count ? classes[0].p : 0, total = softmax && count ? total_of(line, most) : 1;
    for (uint32_t i = 0; i < count; i++) {
        float p = classes[i].p;
        if (softmax) p = morsel_exp(p - most) / total;
        else if (rule->flags & MORSEL_ANSWER_SIGMOID) p = morsel_sigmoid(p);
        if (!(p >= -FLT_MAX && p <= FLT_MAX) || (rule->threshold > 0 && !(p >= rule->threshold))) return i;
        classes[i].p = p;
    }
    return count;
}

enum morsel_error morsel_classes_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image,
                                         struct morsel_class *classes, size_t capacity, uint32_t *count) {
    const uint32_t images = morsel_classes_images(view->onnx_rank, view->onnx_dims);
    if (image >= images) return MORSEL_ERR_ARGUMENT;
    if (!capacity) return MORSEL_ERR_CAPACITY;
    const struct morsel_answer_line line = morsel_line_of(view, images, image);
    *count = finish(rule, &line, classes, gather(&line, classes, capacity < rule->most ? (uint32_t)capacity : rule->most));
    return MORSEL_OK;
}

enum morsel_error morsel_classes(const struct morsel_session *session, uint32_t image, struct morsel_class *classes, size_t capacity,
                                 uint32_t *count) {
    const struct morsel_blob_answer *rule;
    struct morsel_view view;
    if (!classes || !count) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_answer_of(session, MORSEL_ANSWER_CLASSES, &rule, &view);
    return error ? error : morsel_classes_by_rule(rule, &view, image, classes, capacity, count);
}
