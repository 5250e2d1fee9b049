/* SPDX-License-Identifier: MIT */
/* morsel bench: how long a run takes, of the whole network and of each step. */
#include "core/morsel.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/network/each.h"
#include "tools/network/network.h"
#include "tools/network/tensor.h"
#include "tools/base/json.h"
#include "tools/base/options.h"
#include "core/blob.h"
#include "tools/verbs/verbs.h"
#include "tools/base/message.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct network_call call;
    struct network network;
    struct network_run *run;
    long runs, seconds, warmup, threads, batch;
    bool layers, want_json;
    uint8_t **inputs; /* what is written into each input before every run, of one image after the other */
    uint32_t input_count;
    /* For a batch of several times the network's own: so many images, each run whole by one of some threads. */
    uint32_t images; /* 0: the network's own batch */
    struct pool *pool;
    struct network_run *crowd[POOL_THREADS_MOST];
    double first_ms;
    double *ms;      /* of every run, sorted */
    double *step_ms; /* [step] median */
};

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that a share of p of the sorted ones does not exceed. */
static double percentile(const double *sorted, long count, double p) {
    long at = (long)ceil(p * (double)count) - 1;
    return sorted[at < 0 ? 0 : at];
}

static double median(const double *sorted, long count) {
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static uint32_t random_next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The same values on every machine; floats are 0..1. */
static void fill(const struct morsel_view *view, uint8_t *to, uint32_t *state) {
    for (uint32_t i = 0; view->type != MORSEL_FLOAT32 && i < view->bytes; i++) to[i] = (uint8_t)(random_next(state) >> 24);
    for (uint32_t i = 0; view->type == MORSEL_FLOAT32 && i < view->bytes / 4; i++) {
        float value = (float)(random_next(state) >> 8) / 16777216.0f;
        memcpy(to + 4 * (size_t)i, &value, 4);
    }
}

static void make_inputs(struct bench *bench) {
    uint32_t count = bench->network.input_count, state = 2463534242u;
    bench->inputs = must_calloc(count, sizeof *bench->inputs);
    bench->input_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_view view;
        morsel_input(&bench->run->session, i, &view);
        uint32_t runs = bench->images ? bench->images : 1;
        bench->inputs[i] = must_calloc(runs, view.bytes);
        for (uint32_t k = 0; k < runs; k++) fill(&view, bench->inputs[i] + (size_t)k * view.bytes, &state);
    }
}

/* Inputs are spent by a run. */
static void put_image(const struct bench *bench, const struct network_run *run, size_t image) {
    for (uint32_t i = 0; i < bench->input_count; i++) {
        struct morsel_view view;
        morsel_input(&run->session, i, &view);
        memcpy(view.data, bench->inputs[i] + image * view.bytes, view.bytes);
    }
}

static bool run_image(void *context, unsigned worker, size_t image, struct failure *failure) {
    const struct bench *bench = context;
    put_image(bench, bench->crowd[worker], image);
    return network_compute(bench->crowd[worker], NULL, NULL, failure);
}

/* A batch that threads share by images includes that each image is copied into an arena. */
static bool time_run(struct bench *bench, double *ms, struct failure *failure) {
    if (!bench->images) put_image(bench, bench->run, 0);
    double start = clock_seconds();
    bool good = bench->images ? each_in(bench->pool, bench->images, (unsigned)bench->threads, NULL, run_image, bench, failure)
                              : network_compute(bench->run, NULL, NULL, failure);
    *ms = (clock_seconds() - start) * 1e3;
    return good;
}

/* As many runs as asked for, or for so many seconds. */
static bool measure_runs(struct bench *bench, struct failure *failure) {
    double end = clock_seconds() + (double)bench->seconds;
    size_t room = 0, count = 0, wanted = bench->seconds ? 0 : (size_t)bench->runs;
    while (count < wanted || (!wanted && (!count || clock_seconds() < end))) {
        if (count == room) {
            room = wanted ? wanted : room * 2 + 1024;
            bench->ms = must_have(realloc(bench->ms, room * sizeof *bench->ms), room * sizeof *bench->ms);
        }
        if (!time_run(bench, &bench->ms[count++], failure)) return false;
    }
    bench->runs = (long)count;
    return true;
}

