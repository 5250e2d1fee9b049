/* SPDX-License-Identifier: MIT */
/* Over axes: ReduceMean and its kin, global pools, ArgMax and ArgMin, Softmax and LogSoftmax, LpNormalization. Sums are kept in double. */
#include "tools/onnx/exp.h"
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

enum reduction { SUM, MEAN, LARGEST, SMALLEST, PRODUCT, L1, L2, SQUARES, LOG_SUM, LOG_SUM_EXP };

static const struct {
    const char *name;
    enum reduction how;
} reductions[] = {
    {"ReduceSum", SUM},
    {"ReduceMean", MEAN},
    {"ReduceMax", LARGEST},
    {"ReduceMin", SMALLEST},
    {"ReduceProd", PRODUCT},
    {"ReduceL1", L1},
    {"ReduceL2", L2},
    {"ReduceSumSquare", SQUARES},
    {"ReduceLogSum", LOG_SUM},
    {"ReduceLogSumExp", LOG_SUM_EXP},
    {"GlobalAveragePool", MEAN},
    {"GlobalMaxPool", LARGEST},
};

struct reduce {
    enum reduction how;
    struct onnx_shape x;
    int64_t strides[1][ONNX_MAX_RANK]; /* where each element of x goes */
    int64_t results, each;
};

static double join(enum reduction how, double sum, double x) {
    switch (how) {
    case LARGEST: return x > sum || isnan(x) ? x : sum;
    case SMALLEST: return x < sum || isnan(x) ? x : sum;
    case PRODUCT: return sum * x;
    case L1: return sum + fabs(x);
    case L2:
    case SQUARES: return sum + x * x;
    case LOG_SUM_EXP: return sum + exp(x);
    default: return sum + x;
    }
}

static double first_sum(enum reduction how) {
    return how == LARGEST ? -INFINITY : how == SMALLEST ? INFINITY : how == PRODUCT;
}

static float finish(enum reduction how, double sum, int64_t each) {
    switch (how) {
    case MEAN: return (float)(sum / (double)each);
    case L2: return (float)sqrt(sum);
    case LOG_SUM:
    case LOG_SUM_EXP: return (float)log(sum);
    default: return (float)sum;
    }
}

static void reduce_line(enum reduction how, const float *x, int64_t count, int64_t step, double *sums) {
    if (how == SUM || how == MEAN)
        for (int64_t i = 0; i < count; i++) sums[i * step] += (double)x[i];
    else
        for (int64_t i = 0; i < count; i++) sums[i * step] = join(how, sums[i * step], (double)x[i]);
}

static void run_reduce(const void *plan, const struct call *call) {
    const struct reduce *r = plan;
    struct onnx_shape outer = r->x;
    double *sums = (double *)(void *)call->scratch;
    int64_t index[ONNX_MAX_RANK] = {0}, at[1] = {0}, line = 1, step = 0;
    if (outer.rank) {
        line = outer.dims[--outer.rank];
        step = r->strides[0][outer.rank];
    }
    int64_t lines = shape_part(&outer, 0, outer.rank);
    for (int64_t i = 0; i < r->results; i++) sums[i] = first_sum(r->how);
    for (int64_t i = 0; i < lines; i++) {
        reduce_line(r->how, call->in[0] + i * line, line, step, sums + at[0]);
        onnx_advance(&outer, index, 1, r->strides, at);
    }
    for (int64_t i = 0; i < r->results; i++) call->out[0][i] = finish(r->how, sums[i], r->each);
}

static bool use_reduce(struct preparation *p, const bool *reduced) {
    struct reduce *r = prepare_alloc(p, sizeof *r);
    struct onnx_shape kept = *shape_in(p, 0);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strcmp(reductions[i].name, p->node->op)) r->how = reductions[i].how;
    r->x = kept;
    r->each = 1;
    for (int i = 0; i < kept.rank; i++)
        if (reduced[i]) {
            r->each *= kept.dims[i];
            kept.dims[i] = 1;
        }
    r->results = onnx_elements(&kept);
    onnx_broadcast_strides(&kept, &r->x, r->strides[0]);
    p->step->plan = r;
    p->step->run = run_reduce;
    p->reads = 1;
    return prepare_scratch(p, 2 * r->results);
}

bool prepare_reduce(struct preparation *p) {
    bool reduced[ONNX_MAX_RANK];
    return onnx_reduced(p->node, shape_in(p, 0)->rank, reduced) ? use_reduce(p, reduced) : cannot(p, "its axes are not constant");
}

bool prepare_global_pool(struct preparation *p) {
    bool reduced[ONNX_MAX_RANK] = {false};
    for (int i = 2; i < shape_in(p, 0)->rank; i++) reduced[i] = true;
    return use_reduce(p, reduced);
}

