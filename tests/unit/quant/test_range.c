/* SPDX-License-Identifier: MIT */
/* Each method of finding a range beside what trying everything gives, over the numbers themselves; and ranges of what hardly has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/quant/calibrate/range.h"
#include "tools/quant/calibrate/range_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 20000, SAMPLES = 4, LEVELS = 256 };

static uint64_t state;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Distributions as networks have them. */
static float draw(int kind) {
    double x = normal();
    switch (kind) {
    case 0: return (float)(2 * x + 1);             /* before an activation */
    case 1: return (float)fmax(0, x);              /* ReLU */
    case 2: return (float)fmin(fmax(0, 3 * x), 6); /* ReLU6 */
    case 3: return (float)(x * x * x);             /* long tails */
    case 4: return (float)(uniform() - 0.3);
    case 5: return (float)(-exp(x));                          /* below 0 alone */
    default: return (float)(x * fmin(fmax(x + 3, 0), 6) / 6); /* HardSwish */
    }
}
enum { KINDS = 7 };

/* Numbers, and what an observer says of them as samples of a value with two channels. */
struct seen {
    struct onnx_value value, *values[1];
    struct onnx_graph graph;
    struct observer *observer;
    const struct observed *observed;
    float *numbers;
    size_t count;
};

static void see(struct seen *s, float *numbers, size_t count, size_t samples) {
    memset(s, 0, sizeof *s);
    s->value = (struct onnx_value){.name = "x", .type = ONNX_FLOAT, .is_input = true};
    s->value.shape = (struct onnx_shape){.rank = 3, .dims = {1, (int64_t)(count / samples / 2), 2}};
    s->values[0] = &s->value;
    s->graph = (struct onnx_graph){.values = s->values, .value_count = 1};
    s->observer = observer_open(&s->graph, NULL);
    assert_non_null(s->observer);
    for (size_t i = 0; i < samples; i++)
        observer_see(s->observer, &s->value, numbers ? numbers + i * (count / samples) : NULL, count / samples);
    s->observed = observer_of(s->observer, &s->value);
    s->numbers = numbers;
    s->count = count;
}

static void see_kind(struct seen *s, int kind) {
    float *numbers = malloc(NUMBERS * sizeof *numbers);
    state = (uint64_t)kind + 1;
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = draw(kind);
    see(s, numbers, NUMBERS, SAMPLES);
}

static void see_end(struct seen *s) {
    observer_close(s->observer);
    free(s->numbers);
}

static void check_near(double x, double wanted, double tolerance) {
    if (!(fabs(x - wanted) <= tolerance)) fail_msg("%.9g is not within %.3g of %.9g", x, tolerance, wanted);
}

