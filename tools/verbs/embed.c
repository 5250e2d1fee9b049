/* SPDX-License-Identifier: MIT */
/* morsel embed: a vector for each line of a text file. Threads take whole lines: each has runs of its own, of each variant one. */
#include "core/format.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/json.h"
#include "tools/base/lines.h"
#include "tools/base/message.h"
#include "tools/base/npy.h"
#include "tools/base/options.h"
#include "tools/network/each.h"
#include "tools/network/network.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct embed {
    struct network_call call;
    struct network network;
    struct network variants[MORSEL_FORMAT_MAX_VARIANTS]; /* the network again, for each of its lengths */
    uint32_t variant_count;
    size_t lines_of[MORSEL_FORMAT_MAX_VARIANTS]; /* how many lines each of them took */
    uint32_t *chosen;                            /* of each line */
    struct network_run **runs;                   /* of each worker and variant */
    unsigned worker_count;
    struct lines lines;
    size_t width;
    float *vectors;
    double seconds;
};

static bool takes_one_text(const struct network *n) {
    return n->input_count && n->inputs[0].rank >= 1 && n->inputs[0].dims[0] == 1 && n->output_count && n->outputs[0].type == NPY_FLOAT32;
}

/* All of them, or the one that was asked for. */
static bool open_variants(struct embed *e, struct failure *failure) {
    bool one = e->call.variant != NETWORK_FITTING;
    e->variant_count = one ? 1 : network_variants(&e->network);
    for (uint32_t k = 0; k < e->variant_count; k++) {
        struct network *variant = &e->variants[k];
        if (!network_variant(variant, &e->network, one ? e->network.variant : k, failure)) return false;
        if (!takes_one_text(variant))
            return failure_set(failure, STATUS_INPUT, "%s: a network of one text at a time is wanted, with floats as its first output",
                               e->call.path);
        if (!k) e->width = variant->outputs[0].count;
        if (variant->outputs[0].count != e->width)
            return failure_set(failure, STATUS_CALL,
                               "%s: its first output grows with the length of the text: pool its vectors, or choose a --variant",
                               e->call.path);
    }
    return true;
}

static bool open_network(struct embed *e, struct failure *failure) {
    struct network *n = &e->network;
    if (!network_read(n, &e->call, failure)) return false;
    if (!morsel_text_length(&n->model))
        return failure_set(failure, STATUS_INPUT, "%s has no text rule: convert the network with --text RULE.json", e->call.path);
    return network_start(n, NULL, failure) && open_variants(e, failure);
}

/* Each line goes to the shortest variant that holds it. */
static bool choose_variants(struct embed *e, struct failure *failure) {
    e->chosen = must_calloc(e->lines.count, sizeof *e->chosen);
    for (size_t i = 0; i < e->lines.count; i++) {
        enum morsel_error error = MORSEL_OK;
        if (e->variant_count > 1)
            error = morsel_text_variant(&e->network.whole, e->lines.list[i].text, e->lines.list[i].bytes, &e->chosen[i]);
        if (error) return failure_set(failure, STATUS_INPUT, "%s: %s", e->call.path, morsel_error_text(error));
        e->lines_of[e->chosen[i]]++;
    }
    e->runs = must_calloc((size_t)e->worker_count * e->variant_count, sizeof *e->runs);
    for (unsigned i = 0; i < e->worker_count; i++)
        for (uint32_t k = 0; k < e->variant_count; k++)
            if (e->lines_of[k] && !(e->runs[i * e->variant_count + k] = network_run_open(&e->variants[k], failure))) return false;
    return true;
}

static bool embed_line(void *context, unsigned worker, size_t task, struct failure *failure) {
    struct embed *e = context;
    struct network_run *run = e->runs[worker * e->variant_count + e->chosen[task]];
    enum morsel_error error = morsel_text_put(&run->session, e->lines.list[task].text, e->lines.list[task].bytes, 0);
    if (error) return failure_set(failure, STATUS_INPUT, "%s: %s", e->call.path, morsel_error_text(error));
    return network_compute(run, NULL, NULL, failure) && network_get(run, 0, e->vectors + task * e->width, failure);
}

