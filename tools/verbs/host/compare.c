/* SPDX-License-Identifier: MIT */
/* morsel compare: a float network beside the quantized one that was made of it; the layers to blame, worst first. */
#include "tools/compare/compare.h"
#include "tools/compare/whole.h"
#include "tools/compare/noise.h"
#include "tools/verbs/host/conversion.h"
#include "tools/verbs/host/convert_report.h"
#include "tools/float/executor.h"
#include "tools/optimize/optimize.h"
#include "tools/network/each.h"
#include "tools/network/network.h"
#include "tools/samples/rules/picture_rule.h"
#include "tools/verbs/verbs.h"
#include "tools/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SAMPLES = 30 };

struct call {
    struct conversion_call first, second; /* second: where MODEL is an ONNX file, too */
    struct option_texts data;
    const char *svg;
    long count, seed, limit, threads;
};

struct work {
    struct conversion first, second;
    struct network blob;         /* where MODEL is one */
    struct morsel_model network; /* either, whole */
    struct quant_data *data;
    struct noise noise;
    struct comparison comparison;
    struct onnx_report warnings;
};

static void work_free(struct work *w) {
    compare_close(&w->comparison);
    quant_data_close(w->data);
    noise_free(&w->noise);
    network_close(&w->blob);
    conversion_free(&w->first);
    conversion_free(&w->second);
    onnx_report_free(&w->warnings);
}

/* A quantized ONNX file becomes a blob in memory: it gives the same bytes. False with refusals and no failure, or with a failure. */
static bool read_model(const struct call *call, struct work *w, struct failure *failure) {
    const char *path = call->second.input;
    if (!network_is_onnx(path))
        return network_read(&w->blob, &(struct network_call){.path = path}, failure) &&
               (whole_open(&w->network, w->blob.blob.data, w->blob.blob.size, failure) || failure_prefix(failure, path));
    if (!conversion_read(&call->second, &w->second, failure) || w->second.report.refusal_count ||
        !conversion_make(&call->second, &w->second, w->second.graph, failure))
        return false;
    return whole_open(&w->network, w->second.blob, w->second.blob_bytes, failure) || failure_prefix(failure, path);
}

static bool read_float(const struct call *call, struct work *w, struct failure *failure) {
    struct conversion *c = &w->first;
    if (!conversion_read(&call->first, c, failure) || c->report.refusal_count) return false;
    if (onnx_is_quantized(c->graph))
        return failure_set(failure, STATUS_CALL, "%s is quantized: the float network comes first, then what was made of it",
                           call->first.input);
    graph_optimize(c->graph, NULL);
    return executor_check(c->graph, &c->report) && !c->report.refusal_count;
}

static bool open_data(const struct call *call, struct work *w, struct failure *failure) {
    const struct morsel_blob_header *h = morsel_blob_header(&w->network);
    struct quant_data_wish wish = {.paths = call->data.values, .path_count = (size_t)call->data.count, .count = (size_t)call->count};
    wish.seed = (uint64_t)call->seed;
    wish.usual = USUAL_SAMPLES;
    wish.rule = w->first.extras.picture;
    if (!wish.rule && h->picture.count) wish.rule = morsel_blob_at(&w->network, h->picture.offset);
    if (!call->data.count) {
        message_notice("without --data the inputs are noise, and what the figures say holds for noise: give some pictures or arrays as the "
                       "network sees them");
        if (!noise_make(&w->noise, &w->comparison, (size_t)call->count, (uint64_t)call->seed, failure)) return false;
        wish.made = w->noise.numbers;
        wish.made_count = w->noise.samples;
    }
    w->data = quant_data_open(&wish, w->first.graph, failure);
    bool read = w->data &&
                (quant_data_reads(w->data, call->svg) || conversion_reads(&w->first, call->svg) || conversion_reads(&w->second, call->svg));
    return w->data &&
           (!read || failure_set(failure, STATUS_CALL, "--svg %s would be written over: it is read as well; name another", call->svg));
}

static bool compare(const struct call *call, struct work *w, struct failure *failure) {
    struct comparison *c = &w->comparison;
    if (!read_float(call, w, failure) || !read_model(call, w, failure)) return false;
    *c = (struct comparison){.graph = w->first.graph, .network = &w->network, .threads = (unsigned)call->threads, .report = &w->warnings};
    if (!c->threads) c->threads = pool_processors();
    if (!compare_match(c, failure) || !open_data(call, w, failure)) return false;
    c->data = w->data;
    if (!compare_measure(c, failure)) return false;
    compare_warn(c);
    return !call->svg || compare_svg(c, call->svg, failure);
}

