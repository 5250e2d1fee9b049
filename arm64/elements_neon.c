/* SPDX-License-Identifier: MIT */
/* Elementwise kernels: quantized sums and products, means over a picture, tables. Sixteen bytes at a time, the rest by plain C. */
#include "arm64.h"

#include "../kernels/mean.h"
#include "../kernels/walk.h"

/* Bytes as floats: `bytes` ^ flip is u = 0..255, 0x4b000000 + u is the float 2^23 + u, and offset is what to take from that. */
struct floats {
    float32x4_t f0, f1, f2, f3;
};

static inline __attribute__((always_inline)) struct floats load_floats(const uint8_t *x, uint8x16_t flip, float32x4_t offset) {
    uint16x8_t top = vdupq_n_u16(0x4b00);
    uint8x16_t u = veorq_u8(vld1q_u8(x), flip), none = vdupq_n_u8(0);
    uint16x8_t lo = vreinterpretq_u16_u8(vzip1q_u8(u, none)), hi = vreinterpretq_u16_u8(vzip2q_u8(u, none));
    struct floats r;
    r.f0 = vsubq_f32(vreinterpretq_f32_u16(vzip1q_u16(lo, top)), offset);
    r.f1 = vsubq_f32(vreinterpretq_f32_u16(vzip2q_u16(lo, top)), offset);
    r.f2 = vsubq_f32(vreinterpretq_f32_u16(vzip1q_u16(hi, top)), offset);
    r.f3 = vsubq_f32(vreinterpretq_f32_u16(vzip2q_u16(hi, top)), offset);
    return r;
}

/* Where results go, as vectors; values are integers of y's own type. */
struct limits {
    float32x4_t low, high;
    int16x8_t shift; /* from y's own integers to the signed domain */
    uint8x16_t flip; /* from there to the stored byte */
};

static struct limits limits_of(const struct morsel_output *y) {
    struct limits k = {vdupq_n_f32((float)(y->out_min - y->qparams.own)), vdupq_n_f32((float)(y->out_max - y->qparams.own)),
                       vdupq_n_s16((int16_t)(y->qparams.own - 128)), vdupq_n_u8((uint8_t)(y->qparams.sign_flip ^ 0x80))};
    return k;
}

/* Clamped and rounded, as the bits of a float whose low half is the integer. */
static inline __attribute__((always_inline)) float32x4_t limit(const struct limits *k, float32x4_t v) {
    return vaddq_f32(vminq_f32(vmaxq_f32(v, k->low), k->high), vdupq_n_f32(MORSEL_MAGIC_FLOAT));
}

static inline __attribute__((always_inline)) void put_sixteen(const struct limits *k, struct floats v, uint8_t *y) {
    int16x8_t lo = morsel_low_halves(limit(k, v.f0), limit(k, v.f1)), hi = morsel_low_halves(limit(k, v.f2), limit(k, v.f3));
    int8x16_t bytes = morsel_narrow(vaddq_s16(lo, k->shift), vaddq_s16(hi, k->shift));
    vst1q_u8(y, veorq_u8(vreinterpretq_u8_s8(bytes), k->flip));
}

struct add {
    uint8x16_t a_flip, b_flip;
    float32x4_t a_offset, b_offset, a_ratio, b_ratio, offset, round;
    struct limits limits;
    int plain; /* y is signed, all its values are allowed, and no sum leaves 16 bits: narrowing alone is the clamp */
};

static inline __attribute__((always_inline)) float32x4_t add_four(const struct add *k, float32x4_t a, float32x4_t b) {
    return vfmaq_f32(vfmaq_f32(k->offset, b, k->b_ratio), a, k->a_ratio);
}

static inline __attribute__((always_inline)) struct floats add_floats(const struct add *k, const uint8_t *a, const uint8_t *b) {
    struct floats v = load_floats(a, k->a_flip, k->a_offset), w = load_floats(b, k->b_flip, k->b_offset);
    v.f0 = add_four(k, v.f0, w.f0), v.f1 = add_four(k, v.f1, w.f1);
    v.f2 = add_four(k, v.f2, w.f2), v.f3 = add_four(k, v.f3, w.f3);
    return v;
}

