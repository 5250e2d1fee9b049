/* SPDX-License-Identifier: MIT */
/* morsel bench: how long a run takes, of the whole network and of each step. */
#include "tools/verbs/bench.h"
#include "core/blob.h"
#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/base/text.h"
#include "tools/network/tensor.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>

/* What the figures become. */
struct shown {
    bool json, histogram;
    const char *samples; /* a file; NULL: none */
    FILE *csv;           /* what will be written to it */
};

static double gmacs_per_second(const struct bench *bench, uint32_t step) {
    double ms = bench->step_ms[step];
    return ms > 0 ? (double)morsel_step_macs(morsel_blob_step(&bench->network.model, step)) / ms * 1e-6 : 0;
}

/* Why the steps do not add up to the median of whole runs. */
static void print_difference(const struct bench *bench, double total) {
    message_print("  ");
    if (!bench->images) message_print("%+.4f ms to the median above: ", total - latency_median(&bench->latency));
    message_print("steps are timed in runs of their own%s, with a look at the clock after every turn of each\n",
                  bench->images        ? ", of one image"
                  : bench->threads > 1 ? ", groups in one thread"
                                       : "");
}

/* What plain C took where the session has kernels for more, and why. */
static void print_plain_c(const struct bench *bench, double total) {
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) {
        struct morsel_step step = bench_step(bench, i);
        if (!step.why_c || bench->step_ms[i] < 0.01 * total) continue;
        message_print("  step %u (%s) takes plain C: %s\n", i, step.kind, step.why_c);
    }
}

static void print_layers(const struct bench *bench) {
    double total = bench_all_steps_ms(bench);
    message_print("\n%4s %5s  %-12s %-10s %9s %6s %8s  %s\n", "step", "group", "op", "isa", "ms", "share", "GMAC/s", "name");
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) {
        struct morsel_step step = bench_step(bench, i);
        char group[16] = "";
        if (step.group) snprintf(group, sizeof group, "%u", step.group);
        message_print("%4u %5s  %-12s %-10s %9.4f %5.1f%% %8.2f  %s\n", i, group, step.kind, step.isa, bench->step_ms[i],
                      total > 0 ? 100 * bench->step_ms[i] / total : 0, gmacs_per_second(bench, i), step.name);
    }
    message_print("%4s %5s  %-12s %-10s %9.4f\n", "", "", "all steps", "", total);
    print_plain_c(bench, total);
    print_difference(bench, total);
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

