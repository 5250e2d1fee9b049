/* SPDX-License-Identifier: MIT */
/*
 * The kernels: the arguments of each operator, and the table that holds one function for each. What an operator means stands in reference/,
 * one output at a time; every kernel gives the same bytes.
 *
 * Bytes. A quantized tensor is a tensor of bytes, and `struct morsel_qparams` (quantization parameters) says what a byte means. Kernels
 * work in the unsigned domain: u = byte ^ flip, 0..255; zero points and output limits stand in the same domain. So one kernel serves uint8
 * and int8, and u - zero is what the tensor's own type would give. Inside a network all bytes are stored as the instruction set multiplies
 * them fastest (store_flip), whatever the tensor's type. Only `own` tells the integers of the type.
 *
 * Ranges. Every kernel computes a range of its step's units, and no unit depends on another. Any cut into ranges, in any order, gives the
 * same bytes. Spatial kernels take output rows y .. y + n, counted through the batch. The others take elements, rows or channel blocks, as
 * said at the function type. A channel block is 16 output channels, the unit of the weights' layout.
 *
 * Rows of spatial kernels. Input rows are given by address and need not lie in order: in a streaming group they are those of a ring. There
 * y is a place in the output's ring, not a row of the picture. No kernel may conclude from it what lies above or below. Only the average
 * pool asks for the row's number, where padding counts in its divisor, and it stays out of streaming groups.
 *
 * Every argument struct fits a step slot of the arena (256 bytes) beside the call's own 24 bytes, on every ABI.
 */
#ifndef MORSEL_KERNELS_H
#define MORSEL_KERNELS_H

#include "exact.h"
#include "ops.h"
#include "places.h"
#include "stack.h"

#include <stddef.h>
#include <stdint.h>

#define MORSEL_KERNEL_MAX_RANK 6
#define MORSEL_KERNEL_MAX_ARGS 232

/* Why the kernel in a slot does not take these arguments, in English: then the step gets plain C. NULL: it takes them. */
typedef const char *morsel_refusal_fn(const void *args);

#define MORSEL_REFUSES_FLOATS "its result is in float"
#define MORSEL_REFUSES_INT8 "its input comes from outside, in int8"
#define MORSEL_REFUSES_WINDOW "its window is large"
#define MORSEL_REFUSES_FACTORS "a multiplier or a bias is out of the kernel's range"
#define MORSEL_REFUSES_NARROW "it has few channels"
#define MORSEL_REFUSES_STRIDED "an operand's elements lie apart"
#define MORSEL_REFUSES_TABLES "it has a table for each channel"
#define MORSEL_REFUSES_ORDER "its elements lie too far apart"
#define MORSEL_REFUSES_POWERS "it is a power"
#define MORSEL_REFUSES_SMALL "it has few rows or long ones"

/* What an element means: value = scale * ((byte ^ flip) - zero), or the float itself. */
struct morsel_qparams {
    float scale;
    int32_t zero;       /* 0..255 */
    uint16_t sign_flip; /* 0 or 0x80 */
    uint16_t is_float;  /* then scale is 1, the others are 0 */
    int32_t own;        /* u - own is the integer of the tensor's own type: 0 for uint8, 128 for int8 */
};

static inline uint32_t morsel_element_bytes(const struct morsel_qparams *qparams) {
    return qparams->is_float ? 4 : 1;
}

struct morsel_input {
    const void *data; /* uint8_t[] or float[] */
    struct morsel_qparams qparams;
};

/* Memory for tiles, a kernel's own while it runs; a multiple of 64 bytes, aligned as much. Where it is too small, the stack has to do. */
struct morsel_room {
    uint8_t *data;
    uint32_t bytes;
};

/* Where results go. Bytes are clamped to out_min..out_max (unsigned domain), floats to float_min..float_max. */
struct morsel_output {
    void *data;
    struct morsel_qparams qparams;
    int32_t out_min, out_max;
    float float_min, float_max;
};

/* A window over a channels-last picture. Row sizes in bytes. Pixels of y may be strided, further apart than they have channels, and so
 * may those of a depthwise convolution's x. Then the row size says how far. Only kernels of a table with `strided_pixels` are asked for
 * that. */
