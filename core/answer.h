/* SPDX-License-Identifier: MIT */
/* What open and who reads the outputs have in common: their shapes by the answer rule. And what is read by a rule of no blob. */
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

/* An output as maps; all 0 where it is none. */
struct morsel_map_shape {
    uint32_t images, channels, height, width;
};

static inline struct morsel_map_shape morsel_map_shape(uint32_t flags, uint32_t rank, const uint32_t *onnx_dims) {
    uint32_t columns = flags & MORSEL_ANSWER_COLUMNS;
    struct morsel_map_shape shape = {0, 0, 0, 0};
    if (rank != 4 && (rank != 3 || columns)) return shape;
    shape.images = onnx_dims[0];
    shape.channels = columns ? onnx_dims[1] : rank == 4 ? onnx_dims[3] : 1;
    shape.height = onnx_dims[1 + columns];
    shape.width = onnx_dims[2 + columns];
    return shape;
}

/* An output as numbers of points; all 0 where it is none. */
struct morsel_points_shape {
    uint32_t images, parts;
};

/* Rank is at most MORSEL_MAX_RANK; no product of dimensions wraps. */
static inline struct morsel_points_shape morsel_points_shape(uint32_t flags, uint32_t points, uint32_t rank, const uint32_t *onnx_dims) {
    struct morsel_points_shape shape = {0, 0};
    if (rank < 2 || !points) return shape;
    for (uint32_t k = 1; k + 2 < rank; k++)
        if (onnx_dims[k] != 1) return shape;
    const uint32_t *last = onnx_dims + (rank - 2);
    uint32_t columns = flags & MORSEL_ANSWER_COLUMNS, parts = last[!columns];
    if (rank == 2) parts = last[1] % points ? 0 : last[1] / points;
    else if (last[columns] != points) parts = 0;
    if (parts != 2 && parts != 3) return shape;
    shape.images = onnx_dims[0];
    shape.parts = parts;
    return shape;
}

/* Images of an output that is a list of classes for each; 0 where it is none. */
static inline uint32_t morsel_classes_images(uint32_t rank, const uint32_t *onnx_dims) {
    for (uint32_t k = 2; k < rank; k++)
        if (onnx_dims[k] != 1) return 0;
    return rank > 1 ? onnx_dims[0] : rank;
}

/* Vectors in an output; 0 where it has no dimension. */
static inline uint32_t morsel_embedding_images(uint32_t rank, const uint32_t *onnx_dims) {
    return rank > 1 ? onnx_dims[0] : rank;
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

/* As morsel_segment(). `picture`: the rule that the frame went in by; not looked at without a frame. */
enum morsel_error morsel_segment_by_rule(const struct morsel_blob_answer *rule, const struct morsel_blob_picture *picture,
                                         const struct morsel_view *view, const struct morsel_frame *frame, uint32_t image, uint8_t *classes,
                                         size_t capacity);

/* As morsel_classes(). */
enum morsel_error morsel_classes_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image,
                                         struct morsel_class *classes, size_t capacity, uint32_t *count);

/* As morsel_embedding(). */
enum morsel_error morsel_embedding_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image,
                                           float *values, size_t capacity, uint32_t *count);

/* As morsel_points(). */
enum morsel_error morsel_points_of_rule(const struct morsel_blob_answer *rule, const struct morsel_blob_picture *picture,
                                        const struct morsel_view *view, const struct morsel_frame *frame, uint32_t image,
                                        struct morsel_point *points, size_t capacity, uint32_t *count);

/* The picture rule of an open model; NULL: there is none. */
static inline const struct morsel_blob_picture *morsel_picture_rule(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED || !morsel_blob_header(model)->picture.count) return NULL;
    return (const struct morsel_blob_picture *)morsel_blob_at(model, morsel_blob_header(model)->picture.offset);
}

/* The rule of this kind, and the output that it speaks of. */
enum morsel_error morsel_answer_of(const struct morsel_session *session, enum morsel_answer kind, const struct morsel_blob_answer **rule,
                                   struct morsel_view *view);

/* The rule of an open model; NULL: there is none. */
static inline const struct morsel_blob_answer *morsel_answer_rule(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED || !morsel_has_answer(morsel_blob_header(model))) return NULL;
    return (const struct morsel_blob_answer *)morsel_blob_at(model, morsel_blob_header(model)->answer.offset);
}

#endif
