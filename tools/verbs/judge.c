/* SPDX-License-Identifier: MIT */
/* Runs a network over labelled pictures and counts. Threads take whole pictures: each has a run of its own. */
#include "tools/verbs/judge.h"
#include "kernels/float.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/network/each.h"
#include "tools/network/found.h"
#include "tools/network/scores.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A thread's own. */
struct judge_worker {
    struct network_run *run;
    float *scores;
};

static bool put_image(const struct judge *judge, struct judge_worker *worker, size_t index, uint32_t slot, struct failure *failure) {
    const struct dataset_item *item = &judge->dataset.items[index];
    struct image image;
    if (!dataset_image(&judge->dataset, index, &image, failure)) return false;
    bool good = network_picture(worker->run, &image, slot, failure) || failure_prefix(failure, item->path ? item->path : item->binary);
    image_free(&image);
    return good;
}

/* Two probabilities of all the scores; the others are not needed. */
static void find_probabilities(const struct judge *judge, const float *scores, uint32_t truth, struct judge_answer *answer) {
    double most = (double)scores[answer->class], sum = 0;
    answer->p = scores[answer->class];
    answer->p_true = scores[truth];
    const struct morsel_blob_answer *rule = judge->network.answer;
    if (rule && rule->kind == MORSEL_ANSWER_CLASSES && rule->flags & MORSEL_ANSWER_SIGMOID) {
        answer->p = morsel_sigmoid(answer->p);
        answer->p_true = morsel_sigmoid(answer->p_true);
        return;
    }
    if (judge->network.probabilities) return;
    for (size_t i = 0; i < judge->classes; i++) sum += exp((double)scores[i] - most);
    answer->p = (float)(1 / sum);
    answer->p_true = (float)(exp((double)scores[truth] - most) / sum);
}

/* One run; a last batch that is not full repeats its last picture. */
static bool answer_task(void *context, unsigned index, size_t task, struct failure *failure) {
    const struct judge *judge = context;
    struct judge_worker *worker = &judge->workers[index];
    size_t first = task * judge->batch, left = judge->dataset.count - first;
    uint32_t used = left < judge->batch ? (uint32_t)left : judge->batch;
    for (uint32_t i = 0; i < judge->batch; i++)
        if (!put_image(judge, worker, first + (i < used ? i : used - 1), i, failure)) return false;
    if (!network_compute(worker->run, NULL, NULL, failure) || !network_scores(worker->run, worker->scores, failure)) return false;
    for (uint32_t i = 0; i < used; i++) {
        const float *scores = worker->scores + i * judge->classes;
        struct judge_answer *answer = &judge->answers[first + i];
        uint32_t truth = judge->dataset.items[first + i].class;
        scores_top(scores, judge->classes, 1, &answer->class);
        answer->rank = (uint32_t)scores_rank(scores, judge->classes, truth);
        find_probabilities(judge, scores, truth, answer);
    }
    return true;
}

/* A line of numbers for each image, wherever its dimension stands: whoever labels pictures says that it is one of classes. */
static bool is_line(const struct network_tensor *output) {
    uint32_t wide = 0;
    for (uint32_t i = 1; i < output->rank; i++) wide += output->dims[i] != 1;
    return output->rank > 0 && wide <= 1;
}

static bool check_network(const struct judge *judge, struct failure *failure) {
    const struct network *network = &judge->network;
    if (network->input_count != 1 || network->output_count < 1)
        return failure_set(failure, STATUS_INPUT,
                           "the network has %u inputs and %u outputs; accuracy is measured on networks with one input",
                           network->input_count, network->output_count);
    if (network->answer && network->answer->kind != MORSEL_ANSWER_CLASSES)
        return failure_set(failure, STATUS_INPUT, "by its answer rule it gives neither classes nor boxes; accuracy is measured on those");
    if (!is_line(network->outputs) || judge->classes < 1 || judge->classes > 1 << 20)
        return failure_set(failure, STATUS_INPUT, "its first output is no list of classes");
    return true;
}

