/* SPDX-License-Identifier: MIT */
/* Proofs of core/picture.c and picture_rows.c: sizes, windows of pixels, scratch, rows of the picture, and where elements go. */
#include "core/picture.c"
#include "core/picture_rows.c"
#include "kernels/pixels.c"
#include "prove.h"

enum { RESIZED_MOST = 1 << 30 };

/* What plan_picture hands to plan_axis: prove_picture_sizes shows the sizes, and it checks the crop. */
static void any_axis(struct morsel_axis *a, uint32_t in, uint32_t out, uint32_t crop, uint32_t filter) {
    prove_assume(in >= 1 & in <= SIDE_MAX & out >= 1 & out <= RESIZED_MOST & crop <= SIDE_MAX);
    plan_axis(a, in, out, crop);
    plan_filter(a, filter);
}

/* A picture of 1 .. 2^15 by the same is resized to 1 .. 2^30 by the same. */
void prove_picture_sizes(uint32_t width, uint32_t height) {
    struct morsel_blob_picture rule;
    uint32_t w, h;
    prove_any(&rule);
    prove_assume(width >= 1 & width <= SIDE_MAX & height >= 1 & height <= SIDE_MAX & morsel_resize_mode(&rule) <= MORSEL_RESIZE_LETTERBOX);
    if (morsel_resize_mode(&rule) != MORSEL_RESIZE_NONE) {
        prove_assume(rule.resize_width >= 1 & rule.resize_width <= SIDE_MAX & rule.resize_height >= 1 & rule.resize_height <= SIDE_MAX);
        prove_assert((wide)rule.resize_width * width >= width & (wide)rule.resize_width * height >= height);
        prove_assert((wide)rule.resize_height * width >= width & (wide)rule.resize_height * width <= RESIZED_MOST);
        prove_assert((wide)rule.resize_width * width <= RESIZED_MOST & (wide)rule.resize_width * height <= RESIZED_MOST);
    }
    resized_size(&rule, width, height, &w, &h);
    prove_assert(w >= 1 & w <= RESIZED_MOST & h >= 1 & h <= RESIZED_MOST);
}

/* A share of a side: the nearest whole number, ties to even, that is no more than what its share is taken of. */
void prove_picture_share(uint32_t n, uint32_t d, uint32_t most) {
    prove_assume(n <= RESIZED_MOST & d >= 1 & d <= SIDE_MAX & most >= 1 & most <= SIDE_MAX);
    uint32_t got = rounded(n, d), whole = n / d, rest = n % d;
    uint32_t nearest_one = 2 * (wide)rest > d ? whole + 1 : 2 * (wide)rest < d ? whole : whole + whole % 2;
    prove_assert(got == (nearest_one ? nearest_one : 1));
    if ((wide)n <= (wide)most * d) prove_assert(got <= most);
}

/* What is visible is a part of the resized picture, and of the result. */
void prove_picture_axis(uint32_t in, uint32_t out, uint32_t crop, uint32_t filter) {
    struct morsel_axis a;
    any_axis(&a, in, out, crop, filter);
    prove_assert(a.visible >= 1 & (wide)a.first + a.visible <= a.out & (wide)a.pad + a.visible <= a.size);
    prove_assert(a.size <= RESIZED_MOST & a.taps <= a.in);
    prove_assert(crop == 0 | a.size == crop);
    prove_assert((a.taps == 0) == (a.in == a.out));
}

/* "y - pad < visible", modulo 2^32, is true exactly inside; the row that is then asked for is one of the resized picture. */
void prove_picture_inside(uint32_t in, uint32_t out, uint32_t crop, uint32_t y) {
    struct morsel_axis a;
    any_axis(&a, in, out, crop, 0);
    prove_assume(y < a.size);
    wide exact = (wide)y - a.pad;
    prove_assert(((exact & 0xffffffff) < a.visible) == (exact >= 0 & exact < a.visible));
    if (exact >= 0 & exact < a.visible) prove_assert(a.first + exact < a.out);
}

