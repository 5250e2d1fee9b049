/* SPDX-License-Identifier: MIT */
/* Steps whose numbers are found at run time: nothing that stands beside their results is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

static struct desk d;

/* A tensor of floats with dimensions a, b where b is not 0. */
static void floats(struct morsel_blob_tensor *t, uint32_t a, uint32_t b) {
    t->type = MORSEL_FLOAT32;
    t->rank = b ? 2 : 1;
    t->dims[0] = a, t->dims[1] = b ? b : 1;
    t->bytes = 4 * a * (b ? b : 1);
}

static void a_range_has_a_pair_for_each_piece(void **state) {
    (void)state;
    struct morsel_blob_range p = {10};
    desk_set(&d, MORSEL_STEP_RANGE, 1, &p);
    floats(d.x, 101, 0);
    floats(d.y, 11, 2);
    assert_int_equal(morsel_check_range_step(&d.of_step), MORSEL_OK);
    for (uint32_t pieces = 9; pieces < 13; pieces++) {
        floats(d.y, pieces, 2);
        assert_int_equal(morsel_check_range_step(&d.of_step) == MORSEL_OK, pieces == 11);
    }
    floats(d.y, 22, 0);
    assert_int_equal(morsel_check_range_step(&d.of_step), MORSEL_ERR_PARAMETER);
    floats(d.y, 11, 3);
    assert_int_equal(morsel_check_range_step(&d.of_step), MORSEL_ERR_PARAMETER);
    floats(d.y, 11, 2);
    p.count = 0;
    assert_int_equal(morsel_check_range_step(&d.of_step), MORSEL_ERR_PARAMETER);
    p.count = 0xffffffff;
    floats(d.y, 1, 2);
    assert_int_equal(morsel_check_range_step(&d.of_step), MORSEL_OK);
}

static enum morsel_error factors(struct morsel_blob_factors p, uint32_t pairs, uint32_t a, uint32_t b) {
    static struct morsel_blob_factors kept;
    kept = p;
    desk_set(&d, MORSEL_STEP_FACTORS, 1, &kept);
    floats(d.x, pairs, 2);
    floats(d.y, a, b);
    return morsel_check_factors(&d.of_step);
}

static void factors_have_room_for_what_they_are(void **state) {
    (void)state;
    const uint32_t at = DESK_DATA;
    assert_int_equal(factors((struct morsel_blob_factors){1, 32, at, 0}, 7, 16 + 64, 0), MORSEL_OK);
    assert_int_equal(factors((struct morsel_blob_factors){1, 32, at, at}, 7, 16 + 64, 0), MORSEL_OK);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0, 0, 0}, 7, 16, 0), MORSEL_OK);
    assert_int_equal(factors((struct morsel_blob_factors){7, 0, 0, 0}, 14, 7, 2), MORSEL_OK);
    for (uint32_t n = 0; n < 100; n++) assert_int_equal(factors((struct morsel_blob_factors){1, 32, at, 0}, 7, n, 0) == MORSEL_OK, n == 80);
    for (uint32_t lines = 0; lines < 20; lines++)
        assert_int_equal(factors((struct morsel_blob_factors){lines, 0, 0, 0}, 12, lines, 2) == MORSEL_OK, lines > 1 && 12 % lines == 0);
    assert_int_equal(factors((struct morsel_blob_factors){1, 17, at, 0}, 7, 16 + 34, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){7, 16, at, 0}, 14, 7, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){2, 16, at, 0}, 14, 2, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){0, 0, 0, 0}, 7, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){7, 0, 0, 0}, 14, 7, 3), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0, 0, 0}, 7, 16, 0), MORSEL_OK);
    floats(d.x, 13, 0); /* no pairs */
    assert_int_equal(morsel_check_factors(&d.of_step), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){1, 16, 0, 0}, 7, 48, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(factors((struct morsel_blob_factors){1, 16, at, at + 1}, 7, 48, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0, at, 0}, 7, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0, 0, at}, 7, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0xfffffff0, at, 0}, 7, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(factors((struct morsel_blob_factors){1, 0x80000000, at, 0}, 7, 16, 0), MORSEL_ERR_PARAMETER);
}

static void factors_are_finite(void **state) {
    (void)state;
    const uint32_t infinity = 0x7f800000;
    struct morsel_blob_factors p = {1, 16, DESK_DATA, DESK_DATA + 64};
    for (uint32_t at = 0; at < 2; at++) {
        desk_set(&d, MORSEL_STEP_FACTORS, 1, &p);
        floats(d.x, 1, 2);
        floats(d.y, 48, 0);
        assert_int_equal(morsel_check_factors(&d.of_step), MORSEL_OK);
        memcpy(d.bytes + DESK_DATA + 64 * at + 60, &infinity, 4);
        assert_int_equal(morsel_check_factors(&d.of_step), MORSEL_ERR_CONSTANT);
    }
}

