/* SPDX-License-Identifier: MIT */
/* A small network with a step of every kind, for tests that damage it or cut its run into pieces. */
#ifndef SAMPLE_BLOB_H
#define SAMPLE_BLOB_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/honest.h"

/* The numbers of its tensors and steps. */
enum {
    T_IN,
    T_CONV,
    T_DEPTHWISE,
    T_MAX,
    T_AVERAGE,
    T_LUT,
    T_ADD,
    T_CONCAT,
    T_GATHER,
    T_MEAN,
    T_FC,
    T_SOFTMAX,
    T_FLOAT,
    T_CONSTANT,
    T_MATMUL,
    T_COUNT
};
enum { S_CONV, S_DEPTHWISE, S_MAX, S_AVERAGE, S_LUT, S_ADD, S_CONCAT, S_GATHER, S_MEAN, S_FC, S_SOFTMAX, S_UNARY, S_MATMUL, S_COUNT };

struct blob {
    uint8_t *bytes;
    uint32_t count;
    uint32_t spare; /* where 4096 bytes of 0 stand at the end of the data */
    struct morsel_blob_header *header;
    struct morsel_blob_tensor *tensors;
    struct morsel_blob_step *steps;
    struct morsel_blob_io *inputs, *outputs;
    struct morsel_blob_picture *picture;
};

static inline void *parameters(const struct blob *b, uint32_t step) {
    return b->bytes + b->steps[step].parameters;
}

/* Constants for sixteen channels: bias, multiplier, weight_sum, weight_zero, no float bias, proofs. */
static inline void channels(struct builder *b, uint32_t *offsets, int with_zero) {
    int32_t integers[16] = {3, -4};
    float floats[16] = {0.25f, 0.5f, 0.125f};
    offsets[0] = builder_data(b, integers, 64);
    offsets[1] = builder_data(b, floats, 64);
    offsets[2] = builder_data(b, integers, 64);
    offsets[3] = with_zero ? builder_data(b, integers, 64) : 0;
    offsets[4] = 0;
    offsets[5] = builder_data(b, "\3", 1);
}

