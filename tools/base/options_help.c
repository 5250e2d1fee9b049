/* SPDX-License-Identifier: MIT */
/* Prints a verb's table of options, for the terminal and as a man page. */
#include "tools/base/options_help.h"
#include "core/morsel.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 96, MARGIN = 2, COLUMN = 28 };

enum help_form help_form(const char *word) {
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return HELP_TEXT;
    if (!strcmp(word, "--help=man")) return HELP_MAN;
    return strcmp(word, "--help=summary") ? HELP_NONE : HELP_SUMMARY;
}

/* ---- on the terminal ------------------------------------------------------------------------------------------------- */

/* One line of text in words, broken before WIDTH; the cursor stands at column `at`, further lines begin at `indent`. */
static void wrap(const char *line, size_t length, size_t at, size_t indent) {
    for (size_t i = 0, end; i < length; i = end + 1) {
        for (end = i; end < length && line[end] != ' ';) end++;
        if (i && at + 1 + (end - i) > WIDTH) {
            printf("\n%*s", (int)indent, "");
            at = indent;
        } else if (i) {
            putchar(' ');
            at++;
        }
        printf("%.*s", (int)(end - i), line + i);
        at += end - i;
    }
    putchar('\n');
}

/* ---- as roff --------------------------------------------------------------------------------------------------------- */

static void roff(const char *text, size_t length) {
    if (length && (*text == '.' || *text == '\'')) printf("\\&");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') printf("\\e");
        else if (text[i] == '-') printf("\\-");
        else putchar(text[i]);
    }
}

static void roff_line(const char *text) {
    roff(text, strlen(text));
    putchar('\n');
}

static void roff_title(const char *verb) {
    printf(".TH MORSEL%s", *verb ? "-" : "");
    for (const char *c = verb; *c; c++) putchar(toupper((unsigned char)*c));
    printf(" 1 \"\" \"morsel %s\"\n", morsel_version());
}

/* ---- both ------------------------------------------------------------------------------------------------------------ */

void help_heading(enum help_form form, const char *heading) {
    if (form == HELP_TEXT) {
        printf("\n%s:\n", heading);
        return;
    }
    printf(".SH ");
    for (const char *c = heading; *c; c++) putchar(toupper((unsigned char)*c));
    putchar('\n');
}

void help_item(enum help_form form, const char *name, const char *value) {
    if (form == HELP_TEXT) {
        int at = MARGIN + printf("%*s%s%s%s", MARGIN, "", name, value ? " " : "", value ? value : "") - MARGIN;
        if (at >= COLUMN) putchar('\n');
        printf("%*s", at < COLUMN ? COLUMN - at : COLUMN, "");
        return;
    }
    printf(".TP\n.B ");
    roff(name, strlen(name));
    if (value) {
        printf("\\fR \\fI");
        roff(value, strlen(value));
        printf("\\fR");
    }
    putchar('\n');
}

void help_line(enum help_form form, const char *text) {
    if (form == HELP_MAN) roff_line(text);
    else wrap(text, strlen(text), COLUMN, COLUMN);
}

/* Paragraphs with an empty line between them. A paragraph whose lines begin with a space stays as it is. */
static void print_paragraphs(enum help_form form, const char *text) {
    if (form == HELP_TEXT) putchar('\n');
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        size_t length = (size_t)(end - text);
        if (form == HELP_MAN && !length) {
            printf(".PP\n");
        } else if (form == HELP_MAN) {
            if (*text == ' ') printf(".nf\n");
            roff(text, length);
            printf(*text == ' ' ? "\n.fi\n" : "\n");
        } else if (*text == ' ') {
            printf("%.*s\n", (int)length, text);
        } else {
            wrap(text, length, 0, 0);
        }
    }
}

static void print_option(enum help_form form, const struct option *option) {
    char text[1024], value[128] = "";
    if (option->kind == OPTION_NUMBER) snprintf(value, sizeof value, " [%ld]", *(const long *)option->to);
    if (option->kind == OPTION_CPU && form == HELP_MAN) snprintf(value, sizeof value, " [MORSEL_CPU, else the best of the machine]");
    if (option->kind == OPTION_CPU && form == HELP_TEXT)
        snprintf(value, sizeof value, " [MORSEL_CPU, else the best of this machine: %s]", options_cpu_name(morsel_cpu_features()));
    snprintf(text, sizeof text, "%s%s", option->help, value);
    help_item(form, option->name, option->value);
    help_line(form, text);
}

static void print_usage(enum help_form form, const struct options *options, const char *verb) {
    if (form == HELP_TEXT) {
        printf("usage: morsel%s%s %s\n", *verb ? " " : "", verb, options->usage);
        return;
    }
    printf(".B morsel%s%s\n", *verb ? " " : "", verb);
    roff_line(options->usage);
}

static void print_options(enum help_form form, const struct options *options) {
    for (size_t i = 0; i < options->count; i++) print_option(form, &options->list[i]);
}

static void print_examples(enum help_form form, const struct options *options) {
    for (size_t i = 0; i < OPTIONS_EXAMPLES && options->examples[i].command; i++) {
        const struct option_example *example = &options->examples[i];
        if (form == HELP_MAN) help_item(form, example->command, NULL);
        else printf("%*s%s\n%*s", MARGIN, "", example->command, 3 * MARGIN, "");
        if (form == HELP_MAN) roff_line(example->what);
        else wrap(example->what, strlen(example->what), (size_t)3 * MARGIN, (size_t)3 * MARGIN);
    }
}

void help_ending(enum help_form form) {
    static const struct {
        const char *name, *text;
    } rows[] = {{"0", "done"}, {"1", "the input is at fault"}, {"2", "the call is at fault"}, {"3", "the system is: no memory, no disk"}};
    help_heading(form, "exit status");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (form == HELP_TEXT) printf("%*s%s  %s\n", MARGIN, "", rows[i].name, rows[i].text);
        else help_item(form, rows[i].name, NULL), roff_line(rows[i].text);
    }
    help_heading(form, "environment");
    help_item(form, "MORSEL_CPU", NULL);
    help_line(form, "caps the kernels of every verb: c, neon, dotprod, i8mm, avx2, avxvnni or avx512vnni");
}

/* The second form of a verb has a usage, a description and options of its own. */
static void print_second(enum help_form form, const struct options *options, const char *verb) {
    help_heading(form, options->summary);
    if (form == HELP_TEXT) putchar('\n');
    print_usage(form, options, verb);
    if (form == HELP_MAN) printf(".PP\n");
    print_paragraphs(form, options->about);
    if (form == HELP_TEXT) putchar('\n');
    print_options(form, options);
}

void help_print(enum help_form form, const struct options *options, const char *verb) {
    if (form == HELP_SUMMARY) {
        puts(options->summary);
        return;
    }
    if (form == HELP_MAN) {
        roff_title(verb);
        printf(".SH NAME\nmorsel%s%s \\- %s\n.SH SYNOPSIS\n", *verb ? "\\-" : "", verb, options->summary);
    }
    print_usage(form, options, verb);
    if (form == HELP_MAN) help_heading(form, "description");
    print_paragraphs(form, options->about);
    help_heading(form, "options");
    print_options(form, options);
    help_item(form, "--help", NULL);
    help_line(form, "this text");
    if (!*verb) return;
    if (options->second) print_second(form, options->second, verb);
    help_heading(form, "examples");
    print_examples(form, options);
    if (options->second) print_examples(form, options->second);
    help_ending(form);
    if (form == HELP_MAN) printf(".SH SEE ALSO\n.BR morsel (1)\n");
}
