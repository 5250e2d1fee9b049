/* SPDX-License-Identifier: MIT */
/* What a fuzzer (fuzz_*.c) and the driver share. */
#ifndef MORSEL_TEST_FUZZ_H
#define MORSEL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Looks at one input. Returns 0. It aborts where a promise is broken that no sanitizer sees. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* If there is one: is called once, before all inputs. The name is libFuzzer's. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* Writes a sound input for `seed`, another one for each, of at most `capacity` bytes; returns its size. The driver damages these. */
size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity);

/* If there is one: damages an input of `size` bytes in place, the same way for the same seed, and returns its new size, at most `most`. It
 * knows the parts of such inputs; without it, the driver damages bytes. The name is libFuzzer's. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned int seed) __attribute__((weak));

/* If there is one: says after `runs` inputs of its own what they reached. 0 where that is too little. */
int fuzz_report(unsigned long long runs) __attribute__((weak));

/* Inputs that were sound enough to be used: blobs that ran, networks that were converted. 0 where nobody counts. */
extern unsigned long long fuzz_taken;
unsigned long long fuzz_taken __attribute__((weak));

/* Pixels of the picture that the last input states, if it was read so far. 0 where inputs are no pictures. */
extern unsigned long long fuzz_pixels;
unsigned long long fuzz_pixels __attribute__((weak));

/* A small generator, the same everywhere: splitmix64. */
static inline uint64_t fuzz_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void fuzz_fill(void *to, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = fuzz_random(&seed);
        memcpy((uint8_t *)to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* 0 .. most - 1 */
static inline uint32_t fuzz_below(uint64_t *state, uint32_t most) {
    return (uint32_t)(((fuzz_random(state) >> 32) * most) >> 32);
}

static inline uint32_t fuzz_between(uint64_t *state, uint32_t least, uint32_t most) {
    return least + fuzz_below(state, most - least + 1);
}

/* A word that stands where limits are, or near the old one, or near `size`. */
static inline uint32_t fuzz_word(uint64_t *state, uint32_t old, size_t size) {
    static const uint32_t values[] = {0,          1,          2,          3,          4,          15,         16,
                                      17,         63,         64,         65,         127,        128,        255,
                                      256,        4095,       4096,       65535,      65536,      0x3fffffff, 0x40000000,
                                      0x7fffffff, 0x80000000, 0x80000001, 0xffffff80, 0xffffffc0, 0xfffffffe, 0xffffffff,
                                      0x7f800000, 0xff800000, 0x7fc00000, 0x00800000, 1000000};
    switch (fuzz_below(state, 8)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old + 64;
    case 3: return old * 2;
    case 4: return (uint32_t)size - fuzz_below(state, 65);
    case 5: return fuzz_below(state, 16);
    default: return values[fuzz_below(state, sizeof values / sizeof values[0])];
    }
}

#endif
