/* SPDX-License-Identifier: MIT */
/* Pad: constant, reflect, edge and wrap; negative pads cut. */
#include "tools/float/pick.h"
#include "tools/onnx/operator.h"

#include <string.h>

enum border { CONSTANT, REFLECT, EDGE, WRAP };

static bool read_mode(struct preparation *p, enum border *mode) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *given = onnx_attribute_string(p->node, "mode", "constant");
    for (int i = 0; i < 4; i++)
        if (!strcmp(given, names[i])) {
            *mode = (enum border)i;
            return true;
        }
    return cannot(p, "mode '%.40s' is not supported", given);
}

/* Element `at` of an axis of `dim`, counted from its beginning; PICK_NOTHING outside. dim is at least 1 unless the mode is CONSTANT. */
static int64_t source(enum border mode, int64_t at, int64_t dim) {
    if (at >= 0 && at < dim) return at;
    switch (mode) {
    case CONSTANT: return PICK_NOTHING;
    case EDGE: return at < 0 ? 0 : dim - 1;
    default: break;
    }
    int64_t period = dim > 1 ? 2 * (dim - 1) : 1, place = (at % period + period) % period;
    return place < dim ? place : period - place;
}

/* The same of a wrap, which goes on with what is left once negative pads have cut it. */
static int64_t wrapped(int64_t at, int64_t begin, int64_t end, int64_t dim) {
    const int64_t cut = begin < 0 ? -begin : 0, left = dim - cut + (end < 0 ? end : 0);
    at -= cut;
    return left > 0 ? cut + (at % left + left) % left : PICK_NOTHING;
}

static bool read_fill(struct preparation *p, float *fill) {
    const float *given = prepare_constant(p, 2);
    *fill = p->node->opset < 11 ? onnx_attribute_float(p->node, "value", 0) : given && onnx_elements(shape_in(p, 2)) ? *given : 0;
    return given || p->node->opset < 11 || !onnx_input(p->node, 2) || cannot(p, "its fill value is not constant");
}

bool prepare_pad(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK], begin[ONNX_MAX_RANK] = {0}, strides[ONNX_MAX_RANK] = {0};
    int count = prepare_list(p, "pads", pads, 2 * ONNX_MAX_RANK);
    int listed = prepare_list(p, "axes", axes, ONNX_MAX_RANK);
    bool all = !onnx_input(p->node, 3);
    struct pick pick = {0};
    enum border mode = CONSTANT;
    if (count < 0 || listed < 0 || !read_mode(p, &mode) || !read_fill(p, &pick.fill)) return false;
    for (int i = 0; i < count / 2; i++) {
        if (pads[i] < -FLOAT_MOST || pads[i] > FLOAT_MOST) return cannot(p, "its pads are too large");
        begin[all ? i : shape_axis(x, axes[i])] = pads[i];
    }
    onnx_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        int32_t *table = pick_axis(p, &pick, y->dims[i]);
        if (!x->dims[i] && mode != CONSTANT) return cannot(p, "there is nothing to continue along axis %d", i);
        for (int64_t k = 0; k < y->dims[i]; k++) {
            int64_t at = k - begin[i], end = y->dims[i] - x->dims[i] - begin[i];
            at = mode == WRAP ? wrapped(at, begin[i], end, x->dims[i]) : source(mode, at, x->dims[i]);
            table[k] = (int32_t)(at == PICK_NOTHING ? at : at * strides[i]);
        }
    }
    return pick_use(p, &pick);
}
