/* SPDX-License-Identifier: MIT */
/* Histograms over octaves of magnitude: no range has to be known before the first number. */
#include "tools/quant/calibrate/histogram.h"
#include <float.h>
#include <string.h>

/*
 * Cells: ZEROS for what counts as 0, then the bins of the positive numbers from the lowest octave up, then those of the negative ones.
 * A network has many zeros: taken in turn, increments do not wait for each other.
 */
enum { ZEROS = 4, LANES = 16, MANTISSA = 23 };

static size_t side(const struct histogram *h) {
    return (size_t)h->octaves << h->detail;
}

size_t histogram_cells(int octaves, int detail) {
    return ZEROS + 2 * ((size_t)octaves << detail);
}

struct histogram histogram_start(uint32_t *cells, int octaves, int detail) {
    return (struct histogram){.cells = cells, .octaves = octaves, .detail = detail, .top = -1};
}

static void grow(uint32_t *cell, uint32_t more) {
    *cell = *cell > UINT32_MAX - more ? UINT32_MAX : *cell + more;
}

/* The magnitude, in units of a bin, at which the lowest octave begins; below 0 where the exponents end before the octaves do. */
static int32_t base_of(const struct histogram *h) {
    return (h->top - h->octaves + 1) * (1 << h->detail);
}

/* The octaves move down until `top` is the highest. */
static void raise(struct histogram *h, int top) {
    if (top <= h->top) return;
    size_t size = side(h), by = (size_t)(top - h->top) << h->detail;
    by = by < size ? by : size;
    for (uint32_t *cells = h->cells + ZEROS; h->top >= 0 && cells <= h->cells + ZEROS + size; cells += size) {
        for (size_t i = 0; i < by; i++) h->zeros += cells[i];
        memmove(cells, cells + by, (size - by) * sizeof *cells);
        memset(cells + size - by, 0, by * sizeof *cells);
    }
    h->top = top;
}

/* The cells of LANES numbers, which compilers make vectors of. */
static void find_cells(const struct histogram *h, const uint32_t *bits, uint32_t *out) {
    uint32_t size = (uint32_t)side(h);
    int shift = MANTISSA - h->detail;
    int32_t base = base_of(h);
    for (uint32_t i = 0; i < LANES; i++) {
        int32_t slot = (int32_t)((bits[i] & 0x7fffffffu) >> shift) - base;
        uint32_t cell = ZEROS + (uint32_t)slot + (bits[i] >> 31) * size;
        uint32_t zero = 0u - ((uint32_t)slot >> 31); /* all ones; a branch would be mispredicted for half the outputs of a ReLU */
        out[i] = (cell & ~zero) | (i % ZEROS & zero);
    }
}

/* What the cells of zeros hold goes to the sum, which does not overflow. */
static void drain_zeros(struct histogram *h) {
    for (int i = 0; i < ZEROS; i++) {
        h->zeros += h->cells[i];
        h->cells[i] = 0;
    }
}

void histogram_reach(struct histogram *h, float largest) {
    uint32_t bits;
    memcpy(&bits, &largest, sizeof bits);
    raise(h, (int)(bits >> MANTISSA & 255));
}

void histogram_add(struct histogram *h, const float *numbers, size_t count) {
    uint32_t cells[LANES];
    h->count += count;
    for (size_t at = 0; at < count; at += LANES) {
        uint32_t bits[LANES] = {0};
        size_t n = count - at < LANES ? count - at : LANES;
        memcpy(bits, numbers + at, n * sizeof *bits);
        find_cells(h, bits, cells);
        for (size_t i = 0; i < n; i++) h->cells[cells[i]] += h->cells[cells[i]] != UINT32_MAX;
    }
    drain_zeros(h);
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    if (from->top < 0) return;
    raise(into, from->top);
    into->count += from->count;
    into->zeros += from->zeros;
    /* Where `from` is lower, its bins stand lower in `into`, and its lowest are among the zeros there. */
    size_t size = side(into), by = (size_t)(into->top - from->top) << into->detail;
    by = by < size ? by : size;
    for (size_t start = ZEROS; start <= ZEROS + size; start += size) {
        for (size_t i = 0; i < by; i++) into->zeros += from->cells[start + i];
        for (size_t i = by; i < size; i++) grow(&into->cells[start + i - by], from->cells[start + i]);
    }
}

size_t histogram_bins_most(const struct histogram *h) {
    return 2 * side(h) + 1;
}

/* Where slot `slot` begins; the last ends at the largest float. */
static double edge(const struct histogram *h, size_t slot) {
    uint32_t bits = (uint32_t)(base_of(h) + (int32_t)slot) << (MANTISSA - h->detail);
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return bits < 0x7f800000u ? (double)magnitude : (double)FLT_MAX;
}

size_t histogram_bins(const struct histogram *h, struct histogram_bin *bins) {
    const uint32_t *positive = h->cells + ZEROS, *negative = positive + side(h);
    size_t count = 0, size = h->top < 0 ? 0 : side(h);
    for (size_t i = size; i-- > 0;)
        if (negative[i]) bins[count++] = (struct histogram_bin){-edge(h, i + 1), -edge(h, i), negative[i]};
    if (h->zeros) bins[count++] = (struct histogram_bin){0, 0, h->zeros};
    for (size_t i = 0; i < size; i++)
        if (positive[i]) bins[count++] = (struct histogram_bin){edge(h, i), edge(h, i + 1), positive[i]};
    return count;
}
