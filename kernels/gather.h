/* SPDX-License-Identifier: MIT */
/*
 * Gathers, for an ISA that says how two lines of bytes are interleaved. Nearly all lines are of three kinds. A stretch of x as it stands is
 * a slice or padding; two stretches in turn are a shuffle of channels in two halves; the third kind is any order.
 */
#ifndef MORSEL_GATHER_H
#define MORSEL_GATHER_H

#include "walk.h"

#include <string.h>

/* y[2 * i] = a[i] and y[2 * i + 1] = b[i] for i < n. */
typedef void morsel_interleave_fn(uint8_t *y, const uint8_t *a, const uint8_t *b, uint32_t n);

/* The table of the last dimension. */
static inline const int32_t *morsel_last_table(const struct morsel_gather_args *a) {
    const int32_t *entries = a->table;
    for (uint32_t k = 0; k + 1 < a->rank; k++) entries += a->dims[k];
    return entries;
}

static inline void morsel_flip_line(uint8_t *y, uint32_t n, uint32_t flip) {
    for (uint32_t i = 0; flip && i < n; i++) y[i] = (uint8_t)(y[i] ^ flip);
}

/* n bytes of y; x is where entry 0 leads. */
static inline void morsel_gather_bytes(const struct morsel_gather_args *a, uint8_t *y, const uint8_t *x, const int32_t *entries, uint32_t n,
                                       morsel_interleave_fn *interleave) {
    if (a->line == MORSEL_LINE_STRETCH) {
        memcpy(y, x + entries[0], n);
        morsel_flip_line(y, n, a->sign_flip);
    } else if (a->line == MORSEL_LINE_TWO && n > 1) {
        interleave(y, x + entries[0], x + entries[1], n / 2);
        if (n % 2) y[n - 1] = x[entries[n - 1]];
        morsel_flip_line(y, n, a->sign_flip);
    } else {
        for (uint32_t i = 0; i < n; i++) y[i] = entries[i] < 0 ? (uint8_t)a->fill : (uint8_t)(x[entries[i]] ^ a->sign_flip);
    }
}

static inline void morsel_gather_words(const struct morsel_gather_args *a, uint32_t *y, const uint32_t *x, const int32_t *entries,
                                       uint32_t n) {
    if (a->line == MORSEL_LINE_STRETCH && n >= 8) memcpy(y, x + entries[0], n * sizeof *y);
    else
        for (uint32_t i = 0; i < n; i++) y[i] = entries[i] < 0 ? a->fill : x[entries[i]];
}

static inline void morsel_gather_fill(const struct morsel_gather_args *a, uint32_t first, uint32_t n) {
    if (a->size == 1) memset((uint8_t *)a->y + first, (int)(a->fill & 255), n);
    for (uint32_t i = 0; a->size != 1 && i < n; i++) ((uint32_t *)a->y)[first + i] = a->fill;
}

/* The sum of the outer dimensions' entries, or -1 for fill; *last is the table of the last dimension. */
static inline int32_t morsel_gather_base(const struct morsel_gather_args *a, const struct morsel_walk *walk, const int32_t **last) {
    int32_t base = 0;
    *last = a->table;
    for (uint32_t k = 0; k + 1 < a->rank; k++) {
        int32_t entry = (*last)[walk->at[k]];
        base = base < 0 || entry < 0 ? -1 : base + entry;
        *last += a->dims[k];
    }
    return base;
}

static inline void morsel_gather_with(const struct morsel_gather_args *a, uint32_t begin, uint32_t end, morsel_interleave_fn *interleave) {
    struct morsel_walk walk;
    const int32_t *last;
    uint32_t n;
    morsel_walk_start(&walk, a->dims, a->rank, begin, end);
    while ((n = morsel_walk_run(&walk)) != 0) {
        int32_t base = morsel_gather_base(a, &walk, &last);
        const int32_t *entries = last + walk.at[a->rank - 1];
        if (base < 0) morsel_gather_fill(a, walk.begin, n);
        else if (a->size != 1) morsel_gather_words(a, (uint32_t *)a->y + walk.begin, (const uint32_t *)a->x + base, entries, n);
        else morsel_gather_bytes(a, (uint8_t *)a->y + walk.begin, (const uint8_t *)a->x + base, entries, n, interleave);
        morsel_walk_next(&walk, n);
    }
}

#endif
