/* SPDX-License-Identifier: MIT */
/*
 * How tasks share the steps that stand in no group.
 *
 * Most steps are cut by their units. A convolution whose weights are larger than its pictures is cut by output channels instead: each
 * task reads a share of the weights and all of the pictures. A depthwise convolution behind it goes on with the channels that its task
 * made.
 *
 * Where a step reads nothing that another task of the step before writes, and writes nothing that another one may still read, its
 * shares follow those of the step before and nobody waits. That holds for the depthwise convolution above, and for steps of as many rows
 * that make each row from the same row of their inputs. `touches` proves that nothing is overwritten too soon.
 */
#include "check.h"
#include "stream.h"

static int is_conv(const struct morsel_call *call) {
    return call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE;
}

static int is_elementwise(const struct morsel_call *call) {
    return call->kind == MORSEL_STEP_BINARY || call->kind == MORSEL_STEP_UNARY || call->kind == MORSEL_STEP_LUT;
}

size_t morsel_block_bytes(const struct morsel_call *call) {
    const struct morsel_window *w = &call->args.conv.window;
    if (call->kind == MORSEL_STEP_DEPTHWISE) return (size_t)w->kernel_w * ((w->kernel_h + 3) / 4) * 64;
    return (size_t)w->kernel_h * ((w->kernel_w * w->in_c + 3) / 4) * 64;
}

static uint32_t blocks_of(const struct morsel_call *call) {
    return (call->args.conv.window.out_c + 15) / 16;
}

uint32_t morsel_call_parts(const struct morsel_call *call) {
    if (call->cut & MORSEL_CUT_BLOCKS) return blocks_of(call);
    return call->cut & MORSEL_CUT_ROWS ? call->units / call->row_elements : call->units;
}

uint32_t morsel_call_tasks(const struct morsel_session *session, const struct morsel_call *call) {
    uint32_t tasks = session->options.tasks, parts = morsel_call_parts(call);
    if (parts < tasks) tasks = parts;
    return tasks ? tasks : 1;
}

/* --- By channels --- */

/* Whether the longest of n shares of a is no longer a part of a than that of b is of b. */
static int divides_as_well(uint32_t a, uint32_t b, uint32_t n) {
    return (uint64_t)((a + n - 1) / n) * b <= (uint64_t)((b + n - 1) / n) * a;
}

static int wants_blocks(const struct morsel_session *session, uint32_t index) {
    const struct morsel_call *call = morsel_call_at(session, index);
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    uint32_t x = morsel_blob_input(session->model, step, 0)->bytes, y = morsel_blob_output(session->model, step)->bytes;
    if (!is_conv(call) || call->args.conv.y.qparams.is_float || step->group || blocks_of(call) < 2) return 0;
    if (call->kind == MORSEL_STEP_DEPTHWISE) {
        const struct morsel_call *before = index ? morsel_call_at(session, index - 1) : NULL;
        return before && before->cut & MORSEL_CUT_BLOCKS && before->args.conv.y.data == call->args.conv.x.data;
    }
    uint64_t weights = (uint64_t)blocks_of(call) * morsel_block_bytes(call);
    return call->args.conv.groups == 1 && weights > 8 * (uint64_t)x && weights > 4 * (uint64_t)y &&
           divides_as_well(blocks_of(call), call->units, session->options.tasks);
}

/* --- Without waiting --- */

/* Whether bytes of the arena may be in use by tasks that are still at steps first .. last. By rows, a tensor that lies where `same` does
 * and is as large has its rows where that has them; only the inputs of the first step are also read at other rows. */
static int touches(const struct morsel_model *model, uint32_t first, uint32_t last, uint32_t offset, uint32_t bytes,
                   const struct morsel_blob_tensor *same) {
    for (uint32_t i = first; i <= last; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        if (morsel_overlap(offset, bytes, step->scratch_offset, step->scratch_bytes)) return 1;
        for (uint32_t n = 0; n < step->input_count + 1; n++) {
            int is_input = n < step->input_count;
            const struct morsel_blob_tensor *t = is_input ? morsel_blob_input(model, step, n) : morsel_blob_output(model, step);
            int by_row = same && (i > first || !is_input) && t->offset == same->offset && t->bytes == same->bytes;
            if (!t->place && !by_row && morsel_overlap(offset, bytes, t->offset, t->bytes)) return 1;
        }
    }
    return 0;
}

