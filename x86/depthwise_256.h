/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution with 256-bit registers, 32 channels at a time. The file that includes this says how four taps are multiplied:
 *
 *     DW_VECTORS                        registers for 32 channels x four taps: 4 of bytes, or 8 of 16-bit integers;
 *                                       with 8, 3x3 windows with stride 2 have a way of their own, and zero points of
 *                                       weights, float results and any multiplier are taken; else 32 channels with
 *                                       such zero points are AVX2's
 *     dw_keep(to, q)                    input bytes, brought to that form
 *     dw_keep_taps(to, q)               the same for weights
 *     dw_dot(acc, x, taps, j)           register j of four: acc + x . taps
 *
 * Bytes of four input rows in one column are interleaved to (r0, r1, r2, r3) for each channel. The interleaving works in lanes of 16 bytes,
 * so register j of four holds channels 16 L + 4 j + 0..3 in lane L. Weights and constants are brought into that order once for many rows,
 * and the packs of the results undo it.
 *
 * The interleaved columns of a piece of a row stand in a small buffer, each used by all windows that it is in. A 3x3 kernel leaves one of
 * four taps free, so two rows of results share them: weights (w0, w1, w2, 0) for the upper, (0, w0, w1, w2) for the lower.
 */
#include "requant_avx2.h"
#include "x86.h"

#define DW_TAPS 16u                                /* most quads of taps: kernel_w * pad4(kernel_h) / 4 */
#define DW_COLUMNS 72u                             /* interleaved columns at once, times quads of rows; in the room */
#define DW_MOST 37u                                /* those of a window */
#define DW_STACK (DW_VECTORS == 8 ? 25u : DW_MOST) /* .. and on the stack */
#define DW_BYTES_AT_ONCE 262144u                   /* of input rows that stay in the second-level cache while the channels pass */

/* 32 channels' taps or inputs, ready to multiply. */
struct dw_kept {
    __m256i v[DW_VECTORS];
};

/* What 32 channels need. */
struct dw_channels {
    struct dw_kept taps[DW_TAPS];
    struct dw_kept lower[3]; /* taps one row further down */
    __m256i start[4];        /* bias - zero * weight_sum */
    __m256i multiplier[4];
    __m256i bias[4]; /* of floats; only with has_bias */
    int has_bias;
    uint32_t count; /* channels that exist */
};

/* A row of results, or two, and the rows under it. */
struct dw_strip {
    const struct morsel_conv_args *args;
    const struct dw_channels *channels;
    struct morsel_requant256 requant;
    const uint8_t *row[64]; /* at the first channel */
    uint8_t *y;             /* the same */
    size_t x_step, y_step;  /* from pixel to pixel, in bytes */
    int quick;              /* bytes as results, no float bias, multipliers that morsel_fits256 takes */
    uint32_t rows, quads;   /* of input, and those by four */
    struct dw_kept *kept;
    uint32_t most; /* columns times quads that there is memory for */
};

/* Lane j of block L becomes lane L of register j. Blocks of 64 bytes, one or two, `step` bytes from one to the next. A second that is
 * missing is 0. */
MORSEL_INLINE void dw_spread(__m256i *q, const void *p, size_t step, uint32_t blocks) {
    const uint8_t *from = p;
    MORSEL_UNROLL
    for (uint32_t j = 0; j < 4; j++) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(from + 16 * j)), high = _mm_setzero_si128();
        if (blocks == 2) high = _mm_loadu_si128((const __m128i *)(const void *)(from + step + 16 * j));
        q[j] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
}

