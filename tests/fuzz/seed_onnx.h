/* SPDX-License-Identifier: MIT */
/*
 * ONNX files by chance, written field by field: a chain of quantized operators in both styles (QOperator and QDQ) with sound shapes, and
 * beside it nodes of any operator with any inputs and attributes, which may or may not make sense. Included once, by the fuzzer.
 */
#ifndef MORSEL_TEST_SEED_ONNX_H
#define MORSEL_TEST_SEED_ONNX_H

#include "fuzz.h"
#include "tools/onnx/operator.h"

#include <stdio.h>
#include <string.h>

/* --- Protocol buffers ----------------------------------------------------------------------------------------------- */

struct pb {
    size_t size;
    uint8_t bytes[1 << 16];
};

static void pb_byte(struct pb *to, uint8_t byte) {
    if (to->size < sizeof to->bytes) to->bytes[to->size++] = byte;
}

static void pb_varint(struct pb *to, uint64_t value) {
    for (; value > 127; value >>= 7) pb_byte(to, (uint8_t)(value | 128));
    pb_byte(to, (uint8_t)value);
}

static void pb_int(struct pb *to, uint32_t field, int64_t value) {
    pb_varint(to, field << 3);
    pb_varint(to, (uint64_t)value);
}

static void pb_block(struct pb *to, uint32_t field, const void *bytes, size_t size) {
    pb_varint(to, field << 3 | 2);
    pb_varint(to, size);
    for (size_t i = 0; i < size; i++) pb_byte(to, ((const uint8_t *)bytes)[i]);
}

static void pb_text(struct pb *to, uint32_t field, const char *text) {
    pb_block(to, field, text, strlen(text));
}

static void pb_float(struct pb *to, uint32_t field, float value) {
    uint8_t bytes[4];
    memcpy(bytes, &value, 4);
    pb_varint(to, field << 3 | 5);
    for (int i = 0; i < 4; i++) pb_byte(to, bytes[i]);
}

/* --- The graph as it grows ------------------------------------------------------------------------------------------- */

enum { VALUES = 192, TYPE_FLOAT = 1, TYPE_UINT8 = 2, TYPE_INT8 = 3, TYPE_INT32 = 6, TYPE_INT64 = 7, TYPE_BOOL = 9 };

struct seed_value {
    int type, n, c, h, w; /* n is 0 where the shape is not known */
};

struct seed_onnx {
    uint64_t random;
    int opset, count;
    int outputs; /* of the next node; 0: one */
    int misfit;  /* operands come in wrong shapes now and then */
    struct seed_value values[VALUES];
    struct pb graph, node, attribute, tensor, attributes;
};

static uint32_t onnx_below(struct seed_onnx *m, uint32_t most) {
    return fuzz_below(&m->random, most);
}

static const char *onnx_pick(struct seed_onnx *m, const char *const *names, size_t count) {
    return names[onnx_below(m, (uint32_t)count)];
}

#define PICK(m, names) onnx_pick(m, names, sizeof names / sizeof names[0])

/* Small numbers, and now and then a bad one. */
static int64_t onnx_any_int(struct seed_onnx *m) {
    static const int64_t bad[] = {-2, 7, 64, 65, 1000, 65536, INT32_MAX, INT64_MAX, INT64_MIN, -1000, 1 << 20, (int64_t)1 << 40};
    return onnx_below(m, 10) ? (int64_t)onnx_below(m, 5) - 1 : bad[onnx_below(m, 12)];
}

static void onnx_name(char text[16], int value) {
    snprintf(text, 16, "v%d", value);
}

static int onnx_new(struct seed_onnx *m, struct seed_value value) {
    if (m->count == VALUES) return VALUES - 1;
    m->values[m->count] = value;
    return m->count++;
}

