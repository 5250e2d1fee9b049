/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX2, exact for every weight: tiles of seven pixels x 8 channels.
 *
 * Each quad of inputs is multiplied in the cheapest way that is proven exact for it (ways_avx2.h). The ways want their inputs in different
 * orders: as they are, their pairs exchanged, and as 16-bit integers, (k0, k2) and (k1, k3). These `views` are made once for some pixels,
 * before all channel blocks use them. Short windows are multiplied in 16 bits alone (words_avx2.h).
 */
#define MORSEL_BELOW_1
#include "conv_plan.h"
#include "dot_avx2.h"
#include "requant_avx2.h"
#include "seven_avx2.h"
#include "ways_avx2.h"
#include "words_avx2.h"
#include "x86.h"

#define VIEW_BYTES 32768u
#define SLACK 64u /* that is written behind a view, */
#define VIEW_USUAL 24576u
#define VIEW_ROOM (VIEW_BYTES - 5 * SLACK) /* and what is left of four and a wide one */
#define LISTS 4096u                        /* quads whose ways are known at once, */
#define HALVES 256u                        /* of that many halves of blocks */
#define FEW 21u                            /* pixels that are not worth a proof */

/* Windows of some pixels. NULL: a view that is not there. */
struct views {
    const uint8_t *plain, *swap, *turn, *wide;
    size_t step;                      /* bytes of a window, and half of those that it has as 16-bit integers */
    struct morsel_places at, wide_at; /* of seven windows */
};

/* Some blocks and what is known of them. */
struct plan {
    struct morsel_ways ways[HALVES];
    uint16_t lists[2 * LISTS];
    int plain, swap, turn, words; /* whether any quad wants that view */
};

MORSEL_INLINE __m256i load_weights(const int8_t *w) {
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

MORSEL_INLINE __m256i add_bytes(__m256i acc, const uint8_t *x, __m256i w) {
    __m256i pairs = _mm256_maddubs_epi16(morsel_broadcast256(x), w);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

MORSEL_INLINE void add_bytes_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, __m256i w) {
    s->p0 = add_bytes(s->p0, x, w);
    s->p1 = add_bytes(s->p1, x + o->p1, w);
    s->p2 = add_bytes(s->p2, x + o->p2, w);
    s->p3 = add_bytes(s->p3, x + o->p3, w);
    s->p4 = add_bytes(s->p4, x + o->p4, w);
    s->p5 = add_bytes(s->p5, x + o->p5, w);
    s->p6 = add_bytes(s->p6, x + o->p6, w);
}

/* Two quads. */
MORSEL_INLINE __m256i add_two(__m256i acc, const uint8_t *x, __m256i w0, __m256i w1) {
    __m256i a = _mm256_maddubs_epi16(morsel_broadcast256(x), w0), b = _mm256_maddubs_epi16(morsel_broadcast256(x + 4), w1);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16(1)));
}

MORSEL_INLINE void add_two_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, __m256i w0, __m256i w1) {
    s->p0 = add_two(s->p0, x, w0, w1);
    s->p1 = add_two(s->p1, x + o->p1, w0, w1);
    s->p2 = add_two(s->p2, x + o->p2, w0, w1);
    s->p3 = add_two(s->p3, x + o->p3, w0, w1);
    s->p4 = add_two(s->p4, x + o->p4, w0, w1);
    s->p5 = add_two(s->p5, x + o->p5, w0, w1);
    s->p6 = add_two(s->p6, x + o->p6, w0, w1);
}

/* x: the pairs (k0, k2) and (k1, k3) of four inputs. */
MORSEL_INLINE __m256i add_words(__m256i acc, const uint8_t *x, struct morsel_pairs w) {
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(morsel_broadcast256(x), w.even));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(morsel_broadcast256(x + 4), w.odd));
}

MORSEL_INLINE void add_words_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, struct morsel_pairs w) {
    s->p0 = add_words(s->p0, x, w);
    s->p1 = add_words(s->p1, x + o->p1, w);
    s->p2 = add_words(s->p2, x + o->p2, w);
    s->p3 = add_words(s->p3, x + o->p3, w);
    s->p4 = add_words(s->p4, x + o->p4, w);
    s->p5 = add_words(s->p5, x + o->p5, w);
    s->p6 = add_words(s->p6, x + o->p6, w);
}

