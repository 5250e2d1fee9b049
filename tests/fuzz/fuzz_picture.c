/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a frame, a rule and an input: morsel_frame() in memory of exactly the sizes that were asked for, each plane by itself.
 *
 *     fuzz_picture [--runs N] [--seconds N] [--seed N]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: every byte of the result is written, and none depends on what was in the scratch before.
 */
#include "core/blob.h"
#include "core/picture.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 1 << 17 };

/* The fields of an input, in the order of its bytes; pixels follow, repeated as often as needed. */
struct request {
    uint16_t width, height, resize_height, resize_width, crop_height, crop_width;
    uint16_t left, top, region_width, region_height;
    uint8_t resize, channels, type, layout, rank, images, padding, shift, pixels, colors, turn, region;
};

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    uint64_t state = seed;
    size_t size = sizeof(struct request) + fuzz_between(&state, 1, 200);
    for (size_t i = 0; i < size && i < capacity; i++) bytes[i] = (uint8_t)fuzz_random(&state);
    for (size_t i = 1; i < 20; i += 2) /* mostly small pictures: the high bytes of the sizes */
        bytes[i] = fuzz_below(&state, 8) ? 0 : bytes[i];
    return size;
}

static uint32_t side(uint16_t value) {
    return value % 32768u + 1;
}

static struct morsel_blob_picture rule_of(const struct request *r) {
    struct morsel_blob_picture p = {0,          r->resize % 4,      side(r->resize_height), side(r->resize_width), 0, 0, r->channels % 3,
                                    1 / 255.0f, {0.5f, 0.4f, 0.3f}, {0.2f, 0.3f, 0.4f}};
    uint32_t mode = p.resize, filter = r->resize / 4 % 3;
    if (mode == MORSEL_RESIZE_SHORT_SIDE) p.resize_width = p.resize_height;
    if (mode != MORSEL_RESIZE_NONE) p.resize |= filter << MORSEL_RESIZE_FILTER_SHIFT;
    if (mode == MORSEL_RESIZE_LETTERBOX) {
        p.resize |= r->channels / 3u % 2 * MORSEL_RESIZE_CORNER | (uint32_t)r->crop_height << MORSEL_RESIZE_FILL_SHIFT;
    } else if (r->crop_height % 2) {
        p.crop_height = side(r->crop_height / 2);
        p.crop_width = side(r->crop_width / 2);
    }
    return p;
}

