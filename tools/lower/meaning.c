/* SPDX-License-Identifier: MIT */
/* What values mean: their buffers, views and quantization, and bytes of them where a step needs some. */
#include "tools/base/arena.h"
#include "tools/lower/axis.h"
#include "tools/lower/lower.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct value_slot *value_slot(const struct onnx_value *value) {
    return value->lowered;
}

struct meaning *meaning_of(struct lowering *l, const struct onnx_value *value) {
    (void)l;
    return value_slot(value)->meaning;
}

struct meaning *meaning_set(struct lowering *l, struct onnx_value *value, struct meaning meaning) {
    struct meaning *kept = net_alloc(l->net, sizeof *kept);
    *kept = meaning;
    value_slot(value)->meaning = kept;
    return kept;
}

bool poisoned(struct lowering *l, const struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        const struct meaning *m = node->inputs[i] ? meaning_of(l, node->inputs[i]) : NULL;
        if (m && m->poison) return true;
    }
    return false;
}

struct meaning *activation(struct lowering *l, struct onnx_node *node, int i) {
    struct onnx_value *value = onnx_input(node, i);
    struct meaning *m = value ? meaning_of(l, value) : NULL;
    if (m && m->buffer) return m;
    refuse(l, node, value ? "input %d is a constant where an activation is expected" : "input %d is missing", i);
    return NULL;
}

enum morsel_layout natural_layout(const struct onnx_shape *shape) {
    return shape->rank == 4 ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR;
}

static void shape_dims(const struct onnx_shape *shape, uint32_t *dims) {
    for (int i = 0; i < shape->rank; i++) dims[i] = (uint32_t)shape->dims[i];
}

struct meaning meaning_fresh(struct lowering *l, struct net_buffer *buffer, const struct onnx_shape *shape) {
    uint32_t dims[ONNX_MAX_RANK];
    shape_dims(shape, dims);
    return (struct meaning){.buffer = buffer,
                            .view = view_whole(l->net, buffer->layout, (uint32_t)shape->rank, dims),
                            .scale = buffer->scale,
                            .zero = buffer->zero};
}

/* Dimensions of a buffer: a view's, in the order of memory, the leading ones merged where there are more than the format takes. A rank 3
 * value (N C L) in CHANNELS_LAST lies as N 1 L C, as the spatial kernels want it. */
static uint32_t buffer_dims(enum morsel_layout layout, const struct view *view, uint32_t *dims) {
    if (layout == MORSEL_CHANNELS_LAST && view->rank == 3) {
        dims[0] = view->dims[0];
        dims[1] = 1;
        dims[2] = view->dims[2];
        dims[3] = view->dims[1];
        return 4;
    }
    uint32_t physical[VIEW_MAX_RANK], extra = view->rank > MORSEL_FORMAT_MAX_RANK ? view->rank - MORSEL_FORMAT_MAX_RANK : 0;
    view_physical(layout, view, physical);
    dims[0] = 1;
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t at = i < extra ? 0 : i - extra;
        dims[at] = i <= extra && i > 0 ? dims[at] * physical[i] : physical[i];
    }
    return view->rank - extra;
}

struct net_buffer *value_buffer(struct lowering *l, const struct onnx_value *value, enum morsel_type type, enum morsel_layout layout,
                                float scale, int32_t zero) {
    uint32_t logical[ONNX_MAX_RANK], dims[VIEW_MAX_RANK];
    struct view view = {.rank = (uint32_t)value->shape.rank};
    shape_dims(&value->shape, logical);
    memcpy(view.dims, logical, view.rank * sizeof *logical);
    uint32_t rank = buffer_dims(layout, &view, dims);
    struct net_buffer *buffer = net_add_buffer(l->net, type, layout, rank, dims, value->name);
    buffer->scale = scale;
    buffer->zero = zero;
    buffer->qualified = true;
    return buffer;
}

