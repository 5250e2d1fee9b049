/* SPDX-License-Identifier: MIT */
/* Pools: MaxPool, AveragePool, the global ones and com.microsoft's quantized ones (which may have their channels last). */
#include "tools/onnx/operator.h"
#include <string.h>

/* The other way round: N spatial... C becomes N C spatial..., or back. */
static struct onnx_shape channels_second(const struct onnx_shape *from) {
    struct onnx_shape to = *from;
    to.dims[1] = from->dims[from->rank - 1];
    for (int i = 2; i < from->rank; i++) to.dims[i] = from->dims[i - 1];
    return to;
}

static struct onnx_shape channels_last(const struct onnx_shape *from) {
    struct onnx_shape to = *from;
    to.dims[from->rank - 1] = from->dims[1];
    for (int i = 2; i < from->rank; i++) to.dims[i - 1] = from->dims[i];
    return to;
}

static bool pool(struct onnx_context *c, const struct onnx_shape *x, struct onnx_shape *y) {
    struct onnx_window window;
    const char *why;
    if (!onnx_window(c->node, x, NULL, &window, &why)) return onnx_bad(c, "%s", why);
    *y = *x;
    memcpy(y->dims + 2, window.out, (size_t)window.rank * sizeof window.out[0]);
    return true;
}

bool onnx_infer_pool(struct onnx_context *c) {
    struct onnx_shape y;
    onnx_out_type(c, 1, ONNX_INT64);
    return onnx_takes_numbers(c) && pool(c, onnx_in(c, 0), &y) && onnx_out(c, 0, &y) && onnx_out(c, 1, &y);
}

bool onnx_infer_qlinear_pool(struct onnx_context *c) {
    struct onnx_shape x = *onnx_in(c, 0), y;
    bool last = onnx_attribute_int(c->node, "channels_last", 0) != 0;
    if (x.rank < 3) return onnx_bad(c, "its input must have 3 dimensions or more");
    if (last) x = channels_second(&x);
    if (!pool(c, &x, &y)) return false;
    if (last) y = channels_last(&y);
    return onnx_out(c, 0, &y);
}

static bool global_pool(struct onnx_context *c, bool last) {
    struct onnx_shape y = *onnx_in(c, 0);
    if (y.rank < 3) return onnx_bad(c, "its input must have 3 dimensions or more");
    for (int i = 2; i < y.rank; i++) {
        if (!y.dims[i - last]) return onnx_bad(c, "its input is empty");
        y.dims[i - last] = 1;
    }
    return onnx_out(c, 0, &y);
}

bool onnx_infer_global_pool(struct onnx_context *c) {
    return onnx_takes_numbers(c) && global_pool(c, false);
}

bool onnx_infer_qlinear_global_pool(struct onnx_context *c) {
    return global_pool(c, onnx_attribute_int(c->node, "channels_last", 0) != 0);
}
