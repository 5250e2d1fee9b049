/* SPDX-License-Identifier: MIT */
/* What a network answered over labelled pictures, as text and as JSON. */
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include "tools/verbs/judge.h"
#include <stdlib.h>

/* Of more classes the text has those that are recognized worst, and the pairs that are confused most. */
enum { CLASSES_MOST = 20, LISTED = 10 };

/* "87.5 %", or a dash where there is nothing to be right about. */
static const char *share(double value, char text[16]) {
    if (value >= 0) snprintf(text, 16, "%.1f %%", 100 * value);
    else snprintf(text, 16, "-");
    return text;
}

static void print_class(const struct judge *judge, size_t i) {
    char label[32], precision[16], recall[16];
    const struct judge_class *class = &judge->of[i];
    message_print("%6zu  %-20.40s %7zu  %9s  %9s\n", i, judge_label(judge, i, label), class->images,
                  share(judge_precision(class), precision), share(judge_recall(class), recall));
}

static void print_classes(const struct judge *judge) {
    bool few = judge->classes <= CLASSES_MOST;
    size_t *order = must_calloc(judge->classes, sizeof *order), count = few ? judge->classes : judge_order(judge, order);
    message_print("\n%6s  %-20s %7s  %9s  %9s\n", "class", few ? "" : "least recall first", "images", "precision", "recall");
    for (size_t i = 0; i < count && (few || i < LISTED); i++) print_class(judge, few ? i : order[i]);
    free(order);
}

static void print_matrix(const struct judge *judge) {
    char label[32];
    message_print("\nconfusion: a line for what pictures show, a column for what they were taken for\n%6s  %-14s", "", "");
    for (size_t i = 0; i < judge->classes; i++) message_print("%6zu", i);
    for (size_t i = 0; i < judge->classes; i++) {
        message_print("\n%6zu  %-14.14s", i, judge_label(judge, i, label));
        for (size_t k = 0; k < judge->classes; k++) {
            uint32_t count = judge->matrix[i * judge->classes + k];
            if (count) message_print("%6u", count);
            else message_print("%6s", ".");
        }
    }
    message_print("\n");
}

static void print_pairs(const struct judge *judge) {
    struct judge_pair pairs[LISTED];
    char truth[32], answer[32];
    size_t count = judge_pairs(judge, pairs, LISTED);
    if (count) message_print("\nconfused most\n");
    for (size_t i = 0; i < count; i++)
        message_print("%7zu  %.40s taken for %.40s\n", pairs[i].images, judge_label(judge, pairs[i].truth, truth),
                      judge_label(judge, pairs[i].answer, answer));
}

static void print_misses(const struct judge *judge, size_t worst) {
    char name[4200], truth[32], answer[32];
    if (judge->miss_count && worst) message_print("\nworst misses: the largest probability for a wrong label\n");
    for (size_t i = 0; i < judge->miss_count && i < worst; i++) {
        size_t at = judge->misses[i];
        const struct judge_answer *said = &judge->answers[at];
        message_print("  %s  is %.40s (%.4f), taken for %.40s (%.4f)\n", dataset_name(&judge->dataset, at, name, sizeof name),
                      judge_label(judge, judge->dataset.items[at].class, truth), (double)said->p_true,
                      judge_label(judge, said->class, answer), (double)said->p);
    }
}

void judge_print(const struct judge *judge, size_t worst) {
    print_classes(judge);
    if (judge->classes <= CLASSES_MOST) print_matrix(judge);
    else print_pairs(judge);
    print_misses(judge, worst);
}

static void classes_json(const struct judge *judge, struct json *json) {
    json_open_array(json, "classes");
    for (size_t i = 0; i < judge->classes; i++) {
        json_open_flat(json, NULL);
        json_text(json, "label", network_label(&judge->network, (uint32_t)i));
        json_integer(json, "index", (int64_t)i);
        json_integer(json, "images", (int64_t)judge->of[i].images);
        json_integer(json, "answers", (int64_t)judge->of[i].answers);
        json_number(json, "precision", judge_precision(&judge->of[i]));
        json_number(json, "recall", judge_recall(&judge->of[i]));
        json_close(json);
    }
    json_close_array(json);
}

static void matrix_json(const struct judge *judge, struct json *json) {
    json_open_array(json, "confusion");
    for (size_t i = 0; i < judge->classes; i++) json_dims(json, NULL, judge->matrix + i * judge->classes, (uint32_t)judge->classes);
    json_close_array(json);
}

static void misses_json(const struct judge *judge, size_t worst, struct json *json) {
    char name[4200];
    json_open_array(json, "worst");
    for (size_t i = 0; i < judge->miss_count && i < worst; i++) {
        size_t at = judge->misses[i];
        const struct judge_answer *said = &judge->answers[at];
        json_open_flat(json, NULL);
        json_text(json, "file", dataset_name(&judge->dataset, at, name, sizeof name));
        json_text(json, "label", network_label(&judge->network, judge->dataset.items[at].class));
        json_integer(json, "index", judge->dataset.items[at].class);
        json_float(json, "p", said->p_true);
        json_text(json, "answer_label", network_label(&judge->network, said->class));
        json_integer(json, "answer_index", said->class);
        json_float(json, "answer_p", said->p);
        json_close(json);
    }
    json_close_array(json);
}

void judge_json(const struct judge *judge, size_t worst, struct json *json) {
    classes_json(judge, json);
    if (judge->matrix) matrix_json(judge, json);
    misses_json(judge, worst, json);
}
