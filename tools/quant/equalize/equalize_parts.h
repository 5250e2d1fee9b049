/* SPDX-License-Identifier: MIT */
/* What equalize.c is made of. */
#ifndef MORSEL_TOOLS_QUANT_EQUALIZE_EQUALIZE_PARTS_H
#define MORSEL_TOOLS_QUANT_EQUALIZE_EQUALIZE_PARTS_H

#include "tools/optimize/linear.h"
#include "tools/quant/calibrate/observe.h"
#include "tools/quant/calibrate/range.h"
#include "tools/quant/insert/scheme.h"

/* Values that have to get the same factors, because sums or functions tie them to each other. */
struct equal_group {
    uint32_t channels;
    bool rectified; /* a Relu or its like, or a maximum, is among what makes its values */
    size_t member_count, producer_count, reader_count;
    const struct observed **members; /* those of its values that become bytes */
    struct linear *producers;        /* make channels of a value of the group */
    struct linear *readers;
    const struct observed **read;                               /* what reader i reads */
    double **member_shifts, **producer_shifts, **reader_shifts; /* [channels] each, what is to be added; NULL: nothing can be */
};

/* The groups of a graph that can have factors: NULL-terminated, in the graph's memory. */
struct equal_group **equal_groups(const struct scheme *scheme, struct observer *observer);

/* Where numbers can be added to channels of the group, finds which are best, for factors of 1. */
void equal_find_shifts(const struct scheme *scheme, struct equal_group *group);

/* Each output takes in every weight, so that a number added to a channel adds one number to all of them. */
bool equal_reads_evenly(const struct linear *l);
/* f(x + s) = f(x) + s, channel by channel. */
bool equal_keeps_shifts(const struct onnx_node *node);

/*
 * About how much noise the bytes of a group's values and of its layers' weights put into what its readers give, relative to that; with
 * what is to be added to channels, or without.
 */
double equal_noise(const struct equal_group *group, const struct scheme_options *options, const double *factors, bool shifted);

/*
 * The mean squared error of the bytes of a value of the group whose channels are multiplied by factors. It is that of rounding and
 * clipping, in the range for which it is least. Negative: no memory.
 */
double equal_error(const struct equal_group *group, const struct observed *seen, const double *factors, bool symmetric);

/* What is worth keeping of channel c of a value. */
struct range equal_range(const struct observed *seen, uint32_t channel);

#endif
