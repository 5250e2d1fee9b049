/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX512-VNNI. A block of weights [16 out][4 in] is one register; four input bytes are broadcast against it. Tiles are
 * 14 pixels x 16 channels, 7 x 32 and 7 x 48: at least fourteen independent sums hide the latency of vpdpbusd, and seven divides the
 * rows of the usual pictures. What is left of a run of pixels is done by a tile that begins earlier, over results that are
 * already there and come out the same.
 */
#include "requant_avx512.h"
#include "window.h"
#include "x86.h"

#define WEIGHTS_AT_ONCE 393216u /* bytes of weights that stay in the second-level cache while the rows pass */
#define PIXELS_AT_ONCE 65536u   /* bytes of pixels that do while the weights pass */

/* A group's channels, and what all its tiles share. */
struct job {
    const struct morsel_conv_args *args;
    struct morsel_requant512 requant;
    const int8_t *weights;  /* of the group */
    size_t block_bytes;     /* of 16 channels */
    uint32_t kernel_h, quads;
    uint32_t constants;     /* first entry of the group in the channel constants */
    uint32_t first, outs;   /* the group's channels in y */
    uint32_t begin, end;    /* blocks of 16 channels to do */
};

/* Some blocks of a job. */
struct part {
    const struct job *job;
    const int8_t *weights;
    const float *multiplier;
    __m512i start[3]; /* bias - zero * weight_sum */
    __mmask64 mask;   /* channels that exist */
    uint8_t *y;       /* of pixel 0 */
    size_t y_step;
};

static struct part part_of(const struct job *job, uint32_t block, uint32_t nb, size_t pixel) {
    const struct morsel_channels *c = &job->args->channels;
    uint32_t channel = job->constants + block * 16, left = job->outs - block * 16;
    struct part part = {.job = job, .y_step = job->args->window.out_c};
    part.weights = job->weights + block * job->block_bytes;
    part.multiplier = c->multiplier + channel;
    for (uint32_t b = 0; b < nb; b++) {
        __m512i sum = _mm512_loadu_si512(c->weight_sum + channel + 16 * b);
        __m512i zero = _mm512_mullo_epi32(sum, _mm512_set1_epi32(job->args->x.code.zero));
        part.start[b] = _mm512_sub_epi32(_mm512_loadu_si512(c->bias + channel + 16 * b), zero);
    }
    part.mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    part.y = (uint8_t *)job->args->y.data + pixel * part.y_step + job->first + block * 16;
    return part;
}

MORSEL_INLINE __m512i broadcast4(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* The sums of mr pixels from `at`, nb blocks each. Pixels are addressed from every third one, to need few registers. */
MORSEL_INLINE void sum_tile(const struct part *part, const struct morsel_lines *lines, size_t at, int mr, int nb, __m512i acc[14][3]) {
    const struct job *job = part->job;
    const int8_t *w = part->weights;
    size_t step = lines->step;
    MORSEL_UNROLL
    for (int p = 0; p < mr; p++)
        MORSEL_UNROLL
        for (int b = 0; b < nb; b++) acc[p][b] = part->start[b];
    for (uint32_t ky = 0; ky < job->kernel_h; ky++) {
        const uint8_t *x[5];
        MORSEL_UNROLL
        for (int g = 0; g < (mr + 2) / 3; g++) x[g] = lines->line[ky] + (at + 3 * (size_t)g) * step;
        for (uint32_t q = 0; q < job->quads; q++, w += 64) {
            __m512i v[3];
            MORSEL_UNROLL
            for (int b = 0; b < nb; b++) v[b] = _mm512_loadu_si512(w + (size_t)b * job->block_bytes);
            MORSEL_UNROLL
            for (int p = 0; p < mr; p++) {
                __m512i u = broadcast4(x[p / 3] + (size_t)(p % 3) * step);
                MORSEL_UNROLL
                for (int b = 0; b < nb; b++) acc[p][b] = _mm512_dpbusd_epi32(acc[p][b], u, v[b]);
            }
            MORSEL_UNROLL
            for (int g = 0; g < (mr + 2) / 3; g++) x[g] += 4;
        }
    }
}

/* One pixel of 48 channels. */
MORSEL_INLINE void store_1x48(const struct part *part, uint8_t *y, const __m512i *v) {
    __m512i bytes = morsel_pack512_apart(&part->job->requant, v[0], v[1], v[2], v[2]);
    _mm512_mask_storeu_epi8(y, part->mask & 0xffffffffffff, bytes);
}

/* n pixels, at most two, of 32 channels. */
MORSEL_INLINE void store_2x32(const struct part *part, uint8_t *y, const __m512i *v, const __m512i *next, int n) {
    __m512i bytes = morsel_pack512_apart(&part->job->requant, v[0], v[1], next[0], next[1]);
    _mm256_mask_storeu_epi8(y, (__mmask32)part->mask, _mm512_castsi512_si256(bytes));
    if (n > 1) _mm256_mask_storeu_epi8(y + part->y_step, (__mmask32)part->mask, _mm512_extracti64x4_epi64(bytes, 1));
}

/* n pixels, at most four, of 16 channels. */
MORSEL_INLINE void store_4x16(const struct part *part, uint8_t *y, __m512i a, __m512i b, __m512i c, __m512i d, int n) {
    __m512i bytes = morsel_pack512_apart(&part->job->requant, a, b, c, d);
    __mmask16 mask = (__mmask16)part->mask;
    _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(bytes));
    if (n > 1) _mm_mask_storeu_epi8(y + part->y_step, mask, _mm512_extracti32x4_epi32(bytes, 1));
    if (n > 2) _mm_mask_storeu_epi8(y + 2 * part->y_step, mask, _mm512_extracti32x4_epi32(bytes, 2));
    if (n > 3) _mm_mask_storeu_epi8(y + 3 * part->y_step, mask, _mm512_extracti32x4_epi32(bytes, 3));
}

