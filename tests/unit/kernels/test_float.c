/* SPDX-License-Identifier: MIT */
/* Functions of floats against libm: how near they are, and that they have the same bits everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/float.h"
#include "kernels/float_plain.h"
#include "kernels/requant.h"
#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/near.h"

static uint32_t seed = 7;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

static float any_float(void) {
    float v;
    uint32_t bits = builder_random(&seed);
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void fma_is_exact(void **state) {
    (void)state;
    for (int i = 0; i < 2000000; i++) {
        float a = any_float(), b = any_float(), c = any_float();
        if (i % 2) a = (float)((int)between(0, 510) - 255), b = (float)between(1, 4000) / 1024, c = -a * b + any_float() * 1e-20f;
        if (!isfinite(a) || !isfinite(b) || !isfinite(c)) continue;
        float want = fmaf(a, b, c), got = morsel_fma(a, b, c);
        if (memcmp(&want, &got, 4) && !(want == 0 && got == 0)) fail_msg("fma(%a, %a, %a) = %a, not %a", a, b, c, got, want);
    }
}

static void round_takes_ties_to_even(void **state) {
    (void)state;
    for (int i = -4000; i <= 4000; i++) assert_int_equal(morsel_round((float)i / 8), (int)rint(i / 8.0));
    assert_int_equal(morsel_round(4194304.0f), 4194304);
    assert_int_equal(morsel_round(-4194304.0f), -4194304);
    assert_int_equal(morsel_round(2097151.5f), 2097152);
    assert_int_equal(morsel_round(0.49999997f), 0);
}

static void functions_are_as_near_as_they_say(void **state) {
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        float x = i % 3 ? ((float)between(0, 1u << 20) / (1 << 20) - 0.5f) * (i % 2 ? 20 : 200) : any_float();
        if (!isfinite(x)) continue;
        near("exp", x, morsel_exp(x), exp(x), 1);
        near("sigmoid", x, morsel_sigmoid(x), 1 / (1 + exp(-(double)x)), 2.4);
        near("tanh", x, morsel_tanh(x), tanh(x), 1.4);
        near("erf", x, morsel_erf(x), erf(x), 1.4);
        if (x >= 0) assert_true(morsel_sqrt(x) == sqrtf(x));
    }
    assert_true(isnan(morsel_sqrt(-1)) && isnan(morsel_exp(NAN)) && isnan(morsel_tanh(NAN)) && isnan(morsel_erf(NAN)));
    assert_true(isnan(morsel_sigmoid(NAN)) && isinf(morsel_exp(INFINITY)) && morsel_exp(-INFINITY) == 0);
    assert_true(isinf(morsel_sqrt(INFINITY)) && morsel_sigmoid(INFINITY) == 1 && morsel_sigmoid(-INFINITY) == 0);
}

static float activation(uint32_t op, float x) {
    return eight_activation(op, x, 0, 0);
}

static void activations_are_as_near_as_they_say(void **state) {
    (void)state;
    for (int i = 0; i < 500000; i++) {
        float x = i % 3 ? ((float)between(0, 1u << 20) / (1 << 20) - 0.5f) * (i % 2 ? 20 : 200) : any_float();
        double v = (double)x;
        if (!isfinite(x)) continue;
        if (x > 0) near("log", x, (double)eight_log(x), log(v), 1);
        if (x <= 0) near("expm1", x, (double)eight_expm1(x), expm1(v), 1);
        near("softplus", x, (double)activation(MORSEL_UNARY_SOFTPLUS, x), softplus(v), 2.8);
        if (x > -80) near("mish", x, (double)activation(MORSEL_UNARY_MISH, x), v * tanh(softplus(v)), 5);
        if (fabsf(x) > 1e-30f) assert_true(fabs((double)activation(MORSEL_UNARY_GELU, x) - gelu(v)) <= 1.5e-7 * fabs(v));
        if (fabsf(x) > 1e-30f && fabsf(x) < 1e10f)
            assert_true(fabs((double)activation(MORSEL_UNARY_GELU_TANH, x) - gelu_tanh(v)) <= 1.5e-7 * fabs(v));
        assert_true(eight_round(x) == nearbyintf(x));
        assert_true(eight_activation(MORSEL_UNARY_FLOOR, x, 0, 0) == floorf(x) && eight_activation(MORSEL_UNARY_CEIL, x, 0, 0) == ceilf(x));
        assert_true(eight_activation(MORSEL_UNARY_TRUNCATE, x, 0, 0) == truncf(x));
    }
    const float none[3] = {-1, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) assert_true(isnan(eight_log(none[i])));
    assert_true(eight_log(0) == -INFINITY && eight_log(-0.0f) == -INFINITY && eight_log(INFINITY) == INFINITY && eight_log(1) == 0);
    assert_true(activation(MORSEL_UNARY_SOFTPLUS, INFINITY) == INFINITY && activation(MORSEL_UNARY_SOFTPLUS, -INFINITY) == 0 &&
                isnan(activation(MORSEL_UNARY_SOFTPLUS, NAN)));
    assert_true(activation(MORSEL_UNARY_MISH, INFINITY) == INFINITY && eight_expm1(-INFINITY) == -1 &&
                isnan(activation(MORSEL_UNARY_MISH, NAN)) && isnan(eight_expm1(NAN)));
}

/* What powf() gives, but for the last place: infinities, zeros and what is no number are the same. */
static void same_power(float x, float y) {
    float got = morsel_pow(x, y), want = powf(x, y);
    if (isnan(want) || isnan(got)) assert_true(isnan(want) && isnan(got));
    else if (!isfinite(want) || want == 0 || got == 0) assert_memory_equal(&got, &want, sizeof got);
    else near("pow", x, (double)got, pow((double)x, (double)y), 0.5002);
}

