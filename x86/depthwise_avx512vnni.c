/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution with AVX512-VNNI, 64 channels at a time.
 *
 * Bytes of four input rows in one column are interleaved to (r0, r1, r2, r3) for each channel. vpdpbusd multiplies them with the four taps
 * of a kernel column. The interleaving works in lanes of 16 bytes, so register j of four holds channels 16 L + 4 j + 0..3 in lane L.
 * Weights and constants are brought into that order once for many rows, and the packs of the results undo it.
 *
 * A 3x3 kernel needs three of four rows. With stride 1 two rows of results share the interleaved columns, and a column serves three pixels.
 * The weights are (w0, w1, w2, 0) for the upper row, (0, w0, w1, w2) for the lower. With stride 2 two pixels side by side share five
 * columns of three rows, of which the last is the first of the next two. The twelve new bytes of a channel are three quads.
 *
 * Where 32 or 16 channels are left, a register holds those of two or four pixels. They come from as many parts of the row, which advance
 * together.
 */
#include "depthwise_channels_avx512.h"
#include "dot_avx512.h"
#include "requant_avx512.h"
#include "x86.h"

#define BYTES_AT_ONCE 262144u /* of input rows that stay in the second-level cache while the channels pass */

/* A row of results (two for the tiles that do two), and the rows under it. */
struct strip {
    const struct morsel_conv_args *args;
    const struct channels *channels;
    struct morsel_requant512 requant;
    const uint8_t *row[64]; /* at the first channel */
    uint8_t *y;             /* the same */
    size_t x_step, y_step;  /* from pixel to pixel */
    uint32_t results;       /* rows */
};

MORSEL_INLINE struct quad interleave(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
    __m512i a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
    __m512i c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
    struct quad q = {{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d), _mm512_unpackhi_epi16(b, d)}};
    return q;
}

/* Column ix of rows k .. k + count, at most four; padding is zero points. */
MORSEL_INLINE struct quad column(const struct strip *s, uint32_t k, uint32_t count, uint32_t ix) {
    const struct morsel_window *w = &s->args->window;
    __m512i r[4];
    size_t at = ix * s->x_step;
    if (ix >= w->in_w) {
        __m512i zero = _mm512_set1_epi8((char)s->args->x.qparams.zero);
        struct quad q = {{zero, zero, zero, zero}};
        return q;
    }
    MORSEL_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        r[i] = _mm512_setzero_si512();
        if (i < count) r[i] = _mm512_maskz_loadu_epi8(s->channels->mask, s->row[k + i] + at);
    }
    return interleave(r[0], r[1], r[2], r[3]);
}

MORSEL_INLINE void add_taps(struct quad *acc, const struct quad *x, const struct quad *taps) {
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) acc->v[j] = morsel_dot512(acc->v[j], x->v[j], taps->v[j]);
}

MORSEL_INLINE __m512i requant(const struct strip *s, const struct quad *acc, const struct quad *multiplier, const struct quad *offset) {
    const struct channels *t = s->channels;
    __m512i v[4];
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        __m512 m = _mm512_castsi512_ps(multiplier->v[j]), o = _mm512_castsi512_ps(offset->v[j]);
        if (t->plain) v[j] = morsel_scale512_plain(acc->v[j], m, o);
        else if (t->has_bias) v[j] = morsel_scale512_bias(acc->v[j], m, o);
        else v[j] = morsel_scale512(acc->v[j], m);
    }
    if (t->plain) return morsel_bytes512(v[0], v[1], v[2], v[3]);
    return morsel_pack512(&s->requant, v[0], v[1], v[2], v[3]);
}

/* Results in float: the lanes of the four registers are turned, so that each has sixteen channels that follow one another. The sums come by
 * value: else they would stay in memory as they are added up. */
static __attribute__((noinline)) void store_floats(const struct strip *s, struct quad acc, uint8_t *y) {
    const struct channels *t = s->channels;
    const struct morsel_output *to = &s->args->y;
    __m512 v[4];
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        v[j] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc.v[j]), _mm512_castsi512_ps(t->multiplier.v[j]));
        if (t->has_bias) v[j] = _mm512_add_ps(v[j], _mm512_castsi512_ps(t->offset.v[j]));
        v[j] = _mm512_max_ps(_mm512_set1_ps(to->float_min), v[j]); /* of two zeros the second, and a NaN */
        v[j] = _mm512_min_ps(_mm512_set1_ps(to->float_max), v[j]);
    }
    __m512 a = _mm512_shuffle_f32x4(v[0], v[1], 0x44), b = _mm512_shuffle_f32x4(v[2], v[3], 0x44);
    __m512 c = _mm512_shuffle_f32x4(v[0], v[1], 0xee), d = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
    const __m512 turned[4] = {_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd), _mm512_shuffle_f32x4(c, d, 0x88),
                              _mm512_shuffle_f32x4(c, d, 0xdd)};
    MORSEL_UNROLL
    for (uint32_t k = 0; k < 4; k++) _mm512_mask_storeu_ps(y + 64 * k, (__mmask16)(t->mask >> 16 * k), turned[k]);
}

