/* SPDX-License-Identifier: MIT */
/* morsel_points(): heat maps and coordinates against a reference in double. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/maps.h"

enum { POINTS = 5, HEIGHT = 9, WIDTH = 12, NUMBERS = 2 * POINTS * HEIGHT * WIDTH };

static struct map_trial heat_of(uint32_t flags, int last) {
    int chw = flags & MORSEL_ANSWER_COLUMNS;
    struct map_trial t = {.rule = {.kind = MORSEL_ANSWER_POINTS,
                                   .head = MORSEL_HEAD_HEATMAPS,
                                   .flags = flags,
                                   .classes = POINTS,
                                   .most = 1,
                                   .scale = {3.5f, 2.25f}},
                          .rank = 4,
                          .dims = {2, chw ? POINTS : HEIGHT, chw ? HEIGHT : WIDTH, chw ? WIDTH : POINTS},
                          .type = MORSEL_FLOAT32,
                          .channels_last = last,
                          .with_picture = 1,
                          .picture = map_picture(1)};
    return t;
}

static double heat(const struct map_trial *t, const float *values, uint32_t image, uint32_t k, uint32_t y, uint32_t x) {
    size_t at = t->rule.flags & MORSEL_ANSWER_COLUMNS ? ((size_t)k * HEIGHT + y) * WIDTH + x : ((size_t)y * WIDTH + x) * POINTS + k;
    return (double)values[(size_t)image * POINTS * HEIGHT * WIDTH + at];
}

/* As published code has it: rows and columns 0, 1 and the last one get no offset. */
static void reference(const struct map_trial *t, const float *values, uint32_t image, uint32_t k, double *x, double *y, double *p) {
    uint32_t best_x = 0, best_y = 0;
    *p = -1e30;
    for (uint32_t r = 0; r < HEIGHT; r++)
        for (uint32_t c = 0; c < WIDTH; c++)
            if (heat(t, values, image, k, r, c) > *p) *p = heat(t, values, image, k, r, c), best_x = c, best_y = r;
    *x = best_x;
    *y = best_y;
    if (t->rule.flags & MORSEL_ANSWER_QUARTER && 1 < best_x && best_x < WIDTH - 1 && 1 < best_y && best_y < HEIGHT - 1) {
        double dx = heat(t, values, image, k, best_y, best_x + 1) - heat(t, values, image, k, best_y, best_x - 1);
        double dy = heat(t, values, image, k, best_y + 1, best_x) - heat(t, values, image, k, best_y - 1, best_x);
        *x += dx > 0 ? 0.25 : dx < 0 ? -0.25 : 0;
        *y += dy > 0 ? 0.25 : dy < 0 ? -0.25 : 0;
    }
    if (t->rule.flags & MORSEL_ANSWER_CENTRE) *x += 0.5, *y += 0.5;
    *x *= (double)t->rule.scale[0];
    *y *= (double)t->rule.scale[1];
    if (t->rule.flags & MORSEL_ANSWER_SIGMOID) *p = 1 / (1 + exp(-*p));
}

static void the_highest_cell_is_the_point(void **state) {
    (void)state;
    static float values[NUMBERS];
    uint32_t random = 3, offset = 0;
    for (uint32_t way = 0; way < 32; way++) {
        uint32_t flags = (way & 1 ? MORSEL_ANSWER_COLUMNS : 0) | (way & 2 ? MORSEL_ANSWER_QUARTER : 0) |
                         (way & 4 ? MORSEL_ANSWER_CENTRE : 0) | (way & 8 ? MORSEL_ANSWER_SIGMOID : 0);
        struct map_trial t = heat_of(flags, way / 16);
        struct map_network n;
        struct morsel_point got[POINTS + 1];
        uint32_t count = 77;
        if (way % 3 == 1) t.type = way % 2 ? MORSEL_UINT8 : MORSEL_INT8;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < NUMBERS; i++) values[i] = (float)(4 * map_chance(&random) - 2);
        map_run(&n, values);
        for (uint32_t image = 0; image < 2; image++) {
            memset(got, 0xa5, sizeof got);
            assert_int_equal(morsel_points(&n.session, NULL, image, got, POINTS, &count), MORSEL_OK);
            assert_int_equal(count, POINTS);
            assert_int_equal(*(uint8_t *)&got[POINTS], 0xa5);
            for (uint32_t k = 0; k < POINTS; k++) {
                double x, y, p;
                reference(&t, values, image, k, &x, &y, &p);
                assert_int_equal(got[k].index, k);
                assert_float_equal(got[k].x, x, 1e-4);
                assert_float_equal(got[k].y, y, 1e-4);
                assert_float_equal(got[k].p, p, 1e-5);
                offset += fmod((double)got[k].x / (double)t.rule.scale[0], 0.5) != 0;
            }
        }
        map_close(&n);
    }
    assert_in_range(offset, 30, 160);
}

