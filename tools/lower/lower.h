/* SPDX-License-Identifier: MIT */
/*
 * From an ONNX graph to steps. Nodes are walked in order; each value gets a meaning (struct meaning): which buffer holds it, how it lies
 * there, and what a byte of it stands for. Most nodes only change the meaning: DequantizeLinear says "read it as floats", Transpose
 * changes the view, Sigmoid between DequantizeLinear and QuantizeLinear becomes a table. Steps come out where numbers must be computed.
 */
#ifndef MORSEL_TOOLS_LOWER_LOWER_H
#define MORSEL_TOOLS_LOWER_LOWER_H

#include "tools/net/net.h"
#include "tools/lower/view.h"
#include "tools/onnx/operator.h"

struct meaning {
    bool poison;               /* comes from a node that was refused, and nothing can be said of it */
    bool stand_in;             /* comes from one, and is a made-up value so that the walk can go on */
    struct net_buffer *buffer; /* NULL for a constant */
    struct view view;
    uint32_t fill; /* the bits that stand where the view has no element */
    /* q8 buffers */
    bool dequantized; /* behind a DequantizeLinear: stands for scale * (byte - zero) */
    float scale;      /* of this reading */
    int32_t zero;
    const float *table; /* [table_channels][256] by byte: stands for table[c][byte] instead; NULL: none */
    uint32_t table_channels, table_axis;
    const float *line_scale,
        *line_offset; /* [table_channels]: but for limits, the table is a line through the bytes' numbers; may be NULL */
    const float
        *channel_scales; /* quantized by channel along axis 1: then scale is 1, and `dequantized` comes with a table; NULL: per tensor */
    const int32_t *channel_zeros; /* where they differ by channel; then only the table says what a byte stands for */
    /* Constants behind a DequantizeLinear (weights, biases): scales and zero points by `axis`, or one. */
    const struct onnx_tensor *quantized;
    const struct onnx_tensor *scales, *zeros;
    int axis;
    const struct reading *reading; /* of a DynamicQuantizeLinear (dynamic.h); but for its bytes there is no buffer then. NULL: none */
};

/* What the walk knows of a value; onnx_value.lowered points at it. */
struct value_slot {
    struct meaning *meaning; /* NULL until its node was lowered, and for plain constants */
    int reader_count;
    struct onnx_node **readers;
    struct found *found[2]; /* what quantizes it at run time for marked layers: as a whole, and by lines; NULL: nothing yet (dynamic.h) */
};

struct lowering {
    struct onnx_graph *graph;
    struct net *net;
    struct onnx_report *report;
    bool floats_meant; /* the graph has quantized operators at all, so that a float layer among them is meant; or says that it is */
    const struct onnx_node *first_float, *last_float; /* layers that run in float: */
    size_t float_count;
    size_t table_room;         /* channels that tables by channel may yet have in all (function.c) */
    size_t memory_room;        /* bytes that the net may have taken before a node (room.c) */
    uint64_t walked;           /* of views, by nodes so far: each entry counts as some bytes of that room */
    struct gathered *gathered; /* meaning.c's own: what was gathered lately, for other readers */
};

enum { LOWER_MOST_STEPS = 8 * MORSEL_FORMAT_MAX_STEPS }; /* of a net that nothing was merged in yet */

/* The whole pass. NULL where anything was refused: the report says what. */
struct net *lower(struct onnx_graph *graph, struct onnx_report *report);
/* The same with room for so many bytes of weights and tables, whatever the file holds. */
struct net *lower_within(struct onnx_graph *graph, struct onnx_report *report, size_t memory);

/* One operator family each; false: refused, with the reason in the report. */
typedef bool lower_fn(struct lowering *l, struct onnx_node *node);
lower_fn lower_quantize, lower_dequantize, lower_cast;
lower_fn lower_qlinear_conv, lower_conv, lower_conv_transpose;
lower_fn lower_qlinear_matmul, lower_qgemm, lower_matmul, lower_gemm;
lower_fn lower_qlinear_binary, lower_binary;
lower_fn lower_unary, lower_clip, lower_function_by_channel, lower_qlinear_unary, lower_batch_norm;
lower_fn lower_pool, lower_qlinear_average_pool, lower_global_pool, lower_qlinear_global_pool, lower_reduce_mean;
lower_fn lower_softmax, lower_qlinear_softmax;
lower_fn lower_dynamic_quantize, lower_conv_integer, lower_matmul_integer, lower_matmul_integer_to_float, lower_dynamic_matmul;
lower_fn lower_concat, lower_qlinear_concat;
lower_fn lower_identity, lower_reshape, lower_transpose, lower_slice, lower_split, lower_pad, lower_resize, lower_expand, lower_gather,
    lower_space, lower_grid_sample, lower_suppression;

