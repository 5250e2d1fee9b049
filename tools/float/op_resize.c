/* SPDX-License-Identifier: MIT */
/* Resize and Upsample: nearest, which only moves data, linear and cubic. */
#include "tools/float/pick.h"
#include "tools/onnx/operator.h"
#include "tools/onnx/resize.h"

#include <math.h>
#include <string.h>

/* ---- nearest ---- */

static bool prepare_nearest(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    int64_t strides[ONNX_MAX_RANK] = {0};
    struct pick pick = {.fill = onnx_attribute_float(p->node, "extrapolation_value", 0)};
    onnx_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        struct onnx_resize r;
        const char *why;
        if (!onnx_resize_read(p->node, i, &r, &why)) return cannot(p, "%s", why);
        int32_t *table = pick_axis(p, &pick, r.out);
        for (int64_t k = 0; k < r.out; k++) {
            int64_t at = onnx_resize_nearest(&r, k);
            table[k] = (int32_t)(at < 0 ? PICK_NOTHING : at * strides[i]);
        }
    }
    return pick_use(p, &pick);
}

/* ---- linear and cubic ---- */

/*
 * An output is the sum of the input's values at the corners round it, two or four along each axis, in ONNX Runtime's arithmetic. It adds
 * corner by corner, the last axis going from near to far first. It multiplies the weights from the last axis to the first. Any other order
 * gives other last bits. They matter: blends of quantized values often lie half way between two steps.
 */
enum { TAPS_MOST = 4 };

struct blend_axis {
    int64_t in, out;
    int32_t *at[TAPS_MOST];   /* of output k: how far along the input its neighbours lie, from near to far */
    float *weight[TAPS_MOST]; /* what each counts; NAN: it lies outside */
};

struct blend {
    int bits;                              /* an axis has 1 << bits neighbours */
    struct blend_axis axes[ONNX_MAX_RANK]; /* the last lies innermost, but for `inner` */
    int count;
    int64_t outer, inner, lines; /* a line: one place on all axes but the last */
    int64_t in, out;             /* elements of one of `outer` */
    float fill;
};

struct corner {
    int64_t at;
    float weights[ONNX_MAX_RANK]; /* on the axes but the last, from the last to the first */
};

/* All axes of two neighbours, or three of four. */
enum { MOST_CORNERS = 1 << (ONNX_MAX_RANK - 1), MOST_CUBIC = 3 };

static int taps_of(const struct blend *l) {
    return 1 << l->bits;
}

/* Places on all axes but the last. */
static int corner_count(const struct blend *l) {
    return 1 << (l->bits * (l->count - 1));
}

/* False: the line lies outside. */
static bool corners_of(const struct blend *l, int64_t line, struct corner *corners) {
    for (int c = 0; c < corner_count(l); c++) corners[c].at = 0;
    for (int i = 0; i < l->count - 1; i++) {
        const struct blend_axis *a = &l->axes[l->count - 2 - i];
        int64_t k = line % a->out;
        line /= a->out;
        if (isnan(a->weight[0][k])) return false;
        for (int c = 0; c < corner_count(l); c++) {
            const int tap = c >> i * l->bits & (taps_of(l) - 1);
            corners[c].at += a->at[tap][k];
            corners[c].weights[i] = a->weight[tap][k];
        }
    }
    return true;
}

/* Adds what one of the neighbours on the last axis gives. */
static void add_corner(const struct blend *l, const struct corner *corner, int tap, const float *x, float *y, float *weights) {
    const struct blend_axis *a = &l->axes[l->count - 1];
    memcpy(weights, a->weight[tap], (size_t)a->out * sizeof *weights);
    for (int i = 0; i < l->count - 1; i++)
        for (int64_t k = 0; k < a->out; k++) weights[k] *= corner->weights[i];
    x += corner->at;
    for (int64_t k = 0; k < a->out && l->inner == 1; k++) y[k] += weights[k] * x[a->at[tap][k]];
    for (int64_t k = 0; k < a->out && l->inner > 1; k++)
        for (int64_t i = 0; i < l->inner; i++) y[k * l->inner + i] += weights[k] * x[a->at[tap][k] + i];
}

static void fill(float *y, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) y[i] = value;
}

static void blend_line(const struct blend *l, int64_t line, const float *x, float *y, float *weights) {
    const struct blend_axis *a = &l->axes[l->count - 1];
    struct corner corners[MOST_CORNERS];
    if (!corners_of(l, line, corners)) {
        fill(y, a->out * l->inner, l->fill);
        return;
    }
    fill(y, a->out * l->inner, -0.0F); /* whatever is added to it stays as it is, 0 too */
    for (int c = 0; c < taps_of(l) * corner_count(l); c++) add_corner(l, &corners[c >> l->bits], c & (taps_of(l) - 1), x, y, weights);
    for (int64_t k = 0; k < a->out; k++)
        if (isnan(a->weight[0][k])) fill(y + k * l->inner, l->inner, l->fill);
}

