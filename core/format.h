/* SPDX-License-Identifier: MIT */
/*
 * The blob, versions 1 and 2: what `morsel convert` writes and morsel_open() reads. This file is its description; tools/ and
 * core/ share nothing else of it. Text rules and answer rules stand in format_rules.h, the numbers of elementwise operations and of proofs
 * in kernels/ops.h.
 *
 * Little-endian; every field is 32 bits wide (or an array of such), so records need no padding and may be read in place.
 * Offsets count bytes from the start of the blob. A blob is at most 2^31 - 1 bytes.
 *
 *     header | tensors | operands | steps | groups | parameters | inputs, outputs | picture rule | labels | metadata | strings | data
 *
 * Sections start at multiples of 64 and stand in any order, only not overlapping the header. `data` holds weights and
 * tables, each at a multiple of 64. The checksum covers every byte of the blob but its own four.
 *
 * The format only grows: a new field goes to the end of a record (a higher format_version says so), a new step kind gets the
 * next number. A library opens all versions up to its own. Version 2 has text and answer rules, metadata, variants, letterboxes, filters,
 * MASK, all from RANGE on.
 *
 * Variants are the same network for several sizes of its inputs. Each has a header at a multiple of 64, from which its own offsets count,
 * and is a blob by itself from there on. So what stands behind the last header may belong to all, and constants stand there once:
 *
 *     header 0 | its records | header 1 | its records | .. | list of variants | labels | metadata | strings | data | text rule
 */
#ifndef MORSEL_FORMAT_H
#define MORSEL_FORMAT_H

#include "../kernels/ops.h"
#include "format_rules.h"

#include <stddef.h>
#include <stdint.h>

#define MORSEL_FORMAT_VERSION 2u
#define MORSEL_MAGIC "MORSEL\r\n" /* 8 bytes; \r\n shows a transfer in text mode */

#define MORSEL_FORMAT_ALIGN 64u
#define MORSEL_FORMAT_MAX_RANK 6u
#define MORSEL_FORMAT_MAX_TENSORS 4096u
#define MORSEL_FORMAT_MAX_STEPS 4096u
#define MORSEL_FORMAT_MAX_IO 256u
#define MORSEL_FORMAT_MAX_VARIANTS 64u
#define MORSEL_FORMAT_MAX_WINDOW 64u   /* rows and columns of a kernel window, without dilation */
#define MORSEL_FORMAT_MAX_GROUP 32u    /* steps of a group */
#define MORSEL_FORMAT_MAX_STAGE 65536u /* scale, lead and strip of a group */
/* Every step gets this many bytes at the front of the arena for its prepared call, on every ABI. */
#define MORSEL_FORMAT_STEP_SLOT 256u

struct morsel_blob_section {
    uint32_t offset; /* multiple of 64 */
    uint32_t count;  /* records; bytes for strings and data */
};

struct morsel_blob_header {
    uint8_t magic[8];
    uint32_t format_version;
    uint32_t blob_bytes;
    uint32_t checksum;                     /* morsel_checksum() of the blob without these four bytes */
    uint32_t arena_bytes;                  /* step slots and every slice, a multiple of 64 */
    struct morsel_blob_section tensors;    /* struct morsel_blob_tensor */
    struct morsel_blob_section operands;   /* uint32_t: indices of tensors */
    struct morsel_blob_section steps;      /* struct morsel_blob_step, in the order of running */
    struct morsel_blob_section groups;     /* struct morsel_blob_group, in the order of their steps */
    struct morsel_blob_section parameters; /* uint32_t: the parameter records of the steps */
    struct morsel_blob_section inputs;     /* struct morsel_blob_io */
    struct morsel_blob_section outputs;    /* struct morsel_blob_io */
    struct morsel_blob_section picture;    /* struct morsel_blob_picture, 0 or 1 */
    struct morsel_blob_section labels;     /* uint32_t: offsets into strings */
    struct morsel_blob_section strings;    /* bytes; every string ends in 0. Offset 0 is the empty string */
    struct morsel_blob_section data;       /* bytes */
    uint32_t name;                         /* of the network: offset into strings */
    uint32_t macs_low;                     /* multiply-accumulates of one run */
    uint32_t macs_high;
    uint32_t parameter_count; /* weights and biases of the network, for people */
    /* From here on since version 2. */
    struct morsel_blob_section text;     /* uint32_t: struct morsel_blob_text and what stands behind it; none, or all of it */
    struct morsel_blob_section variants; /* uint32_t: where the header of each begins, the first being this one's; none: there is but one */
    struct morsel_blob_section answer;   /* uint32_t: struct morsel_blob_answer and its anchors; none, or all of it */
    struct morsel_blob_section metadata; /* struct morsel_blob_pair */
    uint32_t fast_bytes; /* the last so many bytes of the arena may lie in a block of their own, a multiple of 64; no slice is in both */
};

