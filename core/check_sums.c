/* SPDX-License-Identifier: MIT */
/*
 * What a blob states of its weights, and kernels rely on: sums, padding, proofs. One that lies makes one kernel's answer differ from
 * another's, and nothing worse. So this is verified together with the checksum, for which all bytes are read anyway.
 */
#include "check.h"
#include "weights.h"

/* The bytes behind the end of a line add nothing: they are weight_zero, whatever the input there. */
static int padding_adds_nothing(const struct morsel_packed *w, const int8_t *block, uint64_t quads, const int32_t *zero) {
    for (uint64_t q = w->line - 1; w->padding && q < quads; q += w->line)
        for (uint32_t c = 0; c < 16; c++)
            for (uint32_t k = 4 - w->padding; k < 4; k++)
                if (block[64 * q + 4 * c + k] != (zero ? zero[c] : 0)) return 0;
    return 1;
}

static int32_t inputs_below_zero(const struct morsel_blob_tensor *x) {
    return x->zero_point - (x->type == MORSEL_INT8 ? -128 : 0);
}

int morsel_verify_sums(const struct morsel_step_check *s, const struct morsel_blob_sums *p, const struct morsel_packed *w) {
    const struct morsel_model *model = s->check->model;
    const int8_t *block = morsel_blob_at(model, p->weights);
    const int32_t *sum = morsel_blob_at(model, p->weight_sum);
    const uint8_t *proofs = morsel_blob_optional(model, p->proofs);
    struct morsel_block_channels k = {morsel_blob_at(model, p->bias), morsel_blob_optional(model, p->weight_zero),
                                      morsel_blob_at(model, p->multiplier)};
    uint32_t blocks = (uint32_t)w->channels / 16, quads = (uint32_t)w->bytes / blocks / 64;
    struct morsel_weighed weighed[16];
    for (uint32_t b = 0; b < blocks; b++, block += 64 * (size_t)quads, sum += 16) {
        morsel_weigh_block(weighed, (const uint32_t *)(const void *)block, quads, k.zero);
        for (uint32_t c = 0; c < 16; c++)
            if ((uint32_t)weighed[c].sum != (uint32_t)sum[c] + 512 * quads) return 0; /* equal modulo 2^32, as kernels add */
        uint32_t stated = proofs ? proofs[b] & (MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE) : 0;
        if (stated & ~morsel_find_proofs(weighed, &k, 4 * (uint64_t)quads, inputs_below_zero(s->x))) return 0;
        if (!padding_adds_nothing(w, block, quads, k.zero)) return 0;
        k = (struct morsel_block_channels){k.bias + 16, k.zero ? k.zero + 16 : NULL, k.multiplier + 16};
    }
    return 1;
}
