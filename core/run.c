/* SPDX-License-Identifier: MIT */
/* The loop over steps and groups of steps. */
#include "stream.h"

#include <string.h>

#define BORDER_ROWS 2u /* of results, that kernels make together */

/* Steps cut into `tasks` shares of nearly the same length. */
struct cut {
    const struct morsel_session *session;
    uint32_t first, count;
    uint32_t tasks;
    int own_padding_row; /* every task fills a row of its own */
};

/* Blocks begin .. end of 16 output channels of a convolution: a convolution by itself, whose pixels lie apart. What it would fetch ahead
 * is not for it. */
static struct morsel_call blocks_of(const struct morsel_call *call, uint32_t begin, uint32_t end) {
    struct morsel_call part = *call;
    struct morsel_conv_args *a = &part.args.conv;
    struct morsel_window *w = &a->window;
    struct morsel_channels *c = &a->channels;
    uint32_t first = 16 * begin, last = 16 * end < w->out_c ? 16 * end : w->out_c;
    a->weights += begin * morsel_block_bytes(call);
    a->y.data = (uint8_t *)a->y.data + first;
    c->bias += first;
    c->multiplier += first;
    c->weight_sum += first;
    if (c->weight_zero) c->weight_zero += first;
    if (c->float_bias) c->float_bias += first;
    if (c->proofs) c->proofs += begin;
    w->out_c = last - first;
    if (call->kind == MORSEL_STEP_DEPTHWISE) {
        a->x.data = (const uint8_t *)a->x.data + first;
        w->in_c = w->out_c;
    }
    a->prefetch_bytes = 0;
    return part;
}

/* Asks for rows first .. last of a picture. */
static void fetch_rows(const struct morsel_call *call, uint32_t first, uint32_t last) {
    const struct morsel_window *w = &call->args.conv.window;
    const uint8_t *x = call->args.conv.x.data;
    if (last > w->in_h) last = w->in_h;
    for (size_t at = (size_t)first * w->in_row, end = (size_t)last * w->in_row; at < end; at += MORSEL_ALIGNMENT)
        __builtin_prefetch(x + at);
}

/*
 * Rows begin .. end of a depthwise convolution of one picture. The input rows at a border between two tasks are read by both, and lie in
 * the caches of whoever wrote them: asked for at once, and used last. Who reads such a row takes it away from its writer, who asks for
 * it again before using it.
 */
static void run_bordered(const struct morsel_call *call, uint8_t *padding_row, uint32_t begin, uint32_t end) {
    const struct morsel_window *w = &call->args.conv.window;
    uint32_t above = begin ? BORDER_ROWS : 0, below = end < call->units ? BORDER_ROWS : 0;
    uint32_t first = begin * w->stride_h > w->pad_top ? begin * w->stride_h - w->pad_top : 0;
    uint32_t last = (end - 1) * w->stride_h + w->kernel_h - w->pad_top;
    if (end - begin < above + below + 2 * BORDER_ROWS) { /* more calls would cost more */
        morsel_call_range(call, padding_row, begin, end);
        return;
    }
    if (above) fetch_rows(call, first, first + w->pad_top);
    if (below) fetch_rows(call, end * w->stride_h, last);
    morsel_call_range(call, padding_row, begin + above, end - below);
    if (above) fetch_rows(call, begin * w->stride_h, begin * w->stride_h + w->pad_top);
    if (below) fetch_rows(call, end * w->stride_h - w->pad_top, end * w->stride_h);
    if (above) morsel_call_range(call, padding_row, begin, begin + above);
    if (below) morsel_call_range(call, padding_row, end - below, end);
}

/* Share i of a step: the first task, in the caller's thread, has the last rows. Where a network writes over its input, which the caller
 * wrote, it does so from behind. */
static void run_share(const struct morsel_session *session, uint32_t index, uint8_t *padding_row, uint32_t tasks, uint32_t i) {
    const struct morsel_call *call = morsel_call_at(session, index);
    if (tasks < 2) {
        morsel_call_range(call, padding_row, 0, call->units);
        return;
    }
    uint32_t parts = morsel_call_parts(call);
    uint32_t begin = morsel_share_from(parts, tasks, tasks - 1 - i), end = morsel_share_from(parts, tasks, tasks - i);
    if (call->cut & MORSEL_CUT_BLOCKS) {
        struct morsel_call part = blocks_of(call, begin, end);
        morsel_fetch_share(session, index, &part.args.conv, tasks, tasks - 1 - i);
        morsel_call_range(&part, padding_row, 0, part.units);
    } else if (call->cut & MORSEL_CUT_ROWS) {
        morsel_call_range(call, padding_row, begin * call->row_elements, end * call->row_elements);
    } else if (call->kind == MORSEL_STEP_CONV && call->args.conv.prefetch_bytes && parts == call->args.conv.window.out_h) {
        struct morsel_call part = *call; /* each task needs all that is fetched ahead */
        part.args.conv.prefetch_row = begin;
        part.args.conv.prefetch_rows = end - begin;
        morsel_fetch_share(session, index, &part.args.conv, tasks, tasks - 1 - i);
        morsel_call_range(&part, padding_row, begin, end);
    } else if (call->kind == MORSEL_STEP_DEPTHWISE && parts == call->args.conv.window.out_h) {
        run_bordered(call, padding_row, begin, end);
    } else morsel_call_range(call, padding_row, begin, end);
}