#if DW_VECTORS == 8
/* Takes the zero points off the taps; those of a row that is missing are zero points. They make sums begin elsewhere, too. */
static void dw_take_zeros(struct dw_channels *t, const int32_t *zeros, uint32_t taps, uint32_t blocks, __m256i zero) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i q[4];
    dw_spread(q, zeros, 64, blocks);
    for (uint32_t j = 0; j < 4; j++) {
        __m256i two = _mm256_or_si256(_mm256_slli_epi32(q[j], 16), _mm256_and_si256(q[j], _mm256_set1_epi32(0xffff)));
        __m256i sum = _mm256_setzero_si256();
        for (uint32_t i = 0; i < taps; i++) {
            __m256i even = _mm256_sub_epi16(t->taps[i].v[j], two), odd = _mm256_sub_epi16(t->taps[i].v[j + 4], two);
            sum = _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(even, ones), _mm256_madd_epi16(odd, ones)));
            t->taps[i].v[j] = even, t->taps[i].v[j + 4] = odd;
            if (i < 3) t->lower[i].v[j] = _mm256_slli_epi32(odd, 16), t->lower[i].v[j + 4] = even; /* taps 0 and 2: none, and 1 */
        }
        t->start[j] = _mm256_sub_epi32(t->start[j], _mm256_mullo_epi32(sum, zero));
    }
}
#endif

static __attribute__((noinline, cold)) void dw_take_channels(struct dw_channels *t, const struct morsel_conv_args *a, uint32_t c) {
    const struct morsel_window *w = &a->window;
    uint32_t taps = w->kernel_w * ((w->kernel_h + 3) / 4), left = w->out_c - c;
    uint32_t blocks = left < 32 ? (left + 15) / 16 : 2;
    const int8_t *weights = a->weights + (size_t)(c / 16) * taps * 64;
    __m256i q[4], zero = _mm256_set1_epi32(a->x.qparams.zero);
    for (uint32_t i = 0; i < taps; i++) {
        dw_spread(q, weights + i * 64, (size_t)taps * 64, blocks);
        dw_keep_taps(t->taps[i].v, q);
        for (uint32_t j = 0; j < 4; j++) q[j] = _mm256_slli_epi32(q[j], 8);
        if (i < 3) dw_keep_taps(t->lower[i].v, q);
    }
    dw_spread(q, a->channels.weight_sum + c, 64, blocks);
    dw_spread(t->start, a->channels.bias + c, 64, blocks);
#if DW_VECTORS == 8
    if (a->channels.weight_zero) dw_take_zeros(t, a->channels.weight_zero + c, taps, blocks, zero);
#endif
    for (uint32_t j = 0; j < 4 && (DW_VECTORS != 8 || !a->channels.weight_zero); j++)
        t->start[j] = _mm256_sub_epi32(t->start[j], _mm256_mullo_epi32(q[j], zero));
    dw_spread(t->multiplier, a->channels.multiplier + c, 64, blocks);
    t->has_bias = a->channels.float_bias != NULL;
    if (t->has_bias) dw_spread(t->bias, a->channels.float_bias + c, 64, blocks);
    t->count = left < 32 ? left : 32;
}

/* The channels of one pixel. */
MORSEL_INLINE __m256i dw_load(const uint8_t *x, uint32_t n) {
    uint8_t bytes[32] = {0};
    if (n == 32) return _mm256_loadu_si256((const __m256i *)(const void *)x);
    if (n == 16) return _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)x));
    if (DW_VECTORS == 8 && n % 8 == 0) { /* 8 or 24; no masked load, as emulators read what is masked off, too */
        const __m128i rest = _mm_loadl_epi64((const __m128i *)(const void *)(x + n - 8));
        return n == 8 ? _mm256_castsi128_si256(rest) : _mm256_setr_m128i(_mm_loadu_si128((const __m128i *)(const void *)x), rest);
    }
    memcpy(bytes, x, n);
    return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}

