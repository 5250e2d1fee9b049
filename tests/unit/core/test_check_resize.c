/* SPDX-License-Identifier: MIT */
/* Linear interpolation: its parameters up to their limits, and the first that does not pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

enum { ROWS = DESK_DATA, COLUMNS = DESK_DATA + 64 };

static struct desk d;
static struct morsel_blob_resize p;

static void expect(enum morsel_error error) {
    assert_int_equal(morsel_check_resize(&d.of_step), error);
}

static float *list(uint32_t at) {
    return (float *)(void *)(d.bytes + at);
}

static int start(void **state) {
    (void)state;
    p = (struct morsel_blob_resize){.rows = ROWS, .columns = COLUMNS, .out_max = 255, .float_max = 1};
    desk_set(&d, MORSEL_STEP_RESIZE, 1, &p);
    desk_shape(d.x, 2, 3, 4, 5);
    desk_shape(d.y, 2, 6, 7, 5);
    return 0;
}

static void rows_and_columns_alone_change(void **state) {
    (void)state;
    expect(MORSEL_OK);
    desk_shape(d.y, 3, 6, 7, 5);
    expect(MORSEL_ERR_PARAMETER);
    desk_shape(d.y, 2, 6, 7, 4);
    expect(MORSEL_ERR_PARAMETER);
    desk_shape(d.y, 2, 1, 1, 5);
    expect(MORSEL_OK);
    d.y->rank = 3;
    expect(MORSEL_ERR_PARAMETER);
    d.y->rank = 4, d.x->rank = 5;
    expect(MORSEL_ERR_PARAMETER);
}

static void positions_are_inside(void **state) {
    (void)state;
    for (int columns = 0; columns < 2; columns++) {
        const uint32_t count = columns ? 7 : 6;
        const float most = columns ? 3 : 2, bad[] = {-0.001f, nextafterf(most, 9), NAN, INFINITY, -INFINITY};
        float *at = list(columns ? COLUMNS : ROWS);
        at[0] = -0.0f, at[count - 1] = most;
        expect(MORSEL_OK);
        DESK_ENDS(&d, morsel_check_resize, *(columns ? &p.columns : &p.rows), count * 4);
        for (uint32_t i = 0; i < 3 * sizeof bad / sizeof *bad; i++) {
            const uint32_t where[] = {0, 1, count - 1};
            at[where[i % 3]] = bad[i / 3];
            expect(MORSEL_ERR_CONSTANT);
            at[where[i % 3]] = 0;
        }
        at[count] = 9; /* behind it */
        expect(MORSEL_OK);
        at[count] = 0;
    }
}

/* Beyond 2^24 a float need not be a whole number. */
static void pictures_are_not_too_large(void **state) {
    (void)state;
    desk_shape(d.x, 2, 3, 1 << 24, 5);
    expect(MORSEL_OK);
    desk_shape(d.x, 2, 3, (1 << 24) + 1, 5);
    expect(MORSEL_ERR_CONSTANT);
    desk_shape(d.x, 2, (1 << 24) + 1, 4, 5);
    expect(MORSEL_ERR_CONSTANT);
}

static void results_are_limited(void **state) {
    (void)state;
    p.truncate = 1;
    expect(MORSEL_OK);
    p.truncate = 2;
    expect(MORSEL_ERR_PARAMETER);
    p.truncate = 0, p.out_max = 256;
    expect(MORSEL_ERR_PARAMETER);
    p.out_max = 255, d.y->type = MORSEL_FLOAT32, p.float_min = NAN;
    expect(MORSEL_ERR_PARAMETER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_and_columns_alone_change, start),
        cmocka_unit_test_setup(positions_are_inside, start),
        cmocka_unit_test_setup(pictures_are_not_too_large, start),
        cmocka_unit_test_setup(results_are_limited, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
