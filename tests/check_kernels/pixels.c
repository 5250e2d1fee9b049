/* SPDX-License-Identifier: MIT */
/* Families of pictures: pixels weighed across a row, rows weighed down, pixels made of luminance and chroma. */
#include "check.h"

#include <string.h>

enum { TAPS = 40, BYTES = 300 };

/* Weights that are together 1, each rounded by itself: alike, or any, or one of them all. */
static void make_weights(struct chance *c, uint32_t *weights, uint32_t count) {
    uint64_t raw[TAPS], sum = 0;
    uint32_t kind = chance_below(c, 4), only = chance_below(c, count);
    for (uint32_t k = 0; k < count; k++) sum += raw[k] = kind == 0 ? 1 : kind == 1 ? k == only : 1 + chance_below(c, 1000);
    for (uint32_t k = 0; k < count; k++) weights[k] = (uint32_t)((2 * raw[k] * (1 << MORSEL_PIXEL_BITS) + sum) / (2 * sum));
}

static void split(uint32_t *weights, uint32_t groups) {
    for (uint32_t g = 0; g < groups; g++) {
        int16_t parts[8];
        for (uint32_t k = 0; k < 4; k++) {
            parts[k] = (int16_t)(weights[4 * g + k] >> 8);
            parts[k + 4] = (int16_t)(weights[4 * g + k] & 255);
        }
        memcpy(weights + 4 * g, parts, sizeof parts);
    }
}

static void make_pixels(struct trial *t, uint8_t *to, size_t n) {
    chance_bytes(&t->chance, to, n);
    if (chance_one_in(&t->chance, 4)) memset(to, 255, n);
}

static void make_across(struct trial *t) {
    struct morsel_across_args *a = &t->across;
    struct chance *c = &t->chance;
    uint32_t width = t->bench ? 4000 : chance_size(c, 90), taps = t->bench ? 27 : 1 + chance_below(c, width < TAPS ? width : TAPS),
             first = 0;
    t->units = t->bench ? 224 : chance_size(c, 40);
    a->channels = (uint32_t[]){3, 1, 4}[t->bench ? t->number : chance_below(c, 3)];
    a->groups = (taps + 3) / 4;
    a->safe = t->units;
    trial_say(t, "%u of %u pixels of %u, %u taps", (unsigned)t->units, (unsigned)width, (unsigned)a->channels, (unsigned)taps);
    uint8_t *line = trial_room(t, (size_t)width * a->channels, 1);
    uint32_t words = 2 + 4 * a->groups, *columns = trial_room(t, (size_t)t->units * words * 4, 4);
    make_pixels(t, line, (size_t)width * a->channels);
    memset(columns, 0, (size_t)t->units * words * 4);
    for (uint32_t i = 0; i < t->units; i++) {
        uint32_t *column = columns + (size_t)i * words;
        if (t->bench) first = i * 17;
        else first += chance_below(c, 2 + 2 * (width - first) / t->units);
        first = first < width ? first : width - 1;
        column[0] = first;
        column[1] = t->bench ? taps : 1 + chance_below(c, taps);
        if (column[1] > width - first) column[1] = width - first;
        make_weights(c, column + 2, column[1]);
        split(column + 2, a->groups);
        if (first + 4 * a->groups + 2 > width && a->safe > i) a->safe = i;
        t->macs += (uint64_t)column[1] * a->channels;
    }
    a->line = line;
    a->columns = columns;
    t->y = (void **)(void *)&a->row;
    t->y_align = 1;
    t->y_bytes = (size_t)t->units * a->channels;
}

static void call_across(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_across_fn *)fn)(&t->across, begin, end);
}

