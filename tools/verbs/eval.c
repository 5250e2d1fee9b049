/* SPDX-License-Identifier: MIT */
/* morsel eval: top-1 and top-5 over labelled pictures. Threads take whole pictures: each has a run of its own. */
#include "core/morsel.h"
#include "core/format.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/network/each.h"
#include "tools/network/network.h"
#include "tools/network/scores.h"
#include "tools/samples/dataset.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    size_t images, top1, top5;
};

/* A thread's own. */
struct worker {
    struct network_run *run;
    float *scores;
    struct counts counts;
};

struct eval {
    struct network network;
    struct dataset dataset;
    uint32_t batch; /* images of a run */
    size_t classes;
    unsigned worker_count;
    struct worker *workers;
    double seconds;
};

static bool put_image(const struct eval *eval, struct worker *worker, size_t index, uint32_t slot, struct failure *failure) {
    const struct dataset_item *item = &eval->dataset.items[index];
    struct image image;
    if (!dataset_image(&eval->dataset, index, &image, failure)) return false;
    bool good = network_picture(worker->run, &image, slot, failure) || failure_prefix(failure, item->path ? item->path : item->binary);
    image_free(&image);
    return good;
}

/* One run; a last batch that is not full repeats its last picture. */
static bool judge(void *context, unsigned index, size_t task, struct failure *failure) {
    const struct eval *eval = context;
    struct worker *worker = &eval->workers[index];
    size_t first = task * eval->batch, left = eval->dataset.count - first;
    uint32_t used = left < eval->batch ? (uint32_t)left : eval->batch;
    for (uint32_t i = 0; i < eval->batch; i++)
        if (!put_image(eval, worker, first + (i < used ? i : used - 1), i, failure)) return false;
    if (!network_compute(worker->run, NULL, NULL, failure) || !network_scores(worker->run, worker->scores, failure)) return false;
    for (uint32_t i = 0; i < used; i++) {
        size_t rank = scores_rank(worker->scores + i * eval->classes, eval->classes, eval->dataset.items[first + i].class);
        worker->counts.images++;
        worker->counts.top1 += rank < 1;
        worker->counts.top5 += rank < 5;
    }
    return true;
}

static bool check_network(const struct eval *eval, struct failure *failure) {
    const struct network *network = &eval->network;
    if (network->input_count != 1 || network->output_count < 1)
        return failure_set(failure, STATUS_INPUT,
                           "the network has %u inputs and %u outputs; accuracy is measured on networks with one input",
                           network->input_count, network->output_count);
    if (eval->classes < 1 || eval->classes > 1 << 20) return failure_set(failure, STATUS_INPUT, "its first output is no list of classes");
    return true;
}

static bool open_network(struct eval *eval, const struct network_call *call, struct failure *failure) {
    struct network *network = &eval->network;
    if (!network_read(network, call, failure) || !network_takes_pictures(network, failure) || !network_start(network, NULL, failure))
        return false;
    eval->batch = network_images(network);
    eval->classes = network->output_count ? network->outputs[0].count / eval->batch : 0;
    return check_network(eval, failure) || failure_prefix(failure, call->path);
}

static bool open_workers(struct eval *eval, struct failure *failure) {
    eval->workers = must_calloc(eval->worker_count, sizeof *eval->workers);
    for (unsigned i = 0; i < eval->worker_count; i++) {
        eval->workers[i].scores = must_calloc(eval->network.outputs[0].count, sizeof(float));
        if (!(eval->workers[i].run = network_run_open(&eval->network, failure))) return false;
    }
    return true;
}

static bool open_data(struct eval *eval, const char *path, size_t limit, struct failure *failure) {
    const struct dataset_classes known = {(uint32_t)eval->classes, network_label, &eval->network};
    if (!dataset_open(&eval->dataset, path, limit, &known, failure)) return false;
    for (size_t i = 0; i < eval->dataset.count; i++)
        if (eval->dataset.items[i].class >= eval->classes)
            return failure_set(failure, STATUS_INPUT, "the dataset has class %u, the network's output %zu classes",
                               eval->dataset.items[i].class, eval->classes);
    return true;
}

static bool run(struct eval *eval, const struct network_call *call, const char *data, size_t limit, struct failure *failure) {
    if (!open_network(eval, call, failure) || !open_workers(eval, failure) || !open_data(eval, data, limit, failure)) return false;
    size_t runs = (eval->dataset.count + eval->batch - 1) / eval->batch;
    double start = clock_seconds();
    bool good = each(runs, eval->worker_count, eval->batch > 1 ? "batches of pictures" : "pictures", judge, eval, failure);
    eval->seconds = clock_seconds() - start;
    return good;
}

static struct counts add_up(const struct eval *eval) {
    struct counts all = {0};
    for (unsigned i = 0; i < eval->worker_count; i++) {
        all.images += eval->workers[i].counts.images;
        all.top1 += eval->workers[i].counts.top1;
        all.top5 += eval->workers[i].counts.top5;
    }
    return all;
}

static void report(const struct eval *eval, bool want_json) {
    const struct counts counts = add_up(eval);
    size_t images = counts.images, top1 = counts.top1, top5 = counts.top5;
    unsigned threads = eval->worker_count;
    double n = (double)images, rate = n / (eval->seconds + 1e-9);
    if (!want_json) {
        message_print("%zu images: top-1 %.2f %% (%zu), top-5 %.2f %% (%zu), %.1f images/s with %u thread%s\n", images,
                      100 * (double)top1 / n, top1, 100 * (double)top5 / n, top5, rate, threads, threads > 1 ? "s" : "");
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
    json_text(&json, "isa", network_isa(eval->workers[0].run));
    json_close(&json);
}

static void eval_free(struct eval *eval) {
    for (unsigned i = 0; eval->workers && i < eval->worker_count; i++) {
        network_run_close(eval->workers[i].run);
        free(eval->workers[i].scores);
    }
    free(eval->workers);
    dataset_close(&eval->dataset);
    network_close(&eval->network);
}

int verb_eval(int argc, char **argv) {
    static struct eval eval;
    struct failure failure;
    long threads = 1, limit = 0;
    bool want_json = false;
    struct network_call call = {0};
    const struct option list[] = {
        {"--limit", "N", OPTION_NUMBER, &limit, 0, INT32_MAX, "take N pictures, of folders as many of each class; 0: all"},
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST, "threads, each with pictures and an arena of its own"},
        {"--variant", "N", OPTION_NUMBER, &call.variant, 0, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them"},
        {"--cpu", "NAME", OPTION_CPU, &call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--picture", "RULE.json", OPTION_TEXT, &call.picture, 0, 0, "how a picture becomes the input of an ONNX file; a blob has its own"},
        {"--labels", "FILE", OPTION_TEXT, &call.labels, 0, 0, "class names for an ONNX file; a blob has its own"},
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
    if (!options_cpu_default(&call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 2) {
        message_error("eval: a model and a dataset are wanted, %d given: morsel eval MODEL DATASET", count);
        return STATUS_CALL;
    }
    eval.worker_count = (unsigned)threads;
    call.path = argv[0];
    bool good = run(&eval, &call, argv[1], (size_t)limit, &failure);
    if (good) report(&eval, want_json);
    eval_free(&eval);
    return good ? STATUS_DONE : message_failure(&failure);
}
