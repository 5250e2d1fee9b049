/* SPDX-License-Identifier: MIT */
/* Answers pictures by the thousand, and writes a table of them. */
#include "tools/verbs/table.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/file.h"
#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/stop.h"
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
    struct answers answers;
    struct results results;      /* of one picture at a time */
    struct text_stream text;     /* a record, before it is kept in as few bytes as it has */
    struct failure *wrong;       /* [batch]: what is at fault with a picture; its text is "" where nothing is */
    char (*stamps)[TABLE_STAMP]; /* [batch] */
};

/* --- A record --- */

/* Takes the field over. */
static void put_field(FILE *file, char *field) {
    fputs(field, file);
    free(field);
}

static void put_class(const struct table *table, FILE *file, uint32_t class) {
    const char *label = network_label(&table->network, class);
    char *tame = must_have(strdup(label ? label : ""), 64);
    fprintf(file, ",%u,", class);
    put_field(file, table_field(text_tame(tame)));
    free(tame);
}

/* What stands between the file and what is at fault, of line `i`; of a picture without any, commas alone. */
static void put_box(const struct table *table, FILE *file, const struct result *result, uint32_t i) {
    const struct morsel_box *box = &result->boxes[i];
    put_class(table, file, box->index);
    fprintf(file, ",%.6g,%.6g,%.6g,%.6g,%.6g", (double)box->p, (double)box->x0, (double)box->y0, (double)box->x1, (double)box->y1);
}

static void put_point(const struct table *table, FILE *file, const struct result *result, uint32_t i) {
    const struct morsel_point *point = &result->points[i];
    put_class(table, file, point->index);
    fprintf(file, ",%.6g,%.6g,%.6g", (double)point->p, (double)point->x, (double)point->y);
}

static void put_share(const struct table *table, FILE *file, const struct result *result, uint32_t i) {
    put_class(table, file, result->shares[i].index);
    fprintf(file, ",%.6g", results_share(result, i));
}

/* Kinds of answers whose pictures have a line for each thing: what is counted in the second field, and the columns. */
static const struct listed {
    uint32_t kind;
    const char *columns, *none;
    void (*put)(const struct table *table, FILE *file, const struct result *result, uint32_t i);
} listed[] = {
    {MORSEL_ANSWER_DETECTIONS, "boxes,index,label,p,x0,y0,x1,y1", ",,,,,,,", put_box},
    {MORSEL_ANSWER_SEGMENTATION, "classes,index,label,share", ",,,", put_share},
    {MORSEL_ANSWER_POINTS, "points,index,label,p,x,y", ",,,,,", put_point},
};

static const struct listed *listed_of(const struct table *table) {
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (listed[i].kind == found_kind(&table->network)) return &listed[i];
    return NULL;
}

/* A line for each, which starts with the file and how many there are. `result` may be NULL. */
static void put_list(const struct table *table, FILE *file, const struct result *result, const char *picture, const char *wrong) {
    const struct listed *kind = listed_of(table);
    uint32_t count = result ? result->box_count + result->share_count + result->point_count : 0;
    if (count > table->top) count = table->top;
    for (uint32_t i = 0; i < count || !i; i++) {
        put_field(file, table_field(picture));
        fprintf(file, ",%u", count);
        if (count) kind->put(table, file, result, i);
        else fputs(kind->none, file);
        fputc(',', file);
        put_field(file, table_field(wrong));
        fputc('\n', file);
    }
}

/* All numbers of a vector, or commas. */
static void put_vector(const struct table *table, FILE *file, const struct result *result, const char *picture, const char *wrong) {
    const size_t width = found_width(&table->network);
    put_field(file, table_field(picture));
    for (size_t i = 0; i < width; i++) {
        if (result) fprintf(file, ",%.9g", (double)result->vector[i]);
        else fputc(',', file);
    }
    fputc(',', file);
    put_field(file, table_field(wrong));
    fputc('\n', file);
}

/* file,index,label,p and so on for each of the best; then what is at fault. */
static void put_line(const struct table *table, FILE *file, const struct result *result, const char *picture, const char *wrong) {
    put_field(file, table_field(picture));
    for (uint32_t k = 0; k < table->top; k++) {
        if (!result || k >= result->top_count) {
            fputs(",,,", file);
            continue;
        }
        put_class(table, file, result->top[k].index);
        fprintf(file, ",%.6g", (double)result->top[k].p);
    }
    fputc(',', file);
    put_field(file, table_field(wrong));
    fputc('\n', file);
}

static char *make_record(const struct table *table, struct table_worker *worker, size_t picture, uint32_t slot) {
    FILE *file = worker->text.file;
    struct failure *wrong = &worker->wrong[slot];
    const char *path = table->pictures->list[picture];
    const struct result of = {.file = path, .image = slot};
    bool good = !*wrong->text && answers_add(&worker->answers, worker->run, &worker->results, &of, wrong);
    const bool vector = found_kind(&table->network) == MORSEL_ANSWER_EMBEDDING;
    (table->listed ? put_list : vector ? put_vector : put_line)(table, file, good ? worker->results.list : NULL, path, wrong->text);
    results_free(&worker->results);
    return must_have(text_take(&worker->text), 4096);
}

/* --- A run --- */

