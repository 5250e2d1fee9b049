/* SPDX-License-Identifier: MIT */
/* Matrix products: with constant weights a fully connected step, with two activations a product of their own. */
#include "tools/lower/lie.h"

#include <math.h>
#include <string.h>

/* A flattened picture lies as H W C while its weights count C H W: reorder the weights, not the picture. */
bool product_fold_order(struct lowering *l, const struct meaning *m, struct weights *w) {
    const struct view *v = &m->view;
    uint32_t k = w->inputs, elements = net_elements(m->buffer);
    if (v->rank != 2 || v->dims[1] != k || elements != v->dims[0] * k || !view_has_step(v, 0, k)) return false;
    if (view_has_step(v, 1, 1)) return true;
    if (!view_is_permutation(v, elements) || !has_room(l, (uint64_t)w->outputs * k)) return false;
    int8_t *ordered = net_alloc(l->net, (size_t)w->outputs * k);
    for (uint32_t o = 0; o < w->outputs; o++)
        for (uint32_t i = 0; i < k; i++) ordered[(size_t)o * k + (uint32_t)v->table[1][i]] = w->values[(size_t)o * k + i];
    w->values = ordered;
    return true;
}

static bool add_fc(struct lowering *l, struct onnx_node *node, struct meaning *m, struct weights *w, const struct tail *tail,
                   float factor) {
    struct net_buffer *x = product_fold_order(l, m, w) ? m->buffer : meaning_buffer(l, node, m, MORSEL_ROW_MAJOR);
    if (!x) return false;
    struct net_buffer *y = tail_buffer(l, tail, MORSEL_ROW_MAJOR);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_FC, node->name, x, NULL, y);
    step->parameters.fc = (struct morsel_blob_fc){
        .rows = net_elements(y) / w->outputs,
        .inputs = w->inputs,
        .outputs = w->outputs,
        .sums = {.out_min = tail->out_min, .out_max = tail->out_max, .float_min = tail->float_min, .float_max = tail->float_max}};
    step->macs = (uint64_t)net_elements(y) * w->inputs;
    l->net->parameter_count += (uint64_t)w->outputs * w->inputs + w->outputs;
    float *multiplier = net_alloc(l->net, w->outputs * sizeof *multiplier);
    for (uint32_t o = 0; o < w->outputs; o++) {
        multiplier[o] = factor * x->scale * w->scales[o];
        if (tail->quantized) multiplier[o] = multiplier[o] / tail->q.scale;
    }
    return pack_weights(l, node, step, w, x, multiplier);
}

/* Weights of a product: the last two dimensions, and nothing before them. */
bool product_geometry(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, bool transposed, struct weights *w) {
    int rank = t->shape.rank;
    if (rank == 1) { /* a vector on the right: one output */
        *w = (struct weights){.outputs = 1, .inputs = (uint32_t)t->count, .kernel_h = 1, .kernel_w = 1, .groups = 1};
        return true;
    }
    if (rank < 1) return refuse(l, node, "its weights are a single number");
    uint32_t a = (uint32_t)t->shape.dims[rank - 2], b = (uint32_t)t->shape.dims[rank - 1];
    *w = (struct weights){.outputs = transposed ? a : b, .inputs = transposed ? b : a, .kernel_h = 1, .kernel_w = 1, .groups = 1};
    return true;
}

/* Scales by output only. */
static bool scales_fit(struct lowering *l, struct onnx_node *node, const struct meaning *wm, bool transposed) {
    int outputs_axis = wm->quantized->shape.rank - (transposed ? 2 : 1);
    if (wm->scales->count > 1 && wm->axis != outputs_axis)
        return refuse(l, node, "its weight scales lie along axis %d, not along the outputs (axis %d)", wm->axis, outputs_axis);
    return true;
}

