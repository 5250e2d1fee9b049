/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and matrix products cut into tiles: the inputs of four output pixels, and spans of channels. The arithmetic is left to the
 * ISA's tile. Inputs are used where they lie if they are signed and their channels come in fours. Else the four windows are copied side by
 * side first.
 */
#include "arm64.h"

#define PIECES 64u        /* window cells that a tile addresses one by one */
#define LINE 1024u        /* channels of a cell of padding */
#define PACKED 1120u      /* bytes of a window that is copied */
#define SPARE 16u         /* copies go 16 bytes at a time */
#define FEW_WEIGHTS 6144u /* bytes */
#define MANY_INPUTS 131072u
#define NINE_K 28u /* three rows of nine bytes and one of padding */
#define SUMMED 16u /* tiles whose inputs are added up at once */

/* What a walk keeps at hand. Plain C is not called with that on the stack. */
struct walk_room {
    union {
        struct {
            uint8_t padding[LINE]; /* zero points, signed domain */
            const uint8_t *x[4 * PIECES];
        };
        uint8_t packed[4 * (PACKED + SPARE)];
        struct { /* windows of three rows of nine bytes */
            uint8_t nines[4 * (PACKED + SPARE) - MORSEL_SPAN * NINE_K];
            int8_t weights[MORSEL_SPAN * NINE_K]; /* closer than in the blob */
        };
    };
    const uint8_t *lines[4]; /* of copied windows */
    int32_t raw[4][MORSEL_RAW];
    int32_t below[4 * SUMMED];
    struct morsel_span span;
};

struct walk {
    const struct morsel_conv_args *a;
    const uint8_t *const *rows;
    uint32_t depth, outs, row_k, k, pieces;
    uint32_t packing;
    uint32_t most; /* channels of a span */
    uint32_t deep; /* pieces of a window whose weights the room holds at once, where it does not hold all; else 0 */
    struct morsel_pairs *room;
    uint32_t nine;      /* windows of three rows of nine bytes lie closer than the weights of the blob */
    uint32_t tile_k;    /* inputs of a copied window */
    uint32_t line;      /* its bytes with the spare ones */
    const float *lines; /* scale and zero point of each pixel, or NULL */
    struct walk_room *own;
};

/* n bytes into the signed domain. Reads 16 at a time as long as they end before `end`, writes up to 15 too many. */
static inline __attribute__((always_inline)) void copy_line(uint8_t *to, const uint8_t *x, uint32_t n, const uint8_t *end, uint8_t flip) {
    uint8x16_t mask = vdupq_n_u8(flip);
    uint32_t i = 0;
    for (; i < n && (size_t)(end - x) >= i + 16; i += 16) vst1q_u8(to + i, veorq_u8(vld1q_u8(x + i), mask));
    for (; i < n; i++) to[i] = x[i] ^ flip;
}

/* One row of a window, tap by tap; padding is zero points. */
static void pack_edge(const struct walk *w, uint8_t *to, const uint8_t *row, uint32_t left, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    for (uint32_t kx = 0; kx < win->kernel_w; kx++, to += w->depth) {
        uint32_t ix = left + kx * win->dilation_w;
        const uint8_t *x = row + (size_t)ix * win->in_c + channel;
        if (ix < win->in_w) copy_line(to, x, w->depth, row + win->in_row, (uint8_t)(w->a->x.qparams.sign_flip ^ 0x80));
        else memset(to, (int)((uint32_t)w->a->x.qparams.zero ^ 0x80), w->depth);
    }
}

/* Rows of a window of at most 16 bytes each that lie inside their picture rows: one load and one store a row. */
static inline void pack_short(uint8_t *to, const uint8_t *const *rows, uint32_t n, uint32_t row_k, size_t from, uint8x16_t mask) {
    if (n == 3) {
        vst1q_u8(to, veorq_u8(vld1q_u8(rows[0] + from), mask));
        vst1q_u8(to + row_k, veorq_u8(vld1q_u8(rows[1] + from), mask));
        vst1q_u8(to + 2 * row_k, veorq_u8(vld1q_u8(rows[2] + from), mask));
        return;
    }
    for (uint32_t ky = 0; ky < n; ky++) vst1q_u8(to + ky * row_k, veorq_u8(vld1q_u8(rows[ky] + from), mask));
}

