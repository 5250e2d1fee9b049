/* SPDX-License-Identifier: MIT */
/* The tool `morsel`: a table of verbs. */
#include "core/morsel.h"
#include "tools/base/message.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <string.h>

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
};

static const struct verb verbs[] = {
#ifndef MORSEL_TOOL_REDUCED
    {"convert", verb_convert, "a quantized ONNX network becomes a blob"},
    {"quantize", verb_quantize, "a float ONNX network becomes a quantized one: a blob, or ONNX in QDQ form"},
    {"compare", verb_compare, "a float network beside its quantized one: which layer is to blame"},
#endif
    {"run", verb_run, "a network on pictures or on .npy tensors"},
    {"bench", verb_bench, "how long a run takes, by layer if asked"},
    {"eval", verb_eval, "top-1 and top-5 over a folder of labelled pictures"},
    {"inspect", verb_inspect, "what a blob holds: steps, tensors, memory plan"},
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static void help(void) {
    printf("morsel %s: runs int8 neural networks in memory that you hand it\n\nusage: morsel VERB ...\n\n", morsel_version());
    for (int i = 0; i < VERB_COUNT; i++) printf("  %-9s %s\n", verbs[i].name, verbs[i].what);
    printf("\nmorsel VERB --help says more. Exit status: 0 done, 1 the input is at fault, 2 the call is, 3 the system is.\n"
           "MORSEL_CPU=c|neon|dotprod|i8mm|avx2|avxvnni|avx512vnni caps the kernels of every verb.\n");
}

static int unknown_verb(const char *name) {
    const char *names[VERB_COUNT + 1] = {0};
    for (int i = 0; i < VERB_COUNT; i++) names[i] = verbs[i].name;
    const char *near = message_nearest(name, names);
    if (near) message_error("no verb '%s'; did you mean '%s'? 'morsel --help' lists them", name, near);
    else message_error("no verb '%s'; 'morsel --help' lists them", name);
    return 2;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        message_error("a verb is missing; 'morsel --help' lists them");
        return 2;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        help();
        return message_flush();
    }
    if (!strcmp(argv[1], "--version")) {
        printf("morsel %s\n", morsel_version());
        return message_flush();
    }
    for (int i = 0; i < VERB_COUNT; i++) {
        if (!strcmp(argv[1], verbs[i].name)) {
            int status = verbs[i].run(argc - 1, argv + 1);
            int flushed = message_flush();
            return status ? status : flushed;
        }
    }
    return unknown_verb(argv[1]);
}
