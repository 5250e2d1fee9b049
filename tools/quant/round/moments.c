/* SPDX-License-Identifier: MIT */
/* Sums up the products of patches that rounding and bias correction work from. */
#include "tools/quant/round/moments.h"
#include "tools/base/arena.h"
#include "tools/float/product.h"
#include "tools/network/host/over.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Patches of one block: 64 * 255 * MOST_STEPS and 64 * 255 * 255 lie below 2^24, so that floats add them up exactly. */
enum { BLOCK = PATCH_BLOCK, MOST_STEPS = 1008 };
/* How far beyond the bytes u may lie. A number a million times as far out says nothing of others, but would outweigh all of them. */
#define MOST_BEYOND 1024.0F
/* So many patches to the element of a patch, and at least PATCHES_LEAST, are enough to tell how elements vary together. */
enum { PATCHES_AN_ELEMENT = 8, PATCHES_LEAST = 4000 };

size_t moments_bytes(const struct scheme_layer *layer, int64_t second_most) {
    struct patch p;
    bool second = patch_of(layer, &p) && p.length <= second_most;
    return second ? (size_t)(p.groups * p.length * p.length) * 2 * sizeof(double) : 0;
}

/* Layer i of the wish reads a value. */
struct reading {
    const struct onnx_value *value;
    size_t layer;
};

struct collecting {
    const struct moments_wish *wish;
    struct moments *moments;
    size_t samples;
    struct reading *readings; /* [wish->count], by the values' addresses */
};

static void moments_open(struct moments *m, const struct scheme_layer *layer, int64_t second_most) {
    m->layer = layer;
    pthread_mutex_init(&m->lock, NULL);
    m->known = patch_of(layer, &m->patch);
    if (!m->known) return;
    m->second = m->patch.length <= second_most;
    size_t all = (size_t)(m->patch.groups * m->patch.length), some = m->second ? all : 0, square = some * (size_t)m->patch.length;
    m->first_u = must_calloc(all, sizeof(double));
    m->first_b = must_calloc(all, sizeof(double));
    m->some_b = must_calloc(some, sizeof(double));
    m->some_e = must_calloc(some, sizeof(double));
    m->second_bb = must_calloc(square, sizeof(double));
    m->second_eb = must_calloc(square, sizeof(double));
}

void moments_free(struct moments *moments, size_t count) {
    for (size_t i = 0; moments && i < count; i++) {
        struct moments *m = &moments[i];
        double *all[] = {m->first_u, m->first_b, m->some_b, m->some_e, m->second_bb, m->second_eb};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
        pthread_mutex_destroy(&m->lock);
    }
    free(moments);
}

/* A number whose magnitude is below 2^22, to the nearest, ties to even: adding 1.5 * 2^23 leaves no bits behind the point. */
static inline float nearest(float x) {
    return (x + 12582912.0F) - 12582912.0F;
}

static inline float between(float x, float least, float most) {
    x = x > least ? x : least;
    return x < most ? x : most;
}

/* x as u and as b, and (NULL: not wanted) e in steps. */
static void split(const struct scheme *scheme, const struct scheme_value *v, const float *x, size_t count, float *u, float *b, float *e) {
    float least = (float)(scheme_least(&scheme->options) - v->zero), most = (float)(scheme_most(&scheme->options) - v->zero);
    for (size_t i = 0; i < count; i++) {
        u[i] = between(x[i] / v->scale, least - MOST_BEYOND, most + MOST_BEYOND);
        b[i] = between(nearest(u[i]), least, most);
    }
    for (size_t i = 0; e && i < count; i++) e[i] = between(nearest((u[i] - b[i]) * MOMENTS_STEPS), -MOST_STEPS, MOST_STEPS);
}

/* The part of the output's rows (or columns) at which window element `tap` lies within the picture. */
static void covered(int64_t out, int64_t in, int64_t stride, int64_t offset, int64_t *from, int64_t *to) {
    *from = offset < 0 ? (-offset + stride - 1) / stride : 0;
    *to = in > offset ? (in - offset + stride - 1) / stride : 0;
    *to = *to < out ? *to : out;
    *from = *from < *to ? *from : *to;
}

