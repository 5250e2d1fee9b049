/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution for any ARMv8: sixteen channels of one tap at a time. Products have 16 bits. Two taps are added there before they
 * go to 32, where the sizes of both weights add up to at most 255 (128 * 255 < 2^15). That is asked once for each block. Weights less
 * their zero points have 16 bits themselves.
 */
#include "arm64.h"

#define TAPS 64u /* taps of a window: 8 x 8 */

struct block {
    const struct morsel_conv_args *a;
    uint32_t c, n; /* channels c .. c + n, at most 16 */
    uint32_t taps;
    int pairs;
    int32_t start[16]; /* with zero points of weights: where sums begin, and the weights less those */
    union {
        int8_t w[TAPS][16];
        int16_t wide[TAPS][16];
    };
    int8_t padding[16];
    const uint8_t *x[TAPS];
    uint8_t partial[TAPS][16];
};

/* The weights by tap: row after row, as the inputs will come. */
static void prepare_block(struct block *b, const int8_t *w) {
    const struct morsel_window *win = &b->a->window;
    uint32_t quads = (win->kernel_h + 3) / 4;
    for (uint32_t kx = 0; kx < win->kernel_w; kx++) {
        for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
            const int8_t *from = w + (size_t)(kx * quads + ky / 4) * 64 + ky % 4;
            for (uint32_t o = 0; o < 16; o++) b->w[ky * win->kernel_w + kx][o] = from[4 * o];
        }
    }
    uint8x16_t most = vdupq_n_u8(0);
    for (uint32_t i = 0; i + 1 < b->taps; i += 2) {
        uint8x16_t w0 = vreinterpretq_u8_s8(vabsq_s8(vld1q_s8(b->w[i]))), w1 = vreinterpretq_u8_s8(vabsq_s8(vld1q_s8(b->w[i + 1])));
        most = vmaxq_u8(most, vcgtq_u8(w1, vmvnq_u8(w0))); /* w0 + w1 > 255 */
    }
    b->pairs = vmaxvq_u8(most) == 0;
}

/* The weights less their zero points, from the last one on: they take twice as many bytes. Those of rows that are missing are zero points,
 * and weight_sum has them too. */
static void take_zeros(struct block *b, const int32_t *start) {
    const struct morsel_conv_args *a = b->a;
    const int32_t shift = 128 - a->x.qparams.zero, stored = (int32_t)(a->window.kernel_w * ((a->window.kernel_h + 3) / 4) * 4);
    const int32_t *zero = a->channels.weight_zero + b->c;
    for (uint32_t o = 0; o < 16; o++) b->start[o] = (int32_t)((uint32_t)start[o] - (uint32_t)(shift * stored * zero[o]));
    for (uint32_t i = b->taps * 16; i--;) {
        const int8_t w = b->w[i / 16][i % 16];
        b->wide[i / 16][i % 16] = (int16_t)(w - zero[i % 16]);
    }
    b->pairs = 0;
}

/* The addresses of a pixel's taps; a block that reaches past the end of its row is copied. */
static void find_taps(struct block *b, const uint8_t *const *rows, uint32_t ox) {
    const struct morsel_window *win = &b->a->window;
    uint32_t i = 0;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        uint32_t ix = ox * win->stride_w - win->pad_left;
        for (uint32_t kx = 0; kx < win->kernel_w; kx++, ix += win->dilation_w, i++) {
            size_t at = (size_t)ix * win->in_c + b->c;
            b->x[i] = (const uint8_t *)b->padding;
            if (ix >= win->in_w) continue;
            b->x[i] = rows[ky] + at;
            if (at + 16 <= win->in_row) continue;
            memcpy(b->partial[i], rows[ky] + at, b->n);
            b->x[i] = b->partial[i];
        }
    }
}

static inline void widen(struct morsel_sum16 *s, int16x8_t lo, int16x8_t hi) {
    s->s0 = vaddw_s16(s->s0, vget_low_s16(lo));
    s->s1 = vaddw_high_s16(s->s1, lo);
    s->s2 = vaddw_s16(s->s2, vget_low_s16(hi));
    s->s3 = vaddw_high_s16(s->s3, hi);
}