struct morsel_window {
    uint32_t in_h, in_w, in_c;
    uint32_t out_h, out_w, out_c;
    uint32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t pad_top, pad_left;
    uint32_t in_row, out_row;
};

/* From a pixel of the output to the next, in elements of `size` bytes; the same of a depthwise input. */
static inline uint32_t morsel_y_step(const struct morsel_window *w, uint32_t size) {
    return w->out_row / w->out_w / size;
}

static inline uint32_t morsel_x_step(const struct morsel_window *w) {
    return w->in_row / w->in_w;
}

/* Constants by output channel, each with the padding of the weights. NULL where absent. */
struct morsel_channels {
    const int32_t *bias;
    const float *multiplier;
    const int32_t *weight_sum;
    const int32_t *weight_zero; /* may be NULL: all 0 */
    const float *float_bias;    /* may be NULL: none */
    const uint8_t *proofs; /* for each channel block: what holds whatever the input, enum morsel_proof; may be NULL: nothing is known */
};

/* rows[i * kernel_h + ky] is the input row under tap row ky of output row i, which goes to row y + i of y.data. Rows above and below the
 * picture are `padding_row`. */
struct morsel_conv_args {
    struct morsel_window window;
    struct morsel_input x;
    struct morsel_output y;
    uint8_t *padding_row;  /* window.in_row bytes of the zero point, filled before each run; NULL where no window needs it */
    const int8_t *weights; /* layouts: core/format.h, CONV and DEPTHWISE */
    struct morsel_channels channels;
    uint32_t groups, padding_row_bytes;
    uint32_t prefetch, prefetch_bytes; /* constants of later steps to prefetch: from weights + prefetch on; 0 bytes where there are none */
    uint32_t prefetch_row, prefetch_rows; /* the output rows of an image that prefetch all of that, each its part */
    struct morsel_room room;
};
typedef void morsel_conv_fn(const struct morsel_conv_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n);

/* Float weights; inputs and outputs in bytes or floats. Padding rows are NULL. */
struct morsel_float_conv_args {
    struct morsel_window window;
    struct morsel_input x;
    struct morsel_output y;
    const void *weights; /* float[], or with `half` the bits of binary16; layouts: core/format.h, FLOAT_CONV */
    const float *bias;   /* [pad8(out_c)]; may be NULL */
    uint32_t groups;
    uint32_t half;
    struct morsel_room room;
};
typedef void morsel_float_conv_fn(const struct morsel_float_conv_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n);

/* Padding rows are NULL. */
struct morsel_pool_args {
    struct morsel_window window;
    struct morsel_input x;
    struct morsel_output y;
    uint32_t count_include_pad;
    uint32_t padded_h, padded_w; /* the picture with its padding on all sides */
};
typedef void morsel_pool_fn(const struct morsel_pool_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n);

/* y[row][o] = x[row][..] . weights[o]; a unit is a channel block of a row: unit = row * blocks + block. */
struct morsel_fc_args {
    struct morsel_input x;
    struct morsel_output y;
    const int8_t *weights; /* [blocks][pad4(inputs) / 4][16][4] */
    struct morsel_channels channels;
    uint32_t rows, inputs, outputs;
    uint32_t blocks;    /* pad16(outputs) / 16 */
    const float *lines; /* scale and zero point of each row of x, found at run time; results are floats. NULL: those of x serve all */
    struct morsel_room room;
};
typedef void morsel_fc_fn(const struct morsel_fc_args *args, uint32_t begin, uint32_t end);

/* How the operands of a product lie, y[..][row][column] = sum of a[..][row][k] * b[..][k][column], batch after batch. Strides are in
 * elements, along outer, middle and then their own dimensions; the k of a lie side by side. Batch i has the outer index i / middle, and of
 * operand a the middle one i / a_divide % a_batch. A unit is a row of y, counted through the batch. */
