/* SPDX-License-Identifier: MIT */
/* Gathers each value's extremes, histograms and sums, the same whatever the order. */
#include "tools/quant/calibrate/observe.h"
#include "tools/onnx/operator.h"
#include "tools/base/arena.h"
#include "tools/quant/calibrate/scan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVES = 32, DETAIL = 9, DETAIL_LEAST = 3, CHANNEL_OCTAVES = 16, CHANNEL_DETAIL = 2 };
#define CELLS_MOST ((size_t)1 << 27) /* of all values: 512 MB */
enum { PICKS_MOST = 16384, PICKS_AT_ONCE = 256 };

/* Sums of doubles in fixed point: adding them in any order gives the same. Products of bits after the point, bits before it and samples
 * (2^23) stay below 2^127. */
__extension__ typedef __int128 fixed;
enum { MEAN_BITS = 64, MEAN_MOST = 40, SQUARE_BITS = 50, SQUARE_MOST = 54 };

struct watched {
    struct observed seen;
    size_t inner; /* numbers side by side that are of one channel */
    struct histogram histogram, *channels;
    float *lows, *highs; /* seen.channel_low and so on, to write */
    double *means, *squares;
    fixed *mean_sums, *square_sums, low_sum, high_sum; /* over samples */
};

struct observer {
    struct arena memory;
    size_t count;
    struct watched *list; /* in the order of the values' addresses */
    size_t channels_most;
    int detail;         /* of the values' histograms */
    struct scan *scans; /* [channels_most]: of one sample */
    uint32_t *cells;    /* of all histograms; the rest: for each channel of each value */
    float *floats;
    double *doubles;
    fixed *sums;
    struct histogram *histograms;
};

/* --- One sample --- */

/* The scans of all channels. Where numbers of a channel do not lie side by side (inner = 1) the channels do. */
static void scan_sample(struct observer *o, const struct watched *w, const float *data, size_t count) {
    size_t channels = w->seen.channels, inner = w->inner;
    for (size_t c = 0; c < channels; c++) o->scans[c] = scan_start();
    for (size_t at = 0, c = 0; at < count; at += inner, c = c + 1 < channels ? c + 1 : 0) {
        if (inner == 1) scan_one(&o->scans[c], data[at]);
        else scan_run(&o->scans[c], data + at, inner);
    }
    for (size_t c = 0; c < channels; c++) { /* -0 becomes 0, so that not even which of them came first can be seen */
        o->scans[c].low += 0.0f;
        o->scans[c].high += 0.0f;
    }
}

/* A copy with zeros for what is not finite, the count of which goes to `broken`. */
static float *repaired(const float *data, size_t count, uint64_t *broken) {
    float *copy = must_have(malloc(count * sizeof *copy), count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = isfinite(data[i]) ? data[i] : 0.0f;
        *broken += !isfinite(data[i]);
    }
    return copy;
}

/* --- Sums --- */

static fixed to_fixed(double number, int bits, int most) {
    double limit = ldexp(1, most);
    number = number != number ? 0 : number < -limit ? -limit : number > limit ? limit : number;
    return (fixed)ldexp(number, bits);
}

static double to_average(fixed sum, int bits, uint64_t samples) {
    return samples ? ldexp((double)sum, -bits) / (double)samples : 0;
}

static float largest_of(float low, float high) {
    return -low > high ? -low : high;
}

static void widen(float *low, float *high, float other_low, float other_high, bool first) {
    *low = first || other_low < *low ? other_low : *low;
    *high = first || other_high > *high ? other_high : *high;
}

static void add_channel(struct watched *w, size_t c, const struct scan *scan, size_t count, bool first) {
    widen(&w->lows[c], &w->highs[c], scan->low, scan->high, first);
    w->mean_sums[c] += to_fixed(scan->sum / (double)count, MEAN_BITS, MEAN_MOST);
    w->square_sums[c] += to_fixed(scan->square / (double)count, SQUARE_BITS, SQUARE_MOST);
}

/* Extremes and sums, and the octaves of the histograms. */
static void add_scans(struct watched *w, const struct scan *scans, size_t count) {
    size_t channels = w->seen.channels;
    bool first = !w->seen.samples;
    struct scan all = scan_start();
    for (size_t c = 0; c < channels; c++) {
        add_channel(w, c, &scans[c], count / channels, first);
        histogram_reach(&w->channels[c], largest_of(scans[c].low, scans[c].high));
        all.low = scans[c].low < all.low ? scans[c].low : all.low;
        all.high = scans[c].high > all.high ? scans[c].high : all.high;
    }
    float low = all.low, high = all.high;
    histogram_reach(&w->histogram, largest_of(low, high));
    widen(&w->seen.low, &w->seen.high, low, high, first);
    w->low_sum += to_fixed((double)low, MEAN_BITS, MEAN_MOST);
    w->high_sum += to_fixed((double)high, MEAN_BITS, MEAN_MOST);
    w->seen.count += count;
    w->seen.samples++;
}