static void minmax_and_average_are_plain(void **unused) {
    (void)unused;
    float numbers[] = {1, -2, 3, 0.5f, /**/ 5, -1, 2, 2, /**/ 4, -6, 0, 1};
    struct seen s;
    float *copy = malloc(sizeof numbers);
    memcpy(copy, numbers, sizeof numbers);
    see(&s, copy, 12, 3);
    struct range r = range_of(s.observed, RANGE_MINMAX, 0, false, LEVELS);
    assert_true(r.low == -6 && r.high == 5);
    r = range_of(s.observed, RANGE_MINMAX, 0, true, LEVELS);
    assert_true(r.low == -6 && r.high == 6);
    r = range_of(s.observed, RANGE_AVERAGE, 0, false, LEVELS);
    assert_true(r.low == -3 && r.high == 4);
    r = range_of(s.observed, RANGE_AVERAGE, 0, true, LEVELS);
    assert_true(r.low == -4 && r.high == 4);
    r = range_of_channel(s.observed, 1, RANGE_AVERAGE, 0, false, LEVELS);
    assert_true(r.low == -6 && r.high == 2);
    see_end(&s);
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Number k from below, and those next to it: a percentile lies among them, or in the bin of one, which is at most 1/512 of it wide. */
static void check_among(double x, const float *sorted, size_t k, size_t count) {
    double low = (double)sorted[k ? k - 1 : 0], high = (double)sorted[k + 1 < count ? k + 1 : k];
    double margin = fmax(fabs(low), fabs(high)) / 512;
    if (!(x >= low - margin && x <= high + margin)) fail_msg("%.9g is not within %.9g .. %.9g", x, low, high);
}

static void percentiles_are_those_of_sorted_numbers(void **unused) {
    (void)unused;
    static const double percentiles[] = {90, 99, 99.9, 99.99, 100};
    for (int kind = 0; kind < KINDS; kind++) {
        struct seen s;
        see_kind(&s, kind);
        float *sorted = malloc(s.count * sizeof *sorted), *magnitudes = malloc(s.count * sizeof *sorted);
        for (size_t i = 0; i < s.count; i++) magnitudes[i] = fabsf(sorted[i] = s.numbers[i]);
        qsort(sorted, s.count, sizeof *sorted, ascending);
        qsort(magnitudes, s.count, sizeof *magnitudes, ascending);
        for (size_t p = 0; p < sizeof percentiles / sizeof *percentiles; p++) {
            double cut = (100 - percentiles[p]) / 200 * (double)s.count;
            size_t k = (size_t)(cut + 1e-6), both = (size_t)(2 * cut + 1e-6);
            struct range r = range_of(s.observed, RANGE_PERCENTILE, percentiles[p], false, LEVELS);
            assert_true(r.low <= 0 && r.high >= 0);
            if (r.low < 0) check_among((double)r.low, sorted, k, s.count);
            if (r.high > 0) check_among((double)r.high, sorted, s.count - 1 - k, s.count);
            assert_true((r.low < 0) == (sorted[k] < 0) && (r.high > 0) == (sorted[s.count - 1 - k] > 0));
            r = range_of(s.observed, RANGE_PERCENTILE, percentiles[p], true, LEVELS);
            check_among((double)r.high, magnitudes, s.count - 1 - both, s.count);
            assert_true(r.low == -r.high);
        }
        free(sorted);
        free(magnitudes);
        see_end(&s);
    }
}

/* What a byte makes of a number. */
static double error_of(double x, double low, double high, bool symmetric) {
    double step = (high - low) / (LEVELS - 1), zero = symmetric ? LEVELS / 2 : nearbyint(-low / step);
    double least = -zero * step, most = (LEVELS - 1 - zero) * step;
    double kept = fmin(fmax(nearbyint(x / step) * step, least), most);
    return (x - kept) * (x - kept);
}

static double error_of_all(const struct seen *s, double low, double high, bool symmetric) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) sum += error_of((double)s->numbers[i], low, high, symmetric);
    return sum;
}

/* The best of 12 x 12 ranges, of 100 symmetric ones. */
static double least_error(const struct seen *s, bool symmetric) {
    double best = INFINITY, low = (double)s->observed->low, high = (double)s->observed->high;
    double most = fmax(-low, high);
    for (int i = 1; i <= 100 && symmetric; i++) best = fmin(best, error_of_all(s, -most * i / 100, most * i / 100, true));
    for (int i = low < 0 ? 1 : 12; i <= 12 && !symmetric; i++)
        for (int k = high > 0 ? 1 : 12; k <= 12; k++)
            best = fmin(best, error_of_all(s, fmin(low, 0) * i / 12, fmax(high, 0) * k / 12, false));
    return best;
}

/* Over the numbers themselves the range found is as good as the best of those tried, but for a few per mille. */
static void mse_is_as_good_as_trying_everything(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            struct seen s;
            see_kind(&s, kind);
            struct range r = range_of(s.observed, RANGE_MSE, 0, symmetric, LEVELS);
            double mine = error_of_all(&s, (double)r.low, (double)r.high, symmetric), best = least_error(&s, symmetric);
            if (!(mine <= best * 1.01))
                fail_msg("kind %d, symmetric %d: %g .. %g has error %g, the best %g", kind, symmetric, (double)r.low, (double)r.high, mine,
                         best);
            struct range whole = range_of(s.observed, RANGE_MINMAX, 0, symmetric, LEVELS);
            assert_true(mine <= 1.001 * error_of_all(&s, (double)whole.low, (double)whole.high, symmetric));
            see_end(&s);
        }
    }
}

