/* SPDX-License-Identifier: MIT */
/* Fixing the inputs' dimensions: what the user gave first, then the batch. What is still free is an error that names it. */
#include "tools/onnx/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The names of the inputs' dimensions in order, and beside each its number, 0 for none so far. */
struct symbols {
    struct onnx_name *names;
    int64_t *numbers;
    size_t count;
};

struct binder {
    struct onnx_graph *graph;
    struct symbols symbols;
    struct onnx_report *report;
    struct failure *failure;
};

#define FAIL(b, ...) failure_set((b)->failure, STATUS_INPUT, __VA_ARGS__)
#define FAIL_CALL(b, ...) failure_set((b)->failure, STATUS_CALL, __VA_ARGS__) /* what was asked for is not of this graph */

/* Where the number of a name stands; NULL: no input has such a dimension. */
static int64_t *number_of(const struct symbols *symbols, const char *name) {
    const struct onnx_name *found = name ? onnx_find_name(symbols->names, symbols->count, name) : NULL;
    return found ? &symbols->numbers[found - symbols->names] : NULL;
}

static int64_t symbol_number(const struct symbols *symbols, const char *name) {
    const int64_t *number = number_of(symbols, name);
    return number && *number ? *number : -1;
}

/* The first counts. */
static void set_symbol(struct symbols *symbols, const char *name, int64_t number) {
    int64_t *to = number_of(symbols, name);
    if (to && !*to) *to = number;
}

/* "[batch,3,?,?]", for messages. */
static const char *input_text(const struct onnx_value *value, char *text, size_t size) {
    const struct onnx_declared *declared = (const struct onnx_declared *)value;
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < value->shape.rank && used < size; i++) {
        int n;
        if (value->shape.dims[i] >= 0) n = snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", value->shape.dims[i]);
        else n = snprintf(text + used, size - used, "%s%.32s", i ? "," : "", declared->symbols[i] ? declared->symbols[i] : "?");
        used += n > 0 ? (size_t)n : 0;
    }
    if (used < size) snprintf(text + used, size - used, "]");
    return text;
}