/* Four pixels of one row whose windows are short and inside; returns 0 where they are not. */
static int pack_four(struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox) {
    const struct morsel_window *win = &w->a->window;
    uint32_t left = ox * win->stride_w - win->pad_left, last = left + 3 * win->stride_w, row_k = w->row_k;
    size_t from = (size_t)left * win->in_c, step = (size_t)win->stride_w * win->in_c;
    if (ox + 4 > win->out_w || left >= win->in_w || last + win->kernel_w > win->in_w) return 0;
    if (win->dilation_w != 1 || w->a->groups != 1 || row_k > 16 || from + 3 * step + 16 > win->in_row) return 0;
    uint8x16_t mask = vdupq_n_u8((uint8_t)(w->a->x.qparams.sign_flip ^ 0x80));
    for (uint32_t p = 0; p < 4; p++, from += step, to += w->line) pack_short(to, rows, win->kernel_h, row_k, from, mask);
    return 1;
}

/* The window of a pixel as one line of K bytes. What lands in the padding of a row of weights is multiplied by 0. */
static void pack_pixel(const struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    uint32_t left = ox * win->stride_w - win->pad_left; /* left of the picture: huge */
    int whole = left < win->in_w && left + win->kernel_w <= win->in_w && win->dilation_w == 1 && w->a->groups == 1;
    size_t from = (size_t)left * win->in_c;
    uint8_t flip = (uint8_t)(w->a->x.qparams.sign_flip ^ 0x80);
    for (uint32_t ky = 0; ky < win->kernel_h; ky++, to += w->row_k) {
        if (whole) copy_line(to, rows[ky] + from, win->kernel_w * w->depth, rows[ky] + win->in_row, flip);
        else pack_edge(w, to, rows[ky], left, channel);
    }
}

/* Three rows of nine bytes: eight of each, then the ninth of each. */
static inline void pack_nine(uint8_t *to, const uint8_t *r0, const uint8_t *r1, const uint8_t *r2, uint64_t flip) {
    uint64_t a, b, c;
    uint32_t last = ((uint32_t)r0[8] | (uint32_t)r1[8] << 8 | (uint32_t)r2[8] << 16) ^ (uint32_t)flip;
    memcpy(&a, r0, 8);
    memcpy(&b, r1, 8);
    memcpy(&c, r2, 8);
    a ^= flip, b ^= flip, c ^= flip;
    memcpy(to, &a, 8);
    memcpy(to + 8, &b, 8);
    memcpy(to + 16, &c, 8);
    memcpy(to + 24, &last, 4);
}

/* n such windows of one row of pixels. */
static void pack_nines(const struct walk *w, uint8_t *to, const uint8_t *const *rows, uint32_t ox, uint32_t n) {
    const struct morsel_window *win = &w->a->window;
    uint64_t flip = (w->a->x.qparams.sign_flip ^ 0x80) * UINT64_C(0x0101010101010101);
    size_t step = 3 * (size_t)win->stride_w, line = w->line;
    for (uint32_t inside; n; n -= inside, ox += inside) {
        uint32_t left = ox * win->stride_w - win->pad_left; /* left of the picture: huge */
        uint8_t edge[3 * 12 + SPARE];
        if (left >= win->in_w || win->in_w - left < 3) {
            inside = 1;
            pack_pixel(w, edge, rows, ox, 0);
            pack_nine(to, edge, edge + 12, edge + 24, 0);
            to += line;
            continue;
        }
        inside = (win->in_w - left - 3) / win->stride_w + 1;
        if (inside > n) inside = n;
        const uint8_t *r0 = rows[0] + 3 * (size_t)left, *r1 = rows[1] + 3 * (size_t)left, *r2 = rows[2] + 3 * (size_t)left;
        for (uint32_t i = 0; i < inside; i++, r0 += step, r1 += step, r2 += step, to += line) pack_nine(to, r0, r1, r2, flip);
    }
}

