/* SPDX-License-Identifier: MIT */
/*
 * Bytes as calls of the library, in any order and with any arguments that morsel.h gives an error for: models that are not open, sessions
 * of other models, NULLs, sizes too small, memory at odd places. What each call has to return is worked out beside it, from the header's
 * words alone. Two networks take turns in the same arenas. Links the library, the tool's files and tests/unit/support.
 *
 *     fuzz_calls [--runs N] [--seconds N] [--seed N]        (driver.c has the rest of the command line)
 *
 * What the header leaves to the caller is kept to: a session's arena is nobody else's while it runs, views are those of open sessions.
 */
#include "core/blob.h"
#include "core/checksum.h"
#include "fuzz.h"
#include "seed_stream.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOBS = 24, SLOTS = 3, ARENA = 1 << 17, BLOB_MOST = 1 << 15, FLOATS = 1 << 14, SCRATCH = 1 << 16, SIDE = 20, WORK_MOST = 1 << 18 };

static struct {
    _Alignas(MORSEL_ALIGNMENT) uint8_t bytes[BLOB_MOST + MORSEL_ALIGNMENT];
    size_t size;
} blobs[BLOBS];

static _Alignas(MORSEL_ALIGNMENT) uint8_t arenas[SLOTS][ARENA];
static uint8_t rgb[SIDE * SIDE * 3], scratch[SCRATCH];
static float values[FLOATS];

/* What the caller knows of its own objects. */
struct world {
    struct morsel_model models[SLOTS];
    struct morsel_session sessions[SLOTS];
    int open[SLOTS];  /* models */
    int ready[SLOTS]; /* sessions: they may run */
    int of[SLOTS];    /* the model of a session */
    int lies[SLOTS];  /* in which arena a session lies */
    const uint8_t *at, *end;
};

static unsigned long long ran, asked; /* runs, and all calls */

int fuzz_report(unsigned long long runs) {
    printf("   %llu rounds of calls, %llu runs among them\n", asked, ran);
    return runs < 1000 || ran > runs;
}

static uint32_t draw(struct world *w, uint32_t most) {
    uint32_t value = 0;
    for (int i = most && most <= 256; i < 2; i++) value = value << 8 | (w->at < w->end ? *w->at++ : 0);
    return most ? value % most : value;
}

static void expect(enum morsel_error got, enum morsel_error wanted, const char *call) {
    if (got == wanted) return;
    fprintf(stderr, "%s: %s, and not %s\n", call, morsel_error_text(got), morsel_error_text(wanted));
    abort();
}

/* Sound networks of which runs are short, made once. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static uint8_t bytes[DATA_START + SEED_DATA];
    struct morsel_model model;
    for (uint64_t n = 0, seed = 1; n < BLOBS; seed++) {
        size_t size = seed_any_blob(seed, bytes, sizeof bytes);
        if (!size || size > BLOB_MOST) continue;
        memcpy(blobs[n].bytes, bytes, size);
        blobs[n].size = size;
        if (!morsel_open(&model, blobs[n].bytes, size, 0) && morsel_arena_bytes_for(&model, 4) <= ARENA && morsel_work(&model) < WORK_MOST)
            n++;
    }
    return 0;
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    size_t size = 40 + seed % 500;
    for (size_t i = 0; i < size && i < capacity; i++) bytes[i] = (uint8_t)fuzz_random(&seed);
    return size;
}

/* --- Models ---------------------------------------------------------------------------------------------------------- */

static void forget_sessions(struct world *w, uint32_t model) {
    for (int s = 0; s < SLOTS; s++)
        if (w->of[s] == (int)model) w->ready[s] = 0;
}

