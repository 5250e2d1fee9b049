/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a blob: opened without a look at the checksum, and if that works, run. Half of the seeds are blobs whose steps stream in
 * groups. Links the library, and the tool's files and tests/unit/support/random_net.c for those.
 *
 *     fuzz_open [--runs N] [--seconds N] [--seed N] [BLOB...]        (driver.c has the rest of the command line)
 *
 * Sanitizers see reads and writes outside. Here it is checked that cutting each step into other ranges gives the same bytes, and plain C
 * those of the CPU's own kernels, of blobs that state of their weights what is true.
 */
#include "core/answer.h"
#include "core/blob.h"
#include "core/call.h"
#include "fuzz.h"
#include "seed_stream.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARENA_MOST = 4 << 20, WORK_MOST = 1 << 20, FLOATS_MOST = 1 << 20, BANDS_MOST = 16 << 20, VARIANTS_MOST = 4 };

enum { NOBODYS = 0x55 };

static unsigned long long grouped, lying; /* blobs with groups that were run, and those of them that lie about their weights */
static unsigned long long texts;          /* blobs with a text rule that was used */
static unsigned long long detected;       /* blobs whose outputs became boxes by an answer rule */
static unsigned long long decoded;        /* how often outputs became anything else by one */
static unsigned long long several;        /* variants that were run, behind the first */
static unsigned long long told, dressed;  /* blobs with metadata, and those that were written anew */

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    return seed_any_blob(seed, bytes, capacity);
}

int fuzz_report(unsigned long long runs) {
    printf("   %llu blobs with groups were run, %llu of them lie about their weights; of %llu blobs the text rule was used, of %llu the "
           "answer rule for boxes, for others %llu times; %llu variants were run; %llu blobs had metadata, and %llu were written anew\n",
           grouped, lying, texts, detected, decoded, several, told, dressed);
    return runs < 1000 || (grouped > runs / 50 && lying && texts > runs / 100 && detected > runs / 100 && decoded > runs / 50 &&
                           several > runs / 100 && told > runs / 100 && dressed > runs / 20);
}

static void *aligned(const void *bytes, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, MORSEL_ALIGNMENT, size ? size : 1)) exit(3);
    if (bytes) memcpy(copy, bytes, size);
    return copy;
}

/* A legal blob may ask for hours. */
static int affordable(const struct morsel_model *model) {
    return morsel_work(model) <= WORK_MOST && morsel_arena_bytes(model) <= ARENA_MOST;
}

static void backwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    while (n--) fn(arg, n);
}

/* A mark over all outputs. NaNs count as one: their bits depend on the order of operands. */
static uint64_t mark_outputs(const struct morsel_session *session) {
    uint64_t mark = 2166136261u;
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) {
        for (uint32_t k = 0; k + 4 <= view.bytes && view.type == MORSEL_FLOAT32; k += 4) {
            float value, one = 1;
            memcpy(&value, (uint8_t *)view.data + k, 4);
            if (value != value) memcpy((uint8_t *)view.data + k, &one, 4);
        }
        for (uint32_t k = 0; k < view.bytes; k += 8) {
            uint64_t word = 0;
            memcpy(&word, (uint8_t *)view.data + k, view.bytes - k < 8 ? view.bytes - k : 8);
            mark = (mark ^ word ^ mark >> 29) * 0xbf58476d1ce4e5b9u;
        }
    }
    return mark;
}

/* Through the helpers for numbers and pictures, which trust the views. */
static void use_views(const struct morsel_session *session) {
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) {
        float *values = malloc(4 * (size_t)view.bytes + 4);
        if (!values) exit(3);
        if (view.bytes <= FLOATS_MOST) morsel_dequantize(&view, values, view.bytes);
        free(values);
    }
    for (uint32_t i = 0; !morsel_input(session, i, &view); i++) {
        float *values = calloc((size_t)view.bytes + 1, 4);
        if (!values) exit(3);
        if (view.bytes <= FLOATS_MOST) morsel_quantize(&view, values, view.bytes);
        free(values);
    }
}

