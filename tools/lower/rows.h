/* SPDX-License-Identifier: MIT */
/* Products of float rows with constant weights, by the kernels that products of two activations have. */
#ifndef MORSEL_TOOLS_LOWER_ROWS_H
#define MORSEL_TOOLS_LOWER_ROWS_H

#include "tools/net/net.h"

/* A FLOAT_CONV of one element of several pixels becomes a FLOAT_MATMUL, whose sums are the same to the last bit. Those with weights of
 * binary16 stay. `first`: the largest variant of the same blob, done already, or NULL. */
void rows_net(struct net *net, const struct net *first);

#endif
