/* SPDX-License-Identifier: MIT */
/* Lowers a graph node by node: finds each operator's function, and keeps what was refused and why. */
#include "tools/lower/lower.h"
#include "tools/net/heads.h"
#include "tools/net/norms.h"
#include "tools/net/tables.h"
#include "tools/onnx/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MICROSOFT "com.microsoft"
/* Of one value: views keep a table entry for each element of an axis. */
#define MOST_ELEMENTS (1 << 26)

/* All that the converter takes but functions of one number and arithmetic, which their class tells. Moves are of bytes and floats alike. */
static const struct operator_entry {
    const char *domain, *op;
    lower_fn *lower;
} operators[] = {
    {"", "QuantizeLinear", lower_quantize},
    {MICROSOFT, "QuantizeLinear", lower_quantize},
    {"", "DequantizeLinear", lower_dequantize},
    {MICROSOFT, "DequantizeLinear", lower_dequantize},
    {"", "QLinearConv", lower_qlinear_conv},
    {"", "QLinearMatMul", lower_qlinear_matmul},
    {MICROSOFT, "QGemm", lower_qgemm},
    {MICROSOFT, "QLinearAdd", lower_qlinear_binary},
    {MICROSOFT, "QLinearMul", lower_qlinear_binary},
    {MICROSOFT, "QLinearGlobalAveragePool", lower_qlinear_global_pool},
    {MICROSOFT, "QLinearAveragePool", lower_qlinear_average_pool},
    {MICROSOFT, "QLinearConcat", lower_qlinear_concat},
    {MICROSOFT, "QLinearSigmoid", lower_qlinear_unary},
    {MICROSOFT, "QLinearLeakyRelu", lower_qlinear_unary},
    {MICROSOFT, "QLinearSoftmax", lower_qlinear_softmax},
    {"", "DynamicQuantizeLinear", lower_dynamic_quantize},
    {"", "ConvInteger", lower_conv_integer},
    {"", "MatMulInteger", lower_matmul_integer},
    {MICROSOFT, "MatMulIntegerToFloat", lower_matmul_integer_to_float},
    {MICROSOFT, "DynamicQuantizeMatMul", lower_dynamic_matmul},
    {"", "Conv", lower_conv},
    {"", "ConvTranspose", lower_conv_transpose},
    {"", "MatMul", lower_matmul},
    {"", "Gemm", lower_gemm},
    {"", "Relu", lower_clip},
    {"", "Clip", lower_clip},
    {ONNX_OWN, "Mask", lower_binary},
    {"", "PRelu", lower_function_by_channel},
    {"", "Pow", lower_function_by_channel},
    {"", "BatchNormalization", lower_batch_norm},
    {"", "MaxPool", lower_pool},
    {"", "AveragePool", lower_pool},
    {"", "GlobalAveragePool", lower_global_pool},
    {"", "GlobalMaxPool", lower_pool},
    {"", "ReduceMean", lower_reduce_mean},
    {"", "Softmax", lower_softmax},
    {"", "Concat", lower_concat},
    {"", "Identity", lower_identity},
    {"", "Dropout", lower_identity},
    {"", "Cast", lower_cast},
    {"", "Reshape", lower_reshape},
    {"", "Flatten", lower_reshape},
    {"", "Squeeze", lower_reshape},
    {"", "Unsqueeze", lower_reshape},
    {"", "Transpose", lower_transpose},
    {"", "Slice", lower_slice},
    {"", "Split", lower_split},
    {"", "Pad", lower_pad},
    {"", "Resize", lower_resize},
    {"", "Upsample", lower_resize},
    {"", "GridSample", lower_grid_sample},
    {"", "NonMaxSuppression", lower_suppression},
    {"", "Expand", lower_expand},
    {"", "Tile", lower_expand},
    {"", "Gather", lower_gather},
    {"", "DepthToSpace", lower_space},
    {"", "SpaceToDepth", lower_space},
};

static lower_fn *find_operator(const struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].op, node->op) && !strcmp(operators[i].domain, node->domain)) return operators[i].lower;
    if (!op || (op->class != ONNX_FUNCTION && op->class != ONNX_PAIR)) return NULL;
    return op->class == ONNX_PAIR ? lower_binary : lower_unary;
}

bool refuse(struct lowering *l, struct onnx_node *node, const char *format, ...) {
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    onnx_refuse(l->report, node, "%s", why);
    return false;
}