static void open_model(struct world *w) {
    uint32_t slot = draw(w, SLOTS), blob = draw(w, BLOBS), way = draw(w, 10), less = draw(w, 400);
    const uint8_t *bytes = blobs[blob].bytes;
    size_t size = blobs[blob].size;
    struct morsel_model *model = &w->models[slot];
    if (way == 0) {
        expect(morsel_open(NULL, bytes, size, 0), MORSEL_ERR_ARGUMENT, "open without a model");
        return;
    }
    forget_sessions(w, slot);
    w->open[slot] = 0;
    switch (way) {
    case 1: expect(morsel_open(model, NULL, size, 0), MORSEL_ERR_ARGUMENT, "open without a blob"); return;
    case 2: expect(morsel_open(model, bytes, size, 2u + (draw(w, 0) & ~1u)), MORSEL_ERR_ARGUMENT, "open with an unknown flag"); return;
    case 3: expect(morsel_open(model, bytes, size - 1 - less % size, 0), MORSEL_ERR_TRUNCATED, "open of a part"); return;
    case 4: expect(morsel_open(model, bytes + 1 + less % 63, size, 0), MORSEL_ERR_ALIGNMENT, "open at an odd place"); return;
    default: expect(morsel_open(model, bytes, size + less, way == 5), MORSEL_OK, "open"); w->open[slot] = 1;
    }
}

static int name_is_one(const struct morsel_model *model) {
    return *morsel_network_name(model) == 0 || strlen(morsel_network_name(model)) < 4096;
}

static void ask_model(struct world *w) {
    uint32_t slot = draw(w, SLOTS), tasks = draw(w, 6), index = draw(w, 3);
    const struct morsel_model *model = draw(w, 8) ? &w->models[slot] : NULL;
    int open = model && w->open[slot];
    uint32_t bytes = morsel_arena_bytes(model), labels = morsel_label_count(model);
    int sound = (bytes > 0) == open && (morsel_work(model) > 0) == open && (morsel_output_count(model) > 0) == open &&
                (open || (!morsel_input_count(model) && !labels)) && morsel_arena_bytes_for(model, tasks) >= bytes &&
                (morsel_label(model, index) != NULL) == (index < labels) && name_is_one(model) &&
                (morsel_metadata_at(model, index, NULL) != NULL) == (index < morsel_metadata_count(model));
    if (sound) return;
    fprintf(stderr, "what a model that is %sopen says of itself\n", open ? "" : "not ");
    abort();
}

/* --- Sessions -------------------------------------------------------------------------------------------------------- */

static void in_turn(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) fn(arg, i);
}

static void open_session(struct world *w) {
    uint32_t slot = draw(w, SLOTS), model = draw(w, SLOTS), arena = draw(w, SLOTS), way = draw(w, 12), less = draw(w, 0);
    struct morsel_options options = {.size = sizeof options,
                                     .tasks = draw(w, 9),
                                     .parallel_for = draw(w, 2) ? in_turn : NULL,
                                     .cpu_mask = draw(w, 2) ? MORSEL_CPU_C : draw(w, 0) << 8};
    struct morsel_session *session = &w->sessions[slot];
    const struct morsel_model *of = &w->models[model];
    size_t need = morsel_arena_bytes(of);
    if (way == 0) {
        expect(morsel_session_open(NULL, of, arenas[arena], ARENA, &options), MORSEL_ERR_ARGUMENT, "session_open without a session");
        return;
    }
    w->ready[slot] = 0;
    if (way == 1 || !w->open[model]) {
        expect(morsel_session_open(session, way == 1 ? NULL : of, arenas[arena], ARENA, &options), MORSEL_ERR_ARGUMENT,
               "session_open of no open model");
        return;
    }
    switch (way) {
    case 2: expect(morsel_session_open(session, of, NULL, ARENA, &options), MORSEL_ERR_ARGUMENT, "session_open without an arena"); return;
    case 3:
        expect(morsel_session_open(session, of, arenas[arena] + 1 + less % 63, ARENA - 64, &options), MORSEL_ERR_ALIGNMENT,
               "session_open at an odd place");
        return;
    case 4:
        expect(morsel_session_open(session, of, arenas[arena], need - 1 - less % need, &options), MORSEL_ERR_ARENA,
               "session_open in less than it needs");
        return;
    case 5:
        options.size = less % 4;
        expect(morsel_session_open(session, of, arenas[arena], ARENA, &options), MORSEL_ERR_OPTIONS,
               "session_open with options of no size");
        return;
    case 6:
        options.flags = 1 + less;
        expect(morsel_session_open(session, of, arenas[arena], ARENA, &options), MORSEL_ERR_OPTIONS, "session_open with an unknown flag");
        return;
    default: break;
    }
    size_t bytes = way == 7 ? need : need + less % (ARENA - need + 1);
    expect(morsel_session_open(session, of, arenas[arena], bytes, way == 8 ? NULL : &options), MORSEL_OK, "session_open");
    for (int other = 0; other < SLOTS; other++) /* whose arena this was */
        if (w->lies[other] == (int)arena) w->ready[other] = 0;
    w->ready[slot] = 1;
    w->of[slot] = (int)model;
    w->lies[slot] = (int)arena;
}