/* The operand with its leading dimensions as the output has them; row-major in a buffer that repeats nothing where it can be helped. */
static struct net_buffer *product_operand(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_shape *out,
                                          uint32_t *batch, uint32_t total) {
    struct view *v = &m->view;
    *batch = 1;
    for (uint32_t i = 0; i + 2 < v->rank; i++) *batch *= v->dims[i];
    if (*batch == 1 || *batch == total) return meaning_buffer(l, node, m, MORSEL_ROW_MAJOR);
    struct meaning wide = *m;
    uint32_t skip = (uint32_t)out->rank - v->rank;
    for (uint32_t i = 0; i + 2 < v->rank; i++) {
        int32_t *zeros = net_alloc(l->net, (size_t)out->dims[skip + i] * sizeof *zeros);
        if (v->dims[i] == 1) wide.view = view_pick(l->net, &wide.view, i, (uint32_t)out->dims[skip + i], zeros);
    }
    *batch = total; /* dimensions that the operand lacks altogether repeat by the modulus */
    for (uint32_t i = 0; i < skip; i++) *batch /= (uint32_t)out->dims[i];
    return meaning_buffer(l, node, &wide, MORSEL_ROW_MAJOR);
}

/* A vector on the left is one row, on the right one column; the output gets that dimension back. */
static bool as_matrix(struct lowering *l, struct meaning *a, struct meaning *b, struct onnx_shape *out) {
    if (!a->view.rank || !b->view.rank || out->rank + 2 > ONNX_MAX_RANK) return false;
    const uint32_t row[2] = {1, a->view.dims[0]}, column[2] = {b->view.dims[0], 1};
    if (b->view.rank == 1) {
        if (!view_reshape(l->net, &b->view, 2, column, &b->view)) return false;
        out->dims[out->rank++] = 1;
    }
    if (a->view.rank == 1) {
        if (!view_reshape(l->net, &a->view, 2, row, &a->view)) return false;
        out->dims[out->rank] = out->dims[out->rank - 1];
        out->dims[out->rank - 1] = 1;
        out->rank++;
    }
    return true;
}

static bool add_float_matmul(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b) {
    struct onnx_shape out = node->outputs[0]->shape;
    struct meaning row = *a, column = *b;
    if (!as_matrix(l, &row, &column, &out))
        return refuse(l, node, "a product of two activations needs one dimension or more on both sides");
    return lower_float_pair(l, node, &row, &column, &out);
}

static bool is_whole(const struct meaning *m) {
    return view_is_whole(&m->view, MORSEL_ROW_MAJOR, net_elements(m->buffer));
}

/* Whether kernels read the operands where they lie: rows of a whole number of lines apart, of which the k lie side by side. */
static bool lines_serve(const struct lie *lies, uint32_t rank, const struct morsel_blob_float_matmul *p) {
    const uint32_t apart = lies[0].step[rank - 2], *b = lies[1].step + rank - 2;
    return p->dims[2] >= 4 && p->inner % 4 == 0 && lies[0].step[rank - 1] == 1 && apart && apart % p->inner == 0 &&
           (b[0] == 1 || b[1] == 1);
}

/* Both operands as views, and the result where a Transpose wants it; false: an operand is to be gathered, or all lies in order anyway. */
static bool find_views(const struct meaning *a, const struct meaning *b, const struct onnx_shape *out, const struct tail *tail,
                       struct morsel_blob_float_matmul *p) {
    struct lie lies[2];
    const struct lie *const both[2] = {&lies[0], &lies[1]};
    const uint32_t rank = (uint32_t)out->rank;
    if (!meaning_is_affine(a) || !meaning_is_affine(b) || rank < 2) return false;
    if (!lie_of(&a->view, rank, a->buffer, &lies[0]) || !lie_of(&b->view, rank, b->buffer, &lies[1])) return false;
    *p = (struct morsel_blob_float_matmul){.inner = a->view.dims[a->view.rank - 1],
                                           .float_min = tail->float_min,
                                           .float_max = tail->float_max};
    if (!lie_batch(out, both, 2, p)) return false;
    lie_rows(out, lies, p);
    p->turned = rank == (uint32_t)tail->value->shape.rank && lie_turned(tail->value, p);
    return lines_serve(lies, rank, p) && (p->turned || !is_whole(a) || !is_whole(b));
}

static bool add_view_matmul(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b,
                            const struct tail *tail, const struct morsel_blob_float_matmul *p) {
    struct net_buffer *y = lie_result(l, tail, p->turned);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_VIEW_MATMUL, node->name, a->buffer, b->buffer, y);
    step->parameters.view_matmul = (struct morsel_blob_view_matmul){*p, tail->out_min, tail->out_max};
    step->macs = (uint64_t)net_elements(y) * p->inner;
    return true;
}

