/* SPDX-License-Identifier: MIT */
/* Data that moves without changing: rows copied side by side, and elements gathered by index tables. */
#include "walk.h"

#include <string.h>

void morsel_copy_c(const struct morsel_copy_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t r = begin; r < end; r++) {
        uint8_t *y = a->y + (size_t)r * a->y_stride;
        memcpy(y, a->x + (size_t)r * a->x_stride, a->bytes);
        for (uint32_t i = 0; a->flip && i < a->bytes; i++) y[i] = (uint8_t)(y[i] ^ a->flip);
    }
}

/* n bytes of y; x is where entry 0 leads. */
static void gather_bytes(uint8_t *y, const uint8_t *x, const int32_t *entries, uint32_t n, uint8_t fill, uint8_t flip) {
    for (uint32_t i = 0; i < n; i++) y[i] = entries[i] < 0 ? fill : (uint8_t)(x[entries[i]] ^ flip);
}

static void gather_words(uint32_t *y, const uint32_t *x, const int32_t *entries, uint32_t n, uint32_t fill) {
    for (uint32_t i = 0; i < n; i++) y[i] = entries[i] < 0 ? fill : x[entries[i]];
}

static void fill_run(const struct morsel_gather_args *a, uint32_t first, uint32_t n) {
    if (a->size == 1) memset((uint8_t *)a->y + first, (int)(a->fill & 255), n);
    for (uint32_t i = 0; a->size != 1 && i < n; i++) ((uint32_t *)a->y)[first + i] = a->fill;
}

/* n elements of y from `first`; `base` is the sum of the outer dimensions' entries, negative for fill. */
static void gather_run(const struct morsel_gather_args *a, uint32_t first, uint32_t n, int32_t base, const int32_t *entries) {
    if (base < 0) fill_run(a, first, n);
    else if (a->size != 1) gather_words((uint32_t *)a->y + first, (const uint32_t *)a->x + base, entries, n, a->fill);
    else gather_bytes((uint8_t *)a->y + first, (const uint8_t *)a->x + base, entries, n, (uint8_t)a->fill, (uint8_t)a->flip);
}

void morsel_gather_c(const struct morsel_gather_args *a, uint32_t begin, uint32_t end) {
    struct morsel_walk walk;
    uint32_t n;
    morsel_walk_start(&walk, a->dims, a->rank, begin, end);
    while ((n = morsel_walk_run(&walk)) != 0) {
        const int32_t *table = a->table;
        int32_t base = 0;
        for (uint32_t k = 0; k + 1 < a->rank; k++) {
            int32_t entry = table[walk.at[k]];
            base = base < 0 || entry < 0 ? -1 : base + entry;
            table += a->dims[k];
        }
        gather_run(a, walk.begin, n, base, table + walk.at[a->rank - 1]);
        morsel_walk_next(&walk, n);
    }
}
