/* SPDX-License-Identifier: MIT */
/*
 * What the convolutions of every ISA share: input windows laid side by side in a small buffer.
 *
 * The tiles want a line of bytes for each kernel row. In it the window of pixel p starts at p * step and goes on for pad4(kernel_w * depth)
 * bytes. Without dilation and convolution groups a piece of the input row, with zero points for padding, is such a line. Otherwise the
 * windows are copied one behind the other. Bytes past a window have weights of 0.
 */
#ifndef MORSEL_X86_WINDOW_H
#define MORSEL_X86_WINDOW_H

#include "../kernels/kernels.h"
#include "map.h"

#include <string.h>

#define MORSEL_WINDOW_BYTES 16384u /* of the buffer in the room, at most */
#define MORSEL_WINDOW_STACK 2048u  /* .. and on the stack, where the room has no more */
#define MORSEL_MAP_MOST 25u        /* taps of a window that is looked for in place */
#define MORSEL_WINDOW_MOST 64u     /* rows of a kernel, or its taps */
#define MORSEL_ZEROS 4096u         /* zero points of a padded tap, in the room */
#define MORSEL_ZEROS_STACK 512u

/* One line for each kernel row; window p of line ky starts at line[ky] + p * step. Where `across` is not 0, the windows are those of
 * several output rows, as many of each, and those of the next row start `down` bytes further. Such a run is no longer than a tile, or two
 * tiles of whole rows. */
struct morsel_lines {
    const uint8_t *line[MORSEL_WINDOW_MOST];
    size_t step, down;
    uint32_t across;
    uint64_t nothing;             /* a bit for each line: it is all padding, of bytes 0, and adds nothing */
    const struct morsel_map *map; /* where it is not NULL, it alone says where windows are */
};

/* Bytes of the buffer. */
static inline uint32_t morsel_window_bytes(const struct morsel_room *room) {
    if (room->bytes <= MORSEL_WINDOW_STACK) return MORSEL_WINDOW_STACK;
    return room->bytes < MORSEL_WINDOW_BYTES ? room->bytes : MORSEL_WINDOW_BYTES;
}

/* Whether line `ky` adds nothing to any sum. */
static inline int morsel_adds_nothing(const struct morsel_lines *lines, size_t ky) {
    return (int)(lines->nothing >> ky & 1);
}

/* Where window p starts in its line. */
static inline size_t morsel_place(const struct morsel_lines *lines, size_t p) {
    if (!lines->across) return p * lines->step;
    return (uint32_t)p / lines->across * lines->down + (uint32_t)p % lines->across * lines->step; /* 64 bits take far longer to divide */
}

static inline uint32_t morsel_row_k(const struct morsel_conv_args *a) {
    return (a->window.kernel_w * (a->window.in_c / a->groups) + 3) / 4 * 4;
}

/* Whether a piece of a row serves as the line. */
static inline int morsel_line_is_row(const struct morsel_conv_args *a) {
    return a->window.dilation_w == 1 && a->groups == 1;
}

/*
 * Whether each tap of a window is a line of its own, over rows of all channels: where windows would be copied for each convolution group
 * or, with dilation, tap by tap. Then a row is copied once, and a window of line ky * kernel_w + kx is a group's channels of one pixel.
 */
static inline int morsel_taps_are_lines(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return !morsel_line_is_row(a) && w->in_c / a->groups % 4 == 0 && w->kernel_h * w->kernel_w <= MORSEL_WINDOW_MOST;
}

/* Columns of the input that n windows of a row lie over. */
static inline size_t morsel_columns(const struct morsel_window *w, uint32_t n) {
    return (size_t)(n - 1) * w->stride_w + (size_t)(w->kernel_w - 1) * w->dilation_w + 1;
}

