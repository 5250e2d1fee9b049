/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX512-VNNI. A block of weights [16 out][4 in] is one register; four input bytes are broadcast against it.
 *
 * Tiles are 7 or 8 pixels x 48 or 32 channels, or twice 7 or 8 x 16. At least fourteen independent sums hide the latency of vpdpbusd, and
 * seven or eight divides the rows of the usual pictures. What is left of a run of pixels is done by a tile that begins earlier: results
 * that are already there come out the same.
 */
#include "conv_part_avx512.h"
#include "dot_avx512.h"
#include "prefetch_avx512.h"

#define PARTS_KEPT 6u  /* 288 channels */
#define PARTS_STACK 2u /* where the room has none to spare */

/* What a tile can do besides: few need all of it, and each costs the others time or room. */
enum {
    LIMITS = 1,   /* zero points and limits of results; without, parts are plain */
    EITHER = 2,   /* plain parts too */
    BIAS = 4,     /* float biases */
    PREFETCH = 8, /* of what later steps need, where there is something */
    STRIDED = 16, /* plain parts too, with an end of their own */
    MAPS = 32     /* pixels that a map finds */
};

/* Of a run that is shorter than a tile the last pixel stands in for those that are missing. */
static struct morsel_places places_of(size_t bytes, size_t pixels) {
    const ptrdiff_t step = (ptrdiff_t)bytes, last = (ptrdiff_t)pixels - 1;
    struct morsel_places o = {
        step * (last < 1 ? last : 1), step * (last < 2 ? last : 2), step * (last < 3 ? last : 3), step * (last < 4 ? last : 4),
        step * (last < 5 ? last : 5), step * (last < 6 ? last : 6), step * (last < 7 ? last : 7),
    };
    return o;
}

static ptrdiff_t place(const struct morsel_lines *lines, ptrdiff_t p) {
    return (ptrdiff_t)morsel_place(lines, (size_t)p);
}

/* The same for windows. */
static struct morsel_places places_in(const struct morsel_lines *lines, size_t n) {
    struct morsel_places o = places_of(1, n);
    if (!lines->across) return places_of(lines->step, n);
    o.p1 = place(lines, o.p1), o.p2 = place(lines, o.p2), o.p3 = place(lines, o.p3), o.p4 = place(lines, o.p4);
    o.p5 = place(lines, o.p5), o.p6 = place(lines, o.p6), o.p7 = place(lines, o.p7);
    return o;
}

/* All taps of the tile of pixels from `at` on, in place `tile` of the two that a map has. */
MORSEL_INLINE const struct morsel_tap *find_taps(const struct morsel_lines *lines, size_t at, int tile, int can) {
    if (!(can & MAPS && lines->map)) return NULL;
    struct morsel_tap *taps = lines->map->taps + tile * MORSEL_MAP_MOST;
    morsel_map_taps(taps, lines->map, at);
    return taps;
}

/* The line from the tile's first pixel on, `from` bytes further; or what a map found: where that and the others stand. */
MORSEL_INLINE const uint8_t *line_from(const struct morsel_lines *lines, const uint8_t *const *line, size_t from,
                                       const struct morsel_tap *taps, const struct morsel_places **o, int can) {
    if (!(can & MAPS && lines->map)) return *line + from;
    *o = &taps[line - lines->line].places;
    return taps[line - lines->line].x;
}

/* Whether that line adds nothing. */
MORSEL_INLINE int adds_nothing(const struct morsel_lines *lines, const uint8_t *const *line, const struct morsel_tap *taps, int can) {
    if (can & MAPS && lines->map) return taps[line - lines->line].nothing;
    return morsel_adds_nothing(lines, (size_t)(line - lines->line));
}

MORSEL_INLINE struct pixels same_pixels(__m512i v) {
    struct pixels s = {v, v, v, v, v, v, v, v};
    return s;
}

