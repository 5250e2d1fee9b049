/* SPDX-License-Identifier: MIT */
/*
 * What the passes of this folder share: questions about nodes and constants that most of them ask.
 *
 * A pass goes over all nodes once, changes what it can and says how many changes it made; optimize.c calls them in turn until none finds
 * anything. What a pass does not see because it moved something under its own feet, it sees in the next round.
 *
 * To add a pass: a file pass_NAME.c, its function here, its row in optimize.c, its cases in tests/unit/optimize/test_pass_NAME.c.
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_PASS_H
#define MORSEL_TOOLS_OPTIMIZE_PASS_H

#include "tools/onnx/operator.h"
#include "tools/optimize/edit.h"

int pass_floats(struct onnx_graph *g);        /* float16 and double are float */
int pass_noops(struct onnx_graph *g);         /* nodes that give what they get */
int pass_opset(struct onnx_graph *g);         /* old networks in a newer opset */
int pass_moves(struct onnx_graph *g);         /* reshapes of reshapes, transposes of transposes */
int pass_activations(struct onnx_graph *g);   /* decomposed functions of one value */
int pass_dense(struct onnx_graph *g);         /* MatMul and Add become Gemm; its factors become 1 */
int pass_einsum(struct onnx_graph *g);        /* Einsum of two operands is a matrix product */
int pass_norms(struct onnx_graph *g);         /* normalizations are decomposed */
int pass_fused(struct onnx_graph *g);         /* what is fused, or rare, is said in operators that all have */
int pass_moved(struct onnx_graph *g);         /* constants in bytes that are moved and added are floats */
int pass_masks(struct onnx_graph *g);         /* conditions are numbers, Where a sum of products */
int pass_integers(struct onnx_graph *g);      /* floats of integers and of conditions */
int pass_ends(struct onnx_graph *g);          /* ArgMax, Hardmax, LogSoftmax, comparisons of floats */
int pass_picks(struct onnx_graph *g);         /* elements by constant indices, choices by constants */
int pass_one_hots(struct onnx_graph *g);      /* ones in the places of integers, and products with such */
int pass_tables(struct onnx_graph *g);        /* products with ones are lines of tables, and what is computed of such */
int pass_matrices(struct onnx_graph *g);      /* cubic Resize and CumSum are matrix products */
int pass_choices(struct onnx_graph *g);       /* computed bounds, divisions that spare zeros */
int pass_reduces(struct onnx_graph *g);       /* maxima, sums and norms over any axes */
int pass_affine_merge(struct onnx_graph *g);  /* an affine map of an affine map is one */
int pass_affine_before(struct onnx_graph *g); /* affine maps go into the weights before them */
int pass_affine_after(struct onnx_graph *g);  /* affine maps go into the weights behind them */
int pass_pads(struct onnx_graph *g);          /* Pad becomes the pads of the window behind it */
int pass_windows(struct onnx_graph *g);       /* convolutions by windows larger than blobs have them */
int pass_pools(struct onnx_graph *g);         /* means and maxima over a whole picture are global pools */
int pass_maxima(struct onnx_graph *g);        /* of these the maxima alone: of bytes, too, they are the same */

/* A Gather or GatherElements by an index that is computed becomes a GridSample, of Casts to float; a GatherND such a Gather.
 * False: it is none. */
bool change_lookup(struct onnx_graph *g, struct onnx_node *node);
bool change_elements_lookup(struct onnx_graph *g, struct onnx_node *node);
void change_cut(struct onnx_graph *g, struct onnx_node *cast, struct onnx_value *x);
bool change_slices_lookup(struct onnx_graph *g, struct onnx_node *node);

/* Whether a pass that puts nodes in goes on with node i: there is one, and the network has not grown too long to become a blob. */
bool graph_goes_on(struct onnx_graph *g, size_t i);
/* A node that a pass may change: checked, not folded, with a first output whose shape is known. */
bool graph_is_open(const struct onnx_node *node);
/* An operator of ai.onnx. */
bool graph_is(const struct onnx_node *node, const char *op);
/* Computes a node of constants, which onnx_infer() saw with others or not at all. False: it is none, or is left to run. */
bool graph_fold(struct onnx_graph *g, struct onnx_node *node);
bool graph_reshapes(const struct onnx_node *node); /* Reshape, Flatten, Squeeze, Unsqueeze */
/* Made by a node, read once, by a node: whoever makes it may be changed for its only reader. */
bool graph_alone(const struct onnx_value *value);
bool graph_same_shape(const struct onnx_value *a, const struct onnx_value *b); /* and known */
/* The input of a two-input node that is a constant, and the other, which is not; false where it is not so. */
bool graph_constant_and_other(const struct onnx_node *node, int *constant, struct onnx_value **other);
/* A float constant all of whose elements are the same number. */
bool graph_scalar(const struct onnx_value *value, double *out);
bool graph_inference(const struct onnx_node *node); /* a BatchNormalization or Dropout that does not train; no second output is read */
void graph_stays_float(struct onnx_graph *g, struct onnx_node *node); /* and what takes its place */
double *graph_doubles(struct onnx_graph *g, int64_t count);
/* Whether a pass may write so many numbers more, which then count as written: those of the file pay for them. */
bool graph_takes_room(struct onnx_graph *g, size_t count);
/* A matrix of zeros for a node, and its numbers, row after row; NULL: it is empty, or there is no room for it. */
struct onnx_value *graph_matrix(struct onnx_graph *g, const struct onnx_node *node, int64_t in, int64_t out, float **numbers);
/* Constants for a node, named NODE.PART. */
struct onnx_value *graph_floats(struct onnx_graph *g, const struct onnx_node *node, const char *part, const struct onnx_shape *shape,
                                const double *numbers);
struct onnx_value *graph_int64s(struct onnx_graph *g, const struct onnx_node *node, const char *part, const int64_t *numbers, int count);
/* A node without attributes in front of `before` and named after it, with one float output, which is the result. */
struct onnx_value *graph_put(struct onnx_graph *g, struct onnx_node *before, const char *op, struct onnx_value *const *inputs, int count,
                             const struct onnx_shape *shape);
/* Elements begin to end of one axis. */
struct onnx_value *graph_slice(struct onnx_graph *g, struct onnx_value *x, int64_t axis, int64_t begin, int64_t end);
/* A Reduce operator over these axes, which it keeps as 1, in front of `node` and of its opset. */
struct onnx_value *graph_reduce(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *x, const int64_t *axes,
                                int count, const struct onnx_shape *shape);
/* Readers of the node's first output read `value` from now on; the node goes if nothing reads it any more. False: not possible. */
bool graph_bypass(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *value);

#endif
