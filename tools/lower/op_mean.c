/* SPDX-License-Identifier: MIT */
/* GlobalAveragePool, ReduceMean and pools over the whole picture: one mean over axes that lie side by side. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

/* Axes to average over, by logical dimension. */
struct axes {
    bool on[VIEW_MAX_RANK];
};

/* Splits the buffer's dimensions into [outer][count][inner] where the averaged ones are neighbours in memory. */
static bool neighbours(const struct view *v, enum morsel_layout layout, const struct axes *axes, struct morsel_blob_mean *p) {
    uint32_t order[VIEW_MAX_RANK], rank = v->rank, phase = 0;
    view_memory_order(layout, rank, order);
    p->outer = p->count = p->inner = 1;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t dim = v->dims[order[i]];
        if (dim == 1) continue;
        bool on = axes->on[order[i]];
        if (on ? phase > 1 : phase == 1) phase++;
        if (on && phase == 0) phase = 1;
        if (phase == 3 || (on && phase == 2)) return false;
        *(phase == 0 ? &p->outer : phase == 1 ? &p->count : &p->inner) *= dim;
    }
    return true;
}

/* The buffer to average over, gathered with the averaged axes last where they are not neighbours. */
static struct net_buffer *mean_input(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct axes *axes,
                                     struct morsel_blob_mean *p, enum morsel_layout *layout) {
    uint32_t elements = net_elements(m->buffer), order[VIEW_MAX_RANK], n = 0;
    for (int i = 0; i < 2; i++) {
        *layout = i ? MORSEL_ROW_MAJOR : MORSEL_CHANNELS_LAST;
        if (!i && axes->on[0]) continue; /* without its first axis the rest would not lie channels-last */
        if (view_is_whole(&m->view, *layout, elements) && neighbours(&m->view, *layout, axes, p)) return m->buffer;
    }
    for (int on = 0; on < 2; on++)
        for (uint32_t i = 0; i < m->view.rank; i++)
            if (axes->on[i] == on) order[n++] = i;
    struct meaning turned = *m;
    turned.view = view_transpose(&m->view, order);
    struct axes last = {0};
    for (uint32_t i = 0; i < m->view.rank; i++) last.on[i] = axes->on[order[i]];
    *layout = MORSEL_ROW_MAJOR;
    struct net_buffer *x = meaning_buffer(l, node, &turned, MORSEL_ROW_MAJOR);
    return x && neighbours(&turned.view, MORSEL_ROW_MAJOR, &last, p) ? x : NULL;
}

static bool add_mean(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct axes *axes, const struct tail *tail) {
    struct morsel_blob_mean p;
    enum morsel_layout layout;
    struct meaning number = *m;
    if (number.table) {
        number.buffer = meaning_float_buffer(l, node, &number, &number.view);
        number.table = NULL;
        number.scale = 1;
    }
    struct net_buffer *x = number.buffer ? mean_input(l, node, &number, axes, &p, &layout) : NULL;
    if (!x) return false;
    float count = (float)p.count;
    if ((uint64_t)p.count * 255 > INT32_MAX)
        return refuse(l, node, "a mean over %u values could leave the range of int32 in its sum", p.count);
    p.multiplier = tail->quantized ? x->scale / (tail->q.scale * count) : x->scale / count;
    if (x->type == MORSEL_FLOAT32) p.multiplier = 1 / count;
    if (!isfinite(p.multiplier)) return refuse(l, node, "its scales are too far apart: their ratio is infinite");
    p.out_min = tail->quantized ? tail->out_min : 0;
    p.out_max = tail->quantized ? tail->out_max : 0;
    bool last = layout == MORSEL_CHANNELS_LAST && !axes->on[1] && tail->value->shape.rank >= 3;
    struct net_buffer *y = tail_buffer(l, tail, last ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_MEAN, node->name, x, NULL, y);
    step->parameters.mean = p;
    return true;
}

static struct axes picture_axes(const struct meaning *m) {
    struct axes axes = {0};
    for (uint32_t i = 2; i < m->view.rank; i++) axes.on[i] = true;
    return axes;
}

/* A mean in bytes where a QuantizeLinear follows at once; a bound behind it is applied to the bytes, which is the same. */
static bool mean_of(struct lowering *l, struct onnx_node *node, struct onnx_value *value, struct meaning *m, const struct axes *axes) {
    if (!m->dequantized && !m->table && m->buffer->type != MORSEL_FLOAT32) return refuse(l, node, "its input is an integer tensor");
    struct tail tail = tail_follow(l, value, TAIL_ONLY_QUANTIZED);
    return add_mean(l, node, m, axes, &tail);
}

bool lower_global_pool(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct axes axes;
    if (!m) return false;
    axes = picture_axes(m);
    return mean_of(l, node, node->outputs[0], m, &axes);
}

struct meaning *qlinear_pool(struct lowering *l, struct onnx_node *node, struct tail *tail) {
    struct meaning *m = activation(l, node, 0);
    struct quantization in;
    const char *why;
    *tail = (struct tail){.value = node->outputs[0], .quantized = true};
    if (!m) return NULL;
    if (onnx_attribute_int(node, "channels_last", 0)) {
        refuse(l, node, "channels_last = 1 is not supported: convert the model before ONNX Runtime optimizes its layout");
        return NULL;
    }
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &in, &why) ||
        !read_quantization(node, 3, 4, node->inputs[0]->type, &tail->q, &why)) {
        refuse(l, node, "%s", why);
        return NULL;
    }
    tail->out_min = type_min(tail->q.type);
    tail->out_max = type_max(tail->q.type);
    return meaning_qualify(l, node, m, in.scale, in.zero) ? m : NULL;
}

bool lower_qlinear_global_pool(struct lowering *l, struct onnx_node *node) {
    struct tail tail;
    struct meaning *m = qlinear_pool(l, node, &tail);
    if (!m) return false;
    struct axes axes = picture_axes(m);
    return add_mean(l, node, m, &axes, &tail);
}

bool lower_reduce_mean(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct axes axes = {0};
    struct onnx_value *value = node->outputs[0];
    int rank = m ? (int)m->view.rank : 0, kept[VIEW_MAX_RANK], n = 0;
    if (!m) return false;
    if (!onnx_reduced(node, rank, axes.on)) return refuse(l, node, "its axes are not constant");
    if (rank && !memchr(axes.on, 1, (size_t)rank)) return lower_identity(l, node);
    bool keep = onnx_attribute_int(node, "keepdims", 1) != 0;
    for (int i = 0; i < rank; i++)
        if (keep || !axes.on[i]) kept[n++] = i;
    /* One mean after another, as PyTorch writes x.mean(3).mean(2), is one mean. */
    for (struct onnx_node *next = only_reader(value); node_is(next, "ReduceMean") && !next->domain[0]; next = only_reader(value)) {
        bool more[ONNX_MAX_RANK];
        int left = 0;
        if (!onnx_reduced(next, n, more)) return refuse(l, next, "its axes are not constant");
        bool keep_next = onnx_attribute_int(next, "keepdims", 1) != 0;
        for (int i = 0; i < n; i++) {
            axes.on[kept[i]] = axes.on[kept[i]] || more[i];
            if (keep_next || !more[i]) kept[left++] = kept[i];
        }
        n = left;
        next->done = true;
        value = next->outputs[0];
    }
    return mean_of(l, node, value, m, &axes);
}
