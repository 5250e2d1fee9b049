/* SPDX-License-Identifier: MIT */
/* morsel report: a network as one page of HTML: what it is, its memory, its time, its layers, its answers. */
#include "tools/verbs/host/report.h"
#include "tools/base/arena.h"
#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/text.h"
#include "tools/network/scores.h"
#include "tools/verbs/host/page.h"
#include "tools/verbs/verbs.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_WORST = 12 };

struct call {
    struct network_call network;
    struct conversion_call float_network;
    const char *float_path, *output;
    struct option_texts data;
    long count, limit, runs, threads, worst;
    bool json;
};

static void report_free(struct report *r) {
    inspect_close(&r->inspect);
    bench_free(&r->bench);
    comparing_free(&r->comparing);
    judge_free(&r->judge);
    free(r->float_saw);
}

static bool measure(const struct call *call, struct report *r, struct failure *failure) {
    r->model = call->network.path;
    r->float_model = call->float_path;
    if (!inspect_open(&r->inspect, &call->network, failure)) return false;
    r->bench = (struct bench){.call = call->network, .runs = call->runs, .warmup = 5, .threads = call->threads, .layers = true};
    return bench_run(&r->bench, failure);
}

static bool compare(const struct call *call, struct report *r, struct comparing_call *c, struct failure *failure) {
    if (!call->float_path) return true;
    c->first = call->float_network;
    c->first.input = call->float_path;
    c->second = (struct conversion_call){.input = call->network.path, .batch = 1, .no_streaming = true};
    c->data = call->data;
    c->count = call->count;
    c->threads = call->threads;
    return r->compared = comparing_run(c, &r->comparing, failure);
}

/* Data without labels are no reason to have no page, where they serve the comparison. */
static bool judge(const struct call *call, struct report *r, struct failure *failure) {
    if (!call->data.count) return true;
    if (call->data.count > 1)
        return call->float_path || failure_set(failure, STATUS_CALL, "several --data go with FLOAT.onnx; labelled pictures are one folder");
    const struct judge_call ask = {.network = &call->network,
                                   .data = call->data.values[0],
                                   .limit = (size_t)call->limit,
                                   .threads = (unsigned)call->threads};
    if (!judge_open(&r->judge, &ask, failure)) {
        if (!r->compared || failure->status == STATUS_SYSTEM) return false;
        message_notice("no answers on the page, as the data are no labelled pictures for the network: %s", failure->text);
        judge_free(&r->judge);
        return true;
    }
    r->judged = judge_run(&r->judge, failure);
    r->worst = judge_wrong(&r->judge) < (size_t)call->worst ? judge_wrong(&r->judge) : (size_t)call->worst;
    return r->judged;
}

/* The float network's first answer to a picture. */
static bool look(const struct report *r, struct network_run *run, size_t at, float *scores, struct report_float *saw,
                 struct failure *failure) {
    size_t classes = r->judge.classes;
    struct image image;
    if (!dataset_image(&r->judge.dataset, at, &image, failure)) return false;
    bool good =
        network_picture(run, &image, 0, failure) && network_compute(run, NULL, NULL, failure) && network_scores(run, scores, failure);
    image_free(&image);
    if (!good) return false;
    scores_top(scores, classes, 1, &saw->class);
    if (!run->network->probabilities) scores_softmax(scores, classes);
    saw->p = scores[saw->class];
    return true;
}

static bool look_at_all(struct report *r, const struct network *network, struct failure *failure) {
    struct network_run *run = network_run_open(network, failure);
    float *scores = must_calloc(r->judge.classes, sizeof *scores);
    bool good = run != NULL;
    r->float_saw = must_calloc(r->worst + 1, sizeof *r->float_saw);
    for (size_t i = 0; good && i < r->worst; i++) good = look(r, run, r->judge.misses[i], scores, &r->float_saw[i], failure);
    network_run_close(run);
    free(scores);
    return good;
}

