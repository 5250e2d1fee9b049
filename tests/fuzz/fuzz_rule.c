/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a picture rule (JSON). Links the tool's files and libcjson.
 *
 *     fuzz_rule [--runs N] [--seconds N] [--seed N] [RULE.json...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/samples/rules/picture_rule.h"

#include <stdlib.h>

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const resizes[] = {"{\"mode\": \"short_side\", \"size\": 256}", "{\"mode\": \"exact\", \"size\": [32, 40]}",
                                          "{\"mode\": \"none\"}", "{\"mode\": 1e999, \"size\": [-1]}", "[]"};
    static const char *const numbers[] = {"[0.485, 0.456, 0.406]", "[0]", "[1, 2, 3, 4]", "0.5", "[1e40, -0, \"x\"]", "null"};
    uint64_t state = seed;
    int length =
        snprintf((char *)bytes, capacity,
                 "{\"resize\": %s, \"crop\": [%u, %u], \"channels\": \"%s\", \"scale\": %s, \"mean\": %s, \"std\": %s}",
                 resizes[fuzz_below(&state, 5)], fuzz_below(&state, 300), fuzz_below(&state, 70000), fuzz_below(&state, 2) ? "RGB" : "GRAY",
                 fuzz_below(&state, 3) ? "0.0039" : "0", numbers[fuzz_below(&state, 6)], numbers[fuzz_below(&state, 6)]);
    return length < 0 ? 0 : (size_t)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct morsel_blob_picture rule = {0};
    struct failure failure = {0};
    if (!picture_rule_read(as_file(bytes, size), &rule, &failure) && !*failure.text) abort();
    return 0;
}