#define MORSEL_FORMAT_HEADER_1 128u /* bytes of version 1's header */

/* Tensor types and layouts are those of enum morsel_type and enum morsel_layout. */
struct morsel_blob_tensor {
    uint32_t type;
    uint32_t layout;
    uint32_t rank;                         /* 0..6; rank 0 is one value */
    uint32_t dims[MORSEL_FORMAT_MAX_RANK]; /* order of memory, slowest first; unused ones are 1 */
    uint32_t bytes;
    float scale; /* positive, finite; 1 for float and int32 */
    int32_t zero_point;
    uint32_t place;      /* 0: arena, 1: constant in data */
    uint32_t offset;     /* into the arena, or into the blob; multiple of 64 */
    uint32_t first_step; /* the step that writes it; MORSEL_STEP_BEFORE for inputs and constants */
    uint32_t last_step;  /* the last step that reads it; step count for outputs */
    uint32_t name;       /* offset into strings, 0 where stripped */
    uint32_t ring_rows;  /* 0: the arena holds all of it; else so many rows of dims[1] at a time: row y lies at y % ring_rows */
};

#define MORSEL_STEP_BEFORE 0xffffffffu

struct morsel_blob_step {
    uint32_t kind;          /* enum morsel_step_kind */
    uint32_t name;          /* of the ONNX node it comes from: offset into strings */
    uint32_t first_operand; /* index into operands: the inputs, then the outputs */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t parameters;     /* offset into the blob of the record for this kind */
    uint32_t scratch_offset; /* arena bytes that only this step uses, multiple of 64; what for is said at the kind */
    uint32_t scratch_bytes;
    uint32_t macs_low;
    uint32_t macs_high;
    uint32_t group;       /* the group it belongs to, counted from 1; 0: none, and then the next two are 0 */
    uint32_t stage_scale; /* once the group has reached row t of its last output, this step has made */
    int32_t stage_lead;   /* the first stage_scale * t + stage_lead rows of its own (as far as there are so many) */
};

/*
 * Steps that run together, some rows of each in turn, so that nothing between them exists as a whole. A group works on one picture of a
 * batch after the other. For t = .., -strip_rows, 0, strip_rows, .. every step in turn makes the rows that it must have made at t +
 * strip_rows and has not yet. Only the output of the last step, whose scale is 1 and whose lead is 0, is whole. All others are rings
 * that nobody outside the group reads. For every ring x that a step reads to write y,
 *     scale(x) = stride * scale(y),   lead(x) >= stride * (lead(y) - 1) + (kernel - 1) * dilation + 1 - pad        rows come in time
 *     ring_rows(x) >= scale(x) * strip_rows,   ring_rows(x) >= scale(x) * strip_rows + lead(x) - stride * lead(y) + pad     and stay
 * where the second line is void if ring_rows is the whole height. Steps of a group are windows (CONV, DEPTHWISE, FLOAT_CONV, MAX_POOL),
 * or elementwise (BINARY, UNARY, LUT). Every operand of those has y's shape, and their constants repeat within a row. AVERAGE_POOL stays
 * out: its divisor may depend on the row's number, which a kernel is not told of rows in rings.
 *
 * All that a group touches is alive from its first step to its last, with one exception. In a batch of 1 the whole output may lie over
 * a whole input that nobody reads later, if it trails behind it. That is asked of T = strip_rows, 2 * strip_rows, .. below the output's
 * height, and of every step that reads the input. It goes on reading at row stride * (scale * T + lead) - pad: the first T rows of the
 * output end no later. A last step that reads the input itself is elementwise, and both begin and end together.
 */
