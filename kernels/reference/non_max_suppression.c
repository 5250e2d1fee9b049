/* SPDX-License-Identifier: MIT */
/* What NonMaxSuppression means: objects in falling order of their scores, each against all that were selected before it. */
#include "reference.h"

struct span {
    float low, high;
};

/* The sides of a box; with `centre` the first one lies along x, else along y. */
static struct span side(const struct morsel_non_max_suppression_args *a, const float *box, int k) {
    struct span s = {box[k], box[k + 2]};
    if (a->centre) {
        s.low = box[k] - box[k + 2] / 2;
        s.high = box[k] + box[k + 2] / 2;
    } else if (s.low >= s.high) {
        s.low = box[k + 2];
        s.high = box[k];
    }
    return s;
}

static float area(const struct morsel_non_max_suppression_args *a, const float *box) {
    const struct span first = side(a, box, 0), second = side(a, box, 1);
    return (first.high - first.low) * (second.high - second.low);
}

static float shared(struct span a, struct span b) {
    return (a.high < b.high ? a.high : b.high) - (a.low > b.low ? a.low : b.low);
}

static int suppresses(const struct morsel_non_max_suppression_args *a, const float *one, const float *other) {
    const float first = shared(side(a, one, 0), side(a, other, 0)), second = shared(side(a, one, 1), side(a, other, 1));
    if (!(first > 0) || !(second > 0) || !(area(a, one) > 0) || !(area(a, other) > 0)) return 0;
    const float common = first * second;
    const float both = area(a, one) + area(a, other);
    const float all = both - common;
    if (!(common > 0) || !(all > 0)) return 0;
    return common / all > a->overlap;
}

/* The object that comes behind number `last` in the order of scores; a->count: none. At first `last` is a->count. */
static uint32_t next_in_order(const struct morsel_non_max_suppression_args *a, const float *scores, uint32_t last) {
    uint32_t next = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!(scores[i] > a->least)) continue;
        if (last < a->count && (scores[i] > scores[last] || (i <= last && scores[i] == scores[last]))) continue;
        if (next == a->count || scores[i] > scores[next]) next = i;
    }
    return next;
}

void morsel_non_max_suppression_reference(const struct morsel_non_max_suppression_args *a, uint32_t begin, uint32_t end) {
    const size_t rows = (size_t)a->images * a->classes * a->most;
    size_t row = 0;
    (void)begin, (void)end;
    for (uint32_t image = 0; image < a->images; image++)
        for (uint32_t class = 0; class < a->classes; class ++) {
            const float *scores = a->scores + ((size_t)image * a->classes + class) * a->count;
            const float *boxes = a->boxes + (size_t)image * a->count * 4;
            const size_t first = row;
            for (uint32_t i = next_in_order(a, scores, a->count); i < a->count && row - first < a->most; i = next_in_order(a, scores, i)) {
                int good = 1;
                for (size_t k = first; k < row; k++) good &= !suppresses(a, boxes + (size_t)a->y[3 * k + 2] * 4, boxes + (size_t)i * 4);
                if (!good) continue;
                a->y[3 * row] = (int32_t)image;
                a->y[3 * row + 1] = (int32_t) class;
                a->y[3 * row++ + 2] = (int32_t)i;
            }
        }
    for (; row < rows; row++) a->y[3 * row] = a->y[3 * row + 1] = a->y[3 * row + 2] = -1;
}
