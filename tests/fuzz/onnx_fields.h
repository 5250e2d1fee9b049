/* SPDX-License-Identifier: MIT */
/*
 * ONNX files damaged field by field: the message is read as a tree, by protobuf-c's own descriptors, something in it changes, and it is
 * written again. Lists lose, gain and swap elements; attributes change value, sign and type; edges lead elsewhere; operators change their
 * names; constants change shape and type. Included once, by the fuzzer.
 *
 * All memory of a tree comes from one block, which the next tree takes anew: nothing is freed, and elements may be shared.
 */
#ifndef MORSEL_TEST_ONNX_FIELDS_H
#define MORSEL_TEST_ONNX_FIELDS_H

#include "fuzz.h"
#include "onnx.pb-c.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

enum { TREE_BYTES = 4 << 20, TREE_MESSAGES = 4096, TREE_LIST = 64 };

struct tree {
    uint64_t *state;
    Onnx__Model *model;
    ProtobufCMessage *messages[TREE_MESSAGES];
    uint32_t count;
};

static struct {
    size_t used;
    alignas(max_align_t) uint8_t bytes[TREE_BYTES];
} tree_memory;

static void *tree_alloc(void *data, size_t size) {
    size_t start = tree_memory.used;
    (void)data;
    if (size > TREE_BYTES - start) return NULL;
    tree_memory.used += (size + 15) / 16 * 16;
    if (tree_memory.used > TREE_BYTES) tree_memory.used = TREE_BYTES;
    return tree_memory.bytes + start;
}

static void tree_free(void *data, void *block) {
    (void)data, (void)block;
}

static uint32_t tree_below(struct tree *t, size_t most) {
    return most ? fuzz_below(t->state, (uint32_t)most) : 0;
}

/* --- Fields ---------------------------------------------------------------------------------------------------------- */

static size_t field_width(const ProtobufCFieldDescriptor *f) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    default: return 4;
    }
}

static void *field_of(ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    return (uint8_t *)message + f->offset;
}

/* Of a repeated field. */
static size_t *field_count(ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    return (size_t *)(void *)((uint8_t *)message + f->quantifier_offset);
}

static uint8_t **field_list(ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    return field_of(message, f);
}

/* Element `index`, or the field itself. */
static void *field_element(ProtobufCMessage *message, const ProtobufCFieldDescriptor *f, size_t index) {
    return f->label == PROTOBUF_C_LABEL_REPEATED ? *field_list(message, f) + index * field_width(f) : field_of(message, f);
}

static size_t field_elements(ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    return f->label == PROTOBUF_C_LABEL_REPEATED ? *field_count(message, f) : 1;
}

/* The message and all below it. */
static void tree_collect(struct tree *t, ProtobufCMessage *message) {
    if (!message || t->count == TREE_MESSAGES) return;
    t->messages[t->count++] = message;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &message->descriptor->fields[i];
        for (size_t k = 0; f->type == PROTOBUF_C_TYPE_MESSAGE && k < field_elements(message, f); k++)
            tree_collect(t, *(ProtobufCMessage **)field_element(message, f, k));
    }
}

/* Any message of that kind; NULL where chance finds none. */
static ProtobufCMessage *tree_any(struct tree *t, const ProtobufCMessageDescriptor *kind) {
    for (uint32_t tries = 0, start = tree_below(t, t->count); tries < t->count; tries++) {
        ProtobufCMessage *message = t->messages[(start + tries) % t->count];
        if (message->descriptor == kind) return message;
    }
    return NULL;
}

/* --- Values ---------------------------------------------------------------------------------------------------------- */

static int64_t tree_int(struct tree *t, int64_t old) {
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     3,
                                     -3,
                                     4,
                                     -4,
                                     5,
                                     7,
                                     8,
                                     16,
                                     63,
                                     64,
                                     65,
                                     255,
                                     256,
                                     1000,
                                     65536,
                                     INT32_MAX,
                                     INT32_MIN,
                                     (int64_t)1 << 40,
                                     INT64_MAX,
                                     INT64_MIN};
    switch (tree_below(t, 5)) {
    case 0: return (int64_t)((uint64_t)old + 1);
    case 1: return (int64_t)((uint64_t)old - 1);
    case 2: return (int64_t)(0 - (uint64_t)old);
    default: return values[tree_below(t, tree_below(t, 3) ? 12 : sizeof values / sizeof *values)];
    }
}

