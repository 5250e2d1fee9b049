/* SPDX-License-Identifier: MIT */
/* Whole files: read however they come, written beside the old file and then put in its place. */
#include "tools/base/file.h"
#include "tools/base/stop.h"
#include "tools/base/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

/* Memory for `capacity` bytes and the 0 behind them, with what `bytes` holds so far moved over. */
static bool grow(struct file_bytes *bytes, size_t capacity, struct failure *failure) {
    size_t whole = (capacity + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *data = aligned_alloc(ALIGNMENT, whole);
    if (!data) return failure_memory(failure, whole);
    if (bytes->size) memcpy(data, bytes->data, bytes->size);
    free(bytes->data);
    bytes->data = data;
    return true;
}

static bool read_failed(const char *path, struct failure *failure) {
    int code = errno;
    return failure_set(failure, failure_status(code), "cannot read %s: %s", path, strerror(code));
}

/* Of a terminal or /dev/zero, which may have no end. */
enum { DEVICE_MOST = 64 << 20 };

/* Reads to the end of the file, whose size may be unknown (a pipe) or change meanwhile. */
static bool read_all(int fd, const char *path, size_t capacity, size_t most, struct file_bytes *out, struct failure *failure) {
    if (!grow(out, capacity, failure)) return false;
    for (;;) {
        if (out->size == capacity) {
            capacity = capacity < 4096 ? 8192 : capacity * 2;
            if (!grow(out, capacity, failure)) return false;
        }
        ssize_t got = read(fd, out->data + out->size, capacity - out->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return read_failed(path, failure);
        if (got == 0) break;
        out->size += (size_t)got;
        if (out->size > most)
            return failure_set(failure, STATUS_INPUT, "%s is larger than %zu bytes, the most that is read of such a file", path, most);
    }
    out->data[out->size] = 0;
    return true;
}

bool file_read(const char *path, size_t most, struct file_bytes *out, struct failure *failure) {
    struct stat status = {0};
    out->data = NULL;
    out->size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return read_failed(path, failure);
    bool done;
    const bool known = !fstat(fd, &status);
    if (known && S_ISCHR(status.st_mode) && most > DEVICE_MOST) most = DEVICE_MOST;
    if (!known) done = read_failed(path, failure);
    else if (S_ISDIR(status.st_mode)) done = failure_set(failure, STATUS_INPUT, "cannot read %s: it is a folder", path);
    else if (status.st_size > 0 && (uint64_t)status.st_size > most)
        done = failure_set(failure, STATUS_INPUT, "%s is larger than %zu bytes, the most that is read of such a file", path, most);
    else done = read_all(fd, path, (size_t)status.st_size + 1, most, out, failure);
    close(fd);
    if (!done) file_free(out);
    return done;
}

bool file_is_plain(const char *path, struct failure *failure) {
    struct stat status = {0};
    return stat(path, &status) || S_ISREG(status.st_mode) ||
           failure_set(failure, STATUS_INPUT, "cannot read %s: it is no plain file", path);
}

/* 0 or an errno. */
static int read_part(int fd, uint64_t from, uint8_t *out, size_t size, size_t *got) {
    while (*got < size) {
        ssize_t n = pread(fd, out + *got, size - *got, (off_t)(from + *got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) break;
        *got += (size_t)n;
    }
    return 0;
}

bool file_read_part(const char *path, uint64_t from, void *out, size_t size, size_t *got, uint64_t *whole, struct failure *failure) {
    struct stat status = {0}; /* in case it cannot be asked for */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *got = 0;
    if (fd < 0) return read_failed(path, failure);
    int code = fstat(fd, &status) ? errno : S_ISREG(status.st_mode) ? read_part(fd, from, out, size, got) : ESPIPE;
    close(fd);
    if (whole) *whole = (uint64_t)status.st_size;
    errno = code;
    return !code || read_failed(path, failure);
}

void file_free(struct file_bytes *bytes) {
    free(bytes->data);
    bytes->data = NULL;
    bytes->size = 0;
}

static bool is_one(const struct stat *x, const struct stat *y) {
    return x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

/* Whether files that are not there yet would be one: of one name in one folder. */
static bool same_place(const char *a, const char *b) {
    struct stat x = {0}, y = {0};
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    if (strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) != 0) return false;
    char *in_a = strndup(end_a ? a : "./", end_a ? (size_t)(end_a - a) + 1 : 2),
         *in_b = strndup(end_b ? b : "./", end_b ? (size_t)(end_b - b) + 1 : 2);
    bool same = in_a && in_b && !stat(in_a, &x) && !stat(in_b, &y) && is_one(&x, &y);
    free(in_a);
    free(in_b);
    return same;
}

bool file_same(const char *a, const char *b) {
    struct stat x = {0}, y = {0};
    if (!a || !b) return false;
    if (!strcmp(a, b)) return true;
    if (stat(a, &x)) return errno == ENOENT && stat(b, &y) && errno == ENOENT && same_place(a, b);
    return !stat(b, &y) && S_ISREG(x.st_mode) && is_one(&x, &y);
}

static bool write_failed(const char *path, int code, struct failure *failure) {
    bool call = code == ENOENT || code == ENOTDIR || code == EISDIR || code == ENAMETOOLONG;
    return failure_set(failure, call ? STATUS_CALL : STATUS_SYSTEM, "cannot write %s: %s; nothing was written", path,
                       code == ENOENT ? "its folder does not exist" : strerror(code));
}

/* Elsewhere a dash is stdout. Here it would become a file that is hard to get rid of. */
static bool is_no_dash(const char *path, struct failure *failure) {
    return strcmp(path, "-") != 0 ||
           failure_set(failure, STATUS_CALL, "- would be a file of that name: /dev/stdout stands for stdout, and ./- for such a file");
}

bool file_can_write(const char *path, struct failure *failure) {
    struct stat status = {0};
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (path && !is_no_dash(path, failure)) return false;
    if (!path || !stat(path, &status)) /* what stands there is looked at when it is written over */
        return true;
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!folder) return failure_memory(failure, strlen(path) + 1);
    int code = access(folder, W_OK | X_OK) ? errno : 0;
    free(folder);
    return !code || write_failed(path, code, failure);
}

/* Devices and pipes: there is no name to take over. */
static bool write_through(const struct file_new *file, struct failure *failure) {
    int fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return write_failed(file->path, errno, failure);
    int code = temporary_put(fd, file->data, file->size);
    if (close(fd) && !code) code = errno;
    return code ? failure_set(failure, STATUS_SYSTEM, "cannot write %s: %s", file->path, strerror(code)) : true;
}

static bool is_through(const char *path) {
    struct stat old = {0};
    return !stat(path, &old) && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode);
}

/* A stop waits while there are temporary files, so that it leaves none behind. */
static void hold_signals(sigset_t *before) {
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) sigaddset(&set, stops[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static bool prepare(const struct file_new *file, struct temporary *temporary, struct failure *failure) {
    struct stat old = {0}, link = {0};
    const char *path = file->path;
    if (!is_no_dash(path, failure)) return false;
    bool exists = stat(path, &old) == 0;
    if (!exists && !lstat(path, &link)) return failure_set(failure, STATUS_CALL, "cannot write %s: it is a link that leads nowhere", path);
    if (!*path) return failure_set(failure, STATUS_CALL, "cannot write to a file without a name");
    if (exists && S_ISDIR(old.st_mode)) return write_failed(path, EISDIR, failure);
    if (strlen(path) >= sizeof temporary->target) return write_failed(path, ENAMETOOLONG, failure);
    strcpy(temporary->target, path);
    if (exists && !lstat(path, &link) && S_ISLNK(link.st_mode) && !realpath(path, temporary->target))
        return write_failed(path, errno, failure); /* the link stays, and the file that it names is written */
    int code = temporary_write(temporary, exists ? &old : NULL, file->data, file->size);
    return !code || write_failed(path, code, failure);
}

/* All lie on the disk: they take their names, the first one first. */
static bool take_names(const struct file_new *files, size_t count, struct temporary *temporary, struct failure *failure) {
    for (size_t i = 0; i < count; i++) {
        int code = temporary[i].path[0] ? temporary_take_name(&temporary[i]) : 0;
        if (code && !i) return write_failed(files[i].path, code, failure);
        if (code)
            return failure_set(failure, STATUS_SYSTEM, "cannot write %s: %s; what stands before it in the call was written", files[i].path,
                               strerror(code));
    }
    for (size_t i = 0; i < count; i++) {
        int code = temporary[i].target[0] ? temporary_sync_folder(&temporary[i]) : 0;
        if (code) return failure_set(failure, STATUS_SYSTEM, "cannot write the folder of %s: %s", files[i].path, strerror(code));
    }
    return true;
}

bool file_write_all(const struct file_new *files, size_t count, struct failure *failure) {
    struct temporary *temporary = calloc(count, sizeof *temporary);
    bool good = temporary ? true : failure_memory(failure, count * sizeof *temporary);
    sigset_t before;
    for (size_t i = 0; good && i < count; i++) /* whoever reads from a pipe may take long */
        if (is_through(files[i].path)) good = write_through(&files[i], failure);
    hold_signals(&before);
    for (size_t i = 0; good && i < count; i++)
        if (!is_through(files[i].path)) good = prepare(&files[i], &temporary[i], failure);
    good = good && take_names(files, count, temporary, failure);
    for (size_t i = 0; temporary && i < count; i++) temporary_drop(&temporary[i]);
    if (good) stop_written();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(temporary);
    return good;
}

bool file_write(const char *path, const void *data, size_t size, struct failure *failure) {
    return file_write_all(&(struct file_new){path, data, size}, 1, failure);
}