/* An initializer with random bytes; floats are small and positive. */
static int onnx_constant(struct seed_onnx *m, int type, const int64_t *dims, int rank) {
    char name[16];
    int value = onnx_new(m, (struct seed_value){.type = type});
    size_t elements = 1, bytes = type == TYPE_UINT8 || type == TYPE_INT8 || type == TYPE_BOOL ? 1 : type == TYPE_INT64 ? 8 : 4;
    static uint8_t data[8192];
    m->tensor.size = 0;
    for (int i = 0; i < rank; i++) {
        pb_int(&m->tensor, 1, dims[i]);
        elements *= (size_t)dims[i];
    }
    if (elements * bytes > sizeof data) elements = sizeof data / bytes;
    for (size_t i = 0; i < elements * bytes; i++) data[i] = (uint8_t)fuzz_random(&m->random);
    for (size_t i = 0; i < elements && bytes > 1; i++) {
        float floating = 0.002f + (float)onnx_below(m, 100) / 500;
        int32_t small = (int32_t)onnx_below(m, 2000) - 1000;
        int64_t wide = onnx_any_int(m);
        memcpy(data + i * bytes, type == TYPE_FLOAT ? (void *)&floating : type == TYPE_INT64 ? (void *)&wide : (void *)&small, bytes);
    }
    pb_int(&m->tensor, 2, type);
    onnx_name(name, value);
    pb_text(&m->tensor, 8, name);
    pb_block(&m->tensor, 9, data, elements * bytes);
    pb_block(&m->graph, 5, m->tensor.bytes, m->tensor.size);
    return value;
}

static int onnx_scalar(struct seed_onnx *m, int type) {
    return onnx_constant(m, type, NULL, 0);
}

/* --- Nodes ----------------------------------------------------------------------------------------------------------- */

/* Attributes gather here until the next node takes them. */
static void onnx_ints(struct seed_onnx *m, const char *name, const int64_t *values, int count) {
    m->attribute.size = 0;
    pb_text(&m->attribute, 1, name);
    for (int i = 0; i < count; i++) pb_int(&m->attribute, 8, values[i]);
    pb_int(&m->attribute, 20, 7);
    pb_block(&m->attributes, 5, m->attribute.bytes, m->attribute.size);
}

static void onnx_int(struct seed_onnx *m, const char *name, int64_t value) {
    m->attribute.size = 0;
    pb_text(&m->attribute, 1, name);
    pb_int(&m->attribute, 3, value);
    pb_int(&m->attribute, 20, 2);
    pb_block(&m->attributes, 5, m->attribute.bytes, m->attribute.size);
}

static void onnx_float_number(struct seed_onnx *m, const char *name, float value) {
    m->attribute.size = 0;
    pb_text(&m->attribute, 1, name);
    pb_float(&m->attribute, 2, value);
    pb_int(&m->attribute, 20, 1);
    pb_block(&m->attributes, 5, m->attribute.bytes, m->attribute.size);
}

static void onnx_string(struct seed_onnx *m, const char *name, const char *value) {
    m->attribute.size = 0;
    pb_text(&m->attribute, 1, name);
    pb_text(&m->attribute, 4, value);
    pb_int(&m->attribute, 20, 3);
    pb_block(&m->attributes, 5, m->attribute.bytes, m->attribute.size);
}

static int onnx_node(struct seed_onnx *m, const char *op, const char *domain, const int *inputs, int count, struct seed_value result) {
    char name[16];
    int value = onnx_new(m, result);
    m->node.size = 0;
    for (int i = 0; i < count; i++) {
        onnx_name(name, inputs[i]);
        pb_text(&m->node, 1, inputs[i] < 0 ? "" : name);
    }
    onnx_name(name, value);
    pb_text(&m->node, 2, name);
    for (; m->outputs > 1; m->outputs--) {
        onnx_name(name, onnx_new(m, result));
        pb_text(&m->node, 2, name);
    }
    pb_text(&m->node, 4, op);
    if (*domain) pb_text(&m->node, 7, domain);
    for (size_t i = 0; i < m->attributes.size; i++) pb_byte(&m->node, m->attributes.bytes[i]);
    m->attributes.size = 0;
    pb_block(&m->graph, 1, m->node.bytes, m->node.size);
    return value;
}

static int onnx_dequantize(struct seed_onnx *m, int x) {
    struct seed_value floating = m->values[x];
    int inputs[3] = {x, onnx_scalar(m, TYPE_FLOAT), onnx_scalar(m, floating.type)};
    floating.type = TYPE_FLOAT;
    return onnx_node(m, "DequantizeLinear", "", inputs, 3, floating);
}

static int onnx_quantize(struct seed_onnx *m, int x) {
    struct seed_value bytes = m->values[x];
    bytes.type = onnx_below(m, 2) ? TYPE_UINT8 : TYPE_INT8;
    int inputs[3] = {x, onnx_scalar(m, TYPE_FLOAT), onnx_scalar(m, bytes.type)};
    return onnx_node(m, "QuantizeLinear", "", inputs, 3, bytes);
}

