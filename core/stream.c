/* SPDX-License-Identifier: MIT */
/*
 * A group of steps in turns of some rows each; core/format.h says which rows, core/check_group.c why every ring holds what is read.
 *
 * With threads the rows of the last step are cut into bands, one for each task. A band makes all that it needs by itself, in rings and
 * scratch of its own: those of the first band lie where the plan put them, those of the others behind the planned arena. A row that two
 * bands need is made twice. Where the output lies over an input, rows of that which are overwritten before the last band has read them are
 * copied before; the copy stands first behind the planned arena.
 */
#include "stream.h"

#include <string.h>

#define NO_STAGE 0xffffffffu
#define LEAST_ROWS 3u /* of a band */

/* A step within a band. */
struct stage {
    const struct morsel_call *call;
    const struct morsel_blob_step *step;
    struct morsel_held y;       /* where its rows go */
    struct morsel_held x[2];    /* where it finds its inputs */
    uint8_t *outside;           /* what it reads outside the picture, or NULL */
    uint32_t writer[2];         /* stages that write them, or NO_STAGE */
    uint32_t begin, end;        /* rows that the band needs */
};

/* Rows from .. to of an input that are read from their copy. */
struct copied {
    const struct morsel_blob_tensor *x; /* NULL: no input is overwritten */
    uint32_t from, to;
};

struct band {
    const struct morsel_session *session;
    const struct morsel_blob_group *group;
    const struct morsel_trace *trace;
    const struct copied *copied;
    struct stage stages[MORSEL_FORMAT_MAX_GROUP];
};

static uint32_t aligned(uint32_t bytes) {
    return (bytes + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

static const struct morsel_blob_tensor *group_output(const struct morsel_model *model, const struct morsel_blob_group *g) {
    return morsel_blob_output(model, morsel_blob_step(model, g->first_step + g->step_count - 1));
}

/* The input that the group's output is written over; NULL: none. */
static const struct morsel_blob_tensor *covered_input(const struct morsel_model *model, const struct morsel_blob_group *g) {
    const struct morsel_blob_tensor *y = group_output(model, g);
    for (uint32_t i = g->first_step; i < g->first_step + g->step_count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        for (uint32_t n = 0; n < step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(model, step, n);
            if (!x->place && !x->ring_rows && x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes) return x;
        }
    }
    return NULL;
}

uint32_t morsel_copy_bytes(const struct morsel_model *model) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < morsel_blob_header(model)->groups.count; i++) {
        const struct morsel_blob_tensor *x = covered_input(model, morsel_blob_group(model, i));
        if (x && aligned(x->bytes) > most) most = aligned(x->bytes);
    }
    return most;
}

uint32_t morsel_band_bytes(const struct morsel_model *model) {
    uint32_t most = 0, bytes = 0; /* rings and scratch of a group do not overlap in the arena, so their sum is below 2^31 */
    for (uint32_t i = 0; i < morsel_blob_header(model)->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
        if (!i || !step->group || step->group != morsel_blob_step(model, i - 1)->group) bytes = 0;
        bytes += aligned(step->scratch_bytes) + (y->ring_rows ? aligned(morsel_slice_bytes(y)) : 0);
        if (bytes > most) most = bytes;
    }
    return most;
}

uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index) {
    return session->arena + morsel_blob_header(session->model)->arena_bytes + session->copy_bytes +
           (size_t)(index - 1) * session->band_bytes;
}

/* Rows of stage `s` that are made once the group has reached row t of its last output. */
static int32_t rows_at(const struct stage *s, int32_t t) {
    int32_t rows = (int32_t)s->step->stage_scale * t + s->step->stage_lead;
    if (rows < (int32_t)s->begin) return (int32_t)s->begin;
    return rows < (int32_t)s->end ? rows : (int32_t)s->end;
}

/* --- Where everything lies --- */

