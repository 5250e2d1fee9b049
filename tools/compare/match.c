/* SPDX-License-Identifier: MIT */
/* Which values of the float graph the blob has, and which layer each comes out of. */
#include "tools/compare/compare.h"
#include "tools/base/arena.h"
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/quant/calibrate/observe.h"
#include "tools/quant/insert/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Shapes --- */

int compare_axis(const struct onnx_value *value) {
    return value->shape.rank < 2 ? -1 : observed_axis(value);
}

size_t compare_channels(const struct onnx_value *value) {
    int axis = compare_axis(value);
    return axis < 0 || value->shape.dims[axis] < 1 ? 1 : (size_t)value->shape.dims[axis];
}

/* As ONNX has it, dimensions of 1 left out. */
static bool fits(const struct morsel_blob_tensor *t, const struct onnx_value *value) {
    struct onnx_shape shape = compare_tensor_shape(t);
    int at = 0;
    for (int i = 0; i < value->shape.rank; i++) {
        if (value->shape.dims[i] == 1) continue;
        while (at < shape.rank && shape.dims[at] == 1) at++;
        if (at == shape.rank || shape.dims[at++] != value->shape.dims[i]) return false;
    }
    while (at < shape.rank && shape.dims[at] == 1) at++;
    return at == shape.rank && t->type != MORSEL_INT32;
}

/* --- Names --- */

/* What the network hands out, or takes, under a name: of a list of one whatever that is. Only inputs are compared as integers. */
static uint32_t find_io(const struct comparison *c, const struct morsel_blob_section *section, const struct onnx_value *value, bool only) {
    const struct morsel_blob_io *io = morsel_blob_at(c->network, section->offset);
    for (uint32_t i = 0; i < section->count; i++) {
        const struct morsel_blob_tensor *t = morsel_blob_tensor(c->network, io[i].tensor);
        bool named = (only && section->count == 1) || !strcmp(morsel_blob_string(c->network, io[i].name), value->name);
        const bool numbers = t->type != MORSEL_INT32 || value->is_input;
        if (named && numbers && (int64_t)morsel_elements(t) == onnx_elements(&value->shape)) return io[i].tensor;
    }
    return COMPARE_NONE;
}

static const char *name_of(const struct comparison *c, uint32_t tensor) {
    return morsel_blob_string(c->network, morsel_blob_tensor(c->network, tensor)->name);
}

struct named {
    const char *name;
    uint32_t tensor;
};

static int by_name(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* Each value of the float network is sought among them, and both may be many. */
static void sort_tensors(struct comparison *c) {
    const uint32_t count = morsel_blob_header(c->network)->tensors.count;
    struct named *list = must_calloc(count, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        if (!morsel_blob_tensor(c->network, i)->place) list[c->tensor_count++] = (struct named){name_of(c, i), i};
    qsort(list, c->tensor_count, sizeof *list, by_name);
    c->tensors = onnx_alloc(c->graph, c->tensor_count * sizeof *c->tensors);
    for (size_t i = 0; i < c->tensor_count; i++) c->tensors[i] = list[i].tensor;
    free(list);
}

/* The first tensor that fits, of those whose name is the value's and this ending. */
static uint32_t find_named(struct comparison *c, const struct onnx_value *value, const char *ending) {
    const size_t length = strlen(value->name);
    size_t low = 0, high = c->tensor_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *name = name_of(c, c->tensors[middle]);
        const int order = strncmp(name, value->name, length);
        c->looks++;
        if ((order ? order : strcmp(name + length, ending)) < 0) low = middle + 1;
        else high = middle;
    }
    for (; low < c->tensor_count; low++) {
        const char *name = name_of(c, c->tensors[low]);
        c->looks++;
        if (strncmp(name, value->name, length) || strcmp(name + length, ending)) return COMPARE_NONE;
        if (fits(morsel_blob_tensor(c->network, c->tensors[low]), value)) return c->tensors[low];
    }
    return COMPARE_NONE;
}

static uint32_t find_tensor(struct comparison *c, const struct onnx_value *value) {
    const struct morsel_blob_header *h = morsel_blob_header(c->network);
    uint32_t at = COMPARE_NONE;
    if (value->is_input) return find_io(c, &h->inputs, value, c->graph->input_count == 1);
    if (value->is_output && (at = find_io(c, &h->outputs, value, c->graph->output_count == 1)) != COMPARE_NONE) return at;
    for (size_t i = 0; i < COMPARE_ENDINGS; i++) {
        const uint32_t found = find_named(c, value, compare_endings[i]);
        at = found < at ? found : at;
    }
    return at;
}

/* --- Points --- */

static struct compare_value *info_of(const struct onnx_value *value) {
    return value->lowered;
}

static bool hands_on(const struct onnx_node *node) {
    return graph_reshapes(node) || graph_is(node, "Transpose") || graph_is(node, "Identity") || onnx_has(node, ONNX_BOUND);
}

static struct onnx_node *before(const struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        const struct onnx_value *x = node->inputs[i];
        if (x && x->producer && !x->constant && !info_of(x)->point) return x->producer;
    }
    return NULL;
}

/* Back from the point's producer through what is no point by itself: to the layer; to a product of two activations, through what adds to
 * it or scales it; or to the first node that does more than move numbers and bound them. */
