/* SPDX-License-Identifier: MIT */
/*
 * Chains: steps that a task runs one after the other for its rows of the last one, waiting for nobody in between.
 *
 * A task makes by itself all rows that its rows of the last step need, so that some are made twice. What lies between the steps is its own
 * and lies behind the planned arena: only the inputs and the output of a chain travel between cores. Chains are found where that is
 * estimated to cost less than waiting, at session open. Groups stand in a chain as a whole: their rings are then as long as a
 * task's rows, and there are no turns.
 *
 * Tasks write the output while others still read what the chain is made from. Where the plan has it lie over such an input it is moved to
 * the spare memory, as is the output of a group of several bands. One tensor at a time lies there, at its front; what the first task holds
 * of a chain ends where the spare memory does.
 */
#include "check.h"
#include "stream.h"

#define CHAIN_MOST 8u /* steps */
#define NONE INT64_MIN

/* What it takes to hand a step over, in units of 256 multiplications: */
#define JOB 512u        /* .. calling all tasks, and waiting for the last */
#define DEPTHWISE 4u    /* .. a unit of a depthwise convolution, whose multiplications take longer */
#define BYTES_A_UNIT 6u /* .. of rows that another core has written */

struct link {
    const struct morsel_call *call;
    const struct morsel_blob_step *step;
    const struct morsel_blob_tensor *y;
    uint32_t begin, end; /* rows that the task makes */
    struct morsel_held held;
    uint32_t offset; /* of what it holds of them, from one end of its memory: from the front for even links */
};

struct chain {
    const struct morsel_session *session;
    uint32_t first, count;
    struct link links[CHAIN_MOST];
};

static uint32_t aligned(uint32_t bytes) {
    return (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

static void find_links(struct chain *chain, const struct morsel_session *session, uint32_t first, uint32_t count) {
    chain->session = session;
    chain->first = first;
    chain->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct link *link = &chain->links[i];
        link->call = morsel_call_at(session, first + i);
        link->step = morsel_blob_step(session->model, first + i);
        link->y = morsel_blob_output(session->model, link->step);
    }
}

/* The link that writes x; NULL: x was there before. */
static struct link *writer_of(struct chain *chain, const struct morsel_blob_tensor *x) {
    uint32_t i = x->first_step - chain->first; /* what comes before wraps to a huge one */
    return !x->place && i < chain->count ? &chain->links[i] : NULL;
}

/* The rows of every link that rows begin .. end of the last one need. */
static void find_rows(struct chain *chain, uint32_t begin, uint32_t end) {
    for (uint32_t i = 0; i < chain->count; i++) {
        chain->links[i].begin = chain->links[i].y->dims[1];
        chain->links[i].end = 0;
    }
    chain->links[chain->count - 1].begin = begin;
    chain->links[chain->count - 1].end = end;
    for (uint32_t i = chain->count; i-- > 0;) {
        const struct link *link = &chain->links[i];
        for (uint32_t n = 0; n < link->step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(chain->session->model, link->step, n);
            struct link *writer = writer_of(chain, x);
            if (!writer) continue;
            uint32_t from = morsel_call_first(link->call, link->begin), to = morsel_call_end(link->call, link->end, x->dims[1]);
            if (from < writer->begin) writer->begin = from;
            if (to > writer->end) writer->end = to;
        }
    }
}

/* The rows of share `place` of `tasks`. */
static void find_share(struct chain *chain, uint32_t tasks, uint32_t place) {
    uint32_t height = chain->links[chain->count - 1].y->dims[1];
    find_rows(chain, morsel_share_from(height, tasks, place), morsel_share_from(height, tasks, place + 1));
}

static uint32_t held_bytes(const struct link *link) {
    return aligned((link->end - link->begin) * morsel_row_bytes(link->y));
}

static uint32_t padding_row_bytes(const struct chain *chain) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct link *link = &chain->links[i];
        if (morsel_call_padding_row(link->call) && aligned(link->step->scratch_bytes) > most) most = aligned(link->step->scratch_bytes);
    }
    return most;
}

/* Finds places for all rows between the steps, at two ends that take turns: what lies at one may be overwritten once no later step reads
 * it. Returns how many bytes that takes. */
static uint64_t find_places(struct chain *chain) {
    uint64_t used[2] = {padding_row_bytes(chain), 0}, most = used[0];
    uint32_t last[2] = {0, 0}; /* that reads what lies there */
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        uint32_t side = i % 2;
        if (last[side] < chain->first + i) used[side] = side ? 0 : padding_row_bytes(chain);
        chain->links[i].offset = (uint32_t)used[side];
        used[side] += held_bytes(&chain->links[i]);
        if (chain->links[i].y->last_step > last[side]) last[side] = chain->links[i].y->last_step;
        if (used[0] + used[1] > most) most = used[0] + used[1];
    }
    return most;
}

/* --- Running --- */

static struct morsel_held whole_of(const struct morsel_session *session, const struct morsel_blob_tensor *t) {
    struct morsel_held held = {morsel_tensor_place(session->model, session->arena, t), t->dims[1], 0};
    return held;
}