static double tree_float(struct tree *t, double old) {
    static const double values[] = {0, -0.0, 1, -1, 0.5, 1e-45, 1e-38, 1e-9, 255, 65536, 1e9, 3e38, 1e300, -3e38};
    switch (tree_below(t, 4)) {
    case 0: return -old;
    case 1: return old * 2;
    case 2: return tree_below(t, 8) ? old / 2 : (double)__builtin_nanf("");
    default: return values[tree_below(t, sizeof values / sizeof *values)];
    }
}

static char *tree_copy(const char *text, size_t more) {
    size_t length = strlen(text);
    char *copy = tree_alloc(NULL, length + more + 1);
    if (copy) memcpy(copy, text, length + 1);
    return copy;
}

/* A name that another field of this kind has; or none, or one more letter, or one less. */
static void change_text(struct tree *t, ProtobufCMessage *message, const ProtobufCFieldDescriptor *f, char **text) {
    ProtobufCMessage *other = tree_any(t, message->descriptor);
    size_t elements = field_elements(other, f);
    char *copy;
    if (tree_below(t, 4) && elements) {
        *text = *(char **)field_element(other, f, tree_below(t, elements));
    } else if ((copy = tree_copy(*text, 1))) {
        size_t length = strlen(copy);
        uint32_t way = tree_below(t, 3);
        if (way == 0) length = 0;
        else if (way == 1) copy[length++] = "x0_\x80"[tree_below(t, 4)];
        else length -= length > 0;
        copy[length] = 0;
        *text = copy;
    }
}

/* Shorter, longer, or other words in it. */
static void change_bytes(struct tree *t, ProtobufCBinaryData *bytes) {
    size_t length = bytes->len, most = length + 64;
    uint8_t *copy = tree_alloc(NULL, most);
    if (!copy) return;
    memset(copy, (int)tree_below(t, 256), most);
    if (length) memcpy(copy, bytes->data, length);
    uint32_t way = tree_below(t, 4);
    if (way == 0) length = tree_below(t, length + 1);
    if (way == 1) length += tree_below(t, 64);
    if (way > 1 && length >= 4) {
        uint32_t word;
        size_t place = tree_below(t, length / 4) * 4;
        memcpy(&word, copy + place, 4);
        word = fuzz_word(t->state, word, length);
        memcpy(copy + place, &word, 4);
    } else if (way > 1 && length) {
        copy[tree_below(t, length)] = (uint8_t)fuzz_random(t->state);
    }
    *bytes = (ProtobufCBinaryData){length, copy};
}

static void change_element(struct tree *t, ProtobufCMessage *message, const ProtobufCFieldDescriptor *f, void *element) {
    int64_t *wide = element;
    int32_t *narrow = element;
    float *floating = element;
    double *doubled = element;
    ProtobufCMessage **inner = element;
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64: *wide = tree_int(t, *wide); break;
    case PROTOBUF_C_TYPE_DOUBLE: *doubled = tree_float(t, *doubled); break;
    case PROTOBUF_C_TYPE_FLOAT: {
        double value = tree_float(t, (double)*floating);
        *floating = value > 3.4e38 ? HUGE_VALF : value < -3.4e38 ? -HUGE_VALF : (float)value;
        break;
    }
    case PROTOBUF_C_TYPE_STRING: change_text(t, message, f, element); break;
    case PROTOBUF_C_TYPE_BYTES: change_bytes(t, element); break;
    case PROTOBUF_C_TYPE_MESSAGE: {
        ProtobufCMessage *other = tree_any(t, f->descriptor);
        if (other) *inner = other;
        if (f->label != PROTOBUF_C_LABEL_REPEATED && !tree_below(t, 3)) *inner = NULL;
        break;
    }
    default: *narrow = (int32_t)tree_int(t, *narrow);
    }
}

/* --- Lists ----------------------------------------------------------------------------------------------------------- */

