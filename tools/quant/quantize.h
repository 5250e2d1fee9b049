/* SPDX-License-Identifier: MIT */
/*
 * From a float graph and typical inputs to a QDQ graph. The stages, in order; each may be called by itself:
 *
 *   quantize_prepare    the graph is optimized, and it is seen whether it can run in float
 *   quantize_equalize   outliers split and cross-layer equalization, unless the options do not want it
 *   quantize_observe    the graph runs over the data: what do values take on?
 *   quantize_choose     a scheme: what becomes bytes, by which scales; weights rounded
 *   quantize_refine     weights rounded adaptively, biases corrected, as far as the options want it
 *   insert              the scheme as a QDQ graph
 *
 * Samples may be observed once and schemes chosen many times, with other options.
 */
#ifndef MORSEL_TOOLS_QUANT_QUANTIZE_H
#define MORSEL_TOOLS_QUANT_QUANTIZE_H

#include "tools/base/failure.h"
#include "tools/samples/data/data.h"
#include "tools/quant/calibrate/observe.h"
#include "tools/quant/calibrate/range.h"
#include "tools/quant/equalize/outliers.h"
#include "tools/quant/insert/scheme.h"

struct quantize_options {
    struct scheme_options scheme;
    enum range_method method;
    double percentile; /* of RANGE_PERCENTILE */
    unsigned threads;
    bool keep_channels; /* no equalization */
    int64_t round_most; /* weights of sums up to so many products are rounded by what that does to them: tools/quant/round/refine.h */
    bool keep_biases;   /* no bias correction */
};

struct quantizer {
    struct onnx_graph *graph; /* the caller's; optimized in place */
    const struct quant_data *data;
    struct quantize_options options;
    struct onnx_report *report;
    struct executor *executor;
    struct onnx_graph *given;    /* as it was before outliers were split; NULL: none were */
    struct onnx_graph *original; /* as it was before equalization; NULL: as it is */
    struct executor *original_executor;
    struct observer *observer;
    struct outliers outliers;
    size_t equalized;      /* channels that got another scale, or were moved */
    struct scheme *scheme; /* in the graph's memory */
};

/* False with refusals in the report (and no failure): it holds an operator that cannot run in float. */
bool quantize_prepare(struct quantizer *q, struct failure *failure);
bool quantize_equalize(struct quantizer *q, struct failure *failure);
bool quantize_observe(struct quantizer *q, struct failure *failure);
void quantize_choose(struct quantizer *q);
bool quantize_refine(struct quantizer *q, struct failure *failure);
/* The same with other options, for the graph or (what it takes goes with that) for an edit_copy() of it. */
struct scheme *quantize_scheme(struct quantizer *q, struct onnx_graph *graph, const struct scheme_options *options);
/* The network that the caller gave, optimized and not rescaled: what a quantized one is to be measured against. */
const struct executor *quantize_original(const struct quantizer *q);
void quantize_close(struct quantizer *q);

#endif