/* --- Dynamic quantization (op_dynamic.c) --- */

/* A layer that `quantize --dynamic` marked, whose weights are integers behind a DequantizeLinear: a convolution whose window is read, or a
 * product with weights [inputs, outputs], or transposed. */
struct weights;
bool dynamic_is_marked(const struct onnx_node *node, const struct meaning *weights);
bool lower_dynamic_window(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window,
                          const struct weights *geometry);
bool lower_dynamic_product(struct lowering *l, struct onnx_node *node, struct meaning *m, bool transposed);

/* Whether the node reads what only this knows: scales found at run time, and sums that wait for them. Then the next is for it. */
bool dynamic_reads(struct lowering *l, const struct onnx_node *node);
lower_fn lower_dynamic_arithmetic;
/* Has the bytes that the node reads written, where nothing else does. */
void dynamic_settle(struct lowering *l, const struct onnx_node *node);
/* Gives the scale, the zero point or the bytes a buffer, for an output of the network; false: it is none of them. */
bool dynamic_output(struct lowering *l, struct onnx_value *value);

/* A product of two activations of which one is float; out: its shape, where vectors are matrices (op_float_matmul.c). */
bool lower_float_pair(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b,
                      const struct onnx_shape *out);

/* A Gather from a constant table by indices that are known at run time. */
bool lower_lookup(struct lowering *l, struct onnx_node *node);

/* --- Meanings (meaning.c) --- */
struct meaning *meaning_of(struct lowering *l, const struct onnx_value *value); /* NULL: a plain constant */
struct meaning *meaning_set(struct lowering *l, struct onnx_value *value, struct meaning meaning);
/* The meaning of input i where it is an activation; otherwise refuses (absent, constant) or passes poison on: NULL. */
struct meaning *activation(struct lowering *l, struct onnx_node *node, int i);
/* Any input is poison. */
bool poisoned(struct lowering *l, const struct onnx_node *node);

/* Settles scale and zero point of a q8 integer value as a reader states them; copies where the buffer was known under others. */
bool meaning_qualify(struct lowering *l, struct onnx_node *node, struct meaning *m, float scale, int32_t zero);
/* Whether the value is kept in bytes by scale and zero point alone, without a table. */
bool meaning_is_affine(const struct meaning *m);

/* The buffer that holds the value in the layout, gathered where it must be; tables are applied first (float). For rank 4 values
 * CHANNELS_LAST buffers have dims N H W C; rank 3 values N L C. */
struct net_buffer *meaning_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout);
/* The same for steps that ask for no dimensions, only for bytes in that order. */
struct net_buffer *meaning_bytes(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout);
/* The same, but any permutation of the buffer will do: *view says how the value lies in it. */
struct net_buffer *meaning_any_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view);
/* The same, and by-channel tables of the value can be applied to it as it lies. */
struct net_buffer *meaning_table_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view);
enum morsel_layout natural_layout(const struct onnx_shape *shape); /* CHANNELS_LAST for rank 4 */

/* A fresh meaning for a buffer that holds a whole value. */
struct meaning meaning_fresh(struct lowering *l, struct net_buffer *buffer, const struct onnx_shape *shape);
/* Gathers the value into a buffer of its own, in its natural layout. */
bool meaning_settle(struct lowering *l, struct onnx_node *node, struct meaning *m);
/* The same with the channels (axis 1) last, where it does not lie so already. */
bool meaning_channels_last(struct lowering *l, struct onnx_node *node, struct meaning *m);
/* A constant of 8 bits or floats as a buffer in the blob's data. */
bool meaning_constant(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, float scale, int32_t zero,
                      struct meaning *out);
/* The same of 8 bits only, with a zero point that its type holds. */
bool meaning_constant_bytes(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, float scale, int32_t zero,
                            struct meaning *out);
/* A buffer for a value, quantized or (type MORSEL_FLOAT32) not. */
struct net_buffer *value_buffer(struct lowering *l, const struct onnx_value *value, enum morsel_type type, enum morsel_layout layout,
                                float scale, int32_t zero);

