/* SPDX-License-Identifier: MIT */
/* Sound blobs by chance: the steps of dynamic quantization, which come together. */
#ifndef MORSEL_TEST_SEED_DYNAMIC_H
#define MORSEL_TEST_SEED_DYNAMIC_H

#include "seed_steps.h"

enum { SEED_DYNAMIC_STEPS = 4 };

/* Floats of one dimension, or of two. */
static uint32_t seed_numbers(struct seed_blob *b, uint32_t rows, uint32_t columns) {
    uint32_t y = seed_tensor(b, MORSEL_FLOAT32, rows, columns, 1, 1);
    b->tensors[y].layout = MORSEL_ROW_MAJOR;
    b->tensors[y].rank = columns > 1 ? 2 : 1;
    return y;
}

/* A step whose second input is another tensor. */
static struct morsel_blob_step *seed_step_of_two(struct seed_blob *b, uint32_t kind, const void *record, uint32_t bytes, uint32_t x,
                                                 uint32_t second, uint32_t y) {
    struct morsel_blob_step *step = seed_step(b, kind, record, bytes, x, 2, y);
    b->operands[step->first_operand + 1] = second;
    b->tensors[second].last_step = b->step_count - 1;
    return step;
}

/* FACTORS for so many channels, or by lines; then QUANTIZE. Gives the numbers, and the bytes in *y. */
static uint32_t seed_quantize(struct seed_blob *b, uint32_t x, uint32_t lines, uint32_t channels, uint32_t *y) {
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t elements = seed_elements(&in);
    struct morsel_blob_range range = {lines > 1 ? elements / lines : seed_from(b, 1, elements)};
    uint32_t pieces = (elements - 1) / range.count + 1, ends = seed_numbers(b, pieces, 2);
    seed_step(b, MORSEL_STEP_RANGE, &range, sizeof range, x, 1, ends);
    struct morsel_blob_factors factors = {lines, lines > 1 ? 0 : channels, 0, 0};
    if (factors.channels) factors.factor = seed_floats(b, channels, 0, 0.01f);
    if (factors.channels && seed_chance(b, 2)) factors.bias = seed_floats(b, channels, -3, 3);
    uint32_t numbers = lines > 1 ? seed_numbers(b, lines, 2) : seed_numbers(b, MORSEL_FORMAT_NUMBERS + 2 * factors.channels, 1);
    seed_step(b, MORSEL_STEP_FACTORS, &factors, sizeof factors, ends, 1, numbers);
    *y = seed_tensor(b, MORSEL_UINT8, in.dims[0], in.dims[1], in.dims[2], in.dims[3]);
    b->tensors[*y].scale = 1;
    b->tensors[*y].zero_point = 0;
    struct morsel_blob_quantize quantize = {lines, range.count};
    seed_step_of_two(b, MORSEL_STEP_QUANTIZE, &quantize, sizeof quantize, x, numbers, *y);
    return numbers;
}

/* The last step becomes the dynamic one of its kind: its result is floats. */
static void seed_make_dynamic(struct seed_blob *b, uint32_t kind, uint32_t numbers) {
    struct morsel_blob_step *step = &b->steps[b->step_count - 1];
    uint32_t *operands = b->operands + step->first_operand;
    step->kind = kind;
    step->input_count = 2;
    operands[2] = operands[1]; /* y */
    operands[1] = numbers;
    b->operand_count++;
    b->tensors[numbers].last_step = b->step_count - 1;
}

static uint32_t seed_float_input(struct seed_blob *b) {
    for (uint32_t i = b->tensor_count; i--;)
        if (b->tensors[i].type == MORSEL_FLOAT32 && b->tensors[i].rank == 4 && !(b->tensors[i].layout & SEED_GONE)) return i;
    uint32_t x = seed_input(b);
    struct morsel_blob_tensor *t = &b->tensors[x];
    t->type = MORSEL_FLOAT32;
    t->scale = 1;
    t->zero_point = 0;
    t->bytes *= 4;
    t->offset = b->arena_bytes;
    b->arena_bytes += seed_round(t->bytes, 64);
    return x;
}

/* Rows of a picture's channels with themselves, transposed where they lie; sometimes with a term that repeats. */
static void seed_float_matmul(struct seed_blob *b) {
    uint32_t x = seed_float_input(b), reads = seed_from(b, 2, 3), turned = seed_chance(b, 2);
    struct morsel_blob_tensor in = b->tensors[x];
    const uint32_t *d = in.dims, row = d[3], middle = d[2] * row, outer = d[1] * middle;
    struct morsel_blob_float_matmul p = {.dims = {d[0], d[1], d[2], d[2]},
                                         .inner = d[3],
                                         .turned = turned,
                                         .a_stride = {outer, middle, row},
                                         .b_stride = {outer, middle, 1, row},
                                         .term_stride = {outer, middle, seed_chance(b, 2) ? row : 0, 0},
                                         .factor = seed_float(b, 2),
                                         .float_min = -99,
                                         .float_max = 99};
    uint32_t y = seed_tensor(b, MORSEL_FLOAT32, d[0], turned ? d[2] : d[1], turned ? d[1] : d[2], d[2]);
    b->tensors[y].scale = 1;
    b->tensors[y].zero_point = 0;
    seed_step(b, MORSEL_STEP_FLOAT_MATMUL, &p, sizeof p, x, reads, y);
}

