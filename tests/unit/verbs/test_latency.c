/* SPDX-License-Identifier: MIT */
/* Percentiles, histograms and drift of what runs took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/verbs/latency.h"

#include <stdlib.h>
#include <string.h>

static struct latency latency_of(const double *ms, size_t count) {
    struct latency latency = {.count = count, .ms = malloc(count * sizeof *ms)};
    memcpy(latency.ms, ms, count * sizeof *ms);
    latency_sort(&latency);
    return latency;
}

static void percentiles_are_runs_and_not_exceeded(void **state) {
    (void)state;
    static const double ms[] = {5, 1, 4, 2, 3, 9, 8, 7, 6, 10};
    struct latency latency = latency_of(ms, 10);
    assert_true(latency_percentile(&latency, 0.5) == 5 && latency_percentile(&latency, 0.95) == 10);
    assert_true(latency_percentile(&latency, 0) == 1 && latency_percentile(&latency, 1) == 10);
    assert_true(latency_median(&latency) == 5.5);
    assert_memory_equal(latency.ms, ms, sizeof ms); /* their order stays */
    latency_free(&latency);
}

/* Every run is in one bin, between its edges; edges ascend from the shortest to the longest. */
static void check_bins(const struct latency *latency) {
    const struct latency_histogram h = latency_histogram(latency);
    size_t runs[LATENCY_BINS] = {0}, all = 0, most = 0;
    assert_true(h.count == 1 || h.count == LATENCY_BINS);
    assert_true(h.edges[0] == latency->sorted[0] && h.edges[h.count] == latency->sorted[latency->count - 1]);
    for (size_t i = 0; i < h.count; i++) assert_true(h.edges[i] <= h.edges[i + 1]);
    for (size_t i = 0; i < latency->count; i++) {
        size_t bin = latency_bin(&h, latency->ms[i]);
        assert_true(bin < h.count && latency->ms[i] >= h.edges[bin]);
        assert_true(bin + 1 == h.count || latency->ms[i] < h.edges[bin + 1]);
        runs[bin]++;
    }
    for (size_t i = 0; i < h.count; i++) {
        assert_int_equal(runs[i], h.runs[i]);
        all += h.runs[i];
        most = h.runs[i] > most ? h.runs[i] : most;
    }
    assert_int_equal(all, latency->count);
    assert_int_equal(most, h.most);
}

static void every_run_is_in_its_bin(void **state) {
    (void)state;
    static const double few[][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {0, 0, 0, 7}, {3, 2, 1, 1e9}, {0, 0, 0, 0}, {1e-9, 2e-9, 1, 1}};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        for (size_t count = 1; count <= 4; count++) {
            struct latency latency = latency_of(few[i], count);
            check_bins(&latency);
            latency_free(&latency);
        }
    }
    srand(1);
    for (int trial = 0; trial < 100; trial++) {
        double ms[300];
        for (size_t i = 0; i < 300; i++) ms[i] = 1 + 0.01 * (rand() % 100) + (rand() % 20 ? 0 : rand() % 1000);
        struct latency latency = latency_of(ms, 300);
        check_bins(&latency);
        latency_free(&latency);
    }
}

/* One run that takes a hundred times as long does not take the others' bins away. */
static void a_long_run_leaves_the_others_apart(void **state) {
    (void)state;
    double ms[101];
    for (size_t i = 0; i < 100; i++) ms[i] = 1 + 0.001 * (double)i;
    ms[100] = 100;
    struct latency latency = latency_of(ms, 101);
    const struct latency_histogram h = latency_histogram(&latency);
    size_t used = 0;
    for (size_t i = 0; i < h.count; i++) used += h.runs[i] != 0;
    assert_true(used >= 8);
    assert_int_equal(h.runs[h.count - 1], 1);
    latency_free(&latency);
}

static void drift_is_the_median_of_each_part(void **state) {
    (void)state;
    static const double ms[] = {3, 1, 2, 6, 5, 4, 9};
    struct latency latency = latency_of(ms, 7);
    double medians[10];
    assert_int_equal(latency_drift(&latency, 3, medians), 3);
    assert_true(medians[0] == 2 && medians[1] == 4 && medians[2] == 5); /* {3 1} {2 6} {5 4 9} */
    assert_int_equal(latency_drift(&latency, 10, medians), 7);
    for (size_t i = 0; i < 7; i++) assert_true(medians[i] == ms[i]);
    latency_free(&latency);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_runs_and_not_exceeded),
        cmocka_unit_test(every_run_is_in_its_bin),
        cmocka_unit_test(a_long_run_leaves_the_others_apart),
        cmocka_unit_test(drift_is_the_median_of_each_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
