/* SPDX-License-Identifier: MIT */
/* The graph's memory and names, and questions about shapes, types and constants. */
#include "tools/base/half.h"
#include "tools/base/text.h"
#include "tools/onnx/internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2^40: the product of two such numbers leaves int64, so products are checked, but sums of many do not. */
#define MOST_ELEMENTS ((int64_t)1 << 40)

void *onnx_alloc(struct onnx_graph *graph, size_t bytes) {
    return arena_alloc(&graph->memory->arena, bytes);
}

struct onnx_graph *onnx_new_graph(Onnx__Model *model) {
    struct arena arena = {0};
    struct onnx_memory *memory = arena_alloc(&arena, sizeof *memory);
    struct onnx_graph *graph = arena_alloc(&arena, sizeof *graph);
    graph->memory = memory;
    memory->arena = arena;
    memory->model = model;
    return graph;
}

size_t onnx_room(const struct onnx_graph *graph, size_t least, size_t each, size_t most) {
    const size_t numbers = (most - least) / each, read = graph->numbers_read;
    return least + each * (read < numbers ? read : numbers);
}

bool onnx_pays(size_t *taken, size_t more, size_t room) {
    if (*taken > room || more > room - *taken) return false;
    *taken += more;
    return true;
}

char *onnx_text(struct onnx_graph *graph, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = arena_text(&graph->memory->arena, format, list);
    va_end(list);
    return text;
}

char *onnx_copy_text(struct onnx_graph *graph, const char *text) {
    const size_t bytes = strlen(text) + 1;
    return memcpy(onnx_alloc(graph, bytes), text, bytes);
}

void onnx_free(struct onnx_graph *graph) {
    if (!graph) return;
    struct onnx_memory *memory = graph->memory;
    struct arena arena = memory->arena; /* which holds the graph as well */
    if (memory->model) onnx__model__free_unpacked(memory->model, NULL);
    free(memory->names.slots);
    free(memory->reads.notes);
    free(memory->node_names.slots);
    free(memory->order.blocks);
    free(memory->order.sequence);
    free(graph->values);
    arena_free(&arena);
}

/* The slot where the name is or would be; the table is never full. */
static struct onnx_value **slot_of(const struct onnx_names *names, const char *name, size_t hash) {
    size_t i = hash & (names->slot_count - 1);
    while (names->slots[i] && (onnx_declared(names->slots[i])->hash != hash || strcmp(names->slots[i]->name, name)))
        i = (i + 1) & (names->slot_count - 1);
    return &names->slots[i];
}

/* Names differ, and none is looked at. */
static void enter_names(struct onnx_graph *graph) {
    struct onnx_names *names = &graph->memory->names;
    for (size_t k = 0; k < graph->value_count; k++) {
        size_t i = onnx_declared(graph->values[k])->hash & (names->slot_count - 1);
        while (names->slots[i]) i = (i + 1) & (names->slot_count - 1);
        names->slots[i] = graph->values[k];
    }
    names->used = graph->value_count;
}

static void grow_names(struct onnx_graph *graph) {
    struct onnx_names *names = &graph->memory->names;
    names->slot_count = names->slot_count ? names->slot_count * 2 : 256;
    free(names->slots);
    names->slots = must_have(calloc(names->slot_count, sizeof *names->slots), names->slot_count * sizeof *names->slots);
    enter_names(graph);
}

struct onnx_value *onnx_find(const struct onnx_graph *graph, const char *name) {
    const struct onnx_names *names = &graph->memory->names;
    return names->slot_count ? *slot_of(names, name, text_hash(name)) : NULL;
}

struct onnx_value *onnx_named(struct onnx_graph *graph, const char *name) {
    struct onnx_memory *memory = graph->memory;
    const size_t hash = text_hash(name);
    struct onnx_value *value = memory->names.slot_count ? *slot_of(&memory->names, name, hash) : NULL;
    if (value) return value;
    if (memory->names.used * 2 >= memory->names.slot_count) grow_names(graph);
    if (graph->value_count == memory->value_room) {
        memory->value_room = memory->value_room ? memory->value_room * 2 : 256;
        size_t bytes = memory->value_room * sizeof(void *);
        graph->values = must_have(realloc(graph->values, bytes), bytes);
    }
    struct onnx_declared *made = onnx_alloc(graph, sizeof *made);
    made->value.name = name;
    made->hash = hash;
    made->value.shape.rank = made->shape.rank = -1;
    graph->values[graph->value_count++] = &made->value;
    *slot_of(&memory->names, name, hash) = &made->value;
    memory->names.used++;
    return &made->value;
}

