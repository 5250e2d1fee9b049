/* SPDX-License-Identifier: MIT */
/* Pooling over windows, in plain C. Padding never enters a maximum, nor a sum. */
#include "pool.h"
#include "requant.h"

enum { N = MORSEL_LANES }; /* channels that are taken at a time */

/* The cells of a window that lie inside the picture: columns first .. last in steps, of rows that are not NULL. */
struct columns {
    uint32_t x[64]; /* input columns, left to right; kernel_w is at most 64 */
    uint32_t n;
};

static void find_columns(struct columns *c, const struct morsel_window *w, uint32_t ox) {
    c->n = 0;
    for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
        uint32_t ix = ox * w->stride_w + kx * w->dilation_w - w->pad_left; /* left of the picture: huge */
        if (ix < w->in_w) c->x[c->n++] = ix;
    }
}

static uint32_t rows_inside(const struct morsel_window *w, const uint8_t *const *rows) {
    uint32_t n = 0;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) n += rows[ky] != NULL;
    return n;
}

static inline void add_floats(float *restrict sums, const float *restrict x) {
    for (uint32_t o = 0; o < N; o++) sums[o] += x[o];
}

static inline void add_bytes(float *restrict sums, const uint8_t *restrict x, uint8_t flip, int32_t zero, float scale) {
    for (uint32_t o = 0; o < N; o++) sums[o] += scale * (float)((uint8_t)(x[o] ^ flip) - zero);
}

/* The columns of a row, n channels of `size` bytes; fewer than sixteen are copied, for sixteen to be readable. */
static void add_columns(const struct morsel_pool_args *a, const uint8_t *row, const struct columns *cols, uint32_t channel, uint32_t n,
                        float *sums) {
    const struct morsel_qparams *qparams = &a->x.qparams;
    uint8_t bytes[N] = {0};
    float floats[N] = {0};
    for (uint32_t i = 0; i < cols->n; i++) {
        size_t at = (size_t)cols->x[i] * a->window.in_c + channel;
        const void *x = qparams->is_float ? (const void *)((const float *)(const void *)row + at) : row + at;
        if (n < N) x = qparams->is_float ? memcpy(floats, x, n * sizeof *floats) : memcpy(bytes, x, n);
        if (qparams->is_float) add_floats(sums, x);
        else add_bytes(sums, x, (uint8_t)qparams->sign_flip, qparams->zero, qparams->scale);
    }
}

/* Sums of the values of n channels in row-major order, in float, each addition rounded. */
static void window_sums(const struct morsel_pool_args *a, const uint8_t *const *rows, const struct columns *cols, uint32_t channel,
                        uint32_t n, float *sums) {
    memset(sums, 0, N * sizeof *sums);
    for (uint32_t ky = 0; ky < a->window.kernel_h; ky++)
        if (rows[ky]) add_columns(a, rows[ky], cols, channel, n, sums);
}

/* Means in steps of y's scale, with the zero point added in float before rounding (ONNX Runtime's QLinearAveragePool). */
static void store_averages(const struct morsel_output *y, size_t i, uint32_t n, float *means) {
    if (y->qparams.is_float) {
        morsel_store_floats(y, i, n, means);
        return;
    }
    float zero = (float)(y->qparams.zero - y->qparams.own);
    for (uint32_t o = 0; o < N; o++) means[o] = means[o] / y->qparams.scale + zero;
    for (uint32_t o = 0; o < N; o++) means[o] = means[o] == means[o] ? means[o] : zero; /* scales near FLT_MAX: infinite sums */
    morsel_store_steps(y, i, n, means, y->qparams.own);
}

static void average_pixel(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t oy, uint32_t ox, size_t pixel) {
    const struct morsel_window *w = &a->window;
    struct columns cols;
    find_columns(&cols, w, ox);
    uint32_t count = morsel_pool_divisor(a, rows_inside(w, rows) * cols.n, oy, ox);
    for (uint32_t c = 0, n; c < w->out_c; c += n) {
        float v[N];
        n = w->out_c - c < N ? w->out_c - c : N;
        window_sums(a, rows, &cols, c, n, v);
        for (uint32_t o = 0; o < N; o++) v[o] = count ? v[o] / (float)count : 0;
        store_averages(&a->y, pixel * w->out_c + c, n, v);
    }
}

void morsel_average_pool_rows_c(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t ox = 0; ox < w->out_w; ox++)
            average_pixel(a, rows + (size_t)i * w->kernel_h, (y + i) % w->out_h, ox, (size_t)(y + i) * w->out_w + ox);
}

static inline void raise_sixteen(uint8_t *restrict most, const uint8_t *restrict x, uint8_t flip) {
    for (uint32_t o = 0; o < N; o++) most[o] = (uint8_t)(x[o] ^ flip) > most[o] ? (uint8_t)(x[o] ^ flip) : most[o];
}

/* Bytes: the largest in the unsigned domain, not below out_min. */
static void max_bytes(const struct morsel_pool_args *a, const uint8_t *const *rows, const struct columns *cols, size_t first) {
    const struct morsel_window *w = &a->window;
    uint8_t flip = (uint8_t)a->x.qparams.sign_flip, y_flip = (uint8_t)a->y.qparams.sign_flip, high = (uint8_t)a->y.out_max;
    for (uint32_t c = 0, n; c < w->out_c; c += n) {
        uint8_t most[N], copy[N] = {0};
        n = w->out_c - c < N ? w->out_c - c : N;
        memset(most, a->y.out_min, N);
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            for (uint32_t i = 0; rows[ky] && i < cols->n; i++) {
                const uint8_t *x = rows[ky] + (size_t)cols->x[i] * w->in_c + c;
                if (n < N) x = memcpy(copy, x, n);
                raise_sixteen(most, x, flip);
            }
        }
        for (uint32_t o = 0; o < N; o++) most[o] = (most[o] > high ? high : most[o]) ^ y_flip;
        memcpy((uint8_t *)a->y.data + first + c, most, n);
    }
}

static void max_floats(const struct morsel_pool_args *a, const uint8_t *const *rows, const struct columns *cols, size_t first) {
    const struct morsel_window *w = &a->window;
    for (uint32_t c = 0; c < w->out_c; c++) {
        float most = a->y.float_min;
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            for (uint32_t i = 0; rows[ky] && i < cols->n; i++) {
                float v = ((const float *)(const void *)rows[ky])[(size_t)cols->x[i] * w->in_c + c];
                if (v > most) most = v;
            }
        }
        ((float *)a->y.data)[first + c] = most;
    }
}

void morsel_max_pool_rows_c(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0; ox < w->out_w; ox++) {
            size_t first = ((size_t)(y + i) * w->out_w + ox) * w->out_c;
            struct columns cols;
            find_columns(&cols, w, ox);
            (a->y.qparams.is_float ? max_floats : max_bytes)(a, rows + (size_t)i * w->kernel_h, &cols, first);
        }
    }
}