/* Quantization parameters that stand in the file: scale, zero point (either may be absent: 1 and 0), type from the zero point. */
struct quantization {
    enum morsel_type type;
    float scale;
    int32_t zero;
    uint32_t channels;    /* NNCF quantizes what goes into depthwise convolutions by channel: then how many, along axis 1 */
    const float *scales;  /* [channels], else NULL; scale is 1 then */
    const int32_t *zeros; /* [channels] where they differ, else NULL and `zero` serves all */
};
/* False, with the reason in *why (may be NULL), where they are not one constant each, or of another type than the value; where that is
 * ONNX_UNKNOWN, the zero point's, else the output_dtype or uint8, is taken. */
bool read_quantization(const struct onnx_node *node, int scale_input, int zero_input, enum onnx_type value_type, struct quantization *out,
                       const char **why);

/* --- Tails (tail.c): what follows an operator up to its QuantizeLinear --- */
struct tail {
    struct onnx_value *value; /* the value the step produces */
    bool dequantized;         /* it is the float value that QuantizeLinear reads, not the integer one it gives */
    bool quantized;           /* it ends in a QuantizeLinear: q says how; otherwise the value is float */
    bool activation_stays;    /* ONNX Runtime keeps a Relu or Clip apart here, and computes in float */
    bool activation;          /* there is a Relu or Clip */
    struct quantization q;
    int32_t out_min, out_max; /* q8 */
    float float_min, float_max;
    const struct onnx_tensor *bias;      /* an Add of a constant vector along the last axis, where TAIL_BIAS asks for it */
    const struct onnx_value *whole_bias; /* TAIL_WHOLE_BIAS: that one, behind a DequantizeLinear */
};
/* Follows readers while there is one: Relu, Clip, QuantizeLinear, integer Clip. Absorbed nodes are marked done. */
enum tail_wish {
    TAIL_BIAS = 1,             /* takes an Add of a constant vector */
    TAIL_CHANNELS = 2,         /* can quantize by channel */
    TAIL_ONLY_QUANTIZED = 4,   /* has no use for a Relu or Clip that no QuantizeLinear follows: leaves it alone */
    TAIL_NO_ACTIVATION = 8,    /* takes no Relu or Clip at all */
    TAIL_NO_INTEGER_CLIP = 16, /* takes none behind the QuantizeLinear */
    TAIL_ONLY_DROPPED = 32,    /* takes a Relu or Clip only where ONNX Runtime drops it: all that it bounds is clipped behind it anyway */
    TAIL_FLOAT = 64,           /* stays float, whatever follows */
    TAIL_CHANNEL_BIAS = 128,   /* TAIL_BIAS along axis 1 */
    TAIL_WHOLE_BIAS = 256      /* takes an Add of a constant vector of int32 behind a DequantizeLinear */
};
struct tail tail_follow(struct lowering *l, struct onnx_value *value, unsigned wishes);
/* PyTorch's seven-bit activations, QuantizeLinear and then Clip of the integers: takes the Clip into a tail that is quantized. */
void tail_take_integer_clip(struct tail *tail);
/* The same numbers for every channel as a quantization by channel states? Reads a QuantizeLinear or DequantizeLinear. */
bool read_channel_quantization(struct lowering *l, const struct onnx_node *node, enum onnx_type value_type, struct quantization *out,
                               const char **why);
/* The table of a value quantized by channel. */
void set_channel_table(struct lowering *l, struct meaning *m);
/* The only reader of a value, or NULL where there are more, none, or it is a graph output. */
struct onnx_node *only_reader(const struct onnx_value *value);
struct value_slot *value_slot(const struct onnx_value *value);
bool node_is(const struct onnx_node *node, const char *op);
/* One reader after the other, through Relu and Clip, ends in a QuantizeLinear: there ONNX Runtime rounds float biases to integers. */
bool leads_to_quantize(const struct onnx_value *value);
/* Bounds of a Clip, Relu, or Relu6-like node; false where they are not constants or it is something else. */
bool clip_bounds(const struct onnx_node *node, float *low, float *high);
/* A byte's integer between such bounds, which may be any floats, and within its type. */
int32_t clipped(int32_t byte, float low, float high, enum morsel_type type);
int32_t quantize_value(float x, const struct quantization *q);
int32_t type_min(enum morsel_type type), type_max(enum morsel_type type);

/* The output buffer of a tail's value with the bounds put into the meaning; says whether it is dequantized. */
struct net_buffer *tail_buffer(struct lowering *l, const struct tail *tail, enum morsel_layout layout);
/* The same in the layout of another buffer, seen by a view that takes each of its elements once. */
struct net_buffer *tail_buffer_like(struct lowering *l, const struct tail *tail, const struct net_buffer *like, const struct view *view);

