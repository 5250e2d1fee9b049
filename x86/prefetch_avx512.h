/* SPDX-License-Identifier: MIT */
/*
 * Prefetches of constants of later steps (core/plan_prefetch.c) in the loops of a kernel. Each turn asks for the cache lines at `at`, which
 * then goes on by `step` bytes: the piece is done when the turns are. It may end a little past the piece. To ask for an address that is not
 * there does nothing.
 */
#ifndef MORSEL_PREFETCH_AVX512_H
#define MORSEL_PREFETCH_AVX512_H

#include "../kernels/kernels.h"

#include <immintrin.h>

struct morsel_prefetch {
    uintptr_t at;
    size_t step; /* at most 128, two lines */
};

/* Parts begin .. end of `parts`, in `turns` turns. */
static inline struct morsel_prefetch morsel_prefetch(const struct morsel_conv_args *a, size_t begin, size_t end, size_t parts,
                                                     size_t turns) {
    size_t from = (size_t)((uint64_t)a->prefetch_bytes * begin / parts), to = (size_t)((uint64_t)a->prefetch_bytes * end / parts);
    size_t step = (to - from) / turns + 1;
    struct morsel_prefetch f = {(uintptr_t)a->weights + a->prefetch + from, step < 128 ? step : 128};
    return f;
}

static inline __attribute__((always_inline)) void morsel_prefetch_lines(struct morsel_prefetch *f) {
    _mm_prefetch((const char *)f->at, _MM_HINT_T1);
    _mm_prefetch((const char *)(f->at + 64), _MM_HINT_T1);
    f->at += f->step;
}

#endif
