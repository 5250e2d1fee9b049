/* SPDX-License-Identifier: MIT */
/* All choices of a session, in their order. */
#include "plan.h"
#include "prepare.h"

#include <string.h>

static void fill_calls(const struct morsel_session *session, const struct morsel_kernels *kernels) {
    for (uint32_t i = 0; i < session->step_count; i++) morsel_prepare(morsel_call_at(session, i), session, kernels, i);
}

void morsel_plan(const struct morsel_session *session) {
    struct morsel_kernels kernels;
    morsel_kernels_choose(&kernels, session->cpu);
    for (uint32_t i = 0; i < session->step_count; i++) memset(morsel_call_at(session, i), 0, offsetof(struct morsel_call, args));
    fill_calls(session, &kernels);
    if (morsel_plan_split(session, kernels.strided_pixels)) fill_calls(session, &kernels);
    morsel_plan_prefetch(session);
}