struct morsel_blob_group {
    uint32_t first_step;
    uint32_t step_count; /* 2.. */
    uint32_t strip_rows; /* 1.. */
};

struct morsel_blob_io {
    uint32_t tensor;
    uint32_t onnx_type; /* the type that the ONNX graph states: float32 before its QuantizeLinear */
    uint32_t onnx_rank;
    uint32_t onnx_dims[MORSEL_FORMAT_MAX_RANK]; /* row-major; a rank-4 tensor in CHANNELS_LAST has N C H W here */
    uint32_t name;
};

/* A word about the network: version, licence. Both are offsets into strings. Of equal keys the first counts. */
struct morsel_blob_pair {
    uint32_t key, value;
};

enum morsel_resize { MORSEL_RESIZE_NONE = 0, MORSEL_RESIZE_EXACT = 1, MORSEL_RESIZE_SHORT_SIDE = 2, MORSEL_RESIZE_LETTERBOX = 3 };
/* As Pillow's BILINEAR; as OpenCV's INTER_LINEAR, between two pixels' centres; the pixel that the centre lies in. */
enum morsel_filter { MORSEL_FILTER_ANTIALIAS = 0, MORSEL_FILTER_LINEAR = 1, MORSEL_FILTER_NEAREST = 2 };
#define MORSEL_RESIZE_FILTER_SHIFT 4 /* beside an enum morsel_resize that is not NONE: an enum morsel_filter. Beside LETTERBOX: */
#define MORSEL_RESIZE_CORNER 0x80u   /* the picture stands in the top left corner, not in the middle */
#define MORSEL_RESIZE_FILL_SHIFT 8   /* and three bytes: what stands beside it, in the order of `channels` */
enum morsel_picture_channels { MORSEL_CHANNELS_RGB = 0, MORSEL_CHANNELS_BGR = 1, MORSEL_CHANNELS_GRAY = 2 };

/* pixel -> resize -> centre crop -> (pixel * scale - mean[c]) / std[c] in float32, c in the order of `channels`. */
struct morsel_blob_picture {
    uint32_t input;         /* index into inputs */
    uint32_t resize;        /* enum morsel_resize | enum morsel_filter << 4 | MORSEL_RESIZE_CORNER | fill << 8 */
    uint32_t resize_height; /* EXACT, LETTERBOX: height and width; SHORT_SIDE: both the length of the shorter side */
    uint32_t resize_width;
    uint32_t crop_height; /* 0: no crop */
    uint32_t crop_width;
    uint32_t channels; /* enum morsel_picture_channels; GRAY is ITU-R 601 luma as Pillow's convert("L") */
    float scale;
    float mean[3];
    float std[3];
};

/*
 * Steps. "x" is the first input, "y" the output; q8 stands for uint8 or int8. All q8 tensors carry scale and zero point
 * in their record. Requantization of an int32 sum is always
 *     y = clamp(round_half_even(clamp(float(acc) * multiplier[c])) + zero_point(y), out_min, out_max)
 * Offsets of constants are offsets into the blob (inside data), multiples of 64; 0 means absent where that is allowed.
 */
