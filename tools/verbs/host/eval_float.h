/* SPDX-License-Identifier: MIT */
/* morsel eval on an ONNX file: the network in float on the host, what a blob's accuracy is to be compared with. */
#ifndef MORSEL_TOOLS_VERBS_HOST_EVAL_FLOAT_H
#define MORSEL_TOOLS_VERBS_HOST_EVAL_FLOAT_H

#include "tools/base/failure.h"

#include <stddef.h>

struct eval_counts {
    size_t images, top1, top5;
    double seconds;
};

struct eval_float_call {
    const char *path, *dataset;
    const char *picture, *labels; /* files: the rule for pictures, and the classes' names; NULL: there is none */
    size_t limit;                 /* of pictures; 0: all */
    unsigned threads;
};

bool eval_float(const struct eval_float_call *call, struct eval_counts *counts, struct failure *failure);

#endif