MORSEL_INLINE void store_tile(const struct part *part, size_t at, int mr, int nb, __m512i acc[14][3]) {
    const struct morsel_requant512 *r = &part->job->requant;
    uint8_t *y = part->y + at * part->y_step;
    int together = nb == 3 ? 1 : nb == 2 ? 2 : 4, last = mr - 1;
    MORSEL_UNROLL
    for (int b = 0; b < nb; b++) {
        __m512 m = _mm512_loadu_ps(part->multiplier + 16 * b);
        MORSEL_UNROLL
        for (int p = 0; p < mr; p++) acc[p][b] = morsel_scale512(r, acc[p][b], m);
    }
    MORSEL_UNROLL
    for (int p = 0; p < mr; p += together, y += (size_t)together * part->y_step) {
        int p1 = p + 1 < mr ? p + 1 : last, p2 = p + 2 < mr ? p + 2 : last, p3 = p + 3 < mr ? p + 3 : last;
        if (nb == 3) store_1x48(part, y, acc[p]);
        else if (nb == 2) store_2x32(part, y, acc[p], acc[p1], mr - p);
        else store_4x16(part, y, acc[p][0], acc[p1][0], acc[p2][0], acc[p3][0], mr - p);
    }
}

MORSEL_INLINE void tile(const struct part *part, const struct morsel_lines *lines, size_t at, int mr, int nb) {
    __m512i acc[14][3];
    sum_tile(part, lines, at, mr, nb, acc);
    store_tile(part, at, mr, nb, acc);
}

/* n pixels in tiles of mr, the last over the end of the one before. */
MORSEL_INLINE void tiles(const struct part *part, const struct morsel_lines *lines, size_t n, int mr, int nb) {
    size_t at = 0, size = (size_t)mr;
    for (; at + size <= n; at += size) tile(part, lines, at, mr, nb);
    if (at < n) tile(part, lines, n - size, mr, nb);
}

static __attribute__((noinline)) void tiles_48(const struct part *part, const struct morsel_lines *lines, size_t n) {
    if (n >= 7) tiles(part, lines, n, 7, 3);
    else tiles(part, lines, n, 1, 3);
}

static __attribute__((noinline)) void tiles_32(const struct part *part, const struct morsel_lines *lines, size_t n) {
    if (n >= 7) tiles(part, lines, n, 7, 2);
    else tiles(part, lines, n, 1, 2);
}

static __attribute__((noinline)) void tiles_16(const struct part *part, const struct morsel_lines *lines, size_t n) {
    if (n >= 14) tiles(part, lines, n, 14, 1);
    else if (n >= 7) tiles(part, lines, n, 7, 1);
    else tiles(part, lines, n, 1, 1);
}

/* How many of `left` blocks to do together: threes, and twos at the end so that no single one is left. */
static uint32_t blocks_together(uint32_t left) {
    return left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
}

