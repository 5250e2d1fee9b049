/* SPDX-License-Identifier: MIT */
/* Clipping by the squared error of rounding and clipping, which is computed for each bin as if its numbers lay evenly in it. */
#include "tools/quant/calibrate/range_parts.h"
#include <math.h>

enum { PER_OCTAVE = 4, OCTAVES = 24, REFINEMENTS = 3, ROUNDS = 3, OUTLIER_TIMES = 64 };
static const double outlier_share = 1e-5;

/* The quantized levels stand for step * k, lowest <= step * k <= highest, 0 among them. */
struct grid {
    double step, lowest, highest;
};

static struct grid grid_of(double low, double high, bool symmetric, int levels) {
    double step = (high - low) / (levels - 1), zero = symmetric ? levels / 2 : nearbyint(-low / step);
    return (struct grid){step, -zero * step, (levels - 1 - zero) * step};
}

static double nearest(double u) {
    return (double)(int64_t)(u + (u < 0 ? -0.5 : 0.5));
}

/* The integral of (t - nearest(t))^2 for t from 0 to u: a twelfth for each whole step. */
static double rounding(double u) {
    double whole = nearest(u), rest = u - whole;
    return whole / 12 + rest * rest * rest / 3;
}

static double cube(double x) {
    return x * x * x;
}

/* The integral of the squared error over low .. high. */
static double integral(const struct grid *grid, double low, double high) {
    double sum = 0, inner_low = low, inner_high = high;
    if (low < grid->lowest) {
        inner_low = fmin(high, grid->lowest);
        sum += (cube(grid->lowest - low) - cube(grid->lowest - inner_low)) / 3;
    }
    if (high > grid->highest) {
        inner_high = fmax(low, grid->highest);
        sum += (cube(high - grid->highest) - cube(inner_high - grid->highest)) / 3;
    }
    if (inner_high > inner_low) sum += cube(grid->step) * (rounding(inner_high / grid->step) - rounding(inner_low / grid->step));
    return sum;
}

static double error_at(const struct grid *grid, double x) {
    double kept = x < grid->lowest ? grid->lowest : x > grid->highest ? grid->highest : nearest(x / grid->step) * grid->step;
    return (x - kept) * (x - kept);
}

/* Of one bin. One much narrower than a step counts as its middle: the difference of two integrals would be all rounding. */
static double error_of(const struct grid *grid, const struct histogram_bin *bin) {
    double width = bin->high - bin->low;
    if (width < grid->step * 0x1p-12) return (double)bin->count * error_at(grid, (bin->low + bin->high) / 2);
    return (double)bin->count * integral(grid, bin->low, bin->high) / width;
}

/* The bins that are clipped, wholly or in part; the others are first .. end - 1. */
static double clipped_error(const struct spread *spread, const struct grid *grid, size_t *first, size_t *end) {
    double sum = 0;
    *first = 0;
    *end = spread->count;
    while (*first < *end && spread->bins[*first].low < grid->lowest) sum += error_of(grid, &spread->bins[(*first)++]);
    while (*first < *end && spread->bins[*end - 1].high > grid->highest) sum += error_of(grid, &spread->bins[--*end]);
    return sum;
}

/* The sum of squared errors of quantized levels for low .. high, and the part by clipping; above `limit` it may be a part. */
static double error_within(const struct spread *spread, double low, double high, bool symmetric, int levels, double limit,
                           double *clipped) {
    struct grid grid = grid_of(low, high, symmetric, levels);
    size_t first, end;
    double sum = *clipped = clipped_error(spread, &grid, &first, &end);
    for (size_t i = first; i < end && sum <= limit; i++) sum += error_of(&grid, &spread->bins[i]);
    return sum;
}

/* A search along one way: what moves, between nothing and its most. */
struct search {
    const struct spread *spread;
    bool symmetric;
    int levels;
    enum { THRESHOLD, LOW, HIGH } moves;
    double low, high; /* the best so far */
    double error;
    double clipped; /* the part of what was tried last that clipping makes */
};

/* Tries magnitude m for what moves; THRESHOLD moves both ends as far as there are numbers. */
static bool try_magnitude(struct search *s, double m) {
    double low = s->low, high = s->high;
    if (s->symmetric) {
        high = m;
        low = -m;
    } else {
        low = s->moves == LOW ? -m : s->moves == THRESHOLD ? fmin(0, fmax(s->spread->low, -m)) : low;
        high = s->moves == HIGH ? m : s->moves == THRESHOLD ? fmax(0, fmin(s->spread->high, m)) : high;
    }
    if (!(high - low > 0)) return false;
    double error = error_within(s->spread, low, high, s->symmetric, s->levels, s->error, &s->clipped);
    if (!(error < s->error)) return false;
    s->error = error;
    s->low = low;
    s->high = high;
    return true;
}

/* Magnitudes from `most` down, four to the octave, as long as clipping, which only grows, is less than the best error; then ever closer
 * round the best. */
static void search_along(struct search *s, double most) {
    double ratio = exp2(1.0 / PER_OCTAVE), m = most, best = s->moves == LOW ? -s->low : s->moves == HIGH ? s->high : 0;
    s->clipped = 0;
    for (int i = 0; i < PER_OCTAVE * OCTAVES && s->clipped <= s->error; i++, m /= ratio)
        if (try_magnitude(s, m)) best = m;
    for (int i = 0; i < REFINEMENTS && best > 0; i++) {
        double from = best / ratio, to = fmin(best * ratio, most);
        ratio = exp2(log2(ratio) / PER_OCTAVE);
        for (m = from; m <= to; m *= ratio)
            if (try_magnitude(s, m)) best = m;
    }
}

/*
 * The numbers without outliers. A number that is a million times the others weighs more in this error than all of them together; where so
 * few numbers lie so far out that no network means them, they are left to be clipped.
 */
static struct spread without_outliers(const struct spread *spread) {
    struct spread rest = *spread;
    double reach = OUTLIER_TIMES * spread_quantile_of_magnitudes(spread, 1 - outlier_share);
    while (reach > 0 && rest.count && rest.bins[0].low < -reach) {
        rest.bins++;
        rest.count--;
        rest.low = -reach;
    }
    while (reach > 0 && rest.count && rest.bins[rest.count - 1].high > reach) {
        rest.count--;
        rest.high = reach;
    }
    return rest;
}

void mse_range(const struct spread *all, bool symmetric, int levels, double *low, double *high) {
    const struct spread rest = without_outliers(all), *spread = &rest;
    double largest = fmax(-spread->low, spread->high);
    struct search s = {.spread = spread, .symmetric = symmetric, .levels = levels, .error = INFINITY};
    s.moves = THRESHOLD;
    if (largest > 0) search_along(&s, largest);
    for (int i = 0; i < ROUNDS && !symmetric && spread->low < 0 && spread->high > 0; i++) {
        double before = s.error;
        s.moves = LOW;
        search_along(&s, -spread->low);
        s.moves = HIGH;
        search_along(&s, spread->high);
        if (!(s.error < before * 0.9999)) break;
    }
    *low = s.low;
    *high = s.high;
}