/* The same from bytes, which are widened each time. */
MORSEL_INLINE void add_narrow_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, struct morsel_pairs w) {
    s->p0 = morsel_dot_pairs(s->p0, morsel_broadcast256(x), w);
    s->p1 = morsel_dot_pairs(s->p1, morsel_broadcast256(x + o->p1), w);
    s->p2 = morsel_dot_pairs(s->p2, morsel_broadcast256(x + o->p2), w);
    s->p3 = morsel_dot_pairs(s->p3, morsel_broadcast256(x + o->p3), w);
    s->p4 = morsel_dot_pairs(s->p4, morsel_broadcast256(x + o->p4), w);
    s->p5 = morsel_dot_pairs(s->p5, morsel_broadcast256(x + o->p5), w);
    s->p6 = morsel_dot_pairs(s->p6, morsel_broadcast256(x + o->p6), w);
}

/* ---- tiles: seven pixels of a block ---- */

/* Eight channels whose quads are all multiplied as they are. */
MORSEL_INLINE struct morsel_seven256 sum_plain(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at, int half,
                                               const struct morsel_ways *ways) {
    const struct morsel_places *places = &part->x_places;
    struct morsel_tile tile;
    const int8_t *w = part->weights + 32 * half;
    const uint16_t *two = ways->second;
    struct morsel_seven256 s = morsel_start7(part, half);
    if (lines->map) morsel_map_tile(&tile, lines->map, at);
    const uint8_t *const *line = lines->line, *const *end = line + part->job->kernel_h;
    do {
        const uint8_t *x = morsel_line7(lines, *line, at, &tile, &places);
        const struct morsel_places o = *places;
        uint32_t quads = part->job->quads;
        for (; quads >= 2; quads -= 2, w += 128, x += 8) {
            if (*two++) {
                add_two_7(&s, x, &o, load_weights(w), load_weights(w + 64));
                continue;
            }
            add_bytes_7(&s, x, &o, load_weights(w));
            add_bytes_7(&s, x + 4, &o, load_weights(w + 64));
        }
        if (quads) add_bytes_7(&s, x, &o, load_weights(w)), w += 64;
    } while (++line != end);
    return s;
}

/* Eight channels whose quads are all multiplied as words. */
MORSEL_INLINE struct morsel_seven256 sum_words(const struct views *v, size_t at, const int8_t *w, struct morsel_seven256 s, size_t quads) {
    const uint8_t *x = v->wide + at * v->step * 2;
    for (const int8_t *stop = w + quads * 64; w != stop; w += 64, x += 8) add_words_7(&s, x, &v->wide_at, morsel_pairs(load_weights(w)));
    return s;
}

/* Groups in a list. */
#define FOR_LIST(g, from, count) for (const uint16_t *g = (from), *end_##g = g + (count); g != end_##g; g++)

/* Those that are to be words, with or without a view of words; all of them have no list. */
MORSEL_INLINE void sum_rest(struct morsel_seven256 *s, const struct views *v, size_t at, const int8_t *w, const struct morsel_ways *ways) {
    if (v->wide) {
        const uint8_t *x = v->wide + at * v->step * 2;
        FOR_LIST(g, ways->first + ways->quads - ways->words, ways->words)
        add_words_7(s, x + *g * (size_t)8, &v->wide_at, morsel_pairs(load_weights(w + *g * (size_t)64)));
        return;
    }
    for (uint32_t i = ways->quads - ways->words; i < ways->quads; i++) {
        size_t g = ways->words == ways->quads ? i : ways->first[i];
        add_narrow_7(s, v->plain + at * v->step + g * 4, &v->at, morsel_pairs(load_weights(w + g * 64)));
    }
}

/* Eight channels whose quads are multiplied in many ways. */
MORSEL_INLINE struct morsel_seven256 sum_lists(const struct views *v, size_t at, const int8_t *w, struct morsel_seven256 s,
                                               const struct morsel_ways *ways) {
    const struct morsel_places o = v->at;
    if (v->wide && ways->words == ways->quads) return sum_words(v, at, w, s, ways->quads);
    const size_t from = at * v->step; /* a view that no quad is read from is NULL, and nothing is added to it */
    FOR_LIST(g, ways->first, ways->plain) add_bytes_7(&s, v->plain + (from + *g * (size_t)4), &o, load_weights(w + *g * (size_t)64));
    FOR_LIST(g, ways->second, ways->swap)
    add_bytes_7(&s, v->swap + (from + *g * (size_t)4), &o, morsel_swap256(load_weights(w + *g * (size_t)64)));
    FOR_LIST(g, ways->second + ways->quads - ways->turn, ways->turn)
    add_bytes_7(&s, v->turn + (from + *g * (size_t)4), &o, morsel_turn256(load_weights(w + *g * (size_t)64)));
    if (ways->words) sum_rest(&s, v, at, w, ways);
    return s;
}

