/* SPDX-License-Identifier: MIT */
/*
 * ONNX files by chance, of each operator, in a form that is known: a chain of operators in QDQ style, now and then without a
 * quantization between two of them, as activations follow their layers. In some files operands do not fit. Included once, by the fuzzer.
 */
#ifndef MORSEL_TEST_SEED_GRAPH_H
#define MORSEL_TEST_SEED_GRAPH_H

#include "graph_recipes.h"
#include "seed_onnx.h"

#include <stdlib.h>

enum { FIRST_QUANTIZED = 10 }; /* opset */

struct graph_word {
    const char *at;
    struct seed_value x;
};

static int64_t graph_letter(const struct seed_value *x, char letter) {
    int64_t plane = (int64_t)x->h * x->w;
    switch (letter) {
    case 'C': return x->c;
    case 'W': return x->w;
    case 'P': return plane;
    case 'F': return x->c * plane;
    default: return 0;
    }
}

/* "1,C,-1" or "CxCx3x3": how many numbers. */
static int graph_numbers(struct graph_word *w, int64_t *values, int most) {
    int count = 0;
    for (; count < most; w->at++) {
        char *end = (char *)(uintptr_t)w->at;
        int64_t letter = graph_letter(&w->x, *w->at);
        values[count++] = letter ? letter : strtoll(w->at, &end, 10);
        w->at = letter ? w->at + 1 : end;
        if (*w->at != ',' && *w->at != 'x') break;
    }
    return count;
}

static int graph_list(struct seed_onnx *m, int type, const int64_t *dims, int rank, const void *data, size_t bytes) {
    char name[16];
    int value = onnx_new(m, (struct seed_value){.type = type});
    onnx_name(name, value);
    m->tensor.size = 0;
    for (int i = 0; i < rank; i++) pb_int(&m->tensor, 1, dims[i]);
    pb_int(&m->tensor, 2, type);
    pb_text(&m->tensor, 8, name);
    pb_block(&m->tensor, 9, data, bytes);
    pb_block(&m->graph, 5, m->tensor.bytes, m->tensor.size);
    return value;
}

/* As it is, or quantized on its way. */
static int graph_between(struct seed_onnx *m, int x) {
    return m->opset < FIRST_QUANTIZED ? x : onnx_dequantize(m, onnx_quantize(m, x));
}

/* The bytes of a constant behind a DequantizeLinear. */
static int graph_quantized(struct seed_onnx *m, const int64_t *dims, int rank) {
    int8_t zero = 0;
    if (m->opset < FIRST_QUANTIZED) return onnx_constant(m, TYPE_FLOAT, dims, rank);
    int inputs[3] = {onnx_constant(m, TYPE_INT8, dims, rank), onnx_scalar(m, TYPE_FLOAT), -1};
    inputs[2] = graph_list(m, TYPE_INT8, NULL, 0, &zero, 1);
    return onnx_node(m, "DequantizeLinear", "", inputs, 3, (struct seed_value){.type = TYPE_FLOAT});
}

/* Another rank; or a dimension that is another, absent, or one too many; or none of a great many. Returns the rank. */
static int graph_misfit(struct seed_onnx *m, int64_t *dims, int rank) {
    static const int64_t odd[] = {0, 1, 2, 3, 5, 24, 100, 1000}, huge[] = {1000, 1000000, 1 << 30, (int64_t)1 << 40, INT64_MAX};
    int at = rank ? (int)onnx_below(m, (uint32_t)rank) : 0;
    switch (onnx_below(m, 6)) {
    case 0:
        rank = (int)onnx_below(m, 7);
        for (int i = 0; i < rank; i++) dims[i] = 1 + onnx_below(m, 4);
        return rank;
    case 1:
        memmove(dims + 1, dims, (size_t)rank * sizeof *dims);
        dims[0] = 1 + onnx_below(m, 3);
        return rank + 1;
    case 2: return rank ? rank - 1 : 0;
    case 3:
        dims[at] = huge[onnx_below(m, 5)];
        dims[rank] = 0;
        return rank + 1;
    default: dims[at] = odd[onnx_below(m, 8)]; return rank ? rank : 1;
    }
}

