/* SPDX-License-Identifier: MIT */
/* The executor as its own files see it: one slot for each value, one step for each node that has something to do. */
#ifndef MORSEL_TOOLS_FLOAT_INTERNAL_H
#define MORSEL_TOOLS_FLOAT_INTERNAL_H

#include "tools/base/arena.h"
#include "tools/float/executor.h"
#include "tools/float/operator.h"

#define NO_SLOT SIZE_MAX

enum slot_kind {
    SLOT_UNSEEN, /* not computed yet */
    SLOT_KNOWN,  /* depends on constants alone */
    SLOT_INPUT,
    SLOT_WORK, /* in a run's workspace */
};

struct slot {
    const struct onnx_value *value;
    size_t count;
    enum slot_kind kind;
    const float *known; /* KNOWN, once somebody reads it as floats */
    size_t input;       /* INPUT: which */
    size_t root;        /* the slot whose memory it shares; itself where none */
    size_t last;        /* roots: the last step that reads it, or one that shares its memory */
    size_t offset;      /* roots of WORK, in floats */
    bool refused;       /* its node cannot run */
    bool has_memory;    /* roots of WORK: the plan was there */
};

struct executor {
    struct slot *slots; /* ordered by the address of their values */
    size_t slot_count;
    struct step *steps;
    size_t step_count;
    size_t *inputs, *outputs; /* slots */
    size_t input_count, output_count;
    size_t work, scratch; /* floats */
    int most_operands;    /* of a step: inputs and outputs */
    int64_t elements;     /* of all values so far */
    size_t taken, room;   /* bytes of packed weights and known values so far, and that they may have before a node */
    struct arena memory;
};

/* executor_open() with so much room, whatever the file holds. */
struct executor *executor_open_within(const struct onnx_graph *graph, size_t room, struct failure *failure);

/* Never NULL, and not to be run: nodes that cannot run are passed over, and what depends on constants alone is computed. */
struct executor *executor_open_known(const struct onnx_graph *graph);
/* NULL: it is not computed yet. */
const float *executor_known(const struct executor *executor, const struct onnx_value *value);

/* Gives every value of the steps its place in the workspace. False: there is no memory to plan in. */
void plan_memory(struct executor *executor);

/* The slot of a value; NO_SLOT: it has none. */
size_t executor_slot(const struct executor *executor, const struct onnx_value *value);

static inline size_t slot_root(const struct executor *executor, size_t i) {
    while (executor->slots[i].root != i) i = executor->slots[i].root;
    return i;
}

#endif
