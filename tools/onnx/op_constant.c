/* SPDX-License-Identifier: MIT */
/* Values that follow from attributes and shapes: Constant ConstantOfShape Range Shape Size EyeLike; of a constant a triangle: Trilu, and
 * where it is not 0: NonZero. */
#include "tools/onnx/operator.h"
#include <math.h>
#include <string.h>

/* The attribute that holds a Constant's value. */
static const struct onnx_attribute *constant_value(const struct onnx_node *node) {
    static const char *const names[] = {"value",      "value_float",  "value_floats",  "value_int",
                                        "value_ints", "value_string", "value_strings", "sparse_value"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct onnx_attribute *a = onnx_attribute(node, names[i]);
        if (a) return a;
    }
    return NULL;
}

bool onnx_infer_constant(struct onnx_context *c) {
    const struct onnx_attribute *a = constant_value(c->node);
    struct onnx_shape shape = {.rank = 0};
    if (!a) return onnx_bad(c, "it has no value");
    bool list = a->type == 6 || a->type == 7;
    if (list && a->count <= (size_t)1 << 30) shape = (struct onnx_shape){.rank = 1, .dims = {(int64_t)a->count}};
    switch (a->type) {
    case 1:
    case 6: onnx_out_type(c, 0, ONNX_FLOAT); break;
    case 2:
    case 7: onnx_out_type(c, 0, ONNX_INT64); break;
    case 4:
        if (!a->t) return onnx_bad(c, "its value has an element type that is not read");
        onnx_out_type(c, 0, a->t->type);
        shape = a->t->shape;
        break;
    default: return onnx_bad(c, "its value is of a kind that is not read (%s)", a->name);
    }
    return onnx_out(c, 0, &shape);
}

void onnx_fold_constant(struct onnx_context *c) {
    const struct onnx_attribute *a = constant_value(c->node);
    if (a->type == 4) {
        c->node->outputs[0]->constant = a->t;
        return;
    }
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (!y) return;
    const void *from = a->type == 1   ? (const void *)&a->f
                       : a->type == 2 ? (const void *)&a->i
                       : a->type == 6 ? (const void *)a->floats
                                      : (const void *)a->ints;
    if (y->count) memcpy(y->data, from, y->count * onnx_type_bytes(y->type));
}

/* The element that fills it: attribute `value`, or float 0. */
static const struct onnx_tensor *fill_value(const struct onnx_node *node) {
    const struct onnx_attribute *a = onnx_attribute(node, "value");
    return a ? a->t : NULL;
}

bool onnx_infer_constant_of_shape(struct onnx_context *c) {
    const struct onnx_tensor *fill = fill_value(c->node);
    struct onnx_shape shape;
    if ((!fill && onnx_attribute(c->node, "value")) || (fill && fill->count != 1)) return onnx_bad(c, "its value is not one number");
    onnx_out_type(c, 0, fill ? fill->type : ONNX_FLOAT);
    shape.rank = onnx_list(c, "input", shape.dims, ONNX_MAX_RANK);
    if (shape.rank < 0) return shape.rank == -1;
    return onnx_out(c, 0, &shape);
}

void onnx_fold_constant_of_shape(struct onnx_context *c) {
    const struct onnx_tensor *fill = fill_value(c->node);
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    const int64_t none[ONNX_MAX_RANK] = {0};
    if (y && fill) onnx_copy_strided(fill, 0, none, y);
}

/* How many steps of `delta` lie before the limit; -1: too many, or no number. */
static int64_t float_steps(double start, double limit, double delta) {
    double count = ceil((limit - start) / delta);
    return count > 0 ? count < 1e12 ? (int64_t)count : -1 : count <= 0 ? 0 : -1;
}

static int64_t integer_steps(int64_t start, int64_t limit, int64_t delta) {
    uint64_t way = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    uint64_t count = (way - 1) / step + 1;
    return count > (uint64_t)1 << 40 ? -1 : (int64_t)count;
}

bool onnx_infer_range(struct onnx_context *c) {
    const struct onnx_tensor *in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = onnx_input_constant(c->node, i);
        if (onnx_elements(onnx_in(c, i)) != 1 || onnx_in(c, i)->rank > 1 || c->node->inputs[i]->type != c->node->inputs[0]->type)
            return onnx_bad(c, "start, limit and delta must be single numbers of one type");
    }
    if (!in[0] || !in[1] || !in[2]) return true;
    if (onnx_number(in[2], 0) == 0) return onnx_bad(c, "its delta is 0");
    int64_t count = onnx_is_integer(in[0]->type) ? integer_steps(onnx_integer(in[0], 0), onnx_integer(in[1], 0), onnx_integer(in[2], 0))
                                                 : float_steps(onnx_number(in[0], 0), onnx_number(in[1], 0), onnx_number(in[2], 0));
    struct onnx_shape shape = {.rank = 1, .dims = {count}};
    return onnx_out(c, 0, &shape);
}

void onnx_fold_range(struct onnx_context *c) {
    const struct onnx_tensor *start = onnx_input_constant(c->node, 0), *delta = onnx_input_constant(c->node, 2);
    struct onnx_tensor *y = start->type == ONNX_FLOAT16 ? NULL : onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        if (y->type == ONNX_FLOAT) onnx_store_number(y, i, ((const float *)start->data)[0] + (float)i * ((const float *)delta->data)[0]);
        else if (y->type == ONNX_DOUBLE) onnx_store_number(y, i, onnx_number(start, 0) + (double)i * onnx_number(delta, 0));
        else onnx_store_integer(y, i, (int64_t)((uint64_t)onnx_integer(start, 0) + i * (uint64_t)onnx_integer(delta, 0)));
    }
}