/* "'x' [n,3,32,32], 'y' [1]": for a message about a name that is none of them. */
static const char *list_inputs(const struct onnx_graph *graph, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < graph->input_count && used + 120 < size; i++) {
        char shape[100];
        int n = snprintf(text + used, size - used, "%s'%.60s' %s", i ? ", " : "", graph->inputs[i]->name,
                         input_text(graph->inputs[i], shape, sizeof shape));
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static bool bind_dim(struct binder *b, const struct onnx_binding *binding) {
    char inputs[600];
    if (binding->shape.rank != 1 || binding->shape.dims[0] < 1)
        return FAIL_CALL(b, "dimension '%s' needs one number, 1 or more", binding->name);
    if (number_of(&b->symbols, binding->name)) {
        set_symbol(&b->symbols, binding->name, binding->shape.dims[0]);
        return true;
    }
    return FAIL_CALL(b, "no input has a dimension named '%s'; the inputs are %s", binding->name,
                     list_inputs(b->graph, inputs, sizeof inputs));
}

static struct onnx_value *find_input(const struct onnx_graph *graph, const char *name) {
    struct onnx_value *value = onnx_find(graph, name);
    return value && value->is_input ? value : NULL;
}

static bool bind_shape(struct binder *b, const struct onnx_binding *binding) {
    char inputs[600];
    struct onnx_value *value = find_input(b->graph, binding->name);
    if (!value)
        return FAIL_CALL(b, "no input is named '%s'; the inputs are %s", binding->name, list_inputs(b->graph, inputs, sizeof inputs));
    if (onnx_elements(&binding->shape) < 1) return FAIL(b, "the shape given for input '%s' needs dimensions of 1 or more", value->name);
    if (value->shape.rank >= 0 && value->shape.rank != binding->shape.rank)
        return FAIL_CALL(b, "input '%s' has %d dimensions, the shape given for it %d", value->name, value->shape.rank, binding->shape.rank);
    const struct onnx_declared *declared = onnx_declared(value);
    for (int d = 0; d < value->shape.rank; d++) {
        if (value->shape.dims[d] >= 0 && value->shape.dims[d] != binding->shape.dims[d]) b->graph->memory->rebound = true;
        if (value->shape.dims[d] < 0 && declared->symbols[d]) set_symbol(&b->symbols, declared->symbols[d], binding->shape.dims[d]);
    }
    value->shape = binding->shape;
    return true;
}

/* Free first dimensions are the batch, unless the user said otherwise; the same name means the same number everywhere. */
static void bind_batch(struct binder *b, int64_t batch) {
    bool used = batch == 1;
    for (size_t i = 0; i < b->graph->input_count; i++) {
        struct onnx_value *value = b->graph->inputs[i];
        const char *symbol = onnx_declared(value)->symbols[0];
        if (value->shape.rank < 1 || value->shape.dims[0] >= 0 || symbol_number(&b->symbols, symbol) >= 0) continue;
        if (symbol) set_symbol(&b->symbols, symbol, batch);
        value->shape.dims[0] = batch;
        used = true;
        onnx_notice(b->report, "input '%s': its free first dimension%s%s%s is taken as the batch, %" PRId64 "%s%s", value->name,
                    symbol ? " '" : "", symbol ? symbol : "", symbol ? "'" : "", batch, symbol ? "; --dim and --shape say otherwise" : "",
                    symbol ? "" : "; --shape says otherwise");
    }
    if (!used)
        onnx_notice(b->report, "a batch of %" PRId64 " has no effect: no input has a free first dimension; --shape overrides a fixed one",
                    batch);
}

static void apply_symbols(const struct symbols *symbols, struct onnx_shape *shape, const char *const *names) {
    for (int d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0) shape->dims[d] = symbol_number(symbols, names[d]);
}

static bool check_input(struct binder *b, const struct onnx_value *value) {
    char shape[200];
    if (!onnx_type_bytes(value->type)) return FAIL(b, "input '%s' is not a tensor of numbers", value->name);
    if (value->shape.rank < 0)
        return FAIL(b, "input '%s' has no shape in the file; give one with --shape %s=...", value->name, value->name);
    const struct onnx_declared *declared = (const struct onnx_declared *)value;
    for (int d = 0; d < value->shape.rank; d++) {
        if (value->shape.dims[d] >= 0) continue;
        input_text(value, shape, sizeof shape);
        if (declared->symbols[d])
            return FAIL(b, "input '%s' %s: dimension '%s' is free; give it with --dim %s=NUMBER or --shape %s=...", value->name, shape,
                        declared->symbols[d], declared->symbols[d], value->name);
        return FAIL(b, "input '%s' %s: dimension %d is free; give it with --shape %s=...", value->name, shape, d, value->name);
    }
    if (onnx_elements(&value->shape) < 0) return FAIL(b, "input '%s' %s is too large", value->name, input_text(value, shape, sizeof shape));
    return true;
}

static void make_symbols(struct binder *b) {
    struct symbols *symbols = &b->symbols;
    size_t room = b->graph->input_count * ONNX_MAX_RANK;
    symbols->names = onnx_alloc(b->graph, room * sizeof *symbols->names);
    symbols->numbers = onnx_alloc(b->graph, room * sizeof *symbols->numbers);
    for (size_t i = 0; i < b->graph->input_count; i++)
        for (int d = 0; d < ONNX_MAX_RANK; d++) {
            const char *name = onnx_declared(b->graph->inputs[i])->symbols[d];
            if (name) symbols->names[symbols->count++] = (struct onnx_name){name, 0};
        }
    symbols->count = onnx_sort_names(symbols->names, symbols->count);
}

bool onnx_bind(struct onnx_graph *graph, const struct onnx_binding *bindings, size_t count, int64_t batch, struct onnx_report *report,
               struct failure *failure) {
    struct binder b = {graph, {0}, report, failure};
    make_symbols(&b);
    for (size_t i = 0; i < count; i++)
        if (!(bindings[i].is_dim ? bind_dim(&b, &bindings[i]) : bind_shape(&b, &bindings[i]))) return false;
    bind_batch(&b, batch > 0 ? batch : 1);
    for (size_t i = 0; i < graph->input_count; i++) {
        apply_symbols(&b.symbols, &graph->inputs[i]->shape, onnx_declared(graph->inputs[i])->symbols);
        if (!check_input(&b, graph->inputs[i])) return false;
    }
    for (size_t i = 0; i < graph->value_count; i++)
        if (!graph->values[i]->is_input)
            apply_symbols(&b.symbols, &onnx_declared(graph->values[i])->shape, onnx_declared(graph->values[i])->symbols);
    return true;
}
