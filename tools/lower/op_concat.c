/* SPDX-License-Identifier: MIT */
/* Concat and QLinearConcat: operands in other scales go through a table first, then bytes are laid one behind the other. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

/* Axis in the order of memory. */
static uint32_t memory_axis(enum morsel_layout layout, uint32_t rank, uint32_t axis) {
    return layout == MORSEL_ROW_MAJOR || rank < 3 || axis == 0 ? axis : axis == 1 ? rank - 1 : axis - 1;
}

static uint32_t stated_axis(const struct onnx_node *node) {
    int64_t axis = onnx_attribute_int(node, "axis", 0);
    return (uint32_t)(axis < 0 ? axis + node->outputs[0]->shape.rank : axis);
}

/* That of the largest operand. */
static enum morsel_layout layout_of(struct meaning **parts, uint32_t count) {
    const struct view *largest = &parts[0]->view;
    for (uint32_t k = 1; k < count; k++)
        if (view_elements(&parts[k]->view) > view_elements(largest)) largest = &parts[k]->view;
    return view_layout(largest);
}

static bool add_concat(struct lowering *l, struct onnx_node *node, struct meaning **parts, uint32_t count, struct net_buffer *y,
                       enum morsel_layout layout) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    uint32_t rank = (uint32_t)shape->rank, axis = memory_axis(layout, rank, stated_axis(node));
    uint32_t *words = net_alloc(l->net, (count + 1) * sizeof *words);
    struct net_buffer **inputs = net_alloc(l->net, count * sizeof *inputs);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t dims[VIEW_MAX_RANK];
        inputs[k] = meaning_bytes(l, node, parts[k], layout);
        if (!inputs[k]) return false;
        view_physical(layout, &parts[k]->view, dims);
        words[0] = 1;
        words[k + 1] = 1;
        for (uint32_t i = 0; i < rank; i++) *(i < axis ? &words[0] : &words[k + 1]) *= dims[i];
    }
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_CONCAT, node->name, NULL, NULL, y);
    step->inputs = inputs;
    step->input_count = count;
    step->more_words = words;
    step->parameter_words = count + 1;
    return true;
}

/* An operand brought to the output's scale: itself where it has it, else by table. */
static struct meaning *in_scale(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct quantization *q) {
    if (!m->table && m->scale == q->scale && m->zero == q->zero && m->buffer->type == q->type) return m;
    struct onnx_value *y = node->outputs[0];
    struct meaning *kept = value_slot(y)->meaning;
    bool good = requantize(l, node, m, q);
    struct meaning *made = value_slot(y)->meaning;
    value_slot(y)->meaning = kept;
    return good ? made : NULL;
}

/* What reads the value and only hands it on; NULL: a step does, or not one alone. */
static const struct onnx_node *handed_on(const struct onnx_value *value) {
    const struct onnx_node *reader = only_reader(value);
    const bool hands = reader && (node_is(reader, "QuantizeLinear") || node_is(reader, "DequantizeLinear") || node_is(reader, "Concat") ||
                                  node_is(reader, "QLinearConcat") || onnx_has(reader, ONNX_VIEW));
    return hands ? reader : NULL;
}

/* Whether one step alone reads the value: as a view it is gathered for each that does. What holds at the end of a chain holds along it: it
 * is kept there, for the next one of the chain that asks. */
static bool read_once(struct onnx_value *value) {
    struct onnx_value *end = value;
    for (const struct onnx_node *next; !end->answer && (next = handed_on(end));) end = next->outputs[0];
    if (!end->answer) end->answer = only_reader(end) || (end->is_output && !value_slot(end)->reader_count) ? 1 : -1;
    for (; value != end; value = only_reader(value)->outputs[0]) value->answer = end->answer;
    return end->answer > 0;
}

/* Its table has an entry for each element of the axis. */
enum { MOST_JOINED = 1024 };

/* Parts of one buffer that stand for the same numbers are a view of it: a picture that is rolled, for one. */
static bool concat_view(struct lowering *l, struct onnx_node *node, struct meaning **parts, uint32_t count) {
    const struct view **views = net_alloc(l->net, count * sizeof *views);
    const struct meaning *a = parts[0];
    struct meaning joined = *a;
    if (node->outputs[0]->shape.dims[stated_axis(node)] > MOST_JOINED) return false;
    bool filled = false;
    for (uint32_t k = 0; k < count; k++) {
        const struct meaning *b = parts[k];
        if (a->buffer != b->buffer || a->buffer->constant || a->scale != b->scale || a->zero != b->zero ||
            a->dequantized != b->dequantized || a->table || b->table || a->channel_scales || b->channel_scales)
            return false;
        views[k] = &b->view;
        if (!view_has_fill(&b->view)) continue;
        if (filled && joined.fill != b->fill) return false;
        joined.fill = b->fill;
        filled = true;
    }
    if (!read_once(node->outputs[0]) || !view_join(l->net, views, count, stated_axis(node), &joined.view)) return false;
    meaning_set(l, node->outputs[0], joined);
    return true;
}

static bool concat_bytes(struct lowering *l, struct onnx_node *node, struct meaning **parts, uint32_t count, const struct tail *tail) {
    for (uint32_t k = 0; k < count; k++)
        if (!(parts[k] = in_scale(l, node, parts[k], &tail->q))) return false;
    enum morsel_layout layout = layout_of(parts, count);
    return add_concat(l, node, parts, count, tail_buffer(l, tail, layout), layout);
}

