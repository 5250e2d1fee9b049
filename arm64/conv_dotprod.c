/* SPDX-License-Identifier: MIT */
/* Convolution and matrix product with SDOT: 4 pixels x 16 channels, sums in 16 registers. */
#include "dotprod.h"

#define DOT16(p, x, lane) \
    do { \
        DOT((p).s0, w0, x, lane); \
        DOT((p).s1, w1, x, lane); \
        DOT((p).s2, w2, x, lane); \
        DOT((p).s3, w3, x, lane); \
    } while (0)

/* Four k of all sixteen channels, times lane `lane` of the pixels' inputs. */
#define STEP4(s, w, lane) \
    do { \
        int8x16_t w0 = vld1q_s8((w) + 64 * (lane)), w1 = vld1q_s8((w) + 64 * (lane) + 16); \
        int8x16_t w2 = vld1q_s8((w) + 64 * (lane) + 32), w3 = vld1q_s8((w) + 64 * (lane) + 48); \
        DOT16((s)->p0, x0, lane); \
        DOT16((s)->p1, x1, lane); \
        DOT16((s)->p2, x2, lane); \
        DOT16((s)->p3, x3, lane); \
    } while (0)

INLINE int8x16_t load8(const uint8_t *x) {
    return vcombine_s8(vld1_s8((const int8_t *)x), vdup_n_s8(0));
}

INLINE struct sums start_four(const int32_t *start) { /* loads for every pixel: copies would take the dot products' pipes */
    struct sums s = {morsel_load_start(start), morsel_load_start(start), morsel_load_start(start), morsel_load_start(start)};
    return s;
}

/* Where those of a tile start: sixteen of each pixel `step` behind those of the one before. */
INLINE const int32_t *find_start(const struct morsel_tile *t, uint32_t c, int32_t *room, size_t *step) {
    *step = 0;
    if (!t->zero) return t->span->start + c;
    morsel_start_zeros(t, t->below, c, room);
    *step = 16;
    return room;
}

INLINE struct sums start_tile(const struct morsel_tile *t, uint32_t c) {
    int32_t room[64];
    size_t step;
    const int32_t *start = find_start(t, c, room, &step);
    struct sums s = {morsel_load_start(start), morsel_load_start(start + step), morsel_load_start(start + 2 * step),
                     morsel_load_start(start + 3 * step)};
    return s;
}

/* Inputs k .. k + 16. */
INLINE void add_sixteen(struct sums *s, struct inputs x, uint32_t k, const int8_t *w) {
    int8x16_t x0 = load16(x.a + k), x1 = load16(x.b + k), x2 = load16(x.c + k), x3 = load16(x.d + k);
    STEP4(s, w, 0);
    STEP4(s, w, 1);
    STEP4(s, w, 2);
    STEP4(s, w, 3);
}

/* Inputs k .. k + 8. */
INLINE void add_eight(struct sums *s, struct inputs x, uint32_t k, const int8_t *w) {
    int8x16_t x0 = load8(x.a + k), x1 = load8(x.b + k), x2 = load8(x.c + k), x3 = load8(x.d + k);
    STEP4(s, w, 0);
    STEP4(s, w, 1);
}

/* The last 4, 8 or 12 inputs of a piece, from k on. */
INLINE const int8_t *add_rest(struct sums *s, struct inputs x, uint32_t k, uint32_t left, const int8_t *w) {
    if (left & 8) {
        add_eight(s, x, k, w);
        k += 8;
        w += 128;
    }
    if (left & 4) {
        int8x16_t x0 = load4(x.a + k), x1 = load4(x.b + k), x2 = load4(x.c + k), x3 = load4(x.d + k);
        STEP4(s, w, 0);
        w += 64;
    }
    return w;
}

INLINE const int8_t *add_piece(struct sums *s, struct inputs x, uint32_t depth, const int8_t *w) {
    uint32_t k = 0;
    for (; depth - k >= 16; k += 16, w += 256) add_sixteen(s, x, k, w);
    return depth - k ? add_rest(s, x, k, depth - k, w) : w;
}

INLINE const int8_t *add_pieces(struct sums *s, const struct morsel_tile *t, const int8_t *w) {
    for (uint32_t i = 0; i < t->segments; i++) {
        struct inputs x = {t->x[4 * i], t->x[4 * i + 1], t->x[4 * i + 2], t->x[4 * i + 3]};
        w = add_piece(s, x, t->depth, w);
    }
    return w;
}

INLINE const int8_t *add_one(struct morsel_sum16 *s, const uint8_t *x, uint32_t k, const int8_t *w) {
    for (; k; k -= 4, x += 4, w += 64) {
        int8x16_t x0 = load4(x);
        int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
        DOT16(*s, x0, 0);
    }
    return w;
}