bool meaning_is_affine(const struct meaning *m) {
    return m->buffer && m->buffer->type != MORSEL_FLOAT32 && !m->table;
}

/* Entry i of an axis on the way to memory: of a table, or without one first + i * step. */
struct axis {
    uint32_t dim;
    const int32_t *table;
    int32_t first, step;
};

static int32_t entry_of(const struct axis *a, uint32_t i) {
    return a->table ? a->table[i] : a->first + (int32_t)i * a->step;
}

/* Axes b inside a form one straight run: entry (i, k) is base + (i * b->dim + k) * step, and nothing is fill. */
static bool straight(const struct axis *a, const struct axis *b, int32_t *step) {
    *step = b->dim > 1 ? entry_of(b, 1) - entry_of(b, 0) : 1;
    if (entry_of(b, 0) != 0 || *step <= 0) return false;
    for (uint32_t k = 0; b->table && k < b->dim; k++)
        if (b->table[k] != (int64_t)k * *step) return false;
    if (!a->table) return a->dim == 1 || (uint32_t)a->step == b->dim * (uint32_t)*step;
    for (uint32_t i = 0; i < a->dim; i++)
        if (a->table[i] < 0 || a->table[i] != a->table[0] + (int64_t)i * b->dim * *step) return false;
    return true;
}

/* Short stretches of the last axis and the axis around them are one line, which kernels take in pieces of 16. */
static bool short_stretch(const struct axis *b, uint32_t outer) {
    if (b->dim < 2 || b->dim >= 16 || (uint64_t)b->dim * outer > AXIS_MOST_STRAIGHT) return false;
    for (uint32_t k = 0; k < b->dim; k++)
        if (entry_of(b, k) != (int32_t)k) return false;
    return true;
}

/* Axis b inside a as one; what is fill stays so. */
static struct axis joined(struct arena *scratch, const struct axis *a, const struct axis *b) {
    int32_t *table = arena_alloc(scratch, (size_t)a->dim * b->dim * sizeof *table), *at = table;
    for (uint32_t i = 0; i < a->dim; i++)
        for (uint32_t k = 0; k < b->dim; k++) *at++ = entry_of(a, i) < 0 ? -1 : entry_of(a, i) + entry_of(b, k);
    return (struct axis){.dim = a->dim * b->dim, .table = table};
}

/* The view's axes in the order of memory, with axes of one element dropped and straight neighbours merged. */
static uint32_t gather_axes(struct arena *scratch, const struct view *view, enum morsel_layout layout, struct axis *axes) {
    uint32_t rank = 0, order[VIEW_MAX_RANK];
    view_memory_order(layout, view->rank, order);
    for (uint32_t i = 0; i < view->rank; i++) {
        const uint32_t at = order[i], known = view->step[at];
        const struct axis axis = {.dim = view->dims[at], .table = known ? NULL : view->table[at], .step = (int32_t)known};
        struct axis *outer = rank ? &axes[rank - 1] : NULL;
        int32_t step;
        if (axis.dim == 1 && entry_of(&axis, 0) == 0 && view->rank > 1) continue;
        if (i + 1 == view->rank && short_stretch(&axis, outer ? outer->dim : 1) && outer) *outer = joined(scratch, outer, &axis);
        else if (outer && straight(outer, &axis, &step))
            *outer = (struct axis){.dim = outer->dim * axis.dim, .first = entry_of(outer, 0), .step = step};
        else axes[rank++] = axis;
    }
    if (!rank) axes[rank++] = (struct axis){.dim = 1};
    return rank;
}

