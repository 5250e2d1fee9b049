/* SPDX-License-Identifier: MIT */
/* What a verb says of itself, on the terminal and as a man page, from the struct that its command line is parsed by. */
#ifndef MORSEL_TOOLS_BASE_OPTIONS_HELP_H
#define MORSEL_TOOLS_BASE_OPTIONS_HELP_H

#include "tools/base/options.h"

enum help_form {
    HELP_NONE,
    HELP_TEXT,    /* --help, -h: for the terminal */
    HELP_MAN,     /* --help=man: a man page, for make man */
    HELP_SUMMARY, /* --help=summary: the one line that morsel --help lists the verb by */
};

/* The form that a word of the command line asks for; HELP_NONE: it is no call for help. */
enum help_form help_form(const char *word);

/* `verb` is "" for the tool itself, which goes on with its verbs and ends by help_ending(). */
void help_print(enum help_form form, const struct options *options, const char *verb);

/* For what a page has beyond its struct: a heading, and a row of a list, whose text is printed next (help_line) or by another. */
void help_heading(enum help_form form, const char *heading);
void help_item(enum help_form form, const char *name, const char *value);
void help_line(enum help_form form, const char *text);

/* The end of every page: exit status, and the variable that caps the kernels. */
void help_ending(enum help_form form);

#endif
