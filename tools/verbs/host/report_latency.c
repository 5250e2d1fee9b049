/* SPDX-License-Identifier: MIT */
/* Of a report: how long runs take, how that spreads and drifts, and which steps it goes to. */
#include "core/blob.h"
#include "tools/base/options.h"
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include <math.h>

enum { WIDTH = 400, HEIGHT = 190, LEFT = 52, TOP = 14, BOTTOM = 34, RIGHT = 8, PARTS = 40, DOTS = 1500 };
static const double plot_width = WIDTH - LEFT - RIGHT, plot_height = HEIGHT - TOP - BOTTOM;

static void put_figure(FILE *file, const char *caption) {
    fprintf(file, "<figure><figcaption>%s</figcaption>\n<svg class=\"wide\" viewBox=\"0 0 %d %d\" role=\"img\">\n", caption, WIDTH, HEIGHT);
}

static void put_text(FILE *file, double x, double y, const char *anchor, const char *format, double value) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    page_put(file, format, value);
    fputs("</text>\n", file);
}

static void put_line(FILE *file, double x0, double y0, double x1, double y1) {
    fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x0, y0, x1, y1);
}

/* Bins side by side, each as wide as the next whatever it spans; some of their edges are named. */
static void put_histogram(const struct latency *latency, FILE *file) {
    static const int marks[] = {50, 95, 99};
    const struct latency_histogram h = latency_histogram(latency);
    double column = plot_width / (double)h.count, floor = TOP + plot_height;
    put_figure(file, "How many runs took how long, in ms. Bins of one width, then bins that widen");
    put_line(file, LEFT, floor, LEFT + plot_width, floor);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%zu</text>\n", LEFT - 4, TOP + 4, h.most);
    for (size_t i = 0; i < h.count; i++) {
        double height = plot_height * (double)h.runs[i] / (double)h.most, x = LEFT + column * (double)i;
        if (h.runs[i] && height < 1) height = 1;
        fprintf(file,
                "<rect class=\"bars\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%.4f to %.4f ms: %zu</title></rect>\n", x,
                floor - height, column - 1, height, h.edges[i], h.edges[i + 1], h.runs[i]);
    }
    for (size_t i = 0; i <= h.count; i += 4)
        put_text(file, LEFT + column * (double)i, floor + 13, i ? i < h.count ? "middle" : "end" : "start", "%.3g", h.edges[i]);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t bin = latency_bin(&h, latency_percentile(latency, marks[i] / 100.0));
        double height = plot_height * (double)h.runs[bin] / (double)h.most;
        put_text(file, LEFT + column * ((double)bin + 0.5), fmax(TOP - 2, floor - height - 4 - (i == 2 ? 10 : 0)), "middle", "p%.0f",
                 marks[i]);
    }
    fputs("</svg></figure>\n", file);
}

/* Each run as a dot, or some of very many; the medians of equal parts as a line. What lies above the picture is drawn at its top. */
static void put_drift(const struct latency *latency, FILE *file) {
    double medians[PARTS], low = latency->sorted[0], high = low + 2 * (latency_percentile(latency, 0.9) - low);
    size_t parts = latency_drift(latency, PARTS, medians), every = latency->count / DOTS + 1;
    high = fmax(high, low * 1.05 + 1e-9);
    put_figure(file, "Each run in turn, in ms; the line: the median of those around it");
    put_line(file, LEFT, TOP + plot_height, LEFT + plot_width, TOP + plot_height);
    fputs("<path class=\"dots\" d=\"", file);
    for (size_t i = 0; i < latency->count; i += every) {
        double y = TOP + plot_height * (1 - (fmin(latency->ms[i], high) - low) / (high - low));
        fprintf(file, "M%.1f %.1fh0", LEFT + plot_width * ((double)i + 0.5) / (double)latency->count, y);
    }
    fputs("\"/>\n<path class=\"middle\" d=\"", file);
    for (size_t i = 0; i < parts; i++) {
        double y = TOP + plot_height * (1 - (fmin(medians[i], high) - low) / (high - low));
        fprintf(file, "%s%.1f %.1f", i ? "L" : "M", LEFT + plot_width * ((double)i + 0.5) / (double)parts, y);
    }
    fputs("\"/>\n", file);
    for (int i = 0; i <= 2; i++) put_text(file, LEFT - 4, TOP + plot_height * (1 - i / 2.0) + 3, "end", "%.3g", low + (high - low) * i / 2);
    put_text(file, LEFT, TOP + plot_height + 13, "start", "run %.0f", 1);
    put_text(file, LEFT + plot_width, TOP + plot_height + 13, "end", "%.0f", (double)latency->count);
    fputs("</svg></figure>\n", file);
}

static void put_steps(const struct bench *bench, FILE *file) {
    double total = bench_all_steps_ms(bench), most = 0;
    uint32_t count = bench->run->session.step_count;
    for (uint32_t i = 0; i < count; i++) most = fmax(most, bench->step_ms[i]);
    page_heading(file, "Time by step");
    page_paragraph(file, "Medians of runs of their own, with a look at the clock between the steps: together %.4f ms.", total);
    page_table(file, "#step|kind|kernels|#ms|#share||#GMAC/s|name");
    for (uint32_t i = 0; i < count; i++) {
        const struct morsel_step step = bench_step(bench, i);
        double ms = bench->step_ms[i], macs = (double)morsel_step_macs(morsel_blob_step(&bench->network.model, i));
        fputs("<tr>", file);
        page_number(file, "%u", i);
        page_cell(file, "%s", step.kind);
        page_cell(file, "%s%s%s", step.isa, step.why_c ? ": " : "", step.why_c ? step.why_c : "");
        page_number(file, "%.4f", ms);
        page_number(file, "%.1f %%", total > 0 ? 100 * ms / total : 0);
        page_bar(file, most > 0 ? ms / most : 0);
        page_number(file, "%.2f", ms > 0 ? macs / ms * 1e-6 : 0);
        page_cell(file, "%s", step.name);
        fputs("</tr>\n", file);
    }
    page_table_end(file);
}

void report_latency(const struct report *r, FILE *file) {
    const struct bench *bench = &r->bench;
    const struct latency *latency = &bench->latency;
    page_heading(file, "Time of a run");
    page_paragraph(file,
                   "%zu runs with kernels for %s, %ld thread%s, on the machine that made this page: p50 %.4f ms, p95 %.4f ms, p99 %.4f ms, "
                   "the shortest %.4f ms. Opening took %.0f microseconds, the first run %.3f ms.",
                   latency->count, options_cpu_name(bench->run->session.cpu), bench->threads, bench->threads > 1 ? "s" : "",
                   latency_percentile(latency, 0.5), latency_percentile(latency, 0.95), latency_percentile(latency, 0.99),
                   latency->sorted[0], bench_open_us(bench), bench->first_ms);
    fputs("<div class=\"pair\">\n", file);
    put_histogram(latency, file);
    put_drift(latency, file);
    fputs("</div>\n", file);
    put_steps(bench, file);
}
