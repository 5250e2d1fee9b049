/* SPDX-License-Identifier: MIT */
/* Axes that are the sum of two, against the definition by its words. */
#include "tools/lower/axis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST = 6000 };
static uint64_t seed;

static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static bool is_sum(const int32_t *table, uint32_t dim, uint32_t inner) {
    for (uint32_t k = 0; k < dim; k++)
        if (table[k] < 0 || table[k] - table[k / inner * inner] != table[k % inner] - table[0]) return false;
    return true;
}

static uint32_t by_definition(const int32_t *table, uint32_t dim) {
    for (uint32_t inner = 512; dim > 512 && inner >= 16; inner--)
        if (dim % inner == 0 && is_sum(table, dim, inner)) return inner;
    return 0;
}

/* A sum of two axes of small numbers; then, at times, one entry is another. */
static void fill(int32_t *table, uint32_t dim, uint32_t inner) {
    int32_t low[MOST], high = 1000;
    uint32_t kind = below(4);
    for (uint32_t k = 0; k < inner; k++) low[k] = kind == 0 ? (int32_t)k : kind == 1 ? -(int32_t)k : (int32_t)below(2);
    for (uint32_t k = 0; k < dim; k++) {
        if (k && k % inner == 0) high += kind == 3 ? (int32_t)below(3) : (int32_t)inner;
        table[k] = high + low[k % inner];
    }
    if (below(2)) table[below(2) ? dim - 1 - below(20) : below(dim)] += (int32_t)below(3) - 1;
    if (!below(20)) table[below(dim)] = -1;
}

static void an_inner_axis_is_the_longest_that_sums(void **state) {
    (void)state;
    static int32_t table[MOST];
    uint32_t split = 0, whole = 0;
    seed = 6;
    for (uint32_t n = 0; n < 3000; n++) {
        uint32_t inner = 2 + below(600), most = MOST / inner, dim = inner * (1 + below(most));
        if (dim < 30) continue;
        fill(table, dim, inner);
        uint32_t expected = by_definition(table, dim);
        assert_int_equal(axis_inner(table, dim), expected);
        split += expected > 0;
        whole += !expected && dim > 512;
    }
    assert_in_range(split, 500, 2500);
    assert_in_range(whole, 500, 2500);
}

/* Numbers with many divisors, whose edge stands still for a while: each divisor holds nearly to the end. */
static void padded_edges_are_as_defined(void **state) {
    (void)state;
    static int32_t table[MOST];
    for (uint32_t dim = 720; dim <= 5040; dim += 720)
        for (uint32_t edge = 0; edge < 40; edge++)
            for (uint32_t front = 0; front < 2; front++) {
                for (uint32_t k = 0; k < dim; k++) {
                    uint32_t moved = front ? (k < edge ? 0 : k - edge) : k;
                    table[k] = (int32_t)(!front && k + edge >= dim ? dim - edge - 1 : moved);
                }
                assert_int_equal(axis_inner(table, dim), by_definition(table, dim));
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inner_axis_is_the_longest_that_sums),
        cmocka_unit_test(padded_edges_are_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
