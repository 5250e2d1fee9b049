/* SPDX-License-Identifier: MIT */
/* Pictures of every kind that the tool reads, made here: each pixel where it belongs, and damage refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/samples/image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>

#include <jpeglib.h>
#include <png.h>

enum { W = 6, H = 4 };

/* A different colour in each corner of the picture, 0 or 255 in each channel: what JPEG keeps well enough to tell apart. */
static void corner(uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint8_t rgb[3]) {
    uint32_t right = x >= width / 2, low = y >= height / 2;
    rgb[0] = right ? 255 : 0;
    rgb[1] = low ? 255 : 0;
    rgb[2] = right == low ? 255 : 0;
}

static void pnm_pixels_are_where_they_belong(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        uint8_t rgb[6];
    } good[] = {
        {"P6 2 1 255\n\x01\x02\x03\xfe\xfd\xfc", 17, {1, 2, 3, 254, 253, 252}},
        {"P5\n# a remark\n2 # another\n1\n255\n\x07\x09", 34, {7, 7, 7, 9, 9, 9}},
        {"P3 2 1 15  0 15 7\n8 1 2", 24, {0, 255, 119, 136, 17, 34}},
        {"P2 2 1 1 1 0", 12, {255, 255, 255, 0, 0, 0}},
        {"P5 2 1 65535\n\xff\xff\x80\x80", 17, {255, 255, 255, 128, 128, 128}},
    };
    struct image image = {0};
    struct failure failure;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!image_decode_pnm((const uint8_t *)good[i].text, good[i].size, &image, &failure)) fail_msg("%zu: %s", i, failure.text);
        assert_int_equal(image.width, 2);
        assert_int_equal(image.height, 1);
        assert_memory_equal(image.rgb, good[i].rgb, 6);
        image_free(&image);
    }
    static const char *const bad[] = {"P6",
                                      "P6 2",
                                      "P6 2 1 255",
                                      "P6 2 1 255\n12345",
                                      "P6 0 1 255\n",
                                      "P6 2 1 0\n123456",
                                      "P6 2 1 65536\n12345678",
                                      "P3 2 1 15 0 15 7 8 1 16",
                                      "P4 2 1 1",
                                      "P6 40000 1 255\n",
                                      "P6 9999999999 1 255\n",
                                      "P6 -2 1 255\n123456"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (image_decode_pnm((const uint8_t *)bad[i], strlen(bad[i]), &image, &failure)) fail_msg("taken: %s", bad[i]);
        assert_int_equal(failure.status, STATUS_INPUT);
        image_free(&image);
    }
}

static void put32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* A BMP of the corner picture with 24 or 32 bits, or 8 with a palette. */
static size_t make_bmp(uint8_t *file, uint32_t bits, bool upside_down) {
    uint32_t colors = bits == 8 ? 8 : 0, stride = (W * bits + 31) / 32 * 4, start = 54 + 4 * colors;
    memset(file, 0, 2048);
    memcpy(file, "BM", 2);
    put32(file + 10, start);
    put32(file + 14, 40);
    put32(file + 18, W);
    put32(file + 22, upside_down ? H : (uint32_t)-H);
    file[26] = 1;
    file[28] = (uint8_t)bits;
    put32(file + 46, colors);
    for (uint32_t i = 0; i < colors; i++) put32(file + 54 + 4 * i, (i & 1 ? 0xFF0000u : 0) | (i & 2 ? 0xFF00u : 0) | (i & 4 ? 0xFFu : 0));
    for (uint32_t y = 0; y < H; y++) {
        for (uint32_t x = 0; x < W; x++) {
            uint8_t rgb[3], *to = file + start + (upside_down ? H - 1 - y : y) * stride + x * bits / 8;
            corner(x, y, W, H, rgb);
            if (bits == 8) *to = (uint8_t)((rgb[0] & 1) | (rgb[1] & 2) | (rgb[2] & 4));
            for (int c = 0; bits > 8 && c < 3; c++) to[c] = rgb[2 - c];
        }
    }
    return start + H * stride;
}