/* One more element, a copy of one of this list or of another message's; zeros where there is none. */
static void grow_list(struct tree *t, ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    ProtobufCMessage *other = tree_any(t, message->descriptor);
    size_t count = *field_count(message, f), width = field_width(f), there = *field_count(other, f), place = tree_below(t, count + 1);
    int pointers = f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE;
    uint8_t *list = tree_alloc(NULL, (count + 1) * width), *old = *field_list(message, f);
    if (!list || (!there && pointers)) return;
    if (place) memcpy(list, old, place * width);
    if (count > place) memcpy(list + (place + 1) * width, old + place * width, (count - place) * width);
    if (there) memcpy(list + place * width, field_element(other, f, tree_below(t, there)), width);
    else memset(list + place * width, 0, width);
    *field_list(message, f) = list;
    *field_count(message, f) = count + 1;
}

static void swap_elements(uint8_t *a, uint8_t *b, size_t width) {
    uint8_t old[sizeof(ProtobufCBinaryData)];
    memcpy(old, a, width);
    memmove(a, b, width);
    memcpy(b, old, width);
}

static void change_list(struct tree *t, ProtobufCMessage *message, const ProtobufCFieldDescriptor *f) {
    size_t *count = field_count(message, f), width = field_width(f), index = tree_below(t, *count), last = *count - 1;
    uint32_t way = tree_below(t, 8);
    if (!*count || way == 0) {
        grow_list(t, message, f);
    } else if (way == 1) {
        memmove(field_element(message, f, index), field_element(message, f, index + 1), (last - index) * width);
        *count = last;
    } else if (way == 2) {
        swap_elements(field_element(message, f, index), field_element(message, f, tree_below(t, *count)), width);
    } else {
        change_element(t, message, f, field_element(message, f, index));
    }
}

/* --- What a network is made of --------------------------------------------------------------------------------------- */

static Onnx__Node *tree_node(struct tree *t) {
    return (Onnx__Node *)tree_any(t, &onnx__node__descriptor);
}

/* The name of a value: an output of some node, a constant, an input of the graph. */
static char *tree_value(struct tree *t) {
    Onnx__Node *node = tree_node(t);
    Onnx__Graph *graph = t->model->graph;
    uint32_t way = tree_below(t, 4);
    if (way == 0 && graph && graph->n_initializer) return graph->initializer[tree_below(t, graph->n_initializer)]->name;
    if (way == 1 && graph && graph->n_input) return graph->input[tree_below(t, graph->n_input)]->name;
    return node && node->n_output ? node->output[tree_below(t, node->n_output)] : NULL;
}

static void redirect_edge(struct tree *t) {
    Onnx__Node *node = tree_node(t);
    char *name = tree_value(t);
    if (!node || !name || !*name) return;
    if (!node->n_input || !tree_below(t, 4)) {
        char **inputs = tree_alloc(NULL, (node->n_input + 1) * sizeof *inputs);
        if (!inputs) return;
        if (node->n_input) memcpy(inputs, node->input, node->n_input * sizeof *inputs);
        node->input = inputs;
        node->input[node->n_input++] = name;
    } else {
        node->input[tree_below(t, node->n_input)] = name;
    }
}

static void change_operator(struct tree *t) {
    Onnx__Node *node = tree_node(t);
    size_t count = 0;
    while (onnx_operator_at(count)) count++;
    const struct onnx_operator *op = onnx_operator_at(tree_below(t, count));
    if (!node) return;
    node->op_type = (char *)(uintptr_t)op->name;
    node->domain = (char *)(uintptr_t)op->domain;
}

static Onnx__Attribute *tree_attribute(struct tree *t) {
    return (Onnx__Attribute *)tree_any(t, &onnx__attribute__descriptor);
}

/* A number of an attribute, or all of a list, changes sign or size. */
static void change_attribute(struct tree *t) {
    static const int types[] = {0, 1, 2, 3, 4, 6, 7, 8, 5, 99};
    Onnx__Attribute *a = tree_attribute(t);
    if (!a) return;
    switch (tree_below(t, 6)) {
    case 0: a->type = types[tree_below(t, 10)]; break;
    case 1: a->i = tree_int(t, a->i); break;
    case 2: a->n_ints = tree_below(t, a->n_ints + 1); break;
    case 3:
        for (size_t i = 0; i < a->n_ints; i++) a->ints[i] = (int64_t)((uint64_t)a->ints[i] - a->n_ints); /* counted from the end */
        break;
    default:
        if (a->n_ints) a->ints[tree_below(t, a->n_ints)] = tree_int(t, a->ints[tree_below(t, a->n_ints)]);
    }
}

