/* SPDX-License-Identifier: MIT */
/* An output becomes a vector, divided by its length where the rule says so. */
#include "answer_map.h"
#include "../kernels/float.h"

/* Squares are of parts of the largest number: their sum is from 1 to `count`, and neither vanishes nor overflows. */
static void normalize(float *values, size_t count) {
    float most = 0, partial[8] = {0};
    for (size_t i = 0; i < count; i++) {
        const float size = values[i] < 0 ? -values[i] : values[i];
        if (size > most) most = size;
    }
    if (most == 0) return; /* zeros; a NaN beside them stays one */
    for (size_t i = 0; i < count; i++) {
        values[i] = values[i] / most;
        const float square = values[i] * values[i];
        partial[i % 8] = partial[i % 8] + square;
    }
    const float length = morsel_sqrt(morsel_add_eight(partial));
    for (size_t i = 0; i < count; i++) values[i] = values[i] / length;
}

enum morsel_error morsel_embedding_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image,
                                           float *values, size_t capacity, uint32_t *count) {
    const uint32_t images = morsel_embedding_images(view->onnx_rank, view->onnx_dims);
    if (image >= images) return MORSEL_ERR_ARGUMENT;
    const struct morsel_answer_line line = morsel_line_of(view, images, image);
    if (capacity < line.count) return MORSEL_ERR_CAPACITY;
    for (size_t i = 0; i < line.count; i++) values[i] = morsel_line_value(&line, i);
    if (rule->flags & MORSEL_ANSWER_NORMALIZE) normalize(values, line.count);
    *count = (uint32_t)line.count;
    return MORSEL_OK;
}

enum morsel_error morsel_embedding(const struct morsel_session *session, uint32_t image, float *values, size_t capacity, uint32_t *count) {
    const struct morsel_blob_answer *rule;
    struct morsel_view view;
    if (!values || !count) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_answer_of(session, MORSEL_ANSWER_EMBEDDING, &rule, &view);
    return error ? error : morsel_embedding_by_rule(rule, &view, image, values, capacity, count);
}
