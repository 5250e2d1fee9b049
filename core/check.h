/* SPDX-License-Identifier: MIT */
/*
 * The checks of a blob. Each part may rely on those before it:
 *   sections (check.c) -> records: strings, tensors, inputs and outputs -> steps, their parameters and constants -> plan -> picture rule,
 *   answer rule.
 * All products and sums are formed in 64 bits from 32-bit fields, so none can wrap; nothing is divided in 64 bits, which
 * would need a library function on 32-bit machines.
 *
 * Work is bounded by the blob's bytes: constants are read 64 times them at most (MORSEL_READ_MOST). Tensors are compared by pairs, and
 * scratch with tensors, of which a record has 4,096 at most.
 */
#ifndef MORSEL_CHECK_H
#define MORSEL_CHECK_H

#include "../kernels/exact.h"
#include "blob.h"
#include "../kernels/stack.h"

#define MORSEL_SIZE_LIMIT 0x7fffffffu                     /* of blobs and arenas */
#define MORSEL_CHECKED (MORSEL_ROOMY_STACK ? 512u : 128u) /* a power of two */
#define MORSEL_SKIP_COMPARED 2u /* beside MORSEL_SKIP_CHECKSUM: the checksum was compared before, nothing else is left out */

struct morsel_check {
    struct morsel_model *report;      /* gets error_part and error_index */
    const struct morsel_model *model; /* blob and blob_bytes are set */
    const struct morsel_blob_header *header;
    const struct morsel_blob_tensor *tensors;
    const struct morsel_blob_step *steps;
    const struct morsel_blob_group *groups;
    uint64_t *read;    /* bytes of operands and constants looked at so far, each as often as a step names it */
    uint16_t *checked; /* MORSEL_CHECKED numbers of steps, counted from 1: where one may stand that a step is equal to */
    int verify;        /* whether constants are what kernels take them for, too: 0 with MORSEL_SKIP_CHECKSUM */
};

/* A step under check: its record, tensors and parameters. */
struct morsel_step_check {
    const struct morsel_check *check;
    const struct morsel_blob_step *step;
    const struct morsel_blob_tensor *x; /* first input */
    const struct morsel_blob_tensor *y;
    const void *parameters;
};

enum morsel_error morsel_check_blob(struct morsel_model *report, const void *blob, size_t bytes, uint32_t flags);

/* Checks `count` parts in turn. Which one an error is in goes into the report. */
enum morsel_error morsel_check_each(const struct morsel_check *c, enum morsel_part part, uint32_t count,
                                    enum morsel_error (*check)(const struct morsel_check *c, uint32_t index));

enum morsel_error morsel_check_records(const struct morsel_check *c);
enum morsel_error morsel_check_picture(const struct morsel_check *c);
enum morsel_error morsel_check_steps(const struct morsel_check *c);
enum morsel_error morsel_check_groups(const struct morsel_check *c);
/* Whether rows of the step's output are made of rows of its inputs, wherever those lie. */
int morsel_check_rows(const struct morsel_model *model, const struct morsel_blob_step *step);
/* Whether group g, of a batch of 1, may write `y` over its input `x`. */
int morsel_check_trails(const struct morsel_check *c, const struct morsel_blob_group *g, const struct morsel_blob_tensor *x,
                        const struct morsel_blob_tensor *y);
enum morsel_error morsel_check_plan(const struct morsel_check *c);

/* The parameters of one step; the number and the types of its tensors are right. */
enum morsel_error morsel_check_conv(const struct morsel_step_check *s);
enum morsel_error morsel_check_float_conv(const struct morsel_step_check *s);
enum morsel_error morsel_check_pool(const struct morsel_step_check *s);
enum morsel_error morsel_check_fc(const struct morsel_step_check *s);
enum morsel_error morsel_check_matmul(const struct morsel_step_check *s);
enum morsel_error morsel_check_view_matmul(const struct morsel_step_check *s);
enum morsel_error morsel_check_float_matmul(const struct morsel_step_check *s);
enum morsel_error morsel_check_binary(const struct morsel_step_check *s);
enum morsel_error morsel_check_qadd(const struct morsel_step_check *s);
enum morsel_error morsel_check_unary(const struct morsel_step_check *s);
enum morsel_error morsel_check_lut(const struct morsel_step_check *s);
enum morsel_error morsel_check_mean(const struct morsel_step_check *s);
enum morsel_error morsel_check_softmax(const struct morsel_step_check *s);
enum morsel_error morsel_check_layer_norm(const struct morsel_step_check *s);
enum morsel_error morsel_check_resize(const struct morsel_step_check *s);
enum morsel_error morsel_check_concat(const struct morsel_step_check *s);
enum morsel_error morsel_check_gather(const struct morsel_step_check *s);
enum morsel_error morsel_check_range_step(const struct morsel_step_check *s);
enum morsel_error morsel_check_factors(const struct morsel_step_check *s);
enum morsel_error morsel_check_quantize(const struct morsel_step_check *s);
/* Of a dynamic kind: x is of QUANTIZE's type, the second input has numbers for so many channels, or where `rows` is more than 1 for each
 * row; and nothing is stated that depends on x's zero point. Of other kinds true. */
