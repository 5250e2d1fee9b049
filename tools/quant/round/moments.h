/* SPDX-License-Identifier: MIT */
/*
 * What layers read over the data, before and after their input is rounded to bytes: averages of the patches, and how their elements vary
 * together. Kept in integers (of doubles that hold integers), so that neither the order of samples nor threads change a bit.
 *
 * An input x is seen as u = x / scale, limited to four widths beyond the range, and in bytes as b = clamp(round(u) + zero) - zero.
 */
#ifndef MORSEL_TOOLS_QUANT_ROUND_MOMENTS_H
#define MORSEL_TOOLS_QUANT_ROUND_MOMENTS_H

#include "tools/float/executor.h"
#include "tools/samples/data/data.h"
#include "tools/quant/round/patch.h"

#include <pthread.h>

struct moments {
    const struct scheme_layer *layer;
    struct patch patch;
    bool known;              /* false: the layer is of a kind without patches, and nothing else here is set */
    double count;            /* patches that first_* are sums over, by group */
    double *first_u;         /* [groups][length]: sums of u, in units of 1 / MOMENTS_FINE */
    double *first_b;         /* the same of b */
    bool second;             /* false: nothing of what follows is kept */
    double second_count;     /* patches that second_* and some_* are sums over: every so many positions, the same ones each time */
    double *some_b, *some_e; /* [groups][length]: sums of b, and of e = u - b in units of 1 / MOMENTS_STEPS */
    double *second_bb;       /* [groups][length][length]: sums of b[j] * b[k] */
    double *second_eb;       /* sums of e[j] * b[k] */
    pthread_mutex_t lock;
};

enum { MOMENTS_FINE = 1 << 12, MOMENTS_STEPS = 16 };

struct moments_wish {
    const struct scheme *scheme;
    const struct executor *executor;
    const struct quant_data *data;
    unsigned threads;
    size_t first, count; /* layers */
    int64_t second_most; /* second moments of layers whose patches have so many elements at most */
};

/* Of layers first .. first + count - 1: an array of `count`. NULL: a failure. */
struct moments *moments_collect(const struct moments_wish *wish, struct failure *failure);
void moments_free(struct moments *moments, size_t count); /* NULL is legal */

/* Bytes that the second moments of a layer take, if they are wanted. */
size_t moments_bytes(const struct scheme_layer *layer, int64_t second_most);

#endif