/* Columns ix .. ix + count of four rows, every `step`th entry of `to`; n channels. Padding is zero points. */
MORSEL_INLINE void dw_columns(const struct dw_strip *s, struct dw_kept *to, const uint8_t *const *row, uint32_t ix, uint32_t count,
                              uint32_t n) {
    const struct morsel_window *w = &s->args->window;
    const __m256i zero = _mm256_set1_epi8((char)s->args->x.qparams.zero);
    const uint8_t *x0 = row[0], *x1 = row[1], *x2 = row[2], *x3 = row[3];
    size_t x_step = s->x_step, at = (size_t)ix * x_step;
    uint32_t in_w = w->in_w, step = s->quads;
    for (; count; count--, ix++, at = (size_t)ix * x_step, to += step) {
        __m256i q[4] = {zero, zero, zero, zero};
        if (ix < in_w) {
            __m256i r0 = dw_load(x0 + at, n), r1 = dw_load(x1 + at, n), r2 = dw_load(x2 + at, n), r3 = dw_load(x3 + at, n);
            __m256i a = _mm256_unpacklo_epi8(r0, r1), b = _mm256_unpackhi_epi8(r0, r1);
            __m256i c = _mm256_unpacklo_epi8(r2, r3), d = _mm256_unpackhi_epi8(r2, r3);
            q[0] = _mm256_unpacklo_epi16(a, c);
            q[1] = _mm256_unpackhi_epi16(a, c);
            q[2] = _mm256_unpacklo_epi16(b, d);
            q[3] = _mm256_unpackhi_epi16(b, d);
        }
        dw_keep(to->v, q);
    }
}

static __attribute__((noinline)) void dw_columns_32(const struct dw_strip *s, struct dw_kept *to, const uint8_t *const *row, uint32_t ix,
                                                    uint32_t count) {
    dw_columns(s, to, row, ix, count, 32);
}

static __attribute__((noinline)) void dw_columns_16(const struct dw_strip *s, struct dw_kept *to, const uint8_t *const *row, uint32_t ix,
                                                    uint32_t count) {
    dw_columns(s, to, row, ix, count, 16);
}

static __attribute__((noinline)) void dw_columns_some(const struct dw_strip *s, struct dw_kept *to, const uint8_t *const *row, uint32_t ix,
                                                      uint32_t count) {
    dw_columns(s, to, row, ix, count, s->channels->count);
}

/* All quads of rows of columns ix .. ix + count; rows that are missing in the last quad have weights of 0. */
static void dw_fill(const struct dw_strip *s, struct dw_kept *to, uint32_t ix, uint32_t count) {
    uint32_t n = s->channels->count, last = s->rows - 1;
    for (uint32_t k = 0; k < s->rows; k += 4, to++) {
        const uint8_t *row[4];
        for (uint32_t i = 0; i < 4; i++) row[i] = s->row[k + i < last ? k + i : last];
        if (n == 32) dw_columns_32(s, to, row, ix, count);
        else if (n == 16) dw_columns_16(s, to, row, ix, count);
        else dw_columns_some(s, to, row, ix, count);
    }
}

MORSEL_INLINE __m256i dw_scale(const struct dw_strip *s, __m256i acc, int j) {
    const struct dw_channels *t = s->channels;
    __m256 m = _mm256_castsi256_ps(t->multiplier[j]);
    if (t->has_bias) return morsel_scale256_bias(&s->requant, acc, m, _mm256_castsi256_ps(t->bias[j]));
    return morsel_scale256(&s->requant, acc, m);
}

MORSEL_INLINE void dw_put(uint8_t *y, __m256i v, uint32_t n) {
    if (n == 32) {
        _mm256_storeu_si256((__m256i *)(void *)y, v);
        return;
    }
    morsel_store_first(y, _mm256_castsi256_si128(v), n < 16 ? n : 16);
    if (n > 16) morsel_store_first(y + 16, _mm256_extracti128_si256(v, 1), n - 16);
}

#if DW_VECTORS == 8
/* Four floats, or the first of them, of channels c and on. */
MORSEL_INLINE void dw_put_floats(uint8_t *y, __m128 v, uint32_t c, uint32_t n) {
    if (n >= c + 4) _mm_storeu_ps((float *)(void *)y + c, v);
    else if (n > c) memcpy(y + c * sizeof(float), &v, (n - c) * sizeof(float));
}

