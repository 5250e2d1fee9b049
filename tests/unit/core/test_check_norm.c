/* SPDX-License-Identifier: MIT */
/* Layer normalization: its parameters up to their limits, and the first that does not pass. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

static struct desk d;
static struct morsel_blob_layer_norm p;

static void expect(enum morsel_error error) {
    assert_int_equal(morsel_check_layer_norm(&d.of_step), error);
}

static void bytes_of(struct morsel_blob_tensor *t, uint32_t type, uint32_t elements) {
    t->type = type;
    t->bytes = elements * morsel_type_bytes(type);
}

static int start(void **state) {
    (void)state;
    p = (struct morsel_blob_layer_norm){.lines = 4, .count = 7, .centred = 1, .out_max = 255, .float_max = 1};
    desk_set(&d, MORSEL_STEP_LAYER_NORM, 1, &p);
    bytes_of(d.x, MORSEL_FLOAT32, 28);
    bytes_of(d.y, MORSEL_FLOAT32, 28);
    return 0;
}

static void lines_are_those_of_the_tensors(void **state) {
    (void)state;
    for (uint32_t floats = 0; floats < 4; floats++)
        for (uint32_t x = 27; x < 30; x++)
            for (uint32_t y = 27; y < 30; y++) {
                bytes_of(d.x, floats & 1 ? MORSEL_FLOAT32 : MORSEL_UINT8, x);
                bytes_of(d.y, floats & 2 ? MORSEL_FLOAT32 : MORSEL_INT8, y);
                p.out_max = 127;
                expect(x == 28 && y == 28 ? MORSEL_OK : MORSEL_ERR_PARAMETER);
            }
}

static void epsilon_is_not_negative(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -FLT_MIN};
    p.epsilon = FLT_MAX;
    expect(MORSEL_OK);
    for (size_t i = 0; i < 3; i++) {
        p.epsilon = bad[i];
        expect(MORSEL_ERR_PARAMETER);
    }
    p.epsilon = 0;
    p.centred = 0;
    expect(MORSEL_OK);
    p.centred = 2;
    expect(MORSEL_ERR_PARAMETER);
}

static void results_are_limited(void **state) {
    (void)state;
    p.float_max = -1;
    expect(MORSEL_ERR_PARAMETER);
    p.float_max = 0;
    expect(MORSEL_OK);
    p.float_min = NAN;
    expect(MORSEL_ERR_PARAMETER);
    p.float_min = 0;
    bytes_of(d.y, MORSEL_UINT8, 28);
    expect(MORSEL_OK);
    p.out_max = 256;
    expect(MORSEL_ERR_PARAMETER);
}

static void factors_and_terms_are_lists(void **state) {
    (void)state;
    for (int term = 0; term < 2; term++) {
        p.factor = term ? 0 : DESK_DATA;
        p.term = term ? DESK_DATA : 0;
        float *list = (float *)(void *)(d.bytes + DESK_DATA);
        expect(MORSEL_OK);
        DESK_ENDS(&d, morsel_check_layer_norm, *(term ? &p.term : &p.factor), 28);
        list[6] = NAN;
        expect(MORSEL_ERR_CONSTANT);
        list[6] = 1, list[7] = NAN; /* behind it */
        expect(MORSEL_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_are_those_of_the_tensors, start),
        cmocka_unit_test_setup(epsilon_is_not_negative, start),
        cmocka_unit_test_setup(results_are_limited, start),
        cmocka_unit_test_setup(factors_and_terms_are_lists, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
