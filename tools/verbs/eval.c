/* SPDX-License-Identifier: MIT */
/* morsel eval: top-1 and top-5 over labelled pictures. Threads take whole pictures: each has a session of its own. */
#include "core/morsel.h"
#include "tools/base/clock.h"
#include "tools/samples/dataset.h"
#include "tools/verbs/host/eval_float.h"
#include "tools/base/json.h"
#include "tools/network/model.h"
#include "tools/base/options.h"
#include "tools/network/pool.h"
#include "tools/base/progress.h"
#include "tools/verbs/host/run_float.h"
#include "tools/network/scores.h"
#include "tools/verbs/verbs.h"
#include "tools/base/message.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eval;

/* A task's own: an arena, a session, its counts. */
struct worker {
    struct eval *eval;
    struct model model; /* shares the blob of eval->model */
    struct morsel_view input, output;
    float *scores;
    size_t images, top1, top5;
    bool failed;
    struct failure failure;
};

struct eval {
    struct model model;
    struct dataset dataset;
    uint32_t cpu;
    atomic_size_t next, done;
    atomic_bool stop;
    unsigned worker_count;
    struct worker *workers;
    struct progress progress;
    double seconds;
};

static bool worker_open(struct worker *worker, struct eval *eval, struct failure *failure) {
    worker->eval = eval;
    worker->model.network = eval->model.network;
    if (!model_start(&worker->model, eval->cpu, 1, failure)) return false;
    morsel_input(&worker->model.session, 0, &worker->input);
    morsel_output(&worker->model.session, 0, &worker->output);
    size_t bytes = model_elements(&worker->output) * sizeof(float);
    worker->scores = malloc(bytes);
    return worker->scores || failure_memory(failure, bytes);
}

static void worker_close(struct worker *worker) {
    free(worker->scores);
    model_close(&worker->model);
}

static bool put_image(struct worker *worker, size_t index, uint32_t slot) {
    const struct dataset *dataset = &worker->eval->dataset;
    struct image image;
    if (!dataset_image(dataset, index, &image, &worker->failure)) return false;
    bool good = model_picture(&worker->model, image.rgb, image.width, image.height, &worker->input, slot, &worker->failure);
    if (!good && dataset->items[index].path) failure_prefix(&worker->failure, dataset->items[index].path);
    image_free(&image);
    return good;
}

/* Pictures first .. first + used, one run. */
static bool judge(struct worker *worker, size_t first, uint32_t batch, uint32_t used) {
    size_t classes = model_elements(&worker->output) / batch;
    for (uint32_t i = 0; i < batch; i++)
        if (!put_image(worker, first + (i < used ? i : used - 1), i)) return false;
    enum morsel_error error = morsel_run(&worker->model.session);
    if (!error) error = morsel_dequantize(&worker->output, worker->scores, classes * batch);
    if (error) return failure_set(&worker->failure, STATUS_INPUT, "the run failed: %s", morsel_error_text(error));
    for (uint32_t i = 0; i < used; i++) {
        size_t truth = worker->eval->dataset.items[first + i].class;
        if (truth >= classes)
            return failure_set(&worker->failure, STATUS_INPUT, "the dataset has class %zu, the network's output %zu classes", truth,
                               classes);
        size_t rank = scores_rank(worker->scores + i * classes, classes, truth);
        worker->images++;
        worker->top1 += rank < 1;
        worker->top5 += rank < 5;
    }
    return true;
}

/* Takes pictures, a batch at a time, until there are none. The first worker alone draws the progress. */
static void work(struct worker *worker, struct progress *progress) {
    struct eval *eval = worker->eval;
    uint32_t batch = (uint32_t)scores_images(&worker->input, &worker->output);
    while (!atomic_load(&eval->stop)) {
        size_t first = atomic_fetch_add(&eval->next, batch);
        if (first >= eval->dataset.count) return;
        size_t left = eval->dataset.count - first;
        if (!judge(worker, first, batch, left < batch ? (uint32_t)left : batch)) {
            worker->failed = true;
            atomic_store(&eval->stop, true);
            return;
        }
        size_t done = atomic_fetch_add(&eval->done, left < batch ? left : batch);
        if (progress) progress_show(progress, done);
    }
}

static void work_task(void *arg, uint32_t index) {
    struct eval *eval = arg;
    work(&eval->workers[index], index ? NULL : &eval->progress);
}

static bool run_workers(struct eval *eval, struct failure *failure) {
    struct pool *pool = pool_open(eval->worker_count, failure);
    if (!pool) return false;
    progress_start(&eval->progress, "pictures", eval->dataset.count);
    double start = clock_seconds();
    pool_run(pool, eval->worker_count, work_task, eval);
    eval->seconds = clock_seconds() - start;
    progress_end(&eval->progress);
    pool_close(pool);
    for (unsigned i = 0; i < eval->worker_count; i++) {
        if (eval->workers[i].failed) {
            *failure = eval->workers[i].failure;
            return false;
        }
    }
    return true;
}

static const char *label_of(const void *ctx, uint32_t index) {
    return morsel_label(ctx, index);
}

static bool check_model(const struct eval *eval, struct failure *failure) {
    if (!morsel_picture_bytes(&eval->model.network, 1, 1))
        return failure_set(failure, STATUS_INPUT, "the blob has no picture rule: convert the network with --picture RULE.json");
    if (morsel_input_count(&eval->model.network) != 1 || morsel_output_count(&eval->model.network) < 1)
        return failure_set(failure, STATUS_INPUT, "the network has %u inputs; accuracy is measured on networks with one",
                           morsel_input_count(&eval->model.network));
    return true;
}

