/* SPDX-License-Identifier: MIT */
/* What a kind of step says of its rows: the ones of an input that a row of the output reads. */
#include "kind.h"

#include "../kernels/kernels.h"

struct morsel_reach morsel_kind_reach(uint32_t kind, const void *parameters) {
    const struct morsel_blob_window *w = parameters;
    return morsel_kind_windows(kind) ? morsel_reach(w->kernel_h, w->stride_h, w->dilation_h, w->pad_top) : morsel_reach(1, 1, 1, 0);
}

int morsel_kind_streams(uint32_t kind, const void *parameters, uint32_t inputs, uint32_t row) {
    if (morsel_kinds[kind]->rows != MORSEL_ROWS_SAME) return morsel_kinds[kind]->rows == MORSEL_ROWS_WINDOW;
    for (uint32_t n = 0; n < inputs; n++) {
        uint32_t period = morsel_kinds[kind]->period(parameters, n);
        if (!period || row % period) return 0;
    }
    return 1;
}

uint32_t morsel_kinds_kernels(struct morsel_kernels *table, uint32_t cpu) {
    cpu = morsel_kernels_start(table, cpu);
    for (uint32_t k = 1; k < MORSEL_STEP_KIND_COUNT; k++)
        if (morsel_kinds[k]) morsel_kinds[k]->kernels(table, cpu);
    return cpu;
}
