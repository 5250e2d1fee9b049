/* SPDX-License-Identifier: MIT */
/* Lines of text as samples: each becomes token ids, a mask and token types, by a text rule. */
#include "tools/base/arena.h"
#include "tools/samples/data/data_parts.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 1 << 30 };

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

bool data_texts_add(struct data_texts *texts, const char *path, struct failure *failure) {
    if (texts->file_count == sizeof texts->files / sizeof *texts->files)
        return failure_set(failure, STATUS_INPUT, "%s: there are more text files than %zu", path, texts->file_count);
    struct data_file *file = &texts->files[texts->file_count++];
    file->path = must_have(strdup(path), strlen(path));
    if (!lines_read(&file->lines, path, BYTES_MOST, failure)) return false;
    texts->count += file->lines.count;
    return true;
}

static struct line line_at(const struct data_texts *texts, size_t index) {
    const struct data_file *file = texts->files;
    for (; index >= file->lines.count; file++) index -= file->lines.count;
    return file->lines.list[index];
}

bool data_texts_load(const struct data_texts *texts, size_t index, float *const *inputs, struct failure *failure) {
    const struct line line = line_at(texts, index);
    int32_t *ids = NULL;
    uint32_t count = 0;
    for (size_t i = 0, filled = 0; i < texts->graph->input_count; i++) {
        const size_t n = (size_t)onnx_elements(&texts->graph->inputs[i]->shape);
        const int role = role_of(texts->graph->inputs[i]);
        if (n != filled) {
            ids = must_have(realloc(ids, n * sizeof *ids), n * sizeof *ids);
            const enum morsel_error error = morsel_text_by_rule(texts->rule, line.text, line.bytes, ids, n, &count);
            if (error) free(ids);
            if (error) return failure_set(failure, STATUS_INPUT, "line %zu of the texts: %s", index + 1, morsel_error_text(error));
            filled = n;
        }
        for (size_t k = 0; k < n; k++) inputs[i][k] = role == 0 ? (float)ids[k] : role == 1 && k < count ? 1.0F : 0.0F;
    }
    free(ids);
    return true;
}

void data_texts_close(struct data_texts *texts) {
    for (size_t i = 0; i < texts->file_count; i++) {
        lines_free(&texts->files[i].lines);
        free(texts->files[i].path);
    }
}
