/* SPDX-License-Identifier: MIT */
/* morsel_frame(): the bytes of the same picture in RGB, whatever its pixels, region and turn; colors beside real ones; points; refusals. */
#include "core/blob.h"
#include "core/picture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint32_t state = 1;

static uint32_t chance(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void *must_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    assert_non_null(p);
    return p;
}

static const char *const names[] = {"RGB", "BGR", "RGBA", "BGRA", "GRAY", "NV12", "NV21", "I420"};

/* Noise in planes of exactly the bytes that they need. */
static struct morsel_frame noise(enum morsel_pixels pixels, enum morsel_colors colors, uint32_t width, uint32_t height) {
    struct morsel_frame f = {.size = sizeof f, .pixels = pixels, .colors = colors, .width = width, .height = height};
    static const uint32_t bytes[] = {3, 3, 4, 4, 1, 1, 1, 1}, planes[] = {1, 1, 1, 1, 1, 2, 2, 3};
    for (uint32_t k = 0; k < planes[pixels]; k++) {
        uint32_t across = k ? (width + 1) / 2 * (pixels == MORSEL_I420 ? 1 : 2) : bytes[pixels] * width,
                 down = k ? (height + 1) / 2 : height;
        size_t stride = across + chance(5);
        f.planes[k].bytes = stride * (down - 1) + across;
        f.planes[k].stride = stride == across && chance(2) ? 0 : stride;
        uint8_t *data = must_alloc(f.planes[k].bytes);
        for (size_t i = 0; i < f.planes[k].bytes; i++) data[i] = (uint8_t)(chance(4) ? chance(256) : 255 * chance(2));
        f.planes[k].data = data;
    }
    return f;
}

static void release(struct morsel_frame *frame) {
    for (int k = 0; k < 3; k++) free((void *)(uintptr_t)frame->planes[k].data);
}

static const struct morsel_blob_picture as_it_is = {.channels = MORSEL_CHANNELS_RGB, .scale = 1, .std = {1, 1, 1}};

/* --- What a pixel is, by real numbers --- */

static uint8_t sample(const struct morsel_frame *f, uint32_t plane, uint32_t step, uint32_t offset, uint32_t x, uint32_t y) {
    uint32_t width = plane ? (f->width + 1) / 2 : f->width;
    size_t stride = f->planes[plane].stride ? f->planes[plane].stride : (size_t)step * width;
    return f->planes[plane].data[y * stride + step * x + offset];
}

/* ITU-R BT.601-7 and BT.709-6: red and blue weights of luminance; the ranges of 8 bits. */
static void real_yuv(const struct morsel_frame *f, uint32_t x, uint32_t y, double rgb[3]) {
    bool full = f->colors % 2, later = f->colors >= MORSEL_BT709;
    double kr = later ? 0.2126 : 0.299, kb = later ? 0.0722 : 0.114, kg = 1 - kr - kb;
    uint32_t pairs = f->pixels != MORSEL_I420;
    double u = pairs ? sample(f, 1, 2, f->pixels == MORSEL_NV21, x / 2, y / 2) : sample(f, 1, 1, 0, x / 2, y / 2);
    double v = pairs ? sample(f, 1, 2, f->pixels == MORSEL_NV12, x / 2, y / 2) : sample(f, 2, 1, 0, x / 2, y / 2);
    double bright = sample(f, 0, 1, 0, x, y);
    bright = full ? bright : (bright - 16) * 255 / 219;
    u = (u - 128) * (full ? 1 : 255.0 / 224), v = (v - 128) * (full ? 1 : 255.0 / 224);
    rgb[0] = bright + 2 * (1 - kr) * v;
    rgb[1] = bright - 2 * kr * (1 - kr) / kg * v - 2 * kb * (1 - kb) / kg * u;
    rgb[2] = bright + 2 * (1 - kb) * u;
}

static void real_pixel(const struct morsel_frame *f, uint32_t x, uint32_t y, double rgb[3]) {
    if (f->pixels >= MORSEL_NV12) {
        real_yuv(f, x, y, rgb);
        return;
    }
    uint32_t step = f->pixels == MORSEL_GRAY ? 1 : f->pixels >= MORSEL_RGBA ? 4 : 3;
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = sample(f, 0, step, step == 1 ? 0 : f->pixels % 2 ? 2 - c : c, x, y); /* BGR and BGRA are odd */
}