enum morsel_step_kind {
    MORSEL_STEP_CONV = 1,         /* x q8 [N H W C] -> y q8 or f32 [N OH OW OC]: struct morsel_blob_conv */
    MORSEL_STEP_DEPTHWISE = 2,    /* the same, groups == C == OC, weights by channel */
    MORSEL_STEP_FC = 3,           /* x q8 [.. rows .., K] -> y q8 or f32 [.. rows .., N], constant weights: struct morsel_blob_fc */
    MORSEL_STEP_MATMUL = 4,       /* x q8 [batch, M, K], second input q8 [batch, K, N] -> y: struct morsel_blob_matmul */
    MORSEL_STEP_BINARY = 5,       /* two inputs, q8 or f32 each, broadcast -> y q8 or f32: struct morsel_blob_binary */
    MORSEL_STEP_UNARY = 6,        /* x q8 or f32 -> y q8 or f32, by element, in float: struct morsel_blob_unary */
    MORSEL_STEP_LUT = 7,          /* x q8 -> y q8 or f32 by table: struct morsel_blob_lut */
    MORSEL_STEP_AVERAGE_POOL = 8, /* x q8 or f32 [N H W C] -> y the same type: struct morsel_blob_pool */
    MORSEL_STEP_MAX_POOL = 9,     /* x q8 or f32 -> y the same type, bytes as they are whatever scale they have: struct morsel_blob_pool */
    MORSEL_STEP_MEAN = 10,        /* x q8 or f32 seen as [outer, count, inner] -> y q8 or f32 [outer, inner]: struct morsel_blob_mean */
    MORSEL_STEP_SOFTMAX = 11,     /* x q8 or f32 seen as [outer, count, inner], along count -> y q8 or f32: struct morsel_blob_softmax */
    MORSEL_STEP_CONCAT = 12,      /* n inputs of y's type, copied one behind the other: struct morsel_blob_concat */
    MORSEL_STEP_GATHER = 13,      /* x any type -> y the same type, by index tables: struct morsel_blob_gather */
    MORSEL_STEP_FLOAT_CONV = 14,  /* x q8 or f32 [N H W C] -> y q8 or f32 [N OH OW OC], float weights: struct morsel_blob_float_conv */

    /* From version 2 on. */
    MORSEL_STEP_RANGE = 15,             /* x f32 -> y f32, the ends of each piece of x: struct morsel_blob_range */
    MORSEL_STEP_FACTORS = 16,           /* x f32 of a RANGE -> y f32, scales and zero points: struct morsel_blob_factors */
    MORSEL_STEP_QUANTIZE = 17,          /* x f32, second input f32 of FACTORS -> y uint8: struct morsel_blob_quantize */
    MORSEL_STEP_DYNAMIC_CONV = 18,      /* CONV, its second input f32 of FACTORS -> y f32: struct morsel_blob_conv */
    MORSEL_STEP_DYNAMIC_DEPTHWISE = 19, /* DEPTHWISE, the same way */
    MORSEL_STEP_DYNAMIC_FC = 20,        /* FC, the same way: struct morsel_blob_fc */
    MORSEL_STEP_LOOKUP = 21,       /* x int32, f32 -> y q8, f32 [.. x .., width]: lines of a constant table: struct morsel_blob_lookup */
    MORSEL_STEP_CAST = 22,         /* x int32 -> y f32, by element, rounded to nearest: struct morsel_blob_cast */
    MORSEL_STEP_LAYER_NORM = 23,   /* x q8 or f32 seen as [lines, count], along count -> y q8 or f32: struct morsel_blob_layer_norm */
    MORSEL_STEP_FLOAT_MATMUL = 24, /* x f32, second input f32, a third one f32 or none -> y f32: struct morsel_blob_float_matmul */
    MORSEL_STEP_RESIZE = 25,       /* x q8 or f32 [N H W C] -> y q8 or f32 [N OH OW C], linearly: struct morsel_blob_resize */
    MORSEL_STEP_GRID_SAMPLE = 26,  /* x f32 [N H W C], second input f32 [N OH OW 2] -> y f32 [N OH OW C]: struct morsel_blob_grid_sample */
    MORSEL_STEP_NON_MAX_SUPPRESSION =
        27,                       /* x f32 [B, n, 4], second input f32 [B, C, n] -> y int32: struct morsel_blob_non_max_suppression */
    MORSEL_STEP_VIEW_MATMUL = 28, /* x q8, second input q8, read where they lie -> y q8 or f32: struct morsel_blob_view_matmul */
    MORSEL_STEP_KIND_COUNT
};
#define MORSEL_STEP_SINCE_2 MORSEL_STEP_RANGE /* the first kind that version 1 has not */

