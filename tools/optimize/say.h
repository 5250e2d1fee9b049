/* SPDX-License-Identifier: MIT */
/* What a pass says in operators of ai.onnx: each goes in front of `node`, is named after it, and gives what is returned: floats, but
 * where it says so, and for say_reshape() and say_cast(). */
#ifndef MORSEL_TOOLS_OPTIMIZE_SAY_H
#define MORSEL_TOOLS_OPTIMIZE_SAY_H

#include "tools/optimize/edit.h"

enum { SAY_OPSET = 17, SAY_ROWS_MOST = 1 << 21 };

/* b may be NULL. */
struct onnx_value *say(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                       const struct onnx_shape *shape);
struct onnx_value *say_reshape(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_shape *shape);
struct onnx_value *say_cast(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, enum onnx_type to);
struct onnx_value *say_transpose(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const int64_t *perm);
struct onnx_value *say_exchanged(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int a, int b); /* two axes */
struct onnx_value *say_turned(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x); /* its last two dimensions */
struct onnx_value *say_number(struct onnx_graph *g, const struct onnx_node *node, const char *part, double number);
struct onnx_value *say_scaled(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, double factor);

/* Elements from to end of an axis, and two tensors one behind the other along one: of any type. */
struct onnx_value *say_slice(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t axis, int64_t from, int64_t end);
struct onnx_value *say_joined(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *a, struct onnx_value *b, int axis);
/* A node has all attributes that another one has besides its own. */
void say_attributes(struct onnx_graph *g, struct onnx_node *node, const struct onnx_node *from);

/* Of x [batch, n, width] the rows at places [batch, k], whole numbers in floats from 0 to n - 1: [batch, k, width]. n is SAY_ROWS_MOST
 * at most. */
struct onnx_value *say_rows(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *places);

/* The node gives what x is, under its own name. */
void say_as(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x);
/* Readers of output i read x from now on. */
void say_output(struct onnx_graph *g, const struct onnx_node *node, int i, struct onnx_value *x);
/* The others have no readers. */
void say_first_output_alone(struct onnx_node *node);
bool say_is_read(const struct onnx_node *node, int output);

/* What follows says whole operators. False: the node is none, or of a form that is not taken; it is as it was. */

/* LSTM, GRU and RNN. */
bool change_recurrent(struct onnx_graph *g, struct onnx_node *node);

/* DFT and STFT. Before the first: what stays float with them. */
bool change_spectrum(struct onnx_graph *g, struct onnx_node *node);
void spectra_keep_float(struct onnx_graph *g);

/* AffineGrid. */
bool change_affine_grid(struct onnx_graph *g, struct onnx_node *node);

/* What rare.c begins with a list of. */
bool change_rare(struct onnx_graph *g, struct onnx_node *node);

/* ScatterND, ScatterElements and Scatter by constants. */
bool change_scatter(struct onnx_graph *g, struct onnx_node *node);

/* Conv and pools over three dimensions. */
bool change_volume(struct onnx_graph *g, struct onnx_node *node);

/* RotaryEmbedding. */
bool change_rotary(struct onnx_graph *g, struct onnx_node *node);

/* com.microsoft's Attention, QAttention and MultiHeadAttention, and ai.onnx's Attention. */
bool change_fused_attention(struct onnx_graph *g, struct onnx_node *node);

#endif