const char *shape_text(struct lowering *l, const struct onnx_shape *shape) {
    const char *text = "";
    for (int i = 0; i < shape->rank; i++) text = net_text(l->net, "%s%s%lld", text, i ? "x" : "", (long long)shape->dims[i]);
    return text;
}

bool read_quantization(const struct onnx_node *node, int scale_input, int zero_input, enum onnx_type value_type, struct quantization *out,
                       const char **why) {
    const char *ignored;
    why = why ? why : &ignored;
    const struct onnx_tensor *scale = onnx_input_constant(node, scale_input), *zero = onnx_input_constant(node, zero_input);
    *why = "its scale is not one constant number (only per-tensor activations are supported)";
    if (!scale || scale->count != 1 || scale->type != ONNX_FLOAT) return false;
    *why = "its zero point is not one constant number";
    if (onnx_input(node, zero_input) && (!zero || zero->count != 1)) return false;
    *why = "its zero point is of another type than its bytes";
    if (zero && (value_type == ONNX_UINT8 || value_type == ONNX_INT8) && zero->type != value_type) return false;
    enum onnx_type type = zero ? zero->type : value_type;
    if (type == ONNX_UNKNOWN) type = (enum onnx_type)onnx_attribute_int(node, "output_dtype", ONNX_UINT8);
    *why = "only int8 and uint8 are supported: quantize with 8-bit activations";
    if (type != ONNX_UINT8 && type != ONNX_INT8) return false;
    *out = (struct quantization){.type = type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8};
    out->scale = (float)onnx_number(scale, 0);
    out->zero = zero ? (int32_t)onnx_integer(zero, 0) : 0;
    *why = "its scale is not a positive finite number";
    return out->scale > 0 && isfinite(out->scale);
}

bool read_channel_quantization(struct lowering *l, const struct onnx_node *node, enum onnx_type value_type, struct quantization *out,
                               const char **why) {
    const char *ignored;
    why = why ? why : &ignored;
    const struct onnx_value *x = node->inputs[0];
    const struct onnx_tensor *scale = onnx_input_constant(node, 1), *zero = onnx_input_constant(node, 2);
    int64_t axis = onnx_attribute_int(node, "axis", 1);
    *why = "its scales are not constants along axis 1 (channels)";
    if (!scale || scale->type != ONNX_FLOAT || x->shape.rank < 2 || (axis != 1 && axis != 1 - x->shape.rank) ||
        (int64_t)scale->count != x->shape.dims[1] || (onnx_input(node, 2) && (!zero || zero->count != scale->count)))
        return false;
    *why = "it has more channels than its tables have room for";
    if (scale->count > l->table_room) return false;
    *why = "its zero point is of another type than its bytes";
    if (zero && (value_type == ONNX_UINT8 || value_type == ONNX_INT8) && zero->type != value_type) return false;
    enum onnx_type type = zero ? zero->type : value_type;
    if (type == ONNX_UNKNOWN) type = (enum onnx_type)onnx_attribute_int(node, "output_dtype", ONNX_UINT8);
    *why = "only int8 and uint8 are supported: quantize with 8-bit activations";
    if (type != ONNX_UINT8 && type != ONNX_INT8) return false;
    int32_t *zeros = net_alloc(l->net, scale->count * sizeof *zeros);
    float *scales = net_alloc(l->net, scale->count * sizeof *scales);
    *out = (struct quantization){.type = type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8, .scale = 1, .scales = scales};
    out->channels = (uint32_t)scale->count;
    out->zero = zero ? (int32_t)onnx_integer(zero, 0) : 0;
    for (size_t c = 0; c < scale->count; c++) {
        scales[c] = (float)onnx_number(scale, c);
        *why = "a scale is not a positive finite number";
        if (!(scales[c] > 0) || !isfinite(scales[c])) return false;
        zeros[c] = zero ? (int32_t)onnx_integer(zero, c) : 0;
        if (zeros[c] != out->zero) out->zeros = zeros;
    }
    if (out->zeros) out->zero = 0;
    return true;
}

