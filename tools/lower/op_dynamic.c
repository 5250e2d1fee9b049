/* SPDX-License-Identifier: MIT */
/* DynamicQuantizeLinear, what reads its bytes, and the arithmetic with its scale. */
#include "tools/lower/dynamic.h"

#include <string.h>

static const struct reading *reading_of(struct lowering *l, const struct onnx_value *value) {
    const struct meaning *m = value ? meaning_of(l, value) : NULL;
    return m ? m->reading : NULL;
}

static bool is_part(const struct reading *r, enum reading_part part) {
    return r && r->part == part;
}

bool dynamic_reads(struct lowering *l, const struct onnx_node *node) {
    if (onnx_has(node, ONNX_DYNAMIC)) return false;
    for (int i = 0; i < node->input_count; i++) {
        const struct reading *r = reading_of(l, node->inputs[i]);
        if (r && r->part != READING_BYTES) return true;
    }
    return false;
}

void dynamic_settle(struct lowering *l, const struct onnx_node *node) {
    for (int i = 0; !onnx_has(node, ONNX_DYNAMIC) && i < node->input_count; i++) {
        const struct reading *r = reading_of(l, node->inputs[i]);
        if (is_part(r, READING_BYTES) && !r->found->quantized) dynamic_plain_numbers(l, r->found);
    }
}

/* ---- the bytes ---- */

static void set_reading(struct lowering *l, struct onnx_value *value, struct meaning m, struct reading r) {
    if (!value) return;
    struct reading *kept = net_alloc(l->net, sizeof *kept);
    *kept = r;
    m.reading = kept;
    meaning_set(l, value, m);
}

bool lower_dynamic_quantize(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), bytes;
    struct found *found = m ? dynamic_find(l, node, m, onnx_attribute_int(node, "morsel_by_line", 0) != 0, &bytes) : NULL;
    if (!found) return false;
    for (int i = 0; i < node->output_count; i++) {
        const struct reading reading = {.part = (enum reading_part)(READING_BYTES + i), .found = found};
        if (i) bytes = (struct meaning){.scale = 1};
        set_reading(l, node->outputs[i], bytes, reading);
    }
    return true;
}

/* ---- sums of them ---- */

static bool constant_weights(struct lowering *l, struct onnx_node *node, int weights, int zeros, struct sums *sums) {
    sums->node = node;
    sums->weights = onnx_input_constant(node, weights);
    sums->zeros = onnx_input_constant(node, zeros);
    if (!sums->weights) return refuse(l, node, "its weights are not constant");
    if (onnx_input(node, zeros) && !sums->zeros) return refuse(l, node, "the zero point of its weights is not constant");
    return true;
}

/* The input is what a DynamicQuantizeLinear quantized, and its zero point is that one's. */
static bool found_bytes(struct lowering *l, struct onnx_node *node, int zero, struct sums *sums, struct found **found) {
    const struct reading *bytes = reading_of(l, onnx_input(node, 0)), *point = reading_of(l, onnx_input(node, zero));
    if (!is_part(bytes, READING_BYTES)) return refuse(l, node, "its input does not come from a DynamicQuantizeLinear");
    if (!is_part(point, READING_ZERO) || point->found != bytes->found)
        return refuse(l, node, "its input's zero point is not that of the DynamicQuantizeLinear");
    sums->x = *meaning_of(l, onnx_input(node, 0));
    sums->x.reading = NULL;
    *found = bytes->found;
    return true;
}

static bool integer_sums(struct lowering *l, struct onnx_node *node, struct sums *sums) {
    struct found *found;
    if (!constant_weights(l, node, 1, 3, sums) || !found_bytes(l, node, 2, sums, &found)) return false;
    if (sums->is_conv && !conv_geometry(l, node, node->inputs[0], &sums->weights->shape, &sums->conv, &sums->geometry)) return false;
    if (!sums->is_conv && !product_geometry(l, node, sums->weights, false, &sums->geometry)) return false;
    struct sums *kept = net_alloc(l->net, sizeof *kept);
    *kept = *sums;
    set_reading(l, node->outputs[0], (struct meaning){.scale = 1}, (struct reading){.part = READING_SUMS, .found = found, .sums = kept});
    return true;
}