/* The sum over all positions of the input at element k of their patches. Doubles hold it exactly for b. */
static double sum_at(const struct patch *p, const float *x, int64_t group, int64_t k) {
    int64_t window = p->kernel_h * p->kernel_w, at = k % window;
    int64_t down = at / p->kernel_w * p->dilation_h - p->pad_top, along = at % p->kernel_w * p->dilation_w - p->pad_left;
    int64_t y0, y1, x0, x1;
    double sum = 0;
    covered(p->out_h, p->in_h, p->stride_h, down, &y0, &y1);
    covered(p->out_w, p->in_w, p->stride_w, along, &x0, &x1);
    for (int64_t image = 0; image < p->images; image++) {
        const float *plane = x + image * p->image_step + (group * p->channels + k / window) * p->channel_step;
        for (int64_t y = y0; y < y1; y++) {
            const float *row = plane + (y * p->stride_h + down) * p->row_step + along * p->column_step;
            for (int64_t i = x0; i < x1; i++) sum += (double)row[i * p->stride_w * p->column_step];
        }
    }
    return sum;
}

/* First moments of one sample. Sums of u are rounded once for each sample, to integers, which add up exactly. */
static void add_first(struct moments *m, const float *u, const float *b, double *room) {
    const struct patch *p = &m->patch;
    int64_t all = p->groups * p->length;
    for (int64_t i = 0; i < all; i++) {
        room[i] = rint(sum_at(p, u, i / p->length, i % p->length) * MOMENTS_FINE);
        room[all + i] = sum_at(p, b, i / p->length, i % p->length);
    }
    pthread_mutex_lock(&m->lock);
    for (int64_t i = 0; i < all; i++) {
        m->first_u[i] += room[i];
        m->first_b[i] += room[all + i];
    }
    m->count += (double)p->positions;
    pthread_mutex_unlock(&m->lock);
}

/* What add_products() and add_block() work in, for patches of one length. */
struct room {
    float *patch_b, *patch_e; /* [length][BLOCK] */
    float *rows, *panels;     /* packed */
};

static float *room_open(struct room *room, int64_t length) {
    size_t patch = (size_t)length * BLOCK, rows = packed_rows_floats(length, BLOCK), panels = packed_panels_floats(BLOCK, length);
    float *all = must_have(malloc((2 * patch + rows + panels) * sizeof *all), (2 * patch + rows + panels) * sizeof *all);
    *room = (struct room){all, all + patch, all + 2 * patch, all + 2 * patch + rows};
    return all;
}

/* to[j][k] += the sum of a[j][i] * b[k][i] over a block; b is packed already. */
static void add_products(const struct room *room, const float *a, int64_t length, int count, double *to, pthread_mutex_t *lock) {
    const struct matrix left = {a, length, count, BLOCK, 1};
    const struct loops *loops = loops_here();
    float tile[TILE_ROWS * TILE_COLUMNS], start[TILE_ROWS] = {0};
    pack_rows(&left, room->rows);
    for (int64_t j = 0; j < length; j += TILE_ROWS) {
        int row_count = (int)(length - j < TILE_ROWS ? length - j : TILE_ROWS);
        for (int64_t k = 0; k < length; k += TILE_COLUMNS) {
            int column_count = (int)(length - k < TILE_COLUMNS ? length - k : TILE_COLUMNS);
            product_tile(loops, room->rows + j * count, room->panels + k * count, (size_t)count, tile, TILE_COLUMNS, row_count,
                         column_count, start);
            pthread_mutex_lock(lock);
            for (int r = 0; r < row_count; r++)
                for (int c = 0; c < column_count; c++) to[(j + r) * length + k + c] += (double)tile[r * TILE_COLUMNS + c];
            pthread_mutex_unlock(lock);
        }
    }
}

static void add_sums(const float *from, int64_t length, int count, double *to) {
    for (int64_t k = 0; k < length; k++)
        for (int i = 0; i < count; i++) to[k] += (double)from[k * BLOCK + i];
}

