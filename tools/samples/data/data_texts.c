/* SPDX-License-Identifier: MIT */
/* Lines of text as samples: each becomes token ids, a mask and token types, by a text rule. */
#include "tools/base/arena.h"
#include "tools/base/file.h"
#include "tools/samples/data/data_parts.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1 << 24 };

/* Which of a text's three inputs the graph's input is; -1: none of them. */
static int role_of(const struct onnx_value *input) {
    static const char *const names[] = {"input_ids", "attention_mask", "token_type_ids"};
    for (int k = 0; k < 3; k++)
        if (!strcmp(input->name, names[k])) return input->type == ONNX_INT64 || input->type == ONNX_INT32 ? k : -1;
    return -1;
}

bool data_texts_fit(struct data_texts *texts, const struct onnx_graph *graph, struct failure *failure) {
    char text[256];
    for (size_t i = 0; i < graph->input_count; i++) {
        const int64_t elements = onnx_elements(&graph->inputs[i]->shape);
        if (role_of(graph->inputs[i]) < 0)
            return failure_set(failure, STATUS_INPUT, "%s is no input that a text rule fills: give it NAME=X.npy, and the others as well",
                               data_describe(graph->inputs[i], text, sizeof text));
        if (graph->inputs[i]->shape.rank != 2 || graph->inputs[i]->shape.dims[0] != 1 || elements < 1 || elements > INT32_MAX / 4)
            return failure_set(failure, STATUS_INPUT, "%s: lines of text are for one text at a time: --dim batch=1",
                               data_describe(graph->inputs[i], text, sizeof text));
    }
    texts->graph = graph;
    return true;
}

static void add_lines(struct data_texts *texts, const struct file_bytes *file) {
    const char *at = (const char *)file->data, *end = at + file->size;
    size_t most = texts->count + 1;
    for (size_t i = 0; i < file->size; i++) most += at[i] == '\n';
    texts->lines = must_have(realloc(texts->lines, most * sizeof *texts->lines), most * sizeof *texts->lines);
    while (at < end && texts->count < LINES_MOST) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        texts->lines[texts->count++] = (struct data_line){at, length - (length && at[length - 1] == '\r')};
        at += length + 1;
    }
}

bool data_texts_add(struct data_texts *texts, const char *path, struct failure *failure) {
    if (texts->file_count == sizeof texts->files / sizeof *texts->files)
        return failure_set(failure, STATUS_INPUT, "%s: there are more text files than %zu", path, texts->file_count);
    struct data_file *file = &texts->files[texts->file_count];
    if (!file_read(path, 1 << 30, &file->bytes, failure)) return false;
    file->path = must_have(strdup(path), strlen(path));
    texts->file_count++;
    const size_t before = texts->count;
    add_lines(texts, &file->bytes);
    return texts->count > before || failure_set(failure, STATUS_INPUT, "%s holds no line", path);
}

bool data_texts_load(const struct data_texts *texts, size_t index, float *const *inputs, struct failure *failure) {
    const struct data_line line = texts->lines[index];
    for (size_t i = 0; i < texts->graph->input_count; i++) {
        const size_t n = (size_t)onnx_elements(&texts->graph->inputs[i]->shape);
        const int role = role_of(texts->graph->inputs[i]);
        int32_t *ids = must_calloc(n, sizeof *ids);
        uint32_t count = 0;
        const enum morsel_error error = morsel_text_by_rule(texts->rule, line.text, line.bytes, ids, n, &count);
        for (size_t k = 0; k < n; k++) inputs[i][k] = role == 0 ? (float)ids[k] : role == 1 && k < count ? 1.0F : 0.0F;
        free(ids);
        if (error) return failure_set(failure, STATUS_INPUT, "line %zu of the texts: %s", index + 1, morsel_error_text(error));
    }
    return true;
}

void data_texts_close(struct data_texts *texts) {
    for (size_t i = 0; i < texts->file_count; i++) {
        file_free(&texts->files[i].bytes);
        free(texts->files[i].path);
    }
    free(texts->lines);
}
