/* SPDX-License-Identifier: MIT */
/* Data that moves without changing, in plain C: rows copied side by side, elements gathered by index tables, lines by indices. */
#include "gather.h"

/* Where a compiler has loads and stores at any address, lines of 8 to 47 bytes take less time than a call of memcpy() does, measured. */
static int is_short(uint32_t n) {
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__ARM_FEATURE_UNALIGNED)
    return n - 8 < 40;
#else
    return (void)n, 0;
#endif
}

/* As memcpy() of n bytes, 8 and more. */
static void copy_short(uint8_t *y, const uint8_t *x, uint32_t n) {
    const uint32_t last = n - (n < 16 ? 8 : 16);
    if (n < 16) {
        memcpy(y, x, 8);
        memcpy(y + last, x + last, 8);
        return;
    }
    for (uint32_t i = 0; i < last; i += 16) memcpy(y + i, x + i, 16);
    memcpy(y + last, x + last, 16);
}

void morsel_copy_c(const struct morsel_copy_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t r = begin; r < end; r++) {
        uint8_t *y = a->y + (size_t)r * a->y_stride;
        const uint8_t *x = a->x + (size_t)r * a->x_stride;
        if (is_short(a->bytes)) copy_short(y, x, a->bytes);
        else memcpy(y, x, a->bytes);
        morsel_flip_line(y, a->bytes, a->sign_flip);
    }
}

/* Four bytes to every other byte of eight. */
static uint64_t spread(const uint8_t *x) {
    uint32_t four;
    memcpy(&four, x, sizeof four);
    uint64_t v = four;
    v = (v | v << 16) & 0x0000ffff0000ffffu;
    return (v | v << 8) & 0x00ff00ff00ff00ffu;
}

static void interleave_c(uint8_t *y, const uint8_t *a, const uint8_t *b, uint32_t n) {
    uint32_t i = 0;
    for (; n - i >= 4; i += 4) {
        uint64_t eight = spread(a + i) | spread(b + i) << 8;
        memcpy(y + 2 * (size_t)i, &eight, sizeof eight);
    }
    for (; i < n; i++) {
        y[2 * (size_t)i] = a[i];
        y[2 * (size_t)i + 1] = b[i];
    }
}

/* No fill among them but in MORSEL_LINE_ANY. */
static enum morsel_line line_kind(const int32_t *entries, uint32_t n) {
    const uint32_t first = (uint32_t)entries[0];
    uint32_t pairs = 0, apart = (first | (uint32_t)entries[n - 1]) >> 31;
    for (uint32_t i = 0; i < n; i++) apart |= (uint32_t)entries[i] ^ (first + i); /* most lines are stretches: a short loop */
    if (!apart) return MORSEL_LINE_STRETCH;
    for (uint32_t i = 0; i < n; i++) {
        if (entries[i] < 0) return MORSEL_LINE_ANY;
        pairs += i >= 2 && entries[i] == entries[i - 2] + 1;
    }
    return n > 2 && pairs == n - 2 ? MORSEL_LINE_TWO : MORSEL_LINE_ANY;
}

void morsel_find_line(struct morsel_gather_args *a) {
    a->line = line_kind(morsel_last_table(a), a->dims[a->rank - 1]);
}

void morsel_gather_c(const struct morsel_gather_args *a, uint32_t begin, uint32_t end) {
    morsel_gather_with(a, begin, end, interleave_c);
}

/* 0 .. rows - 1, whatever it was. */
static uint32_t line_of(int32_t index, uint32_t rows) {
    if (index < 0) index += (int32_t)rows;
    if (index < 0) index = 0;
    return (uint32_t)index < rows ? (uint32_t)index : rows - 1;
}

/* A float that is as many above 1.5 x 2^23, whose bits are `whole`, has bits that are as many above those, up to 2^22 either way. Further
 * off they are further off, and least for a NaN. */
static uint32_t nearest(uint32_t x, uint32_t whole) {
    float sum, add;
    memcpy(&sum, &x, sizeof sum);
    memcpy(&add, &whole, sizeof add);
    sum += add;
    sum = sum > 0 ? sum : 0;
    memcpy(&x, &sum, sizeof x);
    return x - whole;
}

void morsel_lookup_c(const struct morsel_lookup_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        uint8_t *y = a->y + (size_t)i * a->bytes;
        uint32_t at;
        memcpy(&at, (const uint8_t *)a->x + 4 * (size_t)i, sizeof at);
        if (a->floats) at = nearest(at, a->floats);
        memcpy(y, a->table + (size_t)line_of((int32_t)at, a->rows) * a->bytes, a->bytes);
        morsel_flip_line(y, a->bytes, a->sign_flip);
    }
}

void morsel_cast_c(const struct morsel_cast_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) a->y[i] = (float)a->x[i];
}
