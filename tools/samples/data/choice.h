/* SPDX-License-Identifier: MIT */
/* Some of many samples, by a seed: the same ones on every machine. */
#ifndef MORSEL_TOOLS_SAMPLES_DATA_CHOICE_H
#define MORSEL_TOOLS_SAMPLES_DATA_CHOICE_H

#include <stddef.h>
#include <stdint.h>

/* The next of a row of random numbers (splitmix64). */
uint64_t choice_random(uint64_t *state);

/*
 * `count` of the samples 0 .. total - 1 (all, where there are no more), none twice, of every class as many as can be; classes[i] is the
 * class of sample i, NULL: all are of one. NULL: no memory. Free with free().
 */
size_t *choice_of(const uint32_t *classes, size_t total, size_t count, uint64_t seed);

#endif
