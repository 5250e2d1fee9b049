/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution with SDOT. Four rows of one column, sixteen channels wide, are zipped into (channel, row 0..3) vectors: one
 * dot product then does a column of taps for four channels. For windows 3x3 such columns stay in registers while they pass under the three
 * tap columns; with stride 1 one column serves two output rows, the lower with its taps moved one row down.
 */
#include "arm64.h"

struct column {
    int8x16_t v0, v1, v2, v3;
};

/* Three columns of taps for both rows: [row][kx][4 channels x 4 taps]. */
struct taps {
    int8_t row[2][3][64];
};

/* Handed on by value: what a loop needs stays in registers, whatever the stores may alias. */
struct strip {
    const uint8_t *r0, *r1, *r2, *r3; /* at the block's first channel */
    uint8_t *y0, *y1;                 /* y1 NULL: one row */
    const struct taps *taps;
    const int32_t *start;
    const float *multiplier, *offset;
    struct morsel_finish finish;
    size_t in_c, out_c;
    uint32_t in_w, out_w, first, stride; /* first: the first column, huge where it is left of the picture */
    int8_t zero;
};

/* In asm, and into the registers that hold a column no longer needed, because the compiler would copy columns about as they move from
 * tap to tap. */
static inline __attribute__((always_inline)) void zip_rows(struct column *r, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d) {
    __asm__("zip1 %0.16b, %4.16b, %5.16b\n\tzip2 %1.16b, %4.16b, %5.16b\n\t"
            "zip1 %4.16b, %6.16b, %7.16b\n\tzip2 %5.16b, %6.16b, %7.16b\n\t"
            "zip1 %2.8h, %1.8h, %5.8h\n\tzip2 %3.8h, %1.8h, %5.8h\n\t"
            "zip2 %1.8h, %0.8h, %4.8h\n\tzip1 %0.8h, %0.8h, %4.8h"
            : "+&w"(r->v0), "+&w"(r->v1), "+&w"(r->v2), "+&w"(r->v3), "+&w"(a), "+&w"(b)
            : "w"(c), "w"(d));
}

static inline __attribute__((always_inline)) void load_inside(struct column *r, const struct strip *s, uint32_t ix) {
    size_t at = ix * s->in_c;
    zip_rows(r, vld1q_s8((const int8_t *)s->r0 + at), vld1q_s8((const int8_t *)s->r1 + at), vld1q_s8((const int8_t *)s->r2 + at),
             vld1q_s8((const int8_t *)s->r3 + at));
}

static inline __attribute__((always_inline)) struct column outside_column(const struct strip *s) {
    int8x16_t zero = vdupq_n_s8(s->zero);
    struct column r = {zero, zero, zero, zero};
    return r;
}

static inline __attribute__((always_inline)) struct column load_column(const struct strip *s, uint32_t ix) {
    struct column r = outside_column(s);
    if (ix < s->in_w) load_inside(&r, s, ix);
    return r;
}

/* In asm, and volatile, for the order alone: the compiler would keep all the taps in registers that it has not. */
static inline __attribute__((always_inline)) void add_column(struct morsel_sum16 *s, struct column x, const int8_t *w) {
    int8x16_t w0, w1, w2, w3;
    MORSEL_LOAD_PAIR(w0, w1, w, 0);
    MORSEL_LOAD_PAIR(w2, w3, w, 32);
    __asm__ volatile("sdot %0.4s, %4.16b, %8.16b\n\tsdot %1.4s, %5.16b, %9.16b\n\t"
                     "sdot %2.4s, %6.16b, %10.16b\n\tsdot %3.4s, %7.16b, %11.16b"
                     : "+w"(s->s0), "+w"(s->s1), "+w"(s->s2), "+w"(s->s3)
                     : "w"(w0), "w"(w1), "w"(w2), "w"(w3), "w"(x.v0), "w"(x.v1), "w"(x.v2), "w"(x.v3));
}

