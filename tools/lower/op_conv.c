/* SPDX-License-Identifier: MIT */
/* QLinearConv, and Conv between DequantizeLinear and QuantizeLinear: both one step. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

struct morsel_blob_window window_record(const struct onnx_window *window) {
    int w = window->rank - 1, h = window->rank - 2;
    return (struct morsel_blob_window){.kernel_h = h < 0 ? 1 : (uint32_t)window->kernel[h],
                                       .kernel_w = (uint32_t)window->kernel[w],
                                       .stride_h = h < 0 ? 1 : (uint32_t)window->stride[h],
                                       .stride_w = (uint32_t)window->stride[w],
                                       .dilation_h = h < 0 ? 1 : (uint32_t)window->dilation[h],
                                       .dilation_w = (uint32_t)window->dilation[w],
                                       .pad_top = h < 0 ? 0 : (uint32_t)window->pad_begin[h],
                                       .pad_left = (uint32_t)window->pad_begin[w],
                                       .pad_bottom = h < 0 ? 0 : (uint32_t)window->pad_end[h],
                                       .pad_right = (uint32_t)window->pad_end[w]};
}

bool conv_geometry(struct lowering *l, struct onnx_node *node, const struct onnx_value *x, const struct onnx_shape *weights,
                   struct morsel_blob_conv *p, struct weights *w) {
    struct onnx_window window;
    const char *why;
    if (x->shape.rank != 3 && x->shape.rank != 4)
        return refuse(l, node, "only convolutions over one or two dimensions are supported in this form, not over %d: QDQ has three",
                      x->shape.rank - 2);
    if (weights->rank != x->shape.rank)
        return refuse(l, node, "its weights %s do not have the rank of its input %s", shape_text(l, weights), shape_text(l, &x->shape));
    if (!onnx_window(node, &x->shape, weights->dims + 2, &window, &why)) return refuse(l, node, "%s", why);
    for (int i = 0; i < window.rank; i++)
        if (window.pad_begin[i] < 0 || window.pad_end[i] < 0 || window.kernel[i] > (int64_t)MORSEL_FORMAT_MAX_WINDOW)
            return refuse(l, node,
                          "a window of %lld with pads %lld, %lld is not supported (at most %u, no negative pads); of a float file "
                          "morsel quantize takes more along one dimension",
                          (long long)window.kernel[i], (long long)window.pad_begin[i], (long long)window.pad_end[i],
                          MORSEL_FORMAT_MAX_WINDOW);
    for (int i = 0; i < window.rank; i++)
        if (window.stride[i] > 65536 || window.dilation[i] > 65536 || window.pad_begin[i] > 65536 || window.pad_end[i] > 65536)
            return refuse(l, node, "strides, dilations and pads above 65536 are not supported");
    p->window = window_record(&window);
    int64_t groups = onnx_attribute_int(node, "group", 1), channels = x->shape.dims[1];
    if (groups < 1 || channels % groups || weights->dims[0] % groups || weights->dims[1] != channels / groups)
        return refuse(l, node, "group %lld does not fit %lld input channels and weights %s", (long long)groups, (long long)channels,
                      shape_text(l, weights));
    p->groups = (uint32_t)groups;
    *w = (struct weights){.outputs = (uint32_t)weights->dims[0],
                          .inputs = (uint32_t)weights->dims[1],
                          .kernel_h = p->window.kernel_h,
                          .kernel_w = p->window.kernel_w,
                          .groups = p->groups};
    return true;
}

static void put_bounds(struct morsel_blob_sums *p, const struct tail *tail) {
    p->out_min = tail->out_min;
    p->out_max = tail->out_max;
    p->float_min = tail->float_min;
    p->float_max = tail->float_max;
}

static float *multipliers(struct lowering *l, const struct weights *w, float x_scale, const struct tail *tail) {
    float *m = net_alloc(l->net, w->outputs * sizeof *m);
    for (uint32_t o = 0; o < w->outputs; o++) {
        m[o] = x_scale * w->scales[o];
        if (tail->quantized) m[o] = m[o] / (tail->q.scales ? tail->q.scales[o] : tail->q.scale);
    }
    return m;
}

/* How many entries at the begin or the end of an axis are fill. */
static uint32_t fill_count(const struct view *v, uint32_t axis, bool end) {
    uint32_t n = 0, dim = v->dims[axis];
    while (n < dim && v->table[axis][end ? dim - 1 - n : n] < 0) n++;
    return n;
}

