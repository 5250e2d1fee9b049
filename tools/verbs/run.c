/* SPDX-License-Identifier: MIT */
/* morsel run: a network on pictures, on texts, or on tensors from .npy files. */
#include "core/format.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/base/stop.h"
#include "tools/network/pool.h"
#include "tools/network/tensor.h"
#include "tools/samples/image/draw.h"
#include "tools/verbs/answers.h"
#include "tools/verbs/pictures.h"
#include "tools/verbs/results.h"
#include "tools/verbs/table.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IO_MOST = 512 };

struct job {
    struct network_call call;
    struct network network;
    struct network_run *run;
    struct option_texts input_texts, output_texts, texts;
    struct pictures named; /* whatever folders and lists hold */
    char *const *pictures; /* [picture_count] */
    uint32_t picture_count, runs;
    const char *csv, *draw;
    /* Of each input and output: the file that it comes from or goes to (NULL: not asked for), and what is in it. */
    const char *input_paths[IO_MOST], *output_paths[IO_MOST];
    struct npy arrays[IO_MOST];
    uint8_t *stacked[IO_MOST]; /* every run's values, one behind the other */
    uint32_t top;              /* 0: not given */
    struct answers answers;
    struct results results;
    double seconds; /* of all runs */
    bool want_json;
};

/* --- Which file is for what --- */

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

static bool bind_all(struct job *job, struct failure *failure) {
    const struct network *n = &job->network;
    if (n->input_count > IO_MOST || n->output_count > IO_MOST || !n->input_count || !n->output_count)
        return failure_set(failure, STATUS_INPUT, "the network has %u inputs and %u outputs; this verb takes 1 to %d of each",
                           n->input_count, n->output_count, IO_MOST);
    return bind(n->inputs, n->input_count, &job->input_texts, "--input", job->input_paths, failure) &&
           bind(n->outputs, n->output_count, &job->output_texts, "--output", job->output_paths, failure);
}

/* Of --draw and --mask. */
static bool drawn_differs(const struct job *job, const char *option, const char *path, const char *other, struct failure *failure) {
    if (!path) return true;
    bool read = network_reads(&job->network, path), written = file_same(path, other);
    for (uint32_t k = 0; k < job->picture_count; k++) read = read || file_same(path, job->pictures[k]);
    for (uint32_t i = 0; i < job->network.output_count; i++) written = written || file_same(path, job->output_paths[i]);
    return !(read || written) || failure_set(failure, STATUS_CALL, "%s %s would be written over: it is %s as well", option, path,
                                             read ? "read" : "another output");
}

/* No output goes where something is read from, or where another output goes. */
static bool files_differ(const struct job *job, struct failure *failure) {
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
    return drawn_differs(job, "--draw", job->draw, job->results.mask, failure) &&
           drawn_differs(job, "--mask", job->results.mask, NULL, failure) && (!job->draw || draw_can_write(job->draw, failure)) &&
           (!job->results.mask || file_can_write(job->results.mask, failure));
}

