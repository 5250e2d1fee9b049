/* SPDX-License-Identifier: MIT */
/* How cameras tell that they were held upright, in JPEG and PNG alike. */
#include "tools/samples/image/lib/exif.h"
#include <stdlib.h>
#include <string.h>

static uint32_t get16(const uint8_t *p, bool big) {
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t get32(const uint8_t *p, bool big) {
    return big ? get16(p, big) << 16 | get16(p + 2, big) : get16(p + 2, big) << 16 | get16(p, big);
}

unsigned exif_orientation(const uint8_t *p, size_t size) {
    if (size < 10) return 1;
    bool big = p[0] == 'M';
    uint32_t at = get32(p + 4, big);
    if (at > size - 2) return 1;
    uint32_t count = get16(p + at, big);
    for (uint32_t i = 0; i < count && (size - at - 2) / 12 > i; i++) {
        const uint8_t *entry = p + at + 2 + 12 * i;
        uint32_t value = get16(entry + 8, big);
        if (get16(entry, big) == 0x0112) return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

bool exif_turn(struct image *image, unsigned orientation, struct failure *failure) {
    struct image turned = {0};
    uint32_t w = image->width, h = image->height;
    if (orientation == 1) return true;
    if (!image_allocate(&turned, orientation > 4 ? h : w, orientation > 4 ? w : h, SIZE_MAX, failure)) return false;
    for (uint32_t y = 0; y < h; y++) {
        for (uint32_t x = 0; x < w; x++) {
            uint32_t flip_x = w - 1 - x, flip_y = h - 1 - y;
            uint32_t to_x[9] = {0, x, flip_x, flip_x, x, y, flip_y, flip_y, y};
            uint32_t to_y[9] = {0, y, y, flip_y, flip_y, x, x, flip_x, flip_x};
            memcpy(turned.rgb + ((size_t)to_y[orientation] * turned.width + to_x[orientation]) * 3, image->rgb + ((size_t)y * w + x) * 3,
                   3);
        }
    }
    free(image->rgb);
    *image = turned;
    return true;
}
