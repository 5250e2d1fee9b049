/* SPDX-License-Identifier: MIT */
/* BMP without compression: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits. An alpha channel is left out. */
#include "tools/samples/image/image.h"

struct bmp {
    const uint8_t *bytes;
    size_t size;
    uint32_t bits;
    bool upside_down; /* the file's first row is the lowest, as usual */
    uint32_t mask[3]; /* 16 and 32 bits: red, green, blue */
    const uint8_t *palette;
    uint32_t palette_count, palette_step;
    size_t pixels; /* offset */
};

static uint32_t get16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p) {
    return get16(p) | get16(p + 2) << 16;
}

static bool wrong(struct failure *failure, const char *what) {
    return failure_set(failure, STATUS_INPUT, "it is a damaged BMP picture: %s", what);
}

static bool read_palette(struct bmp *bmp, size_t at, uint32_t used, struct failure *failure) {
    if (bmp->bits > 8) return true;
    bmp->palette_count = used && used < 1u << bmp->bits ? used : 1u << bmp->bits;
    bmp->palette = bmp->bytes + at;
    if (bmp->palette_count * bmp->palette_step > bmp->size - at) return wrong(failure, "it ends within its palette");
    return true;
}

/* The channels' masks of 16 and 32 bits: the usual ones, or those in the file. */
static bool read_masks(struct bmp *bmp, uint32_t compression, struct failure *failure) {
    for (int c = 0; c < 3; c++) bmp->mask[c] = bmp->bits == 16 ? 0x7C00u >> 5 * c : 0xFF0000u >> 8 * c;
    if (compression != 3) return true;
    if (bmp->size < 66 || (bmp->bits != 16 && bmp->bits != 32)) return wrong(failure, "its channel masks are missing");
    for (int c = 0; c < 3; c++)
        bmp->mask[c] = get32(bmp->bytes + 54 + 4 * c); /* behind a 40-byte header, and in every longer one, they stand here */
    return true;
}

/* The header of Windows, 40 bytes or more. */
static bool read_header(struct bmp *bmp, uint32_t header, struct image *image, struct failure *failure) {
    const uint8_t *p = bmp->bytes + 14;
    int64_t width = (int32_t)get32(p + 4), height = (int32_t)get32(p + 8);
    uint32_t compression = get32(p + 16);
    bmp->bits = get16(p + 14);
    bmp->upside_down = height > 0;
    bmp->palette_step = 4;
    if (compression != 0 && compression != 3)
        return failure_set(failure, STATUS_INPUT, "it is a compressed BMP picture (kind %u); save it without compression", compression);
    if (width < 0 || !image_allocate(image, (uint64_t)width, (uint64_t)(height < 0 ? -height : height), bmp->size, failure))
        return width < 0 ? wrong(failure, "its width is negative") : false;
    size_t at = 14 + (size_t)header + (compression == 3 && header == 40 ? 12 : 0);
    return read_masks(bmp, compression, failure) && (at <= bmp->size || wrong(failure, "it ends within its header")) &&
           read_palette(bmp, at, get32(p + 32), failure);
}

/* The older header of OS/2, 12 bytes. */
static bool read_old_header(struct bmp *bmp, struct image *image, struct failure *failure) {
    const uint8_t *p = bmp->bytes + 14;
    bmp->bits = get16(p + 10);
    bmp->upside_down = true;
    bmp->palette_step = 3;
    return image_allocate(image, get16(p + 4), get16(p + 6), bmp->size, failure) && read_masks(bmp, 0, failure) &&
           read_palette(bmp, 26, 0, failure);
}

/* The bits of `mask` in `value`, stretched to 0..255. */
static uint8_t channel(uint32_t value, uint32_t mask) {
    if (!mask) return 0;
    uint32_t bits = value & mask;
    while (!(mask & 1)) {
        mask >>= 1;
        bits >>= 1;
    }
    return (uint8_t)(((uint64_t)bits * 255 + mask / 2) / mask);
}

static void put_index(const struct bmp *bmp, const uint8_t *row, uint32_t x, uint8_t *to) {
    uint32_t per_byte = 8 / bmp->bits, shift = 8 - bmp->bits - x % per_byte * bmp->bits;
    uint32_t index = row[x / per_byte] >> shift & ((1u << bmp->bits) - 1);
    for (int c = 0; c < 3; c++) to[c] = index < bmp->palette_count ? bmp->palette[index * bmp->palette_step + 2 - (uint32_t)c] : 0;
}

static void put_row(const struct bmp *bmp, const uint8_t *row, uint32_t width, uint8_t *to) {
    for (uint32_t x = 0; x < width; x++, to += 3) {
        if (bmp->bits <= 8) {
            put_index(bmp, row, x, to);
        } else if (bmp->bits == 24) {
            for (int c = 0; c < 3; c++) to[c] = row[3 * (size_t)x + 2 - (size_t)c];
        } else {
            uint32_t value = bmp->bits == 16 ? get16(row + 2 * (size_t)x) : get32(row + 4 * (size_t)x);
            for (int c = 0; c < 3; c++) to[c] = channel(value, bmp->mask[c]);
        }
    }
}

bool image_decode_bmp(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure) {
    struct bmp bmp = {.bytes = bytes, .size = size};
    uint32_t header = size >= 54 ? get32(bytes + 14) : size >= 26 && get32(bytes + 14) == 12 ? 12 : 0;
    if (header != 12 && (header < 40 || header > 256)) return wrong(failure, "its header is cut off or of an unknown kind");
    if (!(header == 12 ? read_old_header(&bmp, image, failure) : read_header(&bmp, header, image, failure))) return false;
    if (bmp.bits != 1 && bmp.bits != 4 && bmp.bits != 8 && bmp.bits != 16 && bmp.bits != 24 && bmp.bits != 32)
        return wrong(failure, "its pixels have none of 1, 4, 8, 16, 24 or 32 bits");
    bmp.pixels = get32(bytes + 10);
    size_t stride = ((size_t)image->width * bmp.bits + 31) / 32 * 4;
    if (bmp.pixels > size || (size - bmp.pixels) / stride < image->height) return wrong(failure, "it ends before its last row");
    for (uint32_t y = 0; y < image->height; y++) {
        uint32_t from = bmp.upside_down ? image->height - 1 - y : y;
        put_row(&bmp, bytes + bmp.pixels + from * stride, image->width, image->rgb + (size_t)y * image->width * 3);
    }
    return true;
}