/* In asm, as morsel_dot512 is. */
MORSEL_INLINE void add_zero(__m512i *s, __m512i zero, const int32_t *below) {
#if defined(__clang__)
    *s = _mm512_dpwssd_epi32(*s, zero, _mm512_set1_epi32(*below));
#else
    __asm__("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(*s) : "v"(zero), "m"(*below));
#endif
}

/* Where the sums of a block's pixels from `at` on start. Zero points of weights are one dot product more. */
MORSEL_INLINE struct pixels start_pixels(const struct part *part, int block, size_t at, int tall) {
    struct pixels s = same_pixels(part->start[block]);
    if (tall < 8 || !part->job->below) return s;
    const __m512i zero = part->zero[block];
    const int32_t *below = part->job->below + at;
    add_zero(&s.p0, zero, below + 0);
    add_zero(&s.p1, zero, below + 1);
    add_zero(&s.p2, zero, below + 2);
    add_zero(&s.p3, zero, below + 3);
    add_zero(&s.p4, zero, below + 4);
    add_zero(&s.p5, zero, below + 5);
    add_zero(&s.p6, zero, below + 6);
    add_zero(&s.p7, zero, below + 7);
    return s;
}

MORSEL_INLINE struct pixels load_pixels(const uint8_t *x, const struct morsel_places *o, int tall) {
    struct pixels u = {
        morsel_broadcast512(x),         morsel_broadcast512(x + o->p1), morsel_broadcast512(x + o->p2), morsel_broadcast512(x + o->p3),
        morsel_broadcast512(x + o->p4), morsel_broadcast512(x + o->p5), morsel_broadcast512(x + o->p6), _mm512_setzero_si512(),
    };
    if (tall == 8) u.p7 = morsel_broadcast512(x + o->p7);
    return u;
}

MORSEL_INLINE void dot_block(struct pixels *s, const struct pixels *u, __m512i w, int tall) {
    s->p0 = morsel_dot512(s->p0, u->p0, w);
    s->p1 = morsel_dot512(s->p1, u->p1, w);
    s->p2 = morsel_dot512(s->p2, u->p2, w);
    s->p3 = morsel_dot512(s->p3, u->p3, w);
    s->p4 = morsel_dot512(s->p4, u->p4, w);
    s->p5 = morsel_dot512(s->p5, u->p5, w);
    s->p6 = morsel_dot512(s->p6, u->p6, w);
    if (tall == 8) s->p7 = morsel_dot512(s->p7, u->p7, w);
}

/* A pixel times three blocks. */
MORSEL_INLINE void dot_pixel(__m512i *a, __m512i *b, __m512i *c, const uint8_t *x, __m512i wa, __m512i wb, __m512i wc) {
    __m512i u = morsel_broadcast512(x);
    *a = morsel_dot512(*a, u, wa);
    *b = morsel_dot512(*b, u, wb);
    *c = morsel_dot512(*c, u, wc);
}

/* n blocks; block by block where the registers suffice for all broadcasts, else pixel by pixel. */
MORSEL_INLINE void dot_pixels(struct pixels *a, struct pixels *b, struct pixels *c, const uint8_t *x, const struct morsel_places *o,
                              const int8_t *w, size_t block, int n, int tall) {
    if (n < 3 || tall < 8) {
        struct pixels u = load_pixels(x, o, tall);
        dot_block(a, &u, _mm512_loadu_si512(w), tall);
        if (n > 1) dot_block(b, &u, _mm512_loadu_si512(w + block), tall);
        if (n > 2) dot_block(c, &u, _mm512_loadu_si512(w + 2 * block), tall);
        return;
    }
    __m512i wa = _mm512_loadu_si512(w), wb = _mm512_loadu_si512(w + block), wc = _mm512_loadu_si512(w + 2 * block);
    dot_pixel(&a->p0, &b->p0, &c->p0, x, wa, wb, wc);
    dot_pixel(&a->p1, &b->p1, &c->p1, x + o->p1, wa, wb, wc);
    dot_pixel(&a->p2, &b->p2, &c->p2, x + o->p2, wa, wb, wc);
    dot_pixel(&a->p3, &b->p3, &c->p3, x + o->p3, wa, wb, wc);
    dot_pixel(&a->p4, &b->p4, &c->p4, x + o->p4, wa, wb, wc);
    dot_pixel(&a->p5, &b->p5, &c->p5, x + o->p5, wa, wb, wc);
    dot_pixel(&a->p6, &b->p6, &c->p6, x + o->p6, wa, wb, wc);
    dot_pixel(&a->p7, &b->p7, &c->p7, x + o->p7, wa, wb, wc);
}

enum how { SUMS, BIASED, PLAIN };

MORSEL_INLINE __m512i scale(__m512i sum, __m512 m, __m512 other, enum how how) {
    if (how == PLAIN) return morsel_scale512_plain(sum, m, other);
    return how == SUMS ? morsel_scale512(sum, m) : morsel_scale512_bias(sum, m, other);
}

MORSEL_INLINE void scale_each(struct pixels *s, __m512 m, __m512 other, enum how how, int tall) {
    s->p0 = scale(s->p0, m, other, how);
    s->p1 = scale(s->p1, m, other, how);
    s->p2 = scale(s->p2, m, other, how);
    s->p3 = scale(s->p3, m, other, how);
    s->p4 = scale(s->p4, m, other, how);
    s->p5 = scale(s->p5, m, other, how);
    s->p6 = scale(s->p6, m, other, how);
    s->p7 = tall == 8 ? scale(s->p7, m, other, how) : s->p6;
}

/* Block `block` of a part. Float biases are rare, and not every tile is made for them. */
MORSEL_INLINE void scale_pixels(struct pixels *s, const struct part *part, uint32_t block, int tall, int can) {
    __m512 m = _mm512_loadu_ps(part->multiplier + 16 * block);
    if (!(can & LIMITS) || (can & EITHER && part->plain)) scale_each(s, m, part->offset[block], PLAIN, tall);
    else if (can & BIAS && part->bias) scale_each(s, m, _mm512_loadu_ps(part->bias + 16 * block), BIASED, tall);
    else scale_each(s, m, m, SUMS, tall);
}

/* How results are written: in registers for each tile. */
struct requant {
    __m512i zero, low, high, sign_flip;
    __mmask64 mask;
    int plain;
};

MORSEL_INLINE struct requant requant_of(const struct part *part, int plain) {
    const struct morsel_requant512 *r = &part->requant;
    struct requant f = {r->zero, r->low, r->high, r->sign_flip, part->mask, plain};
    return f;
}

MORSEL_INLINE __m512i pack(const struct requant *f, __m512i a, __m512i b, __m512i c, __m512i d) {
    struct morsel_requant512 r = {f->zero, f->low, f->high, f->sign_flip, !f->plain, !f->plain};
    return morsel_apart512(morsel_pack512(&r, a, b, c, d));
}

/* One pixel of 48 channels. */
MORSEL_INLINE void store_48(const struct requant *f, uint8_t *y, __m512i a, __m512i b, __m512i c) {
    _mm512_mask_storeu_epi8(y, f->mask, pack(f, a, b, c, c));
}

/* Two pixels of 32 channels. */
MORSEL_INLINE void store_32(const struct requant *f, uint8_t *y0, uint8_t *y1, __m512i a0, __m512i b0, __m512i a1, __m512i b1) {
    __m512i v = pack(f, a0, b0, a1, b1);
    _mm256_mask_storeu_epi8(y0, (__mmask32)f->mask, _mm512_castsi512_si256(v));
    _mm256_mask_storeu_epi8(y1, (__mmask32)f->mask, _mm512_extracti64x4_epi64(v, 1));
}

/* A tile of 16 channels. */
MORSEL_INLINE void store_16(const struct requant *f, uint8_t *y, const struct morsel_places *o, const struct pixels *s, int tall) {
    __m512i v = pack(f, s->p0, s->p1, s->p2, s->p3);
    __m512i w = pack(f, s->p4, s->p5, s->p6, s->p7);
    __mmask16 mask = (__mmask16)f->mask;
    _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(v));
    _mm_mask_storeu_epi8(y + o->p1, mask, _mm512_extracti32x4_epi32(v, 1));
    _mm_mask_storeu_epi8(y + o->p2, mask, _mm512_extracti32x4_epi32(v, 2));
    _mm_mask_storeu_epi8(y + o->p3, mask, _mm512_extracti32x4_epi32(v, 3));
    _mm_mask_storeu_epi8(y + o->p4, mask, _mm512_castsi512_si128(w));
    _mm_mask_storeu_epi8(y + o->p5, mask, _mm512_extracti32x4_epi32(w, 1));
    _mm_mask_storeu_epi8(y + o->p6, mask, _mm512_extracti32x4_epi32(w, 2));
    if (tall == 8) _mm_mask_storeu_epi8(y + o->p7, mask, _mm512_extracti32x4_epi32(w, 3));
}

