/* SPDX-License-Identifier: MIT */
/* Channels behind a Gelu that are far larger than others are split, and the network computes what it did. */
#include "tests/unit/support/scheme_graph.h"

#include "tools/float/executor.h"
#include "tools/quant/equalize/outliers.h"

#include <math.h>

enum { ROWS = 6, WIDTH = 8, WIDE = 32, LARGE = 5, OUT = 4 };

static float large = 10;

static float before(int i) {
    const float wave = (float)(i * 7 % 11 - 5) / 4;
    return i % WIDE == LARGE ? large * wave : wave;
}

static float bias(int i) {
    return (float)(i % 3) / 10;
}

static float behind(int i) {
    return (float)(i * 5 % 9 - 4) / 16;
}

static struct onnx_graph *make(const char *op, const char *biased) {
    struct building b = begin("1,6,8");
    constant(&b, "w", 2, (const int64_t[]){WIDTH, WIDE}, before);
    constant(&b, "b", 1, (const int64_t[]){WIDE}, bias);
    constant(&b, "v", 2, (const int64_t[]){WIDE, OUT}, behind);
    node(&b, "MatMul", "x w", "product", "");
    node(&b, biased, "product b", "sum", "");
    node(&b, op, "sum", "wide", "");
    node(&b, "MatMul", "wide v", "y", "");
    return built(&b, 20);
}

struct seen {
    struct observer *observer;
    float y[ROWS * OUT], cut; /* cut: the largest number that the last product reads */
};

static void see(void *context, const struct onnx_value *value, const float *data, size_t count) {
    struct seen *seen = context;
    if (seen->observer) observer_see(seen->observer, value, data, count);
    if (value->is_output) memcpy(seen->y, data, sizeof seen->y);
    if (!strncmp(value->name, "y", 1) && !value->is_output) /* of the Min, which is named after what reads it */
        for (size_t i = 0; i < count; i++) seen->cut = fmaxf(seen->cut, data[i]);
}

static void run(const struct onnx_graph *g, struct seen *seen) {
    float x[ROWS * WIDTH];
    const float *inputs[] = {x};
    struct failure failure;
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i * 13 % 17 - 4) / 8;
    struct executor *executor = executor_open(g, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_non_null(run);
    assert_true(executor_run(run, inputs, see, seen, &failure));
    executor_run_close(run);
    executor_close(executor);
}

static struct outliers split(struct onnx_graph *g, const struct scheme_options *options, struct seen *seen) {
    seen->observer = observer_open(g, NULL);
    run(g, seen);
    const struct outliers outliers = outliers_split(g, options, seen->observer);
    observer_close(seen->observer);
    seen->observer = NULL;
    return outliers;
}

static int64_t width_of(const struct onnx_graph *g, const char *name) {
    const struct onnx_shape *shape = &onnx_find(g, name)->shape;
    return shape->dims[shape->rank - 1];
}

static void large_channels_become_several(void **state) {
    (void)state;
    const struct scheme_options options = {0};
    struct onnx_graph *g = make("Gelu", "Add"), *other = make("Gelu", "Add");
    struct seen first = {.cut = 0}, second = {.cut = 0}, third = {.cut = 0};
    const struct outliers outliers = split(g, &options, &first);
    assert_int_equal(outliers.count, 1);
    const struct outliers_split *s = outliers.list;
    assert_in_range(s->count, 2, OUTLIERS_PARTS);
    for (uint32_t i = 0; i < s->count; i++) {
        assert_int_equal(s->from[i], LARGE);
        assert_int_equal(s->times[i], i + 1);
    }
    assert_int_equal(width_of(g, "sum"), WIDE + OUTLIERS_PARTS);
    assert_int_equal(width_of(g, "wide"), WIDE + OUTLIERS_PARTS);
    run(g, &second);
    assert_true(second.cut <= s->most && second.cut > s->most / 2);
    for (int i = 0; i < ROWS * OUT; i++) assert_true(fabsf(first.y[i] - second.y[i]) <= 0.2F / 4 + 1e-4F);
    outliers_repeat(other, &outliers);
    run(other, &third);
    assert_memory_equal(second.y, third.y, sizeof third.y);
    onnx_free(g);
    onnx_free(other);
}

static void others_stay_as_they_are(void **state) {
    (void)state;
    static const char *const lists[][3] = {{"Gelu", "Add", "node3"}, {"Relu", "Add", ""}, {"Gelu", "Sub", ""}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) { /* excluded, no Gelu, no bias */
        struct scheme_options options = {.excluded = &lists[i][2], .excluded_count = 1};
        struct onnx_graph *g = make(lists[i][0], lists[i][1]);
        struct seen seen = {.cut = 0};
        assert_int_equal(split(g, &options, &seen).count, 0);
        assert_int_equal(width_of(g, "wide"), WIDE);
        onnx_free(g);
    }
    large = 1; /* as all others */
    struct onnx_graph *g = make("Gelu", "Add");
    struct seen seen = {.cut = 0};
    assert_int_equal(split(g, &(struct scheme_options){0}, &seen).count, 0);
    onnx_free(g);
    large = 10;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_channels_become_several), cmocka_unit_test(others_stay_as_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
