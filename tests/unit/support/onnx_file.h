/* SPDX-License-Identifier: MIT */
/*
 * Small ONNX files for the tests, written byte by byte: no code is shared with the reader.
 *
 * A node is given in words. Inputs, separated by blanks:
 *     f:1,3,8,8   a graph input of that type and shape      f=1,2.5   a constant list      f#3   a constant scalar      -   left out
 *     f%1,1,3,3   a constant of that shape, of ones
 * types: f float, d double, u uint8, b int8, s int16, w int32, l int64, o bool.
 * Attributes, separated by blanks: axis:1 (int)  pads=1,1 (ints)  alpha~0.5 (float)  scales~~1,2 (floats)  mode@nearest (text)
 */
#ifndef ONNX_FILE_H
#define ONNX_FILE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/onnx/graph.h"

struct bytes {
    unsigned char *data;
    size_t size;
};

/* To the byte, so that sanitizers see what is read behind it; a large one grows by halves, as they take long to move it. */
static inline size_t room_of(size_t size) {
    size_t room = 1 << 16;
    if (size <= room) return size + 1;
    while (room < size + 1) room += room / 2;
    return room;
}

static inline void put_raw(struct bytes *b, const void *from, size_t size) {
    const size_t room = room_of(b->size + size);
    if (!b->data || room != room_of(b->size)) b->data = realloc(b->data, room);
    assert_non_null(b->data);
    if (size) memcpy(b->data + b->size, from, size);
    b->size += size;
}

static inline void put_varint(struct bytes *b, uint64_t x) {
    do {
        unsigned char byte = (unsigned char)((x & 127) | (x > 127 ? 128 : 0));
        put_raw(b, &byte, 1);
        x >>= 7;
    } while (x);
}

static inline void put_number(struct bytes *b, int field, int64_t x) {
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)x);
}

static inline void put_float(struct bytes *b, int field, float x) {
    put_varint(b, (uint64_t)field << 3 | 5);
    put_raw(b, &x, 4);
}

static inline void put_block(struct bytes *b, int field, const void *from, size_t size) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, size);
    put_raw(b, from, size);
}

static inline void put_text(struct bytes *b, int field, const char *text) {
    put_block(b, field, text, strlen(text));
}

/* The inner message is used up. */
static inline void put_message(struct bytes *b, int field, struct bytes *inner) {
    put_block(b, field, inner->data, inner->size);
    free(inner->data);
    *inner = (struct bytes){0};
}

/* As a float and as an integer: a double does not hold every int64. */
struct number {
    double floating;
    int64_t integer;
};

