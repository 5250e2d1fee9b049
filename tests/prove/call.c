/* SPDX-License-Identifier: MIT */
/* Proofs of core/call.h, core/blob.h and core/run_rows.c: shares of tasks, slices of the arena, rows in rings. */
#include "core/run_rows.c"
#include "any.h"

/* Shares of n tasks: they join without a gap, cover all, and no two differ by more than one. */
void prove_share(uint32_t all, uint32_t n, uint32_t i) {
    prove_assume(n >= 1 & i < n);
    uint32_t from = morsel_share_from(all, n, i), to = morsel_share_from(all, n, i + 1);
    prove_assert(from <= to & (wide)to - from >= all / n & (wide)to - from <= (wide)(all / n) + 1);
    prove_assert(from == (wide)(all / n) * i + (i < all % n ? i : all % n));
    prove_assert(to <= all);
}

void prove_share_covers(uint32_t all, uint32_t n) {
    prove_assume(n >= 1);
    prove_assert(morsel_share_from(all, n, 0) == 0);
    prove_assert(morsel_share_from(all, n, n) == all);
}

void prove_aligned(uint32_t bytes) {
    prove_assume(bytes <= MORSEL_SIZE_LIMIT);
    uint32_t a = morsel_aligned(bytes);
    prove_assert(a >= bytes & a < bytes + 64 & a % 64 == 0);
}

/* Of slices that end below 2^31: those that share no byte are told apart, and no others. */
void prove_overlap(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) {
    prove_assume((wide)a + a_bytes <= MORSEL_SIZE_LIMIT & (wide)b + b_bytes <= MORSEL_SIZE_LIMIT);
    int overlap = morsel_overlap(a, a_bytes, b, b_bytes);
    prove_assert(overlap == ((wide)a < (wide)b + b_bytes & (wide)b < (wide)a + a_bytes));
}

/* A row's place in a ring is inside, and `together` rows from there on are, too. */
void prove_ring_place(uint32_t y, uint32_t n) {
    struct morsel_held x;
    prove_any(&x);
    prove_assume(x.rows >= 1 & y >= x.first);
    uint32_t place = place_of(&x, y), side = together(&x, y, n);
    prove_assert(place < x.rows);
    prove_assert(place == (y - x.first) % x.rows);
    prove_assert((wide)place + side <= x.rows & side <= n);
    if (n) prove_assert(side >= 1);
}