static void make_blend(struct trial *t) {
    struct morsel_blend_args *a = &t->blend;
    struct chance *c = &t->chance;
    uint32_t bytes = t->bench ? BYTES : chance_size(c, BYTES), weights[TAPS];
    bool to_sums = !t->bench && chance_one_in(c, 2);
    a->count = t->bench ? 27 : 1 + chance_below(c, TAPS - 1);
    a->stride = bytes + chance_below(c, 9);
    a->more = !t->bench && chance_one_in(c, 2);
    trial_say(t, "%u rows of %u bytes, more %u to %s", (unsigned)a->count, (unsigned)bytes, (unsigned)a->more, to_sums ? "sums" : "bytes");
    uint8_t *rows = trial_room(t, a->stride * (a->count - 1) + bytes, 1);
    int32_t *own = trial_room(t, a->count * sizeof *own, 4), *before = trial_room(t, bytes * sizeof *before, 4);
    make_pixels(t, rows, a->stride * (a->count - 1) + bytes);
    make_weights(c, weights, a->count + 1); /* what the last one has is in the sums */
    memcpy(own, weights, a->count * sizeof *own);
    for (uint32_t i = 0; i < bytes; i++) before[i] = MORSEL_PIXEL_HALF + (int32_t)(weights[a->count] * chance_below(c, 256));
    a->rows = rows;
    a->weights = own;
    t->units = bytes;
    t->sums = before;
    t->y = to_sums ? (void **)(void *)&a->sums : (void **)(void *)&a->out;
    t->y_align = to_sums ? 4 : 1;
    t->y_bytes = bytes * t->y_align;
    t->macs = (uint64_t)a->count * bytes;
}

/* Sums are a kernel's to write: those that are results begin as they were, too. */
static void call_blend(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    struct morsel_blend_args args = t->blend;
    int32_t own[BYTES];
    if (args.out) args.sums = own;
    if (args.more) memcpy(args.sums + begin, t->sums + begin, (end - begin) * sizeof *own);
    ((morsel_blend_fn *)fn)(&args, begin, end);
}

/* Beyond what any standard has, 17305: often as far as that goes. */
static int32_t make_chroma(struct chance *c) {
    int32_t most = 17400;
    return chance_one_in(c, 3) ? (chance_one_in(c, 2) ? most : -most) : chance_range(c, -most, most);
}

/* Sums stay within 2^23 by any Y, U and V. U adds nothing to red, V nothing to blue. */
static void make_color(struct trial *t, struct morsel_color *color) {
    struct chance *c = &t->chance;
    memset(color, 0, sizeof *color);
    color->y = (int16_t)chance_below(c, 9600);
    for (int k = 0; k < 3; k++) {
        int32_t u = k ? make_chroma(c) : 0, v = k < 2 ? make_chroma(c) : 0;
        color->chroma[k][0] = (int16_t)u;
        color->chroma[k][1] = (int16_t)v;
        color->rest[k] = -128 * (u + v) - 16 * (int32_t)chance_below(c, 9600) + (1 << (MORSEL_COLOR_BITS - 1));
    }
}

/* Planes end with the last pixel and its chroma, and U and V lie as NV12, NV21 and I420 have them. */
static void make_colors(struct trial *t) {
    struct morsel_colors_args *a = &t->colors;
    struct chance *c = &t->chance;
    uint32_t way = t->bench ? 0 : chance_below(c, 3), first = t->bench ? 0 : chance_below(c, 2);
    t->units = t->bench ? 1920 : chance_size(c, 200);
    uint32_t pairs = (first + t->units + 1) / 2;
    trial_say(t, "%u pixels from %u on, %s", (unsigned)t->units, (unsigned)first, (const char *[]){"NV12", "NV21", "I420"}[way]);
    uint8_t *y = trial_room(t, first + t->units, 1), *uv = trial_room(t, way == 2 ? pairs : 2 * pairs, 1), *v = trial_room(t, pairs, 1);
    make_pixels(t, y, first + t->units);
    make_pixels(t, uv, way == 2 ? pairs : 2 * pairs);
    make_pixels(t, v, pairs);
    make_color(t, &t->color);
    a->y = y;
    a->u = uv + (way == 1);
    a->v = way == 2 ? v : uv + (way == 0);
    a->step = way == 2 ? 1 : 2;
    a->color = &t->color;
    a->first = first;
    t->y = (void **)(void *)&a->out;
    t->y_align = 1;
    t->y_bytes = (size_t)4 * t->units;
    t->macs = (uint64_t)7 * t->units;
}

static void call_colors(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_colors_fn *)fn)(&t->colors, t->colors.first + begin, t->colors.first + end);
}

const struct family family_across = {"across", offsetof(struct tables, pixels.across), 3, make_across, call_across};
const struct family family_blend = {"blend", offsetof(struct tables, pixels.blend), 1, make_blend, call_blend};
const struct family family_colors = {"colors", offsetof(struct tables, pixels.colors), 1, make_colors, call_colors};