/* Kernel, strides, pads for a window on x; fills the size of the result. */
static void onnx_window_attributes(struct seed_onnx *m, struct seed_value *y) {
    int64_t kernel[2] = {1 + onnx_below(m, 3), 1 + onnx_below(m, 3)}, stride[2] = {1 + onnx_below(m, 2), 1 + onnx_below(m, 2)};
    int64_t pads[4] = {onnx_below(m, 2), onnx_below(m, 2), onnx_below(m, 2), onnx_below(m, 2)};
    int64_t room_h = y->h + pads[0] + pads[2] - kernel[0], room_w = y->w + pads[1] + pads[3] - kernel[1];
    if (room_h < 0 || room_w < 0 || pads[0] >= kernel[0] || pads[1] >= kernel[1] || pads[2] >= kernel[0] || pads[3] >= kernel[1]) {
        kernel[0] = kernel[1] = stride[0] = stride[1] = 1;
        memset(pads, 0, sizeof pads);
        room_h = y->h - 1, room_w = y->w - 1;
    }
    onnx_ints(m, "kernel_shape", kernel, 2);
    onnx_ints(m, "strides", stride, 2);
    onnx_ints(m, "pads", pads, 4);
    y->h = (int)(room_h / stride[0]) + 1;
    y->w = (int)(room_w / stride[1]) + 1;
}

/* The weights that go with the last window: its kernel_shape is read back from `before` and `after`, the sizes around it. */
static int onnx_conv(struct seed_onnx *m, int x) {
    struct seed_value y = m->values[x];
    int deep = onnx_below(m, 3) == 0, out = deep ? y.c : 1 + (int)onnx_below(m, 20), groups = deep ? y.c : 1;
    int64_t kernel = 1 + onnx_below(m, 3), pad = kernel / 2, pads[4] = {pad, pad, pad, pad}, square[2] = {kernel, kernel};
    int64_t dims[4] = {out, y.c / groups, kernel, kernel}, channels[1] = {out};
    if (kernel == 2) pads[2] = pads[3] = 0;
    onnx_ints(m, "kernel_shape", square, 2);
    onnx_ints(m, "pads", pads, 4);
    onnx_int(m, "group", groups);
    int q = onnx_below(m, 2), by_channel = (int)onnx_below(m, 2), weights = onnx_constant(m, TYPE_INT8, dims, 4);
    int scales = by_channel ? onnx_constant(m, TYPE_FLOAT, channels, 1) : onnx_scalar(m, TYPE_FLOAT);
    int bias = onnx_constant(m, TYPE_INT32, channels, 1);
    y.c = out;
    if (q) {
        y.type = onnx_below(m, 2) ? TYPE_UINT8 : TYPE_INT8;
        int inputs[9] = {x,
                         onnx_scalar(m, TYPE_FLOAT),
                         onnx_scalar(m, m->values[x].type),
                         weights,
                         scales,
                         -1,
                         onnx_scalar(m, TYPE_FLOAT),
                         onnx_scalar(m, y.type),
                         bias};
        inputs[5] = by_channel ? onnx_constant(m, TYPE_INT8, channels, 1) : onnx_scalar(m, TYPE_INT8);
        return onnx_node(m, "QLinearConv", "", inputs, 9, y);
    }
    struct pb saved = m->attributes;
    m->attributes.size = 0;
    int wide[3] = {weights, scales, by_channel ? onnx_constant(m, TYPE_INT8, channels, 1) : onnx_scalar(m, TYPE_INT8)};
    if (by_channel) onnx_int(m, "axis", 0);
    int floating = onnx_node(m, "DequantizeLinear", "", wide, 3, (struct seed_value){.type = TYPE_FLOAT}),
        inputs[2] = {onnx_dequantize(m, x), floating};
    m->attributes = saved;
    y.type = TYPE_FLOAT;
    return onnx_quantize(m, onnx_node(m, "Conv", "", inputs, 2, y));
}