MORSEL_INLINE void requant_48(const struct part *part, size_t at, const struct morsel_places *oy, struct pixels a, struct pixels b,
                              struct pixels c, int tall, int can) {
    struct requant f = requant_of(part, !(can & LIMITS));
    uint8_t *y = part->y + at * part->y_step;
    if (tall == 8 && part->floats) {
        const struct pixels_kept s[3] = {keep_pixels(&a), keep_pixels(&b), keep_pixels(&c)};
        store_floats(part, at, s, 3);
        return;
    }
    scale_pixels(&a, part, 0, tall, can);
    scale_pixels(&b, part, 1, tall, can);
    scale_pixels(&c, part, 2, tall, can);
    store_48(&f, y, a.p0, b.p0, c.p0);
    store_48(&f, y + oy->p1, a.p1, b.p1, c.p1);
    store_48(&f, y + oy->p2, a.p2, b.p2, c.p2);
    store_48(&f, y + oy->p3, a.p3, b.p3, c.p3);
    store_48(&f, y + oy->p4, a.p4, b.p4, c.p4);
    store_48(&f, y + oy->p5, a.p5, b.p5, c.p5);
    store_48(&f, y + oy->p6, a.p6, b.p6, c.p6);
    if (tall == 8) store_48(&f, y + oy->p7, a.p7, b.p7, c.p7);
}

