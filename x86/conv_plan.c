/* SPDX-License-Identifier: MIT */
/* In which order a convolution takes its pixels and its weights; the tiles of each ISA do the rest. */
#include "conv_plan.h"

#define WEIGHTS_AT_ONCE 1048576u   /* bytes of weights that stay in the second-level cache while the rows pass */
#define WEIGHTS_PREFETCHED 262144u /* the same where they arrive evenly (core/plan_prefetch.c): all rows use them before the next do */
#define PIXELS_AT_ONCE 65536u      /* bytes of pixels that do while the weights pass */
#define RUN_MOST 504u              /* pixels of a run; of whole tiles */
#define BELOW_MOST 56u             /* pixels whose inputs are added up at once; of whole tiles */

struct morsel_conv_job morsel_conv_job_of(const struct morsel_conv_args *a, uint32_t group, morsel_conv_pixels_fn *pixels, void *kept,
                                          int buffered) {
    const struct morsel_window *w = &a->window;
    uint32_t outs = w->out_c / a->groups, blocks = (outs + 15) / 16;
    struct morsel_conv_job job = {.args = a, .pixels = pixels, .kept = kept, .kernel_h = w->kernel_h, .quads = morsel_row_k(a) / 4};
    job.taps = w->kernel_w * (w->in_c / a->groups);
    job.block_bytes = (size_t)w->kernel_h * job.quads * 64;
    job.weights = a->weights + (size_t)group * blocks * job.block_bytes;
    job.constants = group * blocks * 16;
    job.first = group * outs;
    job.outs = outs;
    job.end = blocks;
    job.room = a->room;
    if (buffered && a->room.bytes > MORSEL_WINDOW_STACK) {
        job.room.data += morsel_window_bytes(&a->room);
        job.room.bytes -= morsel_window_bytes(&a->room);
    }
    return job;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Which of the lines over a window's rows add nothing: `each` of a row. */
static uint64_t lines_of_nothing(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t each) {
    uint64_t found = 0;
    for (uint32_t ky = 0; ky < a->window.kernel_h && a->x.qparams.zero == 0; ky++)
        if (rows[ky] == a->padding_row) found |= ~(uint64_t)0 >> (64 - each) << ky * each;
    return found;
}

/* n pixels where weights have zero points; of a map no more than BELOW_MOST. Tiles ask for up to eight pixels, also of fewer. */
static __attribute__((noinline)) void run_zeros(const struct morsel_conv_job *plain, struct morsel_lines *lines, size_t pixel, size_t n) {
    int32_t below[BELOW_MOST + 8];
    struct morsel_conv_job job = *plain;
    size_t now, done = 0;
    job.below = below;
    for (; done < n; done += now) {
        now = n - done < BELOW_MOST ? n - done : BELOW_MOST;
        morsel_sum_below_avx2(below, &job, lines, now);
        for (size_t i = now; i < now + 8; i++) below[i] = below[now - 1];
        job.pixels(&job, lines, pixel + done, now);
        for (uint32_t ky = 0; ky < job.kernel_h && !lines->map; ky++) lines->line[ky] += now * lines->step;
    }
    for (uint32_t ky = 0; ky < job.kernel_h && !lines->map; ky++) lines->line[ky] -= n * lines->step;
}

/* n pixels of the job, of which the first is pixel `pixel` of y. */
static void run_pixels(const struct morsel_conv_job *job, struct morsel_lines *lines, size_t pixel, size_t n) {
    if (job->args->channels.weight_zero) run_zeros(job, lines, pixel, n);
    else job->pixels(job, lines, pixel, n);
}

/* Windows without padding at their sides read the rows where they are; the last one of an odd length would be read past its end. */
static int rows_serve(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return morsel_line_is_row(a) && w->pad_left == 0 && a->x.qparams.sign_flip == 0 && (uint64_t)w->kernel_w * w->in_c % 4 == 0 &&
           (uint64_t)(w->out_w - 1) * w->stride_w + w->kernel_w <= w->in_w;
}

/* The blocks from job->begin on whose weights stay in the cache while all rows pass; 0: there are no more of `blocks`. */
static int next_blocks(struct morsel_conv_job *job, uint32_t blocks) {
    size_t most = (job->args->prefetch_bytes ? WEIGHTS_PREFETCHED : WEIGHTS_AT_ONCE) / job->block_bytes / 3 * 3;
    if (most < 3) most = 3;
    job->end = blocks - job->begin <= most + 1 ? blocks : job->begin + (uint32_t)most;
    return job->begin < blocks;
}

/* n pixels of lines that stand in the input itself, in whole tiles. */
static void run_direct(const struct morsel_conv_job *job, struct morsel_lines *lines, size_t pixel, size_t n, uint32_t tall) {
    const size_t tile = job->args->y.qparams.is_float || tall > 14 ? tall : 14;
    size_t most = PIXELS_AT_ONCE / lines->step / tile * tile, now;
    if (most == 0) most = tile;
    for (; n; n -= now, pixel += now) {
        now = n < most ? n : most;
        run_pixels(job, lines, pixel, now);
        for (uint32_t ky = 0; ky < job->kernel_h; ky++) lines->line[ky] += now * lines->step;
    }
}

/* How many of the n rows touch, as pixels do that lie in a row. */
static uint32_t rows_that_touch(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t n) {
    const struct morsel_window *w = &a->window;
    uint32_t count = 1;
    if (w->kernel_h != 1 || w->stride_w != 1 || w->out_w != w->in_w) return 1;
    while (count < n && rows[count] == rows[0] + (size_t)count * w->in_row) count++;
    return count;
}

/* How many of the n output rows have windows as far apart as their rows are in a picture, and fit a tile. */
static uint32_t rows_of_tile(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t n, uint32_t tall) {
    const struct morsel_window *w = &a->window;
    uint32_t most = least(n, tall / w->out_w), count = 1;
    for (; count < most; count++, rows += w->kernel_h)
        for (uint32_t ky = 0; ky < w->kernel_h; ky++)
            if (rows[w->kernel_h + ky] != rows[ky] + (size_t)w->stride_h * w->in_row) return count;
    return count;
}

/* n rows, for the blocks that the job names. */
static void conv_rows(const struct morsel_conv_job *job, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t tall) {
    const struct morsel_window *w = &job->args->window;
    struct morsel_lines lines;
    lines.map = NULL;
    lines.step = (size_t)w->stride_w * w->in_c;
    lines.down = (size_t)w->stride_h * w->in_row;
    for (uint32_t i = 0, together; i < n; i += together) {
        const uint8_t *const *first = rows + (size_t)i * w->kernel_h;
        lines.across = 0;
        together = rows_that_touch(job->args, first, n - i);
        if (together == 1 && (together = rows_of_tile(job->args, first, n - i, tall)) > 1) lines.across = w->out_w;
        memcpy(lines.line, first, w->kernel_h * sizeof *rows);
        lines.nothing = together == 1 ? lines_of_nothing(job->args, first, 1) : 0;
        run_direct(job, &lines, (size_t)(y + i) * w->out_w, (size_t)together * w->out_w, tall);
    }
}

static void conv_direct(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t tall,
                        morsel_conv_pixels_fn *pixels, void *kept) {
    struct morsel_conv_job job = morsel_conv_job_of(a, 0, pixels, kept, 0);
    const uint32_t blocks = job.end;
    if (a->window.kernel_w == 1) {
        conv_rows(&job, rows, y, n, tall);
        return;
    }
    for (; next_blocks(&job, blocks); job.begin = job.end) conv_rows(&job, rows, y, n, tall);
}

/* Lines in a buffer, of the rows that they hold. */
struct buffer {
    uint16_t line[MORSEL_WINDOW_MOST]; /* where they begin */
    const uint8_t *row[MORSEL_WINDOW_MOST];
    uint8_t *bytes; /* the room's, or those behind */
    _Alignas(64) uint8_t stack[MORSEL_WINDOW_STACK];
};

/* Empty lines of `bytes` bytes. */
static void clear_buffer(struct buffer *b, const struct morsel_conv_args *a, size_t bytes) {
    b->bytes = a->room.bytes > MORSEL_WINDOW_STACK ? a->room.data : b->stack;
    for (uint32_t ky = 0; ky < a->window.kernel_h; ky++) {
        b->line[ky] = (uint16_t)(ky * bytes);
        b->row[ky] = NULL;
    }
}

/* Windows of an output row share most input rows with those of the one before: their lines move up, and only the others are filled. */
static void move_lines(struct buffer *b, const struct morsel_window *w) {
    uint16_t line[MORSEL_WINDOW_MOST];
    const uint8_t *row[MORSEL_WINDOW_MOST];
    uint32_t up = w->stride_h / w->dilation_h;
    if (up >= w->kernel_h || w->stride_h % w->dilation_h) return;
    memcpy(line, b->line, w->kernel_h * sizeof *line);
    memcpy(row, b->row, w->kernel_h * sizeof *row);
    for (uint32_t ky = 0, from = up; ky < w->kernel_h; ky++, from++) {
        if (from == w->kernel_h) from = 0;
        b->line[ky] = line[from];
        b->row[ky] = row[from];
    }
}

/* Windows ox .. ox + n of n rows, for the blocks that the job names. */
static void conv_columns(const struct morsel_conv_job *job, struct buffer *b, const uint8_t *const *rows, uint32_t y, uint32_t n,
                         uint32_t group, uint32_t ox, uint32_t windows) {
    const struct morsel_conv_args *a = job->args;
    const struct morsel_window *w = &a->window;
    struct morsel_lines lines = {.step = morsel_line_is_row(a) ? (size_t)w->stride_w * w->in_c : morsel_row_k(a)};
    clear_buffer(b, a, morsel_line_bytes(a, windows));
    for (uint32_t i = 0; i < n; i++, rows += w->kernel_h) {
        if (i) move_lines(b, w);
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            if (b->row[ky] != rows[ky]) morsel_fill_line(a, b->bytes + b->line[ky], rows[ky], ox, windows, group);
            b->row[ky] = rows[ky];
            lines.line[ky] = b->bytes + b->line[ky];
        }
        lines.nothing = lines_of_nothing(a, rows, 1);
        run_pixels(job, &lines, (size_t)(y + i) * w->out_w + ox, windows);
    }
}

