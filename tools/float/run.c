/* SPDX-License-Identifier: MIT */
/* One thread's memory for an executor, and the loop over its steps. */
#include "tools/float/internal.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, MARGIN = 16 /* floats behind the values: vectors may be loaded past an end */ };

struct executor_run {
    const struct executor *executor;
    float *work, *scratch;
    const float **values; /* by slot */
    const float **in;     /* operands of one step */
    float **out;
    float *other;        /* another workspace, for what executor_run_with() computes anew; NULL: nothing was */
    const float **given; /* `values` as they were before it */
    bool *changed;       /* slots that are roots */
};

static float *aligned_floats(size_t count) {
    size_t bytes = (count + MARGIN) * sizeof(float);
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

size_t executor_run_bytes(const struct executor *executor) {
    return (executor->work + executor->scratch) * sizeof(float);
}

static void place_values(struct executor_run *run) {
    const struct executor *e = run->executor;
    for (size_t i = 0; i < e->slot_count; i++) {
        const struct slot *root = &e->slots[slot_root(e, i)];
        run->values[i] = root->kind == SLOT_KNOWN ? root->known : root->kind == SLOT_WORK ? run->work + root->offset : NULL;
    }
}

struct executor_run *executor_run_open(const struct executor *executor, struct failure *failure) {
    struct executor_run *run = must_calloc(1, sizeof *run);
    run->executor = executor;
    run->work = aligned_floats(executor->work);
    run->scratch = aligned_floats(executor->scratch);
    run->values = must_calloc(executor->slot_count, sizeof *run->values);
    run->in = must_calloc((size_t)executor->most_operands, sizeof *run->in);
    run->out = must_calloc((size_t)executor->most_operands, sizeof *run->out);
    if (!run->work || !run->scratch) {
        failure_memory(failure, executor_run_bytes(executor));
        executor_run_close(run);
        return NULL;
    }
    place_values(run);
    return run;
}

void executor_run_close(struct executor_run *run) {
    if (!run) return;
    free(run->work);
    free(run->other);
    free(run->given);
    free(run->changed);
    free(run->scratch);
    free(run->values);
    free(run->in);
    free(run->out);
    free(run);
}

static void take_inputs(struct executor_run *run, const float *const *inputs, executor_watch *watch, void *context) {
    const struct executor *e = run->executor;
    for (size_t i = 0; i < e->slot_count; i++) {
        const struct slot *root = &e->slots[slot_root(e, i)];
        if (root->kind == SLOT_INPUT) run->values[i] = inputs[root->input];
    }
    for (size_t i = 0; i < e->input_count && watch; i++) {
        const struct slot *slot = &e->slots[e->inputs[i]];
        if (slot->kind == SLOT_INPUT && slot->input == i) watch(context, slot->value, inputs[i], slot->count);
    }
}

/* NULL, or why the data cannot be computed with. */
static const char *run_step(struct executor_run *run, const struct step *step) {
    const char *why = NULL;
    for (int k = 0; k < step->input_count; k++) run->in[k] = step->inputs[k] == NO_SLOT ? NULL : run->values[step->inputs[k]];
    for (int k = 0; k < step->output_count; k++) run->out[k] = step->outputs[k] == NO_SLOT ? NULL : (float *)run->values[step->outputs[k]];
    if (step->run) step->run(step->plan, &(struct call){run->in, run->out, run->scratch, &why});
    return why;
}

bool executor_run(struct executor_run *run, const float *const *inputs, executor_watch *watch, void *context, struct failure *failure) {
    const struct executor *e = run->executor;
    take_inputs(run, inputs, watch, context);
    for (size_t i = 0; i < e->step_count; i++) {
        const struct step *step = &e->steps[i];
        const char *why = run_step(run, step);
        if (why) return failure_set(failure, STATUS_INPUT, "node '%.200s' (%.60s): %s", step->node->name, step->node->op, why);
        for (int k = 0; k < step->output_count && watch; k++)
            if (step->outputs[k] != NO_SLOT)
                watch(context, e->slots[step->outputs[k]].value, run->out[k], e->slots[step->outputs[k]].count);
    }
    return true;
}

const float *executor_output(const struct executor_run *run, size_t i, size_t *count) {
    size_t slot = run->executor->outputs[i];
    *count = run->executor->slots[slot].count;
    return run->values[slot];
}

/* --- With other numbers --- */

static bool open_other(struct executor_run *run, struct failure *failure) {
    const size_t slots = run->executor->slot_count;
    if (run->other) return true;
    run->given = must_calloc(slots, sizeof *run->given);
    run->changed = must_calloc(slots, sizeof *run->changed);
    run->other = aligned_floats(run->executor->work);
    return run->other || failure_memory(failure, run->executor->work * sizeof(float));
}

/* All that share the memory of a slot are there from now on. */
static void redirect(struct executor_run *run, size_t root, const float *to) {
    const struct executor *e = run->executor;
    run->changed[root] = true;
    for (size_t i = 0; i < e->slot_count; i++)
        if (slot_root(e, i) == root) run->values[i] = to;
}

static bool reads_changed(const struct executor_run *run, const struct step *step) {
    for (int k = 0; k < step->input_count; k++)
        if (step->inputs[k] != NO_SLOT && run->changed[slot_root(run->executor, step->inputs[k])]) return true;
    return false;
}

bool executor_run_with(struct executor_run *run, const struct onnx_value *value, const float *numbers, struct failure *failure) {
    const struct executor *e = run->executor;
    const size_t at = executor_slot(e, value);
    if (!open_other(run, failure)) return false;
    memcpy(run->given, run->values, e->slot_count * sizeof *run->given);
    memset(run->changed, 0, e->slot_count * sizeof *run->changed);
    if (at != NO_SLOT) redirect(run, slot_root(e, at), numbers);
    for (size_t i = 0; i < e->step_count; i++) {
        const struct step *step = &e->steps[i];
        if (!step->run || !reads_changed(run, step)) continue;
        for (int k = 0; k < step->output_count; k++) {
            const size_t root = step->outputs[k] == NO_SLOT ? NO_SLOT : slot_root(e, step->outputs[k]);
            if (root != NO_SLOT && e->slots[root].kind == SLOT_WORK) redirect(run, root, run->other + e->slots[root].offset);
        }
        const char *why = run_step(run, step);
        if (why) return failure_set(failure, STATUS_INPUT, "node '%.200s' (%.60s): %s", step->node->name, step->node->op, why);
    }
    return true;
}

void executor_run_back(struct executor_run *run) {
    memcpy(run->values, run->given, run->executor->slot_count * sizeof *run->values);
}

const float *executor_value(const struct executor_run *run, const struct onnx_value *value, size_t *count) {
    const size_t slot = executor_slot(run->executor, value);
    if (slot == NO_SLOT) return NULL;
    *count = run->executor->slots[slot].count;
    return run->values[slot];
}
