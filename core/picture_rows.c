/* SPDX-License-Identifier: MIT */
/*
 * The rows of a frame on their way into an input, by the plan of picture.c. The frame streams through, row by row, each resized across and
 * down in the plan's order. Across first: source rows are resized as resized rows ask for them, and kept in a ring as high as the tallest
 * window. Down first: the source rows themselves are blended into one line. Only what lands inside the crop is computed.
 */
#include "picture.h"

#include "../kernels/kernels.h"
#include "../kernels/pixels.h"

#include <string.h>

#define CHUNK (MORSEL_ROOMY_STACK ? 192u : 36u) /* bytes of a row that are summed at once, on the stack: whole pixels */
#define COLOR_BITS 13
#define YUV_PIXELS (MORSEL_ROOMY_STACK ? 32u : 8u) /* on the stack, too */

struct job {
    const struct morsel_picture_plan *plan;
    const struct morsel_source *source;
    struct morsel_pixel_kernels kernels;
    uint32_t *columns;    /* [visible][2 + 4 * groups]: kernels/pixels.h */
    uint32_t safe;        /* as there */
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

/* Cut at 0 and at 255 without a branch: sums are below 2^23, so that a shift leaves the sign alone. */
static inline uint32_t to_color(int32_t sum) {
    int32_t value = (sum + (1 << (COLOR_BITS - 1))) >> COLOR_BITS;
    value &= ~(value >> 16);
    return (uint32_t)(value | (255 - value) >> 16) & 255;
}

/* Where a row's luminance and chroma begin. */
struct yuv_row {
    const uint8_t *y, *u, *v;
    size_t step; /* from one chroma to the next */
};

static struct yuv_row yuv_row_at(const struct morsel_source *s, uint32_t y) {
    size_t row = (y + s->odd_y) / 2;
    const uint8_t *first = s->planes[1] + row * s->strides[1];
    struct yuv_row at = {s->planes[0] + y * s->strides[0], first, first + 1, 2};
    if (s->pixels == MORSEL_NV21) at.u = first + 1, at.v = first;
    if (s->pixels == MORSEL_I420) at.v = s->planes[2] + row * s->strides[2], at.step = 1;
    return at;
}

/* Pixels side by side: what compilers make vectors of. The one in front may be the second of two that share chroma. */
struct yuv_pixels {
    int16_t y[YUV_PIXELS], u[YUV_PIXELS + 2], v[YUV_PIXELS + 2];
    uint32_t rgb[YUV_PIXELS]; /* red + 256 * green + 65536 * blue */
};

/* The first `pairs` chroma values, each for two pixels. */
static void take_chroma(int16_t *to, const uint8_t *from, size_t step, uint32_t pairs) {
    for (uint32_t k = 0; k < pairs; k++, from += step) to[2 * k] = to[2 * k + 1] = (int16_t)(*from - 128);
}

/* `second`: 1 where the first pixel is the second of two. */
static void make_rgb(struct yuv_pixels *p, const struct color *c, uint32_t second) {
    const int16_t *u = p->u + second, *v = p->v + second;
    const int32_t black = c->black * c->y;
    for (uint32_t i = 0; i < YUV_PIXELS; i++) {
        int32_t bright = p->y[i] * c->y - black;
        uint32_t red = to_color(bright + v[i] * c->red_v), blue = to_color(bright + u[i] * c->blue_u);
        p->rgb[i] = red | to_color(bright + v[i] * c->green_v + u[i] * c->green_u) << 8 | blue << 16;
    }
}

/* In RGB each pixel's fourth byte is written over by the next; what computes is little-endian. */
static void put_rgb(const uint32_t *rgb, uint32_t n, uint32_t channels, uint8_t *out) {
    for (uint32_t i = 0; channels == 1 && i < n; i++) out[i] = luma(rgb[i] & 255, rgb[i] >> 8 & 255, rgb[i] >> 16);
    for (uint32_t i = 0; channels == 3 && i < n - 1; i++, out += 3) memcpy(out, rgb + i, 4);
    if (channels == 3) memcpy(out, rgb + n - 1, 3);
}

/* Row y of a frame of Y and chroma, pixels x .. x + n - 1, in RGB or in gray. */
static void take_yuv(const struct morsel_source *s, uint32_t y, uint32_t x, uint32_t n, uint32_t channels, uint8_t *out) {
    struct yuv_row row = yuv_row_at(s, y);
    struct yuv_pixels p = {.y = {0}};
    for (uint32_t end = x + n, some; x < end; x += some) {
        uint32_t second = (x + s->odd_x) % 2;
        size_t at = (x + s->odd_x) / 2 * row.step;
        some = end - x < YUV_PIXELS ? end - x : YUV_PIXELS;
        for (uint32_t i = 0; i < some; i++) p.y[i] = row.y[x + i];
        take_chroma(p.u, row.u + at, row.step, (second + some + 1) / 2);
        take_chroma(p.v, row.v + at, row.step, (second + some + 1) / 2);
        make_rgb(&p, &colors[s->colors], second);
        put_rgb(p.rgb, some, channels, out);
        out += some * channels;
    }
}

/* Three bytes of each of n pixels of four. The fourth is written over by the next pixel. */
static void drop_fourth(uint8_t *out, const uint8_t *pixel, uint32_t n) {
    for (; n > 1; n--, pixel += 4, out += 3) memcpy(out, pixel, 4);
    if (n) memcpy(out, pixel, 3);
}

/* `pixel` has red, green, blue in the frame's order, and perhaps alpha; they stay in that order. */
static void take_packed(const struct morsel_source *s, uint32_t y, uint32_t x, uint32_t n, uint32_t channels, uint8_t *out) {
    size_t step = s->pixels == MORSEL_RGBA || s->pixels == MORSEL_BGRA ? 4 : 3,
           red = s->pixels == MORSEL_BGR || s->pixels == MORSEL_BGRA ? 2 : 0;
    const uint8_t *pixel = s->planes[0] + y * s->strides[0] + step * x;
    if (channels == 1) {
        for (uint32_t i = 0; i < n; i++, pixel += step) out[i] = luma(pixel[red], pixel[1], pixel[2 - red]);
    } else if (step == 4) {
        drop_fourth(out, pixel, n);
    } else {
        memcpy(out, pixel, 3 * (size_t)n);
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

/* The source pixel that the centre of i lies in, `x` or one behind it. Proven: tests/prove, picture_nearest. */
static uint32_t nearest(const struct morsel_axis *a, uint32_t i, uint32_t x) {
    int64_t centre = (2 * (int64_t)i + 1) * a->in - a->back;
    while (2 * ((int64_t)x + 1) * a->out <= centre) x++;
    return x;
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

/* The weights of resized pixel i, with MORSEL_PIXEL_BITS after the point; returns how many.
 * A double holds the quotient of these numbers so closely that rounding it gives the same on every machine, excess precision or not. */
static uint32_t axis_weights(const struct morsel_axis *a, uint32_t i, uint32_t *first, int32_t *weights) {
    int64_t sum;
    if (a->taps == 1) {
        *first = nearest(a, i, *first);
        *weights = 1 << MORSEL_PIXEL_BITS;
        return 1;
    }
    uint32_t n = find_window(a, i, first, &sum);
    for (uint32_t k = 0; k < n; k++)
        weights[k] = (int32_t)((double)tap_weight(a, i, *first + k) / (double)sum * (1 << MORSEL_PIXEL_BITS) + 0.5);
    return n;
}

/* Four by four: the upper bits of each weight, then the lower ones. */
static void split_weights(uint32_t *words, uint32_t count) {
    for (uint32_t k = count; k % 4; k++) words[k] = 0;
    for (uint32_t *four = words; four < words + count; four += 4) {
        int16_t parts[8];
        for (int k = 0; k < 4; k++) {
            parts[k] = (int16_t)(four[k] >> 8);
            parts[k + 4] = (int16_t)(four[k] & 255);
        }
        memcpy(four, parts, sizeof parts);
    }
}

static uint32_t *column_at(const struct job *job, uint32_t i) {
    return job->columns + (size_t)i * (2 + 4 * job->plan->groups);
}

/* Each begins no earlier than the one before, but not all end later: those are safe that do, and all before them. */
static void make_columns(struct job *job) {
    const struct morsel_axis *x = &job->plan->x;
    uint32_t first = 0;
    job->safe = x->visible;
    for (uint32_t i = 0; i < x->visible; i++) {
        uint32_t *column = column_at(job, i);
        column[1] = axis_weights(x, x->first + i, &first, (int32_t *)column + 2);
        column[0] = first;
        split_weights(column + 2, column[1]);
        if (first + (column[1] + 3) / 4 * 4 + 2 > x->in && i < job->safe) job->safe = i;
    }
}

static void resize_across(const struct job *job, const uint8_t *line, uint8_t *row) {
    struct morsel_across_args args = {job->columns, job->plan->groups, job->plan->channels, job->safe, line, row};
    job->kernels.across(&args, 0, job->plan->x.visible);
}

/* The source pixels that the columns inside the crop depend on. */
static void needed_columns(const struct job *job, uint32_t *first, uint32_t *end) {
    const struct morsel_axis *x = &job->plan->x;
    *first = x->first;
    *end = x->first + x->visible;
    if (!x->taps) return;
    const uint32_t *last = column_at(job, x->visible - 1);
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

/* Into `out`, or into `sums` if there are more to come: `n` bytes of `count` rows, of which the first is job->top + k. */
static void add_rows(const struct job *job, const uint8_t *rows, size_t stride, uint32_t k, uint32_t count, int32_t *sums, uint8_t *out,
                     uint32_t n) {
    struct morsel_blend_args args = {rows, stride, job->row_weights + k, count, k > 0, sums, out};
    job->kernels.blend(&args, 0, n);
}

/* The rows of a window as they lie in the frame; made one by one where they are not its pixels. */
static void blend_frame(const struct job *job, uint32_t count, uint32_t first, uint32_t pixels, int32_t *sums, uint8_t *out) {
    uint32_t n = pixels * job->plan->channels, last = count - 1;
    uint8_t made[CHUNK];
    if (job->plan->plain) {
        add_rows(job, take_pixels(job, job->top, first, pixels, made), job->source->strides[0], 0, count, sums, out, n);
        return;
    }
    for (uint32_t k = 0; k < count; k++)
        add_rows(job, take_pixels(job, job->top + k, first, pixels, made), 0, k, 1, sums, k == last ? out : NULL, n);
}

/* Those in the ring lie in two runs at most. */
static void blend_ring(const struct job *job, uint32_t count, size_t at, int32_t *sums, uint8_t *out, uint32_t n) {
    uint32_t run = job->plan->y.taps - job->top % job->plan->y.taps;
    if (run > count) run = count;
    add_rows(job, ring_row(job, job->top) + at, job->plan->row_bytes, 0, run, sums, run == count ? out : NULL, n);
    if (run < count) add_rows(job, job->ring + at, job->plan->row_bytes, run, count - run, sums, out, n);
}

/* The pass down: pixels first .. end - 1 of `count` rows from job->top on into `out`. They are of the ring, or of the frame itself. */
static void blend_rows(const struct job *job, uint32_t count, uint32_t first, uint32_t end, uint8_t *out) {
    uint32_t channels = job->plan->channels, most = CHUNK / channels;
    int32_t sums[CHUNK];
    for (uint32_t start = first; start < end; start += most) {
        uint32_t pixels = end - start < most ? end - start : most, n = pixels * channels;
        size_t at = (size_t)start * channels;
        if (job->plan->down_first) blend_frame(job, count, start, pixels, sums, out + at);
        else blend_ring(job, count, at, sums, out + at, n);
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

static void put_pixel(const struct morsel_sink *sink, ptrdiff_t at, uint32_t channel, uint8_t pixel) {
    float value;
    if (sink->element == 1) {
        sink->data[at] = sink->table[channel][pixel];
        return;
    }
    value = morsel_normalize(sink->rule, channel, pixel);
    memcpy(sink->data + 4 * at, &value, 4);
}

/* Row y of the frame's result: the row that was made between ends of `fill`, or all of that. */
static void put_row(const struct morsel_sink *sink, const struct morsel_picture_plan *plan, uint32_t y, const uint8_t *row) {
    const struct morsel_axis *x = &plan->x;
    uint32_t begin = row ? x->pad : x->size, end = row ? x->pad + x->visible : x->size;
    ptrdiff_t step = sink->step_x;
    for (uint32_t c = 0; c < sink->channels; c++) {
        const uint8_t *source = row && plan->channels > 1 ? row + (sink->swap ? 2 - c : c) : row;
        ptrdiff_t at = (ptrdiff_t)sink->first + (ptrdiff_t)y * sink->step_y + (ptrdiff_t)c * sink->step_c;
        uint32_t i = 0;
        for (; i < begin; i++, at += step) put_pixel(sink, at, c, sink->fill[c]);
        if (sink->element == 1)
            for (; i < end; i++, at += step, source += plan->channels) sink->data[at] = sink->table[c][*source];
        for (; i < end; i++, at += step, source += plan->channels) put_pixel(sink, at, c, *source);
        for (; i < x->size; i++, at += step) put_pixel(sink, at, c, sink->fill[c]);
    }
}

static void start_job(struct job *job, const struct morsel_picture_plan *plan, const struct morsel_source *source, void *scratch) {
    size_t gap = (4 - ((uintptr_t)scratch & 3)) & 3;
    if (plan->x.taps || plan->y.taps) morsel_pixels_choose(&job->kernels, morsel_cpu_features()); /* 25 us in virtual machines */
    job->plan = plan;
    job->source = source;
    job->columns = (uint32_t *)(void *)((uint8_t *)scratch + gap);
    job->row_weights = (int32_t *)(job->columns + plan->column_words);
    job->ring = (uint8_t *)(job->row_weights + plan->y.taps);
    job->line = job->ring + plan->ring_bytes;
    job->row = job->line + plan->line_bytes;
    job->top = job->ready = 0;
    memset(job->line, 0, plan->line_bytes); /* kernels read up to 16 bytes behind its pixels, times weights of 0 */
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