static struct onnx_node *layer_of(const struct onnx_value *value) {
    struct onnx_node *node = value->producer, *first = NULL, *product = NULL;
    bool alone = true;
    for (int depth = 0; node && depth < 64; depth++) {
        struct linear linear;
        if (linear_read(node, &linear)) return node;
        if (!first && !hands_on(node)) first = node;
        if (alone && graph_is(node, "MatMul")) product = node;
        alone = alone && (hands_on(node) || onnx_class_of(node) == ONNX_PAIR);
        node = before(node);
    }
    return product ? product : first ? first : value->producer;
}

/* A quantizer may fold a Relu or Clip into the ends of a range. It may name the bytes after the input, and means the output. */
static struct onnx_value *behind_activation(struct comparison *c, struct onnx_value *value) {
    size_t at = 0;
    if (value->is_input || value->is_output || value->uses != 1) return value;
    const struct onnx_node *reader = edit_next_reader(c->graph, value, &at);
    if (!reader) return value;
    bool bounds = onnx_has(reader, ONNX_BOUND);
    return bounds && reader->outputs[0] && find_tensor(c, reader->outputs[0]) == COMPARE_NONE ? reader->outputs[0] : value;
}

/* Inputs may be bytes that a Cast makes numbers of, or token ids and masks. */
static bool has_numbers(const struct onnx_value *value) {
    return value->type == ONNX_FLOAT || value->is_input;
}

static void add_point(struct comparison *c, struct onnx_value *value) {
    if (!value || value->constant || !has_numbers(value) || onnx_elements(&value->shape) < 1 || info_of(value)->point) return;
    uint32_t tensor = find_tensor(c, value);
    if (tensor == COMPARE_NONE) return;
    value = behind_activation(c, value);
    const struct morsel_blob_tensor *t = morsel_blob_tensor(c->network, tensor);
    struct compare_point *p = &c->points[c->point_count++];
    int axis = compare_axis(value);
    *p = (struct compare_point){.value = value, .tensor = tensor, .stored = morsel_is_byte(t)};
    p->qparams = (struct metric_qparams){t->scale, t->zero_point, t->type == MORSEL_INT8 ? -128 : 0, t->type == MORSEL_INT8 ? 127 : 255};
    p->count = (size_t)onnx_elements(&value->shape);
    p->channels = compare_channels(value);
    p->inner = 1;
    for (int i = axis + 1; i < value->shape.rank; i++) p->inner *= (size_t)value->shape.dims[i];
    p->sums = onnx_alloc(c->graph, p->channels * sizeof *p->sums);
    p->inside = onnx_alloc(c->graph, p->channels * sizeof *p->inside);
    info_of(value)->point = p;
}

static bool any_name(const struct morsel_model *network) {
    for (uint32_t i = 0; i < morsel_blob_header(network)->tensors.count; i++)
        if (morsel_blob_tensor(network, i)->name) return true;
    return false;
}

static bool enough(const struct comparison *c, struct failure *failure) {
    size_t layers = 0;
    for (size_t i = 0; i < c->point_count; i++) layers += c->points[i].node && !c->points[i].value->is_output;
    if (!compare_ends_fit(c, failure)) return false;
    if (!layers && !any_name(c->network))
        return failure_set(failure, STATUS_INPUT,
                           "MODEL was written with --strip: without the names of its values its layers cannot be told; make it again "
                           "without --strip, or hand over the quantized ONNX file");
    if (!layers && !compare_insides_fit(c, failure)) return false;
    if (!layers && c->graph->node_count > 2) onnx_notice(c->report, "no value inside the network can be compared: only outputs are");
    return true;
}

/* What readers cannot tell apart is no error. */
static void set_limits(struct comparison *c) {
    const struct scheme_options options = {0};
    const struct scheme *scheme = place(c->graph, &options);
    for (size_t i = 0; i < c->point_count; i++) {
        const struct scheme_value *v = scheme_value(scheme, c->points[i].value);
        bool alike = v && v->floor < v->ceiling;
        c->points[i].floor = alike ? v->floor : -INFINITY;
        c->points[i].ceiling = alike ? v->ceiling : INFINITY;
    }
}

bool compare_match(struct comparison *c, struct failure *failure) {
    c->value_count = c->graph->value_count;
    c->values = onnx_alloc(c->graph, c->value_count * sizeof *c->values);
    c->points = onnx_alloc(c->graph, c->value_count * sizeof *c->points);
    for (size_t i = 0; i < c->value_count; i++) {
        c->values[i] = (struct compare_value){.low = INFINITY, .high = -INFINITY};
        c->graph->values[i]->lowered = &c->values[i];
    }
    sort_tensors(c);
    c->node_weights = onnx_alloc(c->graph, c->graph->node_count * sizeof *c->node_weights);
    for (size_t n = 0; n < c->graph->node_count; n++) c->graph->nodes[n]->number = n;
    for (size_t i = 0; i < c->graph->input_count; i++) add_point(c, c->graph->inputs[i]);
    for (size_t n = 0; n < c->graph->node_count; n++)
        for (int k = 0; k < c->graph->nodes[n]->output_count; k++) add_point(c, c->graph->nodes[n]->outputs[k]);
    set_limits(c);
    for (size_t i = 0; i < c->point_count; i++) {
        struct compare_point *p = &c->points[i];
        p->node = p->value->is_input ? NULL : layer_of(p->value);
        p->weights = p->node ? compare_weights(c, p->node, p->tensor) : NULL;
        if (p->weights && !c->node_weights[p->node->number]) c->node_weights[p->node->number] = p->weights;
    }
    return enough(c, failure);
}