static void add_block(struct moments *m, const float *b, const float *e, const int64_t *positions, int count, const struct room *room) {
    int64_t length = m->patch.length;
    const struct matrix right = {room->patch_b, count, length, 1, BLOCK};
    for (int64_t g = 0; g < m->patch.groups; g++) {
        patch_gather(&m->patch, b, g, positions, count, room->patch_b, BLOCK);
        patch_gather(&m->patch, e, g, positions, count, room->patch_e, BLOCK);
        pack_panels(&right, room->panels);
        add_products(room, room->patch_b, length, count, m->second_bb + g * length * length, &m->lock);
        add_products(room, room->patch_e, length, count, m->second_eb + g * length * length, &m->lock);
        pthread_mutex_lock(&m->lock);
        add_sums(room->patch_b, length, count, m->some_b + g * length);
        add_sums(room->patch_e, length, count, m->some_e + g * length);
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&m->lock);
    m->second_count += count;
    pthread_mutex_unlock(&m->lock);
}

/* Some positions of each sample, other ones in each, evenly spread. */
static void add_second(const struct collecting *c, struct moments *m, size_t sample, const float *b, const float *e) {
    const struct patch *p = &m->patch;
    int64_t wanted = p->length * PATCHES_AN_ELEMENT;
    wanted = (wanted < PATCHES_LEAST ? PATCHES_LEAST : wanted) / (int64_t)c->samples + 1;
    int64_t step = p->positions / wanted;
    step = step < 1 ? 1 : step;
    struct room room;
    float *memory = room_open(&room, p->length);
    int64_t positions[BLOCK];
    int count = 0;
    for (int64_t at = (int64_t)(sample * 7) % step; at < p->positions; at += step) {
        positions[count++] = at;
        if (count == BLOCK || at + step >= p->positions) {
            add_block(m, b, e, positions, count, &room);
            count = 0;
        }
    }
    free(memory);
}

/* One sample's moments of one layer. */
static void add_sample(const struct collecting *c, struct moments *m, size_t sample, const float *x, size_t count) {
    const struct scheme_value *v = &c->wish->scheme->values[m->layer->x];
    float *u = must_have(malloc(3 * count * sizeof *u), 3 * count * sizeof *u), *b = u + count, *e = m->second ? b + count : NULL;
    double *room = must_calloc((size_t)(m->patch.groups * m->patch.length), 2 * sizeof *room);
    split(c->wish->scheme, v, x, count, u, b, e);
    add_first(m, u, b, room);
    if (m->second) add_second(c, m, sample, b, e);
    free(u);
    free(room);
}

static int by_address(const void *a, const void *b) {
    const struct reading *x = a, *y = b;
    uintptr_t i = (uintptr_t)x->value, j = (uintptr_t)y->value;
    return i != j ? (i > j) - (i < j) : (x->layer > y->layer) - (x->layer < y->layer);
}

/* The first place that does not lie before those of `value`. */
static size_t first_reading(const struct collecting *c, const struct onnx_value *value) {
    size_t first = 0, end = c->wish->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if ((uintptr_t)c->readings[middle].value < (uintptr_t)value) first = middle + 1;
        else end = middle;
    }
    return first;
}

static void watch(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct collecting *c = context;
    (void)worker;
    for (size_t i = first_reading(c, value); i < c->wish->count && c->readings[i].value == value; i++) {
        struct moments *m = &c->moments[c->readings[i].layer];
        if (m->known) add_sample(c, m, sample, data, count);
    }
}

struct moments *moments_collect(const struct moments_wish *wish, struct failure *failure) {
    struct moments *moments = must_calloc(wish->count, sizeof *moments);
    struct reading *readings = must_calloc(wish->count, sizeof *readings);
    struct collecting c = {wish, moments, quant_data_count(wish->data), readings};
    const struct network network = network_of_executor(wish->executor);
    for (size_t i = 0; i < wish->count; i++) {
        const struct scheme_layer *layer = &wish->scheme->layers[wish->first + i];
        moments_open(&moments[i], layer, wish->second_most);
        readings[i] = (struct reading){layer->node->inputs[0], i};
    }
    qsort(readings, wish->count, sizeof *readings, by_address);
    bool good = over_data(&network, wish->data, wish->threads, "samples, what layers read", watch, NULL, &c, failure);
    free(readings);
    if (good) return moments;
    moments_free(moments, wish->count);
    return NULL;
}
