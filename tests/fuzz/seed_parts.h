/* SPDX-License-Identifier: MIT */
/* Sound blobs by chance: constants, weights and tensors, before they are laid out. */
#ifndef MORSEL_TEST_SEED_PARTS_H
#define MORSEL_TEST_SEED_PARTS_H

#include "core/format.h"
#include "core/morsel.h"
#include "fuzz.h"

#include <string.h>

enum { SEED_TENSORS = 16, SEED_STEPS = 6, SEED_WORDS = 256, DATA_START = 6144, SEED_DATA = 1 << 18 };

#define SEED_GONE 0x80u /* in the layout, while a blob is made: another tensor has taken the place */

struct seed_blob {
    uint64_t random;
    struct morsel_blob_tensor tensors[SEED_TENSORS];
    struct morsel_blob_step steps[SEED_STEPS];
    uint32_t operands[SEED_STEPS * 4];
    uint32_t words[SEED_WORDS]; /* parameters */
    uint32_t tensor_count, step_count, operand_count, word_count, data_bytes, arena_bytes;
    uint8_t data[SEED_DATA];
};

static uint32_t seed_round(uint32_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static uint32_t seed_chance(struct seed_blob *b, uint32_t one_in) {
    return fuzz_below(&b->random, one_in) == 0;
}

static uint32_t seed_from(struct seed_blob *b, uint32_t least, uint32_t most) {
    return fuzz_between(&b->random, least, most);
}

static float seed_float(struct seed_blob *b, float most) {
    return ((float)fuzz_below(&b->random, 65536) / 32768 - 1) * most;
}

/* --- Constants ------------------------------------------------------------------------------------------------------ */

static uint32_t seed_constant(struct seed_blob *b, uint32_t bytes) {
    uint32_t offset = b->data_bytes;
    if (bytes > SEED_DATA - offset) return 0;
    b->data_bytes += seed_round(bytes, 64);
    return DATA_START + offset;
}

static uint32_t seed_bytes(struct seed_blob *b, uint32_t count) {
    uint32_t offset = seed_constant(b, count);
    for (uint32_t i = 0; offset && i < count; i++) b->data[offset - DATA_START + i] = (uint8_t)fuzz_random(&b->random);
    return offset;
}

static uint32_t seed_integers(struct seed_blob *b, uint32_t count, int32_t least, int32_t most) {
    uint32_t offset = seed_constant(b, 4 * count);
    for (uint32_t i = 0; offset && i < count; i++) {
        int32_t value = least + (int32_t)fuzz_below(&b->random, (uint32_t)(most - least) + 1);
        memcpy(b->data + offset - DATA_START + 4 * i, &value, 4);
    }
    return offset;
}

static uint32_t seed_floats(struct seed_blob *b, uint32_t count, float least, float most) {
    uint32_t offset = seed_constant(b, 4 * count);
    for (uint32_t i = 0; offset && i < count; i++) {
        float value = least + (seed_float(b, 0.5f) + 0.5f) * (most - least);
        memcpy(b->data + offset - DATA_START + 4 * i, &value, 4);
    }
    return offset;
}

/* Weights in blocks of 16 outputs and 4 inputs, as format.h lays them out: inputs are `outer` rows of `inner`, each padded to a multiple
 * of 4. Padding is equal to the zero point and so adds nothing, and the sums count it. */
struct seed_weights {
    uint32_t groups, outs, outer, inner;
    uint32_t entries, weights, sum, zero;
};

static void seed_one_weight(struct seed_blob *b, const struct seed_weights *w, uint32_t entry, uint32_t k) {
    uint32_t depth = w->outer * seed_round(w->inner, 4), out = entry % (seed_round(w->outs, 16));
    int32_t zero = 0, sum;
    if (w->zero) memcpy(&zero, b->data + w->zero - DATA_START + 4 * entry, 4);
    int inside = out < w->outs && k % seed_round(w->inner, 4) < w->inner;
    int32_t weight = inside ? (int32_t)fuzz_below(&b->random, 256) - 128 : zero;
    b->data[w->weights - DATA_START + (entry / 16) * 16 * depth + k / 4 * 64 + entry % 16 * 4 + k % 4] = (uint8_t)weight;
    memcpy(&sum, b->data + w->sum - DATA_START + 4 * entry, 4);
    sum += weight;
    memcpy(b->data + w->sum - DATA_START + 4 * entry, &sum, 4);
}

static void seed_fill_weights(struct seed_blob *b, struct seed_weights *w) {
    uint32_t depth = w->outer * seed_round(w->inner, 4);
    w->entries = w->groups * seed_round(w->outs, 16);
    w->zero = seed_chance(b, 2) ? seed_integers(b, w->entries, -128, 127) : 0;
    w->sum = seed_constant(b, 4 * w->entries);
    w->weights = seed_constant(b, w->entries * depth);
    if (!w->sum || !w->weights) return;
    for (uint32_t entry = 0; w->zero && entry < w->entries; entry++)
        if (entry % seed_round(w->outs, 16) >= w->outs) memset(b->data + w->zero - DATA_START + 4 * entry, 0, 4);
    for (uint32_t entry = 0; entry < w->entries; entry++)
        for (uint32_t k = 0; k < depth; k++) seed_one_weight(b, w, entry, k);
}

/* --- Tensors -------------------------------------------------------------------------------------------------------- */

static uint32_t seed_elements(const struct morsel_blob_tensor *t) {
    return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
}

static int seed_is_byte(const struct morsel_blob_tensor *t) {
    return t->type <= MORSEL_INT8;
}

static uint32_t seed_tensor(struct seed_blob *b, uint32_t type, uint32_t n, uint32_t h, uint32_t w, uint32_t c) {
    uint32_t index = b->tensor_count++;
    struct morsel_blob_tensor *t = &b->tensors[index];
    struct morsel_blob_tensor fresh = {
        type, MORSEL_CHANNELS_LAST, 4, {n, h, w, c, 1, 1}, 0, 1, 0, 0, 0, MORSEL_STEP_BEFORE, MORSEL_STEP_BEFORE, 0, 0};
    *t = fresh;
    t->bytes = seed_elements(t) * (type <= MORSEL_INT8 ? 1 : 4);
    t->offset = b->arena_bytes;
    b->arena_bytes += seed_round(t->bytes, 64) + 64 * seed_chance(b, 2);
    if (type > MORSEL_INT8) return index;
    t->scale = 0.01f + (float)fuzz_below(&b->random, 100) / 500;
    t->zero_point = (int32_t)fuzz_below(&b->random, 256) - (type == MORSEL_INT8 ? 128 : 0);
    return index;
}

static uint32_t seed_type(struct seed_blob *b, int floats) {
    return floats && seed_chance(b, 4) ? MORSEL_FLOAT32 : fuzz_below(&b->random, 2);
}

/* One more input of the network: bytes. */
static uint32_t seed_input(struct seed_blob *b) {
    static const uint32_t channels[] = {1, 3, 4, 8, 12, 16, 17, 20};
    uint32_t n = seed_from(b, 1, 2), h = seed_from(b, 1, 8), w = seed_from(b, 1, 8), c = channels[fuzz_below(&b->random, 8)];
    return seed_tensor(b, seed_type(b, 0), n, h, w, c);
}

/* An earlier tensor that still is, bytes where `floats` is 0. A new one if there is none. */
static uint32_t seed_pick(struct seed_blob *b, int floats) {
    for (uint32_t tries = 0; tries < 20; tries++) {
        uint32_t index = b->tensor_count - 1 - fuzz_below(&b->random, b->tensor_count);
        if (b->tensors[index].layout & SEED_GONE || b->tensors[index].rank != 4) continue;
        if (floats || seed_is_byte(&b->tensors[index])) return index;
    }
    return seed_input(b);
}

#endif
