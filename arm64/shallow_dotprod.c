/* SPDX-License-Identifier: MIT */
/*
 * Tiles of few inputs with SDOT: the weights of eight channels stay in registers while the pixels pass. A pixel is one stretch of code
 * without a branch, so that the results of one are rounded beside the products of the next.
 */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))
#define QUADS 8u   /* four inputs each, at most */
#define AHEAD 32u  /* tiles whose inputs and results stay in the nearest cache from channels to channels */

struct eight {
    int32x4_t s0, s1;
};

/* Eight channels over `pixels` pixels. */
struct lines {
    const int8_t *weights; /* [quads][16][4] at the first of the eight channels */
    const int32_t *start;
    const float *multiplier, *offset;
    const uint8_t *x;
    uint8_t *y;
    size_t x_step, y_step; /* from pixel to pixel */
    uint32_t pixels;       /* even */
    float round;
    int32_t zero; /* 0 where it is in `round` */
};

/* What all pixels share. */
struct kept {
    int8x16_t w[2 * QUADS];
    float32x4_t m0, m1, round, magic;
    int16x8_t zero;
};

/* In asm, and volatile, for the order: a pixel's sums must not wait for another's. */
#define DOT8(w, i, x, lane) \
    __asm__ volatile("sdot %0.4s, %2.16b, %4.4b[" #lane "]\n\tsdot %1.4s, %3.16b, %4.4b[" #lane "]" \
                     : "+w"(s.s0), "+w"(s.s1) : "w"((w)[2 * (i)]), "w"((w)[2 * (i) + 1]), "w"(x))
#define LOAD(v, width, x, at) __asm__ volatile("ldr %" width "0, [%1, #" #at "]" : "=w"(v) : "r"(x), "m"(*(const uint8_t(*)[64])(x)))

INLINE int8x8_t finish8_relu(struct eight s, const struct kept *k, const float *o) {
    int32x4_t a, b;
    __asm__ volatile("ldp %q0, %q1, [%4]\n\t"
                     "fmla %0.4s, %2.4s, %5.4s\n\tfmla %1.4s, %3.4s, %6.4s\n\t"
                     "fadd %0.4s, %0.4s, %7.4s\n\tfadd %1.4s, %1.4s, %7.4s\n\t"
                     "uzp1 %0.8h, %0.8h, %1.8h\n\tsqxtn %0.8b, %0.8h"
                     : "=&w"(a), "=&w"(b)
                     : "w"(s.s0), "w"(s.s1), "r"(o), "w"(k->m0), "w"(k->m1), "w"(k->round), "m"(*(const float(*)[8])(const void *)o));
    return vget_low_s8(vreinterpretq_s8_s32(a));
}

INLINE int8x8_t finish8(struct eight s, const struct kept *k, const float *o, int relu) {
    if (relu) return finish8_relu(s, k, o);
    float32x4_t a = vmulq_f32(vsubq_f32(vreinterpretq_f32_s32(s.s0), k->magic), k->m0);
    float32x4_t b = vmulq_f32(vsubq_f32(vreinterpretq_f32_s32(s.s1), k->magic), k->m1);
    return vqmovn_s16(vaddq_s16(morsel_low_halves(vaddq_f32(a, k->round), vaddq_f32(b, k->round)), k->zero));
}

INLINE int8x8_t pixel(const struct kept *k, const uint8_t *x, const int32_t *start, const float *o, uint32_t quads, int relu) {
    struct eight s;
    int8x16_t x0, x1 = vdupq_n_s8(0);
    MORSEL_LOAD_PAIR(s.s0, s.s1, start, 0);
    LOAD(x0, "q", x, 0);
    if (quads == 6) LOAD(x1, "d", x, 16);
    if (quads > 6) LOAD(x1, "q", x, 16);
    DOT8(k->w, 0, x0, 0);
    DOT8(k->w, 1, x0, 1);
    DOT8(k->w, 2, x0, 2);
    DOT8(k->w, 3, x0, 3);
    if (quads > 4) DOT8(k->w, 4, x1, 0);
    if (quads > 5) DOT8(k->w, 5, x1, 1);
    if (quads > 6) DOT8(k->w, 6, x1, 2);
    if (quads > 7) DOT8(k->w, 7, x1, 3);
    return finish8(s, k, o, relu);
}

INLINE void keep_quad(struct kept *k, const int8_t *w, uint32_t i, uint32_t quads) {
    if (i >= quads) return;
    k->w[2 * i] = vld1q_s8(w + 64 * i);
    k->w[2 * i + 1] = vld1q_s8(w + 64 * i + 16);
}

INLINE void run_lines(const struct lines *l, uint32_t quads, int relu) {
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
    k.m0 = vld1q_f32(l->multiplier);
    k.m1 = vld1q_f32(l->multiplier + 4);
    k.round = vdupq_n_f32(l->round);
    k.magic = vdupq_n_f32(MORSEL_MAGIC_FLOAT);
    k.zero = vdupq_n_s16((int16_t)l->zero);
    for (uint32_t n = l->pixels; n; n -= 2, x += 2 * x_step, y += 2 * y_step) {
        vst1_s8((int8_t *)y, pixel(&k, x, start, o, quads, relu));
        vst1_s8((int8_t *)y + y_step, pixel(&k, x + x_step, start, o, quads, relu));
    }
}

static void run(const struct lines *l, uint32_t quads, int relu) {
    if (relu) {
        if (quads == 4) run_lines(l, 4, 1);
        else if (quads == 6) run_lines(l, 6, 1);
        else if (quads == 7) run_lines(l, 7, 1);
        else run_lines(l, 8, 1);
        return;
    }
    if (quads == 4) run_lines(l, 4, 0);
    else if (quads == 6) run_lines(l, 6, 0);
    else if (quads == 7) run_lines(l, 7, 0);
    else run_lines(l, 8, 0);
}

uint32_t morsel_shallow_dotprod(const struct morsel_tile *t) {
    const struct morsel_group *g = t->group;
    uint32_t quads = t->depth / 4, mode = g->finish.mode, done = t->channels % 8 ? t->channels / 16 * 16 : t->channels;
    if (t->tiles < 2 || (quads != 4 && (quads < 6 || quads > 8)) || mode == MORSEL_FINISH_RAW || mode == MORSEL_FINISH_CLAMPED) return 0;
    struct lines l = {NULL, NULL, NULL, NULL, NULL, NULL, t->x_step / 4, t->y_step, 0, g->finish.round,
                      mode == MORSEL_FINISH_SHIFTED ? g->finish.zero : 0};
    for (uint32_t i = 0; i < t->tiles; i += AHEAD) {
        l.pixels = (t->tiles - i < AHEAD ? t->tiles - i : AHEAD) * 4;
        for (uint32_t c = 0; c < done; c += 8) {
            l.weights = t->weights + (size_t)(c / 16) * quads * 64 + c % 16 * 4;
            l.start = g->start + c;
            l.multiplier = g->multiplier + c;
            l.offset = g->offset + c;
            l.x = t->x[0] + i * t->x_step;
            l.y = t->y + i * 4 * t->y_step + c;
            run(&l, quads, mode == MORSEL_FINISH_RELU);
        }
    }
    return done;
}
