/* SPDX-License-Identifier: MIT */
/*
 * ConvTranspose as a convolution: its input pulled apart by the stride, zeros (the zero point) in between, under weights turned by half
 * a turn. With strides of 1 nothing is pulled apart; otherwise one gather makes the wider input.
 *
 * Where windows of the output do not overlap (a kernel as large as its stride, no pads) nothing has to be pulled apart: each tap is a
 * convolution of one pixel, which gives channels of its own, and the output is a view of them.
 */
#include "tools/lower/lower.h"

#include <string.h>

/* One spatial dimension. */
struct pulled {
    int64_t in, out, kernel, stride, dilation, begin; /* begin: pad of the convolution, negative where input is cut off */
};

static bool read_dimension(struct lowering *l, struct onnx_node *node, const struct onnx_shape *w, int rank, int i, struct pulled *d) {
    int64_t strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, pads[6] = {0}, given[3] = {0}, extra[3] = {0};
    const char *pad = onnx_attribute_string(node, "auto_pad", "NOTSET");
    onnx_attribute_ints(node, "strides", strides, rank);
    onnx_attribute_ints(node, "dilations", dilations, rank);
    onnx_attribute_ints(node, "pads", pads, 2 * rank);
    onnx_attribute_ints(node, "output_shape", given, rank);
    onnx_attribute_ints(node, "output_padding", extra, rank);
    *d = (struct pulled){.in = node->inputs[0]->shape.dims[2 + i], .out = node->outputs[0]->shape.dims[2 + i]};
    d->kernel = w->dims[2 + i];
    d->stride = strides[i];
    d->dilation = dilations[i];
    if (d->kernel > (int64_t)MORSEL_FORMAT_MAX_WINDOW || d->stride > 65536 || d->dilation > 65536)
        return refuse(l, node, "a window of %lld with stride %lld and dilation %lld is not supported", (long long)d->kernel,
                      (long long)d->stride, (long long)d->dilation);
    int64_t reach = (d->kernel - 1) * d->dilation, total = d->stride * (d->in - 1) + extra[i] + reach + 1 - d->out, before = pads[i];
    if (given[i] || !strncmp(pad, "SAME", 4)) /* then the pads follow from the output */
        before = total <= 0 ? 0 : !strcmp(pad, "SAME_UPPER") ? total / 2 : total - total / 2;
    d->begin = reach - before;
    return true;
}

/* The input pulled apart along an axis, cut where the pad is negative; the pads that are left. */
static bool pull_apart(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, const struct pulled *d,
                       uint32_t *pad_begin, uint32_t *pad_end) {
    int64_t wide = d->stride * (d->in - 1) + 1, from = d->begin < 0 ? -d->begin : 0, reach = (d->kernel - 1) * d->dilation;
    int64_t end = d->out + reach - wide - d->begin, to = end < 0 ? wide + end : wide;
    if (from >= to || d->begin > 65536 || end > 65536 || to > INT32_MAX)
        return refuse(l, node, "its pads leave nothing of its input, or are above 65536");
    int32_t *indices = net_alloc(l->net, (size_t)(to - from) * sizeof *indices);
    for (int64_t k = from; k < to; k++) indices[k - from] = k % d->stride ? -1 : (int32_t)(k / d->stride);
    if (d->stride > 1 || from > 0 || to < wide) m->view = view_pick(l->net, &m->view, axis, (uint32_t)(to - from), indices);
    *pad_begin = d->begin > 0 ? (uint32_t)d->begin : 0;
    *pad_end = end > 0 ? (uint32_t)end : 0;
    return true;
}

/* Weights [inputs, outputs of a group, kernel...] as those of a convolution: [outputs, inputs of a group, kernel turned]. */
static struct onnx_tensor *turned(struct lowering *l, const struct onnx_tensor *t, int64_t groups) {
    struct onnx_tensor *made = net_alloc(l->net, sizeof *made);
    size_t size = onnx_type_bytes(t->type), taps = 1;
    size_t inputs = (size_t)(t->shape.dims[0] / groups), outputs = (size_t)t->shape.dims[1];
    for (int i = 2; i < t->shape.rank; i++) taps *= (size_t)t->shape.dims[i];
    *made = *t;
    made->alike = made->mask = 0;
    made->shape.dims[0] = (int64_t)outputs * groups;
    made->shape.dims[1] = (int64_t)inputs;
    made->data = net_alloc(l->net, t->count * size + 1);
    size_t at = 0;
    for (size_t g = 0; g < (size_t)groups; g++)
        for (size_t o = 0; o < outputs; o++)
            for (size_t i = 0; i < inputs; i++)
                for (size_t k = 0; k < taps; k++, at++)
                    memcpy((char *)made->data + at * size,
                           (const char *)t->data + (((g * inputs + i) * outputs + o) * taps + taps - 1 - k) * size, size);
    return made;
}