/* How a strip is computed; a constant wherever it is passed. */
struct kind {
    uint32_t mode;
    int two; /* two output rows, stride 1 */
};

static inline __attribute__((always_inline)) int8x16_t pixel(const struct strip *s, uint32_t row, struct column a, struct column b,
                                                             struct column c, struct kind kind) {
    const int8_t(*w)[64] = s->taps->row[row];
    struct morsel_sum16 sum = morsel_load_start(s->start);
    add_column(&sum, a, w[0]);
    add_column(&sum, b, w[1]);
    add_column(&sum, c, w[2]);
    return morsel_finish16(sum, s->multiplier, s->offset, &s->finish, kind.mode);
}

/* Pixel ox of the strip's rows. */
static inline __attribute__((always_inline)) void put_pixels(const struct strip *s, uint32_t ox, struct column a, struct column b,
                                                             struct column c, struct kind kind) {
    size_t at = ox * s->out_c;
    vst1q_s8((int8_t *)s->y0 + at, pixel(s, 0, a, b, c, kind));
    if (kind.two) vst1q_s8((int8_t *)s->y1 + at, pixel(s, 1, a, b, c, kind));
}

/* Stride 1: each new column is the third of one pixel, the second of the next, the first of the one after. */
static inline __attribute__((always_inline)) void strip_one(struct strip by_value, struct kind kind) {
    const struct strip *s = &by_value;
    uint32_t ix = s->first, ox = 0, out_w = s->out_w, in_w = s->in_w;
    struct column a = load_column(s, ix), b = load_column(s, ix + 1), c = a;
    for (ix += 2; ox + 3 <= out_w && ix < in_w && ix + 3 <= in_w; ix += 3, ox += 3) {
        load_inside(&c, s, ix);
        put_pixels(s, ox, a, b, c, kind);
        load_inside(&a, s, ix + 1);
        put_pixels(s, ox + 1, b, c, a, kind);
        load_inside(&b, s, ix + 2);
        put_pixels(s, ox + 2, c, a, b, kind);
    }
    for (; ox < out_w; ox++, ix++) {
        c = load_column(s, ix);
        put_pixels(s, ox, a, b, c, kind);
        a = b;
        b = c;
    }
}

/* Stride 2: the third column is the first of the next pixel. */
static inline __attribute__((always_inline)) void strip_two(struct strip by_value, struct kind kind) {
    const struct strip *s = &by_value;
    uint32_t ix = s->first, ox = 0, out_w = s->out_w, in_w = s->in_w;
    struct column a = load_column(s, ix), b = a, c = a;
    for (ix += 1; ox + 2 <= out_w && ix < in_w && ix + 4 <= in_w; ix += 4, ox += 2) {
        load_inside(&b, s, ix);
        load_inside(&c, s, ix + 1);
        put_pixels(s, ox, a, b, c, kind);
        load_inside(&b, s, ix + 2);
        load_inside(&a, s, ix + 3);
        put_pixels(s, ox + 1, c, b, a, kind);
    }
    for (; ox < out_w; ox++, ix += 2) {
        b = load_column(s, ix);
        c = load_column(s, ix + 1);
        put_pixels(s, ox, a, b, c, kind);
        a = c;
    }
}

static inline __attribute__((always_inline)) void strip_kind(const struct strip *s, struct kind kind) {
    if (s->stride == 2) strip_two(*s, kind);
    else strip_one(*s, kind);
}

static void strip_relu(const struct strip *s) {
    struct kind pair = {MORSEL_FINISH_RELU, 1}, single = {MORSEL_FINISH_RELU, 0};
    if (s->y1) strip_one(*s, pair);
    else strip_kind(s, single);
}

static void strip_folded(const struct strip *s) {
    struct kind pair = {MORSEL_FINISH_FOLDED, 1}, single = {MORSEL_FINISH_FOLDED, 0};
    if (s->y1) strip_one(*s, pair);
    else strip_kind(s, single);
}