static inline __attribute__((always_inline)) void add_sixteen_plain(const struct add *k, const uint8_t *a, const uint8_t *b, uint8_t *y) {
    struct floats v = add_floats(k, a, b);
    int16x8_t lo = morsel_low_halves(vaddq_f32(v.f0, k->round), vaddq_f32(v.f1, k->round));
    int16x8_t hi = morsel_low_halves(vaddq_f32(v.f2, k->round), vaddq_f32(v.f3, k->round));
    vst1q_s8((int8_t *)y, morsel_narrow(lo, hi));
}

static float size(float v) {
    return v < 0 ? -v : v;
}

static struct add describe_add(const struct morsel_binary_args *args) {
    struct add k;
    k.a_flip = vdupq_n_u8((uint8_t)args->a.qparams.sign_flip);
    k.b_flip = vdupq_n_u8((uint8_t)args->b.qparams.sign_flip);
    k.a_offset = vdupq_n_f32(8388608.0f + (float)args->a.qparams.own);
    k.b_offset = vdupq_n_f32(8388608.0f + (float)args->b.qparams.own);
    k.a_ratio = vdupq_n_f32(args->a_ratio);
    k.b_ratio = vdupq_n_f32(args->b_ratio);
    k.offset = vdupq_n_f32(args->offset);
    k.round = vdupq_n_f32(MORSEL_MAGIC_FLOAT + (float)(args->y.qparams.own - 128)); /* an even number: it moves no tie */
    k.limits = limits_of(&args->y);
    k.plain = args->y.qparams.sign_flip == 0x80 && args->y.out_min == 0 && args->y.out_max == 255 &&
              255 * (size(args->a_ratio) + size(args->b_ratio)) + size(args->offset) < 32000;
    return k;
}

/* n elements of y; what is left of sixteens goes to plain C. */
static void add_line(const struct morsel_binary_args *args, const void *how, const struct morsel_operand *line_a,
                     const struct morsel_operand *line_b, uint32_t at, uint32_t n) {
    const struct add *k = how;
    const uint8_t *a = line_a->x, *b = line_b->x;
    uint8_t *y = (uint8_t *)args->y.data + at;
    uint32_t i = 0;
    for (; k->plain && n - i >= 16; i += 16, a += line_a->step, b += line_b->step) add_sixteen_plain(k, a, b, y + i);
    for (; n - i >= 16; i += 16, a += line_a->step, b += line_b->step) put_sixteen(&k->limits, add_floats(k, a, b), y + i);
    if (i < n) morsel_qadd_c(args, at + i, at + n);
}

void morsel_qadd_neon(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    const struct add k = describe_add(args);
    morsel_for_pairs(args, begin, end, 16, add_line, &k, morsel_qadd_c);
}

struct multiply {
    uint8x16_t a_flip, b_flip;
    float32x4_t a_offset, b_offset, ratio, zero;
    struct limits limits;
};

static struct multiply describe_multiply(const struct morsel_binary_args *args) {
    struct multiply k = {vdupq_n_u8((uint8_t)args->a.qparams.sign_flip),
                         vdupq_n_u8((uint8_t)args->b.qparams.sign_flip),
                         vdupq_n_f32(8388608.0f + (float)args->a.qparams.zero),
                         vdupq_n_f32(8388608.0f + (float)args->b.qparams.zero),
                         vdupq_n_f32(args->a_ratio),
                         vdupq_n_f32((float)(args->y.qparams.zero - args->y.qparams.own)),
                         limits_of(&args->y)};
    return k;
}

/* |a * b| <= 255 * 255 is exact in float. */
static inline __attribute__((always_inline)) float32x4_t multiply_four(const struct multiply *k, float32x4_t a, float32x4_t b) {
    return vaddq_f32(vmulq_f32(vmulq_f32(a, b), k->ratio), k->zero);
}

/* n elements of y; what is left of sixteens goes to plain C. */
static void multiply_line(const struct morsel_binary_args *args, const void *how, const struct morsel_operand *line_a,
                          const struct morsel_operand *line_b, uint32_t at, uint32_t n) {
    const struct multiply *k = how;
    const uint8_t *a = line_a->x, *b = line_b->x;
    uint32_t i = 0;
    for (; n - i >= 16; i += 16, a += line_a->step, b += line_b->step) {
        struct floats v = load_floats(a, k->a_flip, k->a_offset), w = load_floats(b, k->b_flip, k->b_offset);
        v.f0 = multiply_four(k, v.f0, w.f0), v.f1 = multiply_four(k, v.f1, w.f1);
        v.f2 = multiply_four(k, v.f2, w.f2), v.f3 = multiply_four(k, v.f3, w.f3);
        put_sixteen(&k->limits, v, (uint8_t *)args->y.data + at + i);
    }
    if (i < n) morsel_qmul_c(args, at + i, at + n);
}

