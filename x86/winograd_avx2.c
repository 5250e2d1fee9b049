/* SPDX-License-Identifier: MIT */
/*
 * Convolution 3 x 3 with AVX2 by Winograd's F(2 x 2, 3 x 3), in integers: a tile of 2 x 2 outputs takes 16 products for 36.
 *
 *     4 y = A' (G g G' * B' d B) A    with  B' = | 1  0 -1  0 |   G = | 2  0  0 |   A' = | 1  1  1  0 |
 *                                                | 0  1  1  0 |       | 1  1  1 |        | 0  1 -1 -1 |
 *                                                | 0 -1  1  0 |       | 1 -1  1 |
 *                                                | 0  1  0 -1 |       | 0  0  2 |
 *
 * d is 4 x 4 inputs less 128, g the weights. All of it is exact: words hold inputs up to 4 * 255 and weights up to 9 * 128. Sums that wrap
 * around modulo 2^32 come back, as 4 y itself fits: 4 * 9 * 128 * 128 * MOST < 2^31.
 *
 * With a dilation the picture is that many times as many, interleaved along rows and columns.
 *
 * The 16 products are taken four at a time, by rows of G and B', for some tiles and a piece of the channels. Four tiles or six of one
 * product are a tile of words_avx2.h. Few channels are not worth it, nor is less room than LEAST_ROOM.
 */
#define MORSEL_BELOW_1
#include "conv_plan.h"
#include "seven_avx2.h"
#include "words_avx2.h"
#include "x86.h"

#define LEAST 32u      /* channels of the input, */
#define LEAST_OUTS 64u /* or of the output */
#define MOST 3584u
#define FEW 12u /* pixels: their weights would be transformed for one tile */
#define LEAST_ROOM 26624u
#define MOST_ROOM 61440u /* of more than FEW_CHANNELS: longer pieces leave the nearest cache */
#define FEW_CHANNELS 64u
#define BLOCKS 8u                             /* in work together, at most */
#define SMALL __attribute__((noinline, cold)) /* for the size: most time is spent elsewhere */

/* Some tiles of the rows: those from `first` on, counted along pairs of rows, picture by picture. */
struct run {
    const struct morsel_conv_job *job;
    const uint8_t *const *rows;
    const uint8_t *zeros;
    size_t pixel;                  /* the first of the rows, in y */
    uint32_t across, first, count; /* across: tiles in a pair of rows of one picture */
    uint32_t from, channels, most; /* the piece of the channels; how many they are at most */
    size_t column;                 /* bytes of a block's weights for a column of a row of the window */
    uint8_t *room;
    uint32_t bytes; /* of it, for what follows */
    /* Of each of four products the weights of a block, inputs by tiles, and what comes of them; and of each block in work 4 y, the
     * upper pixels of all tiles, then the lower ones. */
    int16_t *weights;
    uint16_t *inputs;
    int32_t *products, *sums;
};

/* Tiles of which there are inputs: of fewer than are multiplied at once, the last one again. */
static inline uint32_t tiles_of(const struct run *r) {
    return r->count < 4 ? 4 : r->count == 5 ? 6 : r->count;
}

/* The upper pixel on the left of a tile. */
struct corner {
    uint32_t row, column;
};

static SMALL struct corner find_corner(const struct run *r, uint32_t tile) {
    const uint32_t apart = r->job->args->window.dilation_w, line = tile / r->across, pair = line / apart;
    const struct corner c = {pair + pair / apart * apart, line % apart + tile % r->across * 2 * apart};
    return c;
}

/* ---- inputs ---- */