/* The weights for them, [blocks][9 quads][16][4] in the blob: the third quad of each row holds one input, and its padding 0. */
static void pack_weights(int8_t *to, const int8_t *from, uint32_t blocks) {
    for (; blocks; blocks--, from += 9 * 64, to += NINE_K * 16) {
        for (uint32_t row = 0; row < 3; row++) memcpy(to + row * 128, from + row * 192, 128);
        for (uint32_t c = 0; c < 64; c += 4) {
            to[384 + c] = from[128 + c];
            to[385 + c] = from[320 + c];
            to[386 + c] = from[512 + c];
            to[387 + c] = 0;
        }
    }
}

/* The addresses of a pixel's window cells. */
static void point_pixel(struct walk *w, uint32_t p, const uint8_t *const *rows, uint32_t ox, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    const uint8_t **x = w->own->x + p;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        uint32_t ix = ox * win->stride_w - win->pad_left;
        for (uint32_t kx = 0; kx < win->kernel_w; kx++, ix += win->dilation_w, x += 4)
            *x = ix < win->in_w ? rows[ky] + (size_t)ix * win->in_c + channel : w->own->padding;
    }
}

/* The windows of `pixels` pixels from pixel p of this call on, side by side. */
static void pack_pixels(struct walk *w, uint32_t p, uint32_t pixels, uint32_t channel) {
    uint32_t out_w = w->a->window.out_w;
    const uint8_t *const *rows = w->rows + (size_t)(p / out_w) * w->a->window.kernel_h;
    uint8_t *to = w->own->packed;
    for (uint32_t ox = p % out_w, n; pixels; pixels -= n, ox += n, to += n * w->line) {
        if (ox == out_w) {
            ox = 0;
            rows += w->a->window.kernel_h;
        }
        if (w->nine) {
            n = pixels < out_w - ox ? pixels : out_w - ox;
            pack_nines(w, to, rows, ox, n);
            continue;
        }
        n = pixels >= 4 && pack_four(w, to, rows, ox) ? 4 : 1;
        if (n == 1) pack_pixel(w, to, rows, ox, channel);
    }
}

/* The addresses of up to four pixels' inputs. */
static void point_pixels(struct walk *w, uint32_t first, uint32_t pixels, uint32_t channel) {
    uint32_t out_w = w->a->window.out_w, ox = first % out_w;
    const uint8_t *const *rows = w->rows + (size_t)(first / out_w) * w->a->window.kernel_h;
    for (uint32_t p = 0; p < 4; p++) {
        point_pixel(w, p, rows, ox, channel);
        if (p + 1 < pixels && ++ox == out_w) {
            ox = 0;
            rows += w->a->window.kernel_h;
        }
    }
}

/* The same where the inputs of all pixels of this call lie side by side. */
static void point_along(struct walk *w, uint32_t first, uint32_t pixels, uint32_t channel) {
    uint32_t step = w->a->window.in_c;
    const uint8_t *x = w->rows[0] + (size_t)first * step + channel;
    for (uint32_t p = 0; p < 4; p++) {
        w->own->x[p] = x;
        if (p + 1 < pixels) x += step;
    }
}

/* The same, of `pieces` cells from cell `piece` on alone. */
static void point_pieces(struct walk *w, uint32_t first, uint32_t pixels, uint32_t piece, uint32_t pieces, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    uint32_t top = piece / win->kernel_w, side = piece % win->kernel_w;
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t at = first + (p < pixels ? p : pixels - 1), ky = top, kx = side;
        const uint8_t *const *rows = w->rows + (size_t)(at / win->out_w) * win->kernel_h;
        uint32_t left = at % win->out_w * win->stride_w - win->pad_left;
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t ix = left + kx * win->dilation_w;
            w->own->x[4 * i + p] = ix < win->in_w ? rows[ky] + (size_t)ix * win->in_c + channel : w->own->padding;
            if (++kx == win->kernel_w) kx = 0, ky++;
        }
    }
}

