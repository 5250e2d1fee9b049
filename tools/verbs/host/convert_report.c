/* SPDX-License-Identifier: MIT */
/* Groups refusals by operator and reason, and prints them. */
#include "tools/verbs/host/convert_report.h"
#include "tools/base/message.h"
#include <stdio.h>
#include <string.h>

enum { GROUPS_MOST = 12 };

/* Refusals of one operator for one reason. */
struct group {
    const struct onnx_refusal *first;
    size_t count;
};

void report_notices(const struct onnx_report *report) {
    for (size_t i = 0; i < report->notice_count; i++) message_notice("%s", report->notices[i]);
}

static bool alike(const struct onnx_refusal *a, const struct onnx_refusal *b) {
    return !strcmp(a->op, b->op) && !strcmp(a->why, b->why);
}

/* The groups in the order of their first nodes, which tends to be the order of causes; the result counts the nodes that are in none. */
static size_t collect(const struct onnx_report *report, struct group *groups, size_t *count) {
    size_t left = 0;
    *count = 0;
    for (size_t i = 0; i < report->refusal_count; i++) {
        const struct onnx_refusal *refusal = &report->refusals[i];
        size_t g = 0;
        while (g < *count && !alike(groups[g].first, refusal)) g++;
        if (g == GROUPS_MOST) {
            left++;
            continue;
        }
        if (g == *count) groups[(*count)++] = (struct group){refusal, 0};
        groups[g].count++;
    }
    return left;
}

static bool starts_with(const char *text, const char *start) {
    return !strncmp(text, start, strlen(start));
}

/* Operators whose scales are found while the network runs. */
static bool is_dynamic(const struct onnx_node *node) {
    return starts_with(node->op, "Dynamic") || !strcmp(node->op, "ConvInteger") || !strcmp(node->op, "MatMulInteger") ||
           !strcmp(node->op, "MatMulIntegerToFloat");
}

bool report_dynamic(const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++)
        if (is_dynamic(graph->nodes[i])) return true;
    return false;
}

/* NULL: the file is quantized as it should be, and it is single nodes that are in the way. */
static const char *kind_of(const struct onnx_graph *graph) {
    return !graph || onnx_is_quantized(graph) || report_dynamic(graph) ? NULL
                                                                       : "is a float network: nothing in it is quantized. Quantize it";
}

static void print_refusal(const struct onnx_refusal *r) {
    message_error("%s (%s, opset %d, %s): %s", r->node, r->op, r->opset, r->shapes, r->why);
}

/* Of a network of the wrong kind: what sound nodes lack does not help, what is malformed would not be quantized either. */
static void report_kind(const char *path, const char *kind, size_t malformed) {
    if (malformed) message_error("%s: %zu node%s malformed; nothing was written", path, malformed, malformed == 1 ? " is" : "s are");
    else
        message_error(
            "%s %s, with some hundred typical inputs (calibration data), or dynamically, without any: morsel quantize --help shows "
            "how. Nothing was written",
            path, kind);
}

void report_refusals(const char *path, const struct onnx_graph *graph, const struct onnx_report *report) {
    struct group groups[GROUPS_MOST];
    const char *kind = kind_of(graph);
    size_t count, malformed = 0, n = report->refusal_count;
    for (size_t i = 0; i < n; i++) {
        malformed += report->refusals[i].malformed;
        if (!kind || report->refusals[i].malformed) print_refusal(&report->refusals[i]);
    }
    if (kind) {
        report_kind(path, kind, malformed);
        return;
    }
    size_t left = collect(report, groups, &count);
    message_error("%s: %zu node%s not supported; nothing was written%s", path, n, n == 1 ? " is" : "s are", n > 1 ? ". In short:" : "");
    for (size_t g = 0; n > 1 && g < count; g++) message_error("%6zu x %s: %s", groups[g].count, groups[g].first->op, groups[g].first->why);
    if (left) message_error("%6zu others", left);
}