static uint32_t writer_of(const struct morsel_blob_group *g, const struct morsel_blob_tensor *x) {
    return x->ring_rows ? x->first_step - g->first_step : NO_STAGE;
}

static void name_stages(struct band *b) {
    const struct morsel_model *model = b->session->model;
    for (uint32_t i = 0; i < b->group->step_count; i++) {
        struct stage *s = &b->stages[i];
        s->call = morsel_call_at(b->session, b->group->first_step + i);
        s->step = morsel_blob_step(model, b->group->first_step + i);
        for (uint32_t n = 0; n < s->step->input_count; n++) s->writer[n] = writer_of(b->group, morsel_blob_input(model, s->step, n));
    }
}

/* And fills what stands for all rows outside the pictures. */
static void find_places(struct band *b, uint32_t index) {
    const struct morsel_session *session = b->session;
    const struct morsel_model *model = session->model;
    uint8_t *own = index ? morsel_band_memory(session, index) : NULL;
    name_stages(b);
    for (uint32_t i = 0; i < b->group->step_count; i++) {
        struct stage *s = &b->stages[i];
        const struct morsel_blob_tensor *y = morsel_blob_output(model, s->step);
        s->y.rows = y->ring_rows ? y->ring_rows : y->dims[1];
        s->y.data = session->arena + y->offset;
        s->y.from = s->y.to = 0;
        if (y->ring_rows && index) {
            s->y.data = own;
            own += aligned(morsel_slice_bytes(y));
        }
        s->outside = morsel_call_outside(s->call);
        if (s->outside && index) {
            s->outside = own;
            own += aligned(s->step->scratch_bytes);
        }
        morsel_fill_outside(s->call, s->outside);
    }
}

/* Image `image` of what the group reads and writes as a whole; rings have room for one at a time. */
static void point_at_image(struct band *b, uint32_t image) {
    const struct morsel_model *model = b->session->model;
    struct stage *last = &b->stages[b->group->step_count - 1];
    for (struct stage *s = b->stages; s <= last; s++) {
        for (uint32_t n = 0; n < s->step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(model, s->step, n);
            if (s->writer[n] != NO_STAGE) s->x[n] = b->stages[s->writer[n]].y;
            else {
                const uint8_t *data = x->place ? morsel_blob_at(model, x->offset) : b->session->arena + x->offset;
                s->x[n].data = (uint8_t *)(uintptr_t)data + (size_t)image * x->dims[1] * morsel_row_bytes(x);
                s->x[n].rows = x->dims[1];
                s->x[n].from = s->x[n].to = 0;
                if (x != b->copied->x) continue;
                s->x[n].from = b->copied->from;
                s->x[n].to = b->copied->to;
                s->x[n].copy = b->session->arena + morsel_blob_header(model)->arena_bytes;
            }
        }
    }
    const struct morsel_blob_tensor *y = morsel_blob_output(model, last->step);
    last->y.data = b->session->arena + y->offset + (size_t)image * y->dims[1] * morsel_row_bytes(y);
}

/* --- Which rows --- */

/* The first input row that row y reads. */
static uint32_t first_read(const struct stage *s, uint32_t y) {
    struct morsel_reach r = morsel_call_reach(s->call);
    return y * r.stride > r.pad ? y * r.stride - r.pad : 0;
}

/* One behind the last that the rows before y read. */
static uint32_t end_read(const struct stage *s, uint32_t y, uint32_t height) {
    struct morsel_reach r = morsel_call_reach(s->call);
    uint32_t end = y ? (y - 1) * r.stride + r.window : 0;
    end = end > r.pad ? end - r.pad : 0;
    return end < height ? end : height;
}

