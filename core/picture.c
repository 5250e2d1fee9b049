/* SPDX-License-Identifier: MIT */
/*
 * A frame becomes an input: region -> turned, mirrored -> RGB, or gray where the rule says so -> resize -> centre crop ->
 * (pixel * scale - mean) / std -> quantize.
 *
 * Resize is Pillow 13's, to the byte: one pass across and one down, each with weights of 22 bits and a result of 8. The pass across comes
 * first, except where the height shrinks by more than twice what the width shrinks by (`down_first`). An axis that keeps its size has
 * no pass. (Pillow before 13 always went across first: its bytes differ by one here and there on such pictures.) The other filters have
 * other weights in the same passes. A crop larger than the picture puts black pixels round it, the smaller half in front. A letterbox is a
 * crop as large as the box, of the picture as large as fits into it.
 *
 * Nothing is turned in memory: rows are made as they lie in the frame, and put where they belong. What is across and what is down is so
 * for the picture as it is turned: of a frame that lies on its side the passes change places. Weights are the same from both ends.
 *
 * Scratch, with C = 1 where rule or frame are gray, 3 where a pixel has three bytes and 4 otherwise, W = the region's width, V = the
 * columns inside the crop, taps(axis) = 0 where the size does not change, else min(in, ceil(2 * max(in, out) / out)), or with the
 * filters LINEAR and NEAREST min(in, 2) and 1; x and y are the frame's:
 *
 *     3                                           so that it may start anywhere
 *     4 * V * (2 + taps(x) up to a multiple of 4) where taps(x) > 0: the columns, with start, count and weights of each
 *     4 * taps(y)                                 weights of the row being made
 *     V * C * taps(y)                             across first: the ring
 *     W * C                                       where taps(x) > 0 and (down first, or rows are not pixels as they lie): a line before
 *                                                 it is resized
 *     V * C                                       the row being made
 */
#include "picture.h"

#include "answer.h"
#include "sized.h"
#include "../kernels/requant.h"

#include <string.h>

#define SIDE_MAX 32768u

/* --- Geometry ----------------------------------------------------------------------------------------------------- */

/* Weights are positive within an open interval of 2 reach / out source pixels: it holds at most its length rounded up.
 * Proven: tests/prove, picture_taps. */
static void plan_filter(struct morsel_axis *a, uint32_t filter) {
    a->back = 0;
    a->taps = filter == MORSEL_FILTER_NEAREST ? 1 : 2;
    a->reach = a->out;
    if (filter == MORSEL_FILTER_ANTIALIAS && a->in > a->out) {
        a->reach = a->in;
        a->taps = (2 * a->in + a->out - 1) / a->out;
    }
    if (a->taps > a->in) a->taps = a->in;
    if (a->in == a->out) a->taps = 0;
}

/* Half of the leftover lies in front of the crop; a half pixel goes to the even number, as Python's round() has it.
 * What is visible lies within the resized picture, and within the result. Proven: tests/prove, picture_axis and picture_inside. */
static void plan_axis(struct morsel_axis *a, uint32_t in, uint32_t out, uint32_t crop) {
    a->in = in;
    a->out = out;
    a->size = crop ? crop : out;
    a->first = a->pad = 0;
    if (a->size > out) {
        a->pad = (a->size - out) / 2;
    } else {
        uint32_t left = out - a->size, half = left / 2;
        a->first = half + (left % 2 && half % 2);
    }
    a->visible = a->size < out ? a->size : out;
}

/* From the far end on: what was in front is behind. */
static void mirror_axis(struct morsel_axis *a) {
    a->first = a->out - a->first - a->visible;
    a->pad = a->size - a->pad - a->visible;
    a->back = 1;
}

/* n / d, rounded to the nearest, ties to even, at least 1: as Python's round() has it. Proven: tests/prove, picture_share. */
static uint32_t rounded(uint32_t n, uint32_t d) {
    uint32_t whole = n / d, rest = n % d;
    whole += rest > d - rest || (rest == d - rest && whole % 2);
    return whole ? whole : 1;
}

