/* SPDX-License-Identifier: MIT */
/* Which gathers turn lines into columns, and the tiles of them. */
#include "turn.h"

#include "gather.h"

#include <string.h>

enum { LINE = 64 }; /* columns whose rows are written before others': whole cache lines */

static int is_side(const int32_t *entries, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (entries[i] != entries[0] + (int32_t)i) return 0;
    return n > 1 && entries[0] >= 0;
}

int morsel_turn_find(struct morsel_turn *t, const struct morsel_gather_args *a) {
    const int32_t *entries = a->table;
    uint32_t longest = 0;
    int fills = 0;
    t->side = 0;
    t->rest = 0;
    t->most = 0;
    t->row = a->dims[a->rank - 1];
    for (uint32_t k = 0; k < a->rank; entries += a->dims[k++]) {
        int32_t most = 0;
        fills = 0;
        for (uint32_t i = 0; i < a->dims[k]; i++) {
            most = entries[i] > most ? entries[i] : most;
            fills |= entries[i] < 0;
        }
        t->most += most;
        if (t->rest) t->rest *= a->dims[k];
        if (k + 1 == a->rank || a->dims[k] <= longest || !is_side(entries, a->dims[k])) continue;
        longest = a->dims[k];
        t->side = k;
        t->rest = 1;
    }
    return longest && !fills;
}

/* A tile where reading four of a column would leave x. */
static void turn_plain(const struct morsel_turned *t) {
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->n; c++) {
            size_t to = r * t->pitch + c, from = (size_t)t->entries[c] + r;
            if (t->size == 4) memcpy(t->y + 4 * to, t->x + 4 * from, 4);
            else t->y[to] = (uint8_t)(t->x[from] ^ t->flip);
        }
}

/* All `rows` rows of the columns of a tile, 16 at most; the last tile may lie over the one before. `left`: elements of x from here on. */
static void turn_rows(struct morsel_turned tile, uint32_t rows, int32_t left, morsel_turned_fn *turn) {
    uint8_t *y = tile.y;
    const uint8_t *x = tile.x;
    tile.high = tile.size == 4 || rows < 8 ? 4 : rows < 16 ? 8 : 16;
    tile.rows = rows < tile.high ? rows : tile.high;
    for (uint32_t c = 0; rows < 4 && c < tile.n; c++)
        if (tile.entries[c] + 4 > left) turn = turn_plain;
    for (uint32_t r = 0; r < rows; r += tile.high) {
        uint32_t at = rows < tile.high ? 0 : r < rows - tile.high ? r : rows - tile.high;
        tile.y = y + at * tile.pitch * tile.size;
        tile.x = x + (size_t)at * tile.size;
        turn(&tile);
    }
}

/* The elements that stand behind each other in y, of `rows` lines side by side in x: element `to` of y is element `from` of x. */
static void turn_line(const struct morsel_gather_args *a, const struct morsel_turn *t, size_t to, int32_t from, uint32_t rows,
                      morsel_turned_fn *turn) {
    const int32_t *entries = a->table;
    uint32_t wide = 16 / a->size, step = t->row < wide ? t->row : wide;
    for (uint32_t k = 0; k + 1 < a->rank; k++) entries += a->dims[k];
    for (uint32_t c = 0; c < t->row; c += LINE)
        for (uint32_t r = 0; r < rows; r += 16) {
            uint32_t at = rows - r >= 16 || rows < 16 ? r : rows - 16;
            for (uint32_t i = c; i < t->row && i < c + LINE; i += wide) {
                uint32_t column = i + step <= t->row ? i : t->row - step;
                struct morsel_turned tile = {
                    .pitch = t->rest, .entries = entries + column, .n = step, .size = a->size, .flip = a->sign_flip};
                tile.y = (uint8_t *)a->y + (to + at * (size_t)t->rest + column) * a->size;
                tile.x = (const uint8_t *)a->x + ((size_t)(uint32_t)from + at) * a->size;
                turn_rows(tile, rows - at < 16 ? rows - at : 16, t->most + 1 - from - (int32_t)at, turn);
            }
        }
}

/* The sum of the entries of dimensions from .. to for one index of them all, or -1 for fill. */
static int32_t base_of(const struct morsel_gather_args *a, uint32_t from, uint32_t to, uint32_t index) {
    const int32_t *entries = a->table;
    int32_t base = 0;
    for (uint32_t k = 0; k < to; k++) entries += a->dims[k];
    for (uint32_t k = to; k-- > from; index /= a->dims[k]) {
        entries -= a->dims[k];
        int32_t entry = entries[index % a->dims[k]];
        base = base < 0 || entry < 0 ? -1 : base + entry;
    }
    return base;
}

void morsel_turn_run(const struct morsel_gather_args *a, const struct morsel_turn *t, morsel_turned_fn *turn, uint32_t begin,
                     uint32_t end) {
    uint32_t first = begin / t->rest + (begin % t->rest != 0), last = end / t->rest, side = a->dims[t->side], n;
    if (first >= last) {
        morsel_gather_c(a, begin, end);
        return;
    }
    morsel_gather_c(a, begin, first * t->rest);
    for (uint32_t r = first; r < last; r += n) {
        int32_t outer = base_of(a, 0, t->side, r / side), base = base_of(a, t->side, t->side + 1, r % side);
        n = side - r % side < last - r ? side - r % side : last - r;
        if (outer < 0) morsel_gather_fill(a, r * t->rest, n * t->rest);
        for (uint32_t m = 0; outer >= 0 && m < t->rest / t->row; m++) {
            int32_t inner = base_of(a, t->side + 1, a->rank - 1, m);
            if (inner >= 0) turn_line(a, t, (size_t)r * t->rest + m * t->row, outer + base + inner, n, turn);
            for (uint32_t i = 0; inner < 0 && i < n; i++) morsel_gather_fill(a, (r + i) * t->rest + m * t->row, t->row);
        }
    }
    morsel_gather_c(a, last * t->rest, end);
}
