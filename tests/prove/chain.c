/* SPDX-License-Identifier: MIT */
/* Proofs of core/plan_chain.c: estimates stay in their types, whatever the blob states of multiplications. */
#include "core/plan_chain.c"
#include "any.h"

uint32_t any_rows; /* what morsel_find_stage_rows finds for a stage: any rows of its picture */
void morsel_find_stage_rows(struct morsel_stage *stages, uint32_t count, uint32_t begin, uint32_t end) {
    prove_assume(begin <= end);
    for (uint32_t i = 0; i < count; i++) prove_assume(stages[i].begin <= stages[i].end & stages[i].end <= stages[i].tensor->dims[1]);
}

/* The work of a chain's stages, one behind the other, in one task. */
void prove_more_work(uint32_t place) {
    struct chain chain;
    struct morsel_call call[2];
    struct morsel_blob_step step[2];
    struct morsel_blob_tensor t[2];
    prove_any(&chain);
    prove_any(call);
    prove_any(step);
    prove_any(t);
    chain.count = 2;
    for (int k = 0; k < 2; k++) {
        chain.stages[k].call = &call[k];
        chain.stages[k].step = &step[k];
        chain.stages[k].tensor = &t[k];
        prove_assume(t[k].dims[1] >= 1 & t[k].dims[1] <= MORSEL_SIZE_LIMIT);
    }
    int64_t more = more_work(&chain, 1);
    prove_assert(more >= 0 & more <= (wide)2 << 32);
    (void)place;
}

void prove_divides(uint32_t a, uint32_t b, uint32_t n) {
    prove_assume(n >= 1 & n <= MORSEL_MOST_TASKS & a <= MORSEL_SIZE_LIMIT & b <= MORSEL_SIZE_LIMIT);
    prove_assert((wide)(a + n - 1) <= UINT32_MAX);
    prove_assert((wide)((a + n - 1) / n) * b <= UINT64_MAX);
}
