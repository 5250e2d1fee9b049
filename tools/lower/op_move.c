/* SPDX-License-Identifier: MIT */
/* Operators that move data and compute nothing: each changes only how its value is seen in the buffer. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

static bool set_view(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct view view, int output) {
    struct meaning made = *m;
    made.view = view;
    meaning_set(l, node->outputs[output], made);
    return true;
}

bool lower_identity(struct lowering *l, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    struct meaning *m = x && !x->constant ? meaning_of(l, x) : NULL;
    if (!m || !m->quantized) m = activation(l, node, 0); /* weights and biases behind their DequantizeLinear pass as well */
    if (!m) return false;
    if (node->output_count > 1 && node->outputs[1] && node->outputs[1]->uses) return refuse(l, node, "its second output is not supported");
    if (onnx_drops(node)) return refuse(l, node, "training_mode is true: export the model for inference (model.eval() in PyTorch)");
    meaning_set(l, node->outputs[0], *m);
    return true;
}

/* A table by channel follows its axis; where an operator would tear that apart, the value becomes float first. */
static bool keep_table(struct lowering *l, struct onnx_node *node, struct meaning *m, bool axis_survives, struct meaning *out) {
    *out = *m;
    if (m->channel_scales && !m->table && !axis_survives)
        return refuse(l, node, "its input is quantized by channel: move the DequantizeLinear in front of it");
    if (!m->table || m->table_channels <= 1 || axis_survives) return true;
    out->buffer = meaning_float_buffer(l, node, out, &out->view);
    out->table = NULL;
    out->dequantized = false;
    return out->buffer != NULL;
}

static void shape_dims(const struct onnx_shape *shape, uint32_t *dims) {
    for (int i = 0; i < shape->rank; i++) dims[i] = (uint32_t)shape->dims[i];
}

/* Puts the axis whose elements lie side by side behind the others; `back` brings it to its place. False: there is none, or it is last. */
static bool lines_last(struct view *view, uint32_t *back) {
    uint32_t axis = 0, order[VIEW_MAX_RANK], n = 0;
    while (axis < view->rank && !view_side_by_side(view, axis)) axis++;
    if (axis + 1 >= view->rank) return false;
    for (uint32_t i = 0; i < view->rank; i++)
        if (i != axis) order[n++] = i;
    order[n] = axis;
    for (uint32_t i = 0; i < view->rank; i++) back[order[i]] = i;
    *view = view_transpose(view, order);
    return true;
}

bool lower_reshape(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), kept;
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    uint32_t dims[ONNX_MAX_RANK];
    struct view view;
    if (!m || !keep_table(l, node, m, false, &kept)) return false;
    shape_dims(shape, dims);
    if (view_reshape(l->net, &kept.view, (uint32_t)shape->rank, dims, &view)) return set_view(l, node, &kept, view, 0);
    struct meaning lines = kept;
    uint32_t back[VIEW_MAX_RANK];
    if (lines_last(&lines.view, back)) { /* channels stay side by side */
        struct view whole = view_whole(l->net, MORSEL_ROW_MAJOR, lines.view.rank, lines.view.dims);
        whole = view_transpose(&whole, back);
        if (view_reshape(l->net, &whole, (uint32_t)shape->rank, dims, &view)) {
            lines.buffer = meaning_buffer(l, node, &lines, MORSEL_ROW_MAJOR);
            lines.fill = 0;
            return lines.buffer && set_view(l, node, &lines, view, 0);
        }
    }
    struct net_buffer *buffer = meaning_buffer(l, node, &kept, MORSEL_ROW_MAJOR);
    if (!buffer) return false;
    kept.buffer = buffer;
    kept.fill = 0;
    return set_view(l, node, &kept, view_whole(l->net, MORSEL_ROW_MAJOR, (uint32_t)shape->rank, dims), 0);
}

bool lower_transpose(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    int perm[ONNX_MAX_RANK];
    uint32_t axes[VIEW_MAX_RANK];
    if (!m) return false;
    if (!onnx_permutation(node, (int)m->view.rank, perm)) return refuse(l, node, "its perm does not list the dimensions of its input");
    struct meaning made = *m;
    for (uint32_t i = 0; i < m->view.rank; i++) {
        axes[i] = (uint32_t)perm[i];
        if (m->table && m->table_axis == axes[i]) made.table_axis = i;
    }
    return set_view(l, node, &made, view_transpose(&m->view, axes), 0);
}

