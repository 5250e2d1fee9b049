/* SPDX-License-Identifier: MIT */
/* Counts an ONNX file's operators, before and after the passes. */
#include "tools/verbs/host/inspect_onnx.h"
#include "tools/verbs/host/conversion.h"
#include "tools/base/message.h"
#include "tools/verbs/host/convert_report.h"
#include "tools/optimize/optimize.h"
#include "tools/net/nets.h"
#include "tools/onnx/internal.h"
#include "tools/onnx/write.h"
#include "tools/verbs/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OPERATORS = 200 }; /* those beyond are counted among the nodes alone */

struct counts {
    const char *name; /* of the operator, in the graph's memory */
    int before, after;
};

struct totals {
    int64_t nodes, parameters, macs;
};

struct overview {
    struct conversion conversion;
    struct onnx_graph *file; /* as it was read: nothing computed yet */
    struct counts operators[MOST_OPERATORS];
    int operator_count;
    struct totals before, after;
    struct graph_pass_done passes[GRAPH_PASSES];
};

bool inspect_onnx_wanted(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t length = strlen(argv[i]);
        if (!strcmp(argv[i], "--optimized") || (length > 5 && *argv[i] != '-' && !strcmp(argv[i] + length - 5, ".onnx"))) return true;
    }
    return false;
}

static void count_operators(struct overview *o, const struct onnx_graph *g, bool after) {
    for (size_t i = 0; i < g->node_count; i++) {
        int at = 0;
        while (at < o->operator_count && strcmp(o->operators[at].name, g->nodes[i]->op)) at++;
        if (at == MOST_OPERATORS) continue;
        if (at == o->operator_count) o->operators[o->operator_count++] = (struct counts){.name = g->nodes[i]->op};
        ++*(after ? &o->operators[at].after : &o->operators[at].before);
    }
}

/* Most before, then most after, then by name. */
static int by_count(const void *a, const void *b) {
    const struct counts *x = a, *y = b;
    if (x->before != y->before) return y->before - x->before;
    return x->after != y->after ? y->after - x->after : strcmp(x->name, y->name);
}

/* What a value's numbers are multiplied with, for operators that have weights at this input: every element out, or every element in. */
static int64_t node_macs(const struct onnx_node *node) {
    static const struct {
        const char *op;
        int weights;
        bool matrix;
    } known[] = {{"Conv", 1, false},          {"FusedConv", 1, false}, {"ConvInteger", 1, false},  {"QLinearConv", 3, false},
                 {"ConvTranspose", 1, false}, {"MatMul", 1, true},     {"MatMulInteger", 1, true}, {"QLinearMatMul", 3, true},
                 {"Gemm", 1, true},           {"QGemm", 3, true}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct onnx_value *x = onnx_input(node, 0), *w = onnx_input(node, known[i].weights);
        if (strcmp(node->op, known[i].op) || !x || !w || !node->output_count || !node->outputs[0]) continue;
        bool pulls_apart = !strcmp(node->op, "ConvTranspose"), turned = onnx_attribute_int(node, "transA", 0) && x->shape.rank > 1;
        int64_t times = onnx_elements(pulls_apart ? &x->shape : &node->outputs[0]->shape), all = onnx_elements(&w->shape);
        if (times < 0 || all < 0 || x->shape.rank < 1 || w->shape.rank < 1 || w->shape.dims[0] < 1) return 0;
        int64_t each = known[i].matrix ? x->shape.dims[x->shape.rank - (turned ? 2 : 1)] : all / w->shape.dims[0];
        return each > 0 && times > INT64_MAX / each ? 0 : times * each;
    }
    return 0;
}

/* Lists of dimensions and axes are no parameters. */
static struct totals total(const struct onnx_graph *g) {
    struct totals t = {0, 0, 0};
    for (size_t i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->folded) {
            t.nodes++;
            t.macs += node_macs(g->nodes[i]);
        }
    for (size_t i = 0; i < g->value_count; i++) {
        const struct onnx_tensor *constant = g->values[i]->uses ? g->values[i]->constant : NULL;
        if (constant && constant->type != ONNX_INT64 && constant->type != ONNX_BOOL) t.parameters += (int64_t)constant->count;
    }
    return t;
}

