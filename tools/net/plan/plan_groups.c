/* SPDX-License-Identifier: MIT */
/* Chooses the groups that stream: a shortest way through all cuts of the steps. */
#include "tools/net/plan/plan_groups.h"
#include "tools/base/arena.h"
#include "tools/net/plan/plan.h"
#include "tools/net/plan/plan_slices.h"
#include "tools/net/plan/traffic.h"

#include <math.h>
#include <stdlib.h>

#include "tools/base/message.h"

/* Estimates, in cycles of a Cortex-A76: a line of 64 bytes from or to L2, and from or to what lies behind it. */
#define LINE_FROM_L2 2.0
#define LINE_FROM_BEYOND 12.0
#define L1_BYTES 45056.0
#define L2_BYTES 393216.0
#define CALL_CYCLES 250.0  /* of a kernel for some rows, and ... */
#define CHANNEL_CYCLES 4.0 /* ... for each channel whose constants it reads, twice that where it reads its taps too */
#define ODD_ROW_CYCLES 0.2 /* for each byte of a depthwise row that is made without its neighbour */
#define CYCLES_A_MAC 0.05  /* of the whole network */
#define SLOW_BYTE 1.0      /* that is read or written outside fast memory, where there is some */
#define MOST_LOSS 0.005    /* the share of its time for which the arena is made smaller */

/* What plan_reach() says of a step. */
struct step_reach {
    bool streams;
    struct morsel_reach rows;
};

/* The steps first .. last as one group. */
struct chain {
    const struct step_reach *reaches; /* of all steps of the net */
    uint32_t first, last, strip;
    uint32_t scale[MORSEL_FORMAT_MAX_GROUP];
    int32_t lead[MORSEL_FORMAT_MAX_GROUP];
    uint32_t more[MORSEL_FORMAT_MAX_GROUP]; /* rows of the rings, besides those of a strip */
    uint64_t rings;                         /* their bytes, for strips of that height */
};

static uint64_t row_bytes(const struct net_buffer *b) {
    return b->bytes / b->dims[0] / b->dims[1];
}

/* --- Stages and rings --- */

/* Scale and lead of step i, which the steps behind it in the chain decide; *looks counts them. */
static bool set_stage(const struct net *net, struct chain *c, uint32_t i, uint64_t *looks) {
    const struct net_buffer *x = net->steps[i]->output;
    uint32_t own = i - c->first;
    bool any = false;
    for (uint32_t k = i + 1; k <= x->last_step; k++) {
        const struct net_step *reader = net->steps[k];
        const struct morsel_reach r = c->reaches[k].rows;
        ++*looks;
        for (uint32_t n = 0; n < reader->input_count; n++) {
            if (reader->inputs[n] != x) continue;
            uint64_t scale = (uint64_t)r.stride * c->scale[k - c->first];
            int64_t lead = (int64_t)r.stride * (c->lead[k - c->first] - 1) + r.window - r.pad;
            if (scale > MORSEL_FORMAT_MAX_STAGE || lead > (int64_t)MORSEL_FORMAT_MAX_STAGE || lead < -(int64_t)MORSEL_FORMAT_MAX_STAGE)
                return false;
            if (any && scale != c->scale[own]) return false;
            c->lead[own] = any && c->lead[own] > lead ? c->lead[own] : (int32_t)lead;
            c->scale[own] = (uint32_t)scale;
            any = true;
        }
    }
    return any;
}

/* What the ring of step i must hold more than a strip of it, for each that reads it. */
static void set_ring(const struct net *net, struct chain *c, uint32_t i, uint64_t *looks) {
    const struct net_buffer *x = net->steps[i]->output;
    const uint32_t own = i - c->first;
    int64_t most = 0;
    for (uint32_t k = i + 1; k <= x->last_step; k++) {
        const struct morsel_reach r = c->reaches[k].rows;
        ++*looks;
        for (uint32_t n = 0; n < net->steps[k]->input_count; n++) {
            if (net->steps[k]->inputs[n] != x) continue;
            int64_t more = c->lead[own] - (int64_t)r.stride * c->lead[k - c->first] + r.pad;
            most = more > most ? more : most;
        }
    }
    c->more[own] = most < (int64_t)x->dims[1] ? (uint32_t)most : x->dims[1];
}

static bool is_inside(const struct net *net, const struct net_buffer *y, uint32_t last, uint32_t images) {
    return y->last_step <= last && y->last_step < net->step_count && y->rank == 4 && y->dims[0] == images;
}