MORSEL_INLINE void requant_32(const struct part *part, size_t at, const struct morsel_places *oy, struct pixels a, struct pixels b,
                              int tall, int can) {
    struct requant f = requant_of(part, !(can & LIMITS));
    uint8_t *y = part->y + at * part->y_step;
    if (tall == 8 && part->floats) {
        const struct pixels_kept s[2] = {keep_pixels(&a), keep_pixels(&b)};
        store_floats(part, at, s, 2);
        return;
    }
    scale_pixels(&a, part, 0, tall, can);
    scale_pixels(&b, part, 1, tall, can);
    store_32(&f, y, y + oy->p1, a.p0, b.p0, a.p1, b.p1);
    store_32(&f, y + oy->p2, y + oy->p3, a.p2, b.p2, a.p3, b.p3);
    store_32(&f, y + oy->p4, y + oy->p5, a.p4, b.p4, a.p5, b.p5);
    store_32(&f, y + oy->p6, y + (tall == 8 ? oy->p7 : oy->p6), a.p6, b.p6, a.p7, b.p7);
}

MORSEL_INLINE void tile_48(const struct part *part, struct morsel_prefetch *prefetch, const struct morsel_lines *lines, size_t at,
                           const struct morsel_places *o, const struct morsel_places *oy, int tall, int can) {
    const struct morsel_conv_job *job = part->job;
    size_t block = job->block_bytes;
    const int8_t *w = part->weights;
    struct pixels a = start_pixels(part, 0, at, tall), b = start_pixels(part, 1, at, tall), c = start_pixels(part, 2, at, tall);
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    const struct morsel_tap *taps = find_taps(lines, at, 0, can);
    do {
        const uint8_t *x = line_from(lines, line, at * lines->step, taps, &o, can);
        const int8_t *stop = w + (size_t)job->quads * 64;
        if (adds_nothing(lines, line, taps, can)) {
            w = stop;
            continue;
        }
        if (!prefetch || !prefetch->step) {
            for (; w != stop; w += 64, x += 4) dot_pixels(&a, &b, &c, x, o, w, block, 3, tall);
            continue;
        }
        for (; w != stop; w += 64, x += 4) {
            dot_pixels(&a, &b, &c, x, o, w, block, 3, tall);
            morsel_prefetch_lines(prefetch);
        }
    } while (++line != end);
    if (can & STRIDED && part->plain) requant_48(part, at, oy, a, b, c, tall, 0);
    else requant_48(part, at, oy, a, b, c, tall, can);
}

