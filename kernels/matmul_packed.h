/* SPDX-License-Identifier: MIT */
/*
 * Products of two activations by the kernel for constant weights: sixteen columns at a time of the second operand are packed as weights,
 * and its zero point becomes theirs. The file that includes this says how sixteen columns of four rows are packed:
 *
 *     pack_quad(to, rows, flip)    to[c][k] = rows[k][c] ^ flip, 16 x 4
 *     sum_quad(sum, w)             sum[c] += the four of w[c]
 */
#ifndef MORSEL_MATMUL_PACKED_H
#define MORSEL_MATMUL_PACKED_H

#include "requant.h"

#include <string.h>

/* Bytes of weights, blocks of sixteen columns. */
struct packed_size {
    uint16_t bytes, blocks;
};

#define PACKED_BYTES 8192u /* up to 512 inputs with sixteen columns */
#define PACKED_STACK 1024u /* the same where there is no room: up to 64 inputs */
#define PACKED_STACK_BLOCKS 1u

/* The first one that fits the room, else the last one. */
static const struct packed_size packed_sizes[] = {{PACKED_BYTES, 8}, {4096, 2}, {2048, 1}, {PACKED_STACK, PACKED_STACK_BLOCKS}};

/* The product of packed weights and args->rows rows: those of x so many of their lengths apart, those of y so many elements. */
typedef void packed_fn(const struct morsel_fc_args *args, uint32_t apart, uint32_t y_step);

/* Blocks of sixteen columns, and their constants. */
struct packed {
    int8_t *weights;
    int32_t *bias, *sum, *zero;
    float *multiplier;
    uint32_t bytes, blocks;
    struct morsel_room room; /* what is left of it */
};

/* Their memory: bytes of weights, and constants of each column. */
#define PACKED_MEMORY(bytes, blocks) ((bytes) + (blocks)*16 * 4 * 4)

static uint32_t packed_memory(const struct packed_size *s) {
    return PACKED_MEMORY(s->bytes, s->blocks);
}

static const struct packed_size *packed_size(uint32_t room) {
    const struct packed_size *s = packed_sizes;
    while (s->bytes > PACKED_STACK && packed_memory(s) > room) s++;
    return s;
}

static void packed_in(struct packed *p, uint8_t *memory, const struct packed_size *s) {
    p->weights = (int8_t *)memory;
    p->bias = (int32_t *)(void *)(memory + s->bytes);
    p->sum = p->bias + 16 * s->blocks;
    p->multiplier = (float *)(void *)(p->sum + 16 * s->blocks);
    p->zero = (int32_t *)(void *)(p->multiplier + 16 * s->blocks);
    p->bytes = s->bytes;
    p->blocks = s->blocks;
}

/* Columns whose k lie side by side, in fours. */
static void pack_fours(uint8_t *to, const uint8_t *b, size_t right, uint32_t n, uint8_t flip) {
    for (uint32_t c = 0, four; c < n; c++, b += right, to += 4) {
        memcpy(&four, b, 4);
        four ^= flip * 0x01010101u;
        memcpy(to, &four, 4);
    }
}

/* Sixteen columns, or n of them, from b on. What is missing is `zero`, which adds nothing. */
static __attribute__((noinline)) void pack_block(const struct morsel_views *v, int8_t *to, int32_t *sum, const uint8_t *b, uint32_t n,
                                                 uint8_t flip, int8_t zero) {
    const uint32_t inner = v->inner;
    uint8_t some[4][16];
    const uint8_t *rows[4];
    memset(some, (uint8_t)zero ^ flip, sizeof some);
    memset(sum, 0, 16 * sizeof *sum);
    for (uint32_t k = 0; k < inner; k += 4, to += 64, sum_quad(sum, to - 64)) {
        if (v->b_stride[3] != 1) {
            memset(to, zero, 64);
            pack_fours((uint8_t *)to, b + k, v->b_stride[3], n, flip);
            continue;
        }
        for (uint32_t i = 0; i < 4; i++) {
            const uint8_t *row = b + (size_t)(k + i) * v->b_stride[2];
            rows[i] = n == 16 && k + i < inner ? row : some[i];
            if (n < 16 && k + i < inner) memcpy(some[i], row, n);
            if (k + i >= inner) memset(some[i], (uint8_t)zero ^ flip, 16);
        }
        pack_quad((uint8_t *)to, rows, flip);
    }
}

