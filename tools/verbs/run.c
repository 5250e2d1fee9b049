/* SPDX-License-Identifier: MIT */
/* morsel run: a network on pictures, on texts, or on tensors from .npy files. */
#include "tools/verbs/run.h"
#include "core/format.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/file.h"
#include "tools/base/folder.h"
#include "tools/base/message.h"
#include "tools/base/stop.h"
#include "tools/network/pool.h"
#include "tools/network/tensor.h"
#include "tools/samples/image/draw.h"
#include "tools/verbs/table.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Arrays --- */

/* Their shapes may say what the network leaves free, so they are read before it is ready. */
static bool read_arrays(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->network.input_count; i++) {
        char text[256];
        if (!job->input_paths[i])
            return failure_set(failure, STATUS_CALL, "input %s has no file: give it by --input%s",
                               tensor_describe(&job->network.inputs[i], text, sizeof text),
                               job->network.has_text ? ", or texts by --text" : "");
        if (!npy_read(job->input_paths[i], &job->arrays[i], failure)) return false;
    }
    return true;
}

/* All must stand for the same number of runs. */
static bool fit_arrays(struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->network.input_count; i++) {
        const struct network_tensor *input = &job->network.inputs[i];
        const char *path = job->input_paths[i];
        uint32_t runs;
        bool converted;
        if (!tensor_fits(&job->arrays[i], input, &runs, failure) || !tensor_convert(&job->arrays[i], input, &converted, failure))
            return failure_prefix(failure, path);
        if (converted) message_notice("%s was converted to %s, the type of the network's input", path, npy_type_name(input->type));
        if (i && runs != job->runs)
            return failure_set(failure, STATUS_INPUT, "%s is for %u runs, the files before it for %u", path, runs, job->runs);
        job->runs = runs;
    }
    return true;
}

static bool put_arrays(struct job *job, uint32_t run, struct failure *failure) {
    for (uint32_t i = 0; i < job->network.input_count; i++) {
        const struct network_tensor *input = &job->network.inputs[i];
        size_t bytes = input->count * npy_type_bytes(input->type);
        if (!network_put(job->run, i, (const uint8_t *)job->arrays[i].data + run * bytes, failure)) return false;
    }
    return true;
}

/* --- Pictures --- */

/* How many runs they make; the network must have one input. */
static bool plan_pictures(struct job *job, struct failure *failure) {
    uint32_t batch = network_images(&job->network);
    if (job->network.input_count != 1)
        return failure_set(failure, STATUS_CALL, "the network has %u inputs; give tensors with --input NAME=X.npy",
                           job->network.input_count);
    job->runs = (job->picture_count + batch - 1) / batch;
    return true;
}

/* One that is at fault stops nobody but memory that is used up, or an array that would have to hold its output. */
static bool put_picture(struct job *job, const char *path, uint32_t slot, struct failure *failure) {
    struct image *image = &job->images[slot];
    struct failure *wrong = &job->wrong[slot];
    *wrong->text = 0;
    image_free(image);
    bool good = image_read(path, image, wrong) && (network_picture(job->run, image, slot, wrong) || failure_prefix(wrong, path));
    job->answers.sides[2 * slot] = image->width;
    job->answers.sides[2 * slot + 1] = image->height;
    if (!job->draw) image_free(image);
    if (good) return true;
    if (wrong->status != STATUS_SYSTEM && !job->output_texts.count)
        return network_images(&job->network) == 1 || pictures_put_black(job->run, slot, failure);
    *failure = *wrong;
    return false;
}

/* A last batch that is not full repeats its last picture. */
static bool put_pictures(struct job *job, uint32_t run, struct failure *failure) {
    uint32_t batch = network_images(&job->network);
    for (uint32_t i = 0; i < batch; i++) {
        uint32_t at = run * batch + i, last = job->picture_count - 1;
        if (!put_picture(job, job->pictures[at < last ? at : last], i, failure)) return false;
    }
    return true;
}