static void resized_size(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height, uint32_t *out_width,
                         uint32_t *out_height) {
    uint32_t mode = morsel_resize_mode(rule);
    *out_width = width;
    *out_height = height;
    if (mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX) { /* products up to 2^30 */
        *out_width = rule->resize_width;
        *out_height = rule->resize_height;
        if (mode == MORSEL_RESIZE_EXACT) return;
        if (width * rule->resize_height > height * rule->resize_width) *out_height = rounded(height * rule->resize_width, width);
        else *out_width = rounded(width * rule->resize_height, height);
    } else if (mode == MORSEL_RESIZE_SHORT_SIDE) {
        *out_width = width <= height ? rule->resize_width : rule->resize_width * width / height;
        *out_height = width <= height ? rule->resize_width * height / width : rule->resize_width;
    }
}

/* Each side is at most 2^15, or 2^30 after SHORT_SIDE; taps <= 2^15: sums stay below 2^49. False where it is 2^31 bytes or more.
 * Proven: tests/prove, picture_sizes, picture_scratch and picture_regions. */
static bool plan_scratch(struct morsel_picture_plan *plan) {
    const struct morsel_axis *x = &plan->x, *y = &plan->y;
    uint32_t groups = (x->taps + 3) / 4;
    uint64_t words = x->taps ? (uint64_t)x->visible * (2 + 4 * groups) : 0;
    uint64_t row = (uint64_t)x->visible * plan->channels;
    uint64_t ring = plan->down_first ? 0 : row * y->taps;
    uint64_t line = x->taps && (!plan->plain || plan->down_first) ? (uint64_t)x->in * plan->channels : 0;
    uint64_t bytes = 3 + 4 * (words + y->taps) + ring + line + row;
    if (bytes > INT32_MAX) return false;
    plan->groups = groups;
    plan->column_words = (size_t)words;
    plan->ring_bytes = (size_t)ring;
    plan->line_bytes = (size_t)line;
    plan->row_bytes = (size_t)row;
    plan->scratch_bytes = (size_t)bytes;
    return true;
}

static bool rule_in_range(const struct morsel_blob_picture *rule) {
    if (morsel_resize_mode(rule) != MORSEL_RESIZE_NONE && (rule->resize_width - 1 >= SIDE_MAX || rule->resize_height - 1 >= SIDE_MAX))
        return false;
    return rule->crop_width <= SIDE_MAX && rule->crop_height <= SIDE_MAX;
}

/* The frame was checked. False where the rule and the frame do not go together within the limits. */
static bool plan_frame(struct morsel_picture_plan *plan, const struct morsel_blob_picture *rule, const struct morsel_frame *frame) {
    uint32_t width = frame->region_width, height = frame->region_height, out_width, out_height;
    if (!rule_in_range(rule)) return false;
    plan->transposed = frame->turn % 180 != 0;
    if (plan->transposed) {
        width = frame->region_height;
        height = frame->region_width;
    }
    resized_size(rule, width, height, &out_width, &out_height);
    struct morsel_axis *across = plan->transposed ? &plan->y : &plan->x, *down = plan->transposed ? &plan->x : &plan->y;
    bool boxed = morsel_resize_mode(rule) == MORSEL_RESIZE_LETTERBOX;
    plan_axis(across, width, out_width, boxed ? rule->resize_width : rule->crop_width);
    plan_axis(down, height, out_height, boxed ? rule->resize_height : rule->crop_height);
    if (boxed && rule->resize & MORSEL_RESIZE_CORNER) across->pad = down->pad = 0;
    plan_filter(across, morsel_resize_filter(rule));
    plan_filter(down, morsel_resize_filter(rule));
    bool mirror_across = (frame->turn == 90 || frame->turn == 180) != (frame->mirror != 0), mirror_down = frame->turn >= 180;
    if (mirror_across) mirror_axis(across);
    if (mirror_down) mirror_axis(down);
    plan->mirror_x = plan->transposed ? mirror_down : mirror_across;
    plan->mirror_y = plan->transposed ? mirror_across : mirror_down;
    bool both = across->taps && down->taps, tall = out_height < height && (int64_t)height - out_height > 2 * ((int64_t)width - out_width);
    plan->down_first = both && tall != plan->transposed;
    plan->channels = rule->channels == MORSEL_CHANNELS_GRAY || frame->pixels == MORSEL_GRAY ? 1 : frame->pixels <= MORSEL_BGR ? 3 : 4;
    plan->plain = frame->pixels == MORSEL_GRAY || (plan->channels > 1 && frame->pixels < MORSEL_NV12);
    return plan_scratch(plan);
}

