/* SPDX-License-Identifier: MIT */
/* morsel quantize: a float ONNX file and typical inputs to a blob, and to ONNX in QDQ form, whole or not at all. */
#include "tools/attempts.h"
#include "tools/conversion.h"
#include "tools/convert_report.h"
#include "tools/graph/edit.h"
#include "tools/lower/lower.h"
#include "tools/message.h"
#include "tools/onnx/write.h"
#include "tools/picture_rule.h"
#include "tools/pool.h"
#include "tools/quant/insert.h"
#include "tools/quant/place.h"
#include "tools/quant/quantize.h"
#include "tools/quant/refine.h"
#include "tools/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_SAMPLES = 300 };

struct call {
    struct conversion_call conversion; /* its output: the blob, NULL where none is wanted */
    const char *qdq;                   /* the ONNX file, NULL where none is wanted */
    const char *method, *percentile, *format, *eval, *max_drop;
    struct option_texts outputs, data, excluded;
    long count, seed, threads;
    bool signed_bytes, symmetric, reduced, per_tensor, clip_weights, adaptive, nearest, keep_biases, keep_channels;
};

struct work {
    struct conversion conversion;
    struct quantizer quantizer;
    struct quant_data *data;
    struct attempts attempts; /* its graph: the quantized one */
    uint8_t *qdq;
    size_t qdq_bytes;
};

static void work_free(struct work *w) {
    attempts_free(&w->attempts);
    quantize_close(&w->quantizer);
    quant_data_close(w->data);
    conversion_free(&w->conversion);
    free(w->qdq);
}

static bool ends_in(const char *text, const char *ending) {
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && !strcmp(text + a - b, ending);
}

/* Outputs by their endings: .onnx is the QDQ file, everything else the blob. */
static bool sort_outputs(struct call *call, struct failure *failure) {
    for (int i = 0; i < call->outputs.count; i++) {
        const char *path = call->outputs.values[i], **to = ends_in(path, ".onnx") ? &call->qdq : &call->conversion.output;
        if (*to)
            return failure_set(failure, STATUS_CALL, "two outputs of one kind: %s and %s; one may end in .onnx, for QDQ form, one not", *to,
                               path);
        *to = path;
    }
    if (call->format && strcmp(call->format, "qdq"))
        return failure_set(failure, STATUS_CALL, "--format %s: the one format beside the blob is qdq", call->format);
    if (call->format && !call->qdq)
        return failure_set(failure, STATUS_CALL, "--format qdq wants an output that ends in .onnx: -o OUT.onnx");
    if (!call->conversion.output && !call->qdq)
        return failure_set(failure, STATUS_CALL, "an output is wanted: -o MODEL.morsel, -o MODEL.onnx (QDQ), or both");
    if (!call->conversion.output && call->conversion.c_source)
        return failure_set(failure, STATUS_CALL, "--c writes the blob as a C array: it wants -o MODEL.morsel, too");
    return true;
}

static bool read_options(struct call *call, struct quantize_options *o, struct failure *failure) {
    char *end = NULL;
    *o = (struct quantize_options){.method = RANGE_MSE, .percentile = RANGE_PERCENTILE_DEFAULT, .threads = (unsigned)call->threads};
    o->round_most = call->adaptive ? REFINE_LARGE : call->nearest ? 0 : REFINE_SMALL;
    o->keep_biases = call->keep_biases;
    o->keep_channels = call->keep_channels;
    if (!call->threads) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        o->threads = processors < 1 ? 1 : processors > POOL_THREADS_MOST ? POOL_THREADS_MOST : (unsigned)processors;
    }
    if (call->method && !range_method_find(call->method, &o->method))
        return failure_set(failure, STATUS_CALL, "--method %s: it is one of minmax, average, percentile, entropy, mse", call->method);
    if (call->adaptive && call->nearest)
        return failure_set(failure, STATUS_CALL, "--adaround or --no-adaround: large sums, too, or none; neither: small sums");
    if (call->percentile && o->method != RANGE_PERCENTILE)
        return failure_set(failure, STATUS_CALL, "--percentile is for --method percentile");
    if (call->percentile)
        o->percentile = strtod(call->percentile, &end);
    if (call->percentile && (*end || !(o->percentile > 50) || !(o->percentile <= 100)))
        return failure_set(failure, STATUS_CALL, "--percentile %s: a number above 50 and up to 100 is wanted", call->percentile);
    o->scheme = (struct scheme_options){.signed_bytes = call->signed_bytes,
                                        .symmetric = call->symmetric,
                                        .reduced = call->reduced,
                                        .per_tensor = call->per_tensor,
                                        .clip_weights = call->clip_weights,
                                        .excluded = call->excluded.values,
                                        .excluded_count = (size_t)call->excluded.count};
    return true;
}

