/* SPDX-License-Identifier: MIT */
/* What depends on constants alone becomes a constant: whatever operators exporters leave there, a blob's steps read activations. */
#include "tools/float/internal.h"
#include "tools/onnx/operator.h"

#include <stdlib.h>
#include <string.h>

static int64_t count_of(const struct onnx_value *value) {
    const int64_t count = value ? onnx_elements(&value->shape) : 0;
    return count < 0 ? 0 : count;
}

/* Products of a sum, or more of them; of a ConvTranspose those of an input, which all come about, wherever its pads cut. */
static int64_t depth_of(const struct onnx_node *node) {
    const struct onnx_shape *w = &node->inputs[1]->shape;
    if (strstr(node->op, "Conv")) return count_of(node->inputs[1]) / w->dims[0];
    const int64_t down = w->rank > 1 ? w->dims[w->rank - 2] : 1, along = w->rank ? w->dims[w->rank - 1] : 1;
    return down > along ? down : along;
}

/* What an element of the result is made of: neighbouring channels, and the operands of a sum of many. */
static int64_t neighbours_of(const struct onnx_node *node) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    const int64_t size = onnx_attribute_int(node, "size", 0);
    if (!strcmp(node->op, "LRN")) return x->rank > 1 && x->dims[1] < size ? x->dims[1] : size;
    return node->input_count > 5 && onnx_class_of(node) != ONNX_JOIN ? node->input_count : 1;
}

/* Numbers that are looked at, or more: files that ask for very many are hostile. -1: too many to be counted. */
static int64_t work_of(const struct onnx_node *node) {
    const int64_t y = count_of(node->outputs[0]), x = count_of(node->inputs[0]);
    int64_t each, taps[3] = {1, 1, 1}, apart[3] = {1, 1, 1}; /* what lies between taps is copied, padding and all */
    if (!y || !x) return 1;
    if (x > FLOAT_MOST || y > FLOAT_MOST) return -1;
    if (!strcmp(node->op, "Einsum")) each = x * (onnx_input(node, 1) ? count_of(node->inputs[1]) : 1) / y + 1;
    else if (onnx_class_of(node) == ONNX_LAYER) each = depth_of(node);
    else if (onnx_attribute_ints(node, "kernel_shape", taps, 3) > 0) each = taps[0] * taps[1] * taps[2];
    else each = neighbours_of(node);
    if (each < 0 || each > FLOAT_MOST) return -1;
    onnx_attribute_ints(node, "dilations", apart, 3);
    for (int i = 0; i < 3; each *= apart[i++])
        if (apart[i] > FLOAT_MOST / (each + 1)) return -1;
    return strcmp(node->op, "ConvTranspose") ? y * each + x : x * each + y;
}

/* Integers are computed by onnx_infer() or not at all: here they would be floats. Places of a maximum are small. */
static bool gives_floats(const struct onnx_node *node) {
    const struct onnx_value *y = node->output_count ? node->outputs[0] : NULL;
    return y && (y->type == ONNX_FLOAT || !strcmp(node->op, "ArgMax") || !strcmp(node->op, "ArgMin"));
}

/* What a value is made of: of constants, or of constants behind a scale of bytes; WANTED are such that a folded node reads. Values say it
 * in `answer`. */
enum source { UNKNOWN, CONSTANT, BYTES, WANTED };

/* Of all inputs: UNKNOWN where one is, else BYTES where one is. */
static enum source source_of(const struct onnx_node *node) {
    enum source source = node->input_count && node->inputs[0] ? CONSTANT : UNKNOWN;
    for (int i = 0; i < node->input_count && source; i++) {
        const struct onnx_value *x = node->inputs[i];
        const enum source own = !x || x->constant ? CONSTANT : (enum source)x->answer;
        if (own != CONSTANT) source = own;
    }
    return source;
}

static bool is_quantization(const struct onnx_node *node) {
    return !strcmp(node->op, "QuantizeLinear") || !strcmp(node->op, "DequantizeLinear");
}

/* What moves bytes behind their scale, or makes them: weights stay bytes, and sums of an activation. */
static bool leaves_bytes(const struct onnx_node *node, enum source source) {
    const enum onnx_class class = onnx_class_of(node);
    return is_quantization(node) || (source == BYTES && (class == ONNX_MOVE || class == ONNX_JOIN));
}

