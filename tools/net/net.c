/* SPDX-License-Identifier: MIT */
/* Builds networks: buffers, constants and steps, in memory that goes with the network. */
#include "core/kind.h"
#include "tools/net/net.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *net_alloc(struct net *net, size_t bytes) {
    net->taken_bytes += bytes;
    return arena_alloc(&net->memory, bytes);
}

char *net_text(struct net *net, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = arena_text(&net->memory, format, list);
    va_end(list);
    return text;
}

struct net *net_new(const char *name) {
    struct arena memory = {0};
    struct net *net = arena_alloc(&memory, sizeof *net);
    net->memory = memory;
    net->name = net_text(net, "%s", name);
    return net;
}

void net_free(struct net *net) {
    if (!net) return;
    free(net->buffers);
    free(net->steps);
    free(net->inputs);
    free(net->outputs);
    struct arena memory = net->memory; /* which holds the net as well */
    arena_free(&memory);
}

/* An array of `size`-byte elements with room for one more behind `count`; doubles at powers of two. */
static void *grown(void *array, uint32_t count, size_t size) {
    if (count & (count - 1)) return array;
    size_t bytes = (count ? 2 * (size_t)count : 1) * size;
    return must_have(realloc(array, bytes), bytes);
}

uint32_t net_type_bytes(enum morsel_type type) {
    return type == MORSEL_UINT8 || type == MORSEL_INT8 ? 1 : 4;
}

uint32_t net_format(const struct net *net) {
    for (uint32_t i = 0; i < net->step_count; i++) {
        const struct net_step *step = net->steps[i];
        if (step->kind >= MORSEL_STEP_SINCE_2) return 2;
        if (step->kind == MORSEL_STEP_BINARY && step->parameters.binary.op >= MORSEL_BINARY_SINCE_2) return 2;
    }
    return 1;
}

uint32_t net_elements(const struct net_buffer *buffer) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < buffer->rank; i++) n *= buffer->dims[i];
    return n;
}

struct net_buffer *net_add_buffer(struct net *net, enum morsel_type type, enum morsel_layout layout, uint32_t rank, const uint32_t *dims,
                                  const char *name) {
    struct net_buffer *buffer = net_alloc(net, sizeof *buffer);
    *buffer = (struct net_buffer){.index = net->buffer_count, .type = type, .layout = layout, .rank = rank, .scale = 1, .name = name};
    for (uint32_t i = 0; i < MORSEL_FORMAT_MAX_RANK; i++) buffer->dims[i] = i < rank ? dims[i] : 1;
    buffer->bytes = net_elements(buffer) * net_type_bytes(type);
    net->buffers = grown(net->buffers, net->buffer_count, sizeof *net->buffers);
    net->buffers[net->buffer_count++] = buffer;
    return buffer;
}

struct net_buffer *net_add_like(struct net *net, const struct net_buffer *model, enum morsel_type type, const char *name) {
    return net_add_buffer(net, type, model->layout, model->rank, model->dims, name);
}

struct net_buffer *net_add_floats(struct net *net, const float *floats, uint32_t rank, const uint32_t *dims) {
    struct net_buffer *buffer = net_add_buffer(net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, rank, dims, "constant");
    buffer->constant = floats;
    return buffer;
}

void net_push_step(struct net *net, struct net_step *step) {
    net->steps = grown(net->steps, net->step_count, sizeof *net->steps);
    net->steps[net->step_count++] = step;
}

struct net_step *net_add_step(struct net *net, enum morsel_step_kind kind, const char *name, struct net_buffer *a, struct net_buffer *b,
                              struct net_buffer *output) {
    struct net_step *step = net_alloc(net, sizeof *step);
    step->kind = kind;
    step->name = name;
    step->inputs = net_alloc(net, 2 * sizeof *step->inputs);
    if (a) step->inputs[step->input_count++] = a;
    if (b) step->inputs[step->input_count++] = b;
    step->output = output;
    step->parameter_words = morsel_kinds[kind]->record / 4;
    net_push_step(net, step);
    return step;
}

struct net_step *net_add_identity(struct net *net, const char *name, struct net_buffer *from, struct net_buffer *to) {
    struct net_step *step = net_add_step(net, MORSEL_STEP_UNARY, name, from, NULL, to);
    step->parameters.unary = (struct morsel_blob_unary){.op = MORSEL_UNARY_IDENTITY, .count = net_elements(from), .channels = 1};
    return step;
}

void net_add_constant(struct net_step *step, const void *data, size_t bytes, size_t field) {
    step->constants[step->constant_count++] = (struct net_constant){data, bytes, field};
}

size_t net_sums(const struct net_step *step) {
    return morsel_kinds[step->kind]->sums;
}

void net_add_io(struct net *net, bool output, struct net_io io) {
    struct net_io **list = output ? &net->outputs : &net->inputs;
    uint32_t *count = output ? &net->output_count : &net->input_count;
    *list = grown(*list, *count, sizeof **list);
    (*list)[(*count)++] = io;
}

uint64_t net_macs(const struct net *net) {
    uint64_t macs = 0;
    for (uint32_t i = 0; i < net->step_count; i++) macs += net->steps[i]->macs;
    return macs;
}
