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

static struct table table_of(char **records) {
    static const struct pictures all = {.list = (char **)pictures, .count = PICTURES};
    return (struct table){.pictures = &all, .path = path, .top = 4, .records = records};
}

/* A folder in memory, where there is one; the first line is what an empty journal gets. */
static void prepare(void) {
    struct failure failure = {0};
    char *records[PICTURES] = {0};
    struct table table = table_of(records);
    snprintf(folder, sizeof folder, "%s/fuzz-journal-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    must(mkdtemp(folder) != NULL, folder);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    snprintf(partial, sizeof partial, "%s.partial", path);
    if (!table_journal_open(&table, &failure)) must(false, failure.text);
    table_journal_end(&table, false);
    head_bytes = get((uint8_t *)head, sizeof head);
    atexit(clean);
}

/* Some lines of a picture, and behind them mostly a stamp as of a file that is not there, with its checksum: FNV-1a. */
static int put_record(uint64_t *state, char *to, size_t capacity) {
    char *field = table_field(pictures[fuzz_below(state, PICTURES)]);
    static const char *const behind[] = {",3,cat,0.5,\n", ",0,,,,,,,,\n", ",2,7,\"a,b\",1,\n", ",2,8,\"\"\"\",1,\n", ",1,,,wrong\n", "\n"};
    size_t length = 0;
    uint64_t sum = 0xcbf29ce484222325u;
    for (uint32_t lines = fuzz_below(state, 8) ? 1 : 2; lines && length < capacity; lines--)
        length += (size_t)snprintf(to + length, capacity - length, "%s%s", field, behind[fuzz_below(state, 6)]);
    free(field);
    if (fuzz_below(state, 8) && length + 2 < capacity) {
        memcpy(to + length, ",,", 2);
        length += 2;
        for (size_t i = 0; i < length; i++) sum = (sum ^ (uint8_t)to[i]) * 0x100000001b3u;
        length += (size_t)snprintf(to + length, capacity - length, ",%016llx\n", (unsigned long long)sum);
    }
    return (int)length;
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

/* A picture's lines: the first one names it, and the last one ends with no word of what went wrong. */
static void check_record(const struct table *table, size_t picture) {
    char *record = table->records[picture], *field = table_field(pictures[picture]);
    const size_t length = strlen(record);
    if (strncmp(record, field, strlen(field)) != 0 || record[strlen(field)] != ',') abort();
    if (length < 2 || strcmp(record + length - 2, ",\n") != 0) abort();
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
    const bool whole = (bytes[0] & 6) == 0;
    unlink(partial);
    if (!whole) put(head, head_bytes, 0);
    put(bytes + 1, size - 1, O_APPEND);
    const size_t had = get(before, sizeof before);
    struct table table = table_of(records);
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
