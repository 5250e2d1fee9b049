/* SPDX-License-Identifier: MIT */
/* The pixels of tiles and their taps, as map.h says. */
#include "map.h"

/* The pixels of a tile. */
struct map_pixels {
    const uint8_t *const *row[8]; /* the rows of each one's window */
    uint32_t column[8];           /* under the first tap; left of the picture: huge */
};

static void take_pixels(struct map_pixels *to, const struct morsel_map *map, size_t at) {
    const struct morsel_window *w = &map->args->window;
    uint32_t pixel = (uint32_t)(map->first + at), row = pixel / w->out_w, ox = pixel % w->out_w;
    for (uint32_t i = 0; i < 8; i++) {
        to->row[i] = map->rows + (size_t)row * w->kernel_h;
        to->column[i] = ox * w->stride_w - w->pad_left;
        if (at + i + 1 >= map->n) continue;
        if (++ox == w->out_w) row++, ox = 0;
    }
}

/* A pixel's tap in row ky of the window, kx columns to the right. */
static uintptr_t tap_of(const struct morsel_map *map, const struct map_pixels *p, uint32_t i, uint32_t ky, uint32_t kx) {
    const uint32_t column = p->column[i] + kx;
    const uint8_t *row = p->row[i][ky];
    const uintptr_t there = (uintptr_t)row + (uintptr_t)column * map->args->window.in_c + map->channel;
    return column < map->args->window.in_w && row != map->args->padding_row ? there : (uintptr_t)map->zeros;
}

static void find_tap(struct morsel_tap *to, const struct morsel_map *map, const struct map_pixels *p, uint32_t ky, uint32_t kx) {
    const uintptr_t first = tap_of(map, p, 0, ky, kx);
    struct morsel_places *o = &to->places;
    o->p1 = (ptrdiff_t)(tap_of(map, p, 1, ky, kx) - first);
    o->p2 = (ptrdiff_t)(tap_of(map, p, 2, ky, kx) - first);
    o->p3 = (ptrdiff_t)(tap_of(map, p, 3, ky, kx) - first);
    o->p4 = (ptrdiff_t)(tap_of(map, p, 4, ky, kx) - first);
    o->p5 = (ptrdiff_t)(tap_of(map, p, 5, ky, kx) - first);
    o->p6 = (ptrdiff_t)(tap_of(map, p, 6, ky, kx) - first);
    o->p7 = (ptrdiff_t)(tap_of(map, p, 7, ky, kx) - first);
    to->x = (const uint8_t *)first;
    to->nothing = to->x == map->zeros && map->args->x.qparams.zero == 0 && !(o->p1 | o->p2 | o->p3 | o->p4 | o->p5 | o->p6 | o->p7);
}

void morsel_map_taps(struct morsel_tap *to, const struct morsel_map *map, size_t at) {
    const struct morsel_window *w = &map->args->window;
    struct map_pixels p;
    take_pixels(&p, map, at);
    for (uint32_t ky = 0; ky < w->kernel_h; ky++)
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) find_tap(to++, map, &p, ky, kx * w->dilation_w);
}

const uint8_t *morsel_map_find(const struct morsel_map *map, uint32_t tap, size_t pixel) {
    const struct morsel_window *w = &map->args->window;
    const uint32_t number = (uint32_t)(map->first + pixel), ky = tap / w->kernel_w, kx = tap % w->kernel_w;
    const uint32_t column = number % w->out_w * w->stride_w + kx * w->dilation_w - w->pad_left; /* left of the picture: huge */
    const uint8_t *row = map->rows[(size_t)(number / w->out_w) * w->kernel_h + ky];
    if (column >= w->in_w || row == map->args->padding_row) return map->zeros;
    return row + (size_t)column * w->in_c + map->channel;
}
