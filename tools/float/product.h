/* SPDX-License-Identifier: MIT */
/*
 * Matrix products in blocks. The left matrix lies in groups of TILE_ROWS rows, [rows / 8][depth][8]; the right one in panels of
 * TILE_COLUMNS columns, [columns / 32][depth][32]; both filled up with zeros. Each sum runs over depth from the first to the last.
 */
#ifndef MORSEL_TOOLS_FLOAT_PRODUCT_H
#define MORSEL_TOOLS_FLOAT_PRODUCT_H

#include "tools/float/loops.h"

#include <stdint.h>

/* How deep a panel is at most when it is packed on the way: 16 KB, which stay in the first cache. */
enum { PANEL_DEPTH = 128 };

/* A matrix anywhere: element (i, j) is data[i * row + j * column]. */
struct matrix {
    const float *data;
    int64_t rows, columns, row, column;
};

size_t packed_rows_floats(int64_t rows, int64_t depth);
void pack_rows(const struct matrix *m, float *to);
size_t packed_panels_floats(int64_t depth, int64_t columns);
void pack_panels(const struct matrix *m, float *to);

/*
 * y, of 1 to TILE_ROWS rows and 1 to TILE_COLUMNS columns, gets rows (packed, `depth` deep) times panel added. `pitch`: floats from row to
 * row. With `start`, y is start[row] before; it has TILE_ROWS numbers, however few rows.
 */
void product_tile(const struct loops *loops, const float *rows, const float *panel, size_t depth, float *y, size_t pitch, int row_count,
                  int column_count, const float *start);

/* y[0..columns) = the vector x (step floats apart) times packed panels. */
void product_vector(const struct loops *loops, const float *x, size_t step, const float *panels, size_t depth, float *y, size_t columns);

#endif
