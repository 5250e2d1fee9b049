/* SPDX-License-Identifier: MIT */
/*
 * Networks damaged byte by byte, through the converter (through_converter.h says what is promised). Links the tool's files and the library.
 *
 *     fuzz_onnx [--runs N] [--seconds N] [--seed N] [MODEL.onnx...]        (driver.c has the rest of the command line)
 */
#include "fuzz.h"
#include "seed_onnx.h"
#include "through_converter.h"

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    return seed_onnx(seed, bytes, capacity);
}

int fuzz_report(unsigned long long runs) {
    printf("   %llu networks were converted, %llu of them with groups\n", converted, grouped);
    return runs < 1000 || grouped;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    return through_converter(bytes, size);
}
