/* SPDX-License-Identifier: MIT */
/*
 * How well bytes keep a value whose channels get factors. Its channels' histograms are added up in cells of one width; then the ends are
 * sought for which rounding and clipping cost least.
 */
#include "tools/quant/equalize/equalize_parts.h"
#include "tools/base/arena.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 512 };

/*
 * Errors of rounding are of either sign and cancel in the sums that read them. Those of clipping are of one sign, lie side by side in few
 * pictures, and are larger in pictures that were not among the samples.
 */
#define CLIPPED_TIMES 4

struct cells {
    double low, width; /* cell i lies from low + i * width on */
    double counts[CELLS];
};

/* Adds a bin's numbers, evenly. */
static void pour(struct cells *cells, double low, double high, double count) {
    double from = fmax((low - cells->low) / cells->width, 0), to = fmin((high - cells->low) / cells->width, CELLS);
    int first = (int)fmin(from, CELLS - 1), last = (int)fmin(fmax(to, from), CELLS - 1);
    for (int i = first; i <= last; i++)
        cells->counts[i] += first == last ? count : count * fmax(fmin(to, i + 1) - fmax(from, i), 0) / (to - from);
}

/* costs[i]: the squared errors of all numbers in i cells from `first` on, each drawn to where these end; `way` leads to the next cell. */
static void clip_costs(const struct cells *cells, int first, int way, double *costs) {
    double count = 0, sum = 0, squares = 0, width = cells->width; /* of distances to that end */
    costs[0] = 0;
    for (int i = 0; i < CELLS; i++) {
        double more = cells->counts[first + i * way];
        squares += 2 * width * sum + width * width * count + more * width * width / 3;
        sum += width * count + more * width / 2;
        count += more;
        costs[i + 1] = squares * CLIPPED_TIMES;
    }
}

/* Over all ends low <= 0 <= high between cells. */
static double least_error(const struct cells *cells, bool symmetric) {
    double below[CELLS + 1], above[CELLS + 1], total = 0, best = INFINITY;
    int zero = (int)fmin(fmax(ceil(-cells->low / cells->width), 0), CELLS);
    clip_costs(cells, 0, 1, below);
    clip_costs(cells, CELLS - 1, -1, above);
    for (int i = 0; i < CELLS; i++) total += cells->counts[i];
    for (int i = 0; i <= zero; i++) {
        for (int j = CELLS; j >= zero && j > i && below[i] + above[CELLS - j] < best; j--) {
            double low = cells->low + i * cells->width, high = cells->low + j * cells->width;
            double step = (symmetric ? 2 * fmax(-low, high) : high - low) / 255;
            best = fmin(best, below[i] + above[CELLS - j] + total * step * step / 12);
        }
    }
    return total > 0 ? best / total : 0;
}

double equal_error(const struct equal_group *group, const struct observed *seen, const double *factors, bool symmetric) {
    struct cells cells = {0};
    struct histogram_bin *bins = must_calloc(histogram_bins_most(seen->channel_histogram), sizeof *bins);
    double high = 0;
    for (uint32_t c = 0; c < group->channels; c++) {
        cells.low = fmin(cells.low, (double)seen->channel_low[c] * factors[c]);
        high = fmax(high, (double)seen->channel_high[c] * factors[c]);
    }
    cells.width = (high - cells.low) / CELLS;
    for (uint32_t c = 0; cells.width > 0 && c < group->channels; c++) {
        double least = (double)seen->channel_low[c], most = (double)seen->channel_high[c];
        size_t count = histogram_bins(&seen->channel_histogram[c], bins);
        for (size_t b = 0; b < count; b++)
            pour(&cells, fmax(bins[b].low, least) * factors[c], fmin(bins[b].high, most) * factors[c], (double)bins[b].count);
    }
    free(bins);
    return cells.width > 0 ? least_error(&cells, symmetric) : 0;
}