/* A Pad in front by the zero point is the convolution's own padding: takes it off the value and puts it into the window. */
static void absorb_padding(struct lowering *l, struct meaning *m, struct morsel_blob_window *p) {
    uint32_t begin[2], end[2];
    struct view inner = m->view;
    uint8_t zero = (uint8_t)m->buffer->zero;
    if (inner.rank != 4 || !view_has_fill(&m->view) || (uint8_t)m->fill != zero) return;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t axis = i + 2;
        begin[i] = fill_count(&inner, axis, false);
        end[i] = begin[i] < inner.dims[axis] ? fill_count(&inner, axis, true) : 0;
        uint32_t left = inner.dims[axis] - begin[i] - end[i];
        int32_t *kept = net_alloc(l->net, (left + 1) * sizeof *kept);
        for (uint32_t k = 0; k < left; k++) kept[k] = (int32_t)(begin[i] + k);
        if (!left) return;
        inner = view_pick(l->net, &inner, axis, left, kept);
    }
    if (!view_is_whole(&inner, MORSEL_CHANNELS_LAST, net_elements(m->buffer))) return;
    const uint32_t pads[4] = {p->pad_top + begin[0], p->pad_bottom + end[0], p->pad_left + begin[1], p->pad_right + end[1]};
    for (int i = 0; i < 4; i++)
        if (pads[i] > 65536) return;
    m->view = inner;
    p->pad_top += begin[0];
    p->pad_bottom += end[0];
    p->pad_left += begin[1];
    p->pad_right += end[1];
}

/* How many convolution groups make one of at most sixteen outputs, which is as wide as a block of weights. */
static uint32_t groups_together(const struct weights *w) {
    uint32_t each = w->outputs / w->groups, n = 16 / each;
    while (n > 1 && w->groups % n) n--;
    return n > 1 ? n : 1;
}

/* Joins groups narrower than a block: their weights take no more room, since blocks are filled, and what is not their input has weight 0.
 * The sums stay the same. */
void conv_join_groups(struct lowering *l, struct morsel_blob_conv *p, struct weights *w) {
    uint32_t n = groups_together(w), each = w->outputs / w->groups;
    size_t area = (size_t)w->kernel_h * w->kernel_w, row = w->inputs * area;
    if (n == 1) return;
    int8_t *values = net_alloc(l->net, w->outputs * n * row);
    for (uint32_t o = 0; o < w->outputs; o++) {
        int8_t *to = values + o * n * row;
        memset(to, w->zeros[o], n * row);
        memcpy(to + o / each % n * row, w->values + o * row, row);
    }
    w->values = values;
    w->inputs *= n;
    w->groups /= n;
    p->groups = w->groups;
}

/* Taps of an axis, of which some at either end lie in the padding in every window. */
struct taps {
    uint32_t in, out, stride, dilation;
    uint32_t kernel, before, after; /* taps, and the padding */
    uint32_t first;                 /* of the taps that stay */
};

/* Drops taps that no window has inside: they add nothing, as padding is the zero point. The padding shrinks with them, and where it is less
 * than the step from tap to tap, which a strided window can have, they stay. */
static void drop_taps(struct taps *t) {
    uint64_t last = (uint64_t)(t->out - 1) * t->stride; /* where the last window begins, from the padding's begin */
    while (t->kernel > 1 && t->before >= t->dilation && last < t->before) t->first++, t->kernel--, t->before -= t->dilation;
    while (t->kernel > 1 && t->after >= t->dilation && (uint64_t)(t->kernel - 1) * t->dilation >= (uint64_t)t->in + t->before)
        t->kernel--, t->after -= t->dilation;
    if (t->kernel == 1) t->dilation = 1;
}