/*
 * Of each `step` numbers one goes into the histograms. A hash of their place and of the sample's content chooses it, not the sample's turn:
 * the order must not matter. The choice varies, as the same places in all samples could miss every large number of a small picture.
 */
static size_t pick(size_t i, size_t step, uint32_t salt) {
    return i * step + (size_t)((((i * 2654435769u + salt) & 0xffffffffu) * (uint64_t)step) >> 32);
}

/* Made of what scans found, which hardly two samples have in common. */
static uint32_t salt_of(const struct scan *scans, size_t channels) {
    uint64_t salt = 0;
    for (size_t c = 0; c < channels; c++) {
        uint64_t bits;
        memcpy(&bits, &scans[c].sum, sizeof bits);
        salt = (salt ^ bits) * 0x9e3779b97f4a7c15u;
        salt ^= salt >> 29;
    }
    return (uint32_t)(salt >> 32);
}

static void add_numbers(struct watched *w, const float *data, size_t count, uint32_t salt) {
    size_t step = (count + PICKS_MOST - 1) / PICKS_MOST, picks = count / step, channel = 0, end = w->inner, used = 0, flushed = 0;
    float numbers[PICKS_AT_ONCE];
    for (size_t i = 0; i < picks; i++) {
        size_t at = pick(i, step, salt);
        if (at >= end || used == PICKS_AT_ONCE) {
            histogram_add(&w->channels[channel], numbers + flushed, used - flushed);
            flushed = used;
        }
        if (used == PICKS_AT_ONCE) {
            histogram_add(&w->histogram, numbers, used);
            used = flushed = 0;
        }
        for (; at >= end; end += w->inner) channel = channel + 1 < w->seen.channels ? channel + 1 : 0;
        numbers[used++] = data[at];
    }
    histogram_add(&w->channels[channel], numbers + flushed, used - flushed);
    histogram_add(&w->histogram, numbers, used);
}

static struct watched *find(const struct observer *o, const struct onnx_value *value) {
    size_t first = 0, end = o->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (o->list[middle].seen.value == value) return &o->list[middle];
        if ((uintptr_t)o->list[middle].seen.value < (uintptr_t)value) first = middle + 1;
        else end = middle;
    }
    return NULL;
}

void observer_see(struct observer *o, const struct onnx_value *value, const float *data, size_t count) {
    struct watched *w = find(o, value);
    float *copy = NULL;
    if (!w || !count || count % (w->inner * w->seen.channels)) return;
    scan_sample(o, w, data, count);
    bool good = true;
    for (size_t c = 0; c < w->seen.channels; c++) good = good && isfinite(o->scans[c].square); /* or so large that squares are not */
    if (!good) {
        copy = repaired(data, count, &w->seen.broken);
        scan_sample(o, w, copy, count);
    }
    add_scans(w, o->scans, count);
    add_numbers(w, good ? data : copy, count, salt_of(o->scans, w->seen.channels));
    free(copy);
}

static void merge_value(struct watched *into, const struct watched *from) {
    bool first = !into->seen.samples;
    if (!from->seen.samples) return;
    widen(&into->seen.low, &into->seen.high, from->seen.low, from->seen.high, first);
    into->seen.samples += from->seen.samples;
    into->seen.count += from->seen.count;
    into->seen.broken += from->seen.broken;
    into->low_sum += from->low_sum;
    into->high_sum += from->high_sum;
    histogram_merge(&into->histogram, &from->histogram);
    for (size_t c = 0; c < into->seen.channels; c++) {
        widen(&into->lows[c], &into->highs[c], from->lows[c], from->highs[c], first);
        into->mean_sums[c] += from->mean_sums[c];
        into->square_sums[c] += from->square_sums[c];
        histogram_merge(&into->channels[c], &from->channels[c]);
    }
}

void observer_merge(struct observer *into, const struct observer *from) {
    for (size_t i = 0; i < into->count; i++) merge_value(&into->list[i], &from->list[i]);
}

const struct observed *observer_of(struct observer *o, const struct onnx_value *value) {
    struct watched *w = find(o, value);
    if (!w) return NULL;
    w->seen.mean_low = to_average(w->low_sum, MEAN_BITS, w->seen.samples);
    w->seen.mean_high = to_average(w->high_sum, MEAN_BITS, w->seen.samples);
    for (size_t c = 0; c < w->seen.channels; c++) {
        w->means[c] = to_average(w->mean_sums[c], MEAN_BITS, w->seen.samples);
        w->squares[c] = to_average(w->square_sums[c], SQUARE_BITS, w->seen.samples);
    }
    return &w->seen;
}

/* --- Which values, and where their channels are --- */

