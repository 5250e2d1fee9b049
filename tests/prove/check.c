/* SPDX-License-Identifier: MIT */
/* Proofs of core/check.h and core/check.c: products, and sections inside the blob. */
#include "core/check.c"
#include "prove.h"

void prove_product(uint32_t a, uint32_t b) {
    uint32_t p = morsel_product(a, b);
    prove_assert(p <= MORSEL_SIZE_LIMIT);
    prove_assert(p == ((wide)a * b <= MORSEL_SIZE_LIMIT ? (wide)a * b : 0));
}

void prove_product3(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t p = morsel_product3(a, b, c);
    if (p) prove_assert(p == (wide)a * b * c);
    if (!p && c) prove_assert((wide)a * b * c > MORSEL_SIZE_LIMIT || !a || !b);
}

/* What a section that fits holds lies in the blob, behind the header of version 1 if there is anything. */
void prove_section(uint32_t record) {
    struct morsel_blob_header h;
    struct morsel_blob_section s;
    prove_any(&h);
    prove_any(&s);
    prove_assume(h.blob_bytes >= MORSEL_FORMAT_HEADER_1 & h.blob_bytes <= MORSEL_SIZE_LIMIT);
    prove_assume(record >= 1);
    if (!section_fits(&h, &s, record)) return;
    prove_assert((wide)s.offset + (wide)s.count * record <= h.blob_bytes);
    prove_assert(s.offset % 64 == 0 && (!s.count || s.offset >= MORSEL_FORMAT_HEADER_1));
}

/* What any_header of any.h takes for granted of counts. */
void prove_counts(void) {
    struct morsel_blob_header h;
    prove_any(&h);
    if (check_counts(&h)) return;
    prove_assert(h.tensors.count >= 1 & h.tensors.count <= MORSEL_FORMAT_MAX_TENSORS & h.steps.count <= MORSEL_FORMAT_MAX_STEPS);
    prove_assert(h.groups.count <= h.steps.count & h.inputs.count <= MORSEL_FORMAT_MAX_IO & h.outputs.count <= MORSEL_FORMAT_MAX_IO);
    prove_assert(h.arena_bytes <= MORSEL_SIZE_LIMIT & h.arena_bytes % 64 == 0);
    prove_assert(h.arena_bytes >= (wide)h.steps.count * MORSEL_FORMAT_STEP_SLOT);
    prove_assert((wide)morsel_fast_bytes(&h) + (wide)h.steps.count * MORSEL_FORMAT_STEP_SLOT <= h.arena_bytes);
}
