/* SPDX-License-Identifier: MIT */
/* A run: one entry of the schedule after the other, and the tasks of entries that are single steps. */
#include "run.h"
#include "way.h"

#define CALLER UINT32_MAX
#define BORDER_ROWS 2u /* of results, that kernels make together */

/* --- A task's share of a step --- */

struct share {
    const struct morsel_call *call; /* of the step, or `part` */
    struct morsel_call part;
    uint8_t *padding_row;
    uint32_t first, last; /* parts */
    uint32_t count;       /* of ranges */
    uint32_t begin[3], end[3];
};

/* Blocks begin .. end of 16 output channels of a convolution: a convolution by itself, with strided pixels. What the whole would prefetch
 * is not for it. */
static void take_blocks(struct morsel_call *part, uint32_t begin, uint32_t end) {
    struct morsel_conv_args *a = &part->args.conv;
    struct morsel_window *w = &a->window;
    struct morsel_channels *c = &a->channels;
    uint32_t first = 16 * begin, last = 16 * end < w->out_c ? 16 * end : w->out_c;
    a->weights += begin * morsel_call_part_bytes(part);
    a->y.data = (uint8_t *)a->y.data + first;
    c->bias += first;
    c->multiplier += first;
    c->weight_sum += first;
    if (c->weight_zero) c->weight_zero += first;
    if (c->float_bias) c->float_bias += first;
    if (c->proofs) c->proofs += begin;
    w->out_c = last - first;
    if (part->kind == MORSEL_STEP_DEPTHWISE) {
        a->x.data = (const uint8_t *)a->x.data + first;
        w->in_c = w->out_c;
    }
    a->prefetch_row = a->prefetch_bytes = 0;
    a->prefetch_rows = w->out_h;
}

void morsel_fetch_share(const struct morsel_session *session, uint32_t index, struct morsel_conv_args *part, uint32_t place) {
    const struct morsel_call *call = morsel_call_at(session, index), *next = morsel_call_at(session, index + call->fetch);
    if (!call->fetch) return;
    uint32_t parts = morsel_call_parts(next), begin = morsel_share_from(parts, next->tasks, place);
    uint64_t bytes = morsel_call_part_bytes(next), all = (morsel_share_from(parts, next->tasks, place + 1) - begin) * bytes;
    const int8_t *from = call->args.conv.weights + call->args.conv.prefetch + begin * bytes;
    if (from < part->weights) return; /* the constants of both steps lie over each other */
    part->prefetch = (uint32_t)(from - part->weights);
    part->prefetch_bytes = all < call->args.conv.prefetch_bytes ? (uint32_t)all : call->args.conv.prefetch_bytes;
}

static void add_range(struct share *s, uint32_t begin, uint32_t end) {
    s->begin[s->count] = begin;
    s->end[s->count++] = end;
}

/* First the rows that are not at a border to another share. */
static void split_border(struct share *s) {
    uint32_t above = s->first ? BORDER_ROWS : 0, below = s->last < s->call->units ? BORDER_ROWS : 0;
    add_range(s, s->first + above, s->last - below);
    if (above) add_range(s, s->first, s->first + above);
    if (below) add_range(s, s->last - below, s->last);
}

/* Share `task`: the first task, in the caller's thread, has the last parts. Where a network writes over its input, which the caller wrote,
 * it does so from behind. */
static MORSEL_OWN_FRAME void find_share(struct share *s, const struct morsel_session *session, uint32_t index, uint32_t task) {
    const struct morsel_call *call = s->call = morsel_call_at(session, index);
    uint32_t parts = morsel_call_parts(call), place = call->tasks - 1u - task;
    s->first = morsel_share_from(parts, call->tasks, place);
    s->last = morsel_share_from(parts, call->tasks, place + 1);
    s->count = 0;
    s->padding_row = morsel_call_padding_row(call);
    if (s->padding_row && call->own_padding_row) {
        if (task) s->padding_row = morsel_band_memory(session, task);
        morsel_fill_padding_row(call, s->padding_row);
    }
    if (call->split == MORSEL_SPLIT_BORDER) split_border(s);
    else if (call->split == MORSEL_SPLIT_ROWS) add_range(s, s->first * call->row_elements, s->last * call->row_elements);
    else if (call->split == MORSEL_SPLIT_BLOCKS) add_range(s, 0, call->units);
    else add_range(s, s->first, s->last);
    if (call->split != MORSEL_SPLIT_BLOCKS && call->split != MORSEL_SPLIT_FETCH) return;
    s->part = *call;
    s->call = &s->part;
    s->part.args.conv.prefetch_row = s->first;
    s->part.args.conv.prefetch_rows = s->last - s->first;
    if (call->split == MORSEL_SPLIT_BLOCKS) take_blocks(&s->part, s->first, s->last);
    morsel_fetch_share(session, index, &s->part.args.conv, place);
}