bool lower_conv_integer(struct lowering *l, struct onnx_node *node) {
    return integer_sums(l, node, &(struct sums){.is_conv = true});
}

bool lower_matmul_integer(struct lowering *l, struct onnx_node *node) {
    return integer_sums(l, node, &(struct sums){.is_conv = false});
}

/* ---- com.microsoft: sums and what stands behind them in one ---- */

static bool add_with_bias(struct lowering *l, struct onnx_node *node, struct found *found, struct sums *sums, int scales, int bias) {
    struct sums_end end = {.factor = onnx_input_constant(node, scales), .float_bias = onnx_input_constant(node, bias)};
    if (!end.factor) return refuse(l, node, "the scale of its weights is not constant");
    if (onnx_input(node, bias) && !end.float_bias) return refuse(l, node, "its bias is not constant");
    if (!product_geometry(l, node, sums->weights, false, &sums->geometry)) return false;
    end.tail = tail_follow(l, node->outputs[0], TAIL_FLOAT | (end.float_bias ? 0 : TAIL_BIAS));
    if (end.tail.bias) end.float_bias = end.tail.bias;
    return dynamic_add(l, found, sums, &end);
}

/* A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias */
bool lower_matmul_integer_to_float(struct lowering *l, struct onnx_node *node) {
    struct sums sums = {.is_conv = false};
    struct found *found;
    if (!constant_weights(l, node, 1, 5, &sums) || !found_bytes(l, node, 4, &sums, &found)) return false;
    const struct reading *scale = reading_of(l, onnx_input(node, 2));
    if (!is_part(scale, READING_SCALE) || scale->found != found)
        return refuse(l, node, "its input's scale is not that of the DynamicQuantizeLinear");
    return add_with_bias(l, node, found, &sums, 3, 6);
}

/* A, B, b_scale, b_zero_point, bias */
bool lower_dynamic_matmul(struct lowering *l, struct onnx_node *node) {
    struct sums sums = {.is_conv = false};
    struct meaning *m = activation(l, node, 0);
    if (!m || !constant_weights(l, node, 1, 3, &sums)) return false;
    struct found *found = dynamic_find(l, node, m, false, &sums.x);
    return found && add_with_bias(l, node, found, &sums, 2, 4);
}

/* ---- layers that quantize --dynamic marked ---- */

bool dynamic_is_marked(const struct onnx_node *node, const struct meaning *weights) {
    return onnx_attribute_int(node, ONNX_DYNAMIC_MARK, 0) && weights && weights->quantized;
}

/* Of several layers that read one value, the first has it quantized. */
static struct found *find_once(struct lowering *l, struct onnx_node *node, struct meaning *m, bool by_line, struct sums *sums) {
    struct found **known = &value_slot(node->inputs[0])->found[by_line];
    if (!*known) *known = dynamic_find(l, node, m, by_line, &sums->x);
    if (*known) sums->x = (*known)->meaning;
    return *known;
}

/* The weights behind the DequantizeLinear; a bias is float, and constant. */
static bool add_marked(struct lowering *l, struct onnx_node *node, struct meaning *m, struct sums *sums, unsigned wishes) {
    const struct meaning *weights = meaning_of(l, node->inputs[1]);
    struct sums_end end = {.factor = weights->scales, .float_bias = onnx_input_constant(node, 2)};
    if (onnx_input(node, 2) && !end.float_bias) return refuse(l, node, "its bias is not constant");
    struct found *found = find_once(l, node, m, !sums->is_conv, sums);
    if (!found) return false;
    end.tail = tail_follow(l, node->outputs[0], TAIL_FLOAT | wishes);
    if (end.tail.bias) end.float_bias = end.tail.bias;
    sums->node = node;
    sums->weights = weights->quantized;
    sums->zeros = weights->zeros;
    return dynamic_add(l, found, sums, &end);
}

bool lower_dynamic_window(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window,
                          const struct weights *geometry) {
    struct sums sums = {.is_conv = true, .conv = *window, .geometry = *geometry};
    return add_marked(l, node, m, &sums, 0);
}

