/* SPDX-License-Identifier: MIT */
/* Grid samples of any numbers, and objects that are selected, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/ops.h"
#include "tests/unit/support/blob_builder.h"

enum { PLACES = 8 };

/* One picture of 2 x 3, one channel, at PLACES places in a row. */
static float *sample(struct morsel_blob_grid_sample p, const float *grid) {
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    struct builder b;
    uint32_t bytes;
    builder_start(&b);
    uint32_t in[2] = {builder_tensor(&b, MORSEL_FLOAT32, 4, (uint32_t[]){1, 2, 3, 1}, 1, 0),
                      builder_tensor(&b, MORSEL_FLOAT32, 4, (uint32_t[]){1, 1, PLACES, 2}, 1, 0)};
    uint32_t out = builder_tensor(&b, MORSEL_FLOAT32, 4, (uint32_t[]){1, 1, PLACES, 1}, 1, 0);
    builder_step(&b, MORSEL_STEP_GRID_SAMPLE, in, 2, out, &p, sizeof p, 0);
    builder_input(&b, in[0], "x");
    builder_input(&b, in[1], "grid");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    return builder_run(blob, bytes, x, grid);
}

static void expect(struct morsel_blob_grid_sample p, const float *grid, const float *wanted) {
    float *y = sample(p, grid);
    for (int i = 0; i < PLACES; i++)
        if (y[i] != wanted[i])
            fail_msg("nearest %u beyond %u corners %u: place %d is %g, not %g", p.nearest, p.beyond, p.corners, i, (double)y[i],
                     (double)wanted[i]);
    free(y);
}

/* Along the width: the middles of the pixels, their edges, and beyond; along the height in the middle of the upper row. */
static void pixels_lie_side_by_side(void **state) {
    (void)state;
    const float third = 2 / 3.0f;
    const float grid[2 * PLACES] = {-third, -.5f, 0, -.5f, third, -.5f, -1, -.5f, 1, -.5f, -4 / 3.0f, -.5f, 2, -.5f, 0, 0};
    expect((struct morsel_blob_grid_sample){1, MORSEL_BEYOND_NOTHING, 0}, grid, (float[]){1, 2, 3, 1, 3, 0, 0, 2});
    expect((struct morsel_blob_grid_sample){1, MORSEL_BEYOND_EDGE, 0}, grid, (float[]){1, 2, 3, 1, 3, 1, 3, 2});
    expect((struct morsel_blob_grid_sample){1, MORSEL_BEYOND_MIRROR, 0}, grid, (float[]){1, 2, 3, 1, 3, 1, 2, 2});
    const float corners[2 * PLACES] = {-1, -1, 0, -1, 1, -1, 1, 1, 0, 0, 2, -1, -3, 1, .5f, .5f};
    expect((struct morsel_blob_grid_sample){0, MORSEL_BEYOND_NOTHING, 1}, corners, (float[]){1, 2, 3, 6, 3.5f, 0, 0, 4.75f});
    expect((struct morsel_blob_grid_sample){0, MORSEL_BEYOND_EDGE, 1}, corners, (float[]){1, 2, 3, 6, 3.5f, 3, 4, 4.75f});
    expect((struct morsel_blob_grid_sample){0, MORSEL_BEYOND_MIRROR, 1}, corners, (float[]){1, 2, 3, 6, 3.5f, 2, 6, 4.75f});
}

/* What is no place counts as one far to the left, or above; what is far out as one at 2^22: 4194304 is pixel 0 of 3 mirrored at edges. */
static void any_number_is_a_place(void **state) {
    (void)state;
    const float grid[2 * PLACES] = {NAN, -.5f, INFINITY, -.5f, -INFINITY, -.5f, 3e38f, -.5f, -3e38f, -.5f, 0, NAN, 0, INFINITY, NAN, NAN};
    for (uint32_t nearest = 0; nearest < 2; nearest++)
        for (uint32_t corners = 0; corners < 2; corners++) {
            float *y = sample((struct morsel_blob_grid_sample){nearest, MORSEL_BEYOND_NOTHING, corners}, grid);
            for (int i = 0; i < PLACES; i++) assert_true(y[i] == 0);
            free(y);
            y = sample((struct morsel_blob_grid_sample){nearest, MORSEL_BEYOND_MIRROR, corners}, grid);
            for (int i = 0; i < PLACES; i++) assert_true(y[i] >= 1 && y[i] <= 6);
            free(y);
        }
    expect((struct morsel_blob_grid_sample){1, MORSEL_BEYOND_EDGE, 0}, grid, (float[]){1, 3, 1, 3, 1, 2, 5, 1});
}

/* Seven objects in a row, of which neighbours share a half. */
enum { OBJECTS = 7, CLASSES = 2, MOST = 4 };

