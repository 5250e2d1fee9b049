/* SPDX-License-Identifier: MIT */
#include "tools/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* A slice to place: a buffer, a chain of buffers written one over the other, or a step's scratch. */
struct slice {
    uint32_t bytes, first, last, offset;
    struct slice *home; /* the slice that it shares; NULL for one of its own */
    bool placed;
};

static uint32_t aligned(uint32_t bytes) {
    return (bytes + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
}

/* --- Lifetimes --- */

static void drop_dead_steps(struct net *net) {
    bool *needed = net_alloc(net, net->buffer_count * sizeof *needed + 1);
    uint32_t kept = net->step_count;
    for (uint32_t i = 0; i < net->output_count; i++)
        needed[net->outputs[i].buffer->index] = true;
    for (uint32_t i = net->step_count; i-- > 0;) {
        struct net_step *step = net->steps[i];
        if (!needed[step->output->index])
            continue;
        for (uint32_t k = 0; k < step->input_count; k++)
            needed[step->inputs[k]->index] = true;
        net->steps[--kept] = step;
    }
    if (kept)
        memmove(net->steps, net->steps + kept, (net->step_count - kept) * sizeof *net->steps);
    net->step_count -= kept;
    for (uint32_t i = 0; i < net->buffer_count; i++)
        net->buffers[i]->used = needed[i];
}

static void find_lifetimes(struct net *net) {
    for (uint32_t i = 0; i < net->buffer_count; i++)
        net->buffers[i]->first_step = net->buffers[i]->last_step = MORSEL_STEP_BEFORE;
    for (uint32_t i = 0; i < net->input_count; i++) {
        net->inputs[i].buffer->used = true; /* the caller writes it even if nobody reads it */
        net->inputs[i].buffer->last_step = 0;
    }
    for (uint32_t s = 0; s < net->step_count; s++) {
        net->steps[s]->output->first_step = s;
        net->steps[s]->output->last_step = s;
        for (uint32_t k = 0; k < net->steps[s]->input_count; k++)
            net->steps[s]->inputs[k]->last_step = s;
    }
    for (uint32_t i = 0; i < net->output_count; i++)
        net->outputs[i].buffer->last_step = net->step_count;
}

/* --- Writing over an input --- */

/* A step that reads element i before it writes element i, and no other. */
static bool by_element(const struct net_step *step, uint32_t input) {
    if (step->kind == MORSEL_STEP_LUT || step->kind == MORSEL_STEP_UNARY)
        return true;
    if (step->kind != MORSEL_STEP_BINARY)
        return false;
    const struct morsel_blob_binary *p = &step->parameters.binary;
    const uint32_t *stride = input ? p->b_stride : p->a_stride;
    uint32_t dense = 1;
    for (uint32_t i = p->rank; i-- > 0; dense *= p->dims[i])
        if (stride[i] != dense && p->dims[i] > 1)
            return false;
    return true;
}

static void share_slices(const struct net *net, struct slice *slices) {
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        struct slice *out = &slices[step->output->index];
        for (uint32_t k = 0; k < step->input_count && !out->home; k++) {
            const struct net_buffer *in = step->inputs[k];
            bool twice = step->input_count == 2 && step->inputs[0] == step->inputs[1];
            if (in->constant || twice || in->last_step != s || in->bytes != step->output->bytes || !by_element(step, k))
                continue;
            struct slice *home = &slices[in->index];
            while (home->home)
                home = home->home;
            out->home = home;
            home->last = out->last;
        }
    }
}

/* --- Placing --- */

static int larger_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int earlier_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static int longer_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    uint32_t lx = x->last - x->first, ly = y->last - y->first;
    if (lx != ly)
        return lx < ly ? 1 : -1;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static bool alive_together(const struct slice *a, const struct slice *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest gap between what is placed and lives at the same time. `placed` is sorted by offset. */
static uint64_t lowest_gap(struct slice **placed, uint32_t count, const struct slice *slice) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!alive_together(placed[i], slice))
            continue;
        if (placed[i]->offset >= at + slice->bytes)
            break;
        uint64_t end = (uint64_t)placed[i]->offset + placed[i]->bytes;
        at = end > at ? end : at;
    }
    return at;
}