bool lower_dynamic_product(struct lowering *l, struct onnx_node *node, struct meaning *m, bool transposed) {
    const struct onnx_tensor *weights = meaning_of(l, node->inputs[1])->quantized;
    struct sums sums = {.outputs_first = transposed};
    return product_geometry(l, node, weights, transposed, &sums.geometry) &&
           add_marked(l, node, m, &sums, node_is(node, "MatMul") ? TAIL_BIAS : 0);
}

/* ---- arithmetic ---- */

/* Whether a constant is one number, or one for each of the outputs of sums. */
static bool fits_outputs(const struct onnx_tensor *t, const struct sums *sums, int rank) {
    if (t->type != ONNX_FLOAT || t->shape.rank > rank) return false;
    if (t->count == 1) return true;
    return t->count == sums->geometry.outputs && onnx_varying_axis(t, rank) == (sums->is_conv ? 1 : rank - 1);
}

static bool same_numbers(const struct onnx_tensor *a, const struct onnx_tensor *b) {
    return a->count == b->count && !memcmp(a->data, b->data, a->count * sizeof(float));
}

/* The product that makes floats: with all that follows it. */
static bool end_sums(struct lowering *l, struct onnx_node *node, const struct reading *sums, const struct reading *factors) {
    const struct sums *s = sums->sums;
    struct sums_end end = {.factor = factors->factor, .bias = sums->bias};
    if (factors->found != sums->found) return refuse(l, node, "its factors are not those of the sums' own input");
    if (!fits_outputs(end.factor, s, node->outputs[0]->shape.rank))
        return refuse(l, node, "the scales of the weights are neither one number nor one for each output");
    if (end.bias && !same_numbers(sums->factor, end.factor)) return refuse(l, node, "the bias of its sums has other factors");
    end.tail = tail_follow(l, node->outputs[0], TAIL_FLOAT | (s->is_conv ? TAIL_CHANNEL_BIAS : TAIL_BIAS));
    end.float_bias = end.tail.bias;
    return dynamic_add(l, sums->found, s, &end);
}

static bool lower_mul(struct lowering *l, struct onnx_node *node) {
    for (int i = 0; i < 2; i++) {
        const struct reading *a = reading_of(l, node->inputs[i]), *b = reading_of(l, node->inputs[1 - i]);
        const struct onnx_tensor *constant = onnx_input_constant(node, 1 - i);
        if (is_part(a, READING_CAST_SUMS) && is_part(b, READING_FACTORS)) return end_sums(l, node, a, b);
        if (!is_part(a, READING_SCALE) || !constant || constant->type != ONNX_FLOAT) continue;
        set_reading(l, node->outputs[0], (struct meaning){.scale = 1},
                    (struct reading){.part = READING_FACTORS, .found = a->found, .factor = constant});
        return true;
    }
    return refuse(l, node, "this product of a DynamicQuantizeLinear's scale is not supported");
}

/* A bias in steps of the sums. */
static bool lower_div(struct lowering *l, struct onnx_node *node) {
    const struct reading *r = reading_of(l, onnx_input(node, 1));
    const struct onnx_tensor *bias = onnx_input_constant(node, 0);
    if (!is_part(r, READING_FACTORS) || !bias || bias->type != ONNX_FLOAT)
        return refuse(l, node, "only a constant bias divided by scales is supported");
    struct reading steps = *r;
    steps.part = READING_STEPS;
    steps.bias = bias;
    set_reading(l, node->outputs[0], (struct meaning){.scale = 1}, steps);
    return true;
}

/* Whether a bias that was given another shape goes to the channels of sums, and leaves their shape. */
static bool goes_to_channels(const struct onnx_node *node, int sums, bool is_conv) {
    const struct onnx_shape *x = &node->inputs[sums]->shape, *bias = &node->inputs[1 - sums]->shape, *y = &node->outputs[0]->shape;
    const int channels = is_conv ? 1 : y->rank - 1, lead = y->rank - bias->rank;
    for (int i = 0; i < y->rank; i++)
        if (x->rank != y->rank || x->dims[i] != y->dims[i] || (i >= lead && i != channels && bias->dims[i - lead] != 1)) return false;
    return true;
}

