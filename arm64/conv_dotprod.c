/* SPDX-License-Identifier: MIT */
/* Convolution and matrix product with SDOT: 4 pixels x 16 channels, sums in 16 registers. */
#include "arm64.h"

struct sums {
    struct morsel_sum16 p0, p1, p2, p3;
};

/* A fresh load for each pixel: loads have pipes of their own, copies would take the dot products'. */
static inline __attribute__((always_inline)) int32x4_t load_start(const int32_t *start) {
    int32x4_t v;
    __asm__ volatile("ldr %q0, %1" : "=w"(v) : "m"(*(const int32_t(*)[4])start));
    return v;
}

static inline __attribute__((always_inline)) struct morsel_sum16 start16(const int32_t *s) {
    struct morsel_sum16 r = {load_start(s), load_start(s + 4), load_start(s + 8), load_start(s + 12)};
    return r;
}

/* In asm, and volatile, for the order alone: the compiler would gather the dot products of each pixel and run out of registers. */
#define DOT(sum, w, x, lane) __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(sum) : "w"(w), "w"(x))
#define DOT16(p, x, lane) \
    do { \
        DOT((p).s0, w0, x, lane); \
        DOT((p).s1, w1, x, lane); \
        DOT((p).s2, w2, x, lane); \
        DOT((p).s3, w3, x, lane); \
    } while (0)

/* Four k of all sixteen channels meet lane `lane` of the pixels' inputs. */
#define STEP4(s, w, lane) \
    do { \
        int8x16_t w0 = vld1q_s8((w) + 64 * (lane)), w1 = vld1q_s8((w) + 64 * (lane) + 16); \
        int8x16_t w2 = vld1q_s8((w) + 64 * (lane) + 32), w3 = vld1q_s8((w) + 64 * (lane) + 48); \
        DOT16((s)->p0, x0, lane); \
        DOT16((s)->p1, x1, lane); \
        DOT16((s)->p2, x2, lane); \
        DOT16((s)->p3, x3, lane); \
    } while (0)

static inline int8x16_t load8(const uint8_t *x) {
    return vcombine_s8(vld1_s8((const int8_t *)x), vdup_n_s8(0));
}

static inline int8x16_t load4(const uint8_t *x) {
    int32_t v;
    memcpy(&v, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

/* The last 4, 8 or 12 inputs of a piece. */
static inline __attribute__((always_inline)) const int8_t *add_rest(struct sums *s, const uint8_t *a, const uint8_t *b, const uint8_t *c,
                                                                    const uint8_t *d, uint32_t k, const int8_t *w) {
    if (k & 8) {
        int8x16_t x0 = load8(a), x1 = load8(b), x2 = load8(c), x3 = load8(d);
        STEP4(s, w, 0);
        STEP4(s, w, 1);
        a += 8, b += 8, c += 8, d += 8;
        w += 128;
    }
    if (k & 4) {
        int8x16_t x0 = load4(a), x1 = load4(b), x2 = load4(c), x3 = load4(d);
        STEP4(s, w, 0);
        w += 64;
    }
    return w;
}

/* One piece of the pixels' inputs. */
static inline __attribute__((always_inline)) const int8_t *add_piece(struct sums *s, const uint8_t *const *x, uint32_t k, const int8_t *w) {
    const uint8_t *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    for (; k >= 16; k -= 16) {
        int8x16_t x0 = vld1q_s8((const int8_t *)a), x1 = vld1q_s8((const int8_t *)b);
        int8x16_t x2 = vld1q_s8((const int8_t *)c), x3 = vld1q_s8((const int8_t *)d);
        STEP4(s, w, 0);
        STEP4(s, w, 1);
        STEP4(s, w, 2);
        STEP4(s, w, 3);
        a += 16, b += 16, c += 16, d += 16;
        w += 256;
    }
    return k ? add_rest(s, a, b, c, d, k, w) : w;
}

static inline __attribute__((always_inline)) const int8_t *add_one(struct morsel_sum16 *s, const uint8_t *x, uint32_t k, const int8_t *w) {
    for (; k; k -= 4, x += 4, w += 64) {
        int8x16_t x0 = load4(x);
        int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
        DOT16(*s, x0, 0);
    }
    return w;
}

static inline __attribute__((always_inline)) void put(const struct morsel_tile *t, struct morsel_sum16 s, uint32_t p, uint32_t c) {
    if (t->group->finish.mode == MORSEL_FINISH_RAW) {
        int32_t *raw = t->raw[p] + c;
        vst1q_s32(raw, s.s0);
        vst1q_s32(raw + 4, s.s1);
        vst1q_s32(raw + 8, s.s2);
        vst1q_s32(raw + 12, s.s3);
        return;
    }
    morsel_store_part(t->y + p * t->y_step + c, morsel_finish16(s, t->group->multiplier + c, &t->group->finish, t->group->finish.mode), t->channels - c);
}

static void tile_one(const struct morsel_tile *t) {
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < t->channels; c += 16) {
        struct morsel_sum16 s = start16(t->group->start + c);
        for (uint32_t i = 0; i < t->segments; i++) w = add_one(&s, t->x[4 * i], t->depth, w);
        put(t, s, 0, c);
    }
}

static inline __attribute__((always_inline)) void put_mode(const struct morsel_tile *t, const struct sums *s, uint32_t c, uint32_t mode) {
    const struct morsel_finish *f = &t->group->finish;
    const float *m = t->group->multiplier + c;
    int8_t *y = (int8_t *)t->y + c;
    vst1q_s8(y, morsel_finish16(s->p0, m, f, mode));
    vst1q_s8(y + t->y_step, morsel_finish16(s->p1, m, f, mode));
    vst1q_s8(y + 2 * t->y_step, morsel_finish16(s->p2, m, f, mode));
    vst1q_s8(y + 3 * t->y_step, morsel_finish16(s->p3, m, f, mode));
}

/* All four pixels into whole blocks of bytes: one choice of mode for 64 sums. */
static inline __attribute__((always_inline)) void put_four(const struct morsel_tile *t, const struct sums *s, uint32_t c) {
    uint32_t mode = t->group->finish.mode;
    if (mode == MORSEL_FINISH_FOLDED) put_mode(t, s, c, MORSEL_FINISH_FOLDED);
    else if (mode == MORSEL_FINISH_SHIFTED) put_mode(t, s, c, MORSEL_FINISH_SHIFTED);
    else put_mode(t, s, c, MORSEL_FINISH_CLAMPED);
}

static void tile_dotprod(const struct morsel_tile *t) {
    const int8_t *w = t->weights;
    if (t->pixels == 1) {
        tile_one(t);
        return;
    }
    for (uint32_t c = 0; c < t->channels; c += 16) {
        const int32_t *start = t->group->start + c;
        struct sums s = {start16(start), start16(start), start16(start), start16(start)};
        for (uint32_t i = 0; i < t->segments; i++) w = add_piece(&s, t->x + 4 * i, t->depth, w);
        if (t->pixels == 4 && t->channels - c >= 16 && t->group->finish.mode != MORSEL_FINISH_RAW) {
            put_four(t, &s, c);
            continue;
        }
        put(t, s.p0, 0, c);
        put(t, s.p1, 1, c);
        if (t->pixels > 2) put(t, s.p2, 2, c);
        if (t->pixels > 3) put(t, s.p3, 3, c);
    }
}

void morsel_conv_rows_dotprod(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_tiles(a, rows, y, n, tile_dotprod);
}

void morsel_fc_blocks_dotprod(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, tile_dotprod);
}