/* Some rows of a batch. */
static void packed_batch(const struct morsel_matmul_args *a, struct packed *p, const struct morsel_view_rows *at, packed_fn *multiply) {
    const struct morsel_views *v = &a->views;
    const uint8_t *b = (const uint8_t *)a->b.data + at->b;
    const uint8_t flip = (uint8_t)(a->b.qparams.sign_flip ^ 0x80);
    const int32_t zero = a->b.qparams.zero - 128;
    const uint32_t block_bytes = (v->inner + 3) / 4 * 64, fit = p->bytes / block_bytes, most = fit < p->blocks ? fit : p->blocks;
    struct morsel_fc_args args = {.x = a->a, .y = a->y, .weights = p->weights, .rows = at->n, .inputs = v->inner, .room = p->room};
    args.channels =
        (struct morsel_channels){.bias = p->bias, .multiplier = p->multiplier, .weight_sum = p->sum, .weight_zero = zero ? p->zero : NULL};
    args.x.data = (const uint8_t *)a->a.data + at->a;
    for (uint32_t first = 0; first < v->columns; first += args.outputs) {
        args.outputs = v->columns - first < most * 16 ? v->columns - first : most * 16;
        args.blocks = (args.outputs + 15) / 16;
        args.y.data = (uint8_t *)a->y.data + (at->y + first) * morsel_element_bytes(&a->y.qparams);
        for (uint32_t i = 0; i < args.blocks; i++) {
            uint32_t c = first + i * 16, left = v->columns - c;
            pack_block(v, p->weights + (size_t)i * block_bytes, p->sum + 16 * i, b + (size_t)c * v->b_stride[3], left < 16 ? left : 16,
                       flip, (int8_t)zero);
        }
        multiply(&args, v->a_stride[2] / v->inner, v->y_stride[2]);
    }
}

/* Whether it can be done so: few rows are not worth the packing, and kernels know rows that are whole lines apart. */
static int packs_in(const struct morsel_matmul_args *a, uint32_t bytes) {
    const uint32_t apart = a->views.a_stride[2], inner = a->views.inner;
    return inner <= bytes / 16 && a->views.rows >= 4 && apart && apart % inner == 0;
}

static const char *packed_refusal(const struct morsel_matmul_args *a) {
    return packs_in(a, PACKED_BYTES) ? NULL : MORSEL_REFUSES_SMALL;
}

static int packs(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    return packs_in(a, packed_size(a->room.bytes)->bytes) && end - begin >= 4;
}

static void matmul_packed(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end, packed_fn *multiply) {
    _Alignas(64) uint8_t stack[PACKED_MEMORY(PACKED_STACK, PACKED_STACK_BLOCKS)];
    const struct packed_size *size = packed_size(a->room.bytes);
    const uint32_t lent = size->bytes > PACKED_STACK ? packed_memory(size) : 0;
    struct packed p = {.room = a->room};
    packed_in(&p, lent ? a->room.data : stack, size);
    if (lent) p.room.data += lent, p.room.bytes -= lent;
    const int32_t zero = a->b.qparams.zero - 128;
    for (uint32_t c = 0; c < p.blocks * 16; c++) {
        p.bias[c] = 0;
        p.multiplier[c] = a->multiplier;
        p.zero[c] = zero;
    }
    for (struct morsel_view_rows at; begin < end; begin += at.n) {
        morsel_view_rows(&a->views, begin, end, &at);
        packed_batch(a, &p, &at, multiply);
    }
}

#endif