static void check_corners(const struct image *image, uint32_t width, uint32_t height, int tolerance) {
    assert_int_equal(image->width, width);
    assert_int_equal(image->height, height);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint8_t rgb[3];
            corner(x, y, width, height, rgb);
            for (int c = 0; c < 3; c++)
                assert_in_range(image->rgb[(y * width + x) * 3 + (uint32_t)c] + tolerance - rgb[c], 0, 2 * tolerance);
        }
    }
}

static void bmp_pixels_are_where_they_belong(void **state) {
    (void)state;
    static const uint32_t bits[] = {8, 24, 32};
    uint8_t file[2048];
    struct image image = {0};
    struct failure failure;
    for (int i = 0; i < 6; i++) {
        size_t size = make_bmp(file, bits[i / 2], i % 2);
        if (!image_decode_bmp(file, size, &image, &failure)) fail_msg("%s", failure.text);
        check_corners(&image, W, H, 0);
        image_free(&image);
        for (size_t cut = 2; cut < size; cut++) {
            uint8_t *exact = malloc(cut); /* so that a sanitizer sees a read behind the end */
            memcpy(exact, file, cut);
            assert_false(image_decode_bmp(exact, cut, &image, &failure));
            image_free(&image);
            free(exact);
        }
        file[30] = 1; /* run lengths */
        assert_false(image_decode_bmp(file, size, &image, &failure));
        assert_non_null(strstr(failure.text, "compressed"));
        image_free(&image);
    }
}

/* The corner picture as JPEG, with an orientation where that is not 0. */
static uint8_t *make_jpeg(uint32_t width, uint32_t height, uint8_t orientation, bool big_endian, unsigned long *size) {
    static const uint8_t little[32] = "Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0";
    static const uint8_t big[32] = "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01";
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t *file = NULL, exif[32];
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &file, size);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    memcpy(exif, big_endian ? big : little, sizeof exif);
    exif[big_endian ? 25 : 24] = orientation;
    if (orientation) jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t row[64 * 3];
        JSAMPROW rows[1] = {row};
        for (uint32_t x = 0; x < width; x++) corner(x, y, width, height, row + 3 * x);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return file;
}

/* The colour in the middle of each quarter, as a number of three bits: top left, top right, bottom left, bottom right. */
static void quarters(const struct image *image, int out[4]) {
    for (uint32_t i = 0; i < 4; i++) {
        const uint8_t *p = image->rgb + ((image->height * (i / 2 ? 3 : 1) / 4) * image->width + image->width * (i % 2 ? 3 : 1) / 4) * 3;
        out[i] = (p[0] > 127 ? 1 : 0) | (p[1] > 127 ? 2 : 0) | (p[2] > 127 ? 4 : 0);
    }
}

static void jpeg_pixels_are_where_they_belong(void **state) {
    (void)state;
    /* Which quarter of the stored picture comes to stand at the top left, top right, bottom left, bottom right (EXIF 2.3, 4.6.4). */
    static const int from[9][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {3, 2, 1, 0}, {2, 3, 0, 1},
                                   {0, 2, 1, 3}, {2, 0, 3, 1}, {3, 1, 2, 0}, {1, 3, 0, 2}};
    struct failure failure;
    struct image plain = {0}, turned = {0};
    unsigned long size;
    for (uint8_t orientation = 0; orientation <= 9; orientation++) {
        for (int big_endian = 0; big_endian < 2; big_endian++) {
            int stored[4], seen[4];
            uint8_t *file = make_jpeg(48, 32, 0, false, &size);
            assert_true(image_decode_jpeg(file, size, &plain, &failure));
            free(file);
            file = make_jpeg(48, 32, orientation, big_endian, &size);
            assert_true(image_decode_jpeg(file, size, &turned, &failure));
            free(file);
            quarters(&plain, stored);
            quarters(&turned, seen);
            bool swapped = orientation >= 5 && orientation <= 8;
            assert_int_equal(turned.width, swapped ? 32 : 48);
            for (int i = 0; i < 4; i++) assert_int_equal(seen[i], stored[from[orientation == 9 ? 0 : orientation][i]]);
            image_free(&plain);
            image_free(&turned);
        }
    }
}