static void strip_shifted(const struct strip *s) {
    struct kind pair = {MORSEL_FINISH_SHIFTED, 1}, single = {MORSEL_FINISH_SHIFTED, 0};
    if (s->y1) strip_one(*s, pair);
    else strip_kind(s, single);
}

static void strip_clamped(const struct strip *s) {
    struct kind pair = {MORSEL_FINISH_CLAMPED, 1}, single = {MORSEL_FINISH_CLAMPED, 0};
    if (s->y1) strip_one(*s, pair);
    else strip_kind(s, single);
}

/* The taps as they lie in the blob, and each moved one row down: the fourth row of a column has weight 0 there. */
static void prepare_taps(struct taps *t, const int8_t *w) {
    for (uint32_t i = 0; i < 192; i += 16) {
        int8x16_t v = vld1q_s8(w + i);
        vst1q_s8(t->row[0][0] + i, v);
        vst1q_s8(t->row[1][0] + i, vreinterpretq_s8_s32(vshlq_n_s32(vreinterpretq_s32_s8(v), 8)));
    }
}

/* Output rows i (and with stride 1 i + 1 where `two`) of one block at channel c. */
static void run_strip(struct strip *s, const uint8_t *const *r, int two, uint32_t c, uint8_t *y) {
    s->r0 = r[0] + c;
    s->r1 = r[1] + c;
    s->r2 = r[2] + c;
    s->r3 = two ? r[5] + c : s->r2;
    s->y0 = y + c;
    s->y1 = two ? s->y0 + s->out_w * s->out_c : NULL;
    if (s->finish.mode == MORSEL_FINISH_RELU) strip_relu(s);
    else if (s->finish.mode == MORSEL_FINISH_FOLDED) strip_folded(s);
    else if (s->finish.mode == MORSEL_FINISH_SHIFTED) strip_shifted(s);
    else strip_clamped(s);
}

/* Whole blocks of 16 channels from c on, for windows 3x3 with stride 1 or 2. */
static void run_three(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t c,
                      const struct morsel_group *g, uint32_t blocks) {
    const struct morsel_window *win = &a->window;
    struct taps taps[MORSEL_GROUP / 16];
    struct strip s = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, g->finish, win->in_c, win->out_c,
                      win->in_w, win->out_w, 0 - win->pad_left, win->stride_w, (int8_t)(a->x.code.zero - 128)};
    for (uint32_t b = 0; b < blocks; b++) prepare_taps(&taps[b], a->weights + (size_t)(c / 16 + b) * 192);
    for (uint32_t i = 0, rows_done; i < n; i += rows_done) {
        const uint8_t *const *r = rows + (size_t)i * 3;
        int two = i + 1 < n && win->stride_h == 1 && win->stride_w == 1 && r[3] == r[1] && r[4] == r[2];
        rows_done = two ? 2 : 1;
        for (uint32_t b = 0; b < blocks; b++) {
            s.taps = &taps[b];
            s.start = g->start + b * 16;
            s.multiplier = g->multiplier + b * 16;
            s.offset = g->offset + b * 16;
            run_strip(&s, r, two, c + b * 16, (uint8_t *)a->y.data + (size_t)(y + i) * win->out_w * win->out_c);
        }
    }
}

/* Sixteen bytes of a row in the signed domain; those past the row's end are 0. */
static inline int8x16_t load_row(const uint8_t *row, size_t at, size_t bytes, uint8x16_t flip) {
    uint8_t part[16] = {0};
    if (at + 16 <= bytes) return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(row + at), flip));
    memcpy(part, row + at, bytes - at);
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(part), flip));
}

