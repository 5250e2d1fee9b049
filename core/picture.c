/* SPDX-License-Identifier: MIT */
/*
 * A picture becomes an input: gray (where the rule says so) -> resize -> centre crop -> (pixel * scale - mean) / std -> quantize.
 *
 * Resize is Pillow 13's, to the byte: one pass across and one down, each with weights of 22 bits and a result of 8. The pass across comes
 * first, except where the height shrinks by more than twice what the width shrinks by (`down_first`). An axis that keeps its size has
 * no pass. (Pillow before 13 always went across first: its bytes differ by one here and there on such pictures.)
 *
 * The picture streams through, row by row. Across first: source rows are resized as result rows ask for them, and kept in a ring as high
 * as the tallest window. Down first: the source rows themselves are blended into one line. Only what lands inside the crop is
 * computed. A crop larger than the picture puts black pixels round it, the smaller half in front.
 *
 * Scratch, with C = 1 for gray and 3 otherwise, W = the picture's width, V = the columns inside the crop, taps(axis) = 0 where the size
 * does not change, else min(in, ceil(2 * max(in, out) / out)):
 *
 *     3                                           so that it may start anywhere
 *     4 * V * (2 + taps(x))                       where taps(x) > 0: the columns, with start, count and weights of each
 *     4 * taps(y)                                 weights of the row being made
 *     V * C * taps(y)                             across first: the ring
 *     W * C                                       where taps(x) > 0 and (gray or down first): a line before it is resized
 *     V * C                                       the row being made
 */
#include "picture.h"

#include "blob.h"
#include "../kernels/requant.h"

#include <stdbool.h>
#include <string.h>

#define SIDE_MAX 32768u
#define WEIGHT_BITS 22
#define WEIGHT_HALF (1 << (WEIGHT_BITS - 1))
#define CHUNK 64u /* bytes of a row that are summed at once, on the stack */

/* One direction: `in` source pixels, `out` of them after the resize, of which `visible` from `first` on stand in the result behind `pad`
 * black ones. The result has `size`. */
struct axis {
    uint32_t in, out;
    uint32_t first, visible, pad, size;
    uint32_t taps; /* source pixels that one resized pixel depends on at most; 0: no resize */
};

struct plan {
    struct axis x, y;
    uint32_t channels;
    bool down_first;
    size_t column_words, ring_bytes, line_bytes, row_bytes;
    size_t scratch_bytes;
};

struct job {
    const struct plan *plan;
    const uint8_t *rgb;
    size_t stride;
    uint32_t *columns;    /* [visible][2 + taps]: first source pixel, how many, their weights */
    int32_t *row_weights; /* [taps of y] */
    uint8_t *ring;        /* source row r, resized across, lies in slot r % taps */
    uint8_t *line;        /* a row of the picture in gray, or blended from several: [width][channels] */
    uint8_t *row;         /* the row being made: [visible][channels] */
    uint32_t top, ready;  /* first source row of the window; rows before `ready` have gone into the ring */
};

/* What a pixel of each value and channel becomes, and where it goes; steps count elements. */
struct sink {
    uint8_t *data;
    uint32_t element;
    size_t step_y, step_x, step_c;
    union {
        uint8_t bytes[3][256];
        float floats[3][256];
    } table;
};

/* --- Geometry ----------------------------------------------------------------------------------------------------- */

/* Half of the leftover lies in front of the crop; a half pixel goes to the even number, as Python's round() has it.
 * What is visible lies within the resized picture, and within the result. Proven: tests/prove, picture_axis and picture_inside. */
static void plan_axis(struct axis *a, uint32_t in, uint32_t out, uint32_t crop) {
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
    a->taps = 0;
    if (in != out) {
        /* Weights are positive within an open interval of 2 max(in, out) / out source pixels: it holds at most its length rounded up.
         * Proven: tests/prove, picture_taps. */
        uint32_t taps = in < out ? 2 : (2 * in + out - 1) / out;
        a->taps = taps < in ? taps : in;
    }
}

/* in = 1 .. 2^15 and out = 1 .. 2^30 keep every product here below 2^47. Proven: tests/prove, picture_products.
 * The triangle filter, antialiased, in whole numbers: with f = max(in, out), source pixel x weighs 2f - |(2x + 1) out - (2i + 1) in| in
 * resized pixel i. Negative: it does not count. */
