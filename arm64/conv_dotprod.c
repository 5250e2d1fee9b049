/* SPDX-License-Identifier: MIT */
/* Convolution and matrix product with SDOT: 4 pixels x 16 channels, sums in 16 registers. */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))

struct sums {
    struct morsel_sum16 p0, p1, p2, p3;
};

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

/* Addresses of four pixels' inputs. */
struct inputs {
    const uint8_t *a, *b, *c, *d;
};

INLINE int8x16_t load16(const uint8_t *x) {
    return vld1q_s8((const int8_t *)x);
}

INLINE int8x16_t load8(const uint8_t *x) {
    return vcombine_s8(vld1_s8((const int8_t *)x), vdup_n_s8(0));
}

INLINE int8x16_t load4(const uint8_t *x) {
    int32_t v;
    memcpy(&v, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

INLINE struct sums start_four(const int32_t *start) { /* loads for every pixel: copies would take the dot products' pipes */
    struct sums s = {morsel_load_start(start), morsel_load_start(start), morsel_load_start(start), morsel_load_start(start)};
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
    const struct morsel_finish *f = &t->group->finish;
    if (f->mode == MORSEL_FINISH_RAW) {
        int32_t *raw = t->raw[p] + c;
        vst1q_s32(raw, s.s0);
        vst1q_s32(raw + 4, s.s1);
        vst1q_s32(raw + 8, s.s2);
        vst1q_s32(raw + 12, s.s3);
        return;
    }
    int8x16_t v = morsel_finish16(s, t->group->multiplier + c, t->group->offset + c, f, f->mode);
    morsel_store_part(t->y + p * t->y_step + c, v, t->channels - c);
}

/* One pixel. */
static void tile_one(const struct morsel_tile *t) {
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < t->channels; c += 16) {
        struct morsel_sum16 s = morsel_load_start(t->group->start + c);
        for (uint32_t i = 0; i < t->segments; i++) w = add_one_deep(&s, t->x[4 * i], t->depth, w);
        put(t, s, 0, c);
    }
}

/* From channel c on: tiles and blocks that are not whole, and results that are not bytes. */
static void tile_part(const struct morsel_tile *t, uint32_t c) {
    const int8_t *w = t->weights + (size_t)c * t->segments * t->depth;
    for (; c < t->channels; c += 16) {
        struct sums s = start_four(t->group->start + c);
        w = add_pieces(&s, t, w);
        put(t, s.p0, 0, c);
        put(t, s.p1, 1, c);
        if (t->pixels > 2) put(t, s.p2, 2, c);
        if (t->pixels > 3) put(t, s.p3, 3, c);
    }
}

/* Nothing of the pixels c and d before a and b are done: narrowing has one pipe, and must not be left to the end in a lump. */
#define AFTER(done, next) __asm__ volatile("" : "+w"((next).s0), "+w"((next).s1), "+w"((next).s2), "+w"((next).s3) : "w"(done))

INLINE void put_four(struct sums *s, const float *m, const float *o, const struct morsel_finish *f, uint8_t *to, size_t step,
                     uint32_t mode) {
    int8_t *y = (int8_t *)to;
    int8x16_t v = morsel_finish16(s->p0, m, o, f, mode);
    AFTER(v, s->p1);
    vst1q_s8(y, v);
    v = morsel_finish16(s->p1, m, o, f, mode);
    AFTER(v, s->p2);
    vst1q_s8(y + step, v);
    v = morsel_finish16(s->p2, m, o, f, mode);
    AFTER(v, s->p3);
    vst1q_s8(y + 2 * step, v);
    vst1q_s8(y + 3 * step, morsel_finish16(s->p3, m, o, f, mode));
}

/* Keeps the compiler from sharing the ends of branches: each is to stay in one stretch. */
#define OWN_END(why) __asm__ volatile("// " why)

/* A block of one tile in one piece of more than 16 inputs, a multiple of 8. What begins a block and what ends it stand in one stretch of
 * code with dot products, so that loads and rounding run beside them. */
INLINE const int8_t *dense_block(struct inputs x, uint32_t depth, const int8_t *w, const int32_t *start, const float *m,
                                 const float *o, const struct morsel_finish *f, uint8_t *y, size_t step, uint32_t mode) {
    struct sums s = start_four(start);
    uint32_t k = 16;
    add_sixteen(&s, x, 0, w);
    for (w += 256; depth - k > 16; k += 16, w += 256) add_sixteen(&s, x, k, w);
    if (depth - k == 16) {
        add_sixteen(&s, x, k, w);
        put_four(&s, m, o, f, y, step, mode);
        OWN_END("last sixteen");
        return w + 256;
    }
    __asm__("" : "+r"(k), "+r"(w), "+r"(m)); /* what both branches load must not be loaded before them, in a heap */
    add_eight(&s, x, k, w);
    put_four(&s, m, o, f, y, step, mode);
    OWN_END("last eight");
    return w + 128;
}

/* Loads that nothing uses: hints may be dropped, and the model of caches in `make a76` sees none. */
INLINE void fetch(const int8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 128)
        __asm__ volatile("ldr wzr, [%0]\n\tldr wzr, [%0, #64]" : : "r"(from + i), "m"(*(const int8_t(*)[128])(const void *)(from + i)));
}