/* A value's slot. */
static struct onnx_value **own_slot(struct onnx_graph *graph, struct onnx_value *value) {
    return slot_of(&graph->memory->names, value->name, onnx_declared(value)->hash);
}

void onnx_exchange_names(struct onnx_graph *graph, struct onnx_value *a, struct onnx_value *b) {
    struct onnx_declared *x = onnx_declared(a), *y = onnx_declared(b), old = *x;
    struct onnx_value **slot_a = own_slot(graph, a), **slot_b = own_slot(graph, b);
    *slot_a = b;
    *slot_b = a;
    a->name = b->name, x->hash = y->hash, x->numbered = y->numbered, x->type = y->type;
    b->name = old.value.name, y->hash = old.hash, y->numbered = old.numbered, y->type = old.type;
}

void onnx_keep_values(struct onnx_graph *graph, bool (*keep)(const struct onnx_value *value)) {
    struct onnx_names *names = &graph->memory->names;
    size_t kept = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        onnx_declared(graph->values[i])->numbered = 0;
        if (keep(graph->values[i])) graph->values[kept++] = graph->values[i];
    }
    graph->value_count = kept;
    if (names->slot_count) memset(names->slots, 0, names->slot_count * sizeof *names->slots);
    enter_names(graph);
}

int64_t onnx_elements(const struct onnx_shape *shape) {
    if (shape->rank < 0 || shape->rank > ONNX_MAX_RANK) return -1;
    int64_t product = 1; /* of the dimensions that are not 0: strides stay in bounds too */
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim < 0 || dim > MOST_ELEMENTS) return -1;
        empty = empty || !dim;
        if (dim && product > MOST_ELEMENTS / dim) return -1;
        product *= dim ? dim : 1;
    }
    return empty ? 0 : product;
}

size_t onnx_type_bytes(enum onnx_type type) {
    static const unsigned char bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

const char *onnx_type_name(int type) {
    static const char *const names[] = {"unknown",  "float",  "uint8",   "int8",   "uint16", "int16",  "int32",     "int64",
                                        "string",   "bool",   "float16", "double", "uint32", "uint64", "complex64", "complex128",
                                        "bfloat16", "float8", "float8",  "float8", "float8", "uint4",  "int4",      "float4"};
    return type >= 0 && (size_t)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

bool onnx_all_alike(const struct onnx_tensor *tensor) {
    signed char *alike = (signed char *)&tensor->alike;
    const size_t width = onnx_type_bytes(tensor->type);
    for (size_t i = 1; !*alike && i < tensor->count; i++)
        if (memcmp((const char *)tensor->data + i * width, tensor->data, width)) *alike = -1;
    if (!*alike) *alike = 1;
    return *alike > 0;
}

double onnx_number(const struct onnx_tensor *tensor, size_t i) {
    const void *data = tensor->data;
    switch (tensor->type) {
    case ONNX_FLOAT: return ((const float *)data)[i];
    case ONNX_DOUBLE: return ((const double *)data)[i];
    case ONNX_FLOAT16: return half_value(((const uint16_t *)data)[i]);
    case ONNX_UINT64: return (double)((const uint64_t *)data)[i];
    default: return (double)onnx_integer(tensor, i);
    }
}

/* Towards zero; what is out of range becomes the nearest number in it, and no number becomes 0. */
static int64_t truncate_number(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x < -9223372036854775808.0) return INT64_MIN;
    return (int64_t)x;
}

int64_t onnx_integer(const struct onnx_tensor *tensor, size_t i) {
    const void *data = tensor->data;
    switch (tensor->type) {
    case ONNX_UINT8: return ((const uint8_t *)data)[i];
    case ONNX_INT8: return ((const int8_t *)data)[i];
    case ONNX_UINT16: return ((const uint16_t *)data)[i];
    case ONNX_INT16: return ((const int16_t *)data)[i];
    case ONNX_INT32: return ((const int32_t *)data)[i];
    case ONNX_INT64: return ((const int64_t *)data)[i];
    case ONNX_BOOL: return ((const uint8_t *)data)[i] != 0;
    case ONNX_UINT32: return ((const uint32_t *)data)[i];
    case ONNX_UINT64: return (int64_t)((const uint64_t *)data)[i];
    case ONNX_FLOAT:
    case ONNX_DOUBLE:
    case ONNX_FLOAT16: return truncate_number(onnx_number(tensor, i));
    default: return 0;
    }
}
