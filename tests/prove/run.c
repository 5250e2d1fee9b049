/* SPDX-License-Identifier: MIT */
/* Proofs of core/stage.c, core/plan_chain.c, core/model.c and core/session.c: rows of stages, estimates, memory of tasks. */
#include "core/call.c"
#include "core/kind.c"
#include "core/kinds.c"
#include "core/kinds_all.c"
#include "core/stage.c"
#include "any.h"

/* The rows that a stage needs of its writer are of its picture, and no number on the way wraps. */
void prove_need_rows(void) {
    struct morsel_stage writer, stage;
    struct morsel_call call = {.kind = MORSEL_STEP_CONV};
    struct morsel_window any_window;
    struct morsel_blob_tensor x, y;
    prove_any(&writer);
    prove_any(&stage);
    prove_any(&any_window);
    prove_any(&x);
    prove_any(&y);
    any_picture(&x);
    any_picture(&y);
    struct morsel_window *w = &call.args.windowed.window;
    *w = any_window;
    prove_assume(w->kernel_h >= 1 & w->kernel_h <= 64 & w->stride_h >= 1 & w->stride_h <= 65536);
    prove_assume(w->dilation_h >= 1 & w->dilation_h <= 65536 & w->pad_top <= 65536);
    wide window = (wide)(w->kernel_h - 1) * w->dilation_h + 1;
    prove_assume(((wide)y.dims[1] - 1) * w->stride_h + window <= (wide)x.dims[1] + 2 * 65536); /* prove_axis of window.c */
    prove_assume(stage.begin < stage.end & stage.end <= y.dims[1]);
    prove_assume(writer.begin <= x.dims[1] & writer.end <= x.dims[1]);
    prove_assert((wide)stage.begin * w->stride_h <= ((wide)stage.end - 1) * w->stride_h);
    prove_assert(((wide)stage.end - 1) * w->stride_h <= ((wide)y.dims[1] - 1) * w->stride_h);
    need_rows(&writer, x.dims[1], &stage, &call);
    prove_assert(writer.end <= x.dims[1]);
    wide from = (wide)stage.begin * w->stride_h - w->pad_top, to = ((wide)stage.end - 1) * w->stride_h + window - w->pad_top;
    prove_assert((from > 0) | (writer.begin == 0));
    prove_assert((from <= 0) | (writer.begin <= from));
    prove_assert((writer.end >= to) | (writer.end == x.dims[1]));
}
