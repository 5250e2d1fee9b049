/* SPDX-License-Identifier: MIT */
/* morsel convert: an ONNX file to a blob, whole or not at all. */
#include "tools/blob/blob.h"
#include "tools/convert_extras.h"
#include "tools/convert_report.h"
#include "tools/file.h"
#include "tools/json.h"
#include "tools/lower/lower.h"
#include "tools/message.h"
#include "tools/onnx/graph.h"
#include "tools/options.h"
#include "tools/picture_rule.h"
#include "tools/plan/plan.h"
#include "tools/verbs.h"

#include "core/morsel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct call {
    const char *input, *output, *c_source, *picture, *labels;
    struct option_texts shapes, dims;
    long batch, arena;
    bool strip, no_streaming, json;
};

/* What a conversion holds, so that one function can let go of it. */
struct work {
    struct onnx_graph *graph;
    struct onnx_report report;
    struct net *net;
    struct morsel_blob_picture rule;
    struct blob_extras extras;
    char **labels;
    size_t label_count;
    uint8_t *blob;
    size_t blob_bytes;
    char *c_source, *c_header, *c_header_path; /* the header: NULL where the source goes to a device */
    size_t c_length, c_header_length;
};

static void work_free(struct work *w) {
    onnx_free(w->graph);
    onnx_report_free(&w->report);
    net_free(w->net);
    labels_free(w->labels, w->label_count);
    free(w->blob);
    free(w->c_source);
    free(w->c_header);
    free(w->c_header_path);
}

/* "name=1,3,32,32" or "name=4" */
static bool read_binding(const char *text, bool is_dim, char *name, size_t room, struct onnx_binding *out, struct failure *failure) {
    const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : NULL;
    const char *form = is_dim ? "--dim NAME=N" : "--shape NAME=1,3,224,224";
    if (!equals || equals == text || (size_t)(equals - text) >= room)
        return failure_set(failure, STATUS_CALL, "'%s' is not of the form %s", text, form);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    *out = (struct onnx_binding){.name = name, .is_dim = is_dim};
    for (;; at++) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || errno || n < 1 || n > INT32_MAX || out->shape.rank >= ONNX_MAX_RANK || (*end && *end != ','))
            return failure_set(failure, STATUS_CALL, "'%s' is not of the form %s, with whole numbers from 1 on", text, form);
        out->shape.dims[out->shape.rank++] = n;
        at = end;
        if (!*end)
            break;
    }
    if (is_dim && out->shape.rank != 1)
        return failure_set(failure, STATUS_CALL, "'%s' gives a dimension more than one number", text);
    return true;
}

static bool bind(const struct call *call, struct work *w, struct failure *failure) {
    struct onnx_binding bindings[128];
    static char names[128][256];
    char error[512];
    size_t n = 0;
    for (int i = 0; i < call->shapes.count; i++, n++)
        if (!read_binding(call->shapes.values[i], false, names[n], sizeof names[n], &bindings[n], failure))
            return false;
    for (int i = 0; i < call->dims.count; i++, n++)
        if (!read_binding(call->dims.values[i], true, names[n], sizeof names[n], &bindings[n], failure))
            return false;
    if (!onnx_bind(w->graph, bindings, n, call->batch, &w->report, error, sizeof error) ||
        !onnx_infer(w->graph, &w->report, error, sizeof error))
        return failure_set(failure, STATUS_INPUT, "%s: %s", call->input, error);
    if (call->batch == 1 && !n)
        extras_check_batch(w->graph, &w->report);
    return true;
}

static bool read_extras(const struct call *call, struct work *w, struct failure *failure) {
    char error[512];
    w->extras.strip = call->strip;
    if (call->picture && !picture_rule_read(call->picture, &w->rule, error, sizeof error))
        return failure_set(failure, STATUS_INPUT, "%s", error);
    w->extras.picture = call->picture ? &w->rule : NULL;
    if (call->labels && !labels_read(call->labels, &w->labels, &w->label_count, error, sizeof error))
        return failure_set(failure, STATUS_INPUT, "%s", error);
    w->extras.labels = w->labels;
    w->extras.label_count = (uint32_t)w->label_count;
    return true;
}

