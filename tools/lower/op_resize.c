/* SPDX-License-Identifier: MIT */
/* Resize and Upsample. Nearest: each axis is read by an index list. Linear: rows and columns of a picture in one step, any other axis as a
 * product with a matrix, in float. */
#include "tools/lower/lower.h"
#include "tools/onnx/resize.h"

#include <math.h>
#include <string.h>

static bool resize_axis(struct lowering *l, struct onnx_node *node, struct meaning *m, int axis) {
    struct onnx_resize r;
    const char *why;
    if (!onnx_resize_read(node, axis, &r, &why)) return refuse(l, node, "%s", why);
    if (onnx_resize_keeps(&r)) return true;
    int32_t *indices = net_alloc(l->net, ((size_t)r.out + 1) * sizeof *indices);
    for (int64_t k = 0; k < r.out; k++)
        if ((indices[k] = (int32_t)onnx_resize_nearest(&r, k)) < 0)
            return refuse(l, node, "tf_crop_and_resize beyond the picture is not supported");
    m->view = view_pick(l->net, &m->view, (uint32_t)axis, (uint32_t)r.out, indices);
    return true;
}

/* [out]: where each lies among the inputs; beyond the picture its edge counts. NULL where that is elsewhere. */
static const float *linear_positions(struct lowering *l, const struct onnx_resize *r) {
    float *positions = net_alloc(l->net, (size_t)r->out * sizeof *positions);
    for (int64_t k = 0; k < r->out; k++) {
        float position = onnx_resize_keeps(r) ? (float)k : onnx_resize_position(r, k);
        if (isnan(position)) return NULL;
        positions[k] = fminf(fmaxf(position, 0), (float)(r->in - 1));
    }
    return positions;
}

/* Numbers of a matrix: outside of pictures each output is written with every input of its axis. */
enum { MOST_WEIGHTS = 1 << 24 };

/* [out][in]: each output between its two neighbours. */
static const float *linear_weights(struct lowering *l, const struct onnx_resize *r) {
    float *weights = net_alloc(l->net, (size_t)(r->out * r->in) * sizeof *weights);
    const float *positions = linear_positions(l, r);
    for (int64_t k = 0; positions && k < r->out; k++) {
        int64_t near = (int64_t)positions[k], far = near + 1 < r->in ? near + 1 : near;
        float part = positions[k] - (float)near;
        weights[k * r->in + near] += 1 - part;
        weights[k * r->in + far] += part;
    }
    return positions ? weights : NULL;
}

/* One axis: brought to the end, rows times the matrix, and back to its place. The last axis takes the QuantizeLinear behind. */
static bool linear_axis(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, const struct onnx_resize *r,
                        const struct tail *tail) {
    uint32_t rank = m->view.rank, order[VIEW_MAX_RANK], back[VIEW_MAX_RANK], n = 0, dims[VIEW_MAX_RANK];
    if (r->in > MOST_WEIGHTS / r->out)
        return refuse(l, node, "from %lld to %lld along axis %u takes a matrix of more than 2^24 numbers", (long long)r->in,
                      (long long)r->out, axis);
    const float *weights = linear_weights(l, r);
    if (!weights) return refuse(l, node, "tf_crop_and_resize beyond the picture is not supported");
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis) order[n++] = i;
    order[n] = axis;
    for (uint32_t i = 0; i < rank; i++) {
        back[order[i]] = i;
        dims[i] = m->view.dims[order[i]];
    }
    struct meaning turned = *m;
    turned.view = view_transpose(&m->view, order);
    struct net_buffer *x = meaning_buffer(l, node, &turned, MORSEL_ROW_MAJOR);
    if (!x) return false;
    uint32_t rows = view_elements(&m->view) / dims[n];
    struct view flat = {.rank = 4, .dims = {rows, dims[n], 1, 1}};
    struct meaning as_rows = turned;
    as_rows.buffer = x;
    as_rows.view = view_whole(l->net, MORSEL_ROW_MAJOR, 4, flat.dims);
    x = meaning_buffer(l, node, &as_rows, MORSEL_CHANNELS_LAST);
    if (!x) return false;
    const uint32_t out[4] = {rows, 1, 1, (uint32_t)r->out};
    bool bytes = tail->quantized;
    struct net_buffer *y =
        net_add_buffer(l->net, bytes ? tail->q.type : MORSEL_FLOAT32, MORSEL_CHANNELS_LAST, 4, out, node->outputs[0]->name);
    y->scale = bytes ? tail->q.scale : 1;
    y->zero = bytes ? tail->q.zero : 0;
    y->qualified = true;
    if (!lower_float_rows(l, node, x, y, tail, weights)) return false;
    dims[n] = (uint32_t)r->out;
    struct view made = view_whole(l->net, MORSEL_ROW_MAJOR, rank, dims);
    *m = (struct meaning){.buffer = y, .view = view_transpose(&made, back), .scale = y->scale, .zero = y->zero};
    return true;
}

