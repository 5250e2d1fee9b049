/* SPDX-License-Identifier: MIT */
/*
 * Products of two activations that are float: attention between layers that quantize at run time, or that stay float. Operands are read
 * where they lie; a constant factor behind a product, and what is added to it then, belong to its step; and where heads are put beside one
 * another behind it, it is stored so.
 */
#include "tools/lower/lie.h"

#include <math.h>
#include <string.h>

/* The float value in a buffer; where it is float already, it stays where it is, whatever part of that it is. */
static bool float_value(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (m->buffer->type == MORSEL_FLOAT32) return true;
    if (!m->dequantized && !m->table) return refuse(l, node, "an operand is an integer tensor");
    m->buffer = meaning_float_buffer(l, node, m, &m->view);
    m->table = NULL;
    m->dequantized = false;
    return m->buffer != NULL;
}

/* Row-major in a buffer of its own, for every index of the result. */
static bool spread(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_shape *out, struct lie *lie) {
    const uint32_t rank = (uint32_t)out->rank, extra = rank - m->view.rank;
    struct view wide = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        const bool own = i + 2 >= rank || (i >= extra && m->view.dims[i - extra] > 1);
        wide.dims[i] = own ? m->view.dims[i - extra] : (uint32_t)out->dims[i];
        wide.table[i] = own ? m->view.table[i - extra] : net_alloc(l->net, wide.dims[i] * sizeof(int32_t));
        for (uint32_t k = 0; !own && i >= extra && k < wide.dims[i]; k++) wide.table[i][k] = m->view.table[i - extra][0];
    }
    struct meaning full = *m;
    full.view = wide;
    struct net_buffer *buffer = meaning_buffer(l, node, &full, MORSEL_ROW_MAJOR);
    if (!buffer) return false;
    wide = view_whole(l->net, MORSEL_ROW_MAJOR, rank, wide.dims);
    return lie_of(&wide, rank, buffer, lie);
}

/* ---- what follows ---- */

struct behind {
    struct onnx_value *value; /* what the step gives */
    struct onnx_node *absorbed[2];
    uint32_t count;
    float factor;
    struct meaning *term;
};

/* A product with one constant number, or a quotient by one. */
static bool is_factor(struct lowering *l, const struct onnx_node *node, const struct onnx_value *x, float *factor) {
    const bool mul = node_is(node, "Mul"), div = node_is(node, "Div");
    if (node->domain[0] || (!mul && !div) || (div && node->inputs[0] != x) || node->inputs[0] == node->inputs[1]) return false;
    const struct onnx_tensor *t = constant_numbers(l, node->inputs[node->inputs[0] == x]);
    if (!t || t->count != 1 || t->shape.rank > x->shape.rank) return false;
    const double number = onnx_number(t, 0);
    const float by = (float)(mul ? number : 1 / number);
    if (isfinite(by)) *factor = by;
    return isfinite(by);
}

/* A float of before, added; the sum has the product's shape. */
static struct meaning *is_term(struct lowering *l, const struct onnx_node *node, const struct onnx_value *x) {
    if (!node_is(node, "Add") || node->domain[0] || node->inputs[0] == node->inputs[1]) return NULL;
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    if (shape->rank != x->shape.rank || onnx_elements(shape) != onnx_elements(&x->shape)) return NULL;
    struct meaning *m = meaning_of(l, node->inputs[node->inputs[0] == x]);
    return m && !m->poison && m->buffer && m->buffer->type == MORSEL_FLOAT32 && !m->table ? m : NULL;
}

static struct behind look_behind(struct lowering *l, struct onnx_value *value) {
    struct behind b = {.value = value, .factor = 1};
    struct onnx_node *node = only_reader(value);
    if (node && is_factor(l, node, value, &b.factor)) {
        b.absorbed[b.count++] = node;
        b.value = node->outputs[0];
        node = only_reader(b.value);
    }
    b.term = node ? is_term(l, node, b.value) : NULL;
    return b;
}

