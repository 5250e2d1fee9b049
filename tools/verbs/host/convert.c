/* SPDX-License-Identifier: MIT */
/* morsel convert: an ONNX file to a blob, whole or not at all. */
#include "tools/verbs/host/conversion.h"
#include "tools/verbs/host/convert_report.h"
#include "tools/verbs/host/ends.h"
#include "tools/base/message.h"
#include "tools/samples/rules/picture_rule.h"
#include "tools/verbs/verbs.h"

#include <stdio.h>
#include <string.h>

static void print_json(const struct conversion *c) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    conversion_json(&json, c);
    json_close(&json);
}

static bool convert(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    struct file_new files[CONVERSION_FILES];
    return conversion_check_files(call, c, NULL, failure) && conversion_read(call, c, failure) &&
           conversion_make(call, c, c->graph, failure) && file_write_all(files, conversion_files(call, c, files), failure);
}

static int run(const struct conversion_call *call, struct conversion *c) {
    struct failure failure = {0};
    bool done = convert(call, c, &failure);
    if (!done && failure.status) {
        if (c->report.refusal_count) report_refusals(call->input, c->graph, &c->report);
        return message_failure(&failure);
    }
    if (!done) ends_find(call, c);
    if (done) conversion_notices(c);
    if (call->json) print_json(c);
    if (!done) {
        report_refusals(call->input, c->graph, &c->report);
        ends_print(call, c);
        return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
    }
    if (!call->json) conversion_summary(call, c);
    return message_flush();
}

int verb_convert(int argc, char **argv) {
    struct conversion_call call = {.batch = 1};
    const struct option list[] = {
        {"-o", "MODEL.morsel", OPTION_TEXT, &call.output, 0, 0, "where the blob goes (required)"},
        {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &call.shapes, 0, 0, "the shape of an input, whatever the file says"},
        {"--dim", "NAME=N", OPTION_TEXTS, &call.dims, 0, 0,
         "a number for a free dimension, or several: NAME=32,64,128 gives a variant each"},
        {"--batch", "N", OPTION_NUMBER, &call.batch, 1, 65536, "for a free first dimension"},
        {"--output-node", "NAME", OPTION_TEXTS, &call.output_nodes, 0, 0,
         "end the network at this value or node; several: several outputs"},
        {"--input-node", "NAME", OPTION_TEXTS, &call.input_nodes, 0, 0,
         "begin it at what this value or node gives, which becomes an input"},
        {"--c", "FILE.c", OPTION_TEXT, &call.c_source, 0, 0,
         "also write the blob as a C array (FILE.S: as assembly), FILE.h that declares it and its arena, and FILE_use.c, with which an app "
         "links only what it "
         "needs"},
        {"--strip", NULL, OPTION_FLAG, &call.strip, 0, 0, "leave names out of the blob"},
        {"--half", NULL, OPTION_FLAG, &call.half, 0, 0, "store the weights of layers that run in float as 16-bit floats"},
        {"--arena", "BYTES", OPTION_NUMBER, &call.arena, 0, INT32_MAX, "what the arena may take; 0: as little as costs hardly any time"},
        {"--arena-fast", "BYTES", OPTION_NUMBER, &call.arena_fast, 0, INT32_MAX,
         "so much of it is SRAM or TCM, a block of its own: what is used most goes there"},
        {"--no-streaming", NULL, OPTION_FLAG, &call.no_streaming, 0, 0, "run step by step: the same bytes, a larger arena"},
        {"--picture", "RULE.json", OPTION_TEXT, &call.picture, 0, 0,
         "how a picture (image) becomes the input: preprocessing, see above [no rule]"},
        {"--text", "RULE.json", OPTION_TEXT, &call.text, 0, 0,
         "how a text becomes the input: a tokenizer and pooling, see tools/README.md [no rule]"},
        {"--answer", "RULE.json", OPTION_TEXT, &call.answer, 0, 0,
         "what the outputs mean: postprocessing to boxes (NMS), classes, a vector, see tools/README.md [no rule]"},
        {"--labels", "FILE", OPTION_TEXT, &call.labels, 0, 0, "class names: one a line, or a JSON array [none]"},
        {"--set", "KEY=VALUE", OPTION_TEXTS, &call.set, 0, 0, "what the blob says of itself, as version=3; may be given several times"},
        {"--json", NULL, OPTION_FLAG, &call.json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL.onnx -o MODEL.morsel [options]",
        .summary = "a quantized ONNX network becomes a blob",
        .about =
            "Converts a quantized ONNX network (QOperator or QDQ) to a blob. What it cannot take it lists, all at once.\n\n"
            "A picture rule says how a picture (image) becomes the input: the preprocessing. \"mode\" is short_side, exact, letterbox "
            "(\"size\" of both is [height, width]) or none, and \"channels\" RGB, BGR or GRAY; tools/README.md, 'Pictures', says more:\n\n"
            " " PICTURE_RULE_EXAMPLE,
        .list = list,
        .count = sizeof list / sizeof *list,
        .examples = {{"morsel convert food.onnx -o food.morsel --picture rule.json --labels labels.txt", "a blob that knows its pictures"},
                     {"morsel convert food.onnx -o food.morsel --c food.c", "and a C array of it, with its header"},
                     {"morsel convert food.onnx -o small.morsel --arena 1", "in the least arena there is"}},
    };
    for (int i = 1; i < argc; i++) call.one_said = call.one_said || !strcmp(argv[i], "--batch") || !strncmp(argv[i], "--batch=", 8);
    int count = options_parse(&options, argc, argv);
    call.one_said = call.one_said && call.batch == 1;
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1 || !call.output) {
        message_error("convert: %s: morsel convert MODEL.onnx -o MODEL.morsel; see morsel convert --help",
                      count < 1   ? "the network is missing"
                      : count > 1 ? "one network at a time"
                                  : "-o MODEL.morsel is missing");
        return STATUS_CALL;
    }
    call.input = argv[0];
    struct conversion c = {0};
    int status = run(&call, &c);
    conversion_free(&c);
    return status;
}
