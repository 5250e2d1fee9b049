/* SPDX-License-Identifier: MIT */
/* morsel_embedding(): an output in the graph's order, and its length. */
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

enum { IMAGES = 2, WIDTH = 4 * 3 * 7 };

static struct map_trial vector_of(uint32_t flags, uint32_t rank, int last) {
    struct map_trial t = {.rule = {.kind = MORSEL_ANSWER_EMBEDDING, .flags = flags, .most = 1},
                          .rank = rank,
                          .channels_last = last && rank > 1};
    const uint32_t dims[5][4] = {{0}, {IMAGES * WIDTH, 1, 1, 1}, {IMAGES, WIDTH, 1, 1}, {IMAGES, 4, 21, 1}, {IMAGES, 4, 3, 7}};
    memcpy(t.dims, dims[rank], sizeof t.dims);
    t.type = MORSEL_FLOAT32;
    return t;
}

static void the_output_is_the_vector(void **state) {
    (void)state;
    static const enum morsel_type types[] = {MORSEL_FLOAT32, MORSEL_UINT8, MORSEL_INT8};
    static const float factors[] = {1, 1e-30f, 1e30f};
    uint32_t random = 4;
    for (uint32_t way = 0; way < 48; way++) {
        struct map_trial t = vector_of(way % 2 ? MORSEL_ANSWER_NORMALIZE : 0, 1 + way / 2 % 4, way / 8 % 2);
        struct map_network n;
        float values[IMAGES * WIDTH], got[IMAGES * WIDTH + 1];
        uint32_t count = 77, images = t.rank > 1 ? IMAGES : 1, width = IMAGES * WIDTH / images;
        t.type = types[way / 16];
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < IMAGES * WIDTH; i++)
            values[i] = (float)(5 * map_chance(&random) - 2) * (t.type == MORSEL_FLOAT32 ? factors[way / 2 % 3] : 1);
        map_run(&n, values);
        for (uint32_t image = 0; image < images; image++) {
            const float *own = values + image * width;
            double squares = 0;
            memset(got, 0xa5, sizeof got);
            assert_int_equal(morsel_embedding(&n.session, image, got, width, &count), MORSEL_OK);
            assert_int_equal(count, width);
            assert_int_equal(*(uint8_t *)&got[width], 0xa5);
            for (uint32_t i = 0; i < width; i++) squares += (double)own[i] * (double)own[i];
            for (uint32_t i = 0; i < width; i++) {
                if (!t.rule.flags) assert_true(got[i] == own[i]);
                else assert_float_equal(got[i], (double)own[i] / sqrt(squares), 3e-7);
            }
        }
        map_close(&n);
    }
}

static void what_has_no_length_stays(void **state) {
    (void)state;
    struct map_trial t = vector_of(MORSEL_ANSWER_NORMALIZE, 2, 0);
    struct map_network n;
    float values[IMAGES * WIDTH] = {0}, got[WIDTH];
    uint32_t count;
    values[WIDTH] = NAN;
    values[WIDTH + 1] = 1;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    map_run(&n, values);
    assert_int_equal(morsel_embedding(&n.session, 0, got, WIDTH, &count), MORSEL_OK);
    for (int i = 0; i < WIDTH; i++) assert_true(got[i] == 0);
    assert_int_equal(morsel_embedding(&n.session, 1, got, WIDTH, &count), MORSEL_OK);
    assert_true(isnan(got[0]));
    map_close(&n);
}

static void errors_are_told_before_anything_is_written(void **state) {
    (void)state;
    struct map_trial t = vector_of(0, 2, 0);
    struct map_network n;
    struct morsel_session closed = {0};
    float got[WIDTH];
    uint32_t count = 77;
    memset(got, 0xa5, sizeof got);
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_embedding(NULL, 0, got, WIDTH, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_embedding(&closed, 0, got, WIDTH, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_embedding(&n.session, 0, NULL, WIDTH, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_embedding(&n.session, 0, got, WIDTH, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_embedding(&n.session, IMAGES, got, WIDTH, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_embedding(&n.session, 0, got, WIDTH - 1, &count), MORSEL_ERR_CAPACITY);
    map_close(&n);
    t.rule.kind = MORSEL_ANSWER_CLASSES;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_embedding(&n.session, 0, got, WIDTH, &count), MORSEL_ERR_ANSWER);
    map_close(&n);
    assert_int_equal(count, 77);
    for (size_t i = 0; i < sizeof got; i++) assert_int_equal(((uint8_t *)got)[i], 0xa5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_is_the_vector),
        cmocka_unit_test(what_has_no_length_stays),
        cmocka_unit_test(errors_are_told_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