/* The rows of every stage that rows begin .. end of the last one need. */
static void find_rows(struct band *b, uint32_t begin, uint32_t end) {
    uint32_t count = b->group->step_count;
    for (uint32_t i = 0; i < count; i++) b->stages[i].begin = morsel_blob_output(b->session->model, b->stages[i].step)->dims[1];
    b->stages[count - 1].begin = begin;
    for (uint32_t i = count; i-- > 0;) {
        struct stage *s = &b->stages[i];
        uint32_t height = morsel_blob_output(b->session->model, s->step)->dims[1];
        int64_t most = (int64_t)s->step->stage_scale * end + s->step->stage_lead;
        s->end = most > height ? height : most < 0 ? 0 : (uint32_t)most;
        if (s->begin > s->end) s->begin = s->end;
        uint32_t first = first_read(s, s->begin);
        for (uint32_t n = 0; n < s->step->input_count; n++)
            if (s->writer[n] != NO_STAGE && first < b->stages[s->writer[n]].begin) b->stages[s->writer[n]].begin = first;
    }
}

/* The latest t, a whole number of strips before `begin`, at which no stage has made a row. Nothing here leaves int32, as scale * end +
 * lead, which is no less than the stage's first row, does not (core/check_group.c). */
static int32_t find_start(const struct band *b, uint32_t begin) {
    int32_t start = (int32_t)begin, strip = (int32_t)b->group->strip_rows, least = start;
    for (uint32_t i = 0; i < b->group->step_count; i++) {
        const struct stage *s = &b->stages[i];
        int32_t rows = (int32_t)s->begin - s->step->stage_lead, scale = (int32_t)s->step->stage_scale;
        int32_t t = rows / scale - (rows % scale < 0);
        least = t < least ? t : least;
    }
    return start - (start - least + strip - 1) / strip * strip;
}

/* --- Making rows --- */

static void run_band(struct band *b, uint32_t image, uint32_t begin, uint32_t end) {
    int32_t strip = (int32_t)b->group->strip_rows;
    point_at_image(b, image);
    find_rows(b, begin, end);
    for (int32_t t = find_start(b, begin); t < (int32_t)end; t += strip) {
        for (uint32_t i = 0; i < b->group->step_count; i++) {
            const struct stage *s = &b->stages[i];
            uint32_t from = (uint32_t)rows_at(s, t), to = (uint32_t)rows_at(s, t + strip);
            if (from == to) continue;
            morsel_call_rows(s->call, s->x, &s->y, s->outside, from, to);
            if (b->trace) b->trace->done(b->trace->context, b->group->first_step + i);
        }
    }
}

struct cut {
    const struct morsel_session *session;
    const struct morsel_blob_group *group;
    const struct morsel_trace *trace;
    struct copied copied;
    uint32_t tasks, images, height;
};

/* Band `index` of the rows of all images, one image after the other. */
static void run_task(void *arg, uint32_t index) {
    const struct cut *cut = arg;
    struct band band;
    band.session = cut->session;
    band.group = cut->group;
    band.trace = cut->trace;
    band.copied = &cut->copied;
    find_places(&band, index);
    uint32_t total = cut->images * cut->height; /* no more than the output has bytes */
    uint32_t place = cut->tasks - 1 - index; /* core/run.c says why */
    uint32_t at = morsel_share_from(total, cut->tasks, place), end = morsel_share_from(total, cut->tasks, place + 1);
    while (at < end) {
        uint32_t image = at / cut->height, row = at % cut->height, left = end - at;
        uint32_t rows = left < cut->height - row ? left : cut->height - row;
        run_band(&band, image, row, row + rows);
        at += rows;
    }
}

/* Shorter bands would make too many rows twice. */
static uint32_t count_tasks(const struct morsel_session *session, const struct morsel_blob_tensor *y) {
    uint32_t most = y->dims[0] * y->dims[1] / LEAST_ROWS;
    return session->bands < most ? session->bands : most ? most : 1;
}

/* --- An input that is overwritten --- */