static void a_jpeg_cut_short_is_refused(void **state) {
    (void)state;
    struct failure failure;
    struct image image = {0};
    unsigned long size;
    uint8_t *file = make_jpeg(48, 32, 6, false, &size);
    for (size_t cut = 3; cut < size - 2; cut += 3) {
        uint8_t *exact = malloc(cut);
        memcpy(exact, file, cut);
        if (image_decode_jpeg(exact, cut, &image, &failure)) fail_msg("%zu of %lu bytes are taken", cut, size);
        assert_int_equal(failure.status, STATUS_INPUT);
        image_free(&image);
        free(exact);
    }
    free(file);
}

/* 127 bytes that a fuzzer found: a progressive picture of 7938 x 4352 pixels, which took a fifth of a second. */
static const uint8_t wide_claim[] = {0xff, 0xd8, 0xff, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x08, 0x06, 0x06, 0x07, 0x06,
                                     0x05, 0x08, 0x07, 0x07, 0x07, 0x09, 0x09, 0x08, 0x0a, 0x0c, 0x14, 0x0d, 0x0c, 0x0b, 0x0b, 0x0c,
                                     0x19, 0x12, 0x13, 0x0f, 0x14, 0x1d, 0x1a, 0x01, 0x00, 0x00, 0x00, 0x1f, 0x1e, 0x1d, 0x1a, 0x1c,
                                     0x1c, 0x20, 0x24, 0x2e, 0x27, 0x20, 0x22, 0x2c, 0x23, 0x1c, 0x1c, 0x28, 0x34, 0x29, 0x2c, 0x30,
                                     0x31, 0x34, 0x34, 0x34, 0x1f, 0x27, 0x39, 0x3d, 0x38, 0x32, 0x3c, 0x2e, 0x33, 0x34, 0x32, 0xff,
                                     0xc2, 0x00, 0x0b, 0x08, 0x11, 0x00, 0x1f, 0x02, 0x01, 0x01, 0x11, 0x00, 0xd6, 0x93, 0x96, 0x7b,
                                     0xa1, 0xe1, 0x79, 0x1b, 0x2f, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x00, 0x10, 0xdf,
                                     0x01, 0x00, 0x0a, 0x48, 0x44, 0xf2, 0xba, 0xd1, 0x3d, 0xd5, 0xe4, 0x52, 0x5a, 0xff, 0xd9};

static void pixels_that_no_byte_holds_are_refused(void **state) {
    (void)state;
    struct failure failure;
    struct image image = {0};
    assert_false(image_decode_jpeg(wide_claim, sizeof wide_claim, &image, &failure));
    assert_null(image.rgb);
    assert_string_equal(failure.text, "it is a damaged JPEG picture: it states 7938 x 4352 pixels, more than its 127 bytes can hold");
}

/* A gray picture, all white. `scans`, if not 0: one of the means, and one for each coefficient from the first. */
static uint8_t *make_white(uint32_t width, uint32_t height, int scans, unsigned long *size) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg_scan_info script[128];
    uint8_t *file = NULL, *row = malloc(width);
    memset(row, 255, width);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &file, size);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 1;
    jpeg.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&jpeg);
    jpeg_simple_progression(&jpeg);
    for (int i = 0; i < scans; i++)
        script[i] = (jpeg_scan_info){
            .comps_in_scan = 1, .Ss = i ? (i - 1) % 63 + 1 : 0, .Se = i ? (i - 1) % 63 + 1 : 0, .Ah = i > 63, .Al = i > 0 && i <= 63};
    if (scans) jpeg.scan_info = script, jpeg.num_scans = scans;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < height) jpeg_write_scanlines(&jpeg, &row, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    return file;
}