static void use_picture(const struct morsel_session *session, uint64_t seed) {
    const struct morsel_model *model = session->model;
    uint32_t width = fuzz_between(&seed, 1, 40), height = fuzz_between(&seed, 1, 40);
    size_t bytes = morsel_picture_bytes(model, width, height);
    struct morsel_view view;
    if (!bytes || bytes > ARENA_MOST || morsel_input(session, fuzz_below(&seed, morsel_input_count(model)), &view)) return;
    uint8_t *rgb = calloc(3 * width, height), *scratch = malloc(bytes);
    if (!rgb || !scratch) exit(3);
    morsel_picture(model, rgb, 3 * width * height, width, height, 0, scratch, bytes, &view, 0);
    free(scratch);
    free(rgb);
}

/* Damaged rules give ids all the same, as many as there is room for. */
static void use_text(const struct morsel_model *model) {
    static const char text[] = "a [b] Abc \xc3\xa9\xff ";
    int32_t ids[40];
    uint32_t count = 0, most = morsel_text_ids(model);
    enum morsel_error error = morsel_text(model, text, sizeof text - 1, ids, 40, &count);
    if ((error == MORSEL_ERR_TEXT) != !most || count > morsel_text_length(model)) abort();
    for (uint32_t i = 0; !error && i < 40; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= most) abort();
    if (morsel_text_variant(model, text, sizeof text - 1, &count) != error || (!error && count >= morsel_variant_count(model))) abort();
    texts += !error;
}

/* Each pixel has a class that there is, or none. */
static void use_segmentation(const struct morsel_session *session) {
    const struct morsel_frame frames[2] = {{.size = sizeof frames[0], .width = 40, .height = 30, .turn = 90},
                                           {.size = sizeof frames[0], .width = 25, .height = 48, .left = 5, .mirror = 1}};
    const struct morsel_blob_answer *rule = morsel_answer_rule(session->model);
    uint8_t classes[40 * 30 + 1];
    for (int k = 0; k < 3; k++) {
        size_t room = sizeof classes - 1;
        memset(classes, NOBODYS, sizeof classes);
        enum morsel_error error = morsel_segment(session, k < 2 ? &frames[k] : NULL, 0, classes, room);
        int is_one = rule && rule->kind == MORSEL_ANSWER_SEGMENTATION;
        if ((error == MORSEL_ERR_ANSWER) == is_one || classes[room] != NOBODYS) abort();
        if (error && error != MORSEL_ERR_ANSWER && error != MORSEL_ERR_PICTURE && !(k == 2 && error == MORSEL_ERR_CAPACITY)) abort();
        uint32_t most = is_one && rule->classes > 1 ? rule->classes : 2;
        for (size_t i = 0; !error && k < 2 && i < room; i++)
            if (classes[i] >= most && classes[i] != MORSEL_NO_CLASS) abort();
        decoded += !error;
    }
}

/* Boxes are finite and in order, whatever the outputs hold; and the same where there is room for a few alone. */
static void use_boxes(const struct morsel_session *session) {
    struct morsel_frame frame = {.size = sizeof frame, .width = 40, .height = 30, .turn = 90};
    struct morsel_box boxes[40], few[3];
    uint32_t count = 0, less = 0;
    enum morsel_error error = morsel_detect(session, NULL, 0, boxes, 40, &count);
    if ((error == MORSEL_ERR_ANSWER) != (morsel_answer_kind(session->model, NULL) != MORSEL_ANSWER_DETECTIONS)) abort();
    if (error == MORSEL_ERR_ANSWER) return;
    if (error || count > 40 || morsel_detect(session, NULL, 0, few, 3, &less) || less != (count < 3 ? count : 3)) abort();
    for (uint32_t i = 0; i < count; i++) {
        const struct morsel_box *b = &boxes[i], *before = i ? b - 1 : b;
        if (!(b->x0 < b->x1 && b->y0 < b->y1 && b->p <= before->p)) abort();
        if (i < less && memcmp(b, &few[i], sizeof *b)) abort();
    }
    error = morsel_detect(session, &frame, 0, boxes, 40, &count);
    if (error && error != MORSEL_ERR_PICTURE) abort();
    for (uint32_t i = 0; !error && i < count; i++)
        if (boxes[i].x0 < 0 || boxes[i].y0 < 0 || boxes[i].x1 > 40 || boxes[i].y1 > 30) abort();
    detected++;
}