/* Rows begin .. end of y are written before rows `first` .. `last` of x are read: those that they overwrite are to be copied. */
static void copy_overwritten(struct copied *c, const struct morsel_blob_tensor *y, uint32_t begin, uint32_t end, uint32_t first,
                             uint32_t last) {
    uint32_t row = morsel_row_bytes(c->x), y_row = morsel_row_bytes(y);
    uint32_t low = y->offset + begin * y_row, high = y->offset + end * y_row;
    low = low > c->x->offset ? (low - c->x->offset) / row : 0;
    high = high > c->x->offset ? (high - c->x->offset + row - 1) / row : 0;
    if (low < first) low = first;
    if (high > last) high = last;
    if (begin >= end || low >= high) return;
    if (c->from >= c->to) c->from = low, c->to = high;
    if (low < c->from) c->from = low;
    if (high > c->to) c->to = high;
}

/* What a stage of a band reads of x after other bands may have written, and after its own band has. */
static void copy_for_stage(struct copied *c, const struct band *b, const struct stage *s, uint32_t begin, uint32_t end) {
    const struct morsel_blob_tensor *y = group_output(b->session->model, b->group);
    uint32_t height = y->dims[1], last = end_read(s, s->end, c->x->dims[1]), strip = b->group->strip_rows;
    copy_overwritten(c, y, 0, begin, first_read(s, s->begin), last);
    copy_overwritten(c, y, end, height, first_read(s, s->begin), last);
    for (int32_t t = find_start(b, begin) + (int32_t)strip; t < (int32_t)end; t += (int32_t)strip)
        if (t > (int32_t)begin) copy_overwritten(c, y, begin, (uint32_t)t, first_read(s, (uint32_t)rows_at(s, t)), last);
}

static void find_copied(struct cut *cut) {
    const struct morsel_model *model = cut->session->model;
    struct band band;
    cut->copied.x = covered_input(model, cut->group);
    if (!cut->copied.x) return;
    band.session = cut->session;
    band.group = cut->group;
    for (uint32_t i = 0; i < cut->tasks; i++) {
        uint32_t begin = morsel_share_from(cut->height, cut->tasks, i), end = morsel_share_from(cut->height, cut->tasks, i + 1);
        name_stages(&band);
        find_rows(&band, begin, end);
        for (const struct stage *s = band.stages; s < band.stages + cut->group->step_count; s++)
            for (uint32_t n = 0; n < s->step->input_count; n++)
                if (morsel_blob_input(model, s->step, n) == cut->copied.x) copy_for_stage(&cut->copied, &band, s, begin, end);
    }
}

/* A task copies what it will read itself, or nearly: most of it lies in its own core's caches. */
static void copy_task(void *arg, uint32_t index) {
    const struct cut *cut = arg;
    const struct copied *c = &cut->copied;
    uint32_t place = cut->tasks - 1 - index, height = c->x->dims[1];
    uint32_t begin = morsel_share_from(height, cut->tasks, place), end = morsel_share_from(height, cut->tasks, place + 1);
    size_t row = morsel_row_bytes(c->x);
    if (begin < c->from) begin = c->from;
    if (end > c->to) end = c->to;
    if (begin >= end) return;
    memcpy(cut->session->arena + morsel_blob_header(cut->session->model)->arena_bytes + (begin - c->from) * row,
           cut->session->arena + c->x->offset + begin * row, (end - begin) * row);
}

void morsel_run_group(const struct morsel_session *session, uint32_t index, const struct morsel_trace *trace) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_group *g = morsel_blob_group(model, index);
    const struct morsel_blob_tensor *y = group_output(model, g);
    struct cut cut = {session, g, trace, {NULL, 0, 0}, count_tasks(session, y), y->dims[0], y->dims[1]};
    if (cut.tasks < 2) {
        run_task(&cut, 0);
        return;
    }
    find_copied(&cut);
    if (cut.copied.from < cut.copied.to)
        session->options.parallel_for(session->options.parallel_ctx, cut.tasks, copy_task, &cut);
    session->options.parallel_for(session->options.parallel_ctx, cut.tasks, run_task, &cut);
}
