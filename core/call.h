/* SPDX-License-Identifier: MIT */
/*
 * A prepared call: the kernel chosen for a step and its arguments, filled once by morsel_session_open(), read by morsel_run().
 * Calls lie in the step slots at the front of the arena.
 */
#ifndef MORSEL_CALL_H
#define MORSEL_CALL_H

#include "../kernels/kernels.h"
#include "blob.h"

/* One piece of a concatenation is found at each run: a step may have more inputs than a slot has room for. */
struct morsel_concat {
    const struct morsel_model *model;
    const struct morsel_blob_step *step;
    uint8_t *arena;
    uint8_t *y;
    uint32_t y_stride;   /* bytes of a row of y */
    uint32_t size;       /* bytes of an element */
    uint32_t y_flip;     /* how y's bytes are stored ... */
    uint32_t store_flip; /* ... and those of a tensor inside the network */
};

union morsel_args {
    struct morsel_conv_args conv;
    struct morsel_float_conv_args float_conv;
    struct morsel_pool_args pool;
    struct morsel_fc_args fc;
    struct morsel_matmul_args matmul;
    struct morsel_binary_args binary;
    struct morsel_unary_args unary;
    struct morsel_lut_args lut;
    struct morsel_mean_args mean;
    struct morsel_softmax_args softmax;
    struct morsel_gather_args gather;
    struct morsel_concat concat;
};

union morsel_kernel {
    morsel_conv_fn *conv;
    morsel_float_conv_fn *float_conv;
    morsel_pool_fn *pool;
    morsel_fc_fn *fc;
    morsel_matmul_fn *matmul;
    morsel_binary_fn *binary;
    morsel_unary_fn *unary;
    morsel_lut_fn *lut;
    morsel_mean_fn *mean;
    morsel_softmax_fn *softmax;
    morsel_gather_fn *gather;
    morsel_copy_fn *copy;
};

struct morsel_call {
    union morsel_kernel kernel;
    uint16_t kind;         /* enum morsel_step_kind */
    uint16_t isa;          /* of the kernel, for who watches: core/watch.c */
    uint32_t units;        /* what a run of the step is cut into: see the kernel's function type */
    uint32_t row_elements; /* elementwise steps over N H W C: W * C */
    uint32_t cut;          /* how tasks share it: MORSEL_CUT_ */
    union morsel_args args;
};

_Static_assert(sizeof(union morsel_args) <= MORSEL_KERNEL_MAX_ARGS, "arguments fit a step slot");
_Static_assert(sizeof(struct morsel_call) <= MORSEL_FORMAT_STEP_SLOT, "a call fits a step slot");

/* By units, unless .. */
#define MORSEL_CUT_ROWS 1u   /* .. by whole rows of an elementwise step */
#define MORSEL_CUT_BLOCKS 2u /* .. by 16 output channels of a convolution, all units of them */
#define MORSEL_CUT_ON 4u     /* besides: a task goes on from its share of the step before to the one of this, without waiting for others */
#define MORSEL_CUT_CHAIN 8u  /* besides: it goes on in a chain */
#define MORSEL_CUT_MOVED 16u /* its output lies in the spare memory */

/* Where share i of n begins, of shares that are equal but for one: 32-bit machines have no 64-bit division of their own. */
static inline uint32_t morsel_share_from(uint32_t all, uint32_t n, uint32_t i) {
    uint32_t longer = all % n;
    return all / n * i + (i < longer ? i : longer);
}

static inline struct morsel_call *morsel_call_at(const struct morsel_session *s, uint32_t index) {
    return (struct morsel_call *)(void *)((uint8_t *)s->steps + (size_t)index * MORSEL_FORMAT_STEP_SLOT);
}

/* How the bytes of a tensor are stored, as in struct morsel_qparams: constants, inputs and outputs of the network in their own type, those
 * inside it as the kernels want them. 0 for what is no byte. */
uint32_t morsel_stored_flip(const struct morsel_model *model, const struct morsel_blob_tensor *t, uint32_t store_flip);

/* Where a tensor lies: a ring's place is that of a run in one task. */
uint8_t *morsel_tensor_place(const struct morsel_model *model, uint8_t *arena, const struct morsel_blob_tensor *t);

/* Fills the call of step `index` from the blob, but for `cut`; the model is open and the arena large enough. */
void morsel_prepare(struct morsel_call *call, const struct morsel_session *session, const struct morsel_kernels *kernels, uint32_t index);

/* Gives each convolution the constants of later steps that it fetches; all calls are filled. */
void morsel_plan_prefetch(const struct morsel_session *session);

/* Has share `place` of convolution `index`, of `tasks` that fetch, fetch the share of the next step's weights that the same task will
 * have, if tasks share them. */
void morsel_fetch_share(const struct morsel_session *session, uint32_t index, struct morsel_conv_args *part, uint32_t tasks,
                        uint32_t place);

/* Decides how tasks share each step; all calls are filled, `strided_pixels` is that of the kernels. Returns whether tensors were moved:
 * then the calls have to be filled again. */
int morsel_plan_cuts(const struct morsel_session *session, uint32_t strided_pixels);

/* Weights of 16 output channels of a convolution in one group, or of a depthwise one. */
size_t morsel_block_bytes(const struct morsel_call *call);

/* Of how many parts shares of a step consist, and how many tasks share them. */
uint32_t morsel_call_parts(const struct morsel_call *call);
uint32_t morsel_call_tasks(const struct morsel_session *session, const struct morsel_call *call);

/* The row of a step that stands for all rows outside the picture; NULL: it needs none. Another one may take its place if it is as long
 * and was filled. */
uint8_t *morsel_call_padding_row(const struct morsel_call *call);
void morsel_fill_padding_row(const struct morsel_call *call, uint8_t *padding_row);

/* Units begin .. end of a call. */
void morsel_call_range(const struct morsel_call *call, const uint8_t *padding_row, uint32_t begin, uint32_t end);

/* Rows of one picture, all or some: row y lies at data + (y - first) % rows * its length. */
struct morsel_held {
    uint8_t *data;
    uint32_t rows, first;
};

/* Rows begin .. end of one picture, of a call whose step stands in a group. tests/a76 counts its calls. */
void morsel_call_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out,
                      const uint8_t *padding_row, uint32_t begin, uint32_t end);

/* How its rows lie over those of its inputs: row y reads `window` rows from y * stride - pad on. */
struct morsel_reach {
    uint32_t stride, pad, window;
};
struct morsel_reach morsel_call_reach(const struct morsel_call *call);

/* The first input row that row y reads. */
uint32_t morsel_call_first(const struct morsel_call *call, uint32_t y);
/* One behind the last that the rows before y read, of `height`. */
uint32_t morsel_call_end(const struct morsel_call *call, uint32_t y, uint32_t height);

#endif