INLINE const int8_t *add_one_deep(struct morsel_sum16 *s, const uint8_t *x, uint32_t depth, const int8_t *w) {
    uint32_t k = 0;
    for (; depth - k >= 16; k += 16, w += 256) {
        int8x16_t x0 = load16(x + k), w0, w1, w2, w3;
        w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
        DOT16(*s, x0, 0);
        w0 = vld1q_s8(w + 64), w1 = vld1q_s8(w + 80), w2 = vld1q_s8(w + 96), w3 = vld1q_s8(w + 112);
        DOT16(*s, x0, 1);
        w0 = vld1q_s8(w + 128), w1 = vld1q_s8(w + 144), w2 = vld1q_s8(w + 160), w3 = vld1q_s8(w + 176);
        DOT16(*s, x0, 2);
        w0 = vld1q_s8(w + 192), w1 = vld1q_s8(w + 208), w2 = vld1q_s8(w + 224), w3 = vld1q_s8(w + 240);
        DOT16(*s, x0, 3);
    }
    return add_one(s, x + k, depth - k, w);
}

static void put(const struct morsel_tile *t, struct morsel_sum16 s, uint32_t p, uint32_t c) {
    const struct morsel_requant *f = &t->span->requant;
    if (f->mode == MORSEL_REQUANT_RAW) {
        morsel_put_sums(t, s, p, c);
        return;
    }
    int8x16_t v = morsel_requant16(s, t->span->multiplier + c, t->span->offset + c, f, f->mode);
    morsel_store_part(t->y + p * t->y_step + c, v, t->channels - c);
}

/* One pixel. */
static __attribute__((noinline)) void tile_one(const struct morsel_tile *t) {
    const int8_t *w = t->weights;
    int32_t room[64];
    size_t step;
    for (uint32_t c = 0; c < t->channels; c += 16) {
        struct morsel_sum16 s = morsel_load_start(find_start(t, c, room, &step));
        for (uint32_t i = 0; i < t->segments; i++) w = add_one_deep(&s, t->x[4 * i], t->depth, w);
        put(t, s, 0, c);
    }
}

/* From channel c on: tiles and blocks that are not whole, and results that are not bytes. */
static __attribute__((noinline)) void tile_part(const struct morsel_tile *t, uint32_t c) {
    const int8_t *w = t->weights + (size_t)c * t->segments * t->depth;
    for (; c < t->channels; c += 16) {
        struct sums s = start_tile(t, c);
        w = add_pieces(&s, t, w);
        put(t, s.p0, 0, c);
        put(t, s.p1, 1, c);
        if (t->pixels > 2) put(t, s.p2, 2, c);
        if (t->pixels > 3) put(t, s.p3, 3, c);
    }
}

/* Nothing of the next pixel before this one is done: narrowing has one pipe, and must not be left to the end in a lump. */
#define AFTER(done, next) __asm__ volatile("" : "+w"((next).s0), "+w"((next).s1), "+w"((next).s2), "+w"((next).s3) : "w"(done))

INLINE void put_four(struct sums *s, const float *m, const float *o, const struct morsel_requant *f, uint8_t *to, size_t step,
                     uint32_t mode) {
    int8x16_t v = morsel_requant16(s->p0, m, o, f, mode);
    AFTER(v, s->p1);
    vst1q_s8((int8_t *)to, v);
    v = morsel_requant16(s->p1, m, o, f, mode);
    AFTER(v, s->p2);
    vst1q_s8((int8_t *)to + step, v);
    v = morsel_requant16(s->p2, m, o, f, mode);
    AFTER(v, s->p3);
    vst1q_s8((int8_t *)to + 2 * step, v);
    vst1q_s8((int8_t *)to + 3 * step, morsel_requant16(s->p3, m, o, f, mode));
}

INLINE void prefetch(const int8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64) MORSEL_PREFETCH(from + i);
}

/* Blocks of 4 pixels x 16 channels, tile after tile. */
struct blocks {
    struct inputs x;
    const int8_t *w;
    uint8_t *y;
    uint32_t c; /* first channel of the next block */
};

/* The next block: the one beside it, or the first of the next tile. There is no branch: its period is the number of blocks, and predictors
 * would have to learn it. */
INLINE void next_block(struct blocks *b, uint32_t channels, size_t x_step, size_t tile_y, size_t tile_w) {
    b->c += 16;
    size_t last = 0 - (size_t)(b->c == channels);
    x_step &= last;
    b->x.a += x_step, b->x.b += x_step, b->x.c += x_step, b->x.d += x_step;
    b->y += 16 + (tile_y & last);
    b->w -= tile_w & last;
    b->c &= ~(uint32_t)last;
}

