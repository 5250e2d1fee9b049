/* SPDX-License-Identifier: MIT */
/* morsel run on an ONNX file: the network in float on the host, the reference for what is converted from it. */
#ifndef MORSEL_TOOLS_VERBS_HOST_RUN_FLOAT_H
#define MORSEL_TOOLS_VERBS_HOST_RUN_FLOAT_H

#include "tools/base/failure.h"
#include "tools/base/options.h"
#include <stdint.h>

/* Whether the path is that of an ONNX file. */
bool run_float_wanted(const char *path);

struct run_float_call {
    const char *path;
    const struct option_texts *inputs, *outputs; /* [NAME=]X.npy */
    char *const *pictures;
    size_t picture_count;
    const char *picture, *labels; /* files: the rule for pictures, and the classes' names; NULL: there is none */
    uint32_t top;
    bool check_names, json;
};

/* Runs it on arrays, which give the dimensions that it leaves free, or on pictures; prints answers and writes output arrays. */
bool run_float(const struct run_float_call *call, struct failure *failure);

#endif
