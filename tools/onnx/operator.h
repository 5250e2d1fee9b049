/* SPDX-License-Identifier: MIT */
/*
 * What an operator is: a row of the table in operators.c, and one or two functions in an op_*.c file. The rooms that compute with it go by
 * its class, its traits and its function of numbers, or have a row of their own.
 *
 * An infer function gives a node's outputs their shapes. The inputs all have known types and shapes, and are as many as the row demands. A
 * fold function runs when all inputs are constants, after infer, and computes the outputs.
 *
 * To add an operator: write its infer function (and fold, if shapes are computed with it) beside its family, declare it here, add a row.
 */
#ifndef MORSEL_TOOLS_ONNX_OPERATOR_H
#define MORSEL_TOOLS_ONNX_OPERATOR_H

#include "tools/onnx/functions.h"
#include "tools/onnx/graph.h"

struct onnx_context {
    struct onnx_graph *graph;
    struct onnx_node *node;
    char why[240];
};

/* True: outputs are set, or left unknown because they depend on data. False: the node is malformed, c->why says how. */
typedef bool onnx_infer_fn(struct onnx_context *c);
/* Sets the outputs' constants, or leaves them to be computed at run time. */
typedef void onnx_fold_fn(struct onnx_context *c);

/* The type of the outputs: that of an input, by its number, or one of these. */
enum onnx_type_rule {
    GIVES_BOOL = -1,
    GIVES_INT64 = -2,
    GIVES_INT32 = -3,
    GIVES_FLOAT = -4,
    GIVES_TO = -5,          /* attribute `to` */
    GIVES_CONSTANT = -6,    /* infer sets it */
    GIVES_QUANTIZED = -7,   /* QuantizeLinear: attribute output_dtype, or the zero point's, or uint8 */
    GIVES_DEQUANTIZED = -8, /* DequantizeLinear: attribute output_dtype, or the scale's */
    GIVES_QGEMM = -9,       /* the output zero point's, or float where there is none */
    GIVES_UINT8 = -10
};

/* A list of integers that is an input from an opset on. */
struct onnx_list_input {
    const char *name; /* of the attribute before; NULL ends the operator's lists */
    int input, from_opset;
};

/* What an operator is to those who quantize and lower: how its result follows from its inputs. */
enum onnx_class {
    ONNX_OTHER,
    ONNX_LAYER, /* sums of an activation times weights */
    ONNX_POOL,  /* averages */
    ONNX_SOFTMAX,
    ONNX_MOVE,     /* elements of the first input, in another shape, order or choice */
    ONNX_JOIN,     /* elements of all inputs */
    ONNX_PAIR,     /* of two operands, element by element: arithmetic that blobs have steps for */
    ONNX_FUNCTION, /* of the first input, element by element; what stands beside it is constant */
};

/* What holds for an operator whatever its attributes, or in the cases that whoever asks has checked. */
enum onnx_trait {
    ONNX_BOUND = 1 << 1,           /* keeps its first input between two numbers */
    ONNX_NOT_NEGATIVE = 1 << 2,    /* gives 0 or more */
    ONNX_AT_MOST_ONE = 1 << 3,     /* gives 1 or less */
    ONNX_SCALES = 1 << 4,          /* f(s * x) = s * f(x) for s > 0, by channel; if it reshapes, where channels stay */
    ONNX_SHIFTS = 1 << 5,          /* f(x + s) = f(x) + s by channel, where nothing is padded and channels stay */
    ONNX_RESHAPES = 1 << 6,        /* states another shape of the same elements in the same order */
    ONNX_KEEPS_ORDER = 1 << 7,     /* gives what it gets where the shape stays the same */
    ONNX_KEEPS_ONE = 1 << 8,       /* of one operand it gives that */
    ONNX_VIEW = 1 << 9,            /* whoever quantizes its results may as well quantize its input */
    ONNX_CHANNELS_FIRST = 1 << 10, /* axis 1 of its result is channels, however many dimensions there are */
    ONNX_WHOLE = 1 << 11,          /* gives an operand, 0 or a truth value: the float executor takes integers as well */
    ONNX_QUANTIZED = 1 << 12,      /* only networks that are quantized have it */
    ONNX_UNCHANGED = 1 << 14,      /* means the same in opsets 7 to 14, as every function of one number but Clip does */
    ONNX_DYNAMIC = 1 << 13,        /* quantizes activations at run time, or reads such */
};

/* The attribute of a Conv, MatMul or Gemm whose weights stand behind a DequantizeLinear: its input is quantized at run time. Ours alone. */
#define ONNX_DYNAMIC_MARK "morsel_dynamic"
#define ONNX_OWN "morsel" /* the domain of operators that passes put in */

/* The attribute of a node that stays float. 1: it computes with whole numbers, which bytes would round. 2: with others that it must not
 * round, or a user wants it so. Ours alone: never written, and not taken from a file. */
#define ONNX_EXACT_MARK "morsel_exact"
enum { ONNX_IS_WHOLE = 1, ONNX_STAYS_FLOAT = 2 };

