/* SPDX-License-Identifier: MIT */
/*
 * ONNX files by chance, with each operator that is converted, in a form that is: a chain of operators in QDQ style, now and then without a
 * quantization between two of them, as activations follow their layers. Included once, by the fuzzer.
 */
#ifndef MORSEL_TEST_SEED_GRAPH_H
#define MORSEL_TEST_SEED_GRAPH_H

#include "seed_onnx.h"

#include <stdlib.h>

/*
 * An operator, its inputs, its attributes. x: the last value, u: an earlier one, -: none. %DIMS: constant floats, behind a
 * DequantizeLinear; =DIMS: as they are; #NUMBER: one of them; $LIST: integers. In dimensions and numbers C stands for the channels of x, W
 * for its width, F for all of a picture. A semicolon: the next operator, of the result.
 * name=LIST, name:INTEGER, name~FLOAT, name@TEXT
 */
static const char *const graph_recipes[] = {
    "Conv x %CxCx3x3 pads=1,1,1,1",
    "Conv x %CxCx1x1 =C",
    "Conv x %Cx1x3x3 pads=1,1,1,1 group:C",
    "Conv x %CxCx3x3 =C pads=2,2,2,2 dilations=2,2",
    "Conv x %CxCx2x2 auto_pad@SAME_UPPER strides=1,1",
    "ConvTranspose x %CxCx2x2 strides=2,2",
    "ConvTranspose x %CxCx3x3 =C strides=2,2 pads=1,1,1,1 output_padding=1,1",
    "MaxPool x kernel_shape=2,2 strides=1,1 pads=0,0,1,1",
    "MaxPool x kernel_shape=3,3 strides=2,2 pads=1,1,1,1 ceil_mode:1",
    "AveragePool x kernel_shape=3,3 pads=1,1,1,1 count_include_pad:1",
    "AveragePool x kernel_shape=2,2 auto_pad@SAME_LOWER",
    "GlobalAveragePool x",
    "GlobalMaxPool x",
    "Add x u",
    "Mul x %Cx1x1",
    "Sub x =Cx1x1",
    "Div x =1xCx1x1",
    "Max x u",
    "Min x #0.5",
    "Pow x #2",
    "Sum x u",
    "Mean x u",
    "PRelu x =Cx1x1",
    "Clip x #-0.5 #0.5",
    "Clip x - #6",
    "LeakyRelu x alpha~0.1",
    "HardSigmoid x alpha~0.2 beta~0.5",
    "Elu x",
    "Softmax x axis:1",
    "Softmax x axis:-1",
    "BatchNormalization x =C =C =C =C",
    "LayerNormalization x =C axis:-1",
    "InstanceNormalization x =C =C",
    "GroupNormalization x =C =C num_groups:1",
    "RMSNormalization x =C axis:-1",
    "LpNormalization x axis:1",
    "Transpose x perm=0,2,3,1",
    "Transpose x perm=0,3,1,2",
    "Transpose x perm=0,1,3,2",
    "Transpose x",
    "Reshape x $0,-1",
    "Reshape x $1,C,-1,1",
    "Flatten x axis:1",
    "Squeeze x $0",
    "Unsqueeze x $-1",
    "Expand x $2,1,1,1",
    "Tile x $1,1,2,1",
    "Conv x %8xCx1x1;DepthToSpace x blocksize:2",
    "Conv x %4xCx1x1;DepthToSpace x blocksize:2 mode@CRD",
    "SpaceToDepth x blocksize:2",
    "Slice x $0 $-1 $2 $1",
    "Slice x $-1 $-9 $3 $-1",
    "Split x axis:2 num_outputs:1",
    "Pad x $0,0,1,1,0,0,1,1",
    "Pad x $0,0,1,0,0,0,0,1 mode@edge",
    "Concat x u axis:1",
    "Concat x x axis:-2",
    "Gather x $0,1 axis:1",
    "Gather x $0,-1,0 axis:2",
    "Resize x - =4v1,1,2,2 mode@nearest",
    "Resize x - =4v1,1,2,2 mode@linear",
    "Identity x",
    "Dropout x",
    "Cast x to:1",
    "ReduceMean x $2,3 keepdims:1",
    "ReduceMean x axes=2,3",
    "ReduceMean x axes=-1 keepdims:0",
    "ReduceSum x $1 keepdims:1",
    "ReduceMax x axes=2",
    "ReduceL2 x axes=1 keepdims:1",
    "MatMul x %WxW",
    "MatMul x %Wx3",
    "Transpose x perm=0,1,3,2;MatMul x x",
    "Flatten x axis:1;MatMul x %Fx3",
    "Flatten x axis:1;Gemm x %3xF =3 transB:1",
    "Relu x",
    "Sigmoid x",
    "Where =1 x u",
};

/* Follow a layer without a quantization between. */
static const char *const graph_tails[] = {"Relu x", "Clip x #0 #6", "Clip x - #6", "Add x =Cx1x1", "Mul x =1", "Relu x", "Identity x"};

struct graph_word {
    const char *at;
    struct seed_value x;
};

static int64_t graph_letter(const struct seed_value *x, char letter) {
    return letter == 'C' ? x->c : letter == 'W' ? x->w : letter == 'F' ? (int64_t)x->c * x->h * x->w : 0;
}