static void store_raw(const struct walk *w, const struct morsel_tile *t, uint32_t channel, size_t first, uint32_t pixel) {
    if (w->a->y.qparams.is_float) {
        morsel_store_tile_floats(w->a, t, channel, first, w->lines ? w->lines + 2 * (size_t)pixel : NULL, (int32_t)w->k);
        return;
    }
    for (uint32_t p = 0; p < t->pixels; p++)
        morsel_store_raw(&w->a->y, &w->a->channels, w->own->raw[p], channel, t->channels, first + (size_t)p * w->a->window.out_c);
}

/* For each pixel of the tiles: the zero points of the bytes that weights are multiplied with, less those bytes. */
static void sum_below(struct walk *w, const struct morsel_tile *t) {
    const int32_t zeros = (int32_t)(t->segments * t->depth) * (w->a->x.qparams.zero - 128);
    int32_t *below = w->own->below;
    for (uint32_t i = 0; i < t->tiles; i++)
        for (uint32_t p = 0; p < 4; p++, below++) {
            *below = zeros;
            for (uint32_t s = 0; s < t->segments; s++) *below -= morsel_sum_signed(t->x[4 * s + p] + i * t->x_step, t->depth);
        }
}

/* How many tiles a call may take: inputs that lie side by side, where they are or once they are packed. */
static uint32_t tiles_at_once(const struct walk *w, uint32_t pixels) {
    const struct morsel_window *win = &w->a->window;
    if (w->own->span.requant.mode == MORSEL_REQUANT_RAW) return 1;
    if (w->packing) return (uint32_t)(w->nine ? sizeof w->own->nines : sizeof w->own->packed) / w->line / 4;
    if (w->pieces != 1 || win->stride_w != 1 || win->pad_left || win->out_w != win->in_w) return 1;
    const uint8_t *const *row = w->rows + 1;
    for (uint32_t at = win->out_w; at < pixels; at += win->out_w, row++)
        if (*row != row[-1] + win->in_row) return 1;
    return pixels / 4;
}

/* All pieces of a strip of tiles, a few at a time. The sums of the others wait. */
static void run_strip(struct walk *w, struct morsel_tile t, uint32_t first, uint32_t pixels, uint32_t channel, morsel_tile_fn *fn) {
    uint8_t *y = t.y;
    const int8_t *weights = t.weights;
    for (uint32_t piece = 0; piece < w->pieces; piece += t.segments) {
        t.weights = weights + (size_t)piece * w->depth * 16;
        t.segments = w->deep < w->pieces - piece ? w->deep : w->pieces - piece;
        t.begun = piece > 0;
        t.ended = piece + t.segments == w->pieces;
        w->own->span.ready = 0;
        for (uint32_t p = 0; p < pixels; p += 4) {
            t.pixels = pixels - p < 4 ? pixels - p : 4;
            t.sums = w->room->sums[p / 4];
            t.y = y + p * t.y_step;
            point_pieces(w, first + p, t.pixels, piece, t.segments, channel);
            fn(&t);
        }
    }
}

static void run_strips(struct walk *w, struct morsel_tile t, uint32_t pixels, uint8_t *y, uint32_t channel, morsel_tile_fn *fn) {
    for (uint32_t p = 0, n; p < pixels; p += n) {
        n = pixels - p < 4 * MORSEL_STRIP ? pixels - p : 4 * MORSEL_STRIP;
        t.y = y + p * t.y_step;
        run_strip(w, t, p, n, channel, fn);
    }
}