static __attribute__((noinline)) void tile_plain(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at,
                                                 const struct morsel_ways *ways) {
    struct morsel_seven256 a = sum_plain(part, lines, at, 0, ways), b = a;
    if (part->channels > 8) b = sum_plain(part, lines, at, 1, ways + 1);
    morsel_store_7x16(part, at, &a, &b);
}

/* Tiles with much to do share one copy of what is done with their sums. */
static __attribute__((noinline)) void store_tile(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *halves) {
    morsel_store_7x16(part, at, halves, halves + 1);
}

/* Pixel `at` of the part is pixel `view` of the views. */
static __attribute__((noinline)) void tile_lists(const struct morsel_part256 *part, const struct views *v, size_t at, size_t view,
                                                 const struct morsel_ways *ways) {
    struct morsel_seven256 s[2];
    for (int half = 0; half < 2; half++) {
        if (half == 0 || part->channels > 8)
            s[half] = sum_lists(v, view, part->weights + 32 * half, morsel_start7(part, half), ways + half);
        else s[1] = s[0];
    }
    store_tile(part, at, s);
}

/* Pixels begin .. end of a part; `last` is where the last tile of all begins, `base` the first pixel of the views. */
struct stretch {
    size_t begin, end, base, last;
};

/* Whether both halves of a block are multiplied as they are; an empty one does not matter. */
static int all_plain(const struct morsel_part256 *part, const struct morsel_ways *ways) {
    return ways->plain == ways->quads && (part->channels <= 8 || ways[1].plain == ways->quads);
}

static void run_tiles(const struct morsel_part256 *part, const struct morsel_lines *lines, const struct views *v,
                      const struct morsel_ways *ways, struct stretch s, __m256i *starts) {
    int plain = all_plain(part, ways);
    for (size_t i = s.begin; i < s.end; i += 7) {
        size_t at = i < s.last ? i : s.last;
        if (part->starts) morsel_start_zeros_avx2(part, starts, at);
        if (plain) tile_plain(part, lines, at, ways);
        else tile_lists(part, v, at, at - s.base, ways);
    }
}

/* ---- views ---- */

MORSEL_INLINE void store256(void *to, __m256i v) {
    _mm256_storeu_si256((__m256i *)to, v);
}

/* Views that are being written; NULL: not wanted. */
struct copies {
    uint8_t *plain, *swap, *turn, *wide;
};

MORSEL_INLINE void copy_32(const struct copies *c, size_t at, __m256i v) {
    if (c->plain) store256(c->plain + at, v);
    if (c->swap) store256(c->swap + at, morsel_swap256(v));
    if (c->turn) store256(c->turn + at, morsel_turn256(v));
    if (!c->wide) return;
    v = _mm256_permute4x64_epi64(v, 0xd8);
    __m256i even = _mm256_and_si256(v, _mm256_set1_epi16(255)), odd = _mm256_srli_epi16(v, 8);
    store256(c->wide + 2 * at, _mm256_unpacklo_epi32(even, odd));
    store256(c->wide + 2 * at + 32, _mm256_unpackhi_epi32(even, odd));
}

/* 0, 4, 8 or 12 bytes. */
MORSEL_INLINE __m128i load_less(const uint8_t *x, size_t n) {
    __m128i v = _mm_setzero_si128();
    int32_t four = 0;
    if (n & 4) memcpy(&four, x + n - 4, sizeof four);
    if (n & 8) v = _mm_loadl_epi64((const __m128i *)(const void *)x);
    return n & 8 ? _mm_insert_epi32(v, four, 2) : _mm_cvtsi32_si128(four);
}

/* n bytes, quads of four, to `at`; up to 28 more places are written. */
static void copy_line(const struct copies *c, size_t at, const uint8_t *x, size_t n) {
    for (; n >= 32; n -= 32, x += 32, at += 32) copy_32(c, at, _mm256_loadu_si256((const __m256i *)(const void *)x));
    if (n >= 16) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)x);
        copy_32(c, at, _mm256_inserti128_si256(_mm256_castsi128_si256(low), load_less(x + 16, n - 16), 1));
    } else if (n) {
        copy_32(c, at, _mm256_inserti128_si256(_mm256_setzero_si256(), load_less(x, n), 0));
    }
}