static int64_t tap_weight(const struct axis *a, uint32_t i, uint32_t x) {
    int64_t widest = a->in > a->out ? a->in : a->out;
    int64_t distance = (int64_t)(2 * x + 1) * a->out - (2 * (int64_t)i + 1) * a->in;
    return 2 * widest - (distance < 0 ? -distance : distance);
}

/* How many source pixels resized pixel i depends on, and the sum of what they weigh. *first moves on from the window of the pixel before:
 * windows only move forward. The centre of i lies in the picture, so at least one weight is positive.
 * Proven: tests/prove, picture_forward, picture_centre and picture_window. */
static uint32_t find_window(const struct axis *a, uint32_t i, uint32_t *first, int64_t *total) {
    uint32_t x = *first, n = 0;
    int64_t sum = 0;
    while (tap_weight(a, i, x) <= 0) x++;
    for (; n < a->taps && x + n < a->in && tap_weight(a, i, x + n) > 0; n++) sum += tap_weight(a, i, x + n);
    *first = x;
    *total = sum;
    return n;
}

/* The weights of resized pixel i, with WEIGHT_BITS after the point; returns how many.
 * A double holds the quotient of these numbers so closely that rounding it gives the same on every machine, excess precision or not. */
static uint32_t axis_weights(const struct axis *a, uint32_t i, uint32_t *first, int32_t *weights) {
    int64_t sum;
    uint32_t n = find_window(a, i, first, &sum);
    for (uint32_t k = 0; k < n; k++) weights[k] = (int32_t)((double)tap_weight(a, i, *first + k) / (double)sum * (1 << WEIGHT_BITS) + 0.5);
    return n;
}

static void resized_size(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height, uint32_t *out_width,
                         uint32_t *out_height) {
    *out_width = width;
    *out_height = height;
    if (rule->resize == MORSEL_RESIZE_EXACT) {
        *out_width = rule->resize_width;
        *out_height = rule->resize_height;
    } else if (rule->resize == MORSEL_RESIZE_SHORT_SIDE) { /* products up to 2^30 */
        *out_width = width <= height ? rule->resize_width : rule->resize_width * width / height;
        *out_height = width <= height ? rule->resize_width * height / width : rule->resize_width;
    }
}

/* Each side is at most 2^15, or 2^30 after SHORT_SIDE; taps <= 2^15: sums stay below 2^49. False where it is 2^31 bytes or more.
 * Proven: tests/prove, picture_sizes, picture_scratch and picture_regions. */
static bool plan_scratch(struct plan *plan) {
    const struct axis *x = &plan->x, *y = &plan->y;
    uint64_t words = x->taps ? (uint64_t)x->visible * (2 + x->taps) : 0;
    uint64_t row = (uint64_t)x->visible * plan->channels;
    uint64_t ring = plan->down_first ? 0 : row * y->taps;
    uint64_t line = x->taps && (plan->channels == 1 || plan->down_first) ? (uint64_t)x->in * plan->channels : 0;
    uint64_t bytes = 3 + 4 * (words + y->taps) + ring + line + row;
    if (bytes > INT32_MAX) return false;
    plan->column_words = (size_t)words;
    plan->ring_bytes = (size_t)ring;
    plan->line_bytes = (size_t)line;
    plan->row_bytes = (size_t)row;
    plan->scratch_bytes = (size_t)bytes;
    return true;
}

/* False where the rule and the picture do not go together within the limits. */
static bool plan_picture(struct plan *plan, const struct morsel_blob_picture *rule, uint32_t width, uint32_t height) {
    uint32_t out_width, out_height;
    if (width - 1 >= SIDE_MAX || height - 1 >= SIDE_MAX) return false;
    if (rule->resize != MORSEL_RESIZE_NONE && (rule->resize_width - 1 >= SIDE_MAX || rule->resize_height - 1 >= SIDE_MAX)) return false;
    if (rule->crop_width > SIDE_MAX || rule->crop_height > SIDE_MAX) return false;
    resized_size(rule, width, height, &out_width, &out_height);
    plan_axis(&plan->x, width, out_width, rule->crop_width);
    plan_axis(&plan->y, height, out_height, rule->crop_height);
    plan->channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    plan->down_first =
        plan->x.taps && plan->y.taps && out_height < height && (int64_t)height - out_height > 2 * ((int64_t)width - out_width);
    return plan_scratch(plan);
}