static int onnx_unary(struct seed_onnx *m, int x) {
    static const char *const ops[] = {"Relu", "Sigmoid", "HardSwish", "HardSigmoid",       "LeakyRelu", "Tanh", "Exp",
                                      "Erf",  "Clip",    "Softmax",   "Identity",          "Abs",       "Neg",  "Sqrt",
                                      "Gelu", "Elu",     "Softplus",  "GlobalAveragePool", "Dropout"};
    int floating = onnx_dequantize(m, x);
    struct seed_value y = m->values[floating];
    const char *op = PICK(m, ops);
    if (!strcmp(op, "GlobalAveragePool")) y.h = y.w = 1;
    return onnx_quantize(m, onnx_node(m, op, "", &floating, 1, y));
}

static int onnx_qlinear(struct seed_onnx *m, int x) {
    static const char *const ops[] = {"QLinearSigmoid",           "QLinearLeakyRelu", "QLinearSoftmax",
                                      "QLinearGlobalAveragePool", "QLinearAdd",       "QLinearMul"};
    const char *op = PICK(m, ops);
    struct seed_value y = m->values[x];
    int binary = !strcmp(op, "QLinearAdd") || !strcmp(op, "QLinearMul"), n = 3;
    int inputs[8] = {x, onnx_scalar(m, TYPE_FLOAT), onnx_scalar(m, y.type), x, onnx_scalar(m, TYPE_FLOAT), onnx_scalar(m, y.type), 0, 0};
    if (binary) n = 6;
    inputs[n] = onnx_scalar(m, TYPE_FLOAT);
    inputs[n + 1] = onnx_scalar(m, y.type);
    if (!strcmp(op, "QLinearGlobalAveragePool")) y.h = y.w = 1;
    return onnx_node(m, op, "com.microsoft", inputs, n + 2, y);
}

static int onnx_pool(struct seed_onnx *m, int x) {
    struct seed_value y = m->values[x];
    onnx_window_attributes(m, &y);
    return onnx_node(m, "MaxPool", "", &x, 1, y);
}

static size_t onnx_operators(void) {
    static size_t count;
    while (onnx_operator_at(count)) count++;
    return count;
}

/* Of those that are known, or now and then one that is not. */
static const struct onnx_operator *onnx_any_operator(struct seed_onnx *m) {
    static const struct onnx_operator strangers[] = {{.domain = "", .name = "Nonsense", .max_inputs = 3},
                                                     {.domain = "", .name = "TopK", .max_inputs = 2},
                                                     {.domain = "", .name = "NonZero", .max_inputs = 1},
                                                     {.domain = "com.microsoft", .name = "Relu", .max_inputs = 1}};
    if (onnx_below(m, 30) == 0) return &strangers[onnx_below(m, 4)];
    return onnx_operator_at(onnx_below(m, (uint32_t)onnx_operators()));
}

/* Mostly as many as the operator takes. */
static int onnx_any_count(struct seed_onnx *m, const struct onnx_operator *op) {
    int most = op->max_inputs < 8 ? op->max_inputs : 8, least = op->min_inputs < most ? op->min_inputs : most;
    return onnx_below(m, 6) ? least + (int)onnx_below(m, (uint32_t)(most - least) + 1) : (int)onnx_below(m, 9);
}

