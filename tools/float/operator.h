/* SPDX-License-Identifier: MIT */
/*
 * What an operator is to the float executor: a row of the table in operators.c. Two functions in an op_*.c file prepare a node and run it.
 *
 * prepare() is called when the executor opens. The node's inputs and outputs have known shapes that fit each other by onnx_infer()'s own
 * rules. It reads attributes and constants, packs weights into memory of the executor and sets p->step->run. What a step reads at run
 * time are its first p->reads inputs, all unless prepare() says less.
 */
#ifndef MORSEL_TOOLS_FLOAT_OPERATOR_H
#define MORSEL_TOOLS_FLOAT_OPERATOR_H

#include "tools/onnx/graph.h"

/* More elements than any value, table or scratch memory may have: products of two of them stay in int64. */
#define FLOAT_MOST ((int64_t)1 << 28)

struct executor;

/* Where the operands are; NULL for what is left out. Outputs never overlap inputs, unless step.in_place allows output 0 over input 0. */
struct call {
    const float *const *in;
    float *const *out;
    float *scratch;
    const char **why; /* set where the data ask for something impossible: the run ends */
};
typedef void step_run(const void *plan, const struct call *call);

struct step {
    const struct onnx_node *node;
    step_run *run;    /* NULL: output 0 is input 0 and lies there */
    const void *plan; /* prepare's own */
    size_t scratch;   /* floats of scratch memory */
    bool in_place;
    size_t *inputs, *outputs; /* numbers of slots, see executor.c */
    int input_count, output_count;
};

struct preparation {
    struct executor *executor;
    const struct onnx_node *node;
    struct step *step;
    int reads;
    char why[240];
};

/* False: p->why says why the node cannot run. */
typedef bool prepare_fn(struct preparation *p);

enum operand_types { FLOATS, NUMBERS }; /* input 0 may be of a real type only, or of any number type */

struct float_operator {
    const char *domain, *name;
    int outputs; /* that it computes; more may be there as long as nobody reads them */
    enum operand_types types;
    prepare_fn *prepare;
};

/* NULL: it does not run in float. */
const struct float_operator *float_operator_of(const struct onnx_node *node);

/* ---- for prepare functions ---- */

/* Writes p->why; always false. */
bool cannot(struct preparation *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Zeroed memory that goes with the executor; never NULL (the process ends with exit status 3 where there is none). */
void *prepare_alloc(struct preparation *p, size_t bytes);
/* Input i as floats where it depends on constants alone, else NULL. */
const float *prepare_constant(struct preparation *p, int i);
/* onnx_integers(); p->why says so where there is no such list. */
int prepare_list(struct preparation *p, const char *name, int64_t *out, int max);
/* A scratch size in floats; false: more than FLOAT_MOST. */
bool prepare_scratch(struct preparation *p, int64_t floats);

static inline const struct onnx_shape *shape_in(const struct preparation *p, int i) {
    return &p->node->inputs[i]->shape;
}
static inline const struct onnx_shape *shape_out(const struct preparation *p, int i) {
    return &p->node->outputs[i]->shape;
}
/* Product of the dimensions from..to-1. */
static inline int64_t shape_part(const struct onnx_shape *shape, int from, int to) {
    int64_t product = 1;
    for (int i = from; i < to; i++) product *= shape->dims[i];
    return product;
}
/* -rank..rank-1 to 0..rank-1; onnx_infer()'s rules have checked it. */
static inline int shape_axis(const struct onnx_shape *shape, int64_t axis) {
    return (int)(axis < 0 ? axis + shape->rank : axis);
}

prepare_fn prepare_conv, prepare_conv_transpose, prepare_gemm, prepare_matmul, prepare_einsum;
prepare_fn prepare_pool, prepare_global_pool, prepare_reduce, prepare_arg, prepare_softmax;
prepare_fn prepare_top, prepare_hardmax, prepare_sums;
prepare_fn prepare_batch_norm, prepare_instance_norm, prepare_group_norm, prepare_layer_norm, prepare_lp_norm;
prepare_fn prepare_lrn;
prepare_fn prepare_unary, prepare_is_nan, prepare_clip, prepare_cast, prepare_binary, prepare_mean, prepare_where;
prepare_fn prepare_alias, prepare_transpose, prepare_slice, prepare_split, prepare_concat, prepare_expand, prepare_tile, prepare_gather;
prepare_fn prepare_gather_elements, prepare_gather_nd, prepare_reverse_sequence;
prepare_fn prepare_pad, prepare_depth_to_space, prepare_space_to_depth, prepare_resize;
prepare_fn prepare_grid_sample, prepare_suppression;
prepare_fn prepare_quantize, prepare_dequantize;

#endif
