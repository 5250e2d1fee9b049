/* SPDX-License-Identifier: MIT */
/* How many bytes of the arena a step reads and writes: what is worth a place in fast memory. */
#ifndef MORSEL_TOOLS_NET_PLAN_TRAFFIC_H
#define MORSEL_TOOLS_NET_PLAN_TRAFFIC_H

#include "core/format.h"

/* A step, of a net or of a blob; its record is the blob's in both. */
struct traffic_step {
    uint32_t kind;
    uint64_t macs;
    const void *record;
    uint32_t y_elements, y_rows; /* elements of its output; and rows, of a picture's */
    uint32_t scratch_bytes;
};

/* What it reads of its input `n`, of so many bytes and bytes of an element. Convolutions and products read an input once for each 16
 * results that it is multiplied into, as kernels hold so many; other windows once for each place of the window. */
uint64_t traffic_read(const struct traffic_step *step, uint32_t n, uint32_t bytes, uint32_t element);

/* Of its scratch, a row of padding: it is written once, and read in place of rows of input 0. */
uint64_t traffic_scratch(const struct traffic_step *step, uint32_t element);

#endif
