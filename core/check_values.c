/* SPDX-License-Identifier: MIT */
/* The checks that look at every value of a constant: blocks without a branch, which compilers make vectors of. */
#include "check.h"

/* A float is infinite or no number where all bits of its exponent are set: then, and only then, one more at their end carries into the
 * sign's place. `signs`: the places of the signs, `one`: the last bits of the exponents. */
static int finite(const uint32_t *bits, uint32_t count, uint32_t signs, uint32_t one) {
    uint32_t carries = 0;
    for (; count >= 16; count -= 16, bits += 16)
        for (size_t k = 0; k < 16; k++) carries |= (bits[k] & ~signs) + one;
    for (size_t k = 0; k < count; k++) carries |= (bits[k] & ~signs) + one;
    return !(carries & signs);
}

int morsel_all_finite(const uint32_t *bits, uint32_t count) {
    return finite(bits, count, 0x80000000, 0x00800000);
}

int morsel_all_finite_halves(const uint32_t *bits, uint32_t count) {
    return finite(bits, count, 0x80008000, 0x04000400);
}

/* Fields of 16 bits hold the sums of at most so many quads: two bytes each, 2 * 255 * 128 < 2^16. */
#define RUN 128u

/* Four channels of `quads` quads; `base` is 256 - (zero + 128) in both fields of a word. Two weights are added at a time. The bit above a
 * field's low byte tells that the weight is not below zero, and then that byte is how much above. */
static void weigh_four(uint32_t *sum, uint32_t *above, const uint32_t *words, uint32_t quads, const uint32_t *base) {
    uint32_t s[4] = {0, 0, 0, 0}, a[4] = {0, 0, 0, 0};
    for (uint32_t q = 0; q < quads; q++, words += 16)
        for (size_t k = 0; k < 4; k++) {
            uint32_t word = words[k] ^ 0x80808080, even = word & 0x00ff00ff, odd = word >> 8 & 0x00ff00ff;
            uint32_t even_over = even + base[k], odd_over = odd + base[k];
            uint32_t even_sign = even_over >> 8 & 0x00010001, odd_sign = odd_over >> 8 & 0x00010001;
            s[k] += even + odd;
            a[k] += (even_over & ((even_sign << 8) - even_sign)) + (odd_over & ((odd_sign << 8) - odd_sign));
        }
    for (size_t k = 0; k < 4; k++) {
        sum[k] = (s[k] & 0xffff) + (s[k] >> 16);
        above[k] = (a[k] & 0xffff) + (a[k] >> 16);
    }
}

void morsel_weigh_block(struct morsel_weighed *weighed, const uint32_t *words, uint32_t quads, const int32_t *zero) {
    uint32_t base[16], sum[4], above[4];
    for (size_t c = 0; c < 16; c++) {
        base[c] = (uint32_t)(128 - (zero ? zero[c] : 0)) * 0x00010001u;
        weighed[c].sum = weighed[c].above = 0;
    }
    for (uint32_t n; quads; quads -= n, words += 16 * (size_t)n) {
        n = quads < RUN ? quads : RUN;
        for (size_t c = 0; c < 16; c += 4) {
            weigh_four(sum, above, words + c, n, base + c);
            for (size_t k = 0; k < 4; k++) {
                weighed[c + k].sum += sum[k];
                weighed[c + k].above += above[k];
            }
        }
    }
}

/* Plus 128 they are 0..255: no higher bit is set. */
int morsel_all_small(const uint32_t *values, uint32_t count) {
    uint32_t bits = 0;
    for (; count >= 16; count -= 16, values += 16)
        for (size_t k = 0; k < 16; k++) bits |= values[k] + 128;
    for (size_t k = 0; k < count; k++) bits |= values[k] + 128;
    return bits < 256;
}
