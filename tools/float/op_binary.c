/* SPDX-License-Identifier: MIT */
/* Operators of two or more numbers, which broadcast: arithmetic, comparisons, PRelu, Where. */
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* A run of neighbours; a step is 1, or 0 where one number serves all. */
struct line {
    float *y;
    const float *a, *b;
    int64_t a_step, b_step, count;
};
typedef void run_line(const struct line *l);
typedef float two_numbers(float a, float b);

INLINE void each(two_numbers *f, const struct line *l) {
    float *y = l->y;
    const float *a = l->a, *b = l->b;
    const int64_t count = l->count;
    if (l->a_step && l->b_step) {
        for (int64_t i = 0; i < count; i++) y[i] = f(a[i], b[i]);
    } else if (l->a_step) {
        const float right = *b;
        for (int64_t i = 0; i < count; i++) y[i] = f(a[i], right);
    } else {
        const float left = *a;
        for (int64_t i = 0; i < count; i++) y[i] = f(left, b[l->b_step ? i : 0]);
    }
}

INLINE float add(float a, float b) {
    return a + b;
}
INLINE float subtract(float a, float b) {
    return a - b;
}
INLINE float multiply(float a, float b) {
    return a * b;
}
INLINE float divide(float a, float b) {
    return a / b;
}
INLINE float larger(float a, float b) {
    return isnan(a) || a > b ? a : b;
}
INLINE float smaller(float a, float b) {
    return isnan(a) || a < b ? a : b;
}
INLINE float power(float a, float b) {
    return b == 2 ? a * a : powf(a, b);
}
INLINE float slope(float a, float b) {
    return a < 0 ? a * b : a;
}
INLINE float equal(float a, float b) {
    return a == b;
}
INLINE float greater(float a, float b) {
    return a > b;
}
INLINE float less(float a, float b) {
    return a < b;
}
INLINE float not_less(float a, float b) {
    return a >= b;
}
INLINE float not_greater(float a, float b) {
    return a <= b;
}
INLINE float both(float a, float b) {
    return a != 0 && b != 0;
}
INLINE float either(float a, float b) {
    return a != 0 || b != 0;
}
INLINE float one_of(float a, float b) {
    return (a != 0) != (b != 0);
}

static void line_add(const struct line *l) {
    each(add, l);
}
static void line_subtract(const struct line *l) {
    each(subtract, l);
}
static void line_multiply(const struct line *l) {
    each(multiply, l);
}
static void line_divide(const struct line *l) {
    each(divide, l);
}
static void line_larger(const struct line *l) {
    each(larger, l);
}
static void line_smaller(const struct line *l) {
    each(smaller, l);
}
static void line_power(const struct line *l) {
    each(power, l);
}
static void line_slope(const struct line *l) {
    each(slope, l);
}
static void line_equal(const struct line *l) {
    each(equal, l);
}
static void line_greater(const struct line *l) {
    each(greater, l);
}
static void line_less(const struct line *l) {
    each(less, l);
}
static void line_not_less(const struct line *l) {
    each(not_less, l);
}
static void line_not_greater(const struct line *l) {
    each(not_greater, l);
}
static void line_both(const struct line *l) {
    each(both, l);
}
static void line_either(const struct line *l) {
    each(either, l);
}
static void line_one_of(const struct line *l) {
    each(one_of, l);
}

static const struct {
    const char *name;
    run_line *run;
} lines[] = {
    {"Add", line_add},
    {"Sub", line_subtract},
    {"Mul", line_multiply},
    {"Div", line_divide},
    {"Pow", line_power},
    {"Max", line_larger},
    {"Min", line_smaller},
    {"Sum", line_add},
    {"Mean", line_add},
    {"PRelu", line_slope},
    {"Equal", line_equal},
    {"Greater", line_greater},
    {"Less", line_less},
    {"GreaterOrEqual", line_not_less},
    {"LessOrEqual", line_not_greater},
    {"And", line_both},
    {"Or", line_either},
    {"Xor", line_one_of},
};

/* The output's dimensions with neighbours put together where both inputs allow it; the last one is a line. */
struct walk {
    struct onnx_shape shape;
    int64_t strides[2][ONNX_MAX_RANK];
};

struct binary {
    run_line *run;
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

static void run_walk(const struct walk *w, run_line *run, const float *a, const float *b, float *y) {
    struct onnx_shape outer = w->shape;
    int64_t index[ONNX_MAX_RANK] = {0}, at[2] = {0}, lines_count = shape_part(&outer, 0, --outer.rank), count = w->shape.dims[outer.rank];
    struct line line = {y, a, b, w->strides[0][outer.rank] != 0, w->strides[1][outer.rank] != 0, count};
    for (int64_t i = 0; i < lines_count; i++, line.y += count) {
        line.a = a + at[0];
        line.b = b + at[1];
        run(&line);
        onnx_advance(&outer, index, 2, w->strides, at);
    }
}

static void run_binary(const void *plan, const struct call *call) {
    const struct binary *b = plan;
    float *y = call->out[0];
    if (b->input_count == 1 && y != call->in[0]) memcpy(y, call->in[0], (size_t)b->count * sizeof *y);
    for (int i = 1; i < b->input_count && b->count; i++) run_walk(&b->walks[i - 1], b->run, i == 1 ? call->in[0] : y, call->in[i], y);
    for (int64_t i = 0; i < b->count && b->divisor != 1; i++) y[i] /= b->divisor;
}

static run_line *find_line(const char *name) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strcmp(lines[i].name, name)) return lines[i].run;
    return NULL;
}

bool prepare_binary(struct preparation *p) {
    struct binary *b = prepare_alloc(p, sizeof *b);
    const struct onnx_shape *y = shape_out(p, 0);
    b->run = find_line(p->node->op);
    b->input_count = p->node->input_count;
    b->count = onnx_elements(y);
    b->divisor = strcmp(p->node->op, "Mean") ? 1 : (float)b->input_count;
    b->walks = prepare_alloc(p, (size_t)b->input_count * sizeof *b->walks);
    for (int i = 0; i < b->input_count; i++)
        if (!p->node->inputs[i]) return cannot(p, "its input %d is missing", i);
    for (int i = 1; i < b->input_count; i++) make_walk(&b->walks[i - 1], i == 1 ? shape_in(p, 0) : y, shape_in(p, i), y);
    p->step->plan = b;
    p->step->run = run_binary;
    /* Each number of a whole input 0 is read before the result lies over it, and not again. */
    p->step->in_place = b->run && onnx_same_shape(shape_in(p, 0), y);
    return b->run || cannot(p, "the float executor does not have this function");
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
