/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_values.c: sums that find in one comparison what is among many values. Proofs of bits, one block of 17 values. */
#include "core/check_values.c"
#include "prove.h"

enum { COUNT = 17 }; /* a block of sixteen, and what is left */

void prove_finite(void) {
    uint32_t bits[COUNT];
    prove_bits();
    prove_any(bits);
    uint32_t infinite = 0;
    for (int k = 0; k < COUNT; k++) infinite |= (bits[k] >> 23 & 255) == 255;
    prove_assert(morsel_all_finite(bits, COUNT) == !infinite);
}

void prove_finite_halves(void) {
    uint32_t bits[COUNT];
    prove_bits();
    prove_any(bits);
    uint32_t infinite = 0;
    for (int k = 0; k < COUNT; k++) infinite |= (bits[k] >> 10 & 31) == 31 | (bits[k] >> 26 & 31) == 31;
    prove_assert(morsel_all_finite_halves(bits, COUNT) == !infinite);
}

void prove_small(void) {
    int32_t values[COUNT];
    prove_bits();
    prove_any(values);
    uint32_t large = 0;
    for (int k = 0; k < COUNT; k++) large |= values[k]<-128 | values[k]> 127;
    prove_assert(morsel_all_small((const uint32_t *)values, COUNT) == !large);
}
