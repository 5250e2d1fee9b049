/* SPDX-License-Identifier: MIT */
/* Which file of a call of `morsel run` is for what, and that none is for two things. */
#include "tools/base/file.h"
#include "tools/network/tensor.h"
#include "tools/verbs/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "0: 'x', float32 [1, 3, 32, 32]; ..." */
static bool names_wanted(const struct network_tensor *list, uint32_t count, const char *option, const char *text, struct failure *failure) {
    char all[512] = "", one[256];
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%u: %s", i ? "; " : "", i, tensor_describe(&list[i], one, sizeof one));
    }
    return failure_set(failure, STATUS_CALL, "%s %.100s: which one? Say NAME=FILE.npy, NAME being a name or number of: %s", option, text,
                       all);
}

/* The index that NAME of "NAME=FILE" stands for: a name, else a number; -1 for neither. */
static int find_name(const struct network_tensor *list, uint32_t count, const char *text, size_t length) {
    for (uint32_t i = 0; i < count; i++)
        if (strlen(list[i].name) == length && !strncmp(list[i].name, text, length)) return (int)i;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    return length && end == text + length && number < count ? (int)number : -1;
}

/* Gives each "FILE" or "NAME=FILE" its input or output. */
static bool bind(const struct network_tensor *list, uint32_t count, const struct option_texts *texts, const char *option,
                 const char **paths, struct failure *failure) {
    for (int i = 0; i < texts->count; i++) {
        const char *text = texts->values[i], *equals = strchr(text, '=');
        int index = equals ? find_name(list, count, text, (size_t)(equals - text)) : -1;
        const char *path = index >= 0 ? equals + 1 : text;
        if (index < 0 && count == 1 && (!equals || access(text, F_OK) == 0)) index = 0;
        if (index < 0) return names_wanted(list, count, option, text, failure);
        if (paths[index]) return failure_set(failure, STATUS_CALL, "%s: '%s' is given twice", option, list[index].name);
        paths[index] = path;
    }
    return true;
}

static bool few(uint32_t count, const char *what, struct failure *failure) {
    return (count && count <= IO_MOST) ||
           failure_set(failure, STATUS_INPUT, "the network has %u %s; this verb takes 1 to %d", count, what, IO_MOST);
}

bool run_bind_inputs(struct job *job, struct failure *failure) {
    const struct network *n = &job->network;
    return few(n->input_count, "inputs", failure) &&
           bind(n->inputs, n->input_count, &job->input_texts, "--input", job->input_paths, failure);
}

static bool mask_differs(const struct job *job, struct failure *failure) {
    const char *path = job->results.mask;
    if (!path) return true;
    bool read = network_reads(&job->network, path), written = false;
    for (uint32_t k = 0; k < job->picture_count; k++) read = read || file_same(path, job->pictures[k]);
    for (uint32_t i = 0; i < job->network.output_count; i++) written = written || file_same(path, job->output_paths[i]);
    if (read || written)
        return failure_set(failure, STATUS_CALL, "--mask %s would be written over: it is %s as well", path,
                           read ? "read" : "another output");
    return file_can_write(path, failure);
}

static bool drawings_differ(struct job *job, struct failure *failure) {
    struct drawings *drawings = &job->drawings;
    if (!job->draw) return true;
    if (!drawings_plan(drawings, job->draw, &job->named, failure)) return false;
    for (size_t k = 0; k < drawings->count; k++) {
        bool written = file_same(drawings->paths[k], job->results.mask);
        for (uint32_t i = 0; i < job->network.output_count; i++) written = written || file_same(drawings->paths[k], job->output_paths[i]);
        if (written)
            return failure_set(failure, STATUS_CALL, "--draw %s would be written over: it is another output as well", drawings->paths[k]);
    }
    return drawings_can_write(drawings, &job->named, &job->network, failure);
}

/* No output goes where something is read from, or where another output goes. */
static bool files_differ(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->network.output_count; i++) {
        const char *path = job->output_paths[i];
        if (!file_can_write(path, failure)) return false;
        bool read = path && network_reads(&job->network, path), written = false;
        for (uint32_t k = 0; !read && k < job->network.input_count; k++) read = file_same(path, job->input_paths[k]);
        for (uint32_t k = 0; path && !read && k < job->picture_count; k++) read = file_same(path, job->pictures[k]);
        for (uint32_t k = 0; k < i; k++) written = written || (file_same(path, job->output_paths[k]) && strncmp(path, "/dev/", 5));
        if (read || written)
            return failure_set(failure, STATUS_CALL, "--output %s would be written over: it is %s as well", path,
                               read ? "read" : "another output");
    }
    return drawings_differ(job, failure) && mask_differs(job, failure);
}

bool run_bind_outputs(struct job *job, struct failure *failure) {
    const struct network *n = &job->network;
    return few(n->output_count, "outputs", failure) &&
           bind(n->outputs, n->output_count, &job->output_texts, "--output", job->output_paths, failure) && files_differ(job, failure);
}

bool run_check_call(const struct job *job, struct failure *failure) {
    if (job->picture_count && job->input_texts.count)
        return failure_set(failure, STATUS_CALL, "pictures and --input are both given; a run takes one or the other");
    if (job->texts.count && (job->picture_count || job->input_texts.count))
        return failure_set(failure, STATUS_CALL, "--text is given, and pictures or --input as well; a run takes one or the other");
    if (!job->picture_count && !job->input_texts.count && !job->texts.count)
        return failure_set(failure, STATUS_CALL, "there is nothing to run on: give pictures, --input X.npy or --text TEXT");
    if (!job->picture_count && job->call.picture && network_is_onnx(job->call.path))
        return failure_set(failure, STATUS_CALL, "--picture is for pictures: name some behind the network");
    if (job->csv && (!job->picture_count || job->output_texts.count || job->results.check_names))
        return failure_set(failure, STATUS_CALL, "--csv is for pictures, without --output and --check-names");
    if (job->csv && !strcmp(job->csv, "-"))
        return failure_set(failure, STATUS_CALL, "--csv - would be a file of that name: --csv /dev/stdout writes to stdout");
    if ((job->draw || job->results.mask) && (job->csv || !job->picture_count))
        return failure_set(failure, STATUS_CALL, "%s is for a picture, without --csv", job->draw ? "--draw" : "--mask");
    return true;
}