void morsel_qmul_neon(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    const struct multiply k = describe_multiply(args);
    morsel_for_pairs(args, begin, end, 16, multiply_line, &k, morsel_qmul_c);
}

struct affine {
    uint8x16_t flip;
    float32x4_t own;
    struct limits limits;
};

static inline __attribute__((always_inline)) float32x4_t affine_four(float32x4_t v, const float *scale, const float *offset) {
    return vaddq_f32(vmulq_f32(v, vld1q_f32(scale)), vld1q_f32(offset));
}

/* n elements of as many channels. y may be x: a piece is read before it is written. */
static void affine_line(const struct affine *k, const uint8_t *x, uint8_t *y, const float *scale, const float *offset, uint32_t n) {
    uint8_t rest[16] = {0};
    float scales[16] = {0}, offsets[16] = {0};
    for (uint32_t some; n; n -= some, x += some, y += some, scale += some, offset += some) {
        some = n < 16 ? n : 16;
        if (some < 16) {
            memcpy(rest, x, some);
            memcpy(scales, scale, some * sizeof *scale);
            memcpy(offsets, offset, some * sizeof *offset);
        }
        const float *s = some < 16 ? scales : scale, *o = some < 16 ? offsets : offset;
        struct floats v = load_floats(some < 16 ? rest : x, k->flip, k->own);
        v.f0 = affine_four(v.f0, s, o), v.f1 = affine_four(v.f1, s + 4, o + 4);
        v.f2 = affine_four(v.f2, s + 8, o + 8), v.f3 = affine_four(v.f3, s + 12, o + 12);
        put_sixteen(&k->limits, v, some < 16 ? rest : y);
        if (some < 16) memcpy(y, rest, some);
    }
}

void morsel_qaffine_neon(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    const struct morsel_output y = morsel_whole_bytes(&a->y);
    const struct affine k = {vdupq_n_u8((uint8_t)a->x.qparams.sign_flip), vdupq_n_f32(8388608.0f + (float)a->x.qparams.own), limits_of(&y)};
    for (uint32_t n; begin < end; begin += n) {
        uint32_t channel = begin % a->channels;
        n = a->channels - channel < end - begin ? a->channels - channel : end - begin;
        affine_line(&k, (const uint8_t *)a->x.data + begin, (uint8_t *)y.data + begin, a->scale + channel, a->offset + channel, n);
    }
}

/* Sums of `count` bytes ^ flip of sixteen columns; 257 of them fit sixteen bits. */
static void sum_columns(uint32_t *sums, const uint8_t *x, uint32_t count, uint32_t inner, uint8x16_t flip) {
    uint32x4_t s0 = vdupq_n_u32(0), s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t part; count; count -= part) {
        uint16x8_t lo = vdupq_n_u16(0), hi = lo;
        part = count < 256 ? count : 256;
        for (uint32_t i = 0; i < part; i++, x += inner) {
            uint8x16_t v = veorq_u8(vld1q_u8(x), flip);
            lo = vaddw_u8(lo, vget_low_u8(v));
            hi = vaddw_high_u8(hi, v);
        }
        s0 = vaddw_u16(s0, vget_low_u16(lo)), s1 = vaddw_high_u16(s1, lo);
        s2 = vaddw_u16(s2, vget_low_u16(hi)), s3 = vaddw_high_u16(s3, hi);
    }
    vst1q_u32(sums, s0), vst1q_u32(sums + 4, s1), vst1q_u32(sums + 8, s2), vst1q_u32(sums + 12, s3);
}

