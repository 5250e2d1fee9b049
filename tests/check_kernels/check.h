/* SPDX-License-Identifier: MIT */
/*
 * check_kernels: every kernel that this CPU can run, those in plain C included, against kernels/reference/, byte for byte.
 *
 * A family makes the cases of one slot of struct tables from a seed: arguments, inputs and constants in guarded memory.
 * The runner calls the reference once over all units, then the kernel over them cut at random. It compares the outputs and what stands
 * around them.
 */
#ifndef MORSEL_CHECK_H
#define MORSEL_CHECK_H

#include <stdbool.h>

#include "core/call.h"
#include "kernels/pixels.h"

/* All kernels that a CPU can run: those of steps, and those of pictures. */
struct tables {
    struct morsel_kernels steps;
    struct morsel_pixel_kernels pixels;
};

/* ---- chance ---- */

struct chance {
    uint64_t state;
};

uint32_t chance_next(struct chance *c);
uint32_t chance_below(struct chance *c, uint32_t n);               /* 0 .. n - 1 */
int32_t chance_range(struct chance *c, int32_t low, int32_t high); /* both included */
bool chance_one_in(struct chance *c, uint32_t n);
uint32_t chance_size(struct chance *c, uint32_t most); /* 1 .. most, mostly small or near a multiple of 16 */
float chance_float(struct chance *c, float low, float high);
void chance_bytes(struct chance *c, uint8_t *to, size_t n);

/* ---- memory ---- */

#define MEMORY_SLOTS 14
#define MEMORY_MOST ((size_t)4 << 20)

/* Room in slot `slot`: either right behind a page that cannot be touched, or right before one, as far as `align` allows. What surrounds
 * it in its pages is filled with a pattern. */
void *memory_place(unsigned slot, size_t bytes, size_t align, bool high);
bool memory_intact(unsigned slot); /* nothing was written around it */
void memory_protect(unsigned slot, bool writable);

/* ---- a case ---- */

#define SLOT_EXPECTED 0u /* outputs of the reference */
#define SLOT_RESULT 1u
#define SLOT_ROWS 2u /* row addresses of spatial kernels */
#define SLOT_INPUTS 3u

struct trial {
    struct chance chance;
    union morsel_args args;
    struct morsel_copy_args copy;
    struct morsel_across_args across;
    struct morsel_blend_args blend;
    struct morsel_colors_args colors;
    struct morsel_color color;
    const int32_t *sums; /* of a blend, before it */
    uint32_t units;
    size_t y_bytes, y_align;
    void **y;               /* the pointer in args that says where results go */
    const void **alias;     /* the input that a step may write over, else NULL: y is then the same memory */
    const void *alias_from; /* its values */
    const void *expected;   /* what the reference gave */
    uint64_t fill;          /* what results hold before */
    uint64_t macs;
    char text[320];      /* the case in words */
    unsigned slots;      /* in use */
    bool bench;          /* of a fixed size, made to be timed */
    bool tame;           /* bytes and constants as inside a network, which the fastest ways ask for */
    uint32_t sign_flip;  /* of a fixed or tame case: the domain that tensors inside a network have */
    uint32_t number;     /* of the case: the first ones have fixed shapes */
    bool strided_pixels; /* the kernel takes strided pixels */
    uint32_t blocks;     /* channel blocks of a convolution in each call; 0: all */
    unsigned writable;   /* the slot of the kernel's room; 0: it has none */
    uint32_t turn;       /* spatial: rows of a picture lie as in a ring, its row y at (y + turn) % height */
};

typedef void any_fn(void);

struct family {
    const char *name;
    size_t slot;    /* offset in struct tables */
    uint32_t fixed; /* how many cases have fixed shapes */
    void (*make)(struct trial *t);
    void (*call)(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end);
};

extern const struct family family_conv, family_depthwise, family_fc, family_matmul, family_qadd, family_qmul, family_binary, family_unary,
    family_lut, family_mean, family_softmax, family_layer_norm, family_float_matmul, family_resize, family_copy, family_gather,
    family_lookup, family_cast, family_average_pool, family_max_pool, family_float_conv, family_range, family_factors, family_quantize,
    family_grid_sample, family_non_max_suppression, family_across, family_blend, family_colors;

/* An input's memory, `bytes` long, in the next slot. */
void *trial_room(struct trial *t, size_t bytes, size_t align);
/* A room for the kernel, of any size, or none at all; what a kernel may take on the bench. */
void trial_kernel_room(struct trial *t, struct morsel_room *room);
void trial_say(struct trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Where results go: y_bytes, and which pointer of the arguments. */
void trial_output(struct trial *t, void **y, size_t elements, const struct morsel_qparams *qparams);

/* ---- values ---- */

struct morsel_qparams make_qparams(struct chance *c);
struct morsel_qparams float_qparams(void);
void make_values(struct trial *t, uint8_t *to, size_t n, const struct morsel_qparams *qparams); /* bytes */
void make_floats(struct trial *t, float *to, size_t n);
/* Limits, zero point and type of an output; floats one time in `float_one_in`, 0: never. */
void make_output(struct trial *t, struct morsel_output *y, uint32_t float_one_in);

/* Weights in blocks [entries / 16][taps / 4][16][4] with the constants of their channels. */
struct weights {
    int8_t *data;
    uint32_t entries;           /* channels with their padding, a multiple of 16 */
    uint32_t per_group, padded; /* outputs of a convolution group, and rounded up to 16: entry e is padding where e % padded >= per_group */
    uint32_t taps;              /* stored weights of a channel, a multiple of 4 */
    uint32_t row, row_used;     /* of each `row` taps the first row_used have an input */
    uint32_t zeros;             /* bit b: weights of blocks b, b + 32 .. may have a zero point */
    uint32_t wild;              /* a bit a block: odd multipliers, sums at the ends of int32; many kernels leave such channels to plain C */
    uint32_t negative;          /* a bit a block: negative multipliers here and there */
    float far_most;             /* the largest multiplier of sums at the ends of int32 */
    uint32_t lone;              /* the lane of some blocks that alone leaves int32; 16: none does */
    uint32_t lones;             /* a bit a block: those */
};
/* Fills in `data` and makes the constants so that many sums land inside y's range, on its ties and at the edges of exactness. */
struct morsel_channels make_channels(struct trial *t, struct weights *w, const struct morsel_output *y);
#endif