static inline struct morsel_sum16 sum_taps(const struct block *b, const int32_t *start, uint8x16_t flip) {
    struct morsel_sum16 s = morsel_load_start(start);
    for (uint32_t i = 0; i < b->taps; i++) {
        int8x16_t x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(b->x[i]), flip)), w = vld1q_s8(b->w[i]);
        int16x8_t lo = vmull_s8(vget_low_s8(x), vget_low_s8(w)), hi = vmull_high_s8(x, w);
        if (b->pairs && i + 1 < b->taps) {
            i++;
            x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(b->x[i]), flip)), w = vld1q_s8(b->w[i]);
            lo = vmlal_s8(lo, vget_low_s8(x), vget_low_s8(w));
            hi = vmlal_high_s8(hi, x, w);
        }
        widen(&s, lo, hi);
    }
    return s;
}

static inline struct morsel_sum16 sum_wide_taps(const struct block *b, uint8x16_t flip) {
    struct morsel_sum16 s = morsel_load_start(b->start);
    for (uint32_t i = 0; i < b->taps; i++) {
        int8x16_t x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(b->x[i]), flip));
        int16x8_t lo = vmovl_s8(vget_low_s8(x)), hi = vmovl_high_s8(x), w0 = vld1q_s16(b->wide[i]), w1 = vld1q_s16(b->wide[i] + 8);
        s.s0 = vmlal_s16(s.s0, vget_low_s16(lo), vget_low_s16(w0));
        s.s1 = vmlal_high_s16(s.s1, lo, w0);
        s.s2 = vmlal_s16(s.s2, vget_low_s16(hi), vget_low_s16(w1));
        s.s3 = vmlal_high_s16(s.s3, hi, w1);
    }
    return s;
}

static void put(const struct block *b, struct morsel_sum16 s, const struct morsel_span *span, size_t at) {
    const struct morsel_conv_args *a = b->a;
    const float *m = span->multiplier + b->c % MORSEL_SPAN, *o = span->offset + b->c % MORSEL_SPAN;
    if (span->requant.mode == MORSEL_REQUANT_RAW) {
        morsel_store_raw(&a->y, &a->channels, s, b->c, b->n, at + b->c);
        return;
    }
    morsel_store_part((uint8_t *)a->y.data + at + b->c, morsel_requant16(s, m, o, &span->requant, span->requant.mode), b->n);
}

/* Two taps more. */
static inline void add_pair(struct morsel_sum16 *s, const uint8_t *a, const uint8_t *b, const int8_t (*w)[16], uint8x16_t flip) {
    int8x16_t x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(a), flip)), z = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(b), flip));
    int8x16_t w0 = vld1q_s8(w[0]), w1 = vld1q_s8(w[1]);
    int16x8_t lo = vmlal_s8(vmull_s8(vget_low_s8(x), vget_low_s8(w0)), vget_low_s8(z), vget_low_s8(w1));
    widen(s, lo, vmlal_high_s8(vmull_high_s8(x, w0), z, w1));
}

/* Windows 3x3 that lie inside their rows: pixels ox .. end. `relu` is a constant: then the results stand among the products. */
static inline __attribute__((always_inline)) void inside(const struct block *b, const uint8_t *const *rows, uint32_t ox, uint32_t end,
                                                         const struct morsel_span *span, size_t at, int relu) {
    const struct morsel_window *win = &b->a->window;
    const size_t c = win->in_c, step = (size_t)win->stride_w * c, from = (size_t)(ox * win->stride_w - win->pad_left) * c + b->c;
    const uint8_t *p = rows[0] + from, *q = rows[1] + from, *r = rows[2] + from;
    const int32_t *start = span->start + b->c % MORSEL_SPAN;
    const float *m = span->multiplier + b->c % MORSEL_SPAN, *o = span->offset + b->c % MORSEL_SPAN;
    const size_t y_step = win->out_c;
    const float32x4_t round = vdupq_n_f32(span->requant.round);
    int8_t *y = relu ? (int8_t *)b->a->y.data + at + b->c : NULL;
    uint8x16_t flip = vdupq_n_u8((uint8_t)(b->a->x.qparams.sign_flip ^ 0x80));
    for (; ox < end; ox++, p += step, q += step, r += step) {
        struct morsel_sum16 s = morsel_load_start(start);
        add_pair(&s, p, p + c, &b->w[0], flip);
        add_pair(&s, p + 2 * c, q, &b->w[2], flip);
        add_pair(&s, q + c, q + 2 * c, &b->w[4], flip);
        add_pair(&s, r, r + c, &b->w[6], flip);
        int8x16_t x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(r + 2 * c), flip)), w = vld1q_s8(b->w[8]);
        widen(&s, vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_high_s8(x, w));
        if (relu) vst1q_s8(y + ox * y_step, morsel_requant_relu(s, m, o, round));
        else put(b, s, span, at + ox * y_step);
    }
}