/* Slots for every value, and who reads it. */
static void find_readers(struct lowering *l) {
    struct onnx_graph *g = l->graph;
    for (size_t i = g->value_count; i--;) g->values[i]->answer = 0, g->values[i]->lowered = net_alloc(l->net, sizeof(struct value_slot));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t n = 0; n < g->node_count; n++) {
            struct onnx_node *node = g->nodes[n];
            for (int i = 0; !node->folded && i < node->input_count; i++) {
                struct value_slot *slot = node->inputs[i] ? value_slot(node->inputs[i]) : NULL;
                if (slot && pass) slot->readers[slot->reader_count++] = node;
                else if (slot) slot->reader_count++;
            }
        }
        for (size_t i = 0; !pass && i < g->value_count; i++) {
            struct value_slot *slot = value_slot(g->values[i]);
            slot->readers = net_alloc(l->net, (size_t)(slot->reader_count + 1) * sizeof *slot->readers);
            slot->reader_count = 0;
        }
    }
}

/* A float input that every path takes to a QuantizeLinear by the same numbers lives in bytes from the start. */
static bool input_quantization(const struct onnx_value *value, unsigned depth, struct quantization *q, bool *found) {
    const struct value_slot *slot = value_slot(value);
    if (value->is_output || depth > 100) /* a chain that long is nobody's input: keep the stack small */
        return false;
    for (int i = 0; i < slot->reader_count; i++) {
        struct onnx_node *node = slot->readers[i];
        struct quantization one;
        if (onnx_has(node, ONNX_VIEW) && node->inputs[0] == value) {
            for (int k = 0; k < node->output_count; k++)
                if (node->outputs[k] && !input_quantization(node->outputs[k], depth + 1, q, found)) return false;
            continue;
        }
        if (!node_is(node, "QuantizeLinear") || !read_quantization(node, 1, 2, ONNX_UNKNOWN, &one, NULL)) return false;
        if (*found && (one.type != q->type || one.scale != q->scale || one.zero != q->zero)) return false;
        *q = one;
        *found = true;
    }
    return true;
}

/* Keras exports take N H W C and transpose at once; their bytes already lie as channels-last. */
static enum morsel_layout input_layout(const struct onnx_value *value) {
    struct onnx_node *reader = only_reader(value);
    if (node_is(reader, "QuantizeLinear")) reader = only_reader(reader->outputs[0]);
    if (node_is(reader, "DequantizeLinear")) reader = only_reader(reader->outputs[0]);
    return node_is(reader, "Transpose") ? MORSEL_ROW_MAJOR : natural_layout(&value->shape);
}

static void io_of(struct net_io *io, const struct onnx_value *value) {
    io->name = value->name;
    io->onnx_type = value->type == ONNX_FLOAT   ? MORSEL_FLOAT32
                    : value->type == ONNX_INT8  ? MORSEL_INT8
                    : value->type == ONNX_UINT8 ? MORSEL_UINT8
                    : value->type == ONNX_BOOL  ? MORSEL_UINT8
                                                : MORSEL_INT32;
    io->onnx_rank = (uint32_t)value->shape.rank;
    for (int i = 0; i < (int)MORSEL_FORMAT_MAX_RANK; i++) io->onnx_dims[i] = i < value->shape.rank ? (uint32_t)value->shape.dims[i] : 1;
}

/* Inputs and outputs have no node of their own; a refusal names them as one. */
static bool refuse_value(struct lowering *l, const struct onnx_value *value, const char *op, const char *why) {
    struct onnx_value *inputs[] = {(struct onnx_value *)value};
    struct onnx_node node = {.name = value->name, .op = op, .domain = "", .opset = l->graph->opset, .inputs = inputs, .input_count = 1};
    return refuse(l, &node, "%s", why);
}

static bool takes_value(struct lowering *l, const struct onnx_value *value, const char *op, bool indices) {
    int64_t elements = onnx_elements(&value->shape);
    if (elements <= 0 || elements > MOST_ELEMENTS)
        return refuse_value(l, value, op, "its shape is not known, empty, or over 2^26 elements");
    if (value->shape.rank > (int)MORSEL_FORMAT_MAX_RANK) return refuse_value(l, value, op, "it has more than 6 dimensions");
    if (value->type != ONNX_FLOAT && value->type != ONNX_UINT8 && value->type != ONNX_INT8 && !indices)
        return refuse_value(l, value, op, "only float32, uint8 and int8 are supported, and int32, int64 and bool as inputs");
    return true;
}

/* Token ids and masks: int32 in memory, whatever the graph has. */
static void add_integers(struct lowering *l, struct onnx_value *value) {
    struct net_buffer *buffer = value_buffer(l, value, MORSEL_INT32, MORSEL_ROW_MAJOR, 1, 0);
    meaning_set(l, value, meaning_fresh(l, buffer, &value->shape));
    struct net_io io = {.buffer = buffer};
    io_of(&io, value);
    net_add_io(l->net, false, io);
}

