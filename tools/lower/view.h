/* SPDX-License-Identifier: MIT */
/*
 * How a logical tensor, of the shape ONNX states, lies in a buffer. Element [i0, i1, ...] is the buffer's element table[0][i0] +
 * table[1][i1] + ..., or the fill value where any entry is -1. Reshape, Transpose, Slice, Pad, ... change only this.
 */
#ifndef MORSEL_TOOLS_LOWER_VIEW_H
#define MORSEL_TOOLS_LOWER_VIEW_H

#include "tools/net/net.h"

#define VIEW_MAX_RANK 8

struct view {
    uint32_t rank, dims[VIEW_MAX_RANK];
    int32_t *table[VIEW_MAX_RANK];
    uint32_t step[VIEW_MAX_RANK]; /* not 0: the entries of the axis are 0, step, 2 * step, ..., and need no walk; 0: not known to be */
};

/* The view of a whole buffer whose logical dimensions are given: row-major, or for CHANNELS_LAST with axis 1 moved to the end. */
struct view view_whole(struct net *net, enum morsel_layout layout, uint32_t rank, const uint32_t *dims);

/* Logical dimensions in the order of memory. */
/* The axes in the order of memory, slowest first. */
void view_memory_order(enum morsel_layout layout, uint32_t rank, uint32_t *order);
void view_physical(enum morsel_layout layout, const struct view *view, uint32_t *dims);

/* Whether the elements of an axis, two or more, stand behind each other in the buffer. */
bool view_side_by_side(const struct view *view, uint32_t axis);
/* The layout in which the view lies in the buffer, or would with fewer gaps; CHANNELS_LAST for rank 3 and 4 alone. */
enum morsel_layout view_layout(const struct view *view);

/* Whether the view is the whole buffer of `elements` in that layout. */
bool view_is_whole(const struct view *view, enum morsel_layout layout, uint32_t elements);
/* Whether the entries of an axis are 0, step, 2 * step, ... */
bool view_has_step(const struct view *view, uint32_t axis, uint32_t step);
/* Whether every element of the buffer is seen exactly once, in any order. */
bool view_is_permutation(const struct view *view, uint32_t elements);
bool view_has_fill(const struct view *view);

/* Each gives a new view; axes are 0..rank-1, extents were checked by shape inference. */
struct view view_transpose(const struct view *view, const uint32_t *axes);
struct view view_pick(struct net *net, const struct view *view, uint32_t axis, uint32_t count, const int32_t *indices); /* -1: fill */
/* False where the shape cuts an axis whose entries do not allow it: gather first. */
bool view_reshape(struct net *net, const struct view *view, uint32_t rank, const uint32_t *dims, struct view *out);

/* The views behind each other along an axis; false where they differ along another. */
bool view_join(struct net *net, const struct view *const *views, uint32_t count, uint32_t axis, struct view *out);

uint32_t view_elements(const struct view *view);
/* How many entries have to be walked to tell how the view lies: 0 where the step of each axis is known. */
uint64_t view_walk(const struct view *view);
bool view_same(const struct view *a, const struct view *b);

#endif
