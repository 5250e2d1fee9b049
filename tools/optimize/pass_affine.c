/* SPDX-License-Identifier: MIT */
/*
 * Affine maps (batch norms, arithmetic with constants) are folded where they can be: into another affine map, or into the weights before or
 * behind them.
 */
#include "tools/optimize/affine.h"
#include "tools/optimize/linear.h"

/* a = later(earlier(x)) */
static void compose(struct onnx_graph *g, const struct affine *earlier, const struct affine *later, struct affine *a) {
    const struct affine *wide = earlier->axis >= 0 ? earlier : later;
    *a = *wide;
    a->x = earlier->x;
    a->scale = graph_doubles(g, a->channels);
    a->shift = graph_doubles(g, a->channels);
    for (int64_t c = 0; c < a->channels; c++) {
        int64_t e = earlier->axis < 0 ? 0 : c, l = later->axis < 0 ? 0 : c;
        a->scale[c] = later->scale[l] * earlier->scale[e];
        a->shift[c] = later->scale[l] * earlier->shift[e] + later->shift[l];
    }
}

/* scale * (x + shift) becomes scale * x + scale * shift where the product can go into a MatMul before it, which takes no sum. */
static bool product_first(struct onnx_graph *g, struct onnx_node *sum, struct onnx_node *product, struct affine *earlier,
                          struct affine *later, const struct affine *both) {
    struct linear before;
    if (affine_scales(earlier) || affine_shifts(later) || !graph_alone(earlier->x) || !linear_read(earlier->x->producer, &before) ||
        linear_takes_bias(&before) || !affine_fits(later, before.out_axis))
        return false;
    struct affine scale = *later, shift = *both;
    scale.x = earlier->x;
    shift.x = sum->outputs[0];
    for (int64_t c = 0; c < shift.channels; c++) shift.scale[c] = 1;
    return affine_write(g, product, &shift) && affine_write(g, sum, &scale);
}

/* A product and then a sum of numbers for the whole tensor stay what they are: no shorter form is left of them. */
static bool merge(struct onnx_graph *g, struct onnx_node *node) {
    struct affine later, earlier, both;
    if (!affine_find(node, &later) || !graph_alone(later.x)) return false;
    struct onnx_node *first = later.x->producer;
    if (!affine_find(first, &earlier) || !affine_fits(&earlier, later.axis) || !affine_take(g, &later) || !affine_take(g, &earlier))
        return false;
    compose(g, &earlier, &later, &both);
    if (!affine_write(g, node, &both)) return product_first(g, first, node, &earlier, &later, &both);
    edit_remove_node(g, first);
    return true;
}

int pass_affine_merge(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) changes += merge(g, graph_node_at(g, i));
    return changes;
}

/* Where only a product goes into a MatMul, the sum behind it stays. */
static bool leave_sum(struct onnx_graph *g, struct onnx_node *node, struct linear *before, struct affine *a, const double *scale) {
    if (!affine_scales(a) || !linear_rewrite(g, before, scale, NULL, NULL)) return false;
    for (int64_t c = 0; c < a->channels; c++) a->scale[c] = 1;
    return affine_write(g, node, a);
}

/* The node whose channels a map along axis 1 meets: in front of reshapes that leave batch and channels alone. NULL: read elsewhere too. */
static struct onnx_node *source_of_channels(const struct affine *a) {
    const struct onnx_value *value = a->x;
    while (graph_alone(value) && graph_reshapes(value->producer) && a->axis <= 1) {
        const struct onnx_value *from = onnx_input(value->producer, 0);
        if (!from || from->shape.rank < 2 || value->shape.rank < 2 || from->shape.dims[0] != value->shape.dims[0] ||
            from->shape.dims[1] != value->shape.dims[1])
            return NULL;
        value = from;
    }
    return graph_alone(value) ? value->producer : NULL;
}

/* y = scale * (W x + b) + shift. */
static bool fold_before(struct onnx_graph *g, struct onnx_node *node) {
    struct affine a;
    struct linear before;
    if (!affine_find(node, &a) || !linear_read(source_of_channels(&a), &before) || !linear_has_room(g, &before) ||
        !affine_fits(&a, before.out_axis) || (a.axis >= 0 && a.channels != before.out_channels))
        return false;
    bool direct = before.node == a.x->producer;
    if (!direct && before.out_axis != 1) /* words have their channels last, and a reshape may cut them up */
        return false;
    if (!affine_take(g, &a)) return false;
    bool has_bias = affine_shifts(&a) || onnx_input(before.node, 2);
    double *bias = linear_bias(g, &before), *scale = graph_doubles(g, before.out_channels);
    for (int64_t o = 0; o < before.out_channels; o++) {
        int64_t c = a.axis < 0 ? 0 : o;
        scale[o] = a.scale[c];
        bias[o] = a.scale[c] * bias[o] + a.shift[c];
    }
    if (has_bias && !linear_takes_bias(&before)) return direct && leave_sum(g, node, &before, &a, scale);
    if (!linear_rewrite(g, &before, affine_scales(&a) ? scale : NULL, NULL, has_bias ? bias : NULL)) return false;
    return graph_bypass(g, node, a.x);
}

static bool is_linear(struct onnx_node *node) {
    struct linear l;
    return linear_read(node, &l) && l.out_axis == node->outputs[0]->shape.rank - 1;
}

/*
 * What a map may go in front of: by one number for all, whatever only moves elements. Along the last axis, reshapes that leave that axis
 * alone, as words in rows of a batch are flattened for a batch norm, and that is undone behind it.
 */
