/* SPDX-License-Identifier: MIT */
/* Copies of rows, gathers by index tables, lines of tables, casts. */
#include "check.h"

#include <math.h>
#include <string.h>

static void make_copy(struct trial *t) {
    struct morsel_copy_args *a = &t->copy;
    struct chance *c = &t->chance;
    struct morsel_qparams any = make_qparams(c);
    uint32_t rows = 1 + chance_below(c, 20);
    a->bytes = t->bench ? 58 : chance_size(c, 300);
    if (t->bench) rows = 28 * 28;
    a->x_stride = a->bytes + (chance_one_in(c, 2) ? 0 : chance_below(c, 40));
    a->y_stride = a->bytes + (chance_one_in(c, 3) ? 0 : chance_below(c, 40));
    a->sign_flip = chance_one_in(c, 3) ? 0x80 : 0;
    trial_say(t, "%u rows of %u, strides %u %u, flip %u", (unsigned)rows, (unsigned)a->bytes, (unsigned)a->x_stride, (unsigned)a->y_stride,
              (unsigned)a->sign_flip);
    size_t bytes = (size_t)(rows - 1) * a->x_stride + a->bytes;
    uint8_t *x = trial_room(t, bytes, 1);
    make_values(t, x, bytes, &any);
    a->x = x;
    t->units = rows;
    t->macs = (uint64_t)rows * a->bytes;
    trial_output(t, (void **)(void *)&a->y, (size_t)(rows - 1) * a->y_stride + a->bytes, &any);
}

static void call_copy(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_copy_fn *)fn)(&t->copy, begin, end);
}

/* Entries of one dimension: a stretch, backwards, every other one, a shuffle of two groups, or any, also behind one of padding; gives the
 * largest. */
static uint32_t make_entries(struct chance *c, int32_t *table, uint32_t n, uint32_t step, uint32_t kind, bool fill) {
    const bool padding = fill && n > 1 && chance_one_in(c, 4), holes = fill && !padding;
    if (padding) *table++ = -1, n--;
    uint32_t most = 0, half = (n + 1) / 2;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t orders[4] = {i, n - 1 - i, i * 2 % n, i % 2 * half + i / 2};
        uint32_t at = kind < 4 ? orders[kind] : chance_below(c, n);
        table[i] = holes && chance_one_in(c, 5) ? -1 : (int32_t)(at * step);
        if (table[i] > 0 && (uint32_t)table[i] > most) most = (uint32_t)table[i];
    }
    return most;
}

static void make_gather(struct trial *t) {
    struct morsel_gather_args *a = &t->args.gather;
    struct chance *c = &t->chance;
    struct morsel_qparams any = make_qparams(c);
    bool fill = chance_one_in(c, 3);
    uint32_t entries = 0, step = 1, most = 0, elements = 1;
    a->rank = t->bench ? 3 : 1 + chance_below(c, chance_one_in(c, 3) ? 6 : 3);
    for (uint32_t k = 0; k < MORSEL_KERNEL_MAX_RANK; k++) a->dims[k] = 1;
    for (uint32_t k = 0; k < a->rank; k++) a->dims[k] = k + 1 == a->rank ? chance_size(c, 100) : 1 + chance_below(c, 5);
    if (t->bench) a->dims[0] = a->dims[1] = 28, a->dims[2] = 116;
    uint32_t side = t->bench ? 2 : chance_below(c, a->rank); /* its elements may lie side by side */
    bool turned = side + 1 < a->rank;
    if (turned) a->dims[side] = chance_size(c, a->rank > 3 ? 20 : 60);
    for (uint32_t k = 0; k < a->rank; k++) entries += a->dims[k], elements *= a->dims[k];
    int32_t *tables = trial_room(t, entries * sizeof *tables, 4);
    for (uint32_t i = 0; i < a->rank; i++) {
        uint32_t k = i ? (a->rank - i <= side ? a->rank - i - 1 : a->rank - i) : side;
        int32_t *table = tables;
        for (uint32_t b = 0; b < k; b++) table += a->dims[b];
        uint32_t kind = t->bench ? k == 2 ? 3 : 0 : k == side && turned && !chance_one_in(c, 4) ? 0 : chance_below(c, 5);
        most += make_entries(c, table, a->dims[k], step, kind, fill && !t->bench && (k != side || chance_one_in(c, 2)));
        step = most + 1;
    }
    a->size = chance_one_in(c, 4) ? 4 : 1;
    a->sign_flip = a->size == 1 && chance_one_in(c, 3) ? 0x80 : 0;
    a->fill = chance_next(c);
    a->table = tables;
    morsel_find_line(a);
    any.is_float = a->size == 4;
    trial_say(t, "%u elements of %u bytes, rank %u, last %u, flip %u", (unsigned)elements, (unsigned)a->size, (unsigned)a->rank,
              (unsigned)a->dims[a->rank - 1], (unsigned)a->sign_flip);
    uint8_t *x = trial_room(t, (size_t)(most + 1) * a->size, a->size);
    chance_bytes(c, x, (size_t)(most + 1) * a->size);
    a->x = x;
    t->units = elements;
    t->macs = elements;
    trial_output(t, &a->y, elements, &any);
}

