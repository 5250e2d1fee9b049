/* SPDX-License-Identifier: MIT */
/*
 * What convolutions fetch into the caches while they compute: constants of the steps after them.
 *
 * A run reads every constant of a network once, in the order in which a blob usually holds them. Most networks have more of them than a
 * second-level cache holds. On small pictures each weight is used so seldom that waiting for it costs more than multiplying it.
 * So a convolution with such weights, or in front of one, gets a piece of the blob to fetch in step with its own work. The pieces follow
 * one another and end at most PREFETCH bytes behind the step's own constants; none is longer than what memory gives while the step runs.
 *
 * Steps of a group take turns of a few rows, and fetch nothing.
 *
 * Where tasks share the weights that come next, each fetches of its own share.
 *
 * They are hints. No result depends on them, and a blob in another order only runs without.
 */
#include "plan.h"

#define PREFETCH 262144u /* bytes; a part of a second-level cache */
#define FEW_USES 128u    /* of a weight: below, fetching pays */
#define MACS_A_BYTE 16u  /* of a convolution, while memory gives a byte */

/* The constants of step `index`; NULL for a step of another kind. */
static const int8_t *constants_of(const struct morsel_session *session, uint32_t index) {
    const struct morsel_call *call = morsel_call_at(session, index);
    if (call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE) return call->args.conv.weights;
    return call->kind == MORSEL_STEP_FC ? call->args.fc.weights : NULL;
}

/* Where, in the blob, the constants of the steps from `index` on begin; its end where there are none. */
static uint32_t constants_from(const struct morsel_session *session, uint32_t index) {
    const uint8_t *blob = session->model->blob;
    for (; index < session->step_count; index++)
        if (constants_of(session, index)) return (uint32_t)((const uint8_t *)constants_of(session, index) - blob);
    return morsel_blob_header(session->model)->blob_bytes;
}

static uint64_t macs_of(const struct morsel_session *session, uint32_t index) {
    return morsel_step_macs(morsel_blob_step(session->model, index));
}

/* Whether the next convolution or product from `index` on uses its weights seldom. */
static int waits(const struct morsel_session *session, uint32_t index) {
    for (; index < session->step_count; index++) {
        uint32_t kind = morsel_call_at(session, index)->kind;
        if (kind == MORSEL_STEP_FC) return 1;
        if (kind != MORSEL_STEP_CONV) continue;
        uint32_t own = constants_from(session, index), next = constants_from(session, index + 1);
        return next > own && macs_of(session, index) < (uint64_t)FEW_USES * (next - own);
    }
    return 0;
}

static uint32_t least(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t ab = a < b ? a : b;
    return (uint32_t)(ab < c ? ab : c);
}

/* How far behind step `index` the next one with constants stands, if as many tasks share its weights; 0: it does not, or too far. */
static uint32_t sharer_behind(const struct morsel_session *session, uint32_t index) {
    const struct morsel_call *own = morsel_call_at(session, index);
    for (uint32_t i = 1; i <= MORSEL_MOST_FETCH && index + i < session->step_count; i++) {
        const struct morsel_call *call = morsel_call_at(session, index + i);
        if (!constants_of(session, index + i)) continue;
        int shares =
            call->kind == MORSEL_STEP_FC ? call->args.fc.rows == 1 : call->kind == MORSEL_STEP_CONV && call->split == MORSEL_SPLIT_BLOCKS;
        return shares && call->tasks == own->tasks && constants_of(session, index + i) > own->args.conv.weights ? i : 0;
    }
    return 0;
}

/* Where tasks share a convolution, each prefetches in step with its own rows or blocks, and of shared weights only what will be its own:
 * then `prefetch` is where all of them begin, `prefetch_bytes` what a task fetches of them at most. */
static void share_prefetch(const struct morsel_session *session, uint32_t index) {
    struct morsel_call *call = morsel_call_at(session, index);
    struct morsel_conv_args *a = &call->args.conv;
    if (call->kind != MORSEL_STEP_CONV || call->tasks < 2 || call->mode == MORSEL_MODE_GROUP) return;
    if (call->mode == MORSEL_MODE_STEPS && call->split != MORSEL_SPLIT_BLOCKS) {
        if (!a->prefetch_bytes || call->units != a->window.out_h) return;
        call->split = MORSEL_SPLIT_FETCH;
    }
    call->fetch = sharer_behind(session, index);
    if (!call->fetch) return;
    a->prefetch = (uint32_t)(constants_of(session, index + call->fetch) - a->weights);
    a->prefetch_bytes = least(least(macs_of(session, index) / MACS_A_BYTE, UINT32_MAX, UINT32_MAX) / call->tasks, PREFETCH, PREFETCH);
}

void morsel_plan_prefetch(const struct morsel_session *session) {
    const struct morsel_model *model = session->model;
    uint32_t end = morsel_blob_header(model)->blob_bytes, fetched = 0;
    for (uint32_t i = 0; i < session->step_count; i++) {
        struct morsel_conv_args *a = &morsel_call_at(session, i)->args.conv;
        uint32_t own = constants_from(session, i), next = constants_from(session, i + 1), from = fetched > own ? fetched : next;
        if (morsel_call_at(session, i)->kind != MORSEL_STEP_CONV || next < own || morsel_blob_step(model, i)->group) continue;
        if (!waits(session, i) && !waits(session, i + 1)) continue;
        uint32_t to = least((uint64_t)next + PREFETCH, from + macs_of(session, i) / MACS_A_BYTE, end);
        if (to <= from) continue;
        a->prefetch = from - own;
        a->prefetch_bytes = to - from;
        fetched = to;
    }
    for (uint32_t i = 0; i < session->step_count; i++) share_prefetch(session, i);
}