/* An axis, and a resized and a source pixel of it: what tap_weight() is asked. Each product is below 2^46. */
static void any_pixels(struct morsel_axis *a, uint32_t i, uint32_t x) {
    prove_any(a);
    prove_assume(a->in >= 1 & a->in <= SIDE_MAX & a->out >= 1 & a->out <= RESIZED_MOST & i < a->out & x < a->in);
    prove_assume((a->reach == a->out) | (a->reach == a->in & a->in > a->out));
    prove_assert((wide)x * a->out <= (wide)(SIDE_MAX - 1) * a->out);
    prove_assert((wide)i * a->in <= (wide)(RESIZED_MOST - 1) * a->in);
}

void prove_picture_products(uint32_t i, uint32_t x) {
    struct morsel_axis a;
    any_pixels(&a, i, x);
    wide across = ((wide)2 * x + 1) * a.out, down = ((wide)2 * i + 1) * a.in;
    prove_assert(across < (wide)1 << 47 & down < (wide)1 << 47);
    wide apart = across < down ? down - across : across - down;
    prove_assert(tap_weight(&a, i, x) == 2 * (wide)a.reach - apart);
}

/* The source pixel that the centre of resized pixel i lies in. */
static wide centre(const struct morsel_axis *a, uint32_t i) {
    return ((wide)2 * i + 1) * a->in / ((wide)2 * a->out);
}

/* It is one, and it weighs something. */
void prove_picture_centre(uint32_t i) {
    struct morsel_axis a;
    any_pixels(&a, i, 0);
    prove_assert((wide)i * a.in <= ((wide)a.out - 1) * a.in);
    wide x = centre(&a, i);
    prove_assert(x >= 0 & x < a.in);
    wide apart = (2 * x + 1) * a.out - ((wide)2 * i + 1) * a.in;
    prove_assert(apart <= a.out & apart >= -(wide)a.out);
    prove_assert(tap_weight(&a, i, (uint32_t)x) > 0);
}

/* A pixel on the left of the window of i is on the left of the next one's, too, and centres do not go back. */
void prove_picture_forward(uint32_t i, uint32_t x) {
    struct morsel_axis a;
    any_pixels(&a, i, x);
    prove_assume(i + (wide)1 < a.out);
    prove_assert(centre(&a, i) <= centre(&a, i + 1));
    prove_assume(tap_weight(&a, i, x) <= 0 & ((wide)2 * x + 1) * a.out <= ((wide)2 * i + 1) * a.in);
    prove_assert(tap_weight(&a, i + 1, x) <= 0);
}

/* Two pixels that weigh something are less than `taps` apart. */
void prove_picture_taps(uint32_t in, uint32_t out, uint32_t i, uint32_t x, uint32_t k, uint32_t filter) {
    struct morsel_axis a;
    any_axis(&a, in, out, 0, filter);
    prove_assume(a.taps > 1 & i < a.out & (wide)x + k < a.in);
    prove_assume(tap_weight(&a, i, x) > 0 & tap_weight(&a, i, x + k) > 0);
    prove_assert((wide)k * a.out < 2 * (wide)a.reach);
    prove_assert(k < a.taps);
}

static wide middle;

_Bool keeps_nearest_1(uint32_t x) {
    return x <= middle;
}

/* NEAREST: a pixel of the picture, the one that the centre lies in or that in front of it; pixels do not go back. */
void prove_picture_nearest(uint32_t i, uint32_t before) {
    struct morsel_axis a;
    any_pixels(&a, i, 0);
    prove_assume(a.back <= 1);
    prove_assert((wide)i * a.in <= ((wide)a.out - 1) * a.in);
    wide place = ((wide)2 * i + 1) * a.in - a.back;
    middle = place / ((wide)2 * a.out);
    prove_assert(middle >= 0 & middle < a.in & (place + 2 * (wide)a.in) / ((wide)2 * a.out) >= middle);
    prove_assume(before <= middle);
    wide x = nearest(&a, i, before);
    prove_assert(x == middle);
    wide apart = (2 * x + 1) * a.out - ((wide)2 * i + 1) * a.in;
    prove_assert(apart <= a.out & apart >= -(wide)a.out);
}

