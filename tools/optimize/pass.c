/* SPDX-License-Identifier: MIT */
/* Questions that passes ask. */
#include "tools/optimize/pass.h"
#include "tools/onnx/internal.h"
#include "tools/onnx/operator.h"
#include <string.h>

bool graph_goes_on(struct onnx_graph *g, size_t i) {
    struct onnx_memory *memory = g->memory;
    if (i >= g->node_count) return false;
    if (memory->most_nodes && g->node_count > memory->most_nodes && !memory->outgrown) memory->outgrown = graph_node_at(g, i);
    return !memory->outgrown;
}

bool graph_is_open(const struct onnx_node *node) {
    return !node->folded && onnx_is_checked(node) && node->output_count && node->outputs[0] && node->outputs[0]->shape.rank >= 0;
}

bool graph_is(const struct onnx_node *node, const char *op) {
    return node && onnx_is_checked(node) && !*node->domain && *node->op == *op && !strcmp(node->op, op);
}

bool graph_fold(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_context c = {g, node, ""};
    const struct onnx_operator *op = onnx_operator_of(node);
    if (!op || !op->fold || !onnx_is_checked(node) || onnx_has(node, ONNX_QUANTIZED) || node->output_count != 1 || !node->outputs[0])
        return false;
    if (node->outputs[0]->is_output || node->outputs[0]->type != ONNX_FLOAT || !node->input_count || !node->inputs[0]) return false;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->constant) return false;
    op->fold(&c);
    return node->folded = node->outputs[0]->constant != NULL;
}

bool graph_reshapes(const struct onnx_node *node) {
    return onnx_has(node, ONNX_RESHAPES);
}

bool graph_alone(const struct onnx_value *value) {
    return value->producer && !value->constant && value->uses == 1 && !value->is_output;
}

bool graph_same_shape(const struct onnx_value *a, const struct onnx_value *b) {
    return a->shape.rank >= 0 && onnx_same_shape(&a->shape, &b->shape);
}

bool graph_constant_and_other(const struct onnx_node *node, int *constant, struct onnx_value **other) {
    if (node->input_count != 2 || !node->inputs[0] || !node->inputs[1] || !node->inputs[0]->constant == !node->inputs[1]->constant)
        return false;
    *constant = node->inputs[1]->constant ? 1 : 0;
    *other = node->inputs[!*constant];
    return true;
}

bool graph_scalar(const struct onnx_value *value, double *out) {
    const struct onnx_tensor *tensor = value ? value->constant : NULL;
    if (!tensor || tensor->type != ONNX_FLOAT || !tensor->count || !onnx_all_alike(tensor)) return false;
    *out = onnx_number(tensor, 0);
    return true;
}

bool graph_inference(const struct onnx_node *node) {
    if (onnx_attribute_int(node, "training_mode", 0)) return false;
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->uses) return false;
    if (!graph_is(node, "Dropout") || !onnx_input(node, 2)) return true;
    return onnx_input_constant(node, 2) && !onnx_drops(node);
}

/* Masks of 48 layers over 512 words have room whatever the file holds, and one matrix of an STFT of 2,048 numbers. */
enum { LEAST_NUMBERS = 52 * 512 * 512, NUMBERS_OF_A_NUMBER = 16 };

bool graph_takes_room(struct onnx_graph *g, size_t count) {
    const size_t room = onnx_room(g, LEAST_NUMBERS, NUMBERS_OF_A_NUMBER, SIZE_MAX);
    return onnx_pays(&g->numbers_copied, count, room);
}

