/* SPDX-License-Identifier: MIT */
/* Pictures wherever they lie, for calibration, which does not ask what they show. */
#include "tools/samples/dataset.h"
#include "tools/base/arena.h"
#include "tools/base/folder.h"
#include <stdlib.h>
#include <string.h>

static bool is_binary(const char *name) {
    return folder_ends(name, ".bin");
}

/* The files' paths go over to the items. */
static void take_pictures(struct dataset *dataset, struct folder_files *files) {
    uint32_t classes = 0;
    for (size_t i = 0; i < dataset->count; i++) classes = dataset->items[i].class >= classes ? dataset->items[i].class + 1 : classes;
    for (size_t i = 0; i < files->count; i++) {
        struct dataset_item item = {.path = files->list[i].path, .class = classes + files->list[i].folder};
        dataset_add_item(dataset, item);
        files->list[i].path = NULL;
    }
}

static bool add_folder(struct dataset *dataset, const char *path, struct failure *failure) {
    struct folder_files files = {0};
    bool good = folder_walk(path, image_name, &files, failure);
    if (good) take_pictures(dataset, &files);
    bool pictures = files.count;
    folder_free(&files);
    if (!good || pictures) return good;
    good = folder_walk(path, is_binary, &files, failure);
    for (size_t i = 0; good && i < files.count; i++) good = dataset_add_binary(dataset, files.list[i].path, 0, failure);
    folder_free(&files);
    return good;
}

bool dataset_add(struct dataset *dataset, const char *path, struct failure *failure) {
    if (folder_is(path)) return add_folder(dataset, path, failure);
    if (!image_name(path)) return dataset_add_binary(dataset, path, 0, failure);
    dataset_add_item(dataset, (struct dataset_item){.path = must_have(strdup(path), strlen(path))});
    return true;
}
