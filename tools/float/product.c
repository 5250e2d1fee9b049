/* SPDX-License-Identifier: MIT */
/* Matrix products in float: packs both sides, then goes over them by tiles. */
#include "tools/float/product.h"

#include <string.h>

static int64_t up(int64_t n, int64_t grain) {
    return (n + grain - 1) / grain * grain;
}

size_t packed_rows_floats(int64_t rows, int64_t depth) {
    return (size_t)(up(rows, TILE_ROWS) * depth);
}

size_t packed_panels_floats(int64_t depth, int64_t columns) {
    return (size_t)(up(columns, TILE_COLUMNS) * depth);
}

void pack_rows(const struct matrix *m, float *to) {
    for (int64_t i = 0; i < m->rows; i += TILE_ROWS)
        for (int64_t k = 0; k < m->columns; k++)
            for (int64_t r = i; r < i + TILE_ROWS; r++) *to++ = r < m->rows ? m->data[r * m->row + k * m->column] : 0;
}

void pack_panels(const struct matrix *m, float *to) {
    for (int64_t j = 0; j < m->columns; j += TILE_COLUMNS)
        for (int64_t k = 0; k < m->rows; k++) {
            const float *from = m->data + k * m->row + j * m->column;
            int64_t count = m->columns - j < TILE_COLUMNS ? m->columns - j : TILE_COLUMNS;
            for (int64_t c = 0; c < count; c++) to[c] = from[c * m->column];
            memset(to + count, 0, (size_t)(TILE_COLUMNS - count) * sizeof *to);
            to += TILE_COLUMNS;
        }
}

void product_tile(const struct loops *loops, const float *rows, const float *panel, size_t depth, float *y, size_t pitch, int row_count,
                  int column_count, const float *start) {
    float part[TILE_ROWS * TILE_COLUMNS];
    if (row_count == TILE_ROWS && column_count == TILE_COLUMNS) {
        loops->tile(rows, panel, depth, y, pitch, TILE_COLUMNS, start);
        return;
    }
    memset(part, 0, sizeof part);
    for (int r = 0; r < row_count && !start; r++) memcpy(part + r * TILE_COLUMNS, y + (size_t)r * pitch, (size_t)column_count * sizeof *y);
    loops->tile(rows, panel, depth, part, TILE_COLUMNS, (size_t)column_count, start);
    for (int r = 0; r < row_count; r++) memcpy(y + (size_t)r * pitch, part + r * TILE_COLUMNS, (size_t)column_count * sizeof *y);
}

void product_vector(const struct loops *loops, const float *x, size_t step, const float *panels, size_t depth, float *y, size_t columns) {
    for (size_t c = 0; c < columns; c += TILE_COLUMNS, panels += depth * TILE_COLUMNS) {
        float part[TILE_COLUMNS] = {0};
        size_t count = columns - c < TILE_COLUMNS ? columns - c : TILE_COLUMNS;
        loops->row(x, step, panels, depth, part);
        memcpy(y + c, part, count * sizeof *y);
    }
}