/* Results in float, and those in bytes whose products may leave the int32s: from above they are cut in float. */
static __attribute__((noinline)) void dw_store_any(const struct dw_strip *s, const __m256i *acc, uint8_t *y) {
    const struct dw_channels *t = s->channels;
    const struct morsel_output *to = &s->args->y;
    const __m256 low = _mm256_set1_ps(to->float_min), high = _mm256_set1_ps(to->float_max);
    __m256i steps[4];
    for (uint32_t j = 0; j < 4; j++) {
        __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[j]), _mm256_castsi256_ps(t->multiplier[j]));
        if (t->has_bias) v = _mm256_add_ps(v, _mm256_castsi256_ps(t->bias[j]));
        steps[j] = _mm256_cvtps_epi32(_mm256_min_ps(v, s->requant.high));
        if (!to->qparams.is_float) continue;
        v = _mm256_min_ps(high, _mm256_max_ps(low, v)); /* of two zeros the second, as in plain C */
        dw_put_floats(y, _mm256_castps256_ps128(v), 4 * j, t->count);
        dw_put_floats(y, _mm256_extractf128_ps(v, 1), 16 + 4 * j, t->count);
    }
    if (!to->qparams.is_float) dw_put(y, morsel_pack256(&s->requant, steps[0], steps[1], steps[2], steps[3]), t->count);
}
#endif

MORSEL_INLINE void dw_store(const struct dw_strip *s, const __m256i *acc, uint8_t *y) {
    const struct morsel_requant256 *r = &s->requant;
    uint32_t n = s->channels->count;
    __m256i v[4];
#if DW_VECTORS == 8
    if (!s->quick) {
        dw_store_any(s, acc, y);
        return;
    }
#endif
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) v[j] = dw_scale(s, acc[j], j);
    dw_put(y, morsel_pack256(r, v[0], v[1], v[2], v[3]), n);
}

/* Two windows of 3 columns, the second `step` columns further right, without float biases. Register by register, so that each is loaded
 * once. */
MORSEL_INLINE void dw_pair_3(const struct dw_strip *s, const struct dw_kept *x, uint32_t step, const struct dw_kept *taps, uint8_t *y0,
                             uint8_t *y1, uint32_t count) {
    const struct dw_channels *t = s->channels;
    __m256i a[4], b[4];
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        a[j] = b[j] = t->start[j];
        MORSEL_UNROLL
        for (uint32_t kx = 0; kx < 3; kx++) {
            a[j] = dw_dot(a[j], &x[kx], &taps[kx], j);
            b[j] = dw_dot(b[j], &x[kx + step], &taps[kx], j);
        }
        a[j] = morsel_scale256(&s->requant, a[j], _mm256_castsi256_ps(t->multiplier[j]));
        b[j] = morsel_scale256(&s->requant, b[j], _mm256_castsi256_ps(t->multiplier[j]));
    }
    dw_put(y0, morsel_pack256(&s->requant, a[0], a[1], a[2], a[3]), count);
    dw_put(y1, morsel_pack256(&s->requant, b[0], b[1], b[2], b[3]), count);
}

/* n windows of 3 columns, two or more, with taps of the upper or of the lower row. The last two may lie over the ones before. */
static __attribute__((noinline)) void dw_windows_3(const struct dw_strip *s, const struct dw_kept *x, const struct dw_kept *taps,
                                                   uint8_t *y, uint32_t n) {
    uint32_t stride = s->args->window.stride_w, count = s->channels->count;
    size_t y_step = s->y_step;
    for (uint32_t i = 0; i < n; i += 2) {
        uint32_t at = i < n - 2 ? i : n - 2;
        dw_pair_3(s, x + at * stride, stride, taps, y + at * y_step, y + (at + 1) * y_step, count);
    }
}

