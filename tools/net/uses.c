/* SPDX-License-Identifier: MIT */
/* Makers and readers of values are counted once for all steps, and kept right where a step becomes another. */
#include "tools/net/uses.h"

#include "tools/net/plan/plan.h"

#include <float.h>

struct net_uses net_uses_of(struct net *net) {
    plan_drop_dead_steps(net);
    struct net_uses uses = {net_alloc(net, (net->buffer_count + 1) * sizeof *uses.producers),
                            net_alloc(net, (net->buffer_count + 1) * sizeof *uses.readers)};
    for (uint32_t i = 0; i < net->step_count; i++) {
        const struct net_step *step = net->steps[i];
        uses.producers[step->output->index] = net->steps[i];
        for (uint32_t k = 0; k < step->input_count; k++) uses.readers[step->inputs[k]->index]++;
    }
    for (uint32_t i = 0; i < net->output_count; i++) uses.readers[net->outputs[i].buffer->index]++;
    return uses;
}

bool net_is_unlimited(float low, float high) {
    return low <= -FLT_MAX && high >= FLT_MAX;
}

void net_become(struct net_uses *uses, struct net_step *step, enum morsel_step_kind kind, struct net_buffer *x) {
    for (uint32_t k = 0; k < step->input_count; k++) uses->readers[step->inputs[k]->index]--;
    uses->readers[x->index]++;
    step->kind = kind;
    step->inputs[0] = x;
    step->input_count = 1;
    step->constant_count = 0;
    step->parameters = (union net_parameters){.words = {0}};
}
