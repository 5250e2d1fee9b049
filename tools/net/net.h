/* SPDX-License-Identifier: MIT */
/*
 * The network as the runtime will run it: buffers and steps, in the terms of core/format.h, before memory is planned.
 * net_* functions allocate from the net; everything goes with net_free().
 */
#ifndef MORSEL_TOOLS_NET_NET_H
#define MORSEL_TOOLS_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "core/morsel.h"
#include "tools/base/arena.h"

#define NET_MAX_CONSTANTS 8

/* A tensor in memory. Its dimensions stand in the order of memory. */
struct net_buffer {
    uint32_t index; /* in net->buffers */
    enum morsel_type type;
    enum morsel_layout layout;
    uint32_t rank, dims[MORSEL_FORMAT_MAX_RANK];
    float scale;
    int32_t zero;
    bool qualified; /* scale and zero point are known (an integer graph input learns them from its first reader) */
    const char *name;
    const void *constant; /* the bytes of a constant; NULL: in the arena */
    /* Filled by the plan. */
    uint32_t bytes, offset, first_step, last_step;
    uint32_t ring_rows; /* 0: whole */
    bool used;
};

/* Bytes that go into the blob's data, and the field of the step's parameters that gets their offset. */
struct net_constant {
    const void *data;
    size_t bytes;
    size_t field;
};

union net_parameters {
    struct morsel_blob_window window; /* of whichever kind has one */
    struct morsel_blob_conv conv;
    struct morsel_blob_fc fc;
    struct morsel_blob_float_conv float_conv;
    struct morsel_blob_matmul matmul;
    struct morsel_blob_float_matmul float_matmul;
    struct morsel_blob_view_matmul view_matmul;
    struct morsel_blob_binary binary;
    struct morsel_blob_unary unary;
    struct morsel_blob_lut lut;
    struct morsel_blob_pool pool;
    struct morsel_blob_mean mean;
    struct morsel_blob_softmax softmax;
    struct morsel_blob_layer_norm layer_norm;
    struct morsel_blob_resize resize;
    struct morsel_blob_grid_sample grid_sample;
    struct morsel_blob_non_max_suppression non_max_suppression;
    struct morsel_blob_gather gather;
    struct morsel_blob_range range;
    struct morsel_blob_factors factors;
    struct morsel_blob_quantize quantize;
    struct morsel_blob_lookup lookup;
    struct morsel_blob_cast cast;
    uint32_t words[64];
};

struct net_step {
    enum morsel_step_kind kind;
    const char *name;
    uint32_t input_count; /* one output each */
    struct net_buffer **inputs;
    struct net_buffer *output;
    union net_parameters parameters;
    uint32_t *more_words; /* CONCAT: parameters of variable length, instead of `parameters` */
    uint32_t parameter_words;
    uint32_t constant_count;
    struct net_constant constants[NET_MAX_CONSTANTS];
    uint64_t macs;
    uint32_t scratch_bytes, scratch_offset;
    /* Filled by the plan: core/format.h. */
    uint32_t group, stage_scale;
    int32_t stage_lead;
    struct net_buffer *over; /* the last step of a group: the input that its output lies over, or NULL; it begins `lag` bytes before it */
    uint32_t lag;
};

struct net_io {
    struct net_buffer *buffer;
    enum morsel_type onnx_type;
    uint32_t onnx_rank, onnx_dims[MORSEL_FORMAT_MAX_RANK];
    const char *name;
};

struct net {
    const char *name;
    uint32_t buffer_count, step_count, input_count, output_count;
    struct net_buffer **buffers;
    struct net_step **steps;
    struct net_io *inputs, *outputs;
    uint64_t parameter_count; /* weights and biases */
    bool no_streaming;        /* the plan makes no groups */
    uint32_t arena_room;      /* bytes that the arena should not pass; 0: as few as cost hardly any time */
    uint32_t fast_room;       /* bytes of fast memory, for what a run reads and writes most; 0: there is none */
    /* Filled by the plan. */
    uint32_t format; /* net_format() */
    uint32_t arena_bytes, group_count;
    uint32_t fast_bytes; /* at the end of the arena */
    struct morsel_blob_group *groups;
    uint64_t looks;     /* at steps, to find the groups: the work, for a test */
    size_t taken_bytes; /* of net_alloc(), in all */
    /* Tables that views made lately (lower/view.c); `next` counts them. */
    struct net_runs {
        uint32_t next, dim[16], step[16];
        int32_t *table[16];
    } runs;
    struct arena memory; /* holds the net as well */
};

struct net *net_new(const char *name);
void net_free(struct net *net);

/* Zeroed memory of the net; ends the process with exit status 3 where there is none. */
void *net_alloc(struct net *net, size_t bytes);
char *net_text(struct net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct net_buffer *net_add_buffer(struct net *net, enum morsel_type type, enum morsel_layout layout, uint32_t rank, const uint32_t *dims,
                                  const char *name);
/* A new buffer of the same shape and layout, without quantization. */
struct net_buffer *net_add_like(struct net *net, const struct net_buffer *model, enum morsel_type type, const char *name);

/* A constant of floats, which stay the caller's. */
struct net_buffer *net_add_floats(struct net *net, const float *floats, uint32_t rank, const uint32_t *dims);

void net_push_step(struct net *net, struct net_step *step); /* behind the last */
/* A step with one or two inputs; parameter_words is set by its kind. */
struct net_step *net_add_step(struct net *net, enum morsel_step_kind kind, const char *name, struct net_buffer *a, struct net_buffer *b,
                              struct net_buffer *output);
/* Floats of bytes, bytes of floats, or a copy, by the types of both. */
struct net_step *net_add_identity(struct net *net, const char *name, struct net_buffer *from, struct net_buffer *to);
void net_add_constant(struct net_step *step, const void *data, size_t bytes, size_t field);

/* The oldest version of the format that has all of its steps. */
uint32_t net_format(const struct net *net);

/* Where the sums stand in the record of a CONV, DEPTHWISE or FC step; 0: in no other. */
size_t net_sums(const struct net_step *step);

/* Adds what the weights of a CONV, DEPTHWISE or FC step prove (core/format.h, enum morsel_proof); its other constants are in place. */
void net_add_proofs(struct net *net, struct net_step *step);

void net_add_io(struct net *net, bool output, struct net_io io);

uint32_t net_elements(const struct net_buffer *buffer);
uint32_t net_type_bytes(enum morsel_type type);
uint64_t net_macs(const struct net *net);

/* Up to the next multiple of the arena's alignment. */
static inline uint64_t net_aligned(uint64_t bytes) {
    return (bytes + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
}

#endif
