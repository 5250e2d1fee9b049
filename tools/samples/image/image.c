/* SPDX-License-Identifier: MIT */
/* Tells kinds of pictures apart by their first bytes, and decodes them. */
#include "tools/samples/image/image.h"
#include "tools/base/file.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MOST = 1 << 30 };

#ifdef MORSEL_TOOL_REDUCED
/* This build has no picture libraries. */
static bool decode_absent(struct failure *failure, const char *kind) {
    return failure_set(failure, STATUS_INPUT, "it is a %s picture, and this build of the tool reads PPM, PGM and BMP alone; convert it",
                       kind);
}
#define DECODE_JPEG(...) decode_absent(failure, "JPEG")
#define DECODE_PNG(...) decode_absent(failure, "PNG")
static const char *const endings[] = {".ppm", ".pgm", ".pnm", ".bmp", NULL};
static const char kinds[] = "PPM, PGM or BMP";
#else
#define DECODE_JPEG image_decode_jpeg
#define DECODE_PNG image_decode_png
static const char *const endings[] = {".ppm", ".pgm", ".pnm", ".bmp", ".jpg", ".jpeg", ".png", NULL};
static const char kinds[] = "JPEG, PNG, PPM, PGM or BMP";
#endif

bool image_name(const char *name) {
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && endings[i]; i++)
        if (!strcasecmp(dot, endings[i])) return true;
    return false;
}

/* PNG writes 8,000 pixels of one color in a byte. Any picture of 7680 x 4320 has room, and one as large as JPEG writes white. */
static bool file_holds(uint64_t pixels, size_t file) {
    const uint64_t least = 1 << 25, each = 512;
    return pixels <= least || (pixels - least) / each < file;
}

bool image_allocate(struct image *image, uint64_t width, uint64_t height, size_t file, struct failure *failure) {
    if (width < 1 || height < 1 || width > IMAGE_SIDE_MOST || height > IMAGE_SIDE_MOST || width * height > IMAGE_PIXELS_MOST)
        return failure_set(failure, STATUS_INPUT, "its size is %llu x %llu; each side may be 1 to %d, and all pixels together %d",
                           (unsigned long long)width, (unsigned long long)height, IMAGE_SIDE_MOST, IMAGE_PIXELS_MOST);
    if (!file_holds(width * height, file))
        return failure_set(failure, STATUS_INPUT, "its %llu x %llu pixels are too many for a file of %zu bytes", (unsigned long long)width,
                           (unsigned long long)height, file);
    size_t bytes = (size_t)width * (size_t)height * 3;
    image->width = (uint32_t)width;
    image->height = (uint32_t)height;
    image->rgb = calloc(bytes, 1);
    return image->rgb || failure_memory(failure, bytes);
}

void image_free(struct image *image) {
    free(image->rgb);
    image->rgb = NULL;
}

static bool starts(const struct file_bytes *file, const char *magic, size_t length) {
    return file->size >= length && !memcmp(file->data, magic, length);
}

static bool decode(const struct file_bytes *file, struct image *image, struct failure *failure) {
    if (starts(file, "\xFF\xD8\xFF", 3)) return DECODE_JPEG(file->data, file->size, image, failure);
    if (starts(file, "\x89PNG\r\n\x1A\n", 8)) return DECODE_PNG(file->data, file->size, image, failure);
    if (starts(file, "BM", 2)) return image_decode_bmp(file->data, file->size, image, failure);
    if (file->size > 2 && file->data[0] == 'P' && file->data[1] >= '1' && file->data[1] <= '7')
        return image_decode_pnm(file->data, file->size, image, failure);
    return failure_set(failure, STATUS_INPUT, "it is not a %s picture", kinds);
}

bool image_read(const char *path, struct image *image, struct failure *failure) {
    struct file_bytes file;
    image->rgb = NULL;
    if (!file_read(path, FILE_MOST, &file, failure)) return false;
    bool good = decode(&file, image, failure);
    if (!good) {
        image_free(image);
        failure_prefix(failure, path);
    }
    file_free(&file);
    return good;
}