static bool lower_add(struct lowering *l, struct onnx_node *node) {
    for (int i = 0; i < 2; i++) {
        const struct reading *a = reading_of(l, node->inputs[i]), *b = reading_of(l, node->inputs[1 - i]);
        if (!is_part(a, READING_SUMS) || !is_part(b, READING_WHOLE) || a->bias || b->found != a->found) continue;
        if (b->bias->count != 1 && b->bias->count != a->sums->geometry.outputs)
            return refuse(l, node, "its bias has %zu numbers for %u outputs", b->bias->count, a->sums->geometry.outputs);
        if (!goes_to_channels(node, i, a->sums->is_conv))
            return refuse(l, node, "its bias does not have the shape of a number for each output");
        struct reading sums = *a;
        sums.bias = b->bias;
        sums.factor = b->factor;
        set_reading(l, node->outputs[0], (struct meaning){.scale = 1}, sums);
        return true;
    }
    return refuse(l, node, "this sum with integers of a ConvInteger or MatMulInteger is not supported");
}

/* Steps become whole, sums become floats; whole steps may change their type and their shape. */
static bool lower_step(struct lowering *l, struct onnx_node *node) {
    const struct reading *r = reading_of(l, onnx_input(node, 0));
    struct reading now = *r;
    bool cast = node_is(node, "Cast");
    if (node_is(node, "Floor") && r->part == READING_STEPS) now.part = READING_WHOLE;
    else if (cast && r->part == READING_SUMS && node->outputs[0]->type == ONNX_FLOAT) now.part = READING_CAST_SUMS;
    else if (r->part != READING_WHOLE || (cast && node->outputs[0]->type != ONNX_INT32) || node_is(node, "Floor"))
        return refuse(l, node,
                      "it stands between a DynamicQuantizeLinear and the float that comes of its bytes, where it is not supported");
    set_reading(l, node->outputs[0], (struct meaning){.scale = 1}, now);
    return true;
}

bool lower_dynamic_arithmetic(struct lowering *l, struct onnx_node *node) {
    if (node_is(node, "Mul")) return lower_mul(l, node);
    if (node_is(node, "Div")) return lower_div(l, node);
    if (node_is(node, "Add")) return lower_add(l, node);
    bool step = node_is(node, "Floor") || node_is(node, "Cast") || node_is(node, "Reshape") || node_is(node, "Unsqueeze");
    if (step && reading_of(l, onnx_input(node, 0))) return lower_step(l, node);
    return refuse(l, node, "it reads what a DynamicQuantizeLinear finds, for which it is not supported");
}

/* ---- outputs of the network ---- */

/* Element `index` of the numbers, as a tensor of no dimensions. */
static struct net_buffer *pick(struct lowering *l, const struct onnx_value *value, struct found *found, int32_t index) {
    struct net_buffer *numbers = dynamic_plain_numbers(l, found);
    struct net_buffer *y = value_buffer(l, value, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, 1, 0);
    int32_t *table = net_alloc(l->net, sizeof *table);
    *table = index;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_GATHER, found->name, numbers, NULL, y);
    step->parameters.gather = (struct morsel_blob_gather){.rank = 1, .dims = {1, 1, 1, 1, 1, 1}};
    net_add_constant(step, table, sizeof *table, offsetof(struct morsel_blob_gather, table));
    return y;
}

bool dynamic_output(struct lowering *l, struct onnx_value *value) {
    const struct reading *r = reading_of(l, value);
    struct meaning m = *meaning_of(l, value);
    m.reading = NULL;
    if (r->part > READING_ZERO || (r->part != READING_BYTES && r->found->lines > 1)) return false;
    if (r->part == READING_BYTES) dynamic_settle(l, &(struct onnx_node){.inputs = &value, .input_count = 1, .op = "", .domain = ""});
    if (r->part != READING_BYTES) {
        struct net_buffer *x = pick(l, value, r->found, r->part == READING_ZERO);
        struct net_buffer *y = r->part == READING_ZERO ? value_buffer(l, value, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, 0) : x;
        if (y != x) {
            struct net_step *step = net_add_step(l->net, MORSEL_STEP_UNARY, r->found->name, x, NULL, y);
            step->parameters.unary = (struct morsel_blob_unary){.op = MORSEL_UNARY_IDENTITY, .count = 1, .channels = 1};
        }
        m = meaning_fresh(l, y, &value->shape);
    }
    meaning_set(l, value, m);
    return true;
}
