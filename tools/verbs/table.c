/* SPDX-License-Identifier: MIT */
/* Answers pictures by the thousand, and writes a table of them. */
#include "tools/verbs/table.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/file.h"
#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/text.h"
#include "tools/network/each.h"
#include "tools/network/scores.h"
#include "tools/network/tensor.h"
#include "tools/verbs/answers.h"
#include <stdlib.h>
#include <string.h>

/* A thread's own. */
struct table_worker {
    struct network_run *run;
    float *scores;
    uint32_t *best;           /* [top] */
    struct morsel_box *boxes; /* [top], of one picture */
    uint32_t *sides;          /* [batch][2]: width and height of the pictures */
    struct failure *wrong;    /* [batch]: what is at fault with a picture; its text is "" where nothing is */
};

/* --- A record --- */

/* Takes the field over. */
static void put_field(FILE *file, char *field) {
    fputs(field, file);
    free(field);
}

static void put_answer(const struct table *table, FILE *file, uint32_t class, float p) {
    const char *label = network_label(&table->network, class);
    char *tame = must_have(strdup(label ? label : ""), 64);
    fprintf(file, ",%u,", class);
    put_field(file, table_field(text_tame(tame)));
    fprintf(file, ",%.6g", (double)p);
    free(tame);
}

/* file,boxes,index,label,p,x0,y0,x1,y1 for each box, whose count is the second field; then what is at fault. */
static void put_boxes(const struct table *table, const struct table_worker *worker, FILE *file, size_t picture, uint32_t slot) {
    const uint32_t *sides = worker->sides + 2 * slot;
    struct failure *wrong = &worker->wrong[slot];
    uint32_t found = 0;
    if (!*wrong->text && !answers_find(worker->run, slot, sides, worker->boxes, table->top, &found, wrong)) found = 0;
    for (uint32_t i = 0; i < found || !i; i++) {
        const struct morsel_box *box = &worker->boxes[i];
        put_field(file, table_field(table->pictures->list[picture]));
        fprintf(file, ",%u", found);
        if (found) {
            put_answer(table, file, box->index, box->p);
            fprintf(file, ",%.6g,%.6g,%.6g,%.6g,", (double)box->x0, (double)box->y0, (double)box->x1, (double)box->y1);
        } else {
            fputs(",,,,,,,,", file);
        }
        put_field(file, table_field(wrong->text));
        fputc('\n', file);
    }
}

/* file,index,label,p and so on for each of the best; then what is at fault. */
static char *make_record(const struct table *table, struct table_worker *worker, size_t picture, uint32_t slot) {
    struct text_stream stream;
    FILE *file = must_have(text_open(&stream), 4096);
    if (table->detects) {
        put_boxes(table, worker, file, picture, slot);
        return must_have(text_close(&stream), 4096);
    }
    float *scores = worker->scores + slot * table->classes;
    const bool wrong = *worker->wrong[slot].text;
    put_field(file, table_field(table->pictures->list[picture]));
    const size_t found = wrong ? 0 : scores_top(scores, table->classes, table->top, worker->best);
    if (!wrong && !table->network.probabilities) scores_softmax(scores, table->classes);
    for (uint32_t k = 0; k < table->top; k++) {
        if (k < found) put_answer(table, file, worker->best[k], scores[worker->best[k]]);
        else fputs(",,,", file);
    }
    fputc(',', file);
    put_field(file, table_field(worker->wrong[slot].text));
    fputc('\n', file);
    return must_have(text_close(&stream), 4096);
}

/* --- A run --- */

/* In the place of a picture that is at fault; the answer to it is not looked at. */
static bool put_black(const struct table *table, struct table_worker *worker, uint32_t slot, struct failure *failure) {
    static uint8_t black[64 * 64 * 3];
    const struct image image = {64, 64, black};
    return network_picture(worker->run, &image, slot, failure) || failure_prefix(failure, table->call.path);
}

