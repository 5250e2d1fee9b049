/* SPDX-License-Identifier: MIT */
/* morsel run: a network on pictures, or on tensors from .npy files. */
#include "core/morsel.h"
#include "tools/base/clock.h"
#include "tools/samples/image/image.h"
#include "tools/base/options.h"
#include "tools/verbs/results.h"
#include "tools/verbs/host/run_float.h"
#include "tools/network/scores.h"
#include "tools/network/tensor.h"
#include "tools/verbs/verbs.h"
#include "tools/base/message.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IO_MOST = 512 };

/* An input or output with the file that it comes from or goes to. */
struct bound {
    struct morsel_view view;
    const char *path; /* NULL: not asked for */
    struct npy array; /* inputs */
    uint8_t *stacked; /* outputs: every run's values, one behind the other */
};

struct job {
    struct model model;
    struct option_texts input_texts, output_texts;
    uint32_t input_count, output_count;
    struct bound inputs[IO_MOST], outputs[IO_MOST];
    uint32_t runs;
    float *scores;
    struct results results;
    const char *picture, *labels; /* of an ONNX file */
    bool want_json;
};

static bool get_views(struct job *job, struct failure *failure) {
    job->input_count = morsel_input_count(&job->model.network);
    job->output_count = morsel_output_count(&job->model.network);
    if (job->input_count > IO_MOST || job->output_count > IO_MOST || !job->input_count || !job->output_count)
        return failure_set(failure, STATUS_INPUT, "the network has %u inputs and %u outputs; this verb takes 1 to %d of each",
                           job->input_count, job->output_count, IO_MOST);
    for (uint32_t i = 0; i < job->input_count; i++) morsel_input(&job->model.session, i, &job->inputs[i].view);
    for (uint32_t i = 0; i < job->output_count; i++) morsel_output(&job->model.session, i, &job->outputs[i].view);
    return true;
}

/* "input 'x', float32 [1, 3, 32, 32]; ..." */
static bool names_wanted(const struct bound *list, uint32_t count, const char *option, const char *text, struct failure *failure) {
    char all[512] = "", one[256];
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%u: %s", i ? "; " : "", i, model_describe(&list[i].view, one, sizeof one));
    }
    return failure_set(failure, STATUS_CALL, "%s %.100s: which one? Say NAME=FILE.npy, NAME being a name or number of: %s", option, text,
                       all);
}

/* The index that NAME of "NAME=FILE" stands for: a name, else a number; -1 for neither. */
static int find_name(const struct bound *list, uint32_t count, const char *text, size_t length) {
    for (uint32_t i = 0; i < count; i++)
        if (strlen(list[i].view.name) == length && !strncmp(list[i].view.name, text, length)) return (int)i;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    return length && end == text + length && number < count ? (int)number : -1;
}

/* Gives each "FILE" or "NAME=FILE" its input or output. */
static bool bind(struct bound *list, uint32_t count, const struct option_texts *texts, const char *option, struct failure *failure) {
    for (int i = 0; i < texts->count; i++) {
        const char *text = texts->values[i], *equals = strchr(text, '=');
        int index = equals ? find_name(list, count, text, (size_t)(equals - text)) : -1;
        const char *path = index >= 0 ? equals + 1 : text;
        if (index < 0 && count == 1 && (!equals || access(text, F_OK) == 0)) index = 0;
        if (index < 0) return names_wanted(list, count, option, text, failure);
        if (list[index].path) return failure_set(failure, STATUS_CALL, "%s: '%s' is given twice", option, list[index].view.name);
        list[index].path = path;
    }
    return true;
}

/* Reads the arrays; all must stand for the same number of runs. */
static bool read_arrays(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->input_count; i++) {
        struct bound *input = &job->inputs[i];
        char text[256];
        uint32_t runs;
        bool converted;
        if (!input->path)
            return failure_set(failure, STATUS_CALL, "input %s has no file: give it by --input",
                               model_describe(&input->view, text, sizeof text));
        if (!npy_read(input->path, &input->array, failure)) return false;
        if (!tensor_fits(&input->array, &input->view, &runs, failure) || !tensor_convert(&input->array, &input->view, &converted, failure))
            return failure_prefix(failure, input->path);
        if (converted)
            message_notice("%s was converted to %s, the type of the network's input", input->path, model_type_name(input->view.onnx_type));
        if (i && runs != job->runs)
            return failure_set(failure, STATUS_INPUT, "%s is for %u runs, the files before it for %u", input->path, runs, job->runs);
        job->runs = runs;
    }
    return true;
}