static bool read_criterion(const struct call *call, double *max_drop, struct failure *failure) {
    char *end = NULL;
    *max_drop = call->max_drop ? strtod(call->max_drop, &end) : -1;
    if (call->max_drop && (*end || end == call->max_drop || !(*max_drop >= 0) || *max_drop > 1))
        return failure_set(failure, STATUS_CALL, "--max-drop %s: a share of the answers from 0 to 1 is wanted, 0.01 for one in a hundred",
                           call->max_drop);
    if (call->max_drop && !call->eval)
        return failure_set(failure, STATUS_CALL, "--max-drop is measured on labelled pictures: --eval DATASET");
    return true;
}

/* A name that excludes nothing is a mistake in it. */
static bool excluded_exist(const struct call *call, const struct onnx_graph *graph, struct failure *failure) {
    for (int i = 0; i < call->excluded.count; i++) {
        const char *name = call->excluded.values[i];
        bool found = false;
        for (size_t n = 0; n < graph->node_count; n++)
            found = found || !strcmp(graph->nodes[n]->name, name) || !strcmp(graph->nodes[n]->op, name);
        if (!found)
            return failure_set(failure, STATUS_CALL, "--exclude %s: no node and no operator of the network has that name", name);
    }
    return true;
}

static void any_range(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -1;
    *high = 1;
}

/* Before the data are gone through, with ranges out of the air: whether what will come out can run. False: refusals in the report. */
static bool can_come_out(const struct quantizer *q) {
    struct onnx_graph *copy = edit_copy(q->graph);
    struct scheme *scheme = place(copy, &q->options.scheme);
    size_t notices = q->report->notice_count;
    scheme_set_ranges(scheme, any_range, NULL);
    scheme_make_layers(scheme);
    struct onnx_graph *made = insert(scheme);
    struct net *net = lower(made, q->report);
    bool good = net != NULL;
    net_free(net);
    onnx_free(made);
    onnx_free(copy);
    while (q->report->notice_count > notices)
        free(q->report->notices[--q->report->notice_count]);
    return good;
}

/* No output is one of the samples' files. */
static bool data_stay(const struct call *call, const struct work *w, const struct quant_data *data, struct failure *failure) {
    const char *written[] = {call->conversion.output, call->qdq, call->conversion.c_source, w->conversion.c_header_path};
    for (size_t i = 0; data && i < sizeof written / sizeof *written; i++)
        if (quant_data_reads(data, written[i]))
            return failure_set(failure, STATUS_CALL, "%s would be written over: it is read as well; name another output", written[i]);
    return true;
}

/* From the file to ranges. False with refusals in the report (and no failure), or with a failure. */
static bool observe(const struct call *call, struct work *w, struct failure *failure) {
    struct conversion *c = &w->conversion;
    struct quantizer *q = &w->quantizer;
    struct quant_data_wish wish = {.paths = call->data.values, .path_count = (size_t)call->data.count, .count = (size_t)call->count};
    if (!conversion_read(&call->conversion, c, failure))
        return false;
    if (onnx_is_quantized(c->graph))
        return failure_set(failure, STATUS_INPUT, "%s is quantized already%s", call->conversion.input,
                           report_dynamic(c->graph) ? ", dynamically: quantize takes the float network that it was made from"
                                                    : ": morsel convert takes it");
    if (c->report.refusal_count || !excluded_exist(call, c->graph, failure))
        return false;
    wish.seed = (uint64_t)call->seed;
    wish.usual = USUAL_SAMPLES;
    wish.rule = c->extras.picture;
    c->graph->floats_meant = true;
    q->graph = c->graph;
    q->report = &c->report;
    bool blob = call->conversion.output || call->eval;
    if (!quantize_prepare(q, failure) || (blob && !can_come_out(q)) ||
        !(q->data = w->data = quant_data_open(&wish, q->graph, failure)) || !data_stay(call, w, w->data, failure) ||
        !quant_data_look(w->data, failure))
        return false;
    w->attempts.wish = wish;
    return quantize_equalize(q, failure) && quantize_observe(q, failure);
}