struct morsel_views {
    uint32_t outer, middle, rows, columns; /* from here on as blobs have it */
    uint32_t inner, turned;
    uint32_t a_first, b_first; /* elements in front */
    uint32_t a_stride[3], b_stride[4], term_stride[4];
    uint32_t y_stride[3]; /* from here on not */
    uint32_t a_batch, a_divide, b_batch, b_divide;
};

/* Where n rows of one batch begin. */
struct morsel_view_rows {
    size_t a, b, y, term;
    uint32_t n;
};

/* The first of the units begin .. end. */
void morsel_view_rows(const struct morsel_views *views, uint32_t begin, uint32_t end, struct morsel_view_rows *rows);

/* Of bytes. Either the columns of b lie side by side, or its k do, in fours. */
struct morsel_matmul_args {
    struct morsel_views views;
    struct morsel_input a, b;
    struct morsel_output y;
    float multiplier;
    struct morsel_room room;
};
typedef void morsel_matmul_fn(const struct morsel_matmul_args *args, uint32_t begin, uint32_t end);

/* Of floats: core/format.h, FLOAT_MATMUL. The term's stride along columns is 0 or 1. */
struct morsel_float_matmul_args {
    struct morsel_views views;
    const float *a, *b;
    const float *term; /* NULL: there is none */
    struct morsel_output y;
    float factor;
    struct morsel_room room;
};
typedef void morsel_float_matmul_fn(const struct morsel_float_matmul_args *args, uint32_t begin, uint32_t end);

/* Where rows of a product lie, all of one batch. */
struct morsel_float_rows {
    const float *a, *b, *term;
    float *y;
    uint32_t n;
};

static inline struct morsel_float_rows morsel_float_rows(const struct morsel_float_matmul_args *p, uint32_t begin, uint32_t end) {
    struct morsel_view_rows at;
    morsel_view_rows(&p->views, begin, end, &at);
    const struct morsel_float_rows rows = {p->a + at.a, p->b + at.b, p->term ? p->term + at.term : NULL, (float *)p->y.data + at.y, at.n};
    return rows;
}

/* y[i] = a[..] op b[..]; a unit is an element of y. Strides in elements. */
struct morsel_binary_args {
    struct morsel_input a, b;
    struct morsel_output y;
    uint32_t op, rank;
    uint32_t dims[MORSEL_KERNEL_MAX_RANK];
    uint32_t a_stride[MORSEL_KERNEL_MAX_RANK];
    uint32_t b_stride[MORSEL_KERNEL_MAX_RANK];
    float a_ratio, b_ratio, offset;
};
typedef void morsel_binary_fn(const struct morsel_binary_args *args, uint32_t begin, uint32_t end);

/* The refusal of kernels that compute line by line, where the last dimension's elements lie side by side or are the same one. */
morsel_refusal_fn morsel_lines_refusal;
/* That of Softmax kernels: floats along a dimension that is not the last one. */
morsel_refusal_fn morsel_softmax_refusal;
/* That of kernels of floats, which have no powers. */
morsel_refusal_fn morsel_float_pair_refusal;

/* Whether these are the strides of a row-major tensor of `dims`: each element once, in order. */
int morsel_is_contiguous(const uint32_t *dims, const uint32_t *strides, uint32_t rank);
int morsel_is_in_order(const struct morsel_binary_args *args); /* of both operands */

/* y[i] = op(x[i]); a unit is an element. */
struct morsel_unary_args {
    struct morsel_input x;
    struct morsel_output y;
    uint32_t op;
    uint32_t channels; /* of scale and offset: c = i % channels */
    float alpha, beta;
    const float *scale, *offset; /* AFFINE, QAFFINE */
};

/* An output as QAFFINE has it: values are integers of y's own type, and no limits. */
static inline struct morsel_output morsel_whole_bytes(const struct morsel_output *y) {
    struct morsel_output whole = *y;
    whole.qparams.zero = y->qparams.own;
    whole.out_min = 0;
    whole.out_max = 255;
    return whole;
}
typedef void morsel_unary_fn(const struct morsel_unary_args *args, uint32_t begin, uint32_t end);