static bool open_network(struct judge *judge, const struct network_call *call, struct failure *failure) {
    struct network *network = &judge->network;
    if (!network_read(network, call, failure) || !network_takes_pictures(network, failure) || !network_start(network, NULL, failure))
        return false;
    if (found_kind(network) == MORSEL_ANSWER_DETECTIONS)
        return network->input_count == 1 ||
               failure_set(failure, STATUS_INPUT, "%s: the network has %u inputs; boxes are counted of networks with one", call->path,
                           network->input_count);
    judge->batch = network_images(network);
    judge->classes = network->output_count ? network->outputs[0].count / judge->batch : 0;
    return check_network(judge, failure) || failure_prefix(failure, call->path);
}

static bool open_workers(struct judge *judge, struct failure *failure) {
    judge->workers = must_calloc(judge->worker_count, sizeof *judge->workers);
    for (unsigned i = 0; i < judge->worker_count; i++) {
        judge->workers[i].scores = must_calloc(judge->network.outputs[0].count, sizeof(float));
        if (!(judge->workers[i].run = network_run_open(&judge->network, failure))) return false;
    }
    return true;
}

static bool open_data(struct judge *judge, const char *path, size_t limit, struct failure *failure) {
    const struct dataset_classes known = {(uint32_t)judge->classes, network_label, &judge->network};
    if (!dataset_open(&judge->dataset, path, limit, &known, failure)) return false;
    for (size_t i = 0; i < judge->dataset.count; i++)
        if (judge->dataset.items[i].class >= judge->classes)
            return failure_set(failure, STATUS_INPUT, "the dataset has class %u, the network's output %zu classes",
                               judge->dataset.items[i].class, judge->classes);
    judge->answers = must_calloc(judge->dataset.count, sizeof *judge->answers);
    return true;
}