/* An axis that runs straight, or is made of two, needs no entry for each element: a long one becomes two. */
static uint32_t split_axes(struct arena *scratch, uint32_t rank, struct axis *axes) {
    for (uint32_t i = 0; i < rank && rank < MORSEL_FORMAT_MAX_RANK; i++) {
        const struct axis axis = axes[i];
        const uint32_t inner = axis.table ? axis_inner(axis.table, axis.dim) : axis_inner_even(axis.dim);
        if (!inner) continue;
        for (uint32_t n = rank++; n > i; n--) axes[n] = axes[n - 1];
        int32_t *table = arena_alloc(scratch, ((size_t)axis.dim / inner + inner) * sizeof *table), *stretch = table + axis.dim / inner;
        int32_t least = entry_of(&axis, 0); /* entries below 0 are fill: of an axis that runs backwards the inner one counts from its end */
        for (uint32_t k = 0; k < inner; k++) least = entry_of(&axis, k) < least ? entry_of(&axis, k) : least;
        for (uint32_t k = 0; k < axis.dim / inner; k++) table[k] = entry_of(&axis, k * inner) - (entry_of(&axis, 0) - least);
        for (uint32_t k = 0; k < inner; k++) stretch[k] = entry_of(&axis, k) - least;
        axes[i] = (struct axis){.dim = axis.dim / inner, .table = table};
        axes[i + 1] = (struct axis){.dim = inner, .table = stretch};
    }
    return rank;
}

static struct net_buffer *add_gather(struct lowering *l, struct onnx_node *node, const struct meaning *m, enum morsel_layout layout,
                                     uint32_t rank, const struct axis *axes) {
    uint32_t out_dims[VIEW_MAX_RANK], out_rank = buffer_dims(layout, &m->view, out_dims), total = 0;
    struct net_buffer *out = net_add_buffer(l->net, m->buffer->type, layout, out_rank, out_dims, m->buffer->name);
    out->scale = m->buffer->scale;
    out->zero = m->buffer->zero;
    out->qualified = m->buffer->qualified;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_GATHER, node->name, m->buffer, NULL, out);
    struct morsel_blob_gather *p = &step->parameters.gather;
    p->rank = rank;
    p->fill = m->fill;
    for (uint32_t i = 0; i < MORSEL_FORMAT_MAX_RANK; i++) p->dims[i] = i < rank ? axes[i].dim : 1;
    for (uint32_t i = 0; i < rank; i++) total += axes[i].dim;
    int32_t *table = net_alloc(l->net, total * sizeof *table), *at = table;
    for (uint32_t i = 0; i < rank; i++)
        for (uint32_t k = 0; k < axes[i].dim; k++) *at++ = entry_of(&axes[i], k);
    net_add_constant(step, table, total * sizeof *table, offsetof(struct morsel_blob_gather, table));
    return out;
}

/* Axes that are joined and split on the way do not stay. */
static struct net_buffer *gather(struct lowering *l, struct onnx_node *node, const struct meaning *m, enum morsel_layout layout) {
    struct axis axes[VIEW_MAX_RANK];
    struct arena scratch = {0};
    const uint32_t rank = split_axes(&scratch, gather_axes(&scratch, &m->view, layout, axes), axes);
    struct net_buffer *out = rank > MORSEL_FORMAT_MAX_RANK ? NULL : add_gather(l, node, m, layout, rank, axes);
    if (!out) refuse(l, node, "moving data over %u dimensions at once is not supported (at most %u)", rank, MORSEL_FORMAT_MAX_RANK);
    arena_free(&scratch);
    return out;
}

/* Puts what was gathered in the place of what the value was, so that the next reader finds it done. */
static struct net_buffer *settled(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout) {
    struct net_buffer *out = gather(l, node, m, layout);
    if (!out) return NULL;
    m->buffer = out;
    m->view = view_whole(l->net, layout, m->view.rank, m->view.dims);
    m->fill = 0;
    return out;
}

bool meaning_settle(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    struct onnx_shape shape = {.rank = (int)m->view.rank};
    return settled(l, node, m, natural_layout(&shape)) != NULL;
}

bool meaning_channels_last(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (view_is_whole(&m->view, MORSEL_CHANNELS_LAST, net_elements(m->buffer))) return true;
    return settled(l, node, m, MORSEL_CHANNELS_LAST) != NULL;
}