static bool set_stages(const struct net *net, struct chain *c, uint64_t *looks) {
    const struct net_buffer *y = net->steps[c->last]->output;
    uint32_t end = c->last - c->first;
    c->scale[end] = 1;
    c->lead[end] = 0;
    for (uint32_t i = c->first; i <= c->last; i++)
        if (!c->reaches[i].streams) return false;
    for (uint32_t i = c->last; i-- > c->first;)
        if (!is_inside(net, net->steps[i]->output, c->last, y->dims[0]) || !set_stage(net, c, i, looks)) return false;
    for (uint32_t i = c->first; i < c->last; i++) set_ring(net, c, i, looks);
    return true;
}

/* Rows that the ring of step i must hold. */
static uint32_t ring_rows(const struct net *net, const struct chain *c, uint32_t i) {
    const uint64_t rows = (uint64_t)c->scale[i - c->first] * c->strip + c->more[i - c->first], height = net->steps[i]->output->dims[1];
    return (uint32_t)(rows < height ? rows : height);
}

static uint64_t ring_bytes(const struct net *net, const struct chain *c) {
    uint64_t bytes = 0;
    for (uint32_t i = c->first; i < c->last; i++) bytes += net_aligned(ring_rows(net, c, i) * row_bytes(net->steps[i]->output));
    return bytes;
}

/* --- Writing over an input --- */

static int64_t lag_at(const struct plan_trail *p, int64_t t) {
    int64_t next = p->slope * t + p->offset;
    return t * p->written - (next > 0 ? next : 0) * p->kept;
}

/* What is written grows evenly, what is kept stands still and then grows evenly: the most is the last T at which it stands, the first at
 * which it has grown, or the last of all (core/check_group.c, trails_reader). */
int64_t plan_lag(const struct plan_trail *p) {
    int64_t last = p->height ? (p->height - 1) / p->strip : 0, step = p->slope * p->strip, turn = last; /* in strips */
    if (!last) return 0;
    if (p->offset > 0) turn = 0;
    else if (step && -p->offset / step < last) turn = -p->offset / step;
    int64_t before = turn ? turn : 1, behind = turn < last ? turn + 1 : last;
    int64_t lag = 0, at[] = {before, behind, last};
    for (int i = 0; i < 3; i++) {
        int64_t own = lag_at(p, at[i] * p->strip);
        lag = own > lag ? own : lag;
    }
    return lag;
}

/* The lag for what step i of the chain reads of x. -1: never. */
static int64_t lag_of_reader(const struct net *net, const struct chain *c, uint32_t i, const struct net_buffer *x) {
    const struct net_buffer *y = net->steps[c->last]->output;
    const struct morsel_reach r = c->reaches[i].rows;
    if (!c->reaches[i].streams || (i == c->last && (net->steps[i]->kind != MORSEL_STEP_BINARY || x->bytes != y->bytes))) return -1;
    struct plan_trail trail = {.strip = c->strip,
                               .height = y->dims[1],
                               .slope = (int64_t)r.stride * c->scale[i - c->first],
                               .offset = (int64_t)r.stride * c->lead[i - c->first] - r.pad,
                               .written = (int64_t)row_bytes(y),
                               .kept = (int64_t)row_bytes(x)};
    return (int64_t)net_aligned((uint64_t)plan_lag(&trail));
}

/* The same for all readers. */
static int64_t lag_of(const struct net *net, const struct chain *c, const struct net_buffer *x) {
    int64_t lag = 0;
    if (x->constant || x->rank != 4 || x->dims[0] != 1 || x->last_step > c->last) return -1;
    for (uint32_t i = c->first; i <= c->last && lag >= 0; i++)
        for (uint32_t n = 0; n < net->steps[i]->input_count; n++) {
            int64_t own = net->steps[i]->inputs[n] == x ? lag_of_reader(net, c, i, x) : 0;
            lag = own < 0 ? -1 : own > lag ? own : lag;
            if (lag < 0) break;
        }
    /* A last step that reads x itself goes with both in one place. */
    for (uint32_t n = 0; n < net->steps[c->last]->input_count && lag > 0; n++) lag = net->steps[c->last]->inputs[n] == x ? -1 : lag;
    return lag;
}

static bool made_inside(const struct chain *c, const struct net_buffer *b) {
    return b->first_step != MORSEL_STEP_BEFORE && b->first_step >= c->first && b->first_step < c->last;
}