/* Places the slices in the order given; how many bytes that takes, or UINT64_MAX. */
static uint64_t place(struct slice **order, uint32_t count, struct slice **placed) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = lowest_gap(placed, i, order[i]);
        if (at + order[i]->bytes > INT32_MAX)
            return UINT64_MAX;
        order[i]->offset = (uint32_t)at;
        total = at + order[i]->bytes > total ? at + order[i]->bytes : total;
        uint32_t k = i;
        for (; k > 0 && placed[k - 1]->offset > order[i]->offset; k--)
            placed[k] = placed[k - 1];
        placed[k] = order[i];
    }
    return total;
}

/* Tries the orders that do well on one network or another, and keeps the best. */
static uint64_t place_best(struct net *net, struct slice **order, uint32_t count) {
    static int (*const orders[])(const void *, const void *) = {larger_first, longer_first, earlier_first};
    struct slice **placed = net_alloc(net, (count + 1) * sizeof *placed);
    uint64_t best = UINT64_MAX;
    uint32_t *offsets = net_alloc(net, (count + 1) * sizeof *offsets);
    struct slice **fixed = net_alloc(net, (count + 1) * sizeof *fixed);
    memcpy(fixed, order, count * sizeof *fixed);
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        qsort(order, count, sizeof *order, orders[o]);
        uint64_t total = place(order, count, placed);
        if (total >= best)
            continue;
        best = total;
        for (uint32_t i = 0; i < count; i++)
            offsets[i] = fixed[i]->offset;
    }
    for (uint32_t i = 0; i < count && best != UINT64_MAX; i++)
        fixed[i]->offset = offsets[i];
    return best;
}

bool plan_arena(struct net *net) {
    drop_dead_steps(net);
    find_lifetimes(net);
    uint32_t slots = net->step_count * MORSEL_FORMAT_STEP_SLOT, n = 0;
    struct slice *slices = net_alloc(net, (net->buffer_count + net->step_count + 1) * sizeof *slices);
    struct slice **order = net_alloc(net, (net->buffer_count + net->step_count + 1) * sizeof *order);
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct net_buffer *b = net->buffers[i];
        slices[i] = (struct slice){
            .bytes = aligned(b->bytes), .first = b->first_step == MORSEL_STEP_BEFORE ? 0 : b->first_step, .last = b->last_step};
    }
    share_slices(net, slices);
    for (uint32_t i = 0; i < net->buffer_count; i++)
        if (net->buffers[i]->used && !net->buffers[i]->constant && !slices[i].home)
            order[n++] = &slices[i];
    for (uint32_t s = 0; s < net->step_count; s++)
        if (net->steps[s]->scratch_bytes) {
            struct slice *scratch = &slices[net->buffer_count + s];
            *scratch = (struct slice){.bytes = aligned(net->steps[s]->scratch_bytes), .first = s, .last = s};
            order[n++] = scratch;
        }
    uint64_t total = place_best(net, order, n);
    if (total == UINT64_MAX || total + slots > INT32_MAX)
        return false;
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct slice *home = &slices[i];
        while (home->home)
            home = home->home;
        net->buffers[i]->offset = slots + home->offset;
    }
    for (uint32_t s = 0; s < net->step_count; s++)
        net->steps[s]->scratch_offset = net->steps[s]->scratch_bytes ? slots + slices[net->buffer_count + s].offset : 0;
    net->arena_bytes = slots + (uint32_t)total;
    return true;
}

uint32_t plan_peak(const struct net *net, uint32_t *bytes) {
    uint32_t peak = 0;
    *bytes = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        uint32_t live = net->step_count * MORSEL_FORMAT_STEP_SLOT + net->steps[s]->scratch_bytes;
        for (uint32_t i = 0; i < net->buffer_count; i++) {
            const struct net_buffer *b = net->buffers[i];
            uint32_t first = b->first_step == MORSEL_STEP_BEFORE ? 0 : b->first_step;
            if (b->used && !b->constant && first <= s && b->last_step >= s)
                live += b->bytes;
        }
        if (live > *bytes) {
            *bytes = live;
            peak = s;
        }
    }
    return peak;
}