static void run_task(void *arg, uint32_t i) {
    const struct cut *cut = arg;
    for (uint32_t k = 0; k < cut->count; k++) {
        const struct morsel_call *call = morsel_call_at(cut->session, cut->first + k);
        uint8_t *padding_row = morsel_call_padding_row(call);
        if (padding_row && cut->own_padding_row) {
            if (i) padding_row = morsel_band_memory(cut->session, i);
            morsel_fill_padding_row(call, padding_row);
        }
        run_share(cut->session, cut->first + k, padding_row, cut->tasks, i);
    }
}

uint8_t *morsel_call_padding_row(const struct morsel_call *call) {
    return call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE ? call->args.conv.padding_row : NULL;
}

void morsel_fill_padding_row(const struct morsel_call *call, uint8_t *padding_row) {
    const struct morsel_conv_args *a = &call->args.conv;
    if (padding_row) memset(padding_row, (int)((uint32_t)a->x.qparams.zero ^ a->x.qparams.sign_flip), a->padding_row_bytes);
}

void morsel_run_tasks(const struct morsel_runner *runner, uint32_t n, morsel_task *fn, void *arg) {
    const struct morsel_options *options = &runner->session->options;
    if (runner->task < n) fn(arg, runner->task);
    if (runner->task != MORSEL_CALLER) return;
    if (n < 2) fn(arg, 0);
    else options->parallel_for(options->parallel_ctx, n, fn, arg);
}

void morsel_run_steps(const struct morsel_runner *runner, uint32_t first, uint32_t count) {
    const struct morsel_session *session = runner->session;
    const struct morsel_call *call = morsel_call_at(session, first);
    struct cut cut = {session, first, count, morsel_call_tasks(session, call), 0};
    cut.own_padding_row = cut.tasks <= session->bands;
    if (!cut.own_padding_row) morsel_fill_padding_row(call, morsel_call_padding_row(call));
    morsel_run_tasks(runner, cut.tasks, run_task, &cut);
}

/* Steps from `first` on, as far as each one behind it is marked `cut`. */
static uint32_t steps_together(const struct morsel_session *session, uint32_t first, uint32_t cut) {
    uint32_t count = 1;
    while (first + count < session->step_count && morsel_call_at(session, first + count)->cut & cut) count++;
    return count;
}

static void morsel_run_all(const struct morsel_runner *runner) {
    const struct morsel_session *session = runner->session;
    const struct morsel_options *options = &session->options;
    for (uint32_t i = 0, count; i < session->step_count; i += count) {
        uint32_t group = morsel_blob_step(session->model, i)->group;
        if (i && runner->task != MORSEL_CALLER) options->barrier(options->parallel_ctx, options->tasks, runner->task);
        count = steps_together(session, i, MORSEL_CUT_CHAIN);
        if (count > 1) {
            morsel_run_chain(runner, i, count);
        } else if (group) {
            morsel_run_group(runner, group - 1);
            count = morsel_blob_group(session->model, group - 1)->step_count;
        } else {
            count = steps_together(session, i, MORSEL_CUT_ON);
            morsel_run_steps(runner, i, count);
        }
        for (uint32_t k = 0; session->watch && k < count; k++) morsel_watch_tell(session, i + k, 1);
    }
}

/* Between steps tasks wait for one another. */
static void run_as_task(void *arg, uint32_t index) {
    struct morsel_runner runner = {arg, index};
    morsel_run_all(&runner);
}

enum morsel_error morsel_run(const struct morsel_session *session) {
    if (!session || !session->model || !session->steps) return MORSEL_ERR_ARGUMENT;
    struct morsel_runner caller = {session, MORSEL_CALLER};
    const struct morsel_options *options = &session->options;
    if (options->barrier && !session->watch)
        options->parallel_for(options->parallel_ctx, options->tasks, run_as_task, (void *)(uintptr_t)session);
    else morsel_run_all(&caller);
    return MORSEL_OK;
}