static enum morsel_error quantize(struct morsel_blob_quantize given, uint32_t elements, uint32_t a, uint32_t b) {
    static struct morsel_blob_quantize p; /* some look at the step once more */
    p = given;
    desk_set(&d, MORSEL_STEP_QUANTIZE, 2, &p);
    floats(d.x, elements, 0);
    floats(d.b, a, b);
    desk_shape(d.y, 1, 1, 1, elements);
    return morsel_check_quantize(&d.of_step);
}

static void bytes_have_their_lines_numbers(void **state) {
    (void)state;
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 3}, 60, 16, 0), MORSEL_OK);
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 3}, 60, 80, 0), MORSEL_OK);
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 3}, 60, 15, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 3}, 60, 16, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 0}, 60, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){0, 3}, 60, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){5, 12}, 60, 5, 2), MORSEL_OK);
    assert_int_equal(quantize((struct morsel_blob_quantize){5, 12}, 60, 4, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){5, 12}, 60, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){5, 11}, 60, 5, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){2, 30}, 60, 2, 2), MORSEL_OK);
    assert_int_equal(quantize((struct morsel_blob_quantize){2, 29}, 60, 2, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){2, 30}, 60, 16, 0), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){0x10000, 0x10000}, 60, 0x10000, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(quantize((struct morsel_blob_quantize){1, 3}, 60, 16, 0), MORSEL_OK);
    d.y->zero_point = 1;
    assert_int_equal(morsel_check_quantize(&d.of_step), MORSEL_ERR_PARAMETER);
    d.y->zero_point = 0;
    d.y->scale = 2;
    assert_int_equal(morsel_check_quantize(&d.of_step), MORSEL_ERR_PARAMETER);
    d.y->scale = 1;
    desk_shape(d.y, 1, 1, 1, 61);
    assert_int_equal(morsel_check_quantize(&d.of_step), MORSEL_ERR_PARAMETER);
}

/* A product of 3 rows, 8 inputs and 20 outputs. */
static enum morsel_error product(uint32_t rows, uint32_t a, uint32_t b) {
    static struct morsel_blob_fc p;
    p = (struct morsel_blob_fc){rows, 8, 20, {DESK_DATA, DESK_DATA, DESK_DATA, DESK_DATA, 0, 0, 0, 0, -1, 1, 0}};
    desk_set(&d, MORSEL_STEP_DYNAMIC_FC, 2, &p);
    desk_shape(d.x, 1, 1, rows, 8);
    floats(d.b, a, b);
    floats(d.y, rows * 20, 0);
    return morsel_check_fc(&d.of_step);
}

static void products_have_numbers_for_their_channels_or_rows(void **state) {
    (void)state;
    for (uint32_t n = 16; n < 120; n += 16) assert_int_equal(product(3, n, 0) == MORSEL_OK, n == 16 + 2 * 32);
    for (uint32_t rows = 2; rows < 4; rows++)
        for (uint32_t n = 1; n < 6; n++) assert_int_equal(product(rows, n, 2) == MORSEL_OK, n == rows);
    assert_int_equal(product(1, 1, 2), MORSEL_ERR_PARAMETER);
    assert_int_equal(product(1, 80, 0), MORSEL_OK);
    assert_int_equal(product(3, 80, 0), MORSEL_OK);
    d.x->zero_point = 3;
    assert_int_equal(morsel_check_fc(&d.of_step), MORSEL_ERR_PARAMETER);
    assert_int_equal(product(3, 80, 0), MORSEL_OK);
    ((struct morsel_blob_fc *)(uintptr_t)d.of_step.parameters)->sums.proofs = DESK_DATA;
    assert_int_equal(morsel_check_fc(&d.of_step), MORSEL_ERR_PARAMETER);
}

static void convolutions_have_numbers_for_their_channels(void **state) {
    (void)state;
    static struct morsel_blob_conv p;
    for (uint32_t kind = MORSEL_STEP_DYNAMIC_CONV; kind <= MORSEL_STEP_DYNAMIC_DEPTHWISE; kind++)
        for (uint32_t n = 2; n < 120; n += 2) { /* 2: as pairs, of two lines */
            p = (struct morsel_blob_conv){{1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
                                          kind == MORSEL_STEP_DYNAMIC_CONV ? 1 : 20,
                                          {DESK_DATA, DESK_DATA, DESK_DATA, DESK_DATA, 0, 0, 0, 0, -1, 1, 0}};
            desk_set(&d, kind, 2, &p);
            desk_shape(d.x, 1, 2, 3, 20);
            floats(d.b, n, n == 2 ? 2 : 0);
            d.y->type = MORSEL_FLOAT32;
            desk_shape(d.y, 1, 2, 3, 20);
            assert_int_equal(morsel_check_conv(&d.of_step), n == 16 + 2 * 32 ? MORSEL_OK : MORSEL_ERR_PARAMETER);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_has_a_pair_for_each_piece),
        cmocka_unit_test(factors_have_room_for_what_they_are),
        cmocka_unit_test(factors_are_finite),
        cmocka_unit_test(bytes_have_their_lines_numbers),
        cmocka_unit_test(products_have_numbers_for_their_channels_or_rows),
        cmocka_unit_test(convolutions_have_numbers_for_their_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