static bool put_picture(const struct table *table, struct table_worker *worker, size_t picture, uint32_t slot, struct failure *failure) {
    struct image image;
    *worker->wrong[slot].text = 0;
    bool good = image_read(table->pictures->list[picture], &image, &worker->wrong[slot]);
    if (good) {
        good = network_picture(worker->run, &image, slot, &worker->wrong[slot]);
        worker->sides[2 * slot] = image.width;
        worker->sides[2 * slot + 1] = image.height;
        image_free(&image);
    }
    if (good) return true;
    if (worker->wrong[slot].status != STATUS_SYSTEM) return table->batch == 1 || put_black(table, worker, slot, failure);
    *failure = worker->wrong[slot];
    return false;
}

static bool keep(struct table *table, size_t picture, char *record, bool wrong, struct failure *failure) {
    pthread_mutex_lock(&table->lock);
    table->records[picture] = record;
    table->broken += wrong;
    const bool good = table_journal_add(table, record, failure);
    pthread_mutex_unlock(&table->lock);
    return good;
}

/* One run; a last batch that is not full repeats its last picture. */
static bool answer(void *context, unsigned index, size_t task, struct failure *failure) {
    struct table *table = context;
    struct table_worker *worker = &table->workers[index];
    const size_t first = task * table->batch, left = table->waiting_count - first;
    const uint32_t used = left < table->batch ? (uint32_t)left : table->batch;
    for (uint32_t i = 0; i < table->batch; i++)
        if (!put_picture(table, worker, table->waiting[first + (i < used ? i : used - 1)], i, failure)) return false;
    const bool none = table->batch == 1 && *worker->wrong[0].text;
    if (!none && (!network_compute(worker->run, NULL, NULL, failure) || !network_scores(worker->run, worker->scores, failure)))
        return false;
    for (uint32_t i = 0; i < used; i++) {
        const size_t picture = table->waiting[first + i];
        char *record = make_record(table, worker, picture, i); /* which may find fault, too */
        if (!keep(table, picture, record, *worker->wrong[i].text, failure)) return false;
    }
    return true;
}

/* --- All of them --- */

static bool check_files(const struct table *table, struct failure *failure) {
    bool read = file_same(table->path, table->call.path);
    for (size_t i = 0; !read && i < table->pictures->count; i++) read = file_same(table->path, table->pictures->list[i]);
    if (read) return failure_set(failure, STATUS_CALL, "--csv %s would be written over: it is read as well", table->path);
    return file_can_write(table->path, failure);
}

static bool open_network(struct table *table, struct failure *failure) {
    struct network *network = &table->network;
    char text[256];
    if (!network_read(network, &table->call, failure) || !network_takes_pictures(network, failure) ||
        !network_start(network, NULL, failure))
        return false;
    table->detects = network_detects(network);
    const bool classes = network->output_count && scores_are_classes(&network->outputs[0]) &&
                         (!network->answer || network->answer->kind == MORSEL_ANSWER_CLASSES);
    if (network->input_count != 1 || (!table->detects && !classes))
        return failure_set(failure, STATUS_CALL,
                           "%s: --csv wants one input, and boxes by an answer rule, or a list of classes as the first output, not %s",
                           table->call.path, network->output_count ? tensor_describe(&network->outputs[0], text, sizeof text) : "none");
    table->batch = network_images(network);
    table->classes = network->outputs[0].count / table->batch;
    if (table->detects && !table->top) table->top = answers_room(network);
    if (!table->detects && table->top > table->classes) table->top = (uint32_t)table->classes;
    if (!table->top) table->top = 1;
    return true;
}

