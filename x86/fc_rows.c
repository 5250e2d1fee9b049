/* SPDX-License-Identifier: MIT */
/* Which rows of a matrix product go through the tiles of convolutions, and what is prefetched meanwhile. */
#include "fc_rows.h"

#include "conv_plan.h"

/* Weights of fewer bytes stay in the caches from run to run, and those that more rows use come in time by themselves. */
enum { PREFETCH_BYTES = 65536, PREFETCH_ROWS = 256 };

/* The weights of a tile's blocks are fetched while the blocks before are multiplied, and behind the last what follows in the blob. */
static void prefetch_weights(struct morsel_conv_args *a, uint32_t blocks) {
    const uint32_t block_bytes = (a->window.in_c + 3) / 4 * 64;
    if (a->window.out_w > PREFETCH_ROWS || blocks * (uint64_t)block_bytes < PREFETCH_BYTES) return;
    a->prefetch = 3 * block_bytes;
    a->prefetch_bytes = blocks * block_bytes;
    a->prefetch_rows = 1;
}

void morsel_fc_rows(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, uint32_t least, morsel_conv_has_tiles_fn *tiles,
                    morsel_conv_lines_fn *conv, morsel_fc_fn *few) {
    uint32_t first = (begin + a->blocks - 1) / a->blocks, last = end / a->blocks, n = last - first;
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)first * a->inputs;
    struct morsel_conv_args args = morsel_fc_as_conv(a, n, a->outputs);
    if (last < first + least || !tiles(&args) || !morsel_conv_line_fits(&args)) {
        few(a, begin, end);
        return;
    }
    args.y.data = (uint8_t *)a->y.data + (size_t)first * a->outputs * morsel_element_bytes(&a->y.qparams);
    prefetch_weights(&args, a->blocks);
    if (begin < first * a->blocks) few(a, begin, first * a->blocks);
    conv(&args, &x, a->lines ? a->lines + 2 * (size_t)first : NULL);
    if (last * a->blocks < end) few(a, last * a->blocks, end);
}
