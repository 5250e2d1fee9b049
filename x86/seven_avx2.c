/* SPDX-License-Identifier: MIT */
/* What tiles of seven pixels do seldom, once for AVX2 and AVX-VNNI. */
#define MORSEL_BELOW_1
#include "seven_avx2.h"

void morsel_store_copies_avx2(const struct morsel_part256 *part, uint8_t *y, const struct morsel_seven256 *a,
                              const struct morsel_seven256 *b) {
    const struct morsel_places *o = &part->y_places;
    const size_t at[8] = {0, o->p1, o->p2, o->p3, o->p4, o->p5, o->p6, o->p6};
    __m256i first[8] = {a->p0, a->p1, a->p2, a->p3, a->p4, a->p5, a->p6, a->p6};
    __m256i second[8] = {b->p0, b->p1, b->p2, b->p3, b->p4, b->p5, b->p6, b->p6};
    for (uint32_t i = 0; i < 8; i += 2)
        morsel_store_2x16(part, y + at[i], y + at[i + 1], first[i], second[i], first[i + 1], second[i + 1], part->channels, part->bias);
}
