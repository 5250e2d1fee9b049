/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_group.c: rings hold what is read from them, outputs trail behind inputs, and no row number leaves its type. */
#include "core/check_group.c"
#include "any.h"

#define STAGE MORSEL_FORMAT_MAX_STAGE

/* What check_stage makes sure of a step of a group whose last output has `height` rows; prove_stage shows it. */
static void any_stage(const struct morsel_blob_step *step, const struct morsel_blob_group *g, uint32_t height) {
    prove_assume(step->stage_scale >= 1 & step->stage_scale <= STAGE);
    prove_assume(step->stage_lead >= -(int32_t)STAGE & step->stage_lead <= (int32_t)STAGE);
    prove_assume(g->strip_rows >= 1 & g->strip_rows <= STAGE & height >= 1);
    prove_assume((wide)step->stage_scale * ((wide)height + g->strip_rows) + 2 * STAGE <= INT32_MAX);
}

/* axis_fits of core/check_window.c; without a window all are 1 and 0. */
static void any_reach(const struct morsel_reach *r) {
    prove_assume(r->stride >= 1 & r->stride <= 65536 & r->pad <= 65536 & r->window >= 1 & r->window <= 63 * 65536 + 1);
}

/* Rows of format.h's rule: rows come in time and stay. `made` by the writer, and `from` .. `to` asked for by the reader, in the turn that
 * begins at t; what is below 0 or behind the last row is not in the picture. */
void prove_ring(int32_t t, uint32_t height) {
    struct morsel_blob_group g;
    struct morsel_reach r;
    struct morsel_blob_tensor ring;
    struct morsel_blob_step writer, reader;
    prove_any(&g);
    prove_any(&r);
    prove_any(&ring);
    prove_any(&writer);
    prove_any(&reader);
    any_stage(&writer, &g, height);
    any_stage(&reader, &g, height);
    any_reach(&r);
    prove_assume(ring.ring_rows >= 1 & ring.ring_rows <= ring.dims[1] & ring.dims[1] <= MORSEL_SIZE_LIMIT);
    if (!ring_serves(&g, &r, &ring, &writer, &reader)) return;
    wide first = (wide)reader.stage_scale * t + reader.stage_lead, end = first + (wide)reader.stage_scale * g.strip_rows;
    wide from = r.stride * first - r.pad, to = r.stride * (end - 1) + r.window - r.pad;
    wide made = (wide)writer.stage_scale * ((wide)t + g.strip_rows) + writer.stage_lead;
    prove_assert(writer.stage_scale == (wide)r.stride * reader.stage_scale);
    prove_assert((wide)writer.stage_scale * t == r.stride * ((wide)reader.stage_scale * t));
    prove_assert((wide)writer.stage_scale * g.strip_rows == r.stride * ((wide)reader.stage_scale * g.strip_rows));
    prove_assert(to <= made); /* in time */
    if (ring.ring_rows == ring.dims[1]) return;
    if (first >= 0) prove_assert(from >= made - ring.ring_rows); /* and they stay */
    else prove_assert(made <= ring.ring_rows);                   /* none has gone */
}

/* From stage to stage: if the reader needs no more rows than it has made at `row` of the group's last output, nor does its writer. */
void prove_rows_made(uint32_t row, uint32_t end, uint32_t height) {
    struct morsel_blob_group g;
    struct morsel_reach r;
    struct morsel_blob_tensor ring;
    struct morsel_blob_step writer, reader;
    prove_any(&g);
    prove_any(&r);
    prove_any(&ring);
    prove_any(&writer);
    prove_any(&reader);
    any_stage(&writer, &g, height);
    any_stage(&reader, &g, height);
    any_reach(&r);
    prove_assume(row <= height & end >= 1 & end <= (wide)reader.stage_scale * row + reader.stage_lead);
    if (!ring_serves(&g, &r, &ring, &writer, &reader)) return;
    prove_assert(r.stride * (wide)end <= r.stride * ((wide)reader.stage_scale * row + reader.stage_lead));
    prove_assert((wide)writer.stage_scale * row == r.stride * ((wide)reader.stage_scale * row));
    prove_assert(r.stride * ((wide)end - 1) + r.window - r.pad <= (wide)writer.stage_scale * row + writer.stage_lead);
}

