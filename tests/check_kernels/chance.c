/* SPDX-License-Identifier: MIT */
/* Chance: the same numbers from the same seed on every machine. */
#include "check.h"

/* Steele, Lea, Flood: SplitMix64. */
uint32_t chance_next(struct chance *c) {
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

uint32_t chance_below(struct chance *c, uint32_t n) {
    return (uint32_t)(((uint64_t)chance_next(c) * n) >> 32);
}

int32_t chance_range(struct chance *c, int32_t low, int32_t high) {
    return (int32_t)((int64_t)low + chance_below(c, (uint32_t)((int64_t)high - low) + 1));
}

bool chance_one_in(struct chance *c, uint32_t n) {
    return chance_below(c, n) == 0;
}

uint32_t chance_size(struct chance *c, uint32_t most) {
    uint32_t n = 0;
    switch (chance_below(c, 4)) {
    case 0: n = 1 + chance_below(c, most < 8 ? most : 8); break;
    case 1: n = 1 + chance_below(c, most); break;
    default: /* around the sizes of vectors and tiles */
        n = (1 + chance_below(c, 8)) * (chance_one_in(c, 2) ? 16 : 8) - 2 + chance_below(c, 5);
    }
    return n < 1 ? 1 : n > most ? most : n;
}

float chance_float(struct chance *c, float low, float high) {
    return low + (high - low) * ((float)(chance_next(c) >> 8) / 16777216.0f);
}

void chance_bytes(struct chance *c, uint8_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)chance_next(c);
}