/* "1,-2,3": the count. */
static inline int read_numbers(const char *text, struct number *out, int max) {
    int count = 0;
    while (*text && *text != ' ') {
        char *end;
        assert_true(count < max);
        out[count].integer = strtoll(text, NULL, 10);
        out[count++].floating = strtod(text, &end);
        assert_true(end != text);
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

static inline int type_of_letter(char letter) {
    static const char letters[] = "?fub?swl?o?d";
    const char *found = strchr(letters, letter);
    assert_non_null(found);
    return (int)(found - letters);
}

/* A tensor with raw data. */
static inline struct bytes tensor_message(const char *name, int type, int rank, const int64_t *dims, const void *data, size_t size) {
    struct bytes t = {0};
    for (int i = 0; i < rank; i++) put_number(&t, 1, dims[i]);
    put_number(&t, 2, type);
    put_text(&t, 8, name);
    put_block(&t, 9, data, size);
    return t;
}

/* Numbers as the raw bytes of a type. */
static inline size_t raw_numbers(int type, const struct number *from, int count, unsigned char *to) {
    size_t width = onnx_type_bytes((enum onnx_type)type);
    for (int i = 0; i < count; i++) {
        float f = (float)from[i].floating;
        const void *raw = type == ONNX_FLOAT ? (const void *)&f : type == ONNX_DOUBLE ? (const void *)&from[i].floating : &from[i].integer;
        memcpy(to + (size_t)i * width, raw, width);
    }
    return width * (size_t)count;
}

static inline void add_constant(struct bytes *graph, const char *name, int type, int rank, const int64_t *dims, const struct number *values,
                                int count) {
    unsigned char raw[2048];
    assert_true(count <= 256);
    size_t size = raw_numbers(type, values, count, raw);
    struct bytes t = tensor_message(name, type, rank, dims, raw, size);
    put_message(graph, 5, &t);
}

static inline void add_ones(struct bytes *graph, const char *name, int type, const struct number *dims, int rank) {
    struct number ones[256];
    int64_t shape[ONNX_MAX_RANK];
    int count = 1;
    for (int i = 0; i < rank; i++) count *= (int)(shape[i] = dims[i].integer);
    assert_true(count <= 256);
    for (int i = 0; i < count; i++) ones[i] = (struct number){1, 1};
    add_constant(graph, name, type, rank, shape, ones, count);
}

/* A graph input (field 11), output (12) or value_info (13). Dimensions: numbers, names, or `?`; NULL: no shape. */
static inline void add_value(struct bytes *graph, int field, const char *name, int type, const char *dims) {
    struct bytes info = {0}, tensor = {0}, shape = {0}, outer = {0};
    char copy[200], *next = copy;
    if (dims) {
        snprintf(copy, sizeof copy, "%s", dims);
        for (char *dim; *next && (dim = strsep(&next, ","));) {
            struct bytes d = {0};
            if (*dim >= '0' && *dim <= '9') put_number(&d, 1, atoll(dim));
            else if (*dim != '?') put_text(&d, 2, dim);
            put_message(&shape, 1, &d);
            if (!next) break;
        }
    }
    put_number(&tensor, 1, type);
    if (dims) put_message(&tensor, 2, &shape);
    put_message(&outer, 1, &tensor);
    put_text(&info, 1, name);
    put_message(&info, 2, &outer);
    put_message(graph, field, &info);
}

/* name:1 name~0.5 name=1,2 name~~1,2 name@text; with name!6 in front of the sign the type is stated as 6, whatever stands there. */
static inline void add_attribute(struct bytes *node, const char *text) {
    char name[64];
    struct number numbers[64];
    size_t length = strcspn(text, ":=~@");
    struct bytes a = {0};
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const char *value = text + length + 1;
    char *stated = strchr(name, '!');
    int type = 7;
    if (stated) *stated = 0;
    put_text(&a, 1, name);
    if (text[length] == '@') {
        type = 3;
        put_text(&a, 4, value);
    } else if (text[length] == ':') {
        type = 2;
        put_number(&a, 3, atoll(value));
    } else if (text[length] == '~' && *value != '~') {
        type = 1;
        put_float(&a, 2, (float)atof(value));
    } else {
        bool floats = text[length] == '~';
        int count = read_numbers(value + floats, numbers, 64);
        type = floats ? 6 : 7;
        for (int i = 0; i < count; i++) {
            if (floats) put_float(&a, 7, (float)numbers[i].floating);
            else put_number(&a, 8, numbers[i].integer);
        }
    }
    put_number(&a, 20, stated ? atoi(stated + 1) : type);
    put_message(node, 5, &a);
}

/* A node with names for inputs and outputs, separated by blanks; `-` is left out. */
static inline struct bytes node_message(const char *name, const char *op, const char *inputs, const char *outputs, const char *attributes) {
    struct bytes node = {0};
    char copy[600], *next, *word;
    const char *domain = !strncmp(op, "ms.", 3) ? "com.microsoft" : !strncmp(op, "my.", 3) ? "my" : !strncmp(op, "mo.", 3) ? "morsel" : "";
    for (int pass = 0; pass < 3; pass++) {
        snprintf(copy, sizeof copy, "%s", pass == 0 ? inputs : pass == 1 ? outputs : attributes);
        for (next = copy; (word = strsep(&next, " "));)
            if (*word && pass < 2) put_text(&node, pass + 1, strcmp(word, "-") ? word : "");
            else if (*word) add_attribute(&node, word);
    }
    put_text(&node, 3, name);
    put_text(&node, 4, *domain ? op + 3 : op);
    put_text(&node, 7, domain);
    return node;
}

static inline void add_node(struct bytes *graph, const char *name, const char *op, const char *inputs, const char *outputs,
                            const char *attributes) {
    struct bytes node = node_message(name, op, inputs, outputs, attributes);
    put_message(graph, 1, &node);
}

static inline void add_opset(struct bytes *to, int field, const char *domain, int64_t version) {
    struct bytes opset = {0};
    put_text(&opset, 1, domain);
    put_number(&opset, 2, version);
    put_message(to, field, &opset);
}

/* The graph is used up. */
static inline struct bytes model_message(struct bytes *graph, int opset) {
    struct bytes model = {0};
    put_number(&model, 1, 8);
    put_text(&model, 2, "tests");
    put_message(&model, 7, graph);
    add_opset(&model, 8, "com.microsoft", 1);
    add_opset(&model, 8, "", opset);
    return model;
}

/* A folder of this process' own, once; it goes when the process ends. */
static char scratch[64];

static inline void remove_scratch(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    if (system(command)) fprintf(stderr, "%s: not removed\n", scratch);
}

static inline const char *scratch_folder(void) {
    if (!*scratch) {
        snprintf(scratch, sizeof scratch, "/tmp/morsel-onnx-XXXXXX");
        assert_non_null(mkdtemp(scratch));
        assert_int_equal(atexit(remove_scratch), 0);
    }
    return scratch;
}

static inline const char *scratch_path(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", scratch_folder(), name);
    return path;
}

static inline void write_scratch(const char *name, const void *data, size_t size) {
    FILE *file = fopen(scratch_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* Reads a model from bytes by way of a file; the bytes are used up. NULL: error. */
static inline struct onnx_graph *load_bytes(struct bytes *model, struct failure *failure) {
    write_scratch("net.onnx", model->data, model->size);
    free(model->data);
    *model = (struct bytes){0};
    return onnx_load(scratch_path("net.onnx"), failure);
}

/* The same, every dimension a number and every shape known; nothing of it may fail. */
static inline struct onnx_graph *inferred_bytes(struct bytes *model) {
    struct failure failure = {0};
    struct onnx_report report = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph) fail_msg("%s", failure.text);
    assert_true(onnx_bind(graph, NULL, 0, 1, &report, &failure));
    assert_true(onnx_infer(graph, &report, &failure));
    onnx_report_free(&report);
    return graph;
}

/* One node and what it reads, made from words; outputs are y, y1, y2, ... */
static inline struct bytes one_node(const char *op, int opset, const char *inputs, const char *attributes, int outputs) {
    struct bytes graph = {0};
    char copy[600], names[600] = "", made[64] = "", *next = copy, *word;
    snprintf(copy, sizeof copy, "%s", inputs);
    for (int i = 0; (word = strsep(&next, " "));) {
        struct number numbers[64];
        int64_t dim;
        char name[16];
        if (!*word) continue;
        snprintf(name, sizeof name, "%s", "-");
        if (strcmp(word, "-")) {
            snprintf(name, sizeof name, "x%d", i);
            int count = read_numbers(word + 2, numbers, 64);
            dim = count;
            if (word[1] == ':') add_value(&graph, 11, name, type_of_letter(word[0]), word + 2);
            else if (word[1] == '%') add_ones(&graph, name, type_of_letter(word[0]), numbers, count);
            else add_constant(&graph, name, type_of_letter(word[0]), word[1] == '=', &dim, numbers, count);
        }
        strcat(strcat(names, i++ ? " " : ""), name);
    }
    for (int i = 0; i < outputs; i++) {
        char name[16] = "y";
        if (i) snprintf(name, sizeof name, "y%d", i);
        strcat(strcat(made, i ? " " : ""), name);
        add_value(&graph, 12, name, 1, NULL);
    }
    add_node(&graph, "the_node", op, names, made, attributes);
    return model_message(&graph, opset);
}

#endif
