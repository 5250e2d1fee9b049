/* SPDX-License-Identifier: MIT */
/* A walk over the elements of a tensor of up to six dimensions, a run of the last dimension at a time. */
#ifndef MORSEL_WALK_H
#define MORSEL_WALK_H

#include "kernels.h"

#include <string.h>

struct morsel_walk {
    uint32_t rank;
    const uint32_t *dims;
    uint32_t at[MORSEL_KERNEL_MAX_RANK];
    uint32_t begin, end; /* elements left */
};

static inline void morsel_walk_start(struct morsel_walk *w, const uint32_t *dims, uint32_t rank, uint32_t begin, uint32_t end) {
    w->rank = rank;
    w->dims = dims;
    w->begin = begin;
    w->end = end;
    for (uint32_t k = rank, rest = begin; k-- > 0; rest /= dims[k]) w->at[k] = rest % dims[k];
}

/* How many elements from here stand in the same line of the last dimension. 0 at the end. */
static inline uint32_t morsel_walk_run(const struct morsel_walk *w) {
    uint32_t line = w->dims[w->rank - 1] - w->at[w->rank - 1], left = w->end - w->begin;
    return line < left ? line : left;
}

/* Past a run of n elements. */
static inline void morsel_walk_next(struct morsel_walk *w, uint32_t n) {
    w->begin += n;
    w->at[w->rank - 1] += n;
    for (uint32_t k = w->rank; k-- > 1 && w->at[k] == w->dims[k];) {
        w->at[k] = 0;
        w->at[k - 1]++;
    }
}

static inline uint32_t morsel_walk_offset(const struct morsel_walk *w, const uint32_t *stride) {
    uint32_t offset = 0;
    for (uint32_t k = 0; k < w->rank; k++) offset += w->at[k] * stride[k];
    return offset;
}

/* What an operand of bytes is along a line: its elements side by side, or the same one everywhere. */
struct morsel_operand {
    const uint8_t *x;
    uint32_t step;      /* bytes from a piece to the next, or 0 */
    uint8_t copies[32]; /* of the element that repeats */
};

typedef void morsel_pair_fn(const struct morsel_binary_args *args, const void *how, const struct morsel_operand *a,
                            const struct morsel_operand *b, uint32_t at, uint32_t n);

/* Elements begin .. end of two operands of bytes by `fn`, in pieces of at most 32 bytes: all at once where none repeats, else line by line,
 * with n elements from `at` on. By `plain` where morsel_lines_refusal() does. */
void morsel_for_pairs(const struct morsel_binary_args *args, uint32_t begin, uint32_t end, uint32_t piece, morsel_pair_fn *fn,
                      const void *how, morsel_binary_fn *plain);

#endif
