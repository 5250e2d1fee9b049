/* SPDX-License-Identifier: MIT */
/* Convolutions with float weights, but for the arithmetic: how they are cut into strips of pixels, and what a strip reads. */
#include "float_conv.h"

/* In a room that has as much, and on the stack: there it may be that of a task of a microcontroller. */
enum { BLOCKS = 8, TAPS = 256, STACK_BLOCKS = MORSEL_ROOMY_STACK ? 4 : 1, STACK_TAPS = MORSEL_ROOMY_STACK ? 64 : 4 };
enum { PIXELS = MORSEL_FLOAT_PIXELS, STACK_PIXELS = MORSEL_ROOMY_STACK ? PIXELS : 4 };
_Static_assert(STACK_PIXELS == PIXELS || STACK_BLOCKS == 1, "blocks of sums lie side by side");

/* Taps k .. k + n of one pixel. Padding is 0: elements of a cell beyond its row, whole columns where cells are of one column. */
static MORSEL_OWN_FRAME void take_pixel(const struct morsel_float_strip *s, uint32_t pixel, uint32_t k, uint32_t n, float *to) {
    const struct morsel_window *w = &s->args->window;
    const uint8_t *const *rows = s->rows + (size_t)(pixel / w->out_w) * w->kernel_h;
    int64_t column = (int64_t)(pixel % w->out_w) * w->stride_w - w->pad_left, end = (int64_t)w->in_w * w->in_c;
    uint32_t ky = k / s->cell / s->cells, kx = k / s->cell % s->cells;
    for (uint32_t part, skip = k % s->cell; n; n -= part, to += part, skip = 0) {
        const struct morsel_input row = {rows[ky], s->args->x.qparams};
        int64_t at = (column + (int64_t)kx * w->dilation_w) * w->in_c + s->first_channel + skip;
        part = s->cell - skip < n ? s->cell - skip : n;
        int64_t from = at < 0 ? -at : 0, until = end - at < part ? end - at : part;
        if (!row.data || from >= until) from = until = part;
        else if (row.qparams.is_float) memcpy(to + from, (const float *)row.data + (at + from), (size_t)(until - from) * sizeof *to);
        else s->isa->take_bytes(&row, (size_t)(at + from), (uint32_t)(until - from), to + from);
        for (int64_t i = 0; i < from; i++) to[i] = 0;
        for (; until < part; until++) to[until] = 0;
        if (++kx == s->cells) kx = 0, ky++;
    }
}

/* Of the outputs those below `end`, from `from` on. */
static void run_strip(struct morsel_float_strip *s, uint32_t y, uint32_t from, uint32_t end) {
    const struct morsel_window *w = &s->args->window;
    for (uint32_t b = 0; b < s->blocks; b++) memset(s->sums[b], 0, s->pixels * sizeof *s->sums[b]);
    if (s->line) s->isa->add_taps(s, s->line + (size_t)s->first * w->in_c + s->first_channel, w->in_c, 0, s->taps);
    for (uint32_t k = 0, n; !s->line && k < s->taps; k += n) {
        n = s->taps - k < s->most_taps ? s->taps - k : s->most_taps;
        for (uint32_t p = 0; p < s->pixels; p++) take_pixel(s, s->first + p, k, n, s->inputs + (size_t)p * n);
        s->isa->add_taps(s, s->inputs, n, k, n);
    }
    for (uint32_t b = 0; b < s->blocks; b++)
        s->isa->store(s->args, (s->block + b) * 8, from, end, s->sums[b], s->pixels, (size_t)y * w->out_w + s->first);
}

/* Where the inputs of all pixels lie one behind the other as they are wanted. */
static const float *find_line(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t n) {
    const struct morsel_window *w = &a->window;
    if (!a->x.qparams.is_float || w->kernel_h * w->kernel_w * w->stride_w != 1 || w->pad_left || w->out_w != w->in_w) return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!rows[i] || rows[i] != rows[0] + (size_t)i * w->in_row) return NULL;
    return (const float *)(const void *)rows[0];
}

/* All pixels with the outputs of a convolution group. A last strip that is short overlaps with the one before. A block that several groups
 * share is multiplied by the inputs of each. */
static void run_group(struct morsel_float_strip *s, uint32_t y, uint32_t all, uint32_t from, uint32_t end) {
    for (s->block = from / 8; s->block * 8 < end; s->block += s->blocks) {
        uint32_t left = (end + 7) / 8 - s->block;
        s->blocks = left < s->most_blocks ? left : s->most_blocks;
        for (uint32_t first = 0; first < all; first += s->pixels) {
            s->first = all - first < s->pixels ? all - s->pixels : first;
            run_strip(s, y, from, end);
        }
    }
}

/* By itself, for others not to have its frame on top of theirs. */
static __attribute__((noinline)) void run_strips(const struct morsel_float_isa *isa, const struct morsel_float_conv_args *a,
                                                 const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    uint32_t all = n * w->out_w, depth = w->in_c / a->groups, outs = w->out_c / a->groups;
    float sums[STACK_BLOCKS * STACK_PIXELS * 8], inputs[STACK_PIXELS * STACK_TAPS + MORSEL_LANES]; /* a last block may have fewer pixels */
    struct morsel_float_strip s = {
        a, isa, rows, .sums = (void *)sums, .inputs = inputs, .most_blocks = STACK_BLOCKS, .most_taps = STACK_TAPS};
    uint32_t most = STACK_PIXELS;
    if (a->room.bytes >= BLOCKS * sizeof *s.sums + (PIXELS * TAPS + MORSEL_LANES) * sizeof *inputs) {
        most = PIXELS;
        s.sums = (void *)a->room.data;
        s.inputs = (float *)(void *)(s.sums + BLOCKS);
        s.most_blocks = BLOCKS;
        s.most_taps = TAPS;
    }
    s.line = find_line(a, rows, n);
    s.taps = w->kernel_h * w->kernel_w * depth;
    s.cells = a->groups == 1 && w->dilation_w == 1 ? 1 : w->kernel_w;
    s.cell = depth * (w->kernel_w / s.cells);
    s.pixels = all < most ? all : most;
    for (uint32_t g = 0; g < a->groups; g++) {
        s.first_channel = g * depth;
        run_group(&s, y, all, g * outs, (g + 1) * outs);
    }
}

void morsel_float_conv(const struct morsel_float_isa *isa, const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y,
                       uint32_t n) {
    const struct morsel_window *w = &a->window;
    if (a->groups == 1 || w->in_c != a->groups || w->out_c != a->groups) {
        run_strips(isa, a, rows, y, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) isa->each_row(a, rows + (size_t)i * w->kernel_h, (size_t)(y + i) * w->out_w);
}