/* Tap rows ky .. ky + 3 of input column ix; rows that the window has not meet weights of 0. */
static struct column load_quad(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ky, uint32_t ix, uint32_t c) {
    const struct morsel_window *win = &a->window;
    int8x16_t v[4];
    uint32_t left = win->kernel_h - ky;
    for (uint32_t i = 0; i < 4; i++) {
        if (ix >= win->in_w) v[i] = vdupq_n_s8((int8_t)(a->x.code.zero - 128));
        else if (i >= left) v[i] = vdupq_n_s8(0);
        else v[i] = load_row(rows[ky + i], (size_t)ix * win->in_c + c, win->in_row, vdupq_n_u8((uint8_t)(a->x.code.flip ^ 0x80)));
    }
    struct column r = {v[0], v[1], v[2], v[3]};
    zip_rows(&r, v[0], v[1], v[2], v[3]);
    return r;
}

/* Any window: one pixel of a block, n channels at c. */
static void any_pixel(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, size_t at, uint32_t c, uint32_t n,
                      const struct morsel_group *g) {
    const struct morsel_window *win = &a->window;
    const int32_t *start = g->start + c % MORSEL_GROUP;
    uint32_t quads = (win->kernel_h + 3) / 4;
    const int8_t *w = a->weights + (size_t)(c / 16) * win->kernel_w * quads * 64;
    struct morsel_sum16 s = {vld1q_s32(start), vld1q_s32(start + 4), vld1q_s32(start + 8), vld1q_s32(start + 12)};
    for (uint32_t kx = 0; kx < win->kernel_w; kx++)
        for (uint32_t q = 0; q < quads; q++, w += 64)
            add_column(&s, load_quad(a, rows, q * 4, ox * win->stride_w + kx * win->dilation_w - win->pad_left, c), w);
    if (g->finish.mode == MORSEL_FINISH_RAW) {
        int32_t raw[16];
        vst1q_s32(raw, s.s0), vst1q_s32(raw + 4, s.s1), vst1q_s32(raw + 8, s.s2), vst1q_s32(raw + 12, s.s3);
        morsel_store_raw(&a->y, &a->channels, raw, c, n, at + c);
        return;
    }
    const float *m = g->multiplier + c % MORSEL_GROUP, *o = g->offset + c % MORSEL_GROUP;
    morsel_store_part((uint8_t *)a->y.data + at + c, morsel_finish16(s, m, o, &g->finish, g->finish.mode), n);
}

static void run_any(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t c, uint32_t end,
                    const struct morsel_group *g) {
    const struct morsel_window *win = &a->window;
    for (; c < end; c += 16) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t ox = 0; ox < win->out_w; ox++) {
                size_t at = ((size_t)(y + i) * win->out_w + ox) * win->out_c;
                any_pixel(a, rows + (size_t)i * win->kernel_h, ox, at, c, end - c < 16 ? end - c : 16, g);
            }
        }
    }
}

static int is_three(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_w == 1 && (w->stride_w == 1 || w->stride_w == 2) && a->x.code.flip == 0x80;
}

void morsel_depthwise_rows_dotprod(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *win = &a->window;
    struct morsel_group g;
    uint32_t quads = win->kernel_w * ((win->kernel_h + 3) / 4);
    if (a->channels.weight_zero) {
        morsel_depthwise_rows_c(a, rows, y, n);
        return;
    }
    for (uint32_t c = 0; c < win->out_c; c += MORSEL_GROUP) {
        uint32_t left = win->out_c - c, count = left < MORSEL_GROUP ? left : MORSEL_GROUP, whole = 0;
        const int8_t *w = a->weights + (size_t)(c / 16) * quads * 64;
        morsel_group_prepare(&g, &a->channels, &a->x, &a->y, w, c, (count + 15) / 16, quads, n * win->out_w);
        if (is_three(a) && g.finish.mode != MORSEL_FINISH_RAW) whole = count / 16;
        if (whole) run_three(a, rows, y, n, c, &g, whole);
        run_any(a, rows, y, n, c + whole * 16, c + count, &g);
    }
}
