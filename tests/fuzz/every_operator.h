/* SPDX-License-Identifier: MIT */
/*
 * Whether the fuzzer's recipes know every operator: each row of tools/onnx/operators.c must be in a network that one of them gives and that
 * is read without a refusal. Included by the fuzzer, and by what writes its recipes.
 */
#ifndef MORSEL_TEST_EVERY_OPERATOR_H
#define MORSEL_TEST_EVERY_OPERATOR_H

#include "as_file.h"
#include "seed_graph.h"

#include <stdio.h>

enum { OPERATORS_MOST = 512, FIRST_OPSET = 7, RECIPE_BYTES = 1 << 16 };

/* Fills failure->text where it is not. */
static inline int graph_is_sound(struct onnx_graph *graph, struct failure *failure) {
    struct onnx_report report = {0};
    int sound = onnx_bind(graph, NULL, 0, 1, &report, failure) && onnx_infer(graph, &report, failure) && !report.refusal_count;
    if (report.refusal_count) snprintf(failure->text, sizeof failure->text, "%s", report.refusals[0].why);
    onnx_report_free(&report);
    return sound;
}

/* Notes the operators of the recipe in that opset; 0: it is not sound there. */
static inline int note_recipe(const char *recipe, int opset, unsigned char *seen, struct failure *failure) {
    static uint8_t bytes[RECIPE_BYTES];
    size_t size = seed_recipe(recipe, opset, bytes, sizeof bytes);
    struct onnx_graph *graph = onnx_load(as_file(bytes, size), failure);
    unsigned char here[OPERATORS_MOST] = {0}; /* before constants are folded */
    for (size_t n = 0; graph && n < graph->node_count; n++)
        for (size_t i = 0; onnx_operator_at(i); i++) here[i] |= onnx_operator_of(graph->nodes[n]) == onnx_operator_at(i);
    int sound = graph && graph_is_sound(graph, failure);
    for (size_t i = 0; sound && i < OPERATORS_MOST; i++) seen[i] |= here[i];
    if (graph) onnx_free(graph);
    return sound;
}

/* The opset that most seeds have, or else the last one, in which a recipe is sound; 0: there is none. */
static inline int sound_opset(const char *recipe, int last, unsigned char *seen, struct failure *failure) {
    struct failure other;
    if (note_recipe(recipe, 18, seen, failure)) return 18;
    for (int opset = last; opset >= FIRST_OPSET; opset--)
        if (note_recipe(recipe, opset, seen, &other)) return opset;
    return 0;
}

static inline int try_recipe(const char *recipe, int last, unsigned char *seen) {
    struct failure failure = {0};
    const int opset = sound_opset(recipe, last, seen, &failure);
    if (!opset) fprintf(stderr, "no network: the recipe '%s', %s\n", recipe, failure.text);
    return opset != 0;
}

/* The last opset that is read. */
static inline int last_opset(void) {
    unsigned char seen[OPERATORS_MOST] = {0};
    struct failure failure;
    int opset = FIRST_OPSET;
    while (note_recipe("Transpose x", opset + 1, seen, &failure)) opset++;
    return opset;
}

/* 0, and lines that say why: a recipe gives no network, an operator is in none. */
static inline int every_operator_is_made(void) {
    static unsigned char seen[OPERATORS_MOST];
    int good = onnx_operators() <= OPERATORS_MOST, last = last_opset();
    for (size_t i = 0; i < sizeof graph_recipes / sizeof *graph_recipes; i++) good &= try_recipe(graph_recipes[i], last, seen);
    for (size_t i = 0; good && onnx_operator_at(i); i++) {
        const struct onnx_operator *op = onnx_operator_at(i);
        if (seen[i] || op->since > last) continue;
        fprintf(stderr, "no recipe of tests/fuzz/graph_recipes.h makes the operator %s%s%s\n", op->domain, *op->domain ? "." : "",
                op->name);
        good = 0;
    }
    return good;
}

#endif
