/* SPDX-License-Identifier: MIT */
/* Keeps the records of a table that is not whole yet. The first line says what they were made with. */
#include "tools/base/arena.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/text.h"
#include "tools/verbs/table.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *table_field(const char *text) {
    size_t quotes = 0, length = strlen(text);
    for (const char *c = text; *c; c++) quotes += *c == '"';
    char *field = must_have(malloc(length + quotes + 3), length + quotes + 3), *to = field;
    const bool plain = !strpbrk(text, ",\"\r\n");
    if (plain) return memcpy(field, text, length + 1);
    *to++ = '"';
    for (const char *c = text; *c; c++) {
        if (*c == '"') *to++ = '"';
        *to++ = *c;
    }
    memcpy(to, "\"", 2);
    return field;
}

/* A record and its first field, which is the picture's. */
struct old_record {
    const char *text;
    size_t field, bytes;
};

static int by_field(const void *a, const void *b) {
    const struct old_record *x = a, *y = b;
    const size_t least = x->field < y->field ? x->field : y->field;
    const int order = memcmp(x->text, y->text, least);
    return order ? order : (x->field > y->field) - (x->field < y->field);
}

/* The record at `text`, of `left` bytes; false: it has no end. Quotes in pairs hold what would end a field or a record. */
static bool find_record(const char *text, size_t left, struct old_record *record) {
    bool quoted = false, first = true;
    *record = (struct old_record){.text = text};
    for (size_t i = 0; i < left; i++) {
        quoted ^= text[i] == '"';
        if (quoted) continue;
        if (first && text[i] == ',') record->field = i;
        first = first && text[i] != ',';
        if (text[i] == '\n') {
            record->bytes = i + 1;
            return true;
        }
    }
    return false;
}

/* All lines of a picture as one record: of what is listed there are as many as the second field says, and one for none. */
static bool find_lines(const struct table *table, const char *text, size_t left, struct old_record *record) {
    struct old_record more;
    if (!find_record(text, left, record)) return false;
    unsigned long lines = table->listed && record->bytes - record->field > 1 ? strtoul(text + record->field + 1, NULL, 10) : 1;
    for (; lines > 1; lines--) {
        if (!find_record(text + record->bytes, left - record->bytes, &more)) return false;
        record->bytes += more.bytes;
    }
    return true;
}

/* ", labels FILE of 120 bytes at 1700000000.5": a file as it is now. */
static void put_stamp(FILE *file, const char *what, const char *path) {
    struct stat status;
    fprintf(file, ", %s ", what);
    if (!path) fputs("its own", file);
    else if (stat(path, &status)) fputs(path, file); /* a network that is built in */
    else
        fprintf(file, "%s of %" PRId64 " bytes at %" PRId64 ".%09ld", path, (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
                status.st_mtim.tv_nsec);
}

/* The files that records follow from, as they are now, and what else changes them. */
static char *first_line(const struct table *table) {
    const struct network_call *call = &table->call;
    struct text_stream stream;
    FILE *file = must_have(text_open(&stream), 256);
    fprintf(file, "morsel %s", MORSEL_VERSION);
    put_stamp(file, "network", call->path);
    put_stamp(file, "picture", call->picture);
    put_stamp(file, "labels", call->labels);
    put_stamp(file, "answer", call->answer);
    fprintf(file, ", variant %ld, top %u\n", call->variant, table->top);
    return must_have(text_close(&stream), 256);
}

/* Gives each picture the record that names it; one that tells of a failure is made again. */
static size_t deal(struct table *table, struct old_record *old, size_t count) {
    size_t taken = 0;
    if (count) qsort(old, count, sizeof *old, by_field);
    for (size_t i = 0; count && i < table->pictures->count; i++) {
        char *field = table_field(table->pictures->list[i]);
        const struct old_record key = {.text = field, .field = strlen(field)}, *found = bsearch(&key, old, count, sizeof key, by_field);
        free(field);
        if (!found) continue;
        table->records[i] = must_have(strndup(found->text, found->bytes), found->bytes);
        taken++;
    }
    return taken;
}

/* The bytes of a journal of ours that are sound: 0 where it is another's. Its records go to the pictures that they name. */
static size_t take_over(struct table *table, const struct file_bytes *bytes, const char *line) {
    const char *text = (const char *)bytes->data;
    size_t at = strlen(line), count = 0, room = 0;
    struct old_record *old = NULL, record;
    if (bytes->size < at || memcmp(text, line, at) != 0) return 0;
    while (find_lines(table, text + at, bytes->size - at, &record)) {
        at += record.bytes;
        if (record.bytes < 2 || record.text[record.bytes - 2] != ',') continue; /* the last field is what went wrong */
        if (count == room) {
            room = room ? 2 * room : 256;
            old = must_have(realloc(old, room * sizeof *old), room * sizeof *old);
        }
        old[count++] = record;
    }
    const size_t taken = deal(table, old, count);
    if (taken) message_notice("%s: goes on behind %zu of %zu pictures", table->journal_path, taken, table->pictures->count);
    free(old);
    return at;
}

static bool journal_failed(const struct table *table, struct failure *failure) {
    return failure_set(failure, failure_status(errno), "cannot write %s: %s", table->journal_path, strerror(errno));
}

/* Nobody else writes it meanwhile. Who wrote it until now may just have ended, and taken it away. */
static bool start(struct table *table, size_t sound, const char *line, struct failure *failure) {
    struct stat status;
    int file = open(table->journal_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || !(table->journal = fdopen(file, "r+"))) {
        journal_failed(table, failure);
        if (file >= 0) close(file);
        return false;
    }
    if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return failure_set(failure, STATUS_CALL, "another call is at work on %s: wait for it, or name another table", table->path);
    if (fstat(file, &status) || status.st_size < (off_t)sound) sound = 0;
    bool good = ftruncate(file, (off_t)sound) == 0 && fseeko(table->journal, 0, SEEK_END) == 0;
    if (good && !sound) good = fputs(line, table->journal) >= 0 && fflush(table->journal) == 0;
    return good || journal_failed(table, failure);
}

bool table_journal_open(struct table *table, struct failure *failure) {
    struct stat status;
    struct file_bytes bytes = {0};
    struct failure unread;
    if (stat(table->path, &status) == 0 && !S_ISREG(status.st_mode)) return true;
    if (asprintf(&table->journal_path, "%s.partial", table->path) < 0) return failure_memory(failure, strlen(table->path));
    char *line = first_line(table);
    const bool old = access(table->journal_path, F_OK) == 0 && file_read(table->journal_path, SIZE_MAX / 2, &bytes, &unread);
    const size_t sound = old ? take_over(table, &bytes, line) : 0;
    file_free(&bytes);
    const bool good = start(table, sound, line, failure);
    free(line);
    return good;
}

bool table_journal_add(struct table *table, const char *record, struct failure *failure) {
    if (!table->journal) return true;
    return (fputs(record, table->journal) >= 0 && fflush(table->journal) == 0) || journal_failed(table, failure);
}

void table_journal_end(struct table *table, bool whole) {
    if (table->journal) fclose(table->journal);
    if (table->journal && whole) unlink(table->journal_path);
    free(table->journal_path);
    table->journal = NULL;
    table->journal_path = NULL;
}