/* A list, several times. */
static const struct onnx_tensor *repeated(struct lowering *l, const struct onnx_tensor *t, int64_t times) {
    struct onnx_tensor *made = net_alloc(l->net, sizeof *made);
    size_t bytes = t->count * onnx_type_bytes(t->type);
    *made = *t;
    made->alike = made->mask = 0;
    made->count *= (size_t)times;
    made->shape = (struct onnx_shape){1, {(int64_t)made->count}};
    made->data = net_alloc(l->net, bytes * (size_t)times);
    for (int64_t k = 0; k < times; k++) memcpy((char *)made->data + (size_t)k * bytes, t->data, bytes);
    return made;
}

/* Scales or zero points along the outputs of a group: the same for each group. */
static const struct onnx_tensor *for_each_group(struct lowering *l, const struct onnx_tensor *t, int64_t groups) {
    return !t || t->count == 1 || groups == 1 ? t : repeated(l, t, groups);
}

/* The weights' value as a convolution reads it: a float constant, or integers behind a DequantizeLinear. */
static bool turned_value(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, int64_t groups, struct onnx_value *out) {
    const struct meaning *m = meaning_of(l, node->inputs[1]);
    struct onnx_tensor *made = turned(l, t, groups);
    *out = *node->inputs[1];
    out->lowered = net_alloc(l->net, sizeof(struct value_slot));
    out->shape = made->shape;
    out->constant = m ? NULL : made;
    if (!m) return true;
    if (m->scales->count > 1 && m->axis != 1)
        return refuse(l, node, "its weight scales lie along axis %d, not along the output channels", m->axis);
    struct meaning integers = *m;
    integers.quantized = made;
    integers.scales = for_each_group(l, m->scales, groups);
    integers.zeros = for_each_group(l, m->zeros, groups);
    integers.axis = 0;
    meaning_set(l, out, integers);
    return true;
}

/* Zeros between the elements: nothing else may be the fill of the view by then. */
static bool set_fill(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (m->table) {
        m->buffer = meaning_float_buffer(l, node, m, &m->view);
        m->table = NULL;
        m->channel_scales = NULL;
        m->channel_zeros = NULL;
        m->dequantized = false;
    }
    uint32_t fill = !m->buffer || m->buffer->type == MORSEL_FLOAT32 ? 0 : (uint8_t)m->zero;
    if (m->buffer && view_has_fill(&m->view) && m->fill != fill && !meaning_settle(l, node, m)) return false;
    m->fill = fill;
    return m->buffer != NULL;
}

static bool is_apart(const struct pulled *d) {
    return d->kernel == d->stride && d->stride > 1 && d->dilation == 1 && d->begin == d->kernel - 1 && d->out == d->in * d->stride;
}

/* Weights [inputs, outputs, taps] as [taps * outputs, inputs, 1 ..]. */
static struct onnx_tensor *by_taps(struct lowering *l, const struct onnx_tensor *t) {
    struct onnx_tensor *made = net_alloc(l->net, sizeof *made);
    size_t size = onnx_type_bytes(t->type), taps = 1, inputs = (size_t)t->shape.dims[0], outputs = (size_t)t->shape.dims[1];
    *made = *t;
    made->alike = made->mask = 0;
    for (int i = 2; i < t->shape.rank; i++) {
        taps *= (size_t)t->shape.dims[i];
        made->shape.dims[i] = 1;
    }
    made->shape.dims[0] = (int64_t)(taps * outputs);
    made->shape.dims[1] = (int64_t)inputs;
    made->data = net_alloc(l->net, t->count * size + 1);
    for (size_t at = 0; at < t->count; at++) {
        size_t i = at % inputs, o = at / inputs % outputs, k = at / inputs / outputs;
        memcpy((char *)made->data + at * size, (const char *)t->data + ((i * outputs + o) * taps + k) * size, size);
    }
    return made;
}

