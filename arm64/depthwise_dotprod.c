/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution with SDOT. Four rows of one column are zipped into (channel, row 0..3) vectors: one dot product then does a column
 * of taps for four channels. For windows 3x3, eight channels at a time, the taps stay in registers, and so do columns while they pass under
 * the three tap columns. With stride 1 one column serves two output rows, the lower with its taps moved one row down.
 */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline)) /* registers are given out for one loop at a time */
#define NEAR 32768u                        /* bytes of input and output that stay in the nearest cache from channels to channels */
#define FAR 262144u                        /* bytes of a picture that comes from memory: it had better come a little at a time */

/* ---- windows 3x3 ---- */

/* Some output rows of eight channels. Handed on by value: what a loop needs stays in registers, whatever the stores may alias. */
struct band {
    const uint8_t *const *rows; /* of the first output row */
    const int8_t *taps;         /* [kx][16][4] at the first of the eight channels */
    const int32_t *start;
    const float *multiplier, *offset;
    uint8_t *y;
    const struct morsel_requant *requant;
    size_t c, in_c, out_c, out_row;
    uint32_t n;                  /* rows; even where they go in pairs */
    uint32_t in_w, out_w, first; /* first: the first column, huge where it is left of the picture */
    int8_t zero;
};

/* Four rows of a column, zipped. */
struct column {
    int8x16_t v0, v1;
};

/* Four rows of the picture at the band's channels; results of one row or two. */
struct strip {
    const uint8_t *r0, *r1, *r2, *r3;
    uint8_t *y0, *y1;
    size_t in_c, out_c;
};

/* What stays in registers. The second output row's taps lie one row lower; the fourth row of a column has weight 0 in the first. */
struct kept {
    struct column upper[3], lower[3];
    struct morsel_requant8 requant;
};

/* How a band is computed; a constant wherever it is passed. */
struct kind {
    uint32_t mode;
    int two; /* two output rows at a time, stride 1 */
};

/* In asm, and into the registers of a column that is no longer needed. The compiler would copy columns about as they move from tap to
 * tap. */
INLINE void load_inside(struct column *r, const struct strip *s, uint32_t ix) {
    size_t at = ix * s->in_c;
    int8x8_t a = vld1_s8((const int8_t *)s->r0 + at), b = vld1_s8((const int8_t *)s->r1 + at), c = vld1_s8((const int8_t *)s->r2 + at);
    int8x8_t d = vld1_s8((const int8_t *)s->r3 + at);
    __asm__("zip1 %1.16b, %2.16b, %3.16b\n\tzip1 %2.16b, %4.16b, %5.16b\n\t"
            "zip1 %0.8h, %1.8h, %2.8h\n\tzip2 %1.8h, %1.8h, %2.8h"
            : "=&w"(r->v0), "=&w"(r->v1), "+&w"(a)
            : "w"(b), "w"(c), "w"(d));
}

INLINE struct column load_column(const struct strip *s, const struct band *b, uint32_t ix) {
    struct column r = {vdupq_n_s8(b->zero), vdupq_n_s8(b->zero)};
    if (ix < b->in_w) load_inside(&r, s, ix);
    return r;
}

INLINE void three_columns(uint8_t *y, const struct column *taps, struct column a, struct column b, struct column c, const int32_t *start,
                          const float *o, const struct morsel_requant8 *requant, uint32_t mode) {
    struct morsel_sum8 sum;
    MORSEL_LOAD_PAIR(sum.s0, sum.s1, start, 0);
    __asm__ volatile("sdot %0.4s, %2.16b, %4.16b\n\tsdot %1.4s, %3.16b, %5.16b\n\t"
                     "sdot %0.4s, %6.16b, %8.16b\n\tsdot %1.4s, %7.16b, %9.16b\n\t"
                     "sdot %0.4s, %10.16b, %12.16b\n\tsdot %1.4s, %11.16b, %13.16b"
                     : "+w"(sum.s0), "+w"(sum.s1)
                     : "w"(a.v0), "w"(a.v1), "w"(taps[0].v0), "w"(taps[0].v1), "w"(b.v0), "w"(b.v1), "w"(taps[1].v0), "w"(taps[1].v1),
                       "w"(c.v0), "w"(c.v1), "w"(taps[2].v0), "w"(taps[2].v1));
    morsel_store8(y, sum, requant, o, mode);
}