static void call_gather(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_gather_fn *)fn)(&t->args.gather, begin, end);
}

/* Indices inside the table, negative ones, some beyond either end. */
static int32_t any_index(struct chance *c, uint32_t rows) {
    static const int32_t far[] = {INT32_MIN, INT32_MAX, INT32_MIN + 1, -65536, 65536};
    if (chance_one_in(c, 12)) return far[chance_below(c, 5)];
    return (int32_t)chance_below(c, 3 * rows + 2) - (int32_t)rows - 1;
}

static void make_lookup(struct trial *t) {
    struct morsel_lookup_args *a = &t->args.lookup;
    struct chance *c = &t->chance;
    struct morsel_qparams any = make_qparams(c);
    uint32_t lines = t->bench ? 128 : chance_size(c, 40);
    a->rows = t->bench ? 4096 : chance_size(c, 60);
    a->bytes = t->bench ? 384 : chance_size(c, 100);
    a->sign_flip = chance_one_in(c, 3) ? 0x80 : 0;
    trial_say(t, "%u lines of %u bytes out of %u, flip %u", (unsigned)lines, (unsigned)a->bytes, (unsigned)a->rows, (unsigned)a->sign_flip);
    int32_t *x = trial_room(t, lines * sizeof *x, 4);
    uint8_t *table = trial_room(t, (size_t)a->rows * a->bytes, 1);
    for (uint32_t i = 0; i < lines; i++) x[i] = t->bench ? (int32_t)chance_below(c, a->rows) : any_index(c, a->rows);
    a->floats = !t->bench && chance_one_in(c, 2) ? MORSEL_WHOLE_FLOATS : 0;
    for (uint32_t i = 0; i < lines && a->floats; i++) {
        static const float ends[] = {4194303, 4194304, -4194304, 1e30f, -1e30f, INFINITY, -INFINITY, 2.5f, 3.5f, -0.5f, -1.5f, NAN};
        const float off = chance_one_in(c, 4) ? (float)chance_below(c, 9) / 8 : 0, at = (float)x[i] + off;
        memcpy(x + i, chance_one_in(c, 9) ? ends + chance_below(c, 12) : &at, sizeof at);
    }
    chance_bytes(c, table, (size_t)a->rows * a->bytes);
    a->x = x;
    a->table = table;
    t->units = lines;
    t->macs = (uint64_t)lines * a->bytes;
    any.is_float = 0;
    trial_output(t, (void **)(void *)&a->y, (size_t)lines * a->bytes, &any);
}

static void call_lookup(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_lookup_fn *)fn)(&t->args.lookup, begin, end);
}

static void make_cast(struct trial *t) {
    struct morsel_cast_args *a = &t->args.cast;
    struct chance *c = &t->chance;
    struct morsel_qparams any = make_qparams(c);
    uint32_t count = t->bench ? 4096 : chance_size(c, 200);
    int32_t *x = trial_room(t, count * sizeof *x, 4);
    for (uint32_t i = 0; i < count; i++) x[i] = (int32_t)((chance_next(c) >> chance_below(c, 32)) * (chance_one_in(c, 3) ? ~0u : 1u));
    if (chance_one_in(c, 3)) x[chance_below(c, count)] = chance_one_in(c, 2) ? INT32_MIN : INT32_MAX;
    trial_say(t, "%u elements", (unsigned)count);
    a->x = x;
    t->units = t->macs = count;
    any.is_float = 1;
    trial_output(t, (void **)(void *)&a->y, count, &any);
}

static void call_cast(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_cast_fn *)fn)(&t->args.cast, begin, end);
}

const struct family family_lookup = {"lookup", offsetof(struct morsel_kernels, lookup), 1, make_lookup, call_lookup};
const struct family family_cast = {"cast", offsetof(struct morsel_kernels, cast), 1, make_cast, call_cast};
const struct family family_copy = {"copy", offsetof(struct morsel_kernels, copy), 1, make_copy, call_copy};
const struct family family_gather = {"gather", offsetof(struct morsel_kernels, gather), 1, make_gather, call_gather};