/* The input that the output is best written over, and how far before it; NULL: none. Gives the bytes that it saves. */
static struct net_buffer *covered(const struct net *net, const struct chain *c, uint32_t *lag, uint64_t *saved) {
    const struct net_buffer *y = net->steps[c->last]->output;
    struct net_buffer *best = NULL;
    *saved = 0;
    for (uint32_t i = c->first; i <= c->last; i++) {
        for (uint32_t n = 0; n < net->steps[i]->input_count; n++) {
            struct net_buffer *x = net->steps[i]->inputs[n];
            int64_t own = made_inside(c, x) ? -1 : lag_of(net, c, x);
            uint64_t apart = net_aligned(x->bytes) + net_aligned(y->bytes), end = (uint64_t)own + net_aligned(x->bytes);
            uint64_t both = end > net_aligned(y->bytes) ? end : net_aligned(y->bytes);
            if (own < 0 || apart <= both + *saved) continue;
            *saved = apart - both;
            *lag = (uint32_t)own;
            best = x;
        }
    }
    return best;
}

/* --- What a chain holds and costs --- */

/* Bytes of the tensors that are there before each step, and are read by it or later. */
static uint64_t *through_bytes(struct net *net) {
    uint64_t *bytes = net_alloc(net, (net->step_count + 2) * sizeof *bytes);
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct net_buffer *b = net->buffers[i];
        if (!b->used || b->constant || b->last_step == MORSEL_STEP_BEFORE) continue;
        bytes[b->first_step == MORSEL_STEP_BEFORE ? 0 : b->first_step + 1] += net_aligned(b->bytes);
        bytes[b->last_step + 1] -= net_aligned(b->bytes);
    }
    for (uint32_t i = 0; i < net->step_count; i++) bytes[i + 1] += bytes[i];
    return bytes;
}

/* Bytes of whole tensors that live while first .. last run. */
static uint64_t whole_bytes(const struct net *net, const uint64_t *through, uint32_t first, uint32_t last) {
    const struct net_buffer *out = net->steps[last]->output;
    return through[first] + (out->used && !out->constant ? net_aligned(out->bytes) : 0);
}

static uint64_t scratch_bytes(const struct net *net, uint32_t first, uint32_t last) {
    uint64_t bytes = 0;
    for (uint32_t i = first; i <= last; i++) bytes += net_aligned(net->steps[i]->scratch_bytes);
    return bytes;
}

static double call_cycles(const struct net_step *step) {
    return CALL_CYCLES + CHANNEL_CYCLES * step->output->dims[3] * (step->kind == MORSEL_STEP_DEPTHWISE ? 2 : 1);
}

static double weight_bytes(const struct net_step *step) {
    double bytes = 0;
    for (uint32_t k = 0; k < step->constant_count; k++) bytes += (double)step->constants[k].bytes;
    return bytes;
}

/* Cycles for `bytes` bytes of something that is touched again after `between` bytes of other things. */
static double fetch(double bytes, double between) {
    if (between <= L1_BYTES) return 0;
    return bytes / 64 * (between <= L2_BYTES ? LINE_FROM_L2 : LINE_FROM_BEYOND);
}

/* A step by itself: its input was written a tensor ago, its output will be read a tensor later. */
static double single_cost(const struct net *net, uint32_t i) {
    const struct net_step *step = net->steps[i];
    double in = 0, out = step->output->bytes;
    for (uint32_t k = 0; k < step->input_count; k++) in += step->inputs[k]->bytes;
    return fetch(in, in + out) + fetch(out, in + out) + call_cycles(step);
}

static double chain_cost(const struct net *net, const struct chain *c) {
    double rings = (double)c->rings, weights = 0, strips = (net->steps[c->last]->output->dims[1] + c->strip - 1) / c->strip;
    double images = net->steps[c->last]->output->dims[0], calls = 0, moved = 0, whole = net->steps[c->last]->output->bytes;
    for (uint32_t i = c->first; i <= c->last; i++) {
        const struct net_step *step = net->steps[i];
        weights += weight_bytes(step);
        calls += call_cycles(step);
        if (step->kind == MORSEL_STEP_DEPTHWISE && step->parameters.window.stride_h == 1 && c->scale[i - c->first] * c->strip % 2)
            calls += ODD_ROW_CYCLES * (double)row_bytes(step->output);
        moved += i < c->last ? step->output->bytes * 2.0 : 0;
        for (uint32_t k = 0; k < step->input_count; k++) whole += made_inside(c, step->inputs[k]) ? 0 : step->inputs[k]->bytes;
    }
    double cycles = images * strips * (calls + fetch(weights, rings + weights));
    return cycles + fetch(moved, rings + weights) + fetch(whole, whole);
}

