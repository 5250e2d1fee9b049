/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and matrix products cut into tiles: the inputs of four output pixels, and spans of channels. The arithmetic is left to the
 * ISA's tile. Inputs are used where they lie if they are signed and their channels come in fours. Else the four windows are copied side by
 * side first.
 */
#include "windows_neon.h"

/* The addresses of a pixel's window cells. */
static void point_pixel(struct walk *w, uint32_t p, const uint8_t *const *rows, uint32_t ox, uint32_t channel) {
    const struct morsel_window *win = &w->a->window;
    const uint8_t **x = w->x + p;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        uint32_t ix = ox * win->stride_w - win->pad_left;
        for (uint32_t kx = 0; kx < win->kernel_w; kx++, ix += win->dilation_w, x += 4)
            *x = ix < win->in_w ? rows[ky] + (size_t)ix * win->in_c + channel : w->padding;
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
        w->x[p] = x;
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
            w->x[4 * i + p] = ix < win->in_w ? rows[ky] + (size_t)ix * win->in_c + channel : w->padding;
            if (++kx == win->kernel_w) kx = 0, ky++;
        }
    }
}

/* Sums of sixteen channels of the tile from c on, of pixel p. */
static void store_sums(const struct morsel_tile *t, struct morsel_sum16 s, uint32_t p, uint32_t c) {
    morsel_store_raw(&t->conv->y, &t->conv->channels, s, t->channel + c, t->channels - c, t->first + (size_t)p * t->conv->window.out_c + c);
}

void morsel_put_sums(const struct morsel_tile *t, struct morsel_sum16 s, uint32_t p, uint32_t c) {
    const int32x4x4_t v = {{s.s0, s.s1, s.s2, s.s3}};
    if (t->raw) vst1q_s32_x4(t->raw[p] + c, v);
    else store_sums(t, s, p, c);
}

/* What was kept of a tile. */
static void store_raw(const struct walk *w, const struct morsel_tile *t, uint32_t pixel) {
    if (w->lines) {
        morsel_store_tile_floats(w->a, t, w->lines + 2 * (size_t)pixel, (int32_t)w->k);
        return;
    }
    for (uint32_t p = 0; p < t->pixels; p++) store_sums(t, morsel_load_start(t->raw[p]), p, 0);
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
    if (w->packing) return (w->bytes - (w->nine ? w->most * NINE_K : 0)) / w->line / 4;
    if (w->pieces != 1 || win->stride_w != 1 || win->pad_left || win->out_w != win->in_w) return 1;
    const uint8_t *const *row = w->rows + 1;
    for (uint32_t at = win->out_w; at < pixels; at += win->out_w, row++)
        if (*row != row[-1] + win->in_row) return 1;
    return pixels / 4;
}

/* All pieces of a strip of tiles, a few at a time. The sums of the others wait. */
static void run_strip(struct walk *w, struct morsel_tile *t, uint32_t first, uint32_t pixels, uint32_t channel, morsel_tile_fn *fn) {
    uint8_t *y = t->y;
    const int8_t *weights = t->weights;
    for (uint32_t piece = 0; piece < w->pieces; piece += t->segments) {
        t->weights = weights + (size_t)piece * w->depth * 16;
        t->segments = w->deep < w->pieces - piece ? w->deep : w->pieces - piece;
        t->begun = piece > 0;
        t->ended = piece + t->segments == w->pieces;
        w->own->span.ready = 0;
        for (uint32_t p = 0; p < pixels; p += 4) {
            t->pixels = pixels - p < 4 ? pixels - p : 4;
            t->sums = w->room->sums[p / 4];
            t->y = y + p * t->y_step;
            point_pieces(w, first + p, t->pixels, piece, t->segments, channel);
            fn(t);
        }
    }
    t->weights = weights;
}

static void run_strips(struct walk *w, struct morsel_tile *t, uint32_t pixels, uint8_t *y, uint32_t channel, morsel_tile_fn *fn) {
    for (uint32_t p = 0, n; p < pixels; p += n) {
        n = pixels - p < 4 * MORSEL_STRIP ? pixels - p : 4 * MORSEL_STRIP;
        t->y = y + p * t->y_step;
        run_strip(w, t, p, n, channel, fn);
    }
}

/* Sixteen channels of a tile whose cells have no room for all their addresses: sums of a few pieces at a time, which are added up. */
static void run_parts(struct walk *w, struct morsel_tile *t, uint32_t first, uint32_t channel, morsel_tile_fn *fn) {
    const int8_t *weights = t->weights;
    struct morsel_span *span = &w->own->span;
    const uint32_t again = (w->pieces - 1) / w->cells; /* each begins where sums start */
    for (uint32_t i = 0; i < 4 * 16; i++) span->raw[i / 16][16 + i % 16] = (int32_t)(0 - again * (uint32_t)span->start[i % 16]);
    for (uint32_t piece = 0; piece < w->pieces; piece += t->segments) {
        t->segments = w->cells < w->pieces - piece ? w->cells : w->pieces - piece;
        span->pairs = 0;
        point_pieces(w, first, t->pixels, piece, t->segments, channel);
        if (t->zero) sum_below(w, t);
        fn(t);
        t->weights += (size_t)t->segments * w->depth * 16;
        for (uint32_t i = 0; i < 4 * 16; i++) {
            int32_t *sum = span->raw[i / 16] + i % 16;
            sum[16] = (int32_t)((uint32_t)sum[16] + (uint32_t)sum[0]);
        }
    }
    for (uint32_t i = 0; i < 4 * 16; i++) span->raw[i / 16][i % 16] = span->raw[i / 16][16 + i % 16];
    t->weights = weights;
}

