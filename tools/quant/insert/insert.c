/* SPDX-License-Identifier: MIT */
/* Puts QuantizeLinear and DequantizeLinear where a scheme wants them, and integers for weights. */
#include "tools/quant/insert/insert.h"
#include "tools/onnx/operator.h"
#include "tools/optimize/edit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct inserting {
    const struct scheme *scheme;
    struct onnx_graph *graph;   /* the copy */
    struct onnx_node **nodes;   /* the copy's, in the places of the original's */
    struct onnx_value **scales; /* constants, by group; made when first wanted */
    struct onnx_value **zeros;
    struct onnx_value **origins; /* the copy's values, in the places of the original's */
};

static const struct onnx_shape scalar = {.rank = 0};

static struct onnx_shape vector(size_t count) {
    return (struct onnx_shape){.rank = 1, .dims = {(int64_t)count}};
}

static const char *domain_of(const struct inserting *in) {
    return in->graph->opset < 13 ? "com.microsoft" : "";
}

static struct onnx_value *float_constant(struct inserting *in, const char *name, const struct onnx_shape *shape, const float *numbers,
                                         size_t count) {
    struct onnx_tensor *tensor;
    struct onnx_value *value = edit_constant(in->graph, name, ONNX_FLOAT, shape, &tensor);
    memcpy(tensor->data, numbers, count * sizeof *numbers);
    return value;
}

static void put_byte(struct onnx_tensor *tensor, size_t i, int32_t number) {
    ((uint8_t *)tensor->data)[i] = (uint8_t)number;
}

static enum onnx_type byte_type(const struct inserting *in) {
    return in->scheme->options.signed_bytes ? ONNX_INT8 : ONNX_UINT8;
}

static const char *text(struct inserting *in, const struct onnx_value *value, const char *ending) {
    return onnx_text(in->graph, "%s%s", value->name, ending);
}

/* Scale and zero point of value i's group, named after its first value. */
static void group_constants(struct inserting *in, size_t i, struct onnx_value **scale, struct onnx_value **zero) {
    const struct scheme_value *v = &in->scheme->values[i];
    size_t g = v->group;
    if (!in->scales[g]) {
        struct onnx_tensor *tensor;
        const struct onnx_value *first = in->scheme->graph->values[g];
        in->scales[g] = float_constant(in, text(in, first, "_scale"), &scalar, &v->scale, 1);
        in->zeros[g] = edit_constant(in->graph, text(in, first, "_zero_point"), byte_type(in), &scalar, &tensor);
        put_byte(tensor, 0, v->zero);
    }
    *scale = in->scales[g];
    *zero = in->zeros[g];
}

static struct onnx_node *unary_node(struct inserting *in, const char *op, const char *name, struct onnx_value *x, struct onnx_value *scale,
                                    struct onnx_value *zero, struct onnx_value *y) {
    struct onnx_value *inputs[3] = {x, scale, zero};
    return edit_node(in->graph, NULL, op, domain_of(in), name, inputs, zero ? 3 : 2, &y, 1);
}

static void insert_pair(struct inserting *in, size_t i) {
    struct onnx_value *x = in->origins[i], *scale, *zero;
    const char *own = in->scheme->graph->values[i]->name;
    group_constants(in, i, &scale, &zero);
    struct onnx_value *bytes = edit_value(in->graph, onnx_text(in->graph, "%s_quantized", own), byte_type(in), &x->shape);
    struct onnx_value *real = edit_value(in->graph, onnx_text(in->graph, "%s_dequantized", own), ONNX_FLOAT, &x->shape);
    edit_replace_uses(in->graph, x, real, x->is_output && !x->is_input);
    unary_node(in, "QuantizeLinear", onnx_text(in->graph, "%s_QuantizeLinear", own), x, scale, zero, bytes);
    unary_node(in, "DequantizeLinear", onnx_text(in->graph, "%s_DequantizeLinear", own), bytes, scale, zero, real);
}

