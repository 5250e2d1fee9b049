/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_steps.c: constants, parameters and scratch inside their sections. */
#include "core/check_steps.c"
#include "any.h"

void prove_data(uint32_t offset, uint64_t bytes) {
    struct morsel_blob_header h;
    prove_any(&h);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    if (!morsel_check_data(&c, offset, bytes)) return;
    prove_assert(offset % 64 == 0 & offset >= h.data.offset & offset + (wide)bytes <= (wide)h.data.offset + h.data.count);
    prove_assert(offset + (wide)bytes <= h.blob_bytes);
}

/* What is refused does not lie there: no sound constant is. */
void prove_data_takes_all(uint32_t offset, uint64_t bytes) {
    struct morsel_blob_header h;
    prove_any(&h);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    prove_assume(offset % 64 == 0 & offset >= h.data.offset & offset + (wide)bytes <= (wide)h.data.offset + h.data.count);
    prove_assert(morsel_check_data(&c, offset, bytes));
}

/* The sum of all that steps read: after `calls` of them it has not wrapped. */
void prove_affords(uint32_t calls, uint64_t read, uint64_t bytes) {
    struct morsel_blob_header h;
    prove_any(&h);
    any_header(&h);
    uint64_t before = read;
    struct morsel_check c = {.header = &h, .read = &read};
    prove_assume(calls < MORSEL_FORMAT_MAX_STEPS * 10 & read <= calls * ((wide)1 << 33) & bytes <= (wide)1 << 33);
    int affords = morsel_check_affords(&c, bytes);
    prove_assert(read == (wide)before + bytes & read <= (calls + (wide)1) << 33);
    prove_assert(affords == (read <= 64 * (wide)h.blob_bytes));
}

/* Every `bytes` that reaches morsel_check_affords lies in the blob, four bytes of each of at most 2^31 - 1 at most. */
void prove_afforded(uint32_t offset, uint64_t count) {
    struct morsel_blob_header h;
    prove_any(&h);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    if (count > MORSEL_SIZE_LIMIT || !morsel_check_data(&c, offset, 4 * count)) return;
    prove_assert(4 * (wide)count <= MORSEL_SIZE_LIMIT & (wide)offset + 4 * (wide)count <= h.blob_bytes);
}

void prove_parameters(void) {
    struct morsel_blob_header h;
    struct morsel_blob_step step;
    struct morsel_kind kind;
    prove_any(&h);
    prove_any(&step);
    prove_any(&kind);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    if (!parameters_fit(&c, &step, &kind)) return;
    wide bytes = kind.record + (wide)kind.record_input * step.input_count;
    prove_assert(step.parameters % 4 == 0 & step.parameters >= h.parameters.offset & step.parameters + bytes <= h.blob_bytes);
}

void prove_scratch(void) {
    struct morsel_blob_header h;
    struct morsel_blob_step step;
    prove_any(&h);
    prove_any(&step);
    any_header(&h);
    struct morsel_check c = {.header = &h};
    if (!scratch_fits(&c, &step) || !step.scratch_bytes) return;
    prove_assert((wide)step.scratch_offset + step.scratch_bytes <= h.arena_bytes & step.scratch_offset % 64 == 0);
    prove_assert(step.scratch_offset >= (wide)h.steps.count * MORSEL_FORMAT_STEP_SLOT);
    prove_assert(step.scratch_offset >= any_split(&h) || (wide)step.scratch_offset + step.scratch_bytes <= any_split(&h));
}

/* Limits of results lie in the output's type: 0..255 or -128..127. */
void prove_integers(int32_t low, int32_t high) {
    struct morsel_blob_tensor y;
    prove_any(&y);
    if (!morsel_check_integers(&y, low, high) || !morsel_is_byte(&y)) return;
    int32_t least = y.type == MORSEL_INT8 ? -128 : 0;
    prove_assert(least <= low & low <= high & high <= least + 255);
}
