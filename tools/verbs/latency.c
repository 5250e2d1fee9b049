/* SPDX-License-Identifier: MIT */
/* Sorts what runs took and counts it. */
#include "tools/verbs/latency.h"
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void latency_sort(struct latency *latency) {
    latency->sorted = must_calloc(latency->count, sizeof *latency->sorted);
    memcpy(latency->sorted, latency->ms, latency->count * sizeof *latency->sorted);
    qsort(latency->sorted, latency->count, sizeof *latency->sorted, compare);
}

void latency_free(struct latency *latency) {
    free(latency->ms);
    free(latency->sorted);
    *latency = (struct latency){0};
}

double latency_percentile(const struct latency *latency, double p) {
    double at = ceil(p * (double)latency->count) - 1;
    return latency->sorted[at < 0 ? 0 : (size_t)at];
}

static double middle(const double *sorted, size_t count) {
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double latency_median(const struct latency *latency) {
    return middle(latency->sorted, latency->count);
}

double latency_median_of(double *ms, size_t count) {
    qsort(ms, count, sizeof *ms, compare);
    return middle(ms, count);
}

size_t latency_bin(const struct latency_histogram *histogram, double ms) {
    size_t bin = 0;
    while (bin + 1 < histogram->count && ms >= histogram->edges[bin + 1]) bin++;
    return bin;
}

static void find_edges(struct latency_histogram *h, double shortest, double end, double longest) {
    size_t body = end > 0 && end < longest ? LATENCY_BODY : LATENCY_BINS;
    end = body < LATENCY_BINS ? end : longest;
    h->count = longest > shortest ? LATENCY_BINS : 1;
    for (size_t i = 0; i <= h->count; i++) {
        if (i < body || body == LATENCY_BINS) h->edges[i] = shortest + (end - shortest) * (double)i / (double)body;
        else h->edges[i] = end * pow(longest / end, (double)(i - body) / (double)(LATENCY_BINS - body));
    }
    h->edges[h->count] = longest;
}

struct latency_histogram latency_histogram(const struct latency *latency) {
    struct latency_histogram h = {0};
    double shortest = latency->sorted[0], longest = latency->sorted[latency->count - 1];
    find_edges(&h, shortest, shortest + 1.5 * (latency_percentile(latency, 0.9) - shortest), longest);
    for (size_t i = 0; i < latency->count; i++) {
        size_t bin = latency_bin(&h, latency->sorted[i]);
        h.runs[bin]++;
        h.most = h.runs[bin] > h.most ? h.runs[bin] : h.most;
    }
    return h;
}

size_t latency_drift(const struct latency *latency, size_t parts, double *medians) {
    double *part = must_calloc(latency->count, sizeof *part);
    parts = parts < latency->count ? parts : latency->count;
    for (size_t i = 0; i < parts; i++) {
        size_t from = latency->count * i / parts, to = latency->count * (i + 1) / parts;
        memcpy(part, latency->ms + from, (to - from) * sizeof *part);
        medians[i] = latency_median_of(part, to - from);
    }
    free(part);
    return parts;
}

/* " p50 p95", those that lie in the bin. */
static void print_marks(const struct latency *latency, const struct latency_histogram *h, size_t bin) {
    static const int marks[] = {50, 95, 99};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (latency_bin(h, latency_percentile(latency, marks[i] / 100.0)) == bin) message_print("  p%d", marks[i]);
}

void latency_print(const struct latency *latency) {
    static const char bar[] = "########################################";
    const struct latency_histogram h = latency_histogram(latency);
    message_print("\n  %zu runs: p50 %.4f ms   p95 %.4f ms   p99 %.4f ms\n", latency->count, latency_percentile(latency, 0.5),
                  latency_percentile(latency, 0.95), latency_percentile(latency, 0.99));
    for (size_t i = 0; i < h.count; i++) {
        size_t length = (h.runs[i] * (sizeof bar - 1) + h.most - 1) / h.most;
        message_print("  %10.4f ... %10.4f %8zu%s%.*s", h.edges[i], h.edges[i + 1], h.runs[i], length ? "  " : "", (int)length, bar);
        print_marks(latency, &h, i);
        message_print("\n");
    }
}

void latency_json(const struct latency *latency, struct json *json) {
    const struct latency_histogram h = latency_histogram(latency);
    json_open_array(json, "histogram");
    for (size_t i = 0; i < h.count; i++) {
        json_open_flat(json, NULL);
        json_number(json, "from_ms", h.edges[i]);
        json_number(json, "to_ms", h.edges[i + 1]);
        json_integer(json, "runs", (int64_t)h.runs[i]);
        json_close(json);
    }
    json_close_array(json);
}