/* n rows, by windows in a buffer. */
static void conv_copied(const struct morsel_conv_job *job, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t group,
                        uint32_t at_once) {
    struct buffer b;
    uint32_t out_w = job->args->window.out_w;
    for (uint32_t ox = 0, now; ox < out_w; ox += now) {
        now = out_w - ox < at_once ? out_w - ox : at_once;
        conv_columns(job, &b, rows, y, n, group, ox, now);
    }
}

/* ---- taps as lines: rows are copied once for all groups ---- */

/* The rows of a window, as columns from `ix` on. */
static void fill_columns(const struct morsel_conv_args *a, struct buffer *b, const uint8_t *const *rows, int64_t ix, size_t columns) {
    for (uint32_t ky = 0; ky < a->window.kernel_h; ky++) {
        if (b->row[ky] != rows[ky]) morsel_copy_columns(a, b->bytes + b->line[ky], rows[ky], ix, columns);
        b->row[ky] = rows[ky];
    }
}

/* A group's lines in the rows of the buffer. */
static void find_taps(struct morsel_lines *lines, const struct morsel_conv_args *a, const struct buffer *b, uint32_t group) {
    const struct morsel_window *w = &a->window;
    const uint8_t **line = lines->line;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++)
        for (uint32_t kx = 0; kx < w->kernel_w; kx++)
            *line++ = b->bytes + b->line[ky] + (size_t)kx * w->dilation_w * w->in_c + group * (w->in_c / a->groups);
}