/* y[i] = table[i / inner % channels][x[i] ^ x_flip] ^ y_flip (floats are not flipped); a unit is an element. */
struct morsel_lut_args {
    const uint8_t *x;
    void *y;
    const void *table; /* [channels][256] of bytes or floats, as y */
    uint32_t channels, inner;
    uint32_t is_float;
    uint32_t x_flip, y_flip; /* 0 or 0x80: between the bytes in memory and those of the table */
};
typedef void morsel_lut_fn(const struct morsel_lut_args *args, uint32_t begin, uint32_t end);

/* x seen as [outer][count][inner]; a unit is an element of y [outer][inner]. */
struct morsel_mean_args {
    struct morsel_input x;
    struct morsel_output y;
    uint32_t count, inner;
    float multiplier;
};
typedef void morsel_mean_fn(const struct morsel_mean_args *args, uint32_t begin, uint32_t end);

/* x seen as [outer][count][inner], along count; a unit is one such line: unit = outer * inner + inner. */
struct morsel_softmax_args {
    struct morsel_input x;
    struct morsel_output y;
    const float *table; /* [256], by 255 - (largest - u); NULL: in float */
    float levels;       /* with a table: whole steps of y's scale in 1 */
    uint32_t count, inner;
    struct morsel_room room;
};
typedef void morsel_softmax_fn(const struct morsel_softmax_args *args, uint32_t begin, uint32_t end);

/* Lines of `count` elements: core/format.h, LAYER_NORM. A unit is a line. */
struct morsel_layer_norm_args {
    struct morsel_input x;
    struct morsel_output y;
    const float *factor, *term; /* [count]; may be NULL */
    uint32_t count;
    uint32_t centred; /* 0 or 1 */
    float epsilon;
};
typedef void morsel_layer_norm_fn(const struct morsel_layer_norm_args *args, uint32_t begin, uint32_t end);

/* Pixels between those of x: core/format.h, RESIZE. A unit is a row of y. */
struct morsel_resize_args {
    struct morsel_input x;
    struct morsel_output y;
    const float *rows, *columns; /* [out_h], [out_w] */
    uint32_t in_h, in_w, out_h, out_w, channels;
    uint32_t truncate; /* 0 or 1 */
};
typedef void morsel_resize_fn(const struct morsel_resize_args *args, uint32_t begin, uint32_t end);

/* Copies rows of `bytes` bytes, each ^ flip; a unit is a row. Strides in bytes. */
struct morsel_copy_args {
    const uint8_t *x;
    uint8_t *y;
    uint32_t bytes, x_stride, y_stride;
    uint32_t sign_flip; /* 0 or 0x80 */
};
typedef void morsel_copy_fn(const struct morsel_copy_args *args, uint32_t begin, uint32_t end);

enum morsel_line { MORSEL_LINE_ANY, MORSEL_LINE_STRETCH, MORSEL_LINE_TWO }; /* gather.h */

/* y[i0, i1, ..] = x[t0[i0] + t1[i1] + ..] ^ flip, or fill where an entry is negative; a unit is an element of y. */
struct morsel_gather_args {
    const void *x;
    void *y;
    const int32_t *table; /* t0, t1 .. one behind the other */
    uint32_t rank;
    uint32_t dims[MORSEL_KERNEL_MAX_RANK];
    uint32_t size;      /* bytes of an element: 1 or 4 */
    uint32_t fill;      /* its bits in the low bytes, as y stores them */
    uint32_t sign_flip; /* 0 or 0x80; 0 for elements of 4 bytes */
    uint32_t line;      /* what the entries of the last dimension are: enum morsel_line, by morsel_find_line() */
};
typedef void morsel_gather_fn(const struct morsel_gather_args *args, uint32_t begin, uint32_t end);

/* Quantization whose numbers are found at run time; core/format.h says what RANGE, FACTORS and QUANTIZE compute. */

/* y[2 p], y[2 p + 1]: the ends of piece p of `count` elements; a unit is a piece. */
struct morsel_range_args {
    const float *x;
    float *y;
    uint32_t elements, count;
};
typedef void morsel_range_fn(const struct morsel_range_args *args, uint32_t begin, uint32_t end);

