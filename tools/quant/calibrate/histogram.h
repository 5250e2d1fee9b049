/* SPDX-License-Identifier: MIT */
/*
 * A histogram whose bins are made of a float's own bits. Each octave (power of two) of either sign has 2^detail bins of one width. As many
 * octaves are kept, from the largest number down, as there is room for. So the bins are as fine beside an outlier of a million as without
 * it. What is smaller than the lowest octave counts as 0.
 *
 * When a larger number comes the octaves move down, and the lowest become 0. So a number's bin depends on the largest of all, never on the
 * order in which they came. Merged histograms equal one of all the numbers.
 */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_HISTOGRAM_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct histogram {
    uint32_t *cells; /* of the caller, histogram_cells() many, zeroed; each stops at 2^32 - 1 */
    int octaves, detail;
    int top;               /* the exponent field of the highest octave; -1: no number yet */
    uint64_t count, zeros; /* numbers in all; those that count as 0 */
};

/* Numbers low .. high, spread evenly as far as anyone knows. */
struct histogram_bin {
    double low, high;
    uint64_t count;
};

size_t histogram_cells(int octaves, int detail);
struct histogram histogram_start(uint32_t *cells, int octaves, int detail);

/* Makes room for numbers up to this magnitude; all that are added later are at most so large, and finite. */
void histogram_reach(struct histogram *histogram, float largest);
void histogram_add(struct histogram *histogram, const float *numbers, size_t count);

/* Both have the same form. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The bins that hold something, from the least up; 0 is a bin without width. How many they are: histogram_bins_most() at most. */
size_t histogram_bins(const struct histogram *histogram, struct histogram_bin *bins);
size_t histogram_bins_most(const struct histogram *histogram);

#endif
