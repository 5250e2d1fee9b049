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

bool memory_holds(const struct morsel_blob_tensor *tensor, uint32_t step) {
    uint32_t first = tensor->first_step == MORSEL_STEP_BEFORE ? 0 : tensor->first_step;
    return tensor->place == 0 && first <= step && step <= tensor->last_step;
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
    const struct morsel_blob_step *record = morsel_blob_step(network, step);
    size_t count = 0;
    for (uint32_t i = 0; i < morsel_blob_header(network)->tensors.count; i++) {
        const struct morsel_blob_tensor *tensor = morsel_blob_tensor(network, i);
        if (memory_holds(tensor, step))
            slices[count++] = (struct slice){tensor->offset, tensor->offset + tensor->bytes};
    }
    if (record->scratch_bytes)
        slices[count++] = (struct slice){record->scratch_offset, record->scratch_offset + record->scratch_bytes};
    return covered(slices, count);
}

bool memory_find_peak(const struct morsel_model *network, struct memory_peak *peak, struct failure *failure) {
    const struct morsel_blob_header *header = morsel_blob_header(network);
    size_t bytes = ((size_t)header->tensors.count + 1) * sizeof(struct slice);
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
