/* SPDX-License-Identifier: MIT */
/*
 * `morsel run --csv`: a line for each of any number of pictures, in their order. Of boxes, points and classes of pixels it is a line for
 * each, and one for a picture without any. A picture that cannot be read has a line, too, which says why. Threads take whole pictures.
 * Until the table is whole its lines stand beside it, in FILE.partial: a call that was stopped goes on behind them.
 */
#ifndef MORSEL_TOOLS_VERBS_TABLE_H
#define MORSEL_TOOLS_VERBS_TABLE_H

#include "tools/network/network.h"
#include "tools/verbs/pictures.h"

#include <pthread.h>
#include <stdio.h>

struct table {
    struct network_call call;
    const struct pictures *pictures;
    const char *path;
    uint32_t top;
    unsigned worker_count;
    struct network network;
    uint32_t batch; /* images of a run */
    bool listed;    /* a picture has as many lines as its second field says */
    struct table_worker *workers;
    char **records;                 /* of each picture, with their lines' ends; NULL: not yet */
    size_t *waiting, waiting_count; /* the pictures that have none */
    FILE *journal;                  /* FILE.partial; NULL: the table goes to a device */
    char *journal_path;
    pthread_mutex_t lock; /* of the journal and the count below */
    size_t broken, kept;  /* kept: lines in the journal */
    double seconds;
};

/* table->call and what stands behind it up to worker_count are the caller's to set. table_free() is due, whatever came of it. */
bool table_run(struct table *table, struct failure *failure);
void table_free(struct table *table);

/* What is told in the end. */
void table_print(const struct table *table);
void table_json(const struct table *table, FILE *file);

/* --- The journal (table_journal.c) --- */

/* Text as a field of a record: in quotes where it holds what means something. For free(). */
char *table_field(const char *text);

/* The size and time of a picture's file, which are taken before it is read. */
enum { TABLE_STAMP = 64 };
void table_stamp(const char *path, char stamp[TABLE_STAMP]);

/* Opens it, and takes over the records of a call that was stopped, made by the same network of pictures that are the same. */
bool table_journal_open(struct table *table, struct failure *failure);
bool table_journal_add(struct table *table, const char *record, const char *stamp, struct failure *failure);
void table_journal_end(struct table *table, bool whole);

#endif