static bool measure(struct bench *bench, struct failure *failure) {
    double ms;
    if (!time_run(bench, &bench->first_ms, failure)) return false;
    for (long i = 0; i < bench->warmup; i++)
        if (!time_run(bench, &ms, failure)) return false;
    if (!measure_runs(bench, failure)) return false;
    qsort(bench->ms, (size_t)bench->runs, sizeof *bench->ms, compare);
    return true;
}

/* What each step of a run took so far. */
struct times {
    double before;
    double *ms; /* [step] */
};

static void add_time(void *context, const struct morsel_step *step) {
    struct times *times = context;
    double now = clock_seconds();
    times->ms[step->index] += (now - times->before) * 1e3;
    times->before = now;
}

/* Runs of their own, so that looking at the clock between steps does not lengthen the others. */
static void measure_steps(struct bench *bench) {
    struct morsel_session *session = &bench->run->session;
    size_t steps = session->step_count, runs = bench->seconds && bench->runs > 1000 ? 1000 : (size_t)bench->runs;
    double *all = must_calloc(steps * (runs + 1), sizeof *all); /* [step][run], then those of one run */
    bench->step_ms = must_calloc(steps, sizeof *bench->step_ms);
    struct times times = {0, all + steps * runs};
    morsel_session_watch(session, add_time, &times);
    for (size_t run = 0; run < runs; run++) {
        double *ms = times.ms;
        memset(ms, 0, steps * sizeof *ms);
        put_image(bench, bench->run, 0);
        times.before = clock_seconds();
        morsel_run(session);
        for (size_t i = 0; i < steps; i++) all[i * runs + run] = ms[i];
    }
    for (size_t i = 0; i < steps; i++) {
        qsort(all + i * runs, runs, sizeof *all, compare);
        bench->step_ms[i] = median(all + i * runs, (long)runs);
    }
    morsel_session_watch(session, NULL, NULL);
    free(all);
}

static double gmacs_per_second(const struct bench *bench, uint32_t step) {
    double ms = bench->step_ms[step];
    return ms > 0 ? (double)morsel_step_macs(morsel_blob_step(&bench->network.model, step)) / ms * 1e-6 : 0;
}

static struct morsel_step step_of(const struct bench *bench, uint32_t index) {
    struct morsel_step step = {0};
    morsel_session_step(&bench->run->session, index, &step);
    return step;
}

static double all_steps_ms(const struct bench *bench) {
    double total = 0;
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) total += bench->step_ms[i];
    return total;
}

/* Why the steps do not add up to the median of whole runs. */
static void print_difference(const struct bench *bench, double total) {
    message_print("  ");
    if (!bench->images) message_print("%+.4f ms to the median above: ", total - median(bench->ms, bench->runs));
    message_print("steps are timed in runs of their own%s, with a look at the clock after every turn of each\n",
                  bench->images        ? ", of one image"
                  : bench->threads > 1 ? ", groups in one thread"
                                       : "");
}

/* What plain C took where the session has kernels for more, and why. */
static void print_plain_c(const struct bench *bench, double total) {
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) {
        struct morsel_step step = step_of(bench, i);
        if (!step.why_c || bench->step_ms[i] < 0.01 * total) continue;
        message_print("  step %u (%s) takes plain C: %s\n", i, step.kind, step.why_c);
    }
}

