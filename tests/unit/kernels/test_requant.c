/* SPDX-License-Identifier: MIT */
/* Sixteen elements at a time: loads, and results from sums and floats, against one element at a time in double. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/requant.h"
#include "tests/unit/support/blob_builder.h"

enum { LANES = 16, ROOM = 80, AT = 24 };

static uint32_t seed = 3;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* A byte of y from a value in steps of its scale, NaN for the least. */
static uint8_t byte_of(const struct morsel_output *y, double steps) {
    double low = y->out_min - y->qparams.zero, high = y->out_max - y->qparams.zero;
    double inside = !(steps > low) ? low : steps > high ? high : steps;
    return (uint8_t)((uint32_t)(nearbyint(inside) + y->qparams.zero) ^ y->qparams.sign_flip);
}

static float limited(const struct morsel_output *y, float v) {
    return v < y->float_min ? y->float_min : v > y->float_max ? y->float_max : v;
}

static struct morsel_output any_output(void *data, uint32_t is_float) {
    struct morsel_output y = {data, {0.25f, (int32_t)between(0, 255), between(0, 1) * 0x80, is_float, 0}, 0, 255, -40, 30};
    if (is_float) y.qparams = (struct morsel_qparams){1, 0, 0, 1, 0};
    if (between(0, 1)) y.out_min = (int32_t)between(0, 255);
    y.out_max = (int32_t)between((uint32_t)y.out_min, 255);
    return y;
}

/* Sums near halves of steps, at both ends of int32, and in between. */
static uint32_t any_sum(void) {
    static const uint32_t ends[] = {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x80000001, 0x01000001, 0x00ffffff, 0xff000001};
    uint32_t pick = between(0, 11);
    return pick < 9 ? ends[pick] : pick < 11 ? between(0, 1024) - 512 : builder_random(&seed);
}

static float any_multiplier(void) {
    static const float ends[] = {0.5f, 0.25f, -0.5f, 1, 0.001f, 3.0e-8f, FLT_MAX, FLT_MIN, 0};
    return ends[between(0, 8)];
}

static void sums_become_results(void **state) {
    (void)state;
    for (uint32_t trial = 0; trial < 20000; trial++) {
        uint32_t sums[LANES], n = trial % 17, is_float = between(0, 1), channel = between(0, 1) * 16;
        int32_t bias[2 * LANES];
        float multiplier[2 * LANES], float_bias[2 * LANES], numbers[ROOM];
        uint8_t bytes[ROOM];
        for (uint32_t o = 0; o < 2 * LANES; o++) {
            bias[o] = between(0, 3) ? (int32_t)between(0, 64) - 32 : (int32_t)builder_random(&seed);
            multiplier[o] = any_multiplier();
            float_bias[o] = (float)between(0, 64) / 8 - 4;
        }
        for (uint32_t o = 0; o < LANES; o++) sums[o] = any_sum();
        struct morsel_channels c = {bias, multiplier, NULL, NULL, between(0, 1) ? float_bias : NULL, NULL};
        memset(bytes, 0xa5, sizeof bytes);
        memset(numbers, 0xa5, sizeof numbers);
        struct morsel_output y = any_output(is_float ? (void *)numbers : bytes, is_float);
        morsel_store_sums(&y, AT, n, sums, &c, channel);
        for (uint32_t i = 0; i < ROOM; i++) {
            uint32_t o = i - AT, wild;
            memset(&wild, 0xa5, sizeof wild);
            if (o >= n) {
                assert_int_equal(is_float ? bits_of(numbers[i]) : bytes[i], is_float ? wild : 0xa5);
                continue;
            }
            volatile float v = (float)morsel_signed(sums[o] + (uint32_t)bias[channel + o]) * multiplier[channel + o];
            if (c.float_bias) v = v + float_bias[channel + o];
            if (is_float) assert_int_equal(bits_of(numbers[i]), bits_of(limited(&y, v)));
            else assert_int_equal(bytes[i], byte_of(&y, v));
        }
    }
}

