/* SPDX-License-Identifier: MIT */
/* Loops over packed weights, which compilers make vectors of, and what follows from the sums. */
#include "weights.h"

#include <string.h>

#define SMALL_SUM (1 << 22)
#define SMALL_RESULT 32000.0f

/* Fields of 16 bits hold the sums of at most so many quads: 255 * 256 < 2^16. Proven: tests/prove, weigh_four. */
#define RUN 256u

/* Each of a quad's 64 places on its own, so that vectors of bytes do it: the sum of all weights, and of each or its zero, whichever is
 * more. Four quads a turn: the sums are fetched and put back a quarter as often. Everything is plus 128. */
static void weigh_places(uint16_t *restrict sum, uint16_t *restrict most, const uint8_t *restrict bytes, uint32_t quads,
                         const uint8_t *restrict zero) {
    for (; quads >= 4; quads -= 4, bytes += 256)
        for (size_t k = 0; k < 64; k++) {
            uint8_t z = zero[k], u0 = bytes[k] ^ 128, u1 = bytes[k + 64] ^ 128, u2 = bytes[k + 128] ^ 128, u3 = bytes[k + 192] ^ 128;
            uint8_t m0 = u0 > z ? u0 : z, m1 = u1 > z ? u1 : z, m2 = u2 > z ? u2 : z, m3 = u3 > z ? u3 : z;
            sum[k] = (uint16_t)(sum[k] + u0 + u1 + u2 + u3);
            most[k] = (uint16_t)(most[k] + m0 + m1 + m2 + m3);
        }
    for (; quads; quads--, bytes += 64)
        for (size_t k = 0; k < 64; k++) {
            uint8_t z = zero[k], u = bytes[k] ^ 128, m = u > z ? u : z;
            sum[k] = (uint16_t)(sum[k] + u);
            most[k] = (uint16_t)(most[k] + m);
        }
}

void morsel_weigh_block(struct morsel_weighed *weighed, const uint32_t *words, uint32_t quads, const int32_t *zero) {
    const uint8_t *bytes = (const uint8_t *)words;
    uint32_t zeros[16]; /* plus 128, in all four bytes */
    uint16_t sum[64], most[64];
    for (size_t c = 0; c < 16; c++) zeros[c] = 128 * 0x01010101u;
    for (size_t c = 0; zero && c < 16; c++) zeros[c] += (uint32_t)zero[c] * 0x01010101u;
    for (size_t c = 0; c < 16; c++) weighed[c].sum = weighed[c].above = 0;
    for (uint32_t n; quads; quads -= n, bytes += 64 * (size_t)n) {
        n = quads < RUN ? quads : RUN;
        memset(sum, 0, sizeof sum);
        memset(most, 0, sizeof most);
        weigh_places(sum, most, bytes, n, (const uint8_t *)zeros);
        for (size_t c = 0; c < 16; c++) {
            const uint16_t *s = sum + 4 * c, *m = most + 4 * c;
            weighed[c].sum += (uint32_t)s[0] + s[1] + s[2] + s[3];
            weighed[c].above += (uint32_t)m[0] + m[1] + m[2] + m[3] - 4 * (zeros[c] & 255) * n;
        }
    }
}

/* Inputs are at most `low` below the zero point and `high` above it, 255 together. `above` and `below` are less than 255 * 2^29: no product
 * or sum leaves 2^47. Proven: tests/prove, is_small. */
static int is_small(int64_t bias, int64_t above, int64_t below, int32_t low, float multiplier) {
    int64_t high = 255 - low, most = bias + above * high + below * low, least = bias - above * low - below * high;
    if (most >= SMALL_SUM || least <= -SMALL_SUM) return 0;
    float result = (float)(most > -least ? most : -least) * multiplier;
    return result < SMALL_RESULT && result > -SMALL_RESULT;
}

uint32_t morsel_find_proofs(const struct morsel_weighed *weighed, const struct morsel_block_channels *k, uint64_t taps, int32_t low) {
    uint32_t proofs = MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE;
    for (uint32_t c = 0; c < 16; c++) {
        int64_t zero = k->zero ? k->zero[c] : 0, above = (int64_t)weighed[c].above;
        int64_t total = (int64_t)weighed[c].sum - (int64_t)taps * (zero + 128); /* of all w - zero */
        if (!is_small(k->bias[c], above, above - total, low, k->multiplier[c])) proofs &= ~(uint32_t)MORSEL_PROOF_SMALL;
        if (!(k->multiplier[c] >= 0)) proofs &= ~(uint32_t)MORSEL_PROOF_POSITIVE;
    }
    return proofs;
}
