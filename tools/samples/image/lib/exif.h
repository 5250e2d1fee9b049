/* SPDX-License-Identifier: MIT */
/* The orientation that an EXIF block states. */
#ifndef MORSEL_TOOLS_SAMPLES_IMAGE_LIB_EXIF_H
#define MORSEL_TOOLS_SAMPLES_IMAGE_LIB_EXIF_H

#include "tools/samples/image/image.h"

/* 1 to 8, of a block that begins with the order of its bytes, II or MM; 1 where it states none. */
unsigned exif_orientation(const uint8_t *block, size_t size);

/* Turns and mirrors the picture. Orientations 5 to 8 exchange width and height; each maps a pixel to one other. */
bool exif_turn(struct image *image, unsigned orientation, struct failure *failure);

#endif