static void add_input(struct lowering *l, struct onnx_value *value) {
    bool integers = value->type == ONNX_INT32 || value->type == ONNX_INT64;
    if (!takes_value(l, value, "Input", integers || value->type == ONNX_BOOL)) {
        meaning_set(l, value, (struct meaning){.poison = true});
        return;
    }
    if (integers) {
        add_integers(l, value);
        return;
    }
    struct quantization q = {.type = value->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8, .scale = 1};
    bool found = false, quantized = value->type != ONNX_FLOAT || (input_quantization(value, 0, &q, &found) && found);
    struct net_buffer *buffer =
        value_buffer(l, value, quantized ? q.type : MORSEL_FLOAT32, input_layout(value), quantized ? q.scale : 1, quantized ? q.zero : 0);
    buffer->qualified = value->type == ONNX_FLOAT;
    struct meaning m = meaning_fresh(l, buffer, &value->shape);
    m.dequantized = quantized && value->type == ONNX_FLOAT;
    meaning_set(l, value, m);
    struct net_io io = {.buffer = buffer};
    io_of(&io, value);
    net_add_io(l->net, false, io);
}

/* Whether the step that makes the buffer counts elements alone, and nobody else reads it: then it may have any dimensions. */
static bool only_counted(const struct net *net, const struct net_buffer *buffer) {
    bool counted = false;
    for (uint32_t i = 0; i < net->output_count; i++)
        if (net->outputs[i].buffer == buffer) return false;
    for (uint32_t i = 0; i < net->step_count; i++) {
        const struct net_step *step = net->steps[i];
        for (uint32_t k = 0; k < step->input_count; k++)
            if (step->inputs[k] == buffer) return false;
        if (step->output == buffer)
            counted = step->kind == MORSEL_STEP_SOFTMAX || step->kind == MORSEL_STEP_UNARY || step->kind == MORSEL_STEP_LUT ||
                      step->kind == MORSEL_STEP_BINARY || step->kind == MORSEL_STEP_FLOAT_MATMUL || step->kind == MORSEL_STEP_MATMUL ||
                      step->kind == MORSEL_STEP_VIEW_MATMUL;
    }
    return counted;
}

/* The output's own dimensions, where its bytes lie as they shall. */
static void describe(struct lowering *l, const struct onnx_value *value, const struct meaning *m, enum morsel_layout layout) {
    struct net_buffer *buffer = m->buffer;
    if (m->table || !view_is_whole(&m->view, layout, net_elements(buffer)) || !only_counted(l->net, buffer)) return;
    buffer->layout = layout;
    buffer->rank = (uint32_t)value->shape.rank;
    view_physical(layout, &m->view, buffer->dims);
    for (uint32_t i = buffer->rank; i < MORSEL_FORMAT_MAX_RANK; i++) buffer->dims[i] = 1;
}

static void add_output(struct lowering *l, struct onnx_value *value) {
    struct meaning *m = meaning_of(l, value);
    if (m && m->poison) return;
    if (!takes_value(l, value, "Output", node_is(value->producer, "NonMaxSuppression"))) return;
    const enum onnx_type stated = onnx_declared(value)->type;
    if (value->type == ONNX_FLOAT && onnx_is_integer(stated))
        onnx_notice(l->report, "output '%s' is of %s in the file, and float in the blob: the same whole numbers", value->name,
                    onnx_type_name((int)stated));
    if (m && m->reading && !dynamic_output(l, value)) {
        refuse_value(l, value, "Output", "it stands between a DynamicQuantizeLinear and the float that comes of its bytes");
        return;
    }
    if (m && m->reading) m = meaning_of(l, value);
    if (!m || !m->buffer) {
        refuse_value(l, value, "Output", "it does not depend on any input");
        return;
    }
    struct onnx_node node = {.name = value->name, .op = "Output", .domain = "", .opset = l->graph->opset};
    struct meaning now = *m;
    if (now.table) {
        now.buffer = meaning_float_buffer(l, &node, &now, &now.view);
        now.table = NULL;
    }
    enum morsel_layout layout = natural_layout(&value->shape);
    if (now.buffer) describe(l, value, &now, layout);
    struct net_io io = {.buffer = now.buffer ? meaning_buffer(l, &node, &now, layout) : NULL};
    if (io.buffer && (io.buffer->layout != layout || io.buffer->constant || (int)io.buffer->rank != value->shape.rank) &&
        meaning_settle(l, &node, &now)) /* its bytes are right, its description is not */
        io.buffer = now.buffer;
    if (!io.buffer) return;
    if ((value->type == ONNX_UINT8 && io.buffer->type != MORSEL_UINT8) || (value->type == ONNX_INT8 && io.buffer->type != MORSEL_INT8)) {
        refuse_value(l, value, "Output", "it is of bytes in the graph, but of another type here: this is a fault of morsel");
        return;
    }
    io_of(&io, value);
    net_add_io(l->net, true, io);
}

