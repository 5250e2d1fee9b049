/* SPDX-License-Identifier: MIT */
/* Convolution with AVX2, by the tiles of words_avx2.h: some pixels at a time, of those some blocks, of those windows piece by piece. */
#define MORSEL_BELOW_1
#include "conv_plan.h"
#include "requant_avx2.h"
#include "seven_avx2.h"
#include "words_avx2.h"
#include "x86.h"

#define TALL 56u /* pixels of several output rows that go together */

/* How much is in work at most, by what is there: pairs of inputs in a piece of a window, or in all of it; blocks; pixels whose sums
 * wait. */
static const struct words_size {
    uint32_t bytes;
    uint16_t pairs, whole, blocks, pixels;
} words_sizes[] = {{43008, 128, 160, 6, 50}, {28672, 128, 160, 4, 32}, {16384, 64, 80, 4, 24}, {9216, 48, 72, 2, 12}, {0, 24, 36, 1, 20}};

#define STACK 5760u       /* bytes, where the room has no more */
#define WORDS_MOST 12544u /* of inputs: with all else they stay in the nearest cache */

struct work {
    const struct words_size *size;
    struct morsel_part256 *part;
    int16_t *weights;
    int32_t *sums;
    uint16_t *words;
    uint32_t pairs, most; /* of inputs; words */
    uint32_t each;        /* sums of a block, which whole windows share */
    int whole;            /* a piece has all of a window */
};

/* What is left is for words. */
static void take_room(struct work *r, const struct morsel_conv_job *job, uint8_t *stack) {
    const int roomy = job->room.bytes > STACK;
    const uint32_t bytes = roomy ? job->room.bytes : STACK;
    uint8_t *memory = roomy ? job->room.data : stack;
    r->size = words_sizes;
    while (r->size->bytes > bytes) r->size++;
    r->pairs = job->kernel_h * job->quads * 2;
    r->whole = r->pairs <= r->size->whole;
    r->each = r->whole ? 0 : (r->size->pixels + 4u) * 16;
    if (!r->whole) r->pairs = r->size->pairs;
    r->part = (struct morsel_part256 *)(void *)memory;
    r->weights = (int16_t *)(void *)(r->part + r->size->blocks);
    r->sums = (int32_t *)(void *)(r->weights + r->pairs * (size_t)32);
    r->words = (uint16_t *)(void *)(r->sums + (r->whole ? 6 * 16 : r->each * r->size->blocks));
    r->most = (uint32_t)((size_t)(memory + bytes - (uint8_t *)r->words) / 2 - 16);
    if (r->most > WORDS_MOST) r->most = WORDS_MOST;
}

/* ---- tiles ---- */

static __attribute__((noinline)) void tile_6x16(const struct morsel_words *t) {
    morsel_tile_words(t, 1, 1);
}

static __attribute__((noinline)) void tile_4x16(const struct morsel_words *t) {
    morsel_tile_words(t, 0, 1);
}

static __attribute__((noinline)) void tile_6x8(const struct morsel_words *t) {
    morsel_tile_words(t, 1, 0);
}

static __attribute__((noinline)) void tile_4x8(const struct morsel_words *t) {
    morsel_tile_words(t, 0, 0);
}

void morsel_words_tile_avx2(const struct morsel_words *t, int six, int both) {
    if (six) (both ? tile_6x16 : tile_6x8)(t);
    else (both ? tile_4x16 : tile_4x8)(t);
}

/* Pixels at .. end of n, two at a time. */
static inline void store_sums(const struct morsel_part256 *part, const int32_t *sums, size_t at, size_t end, size_t n) {
    const uint32_t channels = part->channels;
    const size_t second = channels > 8 ? 8 : 0; /* eight that are not there have no sums */
    for (; at < end; at += 2, sums += 32) {
        uint8_t *y = part->y + (at < n ? at : n - 1) * part->y_step;
        morsel_store_2x16(part, y, at + 1 < n ? y + part->y_step : y, morsel_load_sums(sums), morsel_load_sums(sums + second),
                          morsel_load_sums(sums + 16), morsel_load_sums(sums + 16 + second), channels, part->bias);
    }
}