/* scale(a) * scale(b) [/ scale(y)]; false: refused, as is a sum that could leave int32. */
static bool find_multiplier(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b,
                            const struct tail *tail, float *multiplier) {
    const uint32_t inner = a->view.dims[a->view.rank - 1];
    *multiplier = a->buffer->scale * b->buffer->scale;
    if (tail->quantized) *multiplier = *multiplier / tail->q.scale;
    if ((int64_t)inner * 255 * 255 > INT32_MAX)
        return refuse(l, node, "an inner dimension of %u could leave the range of int32 in its sum", inner);
    return isfinite(*multiplier) || refuse(l, node, "its scales are too far apart: their ratio is infinite");
}

static bool add_matmul(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b, const struct tail *tail) {
    struct onnx_shape shape = node->outputs[0]->shape, *out = &shape;
    struct meaning row = *a, column = *b;
    if (!as_matrix(l, &row, &column, out)) return refuse(l, node, "a product of two activations needs one dimension or more on both sides");
    a = &row;
    b = &column;
    float multiplier;
    struct morsel_blob_float_matmul views;
    if (!find_multiplier(l, node, a, b, tail, &multiplier)) return false;
    if (find_views(a, b, out, tail, &views)) {
        views.factor = multiplier;
        return add_view_matmul(l, node, a, b, tail, &views);
    }
    struct morsel_blob_matmul p = {.rows = a->view.dims[a->view.rank - 2],
                                   .inner = a->view.dims[a->view.rank - 1],
                                   .columns = b->view.dims[b->view.rank - 1],
                                   .a_divide = 1,
                                   .b_divide = 1,
                                   .multiplier = multiplier,
                                   .out_min = tail->out_min,
                                   .out_max = tail->out_max,
                                   .float_min = tail->float_min,
                                   .float_max = tail->float_max};
    p.batch = (uint32_t)(onnx_elements(out) / ((int64_t)p.rows * p.columns));
    struct net_buffer *left = product_operand(l, node, a, out, &p.a_batch, p.batch);
    struct net_buffer *right = left ? product_operand(l, node, b, out, &p.b_batch, p.batch) : NULL;
    if (!right) return false;
    struct net_buffer *y = tail_buffer(l, tail, MORSEL_ROW_MAJOR);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_MATMUL, node->name, left, right, y);
    step->parameters.matmul = p;
    step->macs = (uint64_t)p.batch * p.rows * p.inner * p.columns;
    return true;
}

/* A constant as an activation of its own: the left side of a product, or weights by batch. */
static bool constant_operand(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, float scale, int32_t zero,
                             struct meaning *out) {
    if (t->shape.rank < 1) return refuse(l, node, "an operand is a single number");
    return meaning_constant_bytes(l, node, t, scale, zero, out);
}

/* Weights that differ by batch are no weights of one step, but an operand as any other. */
static bool by_batch(const struct onnx_tensor *t) {
    for (int i = 0; i + 2 < t->shape.rank; i++)
        if (t->shape.dims[i] != 1) return true;
    return false;
}

/* A constant of bytes that has several scales, as an operand beside an activation: its numbers, in float. */
static bool has_scales(const struct meaning *m) {
    return m && !m->buffer && m->quantized && m->scales->count > 1;
}

static bool scaled_operand(struct lowering *l, struct onnx_node *node, const struct onnx_value *value, struct meaning *out) {
    const struct onnx_tensor *t = constant_numbers(l, value);
    return t && t->shape.rank >= 1 ? meaning_constant(l, node, t, 1, 0, out)
                                   : refuse(l, node, "a constant operand is no tensor of numbers");
}

