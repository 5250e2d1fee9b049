/* SPDX-License-Identifier: MIT */
/* Add, Mul and their like: QLinearAdd and QLinearMul to the bit, tables where one side is a constant, float steps for the rest. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

/* --- An operand as strides over the output's dimensions --- */

struct strides {
    struct net_buffer *buffer;
    uint32_t step[VIEW_MAX_RANK];
};

/* Strides of a view along the output's logical axes; false where its entries are no straight runs. */
static bool view_strides(const struct view *v, uint32_t rank, uint32_t *step) {
    if (v->rank > rank) return false;
    uint32_t skip = rank - v->rank;
    for (uint32_t i = 0; i < rank; i++) step[i] = 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        const int32_t *t = v->table[i];
        int32_t stride = v->dims[i] > 1 ? t[1] - t[0] : 0;
        for (uint32_t k = 0; !v->step[i] && k < v->dims[i]; k++)
            if (stride < 0 || t[k] != (int32_t)k * stride) return false;
        step[skip + i] = (uint32_t)stride;
    }
    return true;
}

static bool operand_strides(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t rank, struct strides *out) {
    out->buffer = m->buffer;
    if (view_strides(&m->view, rank, out->step)) return true;
    struct meaning copy = *m;
    enum morsel_layout layout = view_layout(&m->view);
    out->buffer = meaning_bytes(l, node, &copy, layout);
    if (!out->buffer) return false;
    struct view whole = view_whole(l->net, layout, m->view.rank, m->view.dims);
    return view_strides(&whole, rank, out->step);
}

/* Dimensions in the order of the output's memory, which is that of its axes, neighbours merged where all three run on. */
static bool put_strides(struct lowering *l, struct onnx_node *node, const struct onnx_shape *shape, const uint32_t *order,
                        const struct strides *a, const struct strides *b, struct morsel_blob_binary *p) {
    uint32_t rank = (uint32_t)shape->rank, n = 0, dims[VIEW_MAX_RANK + 1], sa[VIEW_MAX_RANK + 1], sb[VIEW_MAX_RANK + 1];
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = order[i], dim = (uint32_t)shape->dims[axis];
        if (dim == 1) continue;
        if (n && sa[n - 1] == a->step[axis] * dim && sb[n - 1] == b->step[axis] * dim) {
            dims[n - 1] *= dim;
            sa[n - 1] = a->step[axis];
            sb[n - 1] = b->step[axis];
            continue;
        }
        dims[n] = dim;
        sa[n] = a->step[axis];
        sb[n++] = b->step[axis];
    }
    if (!n) {
        dims[0] = 1;
        sa[0] = sb[0] = 0;
        n = 1;
    }
    if (n > MORSEL_FORMAT_MAX_RANK) return refuse(l, node, "a broadcast over %u dimensions is not supported", n);
    p->rank = n;
    for (uint32_t i = 0; i < MORSEL_FORMAT_MAX_RANK; i++) {
        p->dims[i] = i < n ? dims[i] : 1;
        p->a_stride[i] = i < n ? sa[i] : 0;
        p->b_stride[i] = i < n ? sb[i] : 0;
    }
    return true;
}

/* The layout in which the larger operand lies already. */
static enum morsel_layout output_layout(const struct onnx_shape *shape, const struct meaning *a, const struct meaning *b) {
    const struct meaning *big = view_elements(&a->view) >= view_elements(&b->view) ? a : b;
    uint32_t elements = view_elements(&big->view);
    if ((int)big->view.rank == shape->rank && (int64_t)elements == onnx_elements(shape))
        for (int layout = 0; layout < 2; layout++)
            if (view_is_whole(&big->view, (enum morsel_layout)layout, elements) && natural_layout(shape) != (enum morsel_layout)layout &&
                !view_is_whole(&big->view, natural_layout(shape), elements))
                return (enum morsel_layout)layout;
    return (int)big->view.rank == shape->rank ? view_layout(&big->view) : natural_layout(shape);
}

/* An operand whose neighbours in the output lie apart is gathered first: kernels take lines. */
static bool operand_lines(struct lowering *l, struct onnx_node *node, const struct meaning *m, uint32_t rank, enum morsel_layout layout,
                          struct strides *out) {
    struct meaning copy = *m;
    if (m->view.rank != rank) return true;
    out->buffer = meaning_bytes(l, node, &copy, layout);
    if (!out->buffer) return false;
    struct view whole = view_whole(l->net, layout, rank, m->view.dims);
    return view_strides(&whole, rank, out->step);
}