/* A value of numbers for each output, as often as there are taps; false: it is none. */
static bool for_each_tap(struct lowering *l, const struct onnx_value *value, int64_t taps, struct onnx_value *out) {
    const struct meaning *m = meaning_of(l, value);
    *out = *value;
    out->lowered = net_alloc(l->net, sizeof(struct value_slot));
    if (value->constant) {
        out->constant = repeated(l, value->constant, taps);
        return true;
    }
    if (!m || !m->quantized || (m->scales->count > 1 && m->axis != 0)) return false;
    struct meaning integers = *m;
    integers.quantized = repeated(l, m->quantized, taps);
    integers.scales = for_each_group(l, m->scales, taps);
    integers.zeros = for_each_group(l, m->zeros, taps);
    meaning_set(l, out, integers);
    return true;
}

enum { MOST_BEHIND = 16 };

/* The values that a step of this node may give: its output, and what bounds and a QuantizeLinear make of it. 0: by channel. */
static int values_behind(struct onnx_value *value, struct onnx_value **out) {
    int count = 0;
    while (count < MOST_BEHIND) {
        const struct value_slot *slot = value_slot(value);
        out[count++] = value;
        for (int i = 0; i < slot->reader_count; i++) {
            const struct onnx_tensor *scale = node_is(slot->readers[i], "QuantizeLinear") ? onnx_input_constant(slot->readers[i], 1) : NULL;
            if (scale && scale->count > 1) return 0;
        }
        const struct onnx_node *reader = only_reader(value);
        if (!reader || reader->inputs[0] != value || (!onnx_has(reader, ONNX_BOUND) && !node_is(reader, "QuantizeLinear"))) break;
        value = reader->outputs[0];
    }
    return count;
}

/* Channels [taps * outputs] as the pixels that they are. */
static bool spread(struct lowering *l, struct meaning *m, const struct pulled *d, int rank, const struct onnx_shape *shape) {
    const struct pulled *width = &d[rank - 1];
    uint32_t n = m->view.dims[0], o = (uint32_t)shape->dims[1], out[ONNX_MAX_RANK];
    uint32_t two[6] = {n, (uint32_t)d->kernel, (uint32_t)width->kernel, o, (uint32_t)d->in, (uint32_t)width->in};
    uint32_t one[4] = {n, (uint32_t)d->kernel, o, (uint32_t)d->in};
    static const uint32_t two_axes[6] = {0, 3, 4, 1, 5, 2}, one_axes[4] = {0, 2, 3, 1};
    struct view wide;
    for (int i = 0; i < shape->rank; i++) out[i] = (uint32_t)shape->dims[i];
    if (!view_reshape(l->net, &m->view, rank == 2 ? 6 : 4, rank == 2 ? two : one, &wide)) return false;
    wide = view_transpose(&wide, rank == 2 ? two_axes : one_axes);
    return view_reshape(l->net, &wide, (uint32_t)rank + 2, out, &m->view);
}

/* The node as a convolution of one pixel. Whoever reads its output sees channels while that is lowered. */
static bool lower_apart(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_tensor *t, const struct pulled *d,
                        int rank, struct onnx_value **behind, int count, struct onnx_value *bias) {
    const struct onnx_shape shape = node->outputs[0]->shape;
    int64_t taps = d[0].kernel * (rank == 2 ? d[1].kernel : 1);
    struct morsel_blob_conv p = {.window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, .groups = 1};
    struct weights w = {
        .outputs = (uint32_t)(taps * shape.dims[1]), .kernel_h = 1, .kernel_w = 1, .inputs = (uint32_t)t->shape.dims[0], .groups = 1};
    struct onnx_value weights = *node->inputs[1];
    struct onnx_node *conv = net_alloc(l->net, sizeof *conv); /* a notice names it in the end */
    struct onnx_tensor *made = by_taps(l, t);
    weights.lowered = net_alloc(l->net, sizeof(struct value_slot));
    weights.shape = made->shape;
    weights.constant = meaning_of(l, node->inputs[1]) ? NULL : made;
    if (!weights.constant) {
        struct meaning integers = *meaning_of(l, node->inputs[1]);
        integers.quantized = made;
        integers.scales = for_each_group(l, integers.scales, taps);
        integers.zeros = for_each_group(l, integers.zeros, taps);
        integers.axis = 0;
        meaning_set(l, &weights, integers);
    }
    *conv = *node;
    conv->inputs = net_alloc(l->net, 3 * sizeof(void *));
    conv->inputs[0] = node->inputs[0];
    conv->inputs[1] = &weights;
    conv->inputs[2] = bias;
    for (int i = 0; i < count; i++) {
        behind[i]->shape.dims[1] *= taps;
        for (int k = 0; k < rank; k++) behind[i]->shape.dims[2 + k] = d[k].in;
    }
    bool good = lower_window(l, conv, m, &p, &w);
    for (int i = 0; i < count; i++) behind[i]->shape = shape;
    for (int i = 0; i < count && good; i++) {
        struct meaning *given = meaning_of(l, behind[i]);
        if (given) return spread(l, given, d, rank, &shape) || refuse(l, node, "its output cannot be seen as pixels");
    }
    return good;
}

