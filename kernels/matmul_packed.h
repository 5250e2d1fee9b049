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

/* Bytes of weights, results, blocks of sixteen columns. */
struct packed_size {
    uint16_t bytes, results, blocks;
};

#define PACKED_BYTES 8192u /* up to 512 inputs with sixteen columns */
#define PACKED_STACK 1024u /* the same where there is no room: up to 64 inputs */
#define PACKED_STACK_RESULTS 64u
#define PACKED_STACK_BLOCKS 1u

/* The first one that fits the room, else the last one. */
static const struct packed_size packed_sizes[] = {{PACKED_BYTES, 512, 8},
                                                  {4096, 256, 2},
                                                  {2048, 64, 1},
                                                  {PACKED_STACK, PACKED_STACK_RESULTS, PACKED_STACK_BLOCKS}};

/* Of packed weights, rows of results `step` elements apart. 0: that cannot be done. */
typedef int packed_in_place(const struct morsel_fc_args *args, uint32_t step);

/* Products with packed weights. */
struct packed_by {
    morsel_fc_fn *fc; /* where in_place() may refuse, else NULL */
    packed_in_place *in_place;
};

/* Blocks of sixteen columns, and their constants. */
struct packed {
    int8_t *weights;
    uint8_t *results;
    int32_t *bias, *sum, *zero;
    float *multiplier;
    uint32_t bytes, most_results, blocks;
    struct morsel_room room; /* what is left of it */
};

/* Their memory: bytes of weights, results, and constants of each column. */
#define PACKED_MEMORY(bytes, results, blocks) ((bytes) + (results)*4 + (blocks)*16 * 4 * 4)

static uint32_t packed_memory(const struct packed_size *s) {
    return PACKED_MEMORY(s->bytes, s->results, s->blocks);
}

static const struct packed_size *packed_size(uint32_t room) {
    const struct packed_size *s = packed_sizes;
    while (s->bytes > PACKED_STACK && packed_memory(s) > room) s++;
    return s;
}

static void packed_in(struct packed *p, uint8_t *memory, const struct packed_size *s) {
    p->weights = (int8_t *)memory;
    p->results = memory + s->bytes;
    p->bias = (int32_t *)(void *)(p->results + 4 * s->results);
    p->sum = p->bias + 16 * s->blocks;
    p->multiplier = (float *)(void *)(p->sum + 16 * s->blocks);
    p->zero = (int32_t *)(void *)(p->multiplier + 16 * s->blocks);
    p->bytes = s->bytes;
    p->most_results = s->results;
    p->blocks = s->blocks;
}

/* Sixteen columns, or n of them, from b on. What is missing is `zero`, which adds nothing. */
static __attribute__((noinline)) void pack_block(int8_t *to, int32_t *sum, const uint8_t *b, uint32_t inner, uint32_t columns, uint32_t n,
                                                 uint8_t flip, int8_t zero) {
    uint8_t some[4][16];
    const uint8_t *rows[4];
    memset(some, (uint8_t)zero ^ flip, sizeof some);
    memset(sum, 0, 16 * sizeof *sum);
    for (uint32_t k = 0; k < inner; k += 4, to += 64) {
        for (uint32_t i = 0; i < 4; i++) {
            const uint8_t *row = b + (size_t)(k + i) * columns;
            rows[i] = n == 16 && k + i < inner ? row : some[i];
            if (n < 16 && k + i < inner) memcpy(some[i], row, n);
            if (k + i >= inner) memset(some[i], (uint8_t)zero ^ flip, 16);
        }
        pack_quad((uint8_t *)to, rows, flip);
        sum_quad(sum, to);
    }
}

/* Rows row .. row + n of y, whose first byte or float is at y, with the blocks that are packed: in place, or by pieces that are copied. */
static void packed_rows(const struct morsel_matmul_args *a, struct packed *p, const uint8_t *x, uint8_t *y, uint32_t n, uint32_t outputs,
                        uint32_t blocks, int32_t zero, const struct packed_by *by) {
    const uint32_t size = morsel_element_bytes(&a->y.qparams), most = p->most_results / outputs;
    struct morsel_fc_args args = {.x = a->a, .y = a->y, .weights = p->weights, .inputs = a->inner, .outputs = outputs, .blocks = blocks};
    args.channels =
        (struct morsel_channels){.bias = p->bias, .multiplier = p->multiplier, .weight_sum = p->sum, .weight_zero = zero ? p->zero : NULL};
    args.x.data = x, args.y.data = y, args.rows = n;
    args.room = p->room;
    if (by->in_place(&args, a->columns) || !by->fc) return;
    args.y.data = p->results;
    for (uint32_t now; n; n -= now, x += (size_t)now * a->inner) {
        now = n < most ? n : most;
        args.x.data = x;
        args.rows = now;
        by->fc(&args, 0, now * blocks);
        for (uint32_t i = 0; i < now; i++, y += (size_t)a->columns * size)
            memcpy(y, p->results + (size_t)i * outputs * size, (size_t)outputs * size);
    }
}

/* n rows of a batch. */
static void packed_batch(const struct morsel_matmul_args *a, struct packed *p, const uint8_t *x, const uint8_t *b, uint8_t *y, uint32_t n,
                         const struct packed_by *by) {
    const uint8_t flip = (uint8_t)(a->b.qparams.sign_flip ^ 0x80);
    const int32_t zero = a->b.qparams.zero - 128;
    const uint32_t block_bytes = (a->inner + 3) / 4 * 64, fit = p->bytes / block_bytes, most = fit < p->blocks ? fit : p->blocks;
    for (uint32_t first = 0, outputs; first < a->columns; first += outputs) {
        outputs = a->columns - first < most * 16 ? a->columns - first : most * 16;
        const uint32_t blocks = (outputs + 15) / 16;
        for (uint32_t i = 0; i < blocks; i++) {
            uint32_t c = first + i * 16, left = a->columns - c;
            pack_block(p->weights + (size_t)i * block_bytes, p->sum + 16 * i, b + c, a->inner, a->columns, left < 16 ? left : 16, flip,
                       (int8_t)zero);
        }
        packed_rows(a, p, x, y + (size_t)first * morsel_element_bytes(&a->y.qparams), n, outputs, blocks, zero, by);
    }
}

/* Whether it can be done so: few rows are not worth the packing. */
static const char *packed_refusal(const struct morsel_matmul_args *a) {
    return a->inner <= PACKED_BYTES / 16 && a->rows >= 4 ? NULL : MORSEL_REFUSES_SMALL;
}

static int packs(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    return a->inner <= packed_size(a->room.bytes)->bytes / 16u && a->rows >= 4 && end - begin >= 4;
}

static void matmul_packed(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end, const struct packed_by *by) {
    _Alignas(64) uint8_t stack[PACKED_MEMORY(PACKED_STACK, PACKED_STACK_RESULTS, PACKED_STACK_BLOCKS)];
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
    for (uint32_t n; begin < end; begin += n) {
        uint32_t batch = begin / a->rows, row = begin % a->rows;
        size_t x = ((size_t)(batch / a->a_divide % a->a_batch) * a->rows + row) * a->inner;
        size_t b = (size_t)(batch / a->b_divide % a->b_batch) * a->inner * a->columns;
        uint8_t *y = (uint8_t *)a->y.data + (size_t)begin * a->columns * morsel_element_bytes(&a->y.qparams);
        n = a->rows - row < end - begin ? a->rows - row : end - begin;
        packed_batch(a, &p, (const uint8_t *)a->a.data + x, (const uint8_t *)a->b.data + b, y, n, by);
    }
}

#endif