static void print_text(const struct bench *bench, bool histogram) {
    double middle = latency_median(&bench->latency);
    char variant[256];
    message_print("%s%s: %s, %ld thread%s, batch %ld, %ld runs after %ld to warm up\n", bench->call.path,
                  variant_text(&bench->network, variant, sizeof variant), options_cpu_name(bench->run->session.cpu), bench->threads,
                  bench->threads > 1 ? "s" : "", bench->batch, bench->runs, bench->warmup);
    double p99 = latency_percentile(&bench->latency, 0.99);
    message_print("  min %.3f ms   median %.3f ms   p95 %.3f ms   p99 %.3f ms   p99/median %.3f   %.1f FPS\n", bench->latency.sorted[0],
                  middle, latency_percentile(&bench->latency, 0.95), p99, p99 / middle, (double)bench->batch * 1e3 / middle);
    message_print("  open %.0f us   first run %.3f ms   arena %zu bytes, and %zu lent   blob %zu bytes\n", bench_open_us(bench),
                  bench->first_ms, bench_arena_bytes(bench), bench_lent_bytes(bench), bench->network.blob.size);
    if (bench->layers) print_layers(bench);
    if (histogram) latency_print(&bench->latency);
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
        struct morsel_step info = bench_step(bench, i);
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

static void put_figures(struct json *json, const struct bench *bench, bool histogram) {
    double middle = latency_median(&bench->latency);
    json_text(json, "model", bench->call.path);
    json_text(json, "isa", options_cpu_name(bench->run->session.cpu));
    json_integer(json, "threads", bench->threads);
    json_integer(json, "batch", bench->batch);
    json_integer(json, "runs", bench->runs);
    json_number(json, "min_ms", bench->latency.sorted[0]);
    json_number(json, "median_ms", middle);
    json_number(json, "p95_ms", latency_percentile(&bench->latency, 0.95));
    json_number(json, "p99_ms", latency_percentile(&bench->latency, 0.99));
    json_number(json, "p99_over_median", latency_percentile(&bench->latency, 0.99) / middle);
    json_number(json, "fps", (double)bench->batch * 1e3 / middle);
    json_integer(json, "arena_bytes", (int64_t)bench_arena_bytes(bench));
    json_integer(json, "arena_lent_bytes", (int64_t)bench_lent_bytes(bench));
    json_integer(json, "blob_bytes", (int64_t)bench->network.blob.size);
    json_number(json, "open_us", bench_open_us(bench));
    json_number(json, "first_ms", bench->first_ms);
    if (network_variants(&bench->network) > 1) put_variant(json, bench);
    if (bench->layers) json_number(json, "all_steps_ms", bench_all_steps_ms(bench));
    layers_json(bench, json);
    if (histogram) latency_json(&bench->latency, json);
}

static void put_samples(const struct shown *shown, const struct bench *bench) {
    for (size_t i = 0; shown->csv && i < bench->latency.count; i++)
        fprintf(shown->csv, "%u,%zu,%.6f\n", bench->network.variant, i, bench->latency.ms[i]);
}

/* The variant that was asked for, or the first; then, as elements of a list behind its figures, all of them. */
static bool run_all(const struct bench *call, const struct shown *shown, struct failure *failure) {
    struct json json = {.file = stdout};
    long asked = call->call.variant, count = 1;
    bool good = true;
    for (long k = 0; good && k < count; k++) {
        struct bench bench = *call;
        bench.call.variant = asked == NETWORK_FITTING ? k : asked;
        good = bench_run(&bench, failure);
        if (good && asked == NETWORK_FITTING) count = network_variants(&bench.network);
        if (good) put_samples(shown, &bench);
        if (good && !shown->json) print_text(&bench, shown->histogram);
        if (good && shown->json && !k) {
            json_open(&json, NULL);
            put_figures(&json, &bench, shown->histogram);
            if (count > 1) json_open_array(&json, "variants");
        }
        if (good && shown->json && count > 1) {
            json_open(&json, NULL);
            put_figures(&json, &bench, shown->histogram);
            json_close(&json);
        }
        bench_free(&bench);
    }
    if (good && shown->json && count > 1) json_close_array(&json);
    if (good && shown->json) json_close(&json);
    return good;
}

/* With a file of all samples, which is written when all of them are there. */
static bool run(const struct bench *call, struct shown *shown, struct failure *failure) {
    struct text_stream stream;
    if (!shown->samples) return run_all(call, shown, failure);
    if (file_same(shown->samples, call->call.path))
        return failure_set(failure, STATUS_CALL, "--samples %s would be written over: it is the model; name another file", shown->samples);
    if (!file_can_write(shown->samples, failure)) return false;
    if (!(shown->csv = text_open(&stream))) return failure_memory(failure, 0);
    fputs("variant,run,ms\n", shown->csv);
    bool good = run_all(call, shown, failure), whole = text_close(&stream) != NULL;
    if (good) good = whole ? file_write(shown->samples, stream.text, stream.size, failure) : failure_memory(failure, stream.size);
    free(stream.text);
    return good;
}

int verb_bench(int argc, char **argv) {
    static struct bench bench = {.call.blob_only = true, .call.variant = NETWORK_FITTING, .runs = 50, .warmup = 5, .threads = 1};
    struct shown shown = {0};
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
        {"--arena-fast", "BYTES", OPTION_NUMBER, &bench.call.arena_fast, 0, INT32_MAX, "of a NET: so much of the arena for fast memory"},
        {"--no-streaming", NULL, OPTION_FLAG, &bench.call.no_streaming, 0, 0, "of a NET: run step by step, every tensor whole"},
        {"--histogram", NULL, OPTION_FLAG, &shown.histogram, 0, 0, "how many runs took how long, too"},
        {"--samples", "FILE.csv", OPTION_TEXT, &shown.samples, 0, 0, "write what each run took, in order: variant, run, ms"},
        {"--json", NULL, OPTION_FLAG, &shown.json, 0, 0, "one JSON object on stdout; gmacs is 10^9 MACs a second"},
    };
    const struct options options = {
        .usage = "MODEL|NET [options]",
        .summary = "how long a run takes, by layer if asked",
        .about = "Measures how long runs of a network take, on fixed random inputs. NET is built in: mobilenetv2-224 mobilenetv1-224 "
                 "resnet18-224 shufflenetv2-224 resnet8-32 ds-cnn-kws autoencoder-ad.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel bench food.morsel --layers", "the median of 50 runs, and of each step"},
                     {"morsel bench mobilenetv2-224 --threads 2 --runs 20", "a network that is built in, on two threads"},
                     {"morsel bench food.morsel --runs 1000 --histogram --samples runs.csv", "how the runs spread, and each of them"}},
    };
    if (!options_cpu_default(&bench.call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("bench: one model is wanted, %d given: morsel bench MODEL|NET", count);
        return STATUS_CALL;
    }
    bench.call.path = argv[0];
    bool good = run(&bench, &shown, &failure);
    return good ? STATUS_DONE : message_failure(&failure);
}