/* Rows y of whose output are made from rows y of their inputs. */
static int is_by_row(const struct morsel_session *session, uint32_t index) {
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    const struct morsel_call *call = morsel_call_at(session, index);
    const struct morsel_blob_tensor *y = morsel_blob_output(session->model, step);
    if (call->kind == MORSEL_STEP_CONV) {
        const struct morsel_window *w = &call->args.conv.window;
        return w->kernel_h == 1 && w->stride_h == 1 && w->pad_top == 0 && w->in_h == w->out_h && !(call->cut & MORSEL_CUT_BLOCKS);
    }
    if (!is_elementwise(call) || y->rank != 4 || call->units != y->dims[0] * y->dims[1] * call->row_elements) return 0;
    for (uint32_t n = 0; n < step->input_count; n++)
        for (uint32_t k = 0; k < 4; k++)
            if (morsel_blob_input(session->model, step, n)->dims[k] != y->dims[k]) return 0;
    const struct morsel_blob_binary *p = morsel_blob_at(session->model, step->parameters); /* it may read a transposed input */
    return call->kind != MORSEL_STEP_BINARY || (morsel_lies_like_y(p, 0) && morsel_lies_like_y(p, 1));
}

/* Rows, as far as the step is or can be cut by them. */
static uint32_t rows_of(const struct morsel_session *session, uint32_t index) {
    const struct morsel_call *call = morsel_call_at(session, index);
    if (call->cut & MORSEL_CUT_BLOCKS) return 0;
    if (is_elementwise(call)) return is_by_row(session, index) ? call->units / call->row_elements : 0;
    return is_conv(call) ? call->units : 0;
}

/* Whether step `index` goes on from the steps first .. index - 1, which do so among themselves. */
static int goes_on(const struct morsel_session *session, uint32_t first, uint32_t index) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_step *step = morsel_blob_step(model, index);
    const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
    const struct morsel_call *call = morsel_call_at(session, index), *before = morsel_call_at(session, index - 1);
    uint32_t rows = rows_of(session, index);
    int by_row = rows && is_by_row(session, index) && rows == rows_of(session, index - 1);
    int by_block = call->kind == MORSEL_STEP_DEPTHWISE && call->cut & before->cut & MORSEL_CUT_BLOCKS;
    if (!by_row && !by_block) return 0;
    if (step->scratch_bytes &&
        (session->bands < session->options.tasks || touches(model, first, index - 1, step->scratch_offset, step->scratch_bytes, NULL)))
        return 0;
    return !touches(model, first, index - 1, y->offset, y->bytes, by_row ? y : NULL);
}

/* In a group or a chain. */
static int strides_pixels(const struct morsel_session *session, uint32_t index) {
    int chained = index + 1 < session->step_count && morsel_call_at(session, index + 1)->cut & MORSEL_CUT_CHAIN;
    return chained || morsel_call_at(session, index)->cut & MORSEL_CUT_CHAIN || morsel_blob_step(session->model, index)->group;
}

int morsel_plan_cuts(const struct morsel_session *session, uint32_t strided_pixels) {
    if (session->options.tasks < 2) return 0;
    for (uint32_t i = 0; strided_pixels && i < session->step_count; i++)
        if (wants_blocks(session, i)) morsel_call_at(session, i)->cut = MORSEL_CUT_BLOCKS;
    if (session->watch) return 0;
    int moved = morsel_plan_chains(session);
    for (uint32_t i = 1, first = 0; i < session->step_count; i++) {
        struct morsel_call *call = morsel_call_at(session, i);
        if (strides_pixels(session, i) || strides_pixels(session, first) || !goes_on(session, first, i)) {
            first = i;
            continue;
        }
        call->cut |= MORSEL_CUT_ON | (is_elementwise(call) ? MORSEL_CUT_ROWS : 0);
        if (is_elementwise(morsel_call_at(session, first))) morsel_call_at(session, first)->cut |= MORSEL_CUT_ROWS;
    }
    return moved;
}