/* --- Resize --------------------------------------------------------------------------------------------------------- */

static uint8_t luma(const uint8_t *rgb) {
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768u) >> 16);
}

/* Each weight is off by half a unit at most, so a sum is below 255 * (2^22 + 2^15 / 2) + 2^21 < 2^31. Weights are never negative.
 * Proven: tests/prove, picture_sum and picture_luma. */
static uint8_t to_pixel(int32_t sum) {
    int32_t pixel = sum >> WEIGHT_BITS;
    return (uint8_t)(pixel > 255 ? 255 : pixel);
}

static void make_columns(const struct job *job) {
    const struct axis *x = &job->plan->x;
    uint32_t first = 0;
    for (uint32_t i = 0; i < x->visible; i++) {
        uint32_t *column = job->columns + (size_t)i * (2 + x->taps);
        column[1] = axis_weights(x, x->first + i, &first, (int32_t *)column + 2);
        column[0] = first;
    }
}

/* `line` holds the picture's pixels of one row, three bytes each. */
static void resize_across_rgb(const struct job *job, const uint8_t *line, uint8_t *row) {
    const uint32_t *column = job->columns;
    for (uint32_t i = 0; i < job->plan->x.visible; i++, column += 2 + job->plan->x.taps) {
        const uint8_t *pixel = line + (size_t)3 * column[0];
        const int32_t *weights = (const int32_t *)column + 2;
        int32_t red = WEIGHT_HALF, green = WEIGHT_HALF, blue = WEIGHT_HALF;
        for (uint32_t k = 0; k < column[1]; k++, pixel += 3) {
            red += weights[k] * pixel[0];
            green += weights[k] * pixel[1];
            blue += weights[k] * pixel[2];
        }
        *row++ = to_pixel(red);
        *row++ = to_pixel(green);
        *row++ = to_pixel(blue);
    }
}

static void resize_across_gray(const struct job *job, const uint8_t *line, uint8_t *row) {
    const uint32_t *column = job->columns;
    for (uint32_t i = 0; i < job->plan->x.visible; i++, column += 2 + job->plan->x.taps) {
        const uint8_t *pixel = line + column[0];
        const int32_t *weights = (const int32_t *)column + 2;
        int32_t gray = WEIGHT_HALF;
        for (uint32_t k = 0; k < column[1]; k++) gray += weights[k] * pixel[k];
        *row++ = to_pixel(gray);
    }
}

static void resize_across(const struct job *job, const uint8_t *line, uint8_t *row) {
    if (job->plan->channels == 3) resize_across_rgb(job, line, row);
    else resize_across_gray(job, line, row);
}

static void to_gray(const uint8_t *rgb, size_t pixels, uint8_t *gray) {
    for (size_t i = 0; i < pixels; i++) gray[i] = luma(rgb + 3 * i);
}

/* The source pixels that the columns inside the crop depend on. */
static void needed_columns(const struct job *job, size_t *first, size_t *end) {
    const struct axis *x = &job->plan->x;
    const uint32_t *last = job->columns + (size_t)(x->visible - 1) * (2 + x->taps);
    *first = job->columns[0];
    *end = (size_t)last[0] + last[1];
}

/* Source row y, the columns inside the crop, resized across. */
static void take_row(const struct job *job, uint32_t y, uint8_t *row) {
    const struct plan *plan = job->plan;
    const uint8_t *source = job->rgb + y * job->stride;
    if (plan->x.taps && plan->channels == 1) {
        size_t first, end;
        needed_columns(job, &first, &end);
        to_gray(source + 3 * first, end - first, job->line + first);
        resize_across(job, job->line, row);
    } else if (plan->x.taps) {
        resize_across(job, source, row);
    } else if (plan->channels == 1) {
        to_gray(source + (size_t)3 * plan->x.first, plan->row_bytes, row);
    } else {
        memcpy(row, source + (size_t)3 * plan->x.first, plan->row_bytes);
    }
}

static uint8_t *ring_row(const struct job *job, uint32_t y) {
    return job->ring + y % job->plan->y.taps * job->plan->row_bytes;
}

/* n bytes from `start` on of a row that is to be blended: of the ring, or of the picture itself. */
static const uint8_t *row_part(const struct job *job, uint32_t y, size_t start, size_t n, uint8_t *gray) {
    if (!job->plan->down_first) return ring_row(job, y) + start;
    const uint8_t *source = job->rgb + y * job->stride;
    if (job->plan->channels == 3) return source + start;
    to_gray(source + 3 * start, n, gray);
    return gray;
}

