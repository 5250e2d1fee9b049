/* SPDX-License-Identifier: MIT */
/* QuantizeLinear and DequantizeLinear, by tensor and by axis: what integer arithmetic would give, in floats that hold the integers. */
#include "tools/float/operator.h"

#include <math.h>
#include <string.h>

struct quantize {
    int64_t outer, channels, inner;
    const float *scales, *zeros; /* [channels] */
    float low, high;             /* of the integers */
};

/* x / scale, to the nearest whole number (of two the even one), plus the zero point, within the type's range. */
static void run_quantize(const void *plan, const struct call *call) {
    const struct quantize *q = plan;
    /* Above 2^23 floats are whole, so adding and subtracting 1.5 * 2^23 rounds what lies within 2^22 as the hardware rounds. */
    const float magic = 12582912.0F;
    for (int64_t i = 0; i < q->outer * q->channels; i++) {
        const float scale = q->scales[i % q->channels], zero = q->zeros[i % q->channels], low = q->low - zero, high = q->high - zero;
        const float *x = call->in[0] + i * q->inner;
        float *y = call->out[0] + i * q->inner;
        for (int64_t k = 0; k < q->inner; k++) {
            float steps = x[k] / scale;
            steps = steps > low ? steps : low; /* what is no number goes to the low end */
            steps = steps < high ? steps : high;
            y[k] = (steps + magic) - magic + zero;
        }
    }
}

static void run_dequantize(const void *plan, const struct call *call) {
    const struct quantize *q = plan;
    for (int64_t i = 0; i < q->outer * q->channels; i++) {
        const float scale = q->scales[i % q->channels], zero = q->zeros[i % q->channels], *x = call->in[0] + i * q->inner;
        float *y = call->out[0] + i * q->inner;
        for (int64_t k = 0; k < q->inner; k++) y[k] = (x[k] - zero) * scale;
    }
}

static bool read_scales(struct preparation *p, struct quantize *q) {
    const struct onnx_shape *x = shape_in(p, 0), *s = shape_in(p, 1);
    const float *zeros = prepare_constant(p, 2);
    q->scales = prepare_constant(p, 1);
    q->channels = onnx_elements(s);
    if (!q->scales || (onnx_input(p->node, 2) && !zeros)) return cannot(p, "its scale and zero point are not constant");
    if (onnx_attribute_int(p->node, "block_size", 0) || (q->channels != 1 && s->rank != 1))
        return cannot(p, "scales for blocks are not supported");
    if (zeros && onnx_elements(shape_in(p, 2)) != q->channels) return cannot(p, "scale and zero point have different lengths");
    q->zeros = zeros ? zeros : prepare_alloc(p, (size_t)(q->channels + 1) * sizeof *zeros);
    int axis = q->channels == 1 ? 0 : shape_axis(x, onnx_attribute_int(p->node, "axis", 1));
    q->outer = q->channels == 1 ? 1 : shape_part(x, 0, axis);
    q->inner = q->channels == 1 ? onnx_elements(x) : shape_part(x, axis + 1, x->rank);
    p->step->plan = q;
    p->step->in_place = true;
    p->reads = 1;
    return true;
}

bool prepare_quantize(struct preparation *p) {
    struct quantize *q = prepare_alloc(p, sizeof *q);
    p->step->run = run_quantize;
    switch (p->node->outputs[0]->type) {
    case ONNX_UINT8: q->low = 0, q->high = 255; break;
    case ONNX_INT8: q->low = -128, q->high = 127; break;
    case ONNX_UINT16: q->low = 0, q->high = 65535; break;
    case ONNX_INT16: q->low = -32768, q->high = 32767; break;
    default: return cannot(p, "it gives integers of a type that is not supported");
    }
    return read_scales(p, q);
}

bool prepare_dequantize(struct preparation *p) {
    p->step->run = run_dequantize;
    return read_scales(p, prepare_alloc(p, sizeof(struct quantize)));
}