static bool make(const struct call *call, struct work *w, struct failure *failure) {
    struct attempts *a = &w->attempts;
    a->call = &call->conversion;
    a->conversion = &w->conversion;
    a->quantizer = &w->quantizer;
    a->eval = call->eval;
    a->want_blob = call->conversion.output != NULL;
    return observe(call, w, failure) && attempts_run(a, failure);
}

static bool quantize(const struct call *call, struct work *w, struct failure *failure) {
    struct file_new files[4];
    size_t count = 0;
    char error[512];
    if (!conversion_check_files(&call->conversion, &w->conversion, call->qdq, failure) || !make(call, w, failure) ||
        !data_stay(call, w, w->attempts.data, failure))
        return false;
    if (call->qdq && !(w->qdq = onnx_write(w->attempts.graph, &w->qdq_bytes, error, sizeof error)))
        return failure_set(failure, STATUS_INPUT, "%s: %s", call->qdq, error);
    if (call->conversion.output)
        count = conversion_files(&call->conversion, &w->conversion, files);
    if (call->qdq)
        files[count++] = (struct file_new){call->qdq, w->qdq, w->qdq_bytes};
    return file_write_all(files, count, failure);
}

static void print_json(const struct work *w) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    conversion_json(&json, &w->conversion);
    json_text(&json, "method", range_method_name(w->quantizer.options.method));
    json_integer(&json, "samples", w->data ? (int64_t)quant_data_count(w->data) : 0);
    attempts_json(&json, &w->attempts);
    json_close(&json);
}

static int run(const struct call *call, struct work *w) {
    struct failure failure = {0};
    const struct conversion *c = &w->conversion;
    bool done = quantize(call, w, &failure);
    if (!done && failure.status) {
        if (!call->conversion.json)
            attempts_print(&w->attempts);
        if (c->report.refusal_count)
            report_refusals(call->conversion.input, NULL, &c->report);
        return message_failure(&failure);
    }
    if (call->conversion.json)
        print_json(w);
    if (!done) {
        report_refusals(call->conversion.input, NULL, &c->report);
        return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
    }
    conversion_notices(c);
    if (!call->conversion.json && call->conversion.output)
        conversion_summary(&call->conversion, c);
    if (!call->conversion.json && call->qdq)
        printf("%s\n  QDQ form, for ONNX Runtime; opset %d\n", call->qdq, w->attempts.graph->opset);
    if (!call->conversion.json)
        attempts_print(&w->attempts);
    return message_flush();
}

