/* SPDX-License-Identifier: MIT */
/* What the observer says of values: beside plain sums over the same numbers, and the same whatever the order and the number of observers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/quant/equalize/equalize_parts.h"
#include "tools/quant/calibrate/observe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 12, MOST = 2 * 5 * 7 * 11 };

static uint64_t state;

static uint32_t noise(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Numbers of many magnitudes, zeros of both signs, denormals; now and then one far out. */
static float number(void) {
    uint32_t kind = noise() % 16;
    float x = ((float)noise() / 2147483648.0f - 0.4f) * 6.0f;
    if (kind < 4) return kind % 2 ? 0.0f : -0.0f;
    if (kind == 4) return x * 1e-6f;
    if (kind == 5) return x * 1e-41f;
    if (kind == 6 && noise() % 256 == 0) return x * 1e6f;
    return x;
}

/* A graph of one value. */
struct lone {
    struct onnx_value value, *values[1];
    struct onnx_node node;
    struct onnx_graph graph;
    size_t count;
};

static void make_lone(struct lone *l, int rank, const int64_t *dims, const char *op) {
    memset(l, 0, sizeof *l);
    l->value = (struct onnx_value){.name = "x", .type = ONNX_FLOAT, .shape = {.rank = rank}, .is_input = !op};
    l->count = 1;
    for (int i = 0; i < rank; i++) {
        l->value.shape.dims[i] = dims[i];
        l->count *= (size_t)dims[i];
    }
    l->node = (struct onnx_node){.name = "n", .op = op, .domain = ""};
    l->value.producer = op ? &l->node : NULL;
    l->values[0] = &l->value;
    l->graph = (struct onnx_graph){.values = l->values, .value_count = 1};
}

static struct observer *must_open(const struct onnx_graph *graph) {
    struct observer *observer = observer_open(graph, NULL);
    assert_non_null(observer);
    return observer;
}

/* Every number of one histogram is in the other's bins, and in the right ones. */
static void check_histogram(const struct histogram *h, const float *numbers, size_t count, size_t first, size_t inner, size_t stride) {
    struct histogram_bin *bins = calloc(histogram_bins_most(h), sizeof *bins);
    size_t filled = histogram_bins(h, bins), total = 0, seen = 0;
    for (size_t i = 0; i < filled; i++) {
        size_t inside = 0;
        total += bins[i].count;
        assert_true(i == 0 || bins[i].low >= bins[i - 1].high);
        for (size_t at = first; at < count; at += stride)
            for (size_t k = 0; k < inner; k++) {
                double x = (double)numbers[at + k];
                bool tiny = fabs(x) < ldexp(1, h->top - 127 - h->octaves + 1) && h->top >= h->octaves;
                x = tiny ? 0 : x;
                if (bins[i].low == bins[i].high) inside += x == 0;
                else inside += x > 0 ? x >= bins[i].low && x < bins[i].high : x < 0 && x > bins[i].low && x <= bins[i].high;
            }
        assert_int_equal(inside, bins[i].count);
    }
    for (size_t at = first; at < count; at += stride) seen += inner;
    assert_int_equal(total, seen);
    free(bins);
}

/* Sums of channel c, element by element. */
static void check_channel(const struct observed *o, const float *numbers, size_t sample, size_t c, size_t inner) {
    double sum = 0, square = 0, low = INFINITY, high = -INFINITY;
    size_t n = 0;
    for (size_t at = 0; at < SAMPLES * sample; at++) {
        if (at % sample / inner % o->channels != c) continue;
        double x = (double)numbers[at];
        sum += x;
        square += x * x;
        low = fmin(low, x);
        high = fmax(high, x);
        n++;
    }
    assert_true((double)o->channel_low[c] == low && (double)o->channel_high[c] == high);
    assert_true(fabs(o->channel_mean[c] - sum / (double)n) <= 2e-7 * sqrt(square / (double)n) + ldexp(1, -60));
    assert_true(fabs(o->channel_square[c] - square / (double)n) <= 2e-7 * square / (double)n + ldexp(1, -46));
    check_histogram(&o->channel_histogram[c], numbers, SAMPLES * sample, c * inner, inner, inner * o->channels);
}

static const struct shape_row {
    int rank;
    int64_t dims[4];
    const char *op; /* that makes it */
    int axis;
    uint32_t channels;
    size_t inner;
} rows[] = {
    {4, {1, 5, 7, 11}, "Conv", 1, 5, 77},
    {4, {1, 3, 1, 1}, NULL, 1, 3, 1},
    {2, {1, 10}, "Gemm", 1, 10, 1},
    {3, {1, 6, 13}, "Conv", 1, 6, 13},
    {3, {1, 6, 13}, "MatMul", 2, 13, 1},
    {4, {2, 5, 7, 11}, "Relu", 1, 5, 77},
    {1, {9}, NULL, 0, 9, 1},
    {0, {0}, "ReduceMean", 1, 1, 1},
    {4, {1, 1, 9, 9}, "Sigmoid", 1, 1, 81},
};