/* --- Weights (weights.c) --- */
struct weights {
    uint32_t outputs, kernel_h, kernel_w, inputs, groups; /* inputs of one group */
    const int8_t *values;                                 /* [outputs][inputs][kernel_h][kernel_w] as ONNX; uint8 minus 128 */
    const int32_t *zeros;                                 /* [outputs] */
    const float *scales;                                  /* [outputs] */
    const int32_t *bias;                                  /* [outputs] */
    const float *float_bias;                              /* [outputs], in steps of the result */
};
/* Puts weights and channel constants into the step; false: refused (the sum could leave int32). The step's kind says which layout. */
bool pack_weights(struct lowering *l, struct onnx_node *node, struct net_step *step, struct weights *w, const struct net_buffer *x,
                  const float *multiplier);
/* Rounds a float bias to the integers of the sum; may give a channel a coarser scale. */
void weights_float_bias(struct net *net, struct weights *w, const float *bias, float x_scale);
/* Weights from a constant [outputs, inputs, ...] with scales and zero points; `transpose`: it stands as [inputs, outputs]. */
bool read_weights(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *values, const struct onnx_tensor *scales,
                  const struct onnx_tensor *zeros, bool transpose, struct weights *w);
/* An int32 bias constant of w->outputs entries, or zeros where `bias` is NULL. */
bool read_bias(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *bias, struct weights *w);
/* A bias behind DequantizeLinear (int32, as it stands) or in float, times `factor`; absent is fine. `round`: a float one becomes integers
 * of the sum, as ONNX Runtime has it in front of a QuantizeLinear; else it stays float, in steps of the tail's scale. */
bool read_any_bias(struct lowering *l, struct onnx_node *node, const struct onnx_value *value, float factor, bool round, float x_scale,
                   const struct tail *tail, struct weights *w);

/* --- Factors and offsets by channel behind a convolution, up to its QuantizeLinear (scaled.c) --- */
struct scaled {
    struct onnx_value *value; /* where they end: the convolution's own, where there are none */
    uint32_t channels;
    double *scale, *offset; /* NULL: there are none */
};
/* Absorbed nodes are marked done. */
struct scaled scaled_follow(struct lowering *l, struct onnx_value *value, uint32_t channels);
/* Puts them into scales and float biases, when those of the file are read. */
bool scaled_apply(struct lowering *l, struct onnx_node *node, const struct scaled *s, const struct tail *tail, struct weights *w);

/* Scale and zero point i of a quantized constant (by axis), checked. */
float quantized_scale(const struct meaning *m, uint32_t i);
int32_t quantized_zero(const struct meaning *m, uint32_t i);

/* Window, groups and shape of weights of a convolution over x. */
bool conv_geometry(struct lowering *l, struct onnx_node *node, const struct onnx_value *x, const struct onnx_shape *weights,
                   struct morsel_blob_conv *p, struct weights *w);
/* Joins groups narrower than a block. */
void conv_join_groups(struct lowering *l, struct morsel_blob_conv *p, struct weights *w);
/* A window without the rows and columns of taps that lie in the padding throughout; `in` and `out` are N H W C. */
void conv_trim_window(struct lowering *l, const uint32_t *in, const uint32_t *out, struct morsel_blob_window *p, struct weights *w);
/* Whether the groups of a convolution are channels, of one output each. */
bool conv_is_depthwise(const struct morsel_blob_conv *p, const struct weights *w);
/* Orders weights of a product as its input lies, a flattened picture; false: it has to lie as the weights count. */
bool product_fold_order(struct lowering *l, const struct meaning *m, struct weights *w);
/* Shape of weights of a product. */
bool product_geometry(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, bool transposed, struct weights *w);

/* X of a pool in QOperator form, qualified, and what becomes of its Y; NULL: refused. Inputs X, x_scale, x_zero_point, y_scale,
 * y_zero_point. */
struct meaning *qlinear_pool(struct lowering *l, struct onnx_node *node, struct tail *tail);

/* That of a 1-D operator lies along the width. */
struct morsel_blob_window window_record(const struct onnx_window *window);
/* A convolution whose window and shape of weights are known; m is what it goes over, whatever the node's first input is. */
bool lower_window(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window,
                  const struct weights *geometry);