/* Channels c .. of convolution group g, for `pixels` pixels from element `first` of y on. */
static void run_span(struct walk *w, uint32_t g, uint32_t c, uint32_t pixels, size_t first, morsel_tile_fn *fn) {
    const struct morsel_conv_args *a = w->a;
    uint32_t blocks = (w->outs + 15) / 16, start = (g * blocks + c / 16) * 16, left = w->outs - c;
    struct morsel_tile t = {
        .x = w->packing ? w->own->lines : w->own->x,
        .segments = w->packing ? 1 : w->pieces,
        .depth = w->packing ? w->tile_k : w->depth,
        .weights = a->weights + (size_t)start * w->k,
        .span = &w->own->span,
        .channels = left < w->most ? left : w->most,
        .tiles = 1,
        .x_step = 4 * (size_t)(w->packing ? w->line : a->window.in_c),
        .y_step = a->window.out_c,
        .raw = w->own->raw,
        .room = w->room,
        .ended = 1,
        .zero = a->channels.weight_zero ? a->channels.weight_zero + start : NULL,
        .below = w->own->below,
    };
    morsel_span_prepare(&w->own->span, &a->channels, &a->x, &a->y, start, (t.channels + 15) / 16);
    w->own->span.uses = pixels;
    if (w->nine) {
        pack_weights(w->own->weights, t.weights, (t.channels + 15) / 16);
        t.weights = w->own->weights;
    }
    if (!w->room && w->most < MORSEL_SPAN && left > w->most) {
        t.next = t.weights + (size_t)w->most * w->k;
        t.next_bytes = (size_t)(left < 2 * w->most ? left - w->most : w->most) * w->k;
    }
    uint32_t most = tiles_at_once(w, pixels);
    if (t.zero && most > SUMMED) most = SUMMED;
    first += g * w->outs + c;
    if (w->deep && pixels >= MORSEL_ROOM_PIXELS && w->own->span.requant.mode != MORSEL_REQUANT_RAW) {
        run_strips(w, t, pixels, (uint8_t *)a->y.data + first, g * w->depth, fn);
        return;
    }
    const size_t soon = t.next && w->own->span.requant.mode == MORSEL_REQUANT_RAW ? t.next_bytes / ((pixels + 3) / 4) / 64 * 64 : 0;
    for (uint32_t p = 0, step; p < pixels; p += step, first += step * (size_t)a->window.out_c) {
        for (size_t i = 0; i < soon; i += 64, t.next += 64) MORSEL_PREFETCH(t.next);
        uint32_t tiles = (pixels - p) / 4;
        t.pixels = tiles ? 4 : pixels - p;
        t.tiles = !tiles ? 1 : tiles < most ? tiles : most;
        step = t.tiles * 4;
        if (w->packing) pack_pixels(w, p, tiles ? step : t.pixels, g * w->depth);
        else if (most > 1) point_along(w, p, t.pixels, g * w->depth);
        else point_pixels(w, p, t.pixels, g * w->depth);
        if (!a->y.qparams.is_float) t.y = (uint8_t *)a->y.data + first;
        if (t.zero) sum_below(w, &t);
        fn(&t);
        if (w->own->span.requant.mode == MORSEL_REQUANT_RAW) store_raw(w, &t, start, first, p);
    }
}

/* Whether the tiles take this call, and how. */
static int plan(struct walk *w) {
    const struct morsel_window *win = &w->a->window;
    w->depth = win->in_c;
    w->outs = win->out_c;
    if (w->a->groups > 1) { /* calls for few rows are many: no division that they can do without */
        w->depth /= w->a->groups;
        w->outs /= w->a->groups;
    }
    w->row_k = (win->kernel_w * w->depth + 3) / 4 * 4;
    w->k = win->kernel_h * w->row_k;
    w->pieces = win->kernel_h * win->kernel_w;
    w->packing = w->depth % 4 || w->a->x.qparams.sign_flip != 0x80 || w->pieces > PIECES || w->depth > LINE;
    /* A 1x1 window without padding never leaves the picture, however deep it is. */
    if (w->depth % 4 == 0 && w->a->x.qparams.sign_flip == 0x80 && w->pieces == 1 && win->pad_left == 0 &&
        (win->out_w - 1) * win->stride_w < win->in_w)
        w->packing = 0;
    w->nine = !w->a->channels.weight_zero && win->kernel_h == 3 && win->kernel_w == 3 && w->depth == 3 && win->dilation_w == 1 &&
              w->a->groups == 1;
    w->tile_k = w->nine ? NINE_K : w->k;
    return !w->packing || w->k <= PACKED;
}

