/* SPDX-License-Identifier: MIT */
/* The pixels of tiles and their taps, as map.h says. */
#include "map.h"

/* A pixel's tap in the next row and column of the window. */
static uintptr_t tap_of(const struct morsel_tile *tile, uint32_t pixel) {
    const struct morsel_map *map = tile->map;
    const uint32_t column = tile->column[pixel] + tile->kx;
    const uint8_t *row = tile->row[pixel][tile->ky];
    const uintptr_t there = (uintptr_t)row + (uintptr_t)column * map->args->window.in_c + map->channel;
    return column < map->args->window.in_w && row != map->args->padding_row ? there : (uintptr_t)map->zeros;
}

static void find_next(struct morsel_tile *tile) {
    const uintptr_t first = tap_of(tile, 0);
    struct morsel_places *o = &tile->places[tile->places_at ^= 1];
    o->p1 = (ptrdiff_t)(tap_of(tile, 1) - first);
    o->p2 = (ptrdiff_t)(tap_of(tile, 2) - first);
    o->p3 = (ptrdiff_t)(tap_of(tile, 3) - first);
    o->p4 = (ptrdiff_t)(tap_of(tile, 4) - first);
    o->p5 = (ptrdiff_t)(tap_of(tile, 5) - first);
    o->p6 = (ptrdiff_t)(tap_of(tile, 6) - first);
    o->p7 = (ptrdiff_t)(tap_of(tile, 7) - first);
    tile->first = (const uint8_t *)first;
    tile->next =
        tile->first == tile->map->zeros && tile->map->args->x.qparams.zero == 0 && !(o->p1 | o->p2 | o->p3 | o->p4 | o->p5 | o->p6 | o->p7);
}

void morsel_map_tile(struct morsel_tile *tile, const struct morsel_map *map, size_t at) {
    const struct morsel_window *w = &map->args->window;
    uint32_t pixel = (uint32_t)(map->first + at), row = pixel / w->out_w, ox = pixel % w->out_w;
    tile->map = map;
    tile->ky = tile->kx = tile->places_at = 0;
    for (uint32_t i = 0; i < 8; i++) {
        tile->row[i] = map->rows + (size_t)row * w->kernel_h;
        tile->column[i] = ox * w->stride_w - w->pad_left;
        if (at + i + 1 >= map->n) continue;
        if (++ox == w->out_w) row++, ox = 0;
    }
    find_next(tile);
}

const uint8_t *morsel_map_tap(struct morsel_tile *tile, const struct morsel_places **places) {
    const struct morsel_window *w = &tile->map->args->window;
    const uint8_t *x = tile->first;
    *places = &tile->places[tile->places_at];
    tile->nothing = tile->next;
    tile->kx += w->dilation_w;
    if (tile->kx == w->kernel_w * w->dilation_w) tile->kx = 0, tile->ky++;
    if (tile->ky < w->kernel_h) find_next(tile);
    return x;
}

const uint8_t *morsel_map_find(const struct morsel_map *map, uint32_t tap, size_t pixel) {
    const struct morsel_window *w = &map->args->window;
    const uint32_t number = (uint32_t)(map->first + pixel), ky = tap / w->kernel_w, kx = tap % w->kernel_w;
    const uint32_t column = number % w->out_w * w->stride_w + kx * w->dilation_w - w->pad_left; /* left of the picture: huge */
    const uint8_t *row = map->rows[(size_t)(number / w->out_w) * w->kernel_h + ky];
    if (column >= w->in_w || row == map->args->padding_row) return map->zeros;
    return row + (size_t)column * w->in_c + map->channel;
}