/* How many windows of a row fit a buffer of `most` bytes where taps are lines. 0: not one. */
static inline uint32_t morsel_windows_of_taps(const struct morsel_conv_args *a, uint32_t most) {
    const struct morsel_window *w = &a->window;
    uint32_t n = w->out_w;
    if (morsel_columns(w, 1) * w->in_c * w->kernel_h > most) return 0;
    while (morsel_columns(w, n) * w->in_c * w->kernel_h > most) n = n > 14 ? (n - 1) / 7 * 7 : n - 1;
    return n;
}

/* Bytes of a line of n windows, and what may be read behind it. */
static inline size_t morsel_line_bytes(const struct morsel_conv_args *a, uint32_t n) {
    const struct morsel_window *w = &a->window;
    if (!morsel_line_is_row(a)) return (size_t)n * morsel_row_k(a);
    return ((size_t)(n - 1) * w->stride_w + w->kernel_w) * w->in_c + 4;
}

/* How many windows of a row fit it otherwise; a multiple of seven where there are more. 0: not one. */
static inline uint32_t morsel_windows_at_once(const struct morsel_conv_args *a, uint32_t most) {
    uint32_t n = a->window.out_w;
    if (morsel_line_bytes(a, 1) * a->window.kernel_h > most) return 0;
    while (morsel_line_bytes(a, n) * a->window.kernel_h > most) n = n > 14 ? (n - 1) / 7 * 7 : n - 1;
    return n;
}

static inline void morsel_copy_flipped(uint8_t *to, const uint8_t *from, size_t n, uint32_t flip) {
    memcpy(to, from, n);
    if (flip)
        for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(to[i] ^ flip);
}

/* Columns ix .. ix + n of a row, zero points where they are padding. */
static inline void morsel_copy_columns(const struct morsel_conv_args *a, uint8_t *to, const uint8_t *row, int64_t ix, size_t n) {
    size_t c = a->window.in_c, left = 0, inside = n;
    if (ix < 0) left = (size_t)-ix < n ? (size_t)-ix : n;
    inside = n - left;
    if (ix + (int64_t)n > (int64_t)a->window.in_w) {
        size_t over = (size_t)(ix + (int64_t)n - (int64_t)a->window.in_w);
        inside = over < inside ? inside - over : 0;
    }
    memset(to, a->x.qparams.zero, left * c);
    if (inside) morsel_copy_flipped(to + left * c, row + (size_t)(ix + (int64_t)left) * c, inside * c, a->x.qparams.sign_flip);
    memset(to + (left + inside) * c, a->x.qparams.zero, (n - left - inside) * c);
}

/* Windows ox .. ox + n of a row one behind the other, channels of one convolution group. */
static inline void morsel_copy_windows(const struct morsel_conv_args *a, uint8_t *to, const uint8_t *row, uint32_t ox, uint32_t n,
                                       uint32_t group) {
    const struct morsel_window *w = &a->window;
    uint32_t depth = w->in_c / a->groups, k = morsel_row_k(a);
    for (uint32_t p = 0; p < n; p++, to += k) {
        memset(to, a->x.qparams.zero, k);
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            uint32_t ix = (ox + p) * w->stride_w + kx * w->dilation_w - w->pad_left; /* left of the picture: huge */
            if (ix >= w->in_w) continue;
            morsel_copy_flipped(to + kx * depth, row + (size_t)ix * w->in_c + group * depth, depth, a->x.qparams.sign_flip);
        }
    }
}

/* The line of windows ox .. ox + n over an input row. */
static inline void morsel_fill_line(const struct morsel_conv_args *a, uint8_t *line, const uint8_t *row, uint32_t ox, uint32_t n,
                                    uint32_t group) {
    const struct morsel_window *w = &a->window;
    if (!morsel_line_is_row(a)) {
        morsel_copy_windows(a, line, row, ox, n, group);
        return;
    }
    morsel_copy_columns(a, line, row, (int64_t)ox * w->stride_w - w->pad_left, (size_t)(n - 1) * w->stride_w + w->kernel_w);
    memset(line + morsel_line_bytes(a, n) - 4, 0, 4);
}

#endif