/* The size of the result, by the rule's own words. */
static void result_size(const struct morsel_blob_picture *p, uint32_t width, uint32_t height, uint32_t *out_width, uint32_t *out_height) {
    uint32_t mode = morsel_resize_mode(p);
    bool given = mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX;
    *out_width = p->crop_height ? p->crop_width : given ? p->resize_width : width;
    *out_height = p->crop_height ? p->crop_height : given ? p->resize_height : height;
    if (p->crop_height || mode != MORSEL_RESIZE_SHORT_SIDE) return;
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

/* How the pixels of each format lie: bytes of one in the first plane, planes, bytes of one of chroma. */
static const uint8_t formats[8][3] = {{3, 1, 0}, {3, 1, 0}, {4, 1, 0}, {4, 1, 0}, {1, 1, 0}, {1, 2, 2}, {1, 2, 2}, {1, 3, 1}};

static struct morsel_frame frame_of(const struct request *r) {
    struct morsel_frame f = {.size = sizeof f,
                             .pixels = (enum morsel_pixels)(r->pixels % 8),
                             .colors = (enum morsel_colors)(r->colors % 4),
                             .width = side(r->width),
                             .height = side(r->height),
                             .turn = r->turn / 2 % 4 * 90u,
                             .mirror = r->turn % 2};
    if (r->region % 4 == 0) return f;
    f.left = r->left % f.width;
    f.top = r->top % f.height;
    if (r->region % 4 == 1) return f;
    f.region_width = r->region_width % (f.width - f.left) + 1;
    f.region_height = r->region_height % (f.height - f.top) + 1;
    return f;
}

/* Planes whose last row ends with its last pixel. False: they are too large to be tried. */
static bool fill_planes(struct morsel_frame *f, const struct request *r, const uint8_t *bytes, size_t size) {
    const uint8_t *format = formats[f->pixels];
    if ((uint64_t)f->width * f->height * format[0] > BYTES_MOST) return false;
    for (uint32_t k = 0; k < format[1]; k++) {
        uint32_t half = k > 0, row = ((f->width + half) >> half) * (k ? format[2] : format[0]), rows = (f->height + half) >> half;
        size_t stride = row + r->padding, total = stride * (rows - 1) + row;
        if (total > 2 * BYTES_MOST) return false;
        uint8_t *data = filled(total, 0x80);
        for (size_t i = 0; size && i < total; i++) data[i] = bytes[i % size];
        f->planes[k] = (struct morsel_plane){data, total, r->padding ? stride : 0};
    }
    return true;
}

static void free_planes(struct morsel_frame *f) {
    for (uint32_t k = 0; k < 3; k++) free((void *)(uintptr_t)f->planes[k].data);
}

/* Once, over memory that was filled with `before`. */
static uint8_t *put(const struct morsel_blob_picture *rule, const struct morsel_frame *f, const struct request *r, struct morsel_view view,
                    int before) {
    uint32_t image = view.rank == 4 ? r->images % view.dims[0] : 0;
    size_t bytes = morsel_rule_frame_bytes(rule, f), shift = r->shift % 4;
    uint8_t *scratch = filled(bytes + shift, before), *out = filled(view.bytes, before);
    view.data = out;
    float points[4] = {0, 0, (float)r->left, (float)r->top};
    if (morsel_points_by_rule(rule, f, points, 2) || points[0] != points[0] || points[3] != points[3] ||
        morsel_frame_by_rule(rule, f, scratch + shift, bytes, &view, image) != MORSEL_OK) {
        fprintf(stderr, "refused %u x %u, pixels %d, turn %u\n", f->width, f->height, f->pixels, f->turn);
        abort();
    }
    free(scratch);
    return out;
}

static void check_twice(const struct morsel_blob_picture *rule, const struct morsel_frame *f, const struct request *r,
                        struct morsel_view view) {
    size_t image = view.rank == 4 ? view.bytes / view.dims[0] : view.bytes, start = view.rank == 4 ? r->images % view.dims[0] * image : 0;
    uint8_t *a = put(rule, f, r, view, 0x00), *b = put(rule, f, r, view, 0xff);
    if (memcmp(a + start, b + start, image)) abort();
    for (size_t i = 0; i < view.bytes; i++)
        if ((i < start || i >= start + image) && (a[i] != 0x00 || b[i] != 0xff)) abort();
    free(a);
    free(b);
}

/* Fields as they come: an error, or a frame that lies in its planes. */
static void check_any(const struct morsel_blob_picture *rule, const struct morsel_frame *sound, const struct request *r,
                      struct morsel_view view) {
    struct morsel_frame f = *sound;
    uint32_t *const fields[] = {&f.size, &f.width, &f.height, &f.left, &f.top, &f.region_width, &f.region_height, &f.turn, &f.mirror};
    bool field = r->shift / 4 < sizeof fields / sizeof *fields;
    if (field) *fields[r->shift / 4] = r->left * 0x10001u - r->top;
    if (f.size > sizeof f) f.size = sizeof f; /* so many bytes are the caller's */
    if (!field && r->shift % 2) f.planes[r->shift % 3].stride = (size_t)0 - r->top;
    if (!field && r->shift % 2 == 0) f.planes[r->shift % 3].bytes -= f.planes[r->shift % 3].bytes ? 1 : 0;
    size_t bytes = morsel_rule_frame_bytes(rule, &f);
    if (bytes > 16 * BYTES_MOST) return;
    uint8_t *scratch = filled(bytes, 0);
    view.data = filled(view.bytes, 0);
    if (morsel_frame_by_rule(rule, &f, scratch, bytes, &view, 0) == MORSEL_ERR_SCRATCH) abort();
    free(scratch);
    free(view.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct request r;
    if (size < sizeof r) return 0;
    memcpy(&r, bytes, sizeof r);
    struct morsel_frame f = frame_of(&r);
    uint32_t width = f.region_width ? f.region_width : f.width - f.left, height = f.region_height ? f.region_height : f.height - f.top;
    uint32_t out_width, out_height;
    struct morsel_blob_picture rule = rule_of(&r);
    result_size(&rule, f.turn % 180 ? height : width, f.turn % 180 ? width : height, &out_width, &out_height);
    size_t scratch = morsel_rule_frame_bytes(&rule, &f);
    if ((uint64_t)out_width * out_height <= BYTES_MOST / 4 && scratch && scratch <= 16 * BYTES_MOST &&
        fill_planes(&f, &r, bytes + sizeof r, size - sizeof r)) {
        struct morsel_view view = view_of(&r, out_width, out_height, rule.channels == MORSEL_CHANNELS_GRAY ? 1 : 3);
        check_twice(&rule, &f, &r, view);
        check_any(&rule, &f, &r, view);
    }
    free_planes(&f);
    return 0;
}