struct onnx_operator {
    const char *domain, *name;
    int since, until; /* opsets of its domain in which it exists */
    int min_inputs, max_inputs, max_outputs;
    int type; /* number of an input, or enum onnx_type_rule */
    onnx_infer_fn *infer;
    onnx_fold_fn *fold;
    enum onnx_class class;
    unsigned traits;                      /* enum onnx_trait */
    const struct onnx_function *function; /* of one number */
    const struct onnx_function_of_two *of_two;
    const struct onnx_list_input *lists; /* NULL: none is ever an input */
    const char *taken;                   /* in which form a pass says it in others, where not in all */
};

/* NULL: not in the table. */
const struct onnx_operator *onnx_operator_find(const char *domain, const char *name);
/* The rows one by one, for whoever must know them all; NULL behind the last. */
const struct onnx_operator *onnx_operator_at(size_t index);
const struct onnx_operator *onnx_operator_of(const struct onnx_node *node);
/* A FastGelu to whose input a second one is added first. */
bool onnx_adds(const struct onnx_node *node);
/* The function of one number that the node is, and its parameters; NULL: it is none. */
const struct onnx_function *onnx_function_of(const struct onnx_node *node, struct onnx_parameters *p);
/* What morsel takes in the place of a node that nobody takes as it is, as the end of a sentence; "": nothing is known. */
const char *onnx_advice(const struct onnx_node *node);
/* False also of no node, of one that was refused, and of one whose operator is not in the table. */
bool onnx_has(const struct onnx_node *node, enum onnx_trait trait);
enum onnx_class onnx_class_of(const struct onnx_node *node);

/* Of those that operators in the table have: the type that an attribute of the node must have, by ONNX's number; 0: nobody reads it. */
int onnx_attribute_type(const struct onnx_node *node, const char *name);
/* Whether all have their types; if not, c->why says which has not. */
bool onnx_check_attributes(struct onnx_context *c);

/* ---- for infer functions ---- */

