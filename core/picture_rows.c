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

#define CHUNK (MORSEL_ROOMY_STACK ? 384u : 36u) /* bytes of a row that are summed at once, on the stack: whole pixels */
#define MADE (MORSEL_ROOMY_STACK ? 4u : 1u)     /* rows of such that are made at once, on the stack, too */

struct job {
    const struct morsel_picture_plan *plan;
    const struct morsel_source *source;
    struct morsel_pixel_kernels kernels;
    uint32_t *columns;    /* [visible][2 + 4 * groups]: kernels/pixels.h */
    uint32_t safe;        /* as there */
    uint32_t first, end;  /* source pixels that the columns inside the crop depend on, and what shares chroma with them */
    int32_t *row_weights; /* [taps of y] */
    uint8_t *ring;        /* source row r, resized across, lies in slot r % taps */
    uint8_t *line;        /* a row of the frame, in gray or as its pixels were made, or blended from several: [width][channels] */
    uint8_t *row;         /* the row being made: [visible][channels] */
    uint32_t top, ready;  /* first source row of the window; rows before `ready` have gone into the ring */
};

/* --- Pixels of the frame -------------------------------------------------------------------------------------------- */

/* In units of 2^-13. Each is off by half a unit at most: by the largest Y, U and V the sum is within 0.03 of real numbers, and the pixel,
 * rounded, within 0.53. */
#define COLOR_REST(black, y, u, v) (-(black) * (y)-128 * ((u) + (v)) + (1 << (MORSEL_COLOR_BITS - 1)))
#define COLOR(black, y, red_v, green_u, green_v, blue_u) \
    { \
        y, 0, {{0, red_v}, {green_u, green_v}, {blue_u, 0}}, { \
            COLOR_REST(black, y, 0, red_v), COLOR_REST(black, y, green_u, green_v), COLOR_REST(black, y, blue_u, 0) \
        } \
    }
static const struct morsel_color colors[] = {
    [MORSEL_BT601] = COLOR(16, 9539, 13075, -3209, -6660, 16525),
    [MORSEL_BT601_FULL] = COLOR(0, 8192, 11485, -2819, -5850, 14516),
    [MORSEL_BT709] = COLOR(16, 9539, 14686, -1747, -4366, 17305),
    [MORSEL_BT709_FULL] = COLOR(0, 8192, 12901, -1535, -3835, 15201),
};

static uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
    return (uint8_t)((red * 19595u + green * 38470u + blue * 7471u + 32768u) >> 16);
}

/* Where a row's luminance and chroma begin, those of the first pixel's 2 x 2. */
static void find_yuv(struct morsel_colors_args *a, const struct morsel_source *s, uint32_t y) {
    size_t row = (y + s->odd_y) / 2;
    const uint8_t *first = s->planes[1] + row * s->strides[1];
    a->y = s->planes[0] + y * s->strides[0] - s->odd_x;
    a->u = first + (s->pixels == MORSEL_NV21);
    a->v = s->pixels == MORSEL_I420 ? s->planes[2] + row * s->strides[2] : first + (s->pixels == MORSEL_NV12);
    a->step = s->pixels == MORSEL_I420 ? 1 : 2;
    a->color = &colors[s->colors];
}

static void make_gray(const uint8_t *pixel, size_t step, size_t red, uint32_t n, uint8_t *out) {
    for (uint32_t i = 0; i < n; i++, pixel += step) out[i] = luma(pixel[red], pixel[1], pixel[2 - red]);
}

/* Row y of a frame of Y and chroma, pixels x .. x + n - 1, in four bytes each or in gray. */
static void take_yuv(const struct job *job, uint32_t y, uint32_t x, uint32_t n, uint8_t *out) {
    struct morsel_colors_args args;
    uint8_t made[CHUNK];
    find_yuv(&args, job->source, y);
    x += job->source->odd_x;
    args.first = x;
    args.out = out;
    if (job->plan->channels == 4) {
        job->kernels.colors(&args, x, x + n);
        return;
    }
    args.out = made;
    for (uint32_t some; n; n -= some, args.first += some, out += some) {
        some = n < CHUNK / 4 ? n : CHUNK / 4;
        job->kernels.colors(&args, args.first, args.first + some);
        make_gray(made, 4, 0, some, out);
    }
}