/* Channels of a span, which goes over all pixels before the next one does. Where the inputs stay in a cache they are few. Then the weights
 * come from memory beside the arithmetic of those before, and stay in the nearest cache for all pixels. */
static uint32_t span_channels(const struct walk *w, uint32_t pixels) {
    if (w->packing || w->pieces != 1 || pixels < 4 || (size_t)pixels * w->k > MANY_INPUTS) return MORSEL_SPAN;
    const uint32_t few = w->a->y.qparams.is_float ? 4 * FEW_WEIGHTS : FEW_WEIGHTS; /* tiles of floats are called one by one */
    if ((size_t)w->outs * w->k <= few) return MORSEL_SPAN;
    uint32_t n = few / w->k / 16 * 16;
    return n > MORSEL_SPAN ? MORSEL_SPAN : n ? n : 16;
}

/* How many channels, and of how many pieces, are taken at once. With a room, their weights fill it, each piece rounded up to eight inputs.
 * All shares are about as large. */
static void share(struct walk *w, uint32_t pixels) {
    uint32_t depth = ((w->packing ? w->tile_k : w->depth) + 7) / 8 * 8;
    uint32_t pieces = w->packing ? 1 : w->pieces, blocks = (w->outs + 15) / 16, most = MORSEL_SPAN / 16;
    w->deep = 0;
    w->most = w->room ? MORSEL_SPAN : span_channels(w, pixels);
    if (!w->room || depth > w->room->bytes / 16 || pixels < MORSEL_ROOM_PIXELS) return;
    uint32_t fit = w->room->bytes / 16 / depth;
    if (fit < pieces && w->a->y.qparams.is_float) {
        w->most = span_channels(w, pixels); /* no strips: dot products do it */
    } else if (fit < pieces) {
        uint32_t parts = (pieces + fit - 1) / fit;
        w->deep = (pieces + parts - 1) / parts;
        w->most = 16;
    }
    if (fit < pieces) return;
    if (most > fit / pieces) most = fit / pieces;
    uint32_t spans = (blocks + most - 1) / most;
    w->most = (blocks + spans - 1) / spans * 16;
}

static void start_walk(struct walk *w, uint32_t pixels) {
    w->line = (w->tile_k + SPARE + 15) / 16 * 16;
    for (uint32_t p = 0; w->packing && p < 4; p++) w->own->lines[p] = w->own->packed + p * w->line;
    if (w->packing) memset(w->own->packed, 0, sizeof w->own->packed);
    else memset(w->own->padding, (int)((uint32_t)w->a->x.qparams.zero ^ 0x80), w->depth < LINE ? w->depth : LINE);
    share(w, pixels);
    if ((w->a->y.qparams.is_float || w->a->channels.float_bias) && w->most > MORSEL_RAW) w->most = MORSEL_RAW;
}

/* A 1x1 window too deep for the room becomes a row of cells that it holds; the bytes and the weights lie the same. */
static void split_depth(struct morsel_conv_args *a, uint32_t room) {
    struct morsel_window *win = &a->window;
    uint32_t depth = win->in_c, parts = (depth + LINE - 1) / LINE;
    if (win->kernel_h * win->kernel_w * a->groups != 1 || win->pad_left || depth % 4 || depth <= room / 16) return;
    while (parts < PIECES && depth / 4 % parts) parts++;
    if (depth / 4 % parts) return;
    win->in_c /= parts;
    win->in_w *= parts;
    win->stride_w *= parts;
    win->kernel_w = parts;
    win->dilation_w = 1;
}

