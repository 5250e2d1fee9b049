/* SPDX-License-Identifier: MIT */
/* Padding, sums and proofs, from the weights one by one. */
#include "tests/unit/support/honest.h"

#include "core/checksum.h"
#include "core/kind.h"

#include <math.h>

static uint32_t up(uint32_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static void measure_window(struct honest_weights *w, const struct morsel_blob_conv *p, int depthwise, uint32_t in, uint32_t out) {
    w->used = depthwise ? p->window.kernel_h : p->window.kernel_w * (in / p->groups);
    w->line = up(w->used, 4);
    w->taps = w->line * (depthwise ? p->window.kernel_w : p->window.kernel_h);
    w->channels = depthwise ? up(out, 16) : p->groups * up(out / p->groups, 16);
}

int honest_find(uint8_t *blob, uint32_t index, struct honest_weights *w) {
    struct morsel_model model = {.blob = blob};
    const struct morsel_blob_step *step = morsel_blob_step(&model, index);
    if (!morsel_kinds[step->kind]->sums) return 0;
    const struct morsel_blob_tensor *x = morsel_blob_input(&model, step, 0), *y = morsel_blob_output(&model, step);
    const struct morsel_blob_sums *s = (const void *)(blob + step->parameters + morsel_kinds[step->kind]->sums);
    const struct morsel_blob_fc *fc = (const void *)(blob + step->parameters);
    *w = (struct honest_weights){.values = (int8_t *)blob + s->weights,
                                 .sum = (int32_t *)(void *)(blob + s->weight_sum),
                                 .zero = s->weight_zero ? (const int32_t *)(void *)(blob + s->weight_zero) : NULL,
                                 .bias = (const int32_t *)(void *)(blob + s->bias),
                                 .multiplier = (const float *)(void *)(blob + s->multiplier),
                                 .proofs = s->proofs ? blob + s->proofs : NULL,
                                 .channels = up(fc->outputs, 16),
                                 .taps = up(fc->inputs, 4),
                                 .line = up(fc->inputs, 4),
                                 .used = fc->inputs,
                                 .input_low = x->zero_point + (x->type == MORSEL_INT8 ? 128 : 0)};
    uint32_t kind = morsel_kind_base(step->kind);
    if (kind != MORSEL_STEP_FC)
        measure_window(w, (const void *)(blob + step->parameters), kind == MORSEL_STEP_DEPTHWISE, x->dims[3], y->dims[3]);
    return 1;
}

static int8_t *weight(const struct honest_weights *w, uint32_t channel, uint32_t tap) {
    return w->values + (size_t)(channel / 16) * w->taps * 16 + tap / 4 * 64 + channel % 16 * 4 + tap % 4;
}

/* The largest |sum| that inputs can make. */
static double largest(const struct honest_weights *w, uint32_t channel) {
    double most = w->bias[channel], least = most, low = w->input_low;
    for (uint32_t k = 0; k < w->taps; k++) {
        double v = *weight(w, channel, k) - (w->zero ? w->zero[channel] : 0), up_to = v * (255 - low), down_to = v * -low;
        most += fmax(up_to, down_to);
        least += fmin(up_to, down_to);
    }
    return fmax(fabs(most), fabs(least));
}

static int is_small(const struct honest_weights *w, uint32_t channel) {
    double sum = largest(w, channel);
    return sum < 4194304 && fabsf((float)sum * w->multiplier[channel]) < 32000;
}

/* Padding, then sums, then proofs: all that hold. */
static void set(const struct honest_weights *w) {
    for (uint32_t c = 0; c < w->channels; c++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < w->taps; k++) {
            if (k % w->line >= w->used) *weight(w, c, k) = (int8_t)(w->zero ? w->zero[c] : 0);
            sum += *weight(w, c, k);
        }
        w->sum[c] = (int32_t)(uint32_t)sum;
        if (!w->proofs) continue;
        if (c % 16 == 0) w->proofs[c / 16] = MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE;
        if (!is_small(w, c)) w->proofs[c / 16] &= (uint8_t)~MORSEL_PROOF_SMALL;
        if (!(w->multiplier[c] >= 0)) w->proofs[c / 16] &= (uint8_t)~MORSEL_PROOF_POSITIVE;
    }
}

void honest_make(uint8_t *blob) {
    struct morsel_blob_header *h = (void *)blob;
    struct honest_weights w;
    for (uint32_t i = 0; i < h->steps.count; i++)
        if (honest_find(blob, i, &w)) set(&w);
    h->checksum = morsel_checksum(blob, h->blob_bytes);
}