/* A window over a picture N H W C: the first field of the record of every kind that has one. */
struct morsel_blob_window {
    uint32_t kernel_h, kernel_w; /* 1..64 */
    uint32_t stride_h, stride_w; /* 1.. */
    uint32_t dilation_h, dilation_w;
    uint32_t pad_top, pad_left, pad_bottom, pad_right;
};

/* The constants that integer sums are made of, and what becomes of the sums. Offsets are those of constants by channel. */
struct morsel_blob_sums {
    uint32_t weights;           /* int8 */
    uint32_t bias;              /* int32; never absent */
    uint32_t multiplier;        /* float: y q8: scale(x) * scale(w) / scale(y), in ONNX Runtime's order; y f32: scale(x) * scale(w) */
    uint32_t weight_sum;        /* int32: sum of all stored weights of the channel, padding too */
    uint32_t weight_zero;       /* int32; absent where all are 0 */
    uint32_t float_bias;        /* float, added after the multiplication: y q8: in steps of scale(y); may be absent */
    int32_t out_min, out_max;   /* within y's type; whole range without an activation. y f32: see float_min */
    float float_min, float_max; /* y f32: clamp, -inf and inf without one (the only infinities in a blob) */
    uint32_t proofs;            /* uint8 for each 16 channel constants: enum morsel_proof; may be absent */
};

/*
 * Convolution (ONNX QLinearConv). acc[oc] = bias[oc] + sum over the window of (x - zero_point(x)) * (w - weight_zero[oc]);
 * outside the picture x is its zero point.
 *
 * CONV weights, int8: [groups][pad16(OC/groups)/16][K/4][16 out][4 in], K = kernel_h * pad4(kernel_w * C/groups), in the order
 * ky, then kx, then channel; padding weights are equal to weight_zero, so that they add nothing.
 * DEPTHWISE weights, int8: [pad16(C)/16][kernel_w][pad4(kernel_h)/4][16 channels][4 ky], padded the same way.
 * uint8 weights of the ONNX file are stored minus 128, and their zero points too.
 * Channel constants have groups * pad16(OC/groups) entries (DEPTHWISE: pad16(C)), padding entries are 0.
 * Scratch: where pad_top or pad_bottom is not 0, one input row: pad4(W * C) bytes, filled with the zero point by the runtime.
 */
struct morsel_blob_conv {
    struct morsel_blob_window window;
    uint32_t groups;
    struct morsel_blob_sums sums;
};

/*
 * A layer that stays in float: x as real numbers, sums in float in the order ky, kx, channel, each product and each sum rounded, then the
 * bias; outside the picture x is 0. Clamped to float_min..float_max, then stored or quantized. Scratch: none.
 *
 * Weights: [pad8(OC) / 8][kernel_h][kernel_w][C / groups][8 outputs]; where groups == C == OC [kernel_h][kernel_w][pad8(OC)]. They are
 * floats, or with weights_half numbers of IEEE 754 binary16, 16 bits each, that stand for exactly the float of the same value. All are
 * finite; those of padding are never used.
 */
struct morsel_blob_float_conv {
    struct morsel_blob_window window;
    uint32_t groups;
    uint32_t weights;
    uint32_t bias; /* float[pad8(OC)]; may be absent */
    int32_t out_min, out_max;
    float float_min, float_max;
    uint32_t weights_half; /* 0 or 1 */
};

