/* SPDX-License-Identifier: MIT */
/* Chooses samples evenly over classes, by a generator of its own. */
#include "tools/samples/data/choice.h"
#include <stdlib.h>

uint64_t choice_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A sample's turn: the first ones of all classes come before the second ones. */
struct turn {
    size_t sample, rank, class_place;
};

static int earlier(const void *a, const void *b) {
    const struct turn *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->class_place < y->class_place ? -1 : 1;
}

static void shuffle(struct turn *turns, size_t total, uint64_t seed) {
    for (size_t i = 0; i < total; i++) {
        size_t k = (size_t)(choice_random(&seed) % (i + 1));
        turns[i].sample = turns[k].sample;
        turns[k].sample = i;
    }
}

/* Samples and classes get their ranks in the order in which they stand shuffled. `seen` and `place` have an element for each class. */
static void rank(struct turn *turns, size_t total, const uint32_t *classes, size_t *seen, size_t *place) {
    size_t places = 0;
    for (size_t i = 0; i < total; i++) {
        uint32_t class = classes ? classes[turns[i].sample] : 0;
        if (!seen[class]) place[class] = places++;
        turns[i].rank = seen[class]++;
        turns[i].class_place = place[class];
    }
}

size_t *choice_of(const uint32_t *classes, size_t total, size_t count, uint64_t seed) {
    size_t class_count = 1;
    for (size_t i = 0; classes && i < total; i++) class_count = classes[i] >= class_count ? (size_t)classes[i] + 1 : class_count;
    count = count < total ? count : total;
    struct turn *turns = calloc(total + 1, sizeof *turns);
    size_t *seen = calloc(class_count, 2 * sizeof *seen), *chosen = calloc(count + 1, sizeof *chosen);
    if (turns && seen && chosen) {
        shuffle(turns, total, seed);
        rank(turns, total, classes, seen, seen + class_count);
        qsort(turns, total, sizeof *turns, earlier);
        for (size_t i = 0; i < count; i++) chosen[i] = turns[i].sample;
    } else {
        free(chosen);
        chosen = NULL;
    }
    free(turns);
    free(seen);
    return chosen;
}