/* --- Into the input --------------------------------------------------------------------------------------------------- */

/* ONNX QuantizeLinear; a rule's numbers may make a NaN, which counts as 0. */
static uint8_t quantize_byte(const struct morsel_view *view, float value) {
    int32_t low = (view->type == MORSEL_INT8 ? -128 : 0) - view->zero_point;
    float steps = value / view->scale;
    if (steps != steps) steps = 0.0f;
    return (uint8_t)(morsel_round(morsel_clamp(steps, (float)low, (float)(low + 255))) + view->zero_point);
}

static void fill_table(struct morsel_sink *sink, const struct morsel_blob_picture *rule, const struct morsel_view *view,
                       uint32_t channels) {
    sink->rule = rule;
    for (uint32_t c = 0; view->type != MORSEL_FLOAT32 && c < channels; c++)
        for (uint32_t pixel = 0; pixel < 256; pixel++) sink->table[c][pixel] = quantize_byte(view, morsel_normalize(rule, c, pixel));
}

/* Where the elements of an image go. A row-major view may hold the picture channel last too, where the graph states it that way. */
static bool find_place(struct morsel_sink *sink, uint32_t height, uint32_t width, const struct morsel_view *view, uint32_t image) {
    uint32_t channels = sink->channels;
    if (view->rank != 3 && view->rank != 4) return false;
    const uint32_t *dims = view->dims + (view->rank - 3);
    bool planes = dims[0] == channels && dims[1] == height && dims[2] == width;
    bool pixels = dims[0] == height && dims[1] == width && dims[2] == channels;
    if (view->layout == MORSEL_CHANNELS_LAST) planes = false;
    if ((!planes && !pixels) || view->type == MORSEL_INT32 || (unsigned)view->type > MORSEL_FLOAT32) return false;
    sink->element = view->type == MORSEL_FLOAT32 ? 4 : 1;
    /* height and width up to 2^30, then at most 2^32: no product wraps. Proven: tests/prove, picture_sink and
     * picture_elements. */
    uint64_t plane = (uint64_t)height * width, bytes = plane * channels * sink->element;
    uint32_t images = view->rank == 4 ? view->dims[0] : 1;
    if (plane > view->bytes || bytes > view->bytes || bytes * images > view->bytes) return false;
    sink->step_y = planes ? width : (ptrdiff_t)width * channels;
    sink->step_x = planes ? 1 : channels;
    sink->step_c = planes ? (ptrdiff_t)plane : 1;
    sink->data = (uint8_t *)view->data + (size_t)bytes * image;
    return true;
}

/* The steps of the result become those of the frame's own axes. Proven: tests/prove, picture_turned. */
static void turn_sink(struct morsel_sink *sink, const struct morsel_picture_plan *plan) {
    if (plan->transposed) {
        ptrdiff_t step = sink->step_x;
        sink->step_x = sink->step_y;
        sink->step_y = step;
    }
    sink->first = 0;
    if (plan->mirror_x) {
        sink->first += (size_t)(sink->step_x * (ptrdiff_t)(plan->x.size - 1));
        sink->step_x = -sink->step_x;
    }
    if (plan->mirror_y) {
        sink->first += (size_t)(sink->step_y * (ptrdiff_t)(plan->y.size - 1));
        sink->step_y = -sink->step_y;
    }
}

/* --- The frame ----------------------------------------------------------------------------------------------------------- */