/* Whole blocks of whole tiles. */
INLINE void run_dense(const struct morsel_tile *t, uint32_t channels, uint32_t depth, uint32_t mode) {
    struct inputs x = {t->x[0], t->x[1], t->x[2], t->x[3]};
    const struct morsel_finish f = t->group->finish;
    const size_t y_step = t->y_step, x_step = t->x_step;
    uint8_t *y = t->y;
    const int8_t *next = t->next;
    size_t fetched = t->next_bytes / t->tiles / 128 * 128; /* at each tile */
    for (uint32_t i = t->tiles; i; i--, x.a += x_step, x.b += x_step, x.c += x_step, x.d += x_step, y += 4 * y_step) {
        fetch(next, fetched);
        next += fetched;
        const int32_t *start = t->group->start;
        const float *m = t->group->multiplier, *o = t->group->offset;
        const int8_t *w = t->weights;
        for (uint32_t c = 0; c < channels; c += 16) w = dense_block(x, depth, w, start + c, m + c, o + c, &f, y + c, y_step, mode);
    }
}

/* Whole blocks of a tile in several pieces. Their sums take so long that all modes share one loop. */
static __attribute__((noinline)) void pieces(const struct morsel_tile *t, uint32_t channels) {
    const struct morsel_finish f = t->group->finish;
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < channels; c += 16) {
        const float *m = t->group->multiplier + c, *o = t->group->offset + c;
        uint8_t *y = t->y + c;
        struct sums s = start_four(t->group->start + c);
        w = add_pieces(&s, t, w);
        if (f.mode == MORSEL_FINISH_RELU) put_four(&s, m, o, &f, y, t->y_step, MORSEL_FINISH_RELU);
        else if (f.mode == MORSEL_FINISH_FOLDED) put_four(&s, m, o, &f, y, t->y_step, MORSEL_FINISH_FOLDED);
        else if (f.mode == MORSEL_FINISH_SHIFTED) put_four(&s, m, o, &f, y, t->y_step, MORSEL_FINISH_SHIFTED);
        else put_four(&s, m, o, &f, y, t->y_step, MORSEL_FINISH_CLAMPED);
    }
}

static __attribute__((noinline)) void dense_folded(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_FINISH_FOLDED);
}

static __attribute__((noinline)) void dense_relu(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_FINISH_RELU);
}

static __attribute__((noinline)) void dense_shifted(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_FINISH_SHIFTED);
}

static __attribute__((noinline)) void dense_clamped(const struct morsel_tile *t, uint32_t channels) {
    run_dense(t, channels, t->depth, MORSEL_FINISH_CLAMPED);
}

static void dense(const struct morsel_tile *t, uint32_t channels) {
    uint32_t mode = t->group->finish.mode;
    if (mode == MORSEL_FINISH_RELU) dense_relu(t, channels);
    else if (mode == MORSEL_FINISH_FOLDED) dense_folded(t, channels);
    else if (mode == MORSEL_FINISH_SHIFTED) dense_shifted(t, channels);
    else dense_clamped(t, channels);
}

/* A last block of at most 8 channels: 8 pixels, two in each group of four registers. */
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

/* Two pixels' sums lie in each group of four registers. */
INLINE void put_eights(struct morsel_sum16 s, const struct morsel_finish8 *k, const float *o, uint8_t *y, size_t step, uint32_t mode) {
    struct morsel_sum8 first = {s.s0, s.s1}, second = {s.s2, s.s3};
    morsel_store8(y, first, k, o, mode);
    morsel_store8(y + step, second, k, o, mode);
}

/* The first n channels of eight pixels. */
static __attribute__((noinline)) void copy_parts(uint8_t *y, size_t step, const uint8_t *eights, uint32_t n) {
    for (uint32_t p = 0; p < 8; p++)
        for (uint32_t c = 0; c < n; c++) y[p * step + c] = eights[8 * p + c];
}

