/* SPDX-License-Identifier: MIT */
/*
 * Data that only move: every element of the output is one of the input, or a fixed number. For each dimension of the output a table says
 * how far along the input an index leads; the distances add up.
 */
#ifndef MORSEL_TOOLS_FLOAT_PICK_H
#define MORSEL_TOOLS_FLOAT_PICK_H

#include "tools/float/operator.h"

#define PICK_NOTHING (-1) /* in a table: here the output is pick.fill */

struct pick {
    int rank;
    int64_t dims[ONNX_MAX_RANK];
    int32_t *table[ONNX_MAX_RANK];
    float fill;
    bool straight; /* the last dimension is made of neighbours */
};

/* Adds a dimension behind those that are there: its table, to be filled. */
int32_t *pick_axis(struct preparation *p, struct pick *pick, int64_t count);
/* Adds one where index i leads to start + i * step. */
void pick_even(struct preparation *p, struct pick *pick, int64_t count, int64_t start, int64_t step);

/* Makes the step one that picks output 0 from input 0. */
bool pick_use(struct preparation *p, struct pick *pick);

#endif