/* The pass down: bytes first .. end - 1 of `count` rows from job->top on into `out`. */
static void blend_rows(const struct job *job, uint32_t count, size_t first, size_t end, uint8_t *out) {
    uint8_t gray[CHUNK];
    int32_t sums[CHUNK];
    for (size_t start = first; start < end; start += CHUNK) {
        size_t n = end - start < CHUNK ? end - start : CHUNK;
        for (size_t i = 0; i < n; i++) sums[i] = WEIGHT_HALF;
        for (uint32_t k = 0; k < count; k++) {
            const uint8_t *part = row_part(job, job->top + k, start, n, gray);
            for (size_t i = 0; i < n; i++) sums[i] += job->row_weights[k] * part[i];
        }
        for (size_t i = 0; i < n; i++) out[start + i] = to_pixel(sums[i]);
    }
}

/* Resized row i into job->row. Rows are asked for in order; a window is never taller than the ring. Proven: tests/prove, picture_window
 * and picture_ring. */
static void make_row(struct job *job, uint32_t i) {
    const struct plan *plan = job->plan;
    if (!plan->y.taps) {
        take_row(job, i, job->row);
        return;
    }
    uint32_t count = axis_weights(&plan->y, i, &job->top, job->row_weights);
    if (plan->down_first) {
        size_t first, end;
        needed_columns(job, &first, &end);
        blend_rows(job, count, first * plan->channels, end * plan->channels, job->line);
        resize_across(job, job->line, job->row);
        return;
    }
    if (job->ready < job->top) job->ready = job->top;
    for (; job->ready < job->top + count; job->ready++) take_row(job, job->ready, ring_row(job, job->ready));
    blend_rows(job, count, 0, plan->row_bytes, job->row);
}

/* --- Into the input --------------------------------------------------------------------------------------------------- */

/* NumPy's float32 (pixel * scale - mean) / std: each operation rounds. */
static float normalize(const struct morsel_blob_picture *rule, uint32_t channel, uint32_t pixel) {
    float value = (float)pixel * rule->scale;
    value = value - rule->mean[channel];
    value = value / rule->std[channel];
    return value;
}

/* ONNX QuantizeLinear, as morsel_quantize() does it. */
static uint8_t quantize_byte(const struct morsel_view *view, float value) {
    int32_t low = (view->type == MORSEL_INT8 ? -128 : 0) - view->zero_point;
    float steps = value / view->scale;
    if (steps != steps) steps = 0.0f;
    return (uint8_t)(morsel_round(morsel_clamp(steps, (float)low, (float)(low + 255))) + view->zero_point);
}

static void fill_table(struct sink *sink, const struct morsel_blob_picture *rule, const struct morsel_view *view, uint32_t channels) {
    for (uint32_t c = 0; c < channels; c++)
        for (uint32_t pixel = 0; pixel < 256; pixel++) {
            float value = normalize(rule, c, pixel);
            if (view->type == MORSEL_FLOAT32) sink->table.floats[c][pixel] = value;
            else sink->table.bytes[c][pixel] = quantize_byte(view, value);
        }
}

/* Where the elements of an image go. A row-major view may hold the picture channel last too, where the graph states it that way. */
static bool find_place(struct sink *sink, const struct plan *plan, const struct morsel_view *view, uint32_t image) {
    uint32_t height = plan->y.size, width = plan->x.size, channels = plan->channels;
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
    sink->step_y = planes ? width : (size_t)width * channels;
    sink->step_x = planes ? 1 : channels;
    sink->step_c = planes ? (size_t)plane : 1;
    sink->data = (uint8_t *)view->data + (size_t)bytes * image;
    return true;
}

static void put_pixel(const struct sink *sink, size_t at, uint32_t channel, uint8_t pixel) {
    if (sink->element == 1) sink->data[at] = sink->table.bytes[channel][pixel];
    else memcpy(sink->data + 4 * at, &sink->table.floats[channel][pixel], 4);
}