bool lower_qlinear_matmul(struct lowering *l, struct onnx_node *node) {
    struct quantization a, b;
    struct tail tail = {.value = node->outputs[0], .quantized = true};
    const char *why;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &a, &why) || !read_quantization(node, 6, 7, ONNX_UNKNOWN, &tail.q, &why))
        return refuse(l, node, "%s", why);
    tail.out_min = type_min(tail.q.type);
    tail.out_max = type_max(tail.q.type);
    const struct onnx_tensor *left = onnx_input_constant(node, 0), *right = onnx_input_constant(node, 3);
    struct meaning constant, batched, *ma = left ? &constant : activation(l, node, 0);
    if (left && !constant_operand(l, node, left, a.scale, a.zero, &constant)) return false;
    if (!ma || (!left && !meaning_qualify(l, node, ma, a.scale, a.zero))) return false;
    if (right && !by_batch(right)) {
        struct weights w;
        return product_geometry(l, node, right, false, &w) &&
               read_weights(l, node, right, onnx_input_constant(node, 4), onnx_input_constant(node, 5), true, &w) &&
               read_bias(l, node, NULL, &w) && add_fc(l, node, ma, &w, &tail, 1);
    }
    if (!onnx_input(node, 3) || !read_quantization(node, 4, 5, node->inputs[3]->type, &b, &why))
        return refuse(l, node, "%s", onnx_input(node, 3) ? why : "its right operand is missing");
    if (right) return constant_operand(l, node, right, b.scale, b.zero, &batched) && add_matmul(l, node, ma, &batched, &tail);
    struct meaning *mb = activation(l, node, 3);
    return mb && meaning_qualify(l, node, mb, b.scale, b.zero) && add_matmul(l, node, ma, mb, &tail);
}

/* Float constants that are no weights of one step, on the left or of other than two dimensions, in a network whose floats are meant. */
static bool float_operand(struct lowering *l, struct onnx_node *node, const struct onnx_value *value, bool left, struct meaning *out) {
    const struct onnx_tensor *t = value ? constant_numbers(l, value) : NULL;
    if (!t || t->type != ONNX_FLOAT || t->shape.rank < 1 || !(left || t->shape.rank != 2)) return false;
    return (l->floats_meant || onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) && meaning_constant(l, node, t, 1, 0, out);
}

bool lower_matmul(struct lowering *l, struct onnx_node *node) {
    struct onnx_value *va = onnx_input(node, 0), *vb = onnx_input(node, 1);
    struct meaning *a = va ? meaning_of(l, va) : NULL, *b = vb ? meaning_of(l, vb) : NULL, constant, batched;
    if (!a && b && b->buffer && float_operand(l, node, va, true, &constant)) return add_float_matmul(l, node, &constant, b);
    if (a && a->buffer && !b && float_operand(l, node, vb, false, &batched)) return add_float_matmul(l, node, a, &batched);
    if (!a || !vb || (!a->buffer && (!b || !b->buffer)))
        return refuse(l, node, "its left operand is a float constant, or one is missing: quantize the model");
    if (!b) return lower_float_product(l, node, a, false, 1, 0);
    if (a->buffer && dynamic_is_marked(node, b)) return lower_dynamic_product(l, node, a, false);
    if (has_scales(a) && b->buffer) return scaled_operand(l, node, va, &constant) && add_float_matmul(l, node, &constant, b);
    if (has_scales(b) && a->buffer && by_batch(b->quantized))
        return scaled_operand(l, node, vb, &batched) && add_float_matmul(l, node, a, &batched);
    if (!a->buffer) {
        float scale = a->quantized ? quantized_scale(a, 0) : 1;
        if (!constant_operand(l, node, a->quantized, scale, quantized_zero(a, 0), &constant)) return false;
        a = &constant;
    }
    if (!b->buffer && b->quantized && b->scales->count == 1 && by_batch(b->quantized)) {
        if (!constant_operand(l, node, b->quantized, quantized_scale(b, 0), quantized_zero(b, 0), &batched)) return false;
        b = &batched;
    }
    if (b->buffer) {
        if (!a->dequantized || !b->dequantized || !meaning_is_affine(a) || !meaning_is_affine(b)) return add_float_matmul(l, node, a, b);
        struct tail tail = tail_follow(l, node->outputs[0], 0);
        return add_matmul(l, node, a, b, &tail);
    }
    struct weights w;
    if (a->channel_scales) return refuse(l, node, "an input quantized by channel is not supported");
    if (!quantized_operands(a, b)) return lower_float_product(l, node, a, false, 1, 0);
    if (!scales_fit(l, node, b, false) || !product_geometry(l, node, b->quantized, false, &w)) return false;
    const struct onnx_node *add = only_reader(node->outputs[0]); /* ONNX Runtime makes a Gemm of both, where there are two dimensions */
    bool round = a->view.rank == 2 && add && leads_to_quantize(add->outputs[0]);
    struct tail tail = tail_follow(l, node->outputs[0], TAIL_BIAS | TAIL_WHOLE_BIAS);
    if (!read_weights(l, node, b->quantized, b->scales, b->zeros, true, &w)) return false;
    const struct onnx_value plain = {.constant = tail.bias, .lowered = va->lowered}, *bias = tail.bias ? &plain : tail.whole_bias;
    return read_any_bias(l, node, bias, 1, round, a->scale, &tail, &w) && add_fc(l, node, a, &w, &tail, 1);
}

