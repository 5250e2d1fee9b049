/* SPDX-License-Identifier: MIT */
/* What a step reads to make a row. */
#include "tools/net/plan/plan_groups.h"

#include "core/blob.h"

static bool same_shape(const struct net_buffer *a, const struct net_buffer *b) {
    for (uint32_t k = 0; k < 4; k++)
        if (a->dims[k] != b->dims[k]) return false;
    return a->rank == 4 && b->rank == 4;
}

/* An elementwise step all of whose operands lie like its output, and whose constants repeat within a row. */
static bool by_rows(const struct net_step *step) {
    const struct net_buffer *y = step->output;
    uint32_t row = y->dims[2] * y->dims[3];
    for (uint32_t k = 0; k < step->input_count; k++)
        if (step->inputs[k]->constant || !same_shape(step->inputs[k], y)) return false;
    if (step->kind == MORSEL_STEP_UNARY) return row % step->parameters.unary.channels == 0;
    if (step->kind == MORSEL_STEP_LUT) {
        const struct morsel_blob_lut *p = &step->parameters.lut;
        return p->channels == 1 || row % ((uint64_t)p->channels * p->inner) == 0;
    }
    return morsel_lies_like_y(&step->parameters.binary, 0) && morsel_lies_like_y(&step->parameters.binary, 1);
}

/* AVERAGE_POOL is none of them: its divisor may depend on the row's number, which a ring does not keep. */
bool plan_reach(const struct net_step *step, struct row_reach *reach) {
    const struct morsel_blob_window *w = &step->parameters.window;
    if (step->output->rank != 4) return false;
    switch (step->kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE:
    case MORSEL_STEP_FLOAT_CONV:
    case MORSEL_STEP_MAX_POOL: *reach = (struct row_reach){w->stride_h, (w->kernel_h - 1) * w->dilation_h + 1, w->pad_top}; return true;
    case MORSEL_STEP_UNARY:
    case MORSEL_STEP_LUT:
    case MORSEL_STEP_BINARY: *reach = (struct row_reach){1, 1, 0}; return by_rows(step);
    default: return false;
    }
}