/* Four columns of a tile in two rows of inputs, which are where the zeros are for a column that is not there. */
MORSEL_INLINE void find_columns(const uint8_t **a, const uint8_t **b, const struct run *r, const uint8_t *row, const uint8_t *second,
                                uint32_t column) {
    const struct morsel_window *w = &r->job->args->window;
    column -= w->pad_left; /* left of the picture: huge */
    for (uint32_t k = 0; k < 4; k++, column += w->dilation_w) {
        const size_t at = (size_t)column * w->in_c;
        a[k] = b[k] = r->zeros + r->from;
        if (column < w->in_w) a[k] = row + at + r->from, b[k] = second + at + r->from;
    }
}

MORSEL_INLINE __m256i load_words(const uint8_t *x, __m256i flip) {
    return _mm256_xor_si256(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x)), flip);
}

#define ORDER 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15 /* of each four words 0 and 2, then 1 and 3, as weights are paired */

MORSEL_INLINE void save_words(uint16_t *to, __m256i v, __m256i order) {
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_shuffle_epi8(v, order));
}

/* Four products' inputs of a tile, by the sums of its rows a and b, or their differences: - q = ~q + 1, and the 1 is left where it cancels
 * out, as 128 does nearly everywhere. */
MORSEL_INLINE void transform_inputs(uint16_t *to, const uint8_t *const *a, const uint8_t *const *b, const struct run *r, int minus) {
    const __m256i flip = _mm256_set1_epi16((short)r->job->args->x.qparams.sign_flip);
    const __m256i turned = _mm256_xor_si256(flip, _mm256_set1_epi16((short)-minus)), more = _mm256_set1_epi16(minus ? 2 : -4 * 128);
    const __m256i order = _mm256_setr_epi8(ORDER, ORDER);
    const size_t next = (size_t)tiles_of(r) * r->channels;
    for (uint32_t c = 0; c < r->channels; c += 16) {
        __m256i t[4];
        MORSEL_UNROLL
        for (int k = 0; k < 4; k++) t[k] = _mm256_add_epi16(load_words(a[k] + c, flip), load_words(b[k] + c, turned));
        save_words(to + c, _mm256_sub_epi16(t[0], t[2]), order);
        save_words(to + next + c, _mm256_add_epi16(_mm256_add_epi16(t[1], t[2]), more), order);
        save_words(to + 2 * next + c, _mm256_sub_epi16(t[2], t[1]), order);
        save_words(to + 3 * next + c, _mm256_sub_epi16(t[1], t[3]), order);
    }
}

/* Tiles one behind the other, times row i of B'. Under a tile are the rows of its upper windows, and the last one of its lower windows. */
static __attribute__((noinline)) void take_inputs(const struct run *r, uint32_t i) {
    static const uint8_t under[4][2] = {{0, 2}, {1, 2}, {2, 1}, {1, 2}};
    const uint32_t apart = r->job->args->window.dilation_w;
    uint32_t left = 0;
    struct corner at = {0, 0};
    for (uint32_t t = 0; t < tiles_of(r); t++) {
        const uint8_t *a[4], *b[4];
        if (t < r->count) {
            at.column += 2 * apart;
            if (!left) at = find_corner(r, r->first + t), left = r->across - (r->first + t) % r->across;
            left--;
        }
        const uint8_t *const *rows = r->rows + (size_t)at.row * 3;
        find_columns(a, b, r, rows[under[i][0]], rows[under[i][1] + (i == 3 ? 3 * apart : 0)], at.column);
        transform_inputs(r->inputs + (size_t)t * r->channels, a, b, r, i != 1);
    }
}

/* ---- weights ---- */

/* Words of eight channels' weights of inputs 0 and 2, and of 1 and 3. */
struct two {
    __m256i a, b;
};

/* by: what they are multiplied with. */
MORSEL_INLINE struct two load_weights(const int8_t *w, int by) {
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w);
    const struct two t = {_mm256_maddubs_epi16(_mm256_set1_epi16((short)by), v),
                          _mm256_maddubs_epi16(_mm256_set1_epi16((short)(by << 8)), v)};
    return t;
}

