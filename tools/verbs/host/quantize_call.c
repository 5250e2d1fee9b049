/* SPDX-License-Identifier: MIT */
/* Reads the options of morsel quantize, and refuses those that do not go together. */
#include "tools/verbs/host/quantize_call.h"
#include "tools/base/message.h"
#include "tools/samples/rules/picture_rule.h"
#include "tools/network/pool.h"
#include "tools/quant/round/refine.h"

#include <stdlib.h>
#include <string.h>

/* One call is all that a process gets. */
static struct quantize_call given = {.conversion = {.batch = 1}, .count = QUANTIZE_USUAL_SAMPLES};

static const struct option list[] = {
    {"-o", "FILE", OPTION_TEXTS, &given.outputs, 0, 0, "the blob, or, ending in .onnx, the network in QDQ form; or both"},
    {"--data", "PATH", OPTION_TEXTS, &given.data, 0, 0,
     "typical inputs, the calibration data (required without --dynamic), see above; may be given several times"},
    {"--count", "N", OPTION_NUMBER, &given.count, 0, INT32_MAX, "so many of them, chosen evenly and by --seed; 0: all"},
    {"--seed", "N", OPTION_NUMBER, &given.seed, 0, INT32_MAX, "another choice"},
    {"--method", "NAME", OPTION_TEXT, &given.method, 0, 0,
     "how ranges follow from the data: mse, percentile, minmax, average, entropy [mse]"},
    {"--percentile", "P", OPTION_TEXT, &given.percentile, 0, 0, "of --method percentile [99.999]"},
    {"--dynamic", NULL, OPTION_FLAG, &given.dynamic, 0, 0, "layers quantize their input at run time, by row or picture; no --data"},
    {"--dynamic-node", "NODE_OR_OP", OPTION_TEXTS, &given.at_run_time, 0, 0,
     "a layer, or those of an operator, quantizes its input at run time, beside static ones"},
    {"--per-tensor", NULL, OPTION_FLAG, &given.per_tensor, 0, 0, "one scale for all of a layer's weights, not one for each channel"},
    {"--symmetric", NULL, OPTION_FLAG, &given.symmetric, 0, 0, "activations: zero in the middle of the bytes"},
    {"--int8", NULL, OPTION_FLAG, &given.signed_bytes, 0, 0, "activations in int8, not uint8"},
    {"--reduced-range", NULL, OPTION_FLAG, &given.reduced, 0, 0, "weights in 7 bits, for runtimes whose sums saturate"},
    {"--clip-weights", NULL, OPTION_FLAG, &given.clip_weights, 0, 0, "weight scales by least squared error, not by the largest weight"},
    {"--adaround", NULL, OPTION_FLAG, &given.adaptive, 0, 0, "adaptive rounding in sums of up to 8192, not only 256; takes longer"},
    {"--no-adaround", NULL, OPTION_FLAG, &given.nearest, 0, 0, "round all weights to the nearest"},
    {"--no-equalization", NULL, OPTION_FLAG, &given.keep_channels, 0, 0, "no cross-layer equalization: channels keep their ranges"},
    {"--no-bias-correction", NULL, OPTION_FLAG, &given.keep_biases, 0, 0, "biases are not corrected for what rounding adds on average"},
    {"--exclude", "NODE_OR_OP", OPTION_TEXTS, &given.excluded, 0, 0, "a node, or an operator everywhere, stays float"},
    {"--eval", "DATASET", OPTION_TEXT, &given.eval, 0, 0,
     "labelled pictures, as of morsel eval, to measure top-1 on before and after; of a detector (--answer) any, to see which boxes agree"},
    {"--eval-limit", "N", OPTION_NUMBER, &given.eval_limit, 0, INT32_MAX, "N of those pictures, as morsel eval --limit takes them; 0: all"},
    {"--max-drop", "X", OPTION_TEXT, &given.max_drop, 0, 0,
     "keep layers in float until top-1 drops by X at most, a share: 0.01; of a detector until so many boxes agree with the float network's "
     "(F1)"},
    {"--threads", "N", OPTION_NUMBER, &given.threads, 0, POOL_THREADS_MOST, "for running the float network; 0: as many as processors"},
    {"--picture", "RULE.json", OPTION_TEXT, &given.conversion.picture, 0, 0,
     "how a picture (image) becomes the input: preprocessing; goes into the blob, too"},
    {"--text", "RULE.json", OPTION_TEXT, &given.conversion.text, 0, 0, "how a text becomes the input; goes into the blob"},
    {"--answer", "RULE.json", OPTION_TEXT, &given.conversion.answer, 0, 0,
     "what the outputs mean: postprocessing to boxes (NMS) and others; goes into the blob"},
    {"--labels", "FILE", OPTION_TEXT, &given.conversion.labels, 0, 0, "class names: one a line, or a JSON array [none]"},
    {"--set", "KEY=VALUE", OPTION_TEXTS, &given.conversion.set, 0, 0,
     "what the blob says of itself, as version=3; may be given several times"},
    {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &given.conversion.shapes, 0, 0, "the shape of an input, whatever the file says"},
    {"--dim", "NAME=N", OPTION_TEXTS, &given.conversion.dims, 0, 0,
     "a number for a free dimension, or several: NAME=32,64,128 gives a variant each"},
    {"--output-node", "NAME", OPTION_TEXTS, &given.conversion.output_nodes, 0, 0,
     "end the network at this value or node; several: several outputs"},
    {"--input-node", "NAME", OPTION_TEXTS, &given.conversion.input_nodes, 0, 0,
     "begin it at what this value or node gives, which becomes an input"},
    {"--c", "FILE.c", OPTION_TEXT, &given.conversion.c_source, 0, 0,
     "also write the blob as a C array (FILE.S: as assembly), FILE.h that declares it and its arena, and FILE_use.c, with which an app "
     "links only what it needs"},
    {"--strip", NULL, OPTION_FLAG, &given.conversion.strip, 0, 0, "leave names out of the blob"},
    {"--half", NULL, OPTION_FLAG, &given.conversion.half, 0, 0, "store the weights of layers that run in float as 16-bit floats"},
    {"--arena", "BYTES", OPTION_NUMBER, &given.conversion.arena, 0, INT32_MAX,
     "what the arena may take; 0: as little as costs hardly any time"},
    {"--arena-fast", "BYTES", OPTION_NUMBER, &given.conversion.arena_fast, 0, INT32_MAX,
     "so much of it is SRAM or TCM, a block of its own: what is used most goes there"},
    {"--no-streaming", NULL, OPTION_FLAG, &given.conversion.no_streaming, 0, 0, "run step by step: the same bytes, a larger arena"},
    {"--format", "qdq", OPTION_TEXT, &given.format, 0, 0, "says that an -o that ends in .onnx is to be in QDQ form, which it is anyway"},
    {"--json", NULL, OPTION_FLAG, &given.conversion.json, 0, 0, "one JSON object on stdout"},
};