/* `count` whole blocks of whole tiles in one piece of more than 16 inputs, a multiple of 8. */
INLINE void run_blocks(struct blocks *of, const struct morsel_tile *t, uint32_t channels, uint32_t count, uint32_t depth, uint32_t mode) {
    const struct morsel_span *span = t->span;
    const size_t step = t->y_step, x_step = t->x_step, tile_y = 4 * step - channels, tile_w = (size_t)channels * depth;
    struct blocks b = *of;
    const struct morsel_requant f = span->requant;
    do {
        const float *m = span->multiplier + b.c, *o = span->offset + b.c;
        struct sums s = start_four(span->start + b.c);
        uint32_t k = depth & 8;
        if (k) {
            add_eight(&s, b.x, 0, b.w);
            b.w += 128;
        }
        for (; k < depth; k += 16, b.w += 256) add_sixteen(&s, b.x, k, b.w);
        put_four(&s, m, o, &f, b.y, step, mode);
        next_block(&b, channels, x_step, tile_y, tile_w);
    } while (--count);
    *of = b;
}

/* Whole blocks of whole tiles. */
INLINE void run_dense(const struct morsel_tile *t, uint32_t channels, uint32_t depth, uint32_t mode) {
    struct blocks b = {{t->x[0], t->x[1], t->x[2], t->x[3]}, t->weights, t->y, 0};
    const int8_t *next = t->next;
    size_t share = next ? t->next_bytes / t->tiles / 64 * 64 : 0; /* at each tile */
    uint32_t tiles = share ? 1 : t->tiles;
    for (uint32_t i = 0; i < t->tiles; i += tiles, next += share) {
        prefetch(next, share);
        run_blocks(&b, t, channels, tiles * (channels / 16), depth, mode);
    }
}

/* Whole blocks of a tile in several pieces. Their sums take so long that all modes share one loop. */
static __attribute__((noinline)) void pieces(const struct morsel_tile *t, uint32_t channels) {
    const struct morsel_requant f = t->span->requant;
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < channels; c += 16) {
        const float *m = t->span->multiplier + c, *o = t->span->offset + c;
        uint8_t *y = t->y + c;
        struct sums s = start_tile(t, c);
        w = add_pieces(&s, t, w);
        if (f.mode == MORSEL_REQUANT_RELU) put_four(&s, m, o, &f, y, t->y_step, MORSEL_REQUANT_RELU);
        else if (f.mode == MORSEL_REQUANT_SHIFTED) put_four(&s, m, o, &f, y, t->y_step, MORSEL_REQUANT_SHIFTED);
        else put_four(&s, m, o, &f, y, t->y_step, MORSEL_REQUANT_CLAMPED);
    }
}

static __attribute__((noinline)) void dense_relu(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_REQUANT_RELU);
}

static __attribute__((noinline)) void dense_shifted(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_REQUANT_SHIFTED);
}

static __attribute__((noinline)) void dense_clamped(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_REQUANT_CLAMPED);
}

static void dense(const struct morsel_tile *t, uint32_t channels) {
    uint32_t mode = t->span->requant.mode;
    if (mode == MORSEL_REQUANT_RELU) dense_relu(t, channels);
    else if (mode == MORSEL_REQUANT_SHIFTED) dense_shifted(t, channels);
    else dense_clamped(t, channels);
}

/* What dense() and morsel_eights_dotprod() leave, tile by tile from tile `from` on: channels up to `whole` in blocks, then the others. */
static __attribute__((noinline)) void rest(const struct morsel_tile *t, uint32_t channel, uint32_t whole, uint32_t from) {
    struct morsel_tile one = *t;
    const uint8_t *x[4];
    for (uint32_t p = 0; p < 4; p++) x[p] = t->x[p] + from * t->x_step;
    if (t->tiles > 1) one.x = x;
    one.y += from * 4 * t->y_step;
    for (uint32_t i = from; i < t->tiles; i++, one.y += 4 * t->y_step) {
        if (channel < whole) pieces(&one, whole);
        tile_part(&one, channel > whole ? channel : whole);
        for (uint32_t p = 0; p < 4; p++) x[p] += t->x_step;
        one.below += 4;
    }
}

void morsel_tile_dotprod(const struct morsel_tile *t) {
    uint32_t mode = t->span->requant.mode, pairs = 0, done;
    uint32_t whole = t->pixels == 4 && mode != MORSEL_REQUANT_RAW ? t->channels / 16 * 16 : 0;
    if (t->pixels == 1) {
        tile_one(t);
        return;
    }
    done = t->zero ? 0 : morsel_shallow_dotprod(t);
    if (done) whole = done;
    else if (!t->zero && whole && t->segments == 1 && t->depth > 16 && t->depth % 8 == 0) dense(t, done = whole);
    if (!t->zero && t->tiles > 1 && t->depth > 16 && done == whole && t->channels - whole <= 8 && whole < t->channels) {
        pairs = t->tiles / 2 * 2;
        morsel_eights_dotprod(t);
    }
    if (done < t->channels && pairs < t->tiles) rest(t, done, whole, pairs);
}

void morsel_conv_rows_dotprod(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_tiles(a, rows, y, n, morsel_tile_dotprod, NULL);
}

void morsel_fc_short_dotprod(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    morsel_fc_short_tiles(a, apart, y_step, morsel_tile_dotprod, NULL);
}

void morsel_fc_blocks_dotprod(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, morsel_tile_dotprod, NULL);
}