static bool open_workers(struct table *table, struct failure *failure) {
    const size_t runs = (table->waiting_count + table->batch - 1) / table->batch;
    table->worker_count = each_workers(runs, table->worker_count);
    table->workers = must_calloc(table->worker_count, sizeof *table->workers);
    for (unsigned i = 0; i < table->worker_count; i++) {
        struct table_worker *worker = &table->workers[i];
        worker->scores = must_calloc(table->network.outputs[0].count, sizeof *worker->scores);
        worker->best = must_calloc(table->top, sizeof *worker->best);
        worker->boxes = must_calloc(table->top, sizeof *worker->boxes);
        worker->sides = must_calloc(table->batch, 2 * sizeof *worker->sides);
        worker->wrong = must_calloc(table->batch, sizeof *worker->wrong);
        if (!(worker->run = network_run_open(&table->network, failure))) return false;
    }
    return true;
}

static void find_waiting(struct table *table) {
    table->waiting = must_calloc(table->pictures->count, sizeof *table->waiting);
    for (size_t i = 0; i < table->pictures->count; i++)
        if (!table->records[i]) table->waiting[table->waiting_count++] = i;
}

static bool write_table(const struct table *table, struct failure *failure) {
    struct text_stream stream;
    FILE *file = text_open(&stream);
    if (!file) return failure_memory(failure, 4096);
    fputs(table->detects ? "file,boxes,index,label,p,x0,y0,x1,y1" : "file,index,label,p", file);
    for (uint32_t k = 2; k <= table->top && !table->detects; k++) fprintf(file, ",index%u,label%u,p%u", k, k, k);
    fputs(",error\n", file);
    for (size_t i = 0; i < table->pictures->count; i++) fputs(table->records[i], file);
    char *text = text_close(&stream);
    const bool good = text ? file_write(table->path, text, stream.size, failure) : failure_memory(failure, stream.size);
    free(text);
    return good;
}

bool table_run(struct table *table, struct failure *failure) {
    pthread_mutex_init(&table->lock, NULL);
    table->records = must_calloc(table->pictures->count, sizeof *table->records);
    if (!check_files(table, failure) || !open_network(table, failure) || !table_journal_open(table, failure)) return false;
    find_waiting(table);
    if (!open_workers(table, failure)) return false;
    const size_t runs = (table->waiting_count + table->batch - 1) / table->batch;
    const double start = clock_seconds();
    bool good = each(runs, table->worker_count, table->batch > 1 ? "batches of pictures" : "pictures", answer, table, failure);
    table->seconds = clock_seconds() - start;
    good = good && write_table(table, failure);
    table_journal_end(table, good);
    return good;
}

void table_free(struct table *table) {
    for (unsigned i = 0; table->workers && i < table->worker_count; i++) {
        struct table_worker *worker = &table->workers[i];
        network_run_close(worker->run);
        free(worker->scores);
        free(worker->best);
        free(worker->boxes);
        free(worker->sides);
        free(worker->wrong);
    }
    for (size_t i = 0; table->records && i < table->pictures->count; i++) free(table->records[i]);
    free(table->records);
    free(table->waiting);
    free(table->workers);
    table_journal_end(table, false);
    if (table->network.kind) network_close(&table->network);
    pthread_mutex_destroy(&table->lock);
}

static double rate_of(const struct table *table) {
    return (double)table->waiting_count / (table->seconds + 1e-9);
}

void table_print(const struct table *table) {
    message_print("%s: %zu pictures, %.1f pictures/s with %u thread%s\n", table->path, table->pictures->count, rate_of(table),
                  table->worker_count, table->worker_count > 1 ? "s" : "");
}

void table_json(const struct table *table, FILE *file) {
    struct json json = {.file = file};
    json_open(&json, NULL);
    json_text(&json, "file", table->path);
    json_integer(&json, "images", (int64_t)table->pictures->count);
    json_integer(&json, "resumed", (int64_t)(table->pictures->count - table->waiting_count));
    json_integer(&json, "broken", (int64_t)table->broken);
    json_number(&json, "images_per_s", rate_of(table));
    json_integer(&json, "threads", table->worker_count);
    json_text(&json, "isa", network_isa(table->workers[0].run));
    json_close(&json);
}