/* Float weights, or a float input: layers that run in float (op_float.c). The window of a convolution is read already. */
bool lower_float_conv(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window);
bool lower_float_product(struct lowering *l, struct onnx_node *node, struct meaning *m, bool transposed, float alpha, float beta);
/* Rows [rows, 1, 1, inputs] times weights [outputs][inputs]: [rows, 1, 1, outputs], in float. */
bool lower_float_rows(struct lowering *l, struct onnx_node *node, struct net_buffer *x, struct net_buffer *y, const struct tail *tail,
                      const float *weights);
/* Conv, MatMul and Gemm run in integers: an activation in bytes behind a DequantizeLinear, weights in integers. */
bool quantized_operands(const struct meaning *x, const struct meaning *weights);

/* Makes a float-typed reading of a value available in a buffer: DequantizeLinear as a step, reported as unfused. */
struct net_buffer *meaning_float_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view);

/* A LUT step by `table` ([channels][256] of the output's type; as many channels as the value's own table has, else 1); or, where the
 * tables by channel hold what scale * x + offset gives, the UNARY step of that, whose constants take a thirtieth of the room. */
struct net_step *add_lut(struct lowering *l, struct onnx_node *node, const struct meaning *m, const struct view *view,
                         struct net_buffer *in, struct net_buffer *out, const void *table);

/* --- Tables by channel that are lines (line.c) --- */

/* The value, which came from `before` by such tables, is scale[c] * x + offset[c]. */
void set_line(struct lowering *l, const struct meaning *before, struct onnx_value *value, const float *scale, const float *offset);
/* The constants of AFFINE or QAFFINE, for the channels that the step states. Where that is faster they stand there several times. */
void line_constants(struct lowering *l, struct net_step *step, const float *scale, const float *offset);
/* The step in place of such tables; NULL where it would not give the same. */
struct net_step *add_line(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct net_buffer *in,
                          struct net_buffer *out, const void *table);

/* --- Functions of one quantized value (function.c) --- */
/* What byte b of channel c stands for. */
float meaning_number(const struct meaning *m, uint32_t channel, int byte);
/* How many channels a graph's tables may have: it follows from the constants that its file holds. */
size_t table_room(const struct onnx_graph *graph);

/* Bytes that the net's weights and tables may take for what the file holds (room.c). */
size_t memory_room(const struct onnx_graph *graph);
/* Whether so many more have room; room_for(): else the node is refused. */
bool has_room(const struct lowering *l, uint64_t bytes);
bool room_for(struct lowering *l, struct onnx_node *node, uint64_t bytes);
/* Takes of that room what it costs to look at the views of the node's inputs; else the node is refused. */
bool room_to_walk(struct lowering *l, struct onnx_node *node);
/* Whether the steps so far can become few enough for a blob; else the node is refused. */
bool stays_short(struct lowering *l, struct onnx_node *node);
/* Each output looks at all others and at all steps: false, with a refusal, where they are more than a blob holds. */
bool outputs_fit(struct lowering *l);
/* Whether a table by these channels can go on top of the value's own, and has room. */
bool function_fits(const struct lowering *l, const struct meaning *m, uint32_t channels, uint32_t axis);
/* Floats by channel and byte; takes its room. */
float *new_table(struct lowering *l, uint32_t channels);
typedef float number_fn(const void *context, uint32_t channel, float x);
/* Gives `out` the meaning f(c, x) for every x that `m` can stand for; f's channel is an index along `axis` where channels > 1. */
bool set_function(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct onnx_value *out, number_fn *f,
                  const void *context, uint32_t channels, uint32_t axis);

/* A number times itself, in float. */
bool lower_square(struct lowering *l, struct onnx_node *node, struct meaning *m);
bool lower_cube(struct lowering *l, struct onnx_node *node, struct meaning *m);
/* Sin, Cos and their like of floats; what else has no step of its own is refused. */
bool lower_angle(struct lowering *l, struct onnx_node *node, struct meaning *m);

/* A constant's numbers as floats, also behind a DequantizeLinear; NULL: it is none. */
const struct onnx_tensor *constant_numbers(struct lowering *l, const struct onnx_value *value);
/* QuantizeLinear of a value that stands for numbers (by table or not) as a LUT step; sets the node's first output. */
bool requantize(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct quantization *q);

const char *shape_text(struct lowering *l, const struct onnx_shape *shape);

/* Whether none is a NaN or an infinity, which a blob does not hold as a constant. */
bool all_finite(const float *values, size_t count);

bool refuse(struct lowering *l, struct onnx_node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Of a node that no step computes. Of constants, it should have been computed before: it was too large. */
bool refuse_operator(struct lowering *l, struct onnx_node *node);

#endif