static bool has_shape(const struct onnx_value *value) {
    return onnx_elements(&value->shape) > 0 && onnx_elements(&value->shape) <= MOST_ELEMENTS &&
           value->shape.rank <= (int)MORSEL_FORMAT_MAX_RANK;
}

/* Bytes of the entries of its outputs' axes, as views keep them. */
static uint64_t table_bytes(const struct onnx_node *node) {
    uint64_t entries = 0;
    for (int i = 0; i < node->output_count; i++)
        for (int d = 0; node->outputs[i] && d < node->outputs[i]->shape.rank; d++) entries += (uint64_t)node->outputs[i]->shape.dims[d];
    return entries * sizeof(int32_t);
}

/* After a refusal the walk goes on, so that all refusals show: as if the node had given a quantized value. Where the shape is not known
 * nothing sensible can be said of what follows. */
static void stand_in_outputs(struct lowering *l, struct onnx_node *node) {
    const uint64_t tables = table_bytes(node);
    for (int i = 0; i < node->output_count; i++) {
        struct onnx_value *value = node->outputs[i];
        if (!value || (value_slot(value)->meaning && !value_slot(value)->meaning->poison)) continue;
        struct meaning m = {.poison = true};
        if (has_shape(value) && has_room(l, tables) &&
            (value->type == ONNX_FLOAT || value->type == ONNX_UINT8 || value->type == ONNX_INT8)) {
            struct net_buffer *buffer =
                value_buffer(l, value, value->type == ONNX_INT8 ? MORSEL_INT8 : MORSEL_UINT8, natural_layout(&value->shape), 1, 0);
            buffer->qualified = value->type == ONNX_FLOAT;
            m = meaning_fresh(l, buffer, &value->shape);
            m.dequantized = value->type == ONNX_FLOAT;
            m.stand_in = true;
        }
        meaning_set(l, value, m);
    }
}

/* Every output has a shape that can be laid out; refuses by the first that has not. Weights behind their DequantizeLinear need no place
 * of their own: they may be empty, for a Concat, and as large as the file. */
static bool shapes_fit(struct lowering *l, struct onnx_node *node) {
    if (node_is(node, "DequantizeLinear") && onnx_input_constant(node, 0)) return true;
    for (int i = 0; i < node->output_count; i++) {
        const struct onnx_shape *shape = node->outputs[i] ? &node->outputs[i]->shape : NULL;
        int64_t elements = shape ? onnx_elements(shape) : 1;
        if (elements == 0) return refuse(l, node, "its output %s is empty", shape_text(l, shape));
        if (elements < 0) return refuse(l, node, "the shape of its output is not known: state the inputs with --shape");
        if (elements > MOST_ELEMENTS) return refuse(l, node, "its output %s has more than 2^26 elements", shape_text(l, shape));
    }
    return true;
}

/* Indices and masks are moved, looked up by, and cast to floats; nothing is computed with them as integers. */
static bool integers_fit(struct lowering *l, struct onnx_node *node) {
    static const char *const moving[] = {"Cast",      "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten",
                                         "Transpose", "Slice",    "Split",   "Expand",  "Tile",      "Gather"};
    for (int i = 0; i < node->input_count; i++) {
        const struct meaning *m = node->inputs[i] ? meaning_of(l, node->inputs[i]) : NULL;
        bool fits = !m || !m->buffer || m->buffer->type != MORSEL_INT32 || (i == 1 && node_is(node, "Gather")) || node_is(node, "Concat");
        for (size_t k = 0; !fits && i == 0 && k < sizeof moving / sizeof *moving; k++) fits = node_is(node, moving[k]);
        if (!fits) return refuse(l, node, "its input %d is a tensor of integers; a Cast to float or a Gather takes one", i);
    }
    return true;
}