static bool gather(const struct conversion_call *call, bool optimized, struct overview *o, struct failure *failure) {
    o->file = conversion_open(call, NULL, failure);
    if (!o->file || !conversion_read(call, &o->conversion, failure)) return false;
    count_operators(o, o->file, false);
    o->before = total(o->conversion.graph);
    o->before.nodes = (int64_t)o->file->node_count;
    if (optimized && !o->conversion.report.refusal_count) {
        graph_optimize_counted(o->conversion.graph, o->passes);
        count_operators(o, o->conversion.graph, true);
        o->after = total(o->conversion.graph);
    }
    qsort(o->operators, (size_t)o->operator_count, sizeof *o->operators, by_count);
    return true;
}

static bool write_onnx(const char *path, const struct onnx_graph *g, struct failure *failure) {
    size_t bytes;
    uint8_t *data = onnx_write(g, &bytes, failure);
    bool good = data ? file_write(path, data, bytes, failure) : failure_prefix(failure, path);
    free(data);
    return good;
}

static void print_value(const char *kind, const struct onnx_value *value) {
    char shape[200];
    message_print("%s %s: %s %s\n", kind, value->name, onnx_type_name((int)value->type),
                  onnx_shape_text(&value->shape, shape, sizeof shape));
}

static void print_row(const char *name, int64_t before, int64_t after, bool optimized) {
    message_print("  %-26s %14" PRId64, name, before);
    if (optimized) message_print(" %14" PRId64, after);
    message_print("\n");
}

static void print_text(const char *path, const struct overview *o, bool optimized) {
    const struct onnx_graph *g = o->conversion.graph;
    message_print("%s: opset %d%s%s\n", path, o->file->opset, *g->producer ? ", made by " : "", g->producer);
    for (size_t i = 0; i < g->input_count; i++) print_value("input", g->inputs[i]);
    for (size_t i = 0; i < g->output_count; i++) print_value("output", g->outputs[i]);
    if (optimized) message_print("  %-26s %14s %14s\n", "", "as it is", "optimized");
    print_row("nodes", o->before.nodes, o->after.nodes, optimized);
    print_row("parameters", o->before.parameters, o->after.parameters, optimized);
    print_row("MACs", o->before.macs, o->after.macs, optimized);
    message_print("operators\n");
    for (int i = 0; i < o->operator_count; i++) print_row(o->operators[i].name, o->operators[i].before, o->operators[i].after, optimized);
    bool any = false;
    for (int i = 0; optimized && i < GRAPH_PASSES; i++) {
        if (!o->passes[i].changes) continue;
        message_print("%s  %-14s %6d  %s\n", any ? "" : "passes\n", o->passes[i].name, o->passes[i].changes, o->passes[i].what);
        any = true;
    }
}

static void json_values(struct json *json, const char *key, struct onnx_value *const *values, size_t count) {
    json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        uint32_t dims[ONNX_MAX_RANK];
        int rank = values[i]->shape.rank < 0 ? 0 : values[i]->shape.rank;
        for (int d = 0; d < rank; d++) dims[d] = (uint32_t)values[i]->shape.dims[d];
        json_open_flat(json, NULL);
        json_text(json, "name", values[i]->name);
        json_text(json, "type", onnx_type_name((int)values[i]->type));
        json_dims(json, "shape", dims, (uint32_t)rank);
        json_close(json);
    }
    json_close_array(json);
}

static void json_totals(struct json *json, const struct overview *o, const struct totals *t, bool after) {
    json_integer(json, "nodes", t->nodes);
    json_integer(json, "params", t->parameters);
    json_integer(json, "macs", t->macs);
    json_open(json, "operators");
    for (int i = 0; i < o->operator_count; i++) {
        int count = after ? o->operators[i].after : o->operators[i].before;
        if (count) json_integer(json, o->operators[i].name, count);
    }
    json_close(json);
}