/* An integer constant behind a DequantizeLinear along `axis`. */
static struct onnx_value *dequantized(struct inserting *in, const char *name, struct onnx_value *integers, struct onnx_value *scale,
                                      struct onnx_value *zero, int axis) {
    struct onnx_value *real = edit_value(in->graph, onnx_text(in->graph, "%s_dequantized", name), ONNX_FLOAT, &integers->shape);
    const char *node_name = onnx_text(in->graph, "%s_DequantizeLinear", name);
    struct onnx_node *node = unary_node(in, "DequantizeLinear", node_name, integers, scale, zero, real);
    if (scale->shape.rank) edit_attribute_int(in->graph, node, "axis", axis);
    return real;
}

static struct onnx_value *layer_weights(struct inserting *in, const struct scheme_layer *layer, const char *name) {
    struct onnx_tensor *tensor, *zeros;
    const struct onnx_shape channels = vector(layer->scale_count), *shape = layer->scale_count > 1 ? &channels : &scalar;
    struct onnx_value *integers =
        edit_constant(in->graph, onnx_text(in->graph, "%s_quantized", name), ONNX_INT8, &layer->weights->shape, &tensor);
    memcpy(tensor->data, layer->values, layer->weights->count);
    struct onnx_value *scale = float_constant(in, onnx_text(in->graph, "%s_scale", name), shape, layer->scales, layer->scale_count);
    struct onnx_value *zero = edit_constant(in->graph, onnx_text(in->graph, "%s_zero_point", name), ONNX_INT8, shape, &zeros);
    return dequantized(in, name, integers, scale, zero, layer->axis);
}

/* Integers in units of the sums: x's scale times the weights'. */
static struct onnx_value *layer_bias(struct inserting *in, const struct scheme_layer *layer, const char *name) {
    struct onnx_tensor *tensor, *scales;
    const struct onnx_shape each = vector(layer->outputs);
    float x_scale = in->scheme->values[layer->x].scale;
    struct onnx_value *integers = edit_constant(in->graph, onnx_text(in->graph, "%s_quantized", name), ONNX_INT32, &each, &tensor);
    bool one = layer->scale_count == 1;
    struct onnx_value *scale = edit_constant(in->graph, onnx_text(in->graph, "%s_scale", name), ONNX_FLOAT, one ? &scalar : &each, &scales);
    for (uint32_t o = 0; o < layer->outputs; o++) {
        float unit = x_scale * layer->scales[o % layer->scale_count], number = rintf(layer->bias[o] / unit);
        ((int32_t *)tensor->data)[o] = (int32_t)fmaxf(fminf(number, 0x1p30f), -0x1p30f);
        ((float *)scales->data)[one ? 0 : o] = unit;
    }
    return dequantized(in, name, integers, scale, NULL, 0);
}

static bool any_bias(const struct scheme_layer *layer) {
    bool any = layer->has_bias;
    for (uint32_t o = 0; o < layer->outputs; o++) any = any || layer->bias[o] != 0;
    return any;
}

/* A MatMul adds its bias behind it; one that had none may have got one (from a correction). */
static void add_behind(struct inserting *in, struct onnx_node *node, const struct scheme_layer *layer) {
    struct onnx_value *y = node->outputs[0];
    struct onnx_value *bias = layer_bias(in, layer, onnx_text(in->graph, "%s_bias", node->name));
    if (layer->add) {
        struct onnx_node *add = in->nodes[scheme_node_index(in->scheme, layer->add)];
        edit_set_input(in->graph, add, add->inputs[0] == y ? 1 : 0, bias);
        return;
    }
    /* The sum takes the product's place: whoever read it, and a pair behind it, is behind the sum. */
    struct onnx_value *product = edit_value(in->graph, text(in, y, "_product"), ONNX_FLOAT, &y->shape), *operands[2] = {product, bias};
    node->outputs[0] = product;
    product->producer = node;
    y->producer = NULL;
    edit_node(in->graph, NULL, "Add", "", onnx_text(in->graph, "%s_Add", node->name), operands, 2, &y, 1);
}