/* The last values that were gathered for a reader. */
enum { GATHERED = 16 };
struct gathered {
    struct {
        const struct net_buffer *from;
        struct view view;
        uint32_t fill;
        enum morsel_layout layout;
        struct net_buffer *to;
    } last[GATHERED];
    uint32_t next;
};

static struct net_buffer *gather_once(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout) {
    if (!l->gathered) l->gathered = net_alloc(l->net, sizeof *l->gathered);
    struct gathered *g = l->gathered;
    for (uint32_t i = 0; i < GATHERED; i++)
        if (g->last[i].from == m->buffer && g->last[i].layout == layout && g->last[i].fill == m->fill &&
            view_same(&g->last[i].view, &m->view))
            return g->last[i].to;
    struct net_buffer *to = gather(l, node, m, layout);
    uint32_t at = g->next++ % GATHERED;
    g->last[at].from = to ? m->buffer : NULL;
    g->last[at].view = m->view;
    g->last[at].fill = m->fill;
    g->last[at].layout = layout;
    g->last[at].to = to;
    return to;
}

struct net_buffer *meaning_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout) {
    uint32_t dims[VIEW_MAX_RANK];
    uint32_t rank = buffer_dims(layout, &m->view, dims);
    bool same = rank == m->buffer->rank && !memcmp(dims, m->buffer->dims, rank * sizeof *dims);
    if (view_is_whole(&m->view, layout, net_elements(m->buffer)) && (same || layout == MORSEL_ROW_MAJOR)) return m->buffer;
    return gather_once(l, node, m, layout); /* another reader may want another layout: the value itself stays as it is */
}

struct net_buffer *meaning_bytes(struct lowering *l, struct onnx_node *node, struct meaning *m, enum morsel_layout layout) {
    return view_is_whole(&m->view, layout, net_elements(m->buffer)) ? m->buffer : meaning_buffer(l, node, m, layout);
}

struct net_buffer *meaning_any_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view) {
    if (!view_is_permutation(&m->view, net_elements(m->buffer)) && !settled(l, node, m, view_layout(&m->view))) return NULL;
    *view = m->view;
    return m->buffer;
}

bool meaning_qualify(struct lowering *l, struct onnx_node *node, struct meaning *m, float scale, int32_t zero) {
    if (m->buffer->type != MORSEL_UINT8 && m->buffer->type != MORSEL_INT8) return refuse(l, node, "its input is not int8 or uint8");
    if (m->table) return refuse(l, node, "its input is a float value that was never quantized");
    if (zero < type_min(m->buffer->type) || zero > type_max(m->buffer->type))
        return refuse(l, node, "the zero point %d of its input is outside the input's type", zero);
    if (!m->buffer->qualified) {
        m->buffer->scale = scale;
        m->buffer->zero = zero;
        m->buffer->qualified = true;
    }
    if (m->buffer->scale != scale || m->buffer->zero != zero) {
        if (!settled(l, node, m, view_layout(&m->view))) return false;
        m->buffer->scale = scale;
        m->buffer->zero = zero;
    }
    m->scale = scale;
    m->zero = zero;
    return true;
}

/* How many elements in a row share a channel's table; 0 where the buffer does not lie that way. */
static uint32_t table_inner(const struct meaning *m, const struct view *view) {
    if (!m->table || m->table_channels <= 1) return 1; /* what became float has forgotten its table alone */
    const int32_t *table = view->table[m->table_axis];
    uint32_t inner = (uint32_t)table[1];
    for (uint32_t k = 0; k < m->table_channels; k++)
        if (table[k] != (int32_t)(k * inner)) return 0;
    uint32_t order[2] = {MORSEL_ROW_MAJOR, MORSEL_CHANNELS_LAST}, elements = view_elements(view);
    for (int i = 0; i < 2; i++)
        if (view_is_whole(view, order[i], elements)) return inner;
    return 0;
}