/* The whole frame in RGB, by morsel_frame(); each value within 0.53 of the real one. */
static uint8_t *to_rgb(const struct morsel_frame *f) {
    uint32_t bytes = 3 * f->width * f->height;
    uint8_t *rgb = must_alloc(bytes), *scratch = must_alloc(morsel_rule_frame_bytes(&as_it_is, f));
    struct morsel_view view = {
        .data = rgb, .bytes = bytes, .layout = MORSEL_CHANNELS_LAST, .rank = 3, .dims = {f->height, f->width, 3}, .scale = 1};
    assert_int_equal(morsel_frame_by_rule(&as_it_is, f, scratch, morsel_rule_frame_bytes(&as_it_is, f), &view, 0), MORSEL_OK);
    free(scratch);
    for (uint32_t i = 0; i < bytes / 3; i++) {
        double real[3];
        real_pixel(f, i % f->width, i / f->width, real);
        for (uint32_t c = 0; c < 3; c++)
            if (fabs(rgb[3 * i + c] - fmin(fmax(real[c], 0), 255)) > (f->pixels >= MORSEL_NV12 ? 0.53 : 0))
                fail_msg("%s colors %d, channel %u: %d, real %g", names[f->pixels], f->colors, c, rgb[3 * i + c], real[c]);
    }
    return rgb;
}

static void pixels_are_what_real_numbers_say(void **unused) {
    (void)unused;
    for (uint32_t n = 0; n < 256; n++) {
        struct morsel_frame f = noise((enum morsel_pixels)(n % 8), (enum morsel_colors)(n / 8 % 4), 1 + chance(40), 1 + chance(40));
        free(to_rgb(&f));
        release(&f);
    }
}

/* Every Y with every U, and every Y with every fourth pair of U and V. */
static void all_colors_are_within_the_stated_error(void **unused) {
    (void)unused;
    uint8_t luminance[256 * 2], u[128], v[128];
    for (uint32_t i = 0; i < sizeof luminance; i++) luminance[i] = (uint8_t)i;
    for (uint32_t n = 0; n < 4 * 256 * 52; n++) {
        struct morsel_frame f = {.size = sizeof f,
                                 .pixels = MORSEL_I420,
                                 .colors = (enum morsel_colors)(n % 4),
                                 .width = 256,
                                 .height = 2,
                                 .planes = {{luminance, sizeof luminance, 0}, {u, sizeof u, 0}, {v, sizeof v, 0}}};
        memset(u, (int)(n / 4 % 256), sizeof u);
        memset(v, (int)(n / 1024 * 5), sizeof v);
        if (n % 12 < 4) free(to_rgb(&f));
    }
}

/* --- Regions, turns, mirrors, by moving pixels one by one --- */

static uint8_t *turned(const struct morsel_frame *f, const uint8_t *rgb, uint32_t *width, uint32_t *height) {
    uint32_t w = f->region_width ? f->region_width : f->width - f->left, h = f->region_height ? f->region_height : f->height - f->top;
    *width = f->turn % 180 ? h : w;
    *height = f->turn % 180 ? w : h;
    uint8_t *out = must_alloc((size_t)3 * w * h);
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            uint32_t to_x = f->turn == 90 ? h - 1 - y : f->turn == 180 ? w - 1 - x : f->turn == 270 ? y : x;
            uint32_t to_y = f->turn == 90 ? x : f->turn == 180 ? h - 1 - y : f->turn == 270 ? w - 1 - x : y;
            if (f->mirror) to_x = *width - 1 - to_x;
            memcpy(out + 3 * ((size_t)to_y * *width + to_x), rgb + 3 * ((size_t)(y + f->top) * f->width + x + f->left), 3);
        }
    return out;
}

static struct morsel_blob_picture any_rule(void) {
    struct morsel_blob_picture rule = {
        .resize = chance(4), .channels = chance(3), .scale = 1 / 255.0f, .mean = {0.5f, 0.4f, 0.3f}, .std = {0.3f, 0.2f, 0.1f}};
    uint32_t mode = rule.resize;
    rule.resize_height = rule.resize_width = 1 + chance(30);
    if (mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX) rule.resize_width = 1 + chance(30);
    if (mode != MORSEL_RESIZE_NONE) rule.resize |= chance(3) << MORSEL_RESIZE_FILTER_SHIFT;
    if (mode == MORSEL_RESIZE_LETTERBOX) rule.resize |= chance(2) * MORSEL_RESIZE_CORNER | chance(1 << 23) << MORSEL_RESIZE_FILL_SHIFT;
    else if (chance(2)) rule.crop_height = 1 + chance(30), rule.crop_width = 1 + chance(30);
    return rule;
}

