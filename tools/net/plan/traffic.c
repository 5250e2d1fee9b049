/* SPDX-License-Identifier: MIT */
/* Estimated reads of kernels, by kind. Writes are the bytes of the output. */
#include "tools/net/plan/traffic.h"
#include "core/kind.h"

#define RESULTS 16u /* that are summed up at once */

static uint64_t at_least(uint64_t reads, uint32_t bytes) {
    return reads > bytes ? reads : bytes;
}

uint64_t traffic_read(const struct traffic_step *step, uint32_t n, uint32_t bytes, uint32_t element) {
    const struct morsel_blob_window *w = step->record;
    switch (morsel_kind_base(step->kind)) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_FLOAT_CONV:
    case MORSEL_STEP_FC: return n ? bytes : at_least(step->macs / RESULTS * element, bytes);
    case MORSEL_STEP_MATMUL:
    case MORSEL_STEP_VIEW_MATMUL:
    case MORSEL_STEP_FLOAT_MATMUL: return n < 2 ? at_least(step->macs / RESULTS * element, bytes) : bytes;
    case MORSEL_STEP_DEPTHWISE:
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: return n ? bytes : at_least((uint64_t)w->kernel_h * w->kernel_w * step->y_elements * element, bytes);
    case MORSEL_STEP_GRID_SAMPLE: return n ? bytes : at_least(4 * (uint64_t)step->y_elements * element, bytes);
    case MORSEL_STEP_GATHER: return (uint64_t)step->y_elements * element;
    default: return bytes;
    }
}

uint64_t traffic_scratch(const struct traffic_step *step, uint32_t element) {
    const struct morsel_blob_window *w = step->record;
    if (!step->scratch_bytes) return 0;
    uint32_t kind = morsel_kind_base(step->kind);
    if ((kind != MORSEL_STEP_CONV && kind != MORSEL_STEP_DEPTHWISE) || !step->y_rows) return 2 * (uint64_t)step->scratch_bytes;
    uint64_t row = traffic_read(step, 0, 0, element) / step->y_rows / w->kernel_h;
    return step->scratch_bytes + ((uint64_t)w->pad_top + w->pad_bottom) * row;
}
