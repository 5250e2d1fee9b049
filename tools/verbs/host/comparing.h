/* SPDX-License-Identifier: MIT */
/* A float network and what was made of it, read and measured side by side: for `compare`, and for `report`. */
#ifndef MORSEL_TOOLS_VERBS_HOST_COMPARING_H
#define MORSEL_TOOLS_VERBS_HOST_COMPARING_H

#include "tools/compare/compare.h"
#include "tools/compare/noise.h"
#include "tools/network/network.h"
#include "tools/verbs/host/conversion.h"

enum { COMPARING_USUAL = 30 }; /* samples */

struct comparing_call {
    struct conversion_call first, second; /* second: where MODEL is an ONNX file, too */
    struct option_texts data;
    const char *svg;
    long count, seed, threads;
};

/* Zeroed at first; comparing_free() lets go of it. */
struct comparing {
    struct conversion first, second;
    struct network blob;         /* where MODEL is one */
    struct morsel_model network; /* either, whole */
    struct quant_data *data;
    struct noise noise;
    struct comparison comparison;
    struct morsel_text_rule text; /* of MODEL */
    struct onnx_report warnings;
    char **shapes; /* of inputs of FLOAT, as --shape says them; they end with NULL */
};

/* Free dimensions are those of MODEL where the call has none: it has them then. False with refusals and no failure, or with a failure. */
bool comparing_run(struct comparing_call *call, struct comparing *w, struct failure *failure);
void comparing_free(struct comparing *w);

/* Prints the refusals; the exit status. */
int comparing_refused(const struct comparing_call *call, const struct comparing *w);

#endif