static void size_of(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height, uint32_t *w, uint32_t *h) {
    uint32_t mode = morsel_resize_mode(rule);
    bool keeps = mode == MORSEL_RESIZE_NONE, shorter = mode == MORSEL_RESIZE_SHORT_SIDE;
    *w = rule->crop_width            ? rule->crop_width
         : keeps                     ? width
         : shorter && width > height ? rule->resize_width * width / height
                                     : rule->resize_width;
    *h = rule->crop_height           ? rule->crop_height
         : keeps                     ? height
         : shorter && height > width ? rule->resize_width * height / width
                                     : rule->resize_height;
}

static void any_turn(struct morsel_frame *f) {
    f->turn = 90 * chance(4);
    f->mirror = chance(2);
    if (chance(4) == 0) return;
    f->left = chance(f->width);
    f->top = chance(f->height);
    if (chance(4) == 0) return;
    f->region_width = 1 + chance(f->width - f->left);
    f->region_height = 1 + chance(f->height - f->top);
}

/* In scratch of exactly the stated size, between guards, off alignment; one byte less is refused. */
static void put_guarded(const struct morsel_blob_picture *rule, const struct morsel_frame *f, const struct morsel_view *view) {
    enum { GUARD = 16 };
    size_t bytes = morsel_rule_frame_bytes(rule, f), shift = chance(4);
    uint8_t *memory = must_alloc(bytes + 2 * GUARD + shift), *scratch = memory + GUARD + shift;
    memset(memory, 0xa5, bytes + 2 * GUARD + shift);
    assert_int_equal(morsel_frame_by_rule(rule, f, scratch, bytes - 1, view, 0), MORSEL_ERR_SCRATCH);
    assert_int_equal(morsel_frame_by_rule(rule, f, scratch, bytes, view, 0), MORSEL_OK);
    for (int i = 1; i <= GUARD; i++) assert_true(scratch[-i] == 0xa5 && scratch[bytes + (size_t)i - 1] == 0xa5);
    free(memory);
}

static void one_frame(enum morsel_pixels pixels) {
    struct morsel_frame f = noise(pixels, (enum morsel_colors)chance(4), 1 + chance(50), 1 + chance(50));
    any_turn(&f);
    struct morsel_frame whole = f;
    whole.left = whole.top = whole.region_width = whole.region_height = whole.turn = whole.mirror = 0;
    uint32_t width, height, w, h;
    uint8_t *rgb = to_rgb(&whole), *picture = turned(&f, rgb, &width, &height);
    struct morsel_blob_picture rule = any_rule();
    size_of(&rule, width, height, &w, &h);
    uint32_t channels = rule.channels == MORSEL_CHANNELS_GRAY ? 1 : 3, bytes = w * h * channels;
    bool last = chance(2);
    struct morsel_view view = {.bytes = bytes,
                               .layout = last ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR,
                               .rank = 3,
                               .scale = 0.02f,
                               .zero_point = 114,
                               .dims = {last ? h : channels, last ? w : h, last ? channels : w}};
    uint8_t *got = must_alloc(bytes), *want = must_alloc(bytes), *scratch = must_alloc(morsel_rule_bytes(&rule, width, height));
    memset(got, 1, bytes), memset(want, 2, bytes);
    view.data = want;
    assert_int_equal(morsel_picture_by_rule(&rule, picture, (size_t)3 * width * height, width, height, 0, scratch,
                                            morsel_rule_bytes(&rule, width, height), &view, 0),
                     MORSEL_OK);
    view.data = got;
    put_guarded(&rule, &f, &view);
    if (memcmp(got, want, bytes))
        fail_msg("%s %ux%u from %u,%u %ux%u turn %u mirror %u, mode %u to %ux%u, channels %u", names[pixels], f.width, f.height, f.left,
                 f.top, f.region_width, f.region_height, f.turn, f.mirror, rule.resize, w, h, rule.channels);
    free(got), free(want), free(scratch), free(picture), free(rgb);
    release(&f);
}

static void frames_give_the_bytes_of_their_picture(void **unused) {
    (void)unused;
    for (uint32_t n = 0; n < 4000; n++) one_frame((enum morsel_pixels)(n % 8));
}

/* --- Points --- */

