/* SPDX-License-Identifier: MIT */
/* Plain C kernels where the last bit decides: sums between two floats, limits of 0, float results beyond their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/format.h"
#include "kernels/kernels.h"

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* A byte a and a float `ratio` whose product is `value` exactly: false where there are none. */
static int has_factors(double value, uint8_t *a, float *ratio) {
    for (int factor = 3; factor < 256; factor += 2) {
        *a = (uint8_t)factor;
        *ratio = (float)(value / factor);
        if ((double)*ratio * factor == value) return 1;
    }
    return 0;
}

/* fma(a, ratio, offset) as a QLinearAdd whose other operand is 0. */
static uint8_t added(uint8_t a, float ratio, float offset) {
    static const uint8_t zero;
    uint8_t y;
    struct morsel_binary_args args = {.a = {&a, {1, 0, 0, 0, 0}},
                                      .b = {&zero, {1, 0, 0, 0, 0}},
                                      .y = {&y, {1, 128, 0, 0, 128}, 0, 255, 0, 0}};
    args.op = MORSEL_BINARY_QADD;
    args.rank = args.dims[0] = 1;
    args.a_ratio = ratio;
    args.b_ratio = 0x1p-100f; /* so that doubles alone will not do */
    args.offset = offset;
    morsel_qadd_c(&args, 0, 1);
    return y;
}

/* Sums at and around the middle between a float that lies half a step from a byte and the float beside it, some quarters of a double's last
 * bit away: rounded to double first, they would go to the wrong float, and to the wrong byte. */
static void sums_are_rounded_once(void **state) {
    (void)state;
    uint32_t tried = 0, misled = 0;
    for (int32_t k = -100; k <= 100; k++) {
        for (int up = 0; up < 2; up++) {
            float half = (float)k + 0.5f, beside = nextafterf(half, up ? INFINITY : -INFINITY), ratio;
            double middle = ((double)half + beside) / 2, last = nextafter(fabs(middle), INFINITY) - fabs(middle);
            uint8_t a;
            if (!has_factors(middle, &a, &ratio)) continue;
            for (int quarters = -24; quarters <= 24; quarters++) {
                float offset = (float)(last * quarters / 4), want = fmaf(a, ratio, offset);
                tried++;
                misled += (float)((double)a * ratio + offset) != want;
                assert_int_equal(added(a, ratio, offset), (int)nearbyintf(want) + 128);
            }
        }
    }
    assert_true(tried > 5000 && misled > 200);
}

/* The same where the offset is the larger one. */
static void sums_are_rounded_once_whichever_is_larger(void **state) {
    (void)state;
    uint32_t misled = 0;
    for (int32_t k = -100; k <= 100; k++) {
        for (int pick = 0; pick < 4; pick++) {
            float half = (float)k + 0.5f, beside = nextafterf(half, pick & 1 ? INFINITY : -INFINITY), from = pick & 2 ? half : beside;
            double way = ((double)half + beside) / 2 - from;
            for (int a = 129; a < 256; a += 2) {
                float ratio = (float)(way / a), want = fmaf((float)a, ratio, from);
                misled += (float)((double)a * ratio + from) != want;
                assert_int_equal(added((uint8_t)a, ratio, from), (int)nearbyintf(want) + 128);
            }
        }
    }
    assert_true(misled > 200);
}

static void a_zero_keeps_its_sign_at_a_limit_of_zero(void **state) {
    (void)state;
    static const float limits[][2] = {{0.0f, 6}, {-0.0f, 6}, {-6, 0.0f}, {-6, -0.0f}, {0.0f, 0.0f}};
    const float x[2] = {0.0f, -0.0f};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        float y[2];
        struct morsel_unary_args clip = {.x = {x, {1, 0, 0, 1, 0}}, .y = {y, {1, 0, 0, 1, 0}, 0, 255, -INFINITY, INFINITY}};
        clip.op = MORSEL_UNARY_CLIP;
        clip.channels = 1;
        clip.alpha = limits[i][0];
        clip.beta = limits[i][1];
        morsel_unary_c(&clip, 0, 2);
        for (int k = 0; k < 2; k++) assert_int_equal(bits_of(y[k]), bits_of(x[k]));
    }
}

static void shares_stay_within_their_limits(void **state) {
    (void)state;
    const float x[3] = {0, 0, 3};
    float y[3];
    struct morsel_softmax_args softmax = {.x = {x, {1, 0, 0, 1, 0}},
                                          .y = {y, {1, 0, 0, 1, 0}, 0, 255, 0.125f, 0.75f},
                                          .count = 3,
                                          .inner = 1};
    morsel_softmax_c(&softmax, 0, 1);
    assert_true(y[0] == 0.125f && y[1] == 0.125f && y[2] == 0.75f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_rounded_once), cmocka_unit_test(sums_are_rounded_once_whichever_is_larger),
                                       cmocka_unit_test(a_zero_keeps_its_sign_at_a_limit_of_zero),
                                       cmocka_unit_test(shares_stay_within_their_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
