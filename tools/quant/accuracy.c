/* SPDX-License-Identifier: MIT */
#include "tools/quant/accuracy.h"
#include "tools/base/clock.h"
#include "tools/network/model.h"
#include "tools/base/progress.h"
#include "tools/quant/calibrate/over.h"
#include "tools/network/scores.h"
#include "tools/network/tensor.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 16, TIMED_RUNS = 12 };

/* --- the float network --- */

static void keep(void *context, unsigned worker, size_t sample, const struct executor_run *run) {
    struct reference *r = context;
    size_t count;
    const float *out = executor_output(run, 0, &count);
    (void)worker;
    memcpy(r->outputs + sample * r->width, out, r->width * sizeof *out);
}

static bool is_right(const struct reference *r, size_t sample, const float *scores) {
    uint32_t class = r->labelled ? quant_data_class(r->data, sample) : 0;
    return r->labelled && class < r->width && scores_rank(scores, r->width, class) == 0;
}

bool accuracy_of_float(struct reference *r, const struct onnx_graph *graph, const struct executor *executor, const struct quant_data *data,
                       bool labelled, unsigned threads, struct failure *failure) {
    const struct onnx_value *first = graph->outputs[0];
    size_t width = (size_t)onnx_elements(&first->shape);
    *r = (struct reference){.data = data, .samples = quant_data_count(data), .width = width, .labelled = labelled};
    r->outputs = calloc(r->samples + 1, width * sizeof *r->outputs);
    if (!r->outputs) return failure_memory(failure, r->samples * width * sizeof *r->outputs);
    if (!over_data(executor, data, threads, "samples in float", NULL, keep, r, failure)) return false;
    for (size_t i = 0; i < r->samples; i++) r->right += is_right(r, i, r->outputs + i * width);
    return true;
}

void reference_free(struct reference *r) {
    free(r->outputs);
    r->outputs = NULL;
}

/* --- the blob --- */

struct judging;

/* One thread's own: a session, a sample's inputs, its output. */
struct judge {
    struct judging *all;
    struct model model; /* shares the blob */
    uint32_t input_count;
    struct morsel_view inputs[INPUTS_MOST], output;
    float *values[INPUTS_MOST], *scores;
    bool failed, started;
    struct failure failure;
    pthread_t thread;
};

struct judging {
    const struct reference *reference;
    struct morsel_model network;
    atomic_size_t next, done;
    atomic_bool stop;
    double *signal, *noise;  /* by sample, so that their sums do not depend on the threads */
    unsigned char *verdicts; /* bit 0: right, bit 1: changed */
    struct judge *judges;
};

static bool judge_open(struct judge *j, struct judging *all, struct failure *failure) {
    j->all = all;
    j->model.network = all->network;
    j->input_count = morsel_input_count(&all->network);
    if (j->input_count > INPUTS_MOST) return failure_set(failure, STATUS_INPUT, "the network has more than %d inputs", INPUTS_MOST);
    if (!model_start(&j->model, MORSEL_CPU_ALL, 1, failure)) return false;
    for (uint32_t i = 0; i < j->input_count; i++) {
        morsel_input(&j->model.session, i, &j->inputs[i]);
        j->values[i] = calloc(model_elements(&j->inputs[i]) + 1, sizeof(float));
        if (!j->values[i]) return failure_memory(failure, model_elements(&j->inputs[i]) * sizeof(float));
    }
    morsel_output(&j->model.session, 0, &j->output);
    j->scores = calloc(model_elements(&j->output) + 1, sizeof(float));
    return j->scores || failure_memory(failure, model_elements(&j->output) * sizeof(float));
}

static void judge_close(struct judge *j) {
    for (uint32_t i = 0; i < INPUTS_MOST; i++) free(j->values[i]);
    free(j->scores);
    model_close(&j->model);
}

static bool judge_run(struct judge *j) {
    enum morsel_error error = morsel_run(&j->model.session);
    return !error || failure_set(&j->failure, STATUS_SYSTEM, "the quantized network does not run: %s", morsel_error_text(error));
}

