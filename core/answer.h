/* SPDX-License-Identifier: MIT */
/* What open and morsel_detect() have in common: the shape of a detector's output by the answer rule. */
#ifndef MORSEL_ANSWER_H
#define MORSEL_ANSWER_H

#include "blob.h"

/* An output as [images][candidates][parts], or with MORSEL_ANSWER_COLUMNS [images][parts][candidates]; all 0 where it is none. */
struct morsel_answer_shape {
    uint32_t images, candidates, parts;
};

static inline struct morsel_answer_shape morsel_answer_shape(uint32_t flags, uint32_t rank, const uint32_t *onnx_dims) {
    struct morsel_answer_shape shape = {0, 0, 0};
    if (rank != 2 && rank != 3) return shape;
    const uint32_t *last = onnx_dims + (rank - 2);
    uint32_t columns = flags & MORSEL_ANSWER_COLUMNS;
    shape.images = rank == 3 ? onnx_dims[0] : 1;
    shape.candidates = last[columns];
    shape.parts = last[!columns];
    return shape;
}

/* Numbers in front of the scores, in the output with the boxes. */
static inline uint32_t morsel_answer_front(const struct morsel_blob_answer *rule) {
    return rule->head == MORSEL_HEAD_YOLOV5 ? 5 : 4;
}

/* As morsel_detect(), in pixels of the input, by a rule that need not stand in a blob and that fits the views. */
enum morsel_error morsel_detect_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *boxes_of,
                                        const struct morsel_view *scores_of, uint32_t image, struct morsel_box *boxes, size_t capacity,
                                        uint32_t *count);

/* Boxes of the input become those of the frame, cut off at its edges; those outside go. Returns how many are left. */
uint32_t morsel_boxes_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, struct morsel_box *boxes,
                              uint32_t count);

/* The rule of an open model; NULL: there is none. */
static inline const struct morsel_blob_answer *morsel_answer_rule(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED || !morsel_has_answer(morsel_blob_header(model))) return NULL;
    return (const struct morsel_blob_answer *)morsel_blob_at(model, morsel_blob_header(model)->answer.offset);
}

#endif