/* What was found in one goes to its file, whole or not at all. */
static bool draw(struct job *job, uint32_t slot, const char *path, struct failure *failure) {
    answers_draw(&job->answers, &job->results, &job->images[slot]);
    return (!job->drawings.folder || folder_make_for(path, failure)) && draw_write(path, &job->images[slot], failure);
}

static bool add_picture(struct job *job, uint32_t picture, uint32_t slot, double seconds, struct failure *failure) {
    const struct failure *wrong = &job->wrong[slot];
    const char *drawn = job->draw ? job->drawings.paths[picture] : NULL;
    const struct result of = {.file = job->pictures[picture], .image = slot, .ms = seconds * 1e3, .drawn = drawn};
    if (*wrong->text) {
        message_failure(wrong);
        results_add_wrong(&job->results, &of, wrong->text);
        job->broken++;
        return true;
    }
    if (!answers_add(&job->answers, job->run, &job->results, &of, failure)) return false;
    if (!job->want_json) results_print(&job->results, &job->results.list[job->results.count - 1]);
    return !drawn || draw(job, slot, drawn, failure);
}

/* --- Texts --- */

/* A run each, by the rule in the blob. */
static bool plan_texts(struct job *job, struct failure *failure) {
    if (!morsel_text_length(&job->network.model))
        return failure_set(failure, STATUS_INPUT, "%s has no text rule: convert the network with --text RULE.json", job->call.path);
    if (network_images(&job->network) != 1)
        return failure_set(failure, STATUS_CALL, "%s takes several texts at a time; --text wants a batch of 1", job->call.path);
    job->runs = (uint32_t)job->texts.count;
    return true;
}

/* The shortest variant that holds each of them. */
static bool choose_length(struct job *job, struct failure *failure) {
    struct network *n = &job->network;
    uint32_t chosen, longest = MORSEL_FORMAT_MAX_VARIANTS;
    if (job->call.variant != NETWORK_FITTING || network_variants(n) == 1) return true;
    for (int i = 0; i < job->texts.count; i++) {
        const char *text = job->texts.values[i];
        enum morsel_error error = morsel_text_variant(&n->whole, text, strlen(text), &chosen);
        if (error) return failure_set(failure, STATUS_INPUT, "%s: %s", job->call.path, morsel_error_text(error));
        if (chosen < longest) longest = chosen; /* the largest come first */
    }
    return network_choose(n, longest, failure);
}

static bool put_text(struct job *job, uint32_t run, struct failure *failure) {
    const char *text = job->texts.values[run];
    enum morsel_error error = morsel_text_put(&job->run->session, text, strlen(text), 0);
    return !error || failure_set(failure, STATUS_INPUT, "%s: %s", job->call.path, morsel_error_text(error));
}

/* --- Runs --- */

/* Room for what the outputs give in all runs. */
static void prepare_outputs(struct job *job) {
    const struct network *n = &job->network;
    for (uint32_t i = 0; i < n->output_count; i++)
        if (job->output_paths[i]) job->stacked[i] = must_calloc(job->runs, n->outputs[i].count * npy_type_bytes(n->outputs[i].type));
}

/* Adds the images of a run to the results: each has a picture's file, or all have that of the first array. */
static bool add_results(struct job *job, uint32_t run, double seconds, struct failure *failure) {
    uint32_t images = network_images(&job->network), first = run * images, left = job->picture_count - first;
    if (job->picture_count) {
        for (uint32_t i = 0; i < images && i < left; i++)
            if (!add_picture(job, first + i, i, seconds, failure)) return false;
        return true;
    }
    for (uint32_t i = 0; i < images; i++) {
        const char *file = job->texts.count ? job->texts.values[run] : job->input_paths[0];
        bool numbered = !job->texts.count && (size_t)job->runs * images > 1;
        const struct result of = {.file = file, .image = first + i, .numbered = numbered, .ms = seconds * 1e3};
        if (!answers_add(&job->answers, job->run, &job->results, &of, failure)) return false;
        if (!job->want_json && !job->output_texts.count) results_print(&job->results, &job->results.list[job->results.count - 1]);
    }
    return true;
}