/* Matrix product with constant weights (QLinearMatMul, QGemm): a convolution 1x1, K = inputs, OC = outputs; no scratch. */
struct morsel_blob_fc {
    uint32_t rows, inputs, outputs; /* rows: product of all leading dimensions */
    struct morsel_blob_sums sums;   /* weights [pad16(outputs)/16][pad4(inputs)/4][16][4] */
};

/* Matrix product of two activations; row-major. Batches repeat: operand a of batch b starts at (b / a_divide % a_batch) * M * K. */
struct morsel_blob_matmul {
    uint32_t batch, rows, inner, columns;
    uint32_t a_batch, a_divide;
    uint32_t b_batch, b_divide;
    float multiplier; /* scale(a) * scale(b) [/ scale(y)] */
    int32_t out_min, out_max;
    float float_min, float_max;
};

/*
 * Matrix product of two float activations a and b, read where they lie, whatever they are transposed from. For each outer and middle index
 *     y[row][column] = sum over k of a[row][k] * b[k][column], times factor, plus the third input if there is one,
 * within float_min..float_max. Products and sums are rounded one by one, k in order from a sum of 0. Strides are in elements; those of the
 * third input may be 0, where it repeats, and along columns are 0 or 1. The k of a lie side by side.
 */
struct morsel_blob_float_matmul {
    uint32_t dims[4];          /* outer, middle, rows, columns */
    uint32_t inner;            /* how many k */
    uint32_t turned;           /* 0: y lies as dims say; 1: as outer, rows, middle, columns */
    uint32_t a_first, b_first; /* where they begin, in elements */
    uint32_t a_stride[3];      /* along outer, middle, rows */
    uint32_t b_stride[4];      /* along outer, middle, k, columns */
    uint32_t term_stride[4];   /* along dims */
    float factor;
    float float_min, float_max;
};

/* The same of bytes, without a third input: the factor is scale(a) * scale(b) [/ scale(y)], as MATMUL has its multiplier. Where the columns
 * of b do not lie side by side its k do, a multiple of four. */
struct morsel_blob_view_matmul {
    struct morsel_blob_float_matmul product;
    int32_t out_min, out_max;
};

/* Elementwise with broadcast: element i of y (row-major over dims) is op(a[sum i_k * a_stride_k], b[...]). Strides in elements, 0 where
 * the operand repeats. */
struct morsel_blob_binary {
    uint32_t op;   /* enum morsel_binary_op */
    uint32_t rank; /* 1..6 */
    uint32_t dims[MORSEL_FORMAT_MAX_RANK];
    uint32_t a_stride[MORSEL_FORMAT_MAX_RANK];
    uint32_t b_stride[MORSEL_FORMAT_MAX_RANK];
    float a_ratio, b_ratio, offset;
    int32_t out_min, out_max;   /* y q8 */
    float float_min, float_max; /* float ops: clamp before y is quantized or stored */
};

struct morsel_blob_unary {
    uint32_t op;    /* enum morsel_unary_op */
    uint32_t count; /* elements */
    float alpha, beta;
    uint32_t channels;                    /* AFFINE, QAFFINE: c = index % channels; else 1 */
    uint32_t affine_scale, affine_offset; /* AFFINE, QAFFINE: float[channels] */
};

/* y[i] = table[i / inner % channels][x[i] as a byte]; the byte of an int8 is its two's complement. */
struct morsel_blob_lut {
    uint32_t count;    /* elements */
    uint32_t channels; /* 1: one table for all */
    uint32_t inner;    /* elements that share a table in a row; 1 for CHANNELS_LAST */
    uint32_t table;    /* [channels][256] of y's type */
};

/* Pads as ONNX states them; ceil_mode shows in y's dimensions alone. AVERAGE_POOL has dilations of 1. It divides by the window's cells
 * inside the picture, or with count_include_pad by kernel_h * kernel_w (q8, as com.microsoft QLinearAveragePool) or the cells inside the
 * padded picture (f32). Scratch: none. */
struct morsel_blob_pool {
    struct morsel_blob_window window;
    uint32_t count_include_pad;
    int32_t out_min, out_max;
};