/* --- Rows at the border between two shares --- */

/* Asks for rows first .. last of a picture. */
static void fetch_rows(const struct morsel_call *call, uint32_t first, uint32_t last) {
    const struct morsel_window *w = &call->args.conv.window;
    const uint8_t *x = call->args.conv.x.data;
    if (last > w->in_h) last = w->in_h;
    for (size_t at = (size_t)first * w->in_row, end = (size_t)last * w->in_row; at < end; at += MORSEL_ALIGNMENT)
        __builtin_prefetch(x + at);
}

/*
 * The input rows at a border are read by both tasks, and lie in the caches of whoever wrote them: the other's are asked for at once, and
 * used last. Who reads such a row takes it away from its writer, who asks for it again before using it.
 */
static MORSEL_OWN_FRAME void fetch_border(const struct share *s, int others) {
    const struct morsel_window *w = &s->call->args.conv.window;
    uint32_t pad = w->pad_top, first = s->first * w->stride_h, last = s->last * w->stride_h;
    for (uint32_t i = 1; i < s->count; i++) {
        if (s->begin[i] == s->first) fetch_rows(s->call, others ? (first > pad ? first - pad : 0) : first, others ? first : first + pad);
        else fetch_rows(s->call, others ? last : last - pad, others ? last - w->stride_h + w->kernel_h - pad : last);
    }
}

void morsel_run_shares(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    uint32_t count = morsel_call_at(e->session, e->first)->count;
    struct share s;
    struct morsel_held x, y;
    for (uint32_t k = 0; k < count; k++) {
        find_share(&s, e->session, e->first + k, task);
        const struct morsel_window *w = morsel_call_window(s.call);
        if (w) morsel_whole_pictures(s.call, &x, &y);
        for (uint32_t i = 0; i < s.count; i++) {
            if (s.count > 1 && i < 2) fetch_border(&s, !i);
            if (w) morsel_run_rows(s.call, &x, &y, s.padding_row, task, s.begin[i], s.end[i]);
            else morsel_run_units(s.call, task, s.begin[i], s.end[i]);
        }
    }
}

void morsel_start_tasks(const struct morsel_call *call) {
    if (!call->own_padding_row) morsel_fill_padding_row(call, morsel_call_padding_row(call));
}

/* --- The schedule --- */

/* The steps of an entry that is one task. */
static void run_steps(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    uint32_t count = morsel_call_at(e->session, e->first)->count;
    (void)task;
    for (uint32_t k = 0; k < count; k++) {
        const struct morsel_call *call = morsel_call_at(e->session, e->first + k);
        const struct morsel_kind *kind = morsel_kinds[call->kind];
        if (kind->run_pictures) kind->run_pictures(call);
        else morsel_run_units(call, 0, 0, call->units);
    }
}

static morsel_task *task_of(const struct morsel_call *call) {
    if (call->mode != MORSEL_MODE_STEPS) return morsel_ways[call->mode]->run;
    return call->tasks > 1 ? morsel_ways[MORSEL_MODE_CHAIN]->steps : run_steps;
}

/* As the caller, who hands tasks to parallel_for; or as one of the tasks of a single parallel_for, that wait for one another between
 * entries. */
static void run_entries(const struct morsel_session *session, uint32_t task) {
    const struct morsel_options *options = &session->options;
    struct morsel_entry entry = {session, 0};
    for (uint32_t count; entry.first < session->step_count; entry.first += count) {
        const struct morsel_call *call = morsel_call_at(session, entry.first);
        morsel_task *run = task_of(call);
        count = call->count;
        if (task == CALLER && call->tasks > 1) morsel_ways[MORSEL_MODE_CHAIN]->start(call);
        if (task != CALLER && entry.first) options->barrier(options->parallel_ctx, options->tasks, task);
        if (task == CALLER && call->tasks > 1) options->parallel_for(options->parallel_ctx, call->tasks, run, &entry);
        else if (task == CALLER || task < call->tasks) run(&entry, task == CALLER ? 0 : task);
        for (uint32_t k = 0; session->watch && k < count; k++) session->tell(session, entry.first + k, 1);
    }
}

static void run_as_task(void *session, uint32_t task) {
    run_entries(session, task);
}

enum morsel_error morsel_run(const struct morsel_session *session) {
    if (!session || !session->model || !session->steps) return MORSEL_ERR_ARGUMENT;
    const struct morsel_options *options = &session->options;
    if (options->barrier && !session->watch)
        options->parallel_for(options->parallel_ctx, options->tasks, run_as_task, (void *)(uintptr_t)session);
    else run_entries(session, CALLER);
    return MORSEL_OK;
}
