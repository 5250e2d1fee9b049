/* SPDX-License-Identifier: MIT */
/* Reads a classifier's output: whether it is one, its best classes, its probabilities. */
#include "tools/network/scores.h"
#include "core/blob.h"
#include <math.h>

/* The step that writes a tensor, or NULL for inputs and constants. */
static const struct morsel_blob_step *writer(const struct morsel_model *network, uint32_t tensor) {
    uint32_t first = morsel_blob_tensor(network, tensor)->first_step;
    return first < morsel_blob_header(network)->steps.count ? morsel_blob_step(network, first) : NULL;
}

/* Steps that only carry values on: to another type, or to another order. */
static bool carries(const struct morsel_model *network, const struct morsel_blob_step *step) {
    if (step->kind == MORSEL_STEP_GATHER) return true;
    const struct morsel_blob_unary *unary = morsel_blob_at(network, step->parameters);
    return step->kind == MORSEL_STEP_UNARY && unary->op == MORSEL_UNARY_IDENTITY;
}

bool scores_are_probabilities(const struct morsel_model *network, uint32_t output) {
    const struct morsel_blob_header *header = morsel_blob_header(network);
    const struct morsel_blob_io *io = morsel_blob_at(network, header->outputs.offset);
    const struct morsel_blob_step *step = writer(network, io[output].tensor);
    /* Steps read what earlier ones wrote, so this ends; the count guards it all the same. */
    for (uint32_t i = 0; step && i < header->steps.count; i++) {
        if (step->kind == MORSEL_STEP_SOFTMAX) return true;
        if (!carries(network, step)) return false;
        step = writer(network, morsel_blob_operand(network, step, 0));
    }
    return false;
}

bool scores_are_classes(const struct network_tensor *output) {
    for (uint32_t i = 2; i < output->rank; i++)
        if (output->dims[i] != 1) return false;
    return output->rank > 0;
}

void scores_softmax(float *scores, size_t count) {
    float most = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++) most = scores[i] > most ? scores[i] : most;
    for (size_t i = 0; i < count; i++) sum += exp((double)scores[i] - (double)most);
    for (size_t i = 0; i < count; i++) scores[i] = (float)(exp((double)scores[i] - (double)most) / sum);
}

/* What is no number stands behind all numbers. */
static bool above(float a, float b) {
    return a > b || (isnan(b) && !isnan(a));
}

size_t scores_top(const float *scores, size_t count, size_t top, uint32_t *indices) {
    size_t have = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = have < top ? have++ : top;
        for (; at > 0 && above(scores[i], scores[indices[at - 1]]); at--)
            if (at < top) indices[at] = indices[at - 1];
        if (at < top) indices[at] = (uint32_t)i;
    }
    return have;
}

size_t scores_rank(const float *scores, size_t count, size_t truth) {
    size_t rank = 0;
    for (size_t i = 0; i < count; i++) rank += above(scores[i], scores[truth]) || (i < truth && !above(scores[truth], scores[i]));
    return rank;
}