/* The job for windows of which each tap is a line. */
static void make_taps(struct morsel_conv_job *job) {
    const struct morsel_conv_args *a = job->args;
    job->kernel_h = a->window.kernel_h * a->window.kernel_w;
    job->taps = a->window.in_c / a->groups;
    job->quads = job->taps / 4;
}

static void multiply_taps(const struct morsel_conv_args *a, const struct buffer *b, size_t pixel, uint32_t windows,
                          morsel_conv_pixels_fn *pixels, void *kept) {
    struct morsel_lines lines = {.step = (size_t)a->window.stride_w * a->window.in_c};
    lines.nothing = lines_of_nothing(a, b->row, a->window.kernel_w);
    for (uint32_t group = 0; group < a->groups; group++) {
        struct morsel_conv_job job = morsel_conv_job_of(a, group, pixels, kept, 1);
        make_taps(&job);
        find_taps(&lines, a, b, group);
        run_pixels(&job, &lines, pixel, windows);
    }
}

static void conv_taps(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t at_once,
                      morsel_conv_pixels_fn *pixels, void *kept) {
    const struct morsel_window *w = &a->window;
    struct buffer b;
    for (uint32_t ox = 0, now; ox < w->out_w; ox += now) {
        now = least(w->out_w - ox, at_once);
        clear_buffer(&b, a, morsel_columns(w, now) * w->in_c);
        for (uint32_t i = 0; i < n; i++) {
            if (i) move_lines(&b, w);
            fill_columns(a, &b, rows + (size_t)i * w->kernel_h, (int64_t)ox * w->stride_w - w->pad_left, morsel_columns(w, now));
            multiply_taps(a, &b, (size_t)(y + i) * w->out_w + ox, now, pixels, kept);
        }
    }
}