static void sums_are_plain_sums(void **unused) {
    (void)unused;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct lone l;
        make_lone(&l, rows[r].rank, rows[r].dims, rows[r].op);
        float *numbers = malloc(SAMPLES * l.count * sizeof *numbers);
        double mean_low = 0, mean_high = 0;
        struct observer *observer = must_open(&l.graph);
        state = r;
        for (size_t s = 0; s < SAMPLES; s++) {
            double low = INFINITY, high = -INFINITY;
            for (size_t i = s * l.count; i < (s + 1) * l.count; i++) {
                numbers[i] = number();
                low = fmin(low, (double)numbers[i]);
                high = fmax(high, (double)numbers[i]);
            }
            mean_low += low / SAMPLES;
            mean_high += high / SAMPLES;
            observer_see(observer, &l.value, numbers + s * l.count, l.count);
        }
        const struct observed *o = observer_of(observer, &l.value);
        assert_int_equal(o->channels, rows[r].channels);
        assert_int_equal(o->axis, rows[r].axis);
        assert_int_equal(o->samples, SAMPLES);
        assert_int_equal(o->count, SAMPLES * l.count);
        assert_int_equal(o->broken, 0);
        assert_true(fabs(o->mean_low - mean_low) <= 1e-12 * (1 + fabs(mean_low)));
        assert_true(fabs(o->mean_high - mean_high) <= 1e-12 * (1 + fabs(mean_high)));
        check_histogram(o->histogram, numbers, SAMPLES * l.count, 0, l.count, l.count);
        for (uint32_t c = 0; c < o->channels; c++) check_channel(o, numbers, l.count, c, rows[r].inner);
        observer_close(observer);
        free(numbers);
    }
}

static void check_same_histogram(const struct histogram *a, const struct histogram *b) {
    assert_int_equal(a->top, b->top);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->zeros, b->zeros);
    assert_memory_equal(a->cells, b->cells, histogram_cells(a->octaves, a->detail) * sizeof *a->cells);
}

static void check_same(const struct observed *a, const struct observed *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->broken, b->broken);
    assert_memory_equal(&a->low, &b->low, sizeof a->low);
    assert_memory_equal(&a->high, &b->high, sizeof a->high);
    assert_memory_equal(&a->mean_low, &b->mean_low, sizeof a->mean_low);
    assert_memory_equal(&a->mean_high, &b->mean_high, sizeof a->mean_high);
    check_same_histogram(a->histogram, b->histogram);
    for (uint32_t c = 0; c < a->channels; c++) {
        assert_memory_equal(&a->channel_low[c], &b->channel_low[c], sizeof(float));
        assert_memory_equal(&a->channel_high[c], &b->channel_high[c], sizeof(float));
        assert_memory_equal(&a->channel_mean[c], &b->channel_mean[c], sizeof(double));
        assert_memory_equal(&a->channel_square[c], &b->channel_square[c], sizeof(double));
        check_same_histogram(&a->channel_histogram[c], &b->channel_histogram[c]);
    }
}

/* Samples of ever other magnitudes, so that every histogram moves its octaves on the way. */
static void any_order_gives_the_same(void **unused) {
    (void)unused;
    struct lone l;
    make_lone(&l, 4, (const int64_t[]){1, 5, 7, 11}, "Conv");
    float *numbers = malloc(SAMPLES * l.count * sizeof *numbers);
    state = 5;
    for (size_t i = 0; i < SAMPLES * l.count; i++) numbers[i] = number() * ldexpf(1, (int)(i / l.count * 5 % SAMPLES) * 4 - 20);
    struct observer *wanted = must_open(&l.graph);
    for (size_t s = 0; s < SAMPLES; s++) observer_see(wanted, &l.value, numbers + s * l.count, l.count);
    const struct observed *right = observer_of(wanted, &l.value);
    for (size_t observers = 1; observers <= 4; observers++) {
        for (size_t turn = 0; turn < 6; turn++) {
            size_t order[SAMPLES];
            struct observer *parts[4];
            for (size_t i = 0; i < SAMPLES; i++) {
                size_t k = noise() % (i + 1);
                order[i] = order[k];
                order[k] = i;
            }
            for (size_t i = 0; i < observers; i++) parts[i] = must_open(&l.graph);
            for (size_t s = 0; s < SAMPLES; s++) observer_see(parts[noise() % observers], &l.value, numbers + order[s] * l.count, l.count);
            for (size_t i = 1; i < observers; i++) observer_merge(parts[0], parts[i]);
            check_same(observer_of(parts[0], &l.value), right);
            for (size_t i = 0; i < observers; i++) observer_close(parts[i]);
        }
    }
    observer_close(wanted);
    free(numbers);
}

