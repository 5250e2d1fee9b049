/* SPDX-License-Identifier: MIT */
/*
 * Groups and chains: in how many tasks they run, and which steps make a chain.
 *
 * In a chain a task makes by itself all rows that its rows of the last step need, so that some are made twice. What lies between the
 * steps is its own and lies behind the planned arena: only the inputs and the output of a chain travel between cores. Chains are found
 * where that is estimated to cost less than waiting. Groups stand in a chain as a whole: their rings are then as long as a task's rows,
 * and there are no turns.
 *
 * Tasks write the output of a chain, or of a group of several bands, while others still read what it is made from. Where the plan has it
 * lie over such an input it is moved to the spare memory. One tensor at a time lies there, at its front; what the first task holds of a
 * chain ends where the spare memory does. A group whose output cannot be moved runs in one task.
 */
#include "check.h"
#include "plan.h"
#include "run.h"
#include "way.h"

#define LEAST_ROWS 3u /* of a group's band: shorter ones would make too many rows twice */
#define NONE INT64_MIN

/* What it takes to hand a step over, in units of 256 multiplications: */
#define JOB 512u        /* .. calling all tasks, and waiting for the last */
#define DEPTHWISE 4u    /* .. a unit of a depthwise convolution, whose multiplications take longer */
#define BYTES_A_UNIT 6u /* .. of rows that another core has written */

/* --- Memory --- */

uint32_t morsel_band_bytes(const struct morsel_model *model) {
    /* Rings and scratch of a group do not overlap in the arena, so their sum is below 2^31: core/check_plan.c refuses what does. */
    uint32_t most = 0, bytes = 0;
    for (uint32_t i = 0; i < morsel_blob_header(model)->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
        if (!i || !step->group || step->group != morsel_blob_step(model, i - 1)->group) bytes = 0;
        bytes += morsel_aligned(step->scratch_bytes) + (y->ring_rows ? morsel_aligned(morsel_slice_bytes(y)) : 0);
        if (bytes > most) most = bytes;
    }
    return most;
}

uint32_t morsel_spare_bytes(const struct morsel_model *model) {
    uint32_t most = morsel_band_bytes(model);
    for (uint32_t i = 0; i < morsel_blob_header(model)->groups.count; i++) {
        uint32_t first = morsel_blob_group(model, i)->first_step, last = morsel_group_last(model, first);
        const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
        if (morsel_aligned(y->bytes) > most && morsel_covered_input(model, first, last, y, NULL)) most = morsel_aligned(y->bytes);
    }
    return most;
}

/* --- Moving outputs --- */

static int is_busy(const struct morsel_moves *plan, uint32_t first) {
    return plan->moved && plan->moved->last_step != MORSEL_STEP_BEFORE && plan->moved->last_step >= first;
}

static int may_move(const struct morsel_moves *plan, uint32_t first, const struct morsel_blob_tensor *y) {
    return !is_busy(plan, first) && y->last_step != plan->session->step_count && morsel_aligned(y->bytes) <= plan->session->spare_bytes;
}

/* Whether the output of steps first .. last lies over what other tasks may still read. Of the outputs that were moved only the last one
 * may still be read. */
static int covers(const struct morsel_moves *plan, uint32_t first, uint32_t last) {
    const struct morsel_model *model = plan->session->model;
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
    return morsel_covered_input(model, first, last, y, plan->moved) != NULL;
}

/* Gives it another place if it must have one and can; returns whether it still must. */
static int move_output(struct morsel_moves *plan, uint32_t first, uint32_t last) {
    const struct morsel_model *model = plan->session->model;
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, last));
    if (!covers(plan, first, last)) return 0;
    if (!may_move(plan, first, y)) return 1;
    morsel_call_at(plan->session, last)->moved = 1;
    plan->moved = y;
    return 0;
}

/* --- Finding chains --- */

/* The rows of share `place`. */
static void find_share(const struct morsel_stages *chain, uint32_t tasks, uint32_t place) {
    uint32_t height = morsel_stage_tensor(chain, chain->count - 1)->dims[1];
    morsel_find_stage_rows(chain, morsel_share_from(height, tasks, place), morsel_share_from(height, tasks, place + 1));
}

static int is_picture(const struct morsel_blob_tensor *t) {
    return !t->place && t->rank == 4 && t->dims[0] == 1;
}