/* Points are finite, and told in their order. */
static void use_points(const struct morsel_session *session) {
    const struct morsel_frame frame = {.size = sizeof frame, .width = 40, .height = 30, .turn = 180};
    const struct morsel_blob_answer *rule = morsel_answer_rule(session->model);
    struct morsel_point points[64];
    uint32_t count = 0;
    int is_one = rule && rule->kind == MORSEL_ANSWER_POINTS;
    enum morsel_error error = morsel_points(session, NULL, 0, points, 64, &count);
    if ((error == MORSEL_ERR_ANSWER) == is_one || (is_one && error && !(error == MORSEL_ERR_CAPACITY && rule->classes > 64))) abort();
    for (uint32_t i = 0; !error && i < count; i++) {
        const struct morsel_point *p = &points[i];
        if (!(p->x - p->x == 0 && p->y - p->y == 0 && p->p - p->p == 0) || p->index >= rule->classes) abort();
        if (i && p->index <= p[-1].index) abort();
    }
    decoded += !error;
    if (!error && morsel_points(session, &frame, 0, points, 64, &count) % MORSEL_ERR_PICTURE) abort();
}

/* Classes are in order, and the same where there is room for a few alone. */
static void use_classes(const struct morsel_session *session) {
    const struct morsel_blob_answer *rule = morsel_answer_rule(session->model);
    struct morsel_class classes[40], few[3];
    uint32_t count = 0, less = 0;
    enum morsel_error error = morsel_classes(session, 0, classes, 40, &count);
    if (error != (rule && rule->kind == MORSEL_ANSWER_CLASSES ? MORSEL_OK : MORSEL_ERR_ANSWER)) abort();
    if (error) return;
    if (count > rule->most || morsel_classes(session, 0, few, 3, &less) || less != (count < 3 ? count : 3)) abort();
    for (uint32_t i = 0; i < count; i++) {
        if (!(classes[i].p <= classes[i ? i - 1 : 0].p) || classes[i].p - classes[i].p != 0) abort();
        if (i < less && memcmp(&classes[i], &few[i], sizeof few[i])) abort();
    }
    decoded++;
}

/* A vector is divided by its length, or is the output. */
static void use_embedding(const struct morsel_session *session) {
    static float values[1 << 12];
    const struct morsel_blob_answer *rule = morsel_answer_rule(session->model);
    uint32_t count = 0;
    double squares = 0;
    int is_one = rule && rule->kind == MORSEL_ANSWER_EMBEDDING;
    enum morsel_error error = morsel_embedding(session, 0, values, sizeof values / sizeof *values, &count);
    if ((error == MORSEL_ERR_ANSWER) == is_one || (is_one && error && error != MORSEL_ERR_CAPACITY)) abort();
    for (uint32_t i = 0; !error && i < count; i++) squares += (double)values[i] * (double)values[i];
    if (!error && rule->flags & MORSEL_ANSWER_NORMALIZE && squares > 0 && !(squares > 0.999 && squares < 1.001)) abort();
    decoded += !error;
}

static void use_answer(const struct morsel_session *session) {
    use_boxes(session);
    use_segmentation(session);
    use_points(session);
    use_classes(session);
    use_embedding(session);
}

/* The address sanitizer's, where the program is built with it. */
void __asan_poison_memory_region(void const volatile *start, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *start, size_t bytes) __attribute__((weak));

static void own(uint8_t *owned, uint32_t start, uint32_t bytes) {
    memset(owned + start, 1, bytes);
}

static void own_rooms(const struct morsel_session *session, uint8_t *owned) {
    for (uint32_t i = 0, last; i < session->step_count; i = last + 1) {
        const struct morsel_call *entry = morsel_call_at(session, i);
        last = i + entry->count - 1u;
        for (uint32_t k = i; k <= last; k++) {
            const struct morsel_room *room = morsel_args_room(&morsel_call_at(session, k)->args, morsel_call_at(session, k)->kind);
            if (room && room->bytes) own(owned, (uint32_t)(room->data - session->arena), room->bytes * entry->tasks);
        }
    }
}