/* What is not finite is counted, and counts as 0. */
static void what_is_not_finite_counts_as_zero(void **unused) {
    (void)unused;
    struct lone l;
    float numbers[10] = {1, 2, NAN, -INFINITY, 3, INFINITY, -1, -NAN, 0.5f, 2}, zeros[10] = {1, 2, 0, 0, 3, 0, -1, 0, 0.5f, 2};
    make_lone(&l, 2, (const int64_t[]){1, 10}, NULL);
    struct observer *a = must_open(&l.graph), *b = must_open(&l.graph);
    observer_see(a, &l.value, numbers, 10);
    observer_see(b, &l.value, zeros, 10);
    assert_int_equal(observer_of(a, &l.value)->broken, 4);
    assert_int_equal(observer_of(b, &l.value)->broken, 0);
    struct observed copy = *observer_of(a, &l.value);
    copy.broken = 0;
    check_same(&copy, observer_of(b, &l.value));
    observer_close(a);
    observer_close(b);
}

/* Constants, integers and what is not wanted are not watched; what was never seen has no numbers. */
static void only_what_is_wanted_is_watched(void **unused) {
    (void)unused;
    static const struct onnx_tensor constant = {.type = ONNX_FLOAT};
    struct onnx_value values[5], *list[5];
    float numbers[4] = {1, 2, 3, 4};
    for (int i = 0; i < 5; i++) {
        values[i] = (struct onnx_value){.name = "x", .type = ONNX_FLOAT, .shape = {.rank = 2, .dims = {1, 4}}, .is_input = true};
        list[i] = &values[i];
    }
    values[1].constant = &constant;
    values[2].type = ONNX_INT64;
    struct onnx_graph graph = {.values = list, .value_count = 5};
    const bool wanted[5] = {true, true, true, false, true};
    struct observer *o = observer_open(&graph, wanted);
    for (int i = 0; i < 4; i++) observer_see(o, &values[i], numbers, 4);
    assert_int_equal(observer_of(o, &values[0])->count, 4);
    assert_null(observer_of(o, &values[1]));
    assert_null(observer_of(o, &values[2]));
    assert_null(observer_of(o, &values[3]));
    assert_int_equal(observer_of(o, &values[4])->count, 0);
    assert_true(observer_of(o, &values[4])->low == 0 && observer_of(o, &values[4])->high == 0);
    observer_close(o);
}

/* However many values there are, their histograms take no more memory than some thousands do. */
static void histograms_of_many_values_are_coarser(void **unused) {
    (void)unused;
    enum { VALUES = 20000 };
    struct onnx_value *values = calloc(VALUES, sizeof *values), **list = calloc(VALUES, sizeof *list);
    const float numbers[4] = {1, -2, 3, 4};
    for (int i = 0; i < VALUES; i++) {
        values[i] = (struct onnx_value){.name = "x", .type = ONNX_FLOAT, .shape = {.rank = 2, .dims = {1, 4}}, .is_input = true};
        list[i] = &values[i];
    }
    for (size_t count = 4; count <= VALUES; count += VALUES - 4) {
        struct onnx_graph graph = {.values = list, .value_count = count};
        struct observer *o = observer_open(&graph, NULL);
        observer_see(o, &values[count - 1], numbers, 4);
        const struct histogram *h = observer_of(o, &values[count - 1])->histogram;
        assert_int_equal(h->detail == 9, count == 4);
        assert_true(count * histogram_cells(h->octaves, h->detail) * sizeof *h->cells <= (size_t)1 << 29);
        check_histogram(h, numbers, 4, 0, 4, 4);
        observer_close(o);
    }
    free(list);
    free(values);
}

