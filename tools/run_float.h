/* SPDX-License-Identifier: MIT */
/* morsel run on an ONNX file: the network in float on the host, the reference for what is converted from it. */
#ifndef MORSEL_TOOLS_RUN_FLOAT_H
#define MORSEL_TOOLS_RUN_FLOAT_H

#include "tools/message.h"
#include "tools/options.h"

/* Whether the path is that of an ONNX file. */
bool run_float_wanted(const char *path);

/* Runs it on --input arrays, [NAME=]X.npy, which give the dimensions that it leaves free, and writes --output arrays. */
bool run_float(const char *path, const struct option_texts *inputs, const struct option_texts *outputs, bool json, struct failure *failure);

#endif