static inline void add_windows(struct builder *b) {
    int8_t weights[3 * 16 * 3 * 4] = {1, 2, 3, 4, 5, 6, 7, -128, 127};
    uint32_t k[6], w = builder_data(b, weights, sizeof weights);
    channels(b, k, 1);
    struct morsel_blob_conv conv = {{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {w, k[0], k[1], k[2], k[3], k[4], 0, 255, 0, 0, k[5]}};
    builder_step(b, MORSEL_STEP_CONV, (uint32_t[]){T_IN}, 1, T_CONV, &conv, sizeof conv, 12);
    channels(b, k, 1);
    conv.groups = 3;
    conv.sums = (struct morsel_blob_sums){builder_data(b, weights, sizeof weights), k[0], k[1], k[2], k[3], k[4], 0, 255, 0, 0, k[5]};
    builder_step(b, MORSEL_STEP_DEPTHWISE, (uint32_t[]){T_CONV}, 1, T_DEPTHWISE, &conv, sizeof conv, 12);
    struct morsel_blob_pool pool = {{2, 2, 2, 2, 1, 1, 0, 0, 0, 0}, 0, 0, 255};
    builder_step(b, MORSEL_STEP_MAX_POOL, (uint32_t[]){T_DEPTHWISE}, 1, T_MAX, &pool, sizeof pool, 0);
    pool.window.stride_h = pool.window.stride_w = 1, pool.window.pad_top = pool.window.pad_left = 1;
    builder_step(b, MORSEL_STEP_AVERAGE_POOL, (uint32_t[]){T_MAX}, 1, T_AVERAGE, &pool, sizeof pool, 0);
}

static inline void add_elements(struct builder *b) {
    uint8_t table[256] = {9, 8, 7};
    int32_t order[4] = {3, 2, -1, 0}, inner[6] = {0, 1, 2, 3, 4, 5};
    int32_t tables[10];
    memcpy(tables, order, 16);
    for (int i = 0; i < 6; i++) tables[4 + i] = inner[i];
    for (int i = 0; i < 4; i++) tables[i] = order[i] < 0 ? -1 : order[i] * 6;
    struct morsel_blob_lut lut = {12, 1, 1, builder_data(b, table, 256)};
    builder_step(b, MORSEL_STEP_LUT, (uint32_t[]){T_AVERAGE}, 1, T_LUT, &lut, sizeof lut, 0);
    struct morsel_blob_binary add = {MORSEL_BINARY_QADD, 2, {4, 3, 1, 1, 1, 1}, {3, 1}, {3, 1}, 0.5f, 0.25f, 3, 0, 255, -1, 1};
    builder_step(b, MORSEL_STEP_BINARY, (uint32_t[]){T_LUT, T_AVERAGE}, 2, T_ADD, &add, sizeof add, 0);
    uint32_t concat[3] = {4, 3, 3};
    builder_step(b, MORSEL_STEP_CONCAT, (uint32_t[]){T_ADD, T_LUT}, 2, T_CONCAT, concat, sizeof concat, 0);
    struct morsel_blob_gather gather = {2, {4, 6, 1, 1, 1, 1}, builder_data(b, tables, 40), 7};
    builder_step(b, MORSEL_STEP_GATHER, (uint32_t[]){T_CONCAT}, 1, T_GATHER, &gather, sizeof gather, 0);
    struct morsel_blob_mean mean = {1, 4, 6, 0.25f, 0, 255};
    builder_step(b, MORSEL_STEP_MEAN, (uint32_t[]){T_GATHER}, 1, T_MEAN, &mean, sizeof mean, 0);
}

static inline void add_head(struct builder *b) {
    int8_t weights[16 * 8] = {1, 2, 3};
    float exponentials[256];
    uint32_t k[6], w = builder_data(b, weights, sizeof weights);
    channels(b, k, 0);
    for (int i = 0; i < 256; i++) exponentials[i] = (float)exp((i - 255) * 0.1);
    struct morsel_blob_fc fc = {1, 6, 5, {w, k[0], k[1], k[2], k[3], k[4], 0, 255, 0, 0, k[5]}};
    builder_step(b, MORSEL_STEP_FC, (uint32_t[]){T_MEAN}, 1, T_FC, &fc, sizeof fc, 0);
    struct morsel_blob_softmax softmax = {1, 5, 1, builder_data(b, exponentials, sizeof exponentials)};
    builder_step(b, MORSEL_STEP_SOFTMAX, (uint32_t[]){T_FC}, 1, T_SOFTMAX, &softmax, sizeof softmax, 0);
    float scale[5] = {1, 2, 3, 4, 5};
    struct morsel_blob_unary unary = {MORSEL_UNARY_AFFINE, 5, 0, 0, 5, builder_data(b, scale, 20), builder_data(b, scale, 20)};
    builder_step(b, MORSEL_STEP_UNARY, (uint32_t[]){T_SOFTMAX}, 1, T_FLOAT, &unary, sizeof unary, 0);
    struct morsel_blob_matmul matmul = {1, 1, 5, 2, 1, 1, 1, 1, 0.125f, 0, 255, 0, 0};
    builder_step(b, MORSEL_STEP_MATMUL, (uint32_t[]){T_SOFTMAX, T_CONSTANT}, 2, T_MATMUL, &matmul, sizeof matmul, 0);
}

static inline struct blob sample(void) {
    struct builder b;
    struct blob s;
    const uint8_t constant[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    builder_start(&b);
    builder_tensor(&b, MORSEL_UINT8, 4, (uint32_t[]){1, 4, 4, 3}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 4, (uint32_t[]){1, 4, 4, 3}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 4, (uint32_t[]){1, 4, 4, 3}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 4, (uint32_t[]){1, 2, 2, 3}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 4, (uint32_t[]){1, 2, 2, 3}, 0.1f, 3);
    for (int i = T_LUT; i <= T_ADD; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){4, 3}, 0.1f, 3);
    for (int i = T_CONCAT; i <= T_GATHER; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){4, 6}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 6}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 5}, 0.1f, 3);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 5}, 1.0f / 256, 0);
    builder_tensor(&b, MORSEL_FLOAT32, 2, (uint32_t[]){1, 5}, 1, 0);
    builder_constant(&b, MORSEL_INT8, 2, (uint32_t[]){5, 2}, 0.1f, -3, constant);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 2}, 0.1f, 3);
    add_windows(&b);
    add_elements(&b);
    add_head(&b);
    builder_input(&b, T_IN, "picture");
    builder_output(&b, T_FLOAT, "scores");
    builder_output(&b, T_MATMUL, "others");
    builder_label(&b, "cat");
    builder_label(&b, "dog");
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_SHORT_SIDE, 5, 5, 4, 4, MORSEL_CHANNELS_RGB, 1 / 255.0f, {0, 0, 0}, {1, 1, 1}};
    b.picture = rule;
    b.picture_count = 1;
    uint8_t *zeros = calloc(1, 4096);
    s.spare = builder_data(&b, zeros, 4096);
    free(zeros);
    s.bytes = builder_finish(&b, &s.count);
    honest_make(s.bytes);
    s.header = (void *)s.bytes;
    s.tensors = (void *)(s.bytes + s.header->tensors.offset);
    s.steps = (void *)(s.bytes + s.header->steps.offset);
    s.inputs = (void *)(s.bytes + s.header->inputs.offset);
    s.outputs = (void *)(s.bytes + s.header->outputs.offset);
    s.picture = (void *)(s.bytes + s.header->picture.offset);
    return s;
}

#endif