static void run_inside(const struct block *b, const uint8_t *const *rows, uint32_t ox, uint32_t end, const struct morsel_span *span,
                       size_t at) {
    if (span->requant.mode == MORSEL_REQUANT_RELU && b->n == 16) inside(b, rows, ox, end, span, at, 1);
    else inside(b, rows, ox, end, span, at, 0);
}

/* Pixels first .. last of a row lie inside, and can be read sixteen bytes at a time. */
static void find_inside(const struct block *b, uint32_t *first, uint32_t *last) {
    const struct morsel_window *win = &b->a->window;
    uint32_t spare = b->n < 16 ? 3 : 2; /* columns that the window needs; a short block reads into the next pixel */
    *first = *last = 0;
    if (b->taps != 9 || win->kernel_h != 3 || win->dilation_w != 1 || !b->pairs || (b->n < 16 && win->in_c < 16)) return;
    *first = (win->pad_left + win->stride_w - 1) / win->stride_w;
    if (win->in_w + win->pad_left > spare) *last = (win->in_w + win->pad_left - spare - 1) / win->stride_w + 1;
    if (*last > win->out_w) *last = win->out_w;
}

static void run_block(struct block *b, const uint8_t *const *rows, uint32_t y, uint32_t n, const struct morsel_span *span) {
    const struct morsel_window *win = &b->a->window;
    uint8x16_t flip = vdupq_n_u8((uint8_t)(b->a->x.qparams.sign_flip ^ 0x80));
    uint32_t first, last;
    find_inside(b, &first, &last);
    memset(b->padding, (int)((uint32_t)b->a->x.qparams.zero ^ b->a->x.qparams.sign_flip), 16);
    for (uint32_t i = 0; i < n; i++, rows += win->kernel_h) {
        size_t at = (size_t)(y + i) * win->out_w * win->out_c;
        for (uint32_t ox = 0; ox < win->out_w; ox++) {
            if (ox == first && first < last) {
                run_inside(b, rows, ox, last, span, at);
                ox = last;
            }
            if (ox == win->out_w) break;
            find_taps(b, rows, ox);
            struct morsel_sum16 s =
                b->a->channels.weight_zero ? sum_wide_taps(b, flip) : sum_taps(b, span->start + b->c % MORSEL_SPAN, flip);
            put(b, s, span, at + (size_t)ox * win->out_c);
        }
    }
}

const char *morsel_depthwise_refusal_neon(const void *args) {
    const struct morsel_conv_args *a = args;
    return a->window.kernel_h * a->window.kernel_w > TAPS ? MORSEL_REFUSES_WINDOW : NULL;
}

void morsel_depthwise_channels_neon(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t begin,
                                    uint32_t end) {
    const struct morsel_window *win = &a->window;
    uint32_t quads = win->kernel_w * ((win->kernel_h + 3) / 4);
    struct morsel_span span;
    struct block b;
    b.a = a;
    b.taps = win->kernel_h * win->kernel_w;
    memset(b.partial, 0, sizeof b.partial);
    for (b.c = begin; b.c < end; b.c += 16) {
        const int8_t *w = a->weights + (size_t)(b.c / 16) * quads * 64;
        uint32_t first = b.c / MORSEL_SPAN * MORSEL_SPAN, left = win->out_c - first;
        uint32_t blocks = ((left < MORSEL_SPAN ? left : MORSEL_SPAN) + 15) / 16;
        if (b.c == begin || b.c == first) morsel_span_prepare(&span, &a->channels, &a->x, &a->y, first, blocks);
        b.n = win->out_c - b.c < 16 ? win->out_c - b.c : 16;
        prepare_block(&b, w);
        if (a->channels.weight_zero) take_zeros(&b, span.start + b.c % MORSEL_SPAN);
        run_block(&b, rows, y, n, &span);
    }
}

void morsel_depthwise_rows_neon(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (morsel_depthwise_refusal_neon(a)) morsel_depthwise_rows_c(a, rows, y, n);
    else morsel_depthwise_channels_neon(a, rows, y, n, 0, a->window.out_c);
}