/* A header that stands there already is written over only where it was made by --c. */
static bool header_is_ours(const char *path, struct failure *failure) {
    char start[sizeof BLOB_C_MARK] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return true;
    size_t got = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    return !got || !strcmp(start, BLOB_C_MARK) ||
           failure_set(failure, STATUS_CALL, "%s stands beside the file of --c and was not written by it; name another FILE.c", path);
}

/* The header goes beside the source, unless that is a device. */
static bool name_header(const struct call *call, struct work *w, struct failure *failure) {
    struct stat status;
    if (!call->c_source || (!stat(call->c_source, &status) && !S_ISREG(status.st_mode)))
        return true;
    w->c_header_path = blob_c_header_path(call->c_source);
    return w->c_header_path ? header_is_ours(w->c_header_path, failure) : failure_memory(failure, strlen(call->c_source));
}

/* What is written is none of what is read, and each is a file of its own. */
static bool files_differ(const struct call *call, const struct work *w, struct failure *failure) {
    const char *read[] = {call->input, call->picture, call->labels}, *written[] = {call->output, call->c_source, w->c_header_path};
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++)
            if (file_same(written[i], read[r]))
                return failure_set(failure, STATUS_CALL, "%s would be written over: it is read as well; name another output", read[r]);
    for (int i = 1; i < 3; i++)
        if (file_same(call->output, written[i]))
            return failure_set(failure, STATUS_CALL, "-o and --c name the same file: %s", call->output);
    return true;
}

/* The library itself has the last word on what was written. */
static bool check_blob(const struct work *w, struct failure *failure) {
    struct morsel_model model;
    enum morsel_error error = morsel_open(&model, w->blob, w->blob_bytes, 0);
    if (error == MORSEL_ERR_PICTURE)
        return extras_rule_misfits(&w->rule, w->graph, failure);
    if (error)
        return failure_set(failure, STATUS_SYSTEM, "the blob that was made does not open (%s): this is a fault of morsel, please report it",
                           morsel_error_text(error));
    return true;
}

/* Everything in memory; false with refusals in the report (and no failure), or with a failure. */
static bool convert(const struct call *call, struct work *w, struct failure *failure) {
    char error[512];
    w->graph = onnx_load(call->input, error, sizeof error);
    if (!w->graph)
        return failure_set(failure, STATUS_INPUT, "%s: %s", call->input, error);
    if (!read_extras(call, w, failure) || !bind(call, w, failure))
        return false;
    w->net = lower(w->graph, &w->report);
    if (!w->net || w->report.refusal_count)
        return false;
    w->net->no_streaming = call->no_streaming;
    w->net->arena_room = (uint32_t)call->arena;
    if (!plan_arena(w->net))
        return failure_set(failure, STATUS_INPUT, "%s: its arena would take more than 2^31 bytes", call->input);
    w->blob = blob_write(w->net, &w->extras, &w->blob_bytes);
    if (!w->blob)
        return failure_set(failure, STATUS_SYSTEM, "no memory for the blob, or it would take more than 2^31 bytes");
    if (!check_blob(w, failure))
        return false;
    if (call->labels)
        extras_check_labels(call->labels, w->labels, w->label_count, w->graph, &w->report);
    if (call->c_source && !(w->c_source = blob_c_source(w->blob, w->blob_bytes, call->c_source, &w->c_length)))
        return failure_memory(failure, w->blob_bytes * 5);
    if (w->c_header_path && !(w->c_header = blob_c_header(w->blob, w->blob_bytes, call->c_source, &w->c_header_length)))
        return failure_memory(failure, 1024);
    return true;
}

static bool write_files(const struct call *call, const struct work *w, struct failure *failure) {
    struct file_new files[3] = {{call->output, w->blob, w->blob_bytes}};
    size_t count = 1;
    if (w->c_source)
        files[count++] = (struct file_new){call->c_source, w->c_source, w->c_length};
    if (w->c_header)
        files[count++] = (struct file_new){w->c_header_path, w->c_header, w->c_header_length};
    return file_write_all(files, count, failure);
}