static void print_layers(const struct bench *bench) {
    double total = all_steps_ms(bench);
    message_print("\n%4s %5s  %-12s %-10s %9s %6s %8s  %s\n", "step", "group", "op", "isa", "ms", "share", "GMAC/s", "name");
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) {
        struct morsel_step step = step_of(bench, i);
        char group[16] = "";
        if (step.group) snprintf(group, sizeof group, "%u", step.group);
        message_print("%4u %5s  %-12s %-10s %9.4f %5.1f%% %8.2f  %s\n", i, group, step.kind, step.isa, bench->step_ms[i],
                      total > 0 ? 100 * bench->step_ms[i] / total : 0, gmacs_per_second(bench, i), step.name);
    }
    message_print("%4s %5s  %-12s %-10s %9.4f\n", "", "", "all steps", "", total);
    print_plain_c(bench, total);
    print_difference(bench, total);
}

static size_t arena_bytes(const struct bench *bench) {
    return bench->run->arena_bytes * (bench->images ? (size_t)bench->threads : 1);
}

static double open_us(const struct bench *bench) {
    return (bench->network.open_seconds + bench->run->open_seconds) * 1e6;
}

/* " (variant 1, [1, 64])", of several. */
static const char *variant_text(const struct network *network, char *text, size_t size) {
    uint32_t dims[NPY_RANK_MOST], rank = network->input_count ? network->inputs[0].rank : 0;
    char shape[160];
    for (uint32_t k = 0; k < rank; k++) dims[k] = (uint32_t)network->inputs[0].dims[k];
    text[0] = 0;
    if (network_variants(network) > 1)
        snprintf(text, size, " (variant %u, %s)", network->variant, tensor_dims(dims, rank, shape, sizeof shape));
    return text;
}

static void print_text(const struct bench *bench) {
    double middle = median(bench->ms, bench->runs);
    char variant[256];
    message_print("%s%s: %s, %ld thread%s, batch %ld, %ld runs after %ld to warm up\n", bench->call.path,
                  variant_text(&bench->network, variant, sizeof variant), options_cpu_name(bench->run->session.cpu), bench->threads,
                  bench->threads > 1 ? "s" : "", bench->batch, bench->runs, bench->warmup);
    double p99 = percentile(bench->ms, bench->runs, 0.99);
    message_print("  min %.3f ms   median %.3f ms   p95 %.3f ms   p99 %.3f ms   p99/median %.3f   %.1f FPS\n", bench->ms[0], middle,
                  percentile(bench->ms, bench->runs, 0.95), p99, p99 / middle, (double)bench->batch * 1e3 / middle);
    message_print("  open %.0f us   first run %.3f ms   arena %zu bytes   blob %zu bytes\n", open_us(bench), bench->first_ms,
                  arena_bytes(bench), bench->network.blob.size);
    if (bench->layers) print_layers(bench);
}

static void put_operand(struct json *json, const char *key, const struct bench *bench, const struct morsel_blob_step *step, uint32_t at) {
    const struct morsel_model *network = &bench->network.model;
    const struct morsel_blob_tensor *tensor = morsel_blob_tensor(network, morsel_blob_operand(network, step, at));
    json_dims(json, key, tensor->dims, tensor->rank);
}

/* How a step that streams rows takes its turns: core/format.h. */
static void put_stage(const struct bench *bench, struct json *json, const struct morsel_blob_step *step) {
    json_integer(json, "group", step->group);
    if (!step->group) return;
    json_integer(json, "strip_rows", morsel_blob_group(&bench->network.model, step->group - 1)->strip_rows);
    json_integer(json, "stage_scale", step->stage_scale);
    json_integer(json, "stage_lead", step->stage_lead);
}

static void layers_json(const struct bench *bench, struct json *json) {
    json_open_array(json, "layers");
    for (uint32_t i = 0; bench->layers && i < bench->run->session.step_count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(&bench->network.model, i);
        struct morsel_step info = step_of(bench, i);
        json_open_flat(json, NULL);
        json_text(json, "name", info.name);
        json_text(json, "op", info.kind);
        json_text(json, "isa", info.isa);
        if (info.why_c) json_text(json, "why_c", info.why_c);
        json_number(json, "ms", bench->step_ms[i]);
        json_number(json, "gmacs", gmacs_per_second(bench, i));
        put_stage(bench, json, step);
        json_integer(json, "macs", (int64_t)morsel_step_macs(step));
        put_operand(json, "input", bench, step, 0);
        put_operand(json, "output", bench, step, step->input_count);
        json_close(json);
    }
    json_close_array(json);
}

