/* SPDX-License-Identifier: MIT */
/* A session: the caller's arena, a prepared call for each step, and views of what goes in and out. */
#include "plan.h"
#include "sized.h"
#include "way.h"

#include <string.h>

static int aligned(const void *p) {
    return ((uintptr_t)p & (MORSEL_ALIGNMENT - 1)) == 0;
}

static enum morsel_error take_options(struct morsel_options *own, const struct morsel_options *options) {
    memset(own, 0, sizeof *own);
    if (options && !morsel_copy_sized(own, sizeof *own, options)) return MORSEL_ERR_OPTIONS;
    if (!own->cpu_mask) own->cpu_mask = UINT32_MAX;
    if (!own->tasks || !own->parallel_for || !morsel_ways[MORSEL_MODE_CHAIN]) own->tasks = 1;
    if (own->tasks > MORSEL_MOST_TASKS) own->tasks = MORSEL_MOST_TASKS;
    return own->flags ? MORSEL_ERR_OPTIONS : MORSEL_OK;
}

void morsel_count_bands(struct morsel_session *session, size_t room) {
    session->bands = 1;
    session->spare_bytes = morsel_spare_bytes(session->model);
    session->band_bytes = morsel_band_bytes(session->model);
    if (session->band_bytes && room >= session->spare_bytes) {
        size_t more = (room - session->spare_bytes) / session->band_bytes;
        session->bands = more < session->options.tasks - 1 ? (uint32_t)more + 1 : session->options.tasks;
    }
    if (session->band_bytes && session->bands < session->options.tasks) session->options.barrier = NULL;
}

/* Where the arena lies, of which `arena` has to hold all that has no block of its own. */
static enum morsel_error take_blocks(struct morsel_session *session, const struct morsel_model *model, void *arena, size_t arena_bytes) {
    const struct morsel_blob_header *h = morsel_blob_header(model);
    const struct morsel_options *options = &session->options;
    uint32_t own = options->fast ? morsel_fast_from(h) : h->arena_bytes;
    if (!aligned(options->fast)) return MORSEL_ERR_ALIGNMENT;
    if (options->fast && options->fast_bytes < morsel_fast_bytes(h)) return MORSEL_ERR_ARENA;
    if (arena_bytes < own) return MORSEL_ERR_ARENA;
    session->model = model;
    session->arena = arena;
    session->fast = options->fast ? options->fast : session->arena + morsel_fast_from(h);
    session->behind = session->arena + own;
    session->behind_bytes = arena_bytes - own;
    session->bands = 1;
    if (options->tasks > 1) morsel_ways[MORSEL_MODE_CHAIN]->bands(session, arena_bytes - own);
    else session->options.barrier = NULL;
    return MORSEL_OK;
}

enum morsel_error morsel_session_open(struct morsel_session *session, const struct morsel_model *model, void *arena, size_t arena_bytes,
                                      const struct morsel_options *options) {
    struct morsel_kernels kernels;
    if (!session) return MORSEL_ERR_ARGUMENT;
    memset(session, 0, sizeof *session);
    if (!model || model->opened != MORSEL_OPENED || !arena) return MORSEL_ERR_ARGUMENT;
    if (!aligned(arena)) return MORSEL_ERR_ALIGNMENT;
    enum morsel_error error = take_options(&session->options, options);
    if (!error) error = take_blocks(session, model, arena, arena_bytes);
    if (error) return error;
    session->steps = arena;
    session->step_count = morsel_blob_header(model)->steps.count;
    session->cpu = morsel_kernels_start(&kernels, morsel_cpu_features() & session->options.cpu_mask);
    morsel_plan(session);
    return MORSEL_OK;
}

static enum morsel_error view_of(const struct morsel_session *session, const struct morsel_blob_section *section, uint32_t index,
                                 struct morsel_view *view) {
    if (index >= section->count) return MORSEL_ERR_ARGUMENT;
    const struct morsel_blob_io *io = (const struct morsel_blob_io *)morsel_blob_at(session->model, section->offset) + index;
    morsel_view_tensor(view, session, morsel_blob_tensor(session->model, io->tensor));
    view->name = morsel_blob_string(session->model, io->name);
    view->onnx_type = (enum morsel_type)io->onnx_type;
    view->onnx_rank = io->onnx_rank;
    memcpy(view->onnx_dims, io->onnx_dims, sizeof view->onnx_dims);
    return MORSEL_OK;
}

enum morsel_error morsel_input(const struct morsel_session *session, uint32_t index, struct morsel_view *view) {
    if (!session || !session->model || !view) return MORSEL_ERR_ARGUMENT;
    return view_of(session, &morsel_blob_header(session->model)->inputs, index, view);
}

enum morsel_error morsel_output(const struct morsel_session *session, uint32_t index, struct morsel_view *view) {
    if (!session || !session->model || !view) return MORSEL_ERR_ARGUMENT;
    return view_of(session, &morsel_blob_header(session->model)->outputs, index, view);
}

static int same_name(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static enum morsel_error view_named(const struct morsel_session *session, size_t section, const char *name, struct morsel_view *view) {
    if (!session || !session->model || !view || !name || !*name) return MORSEL_ERR_ARGUMENT;
    const struct morsel_blob_section *list = (const void *)(session->model->blob + section);
    const struct morsel_blob_io *io = morsel_blob_at(session->model, list->offset);
    uint32_t i = 0;
    while (i < list->count && !same_name(name, morsel_blob_string(session->model, io[i].name))) i++;
    return view_of(session, list, i, view);
}

enum morsel_error morsel_input_named(const struct morsel_session *session, const char *name, struct morsel_view *view) {
    return view_named(session, offsetof(struct morsel_blob_header, inputs), name, view);
}

enum morsel_error morsel_output_named(const struct morsel_session *session, const char *name, struct morsel_view *view) {
    return view_named(session, offsetof(struct morsel_blob_header, outputs), name, view);
}
