/* SPDX-License-Identifier: MIT */
/* Proofs of core/plan_chain.c: estimates stay in their types, whatever the blob states of multiplications. */
#include "core/plan_chain.c"
#include "any.h"

/* The work of a stage on any rows of its picture beyond any share of them. */
void prove_more_rows(uint32_t height, uint32_t share) {
    struct morsel_stage stage;
    struct morsel_blob_step step;
    prove_any(&stage);
    prove_any(&step);
    prove_assume(height >= 1 & height <= MORSEL_SIZE_LIMIT & share <= height);
    prove_assume(stage.begin <= stage.end & stage.end <= height);
    int64_t more = more_rows(&stage, &step, height, share);
    prove_assert(more > -((wide)1 << 32) & more < (wide)1 << 32);
}

void prove_divides(uint32_t a, uint32_t b, uint32_t n) {
    prove_assume(n >= 1 & n <= MORSEL_MOST_TASKS & a <= MORSEL_SIZE_LIMIT & b <= MORSEL_SIZE_LIMIT);
    prove_assert((wide)(a + n - 1) <= UINT32_MAX);
    prove_assert((wide)((a + n - 1) / n) * b <= UINT64_MAX);
}