/* What the float network says of the worst pictures. One that has another number of classes, or takes no picture as it stands, says
 * nothing. */
static bool ask_float(const struct call *call, struct report *r, struct failure *failure) {
    if (!r->judged || !r->compared || !r->worst || r->judge.boxes) return true;
    const struct network_call float_call = {.path = call->float_path, .rule = inspect_picture(&r->inspect)};
    struct network network;
    bool open = network_open(&network, &float_call, failure), good = open || failure->status != STATUS_SYSTEM;
    if (open && network.input_count == 1 && network.output_count && network.outputs[0].count == r->judge.classes)
        good = look_at_all(r, &network, failure);
    else if (!open && good) message_notice("the float network's answers to the worst pictures are not on the page: %s", failure->text);
    network_close(&network);
    return good;
}

/* What is written is nothing that was read. */
static bool check_output(const struct call *call, const struct report *r, struct failure *failure) {
    const char *path = call->output;
    bool read = network_reads(&r->inspect.network, path) || file_same(path, call->float_path);
    if (r->compared)
        read = read || conversion_reads(&r->comparing.first, path) || (r->comparing.data && quant_data_reads(r->comparing.data, path));
    if (read || (r->judged && judge_reads(&r->judge, path)))
        return failure_set(failure, STATUS_CALL, "-o %s would be written over: it is read as well; name another file", path);
    return page_names("-o", path, failure);
}

static bool write_page(const struct call *call, const struct report *r, size_t *bytes, struct failure *failure) {
    const char *name = morsel_network_name(&r->inspect.network.model);
    struct text_stream stream;
    if (!text_open(&stream)) return failure_memory(failure, 0);
    page_start(stream.file, *name ? name : r->model);
    report_network(r, stream.file);
    report_latency(r, stream.file);
    if (r->compared) report_layers(r, stream.file);
    bool good = !r->judged || report_answers(r, stream.file, failure);
    page_end(stream.file);
    bool whole = text_close(&stream) != NULL;
    if (good) good = whole ? file_write(call->output, stream.text, stream.size, failure) : failure_memory(failure, stream.size);
    *bytes = stream.size;
    free(stream.text);
    return good;
}

static void say(const struct call *call, const struct report *r, size_t bytes) {
    struct json json = {.file = stdout};
    if (!call->json) {
        message_print("%s: %zu bytes: what it is, memory, time%s%s\n", call->output, bytes, r->compared ? ", layers beside float" : "",
                      r->judged ? ", answers" : "");
        return;
    }
    json_open(&json, NULL);
    json_text(&json, "report", call->output);
    json_integer(&json, "bytes", (int64_t)bytes);
    json_number(&json, "median_ms", latency_median(&r->bench.latency));
    if (r->compared) json_number(&json, "output_sqnr_db", r->comparing.comparison.output_sqnr);
    if (r->judged && r->judge.boxes) {
        json_number(&json, "f1", judge_boxes_f1(&r->judge.boxes->all));
        json_number(&json, "map50", r->judge.boxes->all.ap);
    } else if (r->judged) {
        json_number(&json, "top1", (double)r->judge.top1 / (double)r->judge.dataset.count);
    }
    json_close(&json);
}

static int run(const struct call *call, struct report *r) {
    static struct comparing_call c;
    struct failure failure = {0};
    size_t bytes = 0;
    bool there = !access(call->output, F_OK); /* it may be a file that is read: check_output() knows */
    bool good = (there || page_names("-o", call->output, &failure)) && file_can_write(call->output, &failure) &&
                measure(call, r, &failure) && compare(call, r, &c, &failure) && judge(call, r, &failure) && ask_float(call, r, &failure) &&
                check_output(call, r, &failure) && write_page(call, r, &bytes, &failure);
    if (good) say(call, r, bytes);
    else if (failure.status) message_failure(&failure);
    else return comparing_refused(&c, &r->comparing);
    return good ? STATUS_DONE : failure.status;
}