/* Of three dimensions: what an operator of that kind made, by way of others that keep the shape. */
static bool is_channels_first(const struct onnx_value *value, int steps) {
    const struct onnx_node *node = value->producer;
    if (!node || steps == 0) return false;
    if (onnx_has(node, ONNX_CHANNELS_FIRST)) return true;
    bool mixes = onnx_class_of(node) == ONNX_LAYER || !strcmp(node->op, "Transpose"), first = false;
    for (int i = 0; i < 2 && !mixes && !first; i++) {
        const struct onnx_value *x = onnx_input(node, i);
        first = x && x->shape.rank == value->shape.rank && !memcmp(x->shape.dims, value->shape.dims, 3 * sizeof *x->shape.dims) &&
                is_channels_first(x, steps - 1);
    }
    return first;
}

int observed_axis(const struct onnx_value *value) {
    int rank = value->shape.rank;
    return rank == 1 || (rank == 3 && !is_channels_first(value, 8)) ? rank - 1 : 1;
}

static void find_channels(struct watched *w, const struct onnx_value *value) {
    const struct onnx_shape *shape = &value->shape;
    w->seen.value = value;
    w->seen.axis = observed_axis(value);
    w->seen.channels = 1;
    w->inner = 1;
    if (onnx_elements(shape) <= 0 || shape->rank < 1) return;
    w->seen.channels = (uint32_t)shape->dims[w->seen.axis];
    for (int i = w->seen.axis + 1; i < shape->rank; i++) w->inner *= (size_t)shape->dims[i];
}

static bool is_watched(const struct onnx_graph *graph, size_t i, const bool *wanted) {
    const struct onnx_value *value = graph->values[i];
    return value->type == ONNX_FLOAT && !value->constant && (value->producer || value->is_input) && (!wanted || wanted[i]);
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct watched *)a)->seen.value, y = (uintptr_t)((const struct watched *)b)->seen.value;
    return (x > y) - (x < y);
}

/* --- Memory --- */

/* Zeroed memory. */
static void *take(struct observer *o, size_t count, size_t bytes) {
    return arena_alloc(&o->memory, (count + 1) * bytes);
}

/* A file of little more than names has ten thousands of values: with fewer bins they take no more than some thousands do. */
static int detail_for(size_t values) {
    int detail = DETAIL;
    while (detail > DETAIL_LEAST && values > CELLS_MOST / histogram_cells(OCTAVES, detail)) detail--;
    return detail;
}

static void allocate(struct observer *o, size_t channels) {
    size_t cells = histogram_cells(OCTAVES, o->detail), channel_cells = histogram_cells(CHANNEL_OCTAVES, CHANNEL_DETAIL);
    o->cells = take(o, o->count * cells + channels * channel_cells, sizeof *o->cells);
    o->scans = take(o, o->channels_most, sizeof *o->scans);
    o->floats = take(o, 2 * channels, sizeof *o->floats);
    o->doubles = take(o, 2 * channels, sizeof *o->doubles);
    o->sums = take(o, 2 * channels, sizeof *o->sums);
    o->histograms = take(o, channels, sizeof *o->histograms);
}

/* Gives every value its part of the memory. */
static void deal(struct observer *o, size_t channels) {
    uint32_t *cells = o->cells;
    for (size_t i = 0, at = 0; i < o->count; at += o->list[i++].seen.channels) {
        struct watched *w = &o->list[i];
        w->histogram = histogram_start(cells, OCTAVES, o->detail);
        cells += histogram_cells(OCTAVES, o->detail);
        w->lows = o->floats + at;
        w->highs = o->floats + channels + at;
        w->means = o->doubles + at;
        w->squares = o->doubles + channels + at;
        w->mean_sums = o->sums + at;
        w->square_sums = o->sums + channels + at;
        w->channels = o->histograms + at;
        for (size_t c = 0; c < w->seen.channels; c++, cells += histogram_cells(CHANNEL_OCTAVES, CHANNEL_DETAIL))
            w->channels[c] = histogram_start(cells, CHANNEL_OCTAVES, CHANNEL_DETAIL);
        w->seen.histogram = &w->histogram;
        w->seen.channel_histogram = w->channels;
        w->seen.channel_low = w->lows;
        w->seen.channel_high = w->highs;
        w->seen.channel_mean = w->means;
        w->seen.channel_square = w->squares;
    }
}

struct observer *observer_open(const struct onnx_graph *graph, const bool *wanted) {
    struct observer *o = must_calloc(1, sizeof *o);
    size_t channels = 0;
    o->list = take(o, graph->value_count, sizeof *o->list);
    for (size_t i = 0; i < graph->value_count; i++) {
        if (!is_watched(graph, i, wanted)) continue;
        struct watched *w = &o->list[o->count++];
        find_channels(w, graph->values[i]);
        channels += w->seen.channels;
        o->channels_most = w->seen.channels > o->channels_most ? w->seen.channels : o->channels_most;
    }
    qsort(o->list, o->count, sizeof *o->list, by_address);
    o->detail = detail_for(o->count);
    allocate(o, channels);
    deal(o, channels);
    return o;
}

void observer_close(struct observer *o) {
    if (o) arena_free(&o->memory);
    free(o);
}