static void run_blend(const void *plan, const struct call *call) {
    const struct blend *l = plan;
    const float *x = call->in[0];
    float *y = call->out[0];
    for (int64_t o = 0; o < l->outer; o++, x += l->in, y += l->out)
        for (int64_t line = 0; line < l->lines; line++) blend_line(l, line, x, y + line * (l->out / l->lines), call->scratch);
}

static void fill_linear(struct blend_axis *a, const struct onnx_resize *r, int64_t stride) {
    for (int64_t k = 0; k < r->out; k++) {
        float at = onnx_resize_keeps(r) ? (float)k : onnx_resize_position(r, k), most = (float)(r->in - 1);
        float kept = at > most ? most : at > 0 ? at : 0; /* within the picture */
        int64_t near = (int64_t)kept < r->in ? (int64_t)kept : r->in - 1, far = near + 1 < r->in ? near + 1 : near;
        a->at[0][k] = (int32_t)(near * stride);
        a->at[1][k] = (int32_t)(far * stride);
        a->weight[0][k] = isnan(at) ? NAN : near == far ? 0.5F : fabsf(kept - (float)far);
        a->weight[1][k] = near == far ? 0.5F : fabsf(kept - (float)near);
    }
}

static void fill_cubic(const struct onnx_node *node, struct blend_axis *a, const struct onnx_resize *r, int64_t stride) {
    for (int64_t k = 0; k < r->out; k++) {
        int64_t at[TAPS_MOST] = {0};
        double weights[TAPS_MOST];
        const bool inside = onnx_resize_cubic(node, r, k, at, weights);
        for (int i = 0; i < TAPS_MOST; i++) {
            a->at[i][k] = (int32_t)(at[i] * stride);
            a->weight[i][k] = inside ? (float)weights[i] : NAN;
        }
    }
}

static void fill_axis(struct preparation *p, struct blend *l, const struct onnx_resize *r, int64_t stride) {
    struct blend_axis *a = &l->axes[l->count++];
    *a = (struct blend_axis){.in = r->in, .out = r->out};
    for (int tap = 0; tap < taps_of(l); tap++) {
        a->at[tap] = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->at[tap]);
        a->weight[tap] = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->weight[tap]);
    }
    if (l->bits > 1) fill_cubic(p->node, a, r, stride);
    else fill_linear(a, r, stride);
}

/* ONNX Runtime blends certain axes together, those that stay too; elsewhere it is the axes that change and what lies between. */
static void blended_axes(int rank, int *first, int *last) {
    int least = rank == 2 ? 0 : rank == 4 ? 2 : rank == 3 || rank == 5 ? rank - 3 : rank;
    if (*first >= least) {
        *first = least;
        *last = rank - 1;
    } else if (rank == 4 && *first == 1 && *last <= 2) {
        *last = 2;
    }
}

static bool prepare_blend(struct preparation *p, bool cubic) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct onnx_resize r[ONNX_MAX_RANK];
    int first = -1, last = -1;
    for (int i = 0; i < x->rank; i++) {
        const char *why;
        if (!onnx_resize_read(p->node, i, &r[i], &why)) return cannot(p, "%s", why);
        if (onnx_resize_keeps(&r[i])) continue;
        first = first < 0 ? i : first;
        last = i;
    }
    if (first < 0) return prepare_alias(p);
    if (!cubic) blended_axes(x->rank, &first, &last);
    if (cubic && last - first >= MOST_CUBIC) return cannot(p, "mode cubic is supported along %d axes at most", MOST_CUBIC);
    struct blend *l = prepare_alloc(p, sizeof *l);
    l->bits = cubic ? 2 : 1;
    l->fill = onnx_attribute_float(p->node, "extrapolation_value", 0);
    l->outer = shape_part(x, 0, first);
    l->inner = shape_part(x, last + 1, x->rank);
    l->in = shape_part(x, first, x->rank);
    l->out = shape_part(shape_out(p, 0), first, x->rank);
    l->lines = shape_part(shape_out(p, 0), first, last);
    for (int i = first; i <= last; i++) fill_axis(p, l, &r[i], shape_part(x, i + 1, x->rank));
    p->step->plan = l;
    p->step->run = run_blend;
    p->reads = 1;
    return prepare_scratch(p, r[last].out);
}

bool prepare_resize(struct preparation *p) {
    const char *mode = onnx_attribute_string(p->node, "mode", "nearest");
    if (!onnx_elements(shape_in(p, 0)) || shape_in(p, 0)->rank != shape_out(p, 0)->rank) return cannot(p, "its input is empty");
    if (!strcmp(mode, "nearest")) return prepare_nearest(p);
    if (strcmp(mode, "linear") && strcmp(mode, "cubic"))
        return cannot(p, "mode %.40s is not supported: nearest, linear and cubic are", mode);
    if (onnx_attribute_int(p->node, "antialias", 0)) return cannot(p, "antialiasing is not supported");
    return prepare_blend(p, !strcmp(mode, "cubic"));
}
