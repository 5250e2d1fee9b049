/* SPDX-License-Identifier: MIT */
/* What com.microsoft's fused operators do in the end. */
#ifndef MORSEL_TOOLS_FLOAT_ACTIVATE_H
#define MORSEL_TOOLS_FLOAT_ACTIVATE_H

#include "tools/float/operator.h"
#include "tools/onnx/functions.h"

/* What FusedConv does with its sums: adds its fourth input, then applies a function. */
struct activation {
    const struct onnx_function *f; /* NULL: none */
    struct onnx_parameters p;
    bool adds;
};
bool activation_read(struct preparation *p, struct activation *a);
void activate(const struct activation *a, const float *addend, float *y, size_t count);

#endif
