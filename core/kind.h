/* SPDX-License-Identifier: MIT */
/*
 * One table of step kinds: what the checks, the session and the tools know of a kind. A new kind takes a number at the end of enum
 * morsel_step_kind, a record (core/format.h), a row of core/kinds.c and its line of kinds_all.c, and
 * the functions that the row names.
 */
#ifndef MORSEL_KIND_H
#define MORSEL_KIND_H

#include "format.h"
#include "morsel.h"

struct morsel_step_check;  /* check.h */
struct morsel_preparation; /* prepare.h */
struct morsel_call;        /* call.h */
union morsel_args;
struct morsel_held; /* stage.h */
struct morsel_kernels;

/* A step whose work is to be bounded; open has checked it. */
struct morsel_step_work {
    const struct morsel_blob_step *step;
    const struct morsel_blob_tensor *x, *y; /* its first input, its output */
    const void *parameters;
};

/* How rows of y are made of rows of the inputs. */
enum morsel_rows {
    MORSEL_ROWS_NONE,     /* not by rows */
    MORSEL_ROWS_WINDOW,   /* each of those under a window: the record begins with a struct morsel_blob_window */
    MORSEL_ROWS_NUMBERED, /* the same, and wants the number of its row in the whole picture: it cannot be in a group */
    MORSEL_ROWS_SAME      /* each of the same rows, element by element, where `period` says so */
};

struct morsel_kind {
    char name[20];
    uint8_t inputs;           /* 0: one or more */
    uint8_t x_types, y_types; /* sets of types: of all inputs, but for `numbers`, and of y */
    uint8_t same_type;        /* inputs and y have one type */
    uint8_t rows;             /* enum morsel_rows */
    uint8_t sums;             /* where a struct morsel_blob_sums stands in the record; 0: there is none */
    uint16_t record;          /* bytes of the parameters, and ... */
    uint16_t record_input;    /* ... for each input */
    uint8_t numbers;          /* whether its second input is floats of FACTORS, which makes nothing that is out of range */
    uint8_t optional;         /* so many inputs more, which may be absent */
    uint8_t by_line;          /* no element is read once the same of y is written: from version 2 on it may write over its input */
    /* Fills the slots of the kernels that its steps call: kernels/table.c. */
    void (*kernels)(struct morsel_kernels *table, uint32_t cpu);
    /* At most, beside reading inputs and writing y once. */
    uint64_t (*work)(const struct morsel_step_work *w);
    enum morsel_error (*check)(const struct morsel_step_check *s); /* the parameters; the number and the types of tensors are right */
    void (*prepare)(struct morsel_call *call, const struct morsel_preparation *w);
    /* Calls the kernel, for units begin .. end; with a window for n output rows from row y on, whose input rows are `rows`. */
    void (*run)(const struct morsel_call *call, const union morsel_args *args, uint32_t begin, uint32_t end);
    void (*run_rows)(const struct morsel_call *call, const union morsel_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n);
    /* With a window: runs all of it, in one task. */
    void (*run_pictures)(const struct morsel_call *call);
    /* ROWS_SAME: points the arguments at a row of so many elements. */
    void (*point)(union morsel_args *args, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements);
    /* ROWS_SAME: after how many elements the constants that go with input n repeat. 0: its elements do not lie in y's order. */
    uint32_t (*period)(const void *parameters, uint32_t n);
};

/*
 * By enum morsel_step_kind; NULL: open refuses such steps. The table of all is kinds_all.c. A program may have one of its own, of the kinds
 * that its networks need, as `morsel convert --c` writes it: then it is linked with what those name. There is room for kinds to come, so
 * that a newer library takes an older program's table.
 */
#define MORSEL_KINDS 32
extern const struct morsel_kind *const morsel_kinds[MORSEL_KINDS];

extern const struct morsel_kind morsel_kind_conv, morsel_kind_depthwise, morsel_kind_fc, morsel_kind_matmul, morsel_kind_float_matmul,
    morsel_kind_binary, morsel_kind_qadd, morsel_kind_unary, morsel_kind_lut, morsel_kind_average_pool, morsel_kind_max_pool,
    morsel_kind_mean, morsel_kind_softmax, morsel_kind_layer_norm, morsel_kind_resize, morsel_kind_concat, morsel_kind_gather,
    morsel_kind_float_conv, morsel_kind_range, morsel_kind_factors, morsel_kind_quantize, morsel_kind_dynamic_conv,
    morsel_kind_dynamic_depthwise, morsel_kind_dynamic_fc, morsel_kind_lookup, morsel_kind_cast, morsel_kind_grid_sample,
    morsel_kind_non_max_suppression, morsel_kind_view_matmul;

/* The best kernels for the features in `cpu` of all kinds in use. Returns those features that any kernel of this build asks for. */
uint32_t morsel_kinds_kernels(struct morsel_kernels *table, uint32_t cpu);

/* The kind whose record and layout of weights a dynamic kind has; others are their own. */
static inline uint32_t morsel_kind_base(uint32_t kind) {
    return kind == MORSEL_STEP_DYNAMIC_CONV        ? MORSEL_STEP_CONV
           : kind == MORSEL_STEP_DYNAMIC_DEPTHWISE ? MORSEL_STEP_DEPTHWISE
           : kind == MORSEL_STEP_DYNAMIC_FC        ? MORSEL_STEP_FC
                                                   : kind;
}

static inline int morsel_kind_windows(uint32_t kind) {
    return morsel_kinds[kind]->rows == MORSEL_ROWS_WINDOW || morsel_kinds[kind]->rows == MORSEL_ROWS_NUMBERED;
}

/* How the rows of a step lie over those of its inputs: row y reads `window` rows from y * stride - pad on. */
struct morsel_reach {
    uint32_t stride, pad, window;
};

static inline struct morsel_reach morsel_reach(uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t pad) {
    struct morsel_reach reach = {stride, pad, (kernel - 1) * dilation + 1};
    return reach;
}

/* Without a window a row reads the same row. */
struct morsel_reach morsel_kind_reach(uint32_t kind, const void *parameters);

/* Whether a step may stand in a group, as far as its kind and its constants say: rows of `row` elements. Operands of ROWS_SAME must besides
 * have y's shape, and not be constant. */
int morsel_kind_streams(uint32_t kind, const void *parameters, uint32_t inputs, uint32_t row);

#endif