/* Attributes start and end (opset 15) cut the list of dimensions like a slice. */
static void shape_part(const struct onnx_node *node, int rank, int *first, int *end) {
    int64_t from = onnx_attribute_int(node, "start", 0), to = onnx_attribute_int(node, "end", rank);
    from += from < 0 ? rank : 0;
    to += to < 0 ? rank : 0;
    *first = (int)(from < 0 ? 0 : from > rank ? rank : from);
    *end = (int)(to < *first ? *first : to > rank ? rank : to);
}

bool onnx_infer_shape_of(struct onnx_context *c) {
    int first, end;
    shape_part(c->node, onnx_in(c, 0)->rank, &first, &end);
    struct onnx_shape shape = {.rank = 1, .dims = {end - first}};
    return onnx_out(c, 0, &shape);
}

void onnx_fold_shape_of(struct onnx_context *c) {
    int first, end;
    shape_part(c->node, onnx_in(c, 0)->rank, &first, &end);
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (int i = first; y && i < end; i++) onnx_store_integer(y, (size_t)(i - first), onnx_in(c, 0)->dims[i]);
}

bool onnx_infer_size_of(struct onnx_context *c) {
    struct onnx_shape scalar = {.rank = 0};
    return onnx_out(c, 0, &scalar);
}

void onnx_fold_size_of(struct onnx_context *c) {
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (y) onnx_store_integer(y, 0, onnx_elements(onnx_in(c, 0)));
}

bool onnx_infer_trilu(struct onnx_context *c) {
    const struct onnx_value *diagonal = onnx_input(c->node, 1);
    if (onnx_in(c, 0)->rank < 2) return onnx_bad(c, "it needs an input of at least 2 dimensions");
    if (diagonal && (diagonal->type != ONNX_INT64 || onnx_elements(&diagonal->shape) != 1))
        return onnx_bad(c, "its diagonal must be one number of int64");
    return onnx_out(c, 0, onnx_in(c, 0));
}

/* Row i keeps column j where j - i is at least the diagonal's number, or at most that; elsewhere is 0. */
void onnx_fold_trilu(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *given = onnx_input_constant(c->node, 1);
    const bool upper = onnx_attribute_int(c->node, "upper", 1) != 0;
    const int64_t diagonal = given ? onnx_integer(given, 0) : 0;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (!y) return;
    const int64_t columns = x->shape.dims[x->shape.rank - 1], rows = x->shape.dims[x->shape.rank - 2];
    const size_t width = onnx_type_bytes(x->type);
    for (size_t i = 0; i < y->count; i++) {
        const int64_t off = (int64_t)i % columns - (int64_t)i / columns % rows;
        if (upper ? off >= diagonal : off <= diagonal)
            memcpy((unsigned char *)y->data + i * width, (const unsigned char *)x->data + i * width, width);
    }
}

/* Ones on a diagonal, in the shape of the input; its numbers are not read. */
bool onnx_infer_eye(struct onnx_context *c) {
    const int64_t type = onnx_attribute_int(c->node, "dtype", 0);
    if (onnx_in(c, 0)->rank != 2) return onnx_bad(c, "its input must have 2 dimensions");
    if (type < 0 || type >= 64) return onnx_bad(c, "attribute 'dtype' is %lld, which is no type", (long long)type);
    onnx_out_type(c, 0, type ? (enum onnx_type)type : c->node->inputs[0]->type);
    return onnx_out(c, 0, onnx_in(c, 0));
}

void onnx_fold_eye(struct onnx_context *c) {
    const int64_t diagonal = onnx_attribute_int(c->node, "k", 0), rows = onnx_in(c, 0)->dims[0], columns = onnx_in(c, 0)->dims[1];
    const enum onnx_type type = c->node->outputs[0]->type;
    if (!onnx_is_float(type) && !onnx_is_integer(type)) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (int64_t i = 0; y && i < rows; i++) {
        if (diagonal < -i || diagonal >= columns - i) continue;
        if (onnx_is_float(type)) onnx_store_number(y, (size_t)(i * columns + i + diagonal), 1);
        else onnx_store_integer(y, (size_t)(i * columns + i + diagonal), 1);
    }
}

static size_t count_non_zero(const struct onnx_tensor *x) {
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++) count += onnx_number(x, i) != 0;
    return count;
}

/* The places of all numbers but zeros, a row for each dimension. */
bool onnx_infer_non_zero(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    if (!x || (!onnx_is_float(x->type) && x->type != ONNX_FLOAT16 && !onnx_is_integer(x->type)) || !onnx_spend(c, x->count)) return true;
    const struct onnx_shape y = {2, {x->shape.rank ? x->shape.rank : 1, (int64_t)count_non_zero(x)}};
    return onnx_out(c, 0, &y);
}

void onnx_fold_non_zero(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    int64_t strides[ONNX_MAX_RANK];
    if (!y) return;
    onnx_strides(&x->shape, strides);
    const size_t found = (size_t)y->shape.dims[1];
    for (size_t i = 0, at = 0; i < x->count && at < found; i++) {
        if (onnx_number(x, i) == 0) continue;
        for (int d = 0; d < x->shape.rank; d++) onnx_store_integer(y, (size_t)d * found + at, (int64_t)i / strides[d] % x->shape.dims[d]);
        at++;
    }
}
