/* SPDX-License-Identifier: MIT */
#include "tools/compare/whole.h"
#include "core/call.h"
#include <stdlib.h>
#include <string.h>

static uint64_t aligned(uint64_t bytes) {
    return (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

/* The arena that it takes then. */
static uint64_t spread_out(uint8_t *blob) {
    struct morsel_blob_header *h = (struct morsel_blob_header *)(void *)blob;
    struct morsel_blob_tensor *tensors = (struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset);
    struct morsel_blob_step *steps = (struct morsel_blob_step *)(void *)(blob + h->steps.offset);
    uint64_t at = aligned((uint64_t)h->steps.count * MORSEL_FORMAT_STEP_SLOT);
    for (uint32_t i = 0; i < h->tensors.count; i++) {
        tensors[i].ring_rows = 0;
        if (tensors[i].place) continue;
        tensors[i].offset = (uint32_t)at;
        at = aligned(at + tensors[i].bytes);
    }
    for (uint32_t i = 0; i < h->steps.count; i++) {
        steps[i].group = steps[i].stage_scale = 0;
        steps[i].stage_lead = 0;
        if (!steps[i].scratch_bytes) continue;
        steps[i].scratch_offset = (uint32_t)at;
        at = aligned(at + steps[i].scratch_bytes);
    }
    h->groups.count = 0;
    h->arena_bytes = (uint32_t)at;
    return at;
}

bool whole_open(struct morsel_model *network, uint8_t *blob, size_t bytes, struct failure *failure) {
    uint64_t arena = spread_out(blob);
    if (arena > INT32_MAX)
        return failure_set(failure, STATUS_INPUT, "the values of all layers together take %llu bytes: more than the 2^31 of an arena",
                           (unsigned long long)arena);
    enum morsel_error error = morsel_open(network, blob, bytes, MORSEL_SKIP_CHECKSUM);
    return !error ||
           failure_set(failure, STATUS_SYSTEM, "the blob does not open without streaming (%s): this is a fault of morsel, please report it",
                       morsel_error_text(error));
}

bool whole_run_open(struct whole_run *run, const struct morsel_model *network, struct failure *failure) {
    size_t arena = morsel_arena_bytes(network), most = 0;
    for (uint32_t i = 0; i < morsel_blob_header(network)->tensors.count; i++)
        most = morsel_blob_tensor(network, i)->bytes > most ? morsel_blob_tensor(network, i)->bytes : most;
    run->arena = aligned_alloc(MORSEL_ALIGNMENT, (size_t)aligned(arena + 1));
    run->bytes = aligned_alloc(MORSEL_ALIGNMENT, (size_t)aligned(most + 1));
    if (!run->arena || !run->bytes) return failure_memory(failure, arena + most);
    enum morsel_error error = morsel_session_open(&run->session, network, run->arena, arena, NULL);
    return !error || failure_set(failure, STATUS_INPUT, "no session can be opened: %s", morsel_error_text(error));
}

void whole_run_close(struct whole_run *run) {
    free(run->arena);
    free(run->bytes);
}

struct morsel_view whole_view(const struct morsel_model *network, uint32_t tensor) {
    const struct morsel_blob_tensor *t = morsel_blob_tensor(network, tensor);
    struct morsel_view view = {.bytes = t->bytes,
                               .type = (enum morsel_type)t->type,
                               .layout = (enum morsel_layout)t->layout,
                               .rank = t->rank,
                               .scale = t->scale,
                               .zero_point = t->zero_point};
    memcpy(view.dims, t->dims, sizeof view.dims);
    return view;
}

/* Inside a network bytes are stored as the kernels like them: they are turned back first. */
void whole_values(const struct whole_run *run, uint32_t tensor, float *values) {
    const struct morsel_model *network = run->session.model;
    const struct morsel_blob_tensor *t = morsel_blob_tensor(network, tensor);
    struct morsel_view view = whole_view(network, tensor);
    struct morsel_kernels kernels;
    view.data = run->arena + t->offset;
    if (morsel_is_byte(t)) {
        morsel_kernels_choose(&kernels, run->session.cpu);
        uint32_t own = t->type == MORSEL_INT8 ? 0x80 : 0, flip = morsel_stored_flip(network, t, kernels.store_flip) ^ own;
        for (uint32_t i = 0; i < t->bytes; i++) run->bytes[i] = run->arena[t->offset + i] ^ (uint8_t)flip;
        view.data = run->bytes;
    }
    morsel_dequantize(&view, values);
}
