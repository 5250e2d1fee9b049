/* SPDX-License-Identifier: MIT */
/* A comparison in words, and as JSON. */
#include "tools/compare/compare.h"
#include "tools/base/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least on its own is to blame for more than what only passes errors on; of equals the one that comes first in the network. */
static int by_blame(const void *a, const void *b) {
    const struct compare_point *x = *(const struct compare_point *const *)a, *y = *(const struct compare_point *const *)b;
    if (x->sqnr_own != y->sqnr_own) return x->sqnr_own < y->sqnr_own ? -1 : 1;
    return x < y ? -1 : x > y;
}

size_t compare_layers(const struct comparison *c, bool worst, const struct compare_point **order) {
    size_t count = 0;
    for (size_t i = 0; i < c->point_count; i++)
        if (c->points[i].node) order[count++] = &c->points[i];
    if (worst && count) qsort(order, count, sizeof *order, by_blame);
    return count;
}

/* So many digits as do not depend on which thread took which sample. */
static double rounded(double x) {
    return rint(x * 1e4) / 1e4;
}

static void json_point(struct json *json, const struct compare_point *p) {
    json_open_flat(json, NULL);
    json_text(json, "name", p->node ? p->node->name : p->value->name);
    json_text(json, "op", p->node ? p->node->op : "Input");
    json_text(json, "value", p->value->name);
    json_number(json, "sqnr_weight_db", p->weights ? rounded(p->sqnr_weight) : NAN);
    json_number(json, "sqnr_own_db", rounded(p->sqnr_own));
    json_number(json, "sqnr_out_db", rounded(p->sqnr_out));
    json_number(json, "cosine", rint(p->cosine * 1e8) / 1e8);
    json_number(json, "clipped", p->clipped);
    json_integer(json, "rescaled_channels", (int64_t)p->rescaled);
    json_integer(json, "dead_channels", (int64_t)p->dead);
    json_integer(json, "lost_channels", (int64_t)p->died);
    json_close(json);
}

static size_t all_rescaled(const struct comparison *c) {
    size_t all = 0;
    for (size_t i = 0; i < c->point_count; i++) all += c->points[i].rescaled;
    return all;
}

void compare_json(struct json *json, const struct comparison *c) {
    const struct compare_point **order = onnx_alloc(c->graph, c->point_count * sizeof *order);
    size_t count = compare_layers(c, true, order);
    json_number(json, "output_sqnr_db", rounded(c->output_sqnr));
    json_integer(json, "samples", (int64_t)quant_data_count(c->data));
    json_integer(json, "rescaled_channels", (int64_t)all_rescaled(c));
    json_open_array(json, "layers");
    for (size_t i = 0; i < count; i++) json_point(json, order[i]);
    json_close_array(json);
    json_open_array(json, "inputs");
    for (size_t i = 0; i < c->point_count; i++)
        if (!c->points[i].node) json_point(json, &c->points[i]);
    json_close_array(json);
    json_open_array(json, "warnings");
    for (size_t i = 0; i < c->report->notice_count; i++) json_text(json, NULL, c->report->notices[i]);
    json_close_array(json);
}

/* A text of at most `most` letters: the end of a longer one. */
static const char *ending(const char *text, size_t most, char room[64]) {
    size_t length = strlen(text);
    if (length <= most) return text;
    snprintf(room, 64, "...%s", text + length - most + 3);
    return room;
}

static void put_point(const struct compare_point *p) {
    char name[64], weights[16] = "-", clipped[16] = "-";
    if (p->weights) snprintf(weights, sizeof weights, "%.1f", p->sqnr_weight);
    if (p->clipped > 0) snprintf(clipped, sizeof clipped, "%.3f %%", p->clipped * 100);
    message_print("%8.1f %10.1f %9s %10.6f %10s  %-18s %s\n", p->sqnr_own, p->sqnr_out, weights, p->cosine, clipped,
                  p->node ? p->node->op : "Input", ending(p->node ? p->node->name : p->value->name, 48, name));
}

void compare_text(const struct comparison *c, size_t most) {
    const struct compare_point **order = onnx_alloc(c->graph, c->point_count * sizeof *order);
    size_t count = compare_layers(c, true, order), shown = most && most < count ? most : count, rescaled = all_rescaled(c);
    size_t samples = quant_data_count(c->data);
    message_print("output SQNR %.2f dB over %zu sample%s\n\n", c->output_sqnr, samples, samples == 1 ? "" : "s");
    message_print("layers, worst first: SQNR in dB on its own, of what comes out in the network as it runs, of the weights\n");
    message_print("     own    network   weights     cosine    clipped  operator           layer\n");
    for (size_t i = 0; i < shown; i++) put_point(order[i]);
    if (shown < count) message_print("  ... and %zu more: --limit 0 shows all\n", count - shown);
    for (size_t i = 0; i < c->point_count; i++)
        if (!c->points[i].node) put_point(&c->points[i]);
    if (rescaled)
        message_print(
            "\n%zu channels inside the model are rescaled by powers of 2^(1/4), or have a number added, which the layers around them\n"
            "make up for: that is no error, and taken out of these figures\n",
            rescaled);
    if (c->report->notice_count) message_print("\nlikely causes\n");
    for (size_t i = 0; i < c->report->notice_count; i++) message_print("  %s\n", c->report->notices[i]);
}
