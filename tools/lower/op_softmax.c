/* SPDX-License-Identifier: MIT */
/* Softmax: a step of its own, with a table of exponentials. */
#include "tools/lower/lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Softmax runs along `axis`, or before opset 13 along everything from it on. */
static bool read_axis(struct lowering *l, struct onnx_node *node, int opset, uint32_t rank, uint32_t *axis, bool *to_end) {
    int64_t stated = onnx_attribute_int(node, "axis", opset < 13 ? 1 : -1), a = stated < 0 ? stated + rank : stated;
    if (a < 0 || a >= (int64_t)rank) return refuse(l, node, "axis %lld does not exist in rank %u", (long long)stated, rank);
    *axis = (uint32_t)a;
    *to_end = opset < 13;
    return true;
}

/* From this length on lines are worth a gather that puts them in order: kernels take such ones alone. */
enum { LEAST_LINE = 8 };

/* The softmax's axis as the last one; the view of what lies so shows the axes in their places. */
static struct net_buffer *turned_input(struct lowering *l, struct onnx_node *node, const struct meaning *m, uint32_t axis,
                                       struct morsel_blob_softmax *p, struct view *view) {
    uint32_t rank = m->view.rank, order[VIEW_MAX_RANK], back[VIEW_MAX_RANK];
    struct meaning turned = *m;
    for (uint32_t i = 0; i < rank; i++) order[i] = i < axis ? i : i + 1 < rank ? i + 1 : axis;
    for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
    turned.view = view_transpose(&m->view, order);
    p->count = m->view.dims[axis];
    p->outer = view_elements(&m->view) / p->count;
    const struct view whole = view_whole(l->net, MORSEL_ROW_MAJOR, rank, turned.view.dims);
    *view = view_transpose(&whole, back);
    return meaning_buffer(l, node, &turned, MORSEL_ROW_MAJOR);
}

/* The buffer, and how the softmax's lines lie in it. The output has the same dimensions in the same order. */
static struct net_buffer *softmax_input(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, bool to_end,
                                        struct morsel_blob_softmax *p, struct view *view) {
    uint32_t elements = net_elements(m->buffer), rank = m->view.rank;
    p->outer = p->count = p->inner = 1;
    if (!to_end && rank == 4 && axis == 1 && view_is_whole(&m->view, MORSEL_CHANNELS_LAST, elements)) {
        p->count = m->view.dims[1];
        p->outer = elements / p->count;
        *view = m->view;
        return m->buffer;
    }
    uint32_t behind = 1;
    for (uint32_t i = axis + 1; i < rank; i++) behind *= m->view.dims[i];
    if (!to_end && behind > 1 && m->view.dims[axis] >= LEAST_LINE) return turned_input(l, node, m, axis, p, view);
    struct net_buffer *x = meaning_buffer(l, node, m, MORSEL_ROW_MAJOR);
    *view = view_whole(l->net, MORSEL_ROW_MAJOR, rank, m->view.dims);
    for (uint32_t i = 0; i < rank; i++) *(i < axis ? &p->outer : i == axis || to_end ? &p->count : &p->inner) *= m->view.dims[i];
    return x;
}

/* ONNX Runtime's table: exponentials scaled up so far that their sum stays finite, and e^5 times less. They are multiplied by whole steps
 * of the output in 1 before they are divided by the sum. With more than e^5 steps for each element the largest became infinite: there all
 * are halved until it does not, which changes no quotient. An infinite number of steps is right as it is. */
static const float *exponentials(struct lowering *l, float x_scale, uint32_t count, float y_scale) {
    float *table = net_alloc(l->net, 256 * sizeof *table), steps = floorf(1 / y_scale);
    double shift = fmax(0, log((double)(FLT_MAX / (float)count)) - 5) / (double)x_scale;
    for (int i = 0; i < 256; i++) table[i] = (float)exp(((double)i - 255 + shift) * (double)x_scale);
    while (isfinite(steps) && !isfinite(table[255] * steps))
        for (int i = 0; i < 256; i++) table[i] /= 2;
    return table;
}

static bool add_softmax(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, bool to_end,
                        const struct quantization *q, bool dequantized, struct onnx_value *value) {
    struct morsel_blob_softmax p = {0};
    struct view view;
    struct net_buffer *x = softmax_input(l, node, m, axis, to_end, &p, &view);
    if (!x) return false;
    struct net_buffer *y = net_add_like(l->net, x, q ? q->type : MORSEL_FLOAT32, node->outputs[0]->name);
    y->qualified = true;
    y->scale = q ? q->scale : 1;
    y->zero = q ? q->zero : 0;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_SOFTMAX, node->name, x, NULL, y);
    step->parameters.softmax = p;
    if (q)
        net_add_constant(step, exponentials(l, x->scale, p.count, q->scale), 256 * sizeof(float),
                         offsetof(struct morsel_blob_softmax, table));
    meaning_set(l, value, (struct meaning){.buffer = y, .view = view, .dequantized = dequantized, .scale = y->scale, .zero = y->zero});
    return true;
}

bool lower_softmax(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    uint32_t axis = 0; /* gcc -O3 does not see that read_axis() sets both */
    bool to_end = false;
    if (!m || !read_axis(l, node, node->opset, m->view.rank, &axis, &to_end)) return false;
    struct tail tail = tail_follow(l, node->outputs[0], TAIL_ONLY_DROPPED | TAIL_NO_INTEGER_CLIP);
    struct meaning number = *m;
    bool bytes = tail.quantized && !tail.q.scales && m->dequantized && meaning_is_affine(m) && m->buffer->type == tail.q.type;
    if (!m->dequantized && !m->table && m->buffer->type != MORSEL_FLOAT32) return refuse(l, node, "its input is an integer tensor");
    if (number.table) {
        number.buffer = meaning_float_buffer(l, node, &number, &number.view);
        number.table = NULL;
    }
    return number.buffer && add_softmax(l, node, &number, axis, to_end, bytes ? &tail.q : NULL, bytes, tail.value);
}

/* Inputs X, X_scale, x_zero_point, y_scale, y_zero_point; attribute opset says whose Softmax it was. */
bool lower_qlinear_softmax(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct quantization in, out;
    const char *why;
    uint32_t axis = 0; /* gcc -O3 does not see that read_axis() sets both */
    bool to_end = false;
    if (!m) return false;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &in, &why) ||
        !read_quantization(node, 3, 4, node->inputs[0]->type, &out, &why))
        return refuse(l, node, "%s", why);
    return meaning_qualify(l, node, m, in.scale, in.zero) &&
           read_axis(l, node, (int)onnx_attribute_int(node, "opset", 13), m->view.rank, &axis, &to_end) &&
           add_softmax(l, node, m, axis, to_end, &out, false, node->outputs[0]);
}