static void print_json(const struct work *w) {
    struct json json = {.file = stdout};
    bool done = w->net && !w->report.refusal_count;
    json_open(&json, NULL);
    if (done) {
        json_integer(&json, "layers", w->net->step_count);
        json_integer(&json, "macs", (int64_t)net_macs(w->net));
        json_integer(&json, "params", (int64_t)w->net->parameter_count);
        json_integer(&json, "blob_bytes", (int64_t)w->blob_bytes);
        json_integer(&json, "arena_bytes", w->net->arena_bytes);
    }
    json_open_array(&json, "notices");
    for (size_t i = 0; i < w->report.notice_count; i++)
        json_text(&json, NULL, w->report.notices[i]);
    json_close_array(&json);
    json_open_array(&json, "refused");
    for (size_t i = 0; i < w->report.refusal_count; i++) {
        const struct onnx_refusal *r = &w->report.refusals[i];
        json_open(&json, NULL);
        json_text(&json, "node", r->node);
        json_text(&json, "op", r->op);
        json_integer(&json, "opset", r->opset);
        json_text(&json, "shape", r->shapes);
        json_text(&json, "why", r->why);
        json_close(&json);
    }
    json_close_array(&json);
    json_close(&json);
}

static void print_summary(const struct call *call, const struct work *w) {
    uint32_t live, peak = plan_peak(w->net, &live);
    printf("%s\n", call->output);
    printf("  layers       %u\n", w->net->step_count);
    printf("  MACs         %.2f M\n", (double)net_macs(w->net) / 1e6);
    printf("  parameters   %.3f M\n", (double)w->net->parameter_count / 1e6);
    printf("  blob bytes   %zu\n", w->blob_bytes);
    printf("  arena bytes  %u", w->net->arena_bytes);
    if (w->net->step_count)
        printf("  (%u live at step %u, %s)", live, peak, w->net->steps[peak]->name);
    printf("\n");
}

static int run(const struct call *call, struct work *w) {
    struct failure failure = {0};
    bool done = name_header(call, w, &failure) && files_differ(call, w, &failure) && convert(call, w, &failure);
    if (done)
        done = write_files(call, w, &failure);
    if (!done && failure.status) {
        if (w->report.refusal_count)
            report_refusals(call->input, w->graph, &w->report);
        return message_failure(&failure);
    }
    if (call->json)
        print_json(w);
    if (!done) {
        report_refusals(call->input, w->graph, &w->report);
        return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
    }
    report_notices(&w->report);
    if (!call->json)
        print_summary(call, w);
    return message_flush();
}

int verb_convert(int argc, char **argv) {
    struct call call = {.batch = 1};
    const struct option list[] = {
        {"-o", "MODEL.morsel", OPTION_TEXT, &call.output, 0, 0, "where the blob goes (required)"},
        {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &call.shapes, 0, 0, "the shape of an input, whatever the file says"},
        {"--dim", "NAME=N", OPTION_TEXTS, &call.dims, 0, 0, "a number for a free dimension"},
        {"--batch", "N", OPTION_NUMBER, &call.batch, 1, 65536, "for a free first dimension"},
        {"--c", "FILE.c", OPTION_TEXT, &call.c_source, 0, 0, "also write the blob as a C array, and FILE.h that declares it and its arena"},
        {"--strip", NULL, OPTION_FLAG, &call.strip, 0, 0, "leave names out of the blob"},
        {"--arena", "BYTES", OPTION_NUMBER, &call.arena, 0, INT32_MAX, "what the arena may take; 0: as little as costs hardly any time"},
        {"--no-streaming", NULL, OPTION_FLAG, &call.no_streaming, 0, 0, "run step by step: the same bytes, a larger arena"},
        {"--picture", "RULE.json", OPTION_TEXT, &call.picture, 0, 0, "how a picture becomes the input, see above (default: no rule)"},
        {"--labels", "FILE", OPTION_TEXT, &call.labels, 0, 0, "class names: one a line, or a JSON array (default: none)"},
        {"--json", NULL, OPTION_FLAG, &call.json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        "MODEL.onnx -o MODEL.morsel [options]",
        "Converts a quantized ONNX network (QOperator or QDQ) to a blob. What it cannot take it lists, all at once.\n\n"
        "A picture rule says how a picture becomes the input; the README, 'Pictures', lists its keys:\n" PICTURE_RULE_EXAMPLE,
        list, sizeof list / sizeof *list};
    int count = options_parse(&options, argc, argv);
    if (count < 0)
        return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1 || !call.output) {
        message_error("convert needs one MODEL.onnx and -o MODEL.morsel; see morsel convert --help");
        return STATUS_CALL;
    }
    call.input = argv[0];
    struct work w = {0};
    int status = run(&call, &w);
    work_free(&w);
    return status;
}
