/* SPDX-License-Identifier: MIT */
/* Embeddings: Gather of lines of a constant table, in float or in bytes, by indices that are known at run time. */
#include "tools/lower/lower.h"

#include <math.h>

struct table {
    const struct onnx_tensor *shape;
    const void *data;
    struct tail tail; /* says what type the data has, and by which numbers */
};

/* Lines or columns with scales of their own make a table of floats. */
static float *dequantized(struct lowering *l, const struct meaning *m) {
    const struct onnx_tensor *t = m->quantized;
    float *values = net_alloc(l->net, t->count * sizeof *values);
    size_t inner = 1;
    for (int i = m->axis + 1; i < t->shape.rank; i++) inner *= (size_t)t->shape.dims[i];
    for (size_t i = 0; i < t->count; i++) {
        uint32_t at = m->scales->count > 1 ? (uint32_t)(i / inner % m->scales->count) : 0;
        values[i] = (float)(onnx_integer(t, i) - quantized_zero(m, at)) * quantized_scale(m, at);
    }
    return values;
}

/* Where nobody but a QuantizeLinear reads the lines, the table is quantized here: the same bytes, in a quarter of the room. */
static void follow_floats(struct lowering *l, struct onnx_node *node, struct table *t) {
    const float *floats = t->data;
    t->tail = tail_follow(l, node->outputs[0], TAIL_NO_ACTIVATION);
    if (!t->tail.quantized) return;
    uint8_t *bytes = net_alloc(l->net, t->shape->count);
    for (size_t i = 0; i < t->shape->count; i++) bytes[i] = (uint8_t)quantize_value(floats[i], &t->tail.q);
    t->data = bytes;
}

/* Lines of bytes with a scale each, and one zero point, are looked up beside their scales, and multiplied. */
static bool has_line_scales(const struct meaning *m) {
    const struct onnx_tensor *t = m->quantized, *zeros = m->zeros;
    bool alike =
        (t->type == ONNX_INT8 || t->type == ONNX_UINT8) && m->axis == 0 && t->shape.dims[0] > 1 && t->count > (size_t)t->shape.dims[0];
    for (size_t i = 1; alike && zeros && i < zeros->count; i++) alike = onnx_integer(zeros, i) == onnx_integer(zeros, 0);
    for (size_t i = 0; alike && i < m->scales->count; i++) alike = isfinite((float)onnx_number(m->scales, i));
    return alike && m->scales->count == (size_t)t->shape.dims[0];
}

static bool read_bytes(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct table *t) {
    struct quantization q = {.type = m->quantized->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8};
    if (m->scales->count > 1) {
        t->data = dequantized(l, m);
        follow_floats(l, node, t);
        return true;
    }
    q.scale = quantized_scale(m, 0);
    q.zero = quantized_zero(m, 0);
    if (!(q.scale > 0) || !isfinite(q.scale) || q.zero < type_min(q.type) || q.zero > type_max(q.type))
        return refuse(l, node, "the scale or the zero point of its table is out of range");
    t->data = t->shape->data;
    t->tail = (struct tail){.value = node->outputs[0], .dequantized = true, .quantized = true, .q = q};
    return true;
}

static bool read_table(struct lowering *l, struct onnx_node *node, struct table *t) {
    const struct onnx_tensor *plain = onnx_input_constant(node, 0);
    const struct meaning *m = plain || !node->inputs[0] ? NULL : meaning_of(l, node->inputs[0]);
    t->shape = plain ? plain : m ? m->quantized : NULL;
    if (!t->shape) return refuse(l, node, "its indices and what they choose from are both known at run time only");
    if (t->shape->shape.rank < 1 || !t->shape->count || onnx_attribute_int(node, "axis", 0) % t->shape->shape.rank)
        return refuse(l, node, "of a table, lines along its first axis are looked up, no others");
    if (m && t->shape->type != ONNX_INT32) return read_bytes(l, node, m, t);
    if (!plain || (plain->type != ONNX_FLOAT && plain->type != ONNX_INT8 && plain->type != ONNX_UINT8))
        return refuse(l, node, "its table is neither of floats nor of 8 bits");
    t->data = plain->data;
    t->tail = (struct tail){.value = node->outputs[0],
                            .quantized = true,
                            .q = {.type = plain->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8, .scale = 1}};
    if (plain->type == ONNX_FLOAT) follow_floats(l, node, t);
    return true;
}