/* For them: sums as they are, whatever becomes of them. */
static void prepare_parts(struct walk *w, uint32_t start) {
    struct morsel_span *span = &w->own->span;
    struct morsel_channels channels = w->a->channels;
    channels.proofs = NULL;
    morsel_span_prepare(span, &channels, &w->a->x, &w->a->y, start, 1);
    span->requant.mode = MORSEL_REQUANT_RAW;
    span->ready = 1;
}

/* Channels c .. of convolution group g, for `pixels` pixels from element `first` of y on. */
static void run_span(struct walk *w, uint32_t g, uint32_t c, uint32_t pixels, size_t first, morsel_tile_fn *fn) {
    const struct morsel_conv_args *a = w->a;
    uint32_t blocks = (w->outs + 15) / 16, start = (g * blocks + c / 16) * 16, left = w->outs - c;
    struct morsel_tile t = {
        .x = w->packing ? w->own->lines : w->x,
        .segments = w->packing ? 1 : w->pieces,
        .depth = w->packing ? w->tile_k : w->depth,
        .weights = a->weights + (size_t)start * w->k,
        .span = &w->own->span,
        .channels = left < w->most ? left : w->most,
        .tiles = 1,
        .x_step = 4 * (size_t)(w->packing ? w->line : a->window.in_c),
        .y_step = a->window.out_c,
        .conv = a,
        .channel = start,
        .room = w->room,
        .ended = 1,
        .zero = a->channels.weight_zero ? a->channels.weight_zero + start : NULL,
        .below = w->own->below,
    };
    const int strips = w->deep && pixels >= MORSEL_ROOM_PIXELS, parts = !strips && !w->packing && w->pieces > w->cells;
    if (parts || w->lines) t.raw = w->own->span.raw;
    if (parts) prepare_parts(w, start);
    else morsel_span_prepare(&w->own->span, &a->channels, &a->x, &a->y, start, (t.channels + 15) / 16);
    w->own->span.uses = pixels;
    if (w->nine) {
        int8_t *weights = (int8_t *)w->memory + w->bytes - w->most * NINE_K;
        pack_weights(weights, t.weights, (t.channels + 15) / 16);
        t.weights = weights;
    }
    if (!w->room && w->most < MORSEL_SPAN && left > w->most) {
        t.next = t.weights + (size_t)w->most * w->k;
        t.next_bytes = (size_t)(left < 2 * w->most ? left - w->most : w->most) * w->k;
    }
    uint32_t most = tiles_at_once(w, pixels);
    if (t.zero && most > SUMMED) most = SUMMED;
    first += g * w->outs + c;
    if (strips) {
        run_strips(w, &t, pixels, (uint8_t *)a->y.data + first, g * w->depth, fn);
        return;
    }
    const size_t soon = t.next && w->own->span.requant.mode == MORSEL_REQUANT_RAW ? t.next_bytes / ((pixels + 3) / 4) / 64 * 64 : 0;
    for (uint32_t p = 0, step; p < pixels; p += step, first += step * (size_t)a->window.out_c) {
        for (size_t i = 0; i < soon; i += 64, t.next += 64) MORSEL_PREFETCH(t.next);
        uint32_t tiles = (pixels - p) / 4;
        t.pixels = pixels - p < w->beside ? pixels - p : w->beside;
        t.tiles = t.pixels < 4 ? 1 : tiles < most ? tiles : most;
        step = t.tiles * t.pixels;
        t.first = first;
        if (!a->y.qparams.is_float) t.y = (uint8_t *)a->y.data + first;
        if (parts) {
            run_parts(w, &t, p, g * w->depth, fn);
        } else {
            if (w->packing) pack_pixels(w, p, step, g * w->depth);
            else if (most > 1) point_along(w, p, t.pixels, g * w->depth);
            else point_pixels(w, p, t.pixels, g * w->depth);
            if (t.zero) sum_below(w, &t);
            fn(&t);
        }
        if (t.raw) store_raw(w, &t, p);
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

/* How many channels, and of how many pieces, are taken at once where the room is to hold their weights, each piece rounded up to eight
 * inputs. They fill it, and all shares are about as large. */
static void share_room(struct walk *w, uint32_t depth, int raw, uint32_t pixels) {
    uint32_t pieces = w->packing ? 1 : w->pieces, blocks = (w->outs + 15) / 16, most = MORSEL_SPAN / 16;
    uint32_t fit = w->room->bytes / 16 / depth;
    if (fit < pieces && raw) {
        w->most = span_channels(w, pixels); /* no strips: dot products do it */
    } else if (fit < pieces) {
        uint32_t parts = (pieces + fit - 1) / fit;
        w->deep = (pieces + parts - 1) / parts;
        if (w->deep > w->cells) w->deep = w->cells;
    }
    if (fit < pieces) return;
    if (most > fit / pieces) most = fit / pieces;
    uint32_t spans = (blocks + most - 1) / most;
    w->most = (blocks + spans - 1) / spans * 16;
}

/* The same, and how many windows are copied at once, as the memory allows. */
static void share(struct walk *w, uint32_t pixels) {
    const int raw = w->a->y.qparams.is_float || w->a->channels.float_bias;
    const uint32_t depth = ((w->packing ? w->tile_k : w->depth) + 7) / 8 * 8;
    w->beside = w->packing && w->bytes < 4 * w->line ? w->bytes / w->line : 4;
    w->cells = (uint32_t)(w->padding - w->memory) / (4 * sizeof *w->x);
    w->deep = 0;
    w->most = w->room ? MORSEL_SPAN : span_channels(w, pixels);
    if (w->room && depth <= w->room->bytes / 16 && pixels >= MORSEL_ROOM_PIXELS) share_room(w, depth, raw, pixels);
    if (w->deep || (!w->packing && w->pieces > w->cells) || (w->nine && w->bytes < MEMORY)) w->most = 16;
    /* Each tile reads all their weights: from the nearest cache. */
    if (raw && w->most > MORSEL_RAW && (w->lines || w->k > 512)) w->most = MORSEL_RAW;
}

/* The memory: of what is lent, behind what tiles keep there, or else on the stack. */
static void start_walk(struct walk *w, uint32_t pixels) {
    const struct morsel_room *lent = &w->a->room;
    const size_t used = w->room ? sizeof *w->room + w->room->bytes : 0;
    const int roomy = lent->bytes >= used + MEMORY;
    const uint32_t padding = w->depth > LINE ? 0 : w->depth; /* what is deeper has none */
    w->memory = roomy ? lent->data + used : w->own->stack;
    w->bytes = roomy ? MEMORY : MEMORY_STACK;
    w->padding = w->memory + w->bytes - padding;
    w->x = (const uint8_t **)(void *)w->memory;
    w->line = (w->tile_k + SPARE + 15) / 16 * 16;
    share(w, pixels);
    for (uint32_t p = 0; p < 4; p++) w->own->lines[p] = w->memory + (p < w->beside ? p : w->beside - 1) * w->line;
    if (w->packing) memset(w->memory, 0, w->bytes);
    else memset(w->padding, (int)((uint32_t)w->a->x.qparams.zero ^ 0x80), padding);
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
static __attribute__((noinline)) void as_conv(struct morsel_conv_args *conv, const struct morsel_fc_args *a) {
    struct morsel_window win = {1, a->rows, a->inputs, 1, a->rows, a->outputs, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
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
        if (a->lines) w->lines = a->lines + 2 * (size_t)row;
        window->out_w = rows ? rows : 1;
        window->in_w = (window->out_w - 1) * window->stride_w + window->kernel_w;
        window->in_row = window->in_w * window->in_c;
        w->outs = stop * 16 < a->outputs ? stop * 16 : a->outputs;
        for (uint32_t c = block * 16; c < w->outs; c += w->most) run_span(w, 0, c, window->out_w, (size_t)row * window->out_c, tile);
        if (!rows) begin += stop - block;
    }
}

/* Rows of x are so many of their lengths apart, every so many pixels of a row; those of y so many elements. */
static int fc_tiles(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step, uint32_t begin, uint32_t end, morsel_tile_fn *tile,
                    struct morsel_pairs *room) {
    struct morsel_conv_args conv;
    struct walk w;
    as_conv(&conv, a);
    conv.window.stride_w = apart;
    conv.window.in_w *= apart;
    conv.window.out_c = y_step;
    if (room) split_depth(&conv, room->bytes);
    if (a->lines) conv.x.qparams.zero = 128; /* zero points come with the results */
    w.a = &conv;
    w.room = room;
    w.lines = a->lines;
    if (!plan(&w)) return 0;
    w.outs = a->outputs;
    walk_blocks(&w, &conv.window, a, begin, end, tile);
    return 1;
}

void morsel_fc_short_tiles(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step, morsel_tile_fn *tile,
                           struct morsel_pairs *room) {
    fc_tiles(a, apart, y_step, 0, a->rows * a->blocks, tile, room);
}

void morsel_fc_tiles(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, morsel_tile_fn *tile, struct morsel_pairs *room) {
    if (!fc_tiles(a, 1, a->outputs, begin, end, tile, room)) morsel_fc_blocks_c(a, begin, end);
}