/* --- 3x3 kernels --- */

/* What is in a register: 64 channels of a pixel, or those that exist, whose results may be floats, or 32 of two, or 16 of four. */
enum kind { WHOLE, MASKED, HALVES, QUARTERS };

/* Where the tiles read and write, in registers. */
struct places {
    const uint8_t *row[4];
    size_t x_step, y_step, x[4], y[4];
    __mmask64 mask;
    uint32_t floats;
};

MORSEL_INLINE struct places places_of(const struct strip *s) {
    const struct channels *t = s->channels;
    struct places p = {.x_step = s->x_step, .y_step = s->y_step, .mask = t->mask, .floats = s->args->y.qparams.is_float};
    MORSEL_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        p.row[i] = s->row[i];
        p.x[i] = t->x[i];
        p.y[i] = t->y[i];
    }
    return p;
}

MORSEL_INLINE __m512i load(const struct places *p, const uint8_t *x, enum kind kind) {
    if (kind == WHOLE) return _mm512_loadu_si512(x);
    if (kind == MASKED) return _mm512_maskz_loadu_epi8(p->mask, x);
    if (kind == HALVES) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)x);
        return _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm256_loadu_si256((const __m256i *)(const void *)(x + p->x[1])), 1);
    }
    __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(lane(x)), lane(x + p->x[1]), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(v, lane(x + p->x[2]), 2), lane(x + p->x[3]), 3);
}

/* Columns ix .. ix + n where one of them is padding for a part. */
static __attribute__((noinline)) void edges(const struct strip *s, uint32_t ix, uint32_t n, struct quad *to) {
    const struct channels *t = s->channels;
    uint32_t width = 64 >> t->parts / 2;
    for (uint32_t i = 0; i < n; i++, ix++) {
        for (int k = 0; k < 4; k++) to[i].v[k] = _mm512_set1_epi8((char)s->args->x.qparams.zero);
        for (uint32_t part = 0; part < t->parts; part++) {
            uint32_t column = ix + t->columns[part];
            size_t at = column * s->x_step - part * width; /* the mask leaves out what lies before the part's bytes */
            if (column >= s->args->window.in_w) continue;
            for (int k = 0; k < 4; k++)
                to[i].v[k] = _mm512_mask_loadu_epi8(to[i].v[k], t->mask << part * width, (const void *)((uintptr_t)s->row[k] + at));
        }
    }
}

/* Four rows of column ix. */
MORSEL_INLINE struct quad rows_at(const struct strip *s, const struct places *p, uint32_t ix, enum kind kind) {
    struct quad q, out;
    if (__builtin_expect(ix < s->channels->inside, 1)) {
        MORSEL_UNROLL
        for (int k = 0; k < 4; k++) q.v[k] = load(p, p->row[k] + ix * p->x_step, kind);
        return q;
    }
    q.v[0] = q.v[1] = q.v[2] = q.v[3] = _mm512_set1_epi8((char)s->args->x.qparams.zero);
    if (kind < HALVES) return q;
    edges(s, ix, 1, &out);
    return out;
}

MORSEL_INLINE void store(const struct places *p, uint8_t *y, __m512i v, enum kind kind) {
    if (kind == WHOLE) _mm512_storeu_si512(y, v);
    if (kind == MASKED) _mm512_mask_storeu_epi8(y, p->mask, v);
    if (kind == HALVES) {
        _mm256_storeu_si256((__m256i *)(void *)y, _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(void *)(y + p->y[1]), _mm512_extracti64x4_epi64(v, 1));
    }
    if (kind != QUARTERS) return;
    _mm_storeu_si128((__m128i *)(void *)y, _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(void *)(y + p->y[1]), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(void *)(y + p->y[2]), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(void *)(y + p->y[3]), _mm512_extracti32x4_epi32(v, 3));
}

MORSEL_INLINE struct quad add_three(const struct quad *start, const struct quad *x0, const struct quad *x1, const struct quad *x2,
                                    const struct quad *taps) {
    struct quad acc = *start;
    add_taps(&acc, x0, &taps[0]);
    add_taps(&acc, x1, &taps[1]);
    add_taps(&acc, x2, &taps[2]);
    return acc;
}

