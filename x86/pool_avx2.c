/* SPDX-License-Identifier: MIT */
/* The largest of a window with AVX2, for sixteen channels of bytes or eight floats, or more. */
#include "x86.h"

#include <immintrin.h>

/* A window's cells inside the picture. */
struct cells {
    const uint8_t *row[64];
    uint32_t rows;
    uint32_t first, columns; /* element of the first column; how many columns, every dilation_w-th */
};

/* Columns of the window at `ix`, which is huge where it begins left of the picture. */
static void find_columns(struct cells *cells, const struct morsel_window *w, uint32_t ix) {
    uint32_t n = w->kernel_w;
    for (; n && ix >= w->in_w; n--) ix += w->dilation_w;
    cells->first = ix * w->in_c;
    cells->columns = 0;
    for (; n && ix < w->in_w; n--, ix += w->dilation_w) cells->columns++;
}

/* Channels c .. c + 16. */
static __m128i largest(const struct morsel_pool_args *a, const struct cells *cells, uint32_t c, __m128i flip) {
    __m128i most = _mm_set1_epi8((char)a->y.out_min);
    size_t step = (size_t)a->window.dilation_w * a->window.in_c;
    for (uint32_t k = 0; k < cells->rows; k++) {
        const uint8_t *x = cells->row[k] + cells->first + c;
        for (uint32_t i = 0; i < cells->columns; i++)
            most = _mm_max_epu8(most, _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(x + i * step)), flip));
    }
    return _mm_xor_si128(_mm_min_epu8(most, _mm_set1_epi8((char)a->y.out_max)), _mm_set1_epi8((char)a->y.qparams.sign_flip));
}

/* Channels c .. c + 32. */
static __m256i largest_32(const struct morsel_pool_args *a, const struct cells *cells, uint32_t c) {
    __m256i flip = _mm256_set1_epi8((char)a->x.qparams.sign_flip), most = _mm256_set1_epi8((char)a->y.out_min);
    size_t step = (size_t)a->window.dilation_w * a->window.in_c;
    for (uint32_t k = 0; k < cells->rows; k++) {
        const uint8_t *x = cells->row[k] + cells->first + c;
        for (uint32_t i = 0; i < cells->columns; i++)
            most = _mm256_max_epu8(most, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(x + i * step)), flip));
    }
    return _mm256_xor_si256(_mm256_min_epu8(most, _mm256_set1_epi8((char)a->y.out_max)), _mm256_set1_epi8((char)a->y.qparams.sign_flip));
}

/* The last sixteen channels may lie over the ones before; they come out the same. */
static void max_pixel(const struct morsel_pool_args *a, const struct cells *cells, uint8_t *y) {
    __m128i flip = _mm_set1_epi8((char)a->x.qparams.sign_flip);
    uint32_t channels = a->window.out_c, c = 0;
    for (; channels - c >= 32; c += 32) _mm256_storeu_si256((__m256i *)(void *)(y + c), largest_32(a, cells, c));
    for (; channels - c >= 16; c += 16) _mm_storeu_si128((__m128i *)(void *)(y + c), largest(a, cells, c, flip));
    if (c < channels) _mm_storeu_si128((__m128i *)(void *)(y + channels - 16), largest(a, cells, channels - 16, flip));
}

/* Channels c .. c + 8. Of two that do not differ, or of which one is a NaN, the second operand is the maximum: what there was. */
static __m256 largest_floats(const struct morsel_pool_args *a, const struct cells *cells, uint32_t c) {
    __m256 most = _mm256_set1_ps(a->y.float_min);
    size_t step = (size_t)a->window.dilation_w * a->window.in_c;
    for (uint32_t k = 0; k < cells->rows; k++) {
        const float *x = (const float *)(const void *)cells->row[k] + cells->first + c;
        for (uint32_t i = 0; i < cells->columns; i++) most = _mm256_max_ps(_mm256_loadu_ps(x + i * step), most);
    }
    return most;
}

static void max_pixel_floats(const struct morsel_pool_args *a, const struct cells *cells, float *y) {
    uint32_t channels = a->window.out_c;
    for (uint32_t c = 0; c < channels; c += 8) {
        uint32_t at = channels - c < 8 ? channels - 8 : c;
        _mm256_storeu_ps(y + at, largest_floats(a, cells, at));
    }
}

const char *morsel_max_pool_refusal_avx2(const void *args) {
    const struct morsel_pool_args *a = args;
    return a->window.out_c < (a->y.qparams.is_float ? 8 : 16) ? MORSEL_REFUSES_NARROW : NULL;
}

void morsel_max_pool_rows_avx2(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    if (morsel_max_pool_refusal_avx2(a)) {
        morsel_max_pool_rows_c(a, rows, y, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++, rows += w->kernel_h) {
        uint8_t *to = (uint8_t *)a->y.data + (size_t)(y + i) * w->out_row;
        struct cells cells = {.rows = 0};
        for (uint32_t ky = 0; ky < w->kernel_h; ky++)
            if (rows[ky]) cells.row[cells.rows++] = rows[ky];
        for (uint32_t ox = 0; ox < w->out_w; ox++, to += w->out_row / w->out_w) {
            find_columns(&cells, w, ox * w->stride_w - w->pad_left);
            if (a->y.qparams.is_float) max_pixel_floats(a, &cells, (float *)(void *)to);
            else max_pixel(a, &cells, to);
        }
    }
}