_Bool keeps_find_window_1(const uint32_t *first, uint32_t x) {
    return (x >= *first) & (x <= middle);
}

_Bool keeps_find_window_2(const struct morsel_axis *a, uint32_t x, uint32_t n, int64_t sum) {
    return (n <= a->taps) & ((wide)x + n <= a->in) & (sum >= n) & (sum <= (wide)n << 31);
}

/* The window of i begins at or before its centre, lies in the picture, and holds 1 .. `taps` pixels. The search for it ends. */
void prove_picture_window(uint32_t i, uint32_t before) {
    struct morsel_axis a;
    any_pixels(&a, i, before);
    prove_assume(a.taps > 1 & a.taps <= a.in); /* prove_picture_axis */
    middle = centre(&a, i);
    prove_assume(middle >= 0 & middle < a.in);             /* prove_picture_centre */
    prove_assume(tap_weight(&a, i, (uint32_t)middle) > 0); /* the same */
    prove_assume(before <= middle);                        /* prove_picture_forward */
    uint32_t first = before;
    int64_t sum;
    uint32_t n = find_window(&a, i, &first, &sum);
    prove_assert(first >= before & first <= middle & n >= 1 & n <= a.taps & (wide)first + n <= a.in & sum >= n);
}

/* Rows of a window lie in different places of the ring. */
void prove_picture_ring(uint32_t taps, uint32_t a, uint32_t b) {
    prove_assume(taps >= 1 & taps <= SIDE_MAX & a < b & b < SIDE_MAX);
    prove_assume(b - a < taps);
    prove_assert(a % taps != b % taps);
}

/* What prove_picture_axis has shown of both. */
static void any_plan(struct morsel_picture_plan *plan) {
    prove_any(plan);
    for (int k = 0; k < 2; k++) {
        const struct morsel_axis *a = k ? &plan->y : &plan->x;
        prove_assume(a->in >= 1 & a->in <= SIDE_MAX & a->out <= RESIZED_MOST & a->visible >= 1 & a->size <= RESIZED_MOST);
        prove_assume((wide)a->first + a->visible <= a->out & (wide)a->pad + a->visible <= a->size & a->taps <= a->in);
        prove_assume(a->taps > 0 | a->out == a->in);
    }
    prove_assume(plan->channels == 1 | plan->channels == 3);
}

/* The parts of the scratch are together what is asked for, and no sum leaves 2^49. */
void prove_picture_scratch(void) {
    struct morsel_picture_plan plan;
    any_plan(&plan);
    prove_assert((wide)plan.x.visible * (2 + 4 * ((plan.x.taps + 3) / 4)) < (wide)1 << 46);
    prove_assert((wide)plan.x.visible * plan.channels * plan.y.taps < (wide)1 << 47);
    if (!plan_scratch(&plan)) return;
    wide bytes = 3 + 4 * (wide)plan.column_words + 4 * (wide)plan.y.taps + plan.ring_bytes + plan.line_bytes + plan.row_bytes;
    prove_assert(bytes == plan.scratch_bytes & bytes <= INT32_MAX);
}