static int refused(const struct call *call, const struct work *w) {
    bool first = w->first.report.refusal_count != 0;
    const struct conversion *c = first ? &w->first : &w->second;
    report_refusals(first ? call->first.input : call->second.input, first ? NULL : c->graph, &c->report);
    return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
}

static int run(const struct call *call, struct work *w) {
    struct failure failure = {0};
    if (!compare(call, w, &failure)) return failure.status ? message_failure(&failure) : refused(call, w);
    if (call->first.json) {
        struct json json = {.file = stdout};
        json_open(&json, NULL);
        json_text(&json, "float", call->first.input);
        json_text(&json, "model", call->second.input);
        compare_json(&json, &w->comparison);
        json_close(&json);
    } else {
        compare_text(&w->comparison, (size_t)call->limit);
    }
    return message_flush();
}

int verb_compare(int argc, char **argv) {
    static struct call call = {.first = {.batch = 1, .one_size = true}, .count = USUAL_SAMPLES, .limit = 20};
    struct conversion_call *c = &call.first;
    uint32_t cpu;
    const struct option list[] = {
        {"--data", "PATH", OPTION_TEXTS, &call.data, 0, 0, "typical inputs, as quantize takes them [noise]"},
        {"--count", "N", OPTION_NUMBER, &call.count, 0, INT32_MAX, "so many of them, chosen evenly and by --seed; 0: all"},
        {"--seed", "N", OPTION_NUMBER, &call.seed, 0, INT32_MAX, "another choice"},
        {"--picture", "RULE.json", OPTION_TEXT, &c->picture, 0, 0, "how a picture becomes the input [the rule in MODEL]"},
        {"--limit", "N", OPTION_NUMBER, &call.limit, 0, INT32_MAX, "show so many layers; 0: all. JSON has all of them"},
        {"--svg", "FILE.svg", OPTION_TEXT, &call.svg, 0, 0, "also draw the SQNR along the network"},
        {"--threads", "N", OPTION_NUMBER, &call.threads, 0, POOL_THREADS_MOST, "for running the networks; 0: as many as processors"},
        {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &c->shapes, 0, 0, "the shape of an input, whatever the files say"},
        {"--dim", "NAME=N", OPTION_TEXTS, &c->dims, 0, 0, "a number for a free dimension"},
        {"--output-node", "NAME", OPTION_TEXTS, &c->output_nodes, 0, 0, "end FLOAT.onnx at this value or node; several: several outputs"},
        {"--input-node", "NAME", OPTION_TEXTS, &c->input_nodes, 0, 0, "begin it at what this value or node gives, which becomes an input"},
        {"--json", NULL, OPTION_FLAG, &c->json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "FLOAT.onnx MODEL [--data PATH] [options]",
        .summary = "a float network beside its quantized one: which layer is to blame",
        .about = "Holds a float ONNX network and a quantized one side by side, layer by layer. MODEL is a blob (not one made with --strip) "
                 "or a quantized ONNX file that was made of FLOAT.onnx. Which layer is to blame stands first: the one whose weights and "
                 "rounding do most harm by themselves, when it is fed what the float network has there.",
        .list = list,
        .count = sizeof list / sizeof *list,
        .examples = {{"morsel compare food_float.onnx food.morsel --data test/ --picture rule.json", "the layers, worst first"},
                     {"morsel compare food_float.onnx food.onnx --svg food.svg", "a QDQ file, on noise, and a drawing"}},
    };
    if (!options_cpu_default(&cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 2) {
        message_error("compare: FLOAT.onnx and MODEL are wanted, %d given; see morsel compare --help", count);
        return STATUS_CALL;
    }
    if (call.svg && (file_same(call.svg, argv[0]) || file_same(call.svg, argv[1]) || file_same(call.svg, c->picture))) {
        message_error("--svg %s would be written over: it is read as well; name another file", call.svg);
        return STATUS_CALL;
    }
    static struct work w;
    struct failure failure;
    if (!file_can_write(call.svg, &failure)) return message_failure(&failure);
    c->input = argv[0];
    call.second = (struct conversion_call){.input = argv[1], .shapes = c->shapes, .dims = c->dims, .batch = 1, .no_streaming = true};
    int status = run(&call, &w);
    work_free(&w);
    return status;
}