/* Pixel ox of the strip. */
INLINE void put_pixels(const struct strip *s, const struct band *band, const struct kept *k, uint32_t ox, struct column a, struct column b,
                       struct column c, struct kind kind) {
    size_t at = ox * s->out_c;
    three_columns(s->y0 + at, k->upper, a, b, c, band->start, band->offset, &k->requant, kind.mode);
    if (kind.two) three_columns(s->y1 + at, k->lower, a, b, c, band->start, band->offset, &k->requant, kind.mode);
}

/* How often so many columns from the one `ix` on, which is huge left of the picture, are inside and make so many pixels. */
INLINE uint32_t turns_of(const struct band *band, uint32_t ix, uint32_t columns, uint32_t pixels) {
    const uint32_t in = ix < band->in_w ? (band->in_w - ix) / columns : 0, out = band->out_w / pixels;
    return in < out ? in : out;
}

/* Stride 1: each new column is the third of one pixel, the second of the next, the first of the one after. Three pixels a turn; a single
 * row, which is the last of few, copies columns instead. */
INLINE void strip_one(struct strip s, const struct band *band, const struct kept *k, struct kind kind) {
    uint32_t ix = band->first, ox = 0, out_w = band->out_w;
    struct column a = load_column(&s, band, ix), b = load_column(&s, band, ix + 1), c = a;
    ix += 2;
    for (uint32_t turns = kind.two ? turns_of(band, ix, 3, 3) : 0; turns; turns--, ix += 3, ox += 3) {
        load_inside(&c, &s, ix);
        put_pixels(&s, band, k, ox, a, b, c, kind);
        load_inside(&a, &s, ix + 1);
        put_pixels(&s, band, k, ox + 1, b, c, a, kind);
        load_inside(&b, &s, ix + 2);
        put_pixels(&s, band, k, ox + 2, c, a, b, kind);
    }
    for (; ox < out_w; ox++, ix++) {
        c = load_column(&s, band, ix);
        put_pixels(&s, band, k, ox, a, b, c, kind);
        a = b;
        b = c;
    }
}

/* Stride 2: the third column is the first of the next pixel. */
INLINE void strip_two(struct strip s, const struct band *band, const struct kept *k, struct kind kind) {
    uint32_t ix = band->first, ox = 0, out_w = band->out_w;
    struct column a = load_column(&s, band, ix), b = a, c = a;
    ix += 1;
    for (uint32_t turns = turns_of(band, ix, 4, 2); turns; turns--, ix += 4, ox += 2) {
        load_inside(&b, &s, ix);
        load_inside(&c, &s, ix + 1);
        put_pixels(&s, band, k, ox, a, b, c, kind);
        load_inside(&b, &s, ix + 2);
        load_inside(&a, &s, ix + 3);
        put_pixels(&s, band, k, ox + 1, c, b, a, kind);
    }
    for (; ox < out_w; ox++, ix += 2) {
        b = load_column(&s, band, ix);
        c = load_column(&s, band, ix + 1);
        put_pixels(&s, band, k, ox, a, b, c, kind);
        a = c;
    }
}

INLINE void keep_taps(struct kept *k, const int8_t *w, uint32_t kx) {
    int8x16_t v0 = vld1q_s8(w + 64 * kx), v1 = vld1q_s8(w + 64 * kx + 16);
    k->upper[kx].v0 = v0;
    k->upper[kx].v1 = v1;
    k->lower[kx].v0 = vreinterpretq_s8_s32(vshlq_n_s32(vreinterpretq_s32_s8(v0), 8));
    k->lower[kx].v1 = vreinterpretq_s8_s32(vshlq_n_s32(vreinterpretq_s32_s8(v1), 8));
}

INLINE void run_band(struct band band, struct kind kind, uint32_t stride) {
    struct kept k;
    uint32_t step = kind.two ? 2 : 1;
    keep_taps(&k, band.taps, 0);
    keep_taps(&k, band.taps, 1);
    keep_taps(&k, band.taps, 2);
    k.requant = morsel_keep_requant8(band.requant, band.multiplier);
    for (; band.n; band.n -= step, band.rows += 3 * step, band.y += step * band.out_row) {
        const uint8_t *r2 = band.rows[2] + band.c;
        struct strip s = {band.rows[0] + band.c,
                          band.rows[1] + band.c,
                          r2,
                          kind.two ? band.rows[5] + band.c : r2,
                          band.y,
                          band.y + band.out_row,
                          band.in_c,
                          band.out_c};
        if (stride == 2) strip_two(s, &band, &k, kind);
        else strip_one(s, &band, &k, kind);
    }
}