/* Which bytes of the arena are anybody's: step slots, tensors and rings, scratch, what kernels are lent, and all behind the plan, which is
 * for further tasks. */
static uint8_t *owned_bytes(const struct morsel_session *session, uint32_t bytes) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_header *h = morsel_blob_header(model);
    uint8_t *owned = calloc(bytes + 1, 1);
    if (!owned) exit(3);
    own(owned, 0, h->steps.count * MORSEL_FORMAT_STEP_SLOT);
    own(owned, h->arena_bytes, bytes - h->arena_bytes);
    for (uint32_t i = 0; i < h->tensors.count; i++)
        if (!morsel_blob_tensor(model, i)->place)
            own(owned, morsel_blob_tensor(model, i)->offset, morsel_slice_bytes(morsel_blob_tensor(model, i)));
    for (uint32_t i = 0; i < h->steps.count; i++)
        if (morsel_blob_step(model, i)->scratch_bytes)
            own(owned, morsel_blob_step(model, i)->scratch_offset, morsel_blob_step(model, i)->scratch_bytes);
    own_rooms(session, owned);
    return owned;
}

static void poison(uint8_t *arena, const uint8_t *owned, uint32_t bytes) {
    for (uint32_t start = 0, end; __asan_poison_memory_region && start < bytes; start = end) {
        for (end = start + 1; end < bytes && owned[end] == owned[start];) end++;
        if (!owned[start]) __asan_poison_memory_region(arena + start, end - start);
    }
}

/* Nobody writes what is nobody's, and under the sanitizer nobody reads it. */
static void run_fenced(const struct morsel_session *session, uint8_t *arena, uint32_t bytes) {
    uint8_t *owned = owned_bytes(session, bytes);
    poison(arena, owned, bytes);
    if (morsel_run(session)) abort();
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(arena, bytes);
    uint8_t touched = 0; /* of all bytes at once, which compilers make few instructions of */
    for (uint32_t i = 0; i < bytes; i++) touched |= (uint8_t)(!owned[i] & (arena[i] != NOBODYS));
    for (uint32_t i = 0; i < bytes && touched; i++) {
        if (owned[i] || arena[i] == NOBODYS) continue;
        fprintf(stderr, "a run wrote byte %u of the arena, which is nobody's\n", i);
        abort();
    }
    free(owned);
}

/* Reads all of a step's result. */
static void look(void *sum, const struct morsel_step *step) {
    const uint8_t *bytes = step->result.data;
    for (uint32_t i = 0; bytes && i < step->result.bytes; i++) *(uint32_t *)sum += bytes[i];
}

static uint64_t run_once(const struct morsel_model *model, const struct morsel_options *options, morsel_watch *watch, uint64_t seed) {
    struct morsel_session session;
    struct morsel_view view;
    uint32_t bytes = morsel_arena_bytes_for(model, options->tasks), sum = 0;
    uint64_t mark;
    if (!bytes || bytes > BANDS_MOST) /* of further tasks */
        bytes = morsel_arena_bytes(model);
    uint8_t *arena = aligned(NULL, bytes);
    memset(arena, NOBODYS, bytes);
    if (morsel_session_open(&session, model, arena, bytes, options) || morsel_session_watch(&session, watch, &sum)) abort();
    for (uint32_t i = 0; !morsel_input(&session, i, &view); i++) fuzz_fill(view.data, view.bytes, seed + i);
    run_fenced(&session, arena, bytes);
    mark = mark_outputs(&session);
    use_views(&session);
    use_picture(&session, seed);
    use_text(session.model);
    use_answer(&session);
    free(arena);
    return mark;
}

static void same(uint64_t a, uint64_t b, const char *what) {
    if (a == b) return;
    fprintf(stderr, "outputs differ between %s\n", what);
    abort();
}

/* Whether the blob, open already, states nothing false of its weights, whatever its checksum was. */
static int is_honest(uint8_t *blob, size_t size) {
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_model model;
    h->checksum = morsel_checksum(blob, h->blob_bytes);
    return !morsel_open(&model, blob, size, 0);
}

