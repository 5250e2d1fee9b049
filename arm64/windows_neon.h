/* SPDX-License-Identifier: MIT */
/* A walk over the tiles of a convolution, and windows that are copied side by side for it: what tiles_neon.c cuts and points at. */
#ifndef MORSEL_WINDOWS_NEON_H
#define MORSEL_WINDOWS_NEON_H

#include "arm64.h"

#define PIECES 64u                    /* window cells that a tile addresses one by one */
#define LINE 1024u                    /* channels of a cell of padding */
#define PACKED 1120u                  /* bytes of a window that is copied */
#define SPARE 16u                     /* copies go 16 bytes at a time */
#define MEMORY (4 * (PACKED + SPARE)) /* in what is lent .. */
#define MEMORY_STACK 1152u            /* .. and else: one window at least, or the addresses of four cells */
#define FEW_WEIGHTS 6144u             /* bytes */
#define MANY_INPUTS 131072u
#define NINE_K 28u /* three rows of nine bytes and one of padding */
#define SUMMED 8u  /* tiles whose inputs are added up at once */

/* What a walk keeps at hand: plain C is not called with that on the stack. Its memory holds addresses of cells, and at the end a line of
 * padding: zero points, signed domain. Or it holds windows that are copied, and at the end weights that lie closer than in the blob. */
struct walk_room {
    const uint8_t *lines[4]; /* of copied windows */
    int32_t below[4 * SUMMED];
    struct morsel_span span;
    _Alignas(16) uint8_t stack[MEMORY_STACK];
};

struct walk {
    const struct morsel_conv_args *a;
    const uint8_t *const *rows;
    uint32_t depth, outs, row_k, k, pieces;
    uint32_t packing;
    uint32_t most;   /* channels of a span */
    uint32_t beside; /* windows of a tile */
    uint32_t cells;  /* whose addresses the memory holds */
    uint32_t deep;   /* pieces of a window whose weights the room holds at once, where it does not hold all; else 0 */
    struct morsel_pairs *room;
    uint32_t nine;      /* windows of three rows of nine bytes lie closer than the weights of the blob */
    uint32_t tile_k;    /* inputs of a copied window */
    uint32_t line;      /* its bytes with the spare ones */
    const float *lines; /* scale and zero point of each pixel, or NULL */
    struct walk_room *own;
    uint8_t *memory, *padding;
    uint32_t bytes;
    const uint8_t **x; /* addresses of cells */
};

/* n bytes into the signed domain. Reads 16 at a time as long as they end before `end`, writes up to 15 too many. */
static inline __attribute__((always_inline)) void copy_line(uint8_t *to, const uint8_t *x, uint32_t n, const uint8_t *end, uint8_t flip) {
    uint8x16_t mask = vdupq_n_u8(flip);
    uint32_t i = 0;
    for (; i < n && (size_t)(end - x) >= i + 16; i += 16) vst1q_u8(to + i, veorq_u8(vld1q_u8(x + i), mask));
    for (; i < n; i++) to[i] = x[i] ^ flip;
}

/* One row of a window, tap by tap; padding is zero points. */
static void pack_edge(const struct walk *w, uint8_t *to, const uint8_t *row, uint32_t left, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    for (uint32_t kx = 0; kx < win->kernel_w; kx++, to += w->depth) {
        uint32_t ix = left + kx * win->dilation_w;
        const uint8_t *x = row + (size_t)ix * win->in_c + channel;
        if (ix < win->in_w) copy_line(to, x, w->depth, row + win->in_row, (uint8_t)(w->a->x.qparams.sign_flip ^ 0x80));
        else memset(to, (int)((uint32_t)w->a->x.qparams.zero ^ 0x80), w->depth);
    }
}

/* Rows of a window of at most 16 bytes each that lie inside their picture rows: one load and one store a row. */
static inline void pack_short(uint8_t *to, const uint8_t *const *rows, uint32_t n, uint32_t row_k, size_t from, uint8x16_t mask) {
    if (n == 3) {
        vst1q_u8(to, veorq_u8(vld1q_u8(rows[0] + from), mask));
        vst1q_u8(to + row_k, veorq_u8(vld1q_u8(rows[1] + from), mask));
        vst1q_u8(to + 2 * row_k, veorq_u8(vld1q_u8(rows[2] + from), mask));
        return;
    }
    for (uint32_t ky = 0; ky < n; ky++) vst1q_u8(to + ky * row_k, veorq_u8(vld1q_u8(rows[ky] + from), mask));
}

