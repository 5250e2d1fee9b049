/* SPDX-License-Identifier: MIT */
/* Makes small valid blobs in memory, for tests. Every tensor gets its own slice of the arena; lifetimes follow from the steps. */
#ifndef BLOB_BUILDER_H
#define BLOB_BUILDER_H

#include "core/format.h"
#include "core/morsel.h"

#define BUILDER_MAX 512

struct builder {
    struct morsel_blob_tensor tensors[BUILDER_MAX];
    struct morsel_blob_step steps[BUILDER_MAX];
    struct morsel_blob_io inputs[BUILDER_MAX], outputs[BUILDER_MAX];
    uint32_t operands[8 * BUILDER_MAX], labels[BUILDER_MAX];
    uint32_t tensor_count, step_count, input_count, output_count, operand_count, label_count, picture_count;
    struct morsel_blob_picture picture;
    struct morsel_blob_answer answer;
    const float *anchors; /* answer.anchors of them */
    uint8_t *data;
    uint32_t data_bytes;
    uint32_t parameters[16384];
    uint32_t parameter_count;
    char strings[16384];
    uint32_t string_bytes;
    uint32_t arena_bytes;
};

void builder_start(struct builder *b);

/* Dimensions in the order of memory. Rank 4 is CHANNELS_LAST. Scale and zero point are ignored for int32 and float. */
uint32_t builder_tensor(struct builder *b, enum morsel_type type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point);
/* The same as a constant. */
uint32_t builder_constant(struct builder *b, enum morsel_type type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point,
                          const void *values);

void builder_input(struct builder *b, uint32_t tensor, const char *name);
void builder_output(struct builder *b, uint32_t tensor, const char *name);
void builder_label(struct builder *b, const char *label);

/* The offset in the blob at which the bytes will stand. */
uint32_t builder_data(struct builder *b, const void *bytes, uint32_t count);

void builder_step(struct builder *b, enum morsel_step_kind kind, const uint32_t *inputs, uint32_t input_count, uint32_t output,
                  const void *parameters, uint32_t parameter_bytes, uint32_t scratch_bytes);

/* The whole blob in aligned memory, for free(); the builder's own memory is freed. */
uint8_t *builder_finish(struct builder *b, uint32_t *bytes);

/* Opens the blob, runs it once on one or two inputs (NULL: only one) and gives a copy of output 0, for free(); the blob is freed.
 * Ends the program where anything fails. */
void *builder_run(uint8_t *blob, uint32_t bytes, const void *x, const void *x2);

/* After damage on purpose: makes the checksum right again. */
void builder_seal(uint8_t *blob);

/* Aligned memory for blobs and arenas, exactly `bytes` long (so that sanitizers see its end), for free(). */
void *builder_aligned(size_t bytes);

/* Random numbers that are the same everywhere. */
uint32_t builder_random(uint32_t *state);
uint32_t builder_between(uint32_t *state, uint32_t low, uint32_t high); /* both included */

#endif