/* com.microsoft QLinearGlobalAveragePool, ReduceMean: y = clamp(round(float(sum - count * zx) * multiplier) + zy). f32: sum / count. */
struct morsel_blob_mean {
    uint32_t outer, count, inner;
    float multiplier; /* y q8: scale(x) / (scale(y) * count); y f32: scale(x) / count */
    int32_t out_min, out_max;
};

/* x q8 and y q8: com.microsoft QLinearSoftmax, table of float[256] by 255 - (max - x): y = clamp(round(e * k / sum) + zy),
 * k = floor(1 / scale(y)). Otherwise in float, where e^(x - max) counts as 0 if x - max is below -64; then no table. */
struct morsel_blob_softmax {
    uint32_t outer, count, inner;
    uint32_t table;
};

/*
 * LayerNormalization and RMSNormalization of the values of x, each operation rounded, sums in 32 parts (kernels/float.h):
 *     d = x - sum(x) / count, or x itself where not `centred`
 *     y = d * (1 / sqrt(sum(d * d) / count + epsilon)) * factor[i] + term[i], within float_min..float_max
 * A factor or term that is absent changes nothing.
 */
struct morsel_blob_layer_norm {
    uint32_t lines, count;
    uint32_t factor, term; /* float[count], may be absent */
    uint32_t centred;      /* 0 or 1 */
    float epsilon;         /* not negative */
    int32_t out_min, out_max;
    float float_min, float_max;
};

/*
 * Linear interpolation. Row i of y lies at p = rows[i] among those of x, between row floor(p) and the next one, which after the last is
 * the last itself. Columns likewise. With the fraction f of p, and each operation rounded,
 *     between(a, b, f) = a * (1 - f) + b * f,   y = between(left, right, f of the column)
 * where left and right are `between` the rows. The result may be cut off behind the point, and is within float_min..float_max.
 */
struct morsel_blob_resize {
    uint32_t rows, columns; /* float[OH], float[OW]: 0 .. H - 1 and 0 .. W - 1, which are 2^24 at most */
    uint32_t truncate;      /* 0 or 1 */
    int32_t out_min, out_max;
    float float_min, float_max;
};

/*
 * Pixels of x at places that the second input names: along the width, then along the height. Along a side of n pixels g stands for
 *     p = ((g + 1) * n - 1) / 2, or with `corners` (g + 1) / 2 * (n - 1), each operation rounded
 * and is kept within -2^22..2^22; a NaN is -2^22. Pixel i = floor(p) weighs (i + 1) - p, and pixel i + 1 weighs p - i. With `nearest` it is
 * the pixel at p, rounded to nearest or even, alone. A value of y is 0 plus weight * x of up to four pixels, rounded one by one: rows from
 * above, in each from the left. A weight is the row's times the column's. `beyond`: which pixel stands for one beside the picture, if any.
 */
struct morsel_blob_grid_sample {
    uint32_t nearest; /* 0 or 1 */
    uint32_t beyond;  /* enum morsel_beyond */
    uint32_t corners; /* 0 or 1 */
};
#define MORSEL_FORMAT_GRID_SIDE (1u << 22) /* H and W of x are below it */

/*
 * x is boxes of n objects, the second input scores of the same in each class. y is [B * C * most][3]: image, class and object of what was
 * selected, image by image, class by class, then rows of -1. Of a class the object of the highest score above `least` is selected, of equal
 * ones the first. Out go those of whose union with it the common part is more than `overlap`; and so on, up to `most`. A NaN is no score. A
 * box with a NaN, or of no area, overlaps none. Each operation is rounded. Scratch: n bytes.
 */
struct morsel_blob_non_max_suppression {
    uint32_t images, classes, count; /* B, C, n */
    uint32_t most;                   /* 1 .. n */
    uint32_t centre;                 /* 0: boxes are two opposite corners, y x y x; 1: x and y of their middle, width and height */
    float overlap, least;            /* least may be -inf */
};