static NOINLINE void pairs_relu(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_RELU, 1};
    run_band(*b, kind, 1);
}

static NOINLINE void pairs_shifted(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_SHIFTED, 1};
    run_band(*b, kind, 1);
}

static NOINLINE void pairs_clamped(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_CLAMPED, 1};
    run_band(*b, kind, 1);
}

static NOINLINE void single_relu(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_RELU, 0};
    run_band(*b, kind, 1);
}

static NOINLINE void single_shifted(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_SHIFTED, 0};
    run_band(*b, kind, 1);
}

static NOINLINE void single_clamped(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_CLAMPED, 0};
    run_band(*b, kind, 1);
}

static NOINLINE void strided_relu(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_RELU, 0};
    run_band(*b, kind, 2);
}

static NOINLINE void strided_shifted(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_SHIFTED, 0};
    run_band(*b, kind, 2);
}

static NOINLINE void strided_clamped(const struct band *b) {
    struct kind kind = {MORSEL_REQUANT_CLAMPED, 0};
    run_band(*b, kind, 2);
}

static void pairs_of_rows(const struct band *b) {
    if (b->requant->mode == MORSEL_REQUANT_RELU) pairs_relu(b);
    else if (b->requant->mode == MORSEL_REQUANT_CLAMPED) pairs_clamped(b);
    else pairs_shifted(b);
}

static void single_rows(const struct band *b, uint32_t stride) {
    uint32_t mode = b->requant->mode;
    if (mode == MORSEL_REQUANT_RELU) stride == 2 ? strided_relu(b) : single_relu(b);
    else if (mode == MORSEL_REQUANT_CLAMPED) stride == 2 ? strided_clamped(b) : single_clamped(b);
    else stride == 2 ? strided_shifted(b) : single_shifted(b);
}

/* Channels begin .. end of a span, in eights, for windows 3x3 with stride 1 or 2. */
static void run_three(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t begin, uint32_t end,
                      const struct morsel_span *span) {
    const struct morsel_window *win = &a->window;
    int two = win->stride_h == 1 && win->stride_w == 1 && win->dilation_h == 1;
    size_t out_row = (size_t)win->out_w * win->out_c;
    uint32_t most = NEAR / (64 * (win->in_w + win->out_w)) / 2 * 2, left;
    struct band b = {NULL,      NULL,       NULL,    NULL, NULL,      NULL,       &span->requant,    0,
                     win->in_c, win->out_c, out_row, 0,    win->in_w, win->out_w, 0 - win->pad_left, (int8_t)(a->x.qparams.zero - 128)};
    if (most < 2 || (size_t)win->in_row * win->in_h > FAR) most = two ? 2 : 1;
    for (uint32_t i = 0; i < n; i += left) {
        left = n - i < most ? n - i : most;
        for (uint32_t c = begin, pairs = two ? left / 2 * 2 : 0; c < end; c += 8) {
            const uint32_t at = c % MORSEL_SPAN;
            b.c = c;
            b.rows = rows + (size_t)i * 3;
            b.taps = a->weights + b.c / 16 * 192 + b.c % 16 * 4;
            b.start = span->start + at;
            b.multiplier = span->multiplier + at;
            b.offset = span->offset + at;
            b.y = (uint8_t *)a->y.data + (y + i) * out_row + b.c;
            b.n = pairs;
            if (pairs) pairs_of_rows(&b);
            b.rows += (size_t)pairs * 3;
            b.y += pairs * out_row;
            b.n = left - pairs;
            if (b.n) single_rows(&b, win->stride_w);
        }
    }
}

/* ---- any window ---- */

struct wide_column {
    int8x16_t v0, v1, v2, v3;
};

static inline __attribute__((always_inline)) void zip_rows(struct wide_column *r, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d) {
    __asm__("zip1 %0.16b, %4.16b, %5.16b\n\tzip2 %1.16b, %4.16b, %5.16b\n\t"
            "zip1 %4.16b, %6.16b, %7.16b\n\tzip2 %5.16b, %6.16b, %7.16b\n\t"
            "zip1 %2.8h, %1.8h, %5.8h\n\tzip2 %3.8h, %1.8h, %5.8h\n\t"
            "zip2 %1.8h, %0.8h, %4.8h\n\tzip1 %0.8h, %0.8h, %4.8h"
            : "=&w"(r->v0), "=&w"(r->v1), "=&w"(r->v2), "=&w"(r->v3), "+&w"(a), "+&w"(b)
            : "w"(c), "w"(d));
}