static float any_value(void) {
    static const float ends[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0, -0.0f, FLT_MIN, -40, 30};
    uint32_t pick = between(0, 19);
    return pick < 10 ? ends[pick] : ((float)between(0, 1024) - 512) / 8;
}

static void floats_become_results(void **state) {
    (void)state;
    for (uint32_t trial = 0; trial < 20000; trial++) {
        uint32_t n = trial % 17, is_float = between(0, 1);
        float values[LANES], numbers[ROOM];
        uint8_t bytes[ROOM];
        for (uint32_t o = 0; o < LANES; o++) values[o] = any_value();
        memset(bytes, 0xa5, sizeof bytes);
        memset(numbers, 0xa5, sizeof numbers);
        struct morsel_output y = any_output(is_float ? (void *)numbers : bytes, is_float);
        if (trial % 3 == 0) y.float_min = -INFINITY, y.float_max = INFINITY;
        morsel_store_floats(&y, AT, n, values);
        for (uint32_t i = 0; i < ROOM; i++) {
            uint32_t o = i - AT, wild;
            memset(&wild, 0xa5, sizeof wild);
            if (o >= n) {
                assert_int_equal(is_float ? bits_of(numbers[i]) : bytes[i], is_float ? wild : 0xa5);
                continue;
            }
            float v = limited(&y, values[o]);
            if (is_float) assert_int_equal(bits_of(numbers[i]), isnan(v) ? 0x7fc00000 : bits_of(v));
            else assert_int_equal(bytes[i], byte_of(&y, v / y.qparams.scale));
        }
    }
}

/* Halves of steps go to the even neighbour. */
static void steps_become_bytes(void **state) {
    (void)state;
    for (int32_t zero = 0; zero <= 255; zero += 5)
        for (int32_t first = -600; first < 600; first += LANES) {
            float steps[LANES];
            uint8_t bytes[LANES];
            struct morsel_output y = {bytes, {1, zero, zero & 1 ? 0x80 : 0, 0, 0}, 3, 250, 0, 0};
            for (int32_t o = 0; o < LANES; o++) steps[o] = (float)(first + o) / 2;
            morsel_store_steps(&y, 0, LANES, steps, zero);
            for (uint32_t o = 0; o < LANES; o++) assert_int_equal(bytes[o], byte_of(&y, steps[o]));
        }
}

/* n elements, `step` apart; what comes behind them is as if bytes or floats of 0 stood there. */
static void elements_are_loaded(void **state) {
    (void)state;
    uint8_t bytes[LANES * 5];
    float numbers[LANES * 5];
    for (uint32_t i = 0; i < LANES * 5; i++) {
        bytes[i] = (uint8_t)(i * 37);
        numbers[i] = (float)i + 0.5f;
    }
    for (uint32_t pick = 0; pick < 17 * 4 * 3 * 2; pick++) {
        uint32_t n = pick % 17, step = pick / 17 % 4 + 1, first = pick / 68 % 3, flip = pick / 204 * 0x80;
        struct morsel_input x = {bytes, {0.75f, 7, flip, 0, 0}}, in_floats = {numbers, {1, 0, 0, 1, 0}};
        uint8_t got[LANES];
        float values[LANES], floats[LANES];
        morsel_load_bytes(&x, first, step, n, got);
        morsel_load_floats(&x, first, step, n, values);
        morsel_load_floats(&in_floats, first, step, n, floats);
        for (uint32_t o = 0; o < LANES; o++) {
            uint8_t want = (uint8_t)((o < n ? bytes[first + o * step] : 0) ^ flip);
            assert_int_equal(got[o], want);
            assert_int_equal(bits_of(values[o]), bits_of(0.75f * (float)(want - 7)));
            assert_int_equal(bits_of(floats[o]), bits_of(o < n ? numbers[first + o * step] : 0));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_become_results),
        cmocka_unit_test(floats_become_results),
        cmocka_unit_test(steps_become_bytes),
        cmocka_unit_test(elements_are_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
