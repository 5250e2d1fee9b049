/* SPDX-License-Identifier: MIT */
/*
 * Windows of convolutions along one dimension that are larger than a blob's. q neighbours become channels, so that a window of K taps
 * becomes one of about K / q. With a stride of s < q each new position gives m = q / s outputs, which are channels at first:
 *
 *     y[j m + p] = sum over k of w[k] x[(j m + p) s + k] = sum over i, r of w[i q + r - p s] x[(j + i) q + r]
 *
 * New channels stand as they lie in memory where channels are last, so that a blob has little to move.
 */
#include "tools/optimize/pass.h"

#include "core/format.h"

/*
 * Each of the m outputs of a position has weights for all that any of them reads. Many are zeros, stored and multiplied as others are:
 * about m = K / (63 s) times as many weights as the file has. Up to 16 times, or 900 strides a window, is worth it.
 * Spectrograms, whose stride is a quarter of a window, keep their weights. Tensors of blobs are of up to 2^26 elements. Weights that no
 * file holds, but a node makes of nothing, come to no more than LEAST_WEIGHTS.
 */
enum { MOST_GROWTH = 16, LEAST_WEIGHTS = 1 << 18, MOST_WEIGHTS = 1 << 26 };

struct fold {
    struct onnx_node *node;
    int axis;           /* of the large window, in x */
    int64_t q, m, taps; /* neighbours that become channels, outputs of one position, the window in steps of q */
    int64_t positions;  /* of the new window */
    int64_t stride, kernel, begin, out;
    struct onnx_shape weights;
};

/* The smallest q whose window blobs have: of ceil((K + q - s) / q) taps, which is 64 or less where q >= (K - s) / 63. */
static void choose(struct fold *f, const struct onnx_shape *weights) {
    int64_t more = f->kernel - f->stride, each = f->stride * ((int64_t)MORSEL_FORMAT_MAX_WINDOW - 1);
    f->m = more ? (more + each - 1) / each : 1;
    f->q = f->m * f->stride;
    f->taps = (f->kernel + f->q - f->stride + f->q - 1) / f->q;
    f->positions = (f->out + f->m - 1) / f->m;
    f->weights = *weights;
    f->weights.dims[0] *= f->m;
    f->weights.dims[1] *= f->q;
    f->weights.dims[f->axis] = f->taps;
}

static bool worthwhile(const struct onnx_graph *g, const struct onnx_shape *weights, const struct onnx_shape *folded) {
    int64_t now = onnx_elements(weights), then = onnx_elements(folded);
    return now > 0 && then > 0 && then <= MOST_GROWTH * now && (size_t)then <= onnx_room(g, LEAST_WEIGHTS, MOST_GROWTH, MOST_WEIGHTS);
}

/* The first large window. False: there is none, or one, of either dimension, cannot be folded. A graph left as it is lets a refusal name
 * the file's own node. */
static bool find(const struct onnx_graph *g, struct onnx_node *node, struct fold *f) {
    struct onnx_value *x = onnx_input(node, 0), *weights = onnx_input(node, 1), *bias = onnx_input(node, 2);
    struct onnx_window w;
    const char *why;
    if (!graph_is(node, "Conv") || node->folded || !x || !weights || !weights->constant || weights->type != ONNX_FLOAT ||
        weights->shape.rank != x->shape.rank || (x->shape.rank != 3 && x->shape.rank != 4) || onnx_elements(&x->shape) < 1 ||
        (bias && (!bias->constant || bias->type != ONNX_FLOAT || (int64_t)bias->constant->count != weights->shape.dims[0])) ||
        onnx_attribute_int(node, "group", 1) != 1 || !onnx_window(node, &x->shape, weights->shape.dims + 2, &w, &why))
        return false;
    struct onnx_shape all = weights->shape;
    *f = (struct fold){.node = NULL};
    for (int i = 0; i < w.rank; i++) {
        int64_t s = w.stride[i], k = w.kernel[i];
        if (k <= (int64_t)MORSEL_FORMAT_MAX_WINDOW) continue;
        if (w.dilation[i] != 1 || s > k) return false;
        struct fold one = {.node = node, .axis = 2 + i, .stride = s, .kernel = k, .begin = w.pad_begin[i], .out = w.out[i]};
        choose(&one, &all);
        all = one.weights;
        *f = f->node ? *f : one;
    }
    return f->node && worthwhile(g, &weights->shape, &all);
}