static const char *label_of(const void *network, uint32_t index) {
    return morsel_label(network, index);
}

/* Room for what the outputs give in all runs, and for the scores of one. */
static bool prepare_outputs(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->output_count; i++) {
        struct bound *output = &job->outputs[i];
        size_t bytes = tensor_bytes(&output->view);
        if (output->path && !(output->stacked = calloc(job->runs, bytes ? bytes : 1))) return failure_memory(failure, bytes * job->runs);
    }
    size_t bytes = model_elements(&job->outputs[0].view) * sizeof(float);
    job->scores = malloc(bytes + 1);
    job->results.label = label_of;
    job->results.source = &job->model.network;
    job->results.probabilities = scores_are_probabilities(&job->model.network, 0);
    if (!scores_are_classes(&job->outputs[0].view)) job->results.top = 0;
    return job->scores || failure_memory(failure, bytes);
}

/* Runs once, keeps the outputs asked for; `ms` is the time of morsel_run() alone. */
static bool run_once(struct job *job, uint32_t run, double *ms, struct failure *failure) {
    double start = clock_seconds();
    enum morsel_error error = morsel_run(&job->model.session);
    *ms = (clock_seconds() - start) * 1e3;
    if (error) return failure_set(failure, STATUS_INPUT, "the run failed: %s", morsel_error_text(error));
    for (uint32_t i = 0; i < job->output_count; i++) {
        struct bound *output = &job->outputs[i];
        if (output->stacked && !tensor_load(&output->view, output->stacked + run * tensor_bytes(&output->view), failure)) return false;
    }
    return morsel_dequantize(&job->outputs[0].view, job->scores, model_elements(&job->outputs[0].view)) == MORSEL_OK ||
           failure_set(failure, STATUS_INPUT, "output 0 cannot be read");
}

/* Adds the first `used` images of a run to the results; files[] are theirs, or one for all. */
static bool add_results(struct job *job, char **files, bool one_file, uint32_t first, uint32_t used, double ms, struct failure *failure) {
    size_t images = scores_images(&job->inputs[0].view, &job->outputs[0].view);
    size_t count = model_elements(&job->outputs[0].view) / images;
    bool numbered = one_file && (size_t)job->runs * images > 1;
    for (uint32_t i = 0; i < images && i < used; i++) {
        if (!results_add(&job->results, one_file ? files[0] : files[i], first + i, numbered, job->scores + i * count, count, ms, failure))
            return false;
        if (!job->want_json && !(one_file && job->output_texts.count))
            results_print(&job->results, &job->results.list[job->results.count - 1]);
    }
    return true;
}

static bool run_arrays(struct job *job, struct failure *failure) {
    uint32_t images = (uint32_t)scores_images(&job->inputs[0].view, &job->outputs[0].view);
    char *file = (char *)job->inputs[0].path;
    for (uint32_t run = 0; run < job->runs; run++) {
        double ms;
        for (uint32_t i = 0; i < job->input_count; i++) {
            struct bound *input = &job->inputs[i];
            if (!tensor_store(&input->view, (uint8_t *)input->array.data + run * tensor_bytes(&input->view), failure)) return false;
        }
        if (!run_once(job, run, &ms, failure) || !add_results(job, &file, true, run * images, images, ms, failure)) return false;
    }
    return true;
}

/* One picture into image `index` of the network's input. */
static bool put_picture(struct job *job, const char *path, uint32_t index, struct failure *failure) {
    struct image image;
    if (!image_read(path, &image, failure)) return false;
    bool good = model_picture(&job->model, image.rgb, image.width, image.height, &job->inputs[0].view, index, failure) ||
                failure_prefix(failure, path);
    image_free(&image);
    return good;
}

static bool run_pictures(struct job *job, char **paths, uint32_t count, struct failure *failure) {
    uint32_t batch = (uint32_t)scores_images(&job->inputs[0].view, &job->outputs[0].view);
    for (uint32_t run = 0; run < job->runs; run++) {
        uint32_t first = run * batch, used = count - first < batch ? count - first : batch;
        double ms;
        for (uint32_t i = 0; i < batch; i++) /* a last batch that is not full repeats its last picture */
            if (!put_picture(job, paths[first + (i < used ? i : used - 1)], i, failure)) return false;
        if (!run_once(job, run, &ms, failure) || !add_results(job, paths + first, false, 0, used, ms, failure)) return false;
    }
    return true;
}

