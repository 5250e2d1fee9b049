/* SPDX-License-Identifier: MIT */
/*
 * Bytes as the journal of a table that was not finished (tools/verbs/table_journal.c). Behind the right first line stand records; one input
 * in four is the file as it is. Links the tool's files.
 *
 *     fuzz_journal [--runs N] [--seconds N] [--seed N] [TABLE.csv.partial...]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: what a picture gets is a record of its own, whole; the file keeps what it began with, and no more than that.
 */
#include "fuzz.h"
#include "tools/verbs/table.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PICTURES = 5, HEAD = 512 };

static char *const pictures[PICTURES] = {"a.jpg", "b,c.jpg", "d\"e\".jpg", "f\n.jpg", "g"};
static char folder[64], path[80], partial[96], head[HEAD];
static size_t head_bytes;
static unsigned long long dealt;

int fuzz_report(unsigned long long runs) {
    printf("   %llu records went to pictures\n", dealt);
    return runs < 1000 || dealt > 0;
}

static void must(bool good, const char *what) {
    if (good) return;
    perror(what);
    exit(3);
}

static void clean(void) {
    unlink(partial);
    rmdir(folder);
}

static void put(const void *bytes, size_t size, int how) {
    const int file = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
    must(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0, partial);
}

static size_t get(uint8_t *bytes, size_t most) {
    const int file = open(partial, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? -1 : read(file, bytes, most);
    must(size >= 0 && close(file) == 0, partial);
    return (size_t)size;
}

/* `fields` of a record; where they are a list, a picture has as many lines as its second field says. */
static struct table table_of(size_t fields, bool listed, char **records) {
    static const struct pictures all = {.list = (char **)pictures, .count = PICTURES};
    return (struct table){.pictures = &all, .path = path, .top = 4, .fields = fields, .listed = listed, .records = records};
}

/* A folder in memory, where there is one; the first line is what an empty journal gets. */
static void prepare(void) {
    struct failure failure = {0};
    char *records[PICTURES] = {0};
    struct table table = table_of(5, false, records);
    snprintf(folder, sizeof folder, "%s/fuzz-journal-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    must(mkdtemp(folder) != NULL, folder);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    snprintf(partial, sizeof partial, "%s.partial", path);
    if (!table_journal_open(&table, &failure)) must(false, failure.text);
    table_journal_end(&table, false);
    head_bytes = get((uint8_t *)head, sizeof head);
    atexit(clean);
}

static int put_record(uint64_t *state, char *to, size_t capacity) {
    char *field = table_field(pictures[fuzz_below(state, PICTURES)]);
    static const char *const behind[] = {",3,cat,0.5,\n", ",0,,,,,,,,\n", ",2,7,\"a,b\",1,\n", ",2,8,\"\"\"\",1,\n", ",1,,,wrong\n", "\n"};
    int length = snprintf(to, capacity, "%s%s", field, behind[fuzz_below(state, 6)]);
    free(field);
    return length;
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    uint64_t state = seed;
    size_t size = 1, most = capacity < 2048 ? capacity : 2048;
    bytes[0] = (uint8_t)fuzz_random(&state);
    for (uint32_t n = fuzz_below(&state, 12); n; n--) {
        int length = put_record(&state, (char *)bytes + size, most - size);
        if (length < 0 || (size_t)length >= most - size) break;
        size += (size_t)length;
    }
    return size;
}

/* A picture's lines: each names it, and has all fields. */
static void check_record(const struct table *table, size_t picture) {
    char *record = table->records[picture], *field = table_field(pictures[picture]);
    size_t lines = 0, fields = 1;
    bool quoted = false;
    if (strncmp(record, field, strlen(field)) != 0 || record[strlen(field)] != ',') abort();
    for (const char *c = record; *c; c++) {
        quoted ^= *c == '"';
        fields += !quoted && *c == ',';
        if (quoted || *c != '\n') continue;
        if (fields != table->fields || (c[1] && strncmp(c + 1, field, strlen(field)) != 0)) abort();
        lines++;
        fields = 1;
    }
    if (quoted || !lines || lines > (table->listed ? table->top : 1) || record[strlen(record) - 1] != '\n') abort();
    free(field);
    free(record);
    dealt++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static uint8_t before[1 << 16], after[1 << 16];
    char *records[PICTURES] = {0};
    struct failure failure = {0};
    if (!head_bytes) prepare();
    if (!size || size > sizeof before - HEAD) return 0;
    const bool listed = bytes[0] & 1, whole = (bytes[0] & 6) == 0;
    unlink(partial);
    if (!whole) put(head, head_bytes, 0);
    put(bytes + 1, size - 1, O_APPEND);
    const size_t had = get(before, sizeof before);
    struct table table = table_of(listed ? 10 : 5, listed, records);
    const bool good = table_journal_open(&table, &failure);
    table_journal_end(&table, false);
    const size_t has = get(after, sizeof after);
    if (!good && (!*failure.text || has != had || memcmp(before, after, had) != 0)) abort();
    const bool fresh = has == head_bytes && memcmp(after, head, has) == 0;
    if (good && !fresh && (has > had || has < head_bytes || memcmp(before, after, has) != 0)) abort();
    for (size_t i = 0; i < PICTURES; i++)
        if (records[i]) check_record(&table, i);
    return 0;
}