static void powers_are_those_of_libm(void **state) {
    static const float special[] = {0,     -0.0f, 1,  -1,     INFINITY, -INFINITY, NAN,     2,        -2,      0.5f,
                                    -0.5f, 3,     -3, 1e-40f, -1e-40f,  16777216,  8388609, -8388609, 3.4e38f, 1.0000001f};
    const size_t n = sizeof special / sizeof *special;
    (void)state;
    for (size_t i = 0; i < n * n; i++) same_power(special[i / n], special[i % n]);
    for (int i = 0; i < 500000; i++) {
        float x = i % 2 ? any_float() : ((float)between(0, 1u << 20) / (1 << 14) - 32), y = ((float)between(0, 1u << 16) / (1 << 12) - 8);
        if (!isnan(x)) same_power(x, i % 3 ? y : floorf(y));
    }
}

/* Their bits, mixed into one number that was recorded once: no compiler and no CPU may give another. QAFFINE, behind them, is of bytes. */
static void activations_have_the_same_bits_everywhere(void **state) {
    (void)state;
    uint32_t mixed = 0, own = 54321;
    for (int i = 0; i < 20000; i++) {
        float x = ((float)(builder_random(&own) >> 8) / (1 << 24) - 0.5f) * (i % 2 ? 16 : 120);
        float y[MORSEL_UNARY_QAFFINE - MORSEL_UNARY_ELU + 1];
        for (uint32_t op = MORSEL_UNARY_ELU; op < MORSEL_UNARY_QAFFINE; op++)
            y[op - MORSEL_UNARY_ELU] = eight_activation(op, op == MORSEL_UNARY_LOG && x < 0 ? -x : x, 0.75f, 0.5f);
        y[MORSEL_UNARY_QAFFINE - MORSEL_UNARY_ELU] = morsel_pow(x < 0 ? -x : x, x / 50);
        for (size_t k = 0; k < sizeof y / sizeof *y; k++) {
            uint32_t bits;
            memcpy(&bits, &y[k], 4);
            mixed = (mixed ^ bits) * 16777619u;
        }
    }
    assert_int_equal(mixed, 0x8cb6acc6);
}

/* Their bits, mixed into one number that was recorded once: no compiler and no CPU may give another. */
static void functions_have_the_same_bits_everywhere(void **state) {
    (void)state;
    uint32_t mixed = 0, own = 12345;
    for (int i = 0; i < 100000; i++) {
        float x = ((float)(builder_random(&own) >> 8) / (1 << 24) - 0.5f) * (i % 2 ? 16 : 120);
        const float y[5] = {morsel_exp(x), morsel_sigmoid(x), morsel_tanh(x), morsel_erf(x), morsel_sqrt(x < 0 ? -x : x)};
        for (int k = 0; k < 5; k++) {
            uint32_t bits;
            memcpy(&bits, &y[k], 4);
            mixed = (mixed ^ bits) * 16777619u;
        }
    }
    assert_int_equal(mixed, 0xeb2f2f7d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fma_is_exact),
        cmocka_unit_test(round_takes_ties_to_even),
        cmocka_unit_test(functions_are_as_near_as_they_say),
        cmocka_unit_test(activations_are_as_near_as_they_say),
        cmocka_unit_test(powers_are_those_of_libm),
        cmocka_unit_test(activations_have_the_same_bits_everywhere),
        cmocka_unit_test(functions_have_the_same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