static size_t tensor_width(int32_t type) {
    return type == 2 || type == 3 || type == 9     ? 1
           : type == 10 || type == 4 || type == 5  ? 2
           : type == 7 || type == 11 || type == 13 ? 8
                                                   : 4;
}

/* Another shape or type, with as many bytes as that has. */
static void reshape_constant(struct tree *t) {
    Onnx__Tensor *tensor = (Onnx__Tensor *)tree_any(t, &onnx__tensor__descriptor);
    if (!tensor || tensor->n_dims > 8) return;
    if (tensor->n_dims && tree_below(t, 2)) tensor->dims[tree_below(t, tensor->n_dims)] = 1 + tree_below(t, 6);
    else tensor->data_type = 1 + (int32_t)tree_below(t, tree_below(t, 3) ? 7 : 16);
    uint64_t bytes = tensor_width(tensor->data_type);
    for (size_t i = 0; i < tensor->n_dims && bytes < 65536; i++) bytes *= (uint64_t)tensor->dims[i] & 0xffff;
    uint8_t *data = bytes < 65536 ? tree_alloc(NULL, bytes + 1) : NULL;
    if (!data) return;
    for (size_t i = 0; i < bytes; i++) data[i] = tensor->raw_data.len ? tensor->raw_data.data[i % tensor->raw_data.len] : 0;
    tensor->raw_data = (ProtobufCBinaryData){bytes, data};
}

static void change_opset(struct tree *t) {
    if (t->model->n_opset_import) t->model->opset_import[tree_below(t, t->model->n_opset_import)]->version = 9 + tree_below(t, 16);
}

static void change_tree(struct tree *t) {
    switch (tree_below(t, 16)) {
    case 0:
    case 1: redirect_edge(t); return;
    case 2: change_operator(t); return;
    case 3:
    case 4:
    case 5: change_attribute(t); return;
    case 6: reshape_constant(t); return;
    case 7: change_opset(t); return;
    default: break;
    }
    ProtobufCMessage *message = t->messages[tree_below(t, t->count)];
    if (!message->descriptor->n_fields) return;
    const ProtobufCFieldDescriptor *f = &message->descriptor->fields[tree_below(t, message->descriptor->n_fields)];
    if (f->label == PROTOBUF_C_LABEL_REPEATED) change_list(t, message, f);
    else change_element(t, message, f, field_of(message, f));
}

/* A message may have come to stand below itself: then it has no end. */
static int tree_ends(ProtobufCMessage *message, uint32_t depth, uint32_t *left) {
    if (!message) return 1;
    if (!depth || !*left) return 0;
    --*left;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &message->descriptor->fields[i];
        for (size_t k = 0; f->type == PROTOBUF_C_TYPE_MESSAGE && k < field_elements(message, f); k++)
            if (!tree_ends(*(ProtobufCMessage **)field_element(message, f, k), depth - 1, left)) return 0;
    }
    return 1;
}

static size_t tree_mutate(uint8_t *bytes, size_t size, size_t most, uint64_t *state) {
    static struct tree t;
    ProtobufCAllocator allocator = {tree_alloc, tree_free, NULL};
    uint32_t left = 2 * TREE_MESSAGES;
    tree_memory.used = 0;
    t = (struct tree){.state = state, .model = onnx__model__unpack(&allocator, size, bytes)};
    if (!t.model) return size;
    tree_collect(&t, &t.model->base);
    for (uint32_t times = fuzz_between(state, 1, 1u << fuzz_below(state, 3)); times; times--) change_tree(&t);
    if (!tree_ends(&t.model->base, TREE_LIST, &left)) return size;
    size_t packed = onnx__model__get_packed_size(t.model);
    return packed <= most ? onnx__model__pack(t.model, bytes) : size;
}

#endif
