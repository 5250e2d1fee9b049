/* SPDX-License-Identifier: MIT */
/* The checks that look at every value of a constant: blocks without a branch, which compilers make vectors of. */
#include "check.h"

/* A float is infinite or no number where all bits of its exponent are set: then, and only then, one more at their end carries into the
 * sign's place. `signs`: the places of the signs, `one`: the last bits of the exponents. */
static int all_finite(const uint32_t *bits, uint32_t count, uint32_t signs, uint32_t one) {
    uint32_t carries = 0;
    for (; count >= 16; count -= 16, bits += 16)
        for (size_t k = 0; k < 16; k++) carries |= (bits[k] & ~signs) + one;
    for (size_t k = 0; k < count; k++) carries |= (bits[k] & ~signs) + one;
    return !(carries & signs);
}

int morsel_all_finite(const uint32_t *bits, uint32_t count) {
    return all_finite(bits, count, 0x80000000, 0x00800000);
}

int morsel_all_finite_halves(const uint32_t *bits, uint32_t count) {
    return all_finite(bits, count, 0x80008000, 0x04000400);
}

/* Plus 128 they are 0..255: no higher bit is set. */
int morsel_all_small(const uint32_t *values, uint32_t count) {
    uint32_t bits = 0;
    for (; count >= 16; count -= 16, values += 16)
        for (size_t k = 0; k < 16; k++) bits |= values[k] + 128;
    for (size_t k = 0; k < count; k++) bits |= values[k] + 128;
    return bits < 256;
}
