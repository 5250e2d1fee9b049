/* SPDX-License-Identifier: MIT */
/*
 * Bytes as one of CIFAR-10's binary files: records of a label and a picture. Links the tool's files.
 *
 *     fuzz_records [--runs N] [--seconds N] [--seed N] [FILE.bin...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/samples/dataset.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD = 3073 };

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    uint64_t state = seed;
    size_t size = RECORD * (size_t)fuzz_between(&state, 1, 4);
    if (size > capacity) return 0;
    memset(bytes, (int)fuzz_below(&state, 256), size);
    for (size_t i = 0; i < size; i += RECORD) bytes[i] = (uint8_t)fuzz_below(&state, 10);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct failure failure = {0};
    struct dataset dataset = {0};
    struct image image;
    volatile uint8_t sum = 0;
    char text[200];
    if (!dataset_add_binary(&dataset, as_file(bytes, size), size % 3, &failure) && !*failure.text) abort();
    for (size_t i = 0; i < dataset.count; i++) {
        if (!dataset_image(&dataset, i, &image, &failure)) abort();
        for (size_t k = 0; k < (size_t)3 * image.width * image.height; k++) sum = (uint8_t)(sum + image.rgb[k]);
        if (!*dataset_name(&dataset, i, text, sizeof text)) abort();
        image_free(&image);
    }
    dataset_close(&dataset);
    return 0;
}