/* Rows, columns and one line, of two or three numbers. */
static void coordinates_are_read(void **state) {
    (void)state;
    uint32_t random = 8, tried = 0;
    for (uint32_t way = 0; way < 48; way++) {
        uint32_t parts = 2 + way % 2, shape = way / 2 % 4, columns = shape == 1, y_first = way / 8 % 2, last = way / 16 == 1;
        struct map_trial t = heat_of(0, 0);
        struct map_network n;
        struct morsel_point got[POINTS];
        float values[2 * POINTS * 3];
        uint32_t count, dims[4][4] = {{2, POINTS, parts}, {2, parts, POINTS}, {2, POINTS * parts}, {2, 1, POINTS, parts}};
        static const uint32_t ranks[] = {3, 3, 2, 4};
        t.rule.head = MORSEL_HEAD_COORDINATES;
        t.rule.flags = (columns ? MORSEL_ANSWER_COLUMNS : 0) | (y_first ? MORSEL_ANSWER_Y_FIRST : 0);
        if (way / 32) t.rule.flags |= MORSEL_ANSWER_SIGMOID, t.rule.threshold = 0.5f;
        t.rank = ranks[shape];
        memcpy(t.dims, dims[shape], sizeof t.dims);
        t.channels_last = (int)last;
        for (uint32_t k = t.rank; k < 4; k++) t.dims[k] = 1;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (uint32_t i = 0; i < 2 * POINTS * parts; i++) values[i] = (float)(4 * map_chance(&random) - 2);
        map_run(&n, values);
        for (uint32_t image = 0; image < 2; image++) {
            uint32_t at = 0;
            assert_int_equal(morsel_points(&n.session, NULL, image, got, POINTS, &count), MORSEL_OK);
            for (uint32_t k = 0; k < POINTS; k++) {
                const float *own = values + image * POINTS * parts + (columns ? k : k * parts);
                uint32_t step = columns ? POINTS : 1;
                double p = parts == 3 ? (double)own[2 * step] : 1;
                if (parts == 3 && way / 32) p = 1 / (1 + exp(-p));
                if (t.rule.threshold > 0 && p < 0.5) continue;
                assert_true(at < count && got[at].index == k);
                assert_float_equal(got[at].x, own[y_first * step] * 3.5f, 1e-4);
                assert_float_equal(got[at].y, own[!y_first * step] * 2.25f, 1e-4);
                assert_float_equal(got[at++].p, p, 1e-5);
                tried++;
            }
            assert_int_equal(at, count);
        }
        map_close(&n);
    }
    assert_in_range(tried, 350, 480);
}

static void points_lie_in_the_frame(void **state) {
    (void)state;
    static float values[NUMBERS];
    uint32_t random = 5;
    struct map_trial t = heat_of(MORSEL_ANSWER_COLUMNS | MORSEL_ANSWER_QUARTER, 1);
    for (uint32_t way = 0; way < 24; way++) {
        struct map_network n;
        struct morsel_point in[POINTS], out[POINTS];
        uint32_t count, out_count;
        struct morsel_frame frame = {.size = sizeof frame, .width = 200, .height = 120, .turn = way % 4 * 90, .mirror = way / 4 % 2};
        if (way >= 8) frame.left = 30, frame.top = 20, frame.region_width = 100, frame.region_height = 80;
        t.picture = map_picture(way % MAP_WAYS);
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < NUMBERS; i++) values[i] = (float)map_chance(&random);
        map_run(&n, values);
        assert_int_equal(morsel_points(&n.session, NULL, 0, in, POINTS, &count), MORSEL_OK);
        assert_int_equal(morsel_points(&n.session, &frame, 0, out, POINTS, &out_count), MORSEL_OK);
        assert_int_equal(count, out_count);
        for (uint32_t k = 0; k < count; k++) {
            float at[2] = {in[k].x, in[k].y};
            assert_int_equal(morsel_frame_points(&n.model, &frame, at, 1), MORSEL_OK);
            assert_true(out[k].x == at[0] && out[k].y == at[1] && out[k].p == in[k].p && out[k].index == k);
        }
        map_close(&n);
    }
}