/* n pixels in float, seven at most. */
static __attribute__((noinline)) void store_floats(const struct morsel_part256 *part, const int32_t *sums, size_t at, size_t n) {
    __m256i some[7];
    for (uint32_t first = 0; first < part->channels; first += 8) {
        for (size_t i = 0; i < n; i++) some[i] = morsel_load_sums(sums + i * 16 + first);
        morsel_store_floats_avx2(part, at, some, n, first);
    }
}

void morsel_store_words_avx2(const struct morsel_part256 *part, const int32_t *sums, size_t at, size_t end, size_t n) {
    if (!part->job->args->y.qparams.is_float) store_sums(part, sums, at, end, n);
    else
        for (const size_t stop = end < n ? end : n; at < stop; at += 7, sums += 7 * 16)
            store_floats(part, sums, at, stop - at < 7 ? stop - at : 7);
}

/* Some of a part's n pixels and a piece of their windows. */
struct stretch {
    struct morsel_piece piece;
    size_t base, count, n;
    int first, last; /* whether the piece is that of the windows */
};

/* A block whose weights are there. */
static void run_tiles(const struct stretch *s, const struct work *r, const struct morsel_part256 *part, int32_t *sums, const int8_t *soon) {
    const int whole = s->first && s->last, both = part->channels > 8, plain = s->last && part->channels == 16 && !part->seldom;
    struct morsel_words t = {.piece = &s->piece, .weights = r->weights, .soon = soon};
    for (size_t i = 0, pixels; i < s->count; i += pixels) {
        pixels = morsel_words_pixels(s->count - i);
        const size_t last = s->count < pixels ? 0 : s->count - pixels, at = i < last ? i : last;
        t.x = r->words + at * s->piece.step;
        t.to = sums + (whole ? 0 : i * 16);
        t.from = s->first ? (const int32_t *)(const void *)part->start : t.to;
        t.next = s->first ? 0 : 16;
        t.part = plain && pixels == 6 && s->base + at + 6 <= s->n ? part : NULL;
        t.y = part->y + (s->base + at) * part->y_step;
        morsel_words_tile_avx2(&t, pixels == 6, both);
        if (s->last && !t.part) morsel_store_words_avx2(part, t.to, s->base + at, s->base + at + pixels, s->n);
    }
}

/* ---- inputs ---- */

/* n bytes to words; of a last four that are not whole, the others are zeros. */
MORSEL_INLINE void widen(uint16_t *to, const uint8_t *x, size_t n) {
    for (; n >= 16; n -= 16, x += 16, to += 16)
        _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x)));
    if (n >= 8) {
        _mm_storeu_si128((__m128i *)(void *)to, _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)x)));
        n -= 8, x += 8, to += 8;
    }
    while (n) {
        const size_t some = n < 4 ? n : 4;
        uint32_t four = 0;
        for (size_t i = some; i--;) four = four << 8 | x[i]; /* no memcpy: registers need not be saved for it */
        _mm_storel_epi64((__m128i *)(void *)to, _mm_cvtepu8_epi16(_mm_cvtsi32_si128((int)four)));
        n -= some, x += 4, to += 4;
    }
}

/* Windows one behind the other; of fewer than a tile, the last one again. */
static void widen_windows(const struct stretch *s, uint16_t *to, const struct morsel_conv_job *job, const struct morsel_lines *lines) {
    const uint32_t first = s->piece.from / job->quads, from = s->piece.from % job->quads;
    const size_t least = s->count > 4 ? 6 : 4, all = s->count < least ? least : s->count;
    for (size_t p = 0; p < all; p++, to += s->piece.step) {
        const size_t pixel = s->base + (p < s->count ? p : s->count - 1), place = lines->map ? 0 : morsel_place(lines, pixel);
        uint16_t *y = to;
        for (uint32_t line = first, at = from, left = s->piece.pairs / 2, now; left; left -= now, y += now * 4, line++, at = 0) {
            const uint8_t *x = lines->map ? morsel_map_find(lines->map, line, pixel) : lines->line[line] + place;
            now = job->quads - at < left ? job->quads - at : left;
            widen(y, x + at * 4, now * (size_t)4);
        }
    }
}

