/* SPDX-License-Identifier: MIT */
/* A verb's command line: a table of options, from which parsing and --help come. */
#ifndef MORSEL_TOOLS_BASE_OPTIONS_H
#define MORSEL_TOOLS_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,   /* bool *to */
    OPTION_NUMBER, /* long *to, within least..most; the value there before is the default that --help shows */
    OPTION_TEXT,   /* const char **to; the last one given counts */
    OPTION_TEXTS,  /* struct option_texts *to: may be given several times */
    OPTION_CPU,    /* uint32_t *to: a mask of enum morsel_cpu */
};

struct option_texts {
    const char *values[512];
    int count;
};

struct option {
    const char *name;  /* "--runs"; "-o" too */
    const char *value; /* what --help calls the value; NULL for a flag */
    enum option_kind kind;
    void *to;
    long least, most; /* OPTION_NUMBER */
    const char *help; /* the default of a text is said here */
};

struct option_example {
    const char *command, *what;
};

enum { OPTIONS_EXAMPLES = 4 };

/* All that a verb says of itself: its command line is parsed by it, --help and the man page are printed from it (options_help.h). */
struct options {
    const char *usage;   /* "MODEL [PICTURE...] [options]" */
    const char *summary; /* what the verb does, in one line */
    const char *about;   /* paragraphs, an empty line between them; lines that begin with a space stay as they are */
    const struct option *list;
    size_t count;
    struct option_example examples[OPTIONS_EXAMPLES]; /* the first without a command ends them */
    const struct options *second;                     /* the same verb on another kind of file; NULL: there is none */
    const char *const *elsewhere;                     /* names of the verb's options on other kinds, ended by NULL; NULL: there are none */
    const char *elsewhere_for;                        /* what these kinds are */
};

enum { OPTIONS_FAILED = -1, OPTIONS_HELP = -2 };

/*
 * Parses argv[1..argc); argv[0] is the verb. What is no option is moved to the front: argv[0], argv[1] ... and counted by the
 * result. OPTIONS_FAILED: a line on stderr says why (exit status 2). OPTIONS_HELP: --help was asked for and printed (exit status 0).
 * "--name value" and "--name=value" are the same; "--" ends the options.
 */
int options_parse(const struct options *options, int argc, char **argv);

/* The mask that a cap by this name stands for (the kernels of that name and simpler ones); false: no such name. */
bool options_cpu_mask(const char *name, uint32_t *mask);

/* The caps of --cpu one by one, from simple to fast: what a CPU must have for it (0: nothing), and what it allows. NULL: no more. */
const char *options_cpu_cap(unsigned index, uint32_t *bit, uint32_t *mask);

/* The default of --cpu: what MORSEL_CPU says, or all kernels. False: it names no kernels; a line on stderr says so. */
bool options_cpu_default(uint32_t *mask);

/* The name of the best kernels of a set of features: "avx2", "c" for none. */
const char *options_cpu_name(uint32_t features);

#endif
