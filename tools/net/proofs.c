/* SPDX-License-Identifier: MIT */
/* What the packed weights of a step prove about its sums. */
#include "core/weights.h"
#include "tools/net/net.h"

/* The constants of a step, in the blob's layout. */
struct packed {
    const uint32_t *weights; /* four a word */
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

void net_add_proofs(struct net *net, struct net_step *step) {
    const struct net_buffer *x = step->inputs[0];
    struct packed p = unpack(step);
    int32_t low = x->zero - (x->type == MORSEL_INT8 ? -128 : 0);
    uint32_t blocks = p.channels / 16;
    uint8_t *proofs = net_alloc(net, blocks);
    for (uint32_t b = 0; b < blocks; b++) {
        struct morsel_weighed weighed[16];
        struct morsel_block_channels k = {p.bias + 16 * b, p.zero ? p.zero + 16 * b : NULL, p.multiplier + 16 * b};
        morsel_weigh_block(weighed, p.weights + (size_t)b * p.taps * 4, p.taps / 4, k.zero);
        proofs[b] = (uint8_t)morsel_find_proofs(weighed, &k, p.taps, low);
    }
    net_add_constant(step, proofs, blocks, net_sums(step) + offsetof(struct morsel_blob_sums, proofs));
}
