/* SPDX-License-Identifier: MIT */
/*
 * Samples for a float network: pictures, lines of text, or arrays from .npy files. Pictures and arrays stay in their files until one is
 * asked for, so that memory does not grow with them.
 */
#ifndef MORSEL_TOOLS_SAMPLES_DATA_DATA_H
#define MORSEL_TOOLS_SAMPLES_DATA_DATA_H

#include "core/format.h"
#include "core/text.h"
#include "tools/samples/dataset.h"
#include "tools/base/json.h"
#include "tools/onnx/graph.h"

struct quant_data_wish {
    /*
     * Each is a picture, a folder of pictures at any depth, or one or a folder of CIFAR-10's binary files or of .npy files. Arrays for one
     * of several inputs: NAME=PATH. With a text rule, a file otherwise named holds a text a line. The first dimension of an array counts
     * samples: [N, C, H, W], or [N, 1, C, H, W], or one sample alone.
     */
    const char *const *paths;
    size_t path_count;
    float *const *made; /* instead of paths: so many samples for each input, in memory that outlives the data */
    size_t made_count;
    size_t count; /* so many of all, chosen by the seed, as evenly over classes as can be; 0: all */
    size_t usual; /* the count where nobody asked for one: that there are fewer is not worth a notice */
    uint64_t seed;
    const struct morsel_blob_picture *rule; /* what pictures become; NULL: there is none */
    const struct morsel_text_rule *text;    /* what lines of text become; NULL: there is none */
    const struct dataset_classes
        *classes; /* of the network, where labels are wanted: the path is as dataset_open() has it. NULL: no labels */
    size_t first; /* with classes: the limit of dataset_open() */
};

struct quant_data;

/* For the inputs of a graph with one sample in its batch, or however many it states. NULL: `failure` says what is wrong, and where. */
struct quant_data *quant_data_open(const struct quant_data_wish *wish, const struct onnx_graph *graph, struct failure *failure);
void quant_data_close(struct quant_data *data); /* NULL is legal */

/* A notice where samples are so few, or so much alike, that ranges made from them say little. False: one of them cannot be read. */
bool quant_data_look(const struct quant_data *data, struct failure *failure);

/* Whether `path` names one of the files that samples come from. */
bool quant_data_reads(const struct quant_data *data, const char *path);

size_t quant_data_count(const struct quant_data *data);

/* "chosen": which samples were taken, where not all of them were: pictures by dataset_name(), those of arrays by number. */
void quant_data_json(const struct quant_data *data, struct json *json);
uint32_t quant_data_class(const struct quant_data *data, size_t index); /* with classes wished for */

/* The graph's inputs, and the numbers of each in one sample. */
size_t quant_data_inputs(const struct quant_data *data);
size_t quant_data_elements(const struct quant_data *data, size_t input);

/* Sample `index` as the graph states it: inputs[i] has room for the graph's input i. Any number of threads may ask. A number that is not
 * finite is a failure that names file and place. */
bool quant_data_load(const struct quant_data *data, size_t index, float *const *inputs, struct failure *failure);

#endif