/* Whether a step can read the term where it lies, beside operands that lie so. */
static bool term_fits(const struct behind *b, const struct onnx_shape *out, struct lie *lies, struct morsel_blob_float_matmul *p) {
    const struct lie *const all[3] = {&lies[0], &lies[1], &lies[2]};
    const uint32_t rank = (uint32_t)out->rank;
    if (!b->term || !lie_of(&b->term->view, rank, b->term->buffer, &lies[2]) || lies[2].first || lies[2].step[rank - 1] > 1) return false;
    return lie_batch(out, all, 3, p);
}

static void take_term(struct behind *b, struct lie *lie, struct morsel_blob_float_matmul *p, uint32_t rank) {
    struct onnx_node *add = only_reader(b->value);
    b->absorbed[b->count++] = add;
    b->value = add->outputs[0];
    memcpy(p->term_stride + 2, lie->step + rank - 2, 2 * sizeof(uint32_t));
}

static bool add_product(struct lowering *l, struct onnx_node *node, const struct lie *lies, struct behind *b, bool plain,
                        struct morsel_blob_float_matmul p) {
    struct tail tail = {.value = b->value, .float_min = -INFINITY, .float_max = INFINITY};
    for (uint32_t i = 0; i < b->count; i++) b->absorbed[i]->done = true;
    if (plain) tail = tail_follow(l, b->value, TAIL_FLOAT);
    p.turned = plain && lie_turned(tail.value, &p);
    p.float_min = tail.float_min;
    p.float_max = tail.float_max;
    p.factor = b->factor;
    struct net_buffer *y = lie_result(l, &tail, p.turned);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_FLOAT_MATMUL, node->name, lies[0].buffer, lies[1].buffer, y);
    if (b->term) {
        struct net_buffer *const inputs[] = {lies[0].buffer, lies[1].buffer, lies[2].buffer};
        step->inputs = net_alloc(l->net, sizeof inputs);
        memcpy(step->inputs, inputs, sizeof inputs);
        step->input_count = 3;
    }
    step->parameters.float_matmul = p;
    step->macs = (uint64_t)net_elements(y) * p.inner;
    return true;
}

/* A step has no stride for the last dimension of its left operand. */
static bool lines_run_on(const struct lie *lie, uint32_t rank, uint32_t inner) {
    return lie->step[rank - 1] == 1 || inner == 1;
}

bool lower_float_pair(struct lowering *l, struct onnx_node *node, const struct meaning *left, const struct meaning *right,
                      const struct onnx_shape *out) {
    struct meaning a = *left, b = *right;
    struct lie lies[3];
    const struct lie *const both[2] = {&lies[0], &lies[1]};
    const uint32_t rank = (uint32_t)out->rank;
    const bool plain = rank == (uint32_t)node->outputs[0]->shape.rank; /* no operand is a vector */
    if (!float_value(l, node, &a) || !float_value(l, node, &b)) return false;
    struct morsel_blob_float_matmul p = {.inner = a.view.dims[a.view.rank - 1]};
    struct behind behind = {.value = node->outputs[0], .factor = 1};
    if (plain) behind = look_behind(l, behind.value);
    if ((!lie_of(&a.view, rank, a.buffer, &lies[0]) || !lines_run_on(&lies[0], rank, p.inner)) && !spread(l, node, &a, out, &lies[0]))
        return false;
    if (!lie_of(&b.view, rank, b.buffer, &lies[1]) && !spread(l, node, &b, out, &lies[1])) return false;
    if (term_fits(&behind, out, lies, &p)) take_term(&behind, &lies[2], &p, rank);
    else if (behind.term = NULL, !lie_batch(out, both, 2, &p)) {
        if (!spread(l, node, &a, out, &lies[0]) || !spread(l, node, &b, out, &lies[1])) return false;
        if (!lie_batch(out, both, 2, &p)) return refuse(l, node, "its operands repeat along too many dimensions");
    }
    lie_rows(out, lies, &p);
    return add_product(l, node, lies, &behind, plain, p);
}
