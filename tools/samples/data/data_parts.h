/* SPDX-License-Identifier: MIT */
/* The three kinds of data.h. */
#ifndef MORSEL_TOOLS_SAMPLES_DATA_DATA_PARTS_H
#define MORSEL_TOOLS_SAMPLES_DATA_DATA_PARTS_H

#include "core/format.h"
#include "core/morsel.h"
#include "core/text.h"
#include "tools/base/lines.h"
#include "tools/base/npy.h"
#include "tools/samples/data/data.h"

/* Pictures for a network with one input. */
struct data_pictures {
    struct dataset dataset;
    struct morsel_blob_picture rule; /* floats by it are what the blob's bytes are made from */
    struct morsel_view view;         /* of the input; data is set for each picture */
    enum onnx_type type;             /* of the input: bytes get whole numbers */
};

/* What stands in the dataset is for `input`, by the rule; NULL: there is none, which is a failure. */
bool data_pictures_fit(struct data_pictures *pictures, const struct onnx_value *input, const struct morsel_blob_picture *rule,
                       struct failure *failure);
/* One picture as the input takes it; one of the dataset. */
bool data_pictures_put(const struct data_pictures *pictures, const struct image *image, float *out, struct failure *failure);
bool data_pictures_load(const struct data_pictures *pictures, size_t index, float *out, struct failure *failure);
void data_pictures_close(struct data_pictures *pictures);

/* The arrays for one input, one behind the other. */
struct data_arrays {
    const struct onnx_value *input;
    struct data_array {
        char *path;
        struct npy_source source;
        size_t first, samples;
    } * list;
    size_t count, samples;
};

bool data_arrays_add(struct data_arrays *arrays, const char *path, struct failure *failure);
/* Numbers in memory, which stay the caller's, and are whole where the input is of integers. */
void data_arrays_take(struct data_arrays *arrays, float *numbers, size_t samples);
bool data_arrays_load(const struct data_arrays *arrays, size_t index, float *out, struct failure *failure);
void data_arrays_close(struct data_arrays *arrays);

/* Lines of text for networks whose inputs are those of a text rule. */
struct data_texts {
    const struct morsel_text_rule *rule;
    const struct onnx_graph *graph;
    struct data_file {
        char *path;
        struct lines lines;
    } files[16];
    size_t file_count, count;
};

bool data_texts_fit(struct data_texts *texts, const struct onnx_graph *graph, struct failure *failure);
/* The lines of a file, without their ends. */
bool data_texts_add(struct data_texts *texts, const char *path, struct failure *failure);
bool data_texts_load(const struct data_texts *texts, size_t index, float *const *inputs, struct failure *failure);
void data_texts_close(struct data_texts *texts);

/* "'input', float32 [1, 3, 224, 224]" */
const char *data_describe(const struct onnx_value *value, char *text, size_t size);

#endif