/* The divergence by its definition: p and q as lists of probabilities. */
static double divergence(const double *mass, size_t half, bool both, size_t levels, size_t n) {
    size_t count = both ? 2 * half : half, first = both ? half - n : 0, end = both ? half + n : n;
    double *p = calloc(count, sizeof *p), *q = calloc(count, sizeof *q), all_p = 0, all_q = 0, sum = 0;
    mass += both ? 0 : half;
    for (size_t i = 0; i < count; i++) p[i < first ? first : i >= end ? end - 1 : i] += mass[i];
    for (size_t k = 0; k < levels; k++) {
        size_t from = first + k * (end - first) / levels, to = first + (k + 1) * (end - first) / levels, used = 0;
        double inside = 0;
        for (size_t i = from; i < to; i++) {
            inside += mass[i];
            used += p[i] > 0;
        }
        for (size_t i = from; i < to; i++) q[i] = p[i] > 0 ? inside / (double)used : 0;
    }
    for (size_t i = 0; i < count; i++) {
        all_p += p[i];
        all_q += q[i];
    }
    for (size_t i = 0; i < count; i++) sum += p[i] > 0 ? p[i] / all_p * log(p[i] / all_p / (q[i] / all_q)) : 0;
    free(p);
    free(q);
    return sum;
}

static void entropy_is_as_good_as_trying_everything(void **unused) {
    (void)unused;
    enum { HALF = 96, CODES = 16 };
    for (int round = 0; round < 60; round++) {
        double mass[2 * HALF];
        bool both = round % 2;
        state = (uint64_t)round + 1;
        for (int i = 0; i < 2 * HALF; i++) {
            double x = ((double)i + 0.5 - HALF) / (round % 3 == 0 ? 6 : 20);
            mass[i] = floor(100000 * exp(-x * x / 2) * uniform()) + (round % 5 == 0 && uniform() < 0.05);
        }
        double best = INFINITY;
        for (size_t n = both ? CODES / 2 : CODES; n <= HALF; n++) best = fmin(best, divergence(mass, HALF, both, CODES, n));
        size_t mine = entropy_bins(mass, HALF, both, CODES);
        check_near(divergence(mass, HALF, both, CODES, mine), best, 1e-9 * (1 + best));
    }
}

/* An even distribution keeps its whole range; a normal one with one number far out does not keep that. */
static void entropy_keeps_an_even_distribution(void **unused) {
    (void)unused;
    float *numbers = malloc(NUMBERS * sizeof *numbers);
    struct seen s;
    state = 9;
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = (float)uniform();
    see(&s, numbers, NUMBERS, SAMPLES);
    struct range r = range_of(s.observed, RANGE_ENTROPY, 0, false, LEVELS);
    assert_true(r.low == 0);
    check_near((double)r.high, 1, 0.01);
    observer_close(s.observer);
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = (float)normal();
    numbers[77] = 30;
    see(&s, numbers, NUMBERS, SAMPLES);
    r = range_of(s.observed, RANGE_ENTROPY, 0, false, LEVELS);
    assert_true((double)r.high > 3 && (double)r.high < 8 && (double)r.low < -3);
    r = range_of(s.observed, RANGE_ENTROPY, 0, true, LEVELS);
    assert_true((double)r.high > 3 && (double)r.high < 8 && r.low == -r.high);
    see_end(&s);
}

/* --- What hardly has a range --- */

static void check_sane(struct range r, bool symmetric, const char *what, enum range_method method) {
    double step = ((double)r.high - (double)r.low) / (LEVELS - 1);
    bool good = r.low <= 0 && r.high >= 0 && isfinite(r.low) && isfinite(r.high) && isnormal((float)step) && isnormal((float)(1 / step)) &&
                isnormal((float)(step * step)) && (!symmetric || r.low == -r.high);
    if (!good) fail_msg("%s, %s: %g .. %g", what, range_method_name(method), (double)r.low, (double)r.high);
}

static const struct hard {
    const char *what;
    float most, once;             /* nearly all numbers, and one */
    double least_high, most_high; /* of the range, by any method */
    double least_low, most_low;
} hards[] = {
    {"all 0", 0, 0, 1, 1, 0, 0},
    {"minus 0", -0.0f, -0.0f, 1, 1, 0, 0},
    {"constant", 3, 3, 3, 3, 0, 0},
    {"constant below 0", -3, -3, 0, 0, -3, -3},
    {"0 but once", 0, 2, 1.9, 2, 0, 0},
    {"denormal", 1e-41f, 1e-42f, 1, 1, 0, 0},
    {"least denormal, both signs", 1.4e-45f, -1.4e-45f, 1, 1, 0, 0},
    {"small", 1e-30f, 0, 1, 1, 0, 0},
    {"small, but something", 1e-12f, -1e-12f, 0.5e-12, 1e-12, -1e-12, 0},
    {"large", FLT_MAX, -FLT_MAX, 1e12, 1e21, -1e21, 0},
    {"outlier", 1, 1e6f, 1, 1e6, 0, 0},
    {"outlier below 0", 1, -1e6f, 0, 1, -1e6, 0},
};

