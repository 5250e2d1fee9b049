/* SPDX-License-Identifier: MIT */
/* Products of many lines with many outputs, in tiles that stay in the nearest cache. */
#include "product.h"

#include <stdbool.h>

/* What a tile holds at most: lines, taps that are multiplied at a time, and taps of all its lines, which may be fewer of each. */
struct size {
    uint16_t lines, taps, all;
};

/* On the stack: where there is nothing but plain C, it may be that of a task of a microcontroller. */
enum { LINES = MORSEL_ROOMY_STACK ? 16 : 2, TAPS = MORSEL_ROOMY_STACK ? 64 : 8 };

/* The first one that fits the room, if it holds as much as the last one, else that; the very first is for few taps. Taps are multiples of
 * 8, and at most 256. */
static const struct size sizes[] = {{56, 64, 4096}, {32, 256, 4096}, {32, 128, 2048}, {16, 128, 1024},
                                    {8, 64, 512},   {4, 64, 256},    {4, 32, 128},    {LINES, TAPS, LINES *TAPS}};

enum { SMALLEST = sizeof sizes / sizeof *sizes - 1 };

struct tile {
    uint32_t (*sums)[16];
    int16_t *lines;
    morsel_factor *factors; /* of four outputs */
};

static inline void widen_16(int16_t *restrict to, const uint8_t *restrict x, uint8_t flip, int16_t zero) {
    for (uint32_t i = 0; i < 16; i++) to[i] = (int16_t)((x[i] ^ flip) - zero);
}