/* The output lies as the larger operand does, whose view is a turned or divided one of all its buffer, and is seen as that is. False also
 * where lines are shorter than `least` so. */
static bool put_as_it_lies(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b,
                           const struct tail *tail, struct morsel_blob_binary *p, uint32_t least, struct strides *sa, struct strides *sb,
                           struct net_buffer **out) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    const struct meaning *big = view_elements(&a->view) >= view_elements(&b->view) ? a : b;
    struct strides left = {.buffer = a->buffer}, right = {.buffer = b->buffer}; /* the caller's stay where this one does not serve */
    uint32_t rank = (uint32_t)shape->rank, count = net_elements(big->buffer), *step = big == a ? left.step : right.step,
             order[VIEW_MAX_RANK];
    if (rank > MORSEL_FORMAT_MAX_RANK || big->view.rank != rank || onnx_elements(shape) != (int64_t)count ||
        !view_is_permutation(&big->view, count) || !view_strides(&a->view, rank, left.step) || !view_strides(&b->view, rank, right.step))
        return false;
    view_memory_order(MORSEL_ROW_MAJOR, rank, order);
    for (uint32_t i = 1; i < rank; i++)
        for (uint32_t k = i; k > 0 && step[order[k]] > step[order[k - 1]]; k--) {
            uint32_t axis = order[k];
            order[k] = order[k - 1];
            order[k - 1] = axis;
        }
    struct morsel_blob_binary lies = *p;
    if (!put_strides(l, node, shape, order, &left, &right, &lies) || lies.a_stride[lies.rank - 1] > 1 || lies.b_stride[lies.rank - 1] > 1 ||
        lies.dims[lies.rank - 1] < least)
        return false;
    *p = lies;
    *sa = left;
    *sb = right;
    *out = tail_buffer_like(l, tail, big->buffer, &big->view);
    return true;
}

/* Kernels take the elements of shorter lines one by one. Lines of whole vectors in place of those are worth it if a reader wants the order
 * of the axes, and has to move them. */
enum { SHORT = 8, LONG = 32 };

/* The output in a layout of its own; operands whose neighbours then lie apart are gathered. */
static bool put_in_layout(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b,
                          const struct tail *tail, struct morsel_blob_binary *p, struct strides *sa, struct strides *sb,
                          struct net_buffer **out) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    enum morsel_layout layout = output_layout(shape, a, b);
    uint32_t rank = (uint32_t)shape->rank, order[VIEW_MAX_RANK];
    struct meaning left = *a, right = *b;
    view_memory_order(layout, rank, order);
    if (!operand_strides(l, node, &left, rank, sa) || !operand_strides(l, node, &right, rank, sb) ||
        !put_strides(l, node, shape, order, sa, sb, p))
        return false;
    bool a_apart = p->a_stride[p->rank - 1] > 1, b_apart = p->b_stride[p->rank - 1] > 1;
    if ((a_apart || b_apart || p->dims[p->rank - 1] < SHORT) &&
        put_as_it_lies(l, node, a, b, tail, p, a_apart || b_apart ? 1 : LONG, sa, sb, out))
        return true;
    if ((a_apart && !operand_lines(l, node, a, rank, layout, sa)) || (b_apart && !operand_lines(l, node, b, rank, layout, sb)) ||
        ((a_apart || b_apart) && !put_strides(l, node, shape, order, sa, sb, p)))
        return false;
    *out = tail_buffer(l, tail, layout);
    return true;
}

static bool add_binary(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b, const struct tail *tail,
                       struct morsel_blob_binary p) {
    struct strides sa, sb;
    struct net_buffer *y;
    if (!put_in_layout(l, node, a, b, tail, &p, &sa, &sb, &y)) return false;
    p.out_min = tail->out_min;
    p.out_max = tail->out_max;
    p.float_min = tail->float_min;
    p.float_max = tail->float_max;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_BINARY, node->name, sa.buffer, sb.buffer, y);
    step->parameters.binary = p;
    return true;
}

/* --- ONNX Runtime's integer forms --- */

/* Its broadcast sees the left operand as a scalar: then it swaps the operands first, and the rounding differs. From the innermost
 * dimension out, the first that is not 1 on both sides (or the outermost common one) decides. */
static bool left_is_scalar(const struct view *a, const struct view *b) {
    uint32_t n = a->rank < b->rank ? a->rank : b->rank;
    if (!n) return a->rank == 0 || a->dims[a->rank - 1] == 1;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t da = a->dims[a->rank - i], db = b->dims[b->rank - i];
        if (i == n || da != 1 || db != 1) return da == 1;
    }
    return false;
}

