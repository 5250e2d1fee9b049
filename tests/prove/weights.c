/* SPDX-License-Identifier: MIT */
/* Proofs of core/weights.c: what is found of weights, in fields that none outgrows. */
#include "core/weights.c"
#include "prove.h"

/* `quads` more on fields that hold the sums of `done` before them: fields of 16 bits hold these, too, of RUN quads in all. By induction
 * over the turns of four. The 64 places are alike: the first is looked at. */
static void weigh(uint32_t done, uint32_t quads) {
    uint16_t sum[64], most[64];
    uint8_t bytes[256], zero[64];
    prove_bits();
    prove_any(sum);
    prove_any(most);
    prove_any(bytes);
    prove_any(zero);
    prove_assume(done <= RUN);
    prove_assume(done + quads <= RUN & sum[0] <= 255 * done & most[0] <= 255 * done);
    uint32_t all = sum[0], above = most[0];
    for (uint32_t q = 0; q < quads; q++) {
        uint32_t u = bytes[64 * q] ^ 128;
        all += u;
        above += u > zero[0] ? u : zero[0];
    }
    weigh_places(sum, most, bytes, quads, zero);
    prove_assert(sum[0] == all & most[0] == above & sum[0] <= 255 * (done + quads) & most[0] <= 255 * (done + quads));
}

void prove_weigh_four(uint32_t done) {
    prove_bits();
    weigh(done, 4);
}

void prove_weigh_rest(uint32_t done) {
    prove_bits();
    weigh(done, 3);
}

/* The largest and the least sum of any input; no product or sum leaves 2^47. */
void prove_is_small(int64_t bias, int64_t above, int64_t below, int32_t low, float multiplier) {
    const int64_t most = (int64_t)255 << 29;
    prove_assume(bias >= INT32_MIN & bias <= INT32_MAX & above >= 0 & above < most & below >= 0 & below < most & low >= 0 & low <= 255);
    wide high = 255 - low, top = bias + above * high + (wide)below * low, bottom = bias - (wide)above * low - below * high;
    prove_assert(top<(wide)1 << 47 & bottom> - ((wide)1 << 47));
    if (is_small(bias, above, below, low, multiplier)) prove_assert(top<SMALL_SUM & bottom> - SMALL_SUM);
}