bool lower_gemm(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    const struct onnx_value *weights = onnx_input(node, 1);
    const struct meaning *wm = weights ? meaning_of(l, weights) : NULL;
    bool transposed = onnx_attribute_int(node, "transB", 0) != 0;
    float alpha = onnx_attribute_float(node, "alpha", 1), beta = onnx_attribute_float(node, "beta", 1);
    struct weights w;
    if (!m) return false;
    if (m->channel_scales) return refuse(l, node, "an input quantized by channel is not supported");
    if (dynamic_is_marked(node, wm)) return lower_dynamic_product(l, node, m, transposed);
    if (!quantized_operands(m, wm)) {
        struct meaning turned = *m;
        if (onnx_attribute_int(node, "transA", 0)) turned.view = view_transpose(&m->view, (const uint32_t[]){1, 0});
        return lower_float_product(l, node, &turned, transposed, alpha, beta);
    }
    if (!scales_fit(l, node, wm, transposed) || !product_geometry(l, node, wm->quantized, transposed, &w)) return false;
    struct meaning x = *m;
    if (onnx_attribute_int(node, "transA", 0)) x.view = view_transpose(&m->view, (const uint32_t[]){1, 0});
    bool round = leads_to_quantize(node->outputs[0]);
    struct tail tail = tail_follow(l, node->outputs[0], 0);
    return read_weights(l, node, wm->quantized, wm->scales, wm->zeros, !transposed, &w) &&
           read_any_bias(l, node, onnx_input(node, 2), beta, round, alpha * x.scale, &tail, &w) && add_fc(l, node, &x, &w, &tail, alpha);
}

/* Inputs A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point; without the last two the output is float. */
bool lower_qgemm(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct quantization a;
    struct tail tail = {.value = node->outputs[0], .float_min = -INFINITY, .float_max = INFINITY};
    const char *why;
    if (!m) return false;
    tail.quantized = onnx_input(node, 7) != NULL;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &a, &why) ||
        (tail.quantized && !read_quantization(node, 7, 8, ONNX_UNKNOWN, &tail.q, &why)))
        return refuse(l, node, "%s", why);
    const struct onnx_tensor *values = onnx_input_constant(node, 3);
    bool transposed = onnx_attribute_int(node, "transB", 0) != 0;
    struct weights w;
    if (!values) return refuse(l, node, "its weights are not constant");
    if (!meaning_qualify(l, node, m, a.scale, a.zero) || !product_geometry(l, node, values, transposed, &w)) return false;
    struct meaning x = *m;
    if (onnx_attribute_int(node, "transA", 0)) x.view = view_transpose(&m->view, (const uint32_t[]){1, 0});
    tail.out_min = tail.quantized ? type_min(tail.q.type) : 0;
    tail.out_max = tail.quantized ? type_max(tail.q.type) : 0;
    if (onnx_input(node, 6) && !onnx_input_constant(node, 6)) return refuse(l, node, "its bias is not constant");
    return read_weights(l, node, values, onnx_input_constant(node, 4), onnx_input_constant(node, 5), !transposed, &w) &&
           read_bias(l, node, onnx_input_constant(node, 6), &w) && add_fc(l, node, &x, &w, &tail, onnx_attribute_float(node, "alpha", 1));
}