MORSEL_INLINE struct two add_two(struct two x, struct two y) {
    const struct two t = {_mm256_add_epi16(x.a, y.a), _mm256_add_epi16(x.b, y.b)};
    return t;
}

MORSEL_INLINE struct two subtract_two(struct two x, struct two y) {
    const struct two t = {_mm256_sub_epi16(x.a, y.a), _mm256_sub_epi16(x.b, y.b)};
    return t;
}

MORSEL_INLINE struct two sign_two(struct two x, __m256i sign) {
    const struct two t = {_mm256_sign_epi16(x.a, sign), _mm256_sign_epi16(x.b, sign)};
    return t;
}

MORSEL_INLINE void save_two(int16_t *to, struct two t) {
    _mm256_store_si256((__m256i *)(void *)to, t.a);
    _mm256_store_si256((__m256i *)(void *)(to + 32), t.b);
}

/* A row of G times a column of weights: of one of them alone, or of all, the second with a sign. row: bytes from one to the next. */
MORSEL_INLINE struct two column_of(const int8_t *w, size_t row, int alone, __m256i sign) {
    if (alone) return load_weights(w, 2);
    return add_two(add_two(load_weights(w, 1), load_weights(w + 2 * row, 1)), sign_two(load_weights(w + row, 1), sign));
}

/* column: bytes from one column of the window to the next. */
MORSEL_INLINE void transform_weights(int16_t *to, const int8_t *w, size_t channels, size_t column, int alone, int sign) {
    const __m256i s = _mm256_set1_epi16((short)sign);
    for (size_t k = 0; k < channels / 2; k++, w += 32, to += k % 2 ? 16 : 48) {
        const struct two first = column_of(w, 3 * column, alone, s), last = column_of(w + 2 * column, 3 * column, alone, s);
        const struct two outer = add_two(first, last), middle = column_of(w + column, 3 * column, alone, s);
        save_two(to, add_two(first, first));
        save_two(to + channels * 16, add_two(outer, middle));
        save_two(to + channels * 32, subtract_two(outer, middle));
        save_two(to + channels * 48, add_two(last, last));
    }
}

/* Those of a block, times row i of G. */
static __attribute__((noinline)) void take_weights(const struct run *r, const int8_t *w, uint32_t i) {
    const size_t column = r->column;
    if (i % 3) transform_weights(r->weights, w, r->channels, column, 0, i == 1 ? 1 : -1);
    else transform_weights(r->weights, w + i * 2 * column, r->channels, column, 1, 0);
}

/* ---- products ---- */

/* soon: weights that are asked for, a column of the window for each product. */
static SMALL void multiply(const struct run *r, const int8_t *soon, int both) {
    static const int32_t none[16];
    const struct morsel_piece piece = {.lines = 1, .pairs = r->channels / 2, .step = r->channels};
    struct morsel_words t = {.piece = &piece, .weights = r->weights, .soon = soon, .from = none};
    for (size_t k = 0; k < 4; k++, t.weights += (size_t)r->channels * 16, t.soon += r->column)
        for (size_t i = 0, tiles; i < r->count; i += tiles) {
            tiles = morsel_words_pixels(r->count - i);
            const size_t last = r->count < tiles ? 0 : r->count - tiles, at = k * tiles_of(r) + (i < last ? i : last);
            t.x = r->inputs + at * r->channels;
            t.to = r->products + at * 16;
            morsel_words_tile_avx2(&t, tiles == 6, both);
        }
}

MORSEL_INLINE void add_to(int32_t *sums, __m256i v) {
    _mm256_storeu_si256((__m256i *)(void *)sums, _mm256_add_epi32(morsel_load_sums(sums), v));
}

