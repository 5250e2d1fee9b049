/* SPDX-License-Identifier: MIT */
/* Notices and refusals in words. */
#include "tools/base/text.h"
#include "tools/onnx/internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *onnx_shape_text(const struct onnx_shape *shape, char *text, size_t size) {
    if (shape->rank <= 0) {
        snprintf(text, size, "%s", shape->rank < 0 ? "?" : "scalar");
        return text;
    }
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < shape->rank && used < size; i++) {
        const char *by = i ? "x" : "";
        int n = shape->dims[i] < 0 ? snprintf(text + used, size - used, "%s?", by)
                                   : snprintf(text + used, size - used, "%s%" PRId64, by, shape->dims[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static char *format_text(const char *format, va_list args) {
    char *text = NULL;
    return text_tame(must_have(vasprintf(&text, format, args) < 0 ? NULL : text, strlen(format)));
}

static char *copy_name(const char *name) {
    return text_tame(must_have(strdup(name), strlen(name)));
}

/* For one more; the room doubles. */
static void *grow(void *array, size_t count, size_t item) {
    if (count & (count - 1)) return array;
    size_t room = count ? 2 * count : 1;
    return must_have(realloc(array, room * item), room * item);
}

void onnx_notice(struct onnx_report *report, const char *format, ...) {
    if (!report) return;
    va_list args;
    va_start(args, format);
    report->notices = grow(report->notices, report->notice_count, sizeof *report->notices);
    report->notices[report->notice_count++] = format_text(format, args);
    va_end(args);
}

/* "float 1x3x32x32, int64 4": the inputs, as many as a line takes. */
static char *input_shapes(const struct onnx_node *node) {
    char line[400] = "", shape[128];
    size_t used = 0;
    for (int i = 0; i < node->input_count && used + 160 < sizeof line; i++) {
        const struct onnx_value *value = node->inputs[i];
        if (!value) continue;
        int n = snprintf(line + used, sizeof line - used, "%s%s %s", used ? ", " : "", onnx_type_name((int)value->type),
                         onnx_shape_text(&value->shape, shape, sizeof shape));
        used += n > 0 ? (size_t)n : 0;
    }
    return copy_name(line);
}

void onnx_refuse(struct onnx_report *report, const struct onnx_node *node, const char *format, ...) {
    if (!report) return;
    va_list args;
    va_start(args, format);
    report->refusals = grow(report->refusals, report->refusal_count, sizeof *report->refusals);
    struct onnx_refusal *refusal = &report->refusals[report->refusal_count++];
    /* Names are copied: a report outlives its graph. */
    *refusal = (struct onnx_refusal){copy_name(node->name),     copy_name(node->op), input_shapes(node),
                                     format_text(format, args), node->opset,         node->refused};
    va_end(args);
}

static void free_refusal(struct onnx_refusal *refusal) {
    free((void *)refusal->node);
    free((void *)refusal->op);
    free((void *)refusal->shapes);
    free((void *)refusal->why);
}

/* Refusals of the same node stand together, in their order. */
static int by_node(const void *a, const void *b) {
    const struct onnx_refusal *x = *(struct onnx_refusal *const *)a, *y = *(struct onnx_refusal *const *)b;
    int order = strcmp(x->node, y->node);
    if (!order) order = strcmp(x->op, y->op);
    return order ? order : (x > y) - (x < y);
}

void onnx_report_once(struct onnx_report *report, size_t from) {
    const size_t count = report->refusal_count;
    struct onnx_refusal **sorted = must_calloc(count, sizeof *sorted);
    bool *again = must_calloc(count, sizeof *again);
    size_t kept = from;
    for (size_t i = 0; i < count; i++) sorted[i] = &report->refusals[i];
    if (count) qsort(sorted, count, sizeof *sorted, by_node);
    for (size_t i = 1; i < count; i++)
        again[sorted[i] - report->refusals] = !strcmp(sorted[i - 1]->node, sorted[i]->node) && !strcmp(sorted[i - 1]->op, sorted[i]->op);
    for (size_t i = from; i < count; i++) {
        if (again[i]) free_refusal(&report->refusals[i]);
        else report->refusals[kept++] = report->refusals[i];
    }
    report->refusal_count = kept;
    free(sorted);
    free(again);
}

void onnx_report_anew(struct onnx_report *report) {
    for (size_t i = 0; i < report->refusal_count; i++) free_refusal(&report->refusals[i]);
    report->refusal_count = 0;
}

void onnx_report_free(struct onnx_report *report) {
    onnx_report_anew(report);
    for (size_t i = 0; i < report->notice_count; i++) free(report->notices[i]);
    free(report->notices);
    free(report->refusals);
    *report = (struct onnx_report){0};
}