/* Each column, row of the ring, pixel of the line and pixel of the row that is made lies in its part. */
void prove_picture_regions(uint32_t i, uint32_t k, uint32_t y, uint32_t pixel) {
    struct morsel_picture_plan plan;
    any_plan(&plan);
    if (!plan_scratch(&plan)) return;
    const struct morsel_axis *x = &plan.x;
    uint32_t words = 2 + 4 * plan.groups;
    prove_assume(i < x->visible & k < words & pixel < x->in);
    prove_assert(x->taps + 2 <= words);
    prove_assert((wide)i * plan.channels + plan.channels <= plan.row_bytes);
    prove_assert((wide)i * words <= ((wide)x->visible - 1) * words);
    if (x->taps) prove_assert((wide)i * words + k < plan.column_words);
    if (plan.y.taps && !plan.down_first) {
        uint32_t slot = y % plan.y.taps;
        prove_assert((wide)slot * plan.row_bytes <= ((wide)plan.y.taps - 1) * plan.row_bytes);
        prove_assert(((wide)slot + 1) * plan.row_bytes <= plan.ring_bytes);
    }
    if (x->taps && (!plan.plain || plan.down_first)) prove_assert(((wide)pixel + 1) * plan.channels <= plan.line_bytes);
    if (!x->taps) prove_assert((wide)x->first + i < x->in);
}

/* A sum of pixels by weights that are together at most 2^22 and half a unit for each is an int32, and becomes a byte. */
void prove_picture_sum(uint32_t weights, uint32_t pixels) {
    prove_assume(weights <= (1u << MORSEL_PIXEL_BITS) + SIDE_MAX / 2 & pixels <= (wide)255 * weights);
    wide sum = (wide)pixels + MORSEL_PIXEL_HALF;
    prove_assert(sum <= INT32_MAX);
    uint8_t pixel = to_pixel((int32_t)sum);
    prove_assert(pixel == (sum >> MORSEL_PIXEL_BITS > 255 ? 255 : sum >> MORSEL_PIXEL_BITS));
}

void prove_picture_luma(uint8_t red, uint8_t green, uint8_t blue) {
    wide sum = (wide)red * 19595 + (wide)green * 38470 + (wide)blue * 7471 + 32768;
    prove_assert(luma(red, green, blue) == sum / 65536);
}

/* The sums of every matrix stay within 2^23, whose rest is what Y, U and V less black and the middle would leave, and half a unit. What is
 * made of them is a byte. */
void prove_picture_colors(uint8_t y, uint8_t u, uint8_t v) {
    for (int which = 0; which <= MORSEL_BT709_FULL; which++) {
        const struct morsel_color *c = &colors[which];
        int32_t black = which % 2 ? 0 : 16;
        prove_assert(c->chroma[0][0] == 0 & c->chroma[2][1] == 0);
        for (int k = 0; k < 3; k++) {
            wide sum = (wide)y * c->y + (wide)u * c->chroma[k][0] + (wide)v * c->chroma[k][1] + c->rest[k];
            wide from = (wide)(y - black) * c->y + (wide)(u - 128) * c->chroma[k][0] + (wide)(v - 128) * c->chroma[k][1];
            prove_assert(sum > -(1 << 23) & sum < 1 << 23 & sum == from + 4096);
        }
    }
}

void prove_picture_color(int32_t sum) {
    prove_bits();
    prove_assume(sum > -(1 << 23) & sum < 1 << 23);
    int32_t whole = sum >> 13;
    prove_assert((int32_t)to_color(sum) == (whole < 0 ? 0 : whole > 255 ? 255 : whole));
}

/* Each row of a plane lies in its bytes. */
void prove_picture_rows(uint64_t bytes, uint32_t row, uint32_t rows, uint64_t given, uint32_t y) {
    size_t stride = given;
    prove_assume(row >= 1 & row <= 4 * SIDE_MAX & rows >= 1 & rows <= SIDE_MAX);
    if (check_plane(bytes, row, rows, &stride)) return;
    prove_assert(stride >= row);
    prove_assume(y < rows);
    prove_assert((wide)y * stride <= ((wide)rows - 1) * stride);
    prove_assert((wide)y * stride + row <= bytes);
}

/* A pixel of a region is one of the frame, and its chroma, counted from that of the first pixel on, one of the plane of chroma. */
void prove_picture_chroma(uint32_t side, uint32_t first, uint32_t region, uint32_t x) {
    prove_assume(side >= 1 & side <= SIDE_MAX & first < side & region >= 1 & region <= (wide)side - first & x < region);
    prove_assert(first + x < side);
    uint32_t at = (first >> 1) + (x + first % 2) / 2;
    prove_assert(at == (first + x) / 2 & at < (side + 1) >> 1);
}