/* n windows of any kind: the columns of one are every `dilation`th, with `quads` entries each. */
static __attribute__((noinline)) void dw_windows(const struct dw_strip *s, const struct dw_kept *x, const struct dw_kept *taps_at,
                                                 uint8_t *y, uint32_t n) {
    const struct morsel_window *w = &s->args->window;
    const struct dw_channels *t = s->channels;
    for (; n; n--, x += w->stride_w * s->quads, y += s->y_step) {
        const struct dw_kept *taps = taps_at, *column = x;
        __m256i acc[4] = {t->start[0], t->start[1], t->start[2], t->start[3]};
        for (uint32_t kx = 0; kx < w->kernel_w; kx++, column += s->quads * w->dilation_w)
            for (uint32_t q = 0; q < s->quads; q++, taps++) {
                MORSEL_UNROLL
                for (int j = 0; j < 4; j++) acc[j] = dw_dot(acc[j], &column[q], taps, j);
            }
        dw_store(s, acc, y);
    }
}

#if DW_VECTORS == 8
#include "depthwise_stride2_256.h"
#endif

/* n results of the strip from column ox. */
static void dw_piece(const struct dw_strip *s, uint32_t ox, uint32_t n, int two) {
    struct dw_kept *kept = s->kept;
    const struct morsel_window *w = &s->args->window;
    uint8_t *y = s->y + (size_t)ox * s->y_step;
#if DW_VECTORS == 8
    if (dw_two_serve(s)) {
        dw_piece_two(s, ox, y, n);
        return;
    }
#endif
    dw_fill(s, kept, ox * w->stride_w - w->pad_left, (n - 1) * w->stride_w + (w->kernel_w - 1) * w->dilation_w + 1);
    int three = w->kernel_w == 3 && w->dilation_w == 1 && w->stride_w <= 2 && s->quads == 1 && n > 1 && s->quick && !s->channels->has_bias;
    (three ? dw_windows_3 : dw_windows)(s, kept, s->channels->taps, y, n);
    if (two) (three ? dw_windows_3 : dw_windows)(s, kept, s->channels->lower, y + w->out_row, n);
}

/* Results whose columns fit; 0: not one. */
static uint32_t dw_results_at_once(const struct morsel_window *w, uint32_t most) {
    uint32_t columns = most / ((w->kernel_h + 3) / 4), window = (w->kernel_w - 1) * w->dilation_w + 1;
    return window > columns ? 0 : (columns - window) / w->stride_w + 1;
}

/* 32 channels of row i of the call, or of rows i and i + 1. Returns how many rows were done. */
static uint32_t dw_run_strip(struct dw_strip *s, const uint8_t *const *rows, uint32_t i, uint32_t n, uint32_t c) {
    const struct morsel_window *w = &s->args->window;
    uint32_t most = dw_results_at_once(w, s->most);
    int two = w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_w == 1 && w->stride_h == 1 && w->dilation_h == 1 && i + 1 < n;
    for (uint32_t k = 0; k < w->kernel_h; k++) s->row[k] = rows[(size_t)i * w->kernel_h + k] + c;
    if (two) s->row[3] = rows[(size_t)(i + 1) * 3 + 2] + c;
    s->rows = two ? 4 : w->kernel_h;
    for (uint32_t ox = 0; ox < w->out_w; ox += most) dw_piece(s, ox, w->out_w - ox < most ? w->out_w - ox : most, two);
    return two ? 2 : 1;
}

/* What is left to AVX2's kernel, and to its slower ways. */
static const char *dw_slow(const struct morsel_conv_args *a) {
    const struct morsel_channels *c = &a->channels;
    if (a->y.qparams.is_float) return MORSEL_REFUSES_FLOATS;
    return morsel_fits256(c->multiplier, c->float_bias, (a->window.out_c + 15) / 16 * 16) ? NULL : MORSEL_REFUSES_FACTORS;
}

/* Where the piece of channels from `at` on begins: the last one may lie over the one before. */
static uint32_t dw_first(const struct morsel_conv_args *a, uint32_t at) {
    const uint32_t most = a->window.out_c - 32;
    return a->window.out_c % 16 == 0 && a->window.out_c >= 32 && at > most ? most : at;
}

