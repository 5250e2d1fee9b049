/* SPDX-License-Identifier: MIT */
/* The command line of morsel quantize: its options, read and held against each other. */
#ifndef MORSEL_TOOLS_VERBS_HOST_QUANTIZE_CALL_H
#define MORSEL_TOOLS_VERBS_HOST_QUANTIZE_CALL_H

#include "tools/verbs/host/conversion.h"
#include "tools/quant/quantize.h"

enum { QUANTIZE_USUAL_SAMPLES = 300 };

struct quantize_call {
    struct conversion_call conversion; /* its output: the blob, NULL where none is wanted */
    const char *qdq;                   /* the ONNX file, NULL where none is wanted */
    const char *method, *percentile, *format, *eval, *max_drop;
    struct option_texts outputs, data, excluded, at_run_time;
    long count, seed, eval_limit, threads;
    bool signed_bytes, symmetric, reduced, per_tensor, dynamic, clip_weights, adaptive, nearest, keep_biases, keep_channels;
    struct quantize_options options; /* what these and the flags come to */
    double most_drop;                /* --max-drop; negative: it is not given */
};

/* NULL: --help was printed, or a line on stderr says what is wrong with the call; *status is what to exit with. */
const struct quantize_call *quantize_call_read(int argc, char **argv, int *status);

#endif
