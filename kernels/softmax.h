/* SPDX-License-Identifier: MIT */
/* Softmax of bytes: what all instruction sets share of it. */
#ifndef MORSEL_SOFTMAX_H
#define MORSEL_SOFTMAX_H

#include "kernels.h"

/* n exponentials, each scaled to whole steps of y, then divided by `sum`; into n bytes as y stores them. A NaN gives the zero point. */
typedef void morsel_divide_fn(const struct morsel_softmax_args *args, const float *exponentials, float sum, uint32_t n, uint8_t *to);

/* Units begin .. end of arguments with a table. */
void morsel_softmax_bytes(const struct morsel_softmax_args *args, morsel_divide_fn *divide, uint32_t begin, uint32_t end);

#endif