MORSEL_INLINE void tile_32(const struct part *part, struct morsel_prefetch *prefetch, const struct morsel_lines *lines, size_t at,
                           const struct morsel_places *o, const struct morsel_places *oy, int tall, int can) {
    const struct morsel_conv_job *job = part->job;
    size_t block = job->block_bytes;
    const int8_t *w = part->weights;
    struct pixels a = start_pixels(part, 0, at, tall), b = start_pixels(part, 1, at, tall);
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    const struct morsel_tap *taps = find_taps(lines, at, 0, can);
    do {
        const uint8_t *x = line_from(lines, line, at * lines->step, taps, &o, can);
        const int8_t *stop = w + (size_t)job->quads * 64;
        if (adds_nothing(lines, line, taps, can)) {
            w = stop;
            continue;
        }
        if (!prefetch || !prefetch->step) {
            for (; w != stop; w += 64, x += 4) dot_pixels(&a, &b, &a, x, o, w, block, 2, tall);
            continue;
        }
        for (; w != stop; w += 64, x += 4) {
            dot_pixels(&a, &b, &a, x, o, w, block, 2, tall);
            morsel_prefetch_lines(prefetch);
        }
    } while (++line != end);
    if (can & STRIDED && part->plain) requant_32(part, at, oy, a, b, tall, 0);
    else requant_32(part, at, oy, a, b, tall, can);
}

/* Pixels from `at` and as many from `next`, which may be the same. */
MORSEL_INLINE void tile_16(const struct part *part, const struct morsel_lines *lines, size_t at, size_t next, const struct morsel_places *o,
                           const struct morsel_places *oy, int tall, int can) {
    const struct morsel_conv_job *job = part->job;
    const int8_t *w = part->weights;
    struct pixels a = start_pixels(part, 0, at, tall), b = tall == 8 ? start_pixels(part, 0, next, tall) : a;
    const size_t from = morsel_place(lines, at), from2 = morsel_place(lines, next);
    const struct morsel_tap *taps = find_taps(lines, at, 0, can), *taps2 = find_taps(lines, next, 1, can);
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    const struct morsel_places *o2 = o;
    do {
        const uint8_t *x = line_from(lines, line, from, taps, &o, can), *x2 = line_from(lines, line, from2, taps2, &o2, can);
        const int8_t *stop = w + (size_t)job->quads * 64;
        if (adds_nothing(lines, line, taps, can) && adds_nothing(lines, line, taps2, can)) w = stop;
        for (; w != stop; w += 64, x += 4, x2 += 4) {
            __m512i v = _mm512_loadu_si512(w);
            struct pixels u = load_pixels(x, o, tall), u2 = load_pixels(x2, o2, tall);
            dot_block(&a, &u, v, tall);
            dot_block(&b, &u2, v, tall);
        }
    } while (++line != end);
    struct requant f = requant_of(part, 0);
    for (int second = 0; second < 2; second++, a = b, at = next) { /* a loop, for the code to stand once */
        if (tall == 8 && part->floats) {
            const struct pixels_kept kept = keep_pixels(&a);
            store_floats(part, at, &kept, 1);
            continue;
        }
        scale_pixels(&a, part, 0, tall, can);
        store_16(&f, part->y + at * part->y_step, oy, &a, tall);
    }
}

