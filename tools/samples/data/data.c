/* SPDX-License-Identifier: MIT */
/* Opens what lies at a path as samples, whatever kind it is. */
#include "tools/samples/data/data.h"
#include "tools/base/arena.h"
#include "tools/base/folder.h"
#include "tools/samples/data/choice.h"
#include "tools/samples/data/data_parts.h"
#include "tools/base/message.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct quant_data {
    const struct onnx_graph *graph;
    struct data_pictures pictures;
    struct data_arrays *arrays; /* [the graph's inputs]; those without files stay empty */
    struct data_texts texts;
    bool has_pictures, has_arrays;
    size_t total, count;
    size_t *chosen; /* [count]; NULL: all, as they lie */
};

/* --- What lies at a path --- */

static bool is_array(const char *name) {
    return folder_ends(name, ".npy");
}

static bool is_any(const char *name) {
    return is_array(name) || image_name(name) || folder_ends(name, ".bin");
}

static bool add_pictures(struct quant_data *data, const char *path, struct failure *failure) {
    data->has_pictures = true;
    if (data->graph->input_count != 1)
        return failure_set(failure, STATUS_INPUT,
                           "%s: pictures are for networks with one input, and this one has %zu; NAME=X.npy gives one an array", path,
                           data->graph->input_count);
    return dataset_add(&data->pictures.dataset, path, failure);
}

static bool nothing_there(const char *path, struct failure *failure) {
    return failure_set(failure, STATUS_INPUT,
                       "%s holds neither pictures (JPEG, PNG, PPM, PGM, BMP) nor .npy files nor CIFAR-10's .bin files", path);
}

/* A folder holds arrays or pictures. */
static bool add_folder(struct quant_data *data, const char *path, size_t input, struct failure *failure) {
    struct folder_files files = {0};
    size_t arrays = 0;
    bool good = folder_walk(path, is_any, &files, failure);
    for (size_t i = 0; i < files.count; i++) arrays += is_array(files.list[i].path);
    if (good && !files.count) good = nothing_there(path, failure);
    else if (good && arrays && arrays < files.count)
        good = failure_set(failure, STATUS_INPUT,
                           "%s holds %zu .npy files and %zu others (%s ...): which? Name a folder that holds one kind", path, arrays,
                           files.count - arrays, is_array(files.list[0].path) ? files.list[files.count - 1].path : files.list[0].path);
    else if (good && !arrays) good = add_pictures(data, path, failure);
    for (size_t i = 0; good && arrays && i < files.count; i++) good = data_arrays_add(&data->arrays[input], files.list[i].path, failure);
    data->has_arrays = data->has_arrays || arrays;
    folder_free(&files);
    return good;
}

static bool add_path(struct quant_data *data, const char *path, size_t input, struct failure *failure) {
    if (folder_is(path)) return add_folder(data, path, input, failure);
    if (folder_ends(path, ".npz"))
        return failure_set(failure, STATUS_INPUT, "%s is an archive of arrays: save each alone, with numpy.save()", path);
    if (!is_array(path)) return add_pictures(data, path, failure);
    data->has_arrays = true;
    return data_arrays_add(&data->arrays[input], path, failure);
}

/* "'x', float32 [1, 4]; ..." */
static bool which_input(const struct onnx_graph *graph, const char *text, struct failure *failure) {
    char all[512] = "", one[256];
    for (size_t i = 0; i < graph->input_count; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", i ? "; " : "", data_describe(graph->inputs[i], one, sizeof one));
    }
    const char *lines = folder_ends(text, ".txt") ? " (lines of text want a text rule: --text RULE.json)" : "";
    return failure_set(failure, STATUS_CALL, "%.100s: for which input? Say NAME=PATH, NAME being one of: %s%s", text, all, lines);
}

/* A text rule says which inputs a line of text fills. */
static bool add_lines(struct quant_data *data, const char *path, struct failure *failure) {
    if (!data->texts.graph && !data_texts_fit(&data->texts, data->graph, failure)) return false;
    return data_texts_add(&data->texts, path, failure);
}

static bool is_text(const struct quant_data *data, const char *path) {
    return data->texts.rule && !is_any(path) && !folder_ends(path, ".npz") && !folder_is(path) && !access(path, F_OK);
}

/* NAME=PATH, a file of lines, or another path alone where there is one input. */
static bool add_text(struct quant_data *data, const char *text, struct failure *failure) {
    const struct onnx_graph *graph = data->graph;
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < graph->input_count; i++)
        if (strlen(graph->inputs[i]->name) == (size_t)(equals - text) && !strncmp(graph->inputs[i]->name, text, (size_t)(equals - text)))
            return add_path(data, equals + 1, i, failure);
    if (is_text(data, text)) return add_lines(data, text, failure);
    bool clear = graph->input_count == 1 && (!equals || !access(text, F_OK));
    return clear ? add_path(data, text, 0, failure) : which_input(graph, text, failure);
}

/* --- All of it --- */

static bool count_arrays(struct quant_data *data, struct failure *failure) {
    const struct onnx_graph *graph = data->graph;
    data->total = data->arrays[0].samples;
    for (size_t i = 0; i < graph->input_count; i++) {
        char text[256];
        if (!data->arrays[i].count)
            return failure_set(failure, STATUS_CALL, "input %s has no data: give it NAME=X.npy",
                               data_describe(graph->inputs[i], text, sizeof text));
        if (data->arrays[i].samples != data->total)
            return failure_set(failure, STATUS_INPUT, "there are %zu samples for input '%s' and %zu for '%s'", data->total,
                               graph->inputs[0]->name, data->arrays[i].samples, graph->inputs[i]->name);
    }
    return true;
}

