/* SPDX-License-Identifier: MIT */
/* Counts right answers over labelled samples, and boxes that agree, in float and by a blob. */
#include "tools/quant/accuracy.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/network/host/over.h"
#include "tools/network/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMED_RUNS = 12, KEPT_FLOATS = 64 << 20 };

/* --- the float network --- */

static bool keep(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure) {
    const struct reference *r = context;
    (void)worker;
    return (sample >= r->kept || network_scores(run, r->outputs + sample * r->width, failure)) &&
           (!r->rule || boxes_find(r->rule, run, &r->boxes[sample], failure));
}

static bool is_right(const struct reference *r, size_t sample, const float *scores) {
    uint32_t class = r->labelled ? quant_data_class(r->data, sample) : 0;
    return r->labelled && class < r->width && scores_rank(scores, r->width, class) == 0;
}

bool accuracy_of_float(struct reference *r, const struct accuracy_wish *wish, struct failure *failure) {
    const struct network network = network_of_executor(wish->executor);
    size_t width = (size_t)onnx_elements(&wish->graph->outputs[0]->shape);
    *r = (struct reference){
        .data = wish->data, .samples = quant_data_count(wish->data), .width = width, .labelled = wish->labelled, .rule = wish->rule};
    r->kept = r->rule && width && r->samples > KEPT_FLOATS / width ? KEPT_FLOATS / width + 1 : r->samples;
    r->outputs = must_calloc(r->kept, width * sizeof *r->outputs);
    r->boxes = must_calloc(r->samples, sizeof *r->boxes);
    if (!over_data(&network, r->data, wish->threads, "samples in float", NULL, keep, r, failure)) return false;
    for (size_t i = 0; i < r->samples; i++) {
        if (i < r->kept) r->right += is_right(r, i, r->outputs + i * width);
        for (int k = 0; r->rule && k < BOXES_THRESHOLDS; k++)
            r->box_counts[k] += boxes_count(r->rule, &r->boxes[i], boxes_threshold(r->rule, k));
    }
    return true;
}

void reference_free(struct reference *r) {
    for (size_t i = 0; r->boxes && i < r->samples; i++) boxes_free(&r->boxes[i]);
    free(r->boxes);
    free(r->outputs);
    r->boxes = NULL;
    r->outputs = NULL;
}

/* --- the blob --- */

/* By sample, so that sums do not depend on the threads. */
struct verdict {
    double signal, noise;
    size_t found[BOXES_THRESHOLDS], both[BOXES_THRESHOLDS];
    bool right, changed;
};

struct judging {
    const struct reference *reference;
    float *scores; /* [worker][width] */
    struct verdict *verdicts;
};

static bool judge_boxes(const struct reference *r, size_t sample, const struct network_run *run, struct verdict *verdict,
                        struct failure *failure) {
    struct boxes boxes = {0};
    bool good = boxes_find(r->rule, run, &boxes, failure);
    for (int k = 0; good && k < BOXES_THRESHOLDS; k++) {
        const float least = boxes_threshold(r->rule, k);
        verdict->found[k] = boxes_count(r->rule, &boxes, least);
        verdict->both[k] = boxes_both(r->rule, &boxes, &r->boxes[sample], least);
    }
    boxes_free(&boxes);
    return good;
}

static void judge_scores(const struct reference *r, size_t sample, const float *scores, struct verdict *verdict) {
    const float *wanted = r->outputs + sample * r->width;
    uint32_t answers[2];
    for (size_t i = 0; i < r->width; i++) {
        double error = (double)wanted[i] - (double)scores[i];
        verdict->signal += (double)wanted[i] * (double)wanted[i];
        verdict->noise += error * error;
    }
    scores_top(wanted, r->width, 1, &answers[0]);
    scores_top(scores, r->width, 1, &answers[1]);
    verdict->right = is_right(r, sample, scores);
    verdict->changed = answers[0] != answers[1];
}

static bool judge(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure) {
    const struct judging *j = context;
    const struct reference *r = j->reference;
    float *scores = j->scores + worker * r->width;
    struct verdict verdict = {0};
    if (!network_scores(run, scores, failure) || (r->rule && !judge_boxes(r, sample, run, &verdict, failure))) return false;
    if (sample < r->kept) judge_scores(r, sample, scores, &verdict);
    j->verdicts[sample] = verdict;
    return true;
}

static void add_up(const struct judging *j, struct accuracy *a) {
    double signal = 0, noise = 0;
    for (size_t i = 0; i < j->reference->samples; i++) {
        signal += j->verdicts[i].signal;
        noise += j->verdicts[i].noise;
        a->right += j->verdicts[i].right;
        a->changed += j->verdicts[i].changed;
        for (int k = 0; k < BOXES_THRESHOLDS; k++) {
            a->found[k] += j->verdicts[i].found[k];
            a->both[k] += j->verdicts[i].both[k];
        }
    }
    a->sqnr_db = noise == 0 ? INFINITY : 10 * log10(fmax(signal, 1e-300) / noise);
}

/* When nothing else runs. What the inputs hold makes no difference. */
static bool time_runs(const struct network *network, struct accuracy *a, struct failure *failure) {
    struct network_run *run = network_run_open(network, failure);
    bool good = run != NULL;
    a->run_ms = INFINITY;
    for (uint32_t i = 0; good && i < network->input_count; i++) {
        float *zeros = must_calloc(network->inputs[i].count, sizeof *zeros);
        good = network_put(run, i, zeros, failure);
        free(zeros);
    }
    for (int i = 0; good && i < TIMED_RUNS; i++) {
        double start = clock_seconds();
        good = network_compute(run, NULL, NULL, failure);
        a->run_ms = fmin(a->run_ms, (clock_seconds() - start) * 1e3);
    }
    network_run_close(run);
    return good;
}

bool accuracy_of_blob(struct accuracy *accuracy, const struct reference *reference, const void *blob, size_t blob_bytes, unsigned threads,
                      struct failure *failure) {
    struct judging j = {.reference = reference};
    struct network network;
    size_t samples = reference->samples, width = reference->width;
    *accuracy = (struct accuracy){0};
    j.verdicts = must_calloc(samples, sizeof *j.verdicts);
    j.scores = must_calloc(each_workers(samples, threads), width * sizeof *j.scores);
    bool good = network_of_blob(&network, blob, blob_bytes, failure) &&
                over_data(&network, reference->data, threads, "samples in bytes", NULL, judge, &j, failure) &&
                time_runs(&network, accuracy, failure);
    if (good) add_up(&j, accuracy);
    network_close(&network);
    free(j.verdicts);
    free(j.scores);
    return good;
}

static double f1_of(const struct accuracy *a, const struct reference *r, int first, int end) {
    size_t all = 0, both = 0;
    for (int k = first; k < end; k++) {
        all += a->found[k] + r->box_counts[k];
        both += a->both[k];
    }
    return all ? 2 * (double)both / (double)all : 1;
}

double accuracy_f1(const struct accuracy *a, const struct reference *r) {
    return f1_of(a, r, BOXES_THRESHOLDS / 2, BOXES_THRESHOLDS / 2 + 1);
}

double accuracy_f1_about(const struct accuracy *a, const struct reference *r) {
    return f1_of(a, r, 0, BOXES_THRESHOLDS);
}