/* Any operator, any inputs, any attributes: not part of the chain. */
static inline void onnx_wild(struct seed_onnx *m) {
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "pads", "axes",
                                        "perm",         "split",   "starts",    "ends", "scales"};
    static const char *const numbers[] = {"axis",          "group",
                                          "ceil_mode",     "count_include_pad",
                                          "keepdims",      "to",
                                          "blocksize",     "transB",
                                          "channels_last", "allowzero",
                                          "num_outputs",   "block_size",
                                          "output_dtype",  "exclude_outside",
                                          "batch_dims",    "num_groups",
                                          "num_heads",     "transA",
                                          "fmod",          "p",
                                          "size"};
    static const char *const words[] = {"SAME_UPPER", "VALID", "NOTSET", "nearest", "asymmetric", "floor",      "DCR",       "reflect",
                                        "constant",   "",      "linear", "cubic",   "ab,bc->ac",  "abcd->dcba", "...a->...", "tanh"};
    static const char *const texts[] = {"auto_pad", "mode", "coordinate_transformation_mode", "nearest_mode", "equation", "approximate"};
    static const int types[] = {TYPE_INT64, TYPE_INT64, TYPE_FLOAT, TYPE_FLOAT, TYPE_UINT8, TYPE_INT8, TYPE_INT32, TYPE_BOOL};
    const struct onnx_operator *op = onnx_any_operator(m);
    int64_t values[6];
    int inputs[8], count = onnx_any_count(m, op);
    for (uint32_t n = onnx_below(m, 3); n > 0; n--) {
        int length = (int)onnx_below(m, 6);
        for (int i = 0; i < length; i++) values[i] = onnx_any_int(m);
        onnx_ints(m, PICK(m, lists), values, length);
    }
    for (uint32_t n = onnx_below(m, 3); n > 0; n--) onnx_int(m, PICK(m, numbers), onnx_any_int(m));
    if (onnx_below(m, 2)) onnx_string(m, PICK(m, texts), PICK(m, words));
    if (onnx_below(m, 4) == 0) onnx_float_number(m, "alpha", 0.5f);
    struct pb saved = m->attributes; /* constants below are no nodes, but keep the order plain */
    for (int i = 0; i < count; i++) {
        int length = (int)onnx_below(m, 4);
        for (int k = 0; k < length; k++) values[k] = onnx_below(m, 20) ? 1 + onnx_below(m, 4) : 0;
        inputs[i] = onnx_below(m, 3) ? (int)onnx_below(m, (uint32_t)m->count) : onnx_constant(m, types[onnx_below(m, 8)], values, length);
        if (onnx_below(m, 20) == 0) inputs[i] = -1;
    }
    m->attributes = saved;
    m->outputs = onnx_below(m, 4) ? 1 : 1 + (int)onnx_below(m, 4);
    onnx_node(m, op->name, op->domain, inputs, count, (struct seed_value){.type = TYPE_FLOAT});
}

/* --- The file --------------------------------------------------------------------------------------------------------- */

/* A graph input or output; one of unknown shape where rank is below 0. */
static void onnx_shaped_info(struct seed_onnx *m, uint32_t field, int value, const int64_t *dims, int rank) {
    static struct pb info, type, tensor, shape, dim;
    char name[16];
    info.size = type.size = tensor.size = shape.size = 0;
    for (int i = 0; i < rank; i++) {
        dim.size = 0;
        if (i == 0 && onnx_below(m, 4) == 0) pb_text(&dim, 2, "batch");
        else pb_int(&dim, 1, dims[i]);
        pb_block(&shape, 1, dim.bytes, dim.size);
    }
    pb_int(&tensor, 1, m->values[value].type);
    if (rank >= 0) pb_block(&tensor, 2, shape.bytes, shape.size);
    pb_block(&type, 1, tensor.bytes, tensor.size);
    onnx_name(name, value);
    pb_text(&info, 1, name);
    pb_block(&info, 2, type.bytes, type.size);
    pb_block(&m->graph, field, info.bytes, info.size);
}

static void onnx_value_info(struct seed_onnx *m, uint32_t field, int value, int with_shape) {
    struct seed_value v = m->values[value];
    int64_t dims[4] = {v.n, v.c, v.h, v.w};
    onnx_shaped_info(m, field, value, dims, with_shape ? 4 : -1);
}

/* --- Control flow ------------------------------------------------------------------------------------------------------ */

enum { FLOW_DEEP = 2 };

static void onnx_flow(struct seed_onnx *m, int x, int deep);

/* Nodes of a graph inside a node, which read what stands around them as well. Of a Loop it has inputs, and says whether it goes on. */
static void onnx_body(struct seed_onnx *m, int x, int loop, int deep) {
    static const char *const ops[] = {"Add", "Mul", "Neg", "Identity", "Max", "Relu"};
    static const int types[] = {TYPE_INT64, TYPE_BOOL, TYPE_FLOAT};
    struct seed_value value = m->values[x];
    int inner[3] = {0}, y = x;
    for (int i = 0; loop && i < 3; i++) {
        inner[i] = onnx_new(m, (struct seed_value){.type = types[i]});
        onnx_shaped_info(m, 11, inner[i], NULL, -1);
        y = inner[i];
    }
    for (uint32_t n = 1 + onnx_below(m, 3); n > 0; n--) {
        const int inputs[2] = {y, onnx_below(m, 3) ? x : onnx_scalar(m, TYPE_FLOAT)};
        const char *op = PICK(m, ops);
        y = onnx_node(m, op, "", inputs, *op == 'A' || *op == 'M' ? 2 : 1, value);
        if (deep < FLOW_DEEP && onnx_below(m, 4) == 0) onnx_flow(m, y, deep + 1), y = m->count - 1;
    }
    const int least[2] = {inner[0], loop ? onnx_scalar(m, TYPE_INT64) : 0};
    if (loop)
        onnx_value_info(m, 12, onnx_below(m, 3) ? inner[1] : onnx_node(m, "Less", "", least, 2, (struct seed_value){.type = TYPE_BOOL}), 0);
    onnx_value_info(m, 12, y, 0);
    if (loop && onnx_below(m, 2)) onnx_value_info(m, 12, y, 0);
}