/* The runtime takes factors up to 2^100, so that no intermediate becomes infinite. */
static bool ratios_fit(struct lowering *l, struct onnx_node *node, const struct morsel_blob_binary *p) {
    if (fabsf(p->a_ratio) <= 0x1p100f && fabsf(p->b_ratio) <= 0x1p100f && fabsf(p->offset) <= 0x1p100f) return true;
    return refuse(l, node, "its scales are too far apart: what it multiplies by would pass 2^100");
}

static bool add_qadd(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b, const struct tail *tail) {
    if (left_is_scalar(&a->view, &b->view)) {
        struct meaning *swap = a;
        a = b;
        b = swap;
    }
    struct morsel_blob_binary p = {.op = MORSEL_BINARY_QADD, .a_ratio = a->scale / tail->q.scale, .b_ratio = b->scale / tail->q.scale};
    float zero_terms = fmaf(p.a_ratio, (float)a->zero, p.b_ratio * (float)b->zero);
    p.offset = (float)tail->q.zero - zero_terms;
    return ratios_fit(l, node, &p) && add_binary(l, node, a, b, tail, p);
}

static bool add_qmul(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b, const struct tail *tail) {
    struct morsel_blob_binary p = {.op = MORSEL_BINARY_QMUL, .b_ratio = 1};
    p.a_ratio = a->scale * b->scale;
    p.a_ratio = p.a_ratio / tail->q.scale;
    return ratios_fit(l, node, &p) && add_binary(l, node, a, b, tail, p);
}

/* An operand of QLinearAdd or QLinearMul at inputs i (value), i + 1 (scale), i + 2 (zero point). */
static struct meaning *qlinear_operand(struct lowering *l, struct onnx_node *node, int i, struct meaning *constant) {
    struct quantization q;
    const char *why;
    const struct onnx_tensor *t = onnx_input_constant(node, i);
    if (!onnx_input(node, i) || !read_quantization(node, i + 1, i + 2, node->inputs[i]->type, &q, &why)) {
        refuse(l, node, "%s", onnx_input(node, i) ? why : "an operand is missing");
        return NULL;
    }
    if (t) return meaning_constant_bytes(l, node, t, q.scale, q.zero, constant) ? constant : NULL;
    struct meaning *m = activation(l, node, i);
    return m && meaning_qualify(l, node, m, q.scale, q.zero) ? m : NULL;
}

bool lower_qlinear_binary(struct lowering *l, struct onnx_node *node) {
    struct meaning left, right, *a = qlinear_operand(l, node, 0, &left), *b = a ? qlinear_operand(l, node, 3, &right) : NULL;
    struct tail tail = {.value = node->outputs[0], .quantized = true};
    const char *why;
    if (!b) return false;
    if (!read_quantization(node, 6, 7, node->inputs[0]->type, &tail.q, &why)) return refuse(l, node, "%s", why);
    tail.out_min = type_min(tail.q.type);
    tail.out_max = type_max(tail.q.type);
    return node_is(node, "QLinearAdd") ? add_qadd(l, node, a, b, &tail) : add_qmul(l, node, a, b, &tail);
}

/* --- The float forms --- */

static enum morsel_binary_op float_op(const struct onnx_function_of_two *f) {
    static const struct onnx_function_of_two *const functions[] = {&onnx_add, &onnx_sub,   &onnx_mul, &onnx_div, &onnx_max,
                                                                   &onnx_min, &onnx_prelu, &onnx_pow, &onnx_mask};
    enum morsel_binary_op op = MORSEL_BINARY_ADD;
    while (functions[op - MORSEL_BINARY_ADD] != f) op++;
    return op;
}

static const struct onnx_function_of_two *function_of(const struct onnx_node *node) {
    return onnx_operator_of(node)->of_two;
}

/* Rounded once, which for arithmetic is what float arithmetic gives. */
static float apply(const struct onnx_function_of_two *f, float a, float b) {
    return (float)f->number((double)a, (double)b);
}

/* One constant operand: numbers by channel (or one), and on which side it stands. */
struct constant_side {
    const struct onnx_function_of_two *f;
    const float *numbers;
    bool left;
};

static float with_constant(const void *context, uint32_t channel, float x) {
    const struct constant_side *c = context;
    return c->left ? apply(c->f, c->numbers[channel], x) : apply(c->f, x, c->numbers[channel]);
}

