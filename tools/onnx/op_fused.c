/* SPDX-License-Identifier: MIT */
/* Shapes of what ONNX Runtime makes of several nodes: products with a transposed matrix, attention, embeddings, normalization of a sum. */
#include "tools/onnx/operator.h"

/* None of these operators computes with integers. */
static bool is_float(struct onnx_context *c, int i) {
    return !onnx_is_integer(onnx_input(c->node, i)->type) || onnx_bad(c, "its input %d must be floats", i);
}

/* Input i has the type of input k, or is not there. */
static bool is_alike(struct onnx_context *c, int i, int k) {
    const struct onnx_value *value = onnx_input(c->node, i);
    return !value || value->type == onnx_input(c->node, k)->type || onnx_bad(c, "its inputs %d and %d have different types", k, i);
}

static struct onnx_shape turned(const struct onnx_shape *shape, bool turn) {
    struct onnx_shape t = *shape;
    if (turn && t.rank > 1) t.dims[t.rank - 1] = shape->dims[t.rank - 2], t.dims[t.rank - 2] = shape->dims[t.rank - 1];
    return t;
}

bool onnx_infer_fused_matmul(struct onnx_context *c) {
    const struct onnx_shape a = turned(onnx_in(c, 0), onnx_attribute_int(c->node, "transA", 0) != 0);
    const struct onnx_shape b = turned(onnx_in(c, 1), onnx_attribute_int(c->node, "transB", 0) != 0);
    return is_float(c, 0) && is_alike(c, 1, 0) && onnx_infer_product(c, &a, &b);
}

/* Input i is one number for each of `width`, or is not there. */
static bool has_line(struct onnx_context *c, int i, int64_t width) {
    const struct onnx_value *line = onnx_input(c->node, i);
    if (!line || (line->shape.rank == 1 && line->shape.dims[0] == width && width)) return true;
    return onnx_bad(c, "its input %d must be %lld numbers, in 1 dimension", i, (long long)width);
}

/* Input i has that shape, or is not there. */
static bool has_shape(struct onnx_context *c, int i, const struct onnx_shape *shape) {
    const struct onnx_value *value = onnx_input(c->node, i);
    return !value || onnx_same_shape(&value->shape, shape) || onnx_bad(c, "its input %d must have the shape of its first", i);
}

/* A convolution, and what is added to its result before the function at its end. */
bool onnx_infer_fused_conv(struct onnx_context *c) {
    const struct onnx_value *term = onnx_input(c->node, 3), *y = c->node->outputs[0];
    if (!is_float(c, 0) || !is_alike(c, 3, 0) || !onnx_infer_conv(c)) return false;
    return !term || !y || onnx_same_shape(&term->shape, &y->shape) || onnx_bad(c, "its input 3 must have the shape of its result");
}

static int64_t width_of(const struct onnx_shape *x) {
    return x->rank ? x->dims[x->rank - 1] : 0;
}

/* x, then what is added to each of its lines. */
bool onnx_infer_bias_gelu(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    return is_float(c, 0) && is_alike(c, 1, 0) && has_line(c, 1, width_of(x)) && onnx_out(c, 0, x);
}

/* x, then what is added to it, by what it is normalized, and what is added to each line; a fourth output is the sum. */
bool onnx_infer_skip_layer_norm(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *skip = onnx_in(c, 1);
    struct onnx_shape sum;
    if (!is_float(c, 0)) return false;
    for (int i = 1; i < 5; i++)
        if (!is_alike(c, i, 0) || (i > 1 && !has_line(c, i, width_of(x)))) return false;
    if (!onnx_broadcast(c, x, skip, &sum)) return false;
    if (!onnx_same_shape(&sum, x)) return onnx_bad(c, "what is added to x must not be larger");
    return onnx_out(c, 0, x) && onnx_out(c, 3, x);
}

/* Inputs 2 to 4 are tables of lines as long: of words, of positions, and perhaps of segments. */
static bool has_tables(struct onnx_context *c, int64_t width) {
    for (int i = 2; i < 5; i++) {
        const struct onnx_value *table = onnx_input(c->node, i);
        if (table && (table->shape.rank != 2 || table->shape.dims[1] != width || !onnx_elements(&table->shape)))
            return onnx_bad(c, "its tables must have 2 dimensions, and lines that are as long");
    }
    return true;
}

/* Positions of each token, or of the tokens of any text; without them, and so with scales, a line of the table for each token. */
static bool has_positions(struct onnx_context *c, const struct onnx_shape *ids) {
    const struct onnx_value *positions = c->node->input_count > 9 ? NULL : onnx_input(c->node, 8);
    if (!positions) return onnx_in(c, 3)->dims[0] >= ids->dims[1] || onnx_bad(c, "it has more tokens than positions");
    const struct onnx_shape any = {2, {1, ids->dims[1]}};
    if (onnx_same_shape(&positions->shape, &any)) return true;
    return has_shape(c, 8, ids);
}

static bool has_embedding(struct onnx_context *c) {
    const struct onnx_shape *ids = onnx_in(c, 0), *words = onnx_in(c, 2);
    if (ids->rank != 2 || words->rank != 2) return onnx_bad(c, "ids and tables must have 2 dimensions");
    const int64_t width = words->dims[1];
    const struct onnx_shape y = {3, {ids->dims[0], ids->dims[1], width}}, lengths = {1, {ids->dims[0]}};
    if (!has_tables(c, width) || !has_line(c, 5, width) || !has_line(c, 6, width) || !has_positions(c, ids)) return false;
    if (!has_shape(c, 1, ids) || !has_shape(c, 7, ids)) return false;
    onnx_out_type(c, 1, ONNX_INT32);
    return onnx_out(c, 0, &y) && onnx_out(c, 1, &lengths) && onnx_out(c, 2, &y);
}

static bool has_inputs(struct onnx_context *c, const int *needed, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!onnx_input(c->node, needed[i])) return onnx_bad(c, "input %d is missing", needed[i]);
    return true;
}

/* Lines of tables by ids, [batch, sequence] of integers. Inputs: ids, segments, tables, gamma, beta, mask, positions. */
bool onnx_infer_embed_layer_norm(struct onnx_context *c) {
    static const int needed[] = {2, 3, 5, 6}; /* segments may be left out */
    if (!has_inputs(c, needed, sizeof needed / sizeof *needed) || !is_float(c, 2)) return false;
    for (int i = 3; i < 7; i++)
        if (!is_alike(c, i, 2)) return false;
    return has_embedding(c);
}

/* The same of bytes: behind ids, segments, tables, gamma, beta, mask stand scales of the five, and then zero points. */
bool onnx_infer_qembed_layer_norm(struct onnx_context *c) {
    static const int needed[] = {2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17};
    if (!has_inputs(c, needed, sizeof needed / sizeof *needed)) return false;
    for (int i = 2; i < 7; i++) {
        const struct onnx_value *value = onnx_input(c->node, i);
        if (value && value->type != ONNX_UINT8 && value->type != ONNX_INT8) return onnx_bad(c, "its input %d must be bytes", i);
        for (int k = i + 6; value && k < i + 12; k += 5)
            if (!onnx_input(c->node, k) || onnx_elements(onnx_in(c, k)) != 1) return onnx_bad(c, "its input %d must be one number", k);
    }
    return has_embedding(c);
}