/* Whether only rows and columns of pictures change, of which a step can tell the positions. */
static bool is_picture(const struct view *view, const struct onnx_resize *axes) {
    if (view->rank != 4 || !onnx_resize_keeps(&axes[0]) || !onnx_resize_keeps(&axes[1])) return false;
    return axes[2].in <= 1 << 24 && axes[3].in <= 1 << 24;
}

static bool resize_picture(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_resize *axes,
                           const struct tail *tail, bool truncate) {
    const float *rows = linear_positions(l, &axes[2]), *columns = linear_positions(l, &axes[3]);
    if (!rows || !columns) return refuse(l, node, "tf_crop_and_resize beyond the picture is not supported");
    struct net_buffer *x = meaning_buffer(l, node, m, MORSEL_CHANNELS_LAST);
    if (!x) return false;
    struct net_buffer *y = tail_buffer(l, tail, MORSEL_CHANNELS_LAST);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_RESIZE, node->name, x, NULL, y);
    step->parameters.resize = (struct morsel_blob_resize){
        .truncate = truncate,
        .out_min = tail->quantized ? type_min(tail->q.type) : 0,
        .out_max = tail->quantized ? type_max(tail->q.type) : 0,
        .float_min = tail->float_min,
        .float_max = tail->float_max,
    };
    net_add_constant(step, rows, (size_t)axes[2].out * sizeof *rows, offsetof(struct morsel_blob_resize, rows));
    net_add_constant(step, columns, (size_t)axes[3].out * sizeof *columns, offsetof(struct morsel_blob_resize, columns));
    return true;
}

/* ONNX Runtime blends bytes in float and cuts off what is behind the point: of the bytes as they stand, whatever scale they have. */
static bool whole_bytes(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_type type) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    struct net_buffer *out = net_add_like(l->net, in, type, node->outputs[0]->name);
    out->scale = 1;
    out->qualified = true;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_UNARY, node->name, in, NULL, out);
    step->parameters.unary = (struct morsel_blob_unary){.op = MORSEL_UNARY_TRUNCATE, .count = net_elements(in), .channels = 1};
    meaning_set(l, node->outputs[0], (struct meaning){.buffer = out, .view = view, .scale = 1});
    return true;
}

static bool lower_linear(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    const struct tail none = {.float_min = -INFINITY, .float_max = INFINITY};
    struct onnx_resize axes[VIEW_MAX_RANK];
    uint32_t last = m->view.rank;
    const char *why;
    if (onnx_attribute_int(node, "antialias", 0) || onnx_attribute_int(node, "exclude_outside", 0))
        return refuse(l, node, "antialias and exclude_outside are not supported");
    for (uint32_t i = 0; i < m->view.rank; i++) {
        if (!onnx_resize_read(node, (int)i, &axes[i], &why)) return refuse(l, node, "%s", why);
        last = onnx_resize_keeps(&axes[i]) ? last : i;
    }
    if (last == m->view.rank) {
        meaning_set(l, node->outputs[0], *m);
        return true;
    }
    bool integers = m->buffer->type != MORSEL_FLOAT32 && !m->dequantized && !m->table;
    struct meaning now = *m;
    if (integers && !meaning_qualify(l, node, &now, 1, 0)) return false;
    if (now.table || now.channel_scales) {
        now.buffer = meaning_float_buffer(l, node, &now, &now.view);
        now = (struct meaning){.buffer = now.buffer, .view = now.view, .scale = 1};
    }
    struct tail tail = integers ? none : tail_follow(l, node->outputs[0], TAIL_NO_ACTIVATION);
    if (now.buffer && is_picture(&now.view, axes)) {
        if (integers) {
            tail.value = node->outputs[0];
            tail.quantized = true;
            tail.q = (struct quantization){.type = m->buffer->type, .scale = 1};
        }
        return resize_picture(l, node, &now, axes, &tail, integers);
    }
    for (uint32_t i = 0; now.buffer && i < now.view.rank; i++)
        if (!onnx_resize_keeps(&axes[i]) && !linear_axis(l, node, &now, i, &axes[i], i == last ? &tail : &none)) return false;
    if (!now.buffer) return false;
    if (integers) return whole_bytes(l, node, &now, m->buffer->type);
    now.dequantized = tail.quantized && tail.dequantized;
    meaning_set(l, tail.value, now);
    return true;
}

bool lower_resize(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    const char *mode = onnx_attribute_string(node, "mode", "nearest");
    if (!m) return false;
    if (!strcmp(mode, "linear")) return lower_linear(l, node, m);
    if (strcmp(mode, "nearest"))
        return refuse(
            l, node,
            "mode %s is not supported: nearest and linear are, and cubic of moderate size without antialias and tf_crop_and_resize", mode);
    made = *m;
    if (made.table && made.table_channels > 1) {
        made.buffer = meaning_float_buffer(l, node, &made, &made.view);
        made.table = NULL;
        made.dequantized = false;
    }
    for (uint32_t axis = 0; made.buffer && axis < made.view.rank; axis++)
        if (!resize_axis(l, node, &made, (int)axis)) return false;
    if (!made.buffer) return false;
    meaning_set(l, node->outputs[0], made);
    return true;
}
