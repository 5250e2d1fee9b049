/* SPDX-License-Identifier: MIT */
/* A last channel block of at most 8 channels with SDOT: 8 pixels, two in every four registers of sums. */
#include "dotprod.h"

#define DOT8(p, xa, xb, lane) \
    do { \
        DOT((p).s0, w0, xa, lane); \
        DOT((p).s1, w1, xa, lane); \
        DOT((p).s2, w0, xb, lane); \
        DOT((p).s3, w1, xb, lane); \
    } while (0)
#define HALF4(s, w, lane) \
    do { \
        int8x16_t w0 = vld1q_s8((w) + 64 * (lane)), w1 = vld1q_s8((w) + 64 * (lane) + 16); \
        DOT8((s)->p0, x0, x1, lane); \
        DOT8((s)->p1, x2, x3, lane); \
        DOT8((s)->p2, x4, x5, lane); \
        DOT8((s)->p3, x6, x7, lane); \
    } while (0)

INLINE void half_sixteen(struct sums *s, struct inputs x, struct inputs z, uint32_t k, const int8_t *w) {
    int8x16_t x0 = load16(x.a + k), x1 = load16(x.b + k), x2 = load16(x.c + k), x3 = load16(x.d + k);
    int8x16_t x4 = load16(z.a + k), x5 = load16(z.b + k), x6 = load16(z.c + k), x7 = load16(z.d + k);
    HALF4(s, w, 0);
    HALF4(s, w, 1);
    HALF4(s, w, 2);
    HALF4(s, w, 3);
}

INLINE void half_four(struct sums *s, struct inputs x, struct inputs z, uint32_t k, const int8_t *w) {
    int8x16_t x0 = load4(x.a + k), x1 = load4(x.b + k), x2 = load4(x.c + k), x3 = load4(x.d + k);
    int8x16_t x4 = load4(z.a + k), x5 = load4(z.b + k), x6 = load4(z.c + k), x7 = load4(z.d + k);
    HALF4(s, w, 0);
}

/* Two pixels' sums lie in every four registers. */
INLINE void put_eights(struct morsel_sum16 s, const struct morsel_requant8 *k, const float *o, uint8_t *y, size_t step, uint32_t mode) {
    struct morsel_sum8 first = {s.s0, s.s1}, second = {s.s2, s.s3};
    morsel_store8(y, first, k, o, mode);
    morsel_store8(y + step, second, k, o, mode);
}

/* The first n channels of eight pixels. */
static __attribute__((noinline)) void copy_parts(uint8_t *y, size_t step, const uint8_t *eights, uint32_t n) {
    for (uint32_t p = 0; p < 8; p++)
        for (uint32_t c = 0; c < n; c++) y[p * step + c] = eights[8 * p + c];
}

/* The start of eight channels for each pixel. */
INLINE struct sums start_eights(const int32_t *start) {
    struct sums s;
    MORSEL_LOAD_PAIR(s.p0.s0, s.p0.s1, start, 0);
    MORSEL_LOAD_PAIR(s.p0.s2, s.p0.s3, start, 0);
    MORSEL_LOAD_PAIR(s.p1.s0, s.p1.s1, start, 0);
    MORSEL_LOAD_PAIR(s.p1.s2, s.p1.s3, start, 0);
    MORSEL_LOAD_PAIR(s.p2.s0, s.p2.s1, start, 0);
    MORSEL_LOAD_PAIR(s.p2.s2, s.p2.s3, start, 0);
    MORSEL_LOAD_PAIR(s.p3.s0, s.p3.s1, start, 0);
    MORSEL_LOAD_PAIR(s.p3.s2, s.p3.s3, start, 0);
    return s;
}

/* Eight pixels, each a pair of tiles. */
struct eights {
    struct sums sums;
    struct inputs x, z;
    struct morsel_requant8 requant;
    const float *offset;
    uint8_t *y;
    size_t step;
};

/* The results of eight pixels. */
INLINE void end_eights(const struct eights *e, uint32_t mode) {
    put_eights(e->sums.p0, &e->requant, e->offset, e->y, e->step, mode);
    put_eights(e->sums.p1, &e->requant, e->offset, e->y + 2 * e->step, e->step, mode);
    put_eights(e->sums.p2, &e->requant, e->offset, e->y + 4 * e->step, e->step, mode);
    put_eights(e->sums.p3, &e->requant, e->offset, e->y + 6 * e->step, e->step, mode);
}

/* Channels c .. c + 8 of `count` times eight pixels from e->x on. */
static __attribute__((noinline)) void run_eights(const struct morsel_tile *t, struct eights *of, uint32_t c, uint32_t count) {
    const uint32_t depth = t->depth, mode = t->span->requant.mode;
    const size_t x_step = t->x_step;
    const int8_t *weights = t->weights + (size_t)c * depth;
    const int32_t *start = t->span->start + c;
    struct eights e = *of;
    e.requant = morsel_keep_requant8(&t->span->requant, t->span->multiplier + c);
    do {
        const int8_t *w = weights;
        uint32_t k = 0;
        e.z.a = e.x.a + x_step, e.z.b = e.x.b + x_step, e.z.c = e.x.c + x_step, e.z.d = e.x.d + x_step;
        e.sums = start_eights(start);
        for (; k < depth % 16; k += 4, w += 64) half_four(&e.sums, e.x, e.z, k, w);
        for (; k < depth; k += 16, w += 256) half_sixteen(&e.sums, e.x, e.z, k, w);
        if (mode == MORSEL_REQUANT_SHIFTED) end_eights(&e, MORSEL_REQUANT_SHIFTED);
        else if (mode == MORSEL_REQUANT_RELU) end_eights(&e, MORSEL_REQUANT_RELU);
        else end_eights(&e, MORSEL_REQUANT_CLAMPED);
        e.y += 8 * e.step;
        e.x.a += 2 * x_step, e.x.b += 2 * x_step, e.x.c += 2 * x_step, e.x.d += 2 * x_step;
    } while (--count);
}

/* Fewer than eight channels go to eight bytes first. */
void morsel_eights_dotprod(const struct morsel_tile *t) {
    uint32_t c = t->channels / 16 * 16, n = t->channels - c, pairs = t->tiles / 2, some = n == 8 ? pairs : 1;
    uint8_t bytes[64], *y = t->y + c;
    for (uint32_t i = 0; i < pairs; i += some, y += 8 * t->y_step) {
        size_t at = 2 * i * t->x_step;
        struct eights e;
        e.x = (struct inputs){t->x[0] + at, t->x[1] + at, t->x[2] + at, t->x[3] + at};
        e.offset = t->span->offset + c;
        e.y = n == 8 ? y : bytes;
        e.step = n == 8 ? t->y_step : 8;
        run_eights(t, &e, c, some);
        if (n != 8) copy_parts(y, t->y_step, bytes, n);
    }
}
