/* SPDX-License-Identifier: MIT */
/*
 * Depthwise 3x3 windows with stride 2, a part of depthwise_256.h for AVX2: five pairs of taps instead of six with a zero each. Inputs
 * become 16-bit integers as they are interleaved. The file that includes this says how, before depthwise_256.h.
 *
 * Of two columns c and d: (r0c, r2c), (r0d, r2d) and (r1c, r1d), four registers each. A window has those of its first two columns, then the
 * first and the last of the next two. Those are its third column, and one whose weights are 0.
 */
#ifndef MORSEL_DEPTHWISE_STRIDE2_256_H
#define MORSEL_DEPTHWISE_STRIDE2_256_H

struct dw_two_columns {
    __m256i c[4], d[4], middle[4];
};

/* Bytes of 32 channels, a and b, to pairs of 16-bit integers. */
MORSEL_INLINE void dw_widen_pairs(__m256i *to, __m256i a, __m256i b) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    to[0] = _mm256_unpacklo_epi8(low, zero);
    to[1] = _mm256_unpackhi_epi8(low, zero);
    to[2] = _mm256_unpacklo_epi8(high, zero);
    to[3] = _mm256_unpackhi_epi8(high, zero);
}

/* Columns ix .. ix + 2 count; padding is zero points. */
static __attribute__((noinline)) void dw_fill_two(const struct dw_strip *s, struct dw_two_columns *to, uint32_t ix, uint32_t count) {
    const struct morsel_window *w = &s->args->window;
    const __m256i zero = _mm256_set1_epi8((char)s->args->x.qparams.zero);
    for (; count; count--, to++, ix += 2) {
        __m256i c[3] = {zero, zero, zero}, d[3] = {zero, zero, zero};
        size_t at = (size_t)ix * s->x_step;
        MORSEL_UNROLL
        for (int k = 0; k < 3; k++) {
            if (ix < w->in_w) c[k] = dw_load(s->row[k] + at, 32);
            if (ix + 1 < w->in_w) d[k] = dw_load(s->row[k] + (size_t)(ix + 1) * s->x_step, 32);
        }
        dw_widen_pairs(to->c, c[0], c[2]);
        dw_widen_pairs(to->d, d[0], d[2]);
        dw_widen_pairs(to->middle, c[1], d[1]);
    }
}

MORSEL_INLINE __m256i dw_add_pairs(__m256i acc, __m256i x, __m256i taps) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(x, taps));
}

/* Channels of register j of the window that begins with x. */
MORSEL_INLINE __m256i dw_sum_two(const struct dw_channels *t, const struct dw_two_columns *x, __m256i middle, int j) {
    __m256i acc = dw_add_pairs(t->start[j], x->c[j], t->taps[0].v[j]);
    acc = dw_add_pairs(acc, x->d[j], t->taps[1].v[j]);
    acc = dw_add_pairs(acc, x[1].c[j], t->taps[2].v[j]);
    acc = dw_add_pairs(acc, x->middle[j], middle);
    return dw_add_pairs(acc, x[1].middle[j], t->taps[2].v[j + 4]);
}

static __attribute__((noinline)) void dw_windows_two(const struct dw_strip *s, const struct dw_two_columns *x, uint8_t *y, uint32_t n) {
    const struct dw_channels *t = s->channels;
    size_t y_step = s->y_step;
    __m256i middle[4];
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) middle[j] = _mm256_or_si256(t->taps[0].v[j + 4], _mm256_slli_epi32(t->taps[1].v[j + 4], 16));
    for (uint32_t i = 0; i < n; i++, x++, y += y_step) {
        __m256i a[4];
        MORSEL_UNROLL
        for (int j = 0; j < 4; j++)
            a[j] = morsel_scale256(&s->requant, dw_sum_two(t, x, middle[j], j), _mm256_castsi256_ps(t->multiplier[j]));
        dw_put(y, morsel_pack256(&s->requant, a[0], a[1], a[2], a[3]), 32);
    }
}

/* Whether a strip is one for these. The taps of a fourth row are 0. */
static int dw_two_serve(const struct dw_strip *s) {
    const struct morsel_window *w = &s->args->window;
    return w->kernel_h == 3 && w->kernel_w == 3 && w->stride_w == 2 && w->dilation_w == 1 && s->rows == 3 && s->channels->count == 32 &&
           s->quick && !s->channels->has_bias;
}

/* n results of the strip from column ox; dw_results_at_once has left room for their columns. */
static __attribute__((noinline)) void dw_piece_two(const struct dw_strip *s, uint32_t ox, uint8_t *y, uint32_t n) {
    struct dw_two_columns *columns = (void *)s->kept; /* in the place of one and a half */
    dw_fill_two(s, columns, ox * 2 - s->args->window.pad_left, n + 1);
    dw_windows_two(s, columns, y, n);
}

#endif
