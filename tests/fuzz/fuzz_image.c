/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a picture file: PNM, BMP, PNG, JPEG. Links the tool's files, libpng and libjpeg.
 *
 *     fuzz_image [--runs N] [--seconds N] [--seed N] [PICTURE...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/samples/image/image.h"

#include <string.h>
#include <jpeglib.h>
#include <png.h>

enum { SIDE = 24 };

static size_t seed_pnm(uint64_t *state, uint8_t *bytes, uint32_t width, uint32_t height) {
    static const char *const kinds[] = {"P5", "P6", "P2", "P3", "P4", "P1"};
    int head = sprintf((char *)bytes, "%s\n# a comment\n%u %u\n%s\n", kinds[fuzz_below(state, 6)], width, height,
                       fuzz_below(state, 4) ? "255" : "65535");
    for (uint32_t i = 0; i < 4 * width * height; i++)
        bytes[(uint32_t)head + i] = fuzz_below(state, 2) ? (uint8_t)('0' + fuzz_below(state, 10)) : ' ';
    return (size_t)head + 4 * width * height;
}

static void put_little(uint8_t *to, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static size_t seed_bmp(uint64_t *state, uint8_t *bytes, uint32_t width, uint32_t height) {
    static const uint8_t depths[] = {1, 4, 8, 16, 24, 32};
    uint32_t depth = depths[fuzz_below(state, 6)], palette = depth <= 8 ? 4u << depth : 0, row = (width * depth + 31) / 32 * 4;
    uint32_t start = 54 + palette, size = start + row * height;
    for (uint32_t i = 0; i < size; i++) bytes[i] = (uint8_t)fuzz_random(state);
    memset(bytes, 0, 54);
    memcpy(bytes, "BM", 2);
    put_little(bytes + 2, size, 4);
    put_little(bytes + 10, start, 4);
    put_little(bytes + 14, 40, 4);
    put_little(bytes + 18, width, 4);
    put_little(bytes + 22, fuzz_below(state, 3) ? height : 0u - height, 4);
    put_little(bytes + 26, 1, 2);
    put_little(bytes + 28, depth, 2);
    put_little(bytes + 30, fuzz_below(state, 4) ? 0 : fuzz_below(state, 4), 4);
    return size;
}

static size_t seed_png(uint64_t *state, uint8_t *bytes, size_t capacity, uint32_t width, uint32_t height) {
    static const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA, PNG_FORMAT_LINEAR_RGB};
    uint8_t pixels[SIDE * SIDE * 8];
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = formats[fuzz_below(state, 5)]};
    png_alloc_size_t size = capacity;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(fuzz_random(state) & 0xf0);
    return png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL) ? size : 0;
}

static size_t seed_jpeg(uint64_t *state, uint8_t *bytes, size_t capacity, uint32_t width, uint32_t height) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long size = 0;
    uint8_t row[SIDE * 4];
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &size);
    c.image_width = width;
    c.image_height = height;
    c.input_components = (int)(fuzz_below(state, 3) == 0 ? 1 : fuzz_below(state, 4) ? 3 : 4);
    c.in_color_space = c.input_components == 1 ? JCS_GRAYSCALE : c.input_components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&c);
    if (fuzz_below(state, 2)) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height) {
        JSAMPROW rows[1] = {row};
        for (size_t i = 0; i < sizeof row; i++) row[i] = (uint8_t)fuzz_random(state);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    size_t kept = size <= capacity ? size : 0;
    memcpy(bytes, out, kept);
    free(out);
    return kept;
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    uint64_t state = seed;
    uint32_t width = fuzz_between(&state, 1, SIDE), height = fuzz_between(&state, 1, SIDE);
    if (capacity < 1 << 16) return 0;
    switch (fuzz_below(&state, 4)) {
    case 0: return seed_pnm(&state, bytes, width, height);
    case 1: return seed_bmp(&state, bytes, width, height);
    case 2: return seed_png(&state, bytes, capacity, width, height);
    default: return seed_jpeg(&state, bytes, capacity, width, height);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct failure failure = {0};
    struct image image = {0};
    volatile uint8_t sum = 0;
    bool taken = image_read(as_file(bytes, size), &image, &failure);
    fuzz_pixels = (unsigned long long)image.width * image.height;
    if (taken) {
        for (size_t i = 0; i < (size_t)3 * image.width * image.height; i += 97) sum = (uint8_t)(sum + image.rgb[i]);
        image_free(&image);
    } else if (!failure.text[0] || !failure.status) {
        abort();
    }
    return 0;
}
