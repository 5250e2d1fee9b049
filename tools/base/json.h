/* SPDX-License-Identifier: MIT */
/* Writes JSON, one value after the other; commas, indentation and escapes are seen to here. */
#ifndef MORSEL_TOOLS_BASE_JSON_H
#define MORSEL_TOOLS_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Start with {.file = stdout}. `key` is NULL inside arrays. */
struct json {
    FILE *file;
    unsigned depth;
    uint32_t not_first; /* a bit for each depth */
    uint32_t flat;      /* a bit for each depth: written on one line */
};

void json_open(struct json *json, const char *key);       /* { */
void json_close(struct json *json);                       /* }, and a line end behind the outermost */
void json_open_array(struct json *json, const char *key); /* [ */
void json_close_array(struct json *json);                 /* ] */
void json_open_flat(struct json *json, const char *key);  /* { with everything in it on one line; ends with json_close */
void json_text(struct json *json, const char *key,
               const char *value); /* NULL writes null; bytes that are not UTF-8 become U+FFFD, what steers an escape */
void json_integer(struct json *json, const char *key, int64_t value);
void json_number(struct json *json, const char *key, double value); /* the shortest digits that read back the same; not finite: null */
void json_float(struct json *json, const char *key, float value);   /* the same for a float */
void json_bool(struct json *json, const char *key, bool value);
void json_dims(struct json *json, const char *key, const uint32_t *dims, uint32_t rank); /* [1, 3, 32, 32] */

#endif