/* Its numbers go through more hands than a mask's, and shapes cost a file nothing. */
struct onnx_value *graph_matrix(struct onnx_graph *g, const struct onnx_node *node, int64_t in, int64_t out, float **numbers) {
    enum { COPIES = 3 };
    const struct onnx_shape shape = {2, {in, out}};
    struct onnx_tensor *tensor;
    if (in < 1 || out < 1 || (uint64_t)in > SIZE_MAX / COPIES / (uint64_t)out) return NULL;
    if (!graph_takes_room(g, COPIES * (size_t)in * (size_t)out)) return NULL;
    struct onnx_value *matrix = edit_constant(g, onnx_text(g, "%s.matrix", node->name), ONNX_FLOAT, &shape, &tensor);
    *numbers = tensor->data;
    return matrix;
}

void graph_stays_float(struct onnx_graph *g, struct onnx_node *node) {
    if (!onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) edit_attribute_int(g, node, ONNX_EXACT_MARK, ONNX_STAYS_FLOAT);
}

double *graph_doubles(struct onnx_graph *g, int64_t count) {
    return onnx_alloc(g, (size_t)count * sizeof(double));
}

struct onnx_value *graph_floats(struct onnx_graph *g, const struct onnx_node *node, const char *part, const struct onnx_shape *shape,
                                const double *numbers) {
    struct onnx_tensor *tensor;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s.%s", node->name, part), ONNX_FLOAT, shape, &tensor);
    for (size_t i = 0; i < tensor->count; i++) ((float *)tensor->data)[i] = (float)numbers[i];
    return value;
}

struct onnx_value *graph_int64s(struct onnx_graph *g, const struct onnx_node *node, const char *part, const int64_t *numbers, int count) {
    struct onnx_tensor *tensor;
    struct onnx_shape shape = {1, {count}};
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s.%s", node->name, part), ONNX_INT64, &shape, &tensor);
    if (count) memcpy(tensor->data, numbers, (size_t)count * sizeof *numbers);
    return value;
}

struct onnx_value *graph_put(struct onnx_graph *g, struct onnx_node *before, const char *op, struct onnx_value *const *inputs, int count,
                             const struct onnx_shape *shape) {
    struct onnx_value *y = edit_value(g, before->outputs[0]->name, ONNX_FLOAT, shape);
    struct onnx_node *node = edit_node(g, before, op, "", before->name, inputs, count, &y, 1);
    const int64_t mark = onnx_attribute_int(before, ONNX_EXACT_MARK, 0);
    if (mark) edit_attribute_int(g, node, ONNX_EXACT_MARK, mark);
    return y;
}

struct onnx_value *graph_reduce(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *x, const int64_t *axes,
                                int count, const struct onnx_shape *shape) {
    struct onnx_value *y = graph_put(g, node, op, &x, 1, shape);
    y->producer->opset = node->opset;
    edit_attribute_int(g, y->producer, "keepdims", 1);
    if (onnx_list_is_input(y->producer, "axes")) edit_set_input(g, y->producer, 1, graph_int64s(g, node, "axes", axes, count));
    else edit_attribute_ints(g, y->producer, "axes", axes, (size_t)count);
    return y;
}

struct onnx_value *graph_slice(struct onnx_graph *g, struct onnx_value *x, int64_t axis, int64_t begin, int64_t end) {
    struct onnx_node *node = x->producer;
    struct onnx_shape shape = x->shape;
    shape.dims[axis] = end - begin;
    if (g->opset < 10) {
        struct onnx_value *y = graph_put(g, node, "Slice", &x, 1, &shape);
        edit_attribute_ints(g, y->producer, "starts", &begin, 1);
        edit_attribute_ints(g, y->producer, "ends", &end, 1);
        edit_attribute_ints(g, y->producer, "axes", &axis, 1);
        return y;
    }
    struct onnx_value *inputs[4] = {x, graph_int64s(g, node, "begin", &begin, 1), graph_int64s(g, node, "end", &end, 1),
                                    graph_int64s(g, node, "axis", &axis, 1)};
    return graph_put(g, node, "Slice", inputs, 4, &shape);
}

bool graph_bypass(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *value) {
    if (!edit_replace_uses(g, node->outputs[0], value, true)) return false;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->uses) return true;
    edit_remove_node(g, node);
    return true;
}
