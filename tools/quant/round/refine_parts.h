/* SPDX-License-Identifier: MIT */
/* What refine.c is made of. */
#ifndef MORSEL_TOOLS_QUANT_ROUND_REFINE_PARTS_H
#define MORSEL_TOOLS_QUANT_ROUND_REFINE_PARTS_H

#include "tools/network/each.h"
#include "tools/quant/round/moments.h"

/* The layer's integers by its second moments, which are spent. False: no memory. */
bool refine_weights(struct scheme_layer *layer, struct moments *moments, struct pool *pool, struct failure *failure);

/* Its biases, as its integers now are. */
bool refine_biases(const struct scheme *scheme, struct scheme_layer *layer, const struct moments *moments, struct failure *failure);

#endif