int verb_report(int argc, char **argv) {
    static struct call call = {.network = {.blob_only = true},
                               .float_network = {.batch = 1, .one_size = true},
                               .count = COMPARING_USUAL,
                               .runs = 200,
                               .threads = 1,
                               .worst = USUAL_WORST};
    struct conversion_call *c = &call.float_network;
    const struct option list[] = {
        {"-o", "FILE.html", OPTION_TEXT, &call.output, 0, 0, "the page"},
        {"--data", "PATH", OPTION_TEXTS, &call.data, 0, 0,
         "labelled pictures as eval takes them; with FLOAT.onnx also samples as quantize takes them"},
        {"--count", "N", OPTION_NUMBER, &call.count, 0, INT32_MAX, "so many samples for the layers; 0: all"},
        {"--limit", "N", OPTION_NUMBER, &call.limit, 0, INT32_MAX, "answer N labelled pictures; 0: all"},
        {"--worst", "N", OPTION_NUMBER, &call.worst, 0, 1000, "show N misses, those with the largest probability for a wrong label"},
        {"--runs", "N", OPTION_NUMBER, &call.runs, 1, 1000000, "runs that are timed"},
        {"--threads", "N", OPTION_NUMBER, &call.threads, 1, POOL_THREADS_MOST, "for all of it"},
        {"--variant", "N", OPTION_NUMBER, &call.network.variant, 0, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them"},
        {"--cpu", "NAME", OPTION_CPU, &call.network.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--answer", "RULE.json", OPTION_TEXT, &c->answer, 0, 0,
         "of FLOAT.onnx: what its outputs mean; of a detector it joins those of each level, as convert and quantize did"},
        {"--shape", "NAME=1,3,224,224", OPTION_TEXTS, &c->shapes, 0, 0, "of FLOAT.onnx: the shape of an input, whatever the file says"},
        {"--dim", "NAME=N", OPTION_TEXTS, &c->dims, 0, 0, "of FLOAT.onnx: a number for a free dimension"},
        {"--output-node", "NAME", OPTION_TEXTS, &c->output_nodes, 0, 0, "end FLOAT.onnx at this value or node; several: several outputs"},
        {"--input-node", "NAME", OPTION_TEXTS, &c->input_nodes, 0, 0, "begin it at what this value or node gives, which becomes an input"},
        {"--json", NULL, OPTION_FLAG, &call.json, 0, 0, "one JSON object on stdout: where the page is, and its first figures"},
    };
    const struct options options = {
        .usage = "MODEL|NET [FLOAT.onnx] -o FILE.html [options]",
        .summary = "a network as one page: memory, time, layers, answers",
        .about =
            "Writes one page of HTML that needs nothing else, no network and no script: what the model is, the arena over the steps, "
            "the time of runs and of each step. With FLOAT.onnx, of which it was made, each layer beside the float network's, and what "
            "was clipped. With labelled pictures precision and recall by class, what is taken for what, and the worst misses.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel report food.morsel -o food.html", "what it is, its memory and its time"},
                     {"morsel report food.morsel food_float.onnx --data pictures/ -o food.html", "layers and answers, too"}},
    };
    static struct report report;
    if (!options_cpu_default(&call.network.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count < 1 || count > 2 || !call.output) {
        message_error(
            "report: a model and -o FILE.html are wanted, and perhaps its float network: morsel report MODEL [FLOAT.onnx] -o FILE");
        return STATUS_CALL;
    }
    call.network.path = argv[0];
    call.float_path = count > 1 ? argv[1] : NULL;
    if (call.float_path && call.network.variant) {
        message_error("report: --variant goes without FLOAT.onnx: layers are compared at the largest size");
        return STATUS_CALL;
    }
    if (file_same(call.output, argv[0]) || file_same(call.output, call.float_path) || file_same(call.output, c->answer)) {
        message_error("-o %s would be written over: it is read as well; name another file", call.output);
        return STATUS_CALL;
    }
    int status = run(&call, &report);
    report_free(&report);
    return status;
}