static bool put_picture(const struct table *table, struct table_worker *worker, size_t picture, uint32_t slot, struct failure *failure) {
    struct image image;
    *worker->wrong[slot].text = 0;
    table_stamp(table->pictures->list[picture], worker->stamps[slot]);
    bool good = image_read(table->pictures->list[picture], &image, &worker->wrong[slot]);
    if (good) {
        good = network_picture(worker->run, &image, slot, &worker->wrong[slot]);
        worker->answers.sides[2 * slot] = image.width;
        worker->answers.sides[2 * slot + 1] = image.height;
        image_free(&image);
    }
    if (good) return true;
    if (worker->wrong[slot].status != STATUS_SYSTEM) return table->batch == 1 || pictures_put_black(worker->run, slot, failure);
    *failure = worker->wrong[slot];
    return false;
}

static bool keep(struct table *table, const struct table_worker *worker, uint32_t slot, size_t picture, char *record,
                 struct failure *failure) {
    pthread_mutex_lock(&table->lock);
    table->records[picture] = record;
    table->broken += *worker->wrong[slot].text != 0;
    const bool good = table_journal_add(table, record, worker->stamps[slot], failure);
    if (table->journal) stop_goes_on(++table->kept, table->pictures->count);
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
    if (!none && (!network_compute(worker->run, NULL, NULL, failure) || !answers_read(&worker->answers, worker->run, failure)))
        return false;
    for (uint32_t i = 0; i < used; i++) {
        const size_t picture = table->waiting[first + i];
        char *record = make_record(table, worker, picture, i); /* which may find fault, too */
        if (!keep(table, worker, i, picture, record, failure)) return false;
    }
    return true;
}

/* --- All of them --- */

static bool check_files(const struct table *table, struct failure *failure) {
    bool read = network_reads(&table->network, table->path);
    for (size_t i = 0; !read && i < table->pictures->count; i++) read = file_same(table->path, table->pictures->list[i]);
    if (read) return failure_set(failure, STATUS_CALL, "--csv %s would be written over: it is read as well", table->path);
    return file_can_write(table->path, failure);
}

static bool open_network(struct table *table, struct failure *failure) {
    struct network *network = &table->network;
    char text[256];
    if (!network_read(network, &table->call, failure) || !check_files(table, failure) || !network_takes_pictures(network, failure) ||
        !network_start(network, NULL, failure))
        return false;
    const struct listed *kind = listed_of(table);
    const bool vector = found_kind(network) == MORSEL_ANSWER_EMBEDDING;
    table->listed = kind != NULL;
    if (network->input_count != 1 || !network->output_count || (!kind && !vector && !scores_are_classes(&network->outputs[0])))
        return failure_set(failure, STATUS_CALL,
                           "%s: --csv wants one input, and an answer rule, or a list of classes as the first output, not %s",
                           table->call.path, network->output_count ? tensor_describe(&network->outputs[0], text, sizeof text) : "none");
    table->batch = network_images(network);
    const size_t classes = network->outputs[0].count / table->batch;
    if (kind && !table->top) table->top = kind->kind == MORSEL_ANSWER_DETECTIONS ? answers_room(network) : UINT32_MAX;
    if (!kind && table->top > classes) table->top = (uint32_t)classes;
    if (!table->top) table->top = 1;
    return true;
}

static bool open_workers(struct table *table, struct failure *failure) {
    const size_t runs = (table->waiting_count + table->batch - 1) / table->batch;
    table->worker_count = each_workers(runs, table->worker_count);
    table->workers = must_calloc(table->worker_count, sizeof *table->workers);
    for (unsigned i = 0; i < table->worker_count; i++) {
        struct table_worker *worker = &table->workers[i];
        worker->wrong = must_calloc(table->batch, sizeof *worker->wrong);
        worker->stamps = must_calloc(table->batch, sizeof *worker->stamps);
        must_have(text_open(&worker->text), 4096);
        answers_open(&worker->answers, &table->network, &worker->results, table->top);
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
    const bool vector = found_kind(&table->network) == MORSEL_ANSWER_EMBEDDING;
    fprintf(file, "file,%s", table->listed ? listed_of(table)->columns : vector ? "v0" : "index,label,p");
    for (size_t k = 1; vector && k < found_width(&table->network); k++) fprintf(file, ",v%zu", k);
    for (uint32_t k = 2; k <= table->top && !table->listed && !vector; k++) fprintf(file, ",index%u,label%u,p%u", k, k, k);
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
    if (!open_network(table, failure) || !table_journal_open(table, failure)) return false;
    find_waiting(table);
    const size_t taken = table->pictures->count - table->waiting_count;
    if (taken) message_notice("%s: goes on behind %zu of %zu pictures", table->journal_path, taken, table->pictures->count);
    table->kept = taken;
    if (table->journal) stop_goes_on(taken, table->pictures->count);
    if (!open_workers(table, failure)) return false;
    const size_t runs = (table->waiting_count + table->batch - 1) / table->batch;
    const double start = clock_seconds();
    bool good = each(runs, table->worker_count, table->batch > 1 ? "batches of pictures" : "pictures", answer, table, failure);
    table->seconds = clock_seconds() - start;
    good = good && write_table(table, failure);
    if (good) stop_goes_on(0, 0);
    table_journal_end(table, good);
    return good;
}

void table_free(struct table *table) {
    for (unsigned i = 0; table->workers && i < table->worker_count; i++) {
        struct table_worker *worker = &table->workers[i];
        network_run_close(worker->run);
        answers_free(&worker->answers);
        free(worker->wrong);
        free(worker->stamps);
        if (worker->text.file) free(text_close(&worker->text));
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
    message_print("%s: %zu picture%s, %.1f pictures/s with %u thread%s\n", table->path, table->pictures->count,
                  table->pictures->count == 1 ? "" : "s", rate_of(table), table->worker_count, table->worker_count > 1 ? "s" : "");
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
