/* SPDX-License-Identifier: MIT */
/* What a fuzzer (fuzz_*.c) and the driver share. */
#ifndef MORSEL_TEST_FUZZ_H
#define MORSEL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Looks at one input. Returns 0. It aborts where a promise is broken that no sanitizer sees. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Writes a sound input for `seed`, another one for each, of at most `capacity` bytes; returns its size. The driver damages these. */
size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity);

/* If there is one: says after `runs` inputs of its own what they reached. 0 where that is too little. */
int fuzz_report(unsigned long long runs) __attribute__((weak));

/* A small generator, the same everywhere: splitmix64. */
static inline uint64_t fuzz_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 .. most - 1 */
static inline uint32_t fuzz_below(uint64_t *state, uint32_t most) {
    return (uint32_t)(((fuzz_random(state) >> 32) * most) >> 32);
}

static inline uint32_t fuzz_between(uint64_t *state, uint32_t least, uint32_t most) {
    return least + fuzz_below(state, most - least + 1);
}

#endif
