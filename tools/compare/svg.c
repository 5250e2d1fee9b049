/* SPDX-License-Identifier: MIT */
/*
 * SQNR along the network as a picture: layers from left to right, decibels from the bottom up; what comes out of each in the network as it
 * runs, what it makes of the float network's values by itself, and its weights. The worst are named.
 *
 * A layer has a group of its own, which says in data- attributes what it stands for.
 */
#include "tools/compare/compare.h"
#include "tools/base/text.h"
#include "tools/base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 74, TOP = 96, HEIGHT = 420, AXIS = 150, WIDTH = 1240, RIGHT = 24, NARROWEST = 8, WIDEST = 48, WORST = 5 };

struct drawing {
    FILE *file;
    const struct comparison *c;
    const struct compare_point **layers; /* as they stand in the network */
    const struct compare_point *worst[WORST];
    size_t count, worst_count;
    double column, width, low, high; /* decibels at the ends */
    bool in_page;
};

static double x_of(const struct drawing *d, size_t layer) {
    return LEFT + ((double)layer + 0.5) * d->column;
}

static double y_of(const struct drawing *d, double sqnr) {
    return TOP + HEIGHT * (1 - (fmin(d->high, fmax(d->low, sqnr)) - d->low) / (d->high - d->low));
}

static void put_text(const struct drawing *d, double x, double y, const char *more, const char *text) {
    fprintf(d->file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
    text_put_xml(d->file, text, false);
    fputs("</text>\n", d->file);
}

static void put_start(const struct drawing *d) {
    double width = LEFT + d->width + RIGHT, height = TOP + HEIGHT + AXIS;
    fprintf(d->file, "<svg %sclass=\"noise\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" ",
            d->in_page ? "" : "xmlns=\"http://www.w3.org/2000/svg\" ", width, height, width, height);
    fputs("font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n<style>\n"
          ".noise .grid{stroke:#e3e6ea}.noise .axis{stroke:#222}.noise .kind{text-anchor:end;font-size:9px;fill:#555}\n"
          ".noise .own{fill:none;stroke:#c8102e;stroke-width:1.6}.noise .out{fill:none;stroke:#2f6fb0;stroke-width:1.6}\n"
          ".noise .owndot{fill:#c8102e}.noise .outdot{fill:#2f6fb0}.noise .weight{fill:#f2b366;stroke:#a8702a;stroke-width:.6}\n"
          ".noise .red{fill:#c8102e;font-weight:bold}.noise .paper{fill:#fff}\n"
          "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
          d->file);
}

static void put_heading(const struct drawing *d) {
    char text[512];
    snprintf(text, sizeof text, "%.200s: %.2f dB at the output, %zu layers, %zu samples", d->c->graph->name ? d->c->graph->name : "network",
             d->c->output_sqnr, d->count, quant_data_count(d->c->data));
    put_text(d, LEFT, 26, "font-size=\"16\" font-weight=\"bold\"", text);
    for (size_t i = 0, at = 0; i < d->worst_count && i < 3; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.100s (%.1f dB)",
                               i ? ", " : "worst on their own: ", d->worst[i]->node->name, d->worst[i]->sqnr_own);
    if (d->worst_count) put_text(d, LEFT, 46, "class=\"red\"", text);
    fprintf(d->file, "<path class=\"out\" d=\"M%d 66h24\"/><path class=\"own\" d=\"M%d 66h24\"/>\n", LEFT, LEFT + 220);
    fprintf(d->file, "<circle class=\"weight\" cx=\"%d\" cy=\"66\" r=\"3\"/>\n", LEFT + 480);
    put_text(d, LEFT + 30, 70, "", "in the network as it runs");
    put_text(d, LEFT + 250, 70, "", "each layer fed with float's values");
    put_text(d, LEFT + 490, 70, "", "weights");
}

static void put_axes(const struct drawing *d) {
    char text[32], more[96];
    for (double at = d->low; at <= d->high; at += 10) {
        fprintf(d->file, "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", at == d->low ? "axis" : "grid", LEFT,
                y_of(d, at), LEFT + d->width, y_of(d, at));
        snprintf(text, sizeof text, "%.0f", at);
        put_text(d, LEFT - 6, y_of(d, at) + 3.5, "text-anchor=\"end\"", text);
    }
    snprintf(more, sizeof more, "transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\"", TOP + HEIGHT / 2);
    put_text(d, 14, TOP + HEIGHT / 2, more, "SQNR, dB");
}

static void put_line(const struct drawing *d, bool own) {
    fprintf(d->file, "<path class=\"%s\" d=\"", own ? "own" : "out");
    for (size_t i = 0; i < d->count; i++)
        fprintf(d->file, "%s%.1f %.1f", i ? "L" : "M", x_of(d, i), y_of(d, own ? d->layers[i]->sqnr_own : d->layers[i]->sqnr_out));
    fputs("\"/>\n", d->file);
}

static void put_layer(const struct drawing *d, size_t i) {
    const struct compare_point *p = d->layers[i];
    double x = x_of(d, i), y = TOP + HEIGHT + 8;
    bool bad = false;
    for (size_t k = 0; k < d->worst_count; k++) bad = bad || d->worst[k] == p;
    fputs("<g data-layer=\"", d->file);
    text_put_xml(d->file, p->node->name, false);
    fprintf(d->file, "\" data-own=\"%.4f\" data-out=\"%.4f\" data-clipped=\"%.6f\"><title>", p->sqnr_own, p->sqnr_out, p->clipped);
    text_put_xml(d->file, p->node->name, false);
    fprintf(d->file, " (%s): on its own %.1f dB, in the network %.1f dB", p->node->op, p->sqnr_own, p->sqnr_out);
    if (p->weights) fprintf(d->file, ", weights %.1f dB", p->sqnr_weight);
    fprintf(d->file, ", %.3f %% clipped</title><circle class=\"outdot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>", p->clipped * 100, x,
            y_of(d, p->sqnr_out));
    if (p->weights) fprintf(d->file, "<circle class=\"weight\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, y_of(d, p->sqnr_weight));
    fprintf(d->file, "<circle class=\"owndot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/></g>\n", x, y_of(d, p->sqnr_own), bad ? 4.5 : 2.5);
    char more[128], name[32];
    size_t length = strlen(p->node->name);
    snprintf(more, sizeof more, "class=\"kind%s\" transform=\"rotate(-90 %.1f %.1f)\"", bad ? " red" : "", x + 3, y);
    snprintf(name, sizeof name, "%s%s", length > 24 ? "..." : "", p->node->name + (length > 24 ? length - 21 : 0));
    put_text(d, x + 3, y, more, name);
}

static void choose(struct drawing *d) {
    const struct comparison *c = d->c;
    const struct compare_point **order = onnx_alloc(c->graph, (c->point_count + 1) * sizeof *order);
    d->layers = onnx_alloc(c->graph, (c->point_count + 1) * sizeof *d->layers);
    d->worst_count = compare_layers(c, true, order);
    d->worst_count = d->worst_count < WORST ? d->worst_count : WORST;
    memcpy(d->worst, order, d->worst_count * sizeof *order);
    d->count = compare_layers(c, false, d->layers);
    d->low = 0;
    d->high = 40;
    for (size_t i = 0; i < d->count; i++) {
        const struct compare_point *p = d->layers[i];
        d->low = fmin(d->low, fmax(-20, floor(fmin(p->sqnr_own, p->sqnr_out) / 10) * 10));
        d->high = fmax(d->high, fmin(80, ceil(fmax(p->sqnr_own, p->sqnr_out) / 10) * 10));
    }
    d->column = (double)WIDTH / (double)(d->count ? d->count : 1);
    d->column = d->column < NARROWEST ? NARROWEST : d->column > WIDEST ? WIDEST : d->column;
    d->width = fmax(640, d->column * (double)d->count);
}

void compare_draw(const struct comparison *c, FILE *file, bool in_page) {
    struct drawing d = {.file = file, .c = c, .in_page = in_page};
    choose(&d);
    put_start(&d);
    put_heading(&d);
    put_axes(&d);
    put_line(&d, false);
    put_line(&d, true);
    for (size_t i = 0; i < d.count; i++) put_layer(&d, i);
    fputs("</svg>\n", d.file);
}

bool compare_svg(const struct comparison *c, const char *path, struct failure *failure) {
    struct text_stream stream;
    if (!text_open(&stream)) return failure_memory(failure, 0);
    compare_draw(c, stream.file, false);
    bool good = text_close(&stream) ? file_write(path, stream.text, stream.size, failure) : failure_memory(failure, stream.size);
    free(stream.text);
    return good;
}
