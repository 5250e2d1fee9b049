/* SPDX-License-Identifier: MIT */
/* MaxPool and AveragePool over windows. A window that is the whole picture is a mean (op_mean.c). */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

static bool read_window(struct lowering *l, struct onnx_node *node, struct morsel_blob_pool *p, bool *whole) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    struct onnx_window window = {0};
    const char *why;
    if (x->rank != 3 && x->rank != 4)
        return refuse(l, node, "only pools over one or two dimensions are supported, not over %d", x->rank - 2);
    if (node_is(node, "GlobalMaxPool")) {
        window.rank = x->rank - 2;
        for (int i = 0; i < window.rank; i++) {
            window.kernel[i] = x->dims[i + 2];
            window.stride[i] = window.dilation[i] = 1;
        }
    } else if (!onnx_window(node, x, NULL, &window, &why)) return refuse(l, node, "%s", why);
    *p = (struct morsel_blob_pool){.window = window_record(&window), .count_include_pad = window.count_include_pad};
    *whole = true;
    for (int i = 0; i < window.rank; i++) {
        *whole = *whole && window.kernel[i] == x->dims[i + 2] && !window.pad_begin[i] && !window.pad_end[i];
        if (window.pad_begin[i] < 0 || window.pad_end[i] < 0 || window.kernel[i] < 1)
            return refuse(l, node, "negative pads are not supported");
        if (window.stride[i] > 65536 || window.dilation[i] > 65536 || window.pad_begin[i] > 65536 || window.pad_end[i] > 65536)
            return refuse(l, node, "strides, dilations and pads above 65536 are not supported");
    }
    return true;
}

static bool window_fits(struct lowering *l, struct onnx_node *node, const struct morsel_blob_window *p) {
    if (p->kernel_h > MORSEL_FORMAT_MAX_WINDOW || p->kernel_w > MORSEL_FORMAT_MAX_WINDOW)
        return refuse(l, node, "a window of %u x %u is not supported (at most %u)", p->kernel_h, p->kernel_w, MORSEL_FORMAT_MAX_WINDOW);
    return true;
}

/* ONNX allows dilated averages since opset 19. */
static bool average_fits(struct lowering *l, struct onnx_node *node, const struct morsel_blob_window *p) {
    return (p->dilation_h == 1 && p->dilation_w == 1) || refuse(l, node, "an average with dilations is not supported");
}

static bool add_pool(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_step_kind kind,
                     const struct morsel_blob_pool *p, const struct tail *tail) {
    if (kind == MORSEL_STEP_AVERAGE_POOL && !average_fits(l, node, &p->window)) return false;
    struct net_buffer *x = window_fits(l, node, &p->window) ? meaning_buffer(l, node, m, MORSEL_CHANNELS_LAST) : NULL;
    if (!x) return false;
    struct net_buffer *y = tail_buffer(l, tail, MORSEL_CHANNELS_LAST);
    struct net_step *step = net_add_step(l->net, kind, node->name, x, NULL, y);
    step->parameters.pool = *p;
    step->parameters.pool.out_min = tail->out_min;
    step->parameters.pool.out_max = tail->out_max;
    return true;
}

/* The largest byte stands for the largest number: a maximum needs no numbers. */
static bool lower_max(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_pool *p) {
    if (node->output_count > 1 && node->outputs[1] && node->outputs[1]->uses)
        return refuse(l, node, "its second output (indices) is not supported");
    struct meaning number = *m;
    if (number.table) {
        number.buffer = meaning_float_buffer(l, node, &number, &number.view);
        number.table = NULL;
        if (!number.buffer) return false;
    }
    const struct net_buffer *x = number.buffer;
    bool q8 = x->type != MORSEL_FLOAT32;
    struct tail tail = {
        .value = node->outputs[0], .quantized = q8, .dequantized = m->dequantized, .float_min = -INFINITY, .float_max = INFINITY};
    tail.q = (struct quantization){.type = x->type, .scale = x->scale, .zero = x->zero};
    tail.out_min = q8 ? type_min(x->type) : 0;
    tail.out_max = q8 ? type_max(x->type) : 0;
    if (!add_pool(l, node, &number, MORSEL_STEP_MAX_POOL, p, &tail)) return false;
    struct meaning *made = meaning_of(l, node->outputs[0]);
    made->buffer->qualified = x->qualified;
    made->scale = m->scale;
    made->zero = m->zero;
    return true;
}

/* An average in bytes, or in float where ONNX Runtime would not fuse it. */
static bool lower_average(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_pool *p) {
    const bool can = m->dequantized && meaning_is_affine(m);
    struct tail tail = tail_follow(l, node->outputs[0], can ? TAIL_ONLY_QUANTIZED | TAIL_NO_INTEGER_CLIP : TAIL_FLOAT | TAIL_NO_ACTIVATION);
    struct meaning number = *m;
    bool bytes = can && tail.quantized && !tail.q.scales && m->buffer->type == tail.q.type;
    if (tail.activation && !bytes) return refuse(l, node, "a Relu or Clip behind an average pool is not supported");
    if (bytes) tail_take_integer_clip(&tail);
    if (!bytes) {
        tail.quantized = false;
        number.buffer = meaning_float_buffer(l, node, &number, &number.view);
        number.table = NULL;
    }
    return number.buffer && add_pool(l, node, &number, MORSEL_STEP_AVERAGE_POOL, p, &tail);
}

bool lower_pool(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct morsel_blob_pool p;
    bool whole, average = node_is(node, "AveragePool");
    if (!m || !read_window(l, node, &p, &whole)) return false;
    if (!average) return lower_max(l, node, m, &p);
    if (!m->dequantized && !m->table && m->buffer->type != MORSEL_FLOAT32) return refuse(l, node, "its input is an integer tensor");
    return whole ? lower_global_pool(l, node) : lower_average(l, node, m, &p);
}

bool lower_qlinear_average_pool(struct lowering *l, struct onnx_node *node) {
    struct tail tail;
    struct meaning *m = qlinear_pool(l, node, &tail);
    struct morsel_blob_pool p;
    bool whole;
    if (!m || !read_window(l, node, &p, &whole)) return false;
    return whole ? lower_qlinear_global_pool(l, node) : add_pool(l, node, m, MORSEL_STEP_AVERAGE_POOL, &p, &tail);
}