/* Gives every link's rows their place in the task's own memory. */
static void place_rows(struct chain *chain, uint8_t *own, uint8_t *end) {
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        struct link *link = &chain->links[i];
        link->held.data = i % 2 ? end - link->offset - held_bytes(link) : own + link->offset;
        link->held.rows = link->begin < link->end ? link->end - link->begin : 1; /* none is read: places are counted modulo this */
        link->held.first = link->begin;
    }
    struct link *last = &chain->links[chain->count - 1];
    last->held = whole_of(chain->session, last->y);
}

/* Rows of link `index`, of share `place`; `padding_row` is a place for a row of what lies outside the picture. */
static void run_link(struct chain *chain, uint32_t index, uint8_t *padding_row, uint32_t tasks, uint32_t place) {
    const struct link *link = &chain->links[index];
    struct morsel_call call = *link->call;
    struct morsel_held x[2];
    for (uint32_t n = 0; n < link->step->input_count; n++) {
        const struct morsel_blob_tensor *t = morsel_blob_input(chain->session->model, link->step, n);
        const struct link *writer = writer_of(chain, t);
        x[n] = writer ? writer->held : whole_of(chain->session, t);
    }
    if (!morsel_call_padding_row(link->call)) padding_row = NULL;
    else morsel_fill_padding_row(link->call, padding_row);
    if (call.kind == MORSEL_STEP_CONV) { /* each task needs all that is fetched ahead */
        call.args.conv.y.data = link->held.data;
        call.args.conv.prefetch_row = link->begin - link->held.first;
        call.args.conv.prefetch_rows = link->end - link->begin;
        morsel_fetch_share(chain->session, chain->first + index, &call.args.conv, tasks, place);
    }
    morsel_call_rows(&call, x, &link->held, padding_row, link->begin, link->end);
}

struct cut {
    const struct morsel_session *session;
    uint32_t first, count, tasks;
};

static void run_task(void *arg, uint32_t index) {
    const struct cut *cut = arg;
    const struct morsel_session *session = cut->session;
    uint8_t *spare = session->arena + morsel_blob_header(session->model)->arena_bytes;
    uint8_t *end = index ? morsel_band_memory(session, index) + session->band_bytes : spare + session->spare_bytes;
    struct chain chain;
    find_links(&chain, session, cut->first, cut->count);
    uint32_t place = cut->tasks - 1 - index; /* core/run.c says why */
    find_share(&chain, cut->tasks, place);
    uint8_t *own = end - find_places(&chain);
    place_rows(&chain, own, end);
    for (uint32_t i = 0; i < chain.count; i++) run_link(&chain, i, own, cut->tasks, place);
}

void morsel_run_chain(const struct morsel_runner *runner, uint32_t first, uint32_t count) {
    struct cut cut = {runner->session, first, count, runner->session->options.tasks};
    morsel_run_tasks(runner, cut.tasks, run_task, &cut);
}

/* --- Finding them --- */

/* What a plan knows on its way over the steps. */
struct plan {
    const struct morsel_session *session;
    const struct morsel_blob_tensor *moved; /* the last one that was; NULL: none so far */
};

static int is_busy(const struct plan *plan, uint32_t first) {
    return plan->moved && plan->moved->last_step != MORSEL_STEP_BEFORE && plan->moved->last_step >= first;
}

static int may_move(const struct plan *plan, uint32_t first, const struct morsel_blob_tensor *y) {
    return !is_busy(plan, first) && y->last_step != plan->session->step_count && aligned(y->bytes) <= plan->session->spare_bytes;
}

static int is_picture(const struct morsel_blob_tensor *t) {
    return !t->place && t->rank == 4 && t->dims[0] == 1;
}

static int may_stand(const struct morsel_session *session, uint32_t index) {
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    if (morsel_call_at(session, index)->cut || !morsel_check_rows(session->model, step)) return 0;
    for (uint32_t n = 0; n < step->input_count; n++)
        if (!is_picture(morsel_blob_input(session->model, step, n))) return 0;
    return is_picture(morsel_blob_output(session->model, step));
}

/* Whether a chain may end with step `last`: nobody else reads what lies between its steps. */
static int may_end(const struct morsel_session *session, uint32_t first, uint32_t last) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
    for (uint32_t i = first; i < last; i++) {
        uint32_t reader = morsel_blob_output(model, morsel_blob_step(model, i))->last_step;
        if (reader == MORSEL_STEP_BEFORE || reader > last) return 0;
    }
    return !y->ring_rows && morsel_group_last(model, last) == last && y->dims[1] >= session->options.tasks;
}

/* Whether y, of a chain's last step, lies over what other tasks may still read. */
static int covers(const struct plan *plan, uint32_t first, uint32_t last) {
    const struct morsel_model *model = plan->session->model;
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
    for (uint32_t i = first; i <= last; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        for (uint32_t n = 0; n < step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(model, step, n);
            if (x->ring_rows || x->first_step - first <= last - first || morsel_tensor_is_moved(plan->session, x)) continue;
            if (morsel_overlap(x->offset, x->bytes, y->offset, y->bytes)) return 1;
        }
    }
    return 0;
}

