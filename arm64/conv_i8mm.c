/* SPDX-License-Identifier: MIT */
/*
 * Convolution and matrix product with SMMLA, 4 pixels x 16 channels. It multiplies eight inputs of two pixels by those of two channels. A
 * register of sums holds [pixel, channel]: [p, c], [p, c + 1], [p + 1, c], [p + 1, c + 1].
 *
 * The blob keeps four inputs of four channels together. Weights are brought into pairs of channels once for all pixels of a call, in the
 * caller's room. Doing so in the tile would cost an instruction for every two products. Constants stand there twice each, as the sums do:
 * the order of pixels and channels is then set right among bytes, not among sums. Where pixels are too few or weights too many for that,
 * dot products take over.
 */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))

/* Of two pixels each: channels 0..7 and 8..15. */
struct sums {
    struct morsel_sum16 a0, a8, b0, b8;
};

struct inputs {
    const uint8_t *a, *b, *c, *d;
};

/* In asm, and volatile, for the order alone: the compiler would run out of registers. */
#define MATRIX(sum, x, w) __asm__ volatile("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(w))

/* Eight inputs of four channels, whose weights stand at w + at. */
#define STEP_FOUR(a, b, one, two, w, at) \
    do { \
        int8x16_t w0, w1; \
        MORSEL_LOAD_PAIR(w0, w1, w, at); \
        MATRIX((a).one, x0, w0); \
        MATRIX((b).one, x1, w0); \
        MATRIX((a).two, x0, w1); \
        MATRIX((b).two, x1, w1); \
    } while (0)

/* Eight inputs of pixels a, b (x0) and c, d (x1) and of sixteen channels, or eight. */
INLINE void add_eight(struct sums *s, int8x16_t x0, int8x16_t x1, const int8_t *w, int half) {
    STEP_FOUR(s->a0, s->b0, s0, s1, w, 0);
    STEP_FOUR(s->a0, s->b0, s2, s3, w, 32);
    if (half) return;
    STEP_FOUR(s->a8, s->b8, s0, s1, w, 64);
    STEP_FOUR(s->a8, s->b8, s2, s3, w, 96);
}

INLINE int8x16_t load16(const uint8_t *x) {
    return vld1q_s8((const int8_t *)x);
}

INLINE int8x16_t load_eights(const uint8_t *a, const uint8_t *b) {
    return vcombine_s8(vld1_s8((const int8_t *)a), vld1_s8((const int8_t *)b));
}

/* Four inputs each; the weights of the other four are 0. */
INLINE int8x16_t load_fours(const uint8_t *a, const uint8_t *b) {
    int32_t v, z;
    memcpy(&v, a, 4);
    memcpy(&z, b, 4);
    return vreinterpretq_s8_s32(vcombine_s32(vdup_n_s32(v), vdup_n_s32(z)));
}

INLINE int8x16_t low_eights(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

INLINE int8x16_t high_eights(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

/* A piece of `depth` inputs; returns the weights behind it. */
INLINE const int8_t *add_piece(struct sums *s, struct inputs x, uint32_t depth, const int8_t *w, int half) {
    for (; depth >= 16; depth -= 16, w += 256, x.a += 16, x.b += 16, x.c += 16, x.d += 16) {
        int8x16_t a = load16(x.a), b = load16(x.b), c = load16(x.c), d = load16(x.d);
        add_eight(s, low_eights(a, b), low_eights(c, d), w, half);
        add_eight(s, high_eights(a, b), high_eights(c, d), w + 128, half);
    }
    if (depth & 8) {
        add_eight(s, load_eights(x.a, x.b), load_eights(x.c, x.d), w, half);
        w += 128, x.a += 8, x.b += 8, x.c += 8, x.d += 8;
    }
    if (depth & 4) {
        add_eight(s, load_fours(x.a, x.b), load_fours(x.c, x.d), w, half);
        w += 128;
    }
    return w;
}

INLINE int8x16_t even_pairs(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s16(vuzp1q_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b)));
}

INLINE int8x16_t odd_pairs(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s16(vuzp2q_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b)));
}

static __attribute__((noinline)) void put_parts(const struct morsel_tile *t, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d, uint8_t *y,
                                                uint32_t n) {
    int8x16_t v[4] = {a, b, c, d};
    for (uint32_t p = 0; p < t->pixels; p++, y += t->y_step) morsel_store_part(y, v[p], n);
}

