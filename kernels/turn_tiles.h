/* SPDX-License-Identifier: MIT */
/*
 * Tiles of turn.h in vectors of 16 bytes. The file that includes this says first what such a vector is: MORSEL_TURN_VECTOR, turn_load,
 * turn_store, turn_flip, and turn_low, turn_high, turn_low4, turn_high4, which interleave the halves of two, by bytes and by fours.
 */
#ifndef MORSEL_TURN_TILES_H
#define MORSEL_TURN_TILES_H

#include "turn.h"

#include <string.h>

#define TURN_INLINE static inline __attribute__((always_inline))

/* Each of `count` vectors has 16 / count columns: four shuffles, of the first half with the second, make rows of them. */
TURN_INLINE void morsel_turn_shuffle(MORSEL_TURN_VECTOR *v, uint32_t count) {
    MORSEL_TURN_VECTOR w[16];
    for (int round = 0; round < 4; round += 2) {
        for (uint32_t k = 0; k < count / 2; k++) {
            w[2 * k] = turn_low(v[k], v[k + count / 2]);
            w[2 * k + 1] = turn_high(v[k], v[k + count / 2]);
        }
        for (uint32_t k = 0; k < count / 2; k++) {
            v[2 * k] = turn_low(w[k], w[k + count / 2]);
            v[2 * k + 1] = turn_high(w[k], w[k + count / 2]);
        }
    }
}

/* The first n of 16 bytes; all of them, too. */
static __attribute__((noinline)) void morsel_turn_put(uint8_t *y, MORSEL_TURN_VECTOR v, uint32_t n) {
    uint8_t bytes[16];
    turn_store(bytes, v);
    if (n >= 8) {
        memcpy(y, bytes, 8);
        memcpy(y + (n - 8), bytes + (n - 8), 8);
    } else if (n >= 4) {
        memcpy(y, bytes, 4);
        memcpy(y + (n - 4), bytes + (n - 4), 4);
    } else {
        for (uint32_t i = 0; i < n; i++) y[i] = bytes[i];
    }
}

/* Sixteen columns of sixteen. */
TURN_INLINE void morsel_turn_square(const struct morsel_turned *t) {
    MORSEL_TURN_VECTOR v[16];
    for (uint32_t c = 0; c < 16; c++) v[c] = turn_load(t->x + t->entries[c]);
    morsel_turn_shuffle(v, 16);
    for (uint32_t r = 0; r < 16; r++) turn_store(t->y + r * t->pitch, turn_flip(v[r], t->flip));
}

/* Fewer columns or rows. */
static __attribute__((noinline)) void morsel_turn_few(const struct morsel_turned *t) {
    MORSEL_TURN_VECTOR v[16];
    uint8_t columns[256];
    for (uint32_t c = 0; c < 16; c++) memcpy(columns + (size_t)c * t->high, t->x + t->entries[c < t->n ? c : 0], t->high);
    for (uint32_t k = 0; k < t->high; k++) v[k] = turn_load(columns + (size_t)k * 16);
    morsel_turn_shuffle(v, t->high);
    for (uint32_t r = 0; r < t->rows; r++) {
        if (t->n == 16) turn_store(t->y + r * t->pitch, turn_flip(v[r], t->flip));
        else morsel_turn_put(t->y + r * t->pitch, turn_flip(v[r], t->flip), t->n);
    }
}

/* The same of elements of four bytes: four of each column, and no more columns than four. */
TURN_INLINE void morsel_turn_words(const struct morsel_turned *t) {
    MORSEL_TURN_VECTOR v[4], w[4];
    for (uint32_t c = 0; c < 4; c++) v[c] = turn_load(t->x + (size_t)4 * (uint32_t)t->entries[c < t->n ? c : 0]);
    for (uint32_t k = 0; k < 2; k++) {
        w[2 * k] = turn_low4(v[k], v[k + 2]);
        w[2 * k + 1] = turn_high4(v[k], v[k + 2]);
    }
    v[0] = turn_low4(w[0], w[2]);
    v[1] = turn_high4(w[0], w[2]);
    v[2] = turn_low4(w[1], w[3]);
    v[3] = turn_high4(w[1], w[3]);
    for (uint32_t r = 0; r < t->rows; r++) morsel_turn_put(t->y + 4 * r * t->pitch, v[r], 4 * t->n);
}

static void morsel_turn_tile(const struct morsel_turned *t) {
    if (t->size == 4) morsel_turn_words(t);
    else if (t->high < 16 || t->n < 16) morsel_turn_few(t);
    else morsel_turn_square(t);
}

#endif
