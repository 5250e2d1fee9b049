/* SPDX-License-Identifier: MIT */
/* What came of the attempts of --max-drop and --eval: a table, or JSON. */
#include "tools/verbs/host/max_drop.h"
#include "tools/onnx/operator.h"
#include "tools/base/message.h"

#include <math.h>
#include <string.h>

enum { LISTED_MOST = 20, OWN = BOXES_THRESHOLDS / 2 };

static double share(const struct attempts *a, size_t right) {
    return (double)right / (double)(a->reference.samples ? a->reference.samples : 1);
}

/* Layers kept in float for --max-drop, and those that the caller left in float. */
static void floats_json(struct json *json, const struct attempts *a) {
    const struct scheme *scheme = a->quantizer ? a->quantizer->scheme : NULL;
    size_t given = a->count ? a->list[a->chosen].float_count : 0;
    json_open_array(json, "layers_float");
    for (size_t i = 0; i < given; i++) json_text(json, NULL, max_drop_names(a)[i]);
    for (size_t n = 0; scheme && n < scheme->graph->node_count; n++) {
        const struct onnx_node *node = scheme->graph->nodes[n];
        bool listed = scheme->nodes[n].role != SCHEME_FLOAT || scheme->nodes[n].layer;
        for (size_t i = 0; i < given; i++) listed = listed || !strcmp(max_drop_names(a)[i], node->name);
        if (onnx_class_of(node) == ONNX_LAYER && !listed) json_text(json, NULL, node->name);
    }
    json_close_array(json);
}

void max_drop_json(struct json *json, const struct attempts *a) {
    const struct attempt *chosen = &a->list[a->chosen];
    bool measured = a->count > 0;
    bool boxes = measured && a->rule, classes = measured && !a->rule;
    json_integer(json, "eval_samples", measured ? (int64_t)a->reference.samples : 0);
    json_number(json, "float_top1", classes ? share(a, a->reference.right) : (double)NAN);
    json_number(json, "int8_top1", classes ? share(a, chosen->accuracy.right) : (double)NAN);
    json_number(json, "float_boxes", boxes ? (double)a->reference.box_counts[OWN] : (double)NAN);
    json_number(json, "f1", boxes ? accuracy_f1(&chosen->accuracy, &a->reference) : (double)NAN);
    json_number(json, "drop", measured ? chosen->drop : (double)NAN);
    json_number(json, "changed", classes ? (double)chosen->accuracy.changed : (double)NAN);
    json_number(json, "sqnr_db", measured ? chosen->accuracy.sqnr_db : (double)NAN);
    floats_json(json, a);
    json_open_array(json, "attempts");
    for (size_t i = 0; i < a->count; i++) {
        const struct attempt *one = &a->list[i];
        json_open_flat(json, NULL);
        json_integer(json, "layers_float", (int64_t)one->float_count);
        json_number(json, a->rule ? "f1" : "top1", a->rule ? accuracy_f1(&one->accuracy, &a->reference) : share(a, one->accuracy.right));
        json_number(json, "drop", one->drop);
        json_integer(json, a->rule ? "boxes" : "changed", (int64_t)(a->rule ? one->accuracy.found[OWN] : one->accuracy.changed));
        json_number(json, "sqnr_db", one->accuracy.sqnr_db);
        json_integer(json, "blob_bytes", (int64_t)one->blob_bytes);
        json_integer(json, "arena_bytes", one->arena_bytes);
        json_number(json, "ms", one->accuracy.run_ms);
        json_close(json);
    }
    json_close_array(json);
}

/* What the figures mean, and how far those of other samples may be from them. Top-1 differs by answers that changed alone. */
static void print_errors(const struct attempts *a, const struct attempt *chosen) {
    double n = (double)(a->reference.samples ? a->reference.samples : 1), p = share(a, a->reference.right);
    message_print("points: how much more top-1 than the float network's; changed: answers that are not its own; ms: of one run in\n"
                  "one thread, the shortest on this machine. Standard error of so many samples: %.2f points of top-1, at most %.2f of the "
                  "difference\n",
                  100 * sqrt(p * (1 - p) / n), 100 * sqrt((double)(chosen->accuracy.changed ? chosen->accuracy.changed : 1)) / n);
}

static void print_classes(const struct attempts *a) {
    message_print("\n%zu samples, float network: top-1 %.2f %%\n", a->reference.samples, 100 * share(a, a->reference.right));
    message_print("float layers    top-1 %%   points  changed  SQNR dB  blob bytes arena bytes        ms\n");
    for (size_t i = 0; i < a->count; i++) {
        const struct attempt *one = &a->list[i];
        message_print("%-14zu %8.2f %+8.2f %8zu %8.2f %11zu %11u %9.3f%s\n", one->float_count, 100 * share(a, one->accuracy.right),
                      0 - 100 * one->drop, one->accuracy.changed, one->accuracy.sqnr_db, one->blob_bytes, one->arena_bytes,
                      one->accuracy.run_ms, i == a->chosen && a->count > 1 ? "  <" : "");
    }
    print_errors(a, &a->list[a->chosen]);
}

/* Each box that one alone finds counts once among those of both. */
static void print_boxes(const struct attempts *a) {
    const struct attempt *chosen = &a->list[a->chosen];
    const size_t all = chosen->accuracy.found[OWN] + a->reference.box_counts[OWN], other = all - 2 * chosen->accuracy.both[OWN];
    message_print("\n%zu sample%s, float network: %zu boxes\n", a->reference.samples, a->reference.samples == 1 ? "" : "s",
                  a->reference.box_counts[OWN]);
    message_print("float nodes           F1    about    boxes  SQNR dB  blob bytes arena bytes        ms\n");
    for (size_t i = 0; i < a->count; i++) {
        const struct attempt *one = &a->list[i];
        message_print("%-14zu %9.4f %8.4f %8zu %8.2f %11zu %11u %9.3f%s\n", one->float_count, accuracy_f1(&one->accuracy, &a->reference),
                      1 - one->drop, one->accuracy.found[OWN], one->accuracy.sqnr_db, one->blob_bytes, one->arena_bytes,
                      one->accuracy.run_ms, i == a->chosen && a->count > 1 ? "  <" : "");
    }
    message_print(
        "F1: twice the boxes that agree with one of the float network's, of the same class and half of their union shared, by all;\n"
        "about: the same over thresholds from 0.6 to 1.4 of the rule's, against which --max-drop is held;\n"
        "ms: of one run in one thread, the shortest on this machine. Standard error of so many boxes: %.4f\n",
        sqrt((double)(other ? other : 1)) / (double)(all ? all : 1));
    if (!a->eval && a->count > 1) message_print("Nodes were chosen on these samples: --eval OTHERS measures on others\n");
}

/* What is in float: the layers with what each gains alone, or names. */
static void print_floats(const struct attempts *a) {
    const size_t count = a->list[a->chosen].float_count;
    for (size_t i = 0; i < count && i < LISTED_MOST; i++)
        if (a->gains) message_print("float: %s (alone: %+.2f dB)\n", max_drop_names(a)[i], a->gains[i]);
        else message_print("float: %s\n", max_drop_names(a)[i]);
    if (count > LISTED_MOST) message_print("float: %zu others, which --json lists\n", count - LISTED_MOST);
}

void max_drop_print(const struct attempts *a) {
    if (!a->count) return;
    (a->rule ? print_boxes : print_classes)(a);
    print_floats(a);
}
