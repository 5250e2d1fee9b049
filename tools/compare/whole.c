/* SPDX-License-Identifier: MIT */
/* Lays a blob's tensors side by side, each for a whole run. */
#include "tools/compare/whole.h"
#include "tools/base/arena.h"
#include <stdlib.h>
#include <string.h>

static uint64_t aligned(uint64_t bytes) {
    return (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

/* The arena that it takes then. All are alive to the end: in what is not, kernels keep notes (core/plan_room.c). */
static uint64_t spread_out(uint8_t *blob) {
    struct morsel_blob_header *h = (struct morsel_blob_header *)(void *)blob;
    struct morsel_blob_tensor *tensors = (struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset);
    struct morsel_blob_step *steps = (struct morsel_blob_step *)(void *)(blob + h->steps.offset);
    uint64_t at = aligned((uint64_t)h->steps.count * MORSEL_FORMAT_STEP_SLOT);
    for (uint32_t i = 0; i < h->tensors.count; i++) {
        tensors[i].ring_rows = 0;
        if (tensors[i].place) continue;
        tensors[i].offset = (uint32_t)at;
        tensors[i].last_step = h->steps.count;
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
    if (morsel_fast_bytes(h)) h->fast_bytes = 0;
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

static void note_result(void *context, const struct network_value *value) {
    struct whole_run *run = context;
    const struct morsel_model *model = &run->network.model;
    const struct morsel_blob_step *s = morsel_blob_step(model, value->step->index);
    run->views[morsel_blob_operand(model, s, s->input_count)] = value->step->result;
}

bool whole_run_open(struct whole_run *run, const struct morsel_model *model, struct failure *failure) {
    uint32_t count = morsel_blob_header(model)->tensors.count;
    run->network = network_of_model(model);
    if (!(run->run = network_run_open(&run->network, failure))) return false;
    run->views = must_calloc(count, sizeof *run->views);
    for (uint32_t i = 0; i < count; i++) run->views[i] = whole_view(run, i);
    return true;
}

bool whole_compute(struct whole_run *run, struct failure *failure) {
    return network_compute(run->run, note_result, run, failure);
}

void whole_run_close(struct whole_run *run) {
    network_run_close(run->run);
    free(run->views);
}

struct morsel_view whole_view(const struct whole_run *run, uint32_t tensor) {
    const struct morsel_blob_tensor *t = morsel_blob_tensor(&run->network.model, tensor);
    struct morsel_view view = {.data = run->run->session.arena + t->offset,
                               .bytes = t->bytes,
                               .type = (enum morsel_type)t->type,
                               .layout = (enum morsel_layout)t->layout,
                               .rank = t->rank,
                               .scale = t->scale,
                               .zero_point = t->zero_point};
    memcpy(view.dims, t->dims, sizeof view.dims);
    return view;
}

void whole_values(const struct whole_run *run, uint32_t tensor, float *values) {
    morsel_dequantize(&run->views[tensor], values, morsel_view_elements(&run->views[tensor]));
}