static void conv_groups(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t at_once,
                        morsel_conv_pixels_fn *pixels, void *kept) {
    for (uint32_t group = 0; group < a->groups; group++) {
        struct morsel_conv_job job = morsel_conv_job_of(a, group, pixels, kept, 1);
        uint32_t blocks = job.end;
        for (; next_blocks(&job, blocks); job.begin = job.end) conv_copied(&job, rows, y, n, group, at_once);
    }
}

/* ---- small pictures: a tile has pixels of several output rows, over a buffer with all input rows under them ---- */

/* From a row of the buffer to the next: the columns, and what may be read behind them. */
static uint64_t picture_row(const struct morsel_window *w) {
    return (uint64_t)morsel_columns(w, w->out_w) * w->in_c + 4;
}

/* How many output rows fit a tile and the buffer. Tiles of eight go in pairs where there is one block of channels. */
static uint32_t rows_together(const struct morsel_conv_args *a, uint32_t tall) {
    const struct morsel_window *w = &a->window;
    const uint64_t window = (uint64_t)(w->kernel_h - 1) * w->dilation_h + 1;
    const int pairs = tall == 8 && tall % w->out_w == 0 && w->out_c / a->groups <= 16;
    uint32_t n = least((pairs ? 2 * tall : tall) / w->out_w, w->out_h);
    if (!(morsel_line_is_row(a) || morsel_taps_are_lines(a)) || picture_row(w) > morsel_window_bytes(&a->room)) return 1;
    while (n > 1 && ((uint64_t)(n - 1) * w->stride_h + window) * picture_row(w) > morsel_window_bytes(&a->room)) n--;
    return n;
}

/* The input rows of n output rows. Those that the output row before has, too, are there. */
static void fill_picture(const struct morsel_conv_args *a, struct buffer *b, const uint8_t *const *rows, uint32_t n) {
    const struct morsel_window *w = &a->window;
    const size_t row = (size_t)picture_row(w), columns = morsel_columns(w, w->out_w);
    const uint32_t up = w->stride_h % w->dilation_h ? w->kernel_h : w->stride_h / w->dilation_h;
    for (uint32_t i = 0; i < n; i++, rows += w->kernel_h)
        for (uint32_t ky = i && up < w->kernel_h ? w->kernel_h - up : 0; ky < w->kernel_h; ky++) {
            uint8_t *to = b->bytes + b->line[ky] + (size_t)i * w->stride_h * row;
            morsel_copy_columns(a, to, rows[ky], -(int64_t)w->pad_left, columns);
            memset(to + row - 4, 0, 4);
        }
}

/* n pixels over output rows in the buffer, for a group's blocks. */
static void multiply_picture(struct morsel_conv_job *job, const struct buffer *b, uint32_t group, size_t pixel, size_t n) {
    const struct morsel_window *w = &job->args->window;
    struct morsel_lines lines = {.step = (size_t)w->stride_w * w->in_c, .across = w->out_w};
    lines.down = w->stride_h * (size_t)picture_row(w);
    if (morsel_line_is_row(job->args)) {
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) lines.line[ky] = b->bytes + b->line[ky];
    } else {
        make_taps(job);
        find_taps(&lines, job->args, b, group);
    }
    run_pixels(job, &lines, pixel, n);
}

