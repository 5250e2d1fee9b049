/* SPDX-License-Identifier: MIT */
/* A blob from a file, opened, with an arena and a session of its own: what every verb but convert starts with. */
#ifndef MORSEL_TOOLS_NETWORK_MODEL_H
#define MORSEL_TOOLS_NETWORK_MODEL_H

#include "core/morsel.h"
#include "tools/base/file.h"
#include "tools/network/pool.h"

struct model {
    struct file_bytes blob;
    struct morsel_model network;
    struct morsel_session session;
    struct morsel_options options;
    uint8_t *arena;
    uint32_t arena_bytes;
    struct pool *pool;
    void *scratch; /* of model_picture() */
    size_t scratch_bytes;
    double open_seconds; /* of morsel_open() and morsel_session_open() */
};

/* Reads and opens the blob; no session yet. */
bool model_read(struct model *model, const char *path, struct failure *failure);

/* Gives it an arena and a session. */
bool model_start(struct model *model, uint32_t cpu_mask, unsigned threads, struct failure *failure);

/* Both. Where either fails, everything is given back. */
bool model_open(struct model *model, const char *path, uint32_t cpu_mask, unsigned threads, struct failure *failure);
void model_close(struct model *model);

/* An RGB8 picture into image `index` of an input, by the blob's rule. Scratch memory is kept from one to the next. */
bool model_picture(struct model *model, const uint8_t *rgb, uint32_t width, uint32_t height, const struct morsel_view *view, uint32_t index,
                   struct failure *failure);

/* "'x', float32 [1, 3, 224, 224]": type and shape as the ONNX graph states them, into `text`. */
const char *model_describe(const struct morsel_view *view, char *text, size_t size);

const char *model_type_name(enum morsel_type type); /* "float32" */
size_t model_type_bytes(enum morsel_type type);

/* "[1, 3, 224, 224]" */
const char *model_dims(const uint32_t *dims, uint32_t rank, char *text, size_t size);

/* Elements of the view; those of the ONNX shape are as many. */
size_t model_elements(const struct morsel_view *view);

#endif