/* Where a point of one side of the turned region comes to lie in the input, by the words of the rule. */
static double forward(const struct morsel_blob_picture *rule, double at, uint32_t in, uint32_t scaled, uint32_t size) {
    double place = at * scaled / in;
    if (size > scaled)
        return place +
               (morsel_resize_mode(rule) == MORSEL_RESIZE_LETTERBOX && rule->resize & MORSEL_RESIZE_CORNER ? 0 : (size - scaled) / 2);
    return place - rint((scaled - size) / 2.0); /* to even */
}

/* The size of the picture behind its resize, before crop or box. */
static void scaled_of(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height, uint32_t *w, uint32_t *h) {
    struct morsel_blob_picture whole = *rule;
    whole.crop_width = whole.crop_height = 0;
    size_of(&whole, width, height, w, h);
    if (morsel_resize_mode(rule) != MORSEL_RESIZE_LETTERBOX) return;
    double most = fmin((double)rule->resize_width / width, (double)rule->resize_height / height);
    *w = (uint32_t)fmax(rint(width * most), 1);
    *h = (uint32_t)fmax(rint(height * most), 1);
}

static void points_find_the_way_back(void **unused) {
    (void)unused;
    for (uint32_t n = 0; n < 3000; n++) {
        struct morsel_frame f = {.size = sizeof f, .width = 1 + chance(90), .height = 1 + chance(90)};
        struct morsel_blob_picture rule = any_rule();
        any_turn(&f);
        uint32_t w = f.region_width ? f.region_width : f.width - f.left, h = f.region_height ? f.region_height : f.height - f.top;
        uint32_t width = f.turn % 180 ? h : w, height = f.turn % 180 ? w : h, sizes[2], scaled[2];
        double x = chance(1000) / 999.0 * w, y = chance(1000) / 999.0 * h;
        double to_x = f.turn == 90 ? h - y : f.turn == 180 ? w - x : f.turn == 270 ? y : x;
        double to_y = f.turn == 90 ? x : f.turn == 180 ? h - y : f.turn == 270 ? w - x : y;
        if (f.mirror) to_x = width - to_x;
        size_of(&rule, width, height, &sizes[0], &sizes[1]);
        scaled_of(&rule, width, height, &scaled[0], &scaled[1]);
        float points[4] = {0, 0, (float)forward(&rule, to_x, width, scaled[0], sizes[0]),
                           (float)forward(&rule, to_y, height, scaled[1], sizes[1])};
        assert_int_equal(morsel_points_by_rule(&rule, &f, points, 2), MORSEL_OK);
        if (fabs(points[2] - x - f.left) > 0.01 || fabs(points[3] - y - f.top) > 0.01)
            fail_msg("%ux%u turn %u mirror %u, rule 0x%x: %g %g, not %g %g", w, h, f.turn, f.mirror, rule.resize, points[2], points[3],
                     x + f.left, y + f.top);
    }
}

static void points_of_no_frame_are_refused(void **unused) {
    (void)unused;
    struct morsel_frame f = {.size = sizeof f, .width = 4, .height = 4};
    struct morsel_model model = {0};
    float point[2] = {1, 2};
    assert_int_equal(morsel_points_by_rule(&as_it_is, &f, NULL, 1), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points_by_rule(&as_it_is, NULL, point, 1), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_points_by_rule(NULL, &f, point, 1), MORSEL_ERR_PICTURE);
    assert_int_equal(morsel_frame_points(NULL, &f, point, 1), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_frame_points(&model, &f, point, 1), MORSEL_ERR_PICTURE);
    f.turn = 1;
    assert_int_equal(morsel_points_by_rule(&as_it_is, &f, point, 1), MORSEL_ERR_OPTIONS);
    assert_true(point[0] == 1 && point[1] == 2);
}

/* --- Refusals --- */

static enum morsel_error put(const struct morsel_frame *f) {
    static uint8_t out[8 * 8 * 3], scratch[4096];
    struct morsel_blob_picture rule = as_it_is;
    rule.crop_width = rule.crop_height = 8;
    struct morsel_view view = {.data = out, .bytes = sizeof out, .rank = 3, .dims = {3, 8, 8}, .scale = 1};
    enum morsel_error error = morsel_frame_by_rule(&rule, f, scratch, sizeof scratch, &view, 0);
    if (error != MORSEL_OK && error != MORSEL_ERR_CAPACITY && error != MORSEL_ERR_ARGUMENT)
        assert_int_equal(morsel_rule_frame_bytes(&rule, f), 0);
    if (error == MORSEL_OK) assert_true(morsel_rule_frame_bytes(&rule, f) > 0);
    return error;
}