static bool embed(struct embed *e, const char *texts, const char *output, struct failure *failure) {
    if (file_same(texts, output) || file_same(e->call.path, output))
        return failure_set(failure, STATUS_CALL, "-o %s would be written over: it is read as well", output);
    if (!file_can_write(output, failure) || !open_network(e, failure) ||
        !lines_read(&e->lines, strcmp(texts, "-") ? texts : "/dev/stdin", SIZE_MAX / 2, failure) || !choose_variants(e, failure))
        return false;
    if (!(e->vectors = calloc(e->lines.count, e->width * sizeof *e->vectors)))
        return failure_memory(failure, e->lines.count * e->width * 4);
    double start = clock_seconds();
    if (!each(e->lines.count, e->worker_count, "lines", embed_line, e, failure)) return false;
    e->seconds = clock_seconds() - start;
    return npy_write(output, NPY_FLOAT32, (uint64_t[]){e->lines.count, e->width}, 2, e->vectors, failure);
}

static void report(const struct embed *e, const char *output, bool want_json) {
    double rate = (double)e->lines.count / (e->seconds + 1e-9);
    const struct network_run *first = NULL;
    for (uint32_t k = 0; !first; k++) first = e->runs[k];
    if (!want_json) {
        message_print("%s: %zu lines, vectors of %zu floats, %.1f lines/s with %u thread%s\n", output, e->lines.count, e->width, rate,
                      e->worker_count, e->worker_count > 1 ? "s" : "");
        return;
    }
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    json_text(&json, "file", output);
    json_integer(&json, "lines", (int64_t)e->lines.count);
    json_integer(&json, "width", (int64_t)e->width);
    json_number(&json, "lines_per_s", rate);
    json_integer(&json, "threads", e->worker_count);
    json_text(&json, "isa", network_isa(first));
    if (e->variant_count > 1) {
        json_open_array(&json, "lines_by_variant");
        for (uint32_t k = 0; k < e->variant_count; k++) json_integer(&json, NULL, (int64_t)e->lines_of[k]);
        json_close_array(&json);
    }
    json_close(&json);
}

static void embed_free(struct embed *e) {
    for (size_t i = 0; e->runs && i < (size_t)e->worker_count * e->variant_count; i++) network_run_close(e->runs[i]);
    for (uint32_t k = 0; k < e->variant_count; k++) network_close(&e->variants[k]);
    free(e->runs);
    free(e->chosen);
    lines_free(&e->lines);
    free(e->vectors);
    network_close(&e->network);
}

int verb_embed(int argc, char **argv) {
    static struct embed e = {.call.variant = NETWORK_FITTING};
    struct failure failure;
    long threads = 1;
    bool want_json = false;
    const char *output = NULL;
    const struct option list[] = {
        {"-o", "X.npy", OPTION_TEXT, &output, 0, 0, "where the vectors go (required): float32 [lines, width]"},
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST, "threads, each with lines and an arena of its own"},
        {"--variant", "N", OPTION_NUMBER, &e.call.variant, -1, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several lengths: which one, as inspect counts them; -1: the shortest that holds each line"},
        {"--cpu", "NAME", OPTION_CPU, &e.call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--json", NULL, OPTION_FLAG, &want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL.morsel FILE.txt -o X.npy [options]",
        .summary = "a vector for each line of a text file",
        .about = "Runs a network on each line of a text file, or of stdin (-), by the text rule in the blob, and keeps its first output: a "
                 "vector a line.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel embed minilm.morsel lines.txt -o vectors.npy --threads 2", "sentences as vectors"}},
    };
    if (!options_cpu_default(&e.call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 2 || !output) {
        message_error("embed: a blob, a text file and an output are wanted: morsel embed MODEL.morsel FILE.txt -o X.npy");
        return STATUS_CALL;
    }
    e.worker_count = (unsigned)threads;
    e.call.path = argv[0];
    e.call.blob_only = true;
    bool good = embed(&e, argv[1], output, &failure);
    if (good) report(&e, output, want_json);
    embed_free(&e);
    if (!good) return message_failure(&failure);
    return message_flush() ? STATUS_SYSTEM : STATUS_DONE;
}
