/* SPDX-License-Identifier: MIT */
/* A picture becomes a PNG file in memory. */
#include "tools/samples/image/image.h"
#include <png.h>
#include <stdlib.h>

bool image_encode_png(const struct image *image, uint8_t **bytes, size_t *size, struct failure *failure) {
    png_image png = {.version = PNG_IMAGE_VERSION, .width = image->width, .height = image->height, .format = PNG_FORMAT_RGB};
    png_alloc_size_t need = 0;
    *bytes = NULL;
    if (png_image_write_to_memory(&png, NULL, &need, 0, image->rgb, 0, NULL)) *bytes = malloc(need);
    bool good = *bytes && png_image_write_to_memory(&png, *bytes, &need, 0, image->rgb, 0, NULL);
    *size = need;
    if (good) return true;
    free(*bytes);
    *bytes = NULL;
    return failure_memory(failure, need); /* all that is left to fail */
}
