/* SPDX-License-Identifier: MIT */
/* Of a report: the layers beside those of the float network, the worst first. */
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include <math.h>

static void put_decibels(FILE *file, double value) {
    if (isfinite(value)) page_number(file, "%.1f", value);
    else page_number(file, "%s", value > 0 ? "exact" : "-");
}

static void put_point(FILE *file, const struct compare_point *p) {
    fputs("<tr>", file);
    put_decibels(file, p->sqnr_own);
    put_decibels(file, p->sqnr_out);
    put_decibels(file, p->weights ? p->sqnr_weight : (double)NAN);
    page_number(file, "%.6f", p->cosine);
    if (p->clipped > 0) page_number(file, "%.3f %%", 100 * p->clipped);
    else page_number(file, "-");
    page_cell(file, "%s", p->node ? p->node->op : "Input");
    page_cell(file, "%s", p->node ? p->node->name : p->value->name);
    fputs("</tr>\n", file);
}

void report_layers(const struct report *r, FILE *file) {
    const struct comparison *c = &r->comparing.comparison;
    const struct compare_point **order = onnx_alloc(c->graph, (c->point_count + 1) * sizeof *order);
    size_t count = compare_layers(c, true, order), samples = quant_data_count(c->data);
    page_heading(file, "Beside the float network");
    page_paragraph(file, "Signal to quantization noise in dB over %zu sample%s%s; 6 dB are one bit. At the output: %.2f dB.", samples,
                   samples == 1 ? "" : "s", r->comparing.noise.samples ? " of noise" : "", c->output_sqnr);
    fputs("<div class=\"box all\">\n", file);
    compare_draw(c, file, true);
    fputs("</div>\n", file);
    page_paragraph(file, "The layers, worst first. Own: fed with the float network's values. Network: as it runs, with all errors before "
                         "it. Clipped: the share of the float values beyond the ends of the bytes.");
    page_table(file, "#own|#network|#weights|#cosine|#clipped|operator|layer");
    for (size_t i = 0; i < count; i++) put_point(file, order[i]);
    for (size_t i = 0; i < c->point_count; i++)
        if (!c->points[i].node) put_point(file, &c->points[i]);
    page_table_end(file);
    for (size_t i = 0; i < c->report->notice_count; i++) page_paragraph(file, "%s", c->report->notices[i]);
}