/* Of which size these are: the shape of the first input. */
static void put_variant(struct json *json, const struct bench *bench) {
    const struct network *network = &bench->network;
    uint32_t dims[NPY_RANK_MOST], rank = network->input_count ? network->inputs[0].rank : 0;
    for (uint32_t k = 0; k < rank; k++) dims[k] = (uint32_t)network->inputs[0].dims[k];
    json_integer(json, "variant", network->variant);
    json_dims(json, "input", dims, rank);
}

static void put_figures(struct json *json, const struct bench *bench) {
    double middle = median(bench->ms, bench->runs);
    json_text(json, "model", bench->call.path);
    json_text(json, "isa", options_cpu_name(bench->run->session.cpu));
    json_integer(json, "threads", bench->threads);
    json_integer(json, "batch", bench->batch);
    json_integer(json, "runs", bench->runs);
    json_number(json, "min_ms", bench->ms[0]);
    json_number(json, "median_ms", middle);
    json_number(json, "p95_ms", percentile(bench->ms, bench->runs, 0.95));
    json_number(json, "p99_ms", percentile(bench->ms, bench->runs, 0.99));
    json_number(json, "p99_over_median", percentile(bench->ms, bench->runs, 0.99) / middle);
    json_number(json, "fps", (double)bench->batch * 1e3 / middle);
    json_integer(json, "arena_bytes", (int64_t)arena_bytes(bench));
    json_integer(json, "blob_bytes", (int64_t)bench->network.blob.size);
    json_number(json, "open_us", open_us(bench));
    json_number(json, "first_ms", bench->first_ms);
    if (network_variants(&bench->network) > 1) put_variant(json, bench);
    if (bench->layers) json_number(json, "all_steps_ms", all_steps_ms(bench));
    layers_json(bench, json);
}

/* The network's own batch, or several of them. */
static bool check_batch(struct bench *bench, struct failure *failure) {
    const struct network_tensor *input = bench->network.inputs;
    long batch = bench->network.input_count && input->rank > 1 ? (long)input->dims[0] : 1;
    if (bench->batch > batch && bench->batch % batch == 0) {
        bench->images = (uint32_t)(bench->batch / batch);
        return true;
    }
    if (bench->batch && bench->batch != batch)
        return failure_set(failure, STATUS_CALL,
                           "%s is made for a batch of %ld, or several of those; for another convert again: morsel convert --batch %ld",
                           bench->call.path, batch, bench->batch);
    bench->batch = batch;
    return true;
}

/* A run whose steps the threads share, or one for each thread; the first tells of the steps. */
static bool open_runs(struct bench *bench, struct failure *failure) {
    bench->network.call.threads = bench->images ? 1 : (unsigned)bench->threads;
    if (!(bench->run = network_run_open(&bench->network, failure))) return false;
    if (bench->images && !(bench->pool = each_pool((unsigned)bench->threads, failure))) return false;
    for (long i = 0; bench->images && i < bench->threads; i++)
        if (!(bench->crowd[i] = network_run_open(&bench->network, failure))) return false;
    return true;
}

static bool run(struct bench *bench, struct failure *failure) {
    if (!network_open(&bench->network, &bench->call, failure) || !check_batch(bench, failure) || !open_runs(bench, failure)) return false;
    make_inputs(bench);
    if (!measure(bench, failure)) return false;
    if (bench->layers) measure_steps(bench);
    return true;
}

