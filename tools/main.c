/* SPDX-License-Identifier: MIT */
/* The tool `morsel`: a table of verbs. */
#include "core/morsel.h"
#include "tools/base/options_help.h"
#include "tools/base/message.h"
#include "tools/base/stop.h"
#include "tools/network/host/float.h"
#include "tools/verbs/verbs.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {
#ifndef MORSEL_TOOL_REDUCED
    {"convert", verb_convert}, {"quantize", verb_quantize}, {"compare", verb_compare}, {"report", verb_report},   {"edit", verb_edit},
#endif
    {"run", verb_run},         {"bench", verb_bench},       {"eval", verb_eval},       {"inspect", verb_inspect}, {"embed", verb_embed},
};

static void take_kinds(void) {
#ifndef MORSEL_TOOL_REDUCED
    network_take_onnx(&network_of_onnx);
#endif
}

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static const struct option list[] = {
    {"--version", NULL, OPTION_FLAG, NULL, 0, 0, "the version of the tool and of the library in it"},
};

static const struct options options = {
    .usage = "VERB ...",
    .summary = "runs int8 neural networks in memory that you hand it",
    .about = "Turns ONNX networks into blobs that the library runs in place, and runs, measures and shows them on this machine. "
             "morsel VERB --help says more of a verb.",
    .list = list,
    .count = sizeof list / sizeof list[0],
};

/* Each verb says itself what it does. */
static void help(enum help_form form) {
    char summary[] = "--help=summary";
    unsetenv("MORSEL_CPU"); /* a wrong one keeps no verb from telling what it does */
    help_print(form, &options, "");
    help_heading(form, "verbs");
    for (int i = 0; i < VERB_COUNT; i++) {
        char *call[] = {(char *)verbs[i].name, summary, NULL};
        help_item(form, verbs[i].name, NULL);
        verbs[i].run(2, call);
    }
    help_ending(form);
    if (form == HELP_MAN) printf(".SH SEE ALSO\n");
    for (int i = 0; form == HELP_MAN && i < VERB_COUNT; i++)
        printf(".BR morsel\\-%s (1)%s\n", verbs[i].name, i + 1 < VERB_COUNT ? "," : "");
}

/* The verbs' names, a line each: for scripts that write a page of each. */
static void print_verbs(void) {
    for (int i = 0; i < VERB_COUNT; i++) puts(verbs[i].name);
}

static int unknown_verb(const char *name) {
    const char *names[VERB_COUNT + 1] = {0};
    for (int i = 0; i < VERB_COUNT; i++) names[i] = verbs[i].name;
    const char *near = message_nearest(name, names);
#ifdef MORSEL_TOOL_REDUCED
    for (const char *const *verb = (const char *const[]){"convert", "quantize", "compare", "report", "edit", NULL}; *verb; verb++) {
        if (strcmp(name, *verb)) continue;
        message_error("this build has no converter, and so no '%s'; 'make deps-tool && make' builds the whole tool", name);
        return 2;
    }
#endif
    if (near) message_error("no verb '%s'; did you mean '%s'? 'morsel --help' lists them", name, near);
    else message_error("no verb '%s'; 'morsel --help' lists them", name);
    return 2;
}

/* Where a standard stream is closed a file that is opened would take its place, and what is printed would go there. A write to what stands
 * in for stdout fails. A file that may not grow is a write that fails, too, and no reason to stop in the midst of it. */
static void settle(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) exit(STATUS_SYSTEM);
    signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv) {
    settle();
    stop_start();
    take_kinds();
    if (argc < 2) {
        message_error("a verb is missing; 'morsel --help' lists them");
        return 2;
    }
    enum help_form form = strcmp(argv[1], "help") ? help_form(argv[1]) : HELP_TEXT;
    if (form) {
        help(form);
        return message_flush();
    }
    if (!strcmp(argv[1], "--help=verbs")) {
        print_verbs();
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
