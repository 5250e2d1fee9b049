/* SPDX-License-Identifier: MIT */
/* Along one axis, one element behind the other: TopK, Hardmax, CumSum. Indices are whole numbers in floats. */
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* outer x count x inner, of which a line is `count` elements, `inner` apart. */
struct line {
    int64_t outer, count, inner, wanted;
    bool largest, exclusive, reverse;
};

static const float *start(const struct line *l, const float *x, int64_t i, int64_t count) {
    return x + i / l->inner * count * l->inner + i % l->inner;
}

static struct line *line_of(struct preparation *p, int axis) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct line *l = prepare_alloc(p, sizeof *l);
    *l = (struct line){.outer = shape_part(x, 0, axis), .count = x->dims[axis], .inner = shape_part(x, axis + 1, x->rank)};
    p->step->plan = l;
    p->reads = 1;
    return l;
}

struct candidate {
    float rank; /* the largest is taken first */
    uint32_t at;
};

/* Of equal ones the first, and what is no number before all that are. */
static int order(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    const int none = !!isnan(y->rank) - !!isnan(x->rank);
    if (none) return none;
    if (x->rank < y->rank) return 1;
    if (x->rank > y->rank) return -1;
    return x->at < y->at ? -1 : 1;
}

static void run_top(const void *plan, const struct call *call) {
    const struct line *l = plan;
    struct candidate *all = (struct candidate *)(void *)call->scratch;
    for (int64_t i = 0; i < l->outer * l->inner; i++) {
        const float *x = start(l, call->in[0], i, l->count);
        const int64_t to = start(l, call->in[0], i, l->wanted) - call->in[0];
        for (int64_t k = 0; k < l->count; k++) all[k] = (struct candidate){l->largest ? x[k * l->inner] : -x[k * l->inner], (uint32_t)k};
        qsort(all, (size_t)l->count, sizeof *all, order);
        for (int64_t k = 0; k < l->wanted; k++) {
            if (call->out[0]) call->out[0][to + k * l->inner] = x[all[k].at * l->inner];
            if (call->out[1]) call->out[1][to + k * l->inner] = (float)all[k].at;
        }
    }
}

bool prepare_top(struct preparation *p) {
    const int axis = shape_axis(shape_in(p, 0), onnx_attribute_int(p->node, "axis", -1)), known = p->node->outputs[0] ? 0 : 1;
    struct line *l = line_of(p, axis);
    l->wanted = shape_out(p, known)->dims[axis];
    l->largest = onnx_attribute_int(p->node, "largest", 1) != 0;
    p->step->run = run_top;
    return prepare_scratch(p, 2 * l->count);
}

static void run_hardmax(const void *plan, const struct call *call) {
    const struct line *l = plan;
    for (int64_t i = 0; i < l->outer * l->inner && l->count; i++) {
        const float *x = start(l, call->in[0], i, l->count);
        float *y = call->out[0] + (x - call->in[0]);
        int64_t best = 0;
        for (int64_t k = 1; k < l->count; k++)
            if (x[k * l->inner] > x[best * l->inner]) best = k;
        for (int64_t k = 0; k < l->count; k++) y[k * l->inner] = k == best;
    }
}

/* Before opset 13 everything from the axis on is one list. */
bool prepare_hardmax(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    const bool flattens = p->node->opset < 13;
    const int axis = shape_axis(x, onnx_attribute_int(p->node, "axis", flattens ? 1 : -1));
    if (axis < 0 || axis >= x->rank) return cannot(p, "its axis is none of its input's");
    struct line *l = line_of(p, axis);
    if (flattens) l->count *= l->inner, l->inner = 1;
    p->step->run = run_hardmax;
    return true;
}

static void run_sums(const void *plan, const struct call *call) {
    const struct line *l = plan;
    for (int64_t i = 0; i < l->outer * l->inner; i++) {
        const float *x = start(l, call->in[0], i, l->count);
        float *y = call->out[0] + (x - call->in[0]);
        double sum = 0;
        for (int64_t k = 0; k < l->count; k++) {
            const int64_t at = (l->reverse ? l->count - 1 - k : k) * l->inner;
            const double before = sum;
            sum += (double)x[at];
            y[at] = (float)(l->exclusive ? before : sum);
        }
    }
}

bool prepare_sums(struct preparation *p) {
    const float *axis = prepare_constant(p, 1);
    const int rank = shape_in(p, 0)->rank;
    if (!axis) return cannot(p, "its axis is no constant");
    if (!(*axis >= (float)-rank && *axis < (float)rank)) return cannot(p, "its axis is none of its input's");
    struct line *l = line_of(p, shape_axis(shape_in(p, 0), (int64_t)*axis));
    l->exclusive = onnx_attribute_int(p->node, "exclusive", 0) != 0;
    l->reverse = onnx_attribute_int(p->node, "reverse", 0) != 0;
    p->step->run = run_sums;
    return true;
}
