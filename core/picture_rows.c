/* SPDX-License-Identifier: MIT */
/*
 * The rows of a frame on their way into an input, by the plan of picture.c. The frame streams through, row by row, each resized across and
 * down in the plan's order. Across first: source rows are resized as resized rows ask for them, and kept in a ring as high as the tallest
 * window. Down first: the source rows themselves are blended into one line. Only what lands inside the crop is computed.
 */
#include "picture.h"

#include <string.h>

#define WEIGHT_BITS 22
#define WEIGHT_HALF (1 << (WEIGHT_BITS - 1))
#define CHUNK 63u /* bytes of a row that are summed at once, on the stack: whole pixels */
#define COLOR_BITS 13

struct job {
    const struct morsel_picture_plan *plan;
    const struct morsel_source *source;
    uint32_t *columns;    /* [visible][2 + taps]: first source pixel, how many, their weights */
    int32_t *row_weights; /* [taps of y] */
    uint8_t *ring;        /* source row r, resized across, lies in slot r % taps */
    uint8_t *line;        /* a row of the frame, in gray or as its pixels were made, or blended from several: [width][channels] */
    uint8_t *row;         /* the row being made: [visible][channels] */
    uint32_t top, ready;  /* first source row of the window; rows before `ready` have gone into the ring */
};

/* --- Pixels of the frame -------------------------------------------------------------------------------------------- */

/* In units of 2^-13: what Y, V and U add to red, green, blue. Sums stay below 2^23. Each is off by half a unit at most: by the largest
 * Y, U and V the sum is within 0.03 of real numbers, and the pixel, rounded, within 0.53. */
struct color {
    int16_t black, y, red_v, green_v, green_u, blue_u;
};
static const struct color colors[] = {
    [MORSEL_BT601] = {16, 9539, 13075, -6660, -3209, 16525},
    [MORSEL_BT601_FULL] = {0, 8192, 11485, -5850, -2819, 14516},
    [MORSEL_BT709] = {16, 9539, 14686, -4366, -1747, 17305},
    [MORSEL_BT709_FULL] = {0, 8192, 12901, -3835, -1535, 15201},
};

static uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
    return (uint8_t)((red * 19595u + green * 38470u + blue * 7471u + 32768u) >> 16);
}