static struct onnx_value *reshape(struct onnx_graph *g, const struct fold *f, struct onnx_value *x, const char *part,
                                  struct onnx_shape shape) {
    struct onnx_value *inputs[2] = {x, graph_int64s(g, f->node, part, shape.dims, shape.rank)};
    return graph_put(g, f->node, "Reshape", inputs, 2, &shape);
}

static struct onnx_value *transpose(struct onnx_graph *g, const struct fold *f, struct onnx_value *x, const int64_t *order) {
    struct onnx_shape shape = x->shape;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[order[i]];
    struct onnx_value *y = graph_put(g, f->node, "Transpose", &x, 1, &shape);
    edit_attribute_ints(g, y->producer, "perm", order, (size_t)shape.rank);
    return y;
}

/* The first `size` along the axis. */
static struct onnx_value *cut(struct onnx_graph *g, const struct fold *f, struct onnx_value *x, int64_t size) {
    struct onnx_shape shape = x->shape;
    const int64_t zero = 0, axis = f->axis;
    if (shape.dims[axis] <= size) return x;
    shape.dims[axis] = size;
    struct onnx_value *inputs[4] = {x, graph_int64s(g, f->node, "begin", &zero, 1), graph_int64s(g, f->node, "end", &size, 1),
                                    graph_int64s(g, f->node, "axis", &axis, 1)};
    return graph_put(g, f->node, "Slice", inputs, 4, &shape);
}

/* x with zeros in front and behind, of exactly the length that the positions read. */
static struct onnx_value *fit(struct onnx_graph *g, const struct fold *f) {
    struct onnx_value *x = f->node->inputs[0];
    int64_t length = (f->positions - 1 + f->taps) * f->q, pads[2 * ONNX_MAX_RANK] = {0};
    struct onnx_shape shape = x->shape;
    int64_t behind = length - f->begin - shape.dims[f->axis];
    x = cut(g, f, x, length - f->begin);
    if (!f->begin && behind <= 0) return x;
    shape.dims[f->axis] = length;
    pads[f->axis] = f->begin;
    pads[shape.rank + f->axis] = behind > 0 ? behind : 0;
    struct onnx_value *inputs[2] = {x, graph_int64s(g, f->node, "zeros", pads, 2 * shape.rank)};
    return graph_put(g, f->node, "Pad", inputs, 2, &shape);
}

/* [N][C] .. [positions q] .. to [N][q C] .. [positions] .. */
static struct onnx_value *neighbours_to_channels(struct onnx_graph *g, const struct fold *f, struct onnx_value *x) {
    struct onnx_shape apart = {.rank = x->shape.rank + 1}, flat = x->shape;
    int64_t order[ONNX_MAX_RANK] = {0, f->axis + 1};
    for (int i = 0; i < apart.rank; i++) {
        apart.dims[i] = i <= f->axis ? x->shape.dims[i] : x->shape.dims[i - 1];
        if (i >= 2) order[i] = i <= f->axis + 1 ? i - 1 : i;
    }
    apart.dims[f->axis] = flat.dims[f->axis] = x->shape.dims[f->axis] / f->q;
    apart.dims[f->axis + 1] = f->q;
    flat.dims[1] *= f->q;
    return reshape(g, f, transpose(g, f, reshape(g, f, x, "apart", apart), order), "folded", flat);
}

/* [O][C] .. [K] .. to [m O][q C] .. [taps] .. */
static struct onnx_value *folded_weights(struct onnx_graph *g, const struct fold *f) {
    const struct onnx_value *from = f->node->inputs[1];
    const int64_t *d = from->shape.dims, outs = d[0], ins = d[1];
    int64_t before = 1, behind = 1;
    for (int i = 2; i < from->shape.rank; i++) *(i < f->axis ? &before : &behind) *= i == f->axis ? 1 : d[i];
    double *to = graph_doubles(g, onnx_elements(&f->weights));
    for (int64_t e = 0; e < onnx_elements(&from->shape); e++) {
        int64_t last = e % behind, k = e / behind % f->kernel, b = e / behind / f->kernel % before;
        int64_t c = e / behind / f->kernel / before % ins, o = e / behind / f->kernel / before / ins;
        for (int64_t p = 0; p < f->m; p++) {
            int64_t at = k + p * f->stride, row = ((p * outs + o) * ins * f->q + at % f->q * ins + c) * before + b;
            to[(row * f->taps + at / f->q) * behind + last] = onnx_number(from->constant, (size_t)e);
        }
    }
    return graph_floats(g, f->node, "folded_weights", &f->weights, to);
}