/* "1,C,-1" or "CxCx3x3": how many numbers. */
static int graph_numbers(struct graph_word *w, int64_t *values, int most) {
    int count = 0;
    for (; count < most; w->at++) {
        char *end = (char *)(uintptr_t)w->at;
        int64_t letter = graph_letter(&w->x, *w->at);
        values[count++] = letter ? letter : strtoll(w->at, &end, 10);
        w->at = letter ? w->at + 1 : end;
        if (*w->at != ',' && *w->at != 'x') break;
    }
    return count;
}

static int graph_list(struct seed_onnx *m, int type, const int64_t *dims, int rank, const void *data, size_t bytes) {
    char name[16];
    int value = onnx_new(m, (struct seed_value){.type = type});
    onnx_name(name, value);
    m->tensor.size = 0;
    for (int i = 0; i < rank; i++) pb_int(&m->tensor, 1, dims[i]);
    pb_int(&m->tensor, 2, type);
    pb_text(&m->tensor, 8, name);
    pb_block(&m->tensor, 9, data, bytes);
    pb_block(&m->graph, 5, m->tensor.bytes, m->tensor.size);
    return value;
}

/* The bytes of a constant behind a DequantizeLinear. */
static int graph_quantized(struct seed_onnx *m, const int64_t *dims, int rank) {
    int inputs[3] = {onnx_constant(m, TYPE_INT8, dims, rank), onnx_scalar(m, TYPE_FLOAT), -1};
    int8_t zero = 0;
    inputs[2] = graph_list(m, TYPE_INT8, NULL, 0, &zero, 1);
    return onnx_node(m, "DequantizeLinear", "", inputs, 3, (struct seed_value){.type = TYPE_FLOAT});
}

static int graph_input(struct seed_onnx *m, const char *word, int x, int u) {
    struct graph_word w = {word + 1, m->values[x]};
    int64_t values[8];
    float number = (float)atof(word + 1), floats[8];
    int count;
    switch (*word) {
    case 'x': return x;
    case 'u': return u;
    case '-': return -1;
    case '#': return graph_list(m, TYPE_FLOAT, NULL, 0, &number, sizeof number);
    case '$': count = graph_numbers(&w, values, 8); return graph_list(m, TYPE_INT64, (int64_t[]){count}, 1, values, 8 * (size_t)count);
    default: break;
    }
    count = graph_numbers(&w, values, 8);
    if (*w.at == 'v') { /* so many floats, stated */
        w.at++;
        graph_numbers(&w, values, 8);
        for (int i = 0; i < 4; i++) floats[i] = (float)values[i];
        return graph_list(m, TYPE_FLOAT, (int64_t[]){4}, 1, floats, sizeof(float[4]));
    }
    return *word == '%' ? graph_quantized(m, values, count) : onnx_constant(m, TYPE_FLOAT, values, count);
}

static void graph_attribute(struct seed_onnx *m, char *word, int x) {
    char *sign = strpbrk(word, "=:~@"), kind = *sign;
    struct graph_word w = {sign + 1, m->values[x]};
    int64_t values[8];
    *sign = 0;
    if (kind == '@') {
        onnx_string(m, word, sign + 1);
    } else if (kind == '~') {
        onnx_float_number(m, word, (float)atof(sign + 1));
    } else {
        int count = graph_numbers(&w, values, 8);
        if (kind == ':') onnx_int(m, word, values[0]);
        else onnx_ints(m, word, values, count);
    }
}

static int graph_operator(struct seed_onnx *m, char *recipe, int x, int u) {
    char *op = strsep(&recipe, " "), *word;
    int inputs[8], count = 0;
    while ((word = strsep(&recipe, " "))) {
        if (strchr("xu-#$%=", *word) && (*word == '=' || !strpbrk(word, ":@~"))) inputs[count++] = graph_input(m, word, x, u);
        else graph_attribute(m, word, x);
    }
    struct seed_value y = m->values[x];
    y.type = TYPE_FLOAT;
    return onnx_node(m, op, "", inputs, count, y);
}

static int graph_operators(struct seed_onnx *m, const char *recipe, int x, int u) {
    char copy[200], *next = copy, *one;
    snprintf(copy, sizeof copy, "%s", recipe);
    while ((one = strsep(&next, ";"))) x = graph_operator(m, one, x, u);
    return x;
}

static inline size_t seed_graph(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static struct seed_onnx m;
    memset(&m, 0, offsetof(struct seed_onnx, values));
    m.graph.size = m.node.size = m.attribute.size = m.tensor.size = m.attributes.size = 0;
    m.random = seed;
    m.opset = onnx_below(&m, 2) ? 18 : 10 + (int)onnx_below(&m, 14);
    int size = 2 + (int)onnx_below(&m, 5), x = onnx_new(&m, (struct seed_value){TYPE_FLOAT, 1, 1 + (int)onnx_below(&m, 6), size, size});
    onnx_value_info(&m, 11, x, 1);
    x = onnx_dequantize(&m, onnx_quantize(&m, x));
    for (uint32_t n = 1 + onnx_below(&m, 4), u = (uint32_t)x; n > 0; n--) {
        int before = x;
        x = graph_operators(&m, PICK(&m, graph_recipes), x, (int)u);
        if (onnx_below(&m, 2)) x = graph_operators(&m, PICK(&m, graph_tails), x, before);
        if (onnx_below(&m, 4)) x = onnx_dequantize(&m, onnx_quantize(&m, x));
        u = (uint32_t)before;
    }
    if (onnx_below(&m, 2)) x = onnx_quantize(&m, x);
    onnx_value_info(&m, 12, x, 0);
    return seed_finish(&m, bytes, capacity);
}

#endif