static void mean_sixteen(const struct morsel_mean_args *a, uint32_t u, const struct morsel_requant *f) {
    uint32_t sums[16];
    float m[16];
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
    int32x4_t zero = vdupq_n_s32((int32_t)(a->count * (uint32_t)a->x.qparams.zero));
    sum_columns(sums, x, a->count, a->inner, vdupq_n_u8((uint8_t)a->x.qparams.sign_flip));
    if (a->y.qparams.is_float) {
        morsel_store_means(a, u, 16, sums);
        return;
    }
    for (uint32_t i = 0; i < 16; i += 4) vst1q_f32(m + i, vdupq_n_f32(a->multiplier));
    struct morsel_sum16 s = {vsubq_s32(vreinterpretq_s32_u32(vld1q_u32(sums)), zero),
                             vsubq_s32(vreinterpretq_s32_u32(vld1q_u32(sums + 4)), zero),
                             vsubq_s32(vreinterpretq_s32_u32(vld1q_u32(sums + 8)), zero),
                             vsubq_s32(vreinterpretq_s32_u32(vld1q_u32(sums + 12)), zero)};
    vst1q_s8((int8_t *)a->y.data + u, morsel_requant16(s, m, m, f, MORSEL_REQUANT_CLAMPED));
}

static uint32_t sum_line(const uint8_t *x, uint32_t n, uint8_t flip) {
    const uint8x16_t flips = vdupq_n_u8(flip);
    uint32x4_t sums = vdupq_n_u32(0);
    uint32_t i = 0, sum = 0;
    for (; n - i >= 16; i += 16) sums = vpadalq_u16(sums, vpaddlq_u8(veorq_u8(vld1q_u8(x + i), flips)));
    for (; i < n; i++) sum += x[i] ^ flip;
    return sum + vaddvq_u32(sums);
}

const char *morsel_mean_refusal_neon(const void *args) {
    const struct morsel_mean_args *a = args;
    return !a->x.qparams.is_float && a->inner > 1 && a->inner < 16 ? MORSEL_REFUSES_NARROW : NULL;
}

void morsel_mean_neon(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    struct morsel_requant f;
    if (a->x.qparams.is_float || a->inner == 1) {
        if (a->x.qparams.is_float) morsel_mean_floats_neon(a, begin, end);
        else morsel_mean_lines(a, sum_line, begin, end);
        return;
    }
    morsel_requant_describe(&f, &a->y);
    while (begin < end) { /* to the end of a line of columns, sixteen at a time */
        uint32_t line = a->inner - begin % a->inner, stop = end - begin < line ? end : begin + line;
        for (; stop - begin >= 16; begin += 16) mean_sixteen(a, begin, &f);
        if (begin < stop) morsel_mean_c(a, begin, stop);
        begin = stop;
    }
}

/* A table of 256 bytes as four of 64: an index outside a quarter leaves the lane as it is. */
static void lut_bytes(const struct morsel_lut_args *a, const uint8_t *x, uint8_t *y, uint32_t n) {
    const uint8_t *table = a->table;
    uint8x16_t x_flip = vdupq_n_u8((uint8_t)a->x_flip), y_flip = vdupq_n_u8((uint8_t)a->y_flip);
    uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64), t2 = vld1q_u8_x4(table + 128), t3 = vld1q_u8_x4(table + 192);
    for (uint32_t i = 0; i < n; i += 16) {
        uint8x16_t v = veorq_u8(vld1q_u8(x + i), x_flip), r = vqtbl4q_u8(t0, v);
        r = vqtbx4q_u8(r, t1, veorq_u8(v, vdupq_n_u8(64)));
        r = vqtbx4q_u8(r, t2, veorq_u8(v, vdupq_n_u8(128)));
        r = vqtbx4q_u8(r, t3, veorq_u8(v, vdupq_n_u8(192)));
        vst1q_u8(y + i, veorq_u8(r, y_flip));
    }
}

const char *morsel_lut_refusal_neon(const void *args) {
    const struct morsel_lut_args *a = args;
    if (a->is_float) return MORSEL_REFUSES_FLOATS;
    return a->channels != 1 ? MORSEL_REFUSES_TABLES : NULL;
}

void morsel_lut_neon(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    uint32_t n = morsel_lut_refusal_neon(a) ? 0 : (end - begin) / 16 * 16;
    if (n) lut_bytes(a, a->x + begin, (uint8_t *)a->y + begin, n);
    if (begin + n < end) morsel_lut_c(a, begin + n, end);
}
