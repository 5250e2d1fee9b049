/* SPDX-License-Identifier: MIT */
/* Of a report: a detector's boxes beside those that are wanted, by class, and the pictures with most that is wrong. */
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include "tools/samples/image/draw.h"
#include <string.h>

static void put_counts(FILE *file, const char *index, const char *label, const struct judge_counts *counts) {
    char text[16];
    fputs("<tr>", file);
    page_number(file, "%s", index);
    page_cell(file, "%s", label);
    page_number(file, "%zu", counts->wanted);
    page_number(file, "%zu", counts->found);
    page_number(file, "%s", judge_boxes_share(judge_boxes_precision(counts), text));
    page_number(file, "%s", judge_boxes_share(judge_boxes_recall(counts), text));
    page_number(file, "%s", judge_boxes_figure(judge_boxes_f1(counts), text));
    page_number(file, "%s", judge_boxes_figure(counts->ap, text));
    page_bar(file, counts->ap >= 0 ? counts->ap : 0);
    fputs("</tr>\n", file);
}

static void put_classes(const struct judge *judge, FILE *file) {
    const struct judge_boxes *boxes = judge->boxes;
    char label[32], index[16];
    page_table(file, "#class|label|#boxes|#found|#precision|#recall|#F1|#AP at 0.5|");
    for (uint32_t i = 0; i < boxes->classes; i++) {
        snprintf(index, sizeof index, "%u", i);
        if (boxes->of[i].wanted + boxes->of[i].found) put_counts(file, index, judge_label(judge, i, label), &boxes->of[i]);
    }
    put_counts(file, "", "all", &boxes->all);
    page_table_end(file);
}

/* What was found, in colours of the classes, with p; what is wanted has no name on it. */
static void draw(const struct judge *judge, const struct judge_boxes_picture *picture, struct image *image) {
    char label[32], text[64];
    for (uint32_t i = 0; i < picture->wanted_count; i++) {
        const struct morsel_box *box = &picture->wanted[i];
        draw_box(image, box->x0, box->y0, box->x1, box->y1, box->index, "");
    }
    for (uint32_t i = 0; i < picture->found_count && picture->found[i].p >= judge->boxes->threshold; i++) {
        const struct morsel_box *box = &picture->found[i];
        snprintf(text, sizeof text, "%.40s %.2f", judge_label(judge, box->index, label), (double)box->p);
        draw_box(image, box->x0, box->y0, box->x1, box->y1, box->index, text);
    }
}

static bool put_picture(const struct judge *judge, size_t at, FILE *file, struct failure *failure) {
    const struct judge_boxes_picture *picture = &judge->boxes->pictures[at];
    struct image image;
    char room[4200];
    const char *name = dataset_name(&judge->dataset, at, room, sizeof room), *slash = strrchr(name, '/');
    if (!dataset_image(&judge->dataset, at, &image, failure)) return false;
    fputs("<div class=\"picture\" title=\"", file);
    page_put(file, "%s", name);
    fputs("\">", file);
    draw(judge, picture, &image);
    bool good = page_picture(file, &image, failure);
    image_free(&image);
    if (!good) return false;
    page_put(file, "%zu of %zu found, %zu besides", picture->counts.both, picture->counts.wanted,
             picture->counts.found - picture->counts.both);
    fputs("<br>\n", file);
    page_put(file, "%s", slash ? slash + 1 : name);
    fputs("</div>\n", file);
    return true;
}

bool report_boxes(const struct report *r, FILE *file, struct failure *failure) {
    const struct judge *judge = &r->judge;
    const struct judge_boxes *boxes = judge->boxes;
    bool good = true;
    page_heading(file, "Boxes");
    page_paragraph(file,
                   "%zu pictures with %zu boxes%s%s. Found are boxes of p %g and more, right those that share half of their union with "
                   "one of their class. AP, as COCO has it at that IoU, counts boxes of p 0.001 and more.",
                   judge->dataset.count, boxes->all.wanted, boxes->against ? ", those of " : "", boxes->against ? boxes->against : "",
                   (double)boxes->threshold);
    put_classes(judge, file);
    if (!r->worst) return true;
    page_heading(file, "Worst pictures");
    page_paragraph(file, "Of %zu with something wrong. Boxes without a name are those that are wanted.", boxes->worst_count);
    fputs("<div class=\"pictures\">\n", file);
    for (size_t i = 0; good && i < r->worst; i++) good = put_picture(judge, boxes->worst[i], file, failure);
    fputs("</div>\n", file);
    return good;
}