/* Inputs Y_scale, Y_zero_point, then X, X_scale, X_zero_point for each operand. */
bool lower_qlinear_concat(struct lowering *l, struct onnx_node *node) {
    struct tail tail = {.value = node->outputs[0], .quantized = true};
    const char *why;
    if (node->input_count < 5 || (node->input_count - 2) % 3 || !onnx_input(node, 2))
        return refuse(l, node, "it has no operands, or one without scale and zero point");
    uint32_t count = 0;
    struct meaning **parts = net_alloc(l->net, (size_t)node->input_count * sizeof *parts);
    if (!read_quantization(node, 0, 1, onnx_input(node, 1) ? ONNX_UNKNOWN : node->inputs[2]->type, &tail.q, &why))
        return refuse(l, node, "%s", why);
    for (int i = 2; i < node->input_count; i += 3) {
        struct quantization q;
        const struct onnx_tensor *t = onnx_input_constant(node, i);
        if (!onnx_input(node, i) || !read_quantization(node, i + 1, i + 2, node->inputs[i]->type, &q, &why))
            return refuse(l, node, "operand %d: %s", (i - 2) / 3, onnx_input(node, i) ? why : "missing");
        if (onnx_elements(&node->inputs[i]->shape) == 0) continue;
        struct meaning *m = t ? NULL : activation(l, node, i), *part = parts[count++] = net_alloc(l->net, sizeof *part);
        if (t && !meaning_constant_bytes(l, node, t, q.scale, q.zero, part)) return false;
        if (!t && (!m || !meaning_qualify(l, node, m, q.scale, q.zero))) return false;
        if (m) *part = *m;
    }
    const struct meaning *first = parts[0];
    if (first->scale == tail.q.scale && first->zero == tail.q.zero && first->buffer->type == tail.q.type &&
        concat_view(l, node, parts, count))
        return true;
    tail.out_min = type_min(tail.q.type);
    tail.out_max = type_max(tail.q.type);
    return concat_bytes(l, node, parts, count, &tail);
}

/* Operands that all stand for numbers the same way: their bytes can be joined as they are. */
static bool alike(struct meaning **parts, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        const struct meaning *a = parts[0], *b = parts[k];
        if (a->buffer->type == MORSEL_FLOAT32 || b->buffer->type != a->buffer->type || a->table || b->table ||
            a->dequantized != b->dequantized || (a->dequantized && (a->scale != b->scale || a->zero != b->zero)))
            return false;
    }
    return true;
}

static bool concat_alike(struct lowering *l, struct onnx_node *node, struct meaning **parts, uint32_t count) {
    const struct meaning *first = parts[0];
    if (concat_view(l, node, parts, count)) return true;
    struct tail tail = {.value = node->outputs[0], .quantized = true, .dequantized = first->dequantized};
    tail.q = (struct quantization){.type = first->buffer->type, .scale = first->buffer->scale, .zero = first->buffer->zero};
    enum morsel_layout layout = layout_of(parts, count);
    struct net_buffer *y = tail_buffer(l, &tail, layout);
    y->qualified = first->buffer->qualified;
    return add_concat(l, node, parts, count, y, layout);
}

static bool concat_floats(struct lowering *l, struct onnx_node *node, struct meaning **parts, uint32_t count) {
    struct tail tail = {.value = node->outputs[0], .float_min = -INFINITY, .float_max = INFINITY};
    for (uint32_t k = 0; k < count; k++) {
        struct meaning *m = parts[k];
        if (m->buffer->type != MORSEL_FLOAT32 && !m->dequantized && !m->table)
            return refuse(l, node, "operands are integer tensors of different kinds");
        m->buffer = meaning_float_buffer(l, node, m, &m->view);
        if (!m->buffer) return false;
        m->table = NULL;
    }
    enum morsel_layout layout = layout_of(parts, count);
    return add_concat(l, node, parts, count, tail_buffer(l, &tail, layout), layout);
}

bool lower_concat(struct lowering *l, struct onnx_node *node) {
    uint32_t count = 0;
    struct meaning **parts = net_alloc(l->net, (size_t)(node->input_count + 1) * sizeof *parts);
    bool bytes = true;
    for (int i = 0; i < node->input_count; i++) {
        struct onnx_value *value = node->inputs[i];
        struct meaning *m = value ? meaning_of(l, value) : NULL;
        const struct onnx_tensor *t = value ? value->constant : NULL;
        if (!value || onnx_elements(&value->shape) == 0) continue;
        parts[count] = net_alloc(l->net, sizeof **parts);
        if (m && m->buffer) *parts[count] = *m;
        else if (m && m->quantized && m->scales->count == 1) {
            if (!meaning_constant_bytes(l, node, m->quantized, quantized_scale(m, 0), quantized_zero(m, 0), parts[count])) return false;
        } else if (t) {
            if (!meaning_constant(l, node, t, 1, 0, parts[count])) return false;
            parts[count]->dequantized = false;
        } else return refuse(l, node, "operand %d is neither an activation nor a constant of one scale", i);
        bytes = bytes && parts[count]->buffer->type != MORSEL_FLOAT32 && (parts[count]->dequantized || parts[count]->table);
        count++;
    }
    if (!count) return refuse(l, node, "it has no operands");
    if (alike(parts, count)) return concat_alike(l, node, parts, count);
    struct tail tail = {.quantized = false};
    if (bytes) tail = tail_follow(l, node->outputs[0], TAIL_NO_ACTIVATION);
    if (!tail.quantized) return concat_floats(l, node, parts, count);
    return concat_bytes(l, node, parts, count, &tail);
}