static bool write_outputs(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->output_count; i++) {
        const struct bound *output = &job->outputs[i];
        uint64_t dims[MORSEL_MAX_RANK + 1] = {job->runs};
        uint32_t rank = output->view.onnx_rank;
        if (!output->path) continue;
        for (uint32_t k = 0; k < rank; k++) dims[k] = output->view.onnx_dims[k];
        dims[0] = rank ? dims[0] * job->runs : job->runs;
        rank = rank || job->runs == 1 ? rank : 1;
        if (!npy_write(output->path, tensor_npy_type(output->view.onnx_type), dims, rank, output->stacked, failure)) return false;
        if (!job->want_json) printf("%s: output '%s' of %u run%s\n", output->path, output->view.name, job->runs, job->runs > 1 ? "s" : "");
    }
    return true;
}

static bool check_call(const struct job *job, int pictures, struct failure *failure) {
    if (job->picture || job->labels)
        return failure_set(failure, STATUS_CALL, "%s is for ONNX files; a blob has its own, from morsel convert or quantize",
                           job->picture ? "--picture" : "--labels");
    if (pictures && job->input_texts.count)
        return failure_set(failure, STATUS_CALL, "pictures and --input are both given; a run takes one or the other");
    if (!pictures && !job->input_texts.count)
        return failure_set(failure, STATUS_CALL, "there is nothing to run on: give pictures, or --input X.npy");
    return true;
}

/* No output goes where something is read from, or where another output goes. */
static bool files_differ(const struct job *job, const char *model, char **pictures, int count, struct failure *failure) {
    for (uint32_t i = 0; i < job->output_count; i++) {
        const char *path = job->outputs[i].path;
        bool read = file_same(path, model), written = false;
        for (uint32_t k = 0; !read && k < job->input_count; k++) read = file_same(path, job->inputs[k].path);
        for (int k = 0; path && !read && k < count; k++) read = file_same(path, pictures[k]);
        for (uint32_t k = 0; k < i; k++) written = written || (file_same(path, job->outputs[k].path) && strncmp(path, "/dev/", 5));
        if (read || written)
            return failure_set(failure, STATUS_CALL, "--output %s would be written over: it is %s as well", path,
                               read ? "read" : "another output");
    }
    return true;
}

/* How many runs the pictures make; the network must have one input and a rule for pictures. */
static bool plan_pictures(struct job *job, uint32_t count, struct failure *failure) {
    uint32_t batch = (uint32_t)scores_images(&job->inputs[0].view, &job->outputs[0].view);
    if (!morsel_picture_bytes(&job->model.network, 1, 1))
        return failure_set(failure, STATUS_INPUT,
                           "the blob has no picture rule: convert it with --picture RULE.json, or give tensors with --input X.npy");
    if (job->input_count != 1)
        return failure_set(failure, STATUS_CALL, "the network has %u inputs; give tensors with --input NAME=X.npy", job->input_count);
    job->runs = (count + batch - 1) / batch;
    return true;
}

static bool run(struct job *job, const char *model, char **pictures, int count, struct failure *failure) {
    if (!get_views(job, failure) || !bind(job->inputs, job->input_count, &job->input_texts, "--input", failure) ||
        !bind(job->outputs, job->output_count, &job->output_texts, "--output", failure) ||
        !files_differ(job, model, pictures, count, failure))
        return false;
    if (!(count ? plan_pictures(job, (uint32_t)count, failure) : read_arrays(job, failure)) || !prepare_outputs(job, failure)) return false;
    return (count ? run_pictures(job, pictures, (uint32_t)count, failure) : run_arrays(job, failure)) && write_outputs(job, failure);
}

