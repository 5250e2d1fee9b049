/* SPDX-License-Identifier: MIT */
/* Convolutions of every kind, as the run of a network calls them: chunks of rows with their row addresses. */
#include "check.h"

#include <float.h>
#include <string.h>

#define CALL_ROWS 256u
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct shape {
    uint32_t batch, h, w, depth, outs, groups, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t top, left, bottom, right;
};

static const struct shape conv_shapes[] = {
    /* first layer, expand, project, late layers, ResNet, odd channels */
    {1, 17, 224, 3, 32, 1, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
    {1, 4, 112, 16, 96, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 4, 56, 144, 24, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 4, 28, 192, 32, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 7, 14, 96, 576, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 7, 7, 960, 160, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 3, 7, 320, 1280, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 4, 28, 58, 58, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 6, 56, 64, 64, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 7, 14, 256, 256, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 12, 56, 64, 128, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 22, 224, 3, 64, 1, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
    {1, 8, 32, 16, 16, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 10, 49, 1, 64, 1, 10, 4, 2, 2, 1, 1, 4, 1, 5, 1},
    {1, 7, 7, 512, 72, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 7, 7, 2048, 40, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 1, 206, 60, 48, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 5, 4, 1156, 14, 1, 1, 1, 2, 2, 1, 2, 0, 0, 0, 0},
    /* small pictures, patches, windows that are long for their channels or their dilation */
    {1, 4, 4, 512, 64, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 64, 224, 3, 64, 1, 32, 32, 32, 32, 1, 1, 0, 0, 0, 0},
    {1, 2, 14, 2048, 40, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 8, 16, 512, 40, 1, 3, 3, 1, 1, 4, 4, 4, 4, 4, 4},
    /* tiles of 2 x 2 outputs: rows and columns that are left over, channels in pieces, five tiles */
    {1, 9, 31, 160, 72, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 4, 9, 32, 41, 1, 3, 3, 1, 1, 1, 1, 1, 2, 0, 1},
    {1, 4, 4, 3584, 24, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 6, 17, 16, 72, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 9, 13, 48, 41, 1, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
    {1, 14, 11, 32, 24, 1, 3, 3, 1, 1, 3, 3, 3, 1, 2, 3},
    /* a row whose last pixel is left over */
    {1, 5, 1116, 8, 12, 1, 5, 12, 1, 1, 1, 1, 0, 0, 0, 0},
};

static const struct shape depthwise_shapes[] = {
    {1, 6, 112, 1, 1, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},  {1, 9, 112, 1, 1, 96, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
    {1, 6, 56, 1, 1, 144, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},  {1, 14, 14, 1, 1, 384, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 14, 14, 1, 1, 576, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {1, 7, 7, 1, 1, 960, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 14, 14, 1, 1, 480, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2}, {1, 28, 28, 1, 1, 58, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 14, 28, 1, 1, 120, 5, 5, 2, 2, 1, 1, 2, 2, 2, 2},
};

static uint32_t kernel_size(struct chance *c) {
    static const uint32_t sizes[] = {1, 1, 1, 1, 3, 3, 3, 5, 2, 4, 7};
    return sizes[chance_below(c, 11)];
}

/* An axis of the picture: at least one window fits. */
static void make_axis(struct chance *c, uint32_t most, uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t *in, uint32_t *before,
                      uint32_t *behind) {
    uint32_t window = (kernel - 1) * dilation + 1;
    *in = chance_one_in(c, 2) ? 1 + chance_below(c, 9) : 1 + chance_below(c, most);
    *before = chance_one_in(c, 2) ? kernel / 2 : chance_below(c, window);
    *behind = chance_one_in(c, 2) ? kernel / 2 : chance_below(c, window);
    if (*in + *before + *behind < window) *in = window - *before - *behind;
    (void)stride;
}

static void make_window(struct chance *c, struct shape *s, uint32_t most) {
    s->kernel_w = chance_one_in(c, 4) ? kernel_size(c) : s->kernel_h;
    s->stride_h = chance_one_in(c, 2) ? 1 : 1 + chance_below(c, 3);
    s->stride_w = chance_one_in(c, 4) ? 1 + chance_below(c, 3) : s->stride_h;
    s->dilation_h = chance_one_in(c, 6) ? 1 + chance_below(c, 3) : 1;
    s->dilation_w = chance_one_in(c, 6) ? 1 + chance_below(c, 3) : s->dilation_h;
    s->batch = chance_one_in(c, 6) ? 2 : 1;
    make_axis(c, 12, s->kernel_h, s->stride_h, s->dilation_h, &s->h, &s->top, &s->bottom);
    make_axis(c, most, s->kernel_w, s->stride_w, s->dilation_w, &s->w, &s->left, &s->right);
}

static uint64_t work(const struct shape *s) {
    return (uint64_t)s->h * s->w * s->depth * s->outs * s->groups * s->kernel_h * s->kernel_w / s->stride_h / s->stride_w;
}

/* As deep, wide and large as the inner layers of a network. */
static struct shape inner_conv(struct chance *c) {
    struct shape s = {.batch = 1, .groups = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    s.kernel_h = s.kernel_w = chance_one_in(c, 3) ? 3 : 1;
    if (s.kernel_h == 3 && chance_one_in(c, 3)) s.dilation_h = s.dilation_w = 1 + chance_below(c, 4);
    s.top = s.left = s.bottom = s.right = s.kernel_h / 2 * s.dilation_h;
    s.depth = s.kernel_h == 3 ? 4 + chance_below(c, 50) : chance_one_in(c, 6) ? 1200 : 60 + chance_below(c, 70) * 4;
    s.outs = chance_one_in(c, 3) ? 10 + chance_below(c, 30) : 41 + chance_below(c, 30);
    if (s.dilation_h > 1) s.depth = 16 * (2 + chance_below(c, 3));
    s.h = s.depth == 1200 ? 5 : 13;
    s.w = 7 + chance_below(c, 4);
    return s;
}

static struct shape random_conv(struct chance *c) {
    static const uint32_t few[] = {1, 2, 3, 4, 3, 5, 8}, round[] = {16, 24, 28, 32, 48, 64};
    struct shape s = {0};
    if (chance_one_in(c, 8)) return inner_conv(c);
    s.kernel_h = kernel_size(c);
    s.groups = chance_one_in(c, 6) ? 2 + chance_below(c, 3) : 1;
    s.depth = chance_one_in(c, 3) ? few[chance_below(c, 7)] : chance_size(c, s.kernel_h > 1 ? 40 : 150);
    if (s.kernel_h == 3 && chance_one_in(c, 8)) s.depth = 124 + 4 * chance_below(c, 12);
    if (s.kernel_h == 1 && chance_one_in(c, 3)) s.depth = round[chance_below(c, 6)];
    if (s.kernel_h == 3 && chance_one_in(c, 4)) s.depth = 3;
    s.outs = chance_size(c, 140);
    if (chance_one_in(c, 24)) s.depth = 300 + chance_below(c, 1000), s.outs = 1 + chance_below(c, 24); /* windows of many bytes */
    if (chance_one_in(c, 40)) s.depth = few[chance_below(c, 7)], s.outs = 250 + chance_below(c, 60);   /* more than sixteen blocks */
    make_window(c, &s, 70);
    if (work(&s) > 600000) s.w = s.kernel_w * s.dilation_w + s.w % 8;
    while (work(&s) > 600000 && s.h > s.kernel_h * s.dilation_h) s.h--;
    while (work(&s) > 1200000 && s.outs > 4) s.outs = s.outs * 2 / 3;
    return s;
}

static struct shape random_depthwise(struct chance *c) {
    struct shape s = {0};
    s.kernel_h = chance_one_in(c, 4) ? kernel_size(c) : chance_one_in(c, 3) ? 5 : 3;
    if (chance_one_in(c, 12)) s.kernel_h = 6 + chance_below(c, 12);
    s.groups = chance_size(c, 140);
    s.depth = s.outs = 1;
    make_window(c, &s, 40);
    while (work(&s) > 200000 && s.groups > 4) s.groups = s.groups * 2 / 3;
    return s;
}

static uint32_t out_size(uint32_t in, uint32_t before, uint32_t behind, uint32_t kernel, uint32_t stride, uint32_t dilation) {
    return (in + before + behind - (kernel - 1) * dilation - 1) / stride + 1;
}

static struct morsel_window window_of(const struct shape *s) {
    struct morsel_window w = {
        .in_h = s->h,
        .in_w = s->w,
        .in_c = s->groups * s->depth,
        .out_c = s->groups * s->outs,
        .kernel_h = s->kernel_h,
        .kernel_w = s->kernel_w,
        .stride_h = s->stride_h,
        .stride_w = s->stride_w,
        .dilation_h = s->dilation_h,
        .dilation_w = s->dilation_w,
        .pad_top = s->top,
        .pad_left = s->left,
    };
    w.out_h = out_size(s->h, s->top, s->bottom, s->kernel_h, s->stride_h, s->dilation_h);
    w.out_w = out_size(s->w, s->left, s->right, s->kernel_w, s->stride_w, s->dilation_w);
    w.in_row = w.in_w * w.in_c;
    w.out_row = w.out_w * w.out_c;
    return w;
}

static void say_shape(struct trial *t, const struct shape *s) {
    trial_say(t, "[%ux%ux%ux%u] ", (unsigned)s->batch, (unsigned)s->h, (unsigned)s->w, (unsigned)(s->depth * s->groups));
    trial_say(t, "%ux%u to %u", (unsigned)s->kernel_h, (unsigned)s->kernel_w, (unsigned)(s->outs * s->groups));
    if (s->groups > 1) trial_say(t, " groups %u", (unsigned)s->groups);
    if (s->stride_h * s->stride_w > 1) trial_say(t, " stride %ux%u", (unsigned)s->stride_h, (unsigned)s->stride_w);
    if (s->dilation_h * s->dilation_w > 1) trial_say(t, " dilation %ux%u", (unsigned)s->dilation_h, (unsigned)s->dilation_w);
    trial_say(t, " pads %u %u %u %u", (unsigned)s->top, (unsigned)s->left, (unsigned)s->bottom, (unsigned)s->right);
}

/* Bytes of a fixed case stand as this instruction set stores them inside a network. */
static void make_input(struct trial *t, const struct shape *s, struct morsel_input *x, uint32_t row) {
    size_t bytes = (size_t)s->batch * s->h * row;
    uint8_t *data = trial_room(t, bytes, 1);
    t->turn = t->bench || chance_one_in(&t->chance, 2) ? 0 : chance_below(&t->chance, s->h);
    x->qparams = make_qparams(&t->chance);
    if (t->bench || t->tame) x->qparams.sign_flip = t->sign_flip;
    trial_say(t, " x flip %u zero %d", (unsigned)x->qparams.sign_flip, (int)x->qparams.zero);
    make_values(t, data, bytes, &x->qparams);
    x->data = data;
}

static void make_conv(struct trial *t, const struct shape *s, bool depthwise) {
    struct morsel_conv_args *a = &t->args.conv;
    say_shape(t, s);
    a->window = window_of(s);
    a->groups = s->groups;
    make_input(t, s, &a->x, a->window.in_row);
    make_output(t, &a->y, t->bench ? 0 : 8);
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    if (s->top || s->bottom) {
        a->padding_row_bytes = (a->window.in_row + 3) / 4 * 4;
        a->padding_row = trial_room(t, a->padding_row_bytes, 4);
        memset(a->padding_row, (int)((uint32_t)a->x.qparams.zero ^ a->x.qparams.sign_flip), a->padding_row_bytes);
    }
    struct weights w = {.per_group = s->outs, .padded = (s->outs + 15) / 16 * 16};
    if (depthwise) {
        w.per_group = s->groups;
        w.padded = w.entries = (s->groups + 15) / 16 * 16;
        w.row = (s->kernel_h + 3) / 4 * 4, w.row_used = s->kernel_h;
        w.taps = w.row * s->kernel_w;
    } else {
        w.entries = w.padded * s->groups;
        w.row = (s->kernel_w * s->depth + 3) / 4 * 4, w.row_used = s->kernel_w * s->depth;
        w.taps = w.row * s->kernel_h;
    }
    a->channels = make_channels(t, &w, &a->y);
    a->weights = w.data;
    if (!t->bench && chance_one_in(&t->chance, 2)) {
        a->prefetch = 64 * chance_below(&t->chance, 4);
        a->prefetch_bytes = 1 + chance_below(&t->chance, 4 * w.entries * w.taps);
        trial_say(t, " prefetch %u", (unsigned)a->prefetch_bytes);
    }
    a->prefetch_row = chance_below(&t->chance, a->window.out_h);
    a->prefetch_rows = 1 + chance_below(&t->chance, a->window.out_h - a->prefetch_row);
    if (a->y.qparams.is_float) a->window.out_row *= 4;
    trial_kernel_room(t, &a->room);
    t->units = s->batch * a->window.out_h;
    t->macs = (uint64_t)t->units * a->window.out_w * a->window.out_c * s->depth * s->kernel_h * s->kernel_w;
    trial_output(t, &a->y.data, (size_t)t->units * a->window.out_w * a->window.out_c, &a->y.qparams);
}

static void make_conv_case(struct trial *t) {
    struct shape s = t->bench ? conv_shapes[t->number] : random_conv(&t->chance);
    t->tame = t->bench || chance_one_in(&t->chance, 2);
    make_conv(t, &s, false);
}

static void make_depthwise_case(struct trial *t) {
    struct shape s = t->bench ? depthwise_shapes[t->number] : random_depthwise(&t->chance);
    t->tame = t->bench || chance_one_in(&t->chance, 2);
    make_conv(t, &s, true);
}

/* Addresses of the rows under output rows begin .. begin + n, all of one image; they need not lie in their order. */
static void find_rows(const struct trial *t, const uint8_t **rows, const struct morsel_window *w, const uint8_t *data,
                      const uint8_t *padding_row, uint32_t begin, uint32_t n) {
    const uint8_t *image = data + (size_t)(begin / w->out_h) * w->in_h * w->in_row;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            int64_t iy = (int64_t)((begin + i) % w->out_h) * w->stride_h + (int64_t)ky * w->dilation_h - w->pad_top;
            rows[i * w->kernel_h + ky] = iy >= 0 && iy < w->in_h ? image + (iy + t->turn) % w->in_h * w->in_row : padding_row;
        }
    }
}

/* Output rows as many as fit one call, all of one image, and room for their row addresses, which ends where its memory does. */
static uint32_t next_rows(const struct morsel_window *w, uint32_t begin, uint32_t end, const uint8_t ***rows) {
    uint32_t most = CALL_ROWS / w->kernel_h, left = w->out_h - begin % w->out_h;
    uint32_t n = end - begin < left ? end - begin : left;
    n = n < most ? n : most;
    *rows = memory_place(SLOT_ROWS, (size_t)n * w->kernel_h * sizeof **rows, sizeof **rows, true);
    return n;
}

/* Channels from block `begin` on, as a convolution by itself with strided pixels. */
static struct morsel_conv_args blocks_of(const struct morsel_conv_args *whole, uint32_t begin, uint32_t blocks, bool depthwise) {
    struct morsel_conv_args a = *whole;
    struct morsel_window *w = &a.window;
    uint32_t first = 16 * begin, left = w->out_c - first;
    uint32_t depth = ((depthwise ? w->kernel_h : w->kernel_w * w->in_c) + 3) / 4 * 4;
    w->out_c = left < 16 * blocks ? left : 16 * blocks;
    if (depthwise) {
        w->in_c = w->out_c;
        a.x.data = (const uint8_t *)a.x.data + first;
    }
    a.y.data = (uint8_t *)a.y.data + (size_t)first * (a.y.qparams.is_float ? 4 : 1);
    a.weights += (size_t)first * depth * (depthwise ? w->kernel_w : w->kernel_h);
    a.channels.bias += first;
    a.channels.multiplier += first;
    a.channels.weight_sum += first;
    if (a.channels.weight_zero) a.channels.weight_zero += first;
    if (a.channels.float_bias) a.channels.float_bias += first;
    if (a.channels.proofs) a.channels.proofs += begin;
    return a;
}

static void call_conv_rows(const struct trial *t, const struct morsel_conv_args *a, any_fn *fn, uint32_t begin, uint32_t end) {
    const uint8_t **rows;
    for (uint32_t n; begin < end; begin += n) {
        n = next_rows(&a->window, begin, end, &rows);
        find_rows(t, rows, &a->window, a->x.data, a->padding_row, begin, n);
        ((morsel_conv_fn *)fn)(a, rows, begin, n);
    }
}

static void call_blocks(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end, bool depthwise) {
    const struct morsel_conv_args *a = &t->args.conv;
    uint32_t all = (a->window.out_c + 15) / 16, blocks = t->blocks && (depthwise || a->groups == 1) ? t->blocks : all;
    for (uint32_t i = 0; i < all; i += blocks) {
        struct morsel_conv_args part = *a;
        if (blocks < all) part = blocks_of(a, i, blocks, depthwise);
        call_conv_rows(t, &part, fn, begin, end);
    }
}

static void call_conv(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    call_blocks(t, fn, begin, end, false);
}

static void call_depthwise(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    call_blocks(t, fn, begin, end, true);
}

/* ---- pools ---- */

static const struct shape pool_shapes[] = {
    {1, 23, 112, 1, 1, 64, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 16, 32, 1, 1, 64, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0},
};

/* ceil_mode: a last window may hang over the padding. */
static void round_up(struct chance *c, struct morsel_window *w, const struct shape *s) {
    if (!chance_one_in(c, 3)) return;
    w->out_h += (s->h + s->top + s->bottom - (s->kernel_h - 1) * s->dilation_h - 1) % s->stride_h != 0;
    w->out_w += (s->w + s->left + s->right - (s->kernel_w - 1) * s->dilation_w - 1) % s->stride_w != 0;
    w->out_row = w->out_w * w->out_c;
}

static void make_float_input(struct trial *t, const struct shape *s, struct morsel_input *x, struct morsel_window *w) {
    w->in_row *= 4;
    x->qparams = float_qparams();
    x->data = trial_room(t, (size_t)s->batch * s->h * w->in_row, 4);
    make_floats(t, (float *)(uintptr_t)x->data, (size_t)s->batch * s->h * w->in_row / 4);
    trial_say(t, " x float");
}

static void make_pool(struct trial *t, bool average) {
    struct morsel_pool_args *a = &t->args.pool;
    struct chance *c = &t->chance;
    struct shape s = t->bench ? pool_shapes[t->number] : random_depthwise(c);
    if (average) s.dilation_h = s.dilation_w = 1;
    say_shape(t, &s);
    a->window = window_of(&s);
    if (!t->bench) round_up(c, &a->window, &s);
    a->padded_h = s.h + s.top + s.bottom;
    a->padded_w = s.w + s.left + s.right;
    a->count_include_pad = chance_one_in(c, 2);
    bool floats = !t->bench && chance_one_in(c, average ? 6 : 3);
    if (floats) make_float_input(t, &s, &a->x, &a->window);
    else make_input(t, &s, &a->x, a->window.in_row);
    make_output(t, &a->y, 0);
    if (floats && chance_one_in(c, 3)) a->y.float_min = chance_float(c, -8, 8);
    if (floats) a->y.qparams = float_qparams();
    else if (!average) a->y.qparams.zero = a->x.qparams.zero, a->y.qparams.scale = a->x.qparams.scale, a->y.qparams.own = a->x.qparams.own;
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    if (a->y.qparams.is_float) a->window.out_row *= 4;
    t->units = s.batch * a->window.out_h;
    t->macs = (uint64_t)t->units * a->window.out_w * a->window.out_c * s.kernel_h * s.kernel_w;
    trial_output(t, &a->y.data, (size_t)t->units * a->window.out_w * a->window.out_c, &a->y.qparams);
}

static void make_average_pool(struct trial *t) {
    make_pool(t, true);
}

static void make_max_pool(struct trial *t) {
    make_pool(t, false);
}

static void call_pool(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    const struct morsel_pool_args *a = &t->args.pool;
    const uint8_t **rows;
    for (uint32_t n; begin < end; begin += n) {
        n = next_rows(&a->window, begin, end, &rows);
        find_rows(t, rows, &a->window, a->x.data, NULL, begin, n);
        ((morsel_pool_fn *)fn)(a, rows, begin, n);
    }
}

/* ---- float weights ---- */

/* Each with floats, then with binary16; then the same between bytes. */
static const struct shape float_shapes[] = {
    {1, 28, 28, 96, 24, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 7, 7, 160, 320, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 14, 14, 64, 64, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 56, 112, 3, 32, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 1, 1, 512, 128, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 14, 14, 1, 1, 96, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 28, 28, 1, 1, 144, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 28, 28, 1, 1, 144, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
};

/* Wide strides leave little work in large inputs: those of floats are kept to two megabytes. */
static struct shape with_room(struct shape s) {
    while ((uint64_t)s.batch * s.h * s.w * s.groups * s.depth > 500000 && s.depth * s.groups > 1)
        *(s.depth > 1 ? &s.depth : &s.groups) /= 2;
    return s;
}

/* Groups of any kind, too: of one output, of eight and more, of such numbers that blocks of eight belong to several. */
static struct shape random_float_number(struct chance *c) {
    struct shape s = chance_one_in(c, 3) ? random_depthwise(c) : random_conv(c);
    if (!chance_one_in(c, 6)) return with_room(s);
    s.groups = 2 + chance_below(c, 8);
    s.depth = 1 + chance_below(c, 9);
    s.outs = chance_one_in(c, 2) ? 8 * (1 + chance_below(c, 3)) : 1 + chance_below(c, 20);
    return with_room(s);
}

/* Finite ones; padding is as odd as the rest, because nobody uses it. */
static void make_float_weights(struct trial *t, struct morsel_float_conv_args *a, size_t n) {
    struct chance *c = &t->chance;
    static const float odd[] = {0, -0.0f, 1, -1, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f};
    a->half = t->bench ? t->number / COUNT(float_shapes) % 2 : chance_one_in(c, 3);
    bool extreme = !t->bench && chance_one_in(c, 6);
    void *weights = trial_room(t, n * (a->half ? 2 : 4), a->half ? 2 : 4);
    for (size_t i = 0; i < n; i++) {
        uint16_t half = (uint16_t)(0x2c00 + chance_below(c, 0x1000)); /* 1/16 .. 1 */
        if (extreme && chance_one_in(c, 2)) half = (uint16_t)chance_below(c, 0x7c00);
        if (extreme && chance_one_in(c, 8)) half = (uint16_t)chance_below(c, 0x401);
        if (chance_one_in(c, 2)) half |= 0x8000;
        if (a->half) ((uint16_t *)weights)[i] = half;
        else ((float *)weights)[i] = extreme && chance_one_in(c, 8) ? odd[chance_below(c, COUNT(odd))] : chance_float(c, -1, 1);
    }
    a->weights = weights;
    trial_say(t, "%s%s", a->half ? " half" : "", extreme ? " extreme weights" : "");
}

static void make_float_conv(struct trial *t) {
    struct morsel_float_conv_args *a = &t->args.float_conv;
    struct chance *c = &t->chance;
    struct shape s = t->bench ? float_shapes[t->number % COUNT(float_shapes)] : random_float_number(c);
    while (!t->bench && work(&s) > 100000 && s.outs > 1) s.outs /= 2;
    say_shape(t, &s);
    a->window = window_of(&s);
    a->groups = s.groups;
    bool bytes = t->bench ? t->number >= 2 * COUNT(float_shapes) : chance_one_in(c, 2);
    if (bytes) make_input(t, &s, &a->x, a->window.in_row);
    else make_float_input(t, &s, &a->x, &a->window);
    make_output(t, &a->y, t->bench ? !bytes : 2);
    size_t outputs = (s.groups * s.outs + 7) / 8 * 8, taps = (size_t)s.depth * s.kernel_h * s.kernel_w;
    make_float_weights(t, a, outputs * taps);
    float *bias = chance_one_in(c, 2) ? trial_room(t, outputs * 4, 4) : NULL;
    for (size_t i = 0; bias && i < outputs; i++) bias[i] = chance_float(c, -3, 3);
    a->bias = bias;
    if (a->y.qparams.is_float) a->window.out_row *= 4;
    trial_kernel_room(t, &a->room);
    t->units = s.batch * a->window.out_h;
    t->macs = (uint64_t)t->units * a->window.out_w * s.groups * s.outs * taps;
    trial_output(t, &a->y.data, (size_t)t->units * a->window.out_w * a->window.out_c, &a->y.qparams);
}

static void call_float_conv(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    const struct morsel_float_conv_args *a = &t->args.float_conv;
    const uint8_t **rows;
    for (uint32_t n; begin < end; begin += n) {
        n = next_rows(&a->window, begin, end, &rows);
        find_rows(t, rows, &a->window, a->x.data, NULL, begin, n);
        ((morsel_float_conv_fn *)fn)(a, rows, begin, n);
    }
}

const struct family family_conv = {
    "conv", offsetof(struct morsel_kernels, conv), COUNT(conv_shapes), make_conv_case, call_conv,
};
const struct family family_depthwise = {
    "depthwise", offsetof(struct morsel_kernels, depthwise), COUNT(depthwise_shapes), make_depthwise_case, call_depthwise,
};
const struct family family_average_pool = {
    "average_pool", offsetof(struct morsel_kernels, average_pool), COUNT(pool_shapes), make_average_pool, call_pool,
};
const struct family family_max_pool = {
    "max_pool", offsetof(struct morsel_kernels, max_pool), COUNT(pool_shapes), make_max_pool, call_pool,
};
const struct family family_float_conv = {
    "float_conv", offsetof(struct morsel_kernels, float_conv), 4 * COUNT(float_shapes), make_float_conv, call_float_conv,
};