int morsel_check_dynamic(const struct morsel_step_check *s, const struct morsel_blob_sums *p, uint64_t channels, uint32_t rows);
enum morsel_error morsel_check_lookup(const struct morsel_step_check *s);
enum morsel_error morsel_check_cast(const struct morsel_step_check *s);
enum morsel_error morsel_check_grid_sample(const struct morsel_step_check *s);
enum morsel_error morsel_check_non_max_suppression(const struct morsel_step_check *s);

/* struct morsel_kind's `work` (core/kind.h), in work.c. */
struct morsel_step_work;
uint64_t morsel_work_conv(const struct morsel_step_work *w);
uint64_t morsel_work_float_conv(const struct morsel_step_work *w);
uint64_t morsel_work_pool(const struct morsel_step_work *w);
uint64_t morsel_work_fc(const struct morsel_step_work *w);
uint64_t morsel_work_matmul(const struct morsel_step_work *w);
uint64_t morsel_work_float_matmul(const struct morsel_step_work *w);
uint64_t morsel_work_softmax(const struct morsel_step_work *w);
uint64_t morsel_work_layer_norm(const struct morsel_step_work *w);
uint64_t morsel_work_resize(const struct morsel_step_work *w);
uint64_t morsel_work_gather(const struct morsel_step_work *w);
uint64_t morsel_work_lookup(const struct morsel_step_work *w);
uint64_t morsel_work_binary(const struct morsel_step_work *w);
uint64_t morsel_work_concat(const struct morsel_step_work *w);
uint64_t morsel_work_non_max_suppression(const struct morsel_step_work *w);
uint64_t morsel_work_elements(const struct morsel_step_work *w); /* no more than that */

/* struct morsel_kind's `period` (core/kind.h). */
uint32_t morsel_binary_period(const void *parameters, uint32_t n);
uint32_t morsel_unary_period(const void *parameters, uint32_t n);
uint32_t morsel_lut_period(const void *parameters, uint32_t n);

/*
 * Any number of steps may name the same constant, which is looked at for each of them. All of that is at most MORSEL_READ_MOST times the
 * blob's bytes: beyond it `bytes` more are not afforded. A network whose steps share weights stays far below: from MORSEL_READ_MUCH on,
 * a step that equals one before it is not checked again.
 */
#define MORSEL_READ_MUCH 4u
#define MORSEL_READ_MOST 64u
int morsel_check_affords(const struct morsel_check *c, uint64_t bytes);

/* `bytes` bytes at `offset`: a multiple of 64, inside the data section. */
int morsel_check_data(const struct morsel_check *c, uint32_t offset, uint64_t bytes);
/* The same, and every float there is finite. */
int morsel_check_floats(const struct morsel_check *c, uint32_t offset, uint64_t count);
/* The same for an even number of binary16. */
int morsel_check_halves(const struct morsel_check *c, uint32_t offset, uint64_t count);
/* Whether `count` floats, or twice as many binary16, given as their bits, are finite; whether so many int32 are -128..127. */
int morsel_all_finite(const uint32_t *bits, uint32_t count);
int morsel_all_finite_halves(const uint32_t *bits, uint32_t count);
int morsel_all_small(const uint32_t *values, uint32_t count);
/* Weights as they are packed: [channels / 16][quads][16][4]. Of each `line` quads the last one ends in so many values of padding. */
struct morsel_packed {
    uint64_t channels, bytes; /* with all padding */
    uint64_t line;
    uint32_t padding; /* 0..3 */
};
/* Weights, constants by channel, and the range of results; what they state of the weights, where that is verified. */
enum morsel_error morsel_check_sums(const struct morsel_step_check *s, const struct morsel_blob_sums *p, const struct morsel_packed *w);
/* Whether the weights of all channel blocks have the sums, the padding and the proofs that `p` states. */
int morsel_verify_sums(const struct morsel_step_check *s, const struct morsel_blob_sums *p, const struct morsel_packed *w);
/* A range of results: integers within y's type where y is of bytes, ordered floats (no NaN) otherwise. */
int morsel_check_integers(const struct morsel_blob_tensor *y, int32_t low, int32_t high);
int morsel_check_range(const struct morsel_blob_tensor *y, int32_t low, int32_t high, float float_low, float float_high);

static inline int morsel_finite(float v) {
    return v - v == 0;
}

/* a * b, at most 2^31 - 1; otherwise 0, which no valid size is. Proven: tests/prove, product. */
static inline uint32_t morsel_product(uint32_t a, uint32_t b) {
    uint64_t p = (uint64_t)a * b;
    return p > MORSEL_SIZE_LIMIT ? 0 : (uint32_t)p;
}

/* a * b, at most UINT64_MAX, where it stays; without a division. Proven: tests/prove, times. */
static inline uint64_t morsel_times(uint64_t a, uint32_t b) {
    uint64_t low = (uint64_t)(uint32_t)a * b, high = (a >> 32) * b + (low >> 32); /* both factors below 2^32: no sum leaves 64 bits */
    return high >> 32 ? UINT64_MAX : high << 32 | (uint32_t)low;
}

static inline uint32_t morsel_product3(uint32_t a, uint32_t b, uint32_t c) {
    return morsel_product(morsel_product(a, b), c);
}

#endif
