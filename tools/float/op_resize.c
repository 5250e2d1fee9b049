/* SPDX-License-Identifier: MIT */
/* Resize and Upsample: nearest, which only moves data, and linear, one axis after the other. */
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
        if (!onnx_resize_read(p->node, i, &r, &why))
            return cannot(p, "%s", why);
        int32_t *table = pick_axis(p, &pick, r.out);
        for (int64_t k = 0; k < r.out; k++) {
            int64_t at = onnx_resize_nearest(&r, k);
            table[k] = (int32_t)(at < 0 ? PICK_NOTHING : at * strides[i]);
        }
    }
    return pick_use(p, &pick);
}

/* ---- linear ---- */

/* Output k of an axis is near * (1 - part) + far * part; a part of NAN stands for what lies outside. */
struct linear_axis {
    int64_t outer, in, out, inner;
    int32_t *near, *far;
    float *part;
};

struct linear {
    struct linear_axis axes[ONNX_MAX_RANK];
    int count;
    int64_t whole, half; /* floats of the input and of each half of the scratch memory */
    float fill;
};

static void blend_axis(const struct linear_axis *a, float fill, const float *x, float *y) {
    for (int64_t o = 0; o < a->outer; o++, x += a->in * a->inner)
        for (int64_t k = 0; k < a->out; k++, y += a->inner) {
            const float *near = x + a->near[k] * a->inner, *far = x + a->far[k] * a->inner, part = a->part[k], rest = 1 - part;
            if (isnan(part))
                for (int64_t i = 0; i < a->inner; i++)
                    y[i] = fill;
            else
                for (int64_t i = 0; i < a->inner; i++)
                    y[i] = near[i] * rest + far[i] * part;
        }
}

/* Outside stays outside: an axis that is done later may not blend the fill with the picture. */
static void fill_outside(const struct linear_axis *a, float fill, float *y) {
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t k = 0; k < a->out; k++, y += a->inner)
            for (int64_t i = 0; i < a->inner && isnan(a->part[k]); i++)
                y[i] = fill;
}

static void run_linear(const void *plan, const struct call *call) {
    const struct linear *l = plan;
    const float *from = call->in[0];
    for (int i = 0; i < l->count; i++) {
        float *to = i + 1 == l->count ? call->out[0] : call->scratch + i % 2 * l->half;
        blend_axis(&l->axes[i], l->fill, from, to);
        from = to;
    }
    if (!l->count)
        memcpy(call->out[0], call->in[0], (size_t)l->whole * sizeof(float));
    /* Axes before the last were filled in a form that has fewer rows behind; each is done again on the whole. */
    for (int i = 0; i + 1 < l->count; i++) {
        struct linear_axis a = l->axes[i];
        int64_t inner = a.inner;
        for (int k = i + 1; k < l->count; k++)
            inner = inner / l->axes[k].in * l->axes[k].out;
        a.inner = inner;
        fill_outside(&a, l->fill, call->out[0]);
    }
}

static void fill_axis(struct preparation *p, struct linear_axis *a, const struct onnx_resize *r) {
    a->near = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->near);
    a->far = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->far);
    a->part = prepare_alloc(p, (size_t)(r->out + 1) * sizeof *a->part);
    for (int64_t k = 0; k < r->out; k++) {
        float at = onnx_resize_position(r, k), most = (float)(r->in - 1);
        float kept = at > most ? most : at > 0 ? at : 0; /* within the picture */
        int64_t near = (int64_t)kept < r->in ? (int64_t)kept : r->in - 1;
        a->near[k] = (int32_t)near;
        a->far[k] = (int32_t)(near + 1 < r->in ? near + 1 : near);
        a->part[k] = isnan(at) ? NAN : kept - (float)near;
    }
}

static bool prepare_linear(struct preparation *p) {
    struct onnx_shape now = *shape_in(p, 0); /* as it is before the next axis */
    struct linear *l = prepare_alloc(p, sizeof *l);
    l->fill = onnx_attribute_float(p->node, "extrapolation_value", 0);
    l->whole = onnx_elements(&now);
    for (int i = 0; i < now.rank; i++) {
        struct onnx_resize r;
        const char *why;
        if (!onnx_resize_read(p->node, i, &r, &why))
            return cannot(p, "%s", why);
        if (onnx_resize_keeps(&r))
            continue;
        struct linear_axis *a = &l->axes[l->count++];
        *a = (struct linear_axis){shape_part(&now, 0, i), r.in, r.out, shape_part(&now, i + 1, now.rank), NULL, NULL, NULL};
        fill_axis(p, a, &r);
        now.dims[i] = r.out;
        int64_t floats = onnx_elements(&now);
        if (floats > FLOAT_MOST)
            return cannot(p, "it would take too much memory");
        l->half = floats > l->half ? floats : l->half;
    }
    p->step->plan = l;
    p->step->run = run_linear;
    p->reads = 1;
    return prepare_scratch(p, 2 * l->half);
}

bool prepare_resize(struct preparation *p) {
    const char *mode = onnx_attribute_string(p->node, "mode", "nearest");
    if (!onnx_elements(shape_in(p, 0)) || shape_in(p, 0)->rank != shape_out(p, 0)->rank)
        return cannot(p, "its input is empty");
    if (!strcmp(mode, "nearest"))
        return prepare_nearest(p);
    if (strcmp(mode, "linear"))
        return cannot(p, "mode %.40s is not supported, only nearest and linear", mode);
    if (onnx_attribute_int(p->node, "antialias", 0))
        return cannot(p, "antialiasing is not supported");
    return prepare_linear(p);
}
