/* SPDX-License-Identifier: MIT */
/*
 * Tiles of few inputs with SDOT: the weights of eight channels stay in registers while the pixels pass.
 */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline)) /* registers are given out for one loop at a time */
#define QUADS 8u                           /* four inputs each, at most */
#define AT_ONCE 32u                        /* tiles whose inputs and results stay in the nearest cache from channels to channels */

/* Eight channels over `pixels` pixels. */
struct lines {
    const int8_t *weights; /* [quads][16][4] at the first of the eight channels */
    const int32_t *start;
    const float *multiplier, *offset;
    const uint8_t *x;
    uint8_t *y;
    size_t x_step, y_step; /* from pixel to pixel */
    uint32_t pixels;       /* even */
    const struct morsel_requant *requant;
};

/* What all pixels share. */
struct kept {
    int8x16_t w[2 * QUADS];
    struct morsel_requant8 requant;
};

/* In asm, and volatile, for the order: a pixel's sums must not wait for another's. */
#define DOT8(w, i, x, lane) \
    __asm__ volatile("sdot %0.4s, %2.16b, %4.4b[" #lane "]\n\tsdot %1.4s, %3.16b, %4.4b[" #lane "]" \
                     : "+w"(s.s0), "+w"(s.s1) \
                     : "w"((w)[2 * (i)]), "w"((w)[2 * (i) + 1]), "w"(x))
#define LOAD(v, width, x, at) __asm__ volatile("ldr %" width "0, [%1, #" #at "]" : "=w"(v) : "r"(x), "m"(*(const uint8_t(*)[64])(x)))

INLINE void pixel(uint8_t *y, const struct kept *k, const uint8_t *x, const int32_t *start, const float *o, uint32_t quads, uint32_t mode) {
    struct morsel_sum8 s;
    int8x16_t x0, x1 = vdupq_n_s8(0);
    MORSEL_LOAD_PAIR(s.s0, s.s1, start, 0);
    LOAD(x0, "q", x, 0);
    if (quads == 6) LOAD(x1, "d", x, 16);
    if (quads == 7) LOAD(x1, "q", x, 12); /* no byte behind the pixel */
    if (quads == 8) LOAD(x1, "q", x, 16);
    DOT8(k->w, 0, x0, 0);
    DOT8(k->w, 1, x0, 1);
    DOT8(k->w, 2, x0, 2);
    DOT8(k->w, 3, x0, 3);
    if (quads == 7) {
        DOT8(k->w, 4, x1, 1);
        DOT8(k->w, 5, x1, 2);
        DOT8(k->w, 6, x1, 3);
    } else if (quads > 4) {
        DOT8(k->w, 4, x1, 0);
        DOT8(k->w, 5, x1, 1);
    }
    if (quads == 8) {
        DOT8(k->w, 6, x1, 2);
        DOT8(k->w, 7, x1, 3);
    }
    morsel_store8(y, s, &k->requant, o, mode);
}

INLINE void keep_quad(struct kept *k, const int8_t *w, uint32_t i, uint32_t quads) {
    if (i >= quads) return;
    k->w[2 * i] = vld1q_s8(w + 64 * i);
    k->w[2 * i + 1] = vld1q_s8(w + 64 * i + 16);
}

INLINE void run_lines(const struct lines *l, uint32_t quads, uint32_t mode) {
    struct kept k;
    const uint8_t *x = l->x;
    uint8_t *y = l->y;
    const int32_t *start = l->start;
    const float *o = l->offset;
    size_t x_step = l->x_step, y_step = l->y_step;
    keep_quad(&k, l->weights, 0, quads);
    keep_quad(&k, l->weights, 1, quads);
    keep_quad(&k, l->weights, 2, quads);
    keep_quad(&k, l->weights, 3, quads);
    keep_quad(&k, l->weights, 4, quads);
    keep_quad(&k, l->weights, 5, quads);
    keep_quad(&k, l->weights, 6, quads);
    keep_quad(&k, l->weights, 7, quads);
    k.requant = morsel_keep_requant8(l->requant, l->multiplier);
    for (uint32_t n = l->pixels; n; n -= 2, x += 2 * x_step, y += 2 * y_step) {
        pixel(y, &k, x, start, o, quads, mode);
        pixel(y + y_step, &k, x + x_step, start, o, quads, mode);
    }
}

static NOINLINE void relu_sixteen(const struct lines *l) {
    run_lines(l, 4, MORSEL_REQUANT_RELU);
}

static NOINLINE void relu_twentyfour(const struct lines *l) {
    run_lines(l, 6, MORSEL_REQUANT_RELU);
}

static NOINLINE void relu_twentyeight(const struct lines *l) {
    run_lines(l, 7, MORSEL_REQUANT_RELU);
}

static NOINLINE void relu_thirtytwo(const struct lines *l) {
    run_lines(l, 8, MORSEL_REQUANT_RELU);
}

static NOINLINE void shifted_sixteen(const struct lines *l) {
    run_lines(l, 4, MORSEL_REQUANT_SHIFTED);
}

static NOINLINE void shifted_twentyfour(const struct lines *l) {
    run_lines(l, 6, MORSEL_REQUANT_SHIFTED);
}

static NOINLINE void shifted_twentyeight(const struct lines *l) {
    run_lines(l, 7, MORSEL_REQUANT_SHIFTED);
}

static NOINLINE void shifted_thirtytwo(const struct lines *l) {
    run_lines(l, 8, MORSEL_REQUANT_SHIFTED);
}

static void run(const struct lines *l, uint32_t quads) {
    if (l->requant->mode == MORSEL_REQUANT_RELU) {
        if (quads == 4) relu_sixteen(l);
        else if (quads == 6) relu_twentyfour(l);
        else if (quads == 7) relu_twentyeight(l);
        else relu_thirtytwo(l);
        return;
    }
    if (quads == 4) shifted_sixteen(l);
    else if (quads == 6) shifted_twentyfour(l);
    else if (quads == 7) shifted_twentyeight(l);
    else shifted_thirtytwo(l);
}

uint32_t morsel_shallow_dotprod(const struct morsel_tile *t) {
    const struct morsel_span *span = t->span;
    uint32_t quads = t->depth / 4, mode = span->requant.mode, done = t->channels % 8 ? t->channels / 16 * 16 : t->channels;
    if (t->tiles < 2 || (quads != 4 && (quads < 6 || quads > 8)) || mode == MORSEL_REQUANT_RAW || mode == MORSEL_REQUANT_CLAMPED) return 0;
    struct lines l = {NULL, NULL, NULL, NULL, NULL, NULL, t->x_step / 4, t->y_step, 0, &span->requant};
    for (uint32_t i = 0; i < t->tiles; i += AT_ONCE) {
        l.pixels = (t->tiles - i < AT_ONCE ? t->tiles - i : AT_ONCE) * 4;
        for (uint32_t c = 0; c < done; c += 8) {
            l.weights = t->weights + (size_t)(c / 16) * quads * 64 + c % 16 * 4;
            l.start = span->start + c;
            l.multiplier = span->multiplier + c;
            l.offset = span->offset + c;
            l.x = t->x[0] + i * t->x_step;
            l.y = t->y + i * 4 * t->y_step + c;
            run(&l, quads);
        }
    }
    return done;
}
