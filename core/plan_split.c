/* SPDX-License-Identifier: MIT */
/*
 * How tasks share the steps that stand in no group and no chain.
 *
 * Most steps are split by their units. A convolution whose weights are larger than its pictures is split by output channels instead: each
 * task reads a share of the weights and all of the pictures. A depthwise convolution behind it goes on with the channels that its task
 * made.
 *
 * A step may read nothing that another task of the step before writes, and write nothing that another one may still read. Then its
 * shares follow those of the step before, and nobody waits. That holds for the depthwise convolution above, and for steps of as many rows
 * that make each row from the same row of their inputs. `touches` proves that nothing is overwritten too soon.
 */
#include "plan.h"
#include "way.h"

#include <string.h>

#define BORDER_SHARE 8u /* rows of a share, below which borders are not worth calls of their own; 6 at the edge of a picture */

static int is_elementwise(const struct morsel_call *call) {
    return morsel_kinds[call->kind]->rows == MORSEL_ROWS_SAME;
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
    if (!morsel_call_is_conv(call) || call->args.conv.y.qparams.is_float || step->group) return 0;
    uint32_t blocks = (call->args.conv.window.out_c + 15) / 16;
    if (blocks < 2) return 0;
    if (call->kind == MORSEL_STEP_DEPTHWISE) {
        const struct morsel_call *before = index ? morsel_call_at(session, index - 1) : NULL;
        return before && before->split == MORSEL_SPLIT_BLOCKS && before->args.conv.y.data == call->args.conv.x.data;
    }
    uint64_t weights = (uint64_t)blocks * morsel_call_part_bytes(call);
    return call->args.conv.groups == 1 && weights > 8 * (uint64_t)x && weights > 4 * (uint64_t)y &&
           divides_as_well(blocks, call->units, session->options.tasks);
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
        return w->kernel_h == 1 && w->stride_h == 1 && w->pad_top == 0 && w->in_h == w->out_h && call->split != MORSEL_SPLIT_BLOCKS;
    }
    if (!is_elementwise(call) || y->rank != 4 || call->units != y->dims[0] * y->dims[1] * call->row_elements) return 0;
    for (uint32_t n = 0; n < step->input_count; n++) {
        if (memcmp(morsel_blob_input(session->model, step, n)->dims, y->dims, 4 * sizeof *y->dims)) return 0;
        if (!morsel_kinds[call->kind]->period(morsel_blob_at(session->model, step->parameters), n)) return 0; /* it lies another way */
    }
    return 1;
}

/* Rows, as far as the step is or can be split by them. */
static uint32_t rows_of(const struct morsel_session *session, uint32_t index) {
    const struct morsel_call *call = morsel_call_at(session, index);
    if (call->split == MORSEL_SPLIT_BLOCKS) return 0;
    if (is_elementwise(call)) return is_by_row(session, index) ? call->units / call->row_elements : 0;
    return morsel_call_is_conv(call) ? call->units : 0;
}

/* Whether step `index` goes on from the steps first .. index - 1, which do so among themselves. */
static int goes_on(const struct morsel_session *session, uint32_t first, uint32_t index) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_step *step = morsel_blob_step(model, index);
    const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
    const struct morsel_call *call = morsel_call_at(session, index);
    uint32_t rows = rows_of(session, index);
    int by_row = rows && is_by_row(session, index) && rows == rows_of(session, index - 1);
    int by_block = call->kind == MORSEL_STEP_DEPTHWISE && call->split == MORSEL_SPLIT_BLOCKS; /* as the one before it is: wants_blocks() */
    if (!by_row && !by_block) return 0;
    if (step->scratch_bytes &&
        (session->bands < session->options.tasks || touches(model, first, index - 1, step->scratch_offset, step->scratch_bytes, NULL)))
        return 0;
    return !touches(model, first, index - 1, y->offset, y->bytes, by_row ? y : NULL);
}

/* Takes the steps behind `first` into its entry, as far as each goes on from those before it. */
static void join_steps(const struct morsel_session *session, uint32_t first) {
    struct morsel_call *entry = morsel_call_at(session, first);
    for (uint32_t i; (i = first + entry->count) < session->step_count && entry->count < MORSEL_MOST_COUNT; entry->count++) {
        struct morsel_call *call = morsel_call_at(session, i);
        if (call->mode != MORSEL_MODE_STEPS || !goes_on(session, first, i)) return;
        if (is_elementwise(call)) call->split = MORSEL_SPLIT_ROWS;
        if (is_elementwise(entry)) entry->split = MORSEL_SPLIT_ROWS;
    }
}

/* Steps of one entry have as many parts. */
static void count_tasks(const struct morsel_session *session, struct morsel_call *call) {
    uint32_t tasks = session->options.tasks, parts = morsel_call_parts(call);
    if (parts < tasks) tasks = parts ? parts : 1;
    call->tasks = (uint16_t)tasks;
    call->own_padding_row = tasks <= session->bands;
    if (call->kind == MORSEL_STEP_DEPTHWISE && call->split == MORSEL_SPLIT_UNITS && tasks > 1 && parts == call->args.conv.window.out_h &&
        parts / tasks >= (tasks > 2 ? BORDER_SHARE : BORDER_SHARE - 2))
        call->split = MORSEL_SPLIT_BORDER;
}

void morsel_cut_by_channels(const struct morsel_session *session, uint32_t strided_pixels) {
    for (uint32_t i = 0; strided_pixels && i < session->step_count; i++)
        if (wants_blocks(session, i)) morsel_call_at(session, i)->split = MORSEL_SPLIT_BLOCKS;
}

void morsel_share_steps(const struct morsel_session *session) {
    for (uint32_t i = 0; i < session->step_count; i += morsel_call_at(session, i)->count)
        if (morsel_call_at(session, i)->mode == MORSEL_MODE_STEPS && !session->watch) join_steps(session, i);
    for (uint32_t i = 0; i < session->step_count; i++)
        if (morsel_call_at(session, i)->mode == MORSEL_MODE_STEPS) count_tasks(session, morsel_call_at(session, i));
}

int morsel_plan_split(const struct morsel_session *session, uint32_t strided_pixels) {
    const struct morsel_way *way = session->options.tasks > 1 ? morsel_ways[MORSEL_MODE_CHAIN] : NULL;
    for (uint32_t i = 0; i < session->step_count; i++) {
        struct morsel_call *call = morsel_call_at(session, i);
        call->count = call->tasks = call->own_padding_row = 1;
    }
    if (way) way->cut(session, strided_pixels);
    int moved = morsel_plan_chains(session);
    if (way) way->share(session);
    return moved;
}