static bool spend(struct onnx_graph *graph, struct onnx_node *node) {
    struct onnx_context c = {graph, node, ""};
    const int64_t work = work_of(node);
    return work >= 0 && onnx_spend(&c, (size_t)work);
}

/* Scales of bytes stay visible, and so does what an output is. */
static bool can_fold(struct onnx_graph *graph, struct onnx_node *node) {
    if (!gives_floats(node) || onnx_has(node, ONNX_QUANTIZED) || !strcmp(node->op, "NonMaxSuppression")) return false;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] && (node->outputs[i]->is_output || onnx_elements(&node->outputs[i]->shape) < 0)) return false;
    return spend(graph, node);
}

/* Whether a node is folded; its outputs say what they are made of. */
static bool judge(struct onnx_graph *graph, struct onnx_node *node) {
    const bool computable = !node->folded && onnx_is_checked(node) && !onnx_has(node, ONNX_DYNAMIC) && float_operator_of(node);
    const enum source source = computable ? source_of(node) : UNKNOWN;
    const bool stays = source && leaves_bytes(node, source), folds = source && !stays && can_fold(graph, node);
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->answer = folds ? CONSTANT : stays ? BYTES : UNKNOWN;
    return folds;
}

/* Whether it is folded, or makes bytes that a folded node behind it reads; then it wants those that it reads itself. */
static bool runs(struct onnx_graph *graph, struct onnx_node *node) {
    bool wanted = false;
    for (int i = 0; i < node->output_count; i++) wanted = wanted || (node->outputs[i] && node->outputs[i]->answer == WANTED);
    if (!node->done && (!wanted || !spend(graph, node))) return false;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->answer == BYTES) node->inputs[i]->answer = WANTED;
    return true;
}

/* Those that run, in their order; `done` says which of them are folded. */
static struct onnx_node **choose(struct onnx_graph *graph, size_t *count) {
    struct onnx_node **list = must_calloc(graph->node_count + 1, sizeof(void *));
    size_t first = graph->node_count; /* the list is filled from its end */
    for (size_t i = 0; i < graph->value_count; i++) graph->values[i]->answer = UNKNOWN;
    for (size_t i = 0; i < graph->node_count; i++) graph->nodes[i]->done = judge(graph, graph->nodes[i]);
    for (size_t i = graph->node_count; i-- > 0;)
        if (runs(graph, graph->nodes[i])) list[--first] = graph->nodes[i];
    *count = graph->node_count - first;
    memmove(list, list + first, *count * sizeof(void *));
    return list;
}

/* What nobody reads is no output any more: a node is folded whole. */
static bool take(struct onnx_graph *graph, struct onnx_node *node, const struct executor *executor) {
    bool more = false;
    for (int i = 0; i < node->output_count; i++) {
        struct onnx_context c = {graph, node, ""};
        const float *known = node->outputs[i] ? executor_known(executor, node->outputs[i]) : NULL;
        struct onnx_tensor *y = known && (!i || node->outputs[i]->uses) ? onnx_out_constant(&c, i) : NULL;
        for (size_t k = 0; y && k < y->count; k++) {
            if (onnx_is_float(y->type)) onnx_store_number(y, k, (double)known[k]);
            else onnx_store_integer(y, k, (int64_t)known[k]);
        }
        if (y) more = true;
        else if (i && node->outputs[i] && !node->outputs[i]->uses) node->outputs[i] = NULL;
    }
    return more;
}

bool executor_fold(struct onnx_graph *graph) {
    struct onnx_graph part = *graph;
    bool more = false;
    part.nodes = choose(graph, &part.node_count);
    part.output_count = 0;
    struct executor *executor = part.node_count ? executor_open_known(&part) : NULL;
    for (size_t i = 0; i < part.node_count; i++) more = (part.nodes[i]->done && take(graph, part.nodes[i], executor)) || more;
    for (size_t i = 0; i < graph->node_count; i++) graph->nodes[i]->done = false;
    executor_close(executor);
    free(part.nodes);
    return more;
}
