/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_records.c: sizes of tensors, and their slices of the arena or the blob. */
#include "core/check_records.c"
#include "core/check_steps.c"
#include "any.h"

/* The product of at most six dimensions; 0 where one is 0 or the product is above 2^31 - 1. Shown by what a further factor does. */
void prove_elements(uint32_t rank) {
    uint32_t dims[MORSEL_MAX_RANK];
    prove_any(dims);
    prove_assume(rank <= MORSEL_MAX_RANK);
    uint32_t n = elements_of(dims, rank);
    prove_assert(n <= MORSEL_SIZE_LIMIT);
    wide exact = 1;
    for (uint32_t k = 0; k < rank; k++) {
        if (!dims[k]) prove_assert(!n);
        prove_assume(exact <= MORSEL_SIZE_LIMIT); /* else the next two lines have shown that it is 0 */
        exact *= dims[k];
        if (exact > MORSEL_SIZE_LIMIT) break;
    }
    if (exact <= MORSEL_SIZE_LIMIT) prove_assert(n == exact);
    else {
        for (uint32_t k = 0; k < rank; k++) prove_assume(dims[k] > 0);
        prove_assert(!n);
    }
}

/* A tensor that passes lies whole where it says, behind the steps' slots. */
void prove_place(void) {
    struct morsel_blob_header h;
    struct morsel_blob_tensor t;
    prove_any(&h);
    prove_any(&t);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    prove_assume(t.place <= 1 && (!t.ring_rows || !t.place));
    prove_assume(!t.ring_rows || (wide)t.ring_rows * t.dims[2] * t.dims[3] * morsel_type_bytes(t.type) <= MORSEL_SIZE_LIMIT);
    prove_assume(!t.ring_rows || (wide)t.dims[2] * t.dims[3] <= MORSEL_SIZE_LIMIT);
    prove_assume(!t.ring_rows || (wide)t.dims[2] * t.dims[3] * morsel_type_bytes(t.type) <= MORSEL_SIZE_LIMIT);
    if (check_place(&c, &t)) return;
    if (t.place) {
        prove_assert((wide)t.offset + t.bytes <= h.blob_bytes);
        return;
    }
    prove_assert((wide)t.offset + morsel_slice_bytes(&t) <= h.arena_bytes & t.offset >= (wide)h.steps.count * MORSEL_FORMAT_STEP_SLOT);
    prove_assert(t.offset >= any_split(&h) || (wide)t.offset + morsel_slice_bytes(&t) <= any_split(&h));
}

/* The bytes of a tensor that passes are its elements by their size: no product on the way was cut off. Of rank 4, as rings are. */
void prove_tensor(uint32_t offset) {
    struct morsel_blob_header h;
    struct morsel_blob_tensor t;
    prove_any(&h);
    prove_any(&t);
    any_header(&h);
    struct morsel_check c = {.header = &h, .tensors = &t};
    prove_assume(t.rank == 4 & offset == 0);
    if (check_tensor(&c, 0)) return;
    for (int k = 0; k < 4; k++) prove_assert(t.dims[k] >= 1);
    prove_assert(t.bytes >= 1 & t.bytes <= MORSEL_SIZE_LIMIT);
    prove_assert((wide)t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3] * morsel_type_bytes(t.type) == t.bytes);
}

/* What prove_place takes for granted of rings follows from what is checked before. */
void prove_ring_bytes(uint32_t n, uint32_t h, uint32_t w, uint32_t c, uint32_t rows) {
    uint32_t all = morsel_product(morsel_product(morsel_product(n, h), w), c);
    prove_assume(all && rows <= h);
    prove_assert((wide)w * c <= (wide)n * h * w * c);
    prove_assert((wide)w * c <= MORSEL_SIZE_LIMIT);
    uint32_t row = w * c;
    prove_assert((wide)h * row <= (wide)n * h * row);
    prove_assert((wide)rows * row <= (wide)h * row);
    prove_assert((wide)rows * row <= all);
}
