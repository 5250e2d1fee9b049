/* SPDX-License-Identifier: MIT */
/*
 * A page of HTML that stands alone: its style is in it, it has no script and asks for nothing from elsewhere. Light or dark as the reader
 * has it. What is wide lies in a box that scrolls by itself, so that the page fits a phone.
 *
 * Whatever a file says goes through page_put(). Plain fputs() and fprintf() are for what is written here, and for numbers.
 */
#ifndef MORSEL_TOOLS_VERBS_HOST_PAGE_H
#define MORSEL_TOOLS_VERBS_HOST_PAGE_H

#include "tools/samples/image/image.h"
#include <stdio.h>

/* Whether a path is named as a page is; `option` is what it was given by. */
bool page_names(const char *option, const char *path, struct failure *failure);

void page_start(FILE *file, const char *title);
void page_end(FILE *file);

/* As text or inside the quotes of an attribute: nothing in it is markup. */
void page_put(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

void page_heading(FILE *file, const char *text);
void page_paragraph(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A figure that one looks for first, among others between page_tiles(file, true) and page_tiles(file, false). */
void page_tiles(FILE *file, bool begin);
void page_tile(FILE *file, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A table's box and head: names of columns, separated by '|'; those that begin with '#' are of numbers. */
void page_table(FILE *file, const char *columns);
void page_table_end(FILE *file);

/* Cells of a row that fputs("<tr>") began: a text, a number, a bar that is so much of the column's width. */
void page_cell(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_number(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_bar(FILE *file, double share);

/* A row of a name and what it is. */
void page_fact(FILE *file, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A picture, no larger than some hundred pixels. */
bool page_picture(FILE *file, const struct image *image, struct failure *failure);

#endif
