/* SPDX-License-Identifier: MIT */
/* Boxes and points with a name, and classes of pixels, drawn into a picture. */
#ifndef MORSEL_TOOLS_SAMPLES_IMAGE_DRAW_H
#define MORSEL_TOOLS_SAMPLES_IMAGE_DRAW_H

#include "tools/samples/image/image.h"

/* A frame just inside x0..x1, y0..y1, in a colour of the class, with `text` on a ground of the same above it, or inside where there is no
 * room, and further to the left near the right side. Letters of ASCII are drawn as capitals, all else as a block. What lies outside is not
 * drawn. */
void draw_box(struct image *image, float x0, float y0, float x1, float y1, uint32_t class, const char *text);

/* A dot in a colour of the number, with `text` on its right, or left where there is no room. What lies outside is not drawn. */
void draw_point(struct image *image, float x, float y, uint32_t index, const char *text);

/* Each pixel half in the colour of its class, which has one byte for it; those of the classes `none` and above `most` stay. */
void draw_classes(struct image *image, const uint8_t *classes, uint32_t most, uint32_t none);

/* A name on a ground in the colour of the class: line 0, 1 .. from the top left corner down. Lines below the picture are not drawn. */
void draw_line(struct image *image, uint32_t line, uint32_t class, const char *text);

#ifdef MORSEL_TOOL_REDUCED
#define DRAW_ENDING ".ppm"
#else
#define DRAW_ENDING ".png"
#endif

/* Writes a picture by the ending of its name: .ppm, and in the full tool .png. */
bool draw_can_write(const char *path, struct failure *failure);
bool draw_write(const char *path, const struct image *image, struct failure *failure);

#endif
