/* SPDX-License-Identifier: MIT */
/* NonMaxSuppression in plain C. Nothing is sorted: one pass over the objects that are left takes out those that overlap the last one
 * selected, and finds the next. */
#include "kernels.h"

#include <string.h>

/* Along its first side, and along its second. A box of 0 overlaps none. */
struct box {
    float low[2], high[2], area;
};

static void take_box(struct box *box, const float *from, uint32_t centre) {
    float area = 1;
    for (uint32_t k = 0; k < 2; k++) {
        float low = from[k], high = from[k + 2];
        if (centre) {
            const float half = high / 2;
            high = low + half;
            low -= half;
        } else if (low >= high) {
            low = high;
            high = from[k];
        }
        area *= high - low;
        box->low[k] = low;
        box->high[k] = high;
    }
    box->area = area;
}

/* Comparisons with a NaN are false: it overlaps with none. */
static int overlap(const struct box *a, const struct box *b, float most) {
    float common = 1;
    for (uint32_t k = 0; k < 2; k++) {
        const float high = a->high[k] < b->high[k] ? a->high[k] : b->high[k], low = a->low[k] > b->low[k] ? a->low[k] : b->low[k];
        if (!(high > low)) return 0;
        common *= high - low;
    }
    const float all = a->area + b->area - common;
    return common > 0 && a->area > 0 && b->area > 0 && all > 0 && common / all > most;
}

/* The best of the objects that are left, without those that overlap `last`; a->count: there is none. */
static uint32_t select_next(const struct morsel_non_max_suppression_args *a, const float *boxes, const float *scores,
                            const struct box *last) {
    uint32_t best = a->count;
    float most = a->least; /* below all that are left */
    struct box box;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->gone[i]) continue;
        if (last->area > 0) {
            take_box(&box, boxes + 4 * i, a->centre);
            a->gone[i] = (uint8_t)overlap(last, &box, a->overlap);
        }
        if (scores[i] > most && !a->gone[i]) best = i, most = scores[i];
    }
    return best;
}

/* No tensor has as many as 2^30 elements. */
void morsel_non_max_suppression_c(const struct morsel_non_max_suppression_args *a, uint32_t begin, uint32_t end) {
    const uint32_t units = a->images * a->classes;
    const float *scores = a->scores;
    int32_t *y = a->y;
    (void)begin, (void)end;
    memset(y, 0xff, units * a->most * 3 * sizeof *y);
    for (uint32_t u = 0; u < units; u++, scores += a->count) {
        const uint32_t image = u / a->classes;
        const float *boxes = a->boxes + 4 * image * a->count;
        struct box last = {{0, 0}, {0, 0}, 0};
        for (uint32_t i = 0; i < a->count; i++) a->gone[i] = !(scores[i] > a->least);
        for (uint32_t n = 0; n < a->most; n++) {
            const uint32_t best = select_next(a, boxes, scores, &last);
            if (best == a->count) break;
            take_box(&last, boxes + 4 * best, a->centre);
            a->gone[best] = 1;
            *y++ = (int32_t)image;
            *y++ = (int32_t)(u % a->classes);
            *y++ = (int32_t)best;
        }
    }
}