static const struct options options = {
    .usage = "FLOAT.onnx {--data PATH | --dynamic} -o MODEL.morsel [options]",
    .summary = "a float ONNX network becomes a quantized one: a blob, or ONNX in QDQ form",
    .about = "Quantizes a float ONNX network to 8 bits (post-training quantization), by ranges that it takes on over typical inputs: some "
             "hundred, without labels (calibration data).\n\n"
             "--data is a folder of pictures (at any depth) or CIFAR-10 binaries, which want a --picture rule; an .npy file whose first "
             "dimension counts samples; a folder of .npy files; or NAME=FILE.npy for each of several inputs.\n\n"
             "A picture rule says how a picture (image) becomes the input: the preprocessing. \"mode\" is short_side, exact, letterbox "
             "(\"size\" of both is "
             "[height, width]) or none, and \"channels\" RGB, BGR or GRAY; tools/README.md, 'Pictures', says more:\n\n"
             " " PICTURE_RULE_EXAMPLE,
    .list = list,
    .count = sizeof list / sizeof *list,
    .examples = {{"morsel quantize food_float.onnx --data train/ --picture rule.json -o food.morsel -o food.onnx",
                  "a blob, and the same network in QDQ form"},
                 {"morsel quantize food_float.onnx --data train/ --picture rule.json --eval test/ -o food.morsel",
                  "and what it costs in accuracy"}},
};

static bool ends_in(const char *text, const char *ending) {
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && !strcmp(text + a - b, ending);
}