/* Everything is one unit. */
struct morsel_factors_args {
    const float *x; /* [lines][pieces][2] */
    float *y;
    const float *factor, *bias;       /* [channels], finite; bias may be NULL */
    uint32_t lines, pieces, channels; /* a multiple of 8; 0 with more than one line */
};
typedef void morsel_factors_fn(const struct morsel_factors_args *args, uint32_t begin, uint32_t end);

/* A unit is a piece of `count` elements, and where there are lines, a line. y is no part of x: the end of a line may be read twice. */
struct morsel_quantize_args {
    const float *x;
    uint8_t *y;
    const float *numbers; /* scale and zero point, of all or of each line */
    uint32_t elements, count;
    uint32_t by_line;   /* 0 or 1 */
    uint32_t sign_flip; /* 0 or 0x80 */
};
typedef void morsel_quantize_fn(const struct morsel_quantize_args *args, uint32_t begin, uint32_t end);

#define MORSEL_NUMBERS 16 /* floats in front of the factors of channels: scale, zero point, 0 */

/* Whether elements begin .. end are quantized and no more; then *to says so, and numbers[2] are what it points to. */
int morsel_is_quantize(const struct morsel_unary_args *args, uint32_t begin, uint32_t end, float *numbers, struct morsel_quantize_args *to);

/* A zero point from `numbers`: within 0..255, whatever stands there. */
static inline int32_t morsel_found_zero(const float *numbers) {
    return numbers[1] >= 0 && numbers[1] <= 255 ? (int32_t)numbers[1] : 0;
}

/* y[i] = (float)x[i]; a unit is an element. */
struct morsel_cast_args {
    const int32_t *x;
    float *y;
};
typedef void morsel_cast_fn(const struct morsel_cast_args *args, uint32_t begin, uint32_t end);

/* A member is NULL where the slot's kernel takes all. */
struct morsel_refusals {
    morsel_refusal_fn *conv;
    morsel_refusal_fn *depthwise;
    morsel_refusal_fn *max_pool;
    morsel_refusal_fn *fc;
    morsel_refusal_fn *matmul;
    morsel_refusal_fn *qadd;
    morsel_refusal_fn *qmul;
    morsel_refusal_fn *binary;
    morsel_refusal_fn *lut;
    morsel_refusal_fn *mean;
    morsel_refusal_fn *gather;
    morsel_refusal_fn *softmax;
};

struct morsel_kernels {
    morsel_conv_fn *conv;
    morsel_conv_fn *depthwise;
    morsel_float_conv_fn *float_conv;
    morsel_pool_fn *average_pool;
    morsel_pool_fn *max_pool;
    morsel_fc_fn *fc;
    morsel_matmul_fn *matmul;
    morsel_float_matmul_fn *float_matmul;
    morsel_binary_fn *qadd;
    morsel_binary_fn *qmul;
    morsel_binary_fn *binary;
    morsel_unary_fn *unary;
    morsel_lut_fn *lut;
    morsel_mean_fn *mean;
    morsel_softmax_fn *softmax;
    morsel_layer_norm_fn *layer_norm;
    morsel_resize_fn *resize;
    morsel_copy_fn *copy;
    morsel_gather_fn *gather;
    morsel_range_fn *range;
    morsel_factors_fn *factors;
    morsel_quantize_fn *quantize;
    morsel_lookup_fn *lookup;
    morsel_cast_fn *cast;
    morsel_grid_sample_fn *grid_sample;
    morsel_non_max_suppression_fn *non_max_suppression;
    struct morsel_refusals refusals;
    uint32_t store_flip;     /* of bytes inside a network: 0 or 0x80, whichever conv and its like read without a conversion */
    uint32_t strided_pixels; /* whether conv and depthwise take strided pixels */
};

/* Features of a CPU; the same bits as enum morsel_cpu, which kernels do not know. */
enum morsel_has {
    MORSEL_HAS_NEON = 1 << 0,
    MORSEL_HAS_DOTPROD = 1 << 1,
    MORSEL_HAS_I8MM = 1 << 2,
    MORSEL_HAS_AVX2 = 1 << 8,
    MORSEL_HAS_AVXVNNI = 1 << 9,
    MORSEL_HAS_AVX512VNNI = 1 << 10,
    MORSEL_HAS_AVX512VBMI = 1 << 11 /* beside AVX512VNNI; it has no name of its own */
};

