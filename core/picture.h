/* SPDX-License-Identifier: MIT */
/*
 * What morsel_picture() and morsel_frame() do, by a rule that need not stand in a blob. And the plan that picture.c makes of rule and
 * frame, by which picture_rows.c computes.
 */
#ifndef MORSEL_PICTURE_H
#define MORSEL_PICTURE_H

#include "format.h"
#include "morsel.h"

#include <stdbool.h>

/* Scratch for a picture of this size, or for a frame; 0: the rule does not go with it. */
size_t morsel_rule_bytes(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height);
size_t morsel_rule_frame_bytes(const struct morsel_blob_picture *rule, const struct morsel_frame *frame);

/* As morsel_picture() and morsel_frame(). No rule: MORSEL_ERR_PICTURE. */
enum morsel_error morsel_picture_by_rule(const struct morsel_blob_picture *rule, const uint8_t *rgb, size_t rgb_bytes, uint32_t width,
                                         uint32_t height, size_t stride, void *scratch, size_t scratch_bytes,
                                         const struct morsel_view *view, uint32_t image);
enum morsel_error morsel_frame_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, void *scratch,
                                       size_t scratch_bytes, const struct morsel_view *view, uint32_t image);

enum morsel_error morsel_points_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, float *points,
                                        size_t count);

/* One direction of the frame as it lies in memory: `in` source pixels, `out` of them after the resize, of which `visible` from `first` on
 * stand in the result behind `pad` others. The result has `size`. */
struct morsel_axis {
    uint32_t in, out;
    uint32_t first, visible, pad, size;
    uint32_t taps;  /* source pixels that one resized pixel depends on at most; 0: no resize; 1: the nearest */
    uint32_t reach; /* how far they lie from its centre: in / out, or 1, source pixels; in units of 1 / out of one */
    uint32_t back;  /* 1: of two that are as near, the one in front, as the result is counted from the far end on */
};

struct morsel_picture_plan {
    struct morsel_axis x, y;
    uint32_t groups;   /* of four taps of x */
    uint32_t channels; /* of the rows in between: 1 where rule or frame are gray, else 3, or 4 with what is not looked at */
    bool down_first;
    bool plain;              /* rows between are made of pixels as they lie in the frame */
    bool transposed;         /* columns of the frame are rows of the result */
    bool mirror_x, mirror_y; /* the result has x, y of the frame from the far end on */
    size_t column_words, ring_bytes, line_bytes, row_bytes;
    size_t scratch_bytes;
};

/* A frame with what is not set, all but its planes checked; and the plan for it. */
enum morsel_error morsel_frame_plan(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, struct morsel_frame *own,
                                    struct morsel_picture_plan *plan);

/* The region of a frame, all of it checked; planes begin with its first pixel, those of chroma with that pixel's. */
struct morsel_source {
    const uint8_t *planes[3];
    size_t strides[3];
    enum morsel_pixels pixels;
    enum morsel_colors colors;
    uint32_t odd_x, odd_y; /* 1: the first pixel is the second of its 2 x 2 */
};

/* What a pixel of each value and channel becomes, and where it goes; steps count elements, along the frame's own axes. */
struct morsel_sink {
    uint8_t *data;
    uint32_t element, channels;
    size_t first; /* where the first pixel of the frame's first row goes */
    ptrdiff_t step_y, step_x, step_c;
    uint8_t fill[3]; /* pixels beside the picture */
    bool swap;       /* the frame has red where the result has blue */
    const struct morsel_blob_picture *rule;
    uint8_t table[3][256]; /* of bytes; floats are computed */
};

/* NumPy's float32 (pixel * scale - mean) / std: each operation rounds. */
static inline float morsel_normalize(const struct morsel_blob_picture *rule, uint32_t channel, uint32_t pixel) {
    float value = (float)pixel * rule->scale;
    value = value - rule->mean[channel];
    value = value / rule->std[channel];
    return value;
}

/* All rows. `scratch` has the plan's size. */
void morsel_picture_rows(const struct morsel_picture_plan *plan, const struct morsel_source *source, const struct morsel_sink *sink,
                         void *scratch);

#endif
