/* SPDX-License-Identifier: MIT */
/* Files that are written beside their target: made, locked, synced, renamed; and removed where a process that was killed left one. */
#include "tools/base/temporary.h"
#include "tools/base/message.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK ".morsel-"
enum { RANDOM = 6, NAME_MOST = 200, ATTEMPTS = 100 }; /* a name of 255 bytes holds that much of the target's, MARK, PID and RANDOM */

static bool unsupported(int code) {
    return code == EINVAL || code == ENOTSUP || code == EOPNOTSUPP || code == ENOSYS;
}

int temporary_put(int fd, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t put = write(fd, data, size < (1u << 30) ? size : 1u << 30);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        data += put;
        size -= (size_t)put;
    }
    return 0;
}

/* --- Where --- */

/* Where the file's own name begins. */
static size_t name_at(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Opens the folder; -1 and errno where that cannot be. */
static int open_folder(const char *path) {
    char folder[PATH_MAX];
    size_t length = name_at(path);
    snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? path : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int temporary_sync_folder(const struct temporary *temporary) {
    int fd = open_folder(temporary->target);
    if (fd < 0) return 0; /* a folder that may be written to and not be read */
    int code = fsync(fd) && !unsupported(errno) ? errno : 0;
    close(fd);
    return code;
}

/* --- What others left --- */

/* The process that a name of this form is of, or 0. */
static pid_t writer_of(const char *name, const char *target) {
    size_t length = strnlen(target, NAME_MOST);
    char *end;
    if (strncmp(name, target, length) != 0 || strncmp(name + length, MARK, strlen(MARK)) != 0) return 0;
    name += length + strlen(MARK);
    if (!isdigit((unsigned char)*name) || *name == '0') return 0;
    errno = 0;
    long pid = strtol(name, &end, 10);
    if (errno || pid > INT_MAX || *end != '-' || strlen(end + 1) != RANDOM) return 0;
    for (const char *c = end + 1; *c; c++)
        if (!isalnum((unsigned char)*c)) return 0;
    return (pid_t)pid;
}

/* A lock of the whole file; false where someone else's is in the way, or where there are no locks. */
static bool lock(int fd, short type) {
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    return !fcntl(fd, F_SETLK, &whole);
}

/* Whether nobody writes it any more: it is a file of ours without another name, and not locked. */
static bool is_left(int folder, const char *name) {
    struct stat named = {0}, opened = {0};
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) || !S_ISREG(named.st_mode)) return false;
    if (named.st_uid != geteuid() || named.st_nlink != 1) return false;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool same = !fstat(fd, &opened) && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    bool left = same && lock(fd, F_RDLCK);
    close(fd);
    return left;
}

static void remove_left(const char *target) {
    int folder = open_folder(target);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    if (!dir) {
        if (folder >= 0) close(folder);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        pid_t pid = writer_of(entry->d_name, target + name_at(target));
        if (!pid || !kill(pid, 0) || errno != ESRCH || !is_left(folder, entry->d_name) || unlinkat(folder, entry->d_name, 0)) continue;
        message_notice("%s is removed: a process that was killed left it", entry->d_name);
    }
    closedir(dir);
}

/* --- Writing --- */

/* The mode that a new file gets, or that of the file it replaces. */
static mode_t mode_of(const struct stat *old) {
    if (old) return old->st_mode & 07777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A new file with our lock on it. Who looks for leftovers may hold its lock for a moment, or remove it before it has ours: then another. */
static int make(struct temporary *t) {
    struct stat status = {0};
    size_t at = name_at(t->target);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(t->path, sizeof t->path, "%.*s%.*s" MARK "%ld-XXXXXX", (int)at, t->target, NAME_MOST, t->target + at, (long)getpid());
        if ((t->fd = mkostemp(t->path, O_CLOEXEC)) < 0) break;
        bool mine = lock(t->fd, F_WRLCK) || (errno != EACCES && errno != EAGAIN); /* some file systems have no locks */
        if (mine && !fstat(t->fd, &status) && status.st_nlink == 1) return 0;
        temporary_drop(t);
        errno = EAGAIN;
    }
    t->path[0] = 0;
    return errno;
}

int temporary_write(struct temporary *t, const struct stat *old, const void *data, size_t size) {
    remove_left(t->target);
    int code = make(t);
    if (code) return code;
    code = temporary_put(t->fd, data, size);
    (void)fchmod(t->fd, mode_of(old)); /* where the file system has no modes the file is as good */
    if (!code && fsync(t->fd) && !unsupported(errno)) code = errno;
    return code;
}

int temporary_take_name(struct temporary *t) {
    if (rename(t->path, t->target)) return errno;
    t->path[0] = 0;
    close(t->fd);
    return 0;
}

void temporary_drop(struct temporary *t) {
    if (!t->path[0]) return;
    unlink(t->path);
    close(t->fd);
    t->path[0] = 0;
}
