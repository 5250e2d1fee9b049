/* SPDX-License-Identifier: MIT */
/* Draws boxes, points, classes of pixels, and their names with a font of its own. */
#include "tools/samples/image/draw.h"
#include "tools/base/file.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7, ADVANCE = 6, LINE = 9, TEXT_MOST = 48 };

/* Seven rows of five cells each, the left one being 16. */
static const struct {
    char letter;
    uint8_t rows[LETTER_HEIGHT];
} letters[] = {
    // clang-format off
    {' ', {0, 0, 0, 0, 0, 0, 0}},
    {'%', {24, 25, 2, 4, 8, 19, 3}},
    {'\'', {4, 4, 4, 0, 0, 0, 0}},
    {'(', {2, 4, 8, 8, 8, 4, 2}},
    {')', {8, 4, 2, 2, 2, 4, 8}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},
    {',', {0, 0, 0, 0, 12, 4, 8}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},
    {'/', {1, 1, 2, 4, 8, 16, 16}},
    {'0', {14, 17, 19, 21, 25, 17, 14}},
    {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},
    {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},
    {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},
    {':', {0, 12, 12, 0, 12, 12, 0}},
    {'A', {14, 17, 17, 31, 17, 17, 17}},
    {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}},
    {'D', {30, 17, 17, 17, 17, 17, 30}},
    {'E', {31, 16, 16, 30, 16, 16, 31}},
    {'F', {31, 16, 16, 30, 16, 16, 16}},
    {'G', {14, 17, 16, 19, 17, 17, 15}},
    {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},
    {'J', {7, 2, 2, 2, 2, 18, 12}},
    {'K', {17, 18, 20, 24, 20, 18, 17}},
    {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'M', {17, 27, 21, 21, 17, 17, 17}},
    {'N', {17, 25, 21, 19, 17, 17, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}},
    {'P', {30, 17, 17, 30, 16, 16, 16}},
    {'Q', {14, 17, 17, 17, 21, 18, 13}},
    {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},
    {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}},
    {'V', {17, 17, 17, 17, 17, 10, 4}},
    {'W', {17, 17, 17, 21, 21, 27, 17}},
    {'X', {17, 17, 10, 4, 10, 17, 17}},
    {'Y', {17, 17, 10, 4, 4, 4, 4}},
    {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'_', {0, 0, 0, 0, 0, 0, 31}},
    // clang-format on
};

/* Colours that differ, as red, green, blue; black or white is legible on each. */
static const uint8_t colors[][3] = {{230, 40, 40},  {40, 160, 60},  {40, 90, 230},  {240, 160, 20}, {160, 50, 200},
                                    {20, 180, 190}, {230, 80, 160}, {130, 110, 40}, {250, 230, 40}, {90, 90, 90}};

static const uint8_t *color_of(uint32_t class) {
    return colors[class % (sizeof colors / sizeof *colors)];
}

/* Cells of a rectangle that lie in the picture. */
static void fill(struct image *image, int64_t x0, int64_t y0, int64_t x1, int64_t y1, const uint8_t *color) {
    if (x0 < 0) x0 = 0;
    if (y0 < 0) y0 = 0;
    if (x1 > image->width) x1 = image->width;
    if (y1 > image->height) y1 = image->height;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t x = x0; x < x1; x++) memcpy(image->rgb + 3 * ((size_t)y * image->width + (size_t)x), color, 3);
}

static const uint8_t *rows_of(char c) {
    static const uint8_t block[LETTER_HEIGHT] = {31, 31, 31, 31, 31, 31, 31};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == toupper((unsigned char)c)) return letters[i].rows;
    return block;
}

static void put_letter(struct image *image, int64_t x, int64_t y, int64_t size, char c, const uint8_t *color) {
    const uint8_t *rows = rows_of(c);
    for (int r = 0; r < LETTER_HEIGHT; r++)
        for (int k = 0; k < LETTER_WIDTH; k++)
            if (rows[r] >> (LETTER_WIDTH - 1 - k) & 1)
                fill(image, x + k * size, y + r * size, x + (k + 1) * size, y + (r + 1) * size, color);
}

/* Bytes of UTF-8 behind the first of a character are no letters of their own. */
static int64_t letter_count(const char *text) {
    int64_t count = 0;
    for (const char *c = text; *c && count < TEXT_MOST; c++) count += (*c & 0xc0) != 0x80;
    return count;
}

static int64_t text_width(const char *text, int64_t size) {
    return (ADVANCE * letter_count(text) + 1) * size;
}