/* Windows of `count` pixels from `base`, kernel rows one behind the other. */
static void copy_windows(const struct copies *views, const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t base,
                         size_t count, size_t n) {
    const struct copies c = *views;
    size_t bytes = job->quads * (size_t)4, at = 0;
    for (size_t p = base; p < base + count; p++) {
        size_t from = morsel_place(lines, p < n ? p : n - 1);
        const struct morsel_places *places;
        struct morsel_tile tile;
        if (lines->map) morsel_map_tile(&tile, lines->map, p < n ? p : n - 1);
        for (uint32_t ky = 0; ky < job->kernel_h; ky++, at += bytes)
            copy_line(&c, at, lines->map ? morsel_map_tap(&tile, &places) : lines->line[ky] + from, bytes);
    }
}

/* ---- runs ---- */

/* Pixels of a run in views. */
struct view_plan {
    size_t window; /* bytes of one */
    int in_place;  /* whether the input itself is the plain view */
    int all;       /* whether there is room for all views, not just the plain one */
};

static struct view_plan plan_views(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n) {
    struct view_plan p = {.window = job->block_bytes / 16};
    p.in_place = job->kernel_h == 1 && lines->step == p.window && n >= 7 && !lines->across && !lines->map;
    p.all = p.window * (p.in_place ? 4 : 5) * 7 <= VIEW_ROOM;
    return p;
}

/* Pixels at once, a multiple of seven: no more than the first-level cache keeps beside the rest, where that are enough. */
static size_t pixels_at_once(const struct view_plan *p, const struct plan *plan, size_t n) {
    size_t views = (size_t)((plan->plain && !p->in_place) + plan->swap + plan->turn + 2 * plan->words);
    if (views * p->window * n <= VIEW_ROOM) return n < 7 ? 7 : n;
    size_t most = VIEW_USUAL / (views * p->window) / 7 * 7;
    return most < 7 ? 7 : most;
}

/* `count` windows from pixel `base` of n. */
static struct views make_views(const struct view_plan *p, const struct plan *plan, uint8_t *room, const struct morsel_conv_job *job,
                               const struct morsel_lines *lines, size_t base, size_t count, size_t n) {
    size_t bytes = count * p->window, size = bytes + SLACK;
    struct copies c = {NULL, NULL, NULL, NULL};
    const uint8_t *x = p->in_place ? lines->line[0] + base * lines->step : NULL;
    if (plan->plain && !p->in_place) c.plain = room, room += size;
    if (plan->swap) c.swap = room, room += size;
    if (plan->turn) c.turn = room, room += size;
    if (plan->words) c.wide = room;
    if (p->in_place && (c.swap || c.turn || c.wide)) copy_line(&c, 0, x, bytes);
    if (!p->in_place && (c.plain || c.swap || c.turn || c.wide)) copy_windows(&c, job, lines, base, count, n);
    return (struct views){p->in_place ? x : c.plain,      c.swap, c.turn, c.wide, p->window, morsel_places(p->window, 7),
                          morsel_places(2 * p->window, 7)};
}

/* What both halves of a block want; those whose quads are all multiplied as they are take the input where it is. */
static void want_views(struct plan *plan, const struct morsel_ways *ways, int room_for_words) {
    if (ways[0].plain + ways[1].plain == 2 * ways->quads) return;
    uint32_t words = ways[0].words + ways[1].words;
    plan->plain |= ways[0].plain + ways[1].plain || (words && !room_for_words);
    plan->swap |= ways[0].swap + ways[1].swap != 0;
    plan->turn |= ways[0].turn + ways[1].turn != 0;
    plan->words |= words && room_for_words;
}

/* What is to be known of the job's blocks. */
static void make_plan(struct plan *plan, const struct morsel_conv_job *job, int proof, uint32_t pairings, int room_for_words) {
    uint32_t quads = (uint32_t)(job->block_bytes / 64), count = (job->end - job->begin) * 2;
    plan->plain = plan->swap = plan->turn = plan->words = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_ways *ways = plan->ways + i;
        ways->first = plan->lists + i * 2 * quads;
        ways->second = ways->first + quads;
        ways->quads = quads;
        if (!proof) morsel_all_words(ways);
        else morsel_choose_ways(ways, job->weights + (job->begin + i / 2) * job->block_bytes + i % 2 * 32, job->quads, pairings);
    }
    for (uint32_t i = 0; i < count; i += 2) want_views(plan, plan->ways + i, room_for_words);
}