static bool fill(struct quant_data *data, const struct quant_data_wish *wish, struct failure *failure) {
    bool good = wish->path_count || wish->made || failure_set(failure, STATUS_CALL, "no data is named");
    for (size_t i = 0; good && wish->made && i < data->graph->input_count; i++)
        data_arrays_take(&data->arrays[i], wish->made[i], wish->made_count);
    data->has_arrays = wish->made != NULL;
    for (size_t i = 0; good && !wish->classes && i < wish->path_count; i++) good = add_text(data, wish->paths[i], failure);
    if (good && wish->classes) {
        data->has_pictures = true;
        good = (wish->path_count == 1 ||
                failure_set(failure, STATUS_CALL, "pictures with labels are wanted from one path, not %zu", wish->path_count)) &&
               dataset_open(&data->pictures.dataset, wish->paths[0], wish->first, wish->classes, failure);
    }
    if (good && data->has_pictures + data->has_arrays + (data->texts.count > 0) > 1)
        good = failure_set(failure, STATUS_CALL, "%s are both given; a network is measured on one or the other",
                           !data->texts.count ? "pictures and arrays"
                           : data->has_arrays ? "texts and arrays"
                                              : "texts and pictures");
    if (good && data->texts.count) {
        data->total = data->texts.count;
        return true;
    }
    if (!good || data->has_arrays) return good && count_arrays(data, failure);
    data->total = data->pictures.dataset.count;
    return data_pictures_fit(&data->pictures, data->graph->inputs[0], wish->rule, failure);
}

static void choose(struct quant_data *data, const struct quant_data_wish *wish) {
    data->count = data->total;
    if (wish->count > data->total && wish->count != wish->usual)
        message_notice("%s%s: %zu sample%s, fewer than the %zu asked for: all are taken", wish->paths[0],
                       wish->path_count > 1 ? " ..." : "", data->total, data->total == 1 ? "" : "s", wish->count);
    if (!wish->count || wish->count >= data->total) return;
    uint32_t *classes = data->has_pictures ? must_calloc(data->total, sizeof *classes) : NULL;
    for (size_t i = 0; classes && i < data->total; i++) classes[i] = data->pictures.dataset.items[i].class;
    data->count = wish->count;
    data->chosen = must_have(choice_of(classes, data->total, wish->count, wish->seed), data->total * sizeof *data->chosen);
    free(classes);
}

struct quant_data *quant_data_open(const struct quant_data_wish *wish, const struct onnx_graph *graph, struct failure *failure) {
    struct quant_data *data = must_calloc(1, sizeof *data);
    data->arrays = must_calloc(graph->input_count + 1, sizeof *data->arrays);
    data->graph = graph;
    data->texts.rule = wish->text;
    for (size_t i = 0; i < graph->input_count; i++) data->arrays[i].input = graph->inputs[i];
    if (!fill(data, wish, failure)) {
        quant_data_close(data);
        return NULL;
    }
    choose(data, wish);
    return data;
}

void quant_data_close(struct quant_data *data) {
    if (!data) return;
    for (size_t i = 0; i < data->graph->input_count; i++) data_arrays_close(&data->arrays[i]);
    data_pictures_close(&data->pictures);
    data_texts_close(&data->texts);
    free(data->arrays);
    free(data->chosen);
    free(data);
}

bool quant_data_reads(const struct quant_data *data, const char *path) {
    const struct dataset *pictures = &data->pictures.dataset;
    if (!path || access(path, F_OK)) return false;
    for (size_t i = 0; i < pictures->count; i++)
        if (file_same(path, pictures->items[i].path)) return true;
    for (size_t i = 0; i < pictures->file_count; i++)
        if (file_same(path, pictures->files[i])) return true;
    for (size_t i = 0; i < data->texts.file_count; i++)
        if (file_same(path, data->texts.files[i].path)) return true;
    for (size_t i = 0; i < data->graph->input_count; i++)
        for (size_t k = 0; k < data->arrays[i].count; k++)
            if (file_same(path, data->arrays[i].list[k].path)) return true;
    return false;
}

size_t quant_data_count(const struct quant_data *data) {
    return data->count;
}

void quant_data_json(const struct quant_data *data, struct json *json) {
    if (!data->chosen) return;
    char text[4200];
    json_open_array(json, "chosen");
    for (size_t i = 0; i < data->count; i++)
        if (data->has_pictures) json_text(json, NULL, dataset_name(&data->pictures.dataset, data->chosen[i], text, sizeof text));
        else json_integer(json, NULL, (int64_t)data->chosen[i]);
    json_close_array(json);
}

uint32_t quant_data_class(const struct quant_data *data, size_t index) {
    return data->has_pictures ? data->pictures.dataset.items[data->chosen ? data->chosen[index] : index].class : 0;
}

size_t quant_data_inputs(const struct quant_data *data) {
    return data->graph->input_count;
}

size_t quant_data_elements(const struct quant_data *data, size_t input) {
    return (size_t)onnx_elements(&data->graph->inputs[input]->shape);
}

bool quant_data_load(const struct quant_data *data, size_t index, float *const *inputs, struct failure *failure) {
    size_t sample = data->chosen ? data->chosen[index] : index;
    if (data->has_pictures) return data_pictures_load(&data->pictures, sample, inputs[0], failure);
    if (data->texts.count) return data_texts_load(&data->texts, sample, inputs, failure);
    bool good = true;
    for (size_t i = 0; good && i < data->graph->input_count; i++) good = data_arrays_load(&data->arrays[i], sample, inputs[i], failure);
    return good;
}
