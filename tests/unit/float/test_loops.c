/* SPDX-License-Identifier: MIT */
/* The float executor's loops give the same bits with every instruction set that this CPU has, and those that a plain sum in order gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/skip.h"
#include "tools/float/loops.h"

#include <math.h>
#include <string.h>

enum { DEPTH = 37, MOST = 300, TAPS = 9 };

static uint32_t state_of_chance = 1;

/* Between -1 and 1, of all magnitudes, now and then a zero of either sign. */
static float chance(void) {
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    uint32_t bits = state_of_chance >> 8;
    float sign = bits & 1 ? -1 : 1;
    return bits % 17 == 0 ? sign * 0.0F : sign * ldexpf((float)(bits >> 4) / 1048576, -(int)(bits % 7));
}

static void fill(float *to, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = chance();
}

static void check_tile(const struct loops *loops, size_t columns, size_t depth, const float *start) {
    float a[DEPTH * TILE_ROWS], b[DEPTH * TILE_COLUMNS], y[TILE_ROWS * 50], want[TILE_ROWS * 50];
    fill(a, DEPTH * TILE_ROWS);
    fill(b, DEPTH * TILE_COLUMNS);
    fill(y, TILE_ROWS * 50);
    memcpy(want, y, sizeof y);
    for (size_t r = 0; r < TILE_ROWS; r++)
        for (size_t c = 0; c < columns; c++) {
            want[r * 50 + c] = start ? start[r] : want[r * 50 + c];
            for (size_t k = 0; k < depth; k++) {
                volatile float product = a[k * TILE_ROWS + r] * b[k * TILE_COLUMNS + c];
                want[r * 50 + c] += product;
            }
        }
    loops->tile(a, b, depth, y, 50, columns, start);
    for (size_t r = 0; r < TILE_ROWS; r++) {
        assert_memory_equal(y + r * 50, want + r * 50, columns * sizeof *y);
        assert_memory_equal(y + r * 50 + TILE_COLUMNS, want + r * 50 + TILE_COLUMNS, (50 - TILE_COLUMNS) * sizeof *y);
    }
}

static void check_row(const struct loops *loops, size_t step) {
    float a[DEPTH * 3], b[DEPTH * TILE_COLUMNS], y[TILE_COLUMNS + 1], want[TILE_COLUMNS + 1];
    fill(a, DEPTH * 3);
    fill(b, DEPTH * TILE_COLUMNS);
    fill(y, TILE_COLUMNS + 1);
    memcpy(want, y, sizeof y);
    for (size_t c = 0; c < TILE_COLUMNS; c++)
        for (size_t k = 0; k < DEPTH; k++) {
            volatile float product = a[k * step] * b[k * TILE_COLUMNS + c];
            want[c] += product;
        }
    loops->row(a, step, b, DEPTH, y);
    assert_memory_equal(y, want, sizeof y);
}

static void check_taps(const struct loops *loops, size_t count) {
    float x[MOST + TAPS * 3], weights[TAPS], y[MOST + 1], want[MOST + 1];
    const float *from[TAPS];
    fill(x, MOST + TAPS * 3);
    fill(weights, TAPS);
    fill(y, MOST + 1);
    memcpy(want, y, sizeof y);
    for (size_t t = 0; t < TAPS; t++) from[t] = x + t * 3;
    for (size_t i = 0; i < count; i++) {
        want[i] = -0.25F;
        for (size_t t = 0; t < TAPS; t++) {
            volatile float product = weights[t] * from[t][i];
            want[i] += product;
        }
    }
    loops->taps(from, weights, TAPS, -0.25F, y, count);
    assert_memory_equal(y, want, sizeof y);
    for (size_t i = 0; i < count; i++) {
        want[i] = from[0][i];
        for (size_t t = 1; t < TAPS; t++) want[i] = from[t][i] > want[i] ? from[t][i] : want[i];
    }
    loops->largest(from, TAPS, y, count);
    assert_memory_equal(y, want, sizeof y);
}

static void check(const struct loops *loops) {
    static const float start[TILE_ROWS] = {-0.0F, 1, -2, 3.5F, 0, 1e9F, -1e-9F, 7};
    for (size_t columns = 1; columns <= TILE_COLUMNS; columns++) {
        check_tile(loops, columns, columns % 3 ? DEPTH : columns / 3, NULL);
        check_tile(loops, columns, columns % 3 ? DEPTH : columns / 3, start);
    }
    for (size_t step = 1; step <= 3; step++) check_row(loops, step);
    for (size_t count = 0; count <= MOST; count += count < 70 ? 1 : 23) check_taps(loops, count);
}

static void plain_loops_give_those_of_a_sum_in_order(void **state) {
    (void)state;
    check(&loops_plain);
}

static void avx2_gives_the_same_bits(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        check(&loops_avx2);
        return;
    }
#endif
    skip_because("this CPU has no AVX2");
}

static void avx512f_gives_the_same_bits(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        check(&loops_avx512f);
        return;
    }
#endif
    skip_because("this CPU has no AVX-512");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_loops_give_those_of_a_sum_in_order),
                                       cmocka_unit_test(avx2_gives_the_same_bits), cmocka_unit_test(avx512f_gives_the_same_bits)};
    return cmocka_run_group_tests_name("float loops", tests, NULL, NULL);
}