/* Bytes of a pixel in the first plane; how many planes of chroma, and bytes of a pixel of those. */
static const struct {
    uint8_t bytes, planes, chroma;
} formats[] = {
    [MORSEL_RGB] = {3, 0, 0},  [MORSEL_BGR] = {3, 0, 0},  [MORSEL_RGBA] = {4, 0, 0}, [MORSEL_BGRA] = {4, 0, 0},
    [MORSEL_GRAY] = {1, 0, 0}, [MORSEL_NV12] = {1, 1, 2}, [MORSEL_NV21] = {1, 1, 2}, [MORSEL_I420] = {1, 2, 1},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Whether `rows` rows of `row` bytes lie in a plane's bytes. A stride of 0 stands for rows without gaps; no row may lie beyond the address
 * space. Proven: tests/prove, picture_rows. */
static enum morsel_error check_plane(size_t bytes, size_t row, uint32_t rows, size_t *stride) {
    if (!*stride) *stride = row;
    if (*stride < row || *stride > SIZE_MAX / rows) return MORSEL_ERR_ARGUMENT;
    return bytes < *stride * (rows - 1) + row ? MORSEL_ERR_CAPACITY : MORSEL_OK;
}

/* All but the planes. A region of nothing becomes the whole frame. */
static enum morsel_error check_frame(struct morsel_frame *own, const struct morsel_frame *frame) {
    if (!frame) return MORSEL_ERR_ARGUMENT;
    if (!morsel_copy_sized(own, sizeof *own, frame)) return MORSEL_ERR_OPTIONS;
    if ((unsigned)own->pixels >= FORMATS || (unsigned)own->colors > MORSEL_BT709_FULL || own->mirror > 1) return MORSEL_ERR_OPTIONS;
    if (own->turn > 270 || own->turn % 90) return MORSEL_ERR_OPTIONS;
    if (own->width - 1 >= SIDE_MAX || own->height - 1 >= SIDE_MAX) return MORSEL_ERR_ARGUMENT;
    if (own->left >= own->width || own->top >= own->height) return MORSEL_ERR_ARGUMENT;
    if (!own->region_width && !own->region_height) {
        own->region_width = own->width - own->left;
        own->region_height = own->height - own->top;
    }
    if (own->region_width - 1 >= own->width - own->left || own->region_height - 1 >= own->height - own->top) return MORSEL_ERR_ARGUMENT;
    return MORSEL_OK;
}

/* Chroma has a pixel for each 2 x 2, and for what is left of them at the edges. */
static enum morsel_error find_planes(struct morsel_source *source, const struct morsel_frame *frame) {
    source->pixels = frame->pixels;
    source->colors = frame->colors;
    source->odd_x = frame->left % 2;
    source->odd_y = frame->top % 2;
    for (uint32_t k = 0; k <= formats[frame->pixels].planes; k++) {
        uint32_t half = k != 0, step = k ? formats[frame->pixels].chroma : formats[frame->pixels].bytes;
        size_t stride = frame->planes[k].stride, row = (size_t)step * ((frame->width + half) >> half);
        if (!frame->planes[k].data) return MORSEL_ERR_ARGUMENT;
        enum morsel_error error = check_plane(frame->planes[k].bytes, row, (frame->height + half) >> half, &stride);
        if (error) return error;
        source->strides[k] = stride;
        source->planes[k] = frame->planes[k].data + (frame->top >> half) * stride + (size_t)(frame->left >> half) * step;
    }
    return MORSEL_OK;
}

enum morsel_error morsel_frame_plan(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, struct morsel_frame *own,
                                    struct morsel_picture_plan *plan) {
    enum morsel_error error = check_frame(own, frame);
    if (error) return error;
    return rule && plan_frame(plan, rule, own) ? MORSEL_OK : MORSEL_ERR_PICTURE;
}

size_t morsel_rule_frame_bytes(const struct morsel_blob_picture *rule, const struct morsel_frame *frame) {
    struct morsel_picture_plan plan;
    struct morsel_frame own;
    return morsel_frame_plan(rule, frame, &own, &plan) == MORSEL_OK ? plan.scratch_bytes : 0;
}

enum morsel_error morsel_frame_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, void *scratch,
                                       size_t scratch_bytes, const struct morsel_view *view, uint32_t image) {
    struct morsel_picture_plan plan;
    struct morsel_source source;
    struct morsel_sink sink;
    struct morsel_frame own;
    if (!scratch || !view || !view->data) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = check_frame(&own, frame);
    if (!error) error = find_planes(&source, &own);
    if (error) return error;
    if (image >= (view->rank == 4 ? view->dims[0] : 1)) return MORSEL_ERR_ARGUMENT;
    if (!rule || !plan_frame(&plan, rule, &own)) return MORSEL_ERR_PICTURE;
    sink.channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    sink.swap = (own.pixels == MORSEL_BGR || own.pixels == MORSEL_BGRA) != (rule->channels == MORSEL_CHANNELS_BGR);
    const struct morsel_axis *across = plan.transposed ? &plan.y : &plan.x, *down = plan.transposed ? &plan.x : &plan.y;
    bool boxed = morsel_resize_mode(rule) == MORSEL_RESIZE_LETTERBOX;
    for (uint32_t c = 0; c < 3; c++) sink.fill[c] = (uint8_t)(boxed ? morsel_resize_fill(rule, c) : 0);
    if (!find_place(&sink, down->size, across->size, view, image)) return MORSEL_ERR_PICTURE;
    if (scratch_bytes < plan.scratch_bytes) return MORSEL_ERR_SCRATCH;

    fill_table(&sink, rule, view, sink.channels);
    turn_sink(&sink, &plan);
    morsel_picture_rows(&plan, &source, &sink, scratch);
    return MORSEL_OK;
}

