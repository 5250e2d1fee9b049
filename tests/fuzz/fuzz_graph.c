/* SPDX-License-Identifier: MIT */
/*
 * Networks damaged field by field, through the converter (through_converter.h says what is promised). Links the tool's files and the
 * library.
 *
 *     fuzz_graph [--runs N] [--seconds N] [--seed N] [MODEL.onnx...]        (driver.c has the rest of the command line)
 */
#include "every_operator.h"
#include "fuzz.h"
#include "onnx_fields.h"
#include "seed_graph.h"
#include "through_converter.h"

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    return seed % 4 ? seed_graph(seed, bytes, capacity) : seed_onnx(seed, bytes, capacity);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned int seed) {
    uint64_t state = seed;
    return tree_mutate(bytes, size, most, &state);
}

/* A seed for every operator there is: without one it would not be looked at. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    if (!every_operator_is_made()) exit(1);
    return 0;
}

int fuzz_report(unsigned long long runs) {
    printf("   %llu networks were converted, %llu of them with groups\n", converted, grouped);
    return runs < 1000 || converted > runs / 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    return through_converter(bytes, size);
}