struct net_buffer *meaning_table_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view) {
    struct net_buffer *in = meaning_any_buffer(l, node, m, view);
    if (!in || table_inner(m, view)) return in;
    in = settled(l, node, m, view_layout(&m->view));
    *view = m->view;
    return in;
}

struct net_step *add_lut(struct lowering *l, struct onnx_node *node, const struct meaning *m, const struct view *view,
                         struct net_buffer *in, struct net_buffer *out, const void *table) {
    struct net_step *line = m->table && m->line_scale && table_inner(m, view) == 1 ? add_line(l, node, m, in, out, table) : NULL;
    if (line) return line;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_LUT, node->name, in, NULL, out);
    uint32_t channels = m->table ? m->table_channels : 1;
    step->parameters.lut =
        (struct morsel_blob_lut){.count = net_elements(in), .channels = channels, .inner = m->table ? table_inner(m, view) : 1};
    net_add_constant(step, table, channels * 256 * net_type_bytes(out->type), offsetof(struct morsel_blob_lut, table));
    return step;
}

struct net_buffer *meaning_float_buffer(struct lowering *l, struct onnx_node *node, struct meaning *m, struct view *view) {
    struct net_buffer *in = meaning_table_buffer(l, node, m, view);
    if (!in || in->type == MORSEL_FLOAT32) return in;
    struct net_buffer *out = net_add_like(l->net, in, MORSEL_FLOAT32, net_text(l->net, "%s/float", in->name));
    if (!m->table) {
        net_add_identity(l->net, node->name, in, out);
        onnx_notice(l->report, "%s (%s): its input %s stays float: a DequantizeLinear runs as a step of its own", node->name, node->op,
                    in->name);
        return out;
    }
    add_lut(l, node, m, view, in, out, m->table);
    return out;
}

float quantized_scale(const struct meaning *m, uint32_t i) {
    return (float)onnx_number(m->scales, m->scales->count > 1 ? i : 0);
}

int32_t quantized_zero(const struct meaning *m, uint32_t i) {
    return m->zeros ? (int32_t)onnx_integer(m->zeros, m->zeros->count > 1 ? i : 0) : 0;
}

bool meaning_constant(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, float scale, int32_t zero,
                      struct meaning *out) {
    uint32_t dims[ONNX_MAX_RANK];
    if (t->shape.rank > (int)MORSEL_FORMAT_MAX_RANK || (t->type != ONNX_INT8 && t->type != ONNX_UINT8 && t->type != ONNX_FLOAT))
        return refuse(l, node, "a constant operand of type %d and rank %d is not supported", t->type, t->shape.rank);
    shape_dims(&t->shape, dims);
    enum morsel_type type = t->type == ONNX_FLOAT ? MORSEL_FLOAT32 : t->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8;
    struct net_buffer *buffer = net_add_buffer(l->net, type, MORSEL_ROW_MAJOR, (uint32_t)t->shape.rank, dims, "constant");
    buffer->constant = t->data;
    buffer->qualified = true;
    buffer->scale = scale;
    buffer->zero = zero;
    struct meaning m = meaning_fresh(l, buffer, &t->shape);
    m.dequantized = type != MORSEL_FLOAT32;
    *out = m;
    return true;
}

bool meaning_constant_bytes(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *t, float scale, int32_t zero,
                            struct meaning *out) {
    if (t->type != ONNX_INT8 && t->type != ONNX_UINT8) return refuse(l, node, "a constant operand is neither int8 nor uint8");
    enum morsel_type type = t->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8;
    if (zero < type_min(type) || zero > type_max(type))
        return refuse(l, node, "the zero point %d of a constant operand is outside the operand's type", zero);
    if (!(scale > 0) || !isfinite(scale))
        return refuse(l, node, "the scale %g of a constant operand is not a positive finite number", (double)scale);
    return meaning_constant(l, node, t, scale, zero, out);
}
