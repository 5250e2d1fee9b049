/* SPDX-License-Identifier: MIT */
/* Products of float rows with constant weights, by the kernels that products of two activations have. */
#ifndef MORSEL_TOOLS_LOWER_ROWS_H
#define MORSEL_TOOLS_LOWER_ROWS_H

#include "tools/net/net.h"

/* FLOAT_CONVs that are products of rows become FLOAT_MATMULs, whose sums are the same to the last bit: of four rows at least, in each of
 * the nets, which are the variants of one blob. Those with weights of binary16 stay. Between bytes a product gets floats of its own. */
void rows_change(struct net *const *nets, uint32_t count);

#endif