/* Whether the session may be asked at all: the model of one that was open still is. */
static int may_be_asked(const struct world *w, uint32_t slot) {
    return w->ready[slot] || !w->sessions[slot].model;
}

static int inside(const struct world *w, uint32_t slot, const struct morsel_view *view) {
    const uint8_t *data = view->data, *arena = arenas[w->lies[slot]];
    return data >= arena && data + view->bytes <= arena + ARENA && morsel_view_elements(view);
}

/* A view of a session that is ready, or what says that there is none. */
static int any_view(struct world *w, uint32_t slot, struct morsel_view *view) {
    uint32_t index = draw(w, 3), output = draw(w, 2), way = draw(w, 8);
    const struct morsel_session *session = &w->sessions[slot];
    const struct morsel_model *model = &w->models[w->of[slot]];
    if (!may_be_asked(w, slot)) return 0;
    uint32_t count = !w->ready[slot] ? 0 : output ? morsel_output_count(model) : morsel_input_count(model);
    enum morsel_error wanted = way && index < count ? MORSEL_OK : MORSEL_ERR_ARGUMENT;
    expect(output ? morsel_output(way ? session : NULL, index, view) : morsel_input(way ? session : NULL, index, view), wanted, "a view");
    if (wanted == MORSEL_OK && !inside(w, slot, view)) abort();
    return wanted == MORSEL_OK;
}

static void view_by_name(struct world *w) {
    static const char *const none[] = {"", NULL, "no such name", "\x80\xff"};
    uint32_t slot = draw(w, SLOTS);
    struct morsel_view view;
    if (!may_be_asked(w, slot)) return;
    expect(morsel_input_named(&w->sessions[slot], none[draw(w, 4)], &view), MORSEL_ERR_ARGUMENT, "input_named");
    expect(morsel_output_named(&w->sessions[slot], none[draw(w, 4)], &view), MORSEL_ERR_ARGUMENT, "output_named");
}

static void count_call(void *calls, const struct morsel_step *step) {
    *(uint32_t *)calls += step->name != NULL;
}

static void run_session(struct world *w) {
    static uint32_t calls;
    uint32_t slot = draw(w, SLOTS), way = draw(w, 8);
    struct morsel_session *session = &w->sessions[slot];
    struct morsel_view view;
    expect(morsel_run(NULL), MORSEL_ERR_ARGUMENT, "run of no session");
    if (!may_be_asked(w, slot)) return;
    if (!w->ready[slot]) {
        expect(morsel_run(session), MORSEL_ERR_ARGUMENT, "run of a session that is not open");
        expect(morsel_session_watch(session, count_call, &calls), MORSEL_ERR_ARGUMENT, "watch of the same");
        return;
    }
    for (uint32_t i = 0; way && !morsel_input(session, i, &view); i++) memset(view.data, (int)draw(w, 256), view.bytes);
    if (way == 1) expect(morsel_session_watch(session, count_call, &calls), MORSEL_OK, "watch");
    expect(morsel_run(session), MORSEL_OK, "run");
    ran++;
    if (way < 3) expect(morsel_session_watch(session, NULL, NULL), MORSEL_OK, "watch no more");
}

static void ask_step(struct world *w) {
    uint32_t slot = draw(w, SLOTS), index = draw(w, 8);
    struct morsel_step step;
    const struct morsel_session *session = &w->sessions[slot];
    expect(morsel_session_step(NULL, index, &step), MORSEL_ERR_ARGUMENT, "step of no session");
    if (!w->ready[slot]) return;
    expect(morsel_session_step(session, index, NULL), MORSEL_ERR_ARGUMENT, "step without room");
    expect(morsel_session_step(session, index, &step), index < session->step_count ? MORSEL_OK : MORSEL_ERR_ARGUMENT, "step");
}