static int graph_given(struct seed_onnx *m, int type, const int64_t *dims, int rank) {
    int value = onnx_new(m, (struct seed_value){.type = type});
    onnx_shaped_info(m, 11, value, dims, rank);
    return value;
}

/* An operand of these dimensions, by its sign. */
static int graph_operand(struct seed_onnx *m, char sign, int64_t *dims, int rank) {
    static const uint8_t zeros[8192];
    int type = sign == '&' ? TYPE_UINT8 : sign == '~' ? TYPE_BOOL : sign == '*' || sign == '?' ? TYPE_INT32 : TYPE_FLOAT;
    size_t bytes = type == TYPE_INT32 ? 4 : 1;
    if (m->misfit && onnx_below(m, 4) == 0) rank = graph_misfit(m, dims, rank);
    if (sign == '?' || (m->misfit && onnx_below(m, 8) == 0)) return graph_given(m, type, dims, rank);
    if (sign == '%') return graph_quantized(m, dims, rank);
    if (sign != '*') return onnx_constant(m, type, dims, rank);
    for (int i = 0; i < rank && bytes < sizeof zeros; i++) bytes *= (uint64_t)dims[i] & 0xffff;
    return graph_list(m, type, dims, rank, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
}

static int graph_scalar(struct seed_onnx *m, int type, const void *number, size_t bytes) {
    int64_t dims[9];
    int rank = m->misfit && onnx_below(m, 6) == 0 ? graph_misfit(m, dims, 0) : 0;
    return rank ? onnx_constant(m, type, dims, rank) : graph_list(m, type, NULL, 0, number, bytes);
}

static int graph_input(struct seed_onnx *m, const char *word, const int *from) {
    struct graph_word w = {word + 1, m->values[from[0]]};
    int64_t values[10];
    float number = (float)atof(word + 1), floats[8];
    int count;
    if (m->misfit && onnx_below(m, 20) == 0) return onnx_below(m, 2) ? -1 : (int)onnx_below(m, (uint32_t)m->count);
    switch (*word) {
    case 'x': return from[0] + (word[1] ? word[1] - '0' : 0);
    case 'u': return from[1];
    case '^': return from[2];
    case '-': return -1;
    case '#': return graph_scalar(m, TYPE_FLOAT, &number, sizeof number);
    default: break;
    }
    count = word[1] ? graph_numbers(&w, values, 8) : 0;
    if (*word == '!') return graph_scalar(m, TYPE_INT64, values, sizeof *values);
    if (*word == '$') {
        if (m->misfit && onnx_below(m, 6) == 0) values[onnx_below(m, (uint32_t)count)] = onnx_any_int(m);
        return graph_list(m, TYPE_INT64, (int64_t[]){count}, 1, values, 8 * (size_t)count);
    }
    if (*w.at == 'v') { /* so many floats, stated */
        w.at++;
        graph_numbers(&w, values, 8);
        for (int i = 0; i < 4; i++) floats[i] = (float)values[i];
        return graph_list(m, TYPE_FLOAT, (int64_t[]){4}, 1, floats, sizeof(float[4]));
    }
    return graph_operand(m, *word, values, count);
}

static void graph_attribute(struct seed_onnx *m, char *word, int x) {
    char *sign = strpbrk(word, "=:~@"), kind = *sign;
    struct graph_word w = {sign + 1, m->values[x]};
    int64_t values[8];
    *sign = 0;
    if (kind == '@') {
        onnx_string(m, word, sign + 1);
    } else if (kind == '~') {
        onnx_float_number(m, word, (float)atof(sign + 1));
    } else {
        int count = graph_numbers(&w, values, 8);
        if (m->misfit && onnx_below(m, 8) == 0) values[onnx_below(m, (uint32_t)count)] = onnx_any_int(m);
        if (kind == ':') onnx_int(m, word, values[0]);
        else onnx_ints(m, word, values, count);
    }
}

static int graph_is_input(const char *word) {
    return strchr("xu^-#$!%=&*~?", *word) && (strchr("=~", *word) || !strpbrk(word, "=:@~"));
}

/* ms.NAME, mo.NAME */
static const char *graph_domain(const char *op) {
    return !strncmp(op, "ms.", 3) ? "com.microsoft" : !strncmp(op, "mo.", 3) ? "morsel" : "";
}

/* from: the last value, an earlier one, the one that the recipe began with. */
static int graph_operator(struct seed_onnx *m, char *recipe, const int *from) {
    char *op = strsep(&recipe, " "), *word;
    const char *domain = graph_domain(op);
    int inputs[20], count = 0, outputs = 1;
    while ((word = strsep(&recipe, " "))) {
        if (*word == '>') outputs = atoi(word + 1);
        else if (graph_is_input(word)) inputs[count++] = graph_input(m, word, from);
        else graph_attribute(m, word, from[0]);
    }
    if (m->misfit && onnx_below(m, 10) == 0) count = (int)onnx_below(m, (uint32_t)count + 1);
    if (m->misfit && onnx_below(m, 10) == 0) inputs[count++] = (int)onnx_below(m, (uint32_t)m->count);
    struct seed_value y = m->values[from[0]];
    y.type = TYPE_FLOAT;
    m->outputs = outputs;
    return onnx_node(m, *domain ? op + 3 : op, domain, inputs, count, y);
}

static int graph_operators(struct seed_onnx *m, const char *recipe, int x, int u) {
    char copy[200], *next = copy, *one;
    int from[3] = {x, u, x};
    snprintf(copy, sizeof copy, "%s", recipe);
    while ((one = strsep(&next, ";"))) from[0] = graph_operator(m, one, from);
    return from[0];
}

/* An opset of 0: any, and operands that may not fit. */
static int graph_begin(struct seed_onnx *m, uint64_t seed, int opset) {
    memset(m, 0, offsetof(struct seed_onnx, values));
    m->graph.size = m->node.size = m->attribute.size = m->tensor.size = m->attributes.size = 0;
    m->random = seed;
    m->opset = onnx_below(m, 2) ? 18 : 7 + (int)onnx_below(m, 22);
    m->misfit = onnx_below(m, 3) == 0 && !opset;
    if (opset) m->opset = opset;
    int size = 2 + (int)onnx_below(m, 5), x = onnx_new(m, (struct seed_value){TYPE_FLOAT, 1, 1 + (int)onnx_below(m, 6), size, size});
    onnx_value_info(m, 11, x, 1);
    return graph_between(m, x);
}

static inline size_t seed_graph(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static struct seed_onnx m;
    int x = graph_begin(&m, seed, 0);
    for (uint32_t n = 1 + onnx_below(&m, 4), u = (uint32_t)x; n > 0; n--) {
        int before = x;
        x = graph_operators(&m, PICK(&m, graph_recipes), x, (int)u);
        if (onnx_below(&m, 2)) x = graph_operators(&m, PICK(&m, graph_tails), x, before);
        if (onnx_below(&m, 4)) x = graph_between(&m, x);
        u = (uint32_t)before;
    }
    if (onnx_below(&m, 2) && m.opset >= FIRST_QUANTIZED) x = onnx_quantize(&m, x);
    onnx_value_info(&m, 12, x, 0);
    return seed_finish(&m, bytes, capacity);
}

/* One recipe alone, whose operands fit, in that opset. */
static inline size_t seed_recipe(const char *recipe, int opset, uint8_t *bytes, size_t capacity) {
    static struct seed_onnx m;
    int x = graph_begin(&m, 1, opset);
    onnx_value_info(&m, 12, graph_operators(&m, recipe, x, x), 0);
    return seed_finish(&m, bytes, capacity);
}

#endif
