/* SPDX-License-Identifier: MIT */
#include "tools/dataset.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CIFAR_SIDE = 32, CIFAR_PLANE = CIFAR_SIDE * CIFAR_SIDE, CIFAR_RECORD = 1 + 3 * CIFAR_PLANE, CLASSES_MOST = 100000 };

static bool add(struct dataset *dataset, struct dataset_item item, struct failure *failure) {
    if (dataset->count == dataset->room) {
        size_t room = dataset->room ? 2 * dataset->room : 1024;
        struct dataset_item *items = realloc(dataset->items, room * sizeof *items);
        if (!items)
            return failure_memory(failure, room * sizeof *items);
        dataset->items = items;
        dataset->room = room;
    }
    dataset->items[dataset->count++] = item;
    return true;
}

/* --- Folders ------------------------------------------------------------------------------------------------------ */

struct names {
    char **list;
    int count;
};

static void names_free(struct names *names) {
    for (int i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
    *names = (struct names){0};
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static char *join(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether an entry of a folder is wanted: a subfolder, a picture, or a binary file. */
enum wanted { SUBFOLDERS, PICTURES, BINARIES };

static bool is_wanted(const char *folder, const char *name, enum wanted wanted) {
    size_t length = strlen(name);
    if (name[0] == '.')
        return false;
    if (wanted == PICTURES)
        return image_name(name);
    if (wanted == BINARIES)
        return length > 4 && !strcmp(name + length - 4, ".bin");
    char *path = join(folder, name);
    bool folder_found = path && is_folder(path);
    free(path);
    return folder_found;
}

static bool keep(struct names *names, const char *name, struct failure *failure) {
    char **list = realloc(names->list, ((size_t)names->count + 1) * sizeof *list);
    if (list)
        names->list = list;
    if (!list || !(list[names->count] = strdup(name)))
        return failure_memory(failure, strlen(name) + 1);
    names->count++;
    return true;
}

/* The entries of a folder that are wanted, sorted. */
static bool list_folder(const char *folder, enum wanted wanted, struct names *names, struct failure *failure) {
    DIR *dir = opendir(folder);
    *names = (struct names){0};
    if (!dir)
        return failure_set(failure, STATUS_INPUT, "cannot read the folder %s: %s", folder, strerror(errno));
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));)
        if (is_wanted(folder, entry->d_name, wanted))
            good = keep(names, entry->d_name, failure);
    closedir(dir);
    if (!good)
        names_free(names);
    else if (names->count > 1)
        qsort(names->list, (size_t)names->count, sizeof *names->list, compare);
    return good;
}