/* In asm, and volatile, for the order alone: the compiler would keep all the taps in registers that it has not. */
static inline __attribute__((always_inline)) void add_column(struct morsel_sum16 *s, struct wide_column x, const int8_t *w) {
    int8x16_t w0, w1, w2, w3;
    MORSEL_LOAD_PAIR(w0, w1, w, 0);
    MORSEL_LOAD_PAIR(w2, w3, w, 32);
    __asm__ volatile("sdot %0.4s, %4.16b, %8.16b\n\tsdot %1.4s, %5.16b, %9.16b\n\t"
                     "sdot %2.4s, %6.16b, %10.16b\n\tsdot %3.4s, %7.16b, %11.16b"
                     : "+w"(s->s0), "+w"(s->s1), "+w"(s->s2), "+w"(s->s3)
                     : "w"(w0), "w"(w1), "w"(w2), "w"(w3), "w"(x.v0), "w"(x.v1), "w"(x.v2), "w"(x.v3));
}

/* Sixteen bytes of a row in the signed domain; those past the row's end are 0. */
static inline int8x16_t load_row(const uint8_t *row, size_t at, size_t bytes, uint8x16_t flip) {
    uint8_t part[16] = {0};
    if (at + 16 <= bytes) return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(row + at), flip));
    memcpy(part, row + at, bytes - at);
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(part), flip));
}

/* Tap rows ky .. ky + 3 of input column ix; rows that the window has not have weights of 0. */
static struct wide_column load_quad(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ky, uint32_t ix, uint32_t c) {
    const struct morsel_window *win = &a->window;
    int8x16_t v[4];
    uint32_t left = win->kernel_h - ky;
    for (uint32_t i = 0; i < 4; i++) {
        if (ix >= win->in_w) v[i] = vdupq_n_s8((int8_t)(a->x.qparams.zero - 128));
        else if (i >= left) v[i] = vdupq_n_s8(0);
        else v[i] = load_row(rows[ky + i], (size_t)ix * win->in_c + c, win->in_row, vdupq_n_u8((uint8_t)(a->x.qparams.sign_flip ^ 0x80)));
    }
    struct wide_column r;
    zip_rows(&r, v[0], v[1], v[2], v[3]);
    return r;
}

/* The sums of sixteen whole channels at c, stored signed, for a window whose first column is `left`; left of the picture it is huge. */
INLINE void add_whole(struct morsel_sum16 *s, const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t left, uint32_t c,
                      const int8_t *w) {
    const struct morsel_window *win = &a->window;
    uint32_t in_w = win->in_w, dilation = win->dilation_w;
    ptrdiff_t first = (ptrdiff_t)(int32_t)left * (ptrdiff_t)win->in_c + (ptrdiff_t)c, step = (ptrdiff_t)dilation * (ptrdiff_t)win->in_c;
    int8x16_t zero = vdupq_n_s8((int8_t)(a->x.qparams.zero - 128));
    size_t quads = (win->kernel_h + 3) / 4;
    for (uint32_t ky = 0; ky < win->kernel_h; ky += 4, w += 64) {
        uint32_t last = win->kernel_h - 1 - ky; /* rows that the window has not have weights of 0 */
        const int8_t *r0 = (const int8_t *)rows[ky], *r1 = (const int8_t *)rows[ky + (last < 1 ? last : 1)];
        const int8_t *r2 = (const int8_t *)rows[ky + (last < 2 ? last : 2)], *r3 = (const int8_t *)rows[ky + (last < 3 ? last : 3)];
        const int8_t *tap = w;
        ptrdiff_t at = first;
        for (uint32_t ix = left, kx = win->kernel_w; kx; kx--, ix += dilation, at += step, tap += 64 * quads) {
            struct wide_column x = {zero, zero, zero, zero};
            if (ix < in_w) zip_rows(&x, vld1q_s8(r0 + at), vld1q_s8(r1 + at), vld1q_s8(r2 + at), vld1q_s8(r3 + at));
            add_column(s, x, tap);
        }
    }
}