static void a_white_picture_is_taken_however_few_its_bytes_are(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {{4000, 3000}, {8, 1}, {9, 17}, {32768, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct failure failure;
        struct image image = {0};
        unsigned long size;
        uint8_t *file = make_white(sizes[i][0], sizes[i][1], 0, &size);
        if (!image_decode_jpeg(file, size, &image, &failure)) fail_msg("%lu bytes: %s", size, failure.text);
        size_t bytes = (size_t)sizes[i][0] * sizes[i][1] * 3;
        assert_int_equal(image.rgb[0], 255);
        assert_memory_equal(image.rgb, image.rgb + 1, bytes - 1);
        image_free(&image);
        free(file);
    }
}

static void a_hundred_scans_are_taken_and_no_more(void **state) {
    (void)state;
    for (int scans = 100; scans <= 101; scans++) {
        struct failure failure;
        struct image image = {0};
        unsigned long size;
        uint8_t *file = make_white(16, 16, scans, &size);
        assert_int_equal(image_decode_jpeg(file, size, &image, &failure), scans == 100);
        if (scans > 100) assert_string_equal(failure.text, "it is a JPEG picture of more than 100 scans; save it anew");
        image_free(&image);
        free(file);
    }
}

static void png_pixels_are_where_they_belong(void **state) {
    (void)state;
    static const uint32_t formats[] = {PNG_FORMAT_RGB, PNG_FORMAT_RGBA, PNG_FORMAT_RGB_COLORMAP};
    uint8_t pixels[W * H * 4], map[8 * 3], file[4096];
    for (int k = 0; k < 3; k++) {
        png_image png = {.version = PNG_IMAGE_VERSION, .width = W, .height = H, .format = formats[k], .colormap_entries = 8};
        png_alloc_size_t size = sizeof file;
        struct image image = {0};
        struct failure failure;
        for (uint32_t i = 0; i < W * H; i++) {
            uint8_t rgb[3];
            corner(i % W, i / W, W, H, rgb);
            memcpy(pixels + i * (k == 1 ? 4 : 3), rgb, 3);
            if (k == 1) pixels[4 * i + 3] = (uint8_t)(10 * i); /* alpha is left out */
            if (k == 2) pixels[i] = (uint8_t)((rgb[0] & 1) | (rgb[1] & 2) | (rgb[2] & 4));
        }
        for (int i = 0; i < 8; i++)
            for (int c = 0; c < 3; c++) map[3 * i + c] = i >> c & 1 ? 255 : 0;
        assert_true(png_image_write_to_memory(&png, file, &size, 0, pixels, 0, map));
        if (!image_decode_png(file, size, &image, &failure)) fail_msg("%s", failure.text);
        check_corners(&image, W, H, 0);
        image_free(&image);
        for (size_t cut = 8; cut < size; cut++) {
            assert_false(image_decode_png(file, cut, &image, &failure));
            image_free(&image);
        }
        file[size / 2] ^= 0x55;
        assert_false(image_decode_png(file, size, &image, &failure));
        image_free(&image);
    }
}

struct written {
    uint8_t bytes[1 << 20];
    size_t size;
};

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
    struct written *to = png_get_io_ptr(png);
    assert_true(count <= sizeof to->bytes - to->size);
    memcpy(to->bytes + to->size, bytes, count);
    to->size += count;
}

enum { LONG = 7 << 20 };

/* The corner picture as PNG, with an orientation where that is not 0, or a text of some megabytes, which takes few bytes. `behind`: they
 * follow the pixels. */
static void make_png(struct written *to, uint8_t orientation, bool text, bool behind) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png), end = png_create_info_struct(png);
    uint8_t exif[26] = "II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0";
    char *a = malloc(LONG + 1), key[] = "Comment";
    memset(a, 'a', LONG);
    a[LONG] = 0;
    exif[18] = orientation;
    to->size = 0;
    png_set_write_fn(png, to, write_bytes, NULL);
    png_set_IHDR(png, info, 48, 32, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (orientation) png_set_eXIf_1(png, behind ? end : info, sizeof exif, exif);
    const png_text whole = {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = key, .text = a, .text_length = LONG};
    if (text) png_set_text(png, behind ? end : info, &whole, 1);
    png_write_info(png, info);
    for (uint32_t y = 0; y < 32; y++) {
        uint8_t row[48 * 3];
        for (uint32_t x = 0; x < 48; x++) corner(x, y, 48, 32, row + 3 * x);
        png_write_row(png, row);
    }
    png_write_end(png, end);
    png_destroy_info_struct(png, &end);
    png_destroy_write_struct(&png, &info);
    free(a);
}