/* All the job's blocks of n pixels, of which the first is pixel `pixel` of y. */
static void run_pixels(const struct job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    for (uint32_t block = job->begin, nb; block < job->end; block += nb) {
        nb = blocks_together(job->end - block);
        struct part part = part_of(job, block, nb, pixel);
        if (nb == 3) tiles_48(&part, lines, n);
        else if (nb == 2) tiles_32(&part, lines, n);
        else tiles_16(&part, lines, n);
    }
}

static struct job job_of(const struct morsel_conv_args *a, uint32_t group) {
    const struct morsel_window *w = &a->window;
    uint32_t outs = w->out_c / a->groups, blocks = (outs + 15) / 16;
    struct job job = {.args = a, .requant = morsel_requant512(&a->y), .kernel_h = w->kernel_h, .quads = morsel_row_k(a) / 4};
    job.block_bytes = (size_t)w->kernel_h * job.quads * 64;
    job.weights = a->weights + (size_t)group * blocks * job.block_bytes;
    job.constants = group * blocks * 16;
    job.first = group * outs;
    job.outs = outs;
    job.end = blocks;
    return job;
}

/* Kernels one pixel wide read the rows where they are; the last pixel of an odd depth would be read past its end. */
static int rows_serve(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return w->kernel_w == 1 && w->pad_left == 0 && a->groups == 1 && a->x.code.flip == 0 && w->in_c % 4 == 0 &&
           (uint64_t)(w->out_w - 1) * w->stride_w < w->in_w;
}

/* n pixels of lines that stand in the input itself. */
static void run_direct(const struct job *job, struct morsel_lines *lines, size_t pixel, size_t n) {
    size_t most = PIXELS_AT_ONCE / lines->step / 14 * 14, now;
    if (most == 0) most = 14;
    for (; n; n -= now, pixel += now) {
        now = n < most ? n : most;
        run_pixels(job, lines, pixel, now);
        for (uint32_t ky = 0; ky < job->kernel_h; ky++) lines->line[ky] += now * lines->step;
    }
}

static void conv_direct(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct job job = job_of(a, 0);
    struct morsel_lines lines;
    lines.step = (size_t)w->stride_w * w->in_c;
    /* Rows that touch are one run of pixels. */
    int whole = w->kernel_h == 1 && w->stride_h == 1 && w->stride_w == 1 && w->pad_top == 0 && w->out_w == w->in_w && !a->outside;
    size_t pixels = whole ? (size_t)n * w->out_w : w->out_w;
    for (uint32_t i = 0; i < (whole ? 1 : n); i++) {
        memcpy(lines.line, rows + (size_t)i * w->kernel_h, w->kernel_h * sizeof *rows);
        run_direct(&job, &lines, (size_t)(y + i) * w->out_w, pixels);
    }
}

/* n rows, by windows in a buffer, for the blocks that the job names. */
static void conv_copied(const struct job *job, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t group, uint32_t at_once) {
    _Alignas(64) uint8_t buffer[MORSEL_WINDOW_BYTES];
    const struct morsel_window *w = &job->args->window;
    struct morsel_lines lines;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0, now; ox < w->out_w; ox += now) {
            now = w->out_w - ox < at_once ? w->out_w - ox : at_once;
            morsel_fill_lines(&lines, buffer, job->args, rows + (size_t)i * w->kernel_h, ox, now, group);
            run_pixels(job, &lines, (size_t)(y + i) * w->out_w + ox, now);
        }
    }
}

static void conv_groups(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t at_once) {
    for (uint32_t group = 0; group < a->groups; group++) {
        struct job job = job_of(a, group);
        uint32_t blocks = job.end;
        size_t most = WEIGHTS_AT_ONCE / job.block_bytes / 3 * 3;
        if (most < 3) most = 3;
        for (; job.begin < blocks; job.begin = job.end) {
            job.end = blocks - job.begin <= most + 1 ? blocks : job.begin + (uint32_t)most;
            conv_copied(&job, rows, y, n, group, at_once);
        }
    }
}

void morsel_conv_rows_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    uint32_t at_once = morsel_windows_at_once(a);
    if (a->y.code.is_float || a->channels.float_bias || a->channels.weight_zero) morsel_conv_rows_c(a, rows, y, n);
    else if (rows_serve(a)) conv_direct(a, rows, y, n);
    else if (at_once) conv_groups(a, rows, y, n, at_once);
    else morsel_conv_rows_c(a, rows, y, n);
}
