/* SPDX-License-Identifier: MIT */
/* morsel inspect on an ONNX file: what it holds, and what is left of it once it is optimized. */
#ifndef MORSEL_TOOLS_VERBS_HOST_INSPECT_ONNX_H
#define MORSEL_TOOLS_VERBS_HOST_INSPECT_ONNX_H

#include "tools/base/options.h"

#include <stdbool.h>

/* Whether the command line names an ONNX file. */
bool inspect_onnx_wanted(int argc, char **argv);

/* As a verb: argv[0] is its name, the exit status comes back. */
int inspect_onnx(int argc, char **argv);
extern const struct options inspect_onnx_options;

#endif
