/* SPDX-License-Identifier: MIT */
/*
 * Faults on order, by LD_PRELOAD: a call that fails, or a signal that comes, at a point that is named by its number.
 *
 *   FAULTS=CALL:N=WHAT   the N-th CALL: one of mkostemp write fchmod fsync rename unlink alloc, or `step`, any of them but alloc.
 *                        WHAT is the number of a signal, which comes instead of the call; or `eNUMBER`, the errno that it fails with.
 *                        N+ stands for the N-th and all after it
 *   FAULTS_LOG=FILE      each call is noted there with its file, and at the end how many allocations there were
 *
 * What stdio writes goes past this, inside the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char wanted[16];
static unsigned long at_number;
static bool and_after, ready;
static int signal_wanted, errno_wanted, log_fd = -1;
static atomic_ulong seen, allocations;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static ssize_t real_write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    return real(fd, data, size);
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    char line[9000];
    va_list list;
    if (log_fd < 0) return;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (length > 0) (void)!real_write(log_fd, line, (size_t)length);
}

__attribute__((constructor)) static void begin(void) {
    const char *faults = getenv("FAULTS"), *log = getenv("FAULTS_LOG"), *colon = faults ? strchr(faults, ':') : NULL;
    char *end;
    int fd = log ? open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 100); /* a stream that is closed stays so for the tool */
    if (fd >= 0) close(fd);
    if (colon && (size_t)(colon - faults) < sizeof wanted) {
        memcpy(wanted, faults, (size_t)(colon - faults));
        at_number = strtoul(colon + 1, &end, 10);
        and_after = *end == '+';
        end += and_after;
        if (end[0] == '=' && end[1] == 'e') errno_wanted = atoi(end + 2);
        else if (end[0] == '=') signal_wanted = atoi(end + 1);
    }
    ready = true;
}

__attribute__((destructor)) static void finish(void) {
    note("allocations %lu\n", atomic_load(&allocations));
}

/* Whether this call is to fail; errno is set then. */
static bool fails(const char *call, bool is_step) {
    if (!ready || (strcmp(call, wanted) != 0 && !(is_step && !strcmp(wanted, "step")))) return false;
    unsigned long number = atomic_fetch_add(&seen, 1) + 1;
    if (number != at_number && !(and_after && number > at_number)) return false;
    if (signal_wanted) {
        kill(getpid(), signal_wanted);
        return false;
    }
    errno = errno_wanted;
    return true;
}

static const char *path_of(int fd, char *path, size_t size) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

/* --- Files --- */

ssize_t write(int fd, const void *data, size_t size) {
    char path[4096];
    if (fd > 2) note("write %s\n", path_of(fd, path, sizeof path));
    return fd > 2 && fails("write", true) ? -1 : real_write(fd, data, size);
}

int mkostemp(char *template, int flags) {
    REAL(int, mkostemp, char *, int);
    int fd = fails("mkostemp", true) ? -1 : real(template, flags);
    note("mkostemp %s\n", template);
    return fd;
}

/* What glibc calls it where files may have 2 GB and more. */
int mkostemp64(char *template, int flags) __attribute__((alias("mkostemp")));

int fchmod(int fd, mode_t mode) {
    char path[4096];
    REAL(int, fchmod, int, mode_t);
    note("fchmod %s\n", path_of(fd, path, sizeof path));
    return fails("fchmod", true) ? -1 : real(fd, mode);
}

/* Noted, not done: a disk takes its time. */
int fsync(int fd) {
    char path[4096];
    note("fsync %s\n", path_of(fd, path, sizeof path));
    return fails("fsync", true) ? -1 : 0;
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    note("rename %s %s\n", from, to);
    return fails("rename", true) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    note("unlink %s\n", path);
    return fails("unlink", true) ? -1 : real(path);
}

/* --- Memory --- */

static bool no_memory(void) {
    if (!ready) return false;
    atomic_fetch_add(&allocations, 1);
    return fails("alloc", false);
}

void *malloc(size_t size) {
    REAL(void *, malloc, size_t);
    return no_memory() ? NULL : real(size);
}

void *calloc(size_t count, size_t size) {
    REAL(void *, calloc, size_t, size_t);
    return no_memory() ? NULL : real(count, size);
}

void *realloc(void *old, size_t size) {
    REAL(void *, realloc, void *, size_t);
    return no_memory() ? NULL : real(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    REAL(void *, aligned_alloc, size_t, size_t);
    return no_memory() ? NULL : real(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    REAL(int, posix_memalign, void **, size_t, size_t);
    return no_memory() ? ENOMEM : real(out, alignment, size);
}
