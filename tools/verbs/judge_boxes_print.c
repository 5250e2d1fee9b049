/* SPDX-License-Identifier: MIT */
/* What a detector found of the boxes that are there, as text and as JSON. */
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include "tools/verbs/judge.h"
#include <math.h>

double judge_boxes_precision(const struct judge_counts *counts) {
    return counts->found ? (double)counts->both / (double)counts->found : (double)NAN;
}

double judge_boxes_recall(const struct judge_counts *counts) {
    return counts->wanted ? (double)counts->both / (double)counts->wanted : (double)NAN;
}

double judge_boxes_f1(const struct judge_counts *counts) {
    size_t all = counts->wanted + counts->found;
    return all ? 2 * (double)counts->both / (double)all : (double)NAN;
}

const char *judge_boxes_share(double value, char text[16]) {
    if (value >= 0) snprintf(text, 16, "%.1f %%", 100 * value);
    else snprintf(text, 16, "-");
    return text;
}

const char *judge_boxes_figure(double value, char text[16]) {
    if (value >= 0) snprintf(text, 16, "%.4f", value);
    else snprintf(text, 16, "-");
    return text;
}

static void print_counts(const char *index, const char *label, const struct judge_counts *counts) {
    char precision[16], recall[16], f1[16], ap[16];
    message_print("%6s  %-20.40s %7zu %7zu  %9s  %9s  %6s  %6s\n", index, label, counts->wanted, counts->found,
                  judge_boxes_share(judge_boxes_precision(counts), precision), judge_boxes_share(judge_boxes_recall(counts), recall),
                  judge_boxes_figure(judge_boxes_f1(counts), f1), judge_boxes_figure(counts->ap, ap));
}

/* Classes that there are boxes of, wanted or found; a detector may know many others. */
static void print_classes(const struct judge *judge) {
    const struct judge_boxes *boxes = judge->boxes;
    char label[32], index[16];
    message_print("\n%6s  %-20s %7s %7s  %9s  %9s  %6s  %6s\n", "class", "", "boxes", "found", "precision", "recall", "F1", "AP@0.5");
    for (uint32_t i = 0; i < boxes->classes; i++) {
        snprintf(index, sizeof index, "%u", i);
        if (boxes->of[i].wanted + boxes->of[i].found) print_counts(index, judge_label(judge, i, label), &boxes->of[i]);
    }
    print_counts("", "all", &boxes->all);
}

static void print_worst(const struct judge *judge, size_t worst) {
    const struct judge_boxes *boxes = judge->boxes;
    char name[4200];
    if (boxes->worst_count && worst) message_print("\nworst pictures\n");
    for (size_t i = 0; i < boxes->worst_count && i < worst; i++) {
        const struct judge_counts *counts = &boxes->pictures[boxes->worst[i]].counts;
        message_print("  %s  %zu of %zu found, %zu besides\n", dataset_name(&judge->dataset, boxes->worst[i], name, sizeof name),
                      counts->both, counts->wanted, counts->found - counts->both);
    }
}

void judge_boxes_print(const struct judge *judge, size_t worst) {
    const struct judge_boxes *boxes = judge->boxes;
    const struct judge_counts *all = &boxes->all;
    char precision[16], recall[16], f1[16], ap[16];
    message_print("%zu images: precision %s, recall %s, F1 %s of boxes with p >= %g, mAP@0.5 %s, %.1f images/s with %u thread%s\n",
                  judge->dataset.count, judge_boxes_share(judge_boxes_precision(all), precision),
                  judge_boxes_share(judge_boxes_recall(all), recall), judge_boxes_figure(judge_boxes_f1(all), f1), (double)boxes->threshold,
                  judge_boxes_figure(all->ap, ap), (double)judge->dataset.count / (judge->seconds + 1e-9), judge->worker_count,
                  judge->worker_count > 1 ? "s" : "");
    if (boxes->against) message_print("wanted are the boxes of %s\n", boxes->against);
    print_classes(judge);
    print_worst(judge, worst);
}

static void counts_json(const struct judge_counts *counts, struct json *json) {
    json_integer(json, "boxes", (int64_t)counts->wanted);
    json_integer(json, "found", (int64_t)counts->found);
    json_integer(json, "both", (int64_t)counts->both);
    json_number(json, "precision", judge_boxes_precision(counts));
    json_number(json, "recall", judge_boxes_recall(counts));
    json_number(json, "f1", judge_boxes_f1(counts));
}

void judge_boxes_json(const struct judge *judge, size_t worst, struct json *json) {
    const struct judge_boxes *boxes = judge->boxes;
    char name[4200];
    counts_json(&boxes->all, json);
    json_number(json, "map50", boxes->all.ap);
    json_float(json, "threshold", boxes->threshold);
    json_number(json, "iou", JUDGE_IOU);
    if (boxes->against) json_text(json, "against", boxes->against);
    json_open_array(json, "classes");
    for (uint32_t i = 0; i < boxes->classes; i++) {
        json_open_flat(json, NULL);
        json_text(json, "label", network_label(&judge->network, i));
        json_integer(json, "index", i);
        counts_json(&boxes->of[i], json);
        json_number(json, "ap50", boxes->of[i].ap);
        json_close(json);
    }
    json_close_array(json);
    json_open_array(json, "worst");
    for (size_t i = 0; i < boxes->worst_count && i < worst; i++) {
        const struct judge_counts *counts = &boxes->pictures[boxes->worst[i]].counts;
        json_open_flat(json, NULL);
        json_text(json, "file", dataset_name(&judge->dataset, boxes->worst[i], name, sizeof name));
        json_integer(json, "boxes", (int64_t)counts->wanted);
        json_integer(json, "found", (int64_t)counts->found);
        json_integer(json, "both", (int64_t)counts->both);
        json_close(json);
    }
    json_close_array(json);
}