/* Lines of inputs, which windows share. */
static void widen_lines(const struct stretch *s, uint16_t *to, const struct morsel_conv_job *job, const struct morsel_lines *lines) {
    const uint32_t first = s->piece.from / job->quads;
    const size_t n = (s->count - 1) * lines->step + job->taps;
    for (uint32_t k = 0; k < s->piece.lines; k++, to += s->piece.line) {
        widen(to, lines->line[first + k] + s->base * lines->step, n);
        to[n] = 0; /* of odd taps the last pair has one more, whose weight is 0 */
    }
}

/* Weights of a block less their zero points. */
static __attribute__((noinline)) void take_zeros(int16_t *to, const struct morsel_piece *p, const int32_t *zeros) {
    for (int half = 0; half < 2; half++) {
        __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(zeros + 8 * half));
        zero = _mm256_or_si256(_mm256_slli_epi32(zero, 16), _mm256_and_si256(zero, _mm256_set1_epi32(0xffff)));
        for (uint32_t i = 0; i < p->pairs * p->lines; i++) {
            __m256i *w = (__m256i *)(void *)(to + i * 32 + 16 * half);
            _mm256_store_si256(w, _mm256_sub_epi16(_mm256_load_si256(w), zero));
        }
    }
}

/* ---- runs ---- */

/* How windows are cut. */
struct cut {
    int shared;           /* whether they share lines */
    uint32_t all, pieces; /* lines that are shared or quads, and in how many pieces */
    uint32_t each, step;  /* of those in a piece but the last, and quads of it */
    size_t pixels;        /* at once */
};

static size_t line_words(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n) {
    return ((n - 1) * lines->step + job->taps + 31) / 16 * 16;
}

static uint32_t divide_up(size_t a, size_t b) {
    return (uint32_t)((a + b - 1) / b);
}

/* As many lines as there is room for with the inputs of six pixels. */
static uint32_t lines_at_once(const struct morsel_conv_job *job, const struct morsel_lines *lines, const struct work *r) {
    const uint32_t by_pairs = r->pairs / ((job->taps + 1) / 2), by_words = r->most / (5 * (uint32_t)lines->step + job->taps + 31);
    return by_pairs < by_words ? by_pairs : by_words;
}

/* Pieces have six pixels at least: STACK leaves 1088 words beside 24 pairs, and windows of these have 6 * 48; beside 36 pairs 1280, and
 * windows have 6 * 72. */
static struct cut cut_windows(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n, const struct work *r) {
    struct cut c = {.shared = !lines->map && !lines->across && n >= 6 && lines->step <= 2 * job->taps && job->taps <= r->pairs * 2};
    const uint32_t at_once = c.shared ? lines_at_once(job, lines, r) : 0;
    if (at_once < (r->whole ? job->kernel_h : 1)) c.shared = 0;
    c.all = c.shared ? job->kernel_h : job->kernel_h * job->quads;
    c.pieces = divide_up(c.all, c.shared ? at_once : r->pairs / 2);
    c.each = divide_up(c.all, c.pieces);
    c.step = c.shared ? c.each * job->quads : c.each;
    c.pixels = c.shared ? (r->most / c.each - job->taps - 31) / lines->step + 1 : r->most / (c.each * 4);
    if (c.pieces > 1 && c.pixels > r->size->pixels) c.pixels = r->size->pixels;
    if (c.pixels < n) c.pixels = (divide_up(n, divide_up(n, c.pixels / 2 * 2)) + 1) / 2 * 2;
    else c.pixels = n;
    if (c.pixels < 6 && n >= 6) c.pixels = 6; /* of eight, say, which are no two times four */
    return c;
}

static void take_piece(struct stretch *s, const struct cut *c, uint32_t i, const struct morsel_conv_job *job,
                       const struct morsel_lines *lines) {
    const uint32_t from = i * c->each, n = c->all - from < c->each ? c->all - from : c->each;
    s->first = i == 0;
    s->last = i + 1 == c->pieces;
    if (c->shared) s->piece = (struct morsel_piece){i * c->step, n, (job->taps + 1) / 2, lines->step, line_words(job, lines, s->count)};
    else s->piece = (struct morsel_piece){from, 1, n * 2, n * (size_t)4, 0};
}

