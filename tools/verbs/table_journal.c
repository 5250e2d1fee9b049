/* SPDX-License-Identifier: MIT */
/* Keeps the records of a table that is not whole yet. The first line says what made them, a stamp behind each of what picture. */
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

/* A picture's record in the journal, and the stamp that stands behind it. */
struct old_record {
    const char *text, *stamp;
    size_t field, bytes, stamped; /* field: the length of the first one, which is the picture's; stamped: that of the stamp */
};

static int by_bytes(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int by_picture(const void *a, const void *b) {
    const struct old_record *x = a, *y = b;
    const int order = by_bytes(x->text, x->field, y->text, y->field);
    return order ? order : by_bytes(x->stamp, x->stamped, y->stamp, y->stamped);
}

/* The bytes of the line at `text`, of `left`; 0: it has no end. Quotes in pairs hold what would end a field (`field`: the first) or it. */
static size_t find_line(const char *text, size_t left, size_t *field) {
    bool quoted = false;
    *field = 0;
    for (size_t i = 0; i < left; i++) {
        quoted ^= text[i] == '"';
        if (quoted) continue;
        if (text[i] == ',' && !*field) *field = i;
        if (text[i] == '\n') return i + 1;
    }
    return 0;
}

void table_stamp(const char *path, char stamp[TABLE_STAMP]) {
    struct stat status;
    if (stat(path, &status)) strcpy(stamp, ",,");
    else
        snprintf(stamp, TABLE_STAMP, ",%" PRId64 ",%" PRId64 ".%09ld", (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
                 status.st_mtim.tv_nsec);
}

enum { SEAL_BYTES = 18 };

/* Ends a stamp: a checksum of it and its record, by FNV-1a of 64 bits. It finds what somebody edited, or a system that went down left. */
static void make_seal(const char *record, size_t bytes, const char *stamp, size_t stamped, char seal[SEAL_BYTES + 1]) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes + stamped; i++) sum = (sum ^ (uint8_t)(i < bytes ? record[i] : stamp[i - bytes])) * 0x100000001b3u;
    snprintf(seal, SEAL_BYTES + 1, ",%016" PRIx64 "\n", sum);
}

/* Whether the line that a stamp begins, of `line` bytes, is of the record; one that tells what went wrong is made again. */
static bool is_sound(struct old_record *record, size_t line) {
    char seal[SEAL_BYTES + 1];
    if (line < SEAL_BYTES || record->bytes < 2 || record->text[record->bytes - 2] != ',') return false;
    record->stamped = line - SEAL_BYTES;
    make_seal(record->text, record->bytes, record->stamp, record->stamped, seal);
    return memcmp(record->stamp + record->stamped, seal, SEAL_BYTES) == 0;
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

/* Gives each picture the record that names it, if it was made of the file that is there now. */
static void deal(struct table *table, struct old_record *old, size_t count) {
    char stamp[TABLE_STAMP];
    if (count) qsort(old, count, sizeof *old, by_picture);
    for (size_t i = 0; count && i < table->pictures->count; i++) {
        char *field = table_field(table->pictures->list[i]);
        table_stamp(table->pictures->list[i], stamp);
        const struct old_record key = {field, stamp, strlen(field), 0, strlen(stamp)},
                                *found = bsearch(&key, old, count, sizeof key, by_picture);
        free(field);
        if (found) table->records[i] = must_have(strndup(found->text, found->bytes), found->bytes);
    }
}

/*
 * The bytes of a journal of ours up to its last stamp: 0 where it is another's. Its records go to the pictures that they name. A stamp has
 * a line, which begins with a comma, behind the lines of its record.
 */
static size_t take_over(struct table *table, const struct file_bytes *bytes, const char *line) {
    const char *text = (const char *)bytes->data;
    size_t from = strlen(line), at = from, count = 0, room = 0, length, field;
    struct old_record *old = NULL, record = {0};
    if (bytes->size < at || memcmp(text, line, at) != 0) return 0;
    for (; (length = find_line(text + at, bytes->size - at, &field)); at += length) {
        if (at == from) record = (struct old_record){.text = text + from, .field = field};
        if (text[at] != ',') continue;
        record.stamp = text + at;
        record.bytes = at - from;
        from = at + length;
        if (!is_sound(&record, length)) continue;
        if (count == room) {
            room = room ? 2 * room : 256;
            old = must_have(realloc(old, room * sizeof *old), room * sizeof *old);
        }
        old[count++] = record;
    }
    deal(table, old, count);
    free(old);
    return from;
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

bool table_journal_add(struct table *table, const char *record, const char *stamp, struct failure *failure) {
    char seal[SEAL_BYTES + 1];
    if (!table->journal) return true;
    make_seal(record, strlen(record), stamp, strlen(stamp), seal);
    return (fprintf(table->journal, "%s%s%s", record, stamp, seal) >= 0 && fflush(table->journal) == 0) || journal_failed(table, failure);
}

void table_journal_end(struct table *table, bool whole) {
    if (table->journal) fclose(table->journal);
    if (table->journal && whole) unlink(table->journal_path);
    free(table->journal_path);
    table->journal = NULL;
    table->journal_path = NULL;
}