/* Biases stay float; the mark says that the input is quantized at run time (tools/lower/op_dynamic.c). */
static void insert_dynamic(struct inserting *in, struct onnx_node *node, const struct scheme_layer *layer) {
    const char *name = onnx_text(in->graph, "%s_weights", node->name);
    const struct onnx_shape each = vector(layer->outputs);
    edit_set_input(in->graph, node, 1, layer_weights(in, layer, name));
    edit_attribute_int(in->graph, node, ONNX_DYNAMIC_MARK, 1);
    if (!strcmp(node->op, "MatMul")) return;
    if (any_bias(layer))
        edit_set_input(in->graph, node, 2,
                       float_constant(in, onnx_text(in->graph, "%s_bias", node->name), &each, layer->bias, layer->outputs));
    if (strcmp(node->op, "Gemm")) return;
    edit_attribute_float(in->graph, node, "alpha", 1);
    edit_attribute_float(in->graph, node, "beta", 1);
}

static void insert_layer(struct inserting *in, struct onnx_node *node, const struct scheme_layer *layer) {
    const struct onnx_node *original = layer->node;
    bool product = !strcmp(node->op, "MatMul");
    /* Named after the layer where another one reads the same constant. */
    const char *name = original->inputs[1]->uses > 1 ? onnx_text(in->graph, "%s_weights", node->name) : original->inputs[1]->name;
    edit_set_input(in->graph, node, 1, layer_weights(in, layer, name));
    if (!product && any_bias(layer)) edit_set_input(in->graph, node, 2, layer_bias(in, layer, onnx_text(in->graph, "%s_bias", node->name)));
    if (!strcmp(node->op, "Gemm")) {
        edit_attribute_float(in->graph, node, "alpha", 1);
        edit_attribute_float(in->graph, node, "beta", 1);
    }
    if (product && any_bias(layer)) add_behind(in, node, layer);
}

/* A constant operand in bytes, in a scale of its own or (scale >= 0) in a given one. */
static void insert_constant(struct inserting *in, struct onnx_node *node, int i, const struct scheme_value *as) {
    const struct scheme_options *options = &in->scheme->options;
    const struct onnx_value *value = node->inputs[i];
    const struct onnx_tensor *t = value->constant;
    struct scheme_value own = {0};
    for (size_t k = 0; !as && k < t->count; k++) {
        own.low = fminf(own.low, (float)onnx_number(t, k));
        own.high = fmaxf(own.high, (float)onnx_number(t, k));
    }
    if (!as) scheme_set_scale(options, &own);
    const struct scheme_value *v = as ? as : &own;
    const char *name = onnx_text(in->graph, "%s_operand%d", node->name, i);
    struct onnx_tensor *bytes, *zero_tensor;
    struct onnx_value *integers = edit_constant(in->graph, onnx_text(in->graph, "%s_quantized", name), byte_type(in), &t->shape, &bytes);
    for (size_t k = 0; k < t->count; k++) {
        float q = rintf((float)onnx_number(t, k) / v->scale) + (float)v->zero;
        put_byte(bytes, k, (int32_t)fmaxf(fminf(q, (float)scheme_most(options)), (float)scheme_least(options)));
    }
    struct onnx_value *scale = float_constant(in, onnx_text(in->graph, "%s_scale", name), &scalar, &v->scale, 1);
    struct onnx_value *zero = edit_constant(in->graph, onnx_text(in->graph, "%s_zero_point", name), byte_type(in), &scalar, &zero_tensor);
    put_byte(zero_tensor, 0, v->zero);
    edit_set_input(in->graph, node, i, dequantized(in, name, integers, scale, zero, 0));
}

/* Operators that ONNX Runtime and we have in integers take their constants in bytes, too; the rest reads floats. */
static void insert_constants(struct inserting *in, struct onnx_node *node, const struct onnx_node *original, enum scheme_role role) {
    bool join = role == SCHEME_MOVE && !strcmp(node->op, "Concat");
    bool integers = role == SCHEME_INTEGER && (!strcmp(node->op, "Add") || !strcmp(node->op, "Mul") || !strcmp(node->op, "MatMul"));
    const struct scheme_value *y = join ? scheme_value(in->scheme, original->outputs[0]) : NULL;
    for (int i = 0; (integers || (join && y && y->quantized)) && i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->constant && node->inputs[i]->type == ONNX_FLOAT)
            insert_constant(in, node, i, join ? y : NULL);
}