/* Pairings that gain more than their views and their proof take; a quad that is not words is a third of a multiplication less. */
static uint32_t worth_a_view(const struct morsel_conv_job *job, const struct view_plan *p, size_t n) {
    if (!p->all || job->outs <= 16) return 0;
    return n < 64 || job->outs <= 40 ? MORSEL_SWAP : MORSEL_SWAP | MORSEL_TURN;
}

/* The job's blocks, as many as a plan has room for. */
static void run_blocks(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n,
                       const struct view_plan *p) {
    _Alignas(32) uint8_t room[VIEW_BYTES];
    __m256i starts[14];
    struct plan plan;
    size_t last = n < 7 ? 0 : n - 7;
    make_plan(&plan, job, n > FEW, worth_a_view(job, p, n), p->all);
    const size_t most = pixels_at_once(p, &plan, n);
    for (size_t begin = 0; begin < n; begin += most) {
        struct stretch s = {begin, n - begin < most ? n : begin + most, begin < last ? begin : last, last};
        struct views v = make_views(p, &plan, room, job, lines, s.base, s.end - s.base < 7 ? 7 : s.end - s.base, n);
        for (uint32_t block = job->begin; block < job->end; block++) {
            struct morsel_part256 part = morsel_part_avx2(job, lines, block, pixel, n, starts);
            run_tiles(&part, lines, &v, plan.ways + (size_t)(block - job->begin) * 2, s, starts);
        }
    }
}

/* ---- windows that are too long for a view ---- */

/* Seven pixels of eight channels. */
MORSEL_INLINE struct morsel_seven256 sum_long(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at, int half) {
    const struct morsel_places *places = &part->x_places;
    struct morsel_tile tile;
    const int8_t *w = part->weights + 32 * half;
    struct morsel_seven256 s = morsel_start7(part, half);
    if (lines->map) morsel_map_tile(&tile, lines->map, at);
    const uint8_t *const *line = lines->line, *const *end = line + part->job->kernel_h;
    do {
        const uint8_t *x = morsel_line7(lines, *line, at, &tile, &places);
        const struct morsel_places o = *places;
        for (const int8_t *stop = w + (size_t)part->job->quads * 64; w != stop; w += 64, x += 4)
            add_narrow_7(&s, x, &o, morsel_pairs(load_weights(w)));
    } while (++line != end);
    return s;
}

static __attribute__((noinline)) void tile_long(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at) {
    struct morsel_seven256 s[2];
    for (int half = 0; half < 2; half++) s[half] = sum_long(part, lines, at, half);
    store_tile(part, at, s);
}

static void run_long(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    size_t last = n < 7 ? 0 : n - 7;
    __m256i starts[14];
    for (uint32_t block = job->begin; block < job->end; block++) {
        struct morsel_part256 part = morsel_part_avx2(job, lines, block, pixel, n, starts);
        for (size_t i = 0; i < n; i += 7) {
            size_t at = i < last ? i : last;
            if (part.starts) morsel_start_zeros_avx2(&part, starts, at);
            tile_long(&part, lines, at);
        }
    }
}

static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    struct view_plan p = plan_views(job, lines, n);
    size_t quads = job->block_bytes / 64;
    if (morsel_words_serve(job, lines)) {
        morsel_run_words(job, lines, pixel, n);
        return;
    }
    if ((!p.in_place && p.window * 7 > VIEW_ROOM) || quads > MORSEL_WAYS_MOST) {
        run_long(job, lines, pixel, n);
        return;
    }
    uint32_t most = (uint32_t)(LISTS / quads / 2 < HALVES / 2 ? LISTS / quads / 2 : HALVES / 2);
    struct morsel_conv_job part = *job;
    for (; part.begin < job->end; part.begin = part.end) {
        part.end = job->end - part.begin < most ? job->end : part.begin + most;
        run_blocks(&part, lines, pixel, n, &p);
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
    morsel_conv_plan_keep(a, row, 0, 1, 7, run_pixels, (void *)(uintptr_t)lines);
}

void morsel_conv_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (morsel_conv_has_tiles_avx2(a)) morsel_conv_plan(a, rows, y, n, run_pixels);
    else morsel_conv_by_fc(a, rows, y, n, morsel_fc_blocks_avx2);
}