static struct onnx_value *before_move(const struct affine *a, const struct onnx_node *node) {
    const bool reshapes = graph_reshapes(node);
    struct onnx_value *from = reshapes || (a->axis < 0 && graph_is(node, "Transpose")) ? onnx_input(node, 0) : NULL;
    if (!from || from->constant || from->shape.rank < 1) return NULL;
    return a->axis < 0 || from->shape.dims[from->shape.rank - 1] == a->channels ? from : NULL;
}

/* Where a sum behind it is no step more: a bias. */
static bool takes_sum(struct onnx_node *node) {
    struct linear l;
    return graph_is(node, "Add") || (linear_read(node, &l) && linear_takes_bias(&l));
}

/* Such a map goes in front of moves where a matrix product stands, or its sum with a bias. */
static bool go_before_moves(struct onnx_graph *g, struct onnx_node *node) {
    struct affine a;
    if (!affine_find(node, &a) || (a.axis >= 0 && a.axis != a.x->shape.rank - 1)) return false;
    struct onnx_node *move = NULL;
    struct onnx_value *value = a.x;
    for (struct onnx_value *from; graph_alone(value) && (from = before_move(&a, value->producer)) != NULL; value = from)
        move = value->producer;
    if (!move || !graph_alone(value)) return false;
    struct affine sum;
    bool linear = is_linear(value->producer) || (graph_is(value->producer, "Add") && affine_find(value->producer, &sum) &&
                                                 graph_alone(sum.x) && is_linear(sum.x->producer));
    if (!linear || !affine_take(g, &a) || (a.axis < 0 && affine_shifts(&a) && !takes_sum(value->producer))) return false;
    const struct onnx_shape shape = value->shape, row = {1, {a.channels}};
    for (int i = 0; i < 2; i++) {
        if (i ? !affine_shifts(&a) : !affine_scales(&a)) continue;
        struct onnx_value *inputs[2] = {value, graph_floats(g, node, i ? "shift" : "scale", &row, i ? a.shift : a.scale)};
        value = graph_put(g, move, i ? "Add" : "Mul", inputs, 2, &shape);
    }
    edit_set_input(g, move, 0, value);
    return graph_bypass(g, node, a.x);
}

int pass_affine_before(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += fold_before(g, graph_node_at(g, i)) || go_before_moves(g, graph_node_at(g, i));
    return changes;
}

/* No element of the output sees less than the whole window: the shift is the same everywhere. */
static bool sees_everything(const struct linear *l) {
    struct onnx_window window;
    const char *why;
    if (!graph_is(l->node, "Conv")) return !graph_is(l->node, "ConvTranspose");
    if (!onnx_window(l->node, &l->node->inputs[0]->shape, l->weights->shape.dims + 2, &window, &why)) return false;
    for (int i = 0; i < window.rank; i++)
        if (window.pad_begin[i] || window.pad_end[i]) return false;
    return true;
}

/*
 * The affine map that x comes from, with a number for each of the channels in. Between it and a matrix a picture may be flattened: every
 * channel then stands for as many columns as it has pixels.
 */
static bool find_source(const struct linear *l, struct affine *a, struct onnx_node **node, int64_t *pixels) {
    struct onnx_value *x = l->node->inputs[0];
    *pixels = 1;
    *node = graph_alone(x) ? x->producer : NULL;
    if (affine_find(*node, a)) return affine_fits(a, l->in_axis);
    bool flat = graph_reshapes(*node) && l->in_axis == 1 && x->shape.rank == 2;
    struct onnx_value *picture = flat ? onnx_input(*node, 0) : NULL;
    if (!picture || picture->shape.rank < 2 || picture->shape.dims[0] != x->shape.dims[0] || !graph_alone(picture)) return false;
    for (int d = 2; d < picture->shape.rank; d++) *pixels *= picture->shape.dims[d];
    *node = picture->producer;
    return affine_find(*node, a) && affine_fits(a, 1) && *pixels > 0;
}

/* W (scale * x + shift) + b. */
static bool fold_after(struct onnx_graph *g, struct onnx_node *reader) {
    struct affine a;
    struct linear l;
    struct onnx_node *node;
    int64_t pixels;
    if (!linear_read(reader, &l) || !linear_has_room(g, &l) || !find_source(&l, &a, &node, &pixels)) return false;
    if ((a.axis >= 0 && a.channels * pixels != l.in_channels) || !affine_take(g, &a)) return false;
    bool shifts = affine_shifts(&a);
    if (shifts && (!sees_everything(&l) || !linear_takes_bias(&l))) return false;
    double *bias = linear_bias(g, &l), *scale = graph_doubles(g, l.in_channels);
    for (int64_t i = 0; i < l.in_channels; i++) scale[i] = a.scale[a.axis < 0 ? 0 : i / pixels];
    for (size_t e = 0; e < l.weights->count && shifts; e++) {
        int64_t in, out;
        linear_place(&l, (int64_t)e, &in, &out);
        bias[out] += l.gain * onnx_number(l.weights, e) * a.shift[a.axis < 0 ? 0 : in / pixels];
    }
    if (!linear_rewrite(g, &l, NULL, affine_scales(&a) ? scale : NULL, shifts ? bias : NULL)) return false;
    return graph_bypass(g, node, a.x);
}

int pass_affine_after(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) changes += fold_after(g, graph_node_at(g, i));
    return changes;
}
