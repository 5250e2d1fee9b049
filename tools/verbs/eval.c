/* SPDX-License-Identifier: MIT */
/* morsel eval: how often a network is right over labelled pictures, and where it is not. */
#include "core/morsel.h"
#include "core/format.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/network/pool.h"
#include "tools/verbs/judge.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#ifndef MORSEL_TOOL_REDUCED
#include "tools/verbs/host/report.h"
#endif

/* Where a page is to go; NULL: nowhere. The tool of a cross build makes none. */
static bool may_report(const struct judge *judge, const char *page, struct failure *failure) {
#ifndef MORSEL_TOOL_REDUCED
    return !page || report_may_be(judge, page, failure);
#else
    (void)judge, (void)failure;
    return !page;
#endif
}

static bool report_page(const struct judge *judge, size_t worst, const char *page, struct failure *failure) {
#ifndef MORSEL_TOOL_REDUCED
    return !page || report_judge(judge, worst, page, failure);
#else
    (void)judge, (void)worst, (void)failure;
    return !page;
#endif
}

static void report(const struct judge *judge, size_t worst, const char *page, bool want_json) {
    size_t images = judge->dataset.count, top1 = judge->top1, top5 = judge->top5;
    unsigned threads = judge->worker_count;
    double n = (double)images, rate = n / (judge->seconds + 1e-9);
    if (!want_json) {
        if (judge->boxes) {
            judge_boxes_print(judge, worst);
        } else {
            message_print("%zu images: top-1 %.2f %% (%zu), top-5 %.2f %% (%zu), %.1f images/s with %u thread%s\n", images,
                          100 * (double)top1 / n, top1, 100 * (double)top5 / n, top5, rate, threads, threads > 1 ? "s" : "");
            judge_print(judge, worst);
        }
        if (page) message_print("\n%s: the same as a page\n", page);
        return;
    }
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    json_integer(&json, "images", (int64_t)images);
    if (!judge->boxes) {
        json_number(&json, "top1", (double)top1 / n);
        json_number(&json, "top5", (double)top5 / n);
        json_integer(&json, "top1_count", (int64_t)top1);
        json_integer(&json, "top5_count", (int64_t)top5);
    }
    json_number(&json, "images_per_s", rate);
    json_integer(&json, "threads", threads);
    json_text(&json, "isa", judge->isa);
    if (page) json_text(&json, "report", page);
    if (judge->boxes) judge_boxes_json(judge, worst, &json);
    else judge_json(judge, worst, &json);
    json_close(&json);
}

int verb_eval(int argc, char **argv) {
    static struct judge judge;
    struct failure failure;
    long threads = 1, limit = 0, worst = JUDGE_WORST;
    bool want_json = false;
    const char *page = NULL, *answer = NULL;
    struct network_call call = {0};
    struct judge_call ask = {.network = &call};
    const struct option list[] = {
        {"--limit", "N", OPTION_NUMBER, &limit, 0, INT32_MAX,
         "take N pictures, of folders as many of each class, of boxes from all over; 0: all"},
        {"--worst", "N", OPTION_NUMBER, &worst, 0, INT32_MAX,
         "name N misses, those with the largest probability for a wrong label; of boxes, the pictures with most that is wrong"},
#ifndef MORSEL_TOOL_REDUCED
        {"--report", "FILE.html", OPTION_TEXT, &page, 0, 0, "a page of the same: classes, what is taken for what, the misses' pictures"},
        {"--against", "FLOAT.onnx", OPTION_TEXT, &ask.against, 0, 0,
         "of a detector: the boxes of this network are those that are wanted, no labels; --answer tells its boxes"},
#endif
        {"--threads", "N", OPTION_NUMBER, &threads, 1, POOL_THREADS_MOST, "threads, each with pictures and an arena of its own"},
        {"--variant", "N", OPTION_NUMBER, &call.variant, 0, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them"},
        {"--cpu", "NAME", OPTION_CPU, &call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--picture", "RULE.json", OPTION_TEXT, &call.picture, 0, 0,
         "how a picture (image) becomes the input of an ONNX file: preprocessing; a blob has its own"},
        {"--labels", "FILE", OPTION_TEXT, &call.labels, 0, 0, "class names for an ONNX file; a blob has its own"},
        {"--answer", "RULE.json", OPTION_TEXT, &answer, 0, 0, "what the outputs of an ONNX file mean; a blob has its own"},
        {"--json", NULL, OPTION_FLAG, &want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL DATASET [options]",
        .summary = "right answers over labelled pictures: top-1, top-5, by class, what is taken for what; a detector's boxes",
        .about = "Counts the right answers of a network over labelled pictures: of all, and of each class. Precision is the share of the "
                 "pictures taken for a class that are of it, recall the share of its pictures that are taken for it. Up to 20 classes "
                 "have a matrix of what is taken for what, more a list of what is confused most; --json has the matrix of up to 1000. "
                 "An ONNX file runs in float.\n\n"
                 "DATASET is a folder with a subfolder for each class, a CIFAR-10 binary file (test_batch.bin), or a folder of such. A "
                 "subfolder is named as its label, in any case and with _ or - for / and spaces, or by the class number. Else there are "
                 "as many subfolders as classes, and they are taken in the order of their names.\n\n"
                 "Of a detector, by its answer rule, boxes are counted: precision, recall and F1 of those that reach the rule's threshold "
                 "and share half of their union with one that is wanted, and AP of all from p 0.001 on, as COCO counts it at that IoU. "
                 "DATASET is any folder of pictures then. NAME.txt tells the boxes of NAME.jpg, as YOLO's data sets have it: a line for "
                 "each, class x y width height, x and y being the centre, as shares of the picture's sides. It lies beside the "
                 "picture, in a folder labels there, or where the path has labels for images. A picture without shows nothing.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel eval food.morsel pictures/ --threads 2", "the accuracy of a blob"},
#ifndef MORSEL_TOOL_REDUCED
                     {"morsel eval food.morsel pictures/ --report food.html", "as a page, with the pictures of the worst misses"},
#endif
                     {"morsel eval food_float.onnx pictures/ --picture rule.json --labels labels.txt", "the float network beside it"}},
    };
    if (!options_cpu_default(&call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 2) {
        message_error("eval: a model and a dataset are wanted, %d given: morsel eval MODEL DATASET", count);
        return STATUS_CALL;
    }
    call.path = argv[0];
    call.answer = ask.against && !network_is_onnx(argv[0]) ? NULL : answer;
    ask.against_answer = answer;
    ask.data = argv[1];
    ask.limit = (size_t)limit;
    ask.threads = (unsigned)threads;
    bool good = judge_open(&judge, &ask, &failure) && may_report(&judge, page, &failure) && judge_run(&judge, &failure) &&
                report_page(&judge, (size_t)worst, page, &failure);
    if (good) report(&judge, (size_t)worst, page, want_json);
    judge_free(&judge);
    return good ? STATUS_DONE : message_failure(&failure);
}
