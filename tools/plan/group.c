/* SPDX-License-Identifier: MIT */
#include "tools/plan/group.h"

#include <string.h>

#include "tools/plan/plan.h"

/* Estimates, in cycles of a Cortex-A76: a line of 64 bytes from or to L2, and from or to what lies behind it. */
#define LINE_FROM_L2 2.0
#define LINE_FROM_BEYOND 12.0
#define L1_BYTES 49152.0
#define L2_BYTES 393216.0
#define CALL_CYCLES 300.0   /* of a kernel for some rows, and ... */
#define CHANNEL_CYCLES 1.0  /* ... for each channel whose constants it reads */

/* The steps first .. last as one group. */
struct chain {
    uint32_t first, last, strip;
    uint32_t scale[MORSEL_FORMAT_MAX_GROUP];
    int32_t lead[MORSEL_FORMAT_MAX_GROUP];
    uint32_t rows[MORSEL_FORMAT_MAX_GROUP]; /* of the rings */
};

static uint64_t aligned(uint64_t bytes) {
    return (bytes + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
}

static uint64_t row_bytes(const struct net_buffer *b) {
    return b->bytes / b->dims[0] / b->dims[1];
}

/* --- Stages and rings --- */

/* Scale and lead of step i, which the steps behind it in the chain decide. */
static bool set_stage(const struct net *net, struct chain *c, uint32_t i) {
    const struct net_buffer *x = net->steps[i]->output;
    uint32_t own = i - c->first;
    bool any = false;
    for (uint32_t k = i + 1; k <= c->last; k++) {
        const struct net_step *reader = net->steps[k];
        struct row_reach r;
        for (uint32_t n = 0; n < reader->input_count; n++) {
            if (reader->inputs[n] != x)
                continue;
            if (!plan_reach(reader, &r))
                return false;
            uint64_t scale = (uint64_t)r.stride * c->scale[k - c->first];
            int64_t lead = (int64_t)r.stride * (c->lead[k - c->first] - 1) + r.window - r.pad;
            if (scale > MORSEL_FORMAT_MAX_STAGE || lead > (int64_t)MORSEL_FORMAT_MAX_STAGE || lead < -(int64_t)MORSEL_FORMAT_MAX_STAGE)
                return false;
            if (any && scale != c->scale[own])
                return false;
            c->lead[own] = any && c->lead[own] > lead ? c->lead[own] : (int32_t)lead;
            c->scale[own] = (uint32_t)scale;
            any = true;
        }
    }
    return any;
}

static bool is_inside(const struct net *net, const struct net_buffer *y, uint32_t last, uint32_t images) {
    return y->last_step <= last && y->last_step < net->step_count && y->rank == 4 && y->dims[0] == images;
}

static bool set_stages(const struct net *net, struct chain *c) {
    const struct net_buffer *y = net->steps[c->last]->output;
    struct row_reach r;
    uint32_t end = c->last - c->first;
    c->scale[end] = 1;
    c->lead[end] = 0;
    for (uint32_t i = c->first; i <= c->last; i++)
        if (!plan_reach(net->steps[i], &r))
            return false;
    for (uint32_t i = c->last; i-- > c->first;)
        if (!is_inside(net, net->steps[i]->output, c->last, y->dims[0]) || !set_stage(net, c, i))
            return false;
    return true;
}

/* Rows that the ring of step i must hold. */
static uint32_t ring_rows(const struct net *net, const struct chain *c, uint32_t i) {
    const struct net_buffer *x = net->steps[i]->output;
    uint32_t own = i - c->first;
    int64_t made = (int64_t)c->scale[own] * c->strip, most = made;
    for (uint32_t k = i + 1; k <= c->last; k++) {
        struct row_reach r;
        for (uint32_t n = 0; n < net->steps[k]->input_count; n++) {
            if (net->steps[k]->inputs[n] != x || !plan_reach(net->steps[k], &r))
                continue;
            int64_t rows = made + c->lead[own] - (int64_t)r.stride * c->lead[k - c->first] + r.pad;
            most = rows > most ? rows : most;
        }
    }
    return most < x->dims[1] ? (uint32_t)most : x->dims[1];
}

static uint64_t ring_bytes(const struct net *net, struct chain *c) {
    uint64_t bytes = 0;
    for (uint32_t i = c->first; i < c->last; i++) {
        c->rows[i - c->first] = ring_rows(net, c, i);
        bytes += aligned(c->rows[i - c->first] * row_bytes(net->steps[i]->output));
    }
    return bytes;
}

/* --- Writing over an input --- */

/* The first T rows of y end before what step i of the chain reads of x after them. */
static bool trails_reader(const struct net *net, const struct chain *c, uint32_t i, const struct net_buffer *x, const struct net_buffer *y) {
    struct row_reach r;
    if (!plan_reach(net->steps[i], &r) || (i == c->last && (r.window > 1 || x->bytes != y->bytes || net->steps[i]->input_count < 2)))
        return false;
    for (uint32_t t = c->strip; t < y->dims[1]; t += c->strip) {
        int64_t next = (int64_t)r.stride * ((int64_t)c->scale[i - c->first] * t + c->lead[i - c->first]) - r.pad;
        if ((int64_t)(t * row_bytes(y)) > (next > 0 ? next : 0) * (int64_t)row_bytes(x))
            return false;
    }
    return true;
}

static bool trails(const struct net *net, const struct chain *c, const struct net_buffer *x) {
    const struct net_buffer *y = net->steps[c->last]->output;
    if (x->constant || x->rank != 4 || x->dims[0] != 1 || y->bytes > x->bytes || x->last_step > c->last)
        return false;
    for (uint32_t i = c->first; i <= c->last; i++)
        for (uint32_t n = 0; n < net->steps[i]->input_count; n++)
            if (net->steps[i]->inputs[n] == x && !trails_reader(net, c, i, x, y))
                return false;
    return true;
}

static bool made_inside(const struct chain *c, const struct net_buffer *b) {
    return b->first_step != MORSEL_STEP_BEFORE && b->first_step >= c->first && b->first_step < c->last;
}

/* The input that the output of the chain may be written over; NULL: none. */
static struct net_buffer *covered(const struct net *net, const struct chain *c) {
    for (uint32_t i = c->first; i <= c->last; i++)
        for (uint32_t n = 0; n < net->steps[i]->input_count; n++)
            if (!made_inside(c, net->steps[i]->inputs[n]) && trails(net, c, net->steps[i]->inputs[n]))
                return net->steps[i]->inputs[n];
    return NULL;
}

/* --- What a chain holds and costs --- */

/* Bytes of whole tensors that live while first .. last run. */
static uint64_t whole_bytes(const struct net *net, uint32_t first, uint32_t last) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct net_buffer *b = net->buffers[i];
        uint32_t from = b->first_step == MORSEL_STEP_BEFORE ? 0 : b->first_step;
        bool before = b->first_step == MORSEL_STEP_BEFORE || from < first;
        if (b->used && !b->constant && b->last_step >= first && b->last_step != MORSEL_STEP_BEFORE && (before || from == last))
            bytes += aligned(b->bytes);
    }
    return bytes;
}

