/* SPDX-License-Identifier: MIT */
/* Operators of two or more numbers, which broadcast: arithmetic, comparisons, PRelu, Where. */
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

/* The output's dimensions with neighbours put together where both inputs allow it; the last one is a line. */
struct walk {
    struct onnx_shape shape;
    int64_t strides[2][ONNX_MAX_RANK];
};

struct binary {
    const struct onnx_function_of_two *f;
    struct walk *walks; /* [input_count - 1]: inputs 0 and 1, then what came out and input 2 ... */
    int input_count;
    int64_t count;
    float divisor; /* Mean */
};

/* Makes dimensions i and i + 1 one; `kept` is the one whose strides count. */
static void join(struct walk *w, int i, int kept) {
    struct onnx_shape *s = &w->shape;
    size_t behind = (size_t)(s->rank - i - 2) * sizeof s->dims[0];
    s->dims[i] *= s->dims[i + 1];
    memmove(&s->dims[i + 1], &s->dims[i + 2], behind);
    for (int k = 0; k < 2; k++) {
        w->strides[k][i] = w->strides[k][kept];
        memmove(&w->strides[k][i + 1], &w->strides[k][i + 2], behind);
    }
    s->rank--;
}

/* Neighbours become one if each operand steps through them evenly. */
static void join_dimensions(struct walk *w) {
    struct onnx_shape *s = &w->shape;
    for (int i = s->rank - 2; i >= 0; i--) {
        bool even = true;
        for (int k = 0; k < 2; k++) even = even && w->strides[k][i] == w->strides[k][i + 1] * s->dims[i + 1];
        if (s->dims[i + 1] == 1) join(w, i, i);
        else if (even || s->dims[i] == 1) join(w, i, i + 1);
    }
    if (!s->rank) {
        s->dims[s->rank++] = 1;
        w->strides[0][0] = w->strides[1][0] = 0;
    }
}

static void make_walk(struct walk *w, const struct onnx_shape *a, const struct onnx_shape *b, const struct onnx_shape *y) {
    w->shape = *y;
    onnx_broadcast_strides(a, y, w->strides[0]);
    onnx_broadcast_strides(b, y, w->strides[1]);
    join_dimensions(w);
}

static void run_walk(const struct walk *w, const struct onnx_function_of_two *f, const float *a, const float *b, float *y) {
    struct onnx_shape outer = w->shape;
    int64_t index[ONNX_MAX_RANK] = {0}, at[2] = {0}, lines_count = shape_part(&outer, 0, --outer.rank), count = w->shape.dims[outer.rank];
    struct onnx_line line = {y, a, b, w->strides[0][outer.rank] != 0, w->strides[1][outer.rank] != 0, count};
    for (int64_t i = 0; i < lines_count; i++, line.y += count) {
        line.a = a + at[0];
        line.b = b + at[1];
        f->line(&line);
        onnx_advance(&outer, index, 2, w->strides, at);
    }
}

static void run_binary(const void *plan, const struct call *call) {
    const struct binary *b = plan;
    float *y = call->out[0];
    if (b->input_count == 1 && y != call->in[0]) memcpy(y, call->in[0], (size_t)b->count * sizeof *y);
    for (int i = 1; i < b->input_count && b->count; i++) run_walk(&b->walks[i - 1], b->f, i == 1 ? call->in[0] : y, call->in[i], y);
    for (int64_t i = 0; i < b->count && b->divisor != 1; i++) y[i] /= b->divisor;
}

static bool use(struct preparation *p, const struct onnx_function_of_two *f, float divisor) {
    struct binary *b = prepare_alloc(p, sizeof *b);
    const struct onnx_shape *y = shape_out(p, 0);
    b->f = f;
    b->input_count = p->node->input_count;
    b->count = onnx_elements(y);
    b->divisor = divisor;
    b->walks = prepare_alloc(p, (size_t)b->input_count * sizeof *b->walks);
    for (int i = 0; i < b->input_count; i++)
        if (!p->node->inputs[i]) return cannot(p, "its input %d is missing", i);
    for (int i = 1; i < b->input_count; i++) make_walk(&b->walks[i - 1], i == 1 ? shape_in(p, 0) : y, shape_in(p, i), y);
    p->step->plan = b;
    p->step->run = run_binary;
    /* Each number of a whole input 0 is read before the result lies over it, and not again. */
    p->step->in_place = onnx_same_shape(shape_in(p, 0), y);
    return true;
}

/* Of integers a quotient is cut towards 0. */
bool prepare_binary(struct preparation *p) {
    const struct onnx_function_of_two *f = onnx_operator_of(p->node)->of_two;
    if (f == &onnx_div && onnx_is_integer(p->node->inputs[0]->type)) f = &onnx_div_integers;
    if (f == &onnx_mod && onnx_attribute_int(p->node, "fmod", 0)) f = &onnx_fmod;
    return use(p, f, 1);
}

bool prepare_mean(struct preparation *p) {
    return use(p, &onnx_add, (float)p->node->input_count);
}

/* ---- Where ---- */

struct where {
    struct onnx_shape shape;
    int64_t strides[3][ONNX_MAX_RANK], count;
};

static void run_where(const void *plan, const struct call *call) {
    const struct where *w = plan;
    int64_t index[ONNX_MAX_RANK] = {0}, at[3] = {0};
    for (int64_t i = 0; i < w->count; i++) {
        call->out[0][i] = call->in[0][at[0]] != 0 ? call->in[1][at[1]] : call->in[2][at[2]];
        onnx_advance(&w->shape, index, 3, w->strides, at);
    }
}

bool prepare_where(struct preparation *p) {
    struct where *w = prepare_alloc(p, sizeof *w);
    w->shape = *shape_out(p, 0);
    w->count = onnx_elements(&w->shape);
    for (int i = 0; i < 3; i++) onnx_broadcast_strides(shape_in(p, i), &w->shape, w->strides[i]);
    p->step->plan = w;
    p->step->run = run_where;
    return true;
}