/* What to prefetch in `tiles` tiles: as much of it as the part is of the work on the rows that prefetch. */
static struct morsel_prefetch prefetch_of(const struct part *part, size_t n, int blocks, size_t tiles) {
    const struct morsel_conv_args *a = part->job->args;
    const struct morsel_window *w = &a->window;
    size_t pixels = (size_t)a->prefetch_rows * w->out_w, first = (size_t)a->prefetch_row * w->out_w;
    size_t all = (size_t)(w->out_c / a->groups + 15) / 16 * a->groups;
    size_t begin = part->block * pixels + (part->pixel - first) % pixels * (size_t)blocks;
    size_t turns = tiles * part->job->kernel_h * part->job->quads;
    return morsel_prefetch(a, begin, begin + n * (size_t)blocks, all * pixels, turns);
}

/* A part's n pixels in tiles. The last tile may lie over the end of the one before. */
MORSEL_INLINE void run(const struct part *part, const struct morsel_lines *lines, size_t n, int blocks, int tall, int can) {
    struct morsel_places o = places_in(lines, n), oy = places_of(part->y_step, n);
    size_t size = (size_t)tall, last = n < size ? 0 : n - size, step = blocks == 1 ? 2 * size : size;
    struct morsel_prefetch prefetch = {0, 0};
    if (can & PREFETCH && part->job->args->prefetch_bytes) prefetch = prefetch_of(part, n, blocks, (n + step - 1) / step);
    for (size_t next = 0; next < n; next += step) {
        size_t at = next < last ? next : last;
        if (blocks == 3) tile_48(part, can & PREFETCH ? &prefetch : NULL, lines, at, &o, &oy, tall, can);
        else if (blocks == 2) tile_32(part, can & PREFETCH ? &prefetch : NULL, lines, at, &o, &oy, tall, can);
        else tile_16(part, lines, at, next + size < last ? next + size : last, &o, &oy, tall, can);
    }
}

#define RUN(name, blocks, tall, can) \
    static __attribute__((noinline)) void name(const struct part *part, const struct morsel_lines *lines, size_t n) { \
        run(part, lines, n, blocks, tall, can); \
    }

RUN(run_7x16, 1, 7, LIMITS | EITHER | BIAS | MAPS)
RUN(run_7x32, 2, 7, LIMITS | STRIDED | BIAS | PREFETCH | MAPS)
RUN(plain_7x32, 2, 7, 0)
RUN(run_7x48, 3, 7, LIMITS | STRIDED | BIAS | PREFETCH | MAPS)
RUN(run_8x16, 1, 8, LIMITS | EITHER | MAPS)
RUN(run_8x32, 2, 8, LIMITS | EITHER | PREFETCH | MAPS)
RUN(run_8x48, 3, 8, LIMITS | EITHER | PREFETCH | MAPS)

/* In tiles of the height that leaves less of the last tile over the one before. Those of eight pixels know zero points of weights, and
 * results in float, and two of them have whole rows. */
static void run_part(const struct part *part, const struct morsel_lines *lines, size_t n, uint32_t blocks) {
    const int paired = lines->across && n > 8;
    const int eight = part->job->below || part->floats || paired || ((n + 7) / 8 * 8 < (n + 6) / 7 * 7 && !part->bias);
    const int wide = blocks == 3, bias = part->bias && !part->floats, prefetch = part->job->args->prefetch_bytes != 0;
    if (lines->map && blocks == 1) (bias ? run_7x16 : run_8x16)(part, lines, n);
    else if (lines->map && blocks == 2) (bias ? run_7x32 : run_8x32)(part, lines, n);
    else if (blocks == 1) (eight ? run_8x16 : run_7x16)(part, lines, n);
    else if (eight) (wide ? run_8x48 : run_8x32)(part, lines, n);
    else if (wide) run_7x48(part, lines, n);
    else (part->plain && !prefetch && !lines->map ? plain_7x32 : run_7x32)(part, lines, n);
}

