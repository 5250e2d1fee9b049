/* SPDX-License-Identifier: MIT */
/*
 * What a blob states of its weights, and kernels rely on: sums, padding, proofs. One that lies makes one kernel's answer differ from
 * another's, and nothing worse. So this is verified together with the checksum, for which all bytes are read anyway.
 */
#include "check.h"

#define SMALL_SUM (1 << 22)
#define SMALL_RESULT 32000.0f

/* The bytes behind the end of a line add nothing: they are weight_zero, whatever the input there. */
static int padding_adds_nothing(const struct morsel_packed *w, const int8_t *block, uint64_t quads, const int32_t *zero) {
    for (uint64_t q = w->line - 1; w->padding && q < quads; q += w->line)
        for (uint32_t c = 0; c < 16; c++)
            for (uint32_t k = 4 - w->padding; k < 4; k++)
                if (block[64 * q + 4 * c + k] != (zero ? zero[c] : 0)) return 0;
    return 1;
}

/* Inputs are at most `low` below the zero point and `high` above it, 255 together. `above` and `below` are less than 255 * 2^29: no product
 * or sum leaves 2^47. */
static int is_small(int64_t bias, int64_t above, int64_t below, int32_t low, float multiplier) {
    int64_t high = 255 - low, most = bias + above * high + below * low, least = bias - above * low - below * high;
    if (most >= SMALL_SUM || least <= -SMALL_SUM) return 0;
    float result = (float)(most > -least ? most : -least) * multiplier;
    return result < SMALL_RESULT && result > -SMALL_RESULT;
}

struct constants {
    const int32_t *bias, *sum, *zero;
    const float *multiplier;
};

/* Whether channel c of a block, of `taps` weights, has what `proof` says. */
static int holds(const struct constants *k, uint32_t c, uint32_t proof, const struct morsel_weighed *weighed, uint64_t taps, int32_t low) {
    int64_t zero = k->zero ? k->zero[c] : 0, total = (int64_t)weighed->sum - (int64_t)taps * (zero + 128); /* of all w - zero */
    if (proof & MORSEL_PROOF_POSITIVE && !(k->multiplier[c] >= 0)) return 0;
    if (!(proof & MORSEL_PROOF_SMALL)) return 1;
    return is_small(k->bias[c], (int64_t)weighed->above, (int64_t)weighed->above - total, low, k->multiplier[c]);
}

static int32_t inputs_below_zero(const struct morsel_blob_tensor *x) {
    return x->zero_point - (x->type == MORSEL_INT8 ? -128 : 0);
}

int morsel_verify_sums(const struct morsel_step_check *s, const struct morsel_blob_sums *p, const struct morsel_packed *w) {
    const struct morsel_model *model = s->check->model;
    const int8_t *block = morsel_blob_at(model, p->weights);
    const uint8_t *proofs = morsel_blob_optional(model, p->proofs);
    struct constants k = {morsel_blob_at(model, p->bias), morsel_blob_at(model, p->weight_sum), morsel_blob_optional(model, p->weight_zero),
                          morsel_blob_at(model, p->multiplier)};
    uint32_t blocks = (uint32_t)w->channels / 16, quads = (uint32_t)w->bytes / blocks / 64;
    struct morsel_weighed weighed[16];
    for (uint32_t b = 0; b < blocks; b++, block += 64 * (size_t)quads) {
        morsel_weigh_block(weighed, (const uint32_t *)(const void *)block, quads, k.zero);
        for (uint32_t c = 0; c < 16; c++) {
            uint32_t stated = (uint32_t)k.sum[c] + 512 * quads; /* sums are equal modulo 2^32, as kernels add */
            if ((uint32_t)weighed[c].sum != stated) return 0;
            if (proofs && !holds(&k, c, proofs[b], &weighed[c], 4 * (uint64_t)quads, inputs_below_zero(s->x))) return 0;
        }
        if (!padding_adds_nothing(w, block, quads, k.zero)) return 0;
        k = (struct constants){k.bias + 16, k.sum + 16, k.zero ? k.zero + 16 : NULL, k.multiplier + 16};
    }
    return 1;
}
