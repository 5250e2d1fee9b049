/* SPDX-License-Identifier: MIT */
/* DFT and STFT: how long, of what, and what comes out. */
#ifndef MORSEL_TOOLS_ONNX_SPECTRUM_H
#define MORSEL_TOOLS_ONNX_SPECTRUM_H

#include "tools/onnx/graph.h"

struct onnx_spectrum {
    int axis;             /* along which numbers are read */
    int parts;            /* of a number: 1 real, 2 complex */
    int64_t count;        /* numbers that there are */
    int64_t length, bins; /* of the transform, and what is kept of it */
    bool inverse;
    int64_t step, frames;             /* STFT */
    const struct onnx_tensor *window; /* STFT: `length` floats, or NULL */
};

/* False: it is malformed, or a length is no constant; *why says which. */
bool onnx_spectrum_read(const struct onnx_node *node, struct onnx_spectrum *s, const char **why);

#endif
