/* SPDX-License-Identifier: MIT */
/* All choices of a session, in their order. */
#include "plan.h"
#include "prepare.h"

#include <string.h>

static void fill_calls(const struct morsel_session *session, const struct morsel_kernels *kernels, const struct morsel_kernels *plain) {
    for (uint32_t i = 0; i < session->step_count; i++) morsel_prepare(morsel_call_at(session, i), session, kernels, plain, i);
}

void morsel_plan(const struct morsel_session *session) {
    struct morsel_kernels kernels, plain;
    morsel_kinds_kernels(&kernels, session->cpu);
    morsel_kinds_kernels(&plain, 0);
    for (uint32_t i = 0; i < session->step_count; i++) memset(morsel_call_at(session, i), 0, offsetof(struct morsel_call, args));
    fill_calls(session, &kernels, &plain);
    if (morsel_plan_split(session, kernels.strided_pixels)) fill_calls(session, &kernels, &plain);
    morsel_plan_room(session);
    if (MORSEL_OWN_KERNELS) morsel_plan_prefetch(session);
}