/* Row y, pixels x .. x + n - 1: where they lie, or `room` for n of them, in which they are made. */
static const uint8_t *take_pixels(const struct job *job, uint32_t y, uint32_t x, uint32_t n, uint8_t *room) {
    const struct morsel_source *s = job->source;
    size_t step = s->pixels == MORSEL_GRAY ? 1 : s->pixels <= MORSEL_BGR ? 3 : 4;
    if (s->pixels >= MORSEL_NV12) {
        take_yuv(job, y, x, n, room);
        return room;
    }
    const uint8_t *pixels = s->planes[0] + y * s->strides[0] + step * x;
    if (job->plan->plain) return pixels;
    make_gray(pixels, step, s->pixels == MORSEL_BGR || s->pixels == MORSEL_BGRA ? 2 : 0, n, room);
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
static void split_weights(uint32_t *words, uint32_t count, uint32_t groups) {
    for (uint32_t k = count; k < 4 * groups; k++) words[k] = 0;
    for (uint32_t *four = words; four < words + count; four += 4) {
        int16_t parts[8];
        for (int k = 0; k < 4; k++) {
            parts[k] = (int16_t)(four[k] >> 8);
            parts[k + 4] = (int16_t)(four[k] & 255);
        }
        memcpy(four, parts, sizeof parts);
    }
}

/* Each begins no earlier than the one before: where one is safe, all before it are. Without a resize there are no columns. */
static void make_columns(struct job *job) {
    const struct morsel_axis *x = &job->plan->x;
    const uint32_t groups = job->plan->groups;
    uint32_t first = 0, *column = job->columns;
    job->safe = x->visible;
    job->first = x->first;
    job->end = x->first + x->visible;
    if (!x->taps) return;
    for (uint32_t i = 0; i < x->visible; i++, column += 2 + 4 * groups) {
        column[1] = axis_weights(x, x->first + i, &first, (int32_t *)column + 2);
        column[0] = first;
        job->end = first + column[1];
        split_weights(column + 2, column[1], groups);
        if (first + 4 * groups + 2 > x->in && i < job->safe) job->safe = i;
    }
    job->first = job->columns[0];
    if (job->first) job->first -= (job->first + job->source->odd_x) % 2;
    if (job->end < x->in) job->end += (job->end + job->source->odd_x) % 2;
}

static void resize_across(const struct job *job, const uint8_t *line, uint8_t *row) {
    struct morsel_across_args args = {job->columns, job->plan->groups, job->plan->channels, job->safe, line, row};
    job->kernels.across(&args, 0, job->plan->x.visible);
}

/* Source row y, the columns inside the crop, resized across. */
static void take_row(const struct job *job, uint32_t y, uint8_t *row) {
    const struct morsel_picture_plan *plan = job->plan;
    size_t skipped = plan->x.taps ? (size_t)job->first * plan->channels : 0;
    const uint8_t *pixels = take_pixels(job, y, job->first, job->end - job->first, plan->x.taps ? job->line + skipped : row);
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

/* The rows of a window as they lie in the frame; made, some at a time, where they are not its pixels. */
static void blend_frame(const struct job *job, uint32_t count, uint32_t first, uint32_t pixels, int32_t *sums, uint8_t *out) {
    uint32_t n = pixels * job->plan->channels;
    uint8_t made[MADE * CHUNK];
    if (job->plan->plain) {
        add_rows(job, take_pixels(job, job->top, first, pixels, made), job->source->strides[0], 0, count, sums, out, n);
        return;
    }
    for (uint32_t k = 0, some; k < count; k += some) {
        some = count - k < MADE ? count - k : MADE;
        for (uint32_t r = 0; r < some; r++) take_pixels(job, job->top + k + r, first, pixels, made + (size_t)r * CHUNK);
        add_rows(job, made, CHUNK, k, some, sums, k + some == count ? out : NULL, n);
    }
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
        blend_rows(job, count, job->first, job->end, job->line);
        resize_across(job, job->line, job->row);
        return;
    }
    if (job->ready < job->top) job->ready = job->top;
    for (; job->ready < job->top + count; job->ready++) take_row(job, job->ready, ring_row(job, job->ready));
    blend_rows(job, count, 0, plan->x.visible, job->row);
}

/* --- Into the input --------------------------------------------------------------------------------------------------- */

/* `n` pixels, each `step` bytes behind the one before, to place `at` and on; their channels lie `apart`. */
static void put_pixels(const struct morsel_sink *sink, ptrdiff_t at, uint32_t n, const uint8_t *pixel, ptrdiff_t step, ptrdiff_t apart) {
    if (sink->element == 1) {
        bool gray = sink->channels == 1;
        struct morsel_put_args args = {sink->data + at,  sink->step_x,   gray ? 0 : sink->step_c,       pixel, step,
                                       gray ? 0 : apart, sink->table[0], gray ? 0 : sizeof *sink->table};
        morsel_put_bytes(&args, n);
        return;
    }
    for (; n; n--, at += sink->step_x, pixel += step)
        for (uint32_t c = 0; c < sink->channels; c++) {
            float value = morsel_normalize(sink->rule, c, pixel[(ptrdiff_t)c * apart]);
            memcpy(sink->data + 4 * (at + (ptrdiff_t)c * sink->step_c), &value, 4);
        }
}

/* Row y of the frame's result: the row that was made between ends of `fill`, or all of that. */
static void put_row(const struct morsel_sink *sink, const struct morsel_picture_plan *plan, uint32_t y, const uint8_t *row) {
    const struct morsel_axis *x = &plan->x;
    const ptrdiff_t at = (ptrdiff_t)sink->first + (ptrdiff_t)y * sink->step_y, swap = plan->channels > 1 && sink->swap ? 2 : 0;
    const uint32_t begin = row ? x->pad : x->size, end = row ? begin + x->visible : begin;
    put_pixels(sink, at, begin, sink->fill, 0, 1);
    if (row)
        put_pixels(sink, at + (ptrdiff_t)begin * sink->step_x, end - begin, row + swap, plan->channels, plan->channels > 1 ? 1 - swap : 0);
    put_pixels(sink, at + (ptrdiff_t)end * sink->step_x, x->size - end, sink->fill, 0, 1);
}

static void start_job(struct job *job, const struct morsel_picture_plan *plan, const struct morsel_source *source, void *scratch) {
    size_t gap = (4 - ((uintptr_t)scratch & 3)) & 3;
    if (plan->x.taps || plan->y.taps || !plan->plain)
        morsel_pixels_choose(&job->kernels, morsel_cpu_features()); /* 25 us in virtual machines */
    job->plan = plan;
    job->source = source;
    job->columns = (uint32_t *)(void *)((uint8_t *)scratch + gap);
    job->row_weights = (int32_t *)(job->columns + plan->column_words);
    job->ring = (uint8_t *)(job->row_weights + plan->y.taps);
    job->line = job->ring + plan->ring_bytes;
    job->row = job->line + plan->line_bytes;
    job->top = job->ready = 0;
    memset(job->line, 0, plan->line_bytes); /* kernels read up to 16 bytes behind its pixels, times weights of 0 */
    make_columns(job);
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
