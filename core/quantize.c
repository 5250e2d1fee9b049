/* SPDX-License-Identifier: MIT */
/* Floats in the order of the ONNX graph to a view's bytes, and back. */
#include "view.h"

#include "../kernels/requant.h"

/* Planes and their elements: a CHANNELS_LAST view of [N][H * W][C] is [N][C][H * W] to the ONNX graph. ROW_MAJOR is one plane. */
struct order {
    uint32_t images, channels, pixels;
};

/* Every product is of a number of 32 bits by another. */
uint32_t morsel_view_elements(const struct morsel_view *view) {
    uint64_t n = 1;
    if (!view || view->rank > MORSEL_MAX_RANK || (unsigned)view->type > MORSEL_FLOAT32) return 0;
    for (uint32_t k = 0; k < view->rank && n <= view->bytes; k++) n *= view->dims[k];
    if (n > view->bytes) return 0;
    return n * (view->type == MORSEL_UINT8 || view->type == MORSEL_INT8 ? 1 : 4) == view->bytes ? (uint32_t)n : 0;
}

/* Whether a caller's `count` floats serve all of the view. */
static enum morsel_error check(const struct morsel_view *view, const float *values, size_t count) {
    uint32_t elements = morsel_view_elements(view);
    if (!elements || !view->data || !values) return MORSEL_ERR_ARGUMENT;
    if (view->zero_point < -128 || view->zero_point > 255) return MORSEL_ERR_ARGUMENT;
    return count < elements ? MORSEL_ERR_CAPACITY : MORSEL_OK;
}

static struct order order_of(const struct morsel_view *view) {
    struct order o = {1, 1, morsel_view_elements(view)};
    if (view->layout != MORSEL_CHANNELS_LAST || view->rank < 3) return o;
    o.images = view->dims[0];
    o.channels = view->dims[view->rank - 1];
    o.pixels = o.pixels / o.images / o.channels;
    return o;
}

struct morsel_qparams morsel_view_qparams(const struct morsel_view *view) {
    struct morsel_qparams qparams = {1, 0, 0, view->type == MORSEL_FLOAT32, 0};
    if (qparams.is_float || view->type == MORSEL_INT32) return qparams;
    qparams.scale = view->scale;
    qparams.own = view->type == MORSEL_INT8 ? 0x80 : 0;
    qparams.sign_flip = (uint32_t)qparams.own ^ view->sign_flip;
    qparams.zero = view->zero_point + qparams.own;
    return qparams;
}

/* Nearest int32, ties to even; a NaN gives 0. Floats from 2^22 on are at least halves, and the ties among them are exact in double. */
static int32_t to_int32(float v) {
    double wide = (double)v;
    if (v != v) return 0;
    if (wide >= 2147483647.0) return INT32_MAX;
    if (wide <= -2147483648.0) return INT32_MIN;
    int32_t whole = (int32_t)wide; /* towards 0 */
    double rest = wide - whole;
    if (rest > 0.5 || (rest == 0.5 && (whole & 1))) whole++;
    if (rest < -0.5 || (rest == -0.5 && (whole & 1))) whole--;
    return whole;
}

static void quantize_one(const struct morsel_view *view, const struct morsel_output *y, size_t i, float v) {
    if (view->type == MORSEL_INT32) {
        ((int32_t *)view->data)[i] = to_int32(v);
        return;
    }
    if (view->type == MORSEL_FLOAT32) {
        ((float *)view->data)[i] = v;
        return;
    }
    float steps = v / y->qparams.scale;
    ((uint8_t *)view->data)[i] = (uint8_t)(morsel_limit(y, steps == steps ? steps : -FLT_MAX) ^ y->qparams.sign_flip);
}

enum morsel_error morsel_quantize(const struct morsel_view *view, const float *values, size_t count) {
    enum morsel_error error = check(view, values, count);
    if (error) return error;
    struct order o = order_of(view);
    struct morsel_output y = {view->data, morsel_view_qparams(view), 0, 255, 0, 0};
    for (uint32_t n = 0; n < o.images; n++)
        for (uint32_t c = 0; c < o.channels; c++)
            for (uint32_t p = 0; p < o.pixels; p++) quantize_one(view, &y, ((size_t)n * o.pixels + p) * o.channels + c, *values++);
    return MORSEL_OK;
}

enum morsel_error morsel_dequantize(const struct morsel_view *view, float *values, size_t count) {
    enum morsel_error error = check(view, values, count);
    if (error) return error;
    struct order o = order_of(view);
    struct morsel_input x = {view->data, morsel_view_qparams(view)};
    for (uint32_t n = 0; n < o.images; n++) {
        for (uint32_t c = 0; c < o.channels; c++) {
            for (uint32_t p = 0; p < o.pixels; p++) {
                size_t i = ((size_t)n * o.pixels + p) * o.channels + c;
                *values++ = view->type == MORSEL_INT32 ? (float)((const int32_t *)view->data)[i] : morsel_load_float(&x, i);
            }
        }
    }
    return MORSEL_OK;
}
