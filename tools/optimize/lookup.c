/* SPDX-License-Identifier: MIT */
/*
 * Lines of a table by running sums, as the positions of MPNet and RoBERTa are: blobs look up integers that come in, and no floats. 0 and 1
 * times the table give the same numbers.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"

#include <math.h>

enum { FAR = 8, MANY = 1 << 12 }; /* steps back, each of which may be of two operands; nodes and numbers that are looked at, in all */

struct search {
    size_t left;
    bool sums; /* whether a running sum was found */
};

static bool range_of_constant(const struct onnx_tensor *t, double range[2], struct search *search) {
    if (t->count > search->left) return false;
    search->left -= t->count;
    range[0] = range[1] = t->count ? onnx_number(t, 0) : 0;
    for (size_t i = 1; i < t->count; i++) {
        range[0] = fmin(range[0], onnx_number(t, i));
        range[1] = fmax(range[1], onnx_number(t, i));
    }
    return true;
}

/* The least and the most that an integer is. False: not known. */
static bool range_of(const struct onnx_value *x, int depth, double range[2], struct search *search) {
    const struct onnx_node *node = x->producer;
    double a[2], b[2];
    if (x->type == ONNX_BOOL) return range[0] = 0, range[1] = 1, true;
    if (x->constant) return range_of_constant(x->constant, range, search);
    if (!search->left || !depth || !node || !onnx_is_checked(node) || !node->input_count || !node->inputs[0]) return false;
    search->left--;
    if (!range_of(node->inputs[0], depth - 1, a, search)) return false;
    if (graph_is(node, "CumSum")) {
        int64_t most = 1;
        for (int d = 0; d < x->shape.rank; d++) most = x->shape.dims[d] > most ? x->shape.dims[d] : most;
        range[0] = fmin(a[0] * (double)most, 0), range[1] = fmax(a[1] * (double)most, 0);
        return search->sums = true;
    }
    if (graph_is(node, "Cast") && (node->inputs[0]->type == ONNX_BOOL || onnx_is_integer(node->inputs[0]->type)))
        return range[0] = a[0], range[1] = a[1], true;
    const bool product = graph_is(node, "Mul");
    if ((!product && !graph_is(node, "Add")) || !onnx_input(node, 1) || !range_of(node->inputs[1], depth - 1, b, search)) return false;
    if (product && (a[0] < 0 || b[0] < 0)) return false;
    for (int i = 0; i < 2; i++) range[i] = product ? a[i] * b[i] : a[i] + b[i];
    return true;
}

/* Its first lines, in float: what a DequantizeLinear behind them makes of bytes. NULL: it is another table. */
static struct onnx_value *first_lines(struct onnx_graph *g, struct onnx_node *node, int64_t lines, struct onnx_node **behind) {
    const struct onnx_tensor *t = onnx_input_constant(node, 0);
    const bool bytes = t->type == ONNX_INT8 || t->type == ONNX_UINT8;
    const struct onnx_shape shape = {2, {lines, t->shape.dims[1]}};
    struct onnx_value *y = node->outputs[0];
    double scale = 1, zero = 0;
    size_t at = 0;
    if (bytes) {
        struct onnx_node *next = graph_alone(y) ? edit_next_reader(g, y, &at) : NULL;
        const struct onnx_tensor *z = next ? onnx_input_constant(next, 2) : NULL;
        if (!graph_is(next, "DequantizeLinear") || !graph_scalar(onnx_input(next, 1), &scale)) return NULL;
        if (onnx_input(next, 2) && (!z || z->count != 1)) return NULL;
        zero = z ? onnx_number(z, 0) : 0;
        *behind = next;
    }
    if ((!bytes && t->type != ONNX_FLOAT) || !graph_takes_room(g, (size_t)onnx_elements(&shape))) return NULL;
    double *numbers = graph_doubles(g, onnx_elements(&shape));
    for (int64_t i = 0; i < onnx_elements(&shape); i++) {
        numbers[i] = (double)(float)((onnx_number(t, (size_t)i) - zero) * scale);
        if (!isfinite(numbers[i])) return NULL; /* 0 times it is no 0 */
    }
    return graph_floats(g, node, "lines", &shape, numbers);
}

/* 1 in the place of the index, 0 elsewhere, times the lines: sums of one number and zeros. */
bool change_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *at = onnx_input(node, 1), *y = node->outputs[0];
    const struct onnx_tensor *t = onnx_input_constant(node, 0);
    struct onnx_node *last = node;
    double range[2];
    struct search search = {.left = MANY};
    if (!graph_is(node, "Gather") || !t || t->shape.rank != 2 || !at || at->constant || !at->producer || !onnx_is_integer(at->type) ||
        onnx_attribute_int(node, "axis", 0) || at->shape.rank + 2 > ONNX_MAX_RANK)
        return false;
    if (!range_of(at, FAR, range, &search) || !search.sums) return false;
    if (!(range[0] >= 0 && range[1] < (double)t->shape.dims[0])) return false; /* an infinity times 0 is neither */
    const int64_t count = (int64_t)range[1] + 1;
    struct onnx_value *lines = first_lines(g, node, count, &last);
    if (!lines) return false;
    double *numbers = graph_doubles(g, count);
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)i;
    struct onnx_shape one = at->shape, all = at->shape;
    one.dims[one.rank++] = 1, all.dims[all.rank++] = count;
    struct onnx_value *f = graph_put(g, node, "Cast", &at, 1, &at->shape);
    edit_attribute_int(g, f->producer, "to", ONNX_FLOAT);
    f->producer->opset = node->opset;
    struct onnx_value *inputs[2] = {f, graph_int64s(g, node, "one", one.dims, one.rank)};
    inputs[0] = graph_put(g, node, "Reshape", inputs, 2, &one), inputs[0]->producer->opset = node->opset;
    inputs[1] = graph_int64s(g, node, "all", all.dims, all.rank);
    inputs[0] = graph_put(g, node, "Expand", inputs, 2, &all), inputs[0]->producer->opset = node->opset;
    const struct onnx_shape line = {1, {count}};
    inputs[1] = graph_floats(g, node, "places", &line, numbers);
    struct onnx_value *here = graph_put(g, node, "Equal", inputs, 2, &all);
    here->type = ONNX_BOOL;
    here->producer->opset = node->opset;
    f = graph_put(g, node, "Cast", &here, 1, &all);
    edit_attribute_int(g, f->producer, "to", ONNX_FLOAT);
    f->producer->opset = node->opset;
    inputs[0] = f, inputs[1] = lines;
    edit_become(g, node, "MatMul", "", inputs, 2);
    edit_attribute_int(g, node, ONNX_EXACT_MARK, 2);
    y->type = ONNX_FLOAT;
    if (last != node) graph_bypass(g, last, y);
    return true;
}
