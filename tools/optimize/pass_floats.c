/* SPDX-License-Identifier: MIT */
/* Networks of float16 and double in float. Every float16 is a float, and quantization needs less precision than either has. Casts between
 * them go. */
#include "tools/optimize/pass.h"
#include "tools/onnx/internal.h"
#include <string.h>

static bool is_other(int64_t type) {
    return type == ONNX_FLOAT16 || type == ONNX_DOUBLE;
}

static const struct onnx_tensor *as_float(struct onnx_graph *g, const struct onnx_tensor *from) {
    struct onnx_tensor *to = onnx_alloc(g, sizeof *to);
    float *numbers = onnx_alloc(g, (from->count + 1) * sizeof *numbers);
    for (size_t i = 0; i < from->count; i++) numbers[i] = (float)onnx_number(from, i);
    *to = (struct onnx_tensor){ONNX_FLOAT, from->shape, from->count, numbers, 0, 0, 0};
    return to;
}

/* Attributes that name a type. */
static void change_node(struct onnx_graph *g, struct onnx_node *node) {
    static const char *const names[] = {"to", "dtype", "output_dtype"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_other(onnx_attribute_int(node, names[i], 0))) edit_attribute_int(g, node, names[i], ONNX_FLOAT);
}

int pass_floats(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->value_count; i++) {
        struct onnx_value *value = g->values[i];
        struct onnx_declared *declared = onnx_declared(value);
        if (is_other(declared->type)) declared->type = ONNX_FLOAT;
        if (!is_other(value->type)) continue;
        value->type = ONNX_FLOAT;
        if (value->constant) value->constant = as_float(g, value->constant);
        changes++;
    }
    for (size_t n = 0; changes && n < g->node_count; n++) change_node(g, graph_node_at(g, n));
    return changes;
}
