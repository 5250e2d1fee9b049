/* SPDX-License-Identifier: MIT */
/* JSON as it is printed: commas, indentation, escapes, numbers that read back the same. */
#include "tools/base/json.h"
#include "tools/base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_string(FILE *file, const char *value) {
    const unsigned char *s = (const unsigned char *)value;
    putc('"', file);
    while (*s) {
        unsigned n = text_utf8_length(s), c = n ? text_character(s, n) : 0;
        if (n == 0) {
            fputs("\\ufffd", file);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(file, "\\%c", *s);
        } else if (text_steers(c)) {
            fprintf(file, "\\u%04x", c);
        } else {
            fwrite(s, 1, n, file);
        }
        s += n;
    }
    putc('"', file);
}

static bool is_flat(const struct json *json) {
    return json->flat >> json->depth & 1;
}

static void new_line(const struct json *json) {
    if (is_flat(json)) return;
    putc('\n', json->file);
    for (unsigned i = 0; i < json->depth; i++) fputs("  ", json->file);
}

/* What stands in front of every value. */
static void begin(struct json *json, const char *key) {
    uint32_t bit = UINT32_C(1) << json->depth;
    if (json->not_first & bit) fputs(is_flat(json) ? ", " : ",", json->file);
    json->not_first |= bit;
    if (json->depth) new_line(json);
    if (key) {
        put_string(json->file, key);
        fputs(": ", json->file);
    }
}

static void open_level(struct json *json, const char *key, char bracket, bool flat) {
    begin(json, key);
    putc(bracket, json->file);
    flat |= is_flat(json);
    json->depth++;
    uint32_t bit = UINT32_C(1) << json->depth;
    json->not_first &= ~bit;
    json->flat = flat ? json->flat | bit : json->flat & ~bit;
}

static void close_level(struct json *json, char bracket) {
    bool empty = !(json->not_first >> json->depth & 1), flat = is_flat(json);
    json->depth--;
    if (!empty && !flat) new_line(json);
    putc(bracket, json->file);
    if (json->depth == 0) putc('\n', json->file);
}

void json_open(struct json *json, const char *key) {
    open_level(json, key, '{', false);
}

void json_open_flat(struct json *json, const char *key) {
    open_level(json, key, '{', true);
}

void json_close(struct json *json) {
    close_level(json, '}');
}

void json_open_array(struct json *json, const char *key) {
    open_level(json, key, '[', false);
}

void json_close_array(struct json *json) {
    close_level(json, ']');
}

void json_text(struct json *json, const char *key, const char *value) {
    begin(json, key);
    if (value) put_string(json->file, value);
    else fputs("null", json->file);
}

void json_integer(struct json *json, const char *key, int64_t value) {
    begin(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void json_number(struct json *json, const char *key, double value) {
    char text[40] = "null";
    begin(json, key);
    for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, json->file);
}

void json_float(struct json *json, const char *key, float value) {
    char text[40] = "null";
    begin(json, key);
    for (int digits = 6; isfinite(value) && digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    fputs(text, json->file);
}

void json_bool(struct json *json, const char *key, bool value) {
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
}

void json_dims(struct json *json, const char *key, const uint32_t *dims, uint32_t rank) {
    open_level(json, key, '[', true);
    for (uint32_t i = 0; i < rank; i++) json_integer(json, NULL, dims[i]);
    close_level(json, ']');
}