/* Four pixels of one row whose windows are short and inside; returns 0 where they are not. */
static int pack_four(struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox) {
    const struct morsel_window *win = &w->a->window;
    uint32_t left = ox * win->stride_w - win->pad_left, last = left + 3 * win->stride_w, row_k = w->row_k;
    size_t from = (size_t)left * win->in_c, step = (size_t)win->stride_w * win->in_c;
    if (ox + 4 > win->out_w || left >= win->in_w || last + win->kernel_w > win->in_w) return 0;
    if (win->dilation_w != 1 || w->a->groups != 1 || row_k > 16 || from + 3 * step + 16 > win->in_row) return 0;
    uint8x16_t mask = vdupq_n_u8((uint8_t)(w->a->x.qparams.sign_flip ^ 0x80));
    for (uint32_t p = 0; p < 4; p++, from += step, to += w->line) pack_short(to, rows, win->kernel_h, row_k, from, mask);
    return 1;
}

/* The window of a pixel as one line of K bytes. What lands in the padding of a row of weights is multiplied by 0. */
static void pack_pixel(const struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    uint32_t left = ox * win->stride_w - win->pad_left; /* left of the picture: huge */
    int whole = left < win->in_w && left + win->kernel_w <= win->in_w && win->dilation_w == 1 && w->a->groups == 1;
    size_t from = (size_t)left * win->in_c;
    uint8_t flip = (uint8_t)(w->a->x.qparams.sign_flip ^ 0x80);
    for (uint32_t ky = 0; ky < win->kernel_h; ky++, to += w->row_k) {
        if (whole) copy_line(to, rows[ky] + from, win->kernel_w * w->depth, rows[ky] + win->in_row, flip);
        else pack_edge(w, to, rows[ky], left, channel);
    }
}

/* Three rows of nine bytes: eight of each, then the ninth of each. */
static inline void pack_nine(uint8_t *to, const uint8_t *r0, const uint8_t *r1, const uint8_t *r2, uint64_t flip) {
    uint64_t a, b, c;
    uint32_t last = ((uint32_t)r0[8] | (uint32_t)r1[8] << 8 | (uint32_t)r2[8] << 16) ^ (uint32_t)flip;
    memcpy(&a, r0, 8);
    memcpy(&b, r1, 8);
    memcpy(&c, r2, 8);
    a ^= flip, b ^= flip, c ^= flip;
    memcpy(to, &a, 8);
    memcpy(to + 8, &b, 8);
    memcpy(to + 16, &c, 8);
    memcpy(to + 24, &last, 4);
}

/* n such windows of one row of pixels. */
static void pack_nines(const struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox, uint32_t n) {
    const struct morsel_window *win = &w->a->window;
    uint64_t flip = (w->a->x.qparams.sign_flip ^ 0x80) * UINT64_C(0x0101010101010101);
    size_t step = 3 * (size_t)win->stride_w, line = w->line;
    for (uint32_t inside; n; n -= inside, ox += inside) {
        uint32_t left = ox * win->stride_w - win->pad_left; /* left of the picture: huge */
        uint8_t edge[3 * 12 + SPARE];
        if (left >= win->in_w || win->in_w - left < 3) {
            inside = 1;
            pack_pixel(w, edge, rows, ox, 0);
            pack_nine(to, edge, edge + 12, edge + 24, 0);
            to += line;
            continue;
        }
        inside = (win->in_w - left - 3) / win->stride_w + 1;
        if (inside > n) inside = n;
        const uint8_t *r0 = rows[0] + 3 * (size_t)left, *r1 = rows[1] + 3 * (size_t)left, *r2 = rows[2] + 3 * (size_t)left;
        for (uint32_t i = 0; i < inside; i++, r0 += step, r1 += step, r2 += step, to += line) pack_nine(to, r0, r1, r2, flip);
    }
}

/* The weights for them, [blocks][9 quads][16][4] in the blob: the third quad of each row holds one input, and its padding 0. */
static void pack_weights(int8_t *to, const int8_t *from, uint32_t blocks) {
    for (; blocks; blocks--, from += 9 * 64, to += NINE_K * 16) {
        for (uint32_t row = 0; row < 3; row++) memcpy(to + row * 128, from + row * 192, 128);
        for (uint32_t c = 0; c < 64; c += 4) {
            to[384 + c] = from[128 + c];
            to[385 + c] = from[320 + c];
            to[386 + c] = from[512 + c];
            to[387 + c] = 0;
        }
    }
}

/* The windows of `pixels` pixels from pixel p of this call on, side by side. */
static void pack_pixels(struct walk *w, uint32_t p, uint32_t pixels, uint32_t channel) {
    uint32_t out_w = w->a->window.out_w;
    const uint8_t *const *rows = w->rows + (size_t)(p / out_w) * w->a->window.kernel_h;
    uint8_t *to = w->memory;
    for (uint32_t ox = p % out_w, n; pixels; pixels -= n, ox += n, to += n * w->line) {
        if (ox == out_w) {
            ox = 0;
            rows += w->a->window.kernel_h;
        }
        if (w->nine) {
            n = pixels < out_w - ox ? pixels : out_w - ox;
            pack_nines(w, to, rows, ox, n);
            continue;
        }
        n = pixels >= 4 && pack_four(w, to, rows, ox) ? 4 : 1;
        if (n == 1) pack_pixel(w, to, rows, ox, channel);
    }
}

#endif
