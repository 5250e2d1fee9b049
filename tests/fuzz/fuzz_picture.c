/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a picture, a rule and an input: morsel_picture() in memory of exactly the sizes that were asked for. Links core/picture.c.
 *
 *     fuzz_picture [--runs N] [--seconds N] [--seed N]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: every byte of the result is written, and none depends on what was in the scratch before.
 */
#include "core/picture.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 1 << 17 };

/* The fields of an input, in the order of its bytes; pixels follow, repeated as often as needed. */
struct request {
    uint16_t width, height, resize_height, resize_width, crop_height, crop_width;
    uint8_t resize, channels, type, layout, rank, images, padding, shift;
};

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    uint64_t state = seed;
    size_t size = sizeof(struct request) + fuzz_between(&state, 1, 200);
    for (size_t i = 0; i < size && i < capacity; i++) bytes[i] = (uint8_t)fuzz_random(&state);
    for (size_t i = 1; i < 12; i += 2) /* mostly small pictures: the high bytes of the sizes */
        bytes[i] = fuzz_below(&state, 8) ? 0 : bytes[i];
    return size;
}

static uint32_t side(uint16_t value) {
    return value % 32768u + 1;
}

static struct morsel_blob_picture rule_of(const struct request *r) {
    struct morsel_blob_picture p = {0,          r->resize % 3,      side(r->resize_height), side(r->resize_width), 0, 0, r->channels % 3,
                                    1 / 255.0f, {0.5f, 0.4f, 0.3f}, {0.2f, 0.3f, 0.4f}};
    if (p.resize == MORSEL_RESIZE_SHORT_SIDE) p.resize_width = p.resize_height;
    if (r->crop_height % 2) {
        p.crop_height = side(r->crop_height / 2);
        p.crop_width = side(r->crop_width / 2);
    }
    return p;
}

/* The size of the result, by the rule's own words. */
static void result_size(const struct morsel_blob_picture *p, uint32_t width, uint32_t height, uint32_t *out_width, uint32_t *out_height) {
    *out_width = p->crop_height ? p->crop_width : p->resize == MORSEL_RESIZE_EXACT ? p->resize_width : width;
    *out_height = p->crop_height ? p->crop_height : p->resize == MORSEL_RESIZE_EXACT ? p->resize_height : height;
    if (p->crop_height || p->resize != MORSEL_RESIZE_SHORT_SIDE) return;
    *out_width = width <= height ? p->resize_width : (uint32_t)((uint64_t)p->resize_width * width / height);
    *out_height = width <= height ? (uint32_t)((uint64_t)p->resize_width * height / width) : p->resize_width;
}

static struct morsel_view view_of(const struct request *r, uint32_t width, uint32_t height, uint32_t channels) {
    static const enum morsel_type types[] = {MORSEL_UINT8, MORSEL_INT8, MORSEL_FLOAT32};
    struct morsel_view v = {.type = types[r->type % 3], .layout = r->layout % 2 ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR, .scale = 0.02f};
    uint32_t images = r->rank % 2 ? r->images % 3u + 1 : 1, at = 0;
    if (r->rank % 2) v.dims[at++] = images;
    v.dims[at] = v.layout == MORSEL_CHANNELS_LAST ? height : channels;
    v.dims[at + 1] = v.layout == MORSEL_CHANNELS_LAST ? width : height;
    v.dims[at + 2] = v.layout == MORSEL_CHANNELS_LAST ? channels : width;
    v.rank = at + 3;
    v.bytes = images * height * width * channels * (v.type == MORSEL_FLOAT32 ? 4 : 1);
    return v;
}

static uint8_t *filled(size_t bytes, int value) {
    uint8_t *p = malloc(bytes ? bytes : 1);
    if (!p) exit(3);
    memset(p, value, bytes);
    return p;
}

/* The last row ends with its last pixel. */
static uint8_t *pixels_of(const uint8_t *bytes, size_t size, size_t total) {
    uint8_t *rgb = filled(total, 0x80);
    for (size_t i = 0; size && i < total; i++) rgb[i] = bytes[i % size];
    return rgb;
}

/* Once, over memory that was filled with `before`. */
static uint8_t *put(const struct morsel_blob_picture *rule, const uint8_t *rgb, const struct request *r, size_t stride,
                    struct morsel_view view, int before) {
    uint32_t width = side(r->width), height = side(r->height), image = view.rank == 4 ? r->images % view.dims[0] : 0;
    size_t bytes = morsel_rule_bytes(rule, width, height), shift = r->shift % 4;
    uint8_t *scratch = filled(bytes + shift, before), *out = filled(view.bytes, before);
    view.data = out;
    size_t total = stride * (height - 1) + 3 * width;
    if (morsel_picture_by_rule(rule, rgb, total, width, height, stride, scratch + shift, bytes, &view, image) != MORSEL_OK) {
        fprintf(stderr, "refused %u x %u\n", width, height);
        abort();
    }
    free(scratch);
    return out;
}

static void check_twice(const struct morsel_blob_picture *rule, const uint8_t *rgb, const struct request *r, size_t stride,
                        struct morsel_view view) {
    size_t image = view.rank == 4 ? view.bytes / view.dims[0] : view.bytes, start = view.rank == 4 ? r->images % view.dims[0] * image : 0;
    uint8_t *a = put(rule, rgb, r, stride, view, 0x00), *b = put(rule, rgb, r, stride, view, 0xff);
    if (memcmp(a + start, b + start, image)) abort();
    for (size_t i = 0; i < view.bytes; i++)
        if ((i < start || i >= start + image) && (a[i] != 0x00 || b[i] != 0xff)) abort();
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct request r;
    if (size < sizeof r) return 0;
    memcpy(&r, bytes, sizeof r);
    uint32_t width = side(r.width), height = side(r.height), out_width, out_height;
    struct morsel_blob_picture rule = rule_of(&r);
    result_size(&rule, width, height, &out_width, &out_height);
    size_t stride = 3 * width + r.padding, scratch = morsel_rule_bytes(&rule, width, height);
    if ((uint64_t)stride * height > BYTES_MOST || (uint64_t)out_width * out_height > BYTES_MOST / 4 || !scratch ||
        scratch > 16 * BYTES_MOST)
        return 0;
    uint8_t *rgb = pixels_of(bytes + sizeof r, size - sizeof r, stride * (height - 1) + 3 * width);
    check_twice(&rule, rgb, &r, stride, view_of(&r, out_width, out_height, rule.channels == MORSEL_CHANNELS_GRAY ? 1 : 3));
    free(rgb);
    return 0;
}
