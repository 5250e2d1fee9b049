/* SPDX-License-Identifier: MIT */
/*
 * What of a detector to keep in float, in which order: what spares most noise in the scores of its boxes for the time that it costs.
 *
 * The float network runs with one value rounded to bytes at a time, and what that adds to the boxes' scores is its noise: such small
 * errors add up nearly as if each stood alone. A value is spared its rounding where all that read it run in float, and what made it, if
 * that is no layer, whose sums are at hand. So each step of the order is the set of nodes that spare one value, or several, theirs.
 */
#ifndef MORSEL_TOOLS_QUANT_FLOAT_ORDER_H
#define MORSEL_TOOLS_QUANT_FLOAT_ORDER_H

#include "tools/quant/accuracy.h"
#include "tools/quant/insert/scheme.h"

struct float_step {
    size_t end;  /* behind its last node in the list of names */
    double rest; /* the part of the noise that is left with it and all before */
};

struct float_order {
    const char **names; /* nodes of the graph */
    struct float_step *steps;
    size_t count;
};

/* Of a scheme that has its scales. The reference is the float network's over some samples, with boxes; goes with float_order_free(). */
bool float_order_find(struct float_order *order, const struct scheme *scheme, const struct reference *reference, unsigned threads,
                      struct failure *failure);
void float_order_free(struct float_order *order);

#endif
