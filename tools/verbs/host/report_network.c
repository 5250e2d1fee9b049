/* SPDX-License-Identifier: MIT */
/* Of a report: the figures that one looks for first, what the network is, what its bytes are, and its memory. */
#include "core/blob.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include "tools/verbs/host/page.h"
#include "tools/verbs/host/report.h"
#include <math.h>
#include <stdlib.h>

static uint64_t macs_of(const struct morsel_blob_header *header) {
    return (uint64_t)header->macs_high << 32 | header->macs_low;
}

static void put_tiles(const struct report *r, FILE *file) {
    const struct latency *latency = &r->bench.latency;
    char f1[16];
    page_tiles(file, true);
    page_tile(file, "a run, the median", "%.3f ms", latency_median(latency));
    page_tile(file, "p99", "%.3f ms", latency_percentile(latency, 0.99));
    page_tile(file, "arena", "%.1f KB", r->inspect.header->arena_bytes / 1e3);
    page_tile(file, "blob", "%.1f KB", (double)r->inspect.network.blob.size / 1e3);
    page_tile(file, "multiply-accumulates", "%.1f M", (double)macs_of(r->inspect.header) / 1e6);
    if (r->judged && r->judge.boxes) page_tile(file, "F1 of the boxes", "%s", judge_boxes_figure(judge_boxes_f1(&r->judge.boxes->all), f1));
    else if (r->judged) page_tile(file, "top-1 of the pictures", "%.2f %%", 100 * (double)r->judge.top1 / (double)r->judge.dataset.count);
    if (r->compared) page_tile(file, "SQNR of the output", "%.1f dB", r->comparing.comparison.output_sqnr);
    page_tiles(file, false);
}

static void put_tensors(FILE *file, const char *what, const struct network_tensor *tensors, uint32_t count) {
    char text[512];
    for (uint32_t i = 0; i < count; i++) page_fact(file, what, "%s", tensor_describe(&tensors[i], text, sizeof text));
}

static void put_rule(const struct report *r, const char *what, void (*put)(const struct inspect *, FILE *), FILE *file) {
    struct text_stream stream;
    must_have(text_open(&stream), 1);
    put(&r->inspect, stream.file);
    must_have(text_close(&stream), 1);
    page_fact(file, what, "%s", stream.text);
    free(stream.text);
}

static void put_labels(const struct report *r, FILE *file) {
    enum { SHOWN = 12 };
    const struct morsel_model *model = &r->inspect.network.model;
    uint32_t count = morsel_label_count(model);
    fputs("<tr><th>labels</th><td class=\"long\">", file);
    fprintf(file, "%u", count);
    for (uint32_t i = 0; i < count && i < SHOWN; i++) page_put(file, "%s %s", i ? "," : ":", morsel_label(model, i));
    fprintf(file, "%s</td></tr>\n", count > SHOWN ? ", ..." : "");
}

static void put_metadata(const struct report *r, FILE *file) {
    const char *key, *value;
    for (uint32_t i = 0; (key = morsel_metadata_at(&r->inspect.network.model, i, &value)); i++) page_fact(file, key, "%s", value);
}

static void put_facts(const struct report *r, FILE *file) {
    const struct inspect *inspect = &r->inspect;
    const struct network *network = &inspect->network;
    page_heading(file, "What it is");
    page_table(file, "");
    page_fact(file, "file", "%s", r->model);
    if (r->float_model) page_fact(file, "float network", "%s", r->float_model);
    page_fact(file, "network", "%s", *morsel_network_name(&network->model) ? morsel_network_name(&network->model) : "without a name");
    page_fact(file, "format", "version %u", inspect->header->format_version);
    put_tensors(file, "input", network->inputs, network->input_count);
    put_tensors(file, "output", network->outputs, network->output_count);
    put_rule(r, "picture rule", inspect_put_picture, file);
    if (inspect_text_rule(inspect)) put_rule(r, "text rule", inspect_put_text, file);
    if (inspect_answer(inspect)) put_rule(r, "answer rule", inspect_put_answer, file);
    put_labels(r, file);
    put_metadata(r, file);
    page_fact(file, "steps", "%u, %u groups of which stream", inspect->header->steps.count, inspect->header->groups.count);
    if (inspect->variant_count > 1)
        page_fact(file, "sizes", "%u in this blob; the page is about size %u", inspect->variant_count, network->variant);
    page_table_end(file);
}

static void put_sections(const struct report *r, FILE *file) {
    struct inspect_section sections[INSPECT_SECTIONS];
    double all = (double)r->inspect.network.blob.size;
    inspect_sections(&r->inspect, sections);
    page_heading(file, "Bytes of the blob");
    page_table(file, "section|#bytes|#share|");
    for (int i = 0; i < INSPECT_SECTIONS; i++) {
        if (!sections[i].bytes) continue;
        fputs("<tr>", file);
        page_cell(file, "%s", sections[i].name);
        page_number(file, "%u", sections[i].bytes);
        page_number(file, "%.1f %%", 100 * sections[i].bytes / all);
        page_bar(file, sections[i].bytes / all);
        fputs("</tr>\n", file);
    }
    page_table_end(file);
}

void report_network(const struct report *r, FILE *file) {
    put_tiles(r, file);
    put_facts(r, file);
    put_sections(r, file);
    page_heading(file, "Memory");
    page_paragraph(file,
                   "The arena of %u bytes over the steps of a run: each tensor from the step that writes it to the last that reads it. At "
                   "the fullest step %u bytes are in use.",
                   r->inspect.header->arena_bytes, r->inspect.memory.peak_bytes);
    fputs("<div class=\"box all\">\n", file);
    inspect_draw(&r->inspect, file, true);
    fputs("</div>\n", file);
}