/* u: what t says, where no store can change it. */
INLINE void put_block(const struct morsel_tile *t, const struct morsel_tile *u, int8x16_t ab, int8x16_t ab8, int8x16_t cd, int8x16_t cd8,
                      uint8_t *y, uint32_t n) {
    int8x16_t a = even_pairs(ab, ab8), b = odd_pairs(ab, ab8), c = even_pairs(cd, cd8), d = odd_pairs(cd, cd8);
    if (n < 16 || u->pixels < 4) {
        put_parts(t, a, b, c, d, y, n);
        return;
    }
    vst1q_s8((int8_t *)y, a);
    vst1q_s8((int8_t *)y + u->y_step, b);
    vst1q_s8((int8_t *)y + 2 * u->y_step, c);
    vst1q_s8((int8_t *)y + 3 * u->y_step, d);
}

/* At most eight channels. */
INLINE void put_half(const struct morsel_tile *t, int8x16_t ab, int8x16_t cd, uint8_t *y, uint32_t n) {
    int8x16_t ac = even_pairs(ab, cd), bd = odd_pairs(ab, cd), c = vextq_s8(ac, ac, 8), d = vextq_s8(bd, bd, 8);
    if (n < 8 || t->pixels < 4) {
        put_parts(t, ac, bd, c, d, y, n);
        return;
    }
    vst1_s8((int8_t *)y, vget_low_s8(ac));
    vst1_s8((int8_t *)y + t->y_step, vget_low_s8(bd));
    vst1_s8((int8_t *)y + 2 * t->y_step, vget_low_s8(c));
    vst1_s8((int8_t *)y + 3 * t->y_step, vget_low_s8(d));
}

/* Of four sums, two of one pixel and two of the other: those of the one, or of the other. */
INLINE int32x4_t of_pixel(const int32_t *sums, uint32_t odd) {
    const int64x2_t a = vreinterpretq_s64_s32(vld1q_s32(sums)), b = vreinterpretq_s64_s32(vld1q_s32(sums + 4));
    return vreinterpretq_s32_s64(odd ? vuzp2q_s64(a, b) : vuzp1q_s64(a, b));
}

/* Sums of pairs of pixels and eight channels. */
static void put_raw(const struct morsel_tile *t, const int32_t *sums, uint32_t c) {
    for (uint32_t p = 0; p < t->pixels; p++) {
        const int32_t *from = sums + p / 2 * 32;
        const struct morsel_sum16 s = {of_pixel(from, p % 2), of_pixel(from + 8, p % 2), of_pixel(from + 16, p % 2),
                                       of_pixel(from + 24, p % 2)};
        morsel_put_sums(t, s, p, c);
    }
}

/* Results of modes for which there is no code of their own go through memory, in a loop. */
static __attribute__((noinline)) void requant_any(const struct morsel_tile *t, const int32_t *sums, uint32_t c, uint8_t *y) {
    const struct morsel_requant *f = &t->span->requant;
    const float *m = t->room->multiplier + 2 * c;
    int8x16_t v[4];
    if (f->mode == MORSEL_REQUANT_RAW) {
        put_raw(t, sums, c);
        return;
    }
    for (uint32_t i = 0; i < 4; i++, sums += 16) {
        struct morsel_sum16 s = morsel_load_start(sums);
        if (f->mode == MORSEL_REQUANT_SHIFTED) v[i] = morsel_requant16(s, m + i % 2 * 16, m, f, MORSEL_REQUANT_SHIFTED);
        else v[i] = morsel_requant16(s, m + i % 2 * 16, m, f, MORSEL_REQUANT_CLAMPED);
    }
    put_block(t, t, v[0], v[1], v[2], v[3], y, t->channels - c);
}

INLINE void store_sums(int32_t *to, struct morsel_sum16 s) {
    vst1q_s32(to, s.s0);
    vst1q_s32(to + 4, s.s1);
    vst1q_s32(to + 8, s.s2);
    vst1q_s32(to + 12, s.s3);
}

INLINE void keep_sums(int32_t *to, const struct sums *s) {
    store_sums(to, s->a0);
    store_sums(to + 16, s->a8);
    store_sums(to + 32, s->b0);
    store_sums(to + 48, s->b8);
}

