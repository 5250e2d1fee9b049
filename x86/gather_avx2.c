/* SPDX-License-Identifier: MIT */
/*
 * Gathers with AVX2's byte shuffles: sixteen neighbours of a line whose entries lie in two pieces of sixteen bytes of x. So they do where
 * channels are shuffled, split or reversed. The pieces and shuffles are found once for all lines. Lines that become columns are turned by
 * tiles.
 */
#include "x86.h"

#include <immintrin.h>
#include <string.h>

#define MORSEL_TURN_VECTOR __m128i

MORSEL_INLINE __m128i turn_load(const void *p) {
    return _mm_loadu_si128(p);
}

MORSEL_INLINE void turn_store(void *p, __m128i v) {
    _mm_storeu_si128(p, v);
}

MORSEL_INLINE __m128i turn_flip(__m128i v, uint32_t flip) {
    return _mm_xor_si128(v, _mm_set1_epi8((char)flip));
}

MORSEL_INLINE __m128i turn_low(__m128i a, __m128i b) {
    return _mm_unpacklo_epi8(a, b);
}

MORSEL_INLINE __m128i turn_high(__m128i a, __m128i b) {
    return _mm_unpackhi_epi8(a, b);
}

MORSEL_INLINE __m128i turn_low4(__m128i a, __m128i b) {
    return _mm_unpacklo_epi32(a, b);
}

MORSEL_INLINE __m128i turn_high4(__m128i a, __m128i b) {
    return _mm_unpackhi_epi32(a, b);
}

#include "../kernels/gather.h"
#include "../kernels/turn_tiles.h"

#define LINE 1024u /* most elements of a line */
#define FEW 16u    /* fewer stretches are copied sooner than planned */

/* y[at .. at + 16] = the bytes of two pieces, in new places. */
struct piece {
    uint32_t at, a, b;              /* where in y's line; where in x, from the base of the line */
    uint8_t from_a[16], from_b[16]; /* 0x80: none */
};

struct plan {
    struct piece pieces[LINE / 16 + 1];
    uint32_t count;
};

/* The lowest entry of sixteen above `bound`. */
static int32_t lowest(const int32_t *entries, int32_t bound) {
    int32_t low = INT32_MAX;
    for (uint32_t i = 0; i < 16; i++)
        if (entries[i] > bound && entries[i] < low) low = entries[i];
    return low;
}

/* Pieces begin no later than `last`, so that they end inside x. 0: more than two are needed. */
static int plan_piece(struct piece *p, const int32_t *entries, int32_t last) {
    int32_t a = lowest(entries, -1), b;
    a = a < last ? a : last;
    b = lowest(entries, a + 15);
    b = b < last ? b : last;
    for (uint32_t i = 0; i < 16; i++) {
        int in_a = entries[i] - a < 16, in_b = entries[i] >= b && entries[i] - b < 16;
        if (!in_a && !in_b) return 0;
        p->from_a[i] = (uint8_t)(in_a ? entries[i] - a : 0x80);
        p->from_b[i] = (uint8_t)(in_a ? 0x80 : entries[i] - b);
    }
    p->a = (uint32_t)a;
    p->b = (uint32_t)b;
    return 1;
}

/* The last piece may lie over the one before. 0: the line cannot be done so. */
static int plan_line(struct plan *plan, const int32_t *entries, uint32_t n) {
    int32_t most = 0;
    if (n < 16 || n > LINE) return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (entries[i] < 0) return 0;
        most = entries[i] > most ? entries[i] : most;
    }
    if (most < 15) return 0;
    plan->count = 0;
    for (uint32_t at = 0; at < n; at += 16) {
        struct piece *p = &plan->pieces[plan->count++];
        p->at = at < n - 16 ? at : n - 16;
        if (!plan_piece(p, entries + p->at, most - 15)) return 0;
    }
    return 1;
}

static void run_line(const struct plan *plan, uint8_t *y, const uint8_t *x, __m128i flip) {
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct piece *p = &plan->pieces[i];
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(x + p->a));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(x + p->b));
        a = _mm_shuffle_epi8(a, _mm_loadu_si128((const __m128i *)(const void *)p->from_a));
        b = _mm_shuffle_epi8(b, _mm_loadu_si128((const __m128i *)(const void *)p->from_b));
        _mm_storeu_si128((__m128i *)(void *)(y + p->at), _mm_xor_si128(_mm_or_si128(a, b), flip));
    }
}

/* Whole lines: elements begin .. end. */
static void run_lines(const struct morsel_gather_args *a, const struct plan *plan, uint32_t begin, uint32_t end) {
    struct morsel_walk walk;
    uint32_t n;
    morsel_walk_start(&walk, a->dims, a->rank, begin, end);
    for (; (n = morsel_walk_run(&walk)) != 0; morsel_walk_next(&walk, n)) {
        const int32_t *table = a->table;
        int32_t base = 0;
        for (uint32_t k = 0; k + 1 < a->rank; k++) {
            int32_t entry = table[walk.at[k]];
            base = base < 0 || entry < 0 ? -1 : base + entry;
            table += a->dims[k];
        }
        if (base < 0) memset((uint8_t *)a->y + walk.begin, (int)(a->fill & 255), n);
        else run_line(plan, (uint8_t *)a->y + walk.begin, (const uint8_t *)a->x + base, _mm_set1_epi8((char)a->sign_flip));
    }
}

const char *morsel_gather_refusal_avx2(const void *args) {
    const struct morsel_gather_args *a = args;
    struct plan plan;
    struct morsel_turn turn;
    if (a->line == MORSEL_LINE_STRETCH || morsel_turn_find(&turn, a)) return NULL;
    return a->size == 1 && plan_line(&plan, morsel_last_table(a), a->dims[a->rank - 1]) ? NULL : MORSEL_REFUSES_ORDER;
}

void morsel_gather_avx2(const struct morsel_gather_args *a, uint32_t begin, uint32_t end) {
    struct plan plan;
    struct morsel_turn turn;
    uint32_t line = a->dims[a->rank - 1], first = (begin + line - 1) / line * line, last = end / line * line;
    int few = a->size != 1 || first >= last || (a->line == MORSEL_LINE_STRETCH && last - first < FEW * line);
    if (few || !plan_line(&plan, morsel_last_table(a), line)) {
        if (a->line != MORSEL_LINE_STRETCH && morsel_turn_find(&turn, a)) morsel_turn_run(a, &turn, morsel_turn_tile, begin, end);
        else morsel_gather_c(a, begin, end);
        return;
    }
    if (begin < first) morsel_gather_c(a, begin, first);
    run_lines(a, &plan, first, last);
    if (last < end) morsel_gather_c(a, last, end);
}
