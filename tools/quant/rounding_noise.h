/* SPDX-License-Identifier: MIT */
/* What rounding one value to bytes, and nothing else, adds to the scores of a detector's boxes. */
#ifndef MORSEL_TOOLS_QUANT_ROUNDING_NOISE_H
#define MORSEL_TOOLS_QUANT_ROUNDING_NOISE_H

#include "tools/quant/accuracy.h"
#include "tools/quant/insert/scheme.h"

/* noise[i]: the sum of boxes_noise() over the reference's samples, where values[i] of the scheme, which has its scales, is rounded. */
bool rounding_noise(const struct scheme *scheme, const size_t *values, size_t count, const struct reference *reference, unsigned threads,
                    double *noise, struct failure *failure);

#endif
