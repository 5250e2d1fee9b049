/* SPDX-License-Identifier: MIT */
/* morsel_picture(): Pillow's bytes, the scratch it asks for and no more, layouts, numbers, errors. */
#include "core/blob.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PLAIN \
    1, {0, 0, 0}, { \
        1, 1, 1 \
    } /* pixels as they are */

struct golden {
    uint32_t width, height;
    struct morsel_blob_picture rule;
    uint32_t out_height, out_width, hash;
};

/* What Pillow 13, torchvision's size and crop rules and YOLO's letterbox give for noise(): parity/picture.py --golden prints this. */
static const struct golden goldens[] = {
    {1, 1, {0, MORSEL_RESIZE_EXACT, 1, 1, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 1, 1, 0xcbb7789a},
    {1, 1, {0, MORSEL_RESIZE_EXACT, 5, 3, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 5, 3, 0xb24d0ab8},
    {7, 5, {0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 5, 7, 0xa830fa6e},
    {7, 5, {0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_GRAY, PLAIN}, 5, 7, 0x8420b537},
    {8, 8, {0, MORSEL_RESIZE_EXACT, 4, 4, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 4, 4, 0xf243c2ac},
    {31, 17, {0, MORSEL_RESIZE_EXACT, 17, 9, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 17, 9, 0x8dc15539},
    {31, 17, {0, MORSEL_RESIZE_EXACT, 9, 31, 0, 0, MORSEL_CHANNELS_BGR, PLAIN}, 9, 31, 0xc90a49ad},
    {31, 17, {0, MORSEL_RESIZE_EXACT, 13, 11, 0, 0, MORSEL_CHANNELS_GRAY, PLAIN}, 13, 11, 0x63ac174e},
    {13, 29, {0, MORSEL_RESIZE_EXACT, 41, 37, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 41, 37, 0x7ab32515},
    {20, 30, {0, MORSEL_RESIZE_EXACT, 7, 19, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 7, 19, 0x89709888},
    {20, 30, {0, MORSEL_RESIZE_EXACT, 7, 19, 5, 6, MORSEL_CHANNELS_GRAY, PLAIN}, 5, 6, 0x54b30fc0},
    {20, 30, {0, MORSEL_RESIZE_EXACT, 9, 24, 4, 4, MORSEL_CHANNELS_BGR, PLAIN}, 4, 4, 0x679fb8ab},
    {1, 4000, {0, MORSEL_RESIZE_EXACT, 32, 32, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 32, 32, 0x246202e5},
    {4000, 1, {0, MORSEL_RESIZE_EXACT, 32, 32, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 32, 32, 0x04649f05},
    {1, 4000, {0, MORSEL_RESIZE_SHORT_SIDE, 32, 32, 32, 32, MORSEL_CHANNELS_RGB, PLAIN}, 32, 32, 0x92322645},
    {4000, 2, {0, MORSEL_RESIZE_SHORT_SIDE, 16, 16, 16, 16, MORSEL_CHANNELS_GRAY, PLAIN}, 16, 16, 0x5b82951d},
    {97, 61, {0, MORSEL_RESIZE_SHORT_SIDE, 33, 33, 24, 24, MORSEL_CHANNELS_RGB, PLAIN}, 24, 24, 0xada0d367},
    {61, 97, {0, MORSEL_RESIZE_SHORT_SIDE, 33, 33, 24, 25, MORSEL_CHANNELS_RGB, PLAIN}, 24, 25, 0x50361d2d},
    {61, 97, {0, MORSEL_RESIZE_SHORT_SIDE, 33, 33, 25, 24, MORSEL_CHANNELS_BGR, PLAIN}, 25, 24, 0x70819db2},
    {10, 6, {0, MORSEL_RESIZE_NONE, 0, 0, 9, 15, MORSEL_CHANNELS_RGB, PLAIN}, 9, 15, 0x345bac38},
    {10, 6, {0, MORSEL_RESIZE_SHORT_SIDE, 4, 4, 7, 3, MORSEL_CHANNELS_GRAY, PLAIN}, 7, 3, 0x3d892191},
    {10, 6, {0, MORSEL_RESIZE_EXACT, 3, 3, 8, 8, MORSEL_CHANNELS_BGR, PLAIN}, 8, 8, 0x0bb69eec},
    {640, 480, {0, MORSEL_RESIZE_SHORT_SIDE, 36, 36, 32, 32, MORSEL_CHANNELS_RGB, PLAIN}, 32, 32, 0x266b25d4},
    {31, 17, {0, MORSEL_RESIZE_EXACT | 0x20, 17, 9, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 17, 9, 0x85c7b6cb},
    {13, 29, {0, MORSEL_RESIZE_EXACT | 0x20, 41, 37, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 41, 37, 0x06dd28f0},
    {20, 30, {0, MORSEL_RESIZE_EXACT | 0x20, 7, 20, 5, 6, MORSEL_CHANNELS_GRAY, PLAIN}, 5, 6, 0x5a636e9c},
    {640, 480, {0, MORSEL_RESIZE_SHORT_SIDE | 0x20, 36, 36, 32, 32, MORSEL_CHANNELS_RGB, PLAIN}, 32, 32, 0xba379c70},
    {61, 97, {0, MORSEL_RESIZE_LETTERBOX | 0x3020100, 40, 50, 0, 0, MORSEL_CHANNELS_BGR, PLAIN}, 40, 50, 0x9b0e9376},
    {97, 61, {0, MORSEL_RESIZE_LETTERBOX | 0x72a0, 40, 50, 0, 0, MORSEL_CHANNELS_GRAY, PLAIN}, 40, 50, 0x1a71d344},
    {640, 480, {0, MORSEL_RESIZE_LETTERBOX | 0x72727280, 32, 64, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 32, 64, 0xb3c6d1c8},
    {3, 300, {0, MORSEL_RESIZE_LETTERBOX | 0x7080900, 64, 64, 0, 0, MORSEL_CHANNELS_RGB, PLAIN}, 64, 64, 0x558eea20},
};
#define GOLDENS (sizeof goldens / sizeof goldens[0])

struct sample {
    uint32_t width, height, out_height, out_width;
    uint8_t values[105];
};

/* What OpenCV 5's INTER_LINEAR makes of noise(), printed by the same call. Its sums have 11 bits in each direction. */
static const struct sample samples[] = {
    {5, 4, 3, 3, {121, 87, 110, 169, 121, 17,  142, 154, 93,  234, 127, 88, 73, 136,
                  153, 81, 125, 189, 105, 142, 65,  23,  245, 86,  79,  75, 79}},
    {7, 3, 5, 4, {105, 63,  116, 194, 132, 17,  152, 195, 66, 203, 167, 65,  74,  69,  112, 162, 105, 81,  191, 154,
                  93,  185, 200, 135, 29,  79,  107, 115, 64, 179, 249, 92,  133, 158, 248, 240, 35,  95,  118, 125,
                  161, 120, 211, 58,  109, 143, 158, 117, 40, 107, 126, 133, 225, 81,  186, 35,  93,  133, 98,  35}},
    {3, 3, 5, 7, {60,  94,  129, 77,  82,  124, 128, 47,  109, 180, 12,  94, 188, 68,  55,  195, 123, 17,  198, 142, 4,
                  101, 82,  120, 111, 83,  115, 139, 88,  97,  168, 93,  80, 190, 127, 61,  212, 162, 42,  219, 173, 35,
                  163, 64,  108, 161, 85,  101, 156, 150, 81,  151, 214, 60, 194, 217, 70,  237, 219, 80,  251, 220, 83,
                  169, 107, 76,  156, 105, 75,  116, 101, 74,  76,  96,  72, 95,  139, 94,  114, 182, 115, 120, 196, 122,
                  174, 136, 55,  153, 119, 59,  89,  68,  70,  26,  18,  81, 29,  88,  110, 32,  158, 139, 33,  181, 149}},
};

/* A blob that holds a rule and nothing else, as far as morsel_picture() looks. */
struct rule_blob {
    struct morsel_blob_header header;
    struct morsel_blob_picture rule;
};

static struct morsel_model open_rule(struct rule_blob *blob, const struct morsel_blob_picture *rule) {
    struct morsel_model model = {.blob = (const uint8_t *)blob, .blob_bytes = sizeof *blob, .opened = MORSEL_OPENED};
    memset(blob, 0, sizeof *blob);
    blob->rule = *rule;
    blob->header.picture.offset = offsetof(struct rule_blob, rule);
    blob->header.picture.count = 1;
    return model;
}

static void *must_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    assert_non_null(p);
    return p;
}

/* Exactly the bytes that a picture has: the last row ends with its last pixel, whatever the stride. */
static uint8_t *noise(uint32_t width, uint32_t height, size_t stride) {
    uint8_t *rgb = must_alloc(stride * (height - 1) + 3 * width);
    uint32_t state = 1;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < 3 * width; x++) {
            state = state * 1664525u + 1013904223u;
            rgb[y * stride + x] = (uint8_t)(state >> 24);
        }
    }
    return rgb;
}

static uint32_t channels_of(const struct morsel_blob_picture *rule) {
    return rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
}

static struct morsel_view last_view(void *data, uint32_t height, uint32_t width, uint32_t channels) {
    struct morsel_view view = {.data = data,
                               .bytes = height * width * channels,
                               .type = MORSEL_UINT8,
                               .layout = MORSEL_CHANNELS_LAST,
                               .rank = 4,
                               .dims = {1, height, width, channels},
                               .scale = 1};
    return view;
}

static uint32_t hash(const uint8_t *bytes, size_t count) {
    uint32_t mark = 2166136261u;
    for (size_t i = 0; i < count; i++) mark = (mark ^ bytes[i]) * 16777619u;
    return mark;
}

/* Runs with scratch of exactly the right size, `shift` bytes off alignment, between guards. */
static enum morsel_error run_guarded(const struct morsel_model *model, const uint8_t *rgb, uint32_t width, uint32_t height, size_t stride,
                                     const struct morsel_view *view, size_t shift) {
    enum { GUARD = 64 };
    size_t bytes = morsel_picture_bytes(model, width, height);
    uint8_t *memory = must_alloc(bytes + 2 * GUARD + shift);
    uint8_t *scratch = memory + GUARD + shift;
    memset(memory, 0xa5, bytes + 2 * GUARD + shift);
    enum morsel_error error = morsel_picture(model, rgb, stride * (height - 1) + 3 * width, width, height, stride, scratch, bytes, view, 0);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(scratch[-1 - (ptrdiff_t)i], 0xa5);
        assert_int_equal(scratch[bytes + i], 0xa5);
    }
    free(memory);
    return error;
}

static void run_golden(const struct golden *g, size_t padding, size_t shift, uint8_t *out) {
    struct rule_blob blob;
    struct morsel_model model = open_rule(&blob, &g->rule);
    size_t stride = 3 * g->width + padding;
    uint8_t *rgb = noise(g->width, g->height, stride);
    struct morsel_view view = last_view(out, g->out_height, g->out_width, channels_of(&g->rule));
    assert_int_equal(run_guarded(&model, rgb, g->width, g->height, stride, &view, shift), MORSEL_OK);
    free(rgb);
}

static void gives_pillows_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        size_t bytes = goldens[i].out_height * goldens[i].out_width * channels_of(&goldens[i].rule);
        for (size_t shift = 0; shift < 4; shift++) {
            uint8_t *out = must_alloc(bytes);
            run_golden(&goldens[i], shift * 5, shift, out);
            if (hash(out, bytes) != goldens[i].hash) fail_msg("golden %zu, scratch off by %zu", i, shift);
            free(out);
        }
    }
}

/* 4 -> 2: the left pixel's centre is at 1.0 and the triangle reaches 2 to each side, so pixels 0, 1, 2 (at 0.5, 1.5, 2.5) weigh 3:3:1. */
static void matches_a_sum_by_hand(void **state) {
    (void)state;
    static const uint8_t rgb[12] = {0, 10, 255, 70, 10, 255, 140, 10, 255, 210, 10, 255};
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_EXACT, 1, 2, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
    struct rule_blob blob;
    struct morsel_model model = open_rule(&blob, &rule);
    uint8_t out[6];
    struct morsel_view view = last_view(out, 1, 2, 3);
    assert_int_equal(run_guarded(&model, rgb, 4, 1, 12, &view, 0), MORSEL_OK);
    static const uint8_t expected[6] = {50, 10, 255, 160, 10, 255}; /* (3 * 0 + 3 * 70 + 140) / 7 and its mirror */
    assert_memory_equal(out, expected, 6);
}

static void linear_is_opencvs_within_one(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct morsel_blob_picture rule = {.resize = MORSEL_RESIZE_EXACT | MORSEL_FILTER_LINEAR << MORSEL_RESIZE_FILTER_SHIFT,
                                           .resize_height = s->out_height,
                                           .resize_width = s->out_width,
                                           .scale = 1,
                                           .std = {1, 1, 1}};
        struct rule_blob blob;
        struct morsel_model model = open_rule(&blob, &rule);
        uint8_t *rgb = noise(s->width, s->height, 3 * s->width), out[105];
        struct morsel_view view = last_view(out, s->out_height, s->out_width, 3);
        assert_int_equal(run_guarded(&model, rgb, s->width, s->height, 3 * s->width, &view, 0), MORSEL_OK);
        for (uint32_t k = 0; k < view.bytes; k++) assert_true(abs(out[k] - s->values[k]) <= 1);
        free(rgb);
    }
}

static void flat_pictures_stay_flat(void **state) {
    (void)state;
    for (uint32_t level = 0; level < 256; level += 51) {
        for (uint32_t size = 1; size < 70; size += 4) {
            struct morsel_blob_picture rule = {0, MORSEL_RESIZE_EXACT, size, 70 - size, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
            struct rule_blob blob;
            struct morsel_model model = open_rule(&blob, &rule);
            uint8_t rgb[33 * 21 * 3], *out = must_alloc(size * (70 - size) * 3);
            memset(rgb, (int)level, sizeof rgb);
            struct morsel_view view = last_view(out, size, 70 - size, 3);
            assert_int_equal(run_guarded(&model, rgb, 33, 21, 99, &view, 1), MORSEL_OK);
            for (uint32_t i = 0; i < view.bytes; i++) assert_int_equal(out[i], level);
            free(out);
        }
    }
}

static void asks_for_exactly_the_scratch(void **state) {
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        const struct golden *g = &goldens[i];
        struct rule_blob blob;
        struct morsel_model model = open_rule(&blob, &g->rule);
        uint8_t *rgb = noise(g->width, g->height, 3 * g->width);
        uint8_t *out = must_alloc(g->out_height * g->out_width * 3);
        struct morsel_view view = last_view(out, g->out_height, g->out_width, channels_of(&g->rule));
        size_t bytes = morsel_picture_bytes(&model, g->width, g->height), rgb_bytes = (size_t)3 * g->width * g->height;
        uint8_t *scratch = must_alloc(bytes);
        assert_int_equal(morsel_picture(&model, rgb, rgb_bytes, g->width, g->height, 0, scratch, bytes - 1, &view, 0), MORSEL_ERR_SCRATCH);
        assert_int_equal(morsel_picture(&model, rgb, rgb_bytes, g->width, g->height, 0, scratch, bytes, &view, 0), MORSEL_OK);
        free(scratch);
        free(out);
        free(rgb);
    }
}

static void scratch_follows_the_stated_formula(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_EXACT, 10, 20, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    assert_int_equal(morsel_picture_bytes(&model, 20, 10), 3 + 60);
    assert_int_equal(morsel_picture_bytes(&model, 20, 25), 3 + 4 * 5 + 60 * 5 + 60);
    assert_int_equal(morsel_picture_bytes(&model, 50, 10), 3 + 4 * 20 * (2 + 8) + 60);
    assert_int_equal(morsel_picture_bytes(&model, 50, 25), 3 + 4 * 20 * (2 + 8) + 4 * 5 + 60 * 5 + 60);
    assert_int_equal(morsel_picture_bytes(&model, 21, 25), 3 + 4 * 20 * (2 + 4) + 4 * 5 + 21 * 3 + 60); /* down first: 15 > 2 * 1 */
    assert_int_equal(morsel_picture_bytes(&model, 5, 5), 3 + 4 * 20 * (2 + 4) + 4 * 2 + 60 * 2 + 60);
    blob.rule.channels = MORSEL_CHANNELS_GRAY;
    assert_int_equal(morsel_picture_bytes(&model, 50, 25), 3 + 4 * 20 * (2 + 8) + 4 * 5 + 20 * 5 + 50 + 20);
}

static void refuses_sizes_out_of_range(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_SHORT_SIDE, 32768, 32768, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    assert_int_equal(morsel_picture_bytes(&model, 0, 5), 0);
    assert_int_equal(morsel_picture_bytes(&model, 5, 0), 0);
    assert_int_equal(morsel_picture_bytes(&model, 32769, 5), 0);
    assert_int_equal(morsel_picture_bytes(&model, 5, 32769), 0);
    assert_int_equal(morsel_picture_bytes(&model, 32768, 1), 0); /* 2^30 columns */
    assert_true(morsel_picture_bytes(&model, 32768, 32768) > 0);
    blob.rule.crop_height = blob.rule.crop_width = 8;
    assert_true(morsel_picture_bytes(&model, 32768, 1) > 0);
    blob.header.picture.count = 0;
    assert_int_equal(morsel_picture_bytes(&model, 5, 5), 0);
    blob.header.picture.count = 1;
    model.opened = 0;
    assert_int_equal(morsel_picture_bytes(&model, 5, 5), 0);
    assert_int_equal(morsel_picture_bytes(NULL, 5, 5), 0);
}

/* The longest picture there is, blown up so that its columns count to 2^30, with a crop in the middle. */
static void takes_the_most_extreme_picture(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_SHORT_SIDE, 32768, 32768, 2, 4, MORSEL_CHANNELS_RGB, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    uint8_t *rgb = must_alloc(3 * 32768), out[24];
    for (size_t x = 0; x < 32768; x++) memset(rgb + 3 * x, x < 16384 ? 40 : 200, 3);
    struct morsel_view view = last_view(out, 2, 4, 3);
    assert_int_equal(run_guarded(&model, rgb, 32768, 1, 3 * 32768, &view, 3), MORSEL_OK);
    for (size_t i = 0; i < 24; i++) assert_int_equal(out[i], 120); /* the middle of the edge between the two */
    free(rgb);
}

static void writes_each_layout(void **state) {
    (void)state;
    const struct golden *g = &goldens[5];
    uint32_t h = g->out_height, w = g->out_width, n = h * w * 3;
    uint8_t *last = must_alloc(n), *other = must_alloc(n), *rgb = noise(g->width, g->height, 3 * g->width);
    struct rule_blob blob;
    struct morsel_model model = open_rule(&blob, &g->rule);
    struct morsel_view view = last_view(last, h, w, 3);
    assert_int_equal(run_guarded(&model, rgb, g->width, g->height, 3 * g->width, &view, 0), MORSEL_OK);

    struct morsel_view planes = {
        .data = other, .bytes = n, .type = MORSEL_UINT8, .layout = MORSEL_ROW_MAJOR, .rank = 3, .dims = {3, h, w}, .scale = 1};
    assert_int_equal(run_guarded(&model, rgb, g->width, g->height, 3 * g->width, &planes, 0), MORSEL_OK);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(other[i % 3 * h * w + i / 3], last[i]);

    struct morsel_view stated = {
        .data = other, .bytes = n, .type = MORSEL_UINT8, .layout = MORSEL_ROW_MAJOR, .rank = 4, .dims = {1, h, w, 3}, .scale = 1};
    assert_int_equal(run_guarded(&model, rgb, g->width, g->height, 3 * g->width, &stated, 0), MORSEL_OK);
    assert_memory_equal(other, last, n);
    stated.layout = MORSEL_CHANNELS_LAST;
    stated.dims[1] = 3, stated.dims[2] = h, stated.dims[3] = w;
    assert_int_equal(run_guarded(&model, rgb, g->width, g->height, 3 * g->width, &stated, 0), MORSEL_ERR_PICTURE);
    free(last), free(other), free(rgb);
}

static void fills_one_image_of_a_batch(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_BGR, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    static const uint8_t rgb[6] = {1, 2, 3, 4, 5, 6};
    uint8_t out[18], scratch[64];
    struct morsel_view view = last_view(out, 1, 2, 3);
    view.dims[0] = 3, view.bytes = 18;
    memset(out, 99, sizeof out);
    assert_int_equal(morsel_picture(&model, rgb, sizeof rgb, 2, 1, 6, scratch, sizeof scratch, &view, 1), MORSEL_OK);
    static const uint8_t expected[18] = {99, 99, 99, 99, 99, 99, 3, 2, 1, 6, 5, 4, 99, 99, 99, 99, 99, 99};
    assert_memory_equal(out, expected, sizeof out);
    assert_int_equal(morsel_picture(&model, rgb, sizeof rgb, 2, 1, 6, scratch, sizeof scratch, &view, 3), MORSEL_ERR_ARGUMENT);
}

/* All 256 pixel values in one picture 256 wide. */
static void ramp(uint8_t rgb[768]) {
    for (int i = 0; i < 768; i++) rgb[i] = (uint8_t)(i / 3);
}

static const struct morsel_blob_picture imagenet = {
    0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_RGB, 0.00392156862745098f, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};

static float normal(int pixel, int channel) {
    volatile float scaled = (float)pixel * imagenet.scale, moved = scaled - imagenet.mean[channel];
    return moved / imagenet.std[channel];
}

static void quantizes_as_onnx_does(void **state) {
    (void)state;
    static const struct {
        enum morsel_type type;
        float scale;
        int32_t zero;
    } numbers[] = {{MORSEL_UINT8, 0.0186584f, 114},
                   {MORSEL_UINT8, 0.009f, 0},
                   {MORSEL_INT8, 0.0186584f, -14},
                   {MORSEL_INT8, 1e-30f, 5},
                   {MORSEL_INT8, 1e30f, 5}};
    struct rule_blob blob;
    struct morsel_model model = open_rule(&blob, &imagenet);
    uint8_t rgb[768], out[768];
    ramp(rgb);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        struct morsel_view view = last_view(out, 1, 256, 3);
        view.type = numbers[k].type, view.scale = numbers[k].scale, view.zero_point = numbers[k].zero;
        assert_int_equal(run_guarded(&model, rgb, 256, 1, 768, &view, 0), MORSEL_OK);
        float low = view.type == MORSEL_INT8 ? -128 : 0;
        for (int i = 0; i < 768; i++) {
            float value = rintf(normal(i / 3, i % 3) / view.scale) + (float)view.zero_point;
            float limited = fminf(fmaxf(value, low), low + 255);
            assert_int_equal(out[i], (uint8_t)(int)limited);
        }
    }
}

static void writes_floats_for_a_float_input(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_model model = open_rule(&blob, &imagenet);
    uint8_t rgb[768];
    float out[768];
    ramp(rgb);
    struct morsel_view view = last_view(out, 1, 256, 3);
    view.type = MORSEL_FLOAT32, view.bytes = sizeof out;
    assert_int_equal(run_guarded(&model, rgb, 256, 1, 768, &view, 0), MORSEL_OK);
    for (int i = 0; i < 768; i++) {
        float expected = normal(i / 3, i % 3);
        assert_memory_equal(&out[i], &expected, sizeof expected);
    }
}

static void refuses_what_does_not_fit(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    uint8_t rgb[300] = {0}, out[300], scratch[400];
    struct morsel_view good = last_view(out, 10, 10, 3), view = good;
#define PUT(width, height, stride, image) \
    morsel_picture(&model, rgb, sizeof rgb, width, height, stride, scratch, sizeof scratch, &view, image)
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_OK);
    assert_int_equal(PUT(10, 9, 30, 0), MORSEL_ERR_PICTURE);
    assert_int_equal(PUT(9, 10, 30, 0), MORSEL_ERR_PICTURE);
    assert_int_equal(PUT(10, 10, 29, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(PUT(10, 10, 30, 1), MORSEL_ERR_ARGUMENT);
    assert_int_equal(PUT(0, 10, 30, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(PUT(10, 32769, 30, 0), MORSEL_ERR_ARGUMENT);
    view.type = (enum morsel_type)4;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good, view.rank = UINT32_MAX;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good;
    view.dims[3] = 1;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good, view.rank = 2;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good, view.type = MORSEL_INT32;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good, view.bytes = 299;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    view = good, view.data = NULL;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_ARGUMENT);
    view = good, blob.header.picture.count = 0;
    assert_int_equal(PUT(10, 10, 30, 0), MORSEL_ERR_PICTURE);
    assert_int_equal(morsel_picture(&model, NULL, sizeof rgb, 10, 10, 30, scratch, sizeof scratch, &view, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_picture(&model, rgb, sizeof rgb, 10, 10, 30, NULL, 0, &view, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_picture(NULL, rgb, sizeof rgb, 10, 10, 30, scratch, sizeof scratch, &view, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_picture(&model, rgb, sizeof rgb, 10, 10, 30, scratch, sizeof scratch, NULL, 0), MORSEL_ERR_ARGUMENT);
}

/* The picture ends with the last pixel of its last row: one byte less is refused, and nothing is written. */
static void pictures_that_end_too_soon_are_refused(void **state) {
    (void)state;
    struct rule_blob blob;
    struct morsel_blob_picture rule = {0, MORSEL_RESIZE_NONE, 0, 0, 0, 0, MORSEL_CHANNELS_RGB, PLAIN};
    struct morsel_model model = open_rule(&blob, &rule);
    uint8_t out[300], scratch[400];
    struct morsel_view view = last_view(out, 10, 10, 3);
    memset(out, 0xa5, sizeof out);
    const struct { size_t stride, bytes; } cases[] = {{0, 300}, {30, 300}, {37, 9 * 37 + 30}};
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *rgb = noise(10, 10, cases[i].stride ? cases[i].stride : 30);
        size_t bytes = cases[i].bytes, stride = cases[i].stride;
        for (size_t few = 0; few < bytes; few += bytes - 1)
            assert_int_equal(morsel_picture(&model, rgb, few, 10, 10, stride, scratch, sizeof scratch, &view, 0), MORSEL_ERR_CAPACITY);
        for (unsigned k = 0; k < sizeof out && !i; k++) assert_int_equal(out[k], 0xa5);
        assert_int_equal(morsel_picture(&model, rgb, bytes, 10, 10, stride, scratch, sizeof scratch, &view, 0), MORSEL_OK);
        assert_int_equal(morsel_picture(&model, rgb, SIZE_MAX, 10, 10, stride, scratch, sizeof scratch, &view, 0), MORSEL_OK);
        for (unsigned y = 0; y < 10; y++) assert_memory_equal(out + 30 * y, rgb + y * (stride ? stride : 30), 30);
        free(rgb);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_that_end_too_soon_are_refused),
        cmocka_unit_test(gives_pillows_bytes),
        cmocka_unit_test(linear_is_opencvs_within_one),
        cmocka_unit_test(matches_a_sum_by_hand),
        cmocka_unit_test(flat_pictures_stay_flat),
        cmocka_unit_test(asks_for_exactly_the_scratch),
        cmocka_unit_test(scratch_follows_the_stated_formula),
        cmocka_unit_test(refuses_sizes_out_of_range),
        cmocka_unit_test(takes_the_most_extreme_picture),
        cmocka_unit_test(writes_each_layout),
        cmocka_unit_test(fills_one_image_of_a_batch),
        cmocka_unit_test(quantizes_as_onnx_does),
        cmocka_unit_test(writes_floats_for_a_float_input),
        cmocka_unit_test(refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
