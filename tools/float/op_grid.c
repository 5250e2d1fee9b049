/* SPDX-License-Identifier: MIT */
/* GridSample and NonMaxSuppression: by the library's own kernels, a plane of one channel at a time. */
#include "kernels/kernels.h"
#include "tools/float/operator.h"
#include "tools/onnx/grid.h"

struct sampling {
    struct morsel_grid_sample_args args; /* of a plane */
    size_t images, channels, plane;
};

static void run_grid_sample(const void *plan, const struct call *call) {
    const struct sampling *s = plan;
    struct morsel_grid_sample_args a = s->args;
    for (size_t i = 0; i < s->images * s->channels; i++) {
        a.x = call->in[0] + i * s->plane;
        a.grid = call->in[1] + i / s->channels * 2 * a.pixels;
        a.y = call->out[0] + i * a.pixels;
        morsel_grid_sample_c(&a, 0, a.pixels);
    }
}

bool prepare_grid_sample(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    struct sampling *s = prepare_alloc(p, sizeof *s);
    struct onnx_grid grid;
    const char *why;
    if (!onnx_grid_read(p->node, &grid, &why)) return cannot(p, "%s", why);
    if (x->dims[2] >= 1 << 22 || x->dims[3] >= 1 << 22) return cannot(p, "its picture is too large");
    s->images = (size_t)x->dims[0];
    s->channels = (size_t)x->dims[1];
    s->plane = (size_t)(x->dims[2] * x->dims[3]);
    s->args = (struct morsel_grid_sample_args){.sides = {(uint32_t)x->dims[3], (uint32_t)x->dims[2]},
                                               .channels = 1,
                                               .pixels = (uint32_t)(y->dims[2] * y->dims[3]),
                                               .nearest = grid.nearest,
                                               .beyond = grid.beyond,
                                               .corners = grid.corners};
    p->step->plan = s;
    p->step->run = run_grid_sample;
    return s->plane ? true : cannot(p, "its input is empty");
}

struct selection {
    struct morsel_non_max_suppression_args args;
    size_t numbers; /* of the result, which are behind the marks in the scratch memory first */
};

static void run_suppression(const void *plan, const struct call *call) {
    const struct selection *s = plan;
    struct morsel_non_max_suppression_args a = s->args;
    a.boxes = call->in[0];
    a.scores = call->in[1];
    a.y = (int32_t *)(void *)call->scratch;
    a.gone = (uint8_t *)(call->scratch + s->numbers);
    morsel_non_max_suppression_c(&a, 0, 1);
    for (size_t i = 0; i < s->numbers; i++) call->out[0][i] = (float)a.y[i];
}

bool prepare_suppression(struct preparation *p) {
    struct selection *s = prepare_alloc(p, sizeof *s);
    struct onnx_suppression found;
    const char *why;
    if (!onnx_suppression_read(p->node, &found, &why)) return cannot(p, "%s", why);
    s->args = (struct morsel_non_max_suppression_args){.images = (uint32_t)found.images,
                                                       .classes = (uint32_t)found.classes,
                                                       .count = (uint32_t)found.count,
                                                       .most = (uint32_t)found.most,
                                                       .centre = found.centre,
                                                       .overlap = found.overlap,
                                                       .least = found.least};
    s->numbers = (size_t)(found.images * found.classes * found.most * 3);
    p->reads = 2;
    p->step->plan = s;
    p->step->run = run_suppression;
    return prepare_scratch(p, (int64_t)s->numbers + found.count / 4 + 1);
}