/* No number of trails_at leaves 64 bits, and it says what format.h does. */
void prove_trails_at(uint32_t t) {
    struct morsel_blob_group g;
    struct morsel_reach r;
    struct morsel_blob_tensor x, y;
    struct morsel_blob_step reader;
    prove_any(&g);
    prove_any(&r);
    prove_any(&x);
    prove_any(&y);
    prove_any(&reader);
    any_picture(&x);
    any_picture(&y);
    any_stage(&reader, &g, y.dims[1]);
    any_reach(&r);
    prove_assume(x.offset <= MORSEL_SIZE_LIMIT & (wide)y.offset + y.bytes <= MORSEL_SIZE_LIMIT & t <= y.dims[1]);
    prove_assert((wide)t * morsel_row_bytes(&y) <= (wide)y.dims[0] * y.dims[1] * morsel_row_bytes(&y));
    prove_assert((wide)reader.stage_scale * t <= (wide)reader.stage_scale * y.dims[1]);
    wide next = (wide)r.stride * ((wide)reader.stage_scale * t + reader.stage_lead) - r.pad;
    wide row = morsel_row_bytes(&x), kept = x.offset + (next > 0 ? next : 0) * row, written = y.offset + (wide)t * morsel_row_bytes(&y);
    int trails = trails_at(&r, &reader, &x, &y, t);
    prove_assert(trails == (written <= kept));
}

static wide rows_read(const struct morsel_reach *r, const struct morsel_blob_step *reader, wide t) {
    return (wide)r->stride * (reader->stage_scale * t + reader->stage_lead) - r->pad;
}

/* The halving: what is kept stands still up to `low`, and has grown behind `high`. */
uint32_t found_low; /* `low` when the loop was left */
_Bool keeps_trails_reader_1(const struct morsel_reach *r, const struct morsel_blob_step *reader, uint32_t strip, uint32_t last,
                            uint32_t low, uint32_t high) {
    found_low = low;
    return (low <= high) & (high <= last) & ((low == 0) | (rows_read(r, reader, (wide)low * strip) <= 0)) &
           ((high == last) | (rows_read(r, reader, ((wide)high + 1) * strip) > 0));
}

/* By how much the rows that are still read lie behind what is written at T = m strips, if any are read. */
struct trail {
    wide row, written, rows, offset; /* bytes of a row of x, bytes written and rows read in a strip, where the two begin */
};

static wide room(const struct trail *s, wide m) {
    return s->offset + m * (s->rows * s->row) - m * s->written;
}

/* What passes at three T trails at each: at `m` strips. Where nothing is read yet that is seen at `low`; behind it the room grows or
 * shrinks evenly, and is seen at both ends. */
void prove_trails(uint32_t m) {
    struct morsel_blob_group g;
    struct morsel_reach r;
    struct morsel_blob_tensor x, y;
    struct morsel_blob_step reader;
    prove_any(&g);
    prove_any(&r);
    prove_any(&x);
    prove_any(&y);
    prove_any(&reader);
    any_picture(&x);
    any_picture(&y);
    any_stage(&reader, &g, y.dims[1]);
    any_reach(&r);
    prove_assume(x.offset <= MORSEL_SIZE_LIMIT & (wide)y.offset + y.bytes <= MORSEL_SIZE_LIMIT);
    uint32_t last = (y.dims[1] - 1) / g.strip_rows;
    prove_assume(m >= 1 & m <= last);
    if (!trails_reader(&g, &r, &reader, &x, &y)) return;
    wide low = found_low, next = rows_read(&r, &reader, (wide)m * g.strip_rows), written = (wide)g.strip_rows * morsel_row_bytes(&y);
    if (m <= low) {
        prove_assert(m * written <= low * written);
        prove_assert(y.offset + m * written <= x.offset);
        return;
    }
    prove_assert(low < last);
    struct trail s = {morsel_row_bytes(&x), written, (wide)r.stride * reader.stage_scale * g.strip_rows, 0};
    s.offset = (wide)x.offset - y.offset + ((wide)r.stride * reader.stage_lead - r.pad) * s.row;
    prove_assert(room(&s, low + 1) >= 0);
    prove_assert(room(&s, last) >= 0);
    wide more = (m - (low + 1)) * (s.rows * s.row - written), less = (last - (wide)m) * (s.rows * s.row - written), at, first, behind;
    prove_any(&at);
    prove_any(&first);
    prove_any(&behind);
    prove_assume(at == room(&s, m) & first == room(&s, low + 1) &
                 behind == room(&s, last)); /* names: the solver need not see the products */
    prove_assert(at == first + more);
    prove_assert(at == behind - less);
    if (s.rows * s.row >= written) prove_assert(more >= 0);
    else prove_assert(less <= 0);
    prove_assert(at >= 0);
    prove_assert(y.offset + m * written <= x.offset + (next > 0 ? next : 0) * s.row);
}
