/* SPDX-License-Identifier: MIT */
/* The parameters of steps that read integers: what passes up to its limits, and the first that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

static struct desk d;

#define PASSES(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_OK)
#define REFUSED(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_ERR_PARAMETER)
#define CONSTANT(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_ERR_CONSTANT)

/* x is of int32: its elements are a quarter of its bytes. */
static void lines_of_a_table_make_y(void **state) {
    (void)state;
    struct morsel_blob_lookup p = {7, 5, DESK_DATA};
    desk_set(&d, MORSEL_STEP_LOOKUP, 1, &p);
    d.x->type = MORSEL_INT32, d.x->bytes = 12, d.y->bytes = 15;
    DESK_ENDS(&d, morsel_check_lookup, p.table, 35);
    d.y->bytes = 14;
    REFUSED(lookup);
    d.y->bytes = 20;
    REFUSED(lookup);
    d.y->bytes = 15, p.rows = 0;
    REFUSED(lookup);
    p.rows = 0x7fffffff / 5 + 1; /* times 5 leaves 31 bits */
    REFUSED(lookup);
    p.rows = 7, p.width = 0;
    REFUSED(lookup);
    p.width = 5, p.table = DESK_DATA + 4;
    CONSTANT(lookup);
    p.table = DESK_DATA, d.y->type = MORSEL_FLOAT32, d.y->bytes = 60;
    DESK_ENDS(&d, morsel_check_lookup, p.table, 4 * 35);
    float *table = (float *)(void *)(d.bytes + DESK_DATA);
    table[34] = INFINITY;
    CONSTANT(lookup);
    table[34] = 0, table[35] = NAN; /* behind the table */
    PASSES(lookup);
}

static void casts_give_as_many_floats(void **state) {
    (void)state;
    struct morsel_blob_cast p = {3};
    desk_set(&d, MORSEL_STEP_CAST, 1, &p);
    d.x->type = MORSEL_INT32, d.y->type = MORSEL_FLOAT32, d.x->bytes = d.y->bytes = 12;
    PASSES(cast);
    p.count = 2;
    REFUSED(cast);
    p.count = 3, d.x->bytes = 8;
    REFUSED(cast);
    d.x->bytes = 12, d.y->bytes = 16;
    REFUSED(cast);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_a_table_make_y), cmocka_unit_test(casts_give_as_many_floats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