/* Blocks from `block` on, as many as there is room for sums of. */
static void run_blocks(struct stretch *s, struct work *r, const struct cut *c, const struct morsel_conv_job *job,
                       const struct morsel_lines *lines, uint32_t block, uint32_t blocks, int words) {
    for (uint32_t i = 0; i < c->pieces; i++) {
        take_piece(s, c, i, job, lines);
        if (!words || c->pieces > 1) (c->shared ? widen_lines : widen_windows)(s, r->words, job, lines);
        for (uint32_t b = 0; b < blocks; b++) {
            const int8_t *w = r->part[b].weights + s->piece.from * (size_t)64, *next = w;
            if (b + 1 < blocks) next += job->block_bytes;
            else if (!s->last) next = r->part[0].weights + (s->piece.from + c->step) * (size_t)64;
            else if (block + blocks < job->end) next = r->part[b].weights + job->block_bytes;
            morsel_widen_block(r->weights, &s->piece, w);
            if (job->below) take_zeros(r->weights, &s->piece, job->args->channels.weight_zero + job->constants + (block + b) * 16);
            run_tiles(s, r, r->part + b, r->sums + b * (size_t)r->each, next);
        }
    }
}

/* Weights of inputs that are not there are zero points, and the starts have them too. */
static void start_zeros(struct morsel_part256 *part, const struct morsel_conv_job *job, uint32_t block) {
    const int32_t *zeros = job->args->channels.weight_zero + job->constants + block * 16;
    const int32_t stored = (int32_t)(job->block_bytes / 16) * job->args->x.qparams.zero;
    for (int half = 0; half < 2; half++) {
        __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(zeros + 8 * half));
        part->start[half] = _mm256_add_epi32(part->start[half], _mm256_mullo_epi32(zero, _mm256_set1_epi32(stored)));
    }
}

static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    _Alignas(64) uint8_t stack[STACK];
    struct work r;
    take_room(&r, job, stack);
    const struct cut c = cut_windows(job, lines, n, &r);
    struct stretch s = {.n = n};
    for (; s.base < n; s.base += c.pixels) {
        s.count = n - s.base < c.pixels ? n - s.base : c.pixels;
        if (s.count < 6 && n >= 6) s.base = n - 6, s.count = 6; /* a whole tile */
        for (uint32_t block = job->begin, blocks; block < job->end; block += blocks) {
            blocks = job->end - block < r.size->blocks ? job->end - block : r.size->blocks;
            for (uint32_t b = 0; b < blocks; b++) {
                morsel_take_part_avx2(&r.part[b], job, NULL, block + b, pixel, n, NULL);
                if (job->below) start_zeros(&r.part[b], job, block + b);
            }
            run_blocks(&s, &r, &c, job, lines, block, blocks, block != job->begin);
        }
    }
}

int morsel_conv_has_tiles_avx2(const struct morsel_conv_args *a) {
    uint32_t constants = (a->window.out_c / a->groups + 15) / 16 * 16 * a->groups;
    if (a->channels.weight_zero && !morsel_conv_is_summed(a)) return 0;
    return a->y.qparams.is_float || morsel_fits256(a->channels.multiplier, a->channels.float_bias, constants);
}

const char *morsel_conv_refusal_avx2(const void *args) {
    return morsel_conv_refusal(args, !morsel_conv_has_tiles_avx2(args));
}

void morsel_conv_lines_avx2(const struct morsel_conv_args *a, const uint8_t *const *row, const float *lines) {
    morsel_conv_plan_line(a, row, TALL, run_pixels, (void *)(uintptr_t)lines);
}

void morsel_conv_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (!morsel_conv_has_tiles_avx2(a)) {
        morsel_conv_by_fc(a, rows, y, n, morsel_fc_few_avx2);
        return;
    }
    const uint32_t done = morsel_winograd_takes_avx2(a) ? n - n % (2 * a->window.dilation_h) : 0;
    if (done) morsel_winograd_rows_avx2(a, rows, y, done);
    if (n > done) morsel_conv_plan_keep(a, rows + (size_t)done * a->window.kernel_h, y + done, n - done, TALL, run_pixels, NULL);
}
