/* SPDX-License-Identifier: MIT */
/* Pooling over windows. Cells outside the picture never enter a maximum, nor a sum. */
#include "requant.h"

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

/* How many of the `kernel` cells from `start` (counted from the edge of the padding) lie before `padded`. */
static uint32_t cells_within(uint32_t start, uint32_t kernel, uint32_t padded) {
    if (start >= padded) return 0;
    return padded - start < kernel ? padded - start : kernel;
}

/* What the sum is divided by: ONNX Runtime counts padding differently for bytes (all cells) and floats (cells that ceil_mode adds not). */
static uint32_t divisor(const struct morsel_pool_args *a, uint32_t inside, uint32_t oy, uint32_t ox) {
    const struct morsel_window *w = &a->window;
    if (!a->count_include_pad) return inside;
    if (!a->x.code.is_float) return w->kernel_h * w->kernel_w;
    return cells_within(oy * w->stride_h, w->kernel_h, a->padded_h) * cells_within(ox * w->stride_w, w->kernel_w, a->padded_w);
}

static uint32_t rows_inside(const struct morsel_window *w, const uint8_t *const *rows) {
    uint32_t n = 0;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) n += rows[ky] != NULL;
    return n;
}

/* Sum of the real values in row-major order, in float, each addition rounded. */
static float window_sum(const struct morsel_pool_args *a, const uint8_t *const *rows, const struct columns *cols, uint32_t channel) {
    float sum = 0;
    for (uint32_t ky = 0; ky < a->window.kernel_h; ky++) {
        if (!rows[ky]) continue;
        struct morsel_input row = {rows[ky], a->x.code};
        for (uint32_t i = 0; i < cols->n; i++) sum += morsel_load_real(&row, (size_t)cols->x[i] * a->window.in_c + channel);
    }
    return sum;
}

/* The mean in steps of y's scale, with the zero point added in float before rounding (ONNX Runtime's QLinearAveragePool). */
static void store_average(const struct morsel_output *y, size_t i, float mean) {
    if (y->code.is_float) {
        morsel_store_real(y, i, mean);
        return;
    }
    int32_t own = y->code.own;
    float steps = mean / y->code.scale + (float)(y->code.zero - own);
    if (steps != steps) steps = (float)(y->code.zero - own); /* scales near FLT_MAX: infinite sums */
    int32_t u = morsel_round(morsel_clamp(steps, (float)(y->out_min - own), (float)(y->out_max - own))) + own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->code.flip);
}

static void average_pixel(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t oy, uint32_t ox, size_t pixel) {
    const struct morsel_window *w = &a->window;
    struct columns cols;
    find_columns(&cols, w, ox);
    uint32_t count = divisor(a, rows_inside(w, rows) * cols.n, oy, ox);
    for (uint32_t c = 0; c < w->out_c; c++)
        store_average(&a->y, pixel * w->out_c + c, count ? window_sum(a, rows, &cols, c) / (float)count : 0);
}

void morsel_average_pool_rows_c(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t ox = 0; ox < w->out_w; ox++)
            average_pixel(a, rows + (size_t)i * w->kernel_h, (y + i) % w->out_h, ox, (size_t)(y + i) * w->out_w + ox);
}

/* Bytes: the largest in the unsigned domain, not below out_min. */
static void max_bytes(const struct morsel_pool_args *a, const uint8_t *const *rows, const struct columns *cols, size_t first) {
    const struct morsel_window *w = &a->window;
    uint32_t flip = a->x.code.flip;
    for (uint32_t c = 0; c < w->out_c; c++) {
        uint32_t most = (uint32_t)a->y.out_min;
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            for (uint32_t i = 0; rows[ky] && i < cols->n; i++) {
                uint32_t u = rows[ky][(size_t)cols->x[i] * w->in_c + c] ^ flip;
                if (u > most) most = u;
            }
        }
        if (most > (uint32_t)a->y.out_max) most = (uint32_t)a->y.out_max;
        ((uint8_t *)a->y.data)[first + c] = (uint8_t)(most ^ a->y.code.flip);
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
            (a->y.code.is_float ? max_floats : max_bytes)(a, rows + (size_t)i * w->kernel_h, &cols, first);
        }
    }
}