/* Writes c->why; always false. */
bool onnx_bad(struct onnx_context *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether no input holds truth values. Who gave their type to others would make floats of those where it becomes one. */
bool onnx_takes_numbers(struct onnx_context *c);
/* The shape of input i, which must be there. */
const struct onnx_shape *onnx_in(const struct onnx_context *c, int i);
/* Sets output i's shape where the node has that output. False: impossible. */
bool onnx_out(struct onnx_context *c, int i, const struct onnx_shape *shape);
void onnx_out_type(struct onnx_context *c, int i, enum onnx_type type);
/* A number from -rank to rank-1 becomes 0 to rank-1. */
bool onnx_axis(struct onnx_context *c, int64_t axis, int rank, int *out);
/* onnx_integers(); c->why says so where it is ONNX_NO_LIST. */
int onnx_list(struct onnx_context *c, const char *name, int64_t *out, int max);
/* Both shapes broadcast to one. */
bool onnx_broadcast(struct onnx_context *c, const struct onnx_shape *a, const struct onnx_shape *b, struct onnx_shape *out);
bool onnx_same_shape(const struct onnx_shape *a, const struct onnx_shape *b);

/* ---- for fold functions ---- */

/* Makes output i a constant of its type and shape, zeroed, and returns it. NULL: absent, too large to be worth it, or of a type without
 * numbers. */
struct onnx_tensor *onnx_out_constant(struct onnx_context *c, int i);
/* Allows `elements` more steps of folding; false once a graph has used up its share, which only a hostile one does. */
bool onnx_spend(struct onnx_context *c, size_t elements);
/* to[...] = from[offset + sum of index * stride], all counted in elements. Strides may be 0 (repetition) or negative. */
void onnx_copy_strided(const struct onnx_tensor *from, int64_t offset, const int64_t *strides, struct onnx_tensor *to);
/* Row-major strides. */
void onnx_strides(const struct onnx_shape *shape, int64_t *strides);
/* Strides that read `from` as if it were broadcast to `to`. */
void onnx_broadcast_strides(const struct onnx_shape *from, const struct onnx_shape *to, int64_t *strides);
/* The next index in row-major order; `at` has one position for each operand, moved by its strides. */
void onnx_advance(const struct onnx_shape *shape, int64_t *index, int operands, const int64_t (*strides)[ONNX_MAX_RANK], int64_t *at);
bool onnx_is_float(enum onnx_type type);   /* float and double; float16 is not computed with */
bool onnx_is_integer(enum onnx_type type); /* and bool */
void onnx_store_integer(struct onnx_tensor *tensor, size_t i, int64_t value);
void onnx_store_number(struct onnx_tensor *tensor, size_t i, double value);

/* ---- the operators ---- */

onnx_infer_fn onnx_infer_conv, onnx_infer_qlinear_conv, onnx_infer_conv_integer, onnx_infer_conv_transpose;
onnx_infer_fn onnx_infer_pool, onnx_infer_qlinear_pool, onnx_infer_global_pool, onnx_infer_qlinear_global_pool;
onnx_infer_fn onnx_infer_einsum, onnx_infer_matmul, onnx_infer_qlinear_matmul, onnx_infer_gemm, onnx_infer_qgemm;
onnx_fold_fn onnx_fold_matmul, onnx_fold_matmul_integer, onnx_fold_gemm, onnx_fold_dynamic_quantize, onnx_fold_batch_norm, onnx_fold_sums;
onnx_infer_fn onnx_infer_same, onnx_infer_numbers, onnx_infer_power, onnx_infer_not, onnx_infer_logic, onnx_infer_where,
    onnx_infer_arithmetic, onnx_infer_qlinear_binary, onnx_infer_qlinear_where;
onnx_infer_fn onnx_infer_fused_matmul, onnx_infer_fused_conv, onnx_infer_bias_gelu, onnx_infer_skip_layer_norm, onnx_infer_embed_layer_norm,
    onnx_infer_qembed_layer_norm;
onnx_infer_fn onnx_infer_recurrent;
int onnx_recurrent_gates(const struct onnx_node *node);  /* of LSTM, GRU or RNN */
bool onnx_recurrent_bytes(const struct onnx_node *node); /* DynamicQuantizeLSTM: its weights lie turned, and have scales */
onnx_infer_fn onnx_infer_attention, onnx_infer_qattention, onnx_infer_multi_head_attention, onnx_infer_standard_attention;
onnx_infer_fn onnx_infer_rotary, onnx_infer_gated, onnx_infer_compress, onnx_infer_eye, onnx_infer_non_zero;
onnx_fold_fn onnx_fold_eye, onnx_fold_non_zero;
/* How blocks of a Col2Im go over a picture, by its two dimensions; `rest`: what no block reaches at the end. False: impossible. */
struct onnx_columns {
    int64_t size[2], block[2], stride[2], dilation[2], pad_begin[2], pad_end[2], positions[2], rest[2];
};
bool onnx_columns(const struct onnx_node *node, struct onnx_columns *columns);
onnx_infer_fn onnx_infer_columns;
/* How many elements a ScatterND or ScatterElements puts into its data; -1: their places are no constants, or none. */
int64_t onnx_scatter_count(struct onnx_context *c);
/* Of so many, the places: those of elements of the data, counted in their order. */
void onnx_scatter_places(struct onnx_context *c, int64_t *places);
int64_t onnx_rotary_size(const struct onnx_node *node); /* of each head of a RotaryEmbedding; 0: nobody says */
/* A matrix product of inputs that have these shapes. */
bool onnx_infer_product(struct onnx_context *c, const struct onnx_shape *left, const struct onnx_shape *right);
onnx_infer_fn onnx_infer_dropout, onnx_infer_batch_norm, onnx_infer_layer_norm, onnx_infer_prelu, onnx_infer_axis_same, onnx_infer_sums;
onnx_infer_fn onnx_infer_spectrum, onnx_infer_window, onnx_infer_affine_grid;
onnx_fold_fn onnx_fold_dropout, onnx_fold_function, onnx_fold_function_of_two, onnx_fold_where, onnx_fold_clip, onnx_fold_copy,
    onnx_fold_cast;
onnx_infer_fn onnx_infer_quantize, onnx_infer_dynamic_quantize;
onnx_fold_fn onnx_fold_quantize, onnx_fold_dequantize;
onnx_infer_fn onnx_infer_reshape, onnx_infer_flatten, onnx_infer_squeeze, onnx_infer_unsqueeze, onnx_infer_transpose, onnx_infer_expand;
onnx_infer_fn onnx_infer_tile, onnx_infer_depth_to_space, onnx_infer_space_to_depth;
onnx_fold_fn onnx_fold_transpose, onnx_fold_expand, onnx_fold_tile;
onnx_infer_fn onnx_infer_slice, onnx_infer_split, onnx_infer_pad;
onnx_fold_fn onnx_fold_slice, onnx_fold_split;
onnx_infer_fn onnx_infer_concat, onnx_infer_qlinear_concat, onnx_infer_gather, onnx_infer_gather_elements;
onnx_infer_fn onnx_infer_gather_nd, onnx_infer_one_hot;
onnx_fold_fn onnx_fold_one_hot, onnx_fold_concat, onnx_fold_gather, onnx_fold_gather_elements, onnx_fold_gather_nd;
onnx_fold_fn onnx_fold_scatter_elements, onnx_fold_scatter_nd;
onnx_infer_fn onnx_infer_constant, onnx_infer_constant_of_shape, onnx_infer_range, onnx_infer_shape_of, onnx_infer_size_of,
    onnx_infer_trilu;
onnx_fold_fn onnx_fold_constant, onnx_fold_constant_of_shape, onnx_fold_range, onnx_fold_window, onnx_fold_shape_of, onnx_fold_size_of,
    onnx_fold_trilu;
onnx_infer_fn onnx_infer_grid_sample, onnx_infer_suppression;
onnx_infer_fn onnx_infer_reduce, onnx_infer_arg, onnx_infer_topk, onnx_infer_qlinear_reduce;
onnx_fold_fn onnx_fold_reduce;
onnx_infer_fn onnx_infer_resize;

#endif
