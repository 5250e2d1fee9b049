/* SPDX-License-Identifier: MIT */
/* Blobs in memory, section by section, as tests describe them. */
#define _POSIX_C_SOURCE 200112L
#include "tests/unit/support/blob_builder.h"

#include "core/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_START 192u /* behind the header */

static void must(int holds) {
    if (!holds) abort();
}

static uint32_t align64(uint32_t n) {
    return (n + 63) / 64 * 64;
}

void *builder_aligned(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1)) abort();
    return p;
}

uint32_t builder_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

uint32_t builder_between(uint32_t *state, uint32_t low, uint32_t high) {
    return low + (builder_random(state) >> 8) % (high - low + 1);
}

void builder_start(struct builder *b) {
    memset(b, 0, sizeof *b);
    b->string_bytes = 1;
}

static uint32_t add_string(struct builder *b, const char *text) {
    uint32_t at = b->string_bytes, bytes = (uint32_t)strlen(text) + 1;
    must(at + bytes <= sizeof b->strings);
    memcpy(b->strings + at, text, bytes);
    b->string_bytes += bytes;
    return at;
}

uint32_t builder_tensor(struct builder *b, enum morsel_type type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point) {
    char name[32];
    must(b->tensor_count < BUILDER_MAX);
    struct morsel_blob_tensor *t = &b->tensors[b->tensor_count];
    int byte = type == MORSEL_UINT8 || type == MORSEL_INT8;
    t->type = type;
    t->layout = rank == 4 ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR;
    t->rank = rank;
    t->bytes = byte ? 1 : 4;
    for (uint32_t k = 0; k < MORSEL_FORMAT_MAX_RANK; k++) t->dims[k] = k < rank ? dims[k] : 1;
    for (uint32_t k = 0; k < rank; k++) t->bytes *= dims[k];
    t->scale = byte ? scale : 1;
    t->zero_point = byte ? zero_point : 0;
    t->first_step = t->last_step = MORSEL_STEP_BEFORE;
    snprintf(name, sizeof name, "tensor%u", (unsigned)b->tensor_count);
    t->name = add_string(b, name);
    return b->tensor_count++;
}

uint32_t builder_constant(struct builder *b, enum morsel_type type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point,
                          const void *values) {
    uint32_t index = builder_tensor(b, type, rank, dims, scale, zero_point);
    b->tensors[index].place = 1;
    b->tensors[index].offset = builder_data(b, values, b->tensors[index].bytes);
    return index;
}

static void add_io(struct builder *b, struct morsel_blob_io *io, uint32_t tensor, const char *name) {
    const struct morsel_blob_tensor *t = &b->tensors[tensor];
    io->tensor = tensor;
    io->onnx_type = t->type;
    io->onnx_rank = t->rank;
    for (uint32_t k = 0; k < MORSEL_FORMAT_MAX_RANK; k++) io->onnx_dims[k] = t->dims[k];
    if (t->rank == 4) {
        io->onnx_dims[1] = t->dims[3];
        io->onnx_dims[2] = t->dims[1];
        io->onnx_dims[3] = t->dims[2];
    }
    io->name = add_string(b, name);
}

void builder_input(struct builder *b, uint32_t tensor, const char *name) {
    must(b->input_count < BUILDER_MAX);
    add_io(b, &b->inputs[b->input_count++], tensor, name);
}

void builder_output(struct builder *b, uint32_t tensor, const char *name) {
    must(b->output_count < BUILDER_MAX);
    add_io(b, &b->outputs[b->output_count++], tensor, name);
}

void builder_label(struct builder *b, const char *label) {
    must(b->label_count < BUILDER_MAX);
    b->labels[b->label_count++] = add_string(b, label);
}

uint32_t builder_data(struct builder *b, const void *bytes, uint32_t count) {
    uint32_t at = b->data_bytes;
    b->data_bytes = at + align64(count);
    b->data = realloc(b->data, b->data_bytes);
    if (!b->data) abort();
    memset(b->data + at, 0, b->data_bytes - at);
    memcpy(b->data + at, bytes, count);
    return DATA_START + at;
}

void builder_step(struct builder *b, enum morsel_step_kind kind, const uint32_t *inputs, uint32_t input_count, uint32_t output,
                  const void *parameters, uint32_t parameter_bytes, uint32_t scratch_bytes) {
    uint32_t index = b->step_count++;
    must(index < BUILDER_MAX && b->parameter_count + parameter_bytes / 4 <= sizeof b->parameters / 4);
    struct morsel_blob_step *s = &b->steps[index];
    s->kind = kind;
    s->first_operand = b->operand_count;
    s->input_count = input_count;
    s->output_count = 1;
    s->parameters = b->parameter_count * 4; /* made an offset into the blob at the end */
    s->scratch_bytes = scratch_bytes;
    memcpy(b->parameters + b->parameter_count, parameters, parameter_bytes);
    b->parameter_count += parameter_bytes / 4;
    for (uint32_t n = 0; n < input_count; n++) {
        b->operands[b->operand_count++] = inputs[n];
        b->tensors[inputs[n]].last_step = index;
    }
    b->operands[b->operand_count++] = output;
    b->tensors[output].first_step = b->tensors[output].last_step = index;
}