static void print_json(const struct job *job) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    results_json(&job->results, &json);
    json_open_array(&json, "outputs");
    for (uint32_t i = 0; i < job->output_count; i++) {
        const struct bound *output = &job->outputs[i];
        json_open_flat(&json, NULL);
        json_text(&json, "name", output->view.name);
        json_text(&json, "type", model_type_name(output->view.onnx_type));
        json_dims(&json, "shape", output->view.onnx_dims, output->view.onnx_rank);
        json_text(&json, "file", output->path);
        json_close(&json);
    }
    json_close_array(&json);
    json_text(&json, "isa", options_cpu_name(job->model.session.cpu));
    json_close(&json);
}

static void print_ending(const struct job *job) {
    const struct results *results = &job->results;
    if (job->want_json) {
        print_json(job);
        return;
    }
    if (job->output_texts.count && job->input_texts.count) return;
    if (!results->top) {
        char text[256];
        printf("output %s is no list of classes; --output Y.npy keeps it\n", model_describe(&job->outputs[0].view, text, sizeof text));
        return;
    }
    if (results->check_names) printf("%zu of %zu right; ", results_right(results), results_known(results));
    if (scores_images(&job->inputs[0].view, &job->outputs[0].view) > 1) printf("times are those of a whole batch; ");
    printf("the numbers are %s\n", results->probabilities ? "the network's own probabilities" : "a softmax over the network's scores");
}

static void job_free(struct job *job) {
    for (uint32_t i = 0; i < job->input_count && i < IO_MOST; i++) npy_free(&job->inputs[i].array);
    for (uint32_t i = 0; i < job->output_count && i < IO_MOST; i++) free(job->outputs[i].stacked);
    results_free(&job->results);
    free(job->scores);
    model_close(&job->model);
}

int verb_run(int argc, char **argv) {
    static struct job job;
    struct failure failure;
    uint32_t cpu;
    long threads = 1, top = 5;
    const struct option list[] = {
        {"--input", "[NAME=]X.npy", OPTION_TEXTS, &job.input_texts, 0, 0,
         "a tensor as the ONNX graph states it; a first dimension that is a multiple is run in turn"},
        {"--output", "[NAME=]Y.npy", OPTION_TEXTS, &job.output_texts, 0, 0,
         "where an output goes, as the ONNX graph states it; runs are stacked"},
        {"--picture", "RULE.json", OPTION_TEXT, &job.picture, 0, 0, "how a picture becomes the input of an ONNX file; a blob has its own"},
        {"--labels", "FILE", OPTION_TEXT, &job.labels, 0, 0, "class names for an ONNX file; a blob has its own"},
        {"--top", "K", OPTION_NUMBER, &top, 1, RESULTS_TOP_MOST, "how many classes are shown"},
        {"--check-names", NULL, OPTION_FLAG, &job.results.check_names, 0, 0,
         "say whether the answer is the label that the file's name starts with"},
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST, "threads that share each step"},
        {"--cpu", "NAME", OPTION_CPU, &cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--json", NULL, OPTION_FLAG, &job.want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL [PICTURE...] [options]",
        .summary = "a network on pictures or on .npy tensors",
        .about =
            "Runs a network on pictures, or on tensors from .npy files. An ONNX file runs in float; pictures want a --picture rule for "
            "it.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel run food.morsel photo.jpg", "the five likeliest classes of a picture"},
                     {"morsel run food.morsel --input x.npy --output y.npy", "tensors, as the ONNX graph states them"},
                     {"morsel run food.onnx photo.jpg --picture rule.json", "the ONNX file itself, in float"}},
    };
    if (!options_cpu_default(&cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count == 0) {
        message_error("run: the model is missing: morsel run MODEL [PICTURE...]");
        return STATUS_CALL;
    }
    job.results.top = (uint32_t)top;
#ifndef MORSEL_TOOL_REDUCED
    if (run_float_wanted(argv[0])) {
        const struct run_float_call call = {argv[0],      &job.input_texts,  &job.output_texts,
                                            argv + 1,     (size_t)count - 1, job.picture,
                                            job.labels,   job.results.top,   job.results.check_names,
                                            job.want_json};
        return run_float(&call, &failure) ? STATUS_DONE : message_failure(&failure);
    }
#endif
    if (!check_call(&job, count - 1, &failure) || !model_open(&job.model, argv[0], cpu, (unsigned)threads, &failure))
        return message_failure(&failure);
    bool good = run(&job, argv[0], argv + 1, count - 1, &failure);
    if (good) print_ending(&job);
    job_free(&job);
    return good ? STATUS_DONE : message_failure(&failure);
}