/* ---- along one axis: outer x count x inner ---- */

struct along {
    int64_t outer, count, inner;
    bool largest, last; /* ArgMax; of equal ones the last */
    bool logarithm;
    bool squares; /* LpNormalization */
};

static void run_arg(const void *plan, const struct call *call) {
    const struct along *a = plan;
    for (int64_t i = 0; i < a->outer * a->inner; i++) {
        const float *x = call->in[0] + i / a->inner * a->count * a->inner + i % a->inner;
        int64_t best = 0;
        for (int64_t k = 1; k < a->count; k++) {
            float new = x[k * a->inner], old = x[best * a->inner];
            if ((a->largest ? new > old : new < old) || (a->last && new == old)) best = k;
        }
        call->out[0][i] = (float)best;
    }
}

bool prepare_arg(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct along *a = prepare_alloc(p, sizeof *a);
    int axis = shape_axis(x, onnx_attribute_int(p->node, "axis", 0));
    *a = (struct along){.outer = shape_part(x, 0, axis), .count = x->dims[axis], .inner = shape_part(x, axis + 1, x->rank)};
    a->largest = !strcmp(p->node->op, "ArgMax");
    a->last = onnx_attribute_int(p->node, "select_last_index", 0) != 0;
    p->step->plan = a;
    p->step->run = run_arg;
    return a->count ? true : cannot(p, "its input is empty");
}

/* count is 1 or more. */
static void softmax_one(const struct along *a, const float *x, float *y) {
    const int64_t step = a->inner, end = a->count * step;
    float most = x[0];
    for (int64_t k = step; k < end; k += step) most = x[k] > most ? x[k] : most;
    double sum = 0;
    for (int64_t k = 0; k < end; k += step) {
        float e = exp_float(x[k] - most);
        sum += (double)e;
        y[k] = a->logarithm ? x[k] - most : e;
    }
    const float by = a->logarithm ? (float)log(sum) : (float)sum;
    for (int64_t k = 0; k < end; k += step) y[k] = a->logarithm ? y[k] - by : y[k] / by;
}

static void run_softmax(const void *plan, const struct call *call) {
    const struct along *a = plan;
    for (int64_t i = 0; i < a->outer * a->inner && a->count; i++) {
        int64_t at = i / a->inner * a->count * a->inner + i % a->inner;
        softmax_one(a, call->in[0] + at, call->out[0] + at);
    }
}

/* Before opset 13 everything from the axis on is one list. */
bool prepare_softmax(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct along *a = prepare_alloc(p, sizeof *a);
    bool flattens = p->node->opset < 13;
    int axis = shape_axis(x, onnx_attribute_int(p->node, "axis", flattens ? 1 : -1));
    if (!x->rank || axis < 0 || axis > x->rank) *a = (struct along){.outer = 1, .count = 1, .inner = 1};
    else if (flattens) *a = (struct along){.outer = shape_part(x, 0, axis), .count = shape_part(x, axis, x->rank), .inner = 1};
    else *a = (struct along){.outer = shape_part(x, 0, axis), .count = x->dims[axis], .inner = shape_part(x, axis + 1, x->rank)};
    a->logarithm = !strcmp(p->node->op, "LogSoftmax");
    p->step->plan = a;
    p->step->run = run_softmax;
    p->step->in_place = true;
    return true;
}

static void run_lp(const void *plan, const struct call *call) {
    const struct along *a = plan;
    for (int64_t i = 0; i < a->outer * a->inner; i++) {
        int64_t at = i / a->inner * a->count * a->inner + i % a->inner;
        const float *x = call->in[0] + at;
        double sum = 0;
        for (int64_t k = 0; k < a->count * a->inner; k += a->inner) sum += a->squares ? (double)x[k] * (double)x[k] : fabs((double)x[k]);
        const float by = (float)(a->squares ? sqrt(sum) : sum);
        for (int64_t k = 0; k < a->count * a->inner; k += a->inner) call->out[0][at + k] = by != 0 ? x[k] / by : 0;
    }
}

bool prepare_lp_norm(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    int64_t power = onnx_attribute_int(p->node, "p", 2), axis = onnx_attribute_int(p->node, "axis", -1);
    struct along *a = prepare_alloc(p, sizeof *a);
    if ((power != 1 && power != 2) || !x->rank) return cannot(p, "norms other than 1 and 2 are not supported");
    int at = shape_axis(x, axis);
    *a = (struct along){.outer = shape_part(x, 0, at), .count = x->dims[at], .inner = shape_part(x, at + 1, x->rank)};
    a->squares = power == 2;
    p->step->plan = a;
    p->step->run = run_lp;
    p->step->in_place = true;
    return true;
}
