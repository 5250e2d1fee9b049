/* SPDX-License-Identifier: MIT */
/* What the packed weights of a step prove about its sums. */
#include "tools/net/net.h"

#include <math.h>
#include <stdlib.h>

/* The constants of a step, in the blob's layout. */
struct packed {
    const int8_t *weights;
    const int32_t *bias, *zero;
    const float *multiplier;
    uint32_t channels, taps; /* with the padding */
};

static const void *constant_at(const struct net_step *step, size_t field, size_t *bytes) {
    for (uint32_t i = 0; i < step->constant_count; i++)
        if (step->constants[i].field == field) {
            *bytes = step->constants[i].bytes;
            return step->constants[i].data;
        }
    *bytes = 0;
    return NULL;
}

static struct packed unpack(const struct net_step *step) {
    size_t sums = net_sums(step), weights, channels, ignored;
    struct packed p = {constant_at(step, sums + offsetof(struct morsel_blob_sums, weights), &weights),
                       constant_at(step, sums + offsetof(struct morsel_blob_sums, bias), &channels),
                       constant_at(step, sums + offsetof(struct morsel_blob_sums, weight_zero), &ignored),
                       constant_at(step, sums + offsetof(struct morsel_blob_sums, multiplier), &ignored),
                       0,
                       0};
    p.channels = (uint32_t)(channels / 4);
    p.taps = (uint32_t)(weights / (channels / 4));
    return p;
}

/* The largest |sum| of a channel: inputs are `low` below the zero point to `high` above it. */
static int64_t largest_sum(const struct packed *p, uint32_t c, int32_t low, int32_t high) {
    const int8_t *w = p->weights + (size_t)(c / 16) * p->taps * 16 + c % 16 * 4;
    int64_t most = p->bias[c], least = p->bias[c];
    for (uint32_t k = 0; k < p->taps; k++) {
        int32_t v = w[(size_t)(k / 4) * 64 + k % 4] - (p->zero ? p->zero[c] : 0);
        most += v > 0 ? v * high : -v * low;
        least += v > 0 ? -v * low : v * high;
    }
    return llabs(most) > llabs(least) ? llabs(most) : llabs(least);
}

void net_add_proofs(struct net *net, struct net_step *step) {
    const struct net_buffer *x = step->inputs[0];
    struct packed p = unpack(step);
    int32_t low = x->zero - (x->type == MORSEL_INT8 ? -128 : 0);
    uint8_t *proofs = net_alloc(net, p.channels / 16);
    for (uint32_t c = 0; c < p.channels; c++) {
        int64_t sum = largest_sum(&p, c, low, 255 - low);
        if (c % 16 == 0) proofs[c / 16] = MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE;
        if (sum >= 1 << 22 || !(fabsf((float)sum * p.multiplier[c]) < 32000)) proofs[c / 16] &= (uint8_t)~MORSEL_PROOF_SMALL;
        if (!(p.multiplier[c] >= 0)) proofs[c / 16] &= (uint8_t)~MORSEL_PROOF_POSITIVE;
    }
    net_add_constant(step, proofs, p.channels / 16, net_sums(step) + offsetof(struct morsel_blob_sums, proofs));
}