/* y seen as [outer][sum of inner], input k as [outer][inner_k]; inner_k in elements, one for each input. Bytes are copied as they are. */
struct morsel_blob_concat {
    uint32_t outer;
    uint32_t inner[]; /* input_count of them */
};

/* y[i_0, i_1, ...] = any t_k[i_k] < 0 ? fill : x[t_0[i_0] + t_1[i_1] + ...]; the tables stand one behind the other: dims[0] entries,
 * dims[1] entries, ... Transpose, Slice, Split, Pad, Resize nearest, Expand, channel shuffle and compositions of them are all this. */
struct morsel_blob_gather {
    uint32_t rank;                         /* 1..6 */
    uint32_t dims[MORSEL_FORMAT_MAX_RANK]; /* their product is the elements of y */
    uint32_t table;                        /* int32[sum of dims], element offsets into x, -1 for fill */
    uint32_t fill;                         /* the bits of the fill value, in the low bytes */
};

/*
 * Quantization whose numbers are found at run time: RANGE, FACTORS and QUANTIZE make bytes of floats, as ONNX's DynamicQuantizeLinear does.
 * What they make is uint8, and its record says scale 1, zero point 0: a byte means (byte - zero) * scale with the numbers of FACTORS.
 *
 * RANGE sees x as pieces of `count` elements, of which the last may be shorter, and y is [pieces, 2]: the lowest and the highest element of
 * each, 0 at most and at least. A NaN counts as none.
 */
struct morsel_blob_range {
    uint32_t count;
};

#define MORSEL_FORMAT_NUMBERS 16u /* floats in front of the factors by channel */

/*
 * x is [lines][pieces] of a RANGE's pairs. Of each line: low and high are the ends of all its pieces, and no further out than FLT_MAX;
 *     scale = (high - low) / 255, or high / 255 - low / 255 where the difference is infinite, and 1 where either comes to 0
 *     zero = round_half_even(clamp(-low / scale, 0, 255)), a whole number as a float
 * With more than one line y is [lines, 2]: a scale and a zero point for each. With one line y has one dimension: the scale, the zero point,
 * 0 up to MORSEL_FORMAT_NUMBERS, then of each of `channels` channels scale * factor, FLT_MAX at most. Behind these stand as many int32:
 * floor(bias / (scale * factor)), within +-(2^31 - 128); 0 for a NaN, and where there is no bias.
 */
struct morsel_blob_factors {
    uint32_t lines;
    uint32_t channels; /* 0, or a multiple of 16 */
    uint32_t factor;   /* float[channels], absent where there are none */
    uint32_t bias;     /* float[channels], may be absent */
};

/*
 * y = clamp(round_half_even(x / scale), -zero, 255 - zero) + zero, by the numbers of x's line; a NaN gives 0. Work is shared by pieces of
 * `count` elements; with more than one line a piece is a line.
 *
 * The DYNAMIC kinds have the records of CONV, DEPTHWISE and FC. Their x is of a QUANTIZE, y is f32. The multipliers of the record are
 * scale(w) alone, and nothing is proven. FACTORS with as many channels gives what serves in place of multipliers, biases and x's zero
 * point. DYNAMIC_FC of more than one row also takes FACTORS of as many lines. Then each row has a zero point of its own, and a scale that
 * the multipliers are multiplied by first.
 */
struct morsel_blob_quantize {
    uint32_t lines, count;
};

/* Line i of y is line x[i] of the table; from the end where x[i] is negative (-1: the last line). Whatever lies outside is the nearest
 * line inside: the first or the last. A float is rounded to the nearest even; a NaN is below all others. Writers let
 * floats choose from 2^22 lines at most: beyond, other lines are taken. */
struct morsel_blob_lookup {
    uint32_t rows, width; /* of the table, which is of y's type: q8 by y's scale and zero point */
    uint32_t table;
};

struct morsel_blob_cast {
    uint32_t count; /* elements */
};

#endif
