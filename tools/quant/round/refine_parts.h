/* SPDX-License-Identifier: MIT */
/* What refine.c is made of. */
#ifndef MORSEL_TOOLS_QUANT_ROUND_REFINE_PARTS_H
#define MORSEL_TOOLS_QUANT_ROUND_REFINE_PARTS_H

#include "tools/network/each.h"
#include "tools/quant/round/moments.h"

/* The layer's integers by its second moments, which are spent. */
void refine_weights(struct scheme_layer *layer, struct moments *moments, struct pool *pool);

/* Its biases, as its integers now are. */
void refine_biases(const struct scheme *scheme, struct scheme_layer *layer, const struct moments *moments);

#endif
