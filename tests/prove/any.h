/* SPDX-License-Identifier: MIT */
/* What the checks before have made sure of, for proofs of those that rely on them. */
#ifndef PROVE_ANY_H
#define PROVE_ANY_H

#include "core/check.h"
#include "prove.h"

/* check_identity, check_counts and check_sections of core/check.c; prove_counts and prove_section show it. */
static inline void any_header(const struct morsel_blob_header *h) {
    prove_assume(h->blob_bytes >= MORSEL_FORMAT_HEADER_1 & h->blob_bytes <= MORSEL_SIZE_LIMIT);
    prove_assume((wide)h->data.offset + h->data.count <= h->blob_bytes);
    prove_assume(h->parameters.offset + 4 * (wide)h->parameters.count <= h->blob_bytes);
    prove_assume(h->tensors.count <= MORSEL_FORMAT_MAX_TENSORS & h->steps.count <= MORSEL_FORMAT_MAX_STEPS);
    prove_assume(h->arena_bytes <= MORSEL_SIZE_LIMIT & h->arena_bytes >= (wide)h->steps.count * MORSEL_FORMAT_STEP_SLOT);
    prove_assume((wide)morsel_fast_bytes(h) + (wide)h->steps.count * MORSEL_FORMAT_STEP_SLOT <= h->arena_bytes);
}

/* Where the arena's fast part begins. */
static inline wide any_split(const struct morsel_blob_header *h) {
    return (wide)h->arena_bytes - morsel_fast_bytes(h);
}

/* A picture N H W C of bytes or floats that passed check_tensor of core/check_records.c; prove_tensor and prove_ring_bytes show it. */
static inline void any_picture(const struct morsel_blob_tensor *t) {
    uint32_t size = morsel_type_bytes(t->type);
    prove_assume(t->rank == 4 & t->bytes >= 1 & t->bytes <= MORSEL_SIZE_LIMIT);
    for (int k = 0; k < 4; k++) prove_assume(t->dims[k] >= 1 & t->dims[k] <= MORSEL_SIZE_LIMIT);
    prove_assume((wide)t->dims[2] * t->dims[3] <= MORSEL_SIZE_LIMIT);
    prove_assume((wide)(t->dims[2] * t->dims[3]) * size <= MORSEL_SIZE_LIMIT);
    prove_assume((wide)t->dims[0] * t->dims[1] <= MORSEL_SIZE_LIMIT);
    prove_assume((wide)t->dims[0] * t->dims[1] * (t->dims[2] * t->dims[3] * size) == t->bytes);
    prove_assume(t->ring_rows <= t->dims[1]);
}

#endif
