/* SPDX-License-Identifier: MIT */
/* PGM and PPM, as text (P2, P3) and as bytes (P5, P6), with any maximum up to 65535. */
#include "tools/samples/image/image.h"
#include <ctype.h>
#include <string.h>

struct reader {
    const uint8_t *at, *end;
};

static bool wrong(struct failure *failure, const char *what) {
    return failure_set(failure, STATUS_INPUT, "it is a damaged PGM or PPM picture: %s", what);
}

static bool ends_early(struct failure *failure) {
    return wrong(failure, "it ends before its last pixel, or has a value above its maximum");
}

static void skip_space(struct reader *reader) {
    while (reader->at < reader->end && (isspace(*reader->at) || *reader->at == '#')) {
        if (*reader->at == '#')
            while (reader->at < reader->end && *reader->at != '\n') reader->at++;
        else reader->at++;
    }
}

/* A number of up to 9 digits, after white space and comments. */
static bool read_number(struct reader *reader, uint32_t *out) {
    unsigned digits = 0;
    skip_space(reader);
    for (*out = 0; reader->at < reader->end && isdigit(*reader->at); digits++) {
        if (digits == 9) return false;
        *out = *out * 10 + (uint32_t)(*reader->at++ - '0');
    }
    return digits > 0;
}

static bool read_sample(struct reader *reader, bool text, uint32_t most, uint32_t *out) {
    unsigned bytes = most > 255 ? 2 : 1;
    if (text) return read_number(reader, out) && *out <= most;
    if (reader->end - reader->at < (ptrdiff_t)bytes) return false;
    *out = bytes == 2 ? (uint32_t)reader->at[0] << 8 | reader->at[1] : reader->at[0];
    reader->at += bytes;
    return *out <= most;
}

/* Bytes of a P6 file of maximum 255, which are the pixels. */
static bool copy_pixels(const struct reader *reader, struct image *image, struct failure *failure) {
    const size_t bytes = (size_t)image->width * image->height * 3;
    if ((size_t)(reader->end - reader->at) < bytes) return ends_early(failure);
    memcpy(image->rgb, reader->at, bytes);
    return true;
}

static bool read_pixels(struct reader *reader, bool text, bool color, uint32_t most, struct image *image, struct failure *failure) {
    size_t samples = (size_t)image->width * image->height * (color ? 3 : 1);
    uint8_t *to = image->rgb;
    for (size_t i = 0; i < samples; i++) {
        uint32_t value;
        if (!read_sample(reader, text, most, &value)) return ends_early(failure);
        uint8_t byte = (uint8_t)((value * 255 + most / 2) / most);
        *to++ = byte;
        if (!color) {
            *to++ = byte;
            *to++ = byte;
        }
    }
    return true;
}

bool image_decode_pnm(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure) {
    struct reader reader = {bytes + 2, bytes + size};
    uint32_t width, height, most;
    uint8_t kind = bytes[1];
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6')
        return failure_set(failure, STATUS_INPUT, "it is a P%c picture; of this family PGM (P2, P5) and PPM (P3, P6) are read", kind);
    bool text = kind == '2' || kind == '3', color = kind == '3' || kind == '6';
    if (!read_number(&reader, &width) || !read_number(&reader, &height) || !read_number(&reader, &most))
        return wrong(failure, "its header lacks width, height or maximum");
    if (most < 1 || most > 65535) return wrong(failure, "its maximum is not 1 to 65535");
    if (!text && (reader.at == reader.end || !isspace(*reader.at++)))
        return wrong(failure, "no white space stands between the header and the pixels");
    if (!image_allocate(image, width, height, size, failure)) return false;
    const bool whole_bytes = kind == '6' && most == 255;
    return whole_bytes ? copy_pixels(&reader, image, failure) : read_pixels(&reader, text, color, most, image, failure);
}