static int32_t *select_objects(float overlap, float least, uint32_t centre, const float *boxes, const float *scores) {
    struct builder b;
    uint32_t bytes;
    struct morsel_blob_non_max_suppression p = {1, CLASSES, OBJECTS, MOST, centre, overlap, least};
    builder_start(&b);
    uint32_t in[2] = {builder_tensor(&b, MORSEL_FLOAT32, 3, (uint32_t[]){1, OBJECTS, 4}, 1, 0),
                      builder_tensor(&b, MORSEL_FLOAT32, 3, (uint32_t[]){1, CLASSES, OBJECTS}, 1, 0)};
    uint32_t out = builder_tensor(&b, MORSEL_INT32, 2, (uint32_t[]){CLASSES * MOST, 3}, 1, 0);
    builder_step(&b, MORSEL_STEP_NON_MAX_SUPPRESSION, in, 2, out, &p, sizeof p, OBJECTS);
    builder_input(&b, in[0], "boxes");
    builder_input(&b, in[1], "scores");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    return builder_run(blob, bytes, boxes, scores);
}

static void expect_objects(const int32_t *y, const int32_t (*wanted)[3], uint32_t count) {
    for (uint32_t i = 0; i < CLASSES * MOST; i++)
        for (uint32_t k = 0; k < 3; k++) assert_int_equal(y[3 * i + k], i < count ? wanted[i][k] : -1);
}

static void the_best_of_those_that_overlap_is_left(void **state) {
    (void)state;
    const float scores[CLASSES * OBJECTS] = {.5f, .9f, .5f, .5f, .7f, NAN, .1f, .5f, .5f, .5f, .5f, .5f, .5f, .5f};
    for (uint32_t centre = 0; centre < 2; centre++) {
        float boxes[4 * OBJECTS];
        for (int i = 0; i < OBJECTS; i++) {
            const float corners[4] = {1, (float)i, 0, (float)i + 2}, middle[4] = {(float)i + 1, .5f, 2, 1};
            memcpy(boxes + 4 * i, centre ? middle : corners, sizeof corners);
        }
        /* neighbours share a third of what both cover */
        int32_t *y = select_objects(.25f, .2f, centre, boxes, scores);
        expect_objects(y, (int32_t[][3]){{0, 0, 1}, {0, 0, 4}, {0, 1, 0}, {0, 1, 2}, {0, 1, 4}, {0, 1, 6}}, 6);
        free(y);
        y = select_objects(.5f, -INFINITY, centre, boxes, scores); /* nothing goes out; those of equal scores in their order */
        expect_objects(y, (int32_t[][3]){{0, 0, 1}, {0, 0, 4}, {0, 0, 0}, {0, 0, 2}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2}, {0, 1, 3}}, 8);
        free(y);
        y = select_objects(0, .6f, centre, boxes, scores);
        expect_objects(y, (int32_t[][3]){{0, 0, 1}, {0, 0, 4}}, 2);
        free(y);
    }
}

static void what_has_no_area_overlaps_nothing(void **state) {
    (void)state;
    float boxes[4 * OBJECTS] = {0};
    const float scores[CLASSES * OBJECTS] = {1, 1, 1, 1, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    for (int i = 0; i < 4 * OBJECTS; i++) boxes[i] = i % 4 == 2 ? 1 : 0;
    boxes[3] = NAN;
    int32_t *y = select_objects(0, 0, 0, boxes, scores);
    expect_objects(y, (int32_t[][3]){{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 3}}, 4);
    free(y);
}

/* Lines of a table: the nearest even, from either end, and the first of all for a NaN. */
static void lines_are_counted_in_floats(void **state) {
    (void)state;
    enum { ROWS = 5, COUNT = 16 };
    static const float x[COUNT] = {0, 4, 5, -1, -5, -6, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -1e9f, INFINITY, -INFINITY, NAN, -NAN};
    static const uint8_t table[ROWS] = {10, 11, 12, 13, 14},
                         wanted[COUNT] = {10, 14, 14, 14, 10, 10, 12, 12, 10, 13, 14, 10, 14, 10, 10, 10};
    struct builder b;
    uint32_t bytes, count = COUNT;
    builder_start(&b);
    struct morsel_blob_lookup p = {ROWS, 1, builder_data(&b, table, ROWS)};
    uint32_t in = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0), out = builder_tensor(&b, MORSEL_UINT8, 1, &count, 1, 0);
    builder_step(&b, MORSEL_STEP_LOOKUP, &in, 1, out, &p, sizeof p, 0);
    builder_input(&b, in, "places");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes), *y = builder_run(blob, bytes, x, NULL);
    assert_memory_equal(y, wanted, sizeof wanted);
    free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_counted_in_floats),
        cmocka_unit_test(pixels_lie_side_by_side),
        cmocka_unit_test(any_number_is_a_place),
        cmocka_unit_test(the_best_of_those_that_overlap_is_left),
        cmocka_unit_test(what_has_no_area_overlaps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
