/* SPDX-License-Identifier: MIT */
/* Detectors for tests: networks that copy what their outputs shall be, with an answer rule. Included after cmocka.h. */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "core/blob.h"
#include "tests/unit/support/blob_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, BOXES_MOST = 512 };

/* A network that copies its inputs: those are what the outputs shall be. */
struct trial {
    struct morsel_blob_answer rule;
    uint32_t images, candidates, parts, scores; /* scores: numbers of the second output; 0: there is none */
    enum morsel_type type;
    int channels_last;
    const float *anchors;
    int with_picture;
    struct morsel_blob_picture picture;
};

/* A trial that runs. */
struct detector {
    struct morsel_model model;
    struct morsel_session session;
    uint8_t *blob, *arena;
};

/* An output [images, parts, candidates] or the other way round; channels last it is [images, candidates, 1, parts] in memory. */
static inline void add_copy(struct builder *b, const struct trial *t, uint32_t parts, const char *from, const char *to) {
    uint32_t columns = t->rule.flags & MORSEL_ANSWER_COLUMNS;
    uint32_t onnx[3] = {t->images, columns ? parts : t->candidates, columns ? t->candidates : parts};
    uint32_t last[4] = {onnx[0], onnx[2], 1, onnx[1]}, concat[2] = {1, onnx[0] * onnx[1] * onnx[2]};
    uint32_t x =
        builder_tensor(b, t->type, t->channels_last ? 4 : 3, t->channels_last ? last : onnx, 0.03f, t->type == MORSEL_INT8 ? -7 : 90);
    uint32_t y =
        builder_tensor(b, t->type, t->channels_last ? 4 : 3, t->channels_last ? last : onnx, 0.03f, t->type == MORSEL_INT8 ? -7 : 90);
    builder_step(b, MORSEL_STEP_CONCAT, &x, 1, y, concat, sizeof concat, 0);
    builder_input(b, x, from);
    builder_output(b, y, to);
    struct morsel_blob_io *ends[] = {&b->inputs[b->input_count - 1], &b->outputs[b->output_count - 1]};
    for (int k = 0; k < 2; k++) {
        ends[k]->onnx_rank = 3;
        memcpy(ends[k]->onnx_dims, (uint32_t[6]){onnx[0], onnx[1], onnx[2], 1, 1, 1}, sizeof ends[k]->onnx_dims);
    }
}

static inline void add_picture(struct builder *b, const struct trial *t) {
    uint32_t dims[4] = {1, SIDE, SIDE, 3}, concat[2] = {1, SIDE * SIDE * 3};
    uint32_t x = builder_tensor(b, MORSEL_UINT8, 4, dims, 1, 0), y = builder_tensor(b, MORSEL_UINT8, 4, dims, 1, 0);
    builder_step(b, MORSEL_STEP_CONCAT, &x, 1, y, concat, sizeof concat, 0);
    builder_input(b, x, "picture");
    builder_output(b, y, "same");
    b->picture = t->picture;
    b->picture.input = b->input_count - 1;
    b->picture_count = 1;
}

static inline void detector_open(struct detector *d, const struct trial *t) {
    struct builder b;
    uint32_t bytes;
    builder_start(&b);
    add_copy(&b, t, t->parts, "x0", "y0");
    if (t->scores) add_copy(&b, t, t->scores, "x1", "y1");
    if (t->with_picture) add_picture(&b, t);
    builder_data(&b, "", 1);
    b.answer = t->rule;
    b.anchors = t->anchors;
    d->blob = builder_finish(&b, &bytes);
    assert_int_equal(morsel_open(&d->model, d->blob, bytes, 0), MORSEL_OK);
    d->arena = builder_aligned(morsel_arena_bytes(&d->model));
    assert_int_equal(morsel_session_open(&d->session, &d->model, d->arena, morsel_arena_bytes(&d->model), NULL), MORSEL_OK);
}

static inline void detector_close(struct detector *d) {
    free(d->blob);
    free(d->arena);
}

/* Runs on these values, in the graph's order, of the first and the second output. */
static inline void detector_run(struct detector *d, const float *first, const float *second) {
    struct morsel_view view;
    for (uint32_t k = 0; k < 1u + (second != NULL); k++) {
        assert_int_equal(morsel_input(&d->session, k, &view), MORSEL_OK);
        assert_int_equal(morsel_quantize(&view, k ? second : first, morsel_view_elements(&view)), MORSEL_OK);
    }
    assert_int_equal(morsel_run(&d->session), MORSEL_OK);
}

static inline double chance(uint32_t *state) {
    return builder_random(state) % 1000003 / 1000003.0;
}

static inline int by_p(const void *a, const void *b) {
    const struct morsel_box *x = a, *y = b;
    if (x->p != y->p) return x->p > y->p ? -1 : 1;
    return x->candidate < y->candidate ? -1 : 1;
}

static inline struct morsel_blob_answer rule_of(uint32_t head, uint32_t flags, uint32_t classes) {
    return (struct morsel_blob_answer){.kind = MORSEL_ANSWER_DETECTIONS,
                                       .head = head,
                                       .flags = flags,
                                       .classes = classes,
                                       .most = 60,
                                       .threshold = 0.3f,
                                       .iou = 0.4f,
                                       .scale = {30, 20},
                                       .variance = {0.1f, 0.2f}};
}

/* Boxes of unit size that overlap now and then, and scores that hold for the activation. */
static inline void fill(const struct trial *t, uint32_t parts, uint32_t first_score, float *values, uint32_t *state) {
    int logits = (t->rule.flags & (MORSEL_ANSWER_SIGMOID | MORSEL_ANSWER_SOFTMAX)) != 0, corners = t->rule.head >= MORSEL_HEAD_YOLOV10;
    for (uint32_t image = 0; image < t->images; image++)
        for (uint32_t i = 0; i < t->candidates; i++)
            for (uint32_t k = 0; k < parts; k++) {
                double v = chance(state);
                if (k >= first_score)
                    v = t->rule.head == MORSEL_HEAD_YOLOV10 && k == 5 ? floor(v * t->rule.classes) : logits ? 6 * v - 3 : v;
                else if (t->anchors) v = 4 * v - 2;
                else if (corners) v = k < 2 ? v * 0.7 : 0.5 + v;
                else if (k >= 2) v = 0.05 + 0.4 * v;
                size_t at = t->rule.flags & MORSEL_ANSWER_COLUMNS ? (size_t)k * t->candidates + i : (size_t)i * parts + k;
                values[(size_t)image * parts * t->candidates + at] = (float)v;
            }
}

static inline struct trial trial_of(uint32_t head, uint32_t flags, uint32_t classes, int apart) {
    struct trial t = {.rule = rule_of(head, flags, classes), .images = 1, .candidates = 150, .type = MORSEL_FLOAT32};
    t.parts = head == MORSEL_HEAD_YOLOV10 ? 6 : apart ? 4 : classes + (head == MORSEL_HEAD_YOLOV5 ? 5 : 4);
    t.scores = apart ? classes : 0;
    t.rule.scores = apart != 0;
    return t;
}

#endif