static void hard_numbers_have_a_range(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof hards / sizeof *hards; k++) {
        const struct hard *h = &hards[k];
        float *numbers = malloc(NUMBERS * sizeof *numbers);
        struct seen s;
        for (size_t i = 0; i < NUMBERS; i++) numbers[i] = i == 12345 ? h->once : h->most;
        see(&s, numbers, NUMBERS, SAMPLES);
        for (int m = RANGE_MINMAX; m <= RANGE_MSE; m++) {
            enum range_method method = (enum range_method)m;
            for (int symmetric = 0; symmetric < 2; symmetric++) {
                check_sane(range_of(s.observed, method, RANGE_PERCENTILE_DEFAULT, symmetric, LEVELS), symmetric, h->what, method);
                for (uint32_t c = 0; c < 2; c++)
                    check_sane(range_of_channel(s.observed, c, method, RANGE_PERCENTILE_DEFAULT, symmetric, LEVELS), symmetric, h->what,
                               method);
            }
            struct range r = range_of(s.observed, method, RANGE_PERCENTILE_DEFAULT, false, LEVELS);
            bool averaged = method == RANGE_AVERAGE; /* of four samples three do not have the number */
            if ((double)r.low < h->least_low || (double)r.low > h->most_low ||
                (double)r.high < (averaged ? h->least_high / 4.1 : h->least_high) || (double)r.high > h->most_high)
                fail_msg("%s, %s: %g .. %g", h->what, range_method_name(method), (double)r.low, (double)r.high);
        }
        see_end(&s);
    }
}

/* One number of a million, in a million: those methods that clip leave the others their bytes. */
static void methods_that_clip_leave_an_outlier_out(void **unused) {
    (void)unused;
    enum { MANY = 1000000 };
    float *numbers = malloc(MANY * sizeof *numbers);
    struct seen s;
    state = 3;
    for (size_t i = 0; i < MANY; i++) numbers[i] = (float)normal();
    numbers[4321] = 1e6f;
    see(&s, numbers, MANY, SAMPLES);
    for (int m = RANGE_PERCENTILE; m <= RANGE_MSE; m++) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            struct range r = range_of(s.observed, (enum range_method)m, RANGE_PERCENTILE_DEFAULT, symmetric, LEVELS);
            if (!((double)r.high > 3 && (double)r.high < 8 && (double)r.low < -3 && (double)r.low > -8))
                fail_msg("%s: %g .. %g", range_method_name((enum range_method)m), (double)r.low, (double)r.high);
        }
    }
    assert_true(range_of(s.observed, RANGE_MINMAX, 0, false, LEVELS).high == 1e6f);
    see_end(&s);
}

/* Never seen: as if all 0. Names and methods belong together. */
static void what_was_never_seen_is_zero(void **unused) {
    (void)unused;
    struct seen s;
    see(&s, NULL, 0, 1);
    for (int m = RANGE_MINMAX; m <= RANGE_MSE; m++) {
        enum range_method method = (enum range_method)m, found;
        struct range r = range_of(s.observed, method, RANGE_PERCENTILE_DEFAULT, false, LEVELS);
        assert_true(r.low == 0 && r.high == 1);
        assert_true(range_method_find(range_method_name(method), &found) && found == method);
    }
    enum range_method none;
    assert_false(range_method_find("median", &none));
    see_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minmax_and_average_are_plain),           cmocka_unit_test(percentiles_are_those_of_sorted_numbers),
        cmocka_unit_test(mse_is_as_good_as_trying_everything),    cmocka_unit_test(entropy_is_as_good_as_trying_everything),
        cmocka_unit_test(entropy_keeps_an_even_distribution),     cmocka_unit_test(hard_numbers_have_a_range),
        cmocka_unit_test(methods_that_clip_leave_an_outlier_out), cmocka_unit_test(what_was_never_seen_is_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
