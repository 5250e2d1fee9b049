/* SPDX-License-Identifier: MIT */
/*
 * ConvTranspose as a convolution. Outputs that lie a stride apart have the same taps, over inputs that lie side by side: each phase of
 * the output is a convolution with a part of the weights. One window serves all. It gives their outputs as channels, and the output is a
 * view of these. Where the window is as large as the stride, that is a convolution of one pixel.
 *
 * Otherwise, with dilations and with groups, the input is pulled apart by the stride: one gather puts zeros (the zero point) between,
 * under weights turned by half a turn. With strides of 1 nothing is pulled apart.
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

/* How one dimension falls apart into phases: outputs `stride` apart have the same taps, over pixels that lie side by side. */
struct phases {
    int64_t count, taps, positions, cut; /* positions of the window, each with `count` outputs; of the first `cut` are none */
    int64_t pad_begin, pad_end;
};

static struct phases phases_of(const struct pulled *d) {
    int64_t pad = d->kernel - 1 - d->begin, first = pad / d->stride, last = (d->out - 1 + pad) / d->stride;
    struct phases p = {.count = d->stride, .taps = (d->kernel + d->stride - 1) / d->stride, .positions = last - first + 1};
    p.cut = pad % d->stride;
    p.pad_begin = p.taps - 1 - first;
    p.pad_end = last - (d->in - 1);
    return p;
}