/* Outputs by their endings: .onnx is the QDQ file, everything else the blob. */
static bool sort_outputs(struct quantize_call *call, struct failure *failure) {
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

static bool read_ranges(struct quantize_call *call, struct failure *failure) {
    struct quantize_options *o = &call->options;
    char *end = NULL;
    o->method = RANGE_MSE;
    o->percentile = RANGE_PERCENTILE_DEFAULT;
    if (call->method && !range_method_find(call->method, &o->method))
        return failure_set(failure, STATUS_CALL, "--method %s: it is one of minmax, average, percentile, entropy, mse", call->method);
    if (call->percentile && o->method != RANGE_PERCENTILE)
        return failure_set(failure, STATUS_CALL, "--percentile is for --method percentile");
    if (call->percentile) o->percentile = strtod(call->percentile, &end);
    if (call->percentile && (*end || !(o->percentile > 50) || !(o->percentile <= 100)))
        return failure_set(failure, STATUS_CALL, "--percentile %s: a number above 50 and up to 100 is wanted", call->percentile);
    return true;
}

static bool read_flags(struct quantize_call *call, struct failure *failure) {
    struct quantize_options *o = &call->options;
    if (call->adaptive && call->nearest)
        return failure_set(failure, STATUS_CALL, "--adaround or --no-adaround: large sums, too, or none; neither: small sums");
    o->round_most = call->adaptive ? REFINE_LARGE : call->nearest ? 0 : REFINE_SMALL;
    o->keep_biases = call->keep_biases;
    o->keep_channels = call->keep_channels;
    o->threads = call->threads ? (unsigned)call->threads : pool_processors();
    o->scheme = (struct scheme_options){.signed_bytes = call->signed_bytes,
                                        .symmetric = call->symmetric,
                                        .reduced = call->reduced,
                                        .per_tensor = call->per_tensor,
                                        .dynamic = call->dynamic,
                                        .clip_weights = call->clip_weights,
                                        .excluded = call->excluded.values,
                                        .excluded_count = (size_t)call->excluded.count,
                                        .at_run_time = call->at_run_time.values,
                                        .at_run_time_count = (size_t)call->at_run_time.count};
    return true;
}

static bool read_criterion(struct quantize_call *call, struct failure *failure) {
    const char *text = call->max_drop;
    char *end = NULL;
    double drop = call->most_drop = text ? strtod(text, &end) : -1;
    if (text && (*end || end == text || !(drop >= 0) || drop > 1))
        return failure_set(failure, STATUS_CALL, "--max-drop %s: a share of the answers from 0 to 1 is wanted, 0.01 for one in a hundred",
                           text);
    if (text && !call->eval && (call->dynamic || !call->conversion.answer))
        return failure_set(failure, STATUS_CALL,
                           "--max-drop is measured on labelled pictures: --eval DATASET; of a detector, whose --answer tells boxes, on "
                           "--data or on any pictures of --eval");
    if (call->eval_limit && !call->eval)
        return failure_set(failure, STATUS_CALL, "--eval-limit is how many pictures of --eval DATASET are taken");
    return true;
}

static bool has_no_qdq(const struct quantize_call *call, const char *option, struct failure *failure) {
    return !call->qdq ||
           failure_set(failure, STATUS_CALL, "%s: QDQ form has no scales that are found at run time; %s gives a blob", call->qdq, option);
}

/* What asks for ranges, or for what is done by them, has no use here. */
static bool read_dynamic(struct quantize_call *call, const char *input, struct failure *failure) {
    const char *other = call->data.count      ? "--data"
                        : call->method        ? "--method"
                        : call->percentile    ? "--percentile"
                        : call->symmetric     ? "--symmetric"
                        : call->signed_bytes  ? "--int8"
                        : call->adaptive      ? "--adaround"
                        : call->nearest       ? "--no-adaround"
                        : call->keep_channels ? "--no-equalization"
                        : call->keep_biases   ? "--no-bias-correction"
                                              : NULL;
    if (other)
        return failure_set(failure, STATUS_CALL, "%s follows ranges of typical inputs, and --dynamic has none: leave one out", other);
    if (call->at_run_time.count)
        return failure_set(failure, STATUS_CALL, "--dynamic-node is for a layer among static ones; with --dynamic all are so");
    call->conversion.input = input;
    return sort_outputs(call, failure) && has_no_qdq(call, "--dynamic", failure);
}

static bool read_paths(struct quantize_call *call, int argc, char **argv, struct failure *failure) {
    if (argc != 1)
        return failure_set(failure, STATUS_CALL,
                           "quantize: one float network is wanted, %d given%s%s: morsel quantize FLOAT.onnx --data PATH -o MODEL.morsel",
                           argc, argc ? ", the last being " : "", argc ? argv[argc - 1] : "");
    if (call->dynamic) return read_dynamic(call, argv[0], failure);
    if (!call->data.count)
        return failure_set(failure, STATUS_CALL,
                           "quantize: --data PATH is missing: some hundred typical inputs (calibration data); --dynamic needs none; see "
                           "morsel quantize --help");
    call->conversion.input = argv[0];
    return sort_outputs(call, failure) && (!call->at_run_time.count || has_no_qdq(call, "--dynamic-node", failure));
}

const struct quantize_call *quantize_call_read(int argc, char **argv, int *status) {
    struct failure failure = {0};
    uint32_t cpu;
    *status = STATUS_CALL;
    if (!options_cpu_default(&cpu)) return NULL;
    int count = options_parse(&options, argc, argv);
    *status = count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count < 0) return NULL;
    if (read_paths(&given, count, argv, &failure) && read_ranges(&given, &failure) && read_flags(&given, &failure) &&
        read_criterion(&given, &failure))
        return &given;
    *status = message_failure(&failure);
    return NULL;
}
