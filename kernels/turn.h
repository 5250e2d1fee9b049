/* SPDX-License-Identifier: MIT */
/*
 * Gathers that turn lines into columns: a dimension before the last lies side by side in x. Of tiles, 16 of the last dimension by up to 16
 * of that one, lines are read as they lie, shuffled and written as they shall lie. turn.c finds the tiles, an ISA turns them.
 */
#ifndef MORSEL_TURN_H
#define MORSEL_TURN_H

#include "kernels.h"

struct morsel_turn {
    uint32_t side;      /* the dimension whose elements lie side by side */
    uint32_t rest, row; /* elements of y behind one of it, and of them those of the last dimension */
    int32_t most;       /* the last element of x that entries lead to */
};

/* y[r * pitch + c] = x[entries[c] + r] ^ flip for c < n, r < rows; pitch in elements, which have `size` bytes. At most 16 columns of bytes,
 * 4 of four bytes. `high` elements of each column may be read, 4, 8 or 16, of four bytes 4; no more rows than that. */
struct morsel_turned {
    uint8_t *y;
    const uint8_t *x;
    size_t pitch;
    const int32_t *entries;
    uint32_t n, high, rows, size, flip;
};
typedef void morsel_turned_fn(const struct morsel_turned *tile);

/* The longest such dimension. 0: there is none, or the last one has fill. */
int morsel_turn_find(struct morsel_turn *t, const struct morsel_gather_args *a);
/* Elements begin .. end of y. */
void morsel_turn_run(const struct morsel_gather_args *a, const struct morsel_turn *t, morsel_turned_fn *turn, uint32_t begin, uint32_t end);

#endif