/* n rows, for the blocks that the job names, of each group. */
static void multiply_pictures(const struct morsel_conv_job *blocks, struct buffer *b, const uint8_t *const *rows, uint32_t y, uint32_t n,
                              uint32_t together) {
    const struct morsel_conv_args *a = blocks->args;
    for (uint32_t i = 0, now; i < n; i += now) {
        now = least(n - i, together);
        fill_picture(a, b, rows + (size_t)i * a->window.kernel_h, now);
        for (uint32_t group = 0; group < a->groups; group++) {
            struct morsel_conv_job job = morsel_conv_job_of(a, group, blocks->pixels, blocks->kept, 1);
            job.begin = blocks->begin, job.end = blocks->end;
            multiply_picture(&job, b, group, (size_t)(y + i) * a->window.out_w, (size_t)now * a->window.out_w);
        }
    }
}

static void conv_pictures(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t together,
                          morsel_conv_pixels_fn *pixels, void *kept) {
    struct morsel_conv_job job = morsel_conv_job_of(a, 0, pixels, kept, 1);
    const uint32_t blocks = job.end;
    struct buffer b;
    clear_buffer(&b, a, a->window.dilation_h * (size_t)picture_row(&a->window));
    if (a->groups > 1) multiply_pictures(&job, &b, rows, y, n, together);
    else
        for (; next_blocks(&job, blocks); job.begin = job.end) multiply_pictures(&job, &b, rows, y, n, together);
}

/* ---- windows in place: a tile has pixels of several output rows, and each tap is looked for where its row stands ---- */

static int map_serves(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    const uint32_t depth = w->in_c / a->groups;
    return a->x.qparams.sign_flip == 0 && depth % 4 == 0 && depth <= MORSEL_ZEROS && w->kernel_h * w->kernel_w <= MORSEL_MAP_MOST;
}

/* Bytes of the room that zero points of a tap take; -1: there are too few. */
static int64_t room_of_zeros(const struct morsel_conv_args *a) {
    const uint32_t depth = a->window.in_c / a->groups;
    if (depth <= MORSEL_ZEROS_STACK) return 0;
    return depth <= a->room.bytes ? (int64_t)((depth + 63) / 64 * 64) : -1;
}

/* Pixels that tiles do where there are n: seven each, or `tall`. */
static uint64_t in_tiles(uint64_t n, uint32_t tall) {
    const uint64_t sevens = (n + 6) / 7 * 7, others = (n + tall - 1) / tall * tall;
    return sevens < others ? sevens : others;
}

/* Whether a map costs less for n rows than a buffer that holds `fit` windows of a row, or `together` rows. To find a tap takes a tile
 * about as long as eight inputs of each pixel do, and four times that where there is one block of channels. */
static int map_is_cheaper(const struct morsel_conv_args *a, uint32_t n, uint32_t fit, uint32_t together, uint32_t tall) {
    const struct morsel_window *w = &a->window;
    const uint64_t depth = w->in_c / a->groups, found = depth + (w->out_c / a->groups > 16 ? 8 : 32);
    if (fit == 0) return 1;
    uint64_t buffered = n * (w->out_w / fit * in_tiles(fit, tall) + in_tiles(w->out_w % fit, tall));
    if (together > 1) buffered = n / together * in_tiles(together * w->out_w, tall) + in_tiles(n % together * w->out_w, tall);
    return in_tiles((uint64_t)n * w->out_w, tall) * found < buffered * depth;
}

/* Pixels of a run, whole tiles of seven and of eight: their inputs stay in the second-level cache while the weights pass. */
static size_t pixels_of_run(const struct morsel_window *w) {
    const size_t most = PIXELS_AT_ONCE / ((size_t)w->in_c * w->stride_w * w->stride_h) / 56 * 56;
    return most == 0 ? 56 : most < RUN_MOST ? most : RUN_MOST;
}

static void conv_mapped(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_conv_pixels_fn *pixels,
                        void *kept) {
    const struct morsel_window *w = &a->window;
    const size_t all = (size_t)n * w->out_w, most = a->channels.weight_zero ? BELOW_MOST : pixels_of_run(w);
    const uint32_t in_room = (uint32_t)room_of_zeros(a);
    uint8_t stack[MORSEL_ZEROS_STACK], *zeros = in_room ? a->room.data : stack;
    struct morsel_tap taps[2 * MORSEL_MAP_MOST];
    struct morsel_map map = {.args = a, .rows = rows, .zeros = zeros, .taps = taps};
    struct morsel_lines lines = {.map = &map};
    memset(zeros, a->x.qparams.zero, w->in_c / a->groups);
    for (uint32_t group = 0; group < a->groups; group++) {
        struct morsel_conv_job job = morsel_conv_job_of(a, group, pixels, kept, 0);
        const uint32_t blocks = job.end;
        if (in_room) job.room.data += in_room, job.room.bytes -= in_room;
        make_taps(&job);
        map.channel = (size_t)group * job.taps;
        for (; next_blocks(&job, blocks); job.begin = job.end)
            for (map.first = 0; map.first < all; map.first += map.n) {
                map.n = all - map.first < most ? all - map.first : most;
                run_pixels(&job, &lines, (size_t)y * w->out_w + map.first, map.n);
            }
    }
}