/* The last sixteen overlap with those before them. */
void morsel_widen(int16_t *restrict to, const uint8_t *restrict x, uint32_t n, const struct morsel_qparams *qparams) {
    uint8_t flip = (uint8_t)qparams->sign_flip;
    int16_t zero = (int16_t)qparams->zero;
    uint32_t i = 0;
    for (; n - i >= 16; i += 16) widen_16(to + i, x + i, flip, zero);
    if (i && i < n) widen_16(to + n - 16, x + n - 16, flip, zero);
    for (; n < 16 && i < n; i++) to[i] = (int16_t)((x[i] ^ flip) - zero);
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Weights of an output, from tap k on. */
static const int8_t *weights_at(const struct morsel_product *p, uint32_t output, uint32_t k) {
    return p->weights + ((size_t)(output / 16) * ((p->taps + 3) / 4 * 4) + k) * 16 + output % 16 * 4;
}

#if MORSEL_WIDE_FACTORS
static inline void widen_weights(int16_t *restrict to, const int8_t *restrict w, const int16_t *restrict zeros) {
    MORSEL_VECTORS_OF(8)
    for (uint32_t j = 0; j < 16; j++) to[j] = (int16_t)(w[j] - zeros[j]);
}

/* The next n of `taps` weights of four outputs, one output every n entries, 0 past the taps. `zero`: of the four, or NULL. */
static void take_weights(int16_t *restrict to, const int8_t *restrict w, uint32_t taps, uint32_t n, const int32_t *zero) {
    int16_t zeros[16] = {0};
    uint32_t k = 0;
    for (uint32_t j = 0; zero && j < 16; j++) zeros[j] = (int16_t)zero[j / 4];
    for (; k < n && k < taps; k += 4, w += 64) {
        int16_t wide[16];
        widen_weights(wide, w, zeros);
        for (uint32_t c = 0; c < 4; c++) memcpy(to + (size_t)c * n + k, wide + 4 * c, 8);
    }
    for (uint32_t c = 0; k < n && c < 4; c++) memset(to + c * n + k, 0, (n - k) * sizeof *to);
}

/* Four outputs' part of a product: taps k .. k + n. */
struct factors {
    const int16_t *w;
    size_t n;
};

static struct factors find_factors(const struct morsel_product *p, const struct tile *t, uint32_t output, uint32_t k, uint32_t n) {
    if (p->take_columns) p->take_columns(p, t->factors, output, k, n);
    else take_weights(t->factors, weights_at(p, output, k), (p->taps + 3) / 4 * 4 - k, n, p->weight_zero ? p->weight_zero + output : NULL);
    return (struct factors){t->factors, n};
}

/* Two lines with four outputs. A product is at most 255 * 255, so that the sum of 256 of them fits. Inlined, gcc lacks registers. */
static __attribute__((noinline)) void multiply_2x4(uint32_t *restrict sums, uint32_t *restrict sums1, const int16_t *x, const int16_t *x1,
                                                   const struct factors *f) {
    size_t n = f->n;
    const int16_t *w = f->w, *w1 = w + n, *w2 = w1 + n, *w3 = w2 + n;
    int32_t a = 0, a1 = 0, a2 = 0, a3 = 0, b = 0, b1 = 0, b2 = 0, b3 = 0;
    n &= ~(size_t)7; /* it is such a multiple, and compilers may know */
    MORSEL_VECTORS_OF(8)
    for (size_t k = 0; k < n; k++) {
        a += x[k] * w[k];
        a1 += x[k] * w1[k];
        a2 += x[k] * w2[k];
        a3 += x[k] * w3[k];
        b += x1[k] * w[k];
        b1 += x1[k] * w1[k];
        b2 += x1[k] * w2[k];
        b3 += x1[k] * w3[k];
    }
    const uint32_t more[8] = {(uint32_t)a, (uint32_t)a1, (uint32_t)a2, (uint32_t)a3, (uint32_t)b, (uint32_t)b1, (uint32_t)b2, (uint32_t)b3};
    for (uint32_t o = 0; o < 4; o++) {
        sums[o] += more[o];
        sums1[o] += more[4 + o];
    }
}
#else
/* Four outputs' part of a product: n taps, four of an output every `apart` bytes, [4][4]; zero points that are to be taken off, or NULL. */
struct factors {
    const int8_t *w;
    size_t apart, n;
    const int32_t *zero;
};

static struct factors find_factors(const struct morsel_product *p, const struct tile *t, uint32_t output, uint32_t k, uint32_t n) {
    n = least(n, (p->taps - k + 3) / 4 * 4);
    if (!p->take_columns) return (struct factors){weights_at(p, output, k), 64, n, p->weight_zero ? p->weight_zero + output : NULL};
    p->take_columns(p, t->factors, output, k, n);
    return (struct factors){t->factors, 16, n, p->weight_zero};
}

/* Less zero points times the sum of the line. */
static void take_zeros(uint32_t *sums, const int16_t *x, const struct factors *f) {
    uint32_t sum = 0;
    for (size_t k = 0; k < f->n; k++) sum += (uint32_t)x[k];
    for (uint32_t o = 0; o < 4; o++) sums[o] -= (uint32_t)f->zero[o] * sum;
}

/* Two lines with four outputs. A product is at most 255 * 128, so that the sum of 256 of them fits. */
static MORSEL_OWN_FRAME void multiply_2x4(uint32_t *restrict sums, uint32_t *restrict sums1, const int16_t *x, const int16_t *x1,
                                          const struct factors *f) {
    const int8_t *w = f->w;
    int32_t a = 0, a1 = 0, a2 = 0, a3 = 0, b = 0, b1 = 0, b2 = 0, b3 = 0;
    for (size_t k = 0; k < f->n; k += 4, w += f->apart - 4) {
        for (size_t i = k; i < k + 4; i++, w++) {
            a += x[i] * w[0];
            a1 += x[i] * w[4];
            a2 += x[i] * w[8];
            a3 += x[i] * w[12];
            b += x1[i] * w[0];
            b1 += x1[i] * w[4];
            b2 += x1[i] * w[8];
            b3 += x1[i] * w[12];
        }
    }
    const uint32_t more[8] = {(uint32_t)a, (uint32_t)a1, (uint32_t)a2, (uint32_t)a3, (uint32_t)b, (uint32_t)b1, (uint32_t)b2, (uint32_t)b3};
    for (uint32_t o = 0; o < 4; o++) {
        sums[o] += more[o];
        sums1[o] += more[4 + o];
    }
    if (f->zero) take_zeros(sums, x, f), take_zeros(sums1, x1, f);
}
#endif

/* All lines of a tile with four outputs, whose sums start at `at`. An odd last line is paired with itself. */
static MORSEL_OWN_FRAME void multiply_tile(const struct tile *t, uint32_t lines, uint32_t at, uint32_t n, const struct factors *f) {
    uint32_t unused[4] = {0};
    for (uint32_t l = 0; l < lines; l += 2) {
        const int16_t *x = t->lines + (size_t)l * n;
        bool two = l + 1 < lines;
        multiply_2x4(t->sums[l] + at, two ? t->sums[l + 1] + at : unused, x, two ? x + n : x, f);
    }
}

/* The parts that n is best cut into, none above `most`: equal ones. */
static uint32_t cut(uint32_t n, uint32_t most) {
    uint32_t parts = (n + most - 1) / most;
    return parts ? (n + parts - 1) / parts : 0;
}

/* Lines line .. line + count with all outputs. Lines that are taken whole are taken once for all of them. */
static void multiply_lines(const struct morsel_product *p, const struct tile *t, uint32_t line, uint32_t count, uint32_t size) {
    for (uint32_t o = p->first; o < p->end; o += 16) {
        uint32_t outputs = least(p->end - o, 16);
        memset(t->sums, 0, count * sizeof t->sums[0]);
        for (uint32_t k = 0, n; k < p->taps; k += n) {
            n = least(size, (p->taps - k + 7) / 8 * 8);
            if (o == p->first || size < p->taps) p->take_lines(p, t->lines, line, count, k, n);
            for (uint32_t at = 0; at < outputs; at += 4) {
                const struct factors f = find_factors(p, t, o + at, k, n);
                multiply_tile(t, count, at, n, &f);
            }
        }
        for (uint32_t l = 0; l < count; l++) p->store(p, line + l, o, outputs, t->sums[l]);
    }
}

static uint32_t bytes_of(const struct size *s) {
    return s->lines * 64u + s->all * 2u + s->taps * 8u;
}

void morsel_multiply(const struct morsel_product *p) {
    uint32_t sums[LINES][16];
    int16_t lines[LINES * TAPS];
    morsel_factor factors[4 * TAPS];
    struct tile tile = {sums, lines, factors};
    const struct size *s = sizes;
    s += p->taps > s->taps;
    while (s < sizes + SMALLEST && (bytes_of(s) > p->room.bytes || s->all < LINES * TAPS)) s++;
    if (s < sizes + SMALLEST) {
        tile.sums = (void *)p->room.data;
        tile.lines = (void *)(tile.sums + s->lines);
        tile.factors = (void *)(tile.lines + s->all);
    }
    uint32_t size = (cut(p->taps, s->taps) + 7) / 8 * 8;
    uint32_t count = cut(p->lines, size ? least(s->all / size, s->lines) : s->lines);
    for (uint32_t line = 0; line < p->lines; line += count) multiply_lines(p, &tile, line, least(count, p->lines - line), size);
}