static void plan(struct builder *b) {
    uint32_t at = b->step_count * MORSEL_FORMAT_STEP_SLOT;
    for (uint32_t i = 0; i < b->output_count; i++) b->tensors[b->outputs[i].tensor].last_step = b->step_count;
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        if (b->tensors[i].place) continue;
        b->tensors[i].offset = at;
        at += align64(b->tensors[i].bytes);
    }
    for (uint32_t i = 0; i < b->step_count; i++) {
        if (!b->steps[i].scratch_bytes) continue;
        b->steps[i].scratch_offset = at;
        at += align64(b->steps[i].scratch_bytes);
    }
    b->arena_bytes = at;
}

/* Room for a section behind what there is. */
static struct morsel_blob_section place(uint32_t *end, uint32_t count, uint32_t record) {
    struct morsel_blob_section s = {*end, count};
    *end += align64(count * record);
    return s;
}

static void put(uint8_t *blob, const struct morsel_blob_section *s, const void *records, uint32_t record) {
    if (s->count) memcpy(blob + s->offset, records, (size_t)s->count * record);
}

uint8_t *builder_finish(struct builder *b, uint32_t *bytes) {
    struct morsel_blob_header h;
    uint32_t end = DATA_START;
    memset(&h, 0, sizeof h);
    plan(b);
    memcpy(h.magic, MORSEL_MAGIC, 8);
    h.format_version = MORSEL_FORMAT_VERSION;
    h.arena_bytes = b->arena_bytes;
    h.data = place(&end, b->data_bytes, 1);
    h.tensors = place(&end, b->tensor_count, sizeof b->tensors[0]);
    h.operands = place(&end, b->operand_count, 4);
    h.steps = place(&end, b->step_count, sizeof b->steps[0]);
    h.parameters = place(&end, b->parameter_count, 4);
    h.inputs = place(&end, b->input_count, sizeof b->inputs[0]);
    h.outputs = place(&end, b->output_count, sizeof b->outputs[0]);
    h.picture = place(&end, b->picture_count, sizeof b->picture);
    h.answer = place(&end, b->answer.kind ? (uint32_t)sizeof b->answer / 4 + 4 * b->answer.anchors : 0, 4);
    h.labels = place(&end, b->label_count, 4);
    h.strings = place(&end, b->string_bytes, 1);
    h.blob_bytes = end;
    for (uint32_t i = 0; i < b->step_count; i++) b->steps[i].parameters += h.parameters.offset;
    uint8_t *blob = builder_aligned(end);
    memset(blob, 0, end);
    memcpy(blob, &h, sizeof h);
    put(blob, &h.data, b->data, 1);
    put(blob, &h.tensors, b->tensors, sizeof b->tensors[0]);
    put(blob, &h.operands, b->operands, 4);
    put(blob, &h.steps, b->steps, sizeof b->steps[0]);
    put(blob, &h.parameters, b->parameters, 4);
    put(blob, &h.inputs, b->inputs, sizeof b->inputs[0]);
    put(blob, &h.outputs, b->outputs, sizeof b->outputs[0]);
    put(blob, &h.picture, &b->picture, sizeof b->picture);
    if (h.answer.count) memcpy(blob + h.answer.offset, &b->answer, sizeof b->answer);
    if (b->anchors) memcpy(blob + h.answer.offset + sizeof b->answer, b->anchors, 16 * (size_t)b->answer.anchors);
    put(blob, &h.labels, b->labels, 4);
    put(blob, &h.strings, b->strings, 1);
    free(b->data);
    b->data = NULL;
    builder_seal(blob);
    *bytes = end;
    return blob;
}

void builder_seal(uint8_t *blob) {
    struct morsel_blob_header *h = (struct morsel_blob_header *)(void *)blob;
    h->checksum = morsel_checksum(blob, h->blob_bytes);
}

static void put_input(const struct morsel_session *session, uint32_t index, const void *x) {
    struct morsel_view view;
    must(morsel_input(session, index, &view) == MORSEL_OK);
    memcpy(view.data, x, view.bytes);
}

void *builder_run(uint8_t *blob, uint32_t bytes, const void *x, const void *x2) {
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view view;
    must(morsel_open(&model, blob, bytes, 0) == MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    memset(arena, 0xa5, morsel_arena_bytes(&model));
    must(morsel_session_open(&session, &model, arena, morsel_arena_bytes(&model), NULL) == MORSEL_OK);
    put_input(&session, 0, x);
    if (x2) put_input(&session, 1, x2);
    must(morsel_run(&session) == MORSEL_OK);
    must(morsel_output(&session, 0, &view) == MORSEL_OK);
    void *y = malloc(view.bytes);
    must(y != NULL);
    memcpy(y, view.data, view.bytes);
    free(arena);
    free(blob);
    return y;
}