static uint64_t scratch_bytes(const struct net *net, uint32_t first, uint32_t last) {
    uint64_t bytes = 0;
    for (uint32_t i = first; i <= last; i++)
        bytes += aligned(net->steps[i]->scratch_bytes);
    return bytes;
}

static double weight_bytes(const struct net_step *step) {
    double bytes = 0;
    for (uint32_t k = 0; k < step->constant_count; k++)
        bytes += (double)step->constants[k].bytes;
    return bytes;
}

/* Cycles for `bytes` bytes of something that is touched again after `between` bytes of other things. */
static double fetch(double bytes, double between) {
    if (between <= L1_BYTES)
        return 0;
    return bytes / 64 * (between <= L2_BYTES ? LINE_FROM_L2 : LINE_FROM_BEYOND);
}

/* A step by itself: its input was written a tensor ago, its output will be read a tensor later. */
static double single_cost(const struct net *net, uint32_t i) {
    const struct net_step *step = net->steps[i];
    double in = 0, out = step->output->bytes;
    for (uint32_t k = 0; k < step->input_count; k++)
        in += step->inputs[k]->bytes;
    return fetch(in, in + out) + fetch(out, in + out) + CALL_CYCLES + CHANNEL_CYCLES * step->output->dims[3];
}

static double chain_cost(const struct net *net, struct chain *c) {
    double rings = (double)ring_bytes(net, c), weights = 0, strips = (net->steps[c->last]->output->dims[1] + c->strip - 1) / c->strip;
    double images = net->steps[c->last]->output->dims[0], calls = 0, moved = 0, whole = net->steps[c->last]->output->bytes;
    for (uint32_t i = c->first; i <= c->last; i++) {
        const struct net_step *step = net->steps[i];
        weights += weight_bytes(step);
        calls += CALL_CYCLES + CHANNEL_CYCLES * step->output->dims[3];
        moved += i < c->last ? step->output->bytes * 2.0 : 0;
        for (uint32_t k = 0; k < step->input_count; k++)
            whole += made_inside(c, step->inputs[k]) ? 0 : step->inputs[k]->bytes;
    }
    double cycles = images * strips * (calls + fetch(weights, rings + weights));
    return cycles + fetch(moved, rings + weights) + fetch(whole, whole);
}