/* How many of `left` blocks to do together: threes, and twos at the end so that no single one is left. */
static uint32_t blocks_together(uint32_t left) {
    return left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
}

/* The first parts of a job, for its next run of pixels, which are often short; behind them a place for the others. */
struct kept {
    uint32_t first, begin, end; /* of the job */
    uint32_t count;
    const float *lines; /* scale and zero point of each pixel of the step, or NULL */
    uint32_t most;      /* parts that are kept */
    struct part *parts; /* and one more */
};

/* Part number i of a job, which begins at `block`. */
static struct part *part_at(struct kept *kept, const struct morsel_conv_job *job, uint32_t i, uint32_t block, uint32_t nb) {
    struct part *part = &kept->parts[i < kept->most ? i : kept->most];
    if (i < kept->count) return part;
    take_part(part, job, block, nb);
    if (i < kept->most) kept->count = i + 1;
    return part;
}

/* All the job's blocks of n pixels, of which the first is pixel `pixel` of y. */
static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    struct kept *kept = job->kept;
    if (kept->first != job->first || kept->begin != job->begin || kept->end != job->end) kept->count = 0;
    kept->first = job->first, kept->begin = job->begin, kept->end = job->end;
    for (uint32_t block = job->begin, i = 0, nb; block < job->end; block += nb, i++) {
        nb = blocks_together(job->end - block);
        struct part *part = part_at(kept, job, i, block, nb);
        part->job = job;
        part->pixel = pixel;
        part->last = n < 8 ? n - 1 : 7;
        part->lines = kept->lines ? kept->lines + 2 * pixel : NULL;
        part->y = (uint8_t *)job->args->y.data + pixel * part->y_step + (part->floats ? 4 * part->channel : part->channel);
        run_part(part, lines, n, nb);
    }
}

int morsel_conv_has_tiles_avx512vnni(const struct morsel_conv_args *a) {
    uint32_t constants = (a->window.out_c / a->groups + 15) / 16 * 16 * a->groups;
    const struct morsel_channels *c = &a->channels;
    if (c->weight_zero && !morsel_conv_is_summed(a)) return 0;
    if (a->y.qparams.is_float) return 1;
    if (c->weight_zero && c->float_bias) return 0;
    return morsel_small512(c->multiplier, constants) && morsel_small_bias512(c->multiplier, c->float_bias, constants);
}

const char *morsel_conv_refusal_avx512vnni(const void *args) {
    return morsel_conv_refusal(args, !morsel_conv_has_tiles_avx512vnni(args));
}

/* In the room behind the windows, or in PARTS_STACK + 1 places on the stack. */
static void start_kept(struct kept *kept, const struct morsel_conv_args *a, const float *lines, struct part *stack) {
    const int roomy = a->room.bytes >= MORSEL_WINDOW_BYTES + (PARTS_KEPT + 1) * sizeof *stack;
    *kept = (struct kept){.lines = lines, .most = roomy ? PARTS_KEPT : PARTS_STACK};
    kept->parts = roomy ? (void *)(a->room.data + MORSEL_WINDOW_BYTES) : stack;
}

static uint32_t tall_of(const struct morsel_conv_args *a) {
    return a->channels.float_bias && !a->y.qparams.is_float ? 7 : 8;
}

void morsel_conv_lines_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *row, const float *lines) {
    struct part stack[PARTS_STACK + 1];
    struct kept kept;
    start_kept(&kept, a, lines, stack);
    morsel_conv_plan_line(a, row, tall_of(a), run_pixels, &kept);
}

static void conv_rows(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    struct part stack[PARTS_STACK + 1];
    struct kept kept;
    start_kept(&kept, a, NULL, stack);
    morsel_conv_plan_keep(a, rows, y, n, tall_of(a), run_pixels, &kept);
}

void morsel_conv_rows_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (morsel_conv_has_tiles_avx512vnni(a)) conv_rows(a, rows, y, n);
    else morsel_conv_by_fc(a, rows, y, n, morsel_fc_few_avx512vnni);
}
