/* SPDX-License-Identifier: MIT */
/*
 * Sound blobs by chance: a few small tensors, a few steps of every kind, each with parameters that fit. Everything is a picture
 * [N H W C]; kinds that see a tensor otherwise see the same bytes. Included once, by the fuzzer of morsel_open().
 *
 * Records stand in the first DATA_START bytes, constants behind them.
 */
#ifndef MORSEL_TEST_SEED_BLOB_H
#define MORSEL_TEST_SEED_BLOB_H

#include "core/blob.h"
#include "core/checksum.h"
#include "seed_answer.h"
#include "seed_dynamic.h"
#include "seed_text.h"

static struct morsel_blob_section seed_section(uint8_t *out, uint32_t *at, const void *records, uint32_t count, uint32_t bytes) {
    struct morsel_blob_section s = {*at, count};
    memcpy(out + *at, records, (size_t)count * bytes);
    *at = seed_round(*at + count * bytes, 64);
    return s;
}

static struct morsel_blob_io seed_io(const struct seed_blob *b, uint32_t index) {
    const uint32_t *d = b->tensors[index].dims;
    struct morsel_blob_io io = {index, MORSEL_FLOAT32, 4, {d[0], d[3], d[1], d[2], 1, 1}, 1};
    return io;
}

/* Everything that no step writes is an input. */
static struct morsel_blob_section seed_inputs(struct seed_blob *b, uint8_t *out, uint32_t *at) {
    struct morsel_blob_io io[SEED_TENSORS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->tensor_count; i++)
        if (b->tensors[i].first_step == MORSEL_STEP_BEFORE) io[count++] = seed_io(b, i);
    return seed_section(out, at, io, count, sizeof io[0]);
}

/* Everything that no step reads is an output. */
static struct morsel_blob_section seed_outputs(struct seed_blob *b, uint8_t *out, uint32_t *at) {
    struct morsel_blob_io io[SEED_TENSORS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        struct morsel_blob_tensor *t = &b->tensors[i];
        if (t->last_step != t->first_step) continue;
        t->last_step = b->step_count;
        io[count++] = seed_io(b, i);
    }
    return seed_section(out, at, io, count, sizeof io[0]);
}

static struct morsel_blob_picture seed_rule(struct seed_blob *b) {
    const uint32_t *d = b->tensors[0].dims;
    struct morsel_blob_picture p = {0,
                                    fuzz_below(&b->random, 2) ? MORSEL_RESIZE_EXACT : MORSEL_RESIZE_LETTERBOX,
                                    d[1],
                                    d[2],
                                    0,
                                    0,
                                    d[3] == 1 ? MORSEL_CHANNELS_GRAY : fuzz_below(&b->random, 2),
                                    1 / 255.0f,
                                    {0.5f, 0.4f, 0.3f},
                                    {0.2f, 0.3f, 0.4f}};
    p.resize |= fuzz_below(&b->random, 3) << MORSEL_RESIZE_FILTER_SHIFT;
    if (morsel_resize_mode(&p) == MORSEL_RESIZE_LETTERBOX) p.resize |= fuzz_below(&b->random, 1 << 25) * MORSEL_RESIZE_CORNER;
    return p;
}

static void seed_lay_out(struct seed_blob *b, uint8_t *out) {
    struct morsel_blob_header h = {.format_version = MORSEL_FORMAT_VERSION,
                                   .blob_bytes = DATA_START + b->data_bytes,
                                   .arena_bytes = b->arena_bytes};
    struct morsel_blob_picture rule = seed_rule(b);
    uint32_t at = seed_round(sizeof h, 64), label = 1, pictures = b->tensors[0].dims[3] == 3 || b->tensors[0].dims[3] == 1;
    memcpy(h.magic, MORSEL_MAGIC, 8);
    memset(out, 0, DATA_START);
    h.outputs = seed_outputs(b, out, &at);
    for (uint32_t i = 0; i < b->tensor_count; i++) b->tensors[i].layout &= ~SEED_GONE;
    h.tensors = seed_section(out, &at, b->tensors, b->tensor_count, sizeof b->tensors[0]);
    h.operands = seed_section(out, &at, b->operands, b->operand_count, 4);
    h.parameters = seed_section(out, &at, b->words, b->word_count, 4);
    for (uint32_t i = 0; i < b->step_count; i++) b->steps[i].parameters += h.parameters.offset;
    h.steps = seed_section(out, &at, b->steps, b->step_count, sizeof b->steps[0]);
    h.inputs = seed_inputs(b, out, &at);
    h.picture = seed_section(out, &at, &rule, pictures, sizeof rule);
    h.labels = seed_section(out, &at, &label, 1, 4);
    h.strings = seed_section(out, &at, "\0name", 6, 1);
    struct morsel_blob_pair pairs[3] = {{1, 2}, {2, 1}, {3, 0}};
    h.metadata = seed_section(out, &at, pairs, fuzz_below(&b->random, 4), sizeof pairs[0]);
    uint32_t words[SEED_TEXT_WORDS], count = fuzz_below(&b->random, 2) ? seed_text(&b->random, words) : 0;
    if (at + 4 * count <= DATA_START) h.text = seed_section(out, &at, words, count, 4);
    count = seed_answer(b, out + h.outputs.offset, h.outputs.count, words);
    if (at + 4 * count <= DATA_START) h.answer = seed_section(out, &at, words, count, 4);
    h.data.offset = DATA_START;
    h.data.count = b->data_bytes;
    memcpy(out + DATA_START, b->data, b->data_bytes);
    memcpy(out, &h, sizeof h);
    h.checksum = morsel_checksum(out, h.blob_bytes);
    memcpy(out, &h, sizeof h);
}

/* A blob of up to SEED_STEPS steps. Returns its bytes. */
static size_t seed_blob(uint64_t seed, uint8_t *out, size_t capacity) {
    static struct seed_blob b;
    memset(&b, 0, sizeof b);
    b.random = seed;
    if (capacity < DATA_START + SEED_DATA) return 0;
    b.arena_bytes = SEED_STEPS * MORSEL_FORMAT_STEP_SLOT;
    seed_input(&b);
    uint32_t steps = seed_from(&b, 1, SEED_STEPS);
    for (uint32_t i = 0; i < steps && b.data_bytes < SEED_DATA / 4; i++) {
        uint32_t kind = seed_from(&b, 1, MORSEL_STEP_KIND_COUNT - 1);
        if (kind >= MORSEL_STEP_RANGE && kind <= MORSEL_STEP_DYNAMIC_FC) seed_dynamic(&b, kind);
        else if (kind == MORSEL_STEP_FLOAT_MATMUL) seed_float_matmul(&b);
        else if (kind == MORSEL_STEP_GRID_SAMPLE) seed_grid_sample(&b);
        else if (kind == MORSEL_STEP_NON_MAX_SUPPRESSION) seed_non_max_suppression(&b);
        else seed_any_step(&b, kind);
        if (b.step_count >= SEED_STEPS) break;
        if (seed_elements(&b.tensors[b.tensor_count - 1]) > 4000) break;
    }
    if (b.step_count == 0) seed_gather(&b);
    seed_lay_out(&b, out);
    return DATA_START + b.data_bytes;
}

#endif