/* Of a large sample some numbers are in the histograms, as many from every part of it; the extremes are of all. */
static void of_large_samples_some_numbers_are_taken(void **unused) {
    (void)unused;
    struct lone l;
    make_lone(&l, 4, (const int64_t[]){1, 8, 120, 121}, "Conv");
    float *numbers = malloc(l.count * sizeof *numbers);
    size_t row = 121, rows = l.count / row, total = 0;
    for (int turn = 0; turn < 2; turn++) { /* the histogram counts by the column, by the row */
        for (size_t i = 0; i < l.count; i++) numbers[i] = turn ? (float)(1 + i % row) : (float)(1 + i / row);
        struct observer *observer = must_open(&l.graph);
        numbers[4] = 5000;
        numbers[l.count - 1] = -5000;
        observer_see(observer, &l.value, numbers, l.count);
        const struct observed *o = observer_of(observer, &l.value);
        assert_true(o->low == -5000 && o->high == 5000 && o->channel_low[7] == -5000 && o->channel_high[0] == 5000);
        assert_int_equal(o->count, l.count);
        struct histogram_bin *bins = calloc(histogram_bins_most(o->histogram), sizeof *bins);
        size_t filled = histogram_bins(o->histogram, bins), parts = turn ? row : rows;
        double first = 0;
        for (size_t i = 0; i < filled && bins[i].low <= (double)parts / 2; i++) first += (double)bins[i].count;
        assert_true(fabs(first / (double)o->histogram->count - 0.5) < 0.02);
        for (uint32_t c = 0; c < 8; c++) {
            assert_true(o->channel_histogram[c].count > o->histogram->count / 8 - 20);
            total += o->channel_histogram[c].count;
        }
        assert_int_equal(total, o->histogram->count);
        assert_true(total > 12000 && total <= 16384);
        total = 0;
        free(bins);
        observer_close(observer);
    }
    free(numbers);
}

/* A cell that is full stays full. */
static void a_full_cell_stays_full(void **unused) {
    (void)unused;
    uint32_t *cells = calloc(histogram_cells(4, 1), sizeof *cells), *others = calloc(histogram_cells(4, 1), sizeof *others);
    struct histogram h = histogram_start(cells, 4, 1), other = histogram_start(others, 4, 1);
    struct histogram_bin bins[17];
    histogram_reach(&h, 4);
    histogram_add(&h, (const float[]){1, 4}, 2);
    size_t cell = 0;
    while (!cells[cell]) cell++;
    cells[cell] = UINT32_MAX - 1;
    h.count = (uint64_t)UINT32_MAX + 5;
    histogram_add(&h, (const float[]){1, 1, 1}, 3);
    assert_int_equal(cells[cell], UINT32_MAX);
    histogram_reach(&other, 16);
    histogram_add(&other, (const float[]){1, -16, 0}, 3);
    histogram_merge(&other, &h);
    assert_int_equal(histogram_bins(&other, bins), 3);
    assert_true(bins[0].low == -24 && bins[0].high == -16 && bins[1].low == 0 && bins[1].high == 0 && bins[2].low == 4);
    assert_true(bins[1].count == (uint64_t)UINT32_MAX + 2);
    free(cells);
    free(others);
}

/* Bytes of two channels, one of them times a factor: numbers spread evenly over 0 .. 1 cost a twelfth of a step's square; an end that few
 * reach is clipped where that costs less, and costs less than steps for all of it would. */
static void channels_of_equal_error_are_told(void **unused) {
    (void)unused;
    enum { MANY = 20000 };
    float *numbers = calloc(2 * MANY, sizeof *numbers);
    struct lone l;
    make_lone(&l, 4, (const int64_t[]){1, 2, 100, 200}, "Conv");
    state = 5;
    for (int i = 0; i < 2 * MANY; i++) numbers[i] = (float)noise() / 2147483648.0F;
    for (int far = 0; far < 2; far++) {
        struct observer *observer = must_open(&l.graph);
        for (int i = 0; far && i < MANY; i += 100) numbers[i] = 1 + (float)(i % 300) / 100;
        for (int s = 0; s < 4; s++) observer_see(observer, &l.value, numbers, l.count);
        const struct observed *o = observer_of(observer, &l.value);
        const struct equal_group group = {.channels = 2};
        const double one = 1 / 255.0 / 255 / 12;
        double even = equal_error(&group, o, (const double[]){1, 1}, false), both = equal_error(&group, o, (const double[]){1, 1}, true);
        double large = equal_error(&group, o, (const double[]){4, 1}, false);
        double down = equal_error(&group, o, (const double[]){0.25, 1}, false);
        double least = far ? 2.0 : 0.95, most = far ? 9 : 1.05; /* times `one`; the range is 3 where all of it is kept */
        if (even < least * one || even > most * one || fabs(both / even - 4) > 0.2)
            fail_msg("far %d: %g and %g of %g", far, even, both, one);
        if (fabs(large / even - 16) > 1 || down > even * 1.01 || down < 0.95 * one)
            fail_msg("far %d: %g and %g of %g", far, large, down, even);
        observer_close(observer);
    }
    free(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_plain_sums),
                                       cmocka_unit_test(any_order_gives_the_same),
                                       cmocka_unit_test(what_is_not_finite_counts_as_zero),
                                       cmocka_unit_test(only_what_is_wanted_is_watched),
                                       cmocka_unit_test(histograms_of_many_values_are_coarser),
                                       cmocka_unit_test(of_large_samples_some_numbers_are_taken),
                                       cmocka_unit_test(a_full_cell_stays_full),
                                       cmocka_unit_test(channels_of_equal_error_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
