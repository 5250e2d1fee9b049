/* SPDX-License-Identifier: MIT */
/*
 * A group of steps in turns of some rows each; core/format.h says which rows, core/check_group.c why every ring holds what is read.
 *
 * With threads the rows of the last step are cut into bands, one for each task. A band makes all that it needs by itself, in rings and
 * scratch of its own: those of the first band lie where the plan put them, those of the others behind the planned arena. A row that two
 * bands need is made twice. Where the plan has the output lie over an input, it lies in the spare memory instead (core/chain.c); where
 * that cannot be, there is one band.
 */
#include "stream.h"

#include <string.h>

#define NO_STAGE 0xffffffffu
#define LEAST_ROWS 3u /* of a band */

/* A step within a band. */
struct stage {
    const struct morsel_call *call;
    const struct morsel_blob_step *step;
    struct morsel_held y;    /* where its rows go */
    struct morsel_held x[2]; /* where it finds its inputs */
    uint8_t *padding_row;    /* what it reads outside the picture, or NULL */
    uint32_t writer[2];      /* stages that write them, or NO_STAGE */
    uint32_t begin, end;     /* rows that the band needs */
};

struct band {
    const struct morsel_session *session;
    const struct morsel_blob_group *group;
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
    return morsel_covered_input(model, g->first_step, g->first_step + g->step_count - 1, group_output(model, g), NULL);
}

int morsel_group_covers(const struct morsel_session *session, uint32_t index) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_group *g = morsel_blob_group(model, index);
    const struct morsel_blob_tensor *x = covered_input(model, g), *y = group_output(model, g);
    return x && morsel_tensor_is_moved(session, x) == morsel_tensor_is_moved(session, y);
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

uint32_t morsel_spare_bytes(const struct morsel_model *model) {
    uint32_t most = morsel_band_bytes(model);
    for (uint32_t i = 0; i < morsel_blob_header(model)->groups.count; i++) {
        const struct morsel_blob_group *g = morsel_blob_group(model, i);
        if (covered_input(model, g) && aligned(group_output(model, g)->bytes) > most) most = aligned(group_output(model, g)->bytes);
    }
    return most;
}

uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index) {
    return session->arena + morsel_blob_header(session->model)->arena_bytes + session->spare_bytes +
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
        s->y.first = 0;
        if (y->ring_rows && index) {
            s->y.data = own;
            own += aligned(morsel_slice_bytes(y));
        }
        s->padding_row = morsel_call_padding_row(s->call);
        if (s->padding_row && index) {
            s->padding_row = own;
            own += aligned(s->step->scratch_bytes);
        }
        morsel_fill_padding_row(s->call, s->padding_row);
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
                s->x[n].data = morsel_tensor_place(model, b->session->arena, x) + (size_t)image * x->dims[1] * morsel_row_bytes(x);
                s->x[n].rows = x->dims[1];
                s->x[n].first = 0;
            }
        }
    }
    const struct morsel_blob_tensor *y = morsel_blob_output(model, last->step);
    last->y.data = morsel_tensor_place(model, b->session->arena, y) + (size_t)image * y->dims[1] * morsel_row_bytes(y);
}

/* --- Which rows --- */

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
        uint32_t first = morsel_call_first(s->call, s->begin);
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
            morsel_call_rows(s->call, s->x, &s->y, s->padding_row, from, to);
            if (b->session->watch) morsel_watch_tell(b->session, b->group->first_step + i, 0);
        }
    }
}

struct cut {
    const struct morsel_session *session;
    const struct morsel_blob_group *group;
    uint32_t tasks, images, height;
};

/* Band `index` of the rows of all images, one image after the other. */
static void run_task(void *arg, uint32_t index) {
    const struct cut *cut = arg;
    struct band band;
    band.session = cut->session;
    band.group = cut->group;
    find_places(&band, index);
    uint32_t total = cut->images * cut->height; /* no more than the output has bytes */
    uint32_t place = cut->tasks - 1 - index;    /* core/run.c says why */
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
    uint32_t most = session->watch ? 1 : y->dims[0] * y->dims[1] / LEAST_ROWS;
    return session->bands < most ? session->bands : most ? most : 1;
}

void morsel_run_group(const struct morsel_runner *runner, uint32_t index) {
    const struct morsel_session *session = runner->session;
    const struct morsel_model *model = session->model;
    const struct morsel_blob_group *g = morsel_blob_group(model, index);
    const struct morsel_blob_tensor *y = group_output(model, g);
    struct cut cut = {session, g, morsel_group_covers(session, index) ? 1 : count_tasks(session, y), y->dims[0], y->dims[1]};
    morsel_run_tasks(runner, cut.tasks, run_task, &cut);
}