static bool compute(struct job *job, uint32_t run, double *seconds, struct failure *failure) {
    double start = clock_seconds();
    if (!network_compute(job->run, NULL, NULL, failure)) return false;
    *seconds = clock_seconds() - start;
    job->seconds += *seconds;
    job->done++;
    for (uint32_t i = 0; i < job->network.output_count; i++) {
        const struct network_tensor *output = &job->network.outputs[i];
        size_t bytes = output->count * npy_type_bytes(output->type);
        if (job->stacked[i] && !network_get(job->run, i, job->stacked[i] + run * bytes, failure)) return false;
    }
    return answers_read(&job->answers, job->run, failure);
}

/* Runs once, keeps the outputs asked for. */
static bool run_once(struct job *job, uint32_t run, struct failure *failure) {
    double seconds = 0;
    if (job->texts.count     ? !put_text(job, run, failure)
        : job->picture_count ? !put_pictures(job, run, failure)
                             : !put_arrays(job, run, failure))
        return false;
    const bool none = job->picture_count && network_images(&job->network) == 1 && *job->wrong[0].text;
    return (none || compute(job, run, &seconds, failure)) && add_results(job, run, seconds, failure);
}

/* What an output gave in all runs becomes its file. */
static bool pack_output(struct job *job, uint32_t i, struct file_new *file, struct failure *failure) {
    const struct network_tensor *output = &job->network.outputs[i];
    uint64_t dims[NPY_RANK_MOST] = {1};
    uint32_t rank = output->rank || job->runs == 1 ? output->rank : 1;
    for (uint32_t k = 0; k < output->rank; k++) dims[k] = output->dims[k];
    dims[0] *= job->runs;
    uint8_t *packed = npy_pack(output->type, dims, rank, job->stacked[i], &file->size, failure);
    free(job->stacked[i]);
    file->path = job->output_paths[i];
    file->data = job->stacked[i] = packed;
    return packed != NULL;
}

/* All arrays of a call, or none. */
static bool write_arrays(struct job *job, struct failure *failure) {
    const struct network *n = &job->network;
    struct file_new *files = must_calloc(n->output_count + 1, sizeof *files);
    const char *mask = job->broken ? NULL : job->results.mask;
    uint8_t *packed = NULL;
    size_t count = 0;
    bool good = true;
    for (uint32_t i = 0; good && i < n->output_count; i++)
        if (job->output_paths[i]) good = pack_output(job, i, &files[count++], failure);
    if (good && mask) {
        files[count].path = mask;
        files[count].data = packed = answers_pack_mask(&job->answers, &job->results, &files[count].size, failure);
        count++;
        good = packed != NULL;
    }
    good = good && (!count || file_write_all(files, count, failure));
    free(packed);
    free(files);
    for (uint32_t i = 0; good && !job->want_json && i < n->output_count; i++)
        if (job->output_paths[i])
            message_print("%s: output '%s' of %u run%s\n", job->output_paths[i], n->outputs[i].name, job->runs, job->runs > 1 ? "s" : "");
    return good;
}

static bool open_network(struct job *job, struct failure *failure) {
    bool pictures = job->picture_count;
    if (!network_read(&job->network, &job->call, failure) || !run_bind_inputs(job, failure)) return false;
    if (!job->texts.count && (pictures ? !network_takes_pictures(&job->network, failure) : !read_arrays(job, failure))) return false;
    if (!network_start(&job->network, pictures || job->texts.count ? NULL : job->arrays, failure) || !run_bind_outputs(job, failure))
        return false;
    return (job->texts.count ? plan_texts(job, failure) && choose_length(job, failure)
            : pictures       ? plan_pictures(job, failure)
                             : fit_arrays(job, failure)) &&
           (job->run = network_run_open(&job->network, failure)) != NULL;
}

