/* SPDX-License-Identifier: MIT */
/* What a step reads to make a row. */
#include "tools/net/plan/plan_groups.h"

#include <string.h>

bool plan_reach(const struct net_step *step, struct morsel_reach *reach) {
    const struct net_buffer *y = step->output;
    if (y->rank != 4) return false;
    for (uint32_t k = 0; morsel_kinds[step->kind]->rows == MORSEL_ROWS_SAME && k < step->input_count; k++) {
        const struct net_buffer *x = step->inputs[k];
        if (x->constant || x->rank != 4 || memcmp(x->dims, y->dims, 4 * sizeof *x->dims) != 0) return false;
    }
    if (!morsel_kind_streams(step->kind, &step->parameters, step->input_count, y->dims[2] * y->dims[3])) return false;
    *reach = morsel_kind_reach(step->kind, &step->parameters);
    return true;
}
