/* SPDX-License-Identifier: MIT */
/* Reads a refused network once more and asks which nodes stand behind what was refused, and which before it. */
#include "tools/verbs/host/ends.h"
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include "tools/base/text.h"
#include "tools/onnx/operator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REFUSED_MOST = 1000, /* more than that is no end of a network */
    TEXT_MOST = 1000
};

/* What holds for a node. A layer is what a network is made of: an end that has one is not to be cut off. */
enum mark { KEPT = 0, REFUSED = 1, LEADS_TO_LAYER = 2, COMES_FROM_LAYER = 4, BEHIND = 8, BEFORE = 16 };

struct walk {
    struct onnx_graph *graph;
    unsigned char *marks; /* of graph->nodes; a value's `lowered` is its producer's */
    char text[TEXT_MOST];
};

static bool is_layer(const struct onnx_node *node) {
    return strstr(node->op, "Conv") || strstr(node->op, "MatMul") || strstr(node->op, "Gemm") || strstr(node->op, "Attention");
}

/* Where a node stands, whatever else holds for it. */
static enum mark place(unsigned char marks) {
    return marks & BEHIND ? BEHIND : marks & BEFORE ? BEFORE : KEPT;
}

/* The marks of who makes a value; NULL: it is constant, or an input. */
static unsigned char *maker(const struct onnx_value *value) {
    return value && !value->constant ? value->lowered : NULL;
}

static void prepare(struct walk *w) {
    w->marks = must_calloc(w->graph->node_count + 1, 1);
    for (size_t i = 0; i < w->graph->node_count; i++)
        for (int k = 0; k < w->graph->nodes[i]->output_count; k++)
            if (w->graph->nodes[i]->outputs[k]) w->graph->nodes[i]->outputs[k]->lowered = &w->marks[i];
}

/* A refused output is none any more. False: a refusal is of a node that the file does not have, but a pass made. */
static bool find_refused(struct walk *w, const struct onnx_report *report) {
    struct onnx_graph *g = w->graph;
    for (size_t r = 0; r < report->refusal_count; r++) {
        const struct onnx_refusal *refusal = &report->refusals[r];
        bool found = false;
        for (size_t i = 0; i < g->node_count; i++) {
            if (strcmp(g->nodes[i]->name, refusal->node) || strcmp(g->nodes[i]->op, refusal->op)) continue;
            w->marks[i] = REFUSED;
            found = true;
        }
        for (size_t i = 0; i < g->output_count && !found && !strcmp(refusal->op, "Output"); i++)
            if (!strcmp(g->outputs[i]->name, refusal->node)) found = true, g->outputs[i]->is_output = false;
        if (!found) return false;
    }
    return true;
}

/* A mark goes from a node to those behind it, and another to those before it. */
static void spread(struct walk *w, enum mark down, enum mark up) {
    struct onnx_node **nodes = w->graph->nodes;
    for (size_t i = 0; i < w->graph->node_count; i++)
        for (int k = 0; k < nodes[i]->input_count; k++)
            if (maker(nodes[i]->inputs[k])) w->marks[i] |= *maker(nodes[i]->inputs[k]) & down;
    for (size_t i = w->graph->node_count; i-- > 0;)
        for (int k = 0; k < nodes[i]->input_count; k++)
            if (maker(nodes[i]->inputs[k])) *maker(nodes[i]->inputs[k]) |= w->marks[i] & up;
}

/* False: a node is refused amid layers. */
static bool find_ends(struct walk *w) {
    for (size_t i = 0; i < w->graph->node_count; i++)
        if (is_layer(w->graph->nodes[i])) w->marks[i] |= LEADS_TO_LAYER | COMES_FROM_LAYER;
    spread(w, COMES_FROM_LAYER, LEADS_TO_LAYER);
    for (size_t i = 0; i < w->graph->node_count; i++) {
        if (!(w->marks[i] & REFUSED)) continue;
        if (!(w->marks[i] & LEADS_TO_LAYER)) w->marks[i] |= BEHIND;
        else if (!(w->marks[i] & COMES_FROM_LAYER)) w->marks[i] |= BEFORE;
        else return false;
    }
    spread(w, BEHIND, BEFORE);
    return true;
}

static bool plain(const char *name) {
    return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:-")];
}

