/* SPDX-License-Identifier: MIT */
/* Lists a labelled dataset: folders by class, or CIFAR-10's binary files. */
#include "tools/samples/dataset.h"
#include "tools/base/arena.h"
#include "tools/base/folder.h"
#include "tools/base/message.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CIFAR_SIDE = 32, CIFAR_PLANE = CIFAR_SIDE * CIFAR_SIDE, CIFAR_RECORD = 1 + 3 * CIFAR_PLANE, CLASSES_MOST = 100000 };

void dataset_add_item(struct dataset *dataset, struct dataset_item item) {
    if (dataset->count == dataset->room) {
        dataset->room = dataset->room ? 2 * dataset->room : 1024;
        size_t bytes = dataset->room * sizeof *dataset->items;
        dataset->items = must_have(realloc(dataset->items, bytes), bytes);
    }
    dataset->items[dataset->count++] = item;
}

/* --- Folders ------------------------------------------------------------------------------------------------------ */

struct names {
    char **list;
    int count;
};

static void names_free(struct names *names) {
    for (int i = 0; i < names->count; i++) free(names->list[i]);
    free(names->list);
    *names = (struct names){0};
}

static char *join(const char *folder, const char *name) {
    char *path = NULL;
    const size_t length = folder_length(folder);
    return must_have(asprintf(&path, "%.*s/%s", (int)length, folder, name) < 0 ? NULL : path, length);
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether an entry of a folder is wanted: a subfolder, a picture, or a binary file. */
enum wanted { SUBFOLDERS, PICTURES, BINARIES };

static bool is_wanted(const char *folder, const char *name, enum wanted wanted) {
    size_t length = strlen(name);
    if (name[0] == '.') return false;
    if (wanted == PICTURES) return image_name(name);
    if (wanted == BINARIES) return length > 4 && !strcmp(name + length - 4, ".bin");
    char *path = join(folder, name);
    bool folder_found = folder_is(path);
    free(path);
    return folder_found;
}

static void keep(struct names *names, const char *name) {
    size_t bytes = ((size_t)names->count + 1) * sizeof *names->list;
    names->list = must_have(realloc(names->list, bytes), bytes);
    names->list[names->count++] = must_have(strdup(name), strlen(name));
}

/* The entries of a folder that are wanted, sorted. */
static bool list_folder(const char *folder, enum wanted wanted, struct names *names, struct failure *failure) {
    DIR *dir = opendir(folder);
    *names = (struct names){0};
    if (!dir) return failure_set(failure, failure_status(errno), "cannot read the folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(dir));)
        if (is_wanted(folder, entry->d_name, wanted)) keep(names, entry->d_name);
    closedir(dir);
    if (names->count > 1) qsort(names->list, (size_t)names->count, sizeof *names->list, compare);
    return true;
}

/* A letter of a label as a folder's name may have it: folders cannot hold '/', and people write '_' or '-' for it and for spaces. */
static char folded(char c) {
    if (c == '/' || c == ' ' || c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool alike(const char *a, const char *b) {
    while (*a && folded(*a) == folded(*b)) a++, b++;
    return !*a && !*b;
}

static long number_of(const char *name) {
    char *end;
    long number = strtol(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && number < CLASSES_MOST ? number : -1;
}

/* The index of the label that is the name, else of the only one that is like it, else the name as a number; -1 where it is none. */
static long class_of(const char *name, const struct dataset_classes *classes) {
    long like = -1, likes = 0;
    const char *text;
    for (uint32_t i = 0; i < CLASSES_MOST && (text = classes->label(classes->ctx, i)); i++) {
        if (!strcmp(text, name)) return i;
        if (alike(text, name)) {
            like = i;
            likes++;
        }
    }
    return likes == 1 ? like : number_of(name);
}

/* "airplane, automobile, ...": as many labels as the text takes. */
static const char *list_labels(const struct dataset_classes *classes, char *text, size_t size) {
    size_t at = 0;
    const char *label;
    text[0] = 0;
    for (uint32_t i = 0; (label = classes->label(classes->ctx, i)); i++) {
        if (at + strlen(label) + 8 > size) {
            snprintf(text + at, size - at, ", ...");
            break;
        }
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", label);
    }
    return text;
}

static bool unknown_folder(const char *name, const struct dataset_classes *classes, struct failure *failure) {
    char labels[400];
    list_labels(classes, labels, sizeof labels);
    return failure_set(failure, STATUS_INPUT,
                       "subfolder '%.100s' is none of the network's labels, though others are%s%s; class numbers will do, too", name,
                       *labels ? ": " : "", labels);
}

/* No name says anything: the folders are the classes in their order, if they are as many. */
static bool by_order(const struct names *folders, long *result, const struct dataset_classes *classes, struct failure *failure) {
    char labels[400];
    list_labels(classes, labels, sizeof labels);
    if ((uint32_t)folders->count != classes->count)
        return failure_set(failure, STATUS_INPUT,
                           "%d subfolder%s, none of them named as a label or a class number, for a network of %u classes%s%s",
                           folders->count, folders->count == 1 ? "" : "s", classes->count, *labels ? ": " : "", labels);
    for (int i = 0; i < folders->count; i++) result[i] = i;
    message_notice("%s; the subfolders are taken as classes 0 to %d in the order of their names",
                   *labels ? "no subfolder is named like a label" : "there are no labels (--labels)", folders->count - 1);
    return true;
}

/* The class of every subfolder: all by name, or all by order. */
static bool find_classes(const struct names *folders, long *result, const struct dataset_classes *classes, struct failure *failure) {
    int named = 0, unknown = 0;
    for (int i = 0; i < folders->count; i++) {
        result[i] = class_of(folders->list[i], classes);
        if (result[i] >= 0 && (uint32_t)result[i] >= classes->count)
            return failure_set(failure, STATUS_INPUT, "subfolder '%.100s' stands for class %ld, and the network has classes 0 to %u",
                               folders->list[i], result[i], classes->count - 1);
        named += result[i] >= 0;
        unknown = result[i] < 0 ? i : unknown;
    }
    if (!named) return by_order(folders, result, classes, failure);
    return named == folders->count || unknown_folder(folders->list[unknown], classes, failure);
}

/* Picture `index` of every class in turn, so that a limit takes as many of each. */
static void interleave(struct dataset *dataset, const char *path, const struct names *folders, const struct names *pictures,
                       const long *classes, size_t limit) {
    bool more = true;
    for (int index = 0; more; index++) {
        more = false;
        for (int i = 0; i < folders->count && (!limit || dataset->count < limit); i++) {
            if (index >= pictures[i].count) continue;
            struct dataset_item item = {.class = (uint32_t)classes[i]};
            char *folder = join(path, folders->list[i]);
            item.path = join(folder, pictures[i].list[index]);
            free(folder);
            dataset_add_item(dataset, item);
            more = true;
        }
    }
}

static bool list_pictures(const char *path, const struct names *folders, struct names *pictures, struct failure *failure) {
    for (int i = 0; i < folders->count; i++) {
        char *folder = join(path, folders->list[i]);
        bool good = list_folder(folder, PICTURES, &pictures[i], failure);
        free(folder);
        if (!good) return false;
    }
    return true;
}

static bool open_folders(struct dataset *dataset, const char *path, const struct names *folders, size_t limit,
                         const struct dataset_classes *known, struct failure *failure) {
    struct names *pictures = must_calloc((size_t)folders->count, sizeof *pictures);
    long *classes = must_calloc((size_t)folders->count, sizeof *classes);
    bool good = find_classes(folders, classes, known, failure) && list_pictures(path, folders, pictures, failure);
    if (good) interleave(dataset, path, folders, pictures, classes, limit);
    for (int i = 0; i < folders->count; i++) names_free(&pictures[i]);
    free(pictures);
    free(classes);
    return good;
}

/* --- CIFAR-10's binary files -------------------------------------------------------------------------------------- */

static bool add_records(struct dataset *dataset, const char *path, const struct file_bytes *file, size_t limit, struct failure *failure) {
    if (file->size == 0 || file->size % CIFAR_RECORD)
        return failure_set(failure, STATUS_INPUT,
                           "%s is neither a folder nor CIFAR-10 binary: its %zu bytes are no multiple of %d; unpack archives first", path,
                           file->size, CIFAR_RECORD);
    for (size_t at = 0; at < file->size && (!limit || dataset->count < limit); at += CIFAR_RECORD) {
        uint8_t class = file->data[at];
        if (class > 9)
            return failure_set(failure, STATUS_INPUT, "%s: record %zu has label %u, and CIFAR-10 has 0 to 9", path, at / CIFAR_RECORD,
                               class);
        dataset_add_item(dataset, (struct dataset_item){.binary = path, .offset = at, .class = class});
    }
    return true;
}

/* The file is read once for its labels; pictures are read again when they are asked for, so that memory does not grow with them. */
bool dataset_add_binary(struct dataset *dataset, const char *path, size_t limit, struct failure *failure) {
    struct file_bytes file;
    if (dataset->file_count == sizeof dataset->files / sizeof dataset->files[0])
        return failure_set(failure, STATUS_INPUT, "%s: there are more binary files than %zu", path, dataset->file_count);
    char *name = must_have(strdup(path), strlen(path));
    dataset->files[dataset->file_count++] = name;
    if (!file_read(path, 1 << 30, &file, failure)) return false;
    bool good = add_records(dataset, name, &file, limit, failure);
    file_free(&file);
    return good;
}

static bool open_binaries(struct dataset *dataset, const char *path, size_t limit, struct failure *failure) {
    struct names names;
    if (!list_folder(path, BINARIES, &names, failure)) return false;
    bool good = true;
    for (int i = 0; good && i < names.count; i++) {
        char *file = join(path, names.list[i]);
        good = dataset_add_binary(dataset, file, limit, failure);
        free(file);
    }
    names_free(&names);
    return good;
}

/* No subfolders, and pictures: nobody says what they show. */
static bool has_classes(const char *path, struct failure *failure) {
    struct names pictures;
    if (!list_folder(path, PICTURES, &pictures, failure)) return false;
    int count = pictures.count;
    names_free(&pictures);
    return !count || failure_set(failure, STATUS_INPUT,
                                 "%s has %d picture%s and no subfolders: eval wants a subfolder for each class, named as its label, with "
                                 "the pictures of that class ('morsel run' answers single pictures)",
                                 path, count, count == 1 ? "" : "s");
}

static bool fill(struct dataset *dataset, const char *path, size_t limit, const struct dataset_classes *classes, struct failure *failure) {
    struct names folders;
    if (!folder_is(path)) return dataset_add_binary(dataset, path, limit, failure);
    if (!list_folder(path, SUBFOLDERS, &folders, failure)) return false;
    bool good = folders.count ? open_folders(dataset, path, &folders, limit, classes, failure)
                              : open_binaries(dataset, path, limit, failure) && (dataset->count || has_classes(path, failure));
    names_free(&folders);
    return good;
}

bool dataset_open(struct dataset *dataset, const char *path, size_t limit, const struct dataset_classes *classes, struct failure *failure) {
    memset(dataset, 0, sizeof *dataset);
    bool good = fill(dataset, path, limit, classes, failure);
    if (good && !dataset->count)
        good =
            failure_set(failure, STATUS_INPUT, "%s holds no pictures: a subfolder for each class is wanted, or CIFAR-10 .bin files", path);
    if (!good) dataset_close(dataset);
    return good;
}

static bool read_record(const struct dataset_item *item, struct image *image, struct failure *failure) {
    uint8_t record[CIFAR_RECORD];
    size_t got;
    if (!file_read_part(item->binary, item->offset, record, CIFAR_RECORD, &got, NULL, failure)) return false;
    if (got < CIFAR_RECORD) return failure_set(failure, STATUS_INPUT, "%s has become shorter meanwhile", item->binary);
    if (!image_allocate(image, CIFAR_SIDE, CIFAR_SIDE, CIFAR_RECORD, failure)) return false;
    for (int i = 0; i < CIFAR_PLANE; i++)
        for (int c = 0; c < 3; c++) image->rgb[3 * i + c] = record[1 + c * CIFAR_PLANE + i];
    return true;
}

const char *dataset_name(const struct dataset *dataset, size_t index, char *text, size_t size) {
    const struct dataset_item *item = &dataset->items[index];
    if (item->path) return item->path;
    snprintf(text, size, "%s:%llu", item->binary, (unsigned long long)(item->offset / CIFAR_RECORD));
    return text;
}

bool dataset_image(const struct dataset *dataset, size_t index, struct image *image, struct failure *failure) {
    const struct dataset_item *item = &dataset->items[index];
    image->rgb = NULL;
    return item->path ? image_read(item->path, image, failure) : read_record(item, image, failure);
}

void dataset_close(struct dataset *dataset) {
    for (size_t i = 0; i < dataset->count; i++) free(dataset->items[i].path);
    for (size_t i = 0; i < dataset->file_count; i++) free(dataset->files[i]);
    free(dataset->items);
    memset(dataset, 0, sizeof *dataset);
}
