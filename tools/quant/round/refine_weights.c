/* SPDX-License-Identifier: MIT */
/*
 * One output has weights w (in units of their scale) and integers q. The mean squared error of its sums is, but for a constant,
 *
 *     q' C q - 2 q' D w        C = covariance of b and b,  D = covariance of b and u = b + e
 *
 * A little of the plain squared error |q - w|^2 is added, so that elements that hardly vary over the data stay near their weights.
 */
#include "tools/base/arena.h"
#include "tools/quant/round/refine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 6 };
#define PLAIN_SHARE 0.03

struct rounding {
    const struct moments *m;
    const float *exact;
    int8_t *values;
    const double *c, *d; /* of one group: [length][length] */
    int most;
};

/* Sums over patches become covariances, in place: second_bb is C, second_eb becomes D; the plain share goes on both diagonals. */
static void make_covariances(struct moments *m) {
    int64_t n = m->patch.length;
    for (int64_t g = 0; g < m->patch.groups; g++) {
        double *c = m->second_bb + g * n * n, *d = m->second_eb + g * n * n, trace = 0;
        const double *b = m->some_b + g * n, *e = m->some_e + g * n;
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) {
                c[j * n + k] = c[j * n + k] / m->second_count - b[j] / m->second_count * (b[k] / m->second_count);
                d[j * n + k] =
                    (d[j * n + k] / m->second_count - e[j] / m->second_count * (b[k] / m->second_count)) / MOMENTS_STEPS + c[j * n + k];
            }
            trace += c[j * n + j];
        }
        double share = PLAIN_SHARE * trace / (double)n;
        for (int64_t j = 0; j < n; j++) {
            c[j * n + j] += share;
            d[j * n + j] += share;
        }
    }
}

/* The gradient's half: slope[k] = sum over j of q[j] C[j][k] - w[j] D[j][k]; second_eb is [e][b], so j runs over its rows. */
static void find_slope(const struct rounding *r, const double *w, const double *q, double *slope) {
    int64_t n = r->m->patch.length;
    memset(slope, 0, (size_t)n * sizeof *slope);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) slope[k] += q[j] * r->c[j * n + k] - w[j] * r->d[j * n + k];
}

/* Each weight in turn takes the integer that is best while the others stay. How many changed. */
static int sweep(const struct rounding *r, double *q, double *slope) {
    int64_t n = r->m->patch.length;
    int changed = 0;
    for (int64_t k = 0; k < n; k++) {
        double curve = r->c[k * n + k];
        if (!(curve > 0)) continue;
        double best = rint(q[k] - slope[k] / curve), change;
        best = fmax(fmin(best, r->most), -r->most);
        change = best - q[k];
        if (change == 0) continue;
        for (int64_t j = 0; j < n; j++) slope[j] += change * r->c[k * n + j];
        q[k] = best;
        changed++;
    }
    return changed;
}

static void round_row(struct rounding *r, int64_t group, int64_t row) {
    const struct patch *p = &r->m->patch;
    int64_t n = p->length, first = group * p->weight_group + row * p->weight_row;
    double *w = must_calloc((size_t)n * 3, sizeof *w);
    double *q = w + n, *slope = q + n;
    for (int64_t k = 0; k < n; k++) {
        w[k] = (double)r->exact[first + k * p->weight_column];
        q[k] = r->values[first + k * p->weight_column];
    }
    find_slope(r, w, q, slope);
    for (int i = 0; i < SWEEPS && sweep(r, q, slope); i++) continue;
    for (int64_t k = 0; k < n; k++) r->values[first + k * p->weight_column] = (int8_t)q[k];
    free(w);
}

struct task {
    struct rounding *rounding;
    int64_t group;
};

static void round_task(void *context, uint32_t row) {
    struct task *task = context;
    round_row(task->rounding, task->group, row);
}

void refine_weights(struct scheme_layer *layer, struct moments *m, struct pool *pool) {
    struct rounding r = {.m = m, .values = layer->values, .most = layer->most};
    float *exact = must_calloc(layer->weights->count, sizeof *exact);
    scheme_exact_weights(layer, exact);
    make_covariances(m);
    r.exact = exact;
    int64_t square = m->patch.length * m->patch.length;
    for (int64_t g = 0; g < m->patch.groups; g++) {
        struct task task = {&r, g};
        r.c = m->second_bb + g * square;
        r.d = m->second_eb + g * square;
        if (m->patch.rows > 1) pool_run(pool, (uint32_t)m->patch.rows, round_task, &task);
        else round_row(&r, g, 0);
    }
    free(exact);
}
