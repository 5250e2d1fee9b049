/* SPDX-License-Identifier: MIT */
/* Which elements a strided or irregular move reads, axis by axis. */
#include "tools/float/pick.h"

#include <string.h>

int32_t *pick_axis(struct preparation *p, struct pick *pick, int64_t count) {
    pick->dims[pick->rank] = count;
    return pick->table[pick->rank++] = prepare_alloc(p, (size_t)(count + 1) * sizeof(int32_t));
}

/* Distances are below FLOAT_MOST, the number of elements of the input. */
void pick_even(struct preparation *p, struct pick *pick, int64_t count, int64_t start, int64_t step) {
    int32_t *table = pick_axis(p, pick, count);
    for (int64_t i = 0; i < count; i++) table[i] = (int32_t)(start + i * step);
}

static bool is_even(const int32_t *table, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; i++)
        if (table[i] == PICK_NOTHING || table[i] != table[0] + i * step) return false;
    return true;
}

/* Joins dimensions where that changes nothing. */
static void join(struct pick *pick) {
    if (!pick->rank) return;
    int last = pick->rank - 1;
    pick->straight = is_even(pick->table[last], pick->dims[last], 1);
    /* Neighbours whose rows follow each other: one long row. Its table is needed for its first element alone. */
    while (pick->straight && last && is_even(pick->table[last - 1], pick->dims[last - 1], pick->dims[last])) {
        if (pick->dims[last]) pick->table[last - 1][0] += pick->table[last][0];
        pick->dims[last - 1] *= pick->dims[last];
        pick->rank = last--;
    }
}

static void pick_row(const struct pick *pick, const float *x, float *y) {
    const int32_t *table = pick->table[pick->rank - 1];
    int64_t count = pick->dims[pick->rank - 1];
    if (pick->straight) memcpy(y, x + table[0], (size_t)count * sizeof *y);
    else
        for (int64_t i = 0; i < count; i++) y[i] = table[i] == PICK_NOTHING ? pick->fill : x[table[i]];
}

static void copy_picked(const struct pick *pick, const float *x, float *y) {
    int64_t index[ONNX_MAX_RANK] = {0}, rows = 1, row = pick->rank ? pick->dims[pick->rank - 1] : 1;
    for (int i = 0; i < pick->rank - 1; i++) rows *= pick->dims[i];
    if (!pick->rank) *y = *x;
    for (int64_t k = 0; k < rows && pick->rank && row; k++, y += row) {
        const float *from = x;
        bool nothing = false;
        for (int i = 0; i < pick->rank - 1; i++) {
            nothing = nothing || pick->table[i][index[i]] == PICK_NOTHING;
            from += nothing ? 0 : pick->table[i][index[i]];
        }
        if (nothing)
            for (int64_t i = 0; i < row; i++) y[i] = pick->fill;
        else pick_row(pick, from, y);
        for (int i = pick->rank - 2; i >= 0 && ++index[i] == pick->dims[i]; i--) index[i] = 0;
    }
}

static void run_pick(const void *plan, const struct call *call) {
    copy_picked(plan, call->in[0], call->out[0]);
}

bool pick_use(struct preparation *p, struct pick *pick) {
    struct pick *kept = prepare_alloc(p, sizeof *kept);
    join(pick);
    *kept = *pick;
    p->step->plan = kept;
    p->step->run = run_pick;
    p->reads = 1;
    return true;
}