/* Row y of the result: the row that was made between black ends, or all black. */
static void put_row(const struct sink *sink, const struct plan *plan, uint32_t y, const uint8_t *row, bool blue_first) {
    const struct axis *x = &plan->x;
    for (uint32_t c = 0; c < plan->channels; c++) {
        const uint8_t *source = row ? row + (blue_first ? 2 - c : c) : NULL;
        size_t at = y * sink->step_y + c * sink->step_c;
        for (uint32_t i = 0; i < x->size; i++, at += sink->step_x) {
            bool inside = source && i - x->pad < x->visible;
            put_pixel(sink, at, c, inside ? source[(size_t)(i - x->pad) * plan->channels] : 0);
        }
    }
}

static void start_job(struct job *job, const struct plan *plan, const uint8_t *rgb, size_t stride, void *scratch) {
    size_t gap = (4 - ((uintptr_t)scratch & 3)) & 3;
    job->plan = plan;
    job->rgb = rgb;
    job->stride = stride;
    job->columns = (uint32_t *)(void *)((uint8_t *)scratch + gap);
    job->row_weights = (int32_t *)(job->columns + plan->column_words);
    job->ring = (uint8_t *)(job->row_weights + plan->y.taps);
    job->line = job->ring + plan->ring_bytes;
    job->row = job->line + plan->line_bytes;
    job->top = job->ready = 0;
    if (plan->x.taps) make_columns(job);
}

/* NULL where the model is not open or has no rule. */
static const struct morsel_blob_picture *model_picture(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED || !morsel_blob_header(model)->picture.count) return NULL;
    return (const struct morsel_blob_picture *)morsel_blob_at(model, morsel_blob_header(model)->picture.offset);
}

size_t morsel_picture_bytes(const struct morsel_model *model, uint32_t width, uint32_t height) {
    return morsel_rule_bytes(model_picture(model), width, height);
}

enum morsel_error morsel_picture(const struct morsel_model *model, const uint8_t *rgb, size_t rgb_bytes, uint32_t width, uint32_t height,
                                 size_t stride, void *scratch, size_t scratch_bytes, const struct morsel_view *view, uint32_t image) {
    if (!model) return MORSEL_ERR_ARGUMENT;
    return morsel_picture_by_rule(model_picture(model), rgb, rgb_bytes, width, height, stride, scratch, scratch_bytes, view, image);
}

size_t morsel_rule_bytes(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height) {
    struct plan plan;
    return rule && plan_picture(&plan, rule, width, height) ? plan.scratch_bytes : 0;
}

/* Whether the rows lie in rgb_bytes. A stride of 0 stands for rows without gaps; no row may lie beyond the address space.
 * Proven: tests/prove, picture_rows. */
static enum morsel_error check_rows(size_t rgb_bytes, uint32_t width, uint32_t height, size_t *stride) {
    if (width - 1 >= SIDE_MAX || height - 1 >= SIDE_MAX) return MORSEL_ERR_ARGUMENT;
    size_t row = (size_t)3 * width;
    if (!*stride) *stride = row;
    if (*stride < row || *stride > SIZE_MAX / height) return MORSEL_ERR_ARGUMENT;
    return rgb_bytes < *stride * (height - 1) + row ? MORSEL_ERR_CAPACITY : MORSEL_OK;
}

enum morsel_error morsel_picture_by_rule(const struct morsel_blob_picture *rule, const uint8_t *rgb, size_t rgb_bytes, uint32_t width,
                                         uint32_t height, size_t stride, void *scratch, size_t scratch_bytes,
                                         const struct morsel_view *view, uint32_t image) {
    struct plan plan;
    struct sink sink;
    struct job job;
    if (!rgb || !scratch || !view || !view->data) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = check_rows(rgb_bytes, width, height, &stride);
    if (error) return error;
    if (image >= (view->rank == 4 ? view->dims[0] : 1)) return MORSEL_ERR_ARGUMENT;
    if (!rule || !plan_picture(&plan, rule, width, height) || !find_place(&sink, &plan, view, image)) return MORSEL_ERR_PICTURE;
    if (scratch_bytes < plan.scratch_bytes) return MORSEL_ERR_SCRATCH;

    fill_table(&sink, rule, view, plan.channels);
    start_job(&job, &plan, rgb, stride, scratch);
    for (uint32_t y = 0; y < plan.y.size; y++) {
        bool inside = y - plan.y.pad < plan.y.visible;
        if (inside) make_row(&job, plan.y.first + y - plan.y.pad);
        put_row(&sink, &plan, y, inside ? job.row : NULL, rule->channels == MORSEL_CHANNELS_BGR);
    }
    return MORSEL_OK;
}
