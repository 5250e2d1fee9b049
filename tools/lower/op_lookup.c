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

bool lower_lookup(struct lowering *l, struct onnx_node *node) {
    struct meaning *indices = activation(l, node, 1);
    struct table t;
    if (!indices || !read_table(l, node, &t)) return false;
    struct net_buffer *in = meaning_buffer(l, node, indices, MORSEL_ROW_MAJOR);
    if (!in) return false;
    struct net_buffer *y = tail_buffer(l, &t.tail, MORSEL_ROW_MAJOR);
    y->qualified = !t.tail.quantized || t.tail.dequantized || node->outputs[0] != t.tail.value; /* else whoever reads the bytes says it */
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_LOOKUP, node->name, in, NULL, y);
    uint32_t rows = (uint32_t)t.shape->shape.dims[0];
    step->parameters.lookup = (struct morsel_blob_lookup){.rows = rows, .width = (uint32_t)(t.shape->count / rows)};
    net_add_constant(step, t.data, (uint32_t)(t.shape->count * net_type_bytes(y->type)), offsetof(struct morsel_blob_lookup, table));
    l->net->parameter_count += t.shape->count;
    return true;
}