static int by_probability(const void *a, const void *b, void *context) {
    const struct judge *judge = context;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    float x = judge->answers[i].p, y = judge->answers[k].p;
    if (isnan(x) != isnan(y)) return isnan(x) ? -1 : 1; /* no number at all is worst */
    return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

static void count_up(struct judge *judge) {
    size_t count = judge->dataset.count;
    judge->of = must_calloc(judge->classes, sizeof *judge->of);
    judge->misses = must_calloc(count, sizeof *judge->misses);
    if (judge->classes <= JUDGE_MATRIX_MOST) judge->matrix = must_calloc(judge->classes * judge->classes, sizeof *judge->matrix);
    for (size_t i = 0; i < count; i++) {
        const struct judge_answer *answer = &judge->answers[i];
        uint32_t truth = judge->dataset.items[i].class;
        bool right = answer->class == truth;
        judge->of[truth].images++;
        judge->of[answer->class].answers++;
        judge->of[truth].right += right;
        judge->top1 += right;
        judge->top5 += answer->rank < 5;
        if (!right) judge->misses[judge->miss_count++] = i;
        if (judge->matrix) judge->matrix[truth * judge->classes + answer->class]++;
    }
    qsort_r(judge->misses, judge->miss_count, sizeof *judge->misses, by_probability, judge);
}

bool judge_open(struct judge *judge, const struct judge_call *call, struct failure *failure) {
    *judge = (struct judge){.worker_count = call->threads};
    if (!open_network(judge, call->network, failure)) return false;
    if (found_kind(&judge->network) == MORSEL_ANSWER_DETECTIONS) return judge_boxes_open(judge, call, failure);
    if (call->against) return failure_set(failure, STATUS_CALL, "--against: the network is no detector by its answer rule");
    return open_workers(judge, failure) && open_data(judge, call->data, call->limit, failure);
}

bool judge_run(struct judge *judge, struct failure *failure) {
    if (judge->boxes) return judge_boxes_run(judge, failure);
    size_t runs = (judge->dataset.count + judge->batch - 1) / judge->batch;
    double start = clock_seconds();
    bool good = each(runs, judge->worker_count, judge->batch > 1 ? "batches of pictures" : "pictures", answer_task, judge, failure);
    judge->seconds = clock_seconds() - start;
    if (good) count_up(judge);
    snprintf(judge->isa, sizeof judge->isa, "%s", network_isa(judge->workers[0].run));
    return good;
}

void judge_free(struct judge *judge) {
    for (unsigned i = 0; judge->workers && i < judge->worker_count; i++) {
        network_run_close(judge->workers[i].run);
        free(judge->workers[i].scores);
    }
    free(judge->workers);
    free(judge->answers);
    free(judge->of);
    free(judge->misses);
    free(judge->matrix);
    judge_boxes_free(judge);
    dataset_close(&judge->dataset);
    if (judge->network.kind) network_close(&judge->network);
    *judge = (struct judge){0};
}

size_t judge_wrong(const struct judge *judge) {
    return judge->boxes ? judge->boxes->worst_count : judge->miss_count;
}

bool judge_reads(const struct judge *judge, const char *path) {
    bool read = network_reads(&judge->network, path) || (judge->against.kind && network_reads(&judge->against, path));
    for (size_t i = 0; i < judge->dataset.count && !read; i++)
        read = file_same(path, judge->dataset.items[i].path) || file_same(path, judge->dataset.items[i].binary);
    return read;
}

const char *judge_label(const struct judge *judge, size_t class, char text[32]) {
    const char *label = network_label(&judge->network, (uint32_t) class);
    snprintf(text, 32, "class %zu", class);
    return label && *label ? label : text;
}

double judge_precision(const struct judge_class *class) {
    return class->answers ? (double)class->right / (double)class->answers : (double)NAN;
}

double judge_recall(const struct judge_class *class) {
    return class->images ? (double)class->right / (double)class->images : (double)NAN;
}

static int by_recall(const void *a, const void *b, void *context) {
    const struct judge_class *of = context;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    double x = judge_recall(&of[i]), y = judge_recall(&of[k]);
    return x < y ? -1 : x > y ? 1 : i < k ? -1 : i > k;
}

size_t judge_order(const struct judge *judge, size_t *order) {
    size_t count = 0;
    for (size_t i = 0; i < judge->classes; i++)
        if (judge->of[i].images) order[count++] = i;
    qsort_r(order, count, sizeof *order, by_recall, judge->of);
    return count;
}

static int by_classes(const void *a, const void *b) {
    const struct judge_pair *x = a, *y = b;
    if (x->truth != y->truth) return x->truth < y->truth ? -1 : 1;
    return x->answer < y->answer ? -1 : x->answer > y->answer;
}

static int by_images(const void *a, const void *b) {
    const struct judge_pair *x = a, *y = b;
    return x->images > y->images ? -1 : x->images < y->images ? 1 : by_classes(a, b);
}

/* From the misses, so that it takes no matrix: there may be a million classes. */
size_t judge_pairs(const struct judge *judge, struct judge_pair *pairs, size_t most) {
    struct judge_pair *all = must_calloc(judge->miss_count + 1, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < judge->miss_count; i++) {
        size_t image = judge->misses[i];
        all[i] = (struct judge_pair){judge->dataset.items[image].class, judge->answers[image].class, 1};
    }
    qsort(all, judge->miss_count, sizeof *all, by_classes);
    for (size_t i = 0; i < judge->miss_count; i++) {
        if (count && !by_classes(&all[count - 1], &all[i])) all[count - 1].images++;
        else all[count++] = all[i];
    }
    qsort(all, count, sizeof *all, by_images);
    count = count < most ? count : most;
    memcpy(pairs, all, count * sizeof *pairs);
    free(all);
    return count;
}