/* A constant's numbers as floats, whether it is a float constant or one behind a DequantizeLinear. NULL: it is none. */
const struct onnx_tensor *constant_numbers(struct lowering *l, const struct onnx_value *value) {
    if (!value) return NULL;
    const struct meaning *m = meaning_of(l, value);
    const struct onnx_tensor *t = value->constant ? value->constant : m ? m->quantized : NULL;
    if (!t || (value->constant && t->type == ONNX_FLOAT)) return t;
    if (!m || !m->quantized) return NULL;
    struct onnx_tensor *made = net_alloc(l->net, sizeof *made);
    *made = *t;
    made->alike = made->mask = 0;
    made->type = ONNX_FLOAT;
    made->data = net_alloc(l->net, t->count * sizeof(float));
    size_t inner = 1;
    for (int i = m->axis + 1; i < t->shape.rank; i++) inner *= (size_t)t->shape.dims[i];
    for (size_t i = 0; i < t->count; i++) {
        uint32_t c = m->scales->count > 1 ? (uint32_t)(i / inner % m->scales->count) : 0;
        ((float *)made->data)[i] = (float)(onnx_integer(t, i) - quantized_zero(m, c)) * quantized_scale(m, c);
    }
    return made;
}

/* Products and sums with a constant for each channel are lines. */
static void set_line_of_constant(struct lowering *l, struct onnx_node *node, const struct meaning *before, const struct onnx_tensor *t) {
    bool product = node_is(node, "Mul"), sum = node_is(node, "Add");
    float *other = net_alloc(l->net, t->count * sizeof *other);
    for (size_t c = 0; c < t->count; c++) other[c] = product ? 0 : 1;
    if (product) set_line(l, before, node->outputs[0], t->data, other);
    if (sum) set_line(l, before, node->outputs[0], other, t->data);
}

/* A q8 value and a constant that varies along one axis at most: still a function of a byte. */
static bool table_with_constant(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_tensor *t, bool left) {
    int rank = node->outputs[0]->shape.rank, axis = onnx_varying_axis(t, rank);
    struct constant_side side = {function_of(node), t->data, left};
    const struct meaning before = *m;
    bool made =
        set_function(l, node, m, node->outputs[0], with_constant, &side, axis < 0 ? 1 : (uint32_t)t->count, axis < 0 ? 0 : (uint32_t)axis);
    if (made && axis >= 0) set_line_of_constant(l, node, &before, t);
    return made;
}

static bool shape_kept(const struct onnx_node *node, const struct meaning *m) {
    const struct onnx_shape *out = &node->outputs[0]->shape;
    if ((int)m->view.rank != out->rank) return false;
    for (int i = 0; i < out->rank; i++)
        if ((int64_t)m->view.dims[i] != out->dims[i]) return false;
    return true;
}

/* Two functions of the same byte (x * sigmoid(x)): one function of it. */
static bool table_of_both(struct lowering *l, struct onnx_node *node, const struct meaning *a, const struct meaning *b) {
    const struct meaning *wide = a->table && a->table_channels > 1 ? a : b;
    uint32_t channels = wide->table ? wide->table_channels : 1;
    float *table = new_table(l, channels);
    for (uint32_t c = 0; c < channels; c++)
        for (int i = 0; i < 256; i++)
            table[c * 256 + (uint32_t)i] = apply(function_of(node), meaning_number(a, c, i), meaning_number(b, c, i));
    struct meaning made = *wide;
    made.table = table;
    made.table_channels = channels;
    meaning_set(l, node->outputs[0], made);
    return true;
}

static bool same_bytes(const struct meaning *a, const struct meaning *b) {
    bool axes = !a->table || !b->table || a->table_channels <= 1 || b->table_channels <= 1 || a->table_axis == b->table_axis;
    return a->buffer == b->buffer && a->buffer->type != MORSEL_FLOAT32 && axes && view_same(&a->view, &b->view);
}

/* What a float step reads: q8 behind a DequantizeLinear as it is, float as it is, tables as float. */
static bool float_operand(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (!m->table) return m->buffer->type == MORSEL_FLOAT32 || m->dequantized || refuse(l, node, "an operand is an integer tensor");
    struct view view;
    struct net_buffer *buffer = meaning_float_buffer(l, node, m, &view);
    if (!buffer) return false;
    *m = (struct meaning){.buffer = buffer, .view = view, .scale = 1};
    return true;
}

static bool add_float_binary(struct lowering *l, struct onnx_node *node, enum morsel_binary_op op, struct meaning a, struct meaning b,
                             const struct tail *tail) {
    struct morsel_blob_binary p = {.op = op, .a_ratio = 1, .b_ratio = 1};
    return float_operand(l, node, &a) && float_operand(l, node, &b) && add_binary(l, node, &a, &b, tail, p);
}