static bool run(struct job *job, struct failure *failure) {
    if (!open_network(job, failure)) return false;
    answers_open(&job->answers, &job->network, &job->results, job->top);
    if (job->draw && !answers_can_draw(&job->answers))
        return failure_set(failure, STATUS_CALL, "--draw wants a network with an answer rule of detections, segmentation or points");
    if (job->results.mask && (job->picture_count != 1 || job->answers.kind != MORSEL_ANSWER_SEGMENTATION))
        return failure_set(failure, STATUS_CALL, "--mask wants one picture, and a network with an answer rule of segmentation");
    job->images = must_calloc(network_images(&job->network), sizeof *job->images);
    job->wrong = must_calloc(network_images(&job->network), sizeof *job->wrong);
    prepare_outputs(job);
    for (uint32_t run = 0; run < job->runs; run++)
        if (!run_once(job, run, failure)) return false;
    return write_arrays(job, failure);
}

/* --- What came out --- */

static void print_json(const struct job *job) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    results_json(&job->results, &json);
    if (job->picture_count) json_integer(&json, "broken", job->broken);
    json_integer(&json, "runs", job->done);
    json_number(&json, "ms", job->done ? job->seconds * 1e3 / job->done : 0);
    json_open_array(&json, "outputs");
    for (uint32_t i = 0; i < job->network.output_count; i++) {
        const struct network_tensor *output = &job->network.outputs[i];
        uint32_t dims[NPY_RANK_MOST];
        for (uint32_t k = 0; k < output->rank; k++) dims[k] = (uint32_t)output->dims[k];
        json_open_flat(&json, NULL);
        json_text(&json, "name", output->name);
        json_text(&json, "type", npy_type_name(output->type));
        json_dims(&json, "shape", dims, output->rank);
        json_text(&json, "file", job->output_paths[i]);
        json_close(&json);
    }
    json_close_array(&json);
    if (network_variants(&job->network) > 1) json_integer(&json, "variant", job->network.variant);
    json_text(&json, "isa", network_isa(job->run));
    json_close(&json);
}

static void print_answers(const struct job *job) {
    const struct results *results = &job->results;
    if ((job->output_texts.count && job->input_texts.count) || !job->done) return;
    if (job->network.answer && job->network.answer->kind != MORSEL_ANSWER_CLASSES) return;
    if (!results->top) {
        char text[256];
        message_print("output %s is no list of classes; --output Y.npy keeps it\n",
                      tensor_describe(&job->network.outputs[0], text, sizeof text));
        return;
    }
    if (results->check_names) message_print("%zu of %zu right; ", results_right(results), results_known(results));
    if (network_images(&job->network) > 1) message_print("times are those of a whole batch; ");
    if (results->probabilities) message_print("the numbers are the network's own probabilities\n");
    else
        message_print("the numbers are a %s\n",
                      strstr(results->p, "sigmoid") ? "sigmoid of the network's scores" : "softmax over the network's scores");
}

static void print_ending(const struct job *job) {
    if (job->want_json) {
        print_json(job);
        return;
    }
    print_answers(job);
    if (job->network.executor && job->done) message_print("%.1f ms a run, in float on one thread\n", job->seconds * 1e3 / job->done);
}

/* --- A table --- */

/* Pictures that could not be read are told in the table; the status says that there are some. */
static int run_table(const struct job *job, struct failure *failure) {
    struct table table = {.call = job->call, .pictures = &job->named, .path = job->csv, .top = job->top, .worker_count = job->call.threads};
    table.call.threads = 1;
    const bool good = table_run(&table, failure);
    int status = good ? table.broken ? STATUS_INPUT : STATUS_DONE : message_failure(failure);
    if (good && job->want_json) table_json(&table, stdout);
    else if (good) table_print(&table);
    if (good && table.broken)
        message_error("%zu of %zu pictures could not be read: the last column says why", table.broken, job->named.count);
    table_free(&table);
    return status;
}

static void job_free(struct job *job) {
    for (uint32_t i = 0; job->images && i < network_images(&job->network); i++) image_free(&job->images[i]);
    free(job->images);
    free(job->wrong);
    drawings_free(&job->drawings);
    for (uint32_t i = 0; i < IO_MOST; i++) {
        npy_free(&job->arrays[i]);
        free(job->stacked[i]);
    }
    results_free(&job->results);
    pictures_free(&job->named);
    answers_free(&job->answers);
    network_run_close(job->run);
    if (job->network.kind) network_close(&job->network);
}