static void a_png_is_turned_as_a_jpeg(void **state) {
    (void)state;
    static struct written file;
    unsigned long size;
    for (uint8_t orientation = 0; orientation <= 9; orientation++) {
        struct failure failure;
        struct image plain = {0}, turned = {0};
        int want[4], seen[4];
        uint8_t *jpeg = make_jpeg(48, 32, orientation, false, &size);
        make_png(&file, orientation, false, orientation & 1);
        assert_true(image_decode_jpeg(jpeg, size, &plain, &failure));
        assert_true(image_decode_png(file.bytes, file.size, &turned, &failure));
        quarters(&plain, want);
        quarters(&turned, seen);
        assert_int_equal(turned.width, plain.width);
        assert_memory_equal(seen, want, sizeof seen);
        image_free(&plain);
        image_free(&turned);
        free(jpeg);
    }
}

/* The text again and again: a chunk has all that it needs. */
static void repeat_text(struct written *to, int times) {
    uint8_t *at = to->bytes + 4;
    while (memcmp(at, "zTXt", 4)) at++;
    at -= 4;
    const size_t size = 12 + ((size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]);
    for (; times--; to->size += size) {
        assert_true(to->size + size <= sizeof to->bytes);
        memmove(at + size, at, (size_t)(to->bytes + to->size - at));
    }
}

static void texts_of_a_png_take_no_memory(void **state) {
    (void)state;
    static struct written file;
    for (int behind = 0; behind < 2; behind++) {
        struct failure failure;
        struct image image = {0};
        struct rusage before, after;
        make_png(&file, 0, true, behind);
        repeat_text(&file, 30);
        assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
        assert_true(image_decode_png(file.bytes, file.size, &image, &failure));
        assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
        if (after.ru_maxrss - before.ru_maxrss > LONG / 1024 * 4) fail_msg("%ld KB more", after.ru_maxrss - before.ru_maxrss);
        image_free(&image);
    }
}

/* A screen of 8K in any file; more in one that is not too small for it. */
static void pixels_are_no_more_than_a_file_pays_for(void **state) {
    (void)state;
    static const struct {
        uint64_t width, height;
        size_t file;
        bool taken;
    } cases[] = {{7680, 4320, 0, true}, {1 << 13, 1 << 12, 0, true}, {(1 << 13) + 1, 1 << 12, 7, false}, {(1 << 13) + 1, 1 << 12, 9, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failure failure;
        struct image image = {0};
        assert_int_equal(image_allocate(&image, cases[i].width, cases[i].height, cases[i].file, &failure), cases[i].taken);
        if (!cases[i].taken) assert_non_null(strstr(failure.text, "too many for a file of 7 bytes"));
        image_free(&image);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_a_png_take_no_memory),          cmocka_unit_test(a_png_is_turned_as_a_jpeg),
        cmocka_unit_test(pnm_pixels_are_where_they_belong),       cmocka_unit_test(bmp_pixels_are_where_they_belong),
        cmocka_unit_test(jpeg_pixels_are_where_they_belong),      cmocka_unit_test(a_jpeg_cut_short_is_refused),
        cmocka_unit_test(pixels_that_no_byte_holds_are_refused),  cmocka_unit_test(a_white_picture_is_taken_however_few_its_bytes_are),
        cmocka_unit_test(a_hundred_scans_are_taken_and_no_more),  cmocka_unit_test(png_pixels_are_where_they_belong),
        cmocka_unit_test(pixels_are_no_more_than_a_file_pays_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
