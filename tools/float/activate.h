/* SPDX-License-Identifier: MIT */
/* Functions of one number, as operators and as what com.microsoft's fused operators do in the end. */
#ifndef MORSEL_TOOLS_FLOAT_ACTIVATE_H
#define MORSEL_TOOLS_FLOAT_ACTIVATE_H

#include "tools/float/operator.h"

struct function {
    float alpha, beta;
};
typedef void function_run(const struct function *f, const float *x, float *y, size_t count); /* y may be x */

/* The function of that name with the operator's default parameters, or NULL. */
function_run *function_find(const char *name, struct function *defaults);
/* Between alpha and beta; what is no number stays so. */
void function_clip(const struct function *f, const float *x, float *y, size_t count);

/* What FusedConv does with its sums: adds its fourth input, then applies a function. */
struct activation {
    function_run *run; /* NULL: none */
    struct function function;
    bool adds;
};
bool activation_read(struct preparation *p, struct activation *a);
void activate(const struct activation *a, const float *addend, float *y, size_t count);

#endif