const char *morsel_conv_refusal(const struct morsel_conv_args *a, int by_fc) {
    if (by_fc) return morsel_conv_fits_fc(a) ? NULL : MORSEL_REFUSES_WINDOW;
    return rows_serve(a) || morsel_windows_at_once(a, MORSEL_WINDOW_BYTES) || map_serves(a) ? NULL : MORSEL_REFUSES_WINDOW;
}

void morsel_conv_plan_keep(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t tall,
                           morsel_conv_pixels_fn *pixels, void *kept) {
    const uint32_t most = morsel_window_bytes(&a->room);
    uint32_t at_once = morsel_windows_at_once(a, most), of_taps = morsel_taps_are_lines(a) ? morsel_windows_of_taps(a, most) : 0;
    uint32_t fit = of_taps > at_once ? of_taps : at_once, together = rows_together(a, tall);
    if (rows_serve(a) && !(tall > 14 && together > 1 && a->window.pad_top)) conv_direct(a, rows, y, n, tall, pixels, kept);
    else if (map_serves(a) && room_of_zeros(a) >= 0 && map_is_cheaper(a, n, fit, together, tall)) conv_mapped(a, rows, y, n, pixels, kept);
    else if (together > 1) conv_pictures(a, rows, y, n, together, pixels, kept);
    else if (of_taps) conv_taps(a, rows, y, n, of_taps, pixels, kept);
    else if (at_once) conv_groups(a, rows, y, n, at_once, pixels, kept);
    else morsel_conv_rows_c(a, rows, y, n);
}

/* ---- one row of windows 1 x 1, as matrix products have it: by itself, without what other windows need on the stack ---- */

#define LINE_STACK 1024u

static uint32_t line_bytes(const struct morsel_conv_args *a) {
    return a->room.bytes > MORSEL_WINDOW_STACK ? morsel_window_bytes(&a->room) : LINE_STACK;
}

int morsel_conv_line_fits(const struct morsel_conv_args *a) {
    return rows_serve(a) || morsel_windows_at_once(a, line_bytes(a)) != 0;
}

/* As many pixels at a time as the buffer holds. */
static void copy_line(const struct morsel_conv_args *a, const uint8_t *row, morsel_conv_pixels_fn *pixels, void *kept) {
    _Alignas(64) uint8_t stack[LINE_STACK];
    uint8_t *buffer = a->room.bytes > MORSEL_WINDOW_STACK ? a->room.data : stack;
    const uint32_t at_once = morsel_windows_at_once(a, line_bytes(a)), all = a->window.out_w;
    struct morsel_conv_job job = morsel_conv_job_of(a, 0, pixels, kept, 1);
    struct morsel_lines lines = {.line = {buffer}, .step = (size_t)a->window.stride_w * a->window.in_c};
    const uint32_t blocks = job.end;
    for (; next_blocks(&job, blocks); job.begin = job.end)
        for (uint32_t first = 0, now; first < all; first += now) {
            now = least(all - first, at_once);
            morsel_fill_line(a, buffer, row, first, now, 0);
            run_pixels(&job, &lines, first, now);
        }
}

void morsel_conv_plan_line(const struct morsel_conv_args *a, const uint8_t *const *row, uint32_t tall, morsel_conv_pixels_fn *pixels,
                           void *kept) {
    if (rows_serve(a)) conv_direct(a, row, 0, 1, tall, pixels, kept);
    else copy_line(a, *row, pixels, kept);
}

void morsel_conv_plan(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_conv_pixels_fn *pixels) {
    morsel_conv_plan_keep(a, rows, y, n, 7, pixels, NULL);
}