#if DW_VECTORS != 8
/* Whether any of 32 channels' weights have a zero point. */
static int dw_has_zero(const struct morsel_conv_args *a, uint32_t c) {
    uint32_t end = (a->window.out_c + 15) / 16 * 16;
    int32_t any = 0;
    for (uint32_t i = c; a->channels.weight_zero && i < c + 32 && i < end; i++) any |= a->channels.weight_zero[i];
    return any != 0;
}
#endif

/* Columns that there is memory for. */
static uint32_t dw_most(const struct morsel_conv_args *a) {
    const uint32_t fit = a->room.bytes / (uint32_t)sizeof(struct dw_kept);
    return fit > DW_COLUMNS ? DW_COLUMNS : fit > DW_STACK ? fit : DW_STACK;
}

/* Some rows, channels begin .. end, which begin with a block; or more. */
static __attribute__((noinline)) void dw_run_rows(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n,
                                                  uint32_t begin, uint32_t end) {
    struct dw_kept stack[DW_STACK];
    struct dw_channels channels;
    struct dw_strip strip = {.args = a, .channels = &channels, .quads = (a->window.kernel_h + 3) / 4};
    strip.requant = morsel_requant256(&a->y, a->y.qparams.zero);
    strip.x_step = morsel_x_step(&a->window);
    strip.y_step = morsel_y_step(&a->window, 1);
    strip.quick = !dw_slow(a);
    strip.most = dw_most(a);
    strip.kept = strip.most == DW_STACK ? stack : (void *)a->room.data;
    for (uint32_t at = begin, c; at < end; at += 32) {
        c = dw_first(a, at);
        dw_take_channels(&channels, a, c);
        for (uint32_t i = 0, done; i < n; i += done) {
            strip.y = (uint8_t *)a->y.data + (size_t)(y + i) * a->window.out_row + (size_t)c * morsel_element_bytes(&a->y.qparams);
            done = dw_run_strip(&strip, rows, i, n, c);
        }
    }
}

/* All channels. Those whose weights have a zero point are AVX2's, and its frame does not lie on top of this one. */
static void dw_all(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
#if DW_VECTORS != 8
    const uint32_t out_c = a->window.out_c;
    for (uint32_t at = 0, end; a->channels.weight_zero && at < out_c; at = end) {
        end = out_c - at < 32 ? out_c : at + 32;
        if (dw_has_zero(a, dw_first(a, at))) morsel_depthwise_channels_avx2(a, rows, y, n, at, end);
        else dw_run_rows(a, rows, y, n, at, end);
    }
    if (a->channels.weight_zero) return;
#endif
    dw_run_rows(a, rows, y, n, 0, a->window.out_c);
}

static const char *dw_refusal(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    if (a->x.qparams.sign_flip) return MORSEL_REFUSES_INT8;
    if (w->kernel_w * ((w->kernel_h + 3) / 4) > DW_TAPS || dw_results_at_once(w, DW_MOST) == 0) return MORSEL_REFUSES_WINDOW;
    return DW_VECTORS != 8 ? dw_slow(a) : NULL;
}

static void dw_rows(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    const int fits = DW_VECTORS == 8 ? morsel_depthwise_fits_avx2(a) : !a->channels.weight_zero || morsel_depthwise_fits_avx2(a);
    if (dw_refusal(a) || !fits) {
        (DW_VECTORS == 8 ? morsel_depthwise_rows_c : morsel_depthwise_rows_avx2)(a, rows, y, n);
        return;
    }
    uint32_t most = DW_BYTES_AT_ONCE / w->in_row / w->stride_h / 2 * 2;
    if (most < 2) most = 2;
    for (uint32_t i = 0, now; i < n; i += now) {
        now = n - i < most ? n - i : most;
        dw_all(a, rows + (size_t)i * w->kernel_h, y + i, now);
    }
    _mm256_zeroupper();
}
