/* SPDX-License-Identifier: MIT */
/* What moving data means: rows copied, elements gathered by index tables, lines looked up. */
#include "reference.h"

void morsel_copy_reference(const struct morsel_copy_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t r = begin; r < end; r++)
        for (uint32_t i = 0; i < a->bytes; i++)
            a->y[(size_t)r * a->y_stride + i] = (uint8_t)(a->x[(size_t)r * a->x_stride + i] ^ a->sign_flip);
}

/* Where element i of y comes from, or -1 where it is fill: the sum of one entry of each dimension's table. */
static int64_t source_of(const struct morsel_gather_args *a, uint32_t i) {
    const int32_t *table = a->table;
    int64_t at = 0;
    for (uint32_t k = 0; k < a->rank; k++) table += a->dims[k];
    for (uint32_t k = a->rank; k-- > 0; i /= a->dims[k]) {
        table -= a->dims[k];
        int32_t entry = table[i % a->dims[k]];
        at = at < 0 || entry < 0 ? -1 : at + entry;
    }
    return at;
}

void morsel_gather_reference(const struct morsel_gather_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int64_t at = source_of(a, i);
        if (a->size == 4) ((uint32_t *)a->y)[i] = at < 0 ? a->fill : ((const uint32_t *)a->x)[at];
        else ((uint8_t *)a->y)[i] = (uint8_t)(at < 0 ? a->fill : ((const uint8_t *)a->x)[at] ^ a->sign_flip);
    }
}

/* To the nearest even. Far off is far off. */
static int64_t nearest(float x) {
    if (!(x > -4194304 && x < 4194304)) return x > 0 ? INT32_MAX : INT32_MIN;
    const int64_t down = (int64_t)x - (x < (float)(int64_t)x);
    const float off = x - (float)down;
    return down + (off > 0.5f || (off == 0.5f && down % 2));
}

void morsel_lookup_reference(const struct morsel_lookup_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int64_t line = a->floats ? nearest(((const float *)a->x)[i]) : ((const int32_t *)a->x)[i];
        if (line < 0) line += a->rows;
        if (line < 0) line = 0;
        if (line >= a->rows) line = a->rows - 1;
        for (uint32_t k = 0; k < a->bytes; k++)
            a->y[(size_t)i * a->bytes + k] = (uint8_t)(a->table[(size_t)line * a->bytes + k] ^ a->sign_flip);
    }
}

/* By halves: neither rounds, and their sum does once. */
void morsel_cast_reference(const struct morsel_cast_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int32_t low = (int32_t)((uint32_t)a->x[i] & 0xffff), high = (a->x[i] - low) / 65536;
        a->y[i] = (float)((double)high * 65536 + low);
    }
}
