/* SPDX-License-Identifier: MIT */
/* Keeps the records of a table that is not whole yet. The first line says what they were made with. */
#include "tools/base/arena.h"
#include "tools/base/file.h"
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
    uint32_t fields;
};

static int by_field(const void *a, const void *b) {
    const struct old_record *x = a, *y = b;
    const size_t least = x->field < y->field ? x->field : y->field;
    const int order = memcmp(x->text, y->text, least);
    return order ? order : (x->field > y->field) - (x->field < y->field);
}

/* The record at `text`, of `left` bytes; false: it has no end. Quotes in pairs hold what would end a field or a record. */
static bool find_record(const char *text, size_t left, struct old_record *record) {
    bool quoted = false;
    *record = (struct old_record){.text = text, .fields = 1};
    for (size_t i = 0; i < left; i++) {
        quoted ^= text[i] == '"';
        if (quoted) continue;
        if (text[i] == ',' && record->fields++ == 1) record->field = i;
        if (text[i] == '\n') {
            record->bytes = i + 1;
            return true;
        }
    }
    return false;
}

/* Whether it has the fields that records of the table have: somebody may have edited it, or the system gone down as it was written. */
static bool is_sound(const struct table *table, const struct old_record *record) {
    return record->fields == table->fields && !memchr(record->text, 0, record->bytes);
}

/* Of what is listed there are as many lines as the second field says, and one for none. All of them name the picture and the number. */
static bool add_lines(const struct table *table, size_t left, struct old_record *record) {
    const char *text = record->text;
    const size_t same = record->field + strcspn(text + record->field + 1, ",\n") + 2;
    const unsigned long lines = strtoul(text + record->field + 1, NULL, 10);
    struct old_record more;
    if (lines > table->top) return false;
    for (unsigned long i = 1; i < lines; i++) {
        const char *at = text + record->bytes;
        if (!find_record(at, left - record->bytes, &more) || !is_sound(table, &more)) return false;
        if (more.bytes < same || memcmp(at, text, same) != 0) return false;
        record->bytes += more.bytes;
    }
    return true;
}

/* The first bytes of a file that is ours. */
static const char mark[] = "morsel run --csv, ";

/* A file that records depend on, as it is now. */
static void put_file(FILE *line, const char *what, const char *path) {
    struct stat status = {0};
    fprintf(line, ", %s %s", what, path ? path : "its own");
    if (path && stat(path, &status) == 0)
        fprintf(line, " of %" PRId64 " bytes at %" PRId64 ".%09ld", (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
                status.st_mtim.tv_nsec);
}

/* All that changes records. */
static char *first_line(const struct table *table) {
    const struct network_call *call = &table->call;
    struct text_stream stream;
    FILE *line = must_have(text_open(&stream), 256);
    fprintf(line, "%sversion %s", mark, MORSEL_VERSION);
    put_file(line, "network", call->path);
    put_file(line, "picture", call->picture);
    put_file(line, "labels", call->labels);
    put_file(line, "answer", call->answer);
    fprintf(line, ", variant %ld, top %u\n", call->variant, table->top);
    return must_have(text_close(&stream), 256);
}

/* Gives each picture the record that names it; one that tells of a failure is made again. */
static void deal(struct table *table, struct old_record *old, size_t count) {
    if (count) qsort(old, count, sizeof *old, by_field);
    for (size_t i = 0; count && i < table->pictures->count; i++) {
        char *field = table_field(table->pictures->list[i]);
        const struct old_record key = {.text = field, .field = strlen(field)}, *found = bsearch(&key, old, count, sizeof key, by_field);
        free(field);
        if (found) table->records[i] = must_have(strndup(found->text, found->bytes), found->bytes);
    }
}

/* The bytes of a journal of ours that are sound: 0 where it is another's. Its records go to the pictures that they name. */
static size_t take_over(struct table *table, const struct file_bytes *bytes, const char *line) {
    const char *text = (const char *)bytes->data;
    size_t at = strlen(line), count = 0, room = 0;
    struct old_record *old = NULL, record;
    if (bytes->size < at || memcmp(text, line, at) != 0) return 0;
    while (find_record(text + at, bytes->size - at, &record)) {
        const bool sound = is_sound(table, &record) && (!table->listed || add_lines(table, bytes->size - at, &record));
        at += record.bytes;
        if (!sound || record.text[record.bytes - 2] != ',') continue; /* the last field is what went wrong */
        if (count == room) {
            room = room ? 2 * room : 256;
            old = must_have(realloc(old, room * sizeof *old), room * sizeof *old);
        }
        old[count++] = record;
    }
    deal(table, old, count);
    free(old);
    return at;
}

static bool journal_failed(const struct table *table, struct failure *failure) {
    return failure_set(failure, failure_status(errno), "cannot write %s: %s", table->journal_path, strerror(errno));
}

/* What is no file, or another's, stays as it is: this one is cut off, and goes when the table is whole. */
static bool open_file(struct table *table, struct stat *status, struct failure *failure) {
    const int fd = open(table->journal_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    const bool link = fd < 0 && errno == ELOOP;
    if (!link && (fd < 0 || fstat(fd, status) || (S_ISREG(status->st_mode) && !(table->journal = fdopen(fd, "r+"))))) {
        journal_failed(table, failure);
        if (fd >= 0) close(fd);
        return false;
    }
    if (!table->journal) {
        if (fd >= 0) close(fd);
        return failure_set(failure, STATUS_CALL, "%s stands beside the table, and is no plain file: name another --csv",
                           table->journal_path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    return failure_set(failure, STATUS_CALL, "%s: another call writes it at this moment", table->journal_path);
}

static bool read_file(struct table *table, size_t size, struct file_bytes *bytes, struct failure *failure) {
    if (!(bytes->data = malloc(size + 1))) return failure_memory(failure, size + 1);
    bytes->size = fread(bytes->data, 1, size, table->journal);
    if (ferror(table->journal)) return journal_failed(table, failure);
    const size_t least = bytes->size < sizeof mark - 1 ? bytes->size : sizeof mark - 1;
    return memcmp(bytes->data, mark, least) == 0 ||
           failure_set(failure, STATUS_CALL,
                       "%s stands beside the table, and was not written by a call that was stopped: name another --csv",
                       table->journal_path);
}

static bool start(struct table *table, size_t sound, const char *line, struct failure *failure) {
    bool good = ftruncate(fileno(table->journal), (off_t)sound) == 0 && fseeko(table->journal, (off_t)sound, SEEK_SET) == 0;
    good = good && (sound || (fputs(line, table->journal) >= 0 && fflush(table->journal) == 0));
    return good || journal_failed(table, failure);
}

bool table_journal_open(struct table *table, struct failure *failure) {
    struct stat status = {0};
    struct file_bytes bytes = {0};
    if (stat(table->path, &status) == 0 && !S_ISREG(status.st_mode)) return true;
    if (asprintf(&table->journal_path, "%s.partial", table->path) < 0) return failure_memory(failure, strlen(table->path));
    bool good = open_file(table, &status, failure) && read_file(table, (size_t)status.st_size, &bytes, failure);
    char *line = first_line(table);
    good = good && start(table, take_over(table, &bytes, line), line, failure);
    free(line);
    file_free(&bytes);
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