static void print_json(const struct overview *o, bool optimized) {
    const struct onnx_graph *g = o->conversion.graph;
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    json_text(&json, "name", g->name);
    json_integer(&json, "opset", o->file->opset);
    json_integer(&json, "ir_version", o->file->ir_version);
    json_text(&json, "producer", g->producer);
    json_values(&json, "inputs", g->inputs, g->input_count);
    json_values(&json, "outputs", g->outputs, g->output_count);
    json_totals(&json, o, &o->before, false);
    if (optimized) {
        json_open(&json, "optimized");
        json_integer(&json, "opset", g->opset);
        json_totals(&json, o, &o->after, true);
        json_open_array(&json, "passes");
        for (int i = 0; i < GRAPH_PASSES; i++) {
            json_open_flat(&json, NULL);
            json_text(&json, "name", o->passes[i].name);
            json_integer(&json, "changes", o->passes[i].changes);
            json_text(&json, "what", o->passes[i].what);
            json_close(&json);
        }
        json_close_array(&json);
        json_close(&json);
    }
    json_close(&json);
}

/* One call is all that a process gets. */
static struct conversion_call call = {.batch = 1, .one_size = true};
static bool optimized;
static const char *onnx;

static const struct option list[] = {
    {"--optimized", NULL, OPTION_FLAG, &optimized, 0, 0, "also what the passes before quantization leave of it, and what each did"},
    {"--onnx", "OUT.onnx", OPTION_TEXT, &onnx, 0, 0, "write it as ONNX: shapes are numbers, constants computed; optimized if so asked"},
    {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &call.shapes, 0, 0, "the shape of an input, whatever the file says"},
    {"--dim", "NAME=N", OPTION_TEXTS, &call.dims, 0, 0, "a number for a free dimension"},
    {"--output-node", "NAME", OPTION_TEXTS, &call.output_nodes, 0, 0, "end the network at this value or node; several: several outputs"},
    {"--input-node", "NAME", OPTION_TEXTS, &call.input_nodes, 0, 0, "begin it at what this value or node gives, which becomes an input"},
    {"--json", NULL, OPTION_FLAG, &call.json, 0, 0, "one JSON object on stdout"},
};

static const char *const of_blobs[] = {"--plan", "--cpu", "--variant", "--arena", "--arena-fast", "--no-streaming", NULL};

const struct options inspect_onnx_options = {
    .usage = "MODEL.onnx [options]",
    .summary = "of an ONNX file",
    .about = "Shows what an ONNX file holds: inputs, outputs, operators, parameters, MACs.",
    .list = list,
    .count = sizeof list / sizeof *list,
    .elsewhere = of_blobs,
    .elsewhere_for = "blobs and networks that are built in, not for an ONNX file",
    .examples = {{"morsel inspect food_float.onnx --optimized", "what an ONNX file is made of, and what is left of it"}},
};

static int show(struct overview *o) {
    struct failure failure = {0};
    if (!gather(&call, optimized, o, &failure)) return message_failure(&failure);
    if (conversion_reads(&o->conversion, onnx)) {
        message_error("inspect: --onnx %s would be written over: it holds weights of %s; name another file", onnx, call.input);
        return STATUS_CALL;
    }
    report_notices(&o->conversion.report);
    if (o->conversion.report.refusal_count) {
        report_refusals(call.input, NULL, &o->conversion.report);
        return STATUS_INPUT;
    }
    if (onnx && !write_onnx(onnx, o->conversion.graph, &failure)) return message_failure(&failure);
    if (call.json) print_json(o, optimized);
    else print_text(call.input, o, optimized);
    return message_flush();
}

int inspect_onnx(int argc, char **argv) {
    int count = options_parse(&inspect_onnx_options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("inspect: one ONNX file is wanted, %d given: morsel inspect MODEL.onnx", count);
        return STATUS_CALL;
    }
    if (nets_has(argv[0]) && access(argv[0], F_OK)) {
        message_error("inspect: %s is built in, and no ONNX file: --optimized is for ONNX files", argv[0]);
        return STATUS_CALL;
    }
    if (file_same(argv[0], onnx)) {
        message_error("inspect: --onnx %s would be written over: it is the model; name another file", onnx);
        return STATUS_CALL;
    }
    call.input = argv[0];
    static struct overview overview;
    int status = show(&overview);
    onnx_free(overview.file);
    conversion_free(&overview.conversion);
    return status;
}