/* Row i of products to the sums: upper pixels have rows 0, 1, 2, lower ones 1, - 2, - 3. */
static __attribute__((noinline)) void add_products(int32_t *sums, const struct run *r, uint32_t i) {
    const __m256i sign = _mm256_set1_epi32(i == 1 ? 1 : -1);
    const size_t next = tiles_of(r) * (size_t)16, down = r->count * (size_t)32;
    const int32_t *p = r->products;
    for (uint32_t left = r->count * 2; left; p += 8, sums += --left % 2 ? 8 : 24) {
        const __m256i p1 = morsel_load_sums(p + next), p2 = morsel_load_sums(p + 2 * next);
        const __m256i first = _mm256_add_epi32(_mm256_add_epi32(morsel_load_sums(p), p1), p2);
        const __m256i second = _mm256_sub_epi32(_mm256_sub_epi32(p1, p2), morsel_load_sums(p + 3 * next));
        if (i < 3) add_to(sums, first), add_to(sums + 16, second);
        if (i == 0) continue;
        add_to(sums + down, _mm256_sign_epi32(first, sign)), add_to(sums + down + 16, _mm256_sign_epi32(second, sign));
    }
}

/* ---- results ---- */

/* Sums to what they are of: a quarter, and where they start. */
static void finish_sums(int32_t *sums, const struct morsel_part256 *part, size_t pixels) {
    for (size_t at = 0; at < pixels * 16; at += 8) {
        const __m256i y = _mm256_srai_epi32(morsel_load_sums(sums + at), 2);
        _mm256_storeu_si256((__m256i *)(void *)(sums + at), _mm256_add_epi32(y, part->start[at / 8 % 2]));
    }
}

/* Pixels are stored in pairs: a column that is not there has the sums of the one before. */
static SMALL void store_block(const struct run *r, uint32_t block, int32_t *sums) {
    struct morsel_part256 part;
    morsel_take_part_avx2(&part, r->job, NULL, block, r->pixel, 7, NULL);
    const uint32_t out_w = r->job->args->window.out_w, apart = r->job->args->window.dilation_w;
    const size_t step = part.y_step;
    uint8_t *y = part.y;
    part.y_step *= apart;
    finish_sums(sums, &part, r->count * (size_t)4);
    for (uint32_t t = 0, now; t < r->count; t += now) {
        const uint32_t tile = r->first + t, x = tile % r->across, left = r->count - t;
        struct corner at = find_corner(r, tile);
        now = r->across - x < left ? r->across - x : left;
        const uint32_t most = (out_w + apart - 1 - at.column) / apart, pixels = now * 2 < most ? now * 2 : most;
        for (uint32_t lower = 0; lower < 2; lower++, at.row += apart) {
            int32_t *of = sums + (lower * r->count + t) * (size_t)32;
            if (pixels % 2) memcpy(of + pixels * 16, of + (pixels - 1) * 16, 64);
            part.y = y + ((size_t)at.row * out_w + at.column) * step;
            morsel_store_words_avx2(&part, of, 0, pixels, pixels);
        }
    }
}

/* ---- runs ---- */

static SMALL void run_blocks(struct run *r, uint32_t block, uint32_t blocks) {
    const struct morsel_conv_job *job = r->job;
    const uint32_t in_c = job->args->window.in_c;
    const size_t each = r->count * (size_t)64;
    memset(r->sums, 0, blocks * each * sizeof *r->sums);
    for (r->from = 0; r->from < in_c; r->from += r->channels) {
        r->channels = in_c - r->from < r->most ? in_c - r->from : r->most;
        for (uint32_t i = 0; i < 4; i++) {
            take_inputs(r, i);
            for (uint32_t b = 0; b < blocks; b++) {
                const int8_t *w = job->weights + (block + b) * job->block_bytes + r->from * (size_t)16;
                take_weights(r, w, i);
                multiply(r, w + job->block_bytes + i * 4 * r->column, job->outs - (block + b) * 16 > 8);
                add_products(r->sums + b * each, r, i);
            }
        }
    }
    for (uint32_t b = 0; b < blocks; b++) store_block(r, block + b, r->sums + b * each);
}

