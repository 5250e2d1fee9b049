/* SPDX-License-Identifier: MIT */
/*
 * Clipping by the Kullback-Leibler divergence of two distributions. One is that of the numbers up to a threshold, with the numbers beyond
 * it in the outermost bins. The other is the same with its bins merged, one for each quantized level. Each is spread evenly over those of
 * its bins that were not empty.
 */
#include "tools/quant/calibrate/range_parts.h"
#include "tools/base/arena.h"
#include <math.h>
#include <stdlib.h>

enum { HALF = 2048 };

/* Sums over bins 0 .. i - 1, so that those of any run of bins are differences. */
struct sums {
    double *mass, *entropy; /* p, p log p */
    double *used;           /* bins that are not empty */
};

static double term(double p) {
    return p > 0 ? p * log(p) : 0;
}

static void sums_open(struct sums *sums, const double *mass, size_t count) {
    double *memory = must_calloc(count + 1, 3 * sizeof *memory);
    *sums = (struct sums){memory, memory + count + 1, memory + 2 * (count + 1)};
    for (size_t i = 0; i < count; i++) {
        sums->mass[i + 1] = sums->mass[i] + mass[i];
        sums->entropy[i + 1] = sums->entropy[i] + term(mass[i]);
        sums->used[i + 1] = sums->used[i] + (mass[i] > 0);
    }
}

/* The divergence where bins first .. end - 1 are kept; infinite where mass from beyond falls on a level that has none. `mass` has `count`
 * bins. */
static double divergence(const struct sums *sums, const double *mass, size_t count, size_t first, size_t end, size_t levels) {
    double before = sums->mass[first], behind = sums->mass[count] - sums->mass[end];
    double total = sums->mass[count], kept = sums->mass[end] - sums->mass[first];
    double entropy = sums->entropy[end] - sums->entropy[first], cross = 0, p = mass[first] + before;
    entropy += term(p) - term(mass[first]);
    entropy += term(mass[end - 1] + behind) - term(mass[end - 1]);
    for (size_t k = 0; k < levels; k++) {
        size_t from = first + k * (end - first) / levels, to = first + (k + 1) * (end - first) / levels;
        double inside = sums->mass[to] - sums->mass[from], used = sums->used[to] - sums->used[from];
        double mine = inside + (k == 0 ? before : 0) + (k + 1 == levels ? behind : 0);
        if (mine > 0 && inside <= 0) return INFINITY;
        if (mine <= 0) continue;
        /* An outermost bin that was empty is used by what comes from beyond. */
        used += (k == 0 && before > 0 && mass[first] <= 0) + (k + 1 == levels && behind > 0 && mass[end - 1] <= 0);
        cross += mine * log(inside / used);
    }
    return (entropy - cross) / total - log(total) + log(kept);
}

size_t entropy_bins(const double *mass, size_t half, bool both, size_t levels) {
    struct sums sums;
    double best = INFINITY;
    size_t result = half, count = both ? 2 * half : half;
    mass += both ? 0 : half;
    sums_open(&sums, mass, count);
    for (size_t n = both ? (levels + 1) / 2 : levels; n <= half; n++) {
        size_t first = both ? half - n : 0, end = both ? half + n : n;
        double d = divergence(&sums, mass, count, first, end, levels);
        if (d < best) {
            best = d;
            result = n;
        }
    }
    free(sums.mass);
    return result;
}

/* Adds a bin's numbers to bins of `width` to both sides of mass[HALF], evenly. What lies beyond goes to the outermost. */
static void pour(const struct histogram_bin *bin, double width, double *mass) {
    double from = bin->low / width + HALF, to = bin->high / width + HALF;
    size_t last = to < 1 ? 0 : to > 2 * HALF - 1 ? 2 * HALF - 1 : (size_t)to;
    for (size_t i = from < 1 ? 0 : from > 2 * HALF - 1 ? 2 * HALF - 1 : (size_t)from; i <= last; i++) {
        double low = i == 0 ? from : fmax(from, (double)i), high = i == 2 * HALF - 1 ? to : fmin(to, (double)(i + 1));
        mass[i] += (double)bin->count * (to > from ? fmax(0, high - low) / (to - from) : 1);
    }
}

/*
 * Exact zeros are left out: every scale keeps them. The bins reach to the largest number, but no further than eight times what all but a
 * thousandth of the numbers stay below. An outlier beyond would leave the others in one bin. The search goes down by eight at most.
 */
double entropy_threshold(const struct spread *spread, bool symmetric, int levels) {
    double largest = fmax(-spread->low, spread->high), reach = 8 * spread_quantile_of_magnitudes(spread, 0.999);
    double *mass = must_calloc(2 * HALF, sizeof *mass);
    if (reach > 0 && reach < largest) largest = reach;
    if (largest <= 0) {
        free(mass);
        return largest;
    }
    for (size_t i = 0; i < spread->count; i++)
        if (spread->bins[i].low != 0 || spread->bins[i].high != 0) pour(&spread->bins[i], largest / HALF, mass);
    bool both = spread->low < 0 && spread->high > 0;
    for (size_t i = 0; i < HALF && !both && spread->low < 0; i++) mass[HALF + i] = mass[HALF - 1 - i];
    size_t kept = (size_t)(!both && symmetric ? levels / 2 : levels);
    double threshold = (double)entropy_bins(mass, HALF, both, kept) * largest / HALF;
    free(mass);
    return threshold;
}
