/* SPDX-License-Identifier: MIT */
/* What runs took: percentiles, a histogram, how it changed from the first to the last. */
#ifndef MORSEL_TOOLS_VERBS_LATENCY_H
#define MORSEL_TOOLS_VERBS_LATENCY_H

#include "tools/base/json.h"

/* At least one run. */
struct latency {
    size_t count;
    double *ms;     /* of every run, in order */
    double *sorted; /* after latency_sort() */
};
void latency_sort(struct latency *latency);
void latency_free(struct latency *latency);

/* The value that a share of p of the runs does not exceed. */
double latency_percentile(const struct latency *latency, double p);
double latency_median(const struct latency *latency);
double latency_median_of(double *ms, size_t count); /* which are sorted by it */

/* Most runs take about as long, and few are far longer, as others had the processor. So bins of one width hold the body, from the shortest
 * run to p90 and half as far again, and bins that widen from one to the next the rest, to the longest run. */
enum { LATENCY_BINS = 20, LATENCY_BODY = 12 };
struct latency_histogram {
    size_t count;
    double edges[LATENCY_BINS + 1]; /* bin i: from edges[i] on, below edges[i + 1]; the last has its end, too */
    size_t runs[LATENCY_BINS];
    size_t most; /* in one bin */
};
struct latency_histogram latency_histogram(const struct latency *latency);
size_t latency_bin(const struct latency_histogram *histogram, double ms);

/* Medians of `parts` equal parts of the runs, in order; how many: no more than runs. */
size_t latency_drift(const struct latency *latency, size_t parts, double *medians);

void latency_print(const struct latency *latency);
void latency_json(const struct latency *latency, struct json *json);

#endif
