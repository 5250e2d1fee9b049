/* SPDX-License-Identifier: MIT */
/* An input that the model quantizes when it runs, in floats: what core/format.h says of RANGE, FACTORS and QUANTIZE. */
#include "tools/compare/compare.h"
#include "tools/optimize/pass.h"

#include <float.h>

struct place {
    struct onnx_graph *g;
    struct onnx_node *node; /* that reads what is made */
};

static struct onnx_value *put(const struct place *p, const char *op, struct onnx_value *x, struct onnx_value *by) {
    struct onnx_value *inputs[2] = {x, by};
    return graph_put(p->g, p->node, op, inputs, by ? 2 : 1, &x->shape);
}

static struct onnx_value *put_number(const struct place *p, const char *op, struct onnx_value *x, double number) {
    const struct onnx_shape scalar = {0};
    return put(p, op, x, graph_floats(p->g, p->node, "number", &scalar, &number));
}

/* The least and the largest of what shares a scale, 0 at most and at least. */
static struct onnx_value *end_of(const struct place *p, struct onnx_value *x, const char *reduces, const char *bounds, int axis) {
    struct onnx_shape shape = x->shape;
    int64_t axes[ONNX_MAX_RANK];
    int count = 0;
    for (int d = 0; d < shape.rank; d++) {
        if (axis >= 0 && d != axis) continue;
        axes[count++] = d;
        shape.dims[d] = 1;
    }
    return put_number(p, bounds, graph_reduce(p->g, p->node, reduces, x, axes, count, &shape), 0);
}

struct onnx_value *compare_dynamic_input(struct onnx_graph *g, struct onnx_node *node, int axis) {
    const struct place p = {g, node};
    struct onnx_value *x = node->inputs[0];
    struct onnx_value *low = end_of(&p, x, "ReduceMin", "Min", axis), *high = end_of(&p, x, "ReduceMax", "Max", axis);
    struct onnx_value *scale = put_number(&p, "Max", put_number(&p, "Div", put(&p, "Sub", high, low), 255), (double)FLT_MIN);
    struct onnx_value *zero = put(&p, "Round", put(&p, "Div", put_number(&p, "Mul", low, -1), scale), NULL);
    struct onnx_value *steps = put(&p, "Add", put(&p, "Round", put(&p, "Div", x, scale), NULL), zero);
    steps = put_number(&p, "Max", put_number(&p, "Min", steps, 255), 0);
    return put(&p, "Mul", put(&p, "Sub", steps, zero), scale);
}
