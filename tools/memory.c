/* SPDX-License-Identifier: MIT */
#include "tools/memory.h"
#include <stdlib.h>

struct slice {
    uint32_t begin, end;
};

static int compare(const void *a, const void *b) {
    const struct slice *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The first and the last step of the group of `step`; the step itself where it is in none. */
static uint32_t first_of(const struct morsel_model *network, uint32_t step) {
    uint32_t group = step < morsel_blob_header(network)->steps.count ? morsel_blob_step(network, step)->group : 0;
    return group ? morsel_blob_group(network, group - 1)->first_step : step;
}

static uint32_t last_of(const struct morsel_model *network, uint32_t step) {
    uint32_t group = step < morsel_blob_header(network)->steps.count ? morsel_blob_step(network, step)->group : 0;
    const struct morsel_blob_group *g = group ? morsel_blob_group(network, group - 1) : NULL;
    return g ? g->first_step + g->step_count - 1 : step;
}

bool memory_holds(const struct morsel_model *network, const struct morsel_blob_tensor *tensor, uint32_t step) {
    uint32_t first = tensor->first_step == MORSEL_STEP_BEFORE ? 0 : tensor->first_step;
    return tensor->place == 0 && first_of(network, first) <= step && step <= last_of(network, tensor->last_step);
}

/* Bytes that the slices cover together: in-place steps share some. */
static uint32_t covered(struct slice *slices, size_t count) {
    uint32_t bytes = 0, reached = 0;
    qsort(slices, count, sizeof *slices, compare);
    for (size_t i = 0; i < count; i++) {
        uint32_t begin = slices[i].begin > reached ? slices[i].begin : reached;
        if (slices[i].end > begin) {
            bytes += slices[i].end - begin;
            reached = slices[i].end;
        }
    }
    return bytes;
}

static uint32_t bytes_at(const struct morsel_model *network, uint32_t step, struct slice *slices) {
    size_t count = 0;
    for (uint32_t i = 0; i < morsel_blob_header(network)->tensors.count; i++) {
        const struct morsel_blob_tensor *tensor = morsel_blob_tensor(network, i);
        if (memory_holds(network, tensor, step))
            slices[count++] = (struct slice){tensor->offset, tensor->offset + morsel_slice_bytes(tensor)};
    }
    for (uint32_t i = first_of(network, step); i <= last_of(network, step); i++) {
        const struct morsel_blob_step *record = morsel_blob_step(network, i);
        if (record->scratch_bytes)
            slices[count++] = (struct slice){record->scratch_offset, record->scratch_offset + record->scratch_bytes};
    }
    return covered(slices, count);
}

bool memory_find_peak(const struct morsel_model *network, struct memory_peak *peak, struct failure *failure) {
    const struct morsel_blob_header *header = morsel_blob_header(network);
    size_t bytes = ((size_t)header->tensors.count + MORSEL_FORMAT_MAX_GROUP) * sizeof(struct slice);
    struct slice *slices = malloc(bytes);
    *peak = (struct memory_peak){0, 0};
    if (!slices)
        return failure_memory(failure, bytes);
    for (uint32_t step = 0; step < header->steps.count; step++) {
        uint32_t here = bytes_at(network, step, slices);
        if (here > peak->bytes)
            *peak = (struct memory_peak){step, here};
    }
    free(slices);
    return true;
}