/* From the far end on, what is visible is still a part of the resized picture, and of the result. */
void prove_picture_mirrored(uint32_t in, uint32_t out, uint32_t crop, uint32_t filter) {
    struct morsel_axis a;
    any_axis(&a, in, out, crop, filter);
    wide first = a.first, pad = a.pad;
    mirror_axis(&a);
    prove_assert(a.first == a.out - a.visible - first & a.pad == a.size - a.visible - pad);
    prove_assert((wide)a.first + a.visible <= a.out & (wide)a.pad + a.visible <= a.size);
}

/* All images lie in the view's bytes; elements of one stand as planes, or as pixels. */
void prove_picture_sink(uint32_t image, _Bool four) {
    struct morsel_picture_plan plan;
    struct morsel_view view;
    struct morsel_sink sink;
    any_plan(&plan);
    prove_any(&view);
    if (four) view.rank = 4;
    else view.rank = 3; /* others are refused at once */
    uint32_t images = view.rank == 4 ? view.dims[0] : 1, h = plan.y.size, w = plan.x.size, c = plan.channels;
    prove_assume(image < images);
    view.data = prove_memory(view.bytes);
    sink.channels = c;
    prove_assert((wide)h * w <= (wide)RESIZED_MOST * RESIZED_MOST);
    if (!find_place(&sink, h, w, &view, image)) return;
    wide bytes = (wide)h * w * c * sink.element;
    prove_assert(sink.element == (view.type == MORSEL_FLOAT32 ? 4 : 1));
    prove_assert((wide)image * bytes <= ((wide)images - 1) * bytes);
    prove_assert(prove_offset(sink.data) == image * bytes & (image + (wide)1) * bytes <= view.bytes);
    if (sink.step_x == 1 && c == 3) prove_assert(sink.step_y == w & sink.step_c == (wide)h * w);
    else prove_assert(sink.step_x == c & sink.step_y == (wide)w * c & (c == 1 | sink.step_c == 1));
}

/* So each element lies in its image. */
void prove_picture_elements(uint32_t h, uint32_t w, uint32_t y, uint32_t x, uint32_t c) {
    prove_assume(h <= RESIZED_MOST & w <= RESIZED_MOST & y < h & x < w & c < 3);
    wide plane = (wide)h * w, row = (wide)y * w + x;
    prove_assert((wide)y * w <= ((wide)h - 1) * w);
    prove_assert(row < plane);
    prove_assert(row + c * plane < 3 * plane);
    prove_assert(((wide)y * w) * 3 + (wide)x * 3 + c < 3 * plane);
}

/* The element of the frame's pixel x, y is that of the pixel it becomes: along mirrored axes counted from the far end. */
void prove_picture_turned(uint32_t x, uint32_t y, uint32_t across, uint32_t down) {
    struct morsel_picture_plan plan;
    struct morsel_sink sink;
    prove_any(&plan);
    prove_assume(plan.x.size >= 1 & plan.x.size <= SIDE_MAX & plan.y.size >= 1 & plan.y.size <= SIDE_MAX & x < plan.x.size &
                 y < plan.y.size);
    prove_assume(across >= 1 & across <= SIDE_MAX & down >= 1 & down <= 3 * SIDE_MAX);
    sink.step_x = across;
    sink.step_y = down;
    turn_sink(&sink, &plan);
    wide to_x = plan.mirror_x ? (wide)plan.x.size - 1 - x : x, to_y = plan.mirror_y ? (wide)plan.y.size - 1 - y : y;
    wide step_x = plan.transposed ? down : across, step_y = plan.transposed ? across : down;
    prove_assert((wide)sink.first + (wide)sink.step_x * x + (wide)sink.step_y * y == step_x * to_x + step_y * to_y);
}