/* A Loop or an If. Its output is the newest value. */
static void onnx_flow(struct seed_onnx *m, int x, int deep) {
    static const char *const names[] = {"then_branch", "else_branch"};
    struct pb around, bodies[2];
    const int loop = (int)onnx_below(m, 2), at = onnx_scalar(m, loop ? TYPE_INT64 : TYPE_BOOL),
              inputs[3] = {at, onnx_below(m, 3) ? onnx_scalar(m, TYPE_BOOL) : -1, x}, count = m->count;
    around = m->graph;
    for (int b = 0; b < 2; b++) {
        m->graph.size = 0;
        onnx_body(m, x, loop, deep);
        bodies[b] = m->graph;
        m->count = count; /* what is inside has names of its own, which others may have as well */
    }
    m->graph = around;
    for (int b = 0; b < (loop ? 1 : 2); b++) {
        m->attribute.size = 0;
        pb_text(&m->attribute, 1, loop ? "body" : names[b]);
        pb_block(&m->attribute, 6, bodies[b].bytes, bodies[b].size);
        pb_int(&m->attribute, 20, 5);
        pb_block(&m->attributes, 5, m->attribute.bytes, m->attribute.size);
    }
    onnx_node(m, loop ? "Loop" : "If", "", inputs, loop ? 3 : 1, m->values[x]);
}

static inline int onnx_chain(struct seed_onnx *m, int x) {
    switch (onnx_below(m, 5)) {
    case 0: return onnx_pool(m, x);
    case 1: return onnx_unary(m, x);
    case 2: return onnx_qlinear(m, x);
    default: return onnx_conv(m, x);
    }
}

/* The graph as a model, of the opsets 1 of com.microsoft and m->opset. 0: it is larger than `capacity`. */
static size_t seed_finish(struct seed_onnx *m, uint8_t *bytes, size_t capacity) {
    static struct pb model, opset;
    model.size = opset.size = 0;
    pb_int(&model, 1, 8);
    pb_text(&m->graph, 2, "fuzz");
    pb_block(&model, 7, m->graph.bytes, m->graph.size);
    pb_int(&opset, 2, m->opset);
    pb_block(&model, 8, opset.bytes, opset.size);
    opset.size = 0;
    pb_text(&opset, 1, "com.microsoft");
    pb_int(&opset, 2, 1);
    pb_block(&model, 8, opset.bytes, opset.size);
    if (model.size > capacity) return 0;
    memcpy(bytes, model.bytes, model.size);
    return model.size;
}

static inline size_t seed_onnx(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static struct seed_onnx m;
    memset(&m, 0, sizeof m);
    m.random = seed;
    m.opset = 10 + (int)onnx_below(&m, 14);
    int size = 1 + (int)onnx_below(&m, 9), x = onnx_new(&m, (struct seed_value){TYPE_FLOAT, 1, 1 + (int)onnx_below(&m, 8), size, size});
    onnx_value_info(&m, 11, x, 1);
    x = onnx_quantize(&m, x);
    for (uint32_t n = onnx_below(&m, 5); n > 0; n--) x = onnx_chain(&m, x);
    for (uint32_t n = onnx_below(&m, 3) * onnx_below(&m, 3); n > 0; n--) onnx_wild(&m);
    x = onnx_below(&m, 2) ? x : onnx_dequantize(&m, x);
    for (uint32_t n = onnx_below(&m, 4) ? 0 : 1 + onnx_below(&m, 2); n > 0 && m.values[x].type == TYPE_FLOAT; n--)
        onnx_flow(&m, x, 0), x = m.count - 1;
    onnx_value_info(&m, 12, x, (int)onnx_below(&m, 2));
    for (int i = m.count - 1; i > 0 && onnx_below(&m, 3) == 0; i--) /* wild ones, too, must be wanted by somebody */
        if (i != x) onnx_value_info(&m, 12, i, 0);
    return seed_finish(&m, bytes, capacity);
}

#endif