/* Starts from the constants, or from sums that wait; loads for every pixel: copies would take the products' pipes. */
INLINE struct sums begin_block(const struct morsel_tile *t, uint32_t c) {
    const int32_t *start = t->begun ? t->sums : t->room->start + 2 * c;
    uint32_t next = t->begun ? 32 : 0; /* from the sums of pixels a and b to those of c and d */
    struct sums s;
    s.a0 = morsel_load_start(start);
    s.b0 = morsel_load_start(start + next);
    s.a8 = morsel_load_start(start + 16);
    s.b8 = morsel_load_start(start + next + 16);
    return s;
}

/* All inputs of the tile that lies `at` bytes behind t; returns the weights behind the block. */
INLINE const int8_t *add_block(struct sums *s, const struct morsel_tile *t, size_t at, const int8_t *w, int half) {
    for (const uint8_t *const *x = t->x, *const *end = x + 4 * t->segments; x != end; x += 4) {
        struct inputs in = {x[0] + at, x[1] + at, x[2] + at, x[3] + at};
        w = add_piece(s, in, t->depth, w, half);
    }
    return w;
}

INLINE void requant_block(const struct morsel_tile *t, const struct morsel_tile *u, const struct sums *s, uint32_t c,
                          const struct morsel_requant *f, uint8_t *y, uint32_t mode) {
    const float *m = u->room->multiplier + 2 * c, *o = u->room->offset + 2 * c;
    int8x16_t a = morsel_requant16(s->a0, m, o, f, mode), a8 = morsel_requant16(s->a8, m + 16, o + 16, f, mode);
    int8x16_t b = morsel_requant16(s->b0, m, o, f, mode), b8 = morsel_requant16(s->b8, m + 16, o + 16, f, mode);
    put_block(t, u, a, a8, b, b8, y, u->channels - c);
}

INLINE const int8_t *whole_block(const struct morsel_tile *t, const struct morsel_tile *u, size_t at, const int8_t *w, uint32_t c,
                                 const struct morsel_requant *f, uint8_t *y) {
    struct sums s = begin_block(u, c);
    w = add_block(&s, u, at, w, 0);
    if (!u->ended) keep_sums(u->sums, &s);
    else if (f->mode == MORSEL_REQUANT_RELU) requant_block(t, u, &s, c, f, y, MORSEL_REQUANT_RELU);
    else if (f->mode == MORSEL_REQUANT_SHIFTED) requant_block(t, u, &s, c, f, y, MORSEL_REQUANT_SHIFTED);
    else {
        int32_t sums[64];
        keep_sums(sums, &s);
        requant_any(t, sums, c, y);
    }
    return w;
}

/* At most eight channels from c on. */
static __attribute__((noinline)) void half_block(const struct morsel_tile *t, size_t at, const int8_t *w, uint32_t c, uint8_t *y) {
    const struct morsel_requant *f = &t->span->requant;
    const float *m = t->room->multiplier + 2 * c, *o = t->room->offset + 2 * c;
    struct sums s = begin_block(t, c);
    add_block(&s, t, at, w, 1);
    if (!t->ended) {
        keep_sums(t->sums, &s);
        return;
    }
    if (f->mode == MORSEL_REQUANT_RAW) {
        int32_t sums[64] = {0};
        keep_sums(sums, &s);
        put_raw(t, sums, c);
        return;
    }
    int8x16_t a = morsel_requant16(s.a0, m, o, f, f->mode), b = morsel_requant16(s.b0, m, o, f, f->mode);
    put_half(t, a, b, y, t->channels - c);
}

static __attribute__((noinline)) void run(const struct morsel_tile *t) {
    const struct morsel_requant f = t->span->requant;
    const struct morsel_tile u = *t;
    size_t at = 0;
    uint8_t *y = u.y;
    for (uint32_t i = u.tiles; i; i--, at += u.x_step, y += 4 * u.y_step) {
        const int8_t *w = u.room->weights;
        uint32_t c = 0;
        for (; c + 8 < u.channels; c += 16) w = whole_block(t, &u, at, w, c, &f, y + c);
        if (c < u.channels) half_block(t, at, w, c, y + c);
    }
}

/* Four inputs of four channels, and the next four, become eight inputs of two pairs of channels. */
INLINE void pair_four(int8_t *to, int8x16_t w, int8x16_t z) {
    int32x4_t a = vreinterpretq_s32_s8(w), b = vreinterpretq_s32_s8(z);
    vst1q_s8(to, vreinterpretq_s8_s32(vzip1q_s32(a, b)));
    vst1q_s8(to + 16, vreinterpretq_s8_s32(vzip2q_s32(a, b)));
}