/* --- Back to the frame -------------------------------------------------------------------------------------------------- */

/* A place on a side of the result, counted from where the frame's side begins, becomes one on the frame's. */
static float place_back(const struct morsel_axis *a, bool mirrored, uint32_t start, float at) {
    if (mirrored) at = (float)a->size - at;
    return (at - (float)a->pad + (float)a->first) * (float)a->in / (float)a->out + (float)start;
}

enum morsel_error morsel_points_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, float *points,
                                        size_t count) {
    struct morsel_picture_plan plan;
    struct morsel_frame own;
    if (!points) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_frame_plan(rule, frame, &own, &plan);
    if (error) return error;
    for (; count; count--, points += 2) {
        float x = points[plan.transposed], y = points[!plan.transposed];
        points[0] = place_back(&plan.x, plan.mirror_x, own.left, x);
        points[1] = place_back(&plan.y, plan.mirror_y, own.top, y);
    }
    return MORSEL_OK;
}

/* --- By the rule of a model ---------------------------------------------------------------------------------------------- */

size_t morsel_frame_bytes(const struct morsel_model *model, const struct morsel_frame *frame) {
    return morsel_rule_frame_bytes(morsel_picture_rule(model), frame);
}

enum morsel_error morsel_frame(const struct morsel_model *model, const struct morsel_frame *frame, void *scratch, size_t scratch_bytes,
                               const struct morsel_view *view, uint32_t image) {
    if (!model) return MORSEL_ERR_ARGUMENT;
    return morsel_frame_by_rule(morsel_picture_rule(model), frame, scratch, scratch_bytes, view, image);
}

enum morsel_error morsel_frame_points(const struct morsel_model *model, const struct morsel_frame *frame, float *points, size_t count) {
    if (!model) return MORSEL_ERR_ARGUMENT;
    return morsel_points_by_rule(morsel_picture_rule(model), frame, points, count);
}

/* A picture is the simplest frame. */
static struct morsel_frame frame_of(const uint8_t *rgb, size_t rgb_bytes, uint32_t width, uint32_t height, size_t stride) {
    struct morsel_frame frame = {.size = sizeof frame, .width = width, .height = height, .planes = {{rgb, rgb_bytes, stride}}};
    return frame;
}

size_t morsel_rule_bytes(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height) {
    struct morsel_frame frame = frame_of(NULL, 0, width, height, 0);
    return morsel_rule_frame_bytes(rule, &frame);
}

enum morsel_error morsel_picture_by_rule(const struct morsel_blob_picture *rule, const uint8_t *rgb, size_t rgb_bytes, uint32_t width,
                                         uint32_t height, size_t stride, void *scratch, size_t scratch_bytes,
                                         const struct morsel_view *view, uint32_t image) {
    struct morsel_frame frame = frame_of(rgb, rgb_bytes, width, height, stride);
    return morsel_frame_by_rule(rule, &frame, scratch, scratch_bytes, view, image);
}

size_t morsel_picture_bytes(const struct morsel_model *model, uint32_t width, uint32_t height) {
    return morsel_rule_bytes(morsel_picture_rule(model), width, height);
}

enum morsel_error morsel_picture(const struct morsel_model *model, const uint8_t *rgb, size_t rgb_bytes, uint32_t width, uint32_t height,
                                 size_t stride, void *scratch, size_t scratch_bytes, const struct morsel_view *view, uint32_t image) {
    struct morsel_frame frame = frame_of(rgb, rgb_bytes, width, height, stride);
    return morsel_frame(model, &frame, scratch, scratch_bytes, view, image);
}