/* Any window: one pixel of a block, n channels at c. */
static void any_pixel(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, size_t at, uint32_t c, uint32_t n,
                      const struct morsel_span *span) {
    const struct morsel_window *win = &a->window;
    const int32_t *start = span->start + c % MORSEL_SPAN;
    uint32_t quads = (win->kernel_h + 3) / 4;
    const int8_t *w = a->weights + (size_t)(c / 16) * win->kernel_w * quads * 64;
    struct morsel_sum16 s = {vld1q_s32(start), vld1q_s32(start + 4), vld1q_s32(start + 8), vld1q_s32(start + 12)};
    uint32_t left = ox * win->stride_w - win->pad_left;
    int whole = n == 16 && a->x.qparams.sign_flip == 0x80;
    if (whole) add_whole(&s, a, rows, left, c, w);
    for (uint32_t kx = 0; kx < win->kernel_w && !whole; kx++)
        for (uint32_t q = 0; q < quads; q++, w += 64) add_column(&s, load_quad(a, rows, q * 4, left + kx * win->dilation_w, c), w);
    if (span->requant.mode == MORSEL_REQUANT_RAW) {
        morsel_store_raw(&a->y, &a->channels, s, c, n, at + c);
        return;
    }
    const float *m = span->multiplier + c % MORSEL_SPAN, *o = span->offset + c % MORSEL_SPAN;
    morsel_store_part((uint8_t *)a->y.data + at + c, morsel_requant16(s, m, o, &span->requant, span->requant.mode), n);
}

static void run_any(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t c, uint32_t end,
                    const struct morsel_span *span) {
    const struct morsel_window *win = &a->window;
    for (; c < end; c += 16) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t ox = 0; ox < win->out_w; ox++) {
                size_t at = ((size_t)(y + i) * win->out_w + ox) * win->out_c;
                any_pixel(a, rows + (size_t)i * win->kernel_h, ox, at, c, end - c < 16 ? end - c : 16, span);
            }
        }
    }
}

static int is_three(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_w == 1 && (w->stride_w == 1 || w->stride_w == 2) &&
           a->x.qparams.sign_flip == 0x80;
}

const char *morsel_depthwise_refusal_dotprod(const void *args) {
    const struct morsel_conv_args *a = args;
    return a->channels.weight_zero ? morsel_depthwise_refusal_neon(args) : NULL;
}

/* Whether any of sixteen channels' weights have a zero point. */
static int has_zero(const struct morsel_conv_args *a, uint32_t c) {
    const int32_t *zero = a->channels.weight_zero;
    int32_t any = 0;
    for (uint32_t i = 0; zero && i < 16; i++) any |= zero[c + i];
    return any != 0;
}

/* Channels begin .. end of those from `first` on, which are a span. Their weights have no zero points. */
static __attribute__((noinline)) void run_channels(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n,
                                                   uint32_t begin, uint32_t end, uint32_t first) {
    uint32_t count = end - begin, whole = 0, left = a->window.out_c - first;
    struct morsel_span span;
    morsel_span_prepare(&span, &a->channels, &a->x, &a->y, first, ((left < MORSEL_SPAN ? left : MORSEL_SPAN) + 15) / 16);
    if (is_three(a) && span.requant.mode != MORSEL_REQUANT_RAW) whole = count % 8 ? count / 16 * 16 : count;
    if (whole) run_three(a, rows, y, n, begin, begin + whole, &span);
    run_any(a, rows, y, n, begin + whole, end, &span);
}

void morsel_depthwise_rows_dotprod(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *win = &a->window;
    if (morsel_depthwise_refusal_dotprod(a)) {
        morsel_depthwise_rows_c(a, rows, y, n);
        return;
    }
    for (uint32_t c = 0, next; c < win->out_c; c = next) {
        uint32_t first = c / MORSEL_SPAN * MORSEL_SPAN, left = win->out_c - first, end = first + (left < MORSEL_SPAN ? left : MORSEL_SPAN);
        int zero = has_zero(a, c);
        for (next = c + 16; next < end && has_zero(a, next) == zero; next += 16) continue;
        if (next > end) next = end;
        if (zero) morsel_depthwise_channels_neon(a, rows, y, n, c, next);
        else run_channels(a, rows, y, n, c, next, first);
    }
}