static void fields_out_of_range_are_refused(void **unused) {
    (void)unused;
    struct morsel_frame good = noise(MORSEL_RGB, MORSEL_BT601, 9, 7), f;
#define REFUSED(field, value, error) (f = good, f.field = (value), assert_int_equal(put(&f), error))
    assert_int_equal(put(&good), MORSEL_OK);
    assert_int_equal(put(NULL), MORSEL_ERR_ARGUMENT);
    REFUSED(size, 3, MORSEL_ERR_OPTIONS);
    REFUSED(pixels, (enum morsel_pixels)8, MORSEL_ERR_OPTIONS);
    REFUSED(pixels, (enum morsel_pixels) - 1, MORSEL_ERR_OPTIONS);
    REFUSED(colors, (enum morsel_colors)4, MORSEL_ERR_OPTIONS);
    REFUSED(turn, 45, MORSEL_ERR_OPTIONS);
    REFUSED(turn, 360, MORSEL_ERR_OPTIONS);
    REFUSED(mirror, 2, MORSEL_ERR_OPTIONS);
    REFUSED(width, 0, MORSEL_ERR_ARGUMENT);
    REFUSED(height, 32769, MORSEL_ERR_ARGUMENT);
    REFUSED(left, 9, MORSEL_ERR_ARGUMENT);
    REFUSED(top, 7, MORSEL_ERR_ARGUMENT);
    REFUSED(region_width, 4, MORSEL_ERR_ARGUMENT); /* of no height */
    REFUSED(region_height, 4, MORSEL_ERR_ARGUMENT);
    REFUSED(planes[0].data, NULL, MORSEL_ERR_ARGUMENT);
    REFUSED(planes[0].stride, 26, MORSEL_ERR_ARGUMENT);
    REFUSED(planes[0].stride, SIZE_MAX / 2, MORSEL_ERR_ARGUMENT);
    REFUSED(planes[0].bytes, good.planes[0].bytes - 1, MORSEL_ERR_CAPACITY);
    f = good, f.left = 3, f.top = 2, f.region_width = 6, f.region_height = 5;
    assert_int_equal(put(&f), MORSEL_OK);
    f.region_width = 7;
    assert_int_equal(put(&f), MORSEL_ERR_ARGUMENT);
    f.region_width = 6, f.region_height = 6;
    assert_int_equal(put(&f), MORSEL_ERR_ARGUMENT);
    f.region_height = UINT32_MAX;
    assert_int_equal(put(&f), MORSEL_ERR_ARGUMENT);
    release(&good);
}

static void each_plane_has_all_its_bytes(void **unused) {
    (void)unused;
    for (uint32_t n = MORSEL_NV12; n <= MORSEL_I420; n++) {
        struct morsel_frame good = noise((enum morsel_pixels)n, MORSEL_BT709, 9, 7), f;
        assert_int_equal(put(&good), MORSEL_OK);
        for (uint32_t k = 0; k < (n == MORSEL_I420 ? 3u : 2u); k++) {
            REFUSED(planes[k].bytes, good.planes[k].bytes - 1, MORSEL_ERR_CAPACITY);
            REFUSED(planes[k].data, NULL, MORSEL_ERR_ARGUMENT);
            REFUSED(planes[k].stride, n == MORSEL_I420 && k ? 4 : 8, MORSEL_ERR_ARGUMENT);
        }
        release(&good);
    }
}

/* A struct of an older or a newer header. */
static void frames_of_other_sizes(void **unused) {
    (void)unused;
    struct {
        struct morsel_frame frame;
        uint64_t later;
    } f = {.frame = noise(MORSEL_RGB, MORSEL_BT601, 9, 7)};
    f.frame.size = sizeof f;
    assert_int_equal(put(&f.frame), MORSEL_OK);
    f.later = 1;
    assert_int_equal(put(&f.frame), MORSEL_ERR_OPTIONS);
    f.frame.size = offsetof(struct morsel_frame, planes[1]);
    assert_int_equal(put(&f.frame), MORSEL_OK);
    f.frame.pixels = MORSEL_NV12; /* whose second plane lies behind */
    assert_int_equal(put(&f.frame), MORSEL_ERR_ARGUMENT);
    release(&f.frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_what_real_numbers_say),       cmocka_unit_test(all_colors_are_within_the_stated_error),
        cmocka_unit_test(frames_give_the_bytes_of_their_picture), cmocka_unit_test(points_find_the_way_back),
        cmocka_unit_test(points_of_no_frame_are_refused),         cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(each_plane_has_all_its_bytes),           cmocka_unit_test(frames_of_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