/* Lowers the node so where it can be; *good says whether that went well. */
static bool taken_apart(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_tensor *t, const struct pulled *d,
                        int rank, bool *good) {
    struct onnx_value *behind[MOST_BEHIND], bias;
    const struct meaning *wm = meaning_of(l, node->inputs[1]);
    struct onnx_value *given = onnx_input(node, 2);
    int count = values_behind(node->outputs[0], behind);
    int64_t taps = d[0].kernel * (rank == 2 ? d[1].kernel : 1);
    if (!is_apart(&d[0]) || (rank == 2 && !is_apart(&d[1])) || !count || m->channel_scales) return false;
    if (wm && wm->scales->count > 1 && wm->axis != 1) return false;
    if (given && (onnx_elements(&given->shape) != t->shape.dims[1] || !for_each_tap(l, given, taps, &bias))) return false;
    *good = lower_apart(l, node, m, t, d, rank, behind, count, given ? &bias : NULL);
    return true;
}

bool lower_conv_transpose(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    const struct onnx_value *weights = onnx_input(node, 1);
    const struct meaning *wm = weights ? meaning_of(l, weights) : NULL;
    const struct onnx_tensor *t = wm && wm->quantized ? wm->quantized : weights ? weights->constant : NULL;
    int rank = node->inputs[0]->shape.rank - 2;
    struct pulled d[2] = {{0}, {0}};
    if (!t) return refuse(l, node, "its weights are not constant");
    if (rank < 1 || rank > 2 || t->shape.rank != rank + 2)
        return refuse(l, node, "only one or two spatial dimensions are supported, not %d", rank);
    for (int i = 0; i < rank; i++)
        if (!read_dimension(l, node, &t->shape, rank, i, &d[i])) return false;
    int64_t groups = onnx_attribute_int(node, "group", 1);
    if (groups < 1 || t->shape.dims[0] % groups)
        return refuse(l, node, "group %lld does not fit its weights %s", (long long)groups, shape_text(l, &t->shape));
    bool good;
    if (groups == 1 && taken_apart(l, node, m, t, d, rank, &good)) return good;
    const struct pulled *width = &d[rank - 1], *height = &d[0];
    struct morsel_blob_conv p = {.window = {.kernel_h = 1, .stride_h = 1, .dilation_h = 1, .stride_w = 1}, .groups = (uint32_t)groups};
    struct meaning wide = *m;
    struct onnx_value turned_weights;
    p.window.kernel_w = (uint32_t)width->kernel;
    p.window.dilation_w = (uint32_t)width->dilation;
    if (!set_fill(l, node, &wide) || !pull_apart(l, node, &wide, (uint32_t)rank + 1, width, &p.window.pad_left, &p.window.pad_right))
        return false;
    if (rank == 2) {
        p.window.kernel_h = (uint32_t)height->kernel;
        p.window.dilation_h = (uint32_t)height->dilation;
        if (!pull_apart(l, node, &wide, 2, height, &p.window.pad_top, &p.window.pad_bottom)) return false;
    }
    if (!turned_value(l, node, t, groups, &turned_weights)) return false;
    struct weights w = {.outputs = (uint32_t)turned_weights.shape.dims[0],
                        .inputs = (uint32_t)turned_weights.shape.dims[1],
                        .kernel_h = p.window.kernel_h,
                        .kernel_w = p.window.kernel_w,
                        .groups = p.groups};
    struct onnx_node *conv = net_alloc(l->net, sizeof *conv); /* a notice names it in the end */
    *conv = *node;
    conv->inputs = net_alloc(l->net, (size_t)node->input_count * sizeof(void *));
    memcpy(conv->inputs, node->inputs, (size_t)node->input_count * sizeof(void *));
    conv->inputs[1] = &turned_weights;
    return lower_window(l, conv, &wide, &p, &w);
}