/* What tasks hold at most, and their own memory has room for it. */
static int fits(const struct plan *plan, struct chain *chain, int moves) {
    const struct morsel_session *session = plan->session;
    const struct morsel_blob_tensor *front = moves ? chain->links[chain->count - 1].y : is_busy(plan, chain->first) ? plan->moved : NULL;
    uint32_t room = session->spare_bytes - (front ? aligned(front->bytes) : 0);
    if (session->band_bytes < room) room = session->band_bytes;
    for (uint32_t place = 0; place < session->options.tasks; place++) {
        find_share(chain, session->options.tasks, place);
        if (find_places(chain) > room) return 0;
    }
    return 1;
}

/* Work on the rows that a task makes beyond its share, of the task that has most of them. */
static int64_t more_work(struct chain *chain, uint32_t tasks) {
    int64_t most = 0;
    for (uint32_t place = 0; place < tasks; place++) {
        int64_t more = 0;
        find_share(chain, tasks, place);
        for (uint32_t i = 0; i < chain->count; i++) {
            const struct link *link = &chain->links[i];
            uint32_t height = link->y->dims[1], units = link->step->macs_low >> 8 | link->step->macs_high << 24;
            if (link->call->kind == MORSEL_STEP_DEPTHWISE) units *= DEPTHWISE;
            uint32_t share = morsel_share_from(height, tasks, place + 1) - morsel_share_from(height, tasks, place);
            more += ((int64_t)(link->end - link->begin) - share) * (units / height);
        }
        if (more > most) most = more;
    }
    return most;
}

/* What it takes that a step reads rows which other tasks have written, where it goes on from the step before it. */
static int64_t border_of(const struct morsel_session *session, uint32_t index) {
    struct morsel_reach r = morsel_call_reach(morsel_call_at(session, index));
    const struct morsel_blob_tensor *x = morsel_blob_input(session->model, morsel_blob_step(session->model, index), 0);
    if (x->place || x->first_step != index - 1 || r.window <= r.stride) return 0;
    return (int64_t)(r.window - r.stride) * (morsel_row_bytes(x) / BYTES_A_UNIT);
}

/* What a chain saves over handing over each step, less than 0 for a step alone; NONE: it cannot be. */
static int64_t gain_of(const struct plan *plan, uint32_t first, uint32_t last) {
    const struct morsel_session *session = plan->session;
    int64_t gain = last + 1 < session->step_count ? -border_of(session, last + 1) : 0;
    struct chain chain;
    int moves = covers(plan, first, last);
    if (first == last) return gain;
    if (!may_end(session, first, last)) return NONE;
    find_links(&chain, session, first, last - first + 1);
    if (moves && !may_move(plan, first, chain.links[last - first].y)) return NONE;
    if (!fits(plan, &chain, moves)) return NONE;
    for (uint32_t i = first + 1; i <= last; i++) gain += JOB;
    return gain - more_work(&chain, session->options.tasks);
}

/* The last step of the best chain from `first` on; `first`: there is none. A longer one has to be better than a shorter one with another
 * behind it. */
static uint32_t best_end(const struct plan *plan, uint32_t first) {
    uint32_t best = first;
    if (!may_stand(plan->session, first)) return first;
    int64_t best_gain = gain_of(plan, first, first);
    uint32_t end = plan->session->step_count - first < CHAIN_MOST ? plan->session->step_count : first + CHAIN_MOST;
    for (uint32_t last = first + 1; last < end && may_stand(plan->session, last); last++) {
        int64_t gain = gain_of(plan, first, last), other = gain > best_gain ? gain_of(plan, best + 1, last) : NONE;
        if (gain <= best_gain || (other != NONE && best_gain + other >= gain)) continue;
        best = last;
        best_gain = gain;
    }
    return best;
}

/* Gives the output of steps first .. last another place if it must have one and can. */
static void move_output(struct plan *plan, uint32_t first, uint32_t last, int must) {
    const struct morsel_model *model = plan->session->model;
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
    if (!must || !may_move(plan, first, y)) return;
    morsel_call_at(plan->session, last)->cut |= MORSEL_CUT_MOVED;
    plan->moved = y;
}

int morsel_plan_chains(const struct morsel_session *session) {
    struct plan plan = {session, NULL};
    if (session->bands < 2) return 0;
    for (uint32_t i = 0, last; i < session->step_count; i = last + 1) {
        uint32_t group = morsel_blob_step(session->model, i)->group;
        last = session->bands == session->options.tasks ? best_end(&plan, i) : i;
        if (last > i) {
            move_output(&plan, i, last, covers(&plan, i, last));
            for (uint32_t k = i + 1; k <= last; k++) morsel_call_at(session, k)->cut |= MORSEL_CUT_CHAIN;
        } else if (group) {
            last = morsel_group_last(session->model, i);
            move_output(&plan, i, last, morsel_group_covers(session, group - 1));
        }
    }
    return plan.moved != NULL;
}