static void what_is_no_number_is_left_out(void **state) {
    (void)state;
    static const float extremes[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0};
    static float values[NUMBERS];
    uint32_t random = 7, found = 0, tried = 0;
    for (uint32_t way = 0; way < 100; way++) {
        struct map_trial t = heat_of(MORSEL_ANSWER_COLUMNS | (way % 2 ? MORSEL_ANSWER_QUARTER : 0), 0);
        struct map_network n;
        struct morsel_point got[POINTS];
        uint32_t count;
        if (way % 4 > 1) {
            t.rule.head = MORSEL_HEAD_COORDINATES;
            t.rule.flags = 0;
            t.rank = 3;
            t.dims[1] = POINTS, t.dims[2] = 3;
        }
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < NUMBERS; i++)
            values[i] =
                builder_random(&random) % (way % 4 > 1 ? 4 : 40) ? (float)map_chance(&random) : extremes[builder_random(&random) % 6];
        for (int i = 0; way % 4 < 2 && i < HEIGHT * WIDTH; i++) values[i] = NAN;
        map_run(&n, values);
        assert_int_equal(morsel_points(&n.session, NULL, 0, got, POINTS, &count), MORSEL_OK);
        assert_true(count <= (way % 4 < 2 ? POINTS - 1u : POINTS));
        for (uint32_t k = 0; k < count; k++) assert_true(isfinite(got[k].x) && isfinite(got[k].y) && isfinite(got[k].p));
        found += count;
        tried += POINTS;
        map_close(&n);
    }
    assert_true(found > tried / 10 && found < tried);
}

static void errors_are_told_before_anything_is_written(void **state) {
    (void)state;
    struct map_trial t = heat_of(MORSEL_ANSWER_COLUMNS, 0);
    struct map_network n;
    struct morsel_session closed = {0};
    struct morsel_frame frame = {.size = sizeof frame, .width = 20, .height = 10}, sizeless = {.width = 20, .height = 10};
    struct morsel_point got[POINTS];
    uint32_t count = 77;
    memset(got, 0xa5, sizeof got);
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_points(NULL, &frame, 0, got, POINTS, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points(&closed, &frame, 0, got, POINTS, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points(&n.session, &frame, 0, NULL, POINTS, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points(&n.session, &frame, 0, got, POINTS, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points(&n.session, &frame, 2, got, POINTS, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points(&n.session, &frame, 0, got, POINTS - 1, &count), MORSEL_ERR_CAPACITY);
    assert_int_equal(morsel_points(&n.session, &sizeless, 0, got, POINTS, &count), MORSEL_ERR_OPTIONS);
    map_close(&n);
    t.with_picture = 0;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_points(&n.session, &frame, 0, got, POINTS, &count), MORSEL_ERR_PICTURE);
    map_close(&n);
    t.rule = (struct morsel_blob_answer){.kind = MORSEL_ANSWER_EMBEDDING, .most = 1};
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_points(&n.session, &frame, 0, got, POINTS, &count), MORSEL_ERR_ANSWER);
    map_close(&n);
    assert_int_equal(count, 77);
    for (size_t i = 0; i < sizeof got; i++) assert_int_equal(((uint8_t *)got)[i], 0xa5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_cell_is_the_point),
        cmocka_unit_test(coordinates_are_read),
        cmocka_unit_test(points_lie_in_the_frame),
        cmocka_unit_test(what_is_no_number_is_left_out),
        cmocka_unit_test(errors_are_told_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
