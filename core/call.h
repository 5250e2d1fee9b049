/* SPDX-License-Identifier: MIT */
/*
 * A prepared call: the kernel chosen for a step, its arguments, and how it runs. morsel_session_open() fills it once, morsel_run() only
 * reads it. Calls lie in the step slots at the front of the arena.
 *
 * The words of core/:
 *   unit    the least that a kernel computes: a row, 16 outputs of a product, an element (kernels/kernels.h says it for each)
 *   part    the least of a step that a task can have: a unit, a row of elements, or 16 channels with all their rows
 *   task    one of the calls that parallel_for makes at once
 *   share   the parts of a step that one task has
 *   entry   what is handed to the tasks at once: a step, several steps, a group or a chain
 *   group   steps that take turns of some rows, so that what lies between them never is whole (core/format.h)
 *   chain   steps that a task goes through without waiting for others; groups stand in it as a whole (core/plan_chain.c)
 *   stage   a step of a group or a chain, as one task goes through it
 *   band    the rows of the last stage that one task makes, and those of all stages that they need
 *   ring    memory of some rows of a tensor: row y lies at y % ring_rows
 *   trail   an output trails behind an input that it lies over: rows are written once those they lie over were read (core/check_group.c)
 *   moved   an output that lies in the spare memory, because tasks would write over what others still read
 */
#ifndef MORSEL_CALL_H
#define MORSEL_CALL_H

#include "../kernels/kernels.h"
#include "blob.h"
#include "kind.h"

/* Where the arena lies: in one block, or what is for fast memory in another one. */
struct morsel_blocks {
    uint8_t *arena;
    uint8_t *fast;   /* what begins at morsel_fast_from() */
    uint8_t *behind; /* what follows the planned arena: spare memory, then bands */
};

/* One piece of a concatenation is found at each run: a step may have more inputs than a slot has room for. */
struct morsel_concat {
    const struct morsel_model *model;
    const struct morsel_blob_step *step;
    struct morsel_blocks blocks;
    uint8_t *y;
    uint32_t y_stride;   /* bytes of a row of y */
    uint32_t size;       /* bytes of an element */
    uint32_t y_flip;     /* how y's bytes are stored ... */
    uint32_t store_flip; /* ... and those of a tensor inside the network */
};

/* What the arguments of every kernel with a window begin with. */
struct morsel_window_args {
    struct morsel_window window;
    struct morsel_input x;
    struct morsel_output y;
};

union morsel_args {
    struct morsel_window_args windowed;
    struct morsel_conv_args conv;
    struct morsel_float_conv_args float_conv;
    struct morsel_pool_args pool;
    struct morsel_fc_args fc;
    struct morsel_matmul_args matmul;
    struct morsel_float_matmul_args float_matmul;
    struct morsel_binary_args binary;
    struct morsel_unary_args unary;
    struct morsel_lut_args lut;
    struct morsel_mean_args mean;
    struct morsel_softmax_args softmax;
    struct morsel_layer_norm_args layer_norm;
    struct morsel_resize_args resize;
    struct morsel_gather_args gather;
    struct morsel_range_args range;
    struct morsel_factors_args factors;
    struct morsel_quantize_args quantize;
    struct morsel_lookup_args lookup;
    struct morsel_cast_args cast;
    struct morsel_grid_sample_args grid_sample;
    struct morsel_non_max_suppression_args non_max_suppression;
    struct morsel_concat concat;
};

union morsel_kernel {
    morsel_conv_fn *conv;
    morsel_float_conv_fn *float_conv;
    morsel_pool_fn *pool;
    morsel_fc_fn *fc;
    morsel_matmul_fn *matmul;
    morsel_float_matmul_fn *float_matmul;
    morsel_binary_fn *binary;
    morsel_unary_fn *unary;
    morsel_lut_fn *lut;
    morsel_mean_fn *mean;
    morsel_softmax_fn *softmax;
    morsel_layer_norm_fn *layer_norm;
    morsel_resize_fn *resize;
    morsel_gather_fn *gather;
    morsel_lookup_fn *lookup;
    morsel_cast_fn *cast;
    morsel_grid_sample_fn *grid_sample;
    morsel_non_max_suppression_fn *non_max_suppression;
    morsel_copy_fn *copy;
    morsel_range_fn *range;
    morsel_factors_fn *factors;
    morsel_quantize_fn *quantize;
};

/* What an entry is. */
enum morsel_mode {
    MORSEL_MODE_STEPS, /* one step; or several, where a task goes on from its share of one to that of the next without waiting */
    MORSEL_MODE_GROUP,
    MORSEL_MODE_CHAIN
};

/* What the parts of a step are, for steps of the first mode. */
enum morsel_split {
    MORSEL_SPLIT_UNITS,
    MORSEL_SPLIT_ROWS,   /* rows of an elementwise step */
    MORSEL_SPLIT_BLOCKS, /* 16 output channels of a convolution, with all rows of them */
    MORSEL_SPLIT_FETCH,  /* rows of a convolution, of whose prefetch each task does all, in step with its own rows */
    MORSEL_SPLIT_BORDER  /* rows of a depthwise convolution; those at the border to another share come last */
};