/* Of one that lies, answers may depend on CPU and tasks. */
static void run_model(const struct morsel_model *model, uint64_t seed, int honest) {
    struct morsel_options whole = {.size = sizeof whole}, cut = {.size = sizeof cut, .tasks = 3, .parallel_for = backwards},
                          plain = {.size = sizeof plain, .cpu_mask = MORSEL_CPU_C};
    uint64_t mark = run_once(model, &whole, NULL, seed), in_three = run_once(model, &cut, NULL, seed);
    uint64_t watched = run_once(model, &cut, look, seed), in_c = run_once(model, &plain, NULL, seed);
    if (!honest) return;
    same(mark, in_three, "one range and three");
    same(mark, watched, "a run that is watched and one that is not");
    same(mark, in_c, "the CPU's kernels and plain C");
}

/* The next few, whose checks are made anew: those that state nothing false are told by what open leaves out of them. */
static void run_variants(const struct morsel_model *model, uint64_t seed) {
    struct morsel_model variant, verified;
    for (uint32_t i = 1; i < morsel_variant_count(model) && i < VARIANTS_MOST; i++) {
        if (morsel_open_variant(&variant, model, i, MORSEL_SKIP_CHECKSUM)) continue;
        if (!affordable(&variant)) continue;
        several++;
        run_model(&variant, seed, !morsel_open_variant(&verified, model, i, 0));
    }
}

/* Each pair has a key, which leads to it or to an equal one before it. */
static void use_metadata(const struct morsel_model *model) {
    const char *key, *value = NULL;
    uint32_t count = 0;
    for (; (key = morsel_metadata_at(model, count, &value)); count++) {
        const char *first = count < 8 ? morsel_metadata(model, key) : value;
        if (!value || !first) abort();
    }
    if (count != morsel_metadata_count(model)) abort();
    told += count > 0;
}

/* The blob with what it has, written anew; NULL: it lies as no writer puts it. */
static uint8_t *dress(const struct morsel_model *model, size_t *bytes) {
    struct morsel_model variants[VARIANTS_MOST];
    struct blob_extras extras[VARIANTS_MOST] = {{0}};
    uint32_t count = morsel_variant_count(model), i = 0;
    uint8_t *again = NULL;
    if (count > VARIANTS_MOST) return NULL;
    while (i < count && !morsel_open_variant(&variants[i], model, i, MORSEL_SKIP_CHECKSUM) &&
           blob_extras_of(&variants[i], count, &extras[i]))
        i++;
    if (i == count) again = blob_dress(model->blob, model->blob_bytes, count, extras, bytes);
    for (uint32_t k = 0; k < count; k++) {
        free((void *)(uintptr_t)extras[k].labels);
        free((void *)(uintptr_t)extras[k].metadata);
    }
    return again;
}

/* It is the same network, and the same bytes from then on. */
static void dress_and_run(const struct morsel_model *model, uint64_t seed) {
    struct morsel_options whole = {.size = sizeof whole};
    struct morsel_model other;
    size_t bytes, more;
    uint8_t *again = dress(model, &bytes);
    if (!again) return;
    if (morsel_open(&other, again, bytes, MORSEL_SKIP_CHECKSUM)) abort();
    same(run_once(model, &whole, NULL, seed), run_once(&other, &whole, NULL, seed), "a blob and the same one written anew");
    uint8_t *third = dress(&other, &more);
    if (!third || more != bytes || memcmp(again, third, bytes)) abort();
    free(third);
    free(again);
    dressed++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct morsel_model model;
    uint8_t *blob = aligned(bytes, size);
    if (!morsel_open(&model, blob, size, MORSEL_SKIP_CHECKSUM) && affordable(&model)) {
        int honest = is_honest(blob, size);
        fuzz_taken++;
        grouped += morsel_blob_header(&model)->groups.count > 0;
        lying += morsel_blob_header(&model)->groups.count > 0 && !honest;
        run_model(&model, size, honest);
        run_variants(&model, size);
        use_metadata(&model);
        dress_and_run(&model, size);
    }
    free(blob);
    return 0;
}
