/* SPDX-License-Identifier: MIT */
/* One pass over numbers: extremes and sums, four side by side. */
#include "tools/quant/calibrate/scan.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 256 };

struct scan scan_start(void) {
    return (struct scan){INFINITY, -INFINITY, 0, 0};
}

void scan_one(struct scan *scan, float number) {
    scan->low = number < scan->low ? number : scan->low;
    scan->high = number > scan->high ? number : scan->high;
    scan->sum += (double)number;
    scan->square += (double)number * (double)number;
}

/* Four numbers side by side, as all CPUs have vectors of them. */
typedef float four __attribute__((vector_size(16)));

static inline four least(four a, four b) {
    four result;
    for (int k = 0; k < 4; k++) result[k] = a[k] < b[k] ? a[k] : b[k];
    return result;
}

static inline four largest(four a, four b) {
    four result;
    for (int k = 0; k < 4; k++) result[k] = a[k] > b[k] ? a[k] : b[k];
    return result;
}

/* Adds up to BLOCK numbers, so few that sums of floats are good. Two of each vector: they need not wait for each other. */
static void scan_block(struct scan *scan, const float *data, size_t count) {
    four low = {scan->low, scan->low, scan->low, scan->low}, high = {scan->high, scan->high, scan->high, scan->high};
    four low2 = low, high2 = high, sum = {0}, sum2 = {0}, square = {0}, square2 = {0}, x, x2;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        memcpy(&x, data + i, sizeof x);
        memcpy(&x2, data + i + 4, sizeof x2);
        low = least(x, low);
        low2 = least(x2, low2);
        high = largest(x, high);
        high2 = largest(x2, high2);
        sum += x;
        sum2 += x2;
        square += x * x;
        square2 += x2 * x2;
    }
    low = least(low, low2);
    high = largest(high, high2);
    sum += sum2;
    square += square2;
    for (int k = 0; k < 4; k++) {
        scan->low = low[k] < scan->low ? low[k] : scan->low;
        scan->high = high[k] > scan->high ? high[k] : scan->high;
    }
    scan->sum += (double)((sum[0] + sum[1]) + (sum[2] + sum[3]));
    scan->square += (double)((square[0] + square[1]) + (square[2] + square[3]));
    for (; i < count; i++) scan_one(scan, data[i]);
}

void scan_run(struct scan *scan, const float *data, size_t count) {
    for (size_t i = 0; i < count; i += BLOCK) scan_block(scan, data + i, count - i < BLOCK ? count - i : BLOCK);
}