/* --- Numbers and pictures -------------------------------------------------------------------------------------------- */

static void convert_numbers(struct world *w) {
    uint32_t slot = draw(w, SLOTS), way = draw(w, 6), less = draw(w, 0);
    struct morsel_view view;
    if (!any_view(w, slot, &view)) return;
    size_t count = morsel_view_elements(&view);
    if (count > FLOATS) return;
    enum morsel_error wanted = MORSEL_OK;
    struct morsel_view bent = view;
    float *room = values + FLOATS - count; /* ends where the array does */
    if (way == 0) bent.bytes ^= 1u << less % 31, wanted = morsel_view_elements(&bent) ? MORSEL_OK : MORSEL_ERR_ARGUMENT;
    if (way == 0 && wanted == MORSEL_OK) return; /* another view, not ours to read */
    if (way == 1) count -= 1 + less % count, wanted = MORSEL_ERR_CAPACITY;
    if (way == 2) bent.data = NULL, wanted = MORSEL_ERR_ARGUMENT;
    if (way == 3) room = NULL, wanted = MORSEL_ERR_ARGUMENT;
    expect(morsel_dequantize(&bent, room, count), wanted, "dequantize");
    expect(morsel_quantize(&bent, room, count), wanted, "quantize");
    expect(morsel_quantize(NULL, values, FLOATS), MORSEL_ERR_ARGUMENT, "quantize without a view");
}

static void put_picture(struct world *w) {
    uint32_t slot = draw(w, SLOTS), width = draw(w, SIDE) + 1, height = draw(w, SIDE) + 1, way = draw(w, 6), less = draw(w, 0);
    const struct morsel_model *model = &w->models[w->of[slot]];
    struct morsel_view view;
    if (!w->ready[slot] || morsel_input(&w->sessions[slot], 0, &view)) return;
    size_t need = morsel_picture_bytes(model, width, height), bytes = 3 * (size_t)width * height;
    if (!need || need > SCRATCH) return;
    uint8_t *pixels = rgb + sizeof rgb - bytes, *room = scratch + SCRATCH - need;
    if (way == 0)
        expect(morsel_picture(model, pixels, bytes - 1 - less % bytes, width, height, 0, room, need, &view, 0), MORSEL_ERR_CAPACITY,
               "picture of fewer pixels");
    else if (way == 1)
        expect(morsel_picture(NULL, pixels, bytes, width, height, 0, room, need, &view, 0), MORSEL_ERR_ARGUMENT, "picture by no model");
    else if (way == 2)
        expect(morsel_picture(model, pixels, bytes, 0, height, 0, room, need, &view, 0), MORSEL_ERR_ARGUMENT, "picture of no width");
    else if (way == 3)
        expect(morsel_picture(model, pixels, bytes, width, height, 3 * (size_t)width - 1, room, need, &view, 0), MORSEL_ERR_ARGUMENT,
               "picture of narrow rows");
    else (void)morsel_picture(model, pixels, bytes, width, height, 0, room, need, &view, less % 3); /* a rule may want another size */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static void (*const calls[])(struct world *) = {open_model,      open_session,    open_session, run_session,  run_session, run_session,
                                                    run_session,     ask_model,       ask_step,     view_by_name, run_session, open_session,
                                                    convert_numbers, convert_numbers, put_picture,  put_picture};
    static struct world w;
    memset(&w, 0, sizeof w);
    w.at = bytes;
    w.end = bytes + (size < 1024 ? size : 1024);
    for (int s = 0; s < SLOTS; s++) w.lies[s] = -1;
    if (size % 8) /* mostly there is something to begin with */
        for (int s = 0; s < SLOTS; s++) w.open[s] = !morsel_open(&w.models[s], blobs[draw(&w, BLOBS)].bytes, BLOB_MOST, 0);
    for (; w.at < w.end; asked++) calls[draw(&w, sizeof calls / sizeof *calls)](&w);
    return 0;
}
