/* SPDX-License-Identifier: MIT */
/*
 * What of a float network becomes bytes, and by which quantization parameters.
 *
 * place() fills it for a graph: which nodes run in integers, which values get a QuantizeLinear and a DequantizeLinear, and which of them
 * share a scale. scheme_set_ranges() gives the values their scales, scheme_make_layers() the layers their integers. Up to there the
 * graph stays as it is; insert() writes all of it down as a QDQ graph. Between the last two anyone may change a layer: adaptive rounding
 * its values, bias correction its bias.
 *
 * Entry i of `values` and `nodes` is about graph->values[i] and graph->nodes[i], which must stay in their places. All of it lives in the
 * graph's memory.
 */
#ifndef MORSEL_TOOLS_QUANT_INSERT_SCHEME_H
#define MORSEL_TOOLS_QUANT_INSERT_SCHEME_H

#include "tools/onnx/graph.h"

struct scheme_options {
    bool signed_bytes;           /* activations in int8, not uint8 */
    bool symmetric;              /* activations: the zero point in the middle */
    bool reduced;                /* weights in 7 bits */
    bool per_tensor;             /* one scale for all of a layer's weights */
    bool dynamic;                /* layers quantize their input at run time; nothing else becomes bytes */
    bool clip_weights;           /* a layer's scale by least squared error, not by its largest weight */
    const char *const *excluded; /* nodes by name or operators, which stay float */
    size_t excluded_count;
    const char *const *at_run_time; /* the same, of layers among static ones that quantize their input at run time */
    size_t at_run_time_count;
};

/* A layer with constant weights in integers: Conv, ConvTranspose, Gemm, MatMul. */
struct scheme_layer {
    struct onnx_node *node;
    struct onnx_node *add;             /* behind a MatMul: the Add of a constant vector, which is its bias; else NULL */
    const struct onnx_tensor *weights; /* as they stand in the graph, float */
    size_t x;                          /* the value that it reads */
    size_t out;                        /* the value that comes out of it, before a Relu */
    int axis;                          /* of the weights, along the outputs */
    uint32_t outputs;                  /* channels that come out: as many as `bias` has */
    uint32_t scale_count;              /* dims[axis], or 1 */
    float factor;                      /* alpha of a Gemm: the values stand for weights times factor */
    float *scales;
    int8_t *values; /* in the order of the weights' constant, without zero point */
    float *bias;    /* [outputs], float; zeros where the layer had none */
    bool has_bias;  /* false: left out as long as `bias` is all zeros */
    bool dynamic;   /* its input is quantized at run time, and its result is float: only the weights have numbers here */
    int most;       /* values lie in -most..most */
};

enum scheme_role {
    SCHEME_FLOAT,    /* stays float: excluded, unknown, or at a small end of the network */
    SCHEME_LAYER,    /* struct scheme_layer says how */
    SCHEME_INTEGER,  /* reads bytes: sums and products of two activations, means, Softmax */
    SCHEME_MOVE,     /* the same numbers in other places: one scale for what goes in and what comes out */
    SCHEME_FUNCTION, /* of one quantized value, element by element: a table, together with its like */
    SCHEME_TAIL,     /* a Relu, Clip or added vector that belongs to the layer in front */
    SCHEME_NOTHING   /* does not depend on any input */
};

struct scheme_node {
    enum scheme_role role;
    bool rough; /* it looks lines up by what layers in bytes make */
    struct scheme_layer *layer;
};

struct scheme_value {
    bool quantized;       /* bytes: a pair stands behind it */
    size_t group;         /* the first of the values that have one scale with it; itself where it is alone */
    bool watched;         /* what it takes on decides about its group's range */
    bool fixed;           /* its range is low..high, whatever it took on */
    bool centred;         /* the zero point in the middle, if both signs come nearly as far: products are spared sums for it */
    float low, high;      /* of a value that scheme_set_scale() gets, too */
    float floor, ceiling; /* all numbers below, and all above, are alike to those that read it */
    float scale;          /* of every quantized value, after scheme_set_ranges() */
    int32_t zero;
};

struct scheme {
    struct onnx_graph *graph;
    struct scheme_options options;
    size_t value_count; /* of the graph when the scheme was made */
    struct scheme_value *values;
    struct scheme_node *nodes;
    size_t layer_count;
    struct scheme_layer *layers;                     /* in the order of the nodes */
    struct scheme_place *value_places, *node_places; /* pointers to indices */
    struct onnx_node ***readers;                     /* of values, each list ended by NULL */
};

/* Whether a node shall stay float, by its name or its operator. */
bool scheme_excludes(const struct scheme_options *options, const struct onnx_node *node);

/* Whether a node is among those whose input is quantized at run time, a layer that can, and not excluded. */
bool scheme_at_run_time(const struct scheme_options *options, const struct onnx_node *node);

/* One of a recurrent layer's cells, which read the same weights. */
bool scheme_is_cell(const struct onnx_node *layer);

/* Everything float. */
struct scheme *scheme_new(struct onnx_graph *graph, const struct scheme_options *options);

/* The index of a value in graph->values. */
size_t scheme_index(const struct scheme *scheme, const struct onnx_value *value);
size_t scheme_node_index(const struct scheme *scheme, const struct onnx_node *node); /* in graph->nodes */
struct scheme_value *scheme_value(const struct scheme *scheme, const struct onnx_value *value);
/* The nodes that read a value, each once, in the graph's order, up to a NULL. */
struct onnx_node *const *scheme_readers(const struct scheme *scheme, const struct onnx_value *value);

/* The least and largest byte of activations. */
int scheme_least(const struct scheme_options *options), scheme_most(const struct scheme_options *options);

/* Scale and zero point for its range. */
void scheme_set_scale(const struct scheme_options *options, struct scheme_value *v);

/* The range of a watched value; `context` is what scheme_set_ranges() got. */
typedef void scheme_range_fn(void *context, const struct onnx_value *value, float *low, float *high);

/* Scale and zero point of every quantized value: a group's range holds those of its watched and fixed values. */
void scheme_set_ranges(struct scheme *scheme, scheme_range_fn *range_of, void *context);

/* Scales, integers and biases of all layers, rounded to nearest (weights.c). Needs the scales of values. */
void scheme_make_layers(struct scheme *scheme);

/* The layer's weights in units of their scale, not rounded: what an adaptive rounding starts from. `out` has room for all. */
void scheme_exact_weights(const struct scheme_layer *layer, float *out);

#endif