static void add_lookup(struct lowering *l, const struct onnx_node *node, struct net_buffer *in, struct net_buffer *y, const void *data,
                       uint32_t rows, uint32_t width) {
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_LOOKUP, node->name, in, NULL, y);
    step->parameters.lookup = (struct morsel_blob_lookup){.rows = rows, .width = width};
    net_add_constant(step, data, rows * width * net_type_bytes(y->type), offsetof(struct morsel_blob_lookup, table));
    l->net->parameter_count += (uint64_t)rows * width;
}

/* Integers times the scale of their line, rounded once: what a DequantizeLinear gives. */
static void lookup_by_line(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct net_buffer *in) {
    const struct onnx_tensor *t = m->quantized;
    const uint32_t rows = (uint32_t)t->shape.dims[0], width = (uint32_t)t->count / rows, count = net_elements(in);
    float *scales = net_alloc(l->net, rows * sizeof *scales);
    for (uint32_t i = 0; i < rows; i++) scales[i] = (float)onnx_number(m->scales, i);
    struct net_buffer *y = value_buffer(l, node->outputs[0], MORSEL_FLOAT32, MORSEL_ROW_MAJOR, 1, 0);
    struct net_buffer *bytes =
        net_add_like(l->net, y, t->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8, net_text(l->net, "%s/bytes", y->name));
    struct net_buffer *scale = net_add_like(l->net, in, MORSEL_FLOAT32, net_text(l->net, "%s/scales", y->name));
    bytes->qualified = scale->qualified = true;
    bytes->zero = quantized_zero(m, 0);
    add_lookup(l, node, in, bytes, t->data, rows, width);
    add_lookup(l, node, in, scale, scales, rows, 1);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_BINARY, node->name, bytes, scale, y);
    step->parameters.binary = (struct morsel_blob_binary){.op = MORSEL_BINARY_MUL,
                                                          .rank = 2,
                                                          .dims = {count, width, 1, 1, 1, 1},
                                                          .a_stride = {width, 1},
                                                          .b_stride = {1, 0},
                                                          .float_min = -INFINITY,
                                                          .float_max = INFINITY};
    meaning_set(l, node->outputs[0], meaning_fresh(l, y, &node->outputs[0]->shape));
}

bool lower_lookup(struct lowering *l, struct onnx_node *node) {
    struct meaning *indices = activation(l, node, 1);
    const struct meaning *m = node->inputs[0] && !node->inputs[0]->constant ? meaning_of(l, node->inputs[0]) : NULL;
    struct table t;
    if (!indices || !read_table(l, node, &t)) return false;
    if (!t.tail.quantized && !all_finite(t.data, t.shape->count)) return refuse(l, node, "its table holds a NaN or an infinity");
    if (m && !t.tail.quantized && has_line_scales(m)) {
        struct net_buffer *at = meaning_buffer(l, node, indices, MORSEL_ROW_MAJOR);
        if (at) lookup_by_line(l, node, m, at);
        return at != NULL;
    }
    struct net_buffer *in = meaning_buffer(l, node, indices, MORSEL_ROW_MAJOR);
    if (!in) return false;
    struct net_buffer *y = tail_buffer(l, &t.tail, MORSEL_ROW_MAJOR);
    y->qualified = !t.tail.quantized || t.tail.dequantized || node->outputs[0] != t.tail.value; /* else whoever reads the bytes says it */
    const uint32_t rows = (uint32_t)t.shape->shape.dims[0];
    add_lookup(l, node, in, y, t.data, rows, (uint32_t)(t.shape->count / rows));
    return true;
}