/* The weights of the taps that stay. */
static void keep_taps(struct lowering *l, struct weights *w, const struct taps *rows, const struct taps *columns) {
    size_t planes = (size_t)w->outputs * w->inputs, area = (size_t)w->kernel_h * w->kernel_w;
    int8_t *values = net_alloc(l->net, planes * rows->kernel * columns->kernel), *to = values;
    for (size_t i = 0; i < planes; i++)
        for (uint32_t y = 0; y < rows->kernel; y++, to += columns->kernel)
            memcpy(to, w->values + i * area + (size_t)(rows->first + y) * w->kernel_w + columns->first, columns->kernel);
    w->values = values;
    w->kernel_h = rows->kernel;
    w->kernel_w = columns->kernel;
}

/* A window without the rows and columns of taps that lie in the padding throughout, as those of a dilation do over a small picture. */
void conv_trim_window(struct lowering *l, const uint32_t *in, const uint32_t *out, struct morsel_blob_window *p, struct weights *w) {
    struct taps rows = {in[1], out[1], p->stride_h, p->dilation_h, p->kernel_h, p->pad_top, p->pad_bottom, 0};
    struct taps columns = {in[2], out[2], p->stride_w, p->dilation_w, p->kernel_w, p->pad_left, p->pad_right, 0};
    drop_taps(&rows);
    drop_taps(&columns);
    if (rows.kernel < p->kernel_h || columns.kernel < p->kernel_w) keep_taps(l, w, &rows, &columns);
    p->kernel_h = rows.kernel, p->dilation_h = rows.dilation, p->pad_top = rows.before, p->pad_bottom = rows.after;
    p->kernel_w = columns.kernel, p->dilation_w = columns.dilation, p->pad_left = columns.before, p->pad_right = columns.after;
}

bool conv_is_depthwise(const struct morsel_blob_conv *p, const struct weights *w) {
    return p->groups > 1 && w->inputs == 1 && w->outputs == p->groups;
}

static bool add_conv(struct lowering *l, struct onnx_node *node, struct net_buffer *x, const struct morsel_blob_conv *p, struct weights *w,
                     const struct tail *tail) {
    bool depthwise = conv_is_depthwise(p, w);
    struct net_buffer *y = tail_buffer(l, tail, MORSEL_CHANNELS_LAST);
    struct net_step *step = net_add_step(l->net, depthwise ? MORSEL_STEP_DEPTHWISE : MORSEL_STEP_CONV, node->name, x, NULL, y);
    step->parameters.conv = *p;
    conv_trim_window(l, x->dims, y->dims, &step->parameters.conv.window, w);
    put_bounds(&step->parameters.conv.sums, tail);
    if (step->parameters.conv.window.pad_top || step->parameters.conv.window.pad_bottom)
        step->scratch_bytes = (x->dims[2] * x->dims[3] + 3) / 4 * 4;
    l->net->parameter_count += (uint64_t)w->outputs * w->inputs * w->kernel_h * w->kernel_w + w->outputs;
    const float *multiplier = multipliers(l, w, x->scale, tail);
    if (!depthwise) conv_join_groups(l, &step->parameters.conv, w);
    step->macs = (uint64_t)net_elements(y) * w->inputs * w->kernel_h * w->kernel_w;
    return pack_weights(l, node, step, w, x, multiplier);
}