static struct onnx_value *repeated_bias(struct onnx_graph *g, const struct fold *f) {
    const struct onnx_value *bias = onnx_input(f->node, 2);
    if (!bias) return NULL;
    int64_t outs = (int64_t)bias->constant->count;
    struct onnx_shape shape = {1, {outs * f->m}};
    double *to = graph_doubles(g, shape.dims[0]);
    for (int64_t i = 0; i < shape.dims[0]; i++) to[i] = onnx_number(bias->constant, (size_t)(i % outs));
    return graph_floats(g, f->node, "folded_bias", &shape, to);
}

/* The node's attributes but for the large window's; auto_pad is said in pads. */
static void set_window(struct onnx_graph *g, const struct fold *f, struct onnx_node *conv, const struct onnx_window *w) {
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    for (int i = 0; i < w->rank; i++) {
        bool large = 2 + i == f->axis;
        kernel[i] = large ? f->taps : w->kernel[i];
        stride[i] = large ? 1 : w->stride[i];
        dilation[i] = w->dilation[i];
        pads[i] = large ? 0 : w->pad_begin[i];
        pads[w->rank + i] = large ? 0 : w->pad_end[i];
    }
    edit_attribute_ints(g, conv, "kernel_shape", kernel, (size_t)w->rank);
    edit_attribute_ints(g, conv, "strides", stride, (size_t)w->rank);
    edit_attribute_ints(g, conv, "dilations", dilation, (size_t)w->rank);
    edit_attribute_ints(g, conv, "pads", pads, 2 * (size_t)w->rank);
}

/* [N][m O] .. [positions] .. to [N][O] .. [positions m] .., without what is too much at its end. */
static void channels_to_neighbours(struct onnx_graph *g, const struct fold *f, struct onnx_value *y) {
    struct onnx_node *node = f->node;
    const struct onnx_shape *whole = &node->outputs[0]->shape;
    struct onnx_shape apart = {.rank = y->shape.rank + 1, .dims = {y->shape.dims[0], f->m, y->shape.dims[1] / f->m}}, flat = *whole;
    int64_t order[ONNX_MAX_RANK] = {0}, zero = 0, axis = f->axis;
    for (int i = 1; i < apart.rank; i++) {
        apart.dims[i] = i > 2 ? y->shape.dims[i - 1] : apart.dims[i];
        order[i] = i <= f->axis ? i + 1 : i == f->axis + 1 ? 1 : i;
    }
    flat.dims[axis] = f->positions * f->m;
    struct onnx_value *moved = transpose(g, f, reshape(g, f, y, "outputs", apart), order);
    if (flat.dims[axis] == f->out) {
        struct onnx_value *inputs[2] = {moved, graph_int64s(g, node, "shape", flat.dims, flat.rank)};
        edit_become(g, node, "Reshape", "", inputs, 2);
        return;
    }
    struct onnx_value *inputs[4] = {reshape(g, f, moved, "shape", flat), graph_int64s(g, node, "first", &zero, 1),
                                    graph_int64s(g, node, "last", &f->out, 1), graph_int64s(g, node, "along", &axis, 1)};
    edit_become(g, node, "Slice", "", inputs, 4);
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    struct fold f;
    struct onnx_window w;
    const char *why;
    if (!find(g, node, &f) || !onnx_window(node, &node->inputs[0]->shape, node->inputs[1]->shape.dims + 2, &w, &why)) return false;
    struct onnx_value *x = neighbours_to_channels(g, &f, fit(g, &f));
    struct onnx_value *inputs[3] = {x, folded_weights(g, &f), repeated_bias(g, &f)};
    struct onnx_shape shape = node->outputs[0]->shape;
    if (f.m == 1) {
        edit_become(g, node, "Conv", "", inputs, inputs[2] ? 3 : 2);
        set_window(g, &f, node, &w);
        return true;
    }
    shape.dims[1] *= f.m;
    shape.dims[f.axis] = f.positions;
    struct onnx_value *y = graph_put(g, node, "Conv", inputs, inputs[2] ? 3 : 2, &shape);
    set_window(g, &f, y->producer, &w);
    channels_to_neighbours(g, &f, y);
    return true;
}

int pass_windows(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; g->opset >= 11 && i < g->node_count; i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
