/* SPDX-License-Identifier: MIT */
/* The methods by name, and ranges that are sane whatever the numbers were. */
#include "tools/quant/calibrate/range.h"
#include "tools/base/arena.h"
#include "tools/quant/calibrate/range_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"minmax", "average", "percentile", "entropy", "mse"};

bool range_method_find(const char *name, enum range_method *method) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i])) continue;
        *method = (enum range_method)i;
        return true;
    }
    return false;
}

const char *range_method_name(enum range_method method) {
    return names[method];
}

/* --- A sane range --- */

/*
 * Steps stay between 2^-60 and 2^60: two of them multiply and divide without leaving the normal floats. What is smaller in all samples is 0
 * beside anything that a network computes with.
 */
struct range range_sane(double low, double high, bool symmetric, int levels) {
    double most = levels * 0x1p59, least = levels * 0x1p-60;
    low = low < 0 ? fmax(low, -most) : 0;
    high = high > 0 ? fmin(high, most) : 0;
    if (high - low < least) {
        low = 0;
        high = 1;
    }
    if (symmetric) {
        high = fmax(high, -low);
        low = -high;
    }
    return (struct range){(float)low, (float)high};
}

/* --- Percentiles --- */

/* Where the share `share` (0..1) of all numbers lies below, evenly within its bin. */
static double quantile(const struct spread *spread, double share) {
    double wanted = share * spread->total, before = 0;
    for (size_t i = 0; i < spread->count; i++) {
        const struct histogram_bin *bin = &spread->bins[i];
        if (before + (double)bin->count >= wanted)
            return bin->low + (bin->high - bin->low) * fmax(0, (wanted - before) / (double)bin->count);
        before += (double)bin->count;
    }
    return spread->high;
}

/* From both ends inwards, the larger magnitude first: the bins of either sign lie at the same magnitudes, but for the outermost. */
double spread_quantile_of_magnitudes(const struct spread *spread, double share) {
    double beyond = (1 - share) * spread->total;
    size_t first = 0, end = spread->count;
    while (first < end) {
        const struct histogram_bin *a = &spread->bins[first], *b = &spread->bins[end - 1];
        bool negative = -a->low > b->high;
        double outer = negative ? -a->low : b->high, inner = negative ? -a->high : b->low, count = (double)(negative ? a : b)->count;
        if (count >= beyond) return outer - (outer - fmax(inner, 0)) * beyond / count;
        beyond -= count;
        first += negative;
        end -= !negative;
    }
    return 0;
}

/* --- The methods --- */

static void choose(const struct spread *spread, enum range_method method, double percentile, bool symmetric, int levels, double *low,
                   double *high) {
    if (method == RANGE_PERCENTILE && symmetric) {
        *high = spread_quantile_of_magnitudes(spread, percentile / 100);
        *low = -*high;
    } else if (method == RANGE_PERCENTILE) {
        double cut = (1 - percentile / 100) / 2;
        *low = quantile(spread, cut);
        *high = quantile(spread, 1 - cut);
    } else if (method == RANGE_ENTROPY) {
        double threshold = entropy_threshold(spread, symmetric, levels);
        *low = fmax(spread->low, -threshold);
        *high = fmin(spread->high, threshold);
    } else {
        mse_range(spread, symmetric, levels, low, high);
    }
}

/* Bins that reach beyond low .. high are cut there. */
static void spread_open(struct spread *spread, const struct histogram *histogram, float low, float high) {
    *spread = (struct spread){.bins = must_calloc(histogram_bins_most(histogram), sizeof *spread->bins),
                              .low = (double)low,
                              .high = (double)high};
    spread->count = histogram_bins(histogram, spread->bins);
    for (size_t i = 0; i < spread->count; i++) {
        struct histogram_bin *bin = &spread->bins[i];
        bin->low = fmin(fmax(bin->low, spread->low), spread->high);
        bin->high = fmin(fmax(bin->high, spread->low), spread->high);
        spread->total += (double)bin->count;
    }
}

/* All numbers count where the method leaves nothing of numbers that are not all 0. A percentile of what is 0 nearly always does so. */
static struct range range_by(const struct histogram *histogram, float least, float largest, enum range_method method, double percentile,
                             bool symmetric, int levels) {
    struct spread spread;
    double low = (double)least, high = (double)largest;
    if (method != RANGE_MINMAX) {
        spread_open(&spread, histogram, least, largest);
        if (spread.count) choose(&spread, method, percentile, symmetric, levels, &low, &high);
        free(spread.bins);
    }
    if (!(low < 0) && !(high > 0)) {
        low = (double)least;
        high = (double)largest;
    }
    return range_sane(low, high, symmetric, levels);
}

struct range range_of(const struct observed *seen, enum range_method method, double percentile, bool symmetric, int levels) {
    if (method == RANGE_AVERAGE) return range_sane(seen->mean_low, seen->mean_high, symmetric, levels);
    return range_by(seen->histogram, seen->low, seen->high, method, percentile, symmetric, levels);
}

struct range range_of_channel(const struct observed *seen, uint32_t channel, enum range_method method, double percentile, bool symmetric,
                              int levels) {
    return range_by(&seen->channel_histogram[channel], seen->channel_low[channel], seen->channel_high[channel],
                    method == RANGE_AVERAGE ? RANGE_MINMAX : method, percentile, symmetric, levels);
}
