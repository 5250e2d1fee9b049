/* SPDX-License-Identifier: MIT */
/* The page of `eval --report`: answers over labelled pictures, without what `report` measures. */
#include "tools/base/text.h"
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include <stdlib.h>

bool report_may_be(const struct judge *judge, const char *path, struct failure *failure) {
    if (judge_reads(judge, path))
        return failure_set(failure, STATUS_CALL, "--report %s would be written over: it is read as well; name another file", path);
    return page_names("--report", path, failure) && file_can_write(path, failure);
}

static void put_tiles(const struct judge *judge, FILE *file) {
    const double images = (double)judge->dataset.count;
    page_tiles(file, true);
    if (judge->boxes) {
        char text[16];
        page_tile(file, "mAP at IoU 0.5", "%s", judge_boxes_figure(judge->boxes->all.ap, text));
        page_tile(file, "F1", "%s", judge_boxes_figure(judge_boxes_f1(&judge->boxes->all), text));
        page_tile(file, "pictures", "%zu", judge->dataset.count);
        page_tile(file, "boxes", "%zu", judge->boxes->all.wanted);
        page_tiles(file, false);
        return;
    }
    page_tile(file, "top-1", "%.2f %%", 100 * (double)judge->top1 / images);
    page_tile(file, "top-5", "%.2f %%", 100 * (double)judge->top5 / images);
    page_tile(file, "pictures", "%zu", judge->dataset.count);
    page_tile(file, "wrong answers", "%zu", judge->miss_count);
    page_tiles(file, false);
}

bool report_judge(const struct judge *judge, size_t worst, const char *path, struct failure *failure) {
    const struct report r = {.judge = *judge, .judged = true, .worst = worst < judge_wrong(judge) ? worst : judge_wrong(judge)};
    struct text_stream stream;
    if (!text_open(&stream)) return failure_memory(failure, 0);
    page_start(stream.file, judge->network.call.path);
    put_tiles(judge, stream.file);
    bool good = report_answers(&r, stream.file, failure);
    page_end(stream.file);
    const bool whole = text_close(&stream) != NULL;
    if (good) good = whole ? file_write(path, stream.text, stream.size, failure) : failure_memory(failure, stream.size);
    free(stream.text);
    return good;
}