static __attribute__((noinline)) void walk_rows(struct walk *w, uint32_t y, uint32_t n, morsel_tile_fn *tile) {
    const struct morsel_conv_args *a = w->a;
    struct walk_room own;
    w->own = &own; /* cppcheck-suppress autoVariables; the walk ends here */
    start_walk(w, n * a->window.out_w);
    size_t first = (size_t)y * a->window.out_w * a->window.out_c;
    for (uint32_t g = 0; g < a->groups; g++)
        for (uint32_t c = 0; c < w->outs; c += w->most) run_span(w, g, c, n * a->window.out_w, first, tile);
}

void morsel_conv_tiles(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_tile_fn *tile,
                       struct morsel_pairs *room) {
    struct morsel_conv_args split;
    struct walk w = {.a = a, .rows = rows, .room = room};
    if (room) {
        split = *a;
        split_depth(&split, room->bytes);
        w.a = &split;
    }
    if (plan(&w)) walk_rows(&w, y, n, tile);
    else morsel_conv_rows_c(a, rows, y, n);
}

/* A matrix product as a convolution 1x1 over a picture of one row. */
static void as_conv(struct morsel_conv_args *conv, const struct morsel_fc_args *a) {
    struct morsel_window win = {1, a->rows, a->inputs, 1, a->rows, a->outputs, 1, 1, 1, 1, 1, 1, 0, 0, a->rows * a->inputs, 0};
    memset(conv, 0, sizeof *conv);
    conv->window = win;
    conv->x = a->x;
    conv->y = a->y;
    conv->weights = a->weights;
    conv->channels = a->channels;
    conv->groups = 1;
    conv->room = a->room;
}

static const char *refusal_of(const struct morsel_conv_args *a) {
    struct walk w = {.a = a};
    return plan(&w) ? NULL : MORSEL_REFUSES_WINDOW;
}

const char *morsel_conv_refusal_neon(const void *args) {
    return refusal_of(args);
}

const char *morsel_fc_refusal_neon(const void *args) {
    struct morsel_conv_args conv;
    as_conv(&conv, args);
    return refusal_of(&conv);
}

static __attribute__((noinline)) void walk_blocks(struct walk *w, struct morsel_window *window, const struct morsel_fc_args *a,
                                                  uint32_t begin, uint32_t end, morsel_tile_fn *tile) {
    struct walk_room own;
    w->own = &own; /* cppcheck-suppress autoVariables; the walk ends here */
    start_walk(w, a->rows);
    for (uint32_t rows; begin < end; begin += rows * a->blocks) { /* whole rows together; parts of a row one by one */
        uint32_t row = begin / a->blocks, block = begin % a->blocks, stop = a->blocks;
        const uint8_t *line = (const uint8_t *)a->x.data + (size_t)row * a->inputs;
        rows = block ? 0 : (end - begin) / a->blocks;
        if (!rows && end - begin < a->blocks - block) stop = block + end - begin;
        w->rows = &line; /* cppcheck-suppress autoVariables */
        w->lines = a->lines ? a->lines + 2 * (size_t)row : NULL;
        window->out_w = rows ? rows : 1;
        window->in_w = window->out_w * window->kernel_w;
        window->in_row = window->out_w * a->inputs;
        w->outs = stop * 16 < a->outputs ? stop * 16 : a->outputs;
        for (uint32_t c = block * 16; c < w->outs; c += w->most) run_span(w, 0, c, window->out_w, (size_t)row * a->outputs, tile);
        if (!rows) begin += stop - block;
    }
}

void morsel_fc_tiles(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, morsel_tile_fn *tile, struct morsel_pairs *room) {
    struct morsel_conv_args conv;
    struct walk w;
    as_conv(&conv, a);
    if (room) split_depth(&conv, room->bytes);
    if (a->lines) conv.x.qparams.zero = 128; /* zero points come with the results */
    w.a = &conv;
    w.room = room;
    if (plan(&w)) walk_blocks(&w, &conv.window, a, begin, end, tile);
    else morsel_fc_blocks_c(a, begin, end);
}