/* What it takes that fast memory does not hold all of a chain. Its rings go there first, what is left of it is for whole tensors. */
static double slow_cost(const struct net *net, const struct chain *c) {
    if (!net->fast_room) return 0;
    double rings = (double)c->rings, inside = 0, outside = 0, whole = 0, room = net->fast_room;
    for (uint32_t i = c->first; i <= c->last; i++) {
        const struct net_step *step = net->steps[i];
        struct traffic_step t = plan_traffic(step);
        for (uint32_t k = 0; k < step->input_count; k++) {
            const struct net_buffer *x = step->inputs[k];
            double bytes = x->constant ? 0 : (double)traffic_read(&t, k, x->bytes, net_type_bytes(x->type));
            *(made_inside(c, x) ? &inside : &outside) += bytes;
            whole += made_inside(c, x) || x->constant ? 0 : x->bytes;
        }
        *(i < c->last ? &inside : &outside) += step->output->bytes;
    }
    whole += net->steps[c->last]->output->bytes;
    if (rings > room) return SLOW_BYTE * (inside + outside);
    return room - rings >= whole ? 0 : SLOW_BYTE * outside * (1 - (room - rings) / whole);
}

static bool find_chain(struct net *net, const struct step_reach *reaches, uint32_t first, uint32_t last, struct chain *c) {
    *c = (struct chain){.reaches = reaches, .first = first, .last = last, .strip = 1};
    return last == first || set_stages(net, c, &net->looks);
}

static uint64_t chain_peak(const struct net *net, const uint64_t *through, const struct chain *c) {
    uint64_t bytes = whole_bytes(net, through, c->first, c->last) + scratch_bytes(net, c->first, c->last), saved = 0;
    uint32_t lag;
    if (c->first < c->last) covered(net, c, &lag, &saved);
    else if (plan_in_place(net, c->first)) saved = net_aligned(net->steps[c->last]->output->bytes);
    return bytes + c->rings - saved;
}

/* --- The best cut --- */

/* A run of steps that a cut may have, from some step on. */
struct option {
    uint32_t last, strip; /* last is the step itself: no group */
    uint64_t peak;
    double cost;
};

/* All of them, those that begin with step i from first[i] on. */
struct options {
    struct option *list;
    size_t count, room, *first;
    uint64_t *through;
    const struct step_reach *reaches;
};

static void add_option(struct options *all, struct option option) {
    if (all->count == all->room) {
        all->room = all->room * 2 + 256;
        all->list = must_have(realloc(all->list, all->room * sizeof *all->list), all->room * sizeof *all->list);
    }
    all->list[all->count++] = option;
}

/* Row numbers stay within 32 bits: core/check_group.c. */
static bool rows_fit(const struct chain *c, uint32_t height) {
    for (uint32_t i = 0; i <= c->last - c->first; i++)
        if (c->scale[i] * ((uint64_t)height + c->strip) + 2 * MORSEL_FORMAT_MAX_STAGE > INT32_MAX) return false;
    return true;
}

static void add_options(struct net *net, struct options *all, uint32_t first, uint32_t last) {
    struct chain c;
    if (!find_chain(net, all->reaches, first, last, &c)) return;
    if (first == last) {
        add_option(all, (struct option){last, 0, chain_peak(net, all->through, &c), single_cost(net, first) + slow_cost(net, &c)});
        return;
    }
    uint32_t height = net->steps[last]->output->dims[1];
    for (; c.strip <= height && c.strip <= MORSEL_FORMAT_MAX_STAGE && rows_fit(&c, height); c.strip *= 2) {
        c.rings = ring_bytes(net, &c);
        add_option(all, (struct option){last, c.strip, chain_peak(net, all->through, &c), chain_cost(net, &c) + slow_cost(net, &c)});
    }
}

static void find_options(struct net *net, struct options *all) {
    for (uint32_t i = 0; i < net->step_count; i++) {
        all->first[i] = all->count;
        for (uint32_t k = i; k < net->step_count && k - i < MORSEL_FORMAT_MAX_GROUP && (k == i || all->reaches[k].streams); k++)
            add_options(net, all, i, k);
    }
    all->first[net->step_count] = all->count;
}

/* The best from a step on. */
struct best {
    double cost;
    const struct option *option;
};