/* One or two rows of results. The first two columns only fill the registers. */
MORSEL_INLINE void strip_stride_1(const struct strip *s, enum kind kind) {
    const struct channels *t = s->channels;
    const struct places p = places_of(s);
    const struct quad multiplier = t->multiplier, offset = t->offset;
    uint32_t first = 0u - s->args->window.pad_left;
    struct quad x0 = t->start, x1 = x0, x2;
    uint8_t *y = s->y;
    for (uint32_t n = 0; n < t->pixels + 2; n++) {
        struct quad r = rows_at(s, &p, first + n, kind);
        x2 = interleave(r.v[0], r.v[1], r.v[2], r.v[3]);
        if (n >= 2) {
            uint8_t *to = y;
            for (uint32_t i = 0; i < s->results; i++, to += s->args->window.out_row) {
                struct quad acc = add_three(&t->start, &x0, &x1, &x2, &t->taps[3 * i]);
                if (kind == MASKED && p.floats) store_floats(s, acc, to);
                else store(&p, to, requant(s, &acc, &multiplier, &offset), kind);
            }
            y += p.y_step;
        }
        x0 = x1;
        x1 = x2;
    }
}

/* Pixels in twos. Of an odd one at the end, columns whose taps are 0 are not read. */
MORSEL_INLINE void strip_stride_2(const struct strip *s, enum kind kind) {
    const struct channels *t = s->channels;
    const struct places p = places_of(s);
    const struct quad multiplier = t->multiplier, offset = t->offset;
    uint32_t ix = 0u - s->args->window.pad_left;
    uint8_t *y = s->y;
    struct quad a, b, c, d, x0, x1, x2, x3, out[4];
    b = rows_at(s, &p, ix, kind);
    x3 = interleave(b.v[0], b.v[0], b.v[1], b.v[2]);
    for (uint32_t n = 0; n < t->pixels; ix += 4) {
        uint32_t more = n + 1 < t->pixels ? 2 : 0;
        x0 = x3;
        if (__builtin_expect(ix + 1 < t->inside && ix + 2 + more < t->inside, 1)) {
            size_t at = (ix + 1) * p.x_step, last = at + p.x_step + more / 2 * p.x_step;
            MORSEL_UNROLL
            for (int k = 0; k < 3; k++) {
                a.v[k] = load(&p, p.row[k] + at, kind);
                b.v[k] = load(&p, p.row[k] + at + p.x_step, kind);
                c.v[k] = load(&p, p.row[k] + last, kind);
                d.v[k] = load(&p, p.row[k] + last + more / 2 * p.x_step, kind);
            }
        } else {
            edges(s, ix + 1, 4, out);
            a = out[0], b = out[1], c = out[2], d = out[3];
        }
        x1 = interleave(a.v[0], a.v[1], a.v[2], b.v[0]);
        x2 = interleave(b.v[1], b.v[2], c.v[0], c.v[1]);
        x3 = interleave(c.v[2], d.v[0], d.v[1], d.v[2]);
        for (uint32_t i = 0; i < 2 && n < t->pixels; i++, n++, y += p.y_step) {
            struct quad acc = add_three(&t->start, &x0, &x1, &x2, &t->taps[3 * i]);
            if (kind == MASKED && p.floats) store_floats(s, acc, y);
            else store(&p, y, requant(s, &acc, &multiplier, &offset), kind);
            x0 = x1;
            x1 = x2;
            x2 = x3;
        }
    }
}

typedef void strip_fn(const struct strip *s);

#define STRIP(name, tile, kind) \
    static __attribute__((noinline)) void name(const struct strip *s) { \
        tile(s, kind); \
    }

STRIP(whole_stride_1, strip_stride_1, WHOLE)
STRIP(masked_stride_1, strip_stride_1, MASKED)
STRIP(halves_stride_1, strip_stride_1, HALVES)
STRIP(quarters_stride_1, strip_stride_1, QUARTERS)
STRIP(whole_stride_2, strip_stride_2, WHOLE)
STRIP(masked_stride_2, strip_stride_2, MASKED)
STRIP(halves_stride_2, strip_stride_2, HALVES)
STRIP(quarters_stride_2, strip_stride_2, QUARTERS)

/* Any kernel: columns are interleaved for each pixel anew. */
MORSEL_INLINE void strip_any(const struct strip *s, int floats) {
    const struct morsel_window *w = &s->args->window;
    uint32_t quads = (w->kernel_h + 3) / 4;
    for (uint32_t ox = 0; ox < w->out_w; ox++) {
        struct quad acc = s->channels->start;
        for (uint32_t i = 0; i < w->kernel_w * quads; i++) {
            uint32_t k = i % quads * 4, count = w->kernel_h - k < 4 ? w->kernel_h - k : 4;
            struct quad x = column(s, k, count, ox * w->stride_w + i / quads * w->dilation_w - w->pad_left);
            add_taps(&acc, &x, &s->channels->taps[i]);
        }
        uint8_t *y = s->y + ox * s->y_step;
        if (floats) store_floats(s, acc, y);
        else _mm512_mask_storeu_epi8(y, s->channels->mask, requant(s, &acc, &s->channels->multiplier, &s->channels->offset));
    }
}