/* What was made of a node has the shapes that inference gave its outputs: a file may state one for what only a run could say. */
static bool shapes_kept(struct lowering *l, struct onnx_node *node) {
    for (int i = 0; i < node->output_count; i++) {
        const struct onnx_value *value = node->outputs[i];
        struct meaning *m = value ? value_slot(value)->meaning : NULL;
        if (!m || m->poison || !m->buffer) continue;
        bool same = (int)m->view.rank == value->shape.rank;
        for (uint32_t d = 0; same && d < m->view.rank; d++) same = (int64_t)m->view.dims[d] == value->shape.dims[d];
        m->poison = !same; /* what follows gets a stand-in */
        if (!same) return refuse(l, node, "the file states another shape for its output %d", i);
    }
    return true;
}

/* Passes put nodes where others stood: what they state is asked for once more, before anything relies on it. */
static bool shapes_follow(struct lowering *l, struct onnx_node *node) {
    char why[240];
    return onnx_shapes_hold(l->graph, node, why, sizeof why) || refuse(l, node, "%s", why);
}

static void lower_node(struct lowering *l, struct onnx_node *node) {
    lower_fn *fn = dynamic_reads(l, node) ? lower_dynamic_arithmetic : find_operator(node);
    bool good = fn != NULL;
    if (node->refused) { /* shape inference had the first word */
        stand_in_outputs(l, node);
        return;
    }
    if (!node->output_count || !node->outputs[0]) good = refuse(l, node, "its first output has no name");
    else if (!fn) refuse_operator(l, node);
    else if (poisoned(l, node)) good = false;
    else {
        dynamic_settle(l, node);
        good = shapes_fit(l, node) && room_for(l, node, table_bytes(node)) && room_to_walk(l, node) && shapes_follow(l, node) &&
               integers_fit(l, node) && fn(l, node) && shapes_kept(l, node);
    }
    if (!good) stand_in_outputs(l, node);
}

/* Integer inputs whose scale no reader of their own stated: what came of their bytes by moving them alone says it. */
static void pass_scales_back(struct net *net) {
    for (uint32_t i = net->step_count; i-- > 0;) {
        const struct net_step *step = net->steps[i];
        bool moves = step->kind == MORSEL_STEP_MAX_POOL || step->kind == MORSEL_STEP_GATHER || step->kind == MORSEL_STEP_CONCAT;
        for (uint32_t k = 0; moves && step->output->qualified && k < step->input_count; k++) {
            struct net_buffer *x = step->inputs[k];
            if (x->qualified || x->type == MORSEL_FLOAT32) continue;
            x->scale = step->output->scale;
            x->zero = step->output->zero;
            x->qualified = true;
        }
    }
}

/* One line, however many there are. */
static void notice_floats(const struct lowering *l) {
    const struct onnx_node *first = l->first_float, *last = l->last_float;
    if (l->float_count == 1) onnx_notice(l->report, "%s (%s) runs in float: the quantizer left it so", first->name, first->op);
    else if (l->float_count)
        onnx_notice(l->report, "%zu layers run in float, from %s (%s) to %s (%s): the quantizer left them so", l->float_count, first->name,
                    first->op, last->name, last->op);
}

struct net *lower(struct onnx_graph *graph, struct onnx_report *report) {
    return lower_within(graph, report, memory_room(graph));
}

struct net *lower_within(struct onnx_graph *graph, struct onnx_report *report, size_t memory) {
    struct lowering l = {.graph = graph, .net = net_new(graph->name), .report = report};
    size_t refused = report->refusal_count;
    l.floats_meant = graph->floats_meant || onnx_is_quantized(graph);
    l.table_room = table_room(graph);
    l.memory_room = memory;
    find_readers(&l);
    for (size_t i = 0; i < graph->input_count; i++) add_input(&l, graph->inputs[i]);
    bool good = outputs_fit(&l);
    for (size_t i = 0; good && i < graph->node_count; i++)
        if (!graph->nodes[i]->folded && !graph->nodes[i]->done && (good = stays_short(&l, graph->nodes[i])))
            lower_node(&l, graph->nodes[i]);
    for (size_t i = 0; good && i < graph->output_count; i++) add_output(&l, graph->outputs[i]);
    pass_scales_back(l.net);
    notice_floats(&l);
    good = good && report->refusal_count == refused;
    for (size_t i = 0; i < graph->node_count; i++) good = good && !graph->nodes[i]->refused;
    if (good) {
        net_merge_tables(l.net);
        net_merge_norms(l.net);
        net_split_heads(l.net, NET_SCORES_ROOM);
        return l.net;
    }
    net_free(l.net);
    return NULL;
}