static bool check_call(const struct job *job, struct failure *failure) {
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

static bool put_picture(struct job *job, const char *path, uint32_t index, struct failure *failure) {
    struct image image;
    if (!image_read(path, &image, failure)) return false;
    bool good = network_picture(job->run, &image, index, failure) || failure_prefix(failure, path);
    job->answers.sides[2 * index] = image.width;
    job->answers.sides[2 * index + 1] = image.height;
    image_free(&image);
    return good;
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
    bool pictures = job->picture_count;
    for (uint32_t i = 0; i < images && (!pictures || i < left); i++) {
        const char *file = pictures ? job->pictures[first + i] : job->texts.count ? job->texts.values[run] : job->input_paths[0];
        bool numbered = !pictures && !job->texts.count && (size_t)job->runs * images > 1;
        const struct result of = {.file = file, .image = pictures ? i : first + i, .numbered = numbered, .ms = seconds * 1e3};
        if (!answers_add(&job->answers, job->run, &job->results, &of, failure)) return false;
        if (!job->want_json && (pictures || !job->output_texts.count))
            results_print(&job->results, &job->results.list[job->results.count - 1]);
    }
    return true;
}

/* Runs once, keeps the outputs asked for. */
static bool run_once(struct job *job, uint32_t run, struct failure *failure) {
    if (job->texts.count     ? !put_text(job, run, failure)
        : job->picture_count ? !put_pictures(job, run, failure)
                             : !put_arrays(job, run, failure))
        return false;
    double start = clock_seconds();
    if (!network_compute(job->run, NULL, NULL, failure)) return false;
    double seconds = clock_seconds() - start;
    job->seconds += seconds;
    for (uint32_t i = 0; i < job->network.output_count; i++) {
        const struct network_tensor *output = &job->network.outputs[i];
        size_t bytes = output->count * npy_type_bytes(output->type);
        if (job->stacked[i] && !network_get(job->run, i, job->stacked[i] + run * bytes, failure)) return false;
    }
    return answers_read(&job->answers, job->run, failure) && add_results(job, run, seconds, failure);
}

static bool write_outputs(const struct job *job, struct failure *failure) {
    for (uint32_t i = 0; i < job->network.output_count; i++) {
        const struct network_tensor *output = &job->network.outputs[i];
        const char *path = job->output_paths[i];
        uint64_t dims[NPY_RANK_MOST] = {1};
        uint32_t rank = output->rank || job->runs == 1 ? output->rank : 1;
        if (!path) continue;
        for (uint32_t k = 0; k < output->rank; k++) dims[k] = output->dims[k];
        dims[0] *= job->runs;
        if (!npy_write(path, output->type, dims, rank, job->stacked[i], failure)) return false;
        if (!job->want_json) message_print("%s: output '%s' of %u run%s\n", path, output->name, job->runs, job->runs > 1 ? "s" : "");
    }
    return true;
}

static bool open_network(struct job *job, struct failure *failure) {
    bool pictures = job->picture_count;
    if (!network_read(&job->network, &job->call, failure) || !bind_all(job, failure) || !files_differ(job, failure)) return false;
    if (job->texts.count)
        return network_start(&job->network, NULL, failure) && plan_texts(job, failure) && choose_length(job, failure) &&
               (job->run = network_run_open(&job->network, failure)) != NULL;
    if (pictures ? !network_takes_pictures(&job->network, failure) : !read_arrays(job, failure)) return false;
    return network_start(&job->network, pictures ? NULL : job->arrays, failure) &&
           (pictures ? plan_pictures(job, failure) : fit_arrays(job, failure)) &&
           (job->run = network_run_open(&job->network, failure)) != NULL;
}

static bool run(struct job *job, struct failure *failure) {
    if (!open_network(job, failure)) return false;
    answers_open(&job->answers, &job->network, &job->results, job->top);
    if (job->draw && (job->picture_count != 1 || !answers_can_draw(&job->answers)))
        return failure_set(failure, STATUS_CALL,
                           "--draw wants one picture, and a network with an answer rule of detections, segmentation or points");
    if (job->results.mask && (job->picture_count != 1 || job->answers.kind != MORSEL_ANSWER_SEGMENTATION))
        return failure_set(failure, STATUS_CALL, "--mask wants one picture, and a network with an answer rule of segmentation");
    prepare_outputs(job);
    for (uint32_t run = 0; run < job->runs; run++)
        if (!run_once(job, run, failure)) return false;
    return write_outputs(job, failure) &&
           (!job->draw || answers_draw(&job->answers, &job->results, job->pictures[0], job->draw, failure)) &&
           (!job->results.mask || answers_write_mask(&job->answers, &job->results, job->results.mask, failure));
}

/* --- What came out --- */

static void print_json(const struct job *job) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    results_json(&job->results, &json);
    json_integer(&json, "runs", job->runs);
    json_number(&json, "ms", job->seconds * 1e3 / job->runs);
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
    if (job->output_texts.count && job->input_texts.count) return;
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
    if (job->network.executor) message_print("%.1f ms a run, in float on one thread\n", job->seconds * 1e3 / job->runs);
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
        {"--draw", "OUT.png", OPTION_TEXT, &job.draw, 0, 0,
         "the picture with what was found in it: boxes, points, classes of pixels; or OUT.ppm"},
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
    bool good = check_call(&job, &failure) && pictures_find(argv + 1, (size_t)count - 1, &job.named, &failure);
    job.pictures = job.named.list;
    job.picture_count = (uint32_t)job.named.count;
    int status = STATUS_DONE;
    if (good && job.csv) status = run_table(&job, &failure);
    else if (good && (good = run(&job, &failure))) print_ending(&job);
    if (!good) status = message_failure(&failure);
    job_free(&job);
    return status;
}