static bool judge_sample(struct judge *j, size_t sample) {
    const struct reference *r = j->all->reference;
    const float *wanted = r->outputs + sample * r->width;
    if (!quant_data_load(r->data, sample, j->values, &j->failure)) return false;
    for (uint32_t i = 0; i < j->input_count; i++)
        if (!tensor_store(&j->inputs[i], j->values[i], &j->failure)) return false;
    if (!judge_run(j) || !tensor_load(&j->output, j->scores, &j->failure)) return false;
    double signal = 0, noise = 0;
    uint32_t answers[2];
    for (size_t i = 0; i < r->width; i++) {
        double error = (double)wanted[i] - (double)j->scores[i];
        signal += (double)wanted[i] * (double)wanted[i];
        noise += error * error;
    }
    scores_top(wanted, r->width, 1, &answers[0]);
    scores_top(j->scores, r->width, 1, &answers[1]);
    j->all->signal[sample] = signal;
    j->all->noise[sample] = noise;
    j->all->verdicts[sample] = (unsigned char)(is_right(r, sample, j->scores) | (answers[0] != answers[1]) << 1);
    return true;
}

static void work(struct judge *j, struct progress *progress) {
    struct judging *all = j->all;
    while (!atomic_load(&all->stop)) {
        size_t sample = atomic_fetch_add(&all->next, 1);
        if (sample >= all->reference->samples) return;
        if (!judge_sample(j, sample)) {
            j->failed = true;
            atomic_store(&all->stop, true);
            return;
        }
        size_t done = atomic_fetch_add(&all->done, 1) + 1;
        if (progress) progress_show(progress, done);
    }
}

static void *work_thread(void *context) {
    work(context, NULL);
    return NULL;
}

/* Judge 0 works in this thread. Where a thread cannot be started the others do its part. */
static bool run_judges(struct judging *all, unsigned threads, struct failure *failure) {
    struct progress progress;
    progress_start(&progress, "samples in bytes", all->reference->samples);
    for (unsigned t = 1; t < threads; t++)
        all->judges[t].started = !pthread_create(&all->judges[t].thread, NULL, work_thread, &all->judges[t]);
    work(&all->judges[0], &progress);
    for (unsigned t = 1; t < threads; t++)
        if (all->judges[t].started) pthread_join(all->judges[t].thread, NULL);
    progress_end(&progress);
    for (unsigned t = 0; t < threads; t++)
        if (all->judges[t].failed) {
            *failure = all->judges[t].failure;
            return false;
        }
    return true;
}

static bool add_up(struct judging *all, struct accuracy *a, struct failure *failure) {
    double signal = 0, noise = 0, shortest = INFINITY;
    for (size_t i = 0; i < all->reference->samples; i++) {
        signal += all->signal[i];
        noise += all->noise[i];
        a->right += all->verdicts[i] & 1;
        a->changed += all->verdicts[i] >> 1;
    }
    a->sqnr_db = noise == 0 ? INFINITY : 10 * log10(fmax(signal, 1e-300) / noise);
    for (int run = 0; run < TIMED_RUNS; run++) {
        double start = clock_seconds();
        if (!judge_run(&all->judges[0])) {
            *failure = all->judges[0].failure;
            return false;
        }
        shortest = fmin(shortest, clock_seconds() - start);
    }
    a->run_ms = shortest * 1e3;
    return true;
}

bool accuracy_of_blob(struct accuracy *accuracy, const struct reference *reference, const void *blob, size_t blob_bytes, unsigned threads,
                      struct failure *failure) {
    struct judging all = {.reference = reference};
    size_t samples = reference->samples + 1;
    *accuracy = (struct accuracy){0};
    enum morsel_error error = morsel_open(&all.network, blob, blob_bytes, 0);
    if (error) return failure_set(failure, STATUS_SYSTEM, "the blob that was made does not open: %s", morsel_error_text(error));
    all.signal = calloc(samples, sizeof *all.signal);
    all.noise = calloc(samples, sizeof *all.noise);
    all.verdicts = calloc(samples, 1);
    all.judges = calloc(threads, sizeof *all.judges);
    bool good = all.signal && all.noise && all.verdicts && all.judges;
    if (!good) failure_memory(failure, samples * (2 * sizeof(double) + 1));
    for (unsigned t = 0; good && t < threads; t++) good = judge_open(&all.judges[t], &all, failure);
    good = good && run_judges(&all, threads, failure) && add_up(&all, accuracy, failure);
    for (unsigned t = 0; all.judges && t < threads; t++) judge_close(&all.judges[t]);
    free(all.signal);
    free(all.noise);
    free(all.verdicts);
    free(all.judges);
    return good;
}
