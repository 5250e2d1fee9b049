/* SPDX-License-Identifier: MIT */
/*
 * What of a value its readers can tell apart. HardSwish gives zero for everything below -3: bytes that stand for less are wasted on its
 * input. Where all readers of a value are such functions, its range ends where they do. Limits are exact, or so far out that what is cut
 * off is less than half a step of eight bits.
 */
#include "tools/onnx/operator.h"
#include "tools/quant/insert/place.h"

#include <math.h>
#include <string.h>

static bool is_gate(const struct onnx_node *node) {
    return onnx_class_of(node) == ONNX_FUNCTION && onnx_has(node, ONNX_AT_MOST_ONE);
}

static float constant_or(const struct onnx_node *node, int i, float otherwise) {
    const struct onnx_tensor *t = onnx_input_constant(node, i);
    return t && t->count == 1 ? (float)onnx_number(t, 0) : otherwise;
}

/* Below lies x * Sigmoid(x) between -2.7e-3 and 0: less than half a step of most bytes. */
#define SWISH_LOW (-8)

/* Whether all that reads y, which came of x, is its product with x. */
static bool gates_alone(const struct scheme *s, const struct onnx_value *y, const struct onnx_value *x) {
    struct onnx_node *const *reader = scheme_readers(s, y);
    bool all = *reader && !y->is_output;
    for (; all && *reader; reader++) {
        const struct onnx_node *node = *reader;
        all = !strcmp(node->op, "Mul") && node->input_count == 2 && node->inputs[node->inputs[0] == y] == x;
    }
    return all;
}

/* From where on one reader gives the same for everything less, and for everything more. False: it tells all numbers apart. A product with a
 * gate of the same value has the gate's lower limit, and no upper one. */
static bool reader_limits(const struct scheme *s, const struct onnx_node *node, const struct onnx_value *value, float *low, float *high) {
    const struct scheme_value *out = node->output_count && node->outputs[0] ? scheme_value(s, node->outputs[0]) : NULL;
    bool in_bytes = out && out->quantized;
    *low = -INFINITY;
    *high = INFINITY;
    if (!strcmp(node->op, "HardSwish")) *low = -3;
    else if (!strcmp(node->op, "Relu")) *low = 0;
    else if (!strcmp(node->op, "Gelu") || !strcmp(node->op, "FastGelu")) *low = -4; /* -1.3e-4 */
    else if (!strcmp(node->op, "Swish")) *low = SWISH_LOW;
    else if (!strcmp(node->op, "Sigmoid") && gates_alone(s, node->outputs[0], value)) *low = SWISH_LOW;
    else if (!strcmp(node->op, "Sigmoid")) {
        *low = in_bytes ? -8 : -INFINITY; /* 3.4e-4: nothing among bytes, something among floats */
        *high = in_bytes ? 8 : INFINITY;
    } else if (!strcmp(node->op, "HardSigmoid")) {
        float alpha = onnx_attribute_float(node, "alpha", 0.2F), beta = onnx_attribute_float(node, "beta", 0.5F);
        if (!(alpha > 0)) return false;
        *low = -beta / alpha;
        *high = (1 - beta) / alpha;
    } else if (!strcmp(node->op, "Clip")) {
        *low = constant_or(node, 1, onnx_attribute_float(node, "min", -INFINITY));
        *high = constant_or(node, 2, onnx_attribute_float(node, "max", INFINITY));
    } else if (!strcmp(node->op, "Mul") && node->input_count == 2 && node->inputs[0] && node->inputs[1]) {
        const struct onnx_node *gate = node->inputs[node->inputs[0] == value]->producer;
        bool gated = is_gate(gate) && gate->inputs[0] == value;
        if (gated && !strcmp(gate->op, "Sigmoid")) *low = SWISH_LOW;
        else gated = gated && reader_limits(s, gate, value, low, high);
        *high = INFINITY;
        return gated;
    }
    return *low > -INFINITY || *high < INFINITY;
}

void place_limits(struct scheme *scheme) {
    for (size_t i = 0; i < scheme->value_count; i++) {
        struct scheme_value *v = &scheme->values[i];
        const struct onnx_value *value = scheme->graph->values[i];
        struct onnx_node *const *reader = scheme->readers[i];
        float floor = INFINITY, ceiling = -INFINITY, low, high;
        v->floor = -INFINITY;
        v->ceiling = INFINITY;
        bool all = v->watched && *reader && !value->is_output;
        for (; all && *reader; reader++) {
            all = reader_limits(scheme, *reader, value, &low, &high);
            floor = fminf(floor, low);
            ceiling = fmaxf(ceiling, high);
        }
        if (!all) continue;
        v->floor = floor;
        v->ceiling = ceiling;
    }
}