int verb_run(int argc, char **argv) {
    static struct job job = {.call.variant = NETWORK_FITTING};
    struct failure failure;
    long threads = 1, top = 0;
    const struct option list[] = {
        {"--input", "[NAME=]X.npy", OPTION_TEXTS, &job.input_texts, 0, 0,
         "a tensor as the ONNX graph states it; a first dimension that is a multiple is run in turn"},
        {"--output", "[NAME=]Y.npy", OPTION_TEXTS, &job.output_texts, 0, 0,
         "where an output goes, as the ONNX graph states it; runs are stacked"},
        {"--text", "TEXT", OPTION_TEXTS, &job.texts, 0, 0, "a text, by the rule in the blob; several are run in turn"},
        {"--picture", "RULE.json", OPTION_TEXT, &job.call.picture, 0, 0,
         "how a picture becomes the input of an ONNX file; a blob has its own"},
        {"--labels", "FILE", OPTION_TEXT, &job.call.labels, 0, 0, "class names for an ONNX file; a blob has its own"},
        {"--answer", "RULE.json", OPTION_TEXT, &job.call.answer, 0, 0,
         "what the outputs of an ONNX file mean: postprocessing; a blob has its own"},
        {"--draw", "OUT.png|OUT/", OPTION_TEXT, &job.draw, 0, 0,
         "the picture with what was found in it: boxes, points, classes of pixels; or OUT.ppm; pictures go to a folder"},
        {"--mask", "OUT.npy", OPTION_TEXT, &job.results.mask, 0, 0,
         "of a segmentation: the class of each pixel, uint8 [height, width]; 255: not seen"},
        {"--top", "K", OPTION_NUMBER, &top, 0, RESULTS_TOP_MOST,
         "how many classes or boxes are shown; 0: what the answer rule says, else 5, and 1 in a table"},
        {"--csv", "FILE", OPTION_TEXT, &job.csv, 0, 0,
         "a table with a line for each picture; called again after a stop, it goes on where it was"},
        {"--check-names", NULL, OPTION_FLAG, &job.results.check_names, 0, 0,
         "say whether the answer is the label that the file's name starts with"},
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST,
         "threads that share each step; for a table, that take whole pictures"},
        {"--variant", "N", OPTION_NUMBER, &job.call.variant, -1, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them; -1: the one that fits"},
        {"--cpu", "NAME", OPTION_CPU, &job.call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--json", NULL, OPTION_FLAG, &job.want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL [PICTURE...] [options]",
        .summary = "a network on pictures, texts or .npy tensors",
        .about = "Runs a network on pictures (images), or on tensors from .npy files. An ONNX file runs in float; pictures want a "
                 "--picture rule for "
                 "it. Of a folder all pictures below it are taken, and - stands for a list of paths on stdin.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel run food.morsel photo.jpg", "the five likeliest classes of a picture"},
                     {"morsel run boxes.morsel street.jpg --draw out.png", "what a detector finds, and a picture of it"},
                     {"morsel run food.morsel pictures/ --csv answers.csv --threads 2", "a table of all pictures below a folder"},
                     {"morsel run food.morsel --input x.npy --output y.npy", "tensors, as the ONNX graph states them"}},
    };
    if (!options_cpu_default(&job.call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count == 0) {
        message_error("run: the model is missing: morsel run MODEL [PICTURE...]");
        return STATUS_CALL;
    }
    job.top = (uint32_t)top;
    job.call.path = argv[0];
    job.call.threads = (unsigned)threads;
    job.picture_count = (uint32_t)count - 1;
    if (!job.csv) stop_written(); /* answers are printed as they come */
    bool good = run_check_call(&job, &failure) && pictures_find(argv + 1, (size_t)count - 1, &job.named, &failure);
    job.pictures = job.named.list;
    job.picture_count = (uint32_t)job.named.count;
    int status = STATUS_DONE;
    if (good && job.csv) status = run_table(&job, &failure);
    else if (good && (good = run(&job, &failure))) {
        print_ending(&job);
        if (job.broken) status = STATUS_INPUT;
    }
    if (!good) status = message_failure(&failure);
    job_free(&job);
    return status;
}
