/* SPDX-License-Identifier: MIT */
/* Resize and Upsample: nearest, which only moves data, and linear. */
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

/* ---- linear ---- */

/*
 * An output is the sum of the input's values at the corners round it, two along each axis, in ONNX Runtime's arithmetic. It adds corner by
 * corner, the last axis going from near to far first. It multiplies the weights from the last axis to the first. Any other order gives
 * other last bits. They matter: blends of quantized values often lie half way between two steps.
 */
struct linear_axis {
    int64_t in, out;
    int32_t *at[2];   /* of output k: how far along the input its near and its far neighbour lie */
    float *weight[2]; /* what each counts; NAN: it lies outside */
};

struct linear {
    struct linear_axis axes[ONNX_MAX_RANK]; /* the last lies innermost, but for `inner` */
    int count;
    int64_t outer, inner, lines; /* a line: one place on all axes but the last */
    int64_t in, out;             /* elements of one of `outer` */
    float fill;
};

struct corner {
    int64_t at;
    float weights[ONNX_MAX_RANK]; /* on the axes but the last, from the last to the first */
};

enum { MOST_CORNERS = 1 << (ONNX_MAX_RANK - 1) };

/* False: the line lies outside. */
static bool corners_of(const struct linear *l, int64_t line, struct corner *corners) {
    for (int c = 0; c < 1 << (l->count - 1); c++) corners[c].at = 0;
    for (int i = 0; i < l->count - 1; i++) {
        const struct linear_axis *a = &l->axes[l->count - 2 - i];
        int64_t k = line % a->out;
        line /= a->out;
        if (isnan(a->weight[0][k])) return false;
        for (int c = 0; c < 1 << (l->count - 1); c++) {
            corners[c].at += a->at[c >> i & 1][k];
            corners[c].weights[i] = a->weight[c >> i & 1][k];
        }
    }
    return true;
}

/* Adds what the near (0) or the far (1) neighbours on the last axis give. */
static void add_corner(const struct linear *l, const struct corner *corner, int far, const float *x, float *y, float *weights) {
    const struct linear_axis *a = &l->axes[l->count - 1];
    memcpy(weights, a->weight[far], (size_t)a->out * sizeof *weights);
    for (int i = 0; i < l->count - 1; i++)
        for (int64_t k = 0; k < a->out; k++) weights[k] *= corner->weights[i];
    x += corner->at;
    for (int64_t k = 0; k < a->out && l->inner == 1; k++) y[k] += weights[k] * x[a->at[far][k]];
    for (int64_t k = 0; k < a->out && l->inner > 1; k++)
        for (int64_t i = 0; i < l->inner; i++) y[k * l->inner + i] += weights[k] * x[a->at[far][k] + i];
}

static void fill(float *y, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) y[i] = value;
}

static void blend_line(const struct linear *l, int64_t line, const float *x, float *y, float *weights) {
    const struct linear_axis *a = &l->axes[l->count - 1];
    struct corner corners[MOST_CORNERS];
    if (!corners_of(l, line, corners)) {
        fill(y, a->out * l->inner, l->fill);
        return;
    }
    fill(y, a->out * l->inner, -0.0F); /* whatever is added to it stays as it is, 0 too */
    for (int c = 0; c < 2 << (l->count - 1); c++) add_corner(l, &corners[c / 2], c % 2, x, y, weights);
    for (int64_t k = 0; k < a->out; k++)
        if (isnan(a->weight[0][k])) fill(y + k * l->inner, l->inner, l->fill);
}

static void run_linear(const void *plan, const struct call *call) {
    const struct linear *l = plan;
    const float *x = call->in[0];
    float *y = call->out[0];
    for (int64_t o = 0; o < l->outer; o++, x += l->in, y += l->out)
        for (int64_t line = 0; line < l->lines; line++) blend_line(l, line, x, y + line * (l->out / l->lines), call->scratch);
}

static void fill_axis(struct preparation *p, struct linear_axis *a, const struct onnx_resize *r, int64_t stride) {
    *a = (struct linear_axis){.in = r->in, .out = r->out};
    for (int far = 0; far < 2; far++) {
        a->at[far] = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->at[far]);
        a->weight[far] = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->weight[far]);
    }
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

static bool prepare_linear(struct preparation *p) {
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
    blended_axes(x->rank, &first, &last);
    struct linear *l = prepare_alloc(p, sizeof *l);
    l->fill = onnx_attribute_float(p->node, "extrapolation_value", 0);
    l->outer = shape_part(x, 0, first);
    l->inner = shape_part(x, last + 1, x->rank);
    l->in = shape_part(x, first, x->rank);
    l->out = shape_part(shape_out(p, 0), first, x->rank);
    l->lines = shape_part(shape_out(p, 0), first, last);
    for (int i = first; i <= last; i++) fill_axis(p, &l->axes[l->count++], &r[i], shape_part(x, i + 1, x->rank));
    p->step->plan = l;
    p->step->run = run_linear;
    p->reads = 1;
    return prepare_scratch(p, r[last].out);
}

bool prepare_resize(struct preparation *p) {
    const char *mode = onnx_attribute_string(p->node, "mode", "nearest");
    if (!onnx_elements(shape_in(p, 0)) || shape_in(p, 0)->rank != shape_out(p, 0)->rank) return cannot(p, "its input is empty");
    if (!strcmp(mode, "nearest")) return prepare_nearest(p);
    if (strcmp(mode, "linear"))
        return cannot(
            p, "mode %.40s is not supported: nearest and linear are, and cubic of moderate size without antialias and tf_crop_and_resize",
            mode);
    if (onnx_attribute_int(p->node, "antialias", 0)) return cannot(p, "antialiasing is not supported");
    return prepare_linear(p);
}