/* A table of embeddings: int8, with a scale for each line. Small ones stay as they are. */
static void insert_table(struct inserting *in, struct onnx_node *node) {
    const struct onnx_value *value = onnx_input(node, 0), *indices = onnx_input(node, 1);
    const struct onnx_tensor *t = value ? value->constant : NULL;
    if (strcmp(node->op, "Gather") || *node->domain || !t || t->type != ONNX_FLOAT || t->shape.rank != 2 || !indices || indices->constant ||
        onnx_attribute_int(node, "axis", 0) || t->shape.dims[1] < 16 || t->count < 1 << 14)
        return;
    const size_t rows = (size_t)t->shape.dims[0], width = (size_t)t->shape.dims[1];
    const struct onnx_shape each = vector(rows);
    struct onnx_tensor *bytes, *scales, *zeros;
    struct onnx_value *integers = edit_constant(in->graph, onnx_text(in->graph, "%s_quantized", value->name), ONNX_INT8, &t->shape, &bytes);
    struct onnx_value *scale = edit_constant(in->graph, onnx_text(in->graph, "%s_scale", value->name), ONNX_FLOAT, &each, &scales);
    struct onnx_value *zero = edit_constant(in->graph, onnx_text(in->graph, "%s_zero_point", value->name), ONNX_INT8, &each, &zeros);
    for (size_t r = 0; r < rows; r++) {
        const float *line = (const float *)t->data + r * width;
        float most = 0;
        for (size_t i = 0; i < width; i++) most = fmaxf(most, fabsf(line[i]));
        const float step = most / 127 > 0 ? most / 127 : 1;
        ((float *)scales->data)[r] = step;
        for (size_t i = 0; i < width; i++) ((int8_t *)bytes->data)[r * width + i] = (int8_t)rintf(fminf(fmaxf(line[i] / step, -127), 127));
    }
    edit_set_input(in->graph, node, 0, dequantized(in, value->name, integers, scale, zero, 0));
}

/* A float of a float, which bytes are made of for others: it is read as it is. */
static void read_floats(struct inserting *in, size_t n) {
    const struct scheme *scheme = in->scheme;
    const struct onnx_node *original = scheme->graph->nodes[n];
    for (int i = 0; i < original->input_count && scheme->nodes[n].role == SCHEME_FLOAT; i++) {
        const struct onnx_value *x = original->inputs[i];
        if (!x || !x->producer || x->is_output || !scheme_value(scheme, x)->quantized) continue;
        if (scheme->nodes[scheme_node_index(scheme, x->producer)].role != SCHEME_FLOAT) continue;
        edit_set_input(in->graph, in->nodes[n], i, in->origins[scheme_index(scheme, x)]);
    }
}

struct onnx_graph *insert(const struct scheme *scheme) {
    struct inserting in = {.scheme = scheme, .graph = edit_copy(scheme->graph)};
    size_t values = scheme->value_count, nodes = in.graph->node_count;
    in.scales = onnx_alloc(in.graph, values * sizeof(void *));
    in.zeros = onnx_alloc(in.graph, values * sizeof(void *));
    in.origins = onnx_alloc(in.graph, values * sizeof(void *));
    in.nodes = onnx_alloc(in.graph, nodes * sizeof(void *));
    memcpy(in.origins, in.graph->values, values * sizeof(void *));
    memcpy(in.nodes, in.graph->nodes, nodes * sizeof(void *));
    for (size_t n = 0; n < nodes; n++) {
        const struct scheme_layer *layer = scheme->nodes[n].layer;
        if (layer) (layer->dynamic ? insert_dynamic : insert_layer)(&in, in.nodes[n], layer);
        if (scheme->options.dynamic && !scheme_excludes(&scheme->options, in.nodes[n])) insert_table(&in, in.nodes[n]);
        insert_constants(&in, in.nodes[n], scheme->graph->nodes[n], scheme->nodes[n].role);
    }
    for (size_t i = 0; i < values; i++)
        if (scheme->values[i].quantized) insert_pair(&in, i);
    for (size_t n = 0; n < nodes; n++) read_floats(&in, n);
    edit_clean(in.graph);
    return in.graph;
}
