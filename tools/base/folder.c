/* SPDX-License-Identifier: MIT */
/* Walks a folder and all that lies below it. */
#include "tools/base/folder.h"
#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool folder_is(const char *path) {
    struct stat status = {0};
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool folder_ends(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length > end && !strcasecmp(name + length - end, ending);
}

void folder_free(struct folder_files *files) {
    for (size_t i = 0; i < files->count; i++) free(files->list[i].path);
    free(files->list);
    *files = (struct folder_files){0};
}

/* Takes the path over, also where it fails. */
static bool add(struct folder_files *files, char *path, uint32_t folder, struct failure *failure) {
    if (files->count == files->room) {
        size_t room = files->room ? 2 * files->room : 64;
        struct folder_file *list = realloc(files->list, room * sizeof *list);
        if (!list) {
            free(path);
            return failure_memory(failure, room * sizeof *list);
        }
        files->list = list;
        files->room = room;
    }
    files->list[files->count++] = (struct folder_file){path, folder};
    return true;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct folder_file *)a)->path, ((const struct folder_file *)b)->path);
}

static void sort(struct folder_files *files, size_t first) {
    if (files->count - first > 1) qsort(files->list + first, files->count - first, sizeof *files->list, by_path);
}

/* A folder that was walked, by whatever name. */
struct walked {
    dev_t device;
    ino_t node;
};

static int by_node(const void *a, const void *b) {
    const struct walked *x = a, *y = b;
    return x->device != y->device ? (x->device > y->device) - (x->device < y->device) : (x->node > y->node) - (x->node < y->node);
}

/* Whether it was walked before; from now on it was. */
static bool is_known(void **known, const struct stat *status, bool *yes, struct failure *failure) {
    struct walked *one = malloc(sizeof *one);
    if (!one) return failure_memory(failure, sizeof *one);
    *one = (struct walked){status->st_dev, status->st_ino};
    struct walked **found = tsearch(one, known, by_node);
    *yes = found && *found != one;
    if (!found || *yes) free(one);
    return found || failure_memory(failure, sizeof found);
}

/* Sorts the entries of a folder into files that are wanted and subfolders. */
static bool list_folder(DIR *dir, const char *path, folder_wanted *wanted, struct folder_files *files, struct folder_files *folders,
                        struct failure *failure) {
    struct stat status = {0};
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *name;
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&name, "%s/%s", path, entry->d_name) < 0) return failure_memory(failure, strlen(path) + 256);
        bool known = !stat(name, &status), folder = known && S_ISDIR(status.st_mode);
        if (!folder && (!wanted(entry->d_name) || (known && !S_ISREG(status.st_mode)))) free(name); /* who opens a pipe waits */
        else if (!add(folder ? folders : files, name, files->folders, failure)) return false;
    }
    return true;
}

static bool walk(const char *path, void **known, folder_wanted *wanted, struct folder_files *files, struct failure *failure) {
    struct stat status = {0};
    struct folder_files folders = {0};
    DIR *dir = stat(path, &status) == 0 ? opendir(path) : NULL;
    if (!dir) return failure_set(failure, failure_status(errno), "cannot read the folder %s: %s", path, strerror(errno));
    size_t first = files->count;
    bool again = false;
    bool good = is_known(known, &status, &again, failure) && (again || list_folder(dir, path, wanted, files, &folders, failure));
    closedir(dir);
    sort(files, first);
    sort(&folders, 0);
    files->folders += files->count > first;
    for (size_t i = 0; good && i < folders.count; i++) good = walk(folders.list[i].path, known, wanted, files, failure);
    folder_free(&folders);
    return good;
}

size_t folder_length(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return length;
}

bool folder_walk(const char *path, folder_wanted *wanted, struct folder_files *files, struct failure *failure) {
    const size_t length = folder_length(path);
    char *folder = strndup(path, length);
    void *known = NULL;
    bool good = folder ? walk(folder, &known, wanted, files, failure) : failure_memory(failure, length + 1);
    tdestroy(known, free);
    free(folder);
    return good;
}

static bool cannot_make(const char *path, int code, struct failure *failure) {
    const int status = code == ENOTDIR || code == EEXIST || code == ENAMETOOLONG ? STATUS_CALL : STATUS_SYSTEM;
    return failure_set(failure, status, "cannot write below %s: %s", path, strerror(code == EEXIST ? ENOTDIR : code));
}

bool folder_can_make(const char *path, struct failure *failure) {
    char *at = strdup(path), *slash;
    struct stat status = {0};
    if (!at) return failure_memory(failure, strlen(path) + 1);
    at[folder_length(at)] = 0;
    while (stat(at, &status) && errno == ENOENT && strcmp(at, ".") != 0) { /* the first above it that is there */
        if (!(slash = strrchr(at, '/'))) strcpy(at, ".");
        else at[slash == at ? 1 : slash - at] = 0;
        at[folder_length(at)] = 0;
    }
    const int code = stat(at, &status) ? errno : !S_ISDIR(status.st_mode) ? ENOTDIR : access(at, W_OK | X_OK) ? errno : 0;
    free(at);
    return !code || cannot_make(path, code, failure);
}

bool folder_make_for(const char *path, struct failure *failure) {
    char *folder = strdup(path);
    if (!folder) return failure_memory(failure, strlen(path) + 1);
    int code = 0;
    for (char *slash = folder; !code && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(folder, 0777) && !folder_is(folder)) code = errno;
        *slash = '/';
    }
    free(folder);
    return !code || cannot_make(path, code, failure);
}
