/* SPDX-License-Identifier: MIT */
/* The entries of one axis of a view (view.h), looked at for a shorter way to tell them. */
#ifndef MORSEL_TOOLS_LOWER_AXIS_H
#define MORSEL_TOOLS_LOWER_AXIS_H

#include <stdint.h>

/* Entries of an axis that is told as one, where more are told as two. */
enum { AXIS_LEAST_INNER = 16, AXIS_MOST_STRAIGHT = 512 };

/* The most entries, AXIS_LEAST_INNER .. AXIS_MOST_STRAIGHT, that an inner axis may have, so that each entry is one of an outer axis plus
 * one of it; 0: the axis is short, or stays one. */
uint32_t axis_inner(const int32_t *table, uint32_t dim);
/* The same of an axis whose steps are all the same, and of which nothing is fill. */
uint32_t axis_inner_even(uint32_t dim);

#endif
