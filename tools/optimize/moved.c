/* SPDX-License-Identifier: MIT */
/*
 * Constants in bytes that are moved and then added or multiplied, as the tables of relative positions in files of quantize_dynamic: what
 * they are in float is computed. Weights of layers stay bytes.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"

enum { FAR = 8 };

/* A node that moves its first input, and reads nothing else that is not constant. */
static bool is_move(const struct onnx_node *node, const struct onnx_value *x) {
    const struct onnx_operator *op = onnx_operator_of(node);
    if (onnx_class_of(node) != ONNX_MOVE || !op->fold || node->output_count != 1 || node->inputs[0] != x) return false;
    for (int i = 1; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->constant) return false;
    return true;
}

/* What it is in bytes is computed, too. */
static bool is_quantize(const struct onnx_node *node, const struct onnx_value *x) {
    return graph_is(node, "QuantizeLinear") && node->output_count == 1 && node->inputs[0] == x && onnx_input_constant(node, 1) &&
           (!onnx_input(node, 2) || onnx_input_constant(node, 2));
}

/* Whether all who read it move it, up to sums and products that are no layers, or to what makes bytes of it. */
static bool ends_in_pairs(struct onnx_graph *g, struct onnx_value *x, int depth, bool moved) {
    size_t at = 0;
    if (!depth || x->is_output) return false;
    for (const struct onnx_node *reader; (reader = edit_next_reader(g, x, &at));) {
        if (is_move(reader, x) ? !ends_in_pairs(g, reader->outputs[0], depth - 1, true)
                               : !moved || (onnx_class_of(reader) != ONNX_PAIR && !is_quantize(reader, x)))
            return false;
    }
    return true;
}

static bool change_table(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_tensor *t = onnx_input_constant(node, 0), *z = onnx_input_constant(node, 2);
    struct onnx_value *y = node->outputs[0];
    double scale;
    if (!graph_is(node, "DequantizeLinear") || !t || (t->type != ONNX_INT8 && t->type != ONNX_UINT8) || y->type != ONNX_FLOAT) return false;
    if (!graph_scalar(onnx_input(node, 1), &scale) || (onnx_input(node, 2) && (!z || z->count != 1))) return false;
    if (!ends_in_pairs(g, y, FAR, false) || !graph_takes_room(g, t->count)) return false;
    double *numbers = graph_doubles(g, (int64_t)t->count);
    for (size_t i = 0; i < t->count; i++) numbers[i] = (double)((float)(onnx_integer(t, i) - (z ? onnx_integer(z, 0) : 0)) * (float)scale);
    return edit_replace_uses(g, y, graph_floats(g, node, "table", &t->shape, numbers), false);
}

/* What inference would have computed, had the constant been known then. */
static bool fold_move(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_context c = {g, node, ""};
    struct onnx_value *x = onnx_input(node, 0);
    if (!x || !x->constant || x->type != ONNX_FLOAT || (!is_move(node, x) && !is_quantize(node, x)) || node->outputs[0]->is_output)
        return false;
    onnx_operator_of(node)->fold(&c);
    return node->folded = node->outputs[0]->constant != NULL;
}

int pass_moved(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        changes += graph_is_open(node) && (change_table(g, node) || fold_move(g, node));
    }
    return changes;
}
