/* SPDX-License-Identifier: MIT */
/* Means of bytes: what all instruction sets share of them. */
#ifndef MORSEL_MEAN_H
#define MORSEL_MEAN_H

#include "kernels.h"

/* The n elements of y from `unit` on, at most sixteen, by the sums of their bytes in the unsigned domain: of all sixteen there are some. */
void morsel_store_means(const struct morsel_mean_args *args, uint32_t unit, uint32_t n, const uint32_t *sums);

/* The sum of n bytes ^ flip. */
typedef uint32_t morsel_sum_bytes_fn(const uint8_t *x, uint32_t n, uint8_t flip);

/* Units begin .. end, each a line of bytes that lie in order. */
void morsel_mean_lines(const struct morsel_mean_args *args, morsel_sum_bytes_fn *sum, uint32_t begin, uint32_t end);

#endif
