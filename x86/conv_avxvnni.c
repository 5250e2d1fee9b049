/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX-VNNI: tiles of seven pixels x 16 channels. Sixteen registers hold the fourteen sums, a broadcast of four input bytes
 * and half a block of weights; the other half comes from memory each time. A last block of up to eight channels takes fourteen pixels.
 */
#define MORSEL_BELOW_1
#include "conv_plan.h"
#include "dot_avxvnni.h"
#include "requant_avx2.h"
#include "seven_avx2.h"
#include "x86.h"

MORSEL_INLINE void add_pixel(__m256i *a, __m256i *b, const uint8_t *x, __m256i low, const int8_t *high) {
    __m256i u = morsel_broadcast256(x);
    *a = morsel_dot256(*a, u, low);
    *b = morsel_dot256_memory(*b, u, high);
}

/* Seven pixels of a block. */
static void tile_7x16(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at) {
    const struct morsel_conv_job *job = part->job;
    const int8_t *w = part->weights;
    struct morsel_seven256 a = morsel_start7(part, 0), b = morsel_start7(part, 1);
    struct morsel_tap *taps = lines->map ? lines->map->taps : NULL;
    if (taps) morsel_map_taps(taps, lines->map, at);
    for (size_t ky = 0; ky < job->kernel_h; ky++) {
        const uint8_t *x = lines->map ? taps[ky].x : lines->line[ky] + at * lines->step;
        const struct morsel_places o = lines->map ? taps[ky].places : part->x_places;
        const int8_t *stop = w + (size_t)job->quads * 64;
        if (lines->map ? taps[ky].nothing : morsel_adds_nothing(lines, ky)) w = stop;
        for (; w != stop; w += 64, x += 4) {
            __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)w);
            add_pixel(&a.p0, &b.p0, x, low, w + 32);
            add_pixel(&a.p1, &b.p1, x + o.p1, low, w + 32);
            add_pixel(&a.p2, &b.p2, x + o.p2, low, w + 32);
            add_pixel(&a.p3, &b.p3, x + o.p3, low, w + 32);
            add_pixel(&a.p4, &b.p4, x + o.p4, low, w + 32);
            add_pixel(&a.p5, &b.p5, x + o.p5, low, w + 32);
            add_pixel(&a.p6, &b.p6, x + o.p6, low, w + 32);
        }
    }
    morsel_store_7x16(part, at, &a, &b);
}

MORSEL_INLINE void add_two(__m256i *a, __m256i *b, const uint8_t *x, const uint8_t *x2, __m256i w) {
    *a = morsel_dot256(*a, morsel_broadcast256(x), w);
    *b = morsel_dot256(*b, morsel_broadcast256(x2), w);
}

/* Of a block that has no more than eight channels: seven pixels from `at` and seven from `next`, which may be the same. */
static void tile_14x8(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at, size_t next) {
    const struct morsel_conv_job *job = part->job;
    const struct morsel_places o = part->x_places;
    const int8_t *w = part->weights;
    struct morsel_seven256 a = morsel_start7(part, 0),
                           b = part->starts ? morsel_start7(part, 1) : a; /* its second half is that of `next` */
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step, *x2 = *line + next * lines->step;
        for (const int8_t *stop = w + (size_t)job->quads * 64; w != stop; w += 64, x += 4, x2 += 4) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w);
            add_two(&a.p0, &b.p0, x, x2, v);
            add_two(&a.p1, &b.p1, x + o.p1, x2 + o.p1, v);
            add_two(&a.p2, &b.p2, x + o.p2, x2 + o.p2, v);
            add_two(&a.p3, &b.p3, x + o.p3, x2 + o.p3, v);
            add_two(&a.p4, &b.p4, x + o.p4, x2 + o.p4, v);
            add_two(&a.p5, &b.p5, x + o.p5, x2 + o.p5, v);
            add_two(&a.p6, &b.p6, x + o.p6, x2 + o.p6, v);
        }
    } while (++line != end);
    /* A loop, for the code to stand once. */
    for (int second = 0; second < 2; second++, a = b, at = next) morsel_store_7x8(part, at, &a);
}

static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    size_t last = n < 7 ? 0 : n - 7;
    __m256i starts[21]; /* the last seven are not read */
    for (uint32_t block = job->begin; block < job->end; block++) {
        struct morsel_part256 part = morsel_part_avx2(job, lines, block, pixel, n, starts);
        const int wide = part.channels > 8 || lines->map;
        for (size_t i = 0; i < n; i += wide ? 7 : 14) {
            size_t at = i < last ? i : last, next = i + 7 < last ? i + 7 : last;
            if (part.starts) morsel_start_zeros_avx2(&part, starts, at);
            if (part.starts && !wide) morsel_start_zeros_avx2(&part, starts + 7, next);
            if (wide) tile_7x16(&part, lines, at);
            else tile_14x8(&part, lines, at, next);
        }
    }
}

const char *morsel_conv_refusal_avxvnni(const void *args) {
    return morsel_conv_refusal(args, !morsel_conv_has_tiles_avx2(args));
}

void morsel_conv_lines_avxvnni(const struct morsel_conv_args *a, const uint8_t *const *row, const float *lines) {
    morsel_conv_plan_line(a, row, 7, run_pixels, (void *)(uintptr_t)lines);
}

void morsel_conv_rows_avxvnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (morsel_conv_has_tiles_avx2(a)) morsel_conv_plan(a, rows, y, n, run_pixels);
    else morsel_conv_by_fc(a, rows, y, n, morsel_fc_few_avxvnni);
}
