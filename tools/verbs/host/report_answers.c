/* SPDX-License-Identifier: MIT */
/* Of a report: answers over labelled pictures, by class, what is taken for what, and the surest misses with their pictures. */
#include "tools/base/arena.h"
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include <stdlib.h>
#include <string.h>

enum { MATRIX_MOST = 50, LISTED = 30 };

static void put_share(FILE *file, double share) {
    if (share >= 0) page_number(file, "%.1f %%", 100 * share);
    else page_number(file, "-");
}

static void put_classes(const struct judge *judge, FILE *file) {
    size_t *order = must_calloc(judge->classes, sizeof *order), count = judge_order(judge, order);
    char label[32];
    page_paragraph(file, "Classes, least recall first. Precision: of what was taken for the class. Recall: of the class's own pictures.");
    page_table(file, "#class|label|#images|#precision|#recall|");
    for (size_t i = 0; i < count; i++) {
        const struct judge_class *class = &judge->of[order[i]];
        fputs("<tr>", file);
        page_number(file, "%zu", order[i]);
        page_cell(file, "%s", judge_label(judge, order[i], label));
        page_number(file, "%zu", class->images);
        put_share(file, judge_precision(class));
        put_share(file, judge_recall(class));
        page_bar(file, judge_recall(class));
        fputs("</tr>\n", file);
    }
    page_table_end(file);
    free(order);
}

static void put_cell(const struct judge *judge, size_t truth, size_t answer, FILE *file) {
    uint32_t images = judge->matrix[truth * judge->classes + answer];
    char label[2][32];
    if (!images) {
        fputs("<td></td>", file);
        return;
    }
    fprintf(file, "<td%s style=\"background:rgba(%s,%.2f)\" title=\"", truth == answer ? " class=\"hit\"" : "",
            truth == answer ? "47,140,90" : "214,50,70", 0.08 + 0.6 * images / (double)judge->of[truth].images);
    page_put(file, "%s taken for %s", judge_label(judge, truth, label[0]), judge_label(judge, answer, label[1]));
    fprintf(file, "\">%u</td>", images);
}

static void put_matrix(const struct judge *judge, FILE *file) {
    char label[32];
    page_paragraph(file, "A line for what pictures show, a column for what they were taken for.");
    fputs("<div class=\"box\"><table class=\"matrix\">\n<thead><tr><th></th>", file);
    for (size_t k = 0; k < judge->classes; k++) {
        fputs("<th title=\"", file);
        page_put(file, "%s", judge_label(judge, k, label));
        fprintf(file, "\">%zu</th>", k);
    }
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t i = 0; i < judge->classes; i++) {
        fputs("<tr><th>", file);
        page_put(file, "%zu %s", i, judge_label(judge, i, label));
        fputs("</th>", file);
        for (size_t k = 0; k < judge->classes; k++) put_cell(judge, i, k, file);
        fputs("</tr>\n", file);
    }
    page_table_end(file);
}

static void put_pairs(const struct judge *judge, FILE *file) {
    struct judge_pair pairs[LISTED];
    char label[32];
    size_t count = judge_pairs(judge, pairs, LISTED);
    page_paragraph(file, "What is confused most.");
    page_table(file, "#images|of|taken for");
    for (size_t i = 0; i < count; i++) {
        fputs("<tr>", file);
        page_number(file, "%zu", pairs[i].images);
        page_cell(file, "%s", judge_label(judge, pairs[i].truth, label));
        page_cell(file, "%s", judge_label(judge, pairs[i].answer, label));
        fputs("</tr>\n", file);
    }
    page_table_end(file);
}

/* "is deer (0.0054)" */
static void put_answer(const struct judge *judge, FILE *file, const char *what, uint32_t class, float p) {
    char label[32];
    fprintf(file, "%s <b>", what);
    page_put(file, "%s", judge_label(judge, class, label));
    fprintf(file, "</b> (%.4f)<br>\n", (double)p);
}

static bool put_miss(const struct report *r, size_t index, FILE *file, struct failure *failure) {
    const struct judge *judge = &r->judge;
    size_t at = judge->misses[index];
    const struct judge_answer *answer = &judge->answers[at];
    struct image image;
    char room[4200];
    const char *name = dataset_name(&judge->dataset, at, room, sizeof room), *slash = strrchr(name, '/');
    if (!dataset_image(&judge->dataset, at, &image, failure)) return false;
    fputs("<div class=\"picture\" title=\"", file);
    page_put(file, "%s", name);
    fputs("\">", file);
    bool good = page_picture(file, &image, failure);
    image_free(&image);
    if (!good) return false;
    put_answer(judge, file, "shows", judge->dataset.items[at].class, answer->p_true);
    put_answer(judge, file, "taken for", answer->class, answer->p);
    if (r->float_saw) put_answer(judge, file, "in float", r->float_saw[index].class, r->float_saw[index].p);
    page_put(file, "%s", slash ? slash + 1 : name);
    fputs("</div>\n", file);
    return true;
}

bool report_answers(const struct report *r, FILE *file, struct failure *failure) {
    const struct judge *judge = &r->judge;
    double images = (double)judge->dataset.count;
    bool good = true;
    if (judge->boxes) return report_boxes(r, file, failure);
    page_heading(file, "Answers");
    page_paragraph(file, "%zu labelled pictures: top-1 %.2f %% (%zu), top-5 %.2f %% (%zu).", judge->dataset.count,
                   100 * (double)judge->top1 / images, judge->top1, 100 * (double)judge->top5 / images, judge->top5);
    put_classes(judge, file);
    page_heading(file, "What is taken for what");
    if (judge->classes <= MATRIX_MOST) put_matrix(judge, file);
    else put_pairs(judge, file);
    if (!r->worst || !judge->miss_count) return true;
    page_heading(file, "Worst misses");
    page_paragraph(file,
                   "Of %zu wrong answers those with the largest probability for a wrong label. In brackets: what the model gives "
                   "each label%s.",
                   judge->miss_count, r->float_saw ? "; in float: the float network's first answer" : "");
    fputs("<div class=\"pictures\">\n", file);
    for (size_t i = 0; good && i < r->worst; i++) good = put_miss(r, i, file, failure);
    fputs("</div>\n", file);
    return good;
}
