/* SPDX-License-Identifier: MIT */
/* morsel compare: a float network beside the quantized one that was made of it; the layers to blame, worst first. */
#include "tools/base/message.h"
#include "tools/network/pool.h"
#include "tools/verbs/host/comparing.h"
#include "tools/verbs/verbs.h"

#include <stdio.h>

static int run(struct comparing_call *call, struct comparing *w, size_t limit) {
    struct failure failure = {0};
    if (!comparing_run(call, w, &failure)) return failure.status ? message_failure(&failure) : comparing_refused(call, w);
    if (call->first.json) {
        struct json json = {.file = stdout};
        json_open(&json, NULL);
        json_text(&json, "float", call->first.input);
        json_text(&json, "model", call->second.input);
        compare_json(&json, &w->comparison);
        json_close(&json);
    } else {
        compare_text(&w->comparison, limit);
    }
    return message_flush();
}

int verb_compare(int argc, char **argv) {
    static struct comparing_call call = {.first = {.batch = 1, .one_size = true}, .count = COMPARING_USUAL};
    long limit = 20;
    struct conversion_call *c = &call.first;
    uint32_t cpu;
    const struct option list[] = {
        {"--data", "PATH", OPTION_TEXTS, &call.data, 0, 0, "typical inputs (calibration data), as quantize takes them [noise]"},
        {"--count", "N", OPTION_NUMBER, &call.count, 0, INT32_MAX, "so many of them, chosen evenly and by --seed; 0: all"},
        {"--seed", "N", OPTION_NUMBER, &call.seed, 0, INT32_MAX, "another choice"},
        {"--picture", "RULE.json", OPTION_TEXT, &c->picture, 0, 0,
         "how a picture (image) becomes the input: preprocessing [the rule in MODEL]"},
        {"--answer", "RULE.json", OPTION_TEXT, &c->answer, 0, 0,
         "what FLOAT.onnx's outputs mean; of a detector it joins those of each level, as convert and quantize did"},
        {"--limit", "N", OPTION_NUMBER, &limit, 0, INT32_MAX, "show so many layers; 0: all. JSON has all of them"},
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
    if (call.svg && (file_same(call.svg, argv[0]) || file_same(call.svg, argv[1]) || file_same(call.svg, c->picture) ||
                     file_same(call.svg, c->answer))) {
        message_error("--svg %s would be written over: it is read as well; name another file", call.svg);
        return STATUS_CALL;
    }
    static struct comparing w;
    struct failure failure;
    if (!file_can_write(call.svg, &failure)) return message_failure(&failure);
    c->input = argv[0];
    call.second = (struct conversion_call){
        .input = argv[1], .shapes = c->shapes, .dims = c->dims, .answer = c->answer, .batch = 1, .no_streaming = true};
    int status = run(&call, &w, (size_t)limit);
    comparing_free(&w);
    return status;
}
