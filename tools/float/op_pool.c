/* SPDX-License-Identifier: MIT */
/* MaxPool and AveragePool, in one and two dimensions, channel by channel over planes. */
#include "tools/float/planes.h"

#include <math.h>
#include <string.h>

struct pool {
    const struct loops *loops;
    struct planes planes;
    int64_t channels, area, results; /* of all pictures; of one channel in and out */
    const float *ones;               /* [taps] */
    const float *rows, *columns;     /* how many of each a window counts, by row and column of the output */
};

static void run_largest(const void *plan, const struct call *call) {
    const struct pool *p = plan;
    for (int64_t i = 0; i < p->channels; i++) {
        const float *const *taps = planes_cut(&p->planes, call->in[0] + i * p->area, -INFINITY, call->scratch);
        float *line = planes_line(&p->planes, call->scratch);
        p->loops->largest(taps, p->planes.taps, line, p->planes.line);
        planes_collect(&p->planes, line, call->out[0] + i * p->results);
    }
}

static void run_average(const void *plan, const struct call *call) {
    const struct pool *p = plan;
    for (int64_t i = 0; i < p->channels; i++) {
        const float *const *taps = planes_cut(&p->planes, call->in[0] + i * p->area, 0, call->scratch);
        float *line = planes_line(&p->planes, call->scratch), *y = call->out[0] + i * p->results;
        p->loops->taps(taps, p->ones, p->planes.taps, 0, line, p->planes.line);
        planes_collect(&p->planes, line, y);
        for (int64_t r = 0; r < p->planes.y.out; r++, y += p->planes.x.out)
            for (int64_t c = 0; c < p->planes.x.out; c++) y[c] /= p->rows[r] * p->columns[c];
    }
}

/* How many taps of each window along an axis count: those on the input, and where padding counts those on it. */
static const float *count_taps(struct preparation *p, const struct planes_axis *a, int64_t pad_end, bool count_pad) {
    float *counts = prepare_alloc(p, (size_t)(a->out + 1) * sizeof *counts);
    int64_t low = count_pad ? -a->pad : 0, high = a->in + (count_pad ? pad_end : 0);
    for (int64_t i = 0; i < a->out; i++)
        for (int64_t t = 0; t < a->kernel; t++) {
            int64_t at = i * a->stride + t * a->dilation - a->pad;
            counts[i] += at >= low && at < high;
        }
    return counts;
}

bool prepare_pool(struct preparation *p) {
    struct pool *pool = prepare_alloc(p, sizeof *pool);
    struct onnx_window window;
    struct geometry g;
    if (!geometry_read(p, NULL, &window, &g) || !planes_prepare(p, &g, &pool->planes)) return false;
    const struct onnx_shape *x = shape_in(p, 0);
    pool->loops = loops_here();
    pool->channels = x->dims[0] * x->dims[1];
    pool->area = g.height * g.width;
    pool->results = g.out_height * g.out_width;
    p->step->plan = pool;
    p->step->run = run_largest;
    if (!strcmp(p->node->op, "MaxPool")) return true;
    float *ones = prepare_alloc(p, pool->planes.taps * sizeof *ones);
    for (size_t t = 0; t < pool->planes.taps; t++) ones[t] = 1;
    int last = window.rank - 1;
    pool->ones = ones;
    pool->columns = count_taps(p, &pool->planes.x, window.pad_end[last], window.count_include_pad);
    pool->rows = count_taps(p, &pool->planes.y, last ? window.pad_end[0] : 0, window.count_include_pad);
    p->step->run = run_average;
    return true;
}