/* onnx_integers(), or a refusal. */
static bool integers(struct lowering *l, struct onnx_node *node, const char *name, int64_t *out, int max, int *count) {
    *count = onnx_integers(node, name, out, max);
    return *count >= 0 || refuse(l, node, "its %s are not constant", name);
}

static bool pick(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, uint32_t count, const int32_t *indices) {
    struct meaning kept;
    if (!room_for(l, node, (uint64_t)count * sizeof *indices) || !keep_table(l, node, m, m->table_axis != axis, &kept)) return false;
    kept.view = view_pick(l->net, &kept.view, axis, count, indices);
    *m = kept;
    return true;
}

bool lower_slice(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    int64_t starts[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
    int count, axes_count, steps_count, axis;
    if (!m || !integers(l, node, "starts", starts, ONNX_MAX_RANK, &count) || !integers(l, node, "axes", axes, ONNX_MAX_RANK, &axes_count) ||
        !integers(l, node, "steps", steps, ONNX_MAX_RANK, &steps_count))
        return false;
    made = *m;
    for (int i = 0; i < count; i++) {
        if (!onnx_axis_of(axes_count ? axes[i] : i, (int)made.view.rank, &axis))
            return refuse(l, node, "axis %lld does not exist in rank %u", (long long)axes[i], made.view.rank);
        int64_t dim = made.view.dims[axis], step = steps_count ? steps[i] : 1, start = starts[i] < 0 ? starts[i] + dim : starts[i];
        uint32_t n = (uint32_t)node->outputs[0]->shape.dims[axis];
        start = start < 0 ? 0 : start > dim - (step < 0) ? dim - (step < 0) : start;
        int32_t *indices = net_alloc(l->net, (n + 1) * sizeof *indices);
        for (uint32_t k = 0; k < n; k++) indices[k] = (int32_t)(start + (int64_t)k * step);
        if (n && (indices[n - 1] < 0 || indices[n - 1] >= dim)) return refuse(l, node, "its bounds leave axis %d", axis);
        if (!pick(l, node, &made, (uint32_t)axis, n, indices)) return false;
    }
    return set_view(l, node, &made, made.view, 0);
}

bool lower_split(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    int64_t axis = onnx_attribute_int(node, "axis", 0);
    int32_t begin = 0;
    if (!m) return false;
    axis = axis < 0 ? axis + m->view.rank : axis;
    for (int i = 0; i < node->output_count; i++) {
        struct meaning made = *m;
        uint32_t n = node->outputs[i] ? (uint32_t)node->outputs[i]->shape.dims[axis] : 0;
        int32_t *indices = net_alloc(l->net, (n + 1) * sizeof *indices);
        for (uint32_t k = 0; k < n; k++) indices[k] = begin + (int32_t)k;
        begin += (int32_t)n;
        if (!node->outputs[i]) return refuse(l, node, "output %d has no name", i);
        if ((uint32_t)begin > m->view.dims[axis] || !pick(l, node, &made, (uint32_t)axis, n, indices))
            return begin > (int32_t)m->view.dims[axis] ? refuse(l, node, "its parts are larger than axis %lld", (long long)axis) : false;
        set_view(l, node, &made, made.view, i);
    }
    return true;
}

/* --- Pad --- */

/* Which element of the input stands at k of the padded axis. What is cut off is not what a wrap goes on with. */
static int32_t padded_index(const char *mode, int64_t k, int64_t begin, int64_t end, int64_t dim) {
    if (!strcmp(mode, "wrap")) {
        const int64_t cut = begin < 0 ? -begin : 0, left = dim - cut + (end < 0 ? end : 0), at = k - begin - cut;
        return left > 0 ? (int32_t)(cut + (at % left + left) % left) : -1;
    }
    int64_t i = k - begin;
    if (i >= 0 && i < dim) return (int32_t)i;
    if (!strcmp(mode, "edge")) return (int32_t)(i < 0 ? 0 : dim - 1);
    if (!strcmp(mode, "reflect")) {
        int64_t period = dim > 1 ? 2 * (dim - 1) : 1;
        i = ((i % period) + period) % period;
        return (int32_t)(i < dim ? i : period - i);
    }
    return -1;
}

/* The fill value: attribute before opset 11, then an input, also behind a DequantizeLinear. */
static bool fill_number(struct lowering *l, struct onnx_node *node, float *number) {
    const struct onnx_value *value = onnx_input(node, 2);
    const struct onnx_tensor *t = value ? value->constant ? value->constant : constant_numbers(l, value) : NULL;
    *number = onnx_attribute_float(node, "value", 0);
    if (value && (!t || t->count != 1)) return refuse(l, node, "its fill value is not one constant");
    if (t) *number = (float)onnx_number(t, 0);
    const bool floats = node->inputs[0]->type == ONNX_FLOAT || node->inputs[0]->type == ONNX_UNKNOWN;
    return floats || isfinite(*number) || refuse(l, node, "its fill value %g is outside the type of its input", (double)*number);
}

/* Whether a byte stands for exactly this number, or whoever reads the result rounds it to one by the same scale. */
static bool fill_fits_bytes(const struct onnx_node *node, const struct meaning *m, float number, const struct quantization *q) {
    struct quantization next;
    const struct onnx_node *reader = only_reader(node->outputs[0]);
    if ((float)(quantize_value(number, q) - q->zero) * q->scale == number) return true;
    return node_is(reader, "QuantizeLinear") && read_quantization(reader, 1, 2, ONNX_UNKNOWN, &next, NULL) && next.scale == m->scale &&
           next.zero == m->zero && next.type == q->type;
}

/* Puts the bits of the fill value into the meaning; numbers that its bytes cannot hold make it float. */
static bool set_fill(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    float number;
    uint32_t bits;
    if (!fill_number(l, node, &number)) return false;
    struct quantization q = {.type = m->buffer->type, .scale = m->scale, .zero = m->zero};
    if (m->table || (m->dequantized && !fill_fits_bytes(node, m, number, &q))) {
        m->buffer = meaning_float_buffer(l, node, m, &m->view);
        m->table = NULL;
        m->dequantized = false;
        if (!m->buffer) return false;
    }
    if (m->buffer->type == MORSEL_FLOAT32) memcpy(&bits, &number, sizeof bits);
    else if (m->dequantized) bits = (uint8_t)quantize_value(number, &q);
    else if (number < (float)type_min(q.type) || number > (float)type_max(q.type))
        return refuse(l, node, "its fill value %g is outside the type of its input", (double)number);
    else bits = (uint8_t)(int)number;
    if (view_has_fill(&m->view) && bits != m->fill && !meaning_settle(l, node, m)) return false;
    m->fill = bits;
    return true;
}

bool lower_pad(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    int64_t pads[2 * ONNX_MAX_RANK], listed[ONNX_MAX_RANK];
    int n, axes_count, axes[ONNX_MAX_RANK], rank = m ? (int)m->view.rank : 0;
    if (!m || !integers(l, node, "pads", pads, 2 * ONNX_MAX_RANK, &n) || !integers(l, node, "axes", listed, ONNX_MAX_RANK, &axes_count))
        return false;
    const char *mode = onnx_attribute_string(node, "mode", "constant");
    bool survives = true;
    n /= 2;
    for (int i = 0; i < n; i++) {
        if (!onnx_axis_of(axes_count ? listed[i] : i, rank, &axes[i])) return refuse(l, node, "it pads axes that do not exist");
        if (pads[i] < -INT32_MAX || pads[i] > INT32_MAX) return refuse(l, node, "its pads are beyond 2^31");
        survives = survives && ((!pads[i] && !pads[n + i]) || (uint32_t)axes[i] != m->table_axis);
    }
    if (!keep_table(l, node, m, survives, &made) || (!strcmp(mode, "constant") && !set_fill(l, node, &made))) return false;
    for (int i = 0; i < n; i++) {
        uint32_t axis = (uint32_t)axes[i], out = (uint32_t)node->outputs[0]->shape.dims[axis];
        if (!room_for(l, node, 2 * (uint64_t)out * sizeof(int32_t))) return false;
        int32_t *indices = net_alloc(l->net, (out + 1) * sizeof *indices);
        for (uint32_t k = 0; k < out; k++) indices[k] = padded_index(mode, k, pads[i], pads[n + i], made.view.dims[axis]);
        made.view = view_pick(l->net, &made.view, axis, out, indices);
    }
    return set_view(l, node, &made, made.view, 0);
}

/* --- Expand, Tile, Gather: an axis read by other indices --- */

bool lower_expand(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    uint32_t dims[VIEW_MAX_RANK], rank = (uint32_t)shape->rank;
    bool survives = m && m->view.rank == rank && (int64_t)m->view.dims[m->table_axis] == shape->dims[m->table_axis];
    if (!m || !keep_table(l, node, m, survives, &made)) return false;
    for (uint32_t i = 0; i < rank; i++) dims[i] = i < rank - made.view.rank ? 1 : made.view.dims[i - (rank - made.view.rank)];
    struct view view;
    if (!view_reshape(l->net, &made.view, rank, dims, &view)) return refuse(l, node, "its input cannot take %u dimensions", rank);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t out = (uint32_t)shape->dims[i];
        int32_t *indices = net_alloc(l->net, (out + 1) * sizeof *indices);
        for (uint32_t k = 0; k < out; k++) indices[k] = (int32_t)(k % dims[i]);
        if (out != dims[i]) view = view_pick(l->net, &view, i, out, indices);
    }
    return set_view(l, node, &made, view, 0);
}