static bool open_data(struct eval *eval, const char *path, size_t limit, struct failure *failure) {
    const struct worker *worker = &eval->workers[0];
    size_t classes = model_elements(&worker->output) / scores_images(&worker->input, &worker->output);
    const struct dataset_classes known = {(uint32_t)classes, label_of, &eval->model.network};
    return dataset_open(&eval->dataset, path, limit, &known, failure);
}

static bool run(struct eval *eval, const char *model, const char *data, size_t limit, struct failure *failure) {
    if (!model_read(&eval->model, model, failure)) return false;
    if (!check_model(eval, failure)) return failure_prefix(failure, model);
    if (!(eval->workers = calloc(eval->worker_count, sizeof *eval->workers)))
        return failure_memory(failure, eval->worker_count * sizeof *eval->workers);
    for (unsigned i = 0; i < eval->worker_count; i++)
        if (!worker_open(&eval->workers[i], eval, failure)) return false;
    return open_data(eval, data, limit, failure) && run_workers(eval, failure);
}

static struct eval_counts add_up(const struct eval *eval) {
    struct eval_counts counts = {.seconds = eval->seconds};
    for (unsigned i = 0; i < eval->worker_count; i++) {
        counts.images += eval->workers[i].images;
        counts.top1 += eval->workers[i].top1;
        counts.top5 += eval->workers[i].top5;
    }
    return counts;
}

static void report(const struct eval_counts *counts, unsigned threads, const char *isa, bool want_json) {
    size_t images = counts->images, top1 = counts->top1, top5 = counts->top5;
    double n = (double)images, rate = n / (counts->seconds + 1e-9);
    if (!want_json) {
        printf("%zu images: top-1 %.2f %% (%zu), top-5 %.2f %% (%zu), %.1f images/s with %u thread%s\n", images, 100 * (double)top1 / n,
               top1, 100 * (double)top5 / n, top5, rate, threads, threads > 1 ? "s" : "");
        return;
    }
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    json_integer(&json, "images", (int64_t)images);
    json_number(&json, "top1", (double)top1 / n);
    json_number(&json, "top5", (double)top5 / n);
    json_integer(&json, "top1_count", (int64_t)top1);
    json_integer(&json, "top5_count", (int64_t)top5);
    json_number(&json, "images_per_s", rate);
    json_integer(&json, "threads", threads);
    json_text(&json, "isa", isa);
    json_close(&json);
}

static void eval_free(struct eval *eval) {
    for (unsigned i = 0; eval->workers && i < eval->worker_count; i++) worker_close(&eval->workers[i]);
    free(eval->workers);
    dataset_close(&eval->dataset);
    model_close(&eval->model);
}

int verb_eval(int argc, char **argv) {
    static struct eval eval;
    struct failure failure;
    long threads = 1, limit = 0;
    bool want_json = false;
    const char *picture = NULL, *labels = NULL;
    const struct option list[] = {
        {"--limit", "N", OPTION_NUMBER, &limit, 0, INT32_MAX, "take N pictures, of folders as many of each class; 0: all"},
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST, "threads, each with pictures and an arena of its own"},
        {"--cpu", "NAME", OPTION_CPU, &eval.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--picture", "RULE.json", OPTION_TEXT, &picture, 0, 0, "how a picture becomes the input of an ONNX file; a blob has its own"},
        {"--labels", "FILE", OPTION_TEXT, &labels, 0, 0, "class names for an ONNX file; a blob has its own"},
        {"--json", NULL, OPTION_FLAG, &want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL DATASET [options]",
        .summary = "top-1 and top-5 over a folder of labelled pictures",
        .about = "Counts the right answers of a network over labelled pictures. An ONNX file runs in float.\n\n"
                 "DATASET is a folder with a subfolder for each class, a CIFAR-10 binary file (test_batch.bin), or a folder of such. A "
                 "subfolder is named as its label, in any case and with _ or - for / and spaces, or by the class number. Else there are "
                 "as many subfolders as classes, and they are taken in the order of their names.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel eval food.morsel pictures/ --threads 2", "the accuracy of a blob"},
                     {"morsel eval food_float.onnx pictures/ --picture rule.json --labels labels.txt", "the float network beside it"}},
    };
    if (!options_cpu_default(&eval.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 2) {
        message_error("eval: a model and a dataset are wanted, %d given: morsel eval MODEL DATASET", count);
        return STATUS_CALL;
    }
    eval.worker_count = (unsigned)threads;
#ifndef MORSEL_TOOL_REDUCED
    if (run_float_wanted(argv[0])) {
        const struct eval_float_call call = {argv[0], argv[1], picture, labels, (size_t)limit, (unsigned)threads};
        struct eval_counts counts;
        if (!eval_float(&call, &counts, &failure)) return message_failure(&failure);
        report(&counts, (unsigned)threads, "float", want_json);
        return STATUS_DONE;
    }
#endif
    if (picture || labels) {
        message_error("eval: %s is for ONNX files; a blob has its own", picture ? "--picture" : "--labels");
        return STATUS_CALL;
    }
    bool good = run(&eval, argv[0], argv[1], (size_t)limit, &failure);
    if (good) {
        const struct eval_counts counts = add_up(&eval);
        report(&counts, eval.worker_count, options_cpu_name(eval.workers[0].model.session.cpu), want_json);
    }
    eval_free(&eval);
    return good ? STATUS_DONE : message_failure(&failure);
}