static uint64_t find_least_peak(const struct options *all, uint32_t steps, uint64_t *peak) {
    peak[steps] = 0;
    for (uint32_t i = steps; i-- > 0;) {
        peak[i] = UINT64_MAX;
        for (const struct option *o = all->list + all->first[i]; o < all->list + all->first[i + 1]; o++) {
            uint64_t most = o->peak > peak[o->last + 1] ? o->peak : peak[o->last + 1];
            peak[i] = most < peak[i] ? most : peak[i];
        }
    }
    return peak[0];
}

/* Cycles of the cheapest cut within `room` bytes. */
static double find_least_cost(const struct options *all, uint32_t steps, uint64_t room, struct best *best) {
    best[steps].cost = 0;
    for (uint32_t i = steps; i-- > 0;) {
        best[i].cost = INFINITY;
        for (const struct option *o = all->list + all->first[i]; o < all->list + all->first[i + 1]; o++) {
            if (o->peak > room || o->cost + best[o->last + 1].cost >= best[i].cost) continue;
            best[i].cost = o->cost + best[o->last + 1].cost;
            best[i].option = o;
        }
    }
    return best[0].cost;
}

/* The least room from `low` on in which the network takes no longer than `cost`; with the largest peak there is room for all. */
static uint64_t find_room(const struct options *all, uint32_t steps, uint64_t low, double cost, struct best *best) {
    uint64_t high = low;
    for (size_t i = 0; i < all->count; i++) high = all->list[i].peak > high ? all->list[i].peak : high;
    high = high < UINT32_MAX ? high : UINT32_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (find_least_cost(all, steps, middle, best) <= cost) high = middle;
        else low = middle + 1;
    }
    return low;
}

static void take_chain(struct net *net, struct chain *c) {
    uint64_t saved;
    net->steps[c->last]->over = covered(net, c, &net->steps[c->last]->lag, &saved);
    net->groups[net->group_count++] = (struct morsel_blob_group){c->first, c->last - c->first + 1, c->strip};
    for (uint32_t i = c->first; i <= c->last; i++) {
        net->steps[i]->group = net->group_count;
        net->steps[i]->stage_scale = c->scale[i - c->first];
        net->steps[i]->stage_lead = c->lead[i - c->first];
        if (i < c->last) net->steps[i]->output->ring_rows = ring_rows(net, c, i);
    }
}

/* The bytes behind the slots within which the plan is to be the fastest. */
static uint64_t choose_room(const struct net *net, uint32_t room, const struct options *all, uint64_t *peaks, struct best *best) {
    uint64_t least = find_least_peak(all, net->step_count, peaks), slots = net->step_count * (uint64_t)MORSEL_FORMAT_STEP_SLOT;
    if (room) return room > least + slots ? room - slots : least;
    double fastest = find_least_cost(all, net->step_count, UINT64_MAX, best);
    return find_room(all, net->step_count, least, fastest + MOST_LOSS * CYCLES_A_MAC * (double)net_macs(net), best);
}

static const struct step_reach *find_reaches(struct net *net) {
    struct step_reach *reaches = net_alloc(net, net->step_count * sizeof *reaches);
    for (uint32_t i = 0; i < net->step_count; i++) reaches[i].streams = plan_reach(net->steps[i], &reaches[i].rows);
    return reaches;
}

uint64_t plan_groups(struct net *net, uint32_t room) {
    uint32_t steps = net->step_count;
    uint64_t peak = 0;
    net->groups = net_alloc(net, (steps / 2 + 1) * sizeof *net->groups);
    net->group_count = 0;
    if (net->no_streaming || !steps) return UINT64_MAX;
    struct options all = {.first = net_alloc(net, (steps + 1) * sizeof *all.first),
                          .through = through_bytes(net),
                          .reaches = find_reaches(net)};
    struct best *best = net_alloc(net, (steps + 1) * sizeof *best);
    find_options(net, &all);
    find_least_cost(&all, steps, choose_room(net, room, &all, net_alloc(net, (steps + 1) * sizeof(uint64_t)), best), best);
    for (uint32_t i = 0; i < steps; i = best[i].option->last + 1) {
        struct chain c;
        peak = best[i].option->peak > peak ? best[i].option->peak : peak;
        if (best[i].option->last == i || !find_chain(net, all.reaches, i, best[i].option->last, &c)) continue;
        c.strip = best[i].option->strip;
        take_chain(net, &c);
    }
    free(all.list);
    return peak + steps * (uint64_t)MORSEL_FORMAT_STEP_SLOT;
}