/* False: there is no room for more. */
static bool put(struct walk *w, const char *text) {
    size_t at = strlen(w->text);
    int n = snprintf(w->text + at, TEXT_MOST - at, "%s", text);
    return n >= 0 && (size_t)n < TEXT_MOST - at;
}

/* As a word of the shell, whatever it holds: people type what they are told. False, too: it holds what would be said as something else. */
static bool put_word(struct walk *w, const char *name) {
    char *tame = text_tame(must_have(strdup(name), strlen(name))), *rest = tame, *part;
    bool good = !strcmp(tame, name);
    if (good && plain(name)) {
        good = put(w, name);
    } else {
        good = good && put(w, "'");
        for (bool first = true; good && (part = strsep(&rest, "'")); first = false) good = (first || put(w, "'\\''")) && put(w, part);
        good = good && put(w, "'");
    }
    free(tame);
    return good;
}

/* What cannot be an input or output is left out: it would be refused as such. False, too: nobody can name it. */
static bool add(struct walk *w, const char *option, const struct onnx_value *value) {
    if (value->inside) return false;
    if (value->type && value->type != ONNX_FLOAT && value->type != ONNX_UINT8 && value->type != ONNX_INT8) return true;
    return put(w, *w->text ? " " : "") && put(w, option) && put(w, " ") && put_word(w, value->name);
}

/* Each value that nodes of one place read of nodes of another, once. */
static bool add_crossing(struct walk *w, const char *option, enum mark from, enum mark to) {
    for (size_t i = 0; i < w->graph->node_count; i++) {
        const struct onnx_node *node = w->graph->nodes[i];
        if (place(w->marks[i]) != to) continue;
        for (int k = 0; k < node->input_count; k++) {
            const unsigned char *marks = maker(node->inputs[k]);
            if (!marks || place(*marks) != from) continue;
            if (!add(w, option, node->inputs[k])) return false;
            node->inputs[k]->lowered = NULL;
        }
    }
    return true;
}

static bool add_outputs(struct walk *w) {
    for (size_t i = 0; i < w->graph->output_count; i++) {
        struct onnx_value *value = w->graph->outputs[i];
        if (!value->is_output || !maker(value) || place(*maker(value)) != KEPT) continue;
        if (!add(w, "--output-node", value)) return false;
        value->lowered = NULL;
    }
    return true;
}

/* Whether the text says how to cut: inputs, then outputs that stay, then what the others were made from. */
static bool name_ends(struct walk *w) {
    bool behind = false, before = false;
    for (size_t i = 0; i < w->graph->node_count; i++) {
        behind = behind || place(w->marks[i]) == BEHIND;
        before = before || place(w->marks[i]) == BEFORE;
    }
    for (size_t i = 0; i < w->graph->output_count; i++) behind = behind || !w->graph->outputs[i]->is_output;
    if (before && (!add_crossing(w, "--input-node", BEFORE, KEPT) || !*w->text)) return false;
    size_t inputs = strlen(w->text);
    return !behind || (add_outputs(w) && add_crossing(w, "--output-node", KEPT, BEHIND) && strlen(w->text) > inputs);
}

void ends_find(const struct conversion_call *call, struct conversion *c) {
    struct failure failure = {0};
    struct onnx_report report = {0};
    struct walk w = {.text = ""};
    if (!c->report.refusal_count || c->report.refusal_count > REFUSED_MOST) return;
    w.graph = conversion_load(call, c, 0, &report, &failure);
    if (w.graph) prepare(&w);
    if (w.graph && find_refused(&w, &c->report) && find_ends(&w) && name_ends(&w)) c->ends = must_have(strdup(w.text), TEXT_MOST);
    free(w.marks);
    onnx_free(w.graph);
    onnx_report_free(&report);
}

/* Whether boxes are chosen there, as an answer rule does. */
static bool chooses(const struct onnx_report *report) {
    for (size_t r = 0; r < report->refusal_count; r++)
        if (!strcmp(report->refusals[r].op, "TopK") || !strcmp(report->refusals[r].op, "NonMaxSuppression")) return true;
    return false;
}

void ends_print(const struct conversion_call *call, const struct conversion *c) {
    const char *rule =
        !call->answer && chooses(&c->report) ? "; or, where it sorts boxes out, give --answer a rule of head \"yolov10\"" : "";
    if (c->ends) message_error("%s: what is refused stands at an end of it: cut it off with %s%s", call->input, c->ends, rule);
}
