/* SPDX-License-Identifier: MIT */
/* Axes that are the sum of two: found in linear time, whatever their entries are. */
#include "tools/lower/axis.h"
#include "tools/base/arena.h"

#include <stdbool.h>
#include <stdlib.h>

/* How many steps from entry k to k + 1 on are those from entry 0 on, at most AXIS_MOST_STRAIGHT: the known algorithm in linear time, which
 * copies what it knows of the stretch that reaches furthest. */
static uint16_t *same_steps(const int32_t *table, uint32_t dim) {
    uint16_t *same = must_calloc(dim, sizeof *same);
    uint32_t begin = 0, end = 0;
    same[0] = AXIS_MOST_STRAIGHT;
    for (uint32_t k = 1; k < dim; k++) {
        uint32_t n = k < end ? (same[k - begin] < end - k ? same[k - begin] : end - k) : 0;
        while (n < AXIS_MOST_STRAIGHT && k + n + 1 < dim && table[k + n + 1] - table[k + n] == table[n + 1] - table[n]) n++;
        same[k] = (uint16_t)n;
        if (k + n <= end) continue;
        begin = k;
        end = k + n;
    }
    return same;
}

static bool separable(const uint16_t *same, uint32_t dim, uint32_t inner) {
    for (uint32_t k = 0; k < dim; k += inner)
        if (same[k] + 1u < inner) return false;
    return true;
}

/* Whether all entries are at least 0; *even: whether all steps from one to the next are the same. */
static bool no_fill(const int32_t *table, uint32_t dim, bool *even) {
    const uint32_t step = (uint32_t)table[1] - (uint32_t)table[0];
    int32_t least = table[0];
    uint32_t differ = 0;
    for (uint32_t k = 1; k < dim; k++) {
        least = table[k] < least ? table[k] : least;
        differ |= ((uint32_t)table[k] - (uint32_t)table[k - 1]) ^ step;
    }
    *even = !differ;
    return least >= 0;
}

uint32_t axis_inner_even(uint32_t dim) {
    uint32_t found = 0;
    for (uint32_t inner = AXIS_MOST_STRAIGHT; dim > AXIS_MOST_STRAIGHT && !found && inner >= AXIS_LEAST_INNER; inner--)
        if (dim % inner == 0) found = inner;
    return found;
}

uint32_t axis_inner(const int32_t *table, uint32_t dim) {
    uint32_t found = 0;
    bool even;
    if (dim <= AXIS_MOST_STRAIGHT || !no_fill(table, dim, &even)) return 0;
    if (even) return axis_inner_even(dim);
    uint16_t *same = same_steps(table, dim);
    for (uint32_t inner = AXIS_MOST_STRAIGHT; !found && inner >= AXIS_LEAST_INNER; inner--)
        if (dim % inner == 0 && separable(same, dim, inner)) found = inner;
    free(same);
    return found;
}