/* Eight pixels in pairs of tiles, more than 16 inputs; start holds the eight channels twice. */
INLINE void run_half(const struct morsel_tile *t, uint32_t mode) {
    uint32_t c = t->channels / 16 * 16, n = t->channels - c, depth = t->depth;
    const int8_t *weights = t->weights + (size_t)c * depth;
    const float *o = t->group->offset + c;
    const struct morsel_finish8 keep = morsel_keep_finish8(&t->group->finish, t->group->multiplier + c);
    struct inputs x = {t->x[0], t->x[1], t->x[2], t->x[3]};
    size_t x_step = t->x_step, step = t->y_step;
    uint8_t spare[64], *y = t->y + c, *to = n == 8 ? y : spare;
    size_t to_step = n == 8 ? step : 8;
    int32_t start[16];
    for (uint32_t i = 0; i < 16; i++) start[i] = t->group->start[c + i % 8];
    for (uint32_t pairs = t->tiles / 2; pairs; pairs--, y += 8 * step) {
        struct inputs z = {x.a + x_step, x.b + x_step, x.c + x_step, x.d + x_step};
        struct sums s = start_four(start);
        const int8_t *w = weights;
        uint32_t k = 16;
        half_sixteen(&s, x, z, 0, w); /* beside the loads of the starts */
        for (w += 256; depth - k > 16; k += 16, w += 256) half_sixteen(&s, x, z, k, w);
        if (depth - k == 16) half_sixteen(&s, x, z, k, w); /* beside the results, in one stretch */
        else
            for (; depth - k; k += 4, w += 64) half_four(&s, x, z, k, w);
        put_eights(s.p0, &keep, o, to, to_step, mode);
        put_eights(s.p1, &keep, o, to + 2 * to_step, to_step, mode);
        put_eights(s.p2, &keep, o, to + 4 * to_step, to_step, mode);
        put_eights(s.p3, &keep, o, to + 6 * to_step, to_step, mode);
        if (n == 8) to += 8 * step;
        else copy_parts(y, step, spare, n);
        x.a = z.a + x_step, x.b = z.b + x_step, x.c = z.c + x_step, x.d = z.d + x_step;
    }
}

static __attribute__((noinline)) void half_relu(const struct morsel_tile *t) {
    run_half(t, MORSEL_FINISH_RELU);
}

static __attribute__((noinline)) void half_shifted(const struct morsel_tile *t) {
    run_half(t, MORSEL_FINISH_SHIFTED);
}

static __attribute__((noinline)) void half_clamped(const struct morsel_tile *t) {
    run_half(t, MORSEL_FINISH_CLAMPED);
}

/* What dense() and run_half() leave, tile by tile from tile `from` on: channels up to `whole` in blocks, then the others. */
static void rest(const struct morsel_tile *t, uint32_t channel, uint32_t whole, uint32_t from) {
    struct morsel_tile one = *t;
    const uint8_t *x[4];
    for (uint32_t p = 0; p < 4; p++) x[p] = t->x[p] + from * t->x_step;
    if (t->tiles > 1) one.x = x;
    one.y += from * 4 * t->y_step;
    for (uint32_t i = from; i < t->tiles; i++, one.y += 4 * t->y_step) {
        if (channel < whole) pieces(&one, whole);
        tile_part(&one, channel > whole ? channel : whole);
        for (uint32_t p = 0; p < 4; p++) x[p] += t->x_step;
    }
}

void morsel_tile_dotprod(const struct morsel_tile *t) {
    uint32_t mode = t->group->finish.mode, pairs = 0, done;
    uint32_t whole = t->pixels == 4 && mode != MORSEL_FINISH_RAW ? t->channels / 16 * 16 : 0;
    if (t->pixels == 1) {
        tile_one(t);
        return;
    }
    if ((done = morsel_shallow_dotprod(t))) whole = done;
    else if (whole && t->segments == 1 && t->depth > 16 && t->depth % 8 == 0) dense(t, done = whole);
    if (t->tiles > 1 && t->depth > 16 && done == whole && t->channels - whole <= 8 && whole < t->channels) {
        pairs = t->tiles / 2 * 2;
        if (mode == MORSEL_FINISH_RELU) half_relu(t);
        else if (mode == MORSEL_FINISH_CLAMPED) half_clamped(t);
        else half_shifted(t);
    }
    if (done < t->channels) rest(t, done, whole, pairs);
}

void morsel_conv_rows_dotprod(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_tiles(a, rows, y, n, morsel_tile_dotprod, NULL);
}

void morsel_fc_blocks_dotprod(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, morsel_tile_dotprod, NULL);
}
