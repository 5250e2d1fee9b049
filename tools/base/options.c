/* SPDX-License-Identifier: MIT */
/* Parses a command line by its table of options. */
#include "tools/base/options.h"
#include "core/morsel.h"
#include "tools/base/options_help.h"
#include "tools/base/message.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From simple to fast within a family; a cap means its own row's mask. */
static const struct {
    const char *name;
    uint32_t bit, mask;
} cpus[] = {
    {"c", 0, MORSEL_CPU_C},
    {"neon", MORSEL_CPU_NEON, MORSEL_CPU_NEON},
    {"dotprod", MORSEL_CPU_DOTPROD, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD},
    {"i8mm", MORSEL_CPU_I8MM, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD | MORSEL_CPU_I8MM},
    {"avx2", MORSEL_CPU_AVX2, MORSEL_CPU_AVX2},
    {"avxvnni", MORSEL_CPU_AVXVNNI, MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI},
    {"avx512vnni", MORSEL_CPU_AVX512VNNI, MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI | MORSEL_CPU_AVX512VNNI | MORSEL_CPU_AVX512VBMI},
};

enum { CPU_COUNT = sizeof cpus / sizeof cpus[0] };
static const char cpu_names[] = "c, neon, dotprod, i8mm, avx2, avxvnni, avx512vnni";

bool options_cpu_mask(const char *name, uint32_t *mask) {
    for (int i = 0; i < CPU_COUNT; i++) {
        if (!strcmp(name, cpus[i].name)) {
            *mask = cpus[i].mask;
            return true;
        }
    }
    return false;
}

const char *options_cpu_cap(unsigned index, uint32_t *bit, uint32_t *mask) {
    if (index >= CPU_COUNT) return NULL;
    *bit = cpus[index].bit;
    *mask = cpus[index].mask;
    return cpus[index].name;
}

const char *options_cpu_name(uint32_t features) {
    const char *name = cpus[0].name;
    for (int i = 1; i < CPU_COUNT; i++)
        if (features & cpus[i].bit) name = cpus[i].name;
    return name;
}

bool options_cpu_default(uint32_t *mask) {
    const char *name = getenv("MORSEL_CPU");
    *mask = MORSEL_CPU_ALL;
    if (!name || !*name || options_cpu_mask(name, mask)) return true;
    message_error("MORSEL_CPU=%s names no kernels; it is one of %s", name, cpu_names);
    return false;
}

static const struct option *find(const struct options *options, const char *text, size_t length) {
    for (size_t i = 0; i < options->count; i++)
        if (strlen(options->list[i].name) == length && !strncmp(options->list[i].name, text, length)) return &options->list[i];
    return NULL;
}

static int unknown(const struct options *options, const char *verb, const char *text, size_t length) {
    const char *names[64] = {"--help"};
    char word[64];
    for (size_t i = 0; i < options->count && i < 62; i++) names[i + 1] = options->list[i].name;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    for (const char *const *other = options->elsewhere; other && *other; other++)
        if (!strcmp(word, *other)) {
            message_error("%s: %s is for %s", verb, word, options->elsewhere_for);
            return OPTIONS_FAILED;
        }
    const bool output = !strcmp(word, "--output") || !strcmp(word, "--out");
    const char *near = output && find(options, "-o", 2) ? "-o" : message_nearest(word, names);
    if (near) message_error("%s: no option '%s'; did you mean '%s'?", verb, word, near);
    else message_error("%s: no option '%s'; 'morsel %s --help' lists them", verb, word, verb);
    return OPTIONS_FAILED;
}

static bool set_number(const struct option *option, const char *verb, const char *value) {
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end || errno || number < option->least || number > option->most) {
        message_error("%s: %s wants a whole number from %ld to %ld, not '%s'", verb, option->name, option->least, option->most, value);
        return false;
    }
    *(long *)option->to = number;
    return true;
}

/* A cap that leaves nothing but plain C, though it does not say so. */
static bool note_cap(const char *name, uint32_t mask) {
    if (mask != MORSEL_CPU_C && !(mask & morsel_cpu_features()))
        message_notice("--cpu %s: this machine, or this build, has no such kernels; plain C runs", name);
    return true;
}

static bool set_value(const struct option *option, const char *verb, const char *value) {
    struct option_texts *texts = option->to;
    switch (option->kind) {
    case OPTION_FLAG: *(bool *)option->to = true; return true;
    case OPTION_NUMBER: return set_number(option, verb, value);
    case OPTION_TEXT: *(const char **)option->to = value; return true;
    case OPTION_TEXTS:
        if (texts->count == (int)(sizeof texts->values / sizeof texts->values[0])) {
            message_error("%s: %s is given more often than %d times", verb, option->name, texts->count);
            return false;
        }
        texts->values[texts->count++] = value;
        return true;
    case OPTION_CPU:
        if (options_cpu_mask(value, option->to)) return note_cap(value, *(const uint32_t *)option->to);
        message_error("%s: --cpu %s names no kernels; it is one of %s", verb, value, cpu_names);
        return false;
    }
    return false;
}

/* The option at argv[*at]; *at moves over its value. 0, or what options_parse() returns. */
static int parse_option(const struct options *options, const char *verb, int argc, char **argv, int *at) {
    const char *text = argv[*at], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    if (help_form(text)) {
        help_print(help_form(text), options, verb);
        return OPTIONS_HELP;
    }
    const struct option *option = find(options, text, length);
    if (!option) return unknown(options, verb, text, length);
    const char *value = equals ? equals + 1 : NULL;
    if (option->kind == OPTION_FLAG && value) {
        message_error("%s: %s takes no value", verb, option->name);
        return OPTIONS_FAILED;
    }
    if (option->kind != OPTION_FLAG && !value) {
        if (*at + 1 >= argc) {
            message_error("%s: %s wants a value: %s %s", verb, option->name, option->name, option->value);
            return OPTIONS_FAILED;
        }
        value = argv[++*at];
    }
    return set_value(option, verb, value) ? 0 : OPTIONS_FAILED;
}

int options_parse(const struct options *options, int argc, char **argv) {
    const char *verb = argv[0];
    int count = 0;
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
        } else if (only_words || argv[i][0] != '-' || !argv[i][1]) {
            argv[count++] = argv[i];
        } else {
            int result = parse_option(options, verb, argc, argv, &i);
            if (result) return result;
        }
    }
    return count;
}