/* How the room is shared: the sums take what they need, a piece of the channels the rest. */
static SMALL void share_room(struct run *r, uint32_t blocks) {
    const uint32_t in_c = r->job->args->window.in_c, tiles = tiles_of(r);
    const uint32_t most = (r->bytes - 256 * (r->count * blocks + tiles)) / (128 + 8 * tiles) / 16 * 16, pieces = (in_c + most - 1) / most;
    r->most = ((in_c + pieces - 1) / pieces + 15) / 16 * 16;
    r->weights = (int16_t *)(void *)r->room;
    r->inputs = (uint16_t *)r->weights + r->most * (size_t)64;
    r->products = (int32_t *)(void *)(r->inputs + r->most * (size_t)4 * tiles);
    r->sums = r->products + tiles * (size_t)64;
}

int morsel_winograd_takes_avx2(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return w->kernel_h == 3 && w->kernel_w == 3 && w->stride_h == 1 && w->stride_w == 1 && w->dilation_h == w->dilation_w &&
           3 * (uint64_t)w->dilation_w <= w->out_w && a->groups == 1 && w->out_w * w->out_h > FEW && w->in_c % 16 == 0 &&
           (w->in_c >= LEAST || w->out_c >= LEAST_OUTS) && w->in_c <= MOST && !a->channels.weight_zero && a->room.bytes >= LEAST_ROOM;
}

/* A pixel of padding, and the rest. */
static void take_room(struct run *r, const struct morsel_conv_args *a) {
    const uint32_t pixel = (a->window.in_c + 63) / 64 * 64;
    memset(a->room.data, (int)((uint32_t)a->x.qparams.zero ^ a->x.qparams.sign_flip), a->window.in_c);
    r->zeros = a->room.data;
    r->room = a->room.data + pixel;
    r->bytes = a->room.bytes - pixel;
    if (r->bytes > MOST_ROOM && a->window.in_c > FEW_CHANNELS) r->bytes = MOST_ROOM;
}

static int has_few_channels(const struct run *r) {
    return r->bytes >= MOST_ROOM && r->job->args->window.in_c <= FEW_CHANNELS;
}

/* How many tiles are in work at once: of many channels fewer, for their pieces to be longer. */
static uint32_t tiles_at_once(const struct run *r) {
    return has_few_channels(r) ? 32 : 16;
}

/* Those of all blocks in work: as many as leave pieces that are worth it, and of few channels all of them. */
static uint32_t tiles_of_blocks(const struct run *r) {
    if (has_few_channels(r)) return (r->bytes - 32768) / 256;
    return r->bytes >= MOST_ROOM ? 96 : r->bytes >= 36864 ? 64 : 32;
}

SMALL void morsel_winograd_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct morsel_conv_args less = *a;
    less.x.qparams.zero -= 128;
    const struct morsel_conv_job job = morsel_conv_job_of(&less, 0, NULL, NULL, 0);
    struct run r = {.job = &job, .rows = rows, .pixel = (size_t)y * w->out_w};
    r.column = (size_t)job.quads * 64 / 3;
    r.across = ((w->out_w + w->dilation_w - 1) / w->dilation_w + 1) / 2;
    take_room(&r, a);
    const uint32_t tiles = r.across * w->dilation_w * (n / 2), size = tiles_at_once(&r), runs = (tiles + size - 1) / size;
    for (; r.first < tiles; r.first += r.count) {
        r.count = (tiles + runs - 1) / runs;
        if (r.count > tiles - r.first) r.count = tiles - r.first;
        const uint32_t fit = tiles_of_blocks(&r) / r.count, most = fit < BLOCKS ? fit : BLOCKS;
        for (uint32_t block = 0, blocks; block < job.end; block += blocks) {
            blocks = job.end - block < most ? job.end - block : most;
            share_room(&r, blocks);
            run_blocks(&r, block, blocks);
        }
    }
    _mm256_zeroupper();
}