/* The label's index, or a plain number's; -1 where the name is neither. */
static long class_of(const char *name, dataset_label *label, const void *ctx) {
    const char *text;
    for (uint32_t i = 0; i < CLASSES_MOST && (text = label(ctx, i)); i++)
        if (!strcmp(text, name))
            return i;
    char *end;
    long number = strtol(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && number < CLASSES_MOST ? number : -1;
}

/* The class of every subfolder: all by name, or all by order. */
static bool find_classes(const struct names *folders, long *classes, dataset_label *label, const void *ctx, struct failure *failure) {
    int named = 0, unknown = 0;
    for (int i = 0; i < folders->count; i++) {
        classes[i] = class_of(folders->list[i], label, ctx);
        named += classes[i] >= 0;
        unknown = classes[i] < 0 ? i : unknown;
    }
    if (named && named < folders->count)
        return failure_set(failure, STATUS_INPUT, "subfolder '%s' is none of the network's labels, though others are",
                           folders->list[unknown]);
    for (int i = 0; !named && i < folders->count; i++)
        classes[i] = i;
    if (!named)
        message_notice("no subfolder is named like a label; they are taken as classes 0 to %d in the order of their names",
                       folders->count - 1);
    return true;
}

/* Picture `index` of every class in turn, so that a limit takes as many of each. */
static bool interleave(struct dataset *dataset, const char *path, const struct names *folders, const struct names *pictures,
                       const long *classes, size_t limit, struct failure *failure) {
    bool more = true;
    for (int index = 0; more; index++) {
        more = false;
        for (int i = 0; i < folders->count && (!limit || dataset->count < limit); i++) {
            if (index >= pictures[i].count)
                continue;
            struct dataset_item item = {.class = (uint32_t)classes[i]};
            if (asprintf(&item.path, "%s/%s/%s", path, folders->list[i], pictures[i].list[index]) < 0)
                return failure_memory(failure, strlen(path) + 512);
            if (!add(dataset, item, failure)) {
                free(item.path);
                return false;
            }
            more = true;
        }
    }
    return true;
}

static bool list_pictures(const char *path, const struct names *folders, struct names *pictures, struct failure *failure) {
    for (int i = 0; i < folders->count; i++) {
        char *folder = join(path, folders->list[i]);
        bool good = folder ? list_folder(folder, PICTURES, &pictures[i], failure) : failure_memory(failure, strlen(path) + 512);
        free(folder);
        if (!good)
            return false;
    }
    return true;
}

static bool open_folders(struct dataset *dataset, const char *path, const struct names *folders, size_t limit, dataset_label *label,
                         const void *ctx, struct failure *failure) {
    struct names *pictures = calloc((size_t)folders->count, sizeof *pictures);
    long *classes = calloc((size_t)folders->count, sizeof *classes);
    bool good = pictures && classes ? true : failure_memory(failure, (size_t)folders->count * sizeof *pictures);
    good = good && find_classes(folders, classes, label, ctx, failure) && list_pictures(path, folders, pictures, failure) &&
           interleave(dataset, path, folders, pictures, classes, limit, failure);
    for (int i = 0; pictures && i < folders->count; i++)
        names_free(&pictures[i]);
    free(pictures);
    free(classes);
    return good;
}

/* --- CIFAR-10's binary files -------------------------------------------------------------------------------------- */

static bool add_binary(struct dataset *dataset, const char *path, size_t limit, struct failure *failure) {
    if (dataset->file_count == sizeof dataset->files / sizeof dataset->files[0])
        return failure_set(failure, STATUS_INPUT, "%s: there are more binary files than %zu", path, dataset->file_count);
    struct file_bytes *file = &dataset->files[dataset->file_count];
    if (!file_read(path, 1 << 30, file, failure))
        return false;
    dataset->file_count++;
    if (file->size == 0 || file->size % CIFAR_RECORD)
        return failure_set(failure, STATUS_INPUT,
                           "%s is neither a folder nor CIFAR-10 binary: its %zu bytes are no multiple of %d; unpack archives first", path,
                           file->size, CIFAR_RECORD);
    for (size_t at = 0; at < file->size && (!limit || dataset->count < limit); at += CIFAR_RECORD) {
        const uint8_t *record = file->data + at;
        if (record[0] > 9)
            return failure_set(failure, STATUS_INPUT, "%s: record %zu has label %u, and CIFAR-10 has 0 to 9", path, at / CIFAR_RECORD,
                               record[0]);
        if (!add(dataset, (struct dataset_item){.record = record, .class = record[0]}, failure))
            return false;
    }
    return true;
}

static bool open_binaries(struct dataset *dataset, const char *path, size_t limit, struct failure *failure) {
    struct names names;
    if (!list_folder(path, BINARIES, &names, failure))
        return false;
    bool good = true;
    for (int i = 0; good && i < names.count; i++) {
        char *file = join(path, names.list[i]);
        good = file ? add_binary(dataset, file, limit, failure) : failure_memory(failure, strlen(path) + 512);
        free(file);
    }
    names_free(&names);
    return good;
}

static bool fill(struct dataset *dataset, const char *path, size_t limit, dataset_label *label, const void *ctx, struct failure *failure) {
    struct names folders;
    if (!is_folder(path))
        return add_binary(dataset, path, limit, failure);
    if (!list_folder(path, SUBFOLDERS, &folders, failure))
        return false;
    bool good =
        folders.count ? open_folders(dataset, path, &folders, limit, label, ctx, failure) : open_binaries(dataset, path, limit, failure);
    names_free(&folders);
    return good;
}

bool dataset_open(struct dataset *dataset, const char *path, size_t limit, dataset_label *label, const void *ctx, struct failure *failure) {
    memset(dataset, 0, sizeof *dataset);
    bool good = fill(dataset, path, limit, label, ctx, failure);
    if (good && !dataset->count)
        good =
            failure_set(failure, STATUS_INPUT, "%s holds no pictures: a subfolder for each class is wanted, or CIFAR-10 .bin files", path);
    if (!good)
        dataset_close(dataset);
    return good;
}

bool dataset_image(const struct dataset *dataset, size_t index, struct image *image, struct failure *failure) {
    const struct dataset_item *item = &dataset->items[index];
    if (item->path)
        return image_read(item->path, image, failure);
    if (!image_allocate(image, CIFAR_SIDE, CIFAR_SIDE, failure))
        return false;
    for (int i = 0; i < CIFAR_PLANE; i++)
        for (int c = 0; c < 3; c++)
            image->rgb[3 * i + c] = item->record[1 + c * CIFAR_PLANE + i];
    return true;
}

void dataset_close(struct dataset *dataset) {
    for (size_t i = 0; i < dataset->count; i++)
        free(dataset->items[i].path);
    for (size_t i = 0; i < dataset->file_count; i++)
        file_free(&dataset->files[i]);
    free(dataset->items);
    memset(dataset, 0, sizeof *dataset);
}