static uint8_t to_color(int32_t sum) {
    int32_t value = (sum + (1 << (COLOR_BITS - 1))) >> COLOR_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Row y of a frame of Y and chroma, pixels x .. x + n - 1, in RGB or in gray. */
static void take_yuv(const struct morsel_source *s, uint32_t y, uint32_t x, uint32_t n, uint32_t channels, uint8_t *out) {
    const struct color *c = &colors[s->colors];
    const uint8_t *luminance = s->planes[0] + y * s->strides[0] + x;
    size_t row = (y + s->odd_y) / 2, step = s->pixels == MORSEL_I420 ? 1 : 2;
    const uint8_t *u = s->planes[1] + row * s->strides[1], *v = step == 1 ? s->planes[2] + row * s->strides[2] : u + 1;
    if (s->pixels == MORSEL_NV21) v = u++;
    for (uint32_t i = 0; i < n; i++, out += channels) {
        size_t at = (x + i + s->odd_x) / 2 * step;
        int32_t bright = (luminance[i] - c->black) * c->y, blue = u[at] - 128, red = v[at] - 128;
        uint8_t r = to_color(bright + c->red_v * red), g = to_color(bright + c->green_v * red + c->green_u * blue),
                b = to_color(bright + c->blue_u * blue);
        if (channels == 1) {
            *out = luma(r, g, b);
            continue;
        }
        out[0] = r;
        out[1] = g;
        out[2] = b;
    }
}

/* `pixel` has red, green, blue in the frame's order, and perhaps alpha; they stay in that order. */
static void take_packed(const struct morsel_source *s, uint32_t y, uint32_t x, uint32_t n, uint32_t channels, uint8_t *out) {
    size_t step = s->pixels == MORSEL_RGBA || s->pixels == MORSEL_BGRA ? 4 : 3,
           red = s->pixels == MORSEL_BGR || s->pixels == MORSEL_BGRA ? 2 : 0;
    const uint8_t *pixel = s->planes[0] + y * s->strides[0] + step * x;
    if (channels == 1) {
        for (uint32_t i = 0; i < n; i++, pixel += step) out[i] = luma(pixel[red], pixel[1], pixel[2 - red]);
    } else {
        for (uint32_t i = 0; i < n; i++, pixel += step, out += 3) out[0] = pixel[0], out[1] = pixel[1], out[2] = pixel[2];
    }
}

/* Row y, pixels x .. x + n - 1: where they lie, or `room` for n of them, in which they are made. */
static const uint8_t *take_pixels(const struct job *job, uint32_t y, uint32_t x, uint32_t n, uint8_t *room) {
    const struct morsel_source *s = job->source;
    if (job->plan->plain) return s->planes[0] + y * s->strides[0] + (size_t)x * job->plan->channels;
    if (s->pixels >= MORSEL_NV12) take_yuv(s, y, x, n, job->plan->channels, room);
    else take_packed(s, y, x, n, job->plan->channels, room);
    return room;
}

/* --- Resize --------------------------------------------------------------------------------------------------------- */

/* in = 1 .. 2^15 and out = 1 .. 2^30 keep every product here below 2^47. Proven: tests/prove, picture_products.
 * The triangle filter in whole numbers: source pixel x weighs 2 reach - |(2x + 1) out - (2i + 1) in| in resized pixel i. Negative: it does
 * not count. Antialiased, reach = max(in, out); between two pixels it is `out`. */
static int64_t tap_weight(const struct morsel_axis *a, uint32_t i, uint32_t x) {
    int64_t distance = (int64_t)(2 * x + 1) * a->out - (2 * (int64_t)i + 1) * a->in;
    return 2 * (int64_t)a->reach - (distance < 0 ? -distance : distance);
}

/* The source pixel that the centre of i lies in. Proven: tests/prove, picture_nearest. */
static uint32_t nearest(const struct morsel_axis *a, uint32_t i) {
    return (uint32_t)(((2 * (uint64_t)i + 1) * a->in - a->back) / (2 * (uint64_t)a->out));
}

/* How many source pixels resized pixel i depends on, and the sum of what they weigh. *first moves on from the window of the pixel before:
 * windows only move forward. The centre of i lies in the picture, so at least one weight is positive.
 * Proven: tests/prove, picture_forward, picture_centre and picture_window. */
static uint32_t find_window(const struct morsel_axis *a, uint32_t i, uint32_t *first, int64_t *total) {
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
static uint32_t axis_weights(const struct morsel_axis *a, uint32_t i, uint32_t *first, int32_t *weights) {
    int64_t sum;
    if (a->taps == 1) {
        *first = nearest(a, i);
        *weights = 1 << WEIGHT_BITS;
        return 1;
    }
    uint32_t n = find_window(a, i, first, &sum);
    for (uint32_t k = 0; k < n; k++) weights[k] = (int32_t)((double)tap_weight(a, i, *first + k) / (double)sum * (1 << WEIGHT_BITS) + 0.5);
    return n;
}

/* Each weight is off by half a unit at most, so a sum is below 255 * (2^22 + 2^15 / 2) + 2^21 < 2^31. Weights are never negative.
 * Proven: tests/prove, picture_sum and picture_luma. */
static uint8_t to_pixel(int32_t sum) {
    int32_t pixel = sum >> WEIGHT_BITS;
    return (uint8_t)(pixel > 255 ? 255 : pixel);
}

static void make_columns(const struct job *job) {
    const struct morsel_axis *x = &job->plan->x;
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

/* The source pixels that the columns inside the crop depend on. */
static void needed_columns(const struct job *job, uint32_t *first, uint32_t *end) {
    const struct morsel_axis *x = &job->plan->x;
    *first = x->first;
    *end = x->first + x->visible;
    if (!x->taps) return;
    const uint32_t *last = job->columns + (size_t)(x->visible - 1) * (2 + x->taps);
    *first = job->columns[0];
    *end = last[0] + last[1];
}

/* Source row y, the columns inside the crop, resized across. */
static void take_row(const struct job *job, uint32_t y, uint8_t *row) {
    const struct morsel_picture_plan *plan = job->plan;
    uint32_t first, end;
    needed_columns(job, &first, &end);
    size_t skipped = plan->x.taps ? (size_t)first * plan->channels : 0;
    const uint8_t *pixels = take_pixels(job, y, first, end - first, plan->x.taps ? job->line + skipped : row);
    if (plan->x.taps) resize_across(job, pixels - skipped, row);
    else if (plan->plain) memcpy(row, pixels, plan->row_bytes);
}

static uint8_t *ring_row(const struct job *job, uint32_t y) {
    return job->ring + y % job->plan->y.taps * job->plan->row_bytes;
}

/* The pass down: pixels first .. end - 1 of `count` rows from job->top on into `out`. They are of the ring, or of the frame itself. */
static void blend_rows(const struct job *job, uint32_t count, uint32_t first, uint32_t end, uint8_t *out) {
    uint32_t channels = job->plan->channels, most = CHUNK / channels;
    uint8_t made[CHUNK];
    int32_t sums[CHUNK];
    for (uint32_t start = first; start < end; start += most) {
        uint32_t pixels = end - start < most ? end - start : most;
        size_t n = (size_t)pixels * channels, at = (size_t)start * channels;
        for (size_t i = 0; i < n; i++) sums[i] = WEIGHT_HALF;
        for (uint32_t k = 0; k < count; k++) {
            const uint8_t *part =
                job->plan->down_first ? take_pixels(job, job->top + k, start, pixels, made) : ring_row(job, job->top + k) + at;
            for (size_t i = 0; i < n; i++) sums[i] += job->row_weights[k] * part[i];
        }
        for (size_t i = 0; i < n; i++) out[at + i] = to_pixel(sums[i]);
    }
}

/* Resized row i into job->row. Rows are asked for in order; a window is never taller than the ring. Proven: tests/prove, picture_window
 * and picture_ring. */
static void make_row(struct job *job, uint32_t i) {
    const struct morsel_picture_plan *plan = job->plan;
    if (!plan->y.taps) {
        take_row(job, i, job->row);
        return;
    }
    uint32_t count = axis_weights(&plan->y, i, &job->top, job->row_weights);
    if (plan->down_first) {
        uint32_t first, end;
        needed_columns(job, &first, &end);
        blend_rows(job, count, first, end, job->line);
        resize_across(job, job->line, job->row);
        return;
    }
    if (job->ready < job->top) job->ready = job->top;
    for (; job->ready < job->top + count; job->ready++) take_row(job, job->ready, ring_row(job, job->ready));
    blend_rows(job, count, 0, plan->x.visible, job->row);
}

/* --- Into the input --------------------------------------------------------------------------------------------------- */

static void put_pixel(const struct morsel_sink *sink, size_t at, uint32_t channel, uint8_t pixel) {
    if (sink->element == 1) sink->data[at] = sink->table.bytes[channel][pixel];
    else memcpy(sink->data + 4 * at, &sink->table.floats[channel][pixel], 4);
}

/* Row y of the frame's result: the row that was made between ends of `fill`, or all of that. */
static void put_row(const struct morsel_sink *sink, const struct morsel_picture_plan *plan, uint32_t y, const uint8_t *row) {
    const struct morsel_axis *x = &plan->x;
    for (uint32_t c = 0; c < sink->channels; c++) {
        const uint8_t *source = row && plan->channels > 1 ? row + (sink->swap ? 2 - c : c) : row;
        ptrdiff_t at = (ptrdiff_t)sink->first + (ptrdiff_t)y * sink->step_y + (ptrdiff_t)c * sink->step_c;
        for (uint32_t i = 0; i < x->size; i++, at += sink->step_x) {
            bool inside = source && i - x->pad < x->visible;
            put_pixel(sink, (size_t)at, c, inside ? source[(size_t)(i - x->pad) * plan->channels] : sink->fill[c]);
        }
    }
}

static void start_job(struct job *job, const struct morsel_picture_plan *plan, const struct morsel_source *source, void *scratch) {
    size_t gap = (4 - ((uintptr_t)scratch & 3)) & 3;
    job->plan = plan;
    job->source = source;
    job->columns = (uint32_t *)(void *)((uint8_t *)scratch + gap);
    job->row_weights = (int32_t *)(job->columns + plan->column_words);
    job->ring = (uint8_t *)(job->row_weights + plan->y.taps);
    job->line = job->ring + plan->ring_bytes;
    job->row = job->line + plan->line_bytes;
    job->top = job->ready = 0;
    if (plan->x.taps) make_columns(job);
}

void morsel_picture_rows(const struct morsel_picture_plan *plan, const struct morsel_source *source, const struct morsel_sink *sink,
                         void *scratch) {
    struct job job;
    start_job(&job, plan, source, scratch);
    for (uint32_t y = 0; y < plan->y.size; y++) {
        bool inside = y - plan->y.pad < plan->y.visible;
        if (inside) make_row(&job, plan->y.first + y - plan->y.pad);
        put_row(sink, plan, y, inside ? job.row : NULL);
    }
}