bool lower_gather(struct lowering *l, struct onnx_node *node) {
    const struct meaning *indices_of = onnx_input(node, 1) ? meaning_of(l, node->inputs[1]) : NULL;
    if (indices_of && indices_of->buffer && (indices_of->buffer->type == MORSEL_INT32 || indices_of->buffer->type == MORSEL_FLOAT32))
        return lower_lookup(l, node);
    struct meaning *m = activation(l, node, 0), made;
    const struct onnx_tensor *t = onnx_input_constant(node, 1);
    int64_t axis = onnx_attribute_int(node, "axis", 0);
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    uint32_t dims[ONNX_MAX_RANK];
    struct view view;
    if (!m) return false;
    if (!t) return refuse(l, node, "its indices are not constant");
    axis = axis < 0 ? axis + m->view.rank : axis;
    made = *m;
    int32_t *indices = net_alloc(l->net, (t->count + 1) * sizeof *indices);
    for (size_t k = 0; k < t->count; k++) {
        int64_t i = onnx_integer(t, k);
        const int64_t at = i < 0 ? i + made.view.dims[axis] : i;
        if (at < 0 || at >= made.view.dims[axis]) return refuse(l, node, "index %lld leaves axis %lld", (long long)i, (long long)axis);
        indices[k] = (int32_t)at;
    }
    if (!pick(l, node, &made, (uint32_t)axis, (uint32_t)t->count, indices) || !keep_table(l, node, &made, t->shape.rank == 1, &made))
        return false;
    shape_dims(shape, dims);
    if (!view_reshape(l->net, &made.view, (uint32_t)shape->rank, dims, &view) &&
        (!meaning_settle(l, node, &made) || !view_reshape(l->net, &made.view, (uint32_t)shape->rank, dims, &view)))
        return refuse(l, node, "its indices of rank %d are not supported here", t->shape.rank);
    return set_view(l, node, &made, view, 0);
}

