/* SPDX-License-Identifier: MIT */
/* The numbers of elementwise operations and of proofs: kernels take them as arguments, the blob holds them (core/format.h). None ever
 * changes its meaning; a new one gets the next number. */
#ifndef MORSEL_OPS_H
#define MORSEL_OPS_H

/* What counts beside the pixels of a GRID_SAMPLE's picture. */
enum morsel_beyond {
    MORSEL_BEYOND_NOTHING = 0, /* no pixel */
    MORSEL_BEYOND_EDGE = 1,    /* the nearest one */
    MORSEL_BEYOND_MIRROR = 2,  /* the picture mirrored again and again: about its edges, or with `corners` about the outermost pixels */
    MORSEL_BEYOND_COUNT
};

enum morsel_binary_op {
    /* com.microsoft QLinearAdd: round(fma(a, a_ratio, fma(b, b_ratio, offset))). a, b, y all q8, their bytes as integers */
    MORSEL_BINARY_QADD = 1,
    /* com.microsoft QLinearMul: round(float((a - za) * (b - zb)) * a_ratio + float(zy)), two roundings before the last */
    MORSEL_BINARY_QMUL = 2,
    MORSEL_BINARY_ADD = 3, /* float steps: operands dequantized as scale * (q - zero point), op, clamp, y quantized by division */
    MORSEL_BINARY_SUB = 4,
    MORSEL_BINARY_MUL = 5,
    MORSEL_BINARY_DIV = 6,
    MORSEL_BINARY_MAX = 7,
    MORSEL_BINARY_MIN = 8,
    MORSEL_BINARY_PRELU = 9, /* a < 0 ? a * b : a */
    MORSEL_BINARY_POW = 10,
    MORSEL_BINARY_MASK = 11, /* from format 2 on: b > 0 ? a : 0: what is masked leaves nothing, be it a NaN */
    MORSEL_BINARY_OP_COUNT,
    MORSEL_BINARY_SINCE_2 = MORSEL_BINARY_MASK
};

enum morsel_unary_op {
    MORSEL_UNARY_IDENTITY = 0,     /* QuantizeLinear, DequantizeLinear, or a copy, by the types of x and y */
    MORSEL_UNARY_CLIP = 1,         /* min(max(x, alpha), beta) */
    MORSEL_UNARY_LEAKY_RELU = 2,   /* x < 0 ? alpha * x : x */
    MORSEL_UNARY_HARD_SIGMOID = 3, /* max(0, min(1, alpha * x + beta)) */
    MORSEL_UNARY_HARD_SWISH = 4,   /* x * max(0, min(1, x / 6 + 0.5)), alpha = 1/6, beta = 0.5 */
    MORSEL_UNARY_SIGMOID = 5,
    MORSEL_UNARY_TANH = 6,
    MORSEL_UNARY_SILU = 7,   /* x * sigmoid(x) */
    MORSEL_UNARY_AFFINE = 8, /* x * scale[c] + offset[c], c = index % channels (BatchNormalization, Mul by a constant) */
    MORSEL_UNARY_ERF = 9,
    MORSEL_UNARY_EXP = 10,
    MORSEL_UNARY_SQRT = 11,
    MORSEL_UNARY_ABS = 12,
    MORSEL_UNARY_NEG = 13,
    MORSEL_UNARY_ELU = 14,   /* x < 0 ? alpha * (e^x - 1) : beta * x (Elu, Selu) */
    MORSEL_UNARY_CELU = 15,  /* x < 0 ? alpha * (e^(x / alpha) - 1) : x, alpha > 0 */
    MORSEL_UNARY_SWISH = 16, /* x * sigmoid(alpha * x) */
    MORSEL_UNARY_SOFTPLUS = 17,
    MORSEL_UNARY_SOFTSIGN = 18, /* x / (1 + |x|) */
    MORSEL_UNARY_MISH = 19,
    MORSEL_UNARY_GELU = 20,
    MORSEL_UNARY_GELU_TANH = 21,
    MORSEL_UNARY_THRESHOLD = 22, /* x > alpha ? x : 0 */
    MORSEL_UNARY_SHRINK = 23,    /* x < -alpha ? x + beta : x > alpha ? x - beta : 0 */
    MORSEL_UNARY_LOG = 24,
    MORSEL_UNARY_RECIPROCAL = 25,
    MORSEL_UNARY_SIGN = 26,
    MORSEL_UNARY_ROUND = 27, /* ties to even */
    MORSEL_UNARY_FLOOR = 28,
    MORSEL_UNARY_CEIL = 29,
    MORSEL_UNARY_TRUNCATE = 30, /* towards 0 */
    /* bytes to bytes, as integers: round(x * scale[c] + offset[c]), two roundings before the last; what AFFINE gives where zero points
     * and the scales of x and y are in the constants */
    MORSEL_UNARY_QAFFINE = 31,
    MORSEL_UNARY_OP_COUNT
};

/* What the weights of 16 channels prove, whatever the input. core/check_sums.c verifies it; one that does not hold gives wrong numbers
 * and nothing worse. */
enum morsel_proof {
    MORSEL_PROOF_SMALL = 1,   /* |acc| < 2^22 and |acc * multiplier| < 32000 */
    MORSEL_PROOF_POSITIVE = 2 /* no multiplier is negative */
};

#endif
