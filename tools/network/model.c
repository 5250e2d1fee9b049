/* SPDX-License-Identifier: MIT */
#include "tools/network/model.h"
#include "core/blob.h"
#include "tools/base/clock.h"
#include "tools/base/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

/* "step 12: ", where the blob was found at fault; "" where that is no part of it. */
static const char *part_of(const struct morsel_model *network, char *text, size_t size) {
    static const char *const names[] = {"", "tensor", "step", "group", "input", "output", "label"};
    uint32_t index;
    enum morsel_part part = morsel_open_part(network, &index);
    *text = 0;
    if (part != MORSEL_PART_BLOB) snprintf(text, size, "%s %u: ", names[part], index);
    return text;
}

static bool open_failed(const struct model *model, const char *path, enum morsel_error error, struct failure *failure) {
    char part[32];
    const char *advice = "; write it anew with 'morsel convert'";
    if (error == MORSEL_ERR_MAGIC || error == MORSEL_ERR_TRUNCATED)
        advice = ends_with(path, ".onnx") ? "; of an ONNX file a blob is made first: by morsel convert if it is quantized, by "
                                            "morsel quantize if it is float"
                                          : "; a blob is what 'morsel convert' writes";
    return failure_set(failure, STATUS_INPUT, "%s: %s%s%s", path, part_of(&model->network, part, sizeof part), morsel_error_text(error),
                       advice);
}

bool model_read(struct model *model, const char *path, struct failure *failure) {
    memset(model, 0, sizeof *model);
    if (!file_read(path, INT32_MAX, &model->blob, failure)) return false;
    double start = clock_seconds();
    enum morsel_error error = morsel_open(&model->network, model->blob.data, model->blob.size, 0);
    model->open_seconds = clock_seconds() - start;
    if (!error) return true;
    model_close(model);
    return open_failed(model, path, error, failure);
}

bool model_start(struct model *model, uint32_t cpu_mask, unsigned threads, struct failure *failure) {
    model->arena_bytes = morsel_arena_bytes_for(&model->network, threads);
    if (!model->arena_bytes) return failure_set(failure, STATUS_CALL, "the arena for %u threads would take more than 2^31 bytes", threads);
    model->arena = aligned_alloc(MORSEL_ALIGNMENT, ((size_t)model->arena_bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT);
    if (!model->arena) return failure_memory(failure, model->arena_bytes);
    model->options.size = sizeof model->options;
    model->options.cpu_mask = cpu_mask;
    if (threads > 1) {
        if (!(model->pool = pool_open(threads, failure))) return false;
        model->options.parallel_for = pool_run;
        model->options.parallel_ctx = model->pool;
        model->options.tasks = threads;
        if (pool_processors() >= threads) model->options.barrier = pool_barrier;
    }
    double start = clock_seconds();
    enum morsel_error error = morsel_session_open(&model->session, &model->network, model->arena, model->arena_bytes, &model->options);
    model->open_seconds += clock_seconds() - start;
    return !error || failure_set(failure, STATUS_INPUT, "no session can be opened: %s", morsel_error_text(error));
}

bool model_open(struct model *model, const char *path, uint32_t cpu_mask, unsigned threads, struct failure *failure) {
    if (!model_read(model, path, failure)) return false;
    if (model_start(model, cpu_mask, threads, failure)) return true;
    model_close(model);
    return failure_prefix(failure, path);
}

void model_close(struct model *model) {
    pool_close(model->pool);
    free(model->arena);
    free(model->scratch);
    file_free(&model->blob);
    model->pool = NULL;
    model->arena = NULL;
    model->scratch = NULL;
}

/* A picture whose size the rule leaves alone, or not enough alone: what it is and what is wanted. */
static bool picture_misfits(const struct model *model, uint32_t width, uint32_t height, const struct morsel_view *view,
                            struct failure *failure) {
    const struct morsel_blob_header *header = morsel_blob_header(&model->network);
    const struct morsel_blob_picture *rule = morsel_blob_at(&model->network, header->picture.offset);
    const uint32_t *sides = view->dims + (view->rank - 3), channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    if (view->layout == MORSEL_ROW_MAJOR && sides[0] == channels) sides++; /* C H W; else H W C */
    const char *does = rule->resize == MORSEL_RESIZE_NONE ? "does not resize" : "resizes the short side and does not crop";
    return failure_set(failure, STATUS_INPUT, "the picture is %u x %u (width x height); the blob's rule %s, so %u x %u is wanted", width,
                       height, does, sides[1], sides[0]);
}

bool model_picture(struct model *model, const uint8_t *rgb, uint32_t width, uint32_t height, const struct morsel_view *view, uint32_t index,
                   struct failure *failure) {
    size_t bytes = morsel_picture_bytes(&model->network, width, height);
    if (!bytes) return failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(MORSEL_ERR_PICTURE));
    if (bytes > model->scratch_bytes) {
        free(model->scratch);
        model->scratch = aligned_alloc(MORSEL_ALIGNMENT, (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT);
        model->scratch_bytes = model->scratch ? bytes : 0;
    }
    if (!model->scratch) return failure_memory(failure, bytes);
    enum morsel_error error =
        morsel_picture(&model->network, rgb, (size_t)width * height * 3, width, height, 0, model->scratch, bytes, view, index);
    if (error == MORSEL_ERR_PICTURE && view->rank >= 3) return picture_misfits(model, width, height, view, failure);
    return !error || failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(error));
}

const char *model_type_name(enum morsel_type type) {
    static const char *const names[] = {"uint8", "int8", "int32", "float32"};
    return (unsigned)type < 4 ? names[type] : "?";
}

size_t model_type_bytes(enum morsel_type type) {
    return type == MORSEL_UINT8 || type == MORSEL_INT8 ? 1 : 4;
}

const char *model_dims(const uint32_t *dims, uint32_t rank, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < rank && at < size; i++) at += (size_t)snprintf(text + at, size - at, "%s%u", i ? ", " : "", dims[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

const char *model_describe(const struct morsel_view *view, char *text, size_t size) {
    char dims[128];
    snprintf(text, size, "'%s', %s %s", view->name, model_type_name(view->onnx_type),
             model_dims(view->onnx_dims, view->onnx_rank, dims, sizeof dims));
    return text;
}

size_t model_elements(const struct morsel_view *view) {
    return view->bytes / model_type_bytes(view->type);
}