static __attribute__((noinline)) void bytes_of_any(const struct strip *s) {
    strip_any(s, 0);
}

static __attribute__((noinline)) void floats_of_any(const struct strip *s) {
    strip_any(s, 1);
}

static strip_fn *strip_of(const struct channels *t, int one, uint32_t floats) {
    if (t->parts == 4) return one ? quarters_stride_1 : quarters_stride_2;
    if (t->parts == 2) return one ? halves_stride_1 : halves_stride_2;
    if (t->mask == ~(__mmask64)0 && !floats) return one ? whole_stride_1 : whole_stride_2;
    return one ? masked_stride_1 : masked_stride_2;
}

/* Whether any of 64 channels' weights have a zero point. */
static int has_zero(const struct morsel_conv_args *a, uint32_t c) {
    const int32_t *zero = a->channels.weight_zero;
    uint32_t any = 0;
    for (uint32_t i = c; zero && i < c + 64 && i < a->window.out_c; i += 16) {
        __m512i v = _mm512_loadu_si512(zero + i);
        any |= _mm512_test_epi32_mask(v, v);
    }
    return any != 0;
}

/* Some rows, all channels. Where two rows are made together, they have four rows under them. */
/* Channels begin .. end. */
static __attribute__((noinline)) void run_rows(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n,
                                               uint32_t begin, uint32_t end) {
    const struct morsel_window *w = &a->window;
    struct channels channels;
    struct strip strip;
    int tiles = has_tiles(w), pairs = tiles && w->stride_w == 1 && w->stride_h == 1 && w->dilation_h == 1;
    strip.args = a;
    strip.channels = &channels;
    strip.requant = morsel_requant512(&a->y);
    strip.x_step = morsel_x_step(w);
    strip.y_step = morsel_y_step(w, 1);
    for (uint32_t c = begin; c < end; c += 64) {
        take_channels(&channels, a, c, tiles);
        cut_rows(&channels, w, strip.x_step, strip.y_step);
        const uint32_t floats = a->y.qparams.is_float;
        strip_fn *fn = tiles ? strip_of(&channels, w->stride_w == 1, floats) : floats ? floats_of_any : bytes_of_any;
        for (uint32_t i = 0; i < n; i += strip.results) {
            const uint8_t *const *row = rows + (size_t)i * w->kernel_h;
            strip.results = pairs && i + 1 < n ? 2 : 1;
            strip.y = (uint8_t *)a->y.data + (size_t)(y + i) * w->out_row + (size_t)c * morsel_element_bytes(&a->y.qparams);
            for (uint32_t k = 0; k < w->kernel_h; k++) strip.row[k] = row[k] + c;
            if (tiles) strip.row[3] = row[strip.results == 2 ? 5 : 2] + c; /* one row of results has taps of 0 for it */
            fn(&strip);
        }
    }
}

/* All channels. Those whose weights have a zero point are AVX2's, and its frame does not lie on top of this one. */
static void run_all(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const uint32_t out_c = a->window.out_c;
    for (uint32_t c = 0, end; a->channels.weight_zero && c < out_c; c = end) {
        end = out_c - c < 64 ? out_c : c + 64;
        if (has_zero(a, c)) morsel_depthwise_channels_avx2(a, rows, y, n, c, end);
        else run_rows(a, rows, y, n, c, end);
    }
    if (!a->channels.weight_zero) run_rows(a, rows, y, n, 0, out_c);
}

/* Others are AVX2's. */
static int is_taken(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    const struct morsel_channels *c = &a->channels;
    size_t constants = (w->out_c + 15) / 16 * 16;
    if (c->weight_zero && morsel_depthwise_refusal_avx2(a)) return 0;
    if (a->x.qparams.sign_flip || w->kernel_w * ((w->kernel_h + 3) / 4) > TAPS) return 0;
    if (a->y.qparams.is_float) return 1;
    return morsel_small512(c->multiplier, constants) && morsel_small_bias512(c->multiplier, c->float_bias, constants);
}

const char *morsel_depthwise_refusal_avx512vnni(const void *args) {
    return is_taken(args) ? NULL : morsel_depthwise_refusal_avx2(args);
}

void morsel_depthwise_rows_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    if (!is_taken(a) || (a->channels.weight_zero && !morsel_depthwise_fits_avx2(a))) {
        morsel_depthwise_rows_avx2(a, rows, y, n);
        return;
    }
    uint32_t most = BYTES_AT_ONCE / w->in_row / w->stride_h / 2 * 2;
    if (most < 2) most = 2;
    for (uint32_t i = 0, now; i < n; i += now) {
        now = n - i < most ? n - i : most;
        run_all(a, rows + (size_t)i * w->kernel_h, y + i, now);
    }
    _mm256_zeroupper();
}
