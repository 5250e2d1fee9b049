/* SPDX-License-Identifier: MIT */
/* Pixels at places of a grid, and objects that do not overlap. */
#include "check.h"

#include <math.h>
#include <string.h>

/* Within the picture, on its edges and far outside; whole and half pixels, and what is no place at all. */
static float any_place(struct chance *c, uint32_t side, bool tame) {
    static const float odd[] = {0, -1, 1, -0.0f, 2, -2, 1e9f, -1e9f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
    if (tame || chance_one_in(c, 3)) return chance_float(c, -1.2f, 1.2f);
    if (chance_one_in(c, 5)) return odd[chance_below(c, sizeof odd / sizeof *odd)];
    const float at = (float)(chance_range(c, -3 * (int32_t)side, 4 * (int32_t)side)) / 2;
    return chance_one_in(c, 2) ? (2 * at + 1) / (float)side - 1 : 2 * at / (float)(side > 1 ? side - 1 : 1) - 1;
}

static void make_grid_sample(struct trial *t) {
    struct morsel_grid_sample_args *a = &t->args.grid_sample;
    struct chance *c = &t->chance;
    const struct morsel_qparams floats = float_qparams();
    const uint32_t images = t->bench ? 1 : chance_size(c, 3);
    a->sides[0] = t->bench ? 32 : chance_size(c, 9);
    a->sides[1] = t->bench ? 32 : chance_size(c, 9);
    a->channels = t->bench ? 64 : chance_size(c, 20);
    a->pixels = t->bench ? 1024 : chance_size(c, 40);
    a->nearest = t->bench ? t->number == 1 : chance_below(c, 2);
    a->beyond = t->bench ? 0 : chance_below(c, MORSEL_BEYOND_COUNT);
    a->corners = t->bench ? 0 : chance_below(c, 2);
    t->units = images * a->pixels;
    trial_say(t, "%u x %u x %u -> %u of %u images%s, beyond %u%s", (unsigned)a->sides[1], (unsigned)a->sides[0], (unsigned)a->channels,
              (unsigned)a->pixels, (unsigned)images, a->nearest ? ", nearest" : "", (unsigned)a->beyond, a->corners ? ", corners" : "");
    const size_t values = (size_t)images * a->sides[0] * a->sides[1] * a->channels;
    float *x = trial_room(t, values * sizeof *x, 4), *grid = trial_room(t, 2 * t->units * sizeof *grid, 4);
    make_floats(t, x, values);
    for (uint32_t i = 0; i < 2 * t->units; i++) grid[i] = any_place(c, a->sides[i % 2], t->bench);
    a->x = x;
    a->grid = grid;
    t->macs = 4 * (uint64_t)t->units * a->channels;
    trial_output(t, (void **)(void *)&a->y, (size_t)t->units * a->channels, &floats);
}

static void call_grid_sample(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_grid_sample_fn *)fn)(&t->args.grid_sample, begin, end);
}

/* Boxes of whole numbers, so that many share a side or all, or of any; now and then one that is none. */
static void make_boxes(struct trial *t, float *boxes, uint32_t values, bool centre) {
    struct chance *c = &t->chance;
    const bool whole = !t->bench && chance_one_in(c, 2);
    for (uint32_t i = 0; i < values; i++) {
        boxes[i] = whole ? (float)chance_range(c, -2, 4) : chance_float(c, 0, 1);
        if (t->bench) boxes[i] = chance_float(c, 0, 1) * (centre && i % 4 > 1 ? 0.2f : 1);
        if (!t->bench && chance_one_in(c, 200)) boxes[i] = chance_one_in(c, 2) ? NAN : chance_one_in(c, 2) ? INFINITY : 3e38f;
    }
}

static void make_scores(struct trial *t, float *scores, uint32_t values) {
    struct chance *c = &t->chance;
    const bool few = chance_one_in(c, 2);
    for (uint32_t i = 0; i < values; i++) {
        scores[i] = few && !t->bench ? (float)chance_below(c, 5) / 4 : chance_float(c, 0, 1);
        if (!t->bench && chance_one_in(c, 100)) scores[i] = chance_one_in(c, 2) ? NAN : chance_one_in(c, 2) ? INFINITY : -INFINITY;
    }
}

static void make_non_max_suppression(struct trial *t) {
    static const float overlaps[] = {0, 0.25f, 0.5f, 1, -1, 2}, leasts[] = {0, 0.25f, 0.5f, 0.9f, -INFINITY, 1};
    struct morsel_non_max_suppression_args *a = &t->args.non_max_suppression;
    struct chance *c = &t->chance;
    const struct morsel_qparams words = float_qparams();
    a->images = t->bench ? 1 : chance_size(c, 3);
    a->classes = t->bench ? 20 : chance_size(c, 4);
    a->count = t->bench ? 1000 : chance_size(c, 50);
    a->most = t->bench ? 100 : 1 + chance_below(c, chance_one_in(c, 3) ? a->count : (a->count + 3) / 4);
    a->centre = t->bench ? 1 : chance_below(c, 2);
    a->overlap = t->bench ? 0.45f : overlaps[chance_below(c, 6)];
    a->least = t->bench ? 0.9f : leasts[chance_below(c, 6)];
    trial_say(t, "%u of %u objects, %u classes, %u images%s, overlap %g, least %g", (unsigned)a->most, (unsigned)a->count,
              (unsigned)a->classes, (unsigned)a->images, a->centre ? ", centre" : "", (double)a->overlap, (double)a->least);
    const uint32_t values = a->images * a->count * 4, marks = a->images * a->classes * a->count;
    float *boxes = trial_room(t, values * sizeof *boxes, 4), *scores = trial_room(t, marks * sizeof *scores, 4);
    make_boxes(t, boxes, values, a->centre);
    make_scores(t, scores, marks);
    a->boxes = boxes;
    a->scores = scores;
    t->writable = t->slots;
    a->gone = trial_room(t, a->count, 1);
    chance_bytes(c, a->gone, a->count);
    t->units = 1;
    t->macs = (uint64_t)marks * a->most;
    trial_output(t, (void **)(void *)&a->y, (size_t)a->images * a->classes * a->most * 3, &words);
}

static void call_non_max_suppression(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    if (begin < end) ((morsel_non_max_suppression_fn *)fn)(&t->args.non_max_suppression, begin, end);
}

const struct family family_grid_sample = {"grid_sample", offsetof(struct morsel_kernels, grid_sample), 2, make_grid_sample,
                                          call_grid_sample};
const struct family family_non_max_suppression = {"non_max_suppression", offsetof(struct morsel_kernels, non_max_suppression), 1,
                                                  make_non_max_suppression, call_non_max_suppression};