/* --- The best cut --- */

struct best {
    uint64_t peak;  /* least peak from here on */
    double cost;    /* and the least cost within it */
    struct chain chain; /* first == last: no group */
};

static bool find_chain(const struct net *net, uint32_t first, uint32_t last, struct chain *c) {
    *c = (struct chain){.first = first, .last = last, .strip = 1};
    return last == first || set_stages(net, c);
}

static uint64_t chain_peak(const struct net *net, struct chain *c) {
    uint64_t bytes = whole_bytes(net, c->first, c->last) + scratch_bytes(net, c->first, c->last);
    bool over = c->first < c->last ? covered(net, c) != NULL : plan_in_place(net, c->first) != NULL;
    bytes += c->first < c->last ? ring_bytes(net, c) : 0;
    return over ? bytes - aligned(net->steps[c->last]->output->bytes) : bytes;
}

static uint32_t last_candidate(const struct net *net, uint32_t first) {
    uint32_t last = first + MORSEL_FORMAT_MAX_GROUP - 1;
    return last < net->step_count ? last : net->step_count - 1;
}

static uint64_t find_least_peak(const struct net *net, struct best *best) {
    best[net->step_count].peak = 0;
    for (uint32_t i = net->step_count; i-- > 0;) {
        best[i].peak = UINT64_MAX;
        struct row_reach r;
        for (uint32_t k = i; k <= last_candidate(net, i) && (k == i || plan_reach(net->steps[k], &r)); k++) {
            struct chain c;
            if (!find_chain(net, i, k, &c))
                continue;
            uint64_t peak = chain_peak(net, &c);
            peak = peak > best[k + 1].peak ? peak : best[k + 1].peak;
            best[i].peak = peak < best[i].peak ? peak : best[i].peak;
        }
    }
    return best[0].peak;
}

/* The cheapest strip height of a chain within `room` bytes. */
static void try_strips(const struct net *net, struct best *best, struct chain *c, uint64_t room) {
    uint32_t height = net->steps[c->last]->output->dims[1];
    for (c->strip = 1; c->strip <= height; c->strip *= 2) {
        if (chain_peak(net, c) > room)
            return;
        double cost = chain_cost(net, c) + best[c->last + 1].cost;
        if (cost < best[c->first].cost) {
            best[c->first].cost = cost;
            best[c->first].chain = *c;
        }
    }
}

static void find_least_cost(const struct net *net, struct best *best, uint64_t room) {
    best[net->step_count].cost = 0;
    for (uint32_t i = net->step_count; i-- > 0;) {
        best[i].cost = 1e300;
        struct row_reach r;
        for (uint32_t k = i; k <= last_candidate(net, i) && (k == i || plan_reach(net->steps[k], &r)); k++) {
            struct chain c;
            if (best[k + 1].cost >= 1e300 || !find_chain(net, i, k, &c) || chain_peak(net, &c) > room)
                continue;
            if (k > i)
                try_strips(net, best, &c, room);
            else if (single_cost(net, i) + best[i + 1].cost < best[i].cost) {
                best[i].cost = single_cost(net, i) + best[i + 1].cost;
                best[i].chain = c;
            }
        }
    }
}

static void take_chain(struct net *net, struct chain *c) {
    ring_bytes(net, c);
    net->steps[c->last]->over = covered(net, c);
    net->groups[net->group_count++] = (struct morsel_blob_group){c->first, c->last - c->first + 1, c->strip};
    for (uint32_t i = c->first; i <= c->last; i++) {
        net->steps[i]->group = net->group_count;
        net->steps[i]->stage_scale = c->scale[i - c->first];
        net->steps[i]->stage_lead = c->lead[i - c->first];
        if (i < c->last)
            net->steps[i]->output->ring_rows = c->rows[i - c->first];
    }
}

void plan_groups(struct net *net) {
    net->groups = net_alloc(net, (net->step_count / 2 + 1) * sizeof *net->groups);
    net->group_count = 0;
    if (net->no_streaming || !net->step_count)
        return;
    struct best *best = net_alloc(net, (net->step_count + 1) * sizeof *best);
    uint64_t least = find_least_peak(net, best), slots = net->step_count * (uint64_t)MORSEL_FORMAT_STEP_SLOT;
    find_least_cost(net, best, net->arena_room > least + slots ? net->arena_room - slots : least);
    for (uint32_t i = 0; i < net->step_count; i = best[i].chain.last + 1)
        if (best[i].chain.first < best[i].chain.last)
            take_chain(net, &best[i].chain);
}