static int may_stand(const struct morsel_session *session, uint32_t index) {
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    if (morsel_call_at(session, index)->split != MORSEL_SPLIT_UNITS || !morsel_check_rows(session->model, step)) return 0;
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

/* What tasks hold at most, and their own memory has room for it. */
static int fits(const struct morsel_moves *plan, const struct morsel_stages *chain, int moves) {
    const struct morsel_session *session = plan->session;
    const struct morsel_blob_tensor *front = moves                         ? morsel_stage_tensor(chain, chain->count - 1)
                                             : is_busy(plan, chain->first) ? plan->moved
                                                                           : NULL;
    uint32_t room = session->spare_bytes - (front ? morsel_aligned(front->bytes) : 0);
    if (session->band_bytes < room) room = session->band_bytes;
    for (uint32_t place = 0; place < session->options.tasks; place++) {
        find_share(chain, session->options.tasks, place);
        if (morsel_find_chain_places(chain, NULL) > room) return 0;
    }
    return 1;
}

/* Work on the rows of a stage beyond a share of its height. Units come from what the blob states, any 32 bits: rows and share are at most
 * the height, so that this is less than 2^32 either way. Proven: tests/prove, more_rows. */
static int64_t more_rows(const struct morsel_stage *s, const struct morsel_blob_step *step, uint32_t height, uint32_t share) {
    uint32_t units = step->macs_low >> 8 | step->macs_high << 24;
    if (step->kind == MORSEL_STEP_DEPTHWISE) units *= DEPTHWISE;
    return ((int64_t)(s->end - s->begin) - share) * (units / height);
}

/* The same of all stages, of the task that has most of it. */
static int64_t more_work(const struct morsel_stages *chain, uint32_t tasks) {
    int64_t most = 0;
    for (uint32_t place = 0; place < tasks; place++) {
        int64_t more = 0;
        find_share(chain, tasks, place);
        for (uint32_t i = 0; i < chain->count; i++) {
            uint32_t height = morsel_stage_tensor(chain, i)->dims[1];
            uint32_t share = morsel_share_from(height, tasks, place + 1) - morsel_share_from(height, tasks, place);
            more += more_rows(&chain->stage[i], morsel_stage_step(chain, i), height, share);
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
static int64_t gain_of(const struct morsel_moves *plan, uint32_t first, uint32_t last) {
    const struct morsel_session *session = plan->session;
    int64_t gain = last + 1 < session->step_count ? -border_of(session, last + 1) : 0;
    struct morsel_stage stage[MORSEL_MOST_CHAIN];
    struct morsel_stages chain = {session, first, last - first + 1, 0, stage};
    int moves = covers(plan, first, last);
    if (first == last) return gain;
    if (!may_end(session, first, last)) return NONE;
    morsel_link_stages(session, first, chain.count);
    if (moves && !may_move(plan, first, morsel_stage_tensor(&chain, last - first))) return NONE;
    if (!fits(plan, &chain, moves)) return NONE;
    for (uint32_t i = first + 1; i <= last; i++) gain += JOB;
    return gain - more_work(&chain, session->options.tasks);
}

/* The last step of the best chain from `first` on; `first`: there is none. A longer one has to be better than a shorter one with another
 * behind it. */
static uint32_t best_end(const struct morsel_moves *plan, uint32_t first) {
    uint32_t best = first;
    if (!may_stand(plan->session, first)) return first;
    int64_t best_gain = gain_of(plan, first, first);
    uint32_t end = plan->session->step_count - first < MORSEL_MOST_CHAIN ? plan->session->step_count : first + MORSEL_MOST_CHAIN;
    for (uint32_t last = first + 1; last < end && may_stand(plan->session, last); last++) {
        int64_t gain = gain_of(plan, first, last), other = gain > best_gain ? gain_of(plan, best + 1, last) : NONE;
        if (gain <= best_gain || (other != NONE && best_gain + other >= gain)) continue;
        best = last;
        best_gain = gain;
    }
    return best;
}

/* --- Entries --- */

static void make_entry(const struct morsel_session *session, uint32_t first, uint32_t last, enum morsel_mode mode, uint32_t tasks) {
    morsel_link_stages(session, first, last - first + 1);
    for (uint32_t i = first; i <= last; i++) {
        struct morsel_call *call = morsel_call_at(session, i);
        call->mode = mode;
        call->count = (last + 1 - i) & MORSEL_MOST_COUNT;
        call->tasks = (uint16_t)tasks;
        call->own_padding_row = 1;
    }
}

uint32_t morsel_make_group(struct morsel_moves *plan, uint32_t first) {
    const struct morsel_session *session = plan->session;
    uint32_t last = morsel_group_last(session->model, first);
    const struct morsel_blob_tensor *y = morsel_blob_output(session->model, morsel_blob_step(session->model, last));
    uint32_t most = y->dims[0] * y->dims[1] / LEAST_ROWS, tasks = session->bands < most ? session->bands : most;
    if (session->bands < 2 || session->watch || move_output(plan, first, last)) tasks = 1;
    make_entry(session, first, last, MORSEL_MODE_GROUP, tasks ? tasks : 1);
    return last;
}

/* Of the best chain, if there is one. */
static uint32_t make_chain(struct morsel_moves *plan, uint32_t first) {
    uint32_t last = best_end(plan, first);
    if (last == first) return first;
    move_output(plan, first, last);
    make_entry(plan->session, first, last, MORSEL_MODE_CHAIN, plan->session->options.tasks);
    return last;
}

const struct morsel_way morsel_way_tasks = {.run = morsel_run_chain,
                                            .make = make_chain,
                                            .cut = morsel_cut_by_channels,
                                            .share = morsel_share_steps,
                                            .bands = morsel_count_bands,
                                            .steps = morsel_run_shares,
                                            .start = morsel_start_tasks};

int morsel_plan_chains(const struct morsel_session *session) {
    struct morsel_moves plan = {session, NULL};
    int may_chain = session->options.tasks > 1 && session->bands == session->options.tasks && !session->watch;
    for (uint32_t i = 0, last; i < session->step_count; i = last + 1) {
        last = may_chain ? morsel_ways[MORSEL_MODE_CHAIN]->make(&plan, i) : i;
        if (last == i && morsel_blob_step(session->model, i)->group) last = morsel_ways[MORSEL_MODE_GROUP]->make(&plan, i);
    }
    return plan.moved != NULL;
}