int verb_quantize(int argc, char **argv) {
    struct call call = {.conversion = {.batch = 1}, .count = USUAL_SAMPLES};
    struct conversion_call *c = &call.conversion;
    const struct option list[] = {
        {"-o", "FILE", OPTION_TEXTS, &call.outputs, 0, 0, "the blob, or, ending in .onnx, the network in QDQ form; or both"},
        {"--data", "PATH", OPTION_TEXTS, &call.data, 0, 0, "typical inputs (required), see above; may be given several times"},
        {"--count", "N", OPTION_NUMBER, &call.count, 0, INT32_MAX, "so many of them, chosen evenly and by --seed; 0: all"},
        {"--seed", "N", OPTION_NUMBER, &call.seed, 0, INT32_MAX, "another choice"},
        {"--method", "NAME", OPTION_TEXT, &call.method, 0, 0, "ranges: mse (the default, for most), percentile, minmax, average, entropy"},
        {"--percentile", "P", OPTION_TEXT, &call.percentile, 0, 0, "of --method percentile (default: 99.999)"},
        {"--per-tensor", NULL, OPTION_FLAG, &call.per_tensor, 0, 0, "one scale for all of a layer's weights, not one for each channel"},
        {"--symmetric", NULL, OPTION_FLAG, &call.symmetric, 0, 0, "activations: zero in the middle of the bytes"},
        {"--int8", NULL, OPTION_FLAG, &call.signed_bytes, 0, 0, "activations in int8, not uint8"},
        {"--reduced-range", NULL, OPTION_FLAG, &call.reduced, 0, 0, "weights in 7 bits, for runtimes whose sums saturate"},
        {"--clip-weights", NULL, OPTION_FLAG, &call.clip_weights, 0, 0, "weight scales by least squared error, not by the largest weight"},
        {"--adaround", NULL, OPTION_FLAG, &call.adaptive, 0, 0, "adaptive rounding in sums of up to 8192, not only 256; takes longer"},
        {"--no-adaround", NULL, OPTION_FLAG, &call.nearest, 0, 0, "round all weights to the nearest"},
        {"--no-equalization", NULL, OPTION_FLAG, &call.keep_channels, 0, 0, "leave channels as wide as they are, and where they are"},
        {"--no-bias-correction", NULL, OPTION_FLAG, &call.keep_biases, 0, 0, "leave biases as they are"},
        {"--exclude", "NODE_OR_OP", OPTION_TEXTS, &call.excluded, 0, 0, "a node, or an operator everywhere, stays float"},
        {"--eval", "DATASET", OPTION_TEXT, &call.eval, 0, 0, "labelled pictures, as of morsel eval, to measure top-1 on before and after"},
        {"--max-drop", "X", OPTION_TEXT, &call.max_drop, 0, 0, "give layers back to floats until top-1 drops by X at most, a share: 0.01"},
        {"--threads", "N", OPTION_NUMBER, &call.threads, 0, POOL_THREADS_MOST, "for running the float network; 0: as many as processors"},
        {"--picture", "RULE.json", OPTION_TEXT, &c->picture, 0, 0, "how a picture becomes the input; goes into the blob, too"},
        {"--labels", "FILE", OPTION_TEXT, &c->labels, 0, 0, "class names: one a line, or a JSON array (default: none)"},
        {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &c->shapes, 0, 0, "the shape of an input, whatever the file says"},
        {"--dim", "NAME=N", OPTION_TEXTS, &c->dims, 0, 0, "a number for a free dimension"},
        {"--c", "FILE.c", OPTION_TEXT, &c->c_source, 0, 0, "also write the blob as a C array, and FILE.h that declares it and its arena"},
        {"--strip", NULL, OPTION_FLAG, &c->strip, 0, 0, "leave names out of the blob"},
        {"--half", NULL, OPTION_FLAG, &c->half, 0, 0, "store the weights of layers that run in float as 16-bit floats"},
        {"--arena", "BYTES", OPTION_NUMBER, &c->arena, 0, INT32_MAX, "what the arena may take; 0: as little as costs hardly any time"},
        {"--no-streaming", NULL, OPTION_FLAG, &c->no_streaming, 0, 0, "run step by step: the same bytes, a larger arena"},
        {"--format", "qdq", OPTION_TEXT, &call.format, 0, 0, "says that an -o that ends in .onnx is to be in QDQ form, which it is anyway"},
        {"--json", NULL, OPTION_FLAG, &c->json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        "FLOAT.onnx --data PATH -o MODEL.morsel [-o MODEL.onnx] [options]",
        "Quantizes a float ONNX network to 8 bits, by ranges that it takes on over typical inputs: some hundred, without labels.\n\n"
        "--data is a folder of pictures (at any depth) or CIFAR-10 binaries, which want a --picture rule; an .npy file whose first\n"
        "dimension counts samples; a folder of .npy files; or NAME=FILE.npy for each of several inputs. A picture rule; the README,\n"
        "'Pictures', lists its keys:\n"
        PICTURE_RULE_EXAMPLE,
        list, sizeof list / sizeof *list};
    struct failure failure = {0};
    int count = options_parse(&options, argc, argv);
    if (count < 0)
        return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("quantize: one float network is wanted, %d given%s%s: morsel quantize FLOAT.onnx --data PATH -o MODEL.morsel", count,
                      count ? ", the last being " : "", count ? argv[count - 1] : "");
        return STATUS_CALL;
    }
    if (!call.data.count) {
        message_error("quantize: --data PATH is missing: some hundred typical inputs; see morsel quantize --help");
        return STATUS_CALL;
    }
    c->input = argv[0];
    static struct work w;
    if (!sort_outputs(&call, &failure) || !read_options(&call, &w.quantizer.options, &failure) ||
        !read_criterion(&call, &w.attempts.max_drop, &failure))
        return message_failure(&failure);
    int status = run(&call, &w);
    work_free(&w);
    return status;
}
