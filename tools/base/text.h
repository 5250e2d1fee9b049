/* SPDX-License-Identifier: MIT */
/*
 * Text that files say: names, labels, paths. Whatever prints it goes through here, so that it steers no terminal and breaks no line.
 *
 * What steers: control characters (C0, DEL, C1), what turns the direction of writing, and Unicode's own ends of lines.
 */
#ifndef MORSEL_TOOLS_BASE_TEXT_H
#define MORSEL_TOOLS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of a label, which stands beside each of up to 65,536 boxes and points of an answer. Those of known data sets have under 200. */
enum { TEXT_LABEL_MOST = 1024 };

/* Bytes of the mark that editors of some systems put in front of UTF-8, 3 or 0: no part of the text. */
size_t text_mark(const char *text);

/* The length of the UTF-8 sequence at s, 0 where there is none (overlong forms and surrogates are none). */
unsigned text_utf8_length(const unsigned char *s);

/* The number of the character at s, `length` bytes long. */
unsigned text_character(const unsigned char *s, unsigned length);
bool text_steers(unsigned character);

/* Bytes of what steers, and bytes that are no UTF-8, become '?', in place. */
char *text_tame(char *text);

/* As XML holds it: what steers becomes a blank, what is no UTF-8 or stands for nothing '?'. `lines`: ends of lines stay. */
void text_put_xml(FILE *file, const char *text, bool lines);

/* For tables of names, with a key of this process: which names meet in one slot cannot be chosen ahead. */
size_t text_hash(const char *name);

/* A stream into memory. That of open_memstream() loses bytes where memory ends, and tells nobody (glibc 2.36). */
struct text_stream {
    FILE *file; /* NULL: there is no memory for it */
    char *text;
    size_t size, room;
};
FILE *text_open(struct text_stream *stream); /* which stays where it is until it is closed */

/* The text, for free(), with a 0 behind `size` bytes; NULL where there was no memory for all of it. */
char *text_close(struct text_stream *stream);

/* The text so far, in as many bytes as it has, for free(); what is written next is a text of its own. NULL: no memory. */
char *text_take(struct text_stream *stream);

#endif
