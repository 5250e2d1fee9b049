/* SPDX-License-Identifier: MIT */
/* Networks that copy an input to an output of any shape, with an answer rule, and take a picture beside. Included after cmocka.h. */
#ifndef MAPS_H
#define MAPS_H

#include "core/blob.h"
#include "tests/unit/support/blob_builder.h"

#include <stdlib.h>
#include <string.h>

enum { PICTURE_HEIGHT = 24, PICTURE_WIDTH = 40 };

/* Channels last they are the second dimension of the graph. */
struct map_trial {
    struct morsel_blob_answer rule;
    uint32_t rank, dims[4];
    enum morsel_type type;
    int channels_last, with_picture;
    struct morsel_blob_picture picture;
};

struct map_network {
    struct morsel_model model;
    struct morsel_session session;
    uint8_t *blob, *arena;
};

static inline uint32_t map_copy(struct builder *b, const struct map_trial *t) {
    uint32_t onnx[MORSEL_MAX_RANK] = {1, 1, 1, 1, 1, 1}, count = 1;
    for (uint32_t k = 0; k < t->rank; k++) count *= onnx[k] = t->dims[k];
    uint32_t last[4] = {onnx[0], onnx[2], onnx[3], onnx[1]}, concat[2] = {1, count};
    uint32_t rank = t->channels_last ? 4 : t->rank, zero = t->type == MORSEL_INT8 ? (uint32_t)-7 : 90;
    uint32_t x = builder_tensor(b, t->type, rank, t->channels_last ? last : onnx, 0.03f, (int32_t)zero);
    uint32_t y = builder_tensor(b, t->type, rank, t->channels_last ? last : onnx, 0.03f, (int32_t)zero);
    b->tensors[x].layout = b->tensors[y].layout = t->channels_last ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR;
    builder_step(b, MORSEL_STEP_CONCAT, &x, 1, y, concat, sizeof concat, 0);
    builder_input(b, x, "x");
    builder_output(b, y, "y");
    struct morsel_blob_io *ends[] = {&b->inputs[b->input_count - 1], &b->outputs[b->output_count - 1]};
    for (int k = 0; k < 2; k++) {
        ends[k]->onnx_rank = t->rank;
        for (uint32_t d = 0; d < MORSEL_MAX_RANK; d++) ends[k]->onnx_dims[d] = onnx[d];
    }
    return count;
}

static inline enum morsel_error map_open(struct map_network *n, const struct map_trial *t) {
    struct builder b;
    uint32_t bytes, dims[4] = {1, PICTURE_HEIGHT, PICTURE_WIDTH, 3}, concat[2] = {1, PICTURE_HEIGHT * PICTURE_WIDTH * 3};
    builder_start(&b);
    map_copy(&b, t);
    if (t->with_picture) {
        uint32_t x = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0), y = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0);
        builder_step(&b, MORSEL_STEP_CONCAT, &x, 1, y, concat, sizeof concat, 0);
        builder_input(&b, x, "picture");
        builder_output(&b, y, "same");
        b.picture = t->picture;
        b.picture.input = b.input_count - 1;
        b.picture_count = 1;
    }
    builder_data(&b, "", 1);
    b.answer = t->rule;
    n->blob = builder_finish(&b, &bytes);
    n->arena = NULL;
    enum morsel_error error = morsel_open(&n->model, n->blob, bytes, 0);
    if (error) return error;
    n->arena = builder_aligned(morsel_arena_bytes(&n->model));
    assert_int_equal(morsel_session_open(&n->session, &n->model, n->arena, morsel_arena_bytes(&n->model), NULL), MORSEL_OK);
    return MORSEL_OK;
}

static inline void map_close(struct map_network *n) {
    free(n->blob);
    free(n->arena);
}

/* Runs on the values, in the graph's order, which become those that the output has. */
static inline void map_run(struct map_network *n, float *values) {
    struct morsel_view view;
    assert_int_equal(morsel_input(&n->session, 0, &view), MORSEL_OK);
    assert_int_equal(morsel_quantize(&view, values, morsel_view_elements(&view)), MORSEL_OK);
    assert_int_equal(morsel_run(&n->session), MORSEL_OK);
    assert_int_equal(morsel_output(&n->session, 0, &view), MORSEL_OK);
    assert_int_equal(morsel_dequantize(&view, values, morsel_view_elements(&view)), MORSEL_OK);
}

static inline double map_chance(uint32_t *state) {
    return builder_random(state) % 1000003 / 1000003.0;
}

/* Pictures of the input's size, by these ways of resizing. */
static inline struct morsel_blob_picture map_picture(uint32_t way) {
    struct morsel_blob_picture rule = {.scale = 1, .std = {1, 1, 1}, .resize_height = PICTURE_HEIGHT, .resize_width = PICTURE_WIDTH};
    rule.resize = way == 0 ? MORSEL_RESIZE_EXACT : way == 1 ? MORSEL_RESIZE_LETTERBOX : MORSEL_RESIZE_SHORT_SIDE;
    if (way != 2) return rule;
    rule.resize_height = rule.resize_width = 44;
    rule.crop_height = PICTURE_HEIGHT;
    rule.crop_width = PICTURE_WIDTH;
    return rule;
}
enum { MAP_WAYS = 3 };

#endif