/* Whether ONNX Runtime would take the integer form: nothing stands between the operator and its QuantizeLinear, and all three tensors have
 * one type. */
static bool integer_form(const struct onnx_node *node, const struct meaning *a, const struct meaning *b, const struct tail *tail) {
    return (node_is(node, "Add") || node_is(node, "Mul")) && tail->quantized && !tail->activation_stays && a->dequantized &&
           b->dequantized && meaning_is_affine(a) && meaning_is_affine(b) && a->buffer->type == b->buffer->type &&
           a->buffer->type == tail->q.type;
}

static bool binary_of(struct lowering *l, struct onnx_node *node, struct meaning *a, struct meaning *b) {
    struct tail tail = tail_follow(l, node->outputs[0], 0);
    if (!integer_form(node, a, b, &tail)) return add_float_binary(l, node, float_op(function_of(node)), *a, *b, &tail);
    return node_is(node, "Add") ? add_qadd(l, node, a, b, &tail) : add_qmul(l, node, a, b, &tail);
}

bool lower_square(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    struct tail tail = tail_follow(l, node->outputs[0], 0);
    return add_float_binary(l, node, MORSEL_BINARY_MUL, *m, *m, &tail);
}

/* x * x * x, as ONNX Runtime computes it. */
bool lower_cube(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    const struct tail nothing = {.value = node->outputs[0], .float_min = -INFINITY, .float_max = INFINITY};
    if (!add_float_binary(l, node, MORSEL_BINARY_MUL, *m, *m, &nothing)) return false;
    const struct meaning square = *meaning_of(l, node->outputs[0]);
    square.buffer->name = net_text(l->net, "%s/square", node->name); /* whoever looks for the output finds the cube */
    struct tail tail = tail_follow(l, node->outputs[0], 0);
    return add_float_binary(l, node, MORSEL_BINARY_MUL, square, *m, &tail);
}

/* A constant beside an activation. */
static bool binary_constant(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_value *value, bool left) {
    const struct onnx_tensor *t = constant_numbers(l, value);
    const struct meaning *c = meaning_of(l, value);
    if (!t) return refuse(l, node, "a constant operand is neither float nor behind a DequantizeLinear");
    if (c && c->quantized && c->quantized->type != ONNX_INT32 && c->scales->count == 1 && m->dequantized && meaning_is_affine(m)) {
        struct meaning kept;
        if (!meaning_constant_bytes(l, node, c->quantized, quantized_scale(c, 0), quantized_zero(c, 0), &kept)) return false;
        struct tail tail = tail_follow(l, node->outputs[0], 0);
        if (integer_form(node, m, &kept, &tail)) return binary_of(l, node, left ? &kept : m, left ? m : &kept);
        return add_float_binary(l, node, float_op(function_of(node)), left ? kept : *m, left ? *m : kept, &tail);
    }
    bool q8 = m->buffer->type != MORSEL_FLOAT32;
    if (q8 && !m->dequantized && !m->table) return refuse(l, node, "an operand is an integer tensor");
    int axis = onnx_varying_axis(t, node->outputs[0]->shape.rank);
    if (q8 && shape_kept(node, m) && axis > -2 && function_fits(l, m, axis < 0 ? 1 : (uint32_t)t->count, axis < 0 ? 0 : (uint32_t)axis))
        return table_with_constant(l, node, m, t, left);
    struct meaning number;
    if (!meaning_constant(l, node, t, 1, 0, &number)) return false;
    return binary_of(l, node, left ? &number : m, left ? m : &number);
}

bool lower_binary(struct lowering *l, struct onnx_node *node) {
    if (node->input_count != 2 || !node->inputs[0] || !node->inputs[1])
        return node->input_count == 1 && node->inputs[0] ? lower_identity(l, node)
                                                         : refuse(l, node, "%d operands are not supported, only 2", node->input_count);
    struct onnx_value *va = node->inputs[0], *vb = node->inputs[1];
    struct meaning *a = meaning_of(l, va), *b = meaning_of(l, vb);
    if (!a || !a->buffer) return b && b->buffer ? binary_constant(l, node, b, va, true) : refuse(l, node, "both operands are constants");
    if (!b || !b->buffer) return binary_constant(l, node, a, vb, false);
    if (same_bytes(a, b) && (a->dequantized || a->table) && (a->table || b->table) &&
        function_fits(l, a, b->table ? b->table_channels : 1, b->table_axis))
        return table_of_both(l, node, a, b);
    return binary_of(l, node, a, b);
}