/* Weights [inputs, outputs, taps] as [phases * outputs, inputs, taps of a phase]; zeros where a phase has fewer. */
static struct onnx_tensor *by_phases(struct lowering *l, const struct onnx_tensor *t, const struct pulled *d, const struct phases *p,
                                     const struct meaning *wm) {
    struct onnx_tensor *made = net_alloc(l->net, sizeof *made);
    int64_t size = (int64_t)onnx_type_bytes(t->type), inputs = t->shape.dims[0], outputs = t->shape.dims[1];
    int64_t phases = p[0].count * p[1].count, taps = p[0].taps * p[1].taps;
    *made = *t;
    made->alike = made->mask = 0;
    for (int i = 2; i < t->shape.rank; i++) made->shape.dims[i] = p[i - 2].taps;
    made->shape.dims[0] = phases * outputs;
    made->shape.dims[1] = inputs;
    made->count = (size_t)(phases * outputs * inputs * taps);
    char *to = made->data = net_alloc(l->net, made->count * (size_t)size + 1);
    for (int64_t at = 0; at < (int64_t)made->count; at++, to += size) {
        int64_t tap = at % taps, i = at / taps % inputs, o = at / taps / inputs % outputs, phase = at / taps / inputs / outputs;
        int64_t row = phase / p[1].count + (p[0].taps - 1 - tap / p[1].taps) * p[0].count;
        int64_t column = phase % p[1].count + (p[1].taps - 1 - tap % p[1].taps) * p[1].count;
        if (row < d[0].kernel && column < d[1].kernel)
            memcpy(to, (const char *)t->data + (((i * outputs + o) * d[0].kernel + row) * d[1].kernel + column) * size, (size_t)size);
        else if (wm) *to = (char)quantized_zero(wm, (uint32_t)o);
        else memset(to, 0, (size_t)size);
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

enum { MOST_BEHIND = 16, MOST_GROWTH = 1 << 16 };

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

/* The view without its first elements along an axis, and of what follows as many as are wanted. */
static void cut(struct net *net, struct view *view, uint32_t axis, uint32_t from, uint32_t count) {
    if (!from && view->dims[axis] == count) return;
    int32_t *indices = net_alloc(net, count * sizeof *indices);
    for (uint32_t k = 0; k < count; k++) indices[k] = (int32_t)(from + k);
    *view = view_pick(net, view, axis, count, indices);
}

/* Channels [phases * outputs] as the pixels that they are. */
static bool spread(struct lowering *l, struct meaning *m, const struct phases *p, int rank, const struct onnx_shape *shape) {
    const uint32_t n = m->view.dims[0], o = (uint32_t)shape->dims[1], high = (uint32_t)p[0].positions, wide = (uint32_t)p[1].positions;
    const uint32_t two[6] = {n, (uint32_t)p[0].count, (uint32_t)p[1].count, o, high, wide}, one[4] = {n, (uint32_t)p[0].count, o, high};
    const uint32_t whole[4] = {n, o, high * (uint32_t)p[0].count, wide * (uint32_t)p[1].count};
    static const uint32_t two_axes[6] = {0, 3, 4, 1, 5, 2}, one_axes[4] = {0, 2, 3, 1};
    struct view pixels;
    if (!view_reshape(l->net, &m->view, rank == 2 ? 6 : 4, rank == 2 ? two : one, &pixels)) return false;
    pixels = view_transpose(&pixels, rank == 2 ? two_axes : one_axes);
    if (!view_reshape(l->net, &pixels, (uint32_t)rank + 2, whole, &m->view)) return false;
    for (int i = 0; i < rank; i++) cut(l->net, &m->view, (uint32_t)i + 2, (uint32_t)p[i].cut, (uint32_t)shape->dims[2 + i]);
    return true;
}

/* The weights' value in phases: a float constant, or integers behind a DequantizeLinear. */
static void value_by_phases(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, const struct pulled *d,
                            const struct phases *p, struct onnx_value *out) {
    const struct meaning *wm = meaning_of(l, node->inputs[1]);
    struct onnx_tensor *made = by_phases(l, t, d, p, wm);
    *out = *node->inputs[1];
    out->lowered = net_alloc(l->net, sizeof(struct value_slot));
    out->shape = made->shape;
    out->constant = wm ? NULL : made;
    if (!wm) return;
    struct meaning integers = *wm;
    integers.quantized = made;
    integers.scales = for_each_group(l, integers.scales, p[0].count * p[1].count);
    integers.zeros = for_each_group(l, integers.zeros, p[0].count * p[1].count);
    integers.axis = 0;
    meaning_set(l, out, integers);
}

/* The node as a convolution that gives all phases of a position. Whoever reads its output sees channels while that is lowered. */
static bool lower_phases(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_value *weights,
                         const struct phases *p, int rank, struct onnx_value **behind, int count, struct onnx_value *bias) {
    const struct onnx_shape shape = node->outputs[0]->shape;
    const struct phases *width = &p[rank - 1], *height = &p[0];
    struct morsel_blob_conv conv = {.window = {1, (uint32_t)width->taps, 1, 1, 1, 1, 0, (uint32_t)width->pad_begin, 0,
                                               (uint32_t)width->pad_end},
                                    .groups = 1};
    struct weights w = {.outputs = (uint32_t)weights->shape.dims[0],
                        .kernel_h = 1,
                        .kernel_w = (uint32_t)width->taps,
                        .inputs = (uint32_t)weights->shape.dims[1],
                        .groups = 1};
    if (rank == 2) {
        w.kernel_h = conv.window.kernel_h = (uint32_t)height->taps;
        conv.window.pad_top = (uint32_t)height->pad_begin;
        conv.window.pad_bottom = (uint32_t)height->pad_end;
    }
    struct onnx_node *made = net_alloc(l->net, sizeof *made); /* a notice names it in the end */
    *made = *node;
    made->inputs = net_alloc(l->net, 3 * sizeof(void *));
    made->inputs[0] = node->inputs[0];
    made->inputs[1] = net_alloc(l->net, sizeof *weights);
    *made->inputs[1] = *weights;
    made->inputs[2] = bias;
    for (int i = 0; i < count; i++) {
        behind[i]->shape.dims[1] *= p[0].count * p[1].count;
        for (int k = 0; k < rank; k++) behind[i]->shape.dims[2 + k] = p[k].positions;
    }
    bool good = lower_window(l, made, m, &conv, &w);
    for (int i = 0; i < count; i++) behind[i]->shape = shape;
    for (int i = 0; i < count && good; i++) {
        struct meaning *given = meaning_of(l, behind[i]);
        if (given) return spread(l, given, p, rank, &shape) || refuse(l, node, "its output cannot be seen as pixels");
    }
    return good;
}

/*
 * Whether one window serves all phases. Where some have fewer taps than others, zeros fill it up: the weights must not grow by much, and
 * floats that are no bytes may be infinite, which times such a zero is no number.
 */
static bool has_phases(const struct meaning *m, const struct onnx_tensor *t, const struct pulled *d, const struct phases *p) {
    int64_t grown = (int64_t)t->count;
    for (int i = 0; i < 2; i++) {
        if (d[i].dilation != 1 || p[i].pad_begin < 0 || p[i].pad_begin > 65536 || p[i].pad_end < 0 || p[i].pad_end > 65536) return false;
        grown = grown / d[i].kernel * p[i].taps * p[i].count;
    }
    if (d[0].stride * d[1].stride == 1) return false;
    return grown == (int64_t)t->count ||
           (meaning_is_affine(m) && (grown - (int64_t)t->count) * (int64_t)onnx_type_bytes(t->type) <= MOST_GROWTH);
}

/* Lowers the node so where it can be; *good says whether that went well. */
static bool taken_apart(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_tensor *t, const struct pulled *d,
                        int rank, bool *good) {
    struct onnx_value *behind[MOST_BEHIND], weights, bias;
    const struct meaning *wm = meaning_of(l, node->inputs[1]);
    struct onnx_value *given = onnx_input(node, 2);
    struct phases p[2];
    int64_t strides = d[0].stride * d[1].stride;
    for (int i = 0; i < 2; i++) p[i] = phases_of(&d[i]);
    int count = values_behind(node->outputs[0], behind);
    if (!count || m->channel_scales || !has_phases(m, t, d, p)) return false;
    if (wm && wm->scales->count > 1 && wm->axis != 1) return false;
    if (given && (onnx_elements(&given->shape) != t->shape.dims[1] || !for_each_tap(l, given, strides, &bias))) return false;
    value_by_phases(l, node, t, d, p, &weights);
    *good = lower_phases(l, node, m, &weights, p, rank, behind, count, given ? &bias : NULL);
    return true;
}

bool lower_conv_transpose(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    const struct onnx_value *weights = onnx_input(node, 1);
    const struct meaning *wm = weights ? meaning_of(l, weights) : NULL;
    const struct onnx_tensor *t = wm && wm->quantized ? wm->quantized : weights ? weights->constant : NULL;
    int rank = node->inputs[0]->shape.rank - 2;
    struct pulled d[2], line = {.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
    d[0] = d[1] = line; /* of a line the second is none */
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
