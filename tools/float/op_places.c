/* SPDX-License-Identifier: MIT */
/* Lines, elements and slices picked by lists of places, which may be data: Gather, GatherElements, GatherND; ReverseSequence. */
#include "tools/float/operator.h"
#include <string.h>

enum { COUNTABLE = 1 << 24 }; /* whole numbers that floats can tell apart */

/* An index counts from the end where it is negative. -1: there is no such place. */
static int64_t place(float index, int64_t dim) {
    if (index < 0) index += (float)dim;
    return index >= 0 && index < (float)dim ? (int64_t)index : -1;
}

static const char not_there[] = "it asks for a position that is not there",
                  uncountable[] = "it chooses among more than 2^24, which floats cannot count";

static bool no_place(const struct call *call) {
    *call->why = not_there;
    return false;
}

/* ---- lines ---- */

struct gather {
    int64_t outer, dim, inner, count;
};

static void run_gather(const void *plan, const struct call *call) {
    const struct gather *g = plan;
    float *y = call->out[0];
    for (int64_t o = 0; o < g->outer; o++)
        for (int64_t i = 0; i < g->count; i++, y += g->inner) {
            const int64_t at = place(call->in[1][i], g->dim);
            if (at < 0) {
                no_place(call);
                return;
            }
            memcpy(y, call->in[0] + (o * g->dim + at) * g->inner, (size_t)g->inner * sizeof *y);
        }
}

bool prepare_gather(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct gather *g = prepare_alloc(p, sizeof *g);
    int axis = shape_axis(x, onnx_attribute_int(p->node, "axis", 0));
    *g = (struct gather){shape_part(x, 0, axis), x->dims[axis], shape_part(x, axis + 1, x->rank), onnx_elements(shape_in(p, 1))};
    if (g->dim > COUNTABLE) return cannot(p, uncountable);
    const float *positions = prepare_constant(p, 1);
    for (int64_t i = 0; i < g->count && positions; i++)
        if (place(positions[i], g->dim) < 0) return cannot(p, not_there);
    p->step->plan = g;
    p->step->run = run_gather;
    return true;
}

/* ---- slices ---- */

struct slices {
    int64_t dims[ONNX_MAX_RANK]; /* the first ones of x, of which each row of places has `length` */
    int64_t rows, slice;
    int length;
};

static bool copy_slice(const struct slices *s, const struct call *call, int64_t row) {
    int64_t at = 0;
    for (int i = 0; i < s->length; i++) {
        const int64_t one = place(call->in[1][row * s->length + i], s->dims[i]);
        if (one < 0) return no_place(call);
        at = at * s->dims[i] + one;
    }
    memcpy(call->out[0] + row * s->slice, call->in[0] + at * s->slice, (size_t)s->slice * sizeof(float));
    return true;
}

static void run_gather_nd(const void *plan, const struct call *call) {
    const struct slices *s = plan;
    for (int64_t row = 0; row < s->rows; row++)
        if (!copy_slice(s, call, row)) return;
}

bool prepare_gather_nd(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *places = shape_in(p, 1);
    struct slices *s = prepare_alloc(p, sizeof *s);
    s->length = (int)places->dims[places->rank - 1];
    s->rows = shape_part(places, 0, places->rank - 1);
    s->slice = shape_part(x, s->length, x->rank);
    memcpy(s->dims, x->dims, sizeof s->dims);
    for (int i = 0; i < s->length; i++)
        if (s->dims[i] > COUNTABLE) return cannot(p, uncountable);
    p->step->plan = s;
    p->step->run = run_gather_nd;
    return true;
}

/* ---- elements ---- */

/* Element i of y is that of x in the same place, but for its place along the axis. */
struct elements {
    struct onnx_shape y;
    int64_t strides[ONNX_MAX_RANK]; /* of x; 0 along the axis */
    int64_t dim, step;              /* along the axis */
    int64_t count;
};

static void run_gather_elements(const void *plan, const struct call *call) {
    const struct elements *e = plan;
    int64_t index[ONNX_MAX_RANK] = {0}, base = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const int64_t one = place(call->in[1][i], e->dim);
        if (one < 0) {
            no_place(call);
            return;
        }
        call->out[0][i] = call->in[0][base + one * e->step];
        for (int d = e->y.rank - 1; d >= 0; d--) {
            base += e->strides[d];
            if (++index[d] < e->y.dims[d]) break;
            base -= index[d] * e->strides[d];
            index[d] = 0;
        }
    }
}

bool prepare_gather_elements(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    const int axis = shape_axis(x, onnx_attribute_int(p->node, "axis", 0));
    struct elements *e = prepare_alloc(p, sizeof *e);
    *e = (struct elements){.y = *shape_out(p, 0), .dim = x->dims[axis], .step = shape_part(x, axis + 1, x->rank)};
    for (int d = 0; d < x->rank; d++) {
        e->strides[d] = d == axis ? 0 : shape_part(x, d + 1, x->rank);
        if (d != axis && e->y.dims[d] > x->dims[d]) return cannot(p, "its indices do not fit its data");
    }
    if (e->dim > COUNTABLE) return cannot(p, uncountable);
    e->count = onnx_elements(&e->y);
    p->step->plan = e;
    p->step->run = run_gather_elements;
    return true;
}

/* ---- sequences backwards ---- */

struct sequences {
    int64_t count, most, inner; /* how many, how long, and the elements of each of their steps */
    int64_t apart, step;        /* between sequences, and between steps: elements */
};

static const char no_length[] = "a length is below 0, or more than its data has";

static bool is_length(float length, int64_t most) {
    return length >= 0 && length <= (float)most;
}

static void run_reverse(const void *plan, const struct call *call) {
    const struct sequences *s = plan;
    for (int64_t b = 0; b < s->count; b++) {
        if (!is_length(call->in[1][b], s->most)) {
            *call->why = no_length;
            return;
        }
        const int64_t length = (int64_t)call->in[1][b];
        for (int64_t t = 0; t < s->most; t++)
            memcpy(call->out[0] + b * s->apart + t * s->step, call->in[0] + b * s->apart + (t < length ? length - 1 - t : t) * s->step,
                   (size_t)s->inner * sizeof(float));
    }
}

bool prepare_reverse_sequence(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    const int64_t batch = onnx_attribute_int(p->node, "batch_axis", 1), time = onnx_attribute_int(p->node, "time_axis", 0);
    struct sequences *s = prepare_alloc(p, sizeof *s);
    if (x->rank < 2 || ((batch != 0 || time != 1) && (batch != 1 || time != 0))) return cannot(p, "its axes are not 0 and 1");
    if (onnx_elements(shape_in(p, 1)) != x->dims[batch]) return cannot(p, "it has not one length for each sequence");
    if (x->dims[time] > COUNTABLE) return cannot(p, uncountable);
    *s = (struct sequences){.count = x->dims[batch], .most = x->dims[time], .inner = shape_part(x, 2, x->rank)};
    s->apart = batch ? s->inner : s->most * s->inner;
    s->step = batch ? s->count * s->inner : s->inner;
    const float *lengths = prepare_constant(p, 1);
    for (int64_t b = 0; b < s->count && lengths; b++)
        if (!is_length(lengths[b], s->most)) return cannot(p, no_length);
    p->step->plan = s;
    p->step->run = run_reverse;
    return true;
}
