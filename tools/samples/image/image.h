/* SPDX-License-Identifier: MIT */
/* Pictures: files of several kinds to RGB8, three bytes a pixel, row by row from the top. */
#ifndef MORSEL_TOOLS_SAMPLES_IMAGE_IMAGE_H
#define MORSEL_TOOLS_SAMPLES_IMAGE_IMAGE_H

#include "tools/base/failure.h"
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_SIDE_MOST = 32768, IMAGE_PIXELS_MOST = 1 << 28 };

struct image {
    uint32_t width, height;
    uint8_t *rgb; /* [height][width][3] */
};

/* Reads a PPM, PGM or BMP file, in the full tool JPEG and PNG too; the file's first bytes tell which. */
bool image_read(const char *path, struct image *image, struct failure *failure);
void image_free(struct image *image);

/* For the decoders: checks the size, also beside the bytes of the file, and allocates rgb. */
bool image_allocate(struct image *image, uint64_t width, uint64_t height, size_t file, struct failure *failure);

/* The decoders: `bytes` is a whole file of their kind. Where they fail, image->rgb is NULL or to be freed by the caller. */
bool image_decode_pnm(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure);
bool image_decode_bmp(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure);
bool image_decode_jpeg(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure);
bool image_decode_png(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure);

/* A picture as a PNG file, for free(). The full tool alone has it. */
bool image_encode_png(const struct image *image, uint8_t **bytes, size_t *size, struct failure *failure);

/* Whether a file of this name is likely a picture that image_read() takes, by its ending. */
bool image_name(const char *name);

#endif