bool lower_qlinear_conv(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct quantization in;
    struct tail tail = {.value = node->outputs[0], .quantized = true};
    const char *why;
    if (!m) return false;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &in, &why) || !read_quantization(node, 6, 7, ONNX_UNKNOWN, &tail.q, &why))
        return refuse(l, node, "%s", why);
    const struct onnx_tensor *values = onnx_input_constant(node, 3);
    struct morsel_blob_conv p = {0};
    struct weights w;
    if (!values) return refuse(l, node, "its weights are not constant");
    if (!meaning_qualify(l, node, m, in.scale, in.zero) || !conv_geometry(l, node, node->inputs[0], &values->shape, &p, &w) ||
        !read_weights(l, node, values, onnx_input_constant(node, 4), onnx_input_constant(node, 5), false, &w))
        return false;
    if (onnx_input(node, 8) && !onnx_input_constant(node, 8)) return refuse(l, node, "its bias is not constant");
    struct meaning padded = *m;
    absorb_padding(l, &padded, &p.window);
    struct net_buffer *x = meaning_buffer(l, node, &padded, MORSEL_CHANNELS_LAST);
    tail.out_min = type_min(tail.q.type);
    tail.out_max = type_max(tail.q.type);
    return x && read_bias(l, node, onnx_input_constant(node, 8), &w) && add_conv(l, node, x, &p, &w, &tail);
}

bool quantized_operands(const struct meaning *x, const struct meaning *weights) {
    return x->dequantized && (meaning_is_affine(x) || (x->channel_scales && !x->channel_zeros)) && weights && weights->quantized &&
           weights->quantized->type != ONNX_INT32;
}

/* Activations quantized by channel, where an output has one input channel: their scales go into the weights' own. */
static bool fold_channel_scales(struct lowering *l, struct onnx_node *node, const struct meaning *m, const struct morsel_blob_conv *p,
                                struct weights *w) {
    if (!m->channel_scales) return true;
    uint32_t each = w->outputs / p->groups;
    if (w->inputs != 1) return refuse(l, node, "an input quantized by channel is supported for depthwise convolutions only");
    float *scales = net_alloc(l->net, w->outputs * sizeof *scales);
    for (uint32_t o = 0; o < w->outputs; o++) scales[o] = m->channel_scales[o / each] * w->scales[o];
    w->scales = scales;
    return true;
}

bool lower_conv(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    const struct onnx_value *weights = onnx_input(node, 1);
    const struct meaning *wm = weights ? meaning_of(l, weights) : NULL;
    const struct onnx_tensor *shaped = wm && wm->quantized ? wm->quantized : weights ? weights->constant : NULL;
    struct morsel_blob_conv p = {0};
    struct weights w;
    if (!shaped) return refuse(l, node, "its weights are not constant");
    return conv_geometry(l, node, node->inputs[0], &shaped->shape, &p, &w) && lower_window(l, node, m, &p, &w);
}

bool lower_window(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window,
                  const struct weights *geometry) {
    struct morsel_blob_conv p = *window;
    struct weights w = *geometry;
    const struct meaning *wm = meaning_of(l, node->inputs[1]);
    if (dynamic_is_marked(node, wm)) return lower_dynamic_window(l, node, m, &p, &w);
    if (!quantized_operands(m, wm)) return lower_float_conv(l, node, m, &p);
    if (wm->scales->count > 1 && wm->axis != 0)
        return refuse(l, node, "its weight scales lie along axis %d, not along the output channels", wm->axis);
    bool round = !m->channel_scales && leads_to_quantize(node->outputs[0]);
    /* What a transposed convolution makes is moved before it is multiplied. */
    struct scaled scaled =
        strcmp(node->op, "ConvTranspose") ? scaled_follow(l, node->outputs[0], w.outputs) : (struct scaled){.value = node->outputs[0]};
    struct tail tail = tail_follow(l, scaled.value, TAIL_CHANNELS);
    struct meaning padded = *m;
    absorb_padding(l, &padded, &p.window);
    struct net_buffer *x = meaning_buffer(l, node, &padded, MORSEL_CHANNELS_LAST);
    return x && read_weights(l, node, wm->quantized, wm->scales, wm->zeros, false, &w) && fold_channel_scales(l, node, m, &p, &w) &&
           read_any_bias(l, node, onnx_input(node, 2), 1, round, x->scale, &tail, &w) && scaled_apply(l, node, &scaled, &tail, &w) &&
           add_conv(l, node, x, &p, &w, &tail);
}