static void bench_free(struct bench *bench) {
    for (uint32_t i = 0; i < bench->input_count; i++) free(bench->inputs[i]);
    free(bench->inputs);
    free(bench->ms);
    free(bench->step_ms);
    for (long i = 0; i < bench->threads; i++) network_run_close(bench->crowd[i]);
    pool_close(bench->pool);
    network_run_close(bench->run);
    network_close(&bench->network);
}

/* The variant that was asked for, or the first; then, as elements of a list behind its figures, all of them. */
static bool run_all(const struct bench *call, struct failure *failure) {
    struct json json = {.file = stdout};
    long asked = call->call.variant, count = 1;
    bool good = true;
    for (long k = 0; good && k < count; k++) {
        struct bench bench = *call;
        bench.call.variant = asked == NETWORK_FITTING ? k : asked;
        good = run(&bench, failure);
        if (good && asked == NETWORK_FITTING) count = network_variants(&bench.network);
        if (good && !call->want_json) print_text(&bench);
        if (good && call->want_json && !k) {
            json_open(&json, NULL);
            put_figures(&json, &bench);
            if (count > 1) json_open_array(&json, "variants");
        }
        if (good && call->want_json && count > 1) {
            json_open(&json, NULL);
            put_figures(&json, &bench);
            json_close(&json);
        }
        bench_free(&bench);
    }
    if (good && call->want_json && count > 1) json_close_array(&json);
    if (good && call->want_json) json_close(&json);
    return good;
}

int verb_bench(int argc, char **argv) {
    static struct bench bench = {.call.blob_only = true, .call.variant = NETWORK_FITTING, .runs = 50, .warmup = 5, .threads = 1};
    struct failure failure;
    const struct option list[] = {
        {"--runs", "N", OPTION_NUMBER, &bench.runs, 1, 1000000, "runs that are measured"},
        {"--seconds", "N", OPTION_NUMBER, &bench.seconds, 0, 3600, "measure for so long instead; --layers then takes at most 1000 runs"},
        {"--warmup", "N", OPTION_NUMBER, &bench.warmup, 0, 1000000, "runs before those"},
        {"--threads", "N", OPTION_NUMBER, &bench.threads, 1, POOL_THREADS_MOST, "threads that share each step"},
        {"--batch", "N", OPTION_NUMBER, &bench.batch, 0, 65536, "images of a run; more than its own: threads run whole ones; 0: its own"},
        {"--variant", "N", OPTION_NUMBER, &bench.call.variant, -1, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them; -1: each"},
        {"--cpu", "NAME", OPTION_CPU, &bench.call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--layers", NULL, OPTION_FLAG, &bench.layers, 0, 0, "time each step too"},
        {"--arena", "BYTES", OPTION_NUMBER, &bench.call.arena, 0, INT32_MAX, "of a NET: at most so large an arena; 1: the least"},
        {"--no-streaming", NULL, OPTION_FLAG, &bench.call.no_streaming, 0, 0, "of a NET: run step by step, every tensor whole"},
        {"--json", NULL, OPTION_FLAG, &bench.want_json, 0, 0, "one JSON object on stdout; gmacs is 10^9 MACs a second"},
    };
    const struct options options = {
        .usage = "MODEL|NET [options]",
        .summary = "how long a run takes, by layer if asked",
        .about = "Measures how long runs of a network take, on fixed random inputs. NET is built in: mobilenetv2-224 mobilenetv1-224 "
                 "resnet18-224 shufflenetv2-224 resnet8-32 ds-cnn-kws autoencoder-ad.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel bench food.morsel --layers", "the median of 50 runs, and of each step"},
                     {"morsel bench mobilenetv2-224 --threads 2 --runs 20", "a network that is built in, on two threads"}},
    };
    if (!options_cpu_default(&bench.call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("bench: one model is wanted, %d given: morsel bench MODEL|NET", count);
        return STATUS_CALL;
    }
    bench.call.path = argv[0];
    bool good = run_all(&bench, &failure);
    return good ? STATUS_DONE : message_failure(&failure);
}
