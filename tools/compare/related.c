/* SPDX-License-Identifier: MIT */
/* Whether two networks have anything to do with each other, and what they lack where they have not. */
#include "tools/compare/compare.h"
#include "tools/onnx/internal.h"

#include <stdio.h>
#include <string.h>

enum { LISTED_MOST = 4 };

const char *const compare_endings[COMPARE_ENDINGS] = {"", "_quantized", "_QuantizeLinear_Output"};

/* Whether a tensor's name is that of a value of the float network, or of its bytes. */
static bool is_name_of(const char *name, const char *value) {
    size_t length = strlen(value);
    if (strncmp(name, value, length)) return false;
    for (size_t i = 0; i < COMPARE_ENDINGS; i++)
        if (!strcmp(name + length, compare_endings[i])) return true;
    return false;
}

struct onnx_shape compare_tensor_shape(const struct morsel_blob_tensor *t) {
    struct onnx_shape shape = {.rank = (int)t->rank};
    bool last = t->layout == MORSEL_CHANNELS_LAST && t->rank >= 3;
    for (uint32_t i = 0; i < t->rank; i++) shape.dims[i] = t->dims[!last || !i ? i : i == 1 ? t->rank - 1 : i - 1];
    return shape;
}

/* A list of names that ends by itself: "'a' 1x8, 'b' 1x3x4 ..." */
struct list {
    char text[320];
    size_t used, count;
};

static void add(struct list *list, const char *name, const struct onnx_shape *shape) {
    char dims[96];
    if (list->used + 1 >= sizeof list->text || list->count++ > LISTED_MOST) return;
    if (list->count > LISTED_MOST) list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, " ...");
    else
        list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s'%.40s%s' %s", list->used ? ", " : "",
                                       name, strlen(name) > 40 ? "..." : "", onnx_shape_text(shape, dims, sizeof dims));
}

static bool found(const struct onnx_value *value) {
    return ((const struct compare_value *)value->lowered)->point;
}

/* Numbers of objects, as NonMaxSuppression gives them, are not compared. */
static size_t list_missing(struct onnx_value *const *values, size_t count, struct list *list) {
    for (size_t i = 0; i < count; i++)
        if (!found(values[i]) && !(values[i]->producer && values[i]->type == ONNX_INT64)) add(list, values[i]->name, &values[i]->shape);
    return list->count;
}

static void list_section(const struct comparison *c, const struct morsel_blob_section *section, struct list *list) {
    const struct morsel_blob_io *io = morsel_blob_at(c->network, section->offset);
    for (uint32_t i = 0; i < section->count; i++) {
        struct onnx_shape shape = compare_tensor_shape(morsel_blob_tensor(c->network, io[i].tensor));
        add(list, morsel_blob_string(c->network, io[i].name), &shape);
    }
}

bool compare_ends_fit(const struct comparison *c, struct failure *failure) {
    const struct morsel_blob_header *h = morsel_blob_header(c->network);
    struct list missing = {0}, there = {0};
    bool inputs = list_missing(c->graph->inputs, c->graph->input_count, &missing) != 0;
    if (!inputs && !list_missing(c->graph->outputs, c->graph->output_count, &missing)) return true;
    list_section(c, inputs ? &h->inputs : &h->outputs, &there);
    return failure_set(failure, STATUS_INPUT,
                       "the two have not the same %s, in name and size: MODEL lacks %s, and has %s; is it made from this file, with "
                       "the same shapes and rules?",
                       inputs ? "inputs" : "outputs", missing.text, there.text);
}

/* Whether a tensor holds a value of the graph by its name and size. */
static bool has_value(const struct comparison *c, const struct morsel_blob_tensor *t) {
    const char *name = morsel_blob_string(c->network, t->name);
    for (size_t i = 0; i < c->value_count; i++)
        if (is_name_of(name, c->graph->values[i]->name) && onnx_elements(&c->graph->values[i]->shape) == (int64_t)morsel_elements(t))
            return true;
    return false;
}

static bool is_end(const struct comparison *c, const struct morsel_blob_section *section, uint32_t tensor) {
    const struct morsel_blob_io *io = morsel_blob_at(c->network, section->offset);
    for (uint32_t i = 0; i < section->count; i++)
        if (io[i].tensor == tensor) return true;
    return false;
}

/* What is made of a layer's input at run time has the layer's name, and no value of the graph is like it. */
static bool is_rounding(const struct comparison *c, const struct morsel_blob_tensor *t) {
    if (t->first_step >= morsel_blob_header(c->network)->steps.count) return false;
    const uint32_t kind = morsel_blob_step(c->network, t->first_step)->kind;
    return kind == MORSEL_STEP_RANGE || kind == MORSEL_STEP_FACTORS || kind == MORSEL_STEP_QUANTIZE;
}

bool compare_insides_fit(const struct comparison *c, struct failure *failure) {
    const struct morsel_blob_header *h = morsel_blob_header(c->network);
    struct list ours = {0}, theirs = {0};
    for (uint32_t i = 0; i < h->tensors.count; i++) {
        const struct morsel_blob_tensor *t = morsel_blob_tensor(c->network, i);
        struct onnx_shape shape = compare_tensor_shape(t);
        if (t->place || !t->name || is_end(c, &h->inputs, i) || is_end(c, &h->outputs, i)) continue;
        if (has_value(c, t)) return true;
        if (!is_rounding(c, t)) add(&theirs, morsel_blob_string(c->network, t->name), &shape);
    }
    for (size_t n = 0; n < c->graph->node_count; n++)
        for (int k = 0; k < c->graph->nodes[n]->output_count; k++) {
            const struct onnx_value *value = c->graph->nodes[n]->outputs[k];
            if (value && !value->is_output) add(&ours, value->name, &value->shape);
        }
    return !theirs.count || !ours.count ||
           failure_set(failure, STATUS_INPUT,
                       "no value inside the two networks has the same name and size: FLOAT has %s; MODEL has %s; is it made "
                       "from this file?",
                       ours.text, theirs.text);
}