/* z: the next four inputs of sixteen channels, or NULL for zeros. */
INLINE void pair_sixteen(int8_t *to, const int8_t *w, const int8_t *z) {
    int8x16_t none = vdupq_n_s8(0);
    pair_four(to, vld1q_s8(w), z ? vld1q_s8(z) : none);
    pair_four(to + 32, vld1q_s8(w + 16), z ? vld1q_s8(z + 16) : none);
    pair_four(to + 64, vld1q_s8(w + 32), z ? vld1q_s8(z + 32) : none);
    pair_four(to + 96, vld1q_s8(w + 48), z ? vld1q_s8(z + 48) : none);
}

static void pair_weights(const struct morsel_tile *t, uint32_t blocks) {
    const int8_t *w = t->weights;
    int8_t *to = t->room->weights;
    for (uint32_t i = 0; i < blocks * t->segments; i++) {
        uint32_t k = t->depth;
        for (; k >= 8; k -= 8, w += 128, to += 128) pair_sixteen(to, w, w + 64);
        if (!k) continue;
        pair_sixteen(to, w, NULL);
        w += 64, to += 128;
    }
}

/* 0 1 2 3 become 0 1 0 1 2 3 2 3. */
static void twice(int32_t *to, int32x4_t v) {
    int64x2_t pairs = vreinterpretq_s64_s32(v);
    vst1q_s32(to, vreinterpretq_s32_s64(vzip1q_s64(pairs, pairs)));
    vst1q_s32(to + 4, vreinterpretq_s32_s64(vzip2q_s64(pairs, pairs)));
}

static void twice_float(float *to, float32x4_t v) {
    int64x2_t pairs = vreinterpretq_s64_f32(v);
    vst1q_f32(to, vreinterpretq_f32_s64(vzip1q_s64(pairs, pairs)));
    vst1q_f32(to + 4, vreinterpretq_f32_s64(vzip2q_s64(pairs, pairs)));
}

/* Whether the room holds the span from now on. */
static int fill_room(const struct morsel_tile *t) {
    const struct morsel_span *span = t->span;
    uint32_t blocks = (t->channels + 15) / 16, k = t->segments * ((t->depth + 7) / 8 * 8);
    if (span->uses < MORSEL_ROOM_PIXELS || k > t->room->bytes / 16 / blocks) return 0;
    pair_weights(t, blocks);
    for (uint32_t c = 0; c < blocks * 16; c += 4) {
        twice(t->room->start + 2 * c, vld1q_s32(span->start + c));
        twice_float(t->room->multiplier + 2 * c, vld1q_f32(span->multiplier + c));
        twice_float(t->room->offset + 2 * c, vld1q_f32(span->offset + c));
    }
    return 1;
}

static void tile_i8mm(const struct morsel_tile *t) {
    struct morsel_span *span = t->span;
    if (!span->ready) span->ready = t->room && fill_room(t) ? 2 : 1;
    if (span->ready == 1 || (t->pixels == 1 && t->ended && !t->begun)) morsel_tile_dotprod(t);
    else run(t);
}

/* Takes the room that is lent; NULL: it is too small. */
static struct morsel_pairs *pairs_in(const struct morsel_room *room) {
    struct morsel_pairs *pairs = (void *)room->data;
    if (room->bytes < sizeof *pairs + MORSEL_ROOM_LEAST) return NULL;
    const uint32_t left = room->bytes - (uint32_t)sizeof *pairs;
    pairs->bytes = left < MORSEL_ROOM_BYTES ? left : MORSEL_ROOM_BYTES;
    return pairs;
}

void morsel_conv_rows_i8mm(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    struct morsel_pairs *pairs = a->channels.weight_zero ? NULL : pairs_in(&a->room);
    morsel_conv_tiles(a, rows, y, n, tile_i8mm, pairs);
}

static __attribute__((noinline)) struct morsel_pairs *pairs_for(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    return a->channels.weight_zero || end - begin < MORSEL_ROOM_PIXELS * a->blocks ? NULL : pairs_in(&a->room);
}

void morsel_fc_blocks_i8mm(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, tile_i8mm, pairs_for(a, begin, end));
}

void morsel_fc_short_i8mm(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    morsel_fc_short_tiles(a, apart, y_step, tile_i8mm, pairs_for(a, 0, a->rows * a->blocks));
}
