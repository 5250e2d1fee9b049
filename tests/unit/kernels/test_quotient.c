/* SPDX-License-Identifier: MIT */
/*
 * The quotient that vector kernels quantize by, without a division (x86/quotient_256.h): it rounds to the same integer as a true one.
 * For a scale and a tie of its steps, the floats next to scale * tie are tried. Significands of scales are every 1,009th of all 2^23; with
 * the argument "all" each of them, which takes some two minutes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/requant.h"

enum { AROUND = 2, TIES = 256 };

static uint32_t step = 1009;

static float of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A fused multiplication and addition where the machine has it; else in double and rounded once (kernels/requant.h). */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FUSED(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FUSED(a, b, c) morsel_fma(a, b, c)
#endif

static void compare(float scale, float tie) {
    uint32_t bits;
    float x = scale * tie, inverse = 1 / scale;
    memcpy(&bits, &x, sizeof bits);
    for (int32_t i = -AROUND; i <= AROUND; i++) {
        float near = of_bits(bits + (uint32_t)i), v = near * inverse;
        v = FUSED(FUSED(-v, scale, near), inverse, v);
        if (morsel_round(v) != morsel_round(near / scale)) fail_msg("%a / %a", (double)near, (double)scale);
    }
}

static void rounds_as_the_division_does(void **state) {
    (void)state;
    for (uint32_t bits = 0x3f800000; bits < 0x40000000; bits += step)
        for (uint32_t k = 0; k < TIES; k++) compare(of_bits(bits), (float)k + 0.5f);
}

/* The same significands with other exponents, up to the ends of what kernels take. */
static void exponents_change_nothing(void **state) {
    (void)state;
    static const int exponents[] = {-60, -59, -24, -1, 1, 8, 59};
    for (uint32_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
        for (uint32_t bits = 0x3f800000; bits < 0x40000000; bits += 200003)
            for (uint32_t k = 0; k < TIES; k++) compare(ldexpf(of_bits(bits), exponents[e]), (float)k + 0.5f);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "all")) step = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_as_the_division_does),
        cmocka_unit_test(exponents_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