/* Which of them have kernels in this build: -DMORSEL_ISA="MORSEL_HAS_NEON | MORSEL_HAS_DOTPROD" leaves out the others'. */
#if !defined(MORSEL_ISA)
#define MORSEL_ISA ~0u
#endif
#define MORSEL_LISTED ((uint32_t)(MORSEL_ISA))

/* Empties the table. Returns those bits of `cpu` that any kernel of this build asks for. */
uint32_t morsel_kernels_start(struct morsel_kernels *table, uint32_t cpu);

/* Each fills the slots of one family with the best kernels for what morsel_kernels_start() returned: a program has those that it names. */
typedef void morsel_kernels_family(struct morsel_kernels *table, uint32_t cpu);
morsel_kernels_family morsel_kernels_conv, morsel_kernels_depthwise, morsel_kernels_float_conv, morsel_kernels_average_pool,
    morsel_kernels_max_pool, morsel_kernels_fc, morsel_kernels_matmul, morsel_kernels_float_matmul, morsel_kernels_qadd,
    morsel_kernels_binary, morsel_kernels_unary, morsel_kernels_lut, morsel_kernels_mean, morsel_kernels_softmax, morsel_kernels_layer_norm,
    morsel_kernels_resize, morsel_kernels_copy, morsel_kernels_gather, morsel_kernels_range, morsel_kernels_factors,
    morsel_kernels_quantize, morsel_kernels_lookup, morsel_kernels_cast, morsel_kernels_grid_sample, morsel_kernels_non_max_suppression;

/* The same for the machine's own kernels, over slots of plain C in rising order; some families have none (CONTRIBUTING.md). */
uint32_t morsel_faster_start(struct morsel_kernels *table, uint32_t cpu);
morsel_kernels_family morsel_faster_conv, morsel_faster_depthwise, morsel_faster_float_conv, morsel_faster_average_pool,
    morsel_faster_max_pool, morsel_faster_fc, morsel_faster_matmul, morsel_faster_float_matmul, morsel_faster_qadd, morsel_faster_binary,
    morsel_faster_unary, morsel_faster_lut, morsel_faster_mean, morsel_faster_softmax, morsel_faster_layer_norm, morsel_faster_resize,
    morsel_faster_gather, morsel_faster_range, morsel_faster_factors, morsel_faster_quantize;

/* Plain C, for every CPU: written for compilers to find vectors in. */
morsel_conv_fn morsel_conv_rows_c;
morsel_conv_fn morsel_depthwise_rows_c;
morsel_float_conv_fn morsel_float_conv_rows_c;
morsel_pool_fn morsel_average_pool_rows_c;
morsel_pool_fn morsel_max_pool_rows_c;
morsel_fc_fn morsel_fc_blocks_c;
morsel_matmul_fn morsel_matmul_rows_c;
morsel_float_matmul_fn morsel_float_matmul_c;
morsel_binary_fn morsel_qadd_c;
morsel_binary_fn morsel_qmul_c;
morsel_binary_fn morsel_binary_c;
morsel_unary_fn morsel_unary_c;
morsel_lut_fn morsel_lut_c;
morsel_mean_fn morsel_mean_c;
morsel_softmax_fn morsel_softmax_c;
morsel_layer_norm_fn morsel_layer_norm_c;
morsel_resize_fn morsel_resize_c;
morsel_copy_fn morsel_copy_c;
morsel_gather_fn morsel_gather_c;
void morsel_find_line(struct morsel_gather_args *args);
morsel_range_fn morsel_range_c;
morsel_factors_fn morsel_factors_c;
morsel_quantize_fn morsel_quantize_c;
morsel_lookup_fn morsel_lookup_c;
morsel_cast_fn morsel_cast_c;
morsel_grid_sample_fn morsel_grid_sample_c;
morsel_non_max_suppression_fn morsel_non_max_suppression_c;

#endif