/* DepthToSpace and SpaceToDepth: a reshape to six dimensions, a transposition, a reshape. */
bool lower_space(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), kept;
    uint32_t b = (uint32_t)onnx_attribute_int(node, "blocksize", 1), out[ONNX_MAX_RANK];
    if (!m || !keep_table(l, node, m, false, &kept)) return false;
    if (kept.view.rank != 4 || !b) return refuse(l, node, "only rank 4 is supported");
    uint32_t n = kept.view.dims[0], c = kept.view.dims[1], h = kept.view.dims[2], w = kept.view.dims[3];
    bool to_space = node_is(node, "DepthToSpace"), columns = !strcmp(onnx_attribute_string(node, "mode", "DCR"), "CRD");
    const uint32_t dcr[6] = {n, b, b, c / (b * b), h, w}, crd[6] = {n, c / (b * b), b, b, h, w}, deep[6] = {n, c, h / b, b, w / b, b};
    static const uint32_t axes[2][2][6] = {{{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}}, {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}}};
    const uint32_t *six = !to_space ? deep : columns ? crd : dcr;
    struct view wide, view;
    shape_dims(&node->outputs[0]->shape, out);
    if (!view_reshape(l->net, &kept.view, 6, six, &wide) &&
        (!meaning_settle(l, node, &kept) || !view_reshape(l->net, &kept.view, 6, six, &wide)))
        return refuse(l, node, "its input cannot be split into blocks of %u", b);
    wide = view_transpose(&wide, axes[to_space][columns]);
    if (!view_reshape(l->net, &wide, 4, out, &view)) return refuse(l, node, "its output cannot be joined from blocks of %u", b);
    return set_view(l, node, &kept, view, 0);
}