/* Further to the left where it would not end within the picture, but not beyond its beginning. */
static void put_text(struct image *image, int64_t x, int64_t y, int64_t size, const char *text, const uint8_t *ground) {
    static const uint8_t black[3], white[3] = {255, 255, 255};
    const uint8_t *ink = 3 * ground[0] + 6 * ground[1] + ground[2] > 1500 ? black : white;
    const int64_t wide = text_width(text, size), room = (int64_t)image->width - wide;
    int64_t count = letter_count(text);
    if (x > room) x = room > 0 ? room : 0;
    fill(image, x, y, x + wide, y + LINE * size, ground);
    x += size;
    for (const char *c = text; *c && count; c++) {
        if ((*c & 0xc0) == 0x80) continue;
        put_letter(image, x, y + size, size, *c, ink);
        x += ADVANCE * size;
        count--;
    }
}

/* The nearest pixel's edge, where the side is within the picture; coordinates may be any. */
static int64_t edge(float at, uint32_t side) {
    return at > 0 ? at < (float)side ? (int64_t)(at + 0.5f) : side : 0;
}

static uint32_t shorter_side(const struct image *image) {
    return image->width < image->height ? image->width : image->height;
}

void draw_box(struct image *image, float x0, float y0, float x1, float y1, uint32_t class, const char *text) {
    const uint32_t shorter = shorter_side(image);
    const int64_t thick = 1 + shorter / 300, size = 1 + shorter / 320;
    const int64_t left = edge(x0, image->width), right = edge(x1, image->width), top = edge(y0, image->height),
                  bottom = edge(y1, image->height);
    const uint8_t *color = color_of(class);
    fill(image, left, top, right, top + thick, color);
    fill(image, left, bottom - thick, right, bottom, color);
    fill(image, left, top, left + thick, bottom, color);
    fill(image, right - thick, top, right, bottom, color);
    put_text(image, left, top >= LINE * size ? top - LINE * size : top, size, text, color);
}

void draw_point(struct image *image, float x, float y, uint32_t index, const char *text) {
    static const uint8_t white[3] = {255, 255, 255};
    const int64_t size = 1 + shorter_side(image) / 320, reach = 1 + shorter_side(image) / 160;
    if (!(x >= 0 && y >= 0 && x < (float)image->width && y < (float)image->height)) return;
    const int64_t left = (int64_t)x - reach, right = (int64_t)x + reach + 1, top = (int64_t)y - reach, bottom = (int64_t)y + reach + 1;
    const int64_t wide = text_width(text, size), beside = right + size + wide > image->width ? left - size - wide : right + size;
    put_text(image, beside < 0 ? right + size : beside, (top + bottom - LINE * size) / 2, size, text, color_of(index));
    fill(image, left - 1, top - 1, right + 1, bottom + 1, white);
    fill(image, left, top, right, bottom, color_of(index));
}

void draw_classes(struct image *image, const uint8_t *classes, uint32_t most, uint32_t none) {
    const size_t pixels = (size_t)image->width * image->height;
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *color = color_of(classes[i]);
        if (classes[i] == none || classes[i] > most) continue;
        for (int c = 0; c < 3; c++) image->rgb[3 * i + c] = (uint8_t)((image->rgb[3 * i + c] + color[c] + 1) / 2);
    }
}

void draw_line(struct image *image, uint32_t line, uint32_t class, const char *text) {
    const int64_t size = 1 + shorter_side(image) / 320;
    put_text(image, 0, line * LINE * size, size, text, color_of(class));
}

/* --- Files --- */

static bool ends_in(const char *path, const char *ending) {
    const size_t length = strlen(path), end = strlen(ending);
    return length > end && !strcasecmp(path + length - end, ending);
}

bool draw_can_write(const char *path, struct failure *failure) {
#ifdef MORSEL_TOOL_REDUCED
    if (!ends_in(path, ".ppm")) return failure_set(failure, STATUS_CALL, "%s: this build of the tool writes pictures as .ppm alone", path);
#else
    if (!ends_in(path, ".ppm") && !ends_in(path, ".png"))
        return failure_set(failure, STATUS_CALL, "%s: pictures are written as .png or .ppm; name it so", path);
#endif
    return file_can_write(path, failure);
}

static bool encode_ppm(const struct image *image, uint8_t **bytes, size_t *size, struct failure *failure) {
    const size_t pixels = (size_t)image->width * image->height * 3;
    char head[64];
    const int length = snprintf(head, sizeof head, "P6\n%u %u\n255\n", image->width, image->height);
    *size = (size_t)length + pixels;
    if (!(*bytes = malloc(*size))) return failure_memory(failure, *size);
    memcpy(*bytes, head, (size_t)length);
    memcpy(*bytes + length, image->rgb, pixels);
    return true;
}

bool draw_write(const char *path, const struct image *image, struct failure *failure) {
    uint8_t *bytes = NULL;
    size_t size;
#ifdef MORSEL_TOOL_REDUCED
    bool good = encode_ppm(image, &bytes, &size, failure);
#else
    bool good = ends_in(path, ".png") ? image_encode_png(image, &bytes, &size, failure) : encode_ppm(image, &bytes, &size, failure);
#endif
    good = good && file_write(path, bytes, size, failure);
    free(bytes);
    return good;
}