struct morsel_call {
    union morsel_kernel kernel;
    uint32_t kind : 8;            /* enum morsel_step_kind */
    uint32_t isa : 4;             /* of the kernel, for who watches: core/watch.c */
    uint32_t mode : 2;            /* enum morsel_mode of the entry that the step belongs to */
    uint32_t split : 3;           /* enum morsel_split */
    uint32_t moved : 1;           /* its output lies in the spare memory */
    uint32_t own_padding_row : 1; /* each task fills a padding row of its own */
    uint32_t fetch : 5;           /* 0, or tasks share the weights of the step so far behind: each fetches what will be its own */
    uint32_t count : 8;           /* how many steps the entry takes that begins here */
    uint8_t writer[2];            /* how far before it stands the stage that writes input n; 0: the input was there before */
    uint16_t tasks;               /* of the entry */
    uint32_t units;               /* what the kernel is called for: see its function type */
    uint32_t row_elements;        /* elementwise steps over N H W C: W * C */
    union morsel_args args;
};

_Static_assert(sizeof(union morsel_args) <= MORSEL_KERNEL_MAX_ARGS, "arguments fit a step slot");
_Static_assert(sizeof(struct morsel_call) <= MORSEL_FORMAT_STEP_SLOT, "a call fits a step slot");

#define MORSEL_MOST_TASKS UINT16_MAX
#define MORSEL_MOST_FETCH 31u  /* steps behind */
#define MORSEL_MOST_COUNT 255u /* steps of an entry */

/* Where share i of n begins, of shares that are equal but for one: 32-bit machines have no 64-bit division of their own. */
static inline uint32_t morsel_share_from(uint32_t all, uint32_t n, uint32_t i) {
    uint32_t longer = all % n;
    return all / n * i + (i < longer ? i : longer);
}

static inline uint32_t morsel_aligned(uint32_t bytes) {
    return (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

static inline struct morsel_call *morsel_call_at(const struct morsel_session *s, uint32_t index) {
    return (struct morsel_call *)(void *)((uint8_t *)s->steps + (size_t)index * MORSEL_FORMAT_STEP_SLOT);
}

static inline int morsel_call_is_conv(const struct morsel_call *call) {
    uint32_t kind = morsel_kind_base(call->kind);
    return kind == MORSEL_STEP_CONV || kind == MORSEL_STEP_DEPTHWISE;
}

/* Of a dynamic kind: what FACTORS found, in front of the multipliers that stand with it; NULL: it is of another kind. */
static inline const float *morsel_call_numbers(const struct morsel_call *call) {
    if (!morsel_kinds[call->kind]->numbers || !morsel_call_is_conv(call)) return NULL;
    return call->args.conv.channels.multiplier - MORSEL_NUMBERS;
}

/* NULL: the step has none. */
const struct morsel_window *morsel_call_window(const struct morsel_call *call);

/* Of how many parts shares of a step consist. */
uint32_t morsel_call_parts(const struct morsel_call *call);

/* Weights of a part: of 16 outputs. */
size_t morsel_call_part_bytes(const struct morsel_call *call);

/* The room in the arguments of a kernel; NULL: kernels of that kind have none. */
struct morsel_room *morsel_args_room(union morsel_args *args, uint32_t kind);

/* The padding row of a step; NULL: it needs none. Another one may take its place if it is as long and was filled. */
uint8_t *morsel_call_padding_row(const struct morsel_call *call);
void morsel_fill_padding_row(const struct morsel_call *call, uint8_t *padding_row);

/* How the bytes of a tensor are stored, as in struct morsel_qparams: constants, inputs and outputs of the network in their own type, those
 * inside it as the kernels want them. 0 for what is no byte. */
uint32_t morsel_stored_flip(const struct morsel_model *model, const struct morsel_blob_tensor *t, uint32_t store_flip);

/* Where the arena of a session lies; where so many bytes from its front on are. */
struct morsel_blocks morsel_session_blocks(const struct morsel_session *session);
uint8_t *morsel_arena_at(const struct morsel_model *model, const struct morsel_blocks *blocks, uint32_t offset);

/* Where a tensor lies: a ring's place is that of a run in one task. */
uint8_t *morsel_tensor_place(const struct morsel_model *model, const struct morsel_blocks *blocks, const struct morsel_blob_tensor *t);

/* A tensor in the arena, but for its name and what the ONNX graph states. */
void morsel_view_tensor(struct morsel_view *view, const struct morsel_session *session, const struct morsel_blob_tensor *t);

/* The memory of task `index` from 1 on, below session->bands: session->band_bytes of it, behind the planned arena and the spare memory. */
uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index);

#endif