/* Its grid is an input of its own. */
static void seed_grid_sample(struct seed_blob *b) {
    if (b->tensor_count + 4 > SEED_TENSORS) return;
    uint32_t x = seed_float_input(b), h = seed_from(b, 1, 5), w = seed_from(b, 1, 5);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t grid = seed_tensor(b, MORSEL_FLOAT32, in.dims[0], h, w, 2), y = seed_tensor(b, MORSEL_FLOAT32, in.dims[0], h, w, in.dims[3]);
    struct morsel_blob_grid_sample p = {fuzz_below(&b->random, 2), fuzz_below(&b->random, 3), fuzz_below(&b->random, 2)};
    seed_step_of_two(b, MORSEL_STEP_GRID_SAMPLE, &p, sizeof p, x, grid, y);
}

/* Its boxes and scores are inputs of its own. */
static void seed_non_max_suppression(struct seed_blob *b) {
    if (b->tensor_count + 3 > SEED_TENSORS) return;
    uint32_t n = seed_from(b, 1, 20), images = seed_from(b, 1, 2), classes = seed_from(b, 1, 3);
    struct morsel_blob_non_max_suppression p = {images, classes, n, seed_from(b, 1, n), fuzz_below(&b->random, 2), 0.5f, 0.1f};
    uint32_t x = seed_tensor(b, MORSEL_FLOAT32, images, n, 4, 1), scores = seed_tensor(b, MORSEL_FLOAT32, images, classes, n, 1);
    uint32_t y = seed_tensor(b, MORSEL_INT32, images * classes * p.most, 3, 1, 1);
    for (uint32_t i = x; i <= y; i++) {
        b->tensors[i].layout = MORSEL_ROW_MAJOR;
        b->tensors[i].rank = i < y ? 3 : 2;
    }
    struct morsel_blob_step *step = seed_step_of_two(b, MORSEL_STEP_NON_MAX_SUPPRESSION, &p, sizeof p, x, scores, y);
    step->scratch_offset = b->arena_bytes;
    step->scratch_bytes = n;
    b->arena_bytes += seed_round(n, 64);
}

/* The channel constants that the kind will have are known only when it is made: it is made of the bytes first. */
static void seed_dynamic(struct seed_blob *b, uint32_t kind) {
    if (b->step_count + SEED_DYNAMIC_STEPS > SEED_STEPS || b->tensor_count + 6 > SEED_TENSORS) return;
    uint32_t x = seed_float_input(b), y, c = b->tensors[x].dims[3], rows = b->tensors[x].dims[0];
    uint32_t inputs = seed_elements(&b->tensors[x]) / rows, fc = kind == MORSEL_STEP_DYNAMIC_FC || kind == MORSEL_STEP_QUANTIZE;
    uint32_t outs = kind == MORSEL_STEP_DYNAMIC_DEPTHWISE ? c : seed_from(b, 1, 20), lines = fc && seed_chance(b, 2) ? rows : 1;
    uint32_t channels = seed_round(outs, 16), numbers = seed_quantize(b, x, lines, channels, &y);
    struct seed_weights w = {1, outs, 1, fc ? inputs : c, 0, 0, 0, 0};
    struct seed_weights deep = {1, c, 3, 3, 0, 0, 0, 0};
    if (kind == MORSEL_STEP_DYNAMIC_DEPTHWISE) w = deep;
    seed_fill_weights(b, &w);
    struct morsel_blob_sums sums = {.weights = w.weights, .weight_sum = w.sum, .weight_zero = w.zero, .float_min = -5, .float_max = 5};
    sums.bias = seed_integers(b, channels, 0, 0);
    sums.multiplier = seed_floats(b, channels, 0, 0.01f);
    sums.float_bias = seed_chance(b, 2) ? seed_floats(b, channels, -3, 3) : 0;
    if (fc) {
        struct morsel_blob_fc p = {rows, inputs, outs, sums};
        seed_step(b, MORSEL_STEP_FC, &p, sizeof p, y, 1, seed_tensor(b, MORSEL_FLOAT32, rows, 1, 1, outs));
        seed_make_dynamic(b, MORSEL_STEP_DYNAMIC_FC, numbers);
        return;
    }
    struct morsel_blob_tensor in = b->tensors[y];
    uint32_t deep_pad = kind == MORSEL_STEP_DYNAMIC_DEPTHWISE, kernel = deep_pad ? 3 : 1;
    struct morsel_blob_conv p = {{kernel, kernel, 1, 1, 1, 1, deep_pad, deep_pad, deep_pad, deep_pad}, deep_pad ? c : 1, sums};
    uint32_t out = seed_tensor(b, MORSEL_FLOAT32, in.dims[0], in.dims[1], in.dims[2], outs);
    struct morsel_blob_step *step = seed_step(b, MORSEL_STEP_CONV, &p, sizeof p, y, 1, out);
    seed_make_dynamic(b, deep_pad ? MORSEL_STEP_DYNAMIC_DEPTHWISE : MORSEL_STEP_DYNAMIC_CONV, numbers);
    if (!deep_pad) return;
    step->scratch_offset = b->arena_bytes;
    step->scratch_bytes = seed_round(in.dims[2] * c, 4);
    b->arena_bytes += seed_round(step->scratch_bytes, 64);
}

#endif
