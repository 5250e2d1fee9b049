/* SPDX-License-Identifier: MIT */
/* Reads two networks, finds data for both, and measures one beside the other. */
#include "tools/verbs/host/comparing.h"
#include "tools/base/message.h"
#include "tools/compare/whole.h"
#include "tools/float/executor.h"
#include "tools/network/each.h"
#include "tools/optimize/optimize.h"
#include "tools/verbs/host/convert_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void comparing_free(struct comparing *w) {
    compare_close(&w->comparison);
    quant_data_close(w->data);
    noise_free(&w->noise);
    network_close(&w->blob);
    conversion_free(&w->first);
    conversion_free(&w->second);
    onnx_report_free(&w->warnings);
    for (size_t i = 0; w->shapes && w->shapes[i]; i++) free(w->shapes[i]);
    free(w->shapes);
}

/* "NAME=1,3,224,224", or NULL: the model has no input of that name. */
static char *shape_in(const struct morsel_model *model, const char *name) {
    const struct morsel_blob_section *inputs = &morsel_blob_header(model)->inputs;
    const struct morsel_blob_io *io = morsel_blob_at(model, inputs->offset);
    for (uint32_t i = 0; i < inputs->count; i++) {
        if (strcmp(morsel_blob_string(model, io[i].name), name) != 0) continue;
        const size_t size = strlen(name) + 2 + 11 * MORSEL_FORMAT_MAX_RANK;
        char *text = must_calloc(size, 1);
        size_t at = (size_t)snprintf(text, size, "%s=", name);
        for (uint32_t d = 0; d < io[i].onnx_rank; d++)
            at += (size_t)snprintf(text + at, size - at, "%s%u", d ? "," : "", (unsigned)io[i].onnx_dims[d]);
        return text;
    }
    return NULL;
}

/* What MODEL was made for, where FLOAT leaves it open. */
static bool take_shapes(struct comparing_call *call, struct comparing *w, struct failure *failure) {
    struct option_texts *shapes = &call->first.shapes;
    const size_t most = sizeof shapes->values / sizeof *shapes->values;
    if (shapes->count || call->first.dims.count) return true;
    struct onnx_graph *graph = conversion_open(&call->first, NULL, failure);
    if (!graph) return false;
    w->shapes = must_calloc(graph->input_count + 1, sizeof *w->shapes);
    for (size_t i = 0, n = 0; i < graph->input_count && n < most; i++) {
        if (onnx_elements(&graph->inputs[i]->shape) >= 0) continue;
        if (!(w->shapes[n] = shape_in(&w->network, graph->inputs[i]->name))) continue;
        shapes->values[shapes->count++] = w->shapes[n++];
    }
    onnx_free(graph);
    return true;
}

/* A quantized ONNX file becomes a blob in memory: it gives the same bytes. False with refusals and no failure, or with a failure. */
static bool read_model(const struct comparing_call *call, struct comparing *w, struct failure *failure) {
    const char *path = call->second.input;
    if (!network_is_onnx(path))
        return network_read(&w->blob, &(struct network_call){.path = path}, failure) &&
               (whole_open(&w->network, w->blob.blob.data, w->blob.blob.size, failure) || failure_prefix(failure, path));
    if (!conversion_read(&call->second, &w->second, failure) || w->second.report.refusal_count ||
        !conversion_make(&call->second, &w->second, w->second.graph, failure))
        return false;
    return whole_open(&w->network, w->second.blob, w->second.blob_bytes, failure) || failure_prefix(failure, path);
}

static bool read_float(const struct comparing_call *call, struct comparing *w, struct failure *failure) {
    struct conversion *c = &w->first;
    if (!conversion_read(&call->first, c, failure) || c->report.refusal_count) return false;
    if (onnx_is_quantized(c->graph))
        return failure_set(failure, STATUS_CALL, "%s is quantized: the float network comes first, then what was made of it",
                           call->first.input);
    graph_optimize(c->graph, NULL);
    return executor_check(c->graph, &c->report) && !c->report.refusal_count;
}

static bool open_data(const struct comparing_call *call, struct comparing *w, struct failure *failure) {
    const struct morsel_blob_header *h = morsel_blob_header(&w->network);
    struct quant_data_wish wish = {.paths = call->data.values, .path_count = (size_t)call->data.count, .count = (size_t)call->count};
    wish.seed = (uint64_t)call->seed;
    wish.usual = COMPARING_USUAL;
    wish.rule = w->first.extras.picture;
    if (!wish.rule && h->picture.count) wish.rule = morsel_blob_at(&w->network, h->picture.offset);
    if (!morsel_text_find(&w->text, &w->network)) wish.text = &w->text;
    if (!call->data.count) {
        message_notice("without --data the inputs are noise, and what the figures say holds for noise: give some pictures or arrays as the "
                       "network sees them");
        if (!noise_make(&w->noise, &w->comparison, (size_t)call->count, (uint64_t)call->seed, failure)) return false;
        wish.made = w->noise.numbers;
        wish.made_count = w->noise.samples;
    }
    w->data = quant_data_open(&wish, w->first.graph, failure);
    bool read = w->data &&
                (quant_data_reads(w->data, call->svg) || conversion_reads(&w->first, call->svg) || conversion_reads(&w->second, call->svg));
    return w->data &&
           (!read || failure_set(failure, STATUS_CALL, "--svg %s would be written over: it is read as well; name another", call->svg));
}

bool comparing_run(struct comparing_call *call, struct comparing *w, struct failure *failure) {
    struct comparison *c = &w->comparison;
    const bool blob = !network_is_onnx(call->second.input);
    if (blob && (!read_model(call, w, failure) || !take_shapes(call, w, failure))) return false;
    if (!read_float(call, w, failure) || (!blob && !read_model(call, w, failure))) return false;
    *c = (struct comparison){.graph = w->first.graph, .network = &w->network, .threads = (unsigned)call->threads, .report = &w->warnings};
    if (!c->threads) c->threads = pool_processors();
    if (!compare_match(c, failure) || !open_data(call, w, failure)) return false;
    c->data = w->data;
    if (!compare_measure(c, failure)) return false;
    compare_warn(c);
    return !call->svg || compare_svg(c, call->svg, failure);
}

int comparing_refused(const struct comparing_call *call, const struct comparing *w) {
    bool first = w->first.report.refusal_count != 0;
    const struct conversion *c = first ? &w->first : &w->second;
    report_refusals(first ? call->first.input : call->second.input, first ? NULL : c->graph, &c->report);
    return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
}
