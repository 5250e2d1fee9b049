/* SPDX-License-Identifier: MIT */
/* Files, folders and lists become one list of paths. */
#include "tools/verbs/pictures.h"
#include "tools/base/arena.h"
#include "tools/base/folder.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the path over; its name begins behind `folder` bytes, 0: behind the last slash. */
static void add(struct pictures *pictures, char *path, size_t folder) {
    const char *slash = strrchr(path, '/');
    if (pictures->count == pictures->room) {
        pictures->room = pictures->room ? 2 * pictures->room : 64;
        const size_t bytes = pictures->room * sizeof *pictures->list;
        pictures->list = must_have(realloc(pictures->list, bytes), bytes);
        pictures->names = must_have(realloc(pictures->names, bytes), bytes);
    }
    pictures->names[pictures->count] = folder ? path + folder : slash ? slash + 1 : path;
    pictures->list[pictures->count++] = path;
}

static bool add_folder(struct pictures *pictures, const char *path, struct failure *failure) {
    struct folder_files files = {0};
    bool good = folder_walk(path, image_name, &files, failure);
    if (good && !files.count)
        good = failure_set(failure, STATUS_INPUT, "%s holds no picture: .jpg, .png, .ppm, .pgm and .bmp are taken", path);
    for (size_t i = 0; good && i < files.count; i++) {
        add(pictures, files.list[i].path, folder_length(path) + 1);
        files.list[i].path = NULL;
    }
    folder_free(&files);
    return good;
}

static bool add_lines(struct pictures *pictures, struct failure *failure) {
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) >= 0;) {
        while (length && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = 0;
        if (length) add(pictures, must_have(strdup(line), (size_t)length), 0);
    }
    free(line);
    return feof(stdin) || failure_set(failure, STATUS_SYSTEM, "the list on stdin could not be read");
}

bool pictures_find(char *const *names, size_t count, struct pictures *pictures, struct failure *failure) {
    for (size_t i = 0; i < count; i++) {
        bool good = true;
        if (!strcmp(names[i], "-")) good = add_lines(pictures, failure);
        else if (folder_is(names[i])) good = add_folder(pictures, names[i], failure);
        else add(pictures, must_have(strdup(names[i]), strlen(names[i])), 0);
        if (!good) return false;
    }
    if (count && !pictures->count) return failure_set(failure, STATUS_INPUT, "the list on stdin names no picture");
    return pictures->count <= INT32_MAX || failure_set(failure, STATUS_CALL, "over 2^31 pictures are named");
}

bool pictures_put_black(struct network_run *run, uint32_t index, struct failure *failure) {
    static uint8_t black[64 * 64 * 3];
    const struct image image = {64, 64, black};
    return network_picture(run, &image, index, failure) || failure_prefix(failure, run->network->call.path);
}

void pictures_free(struct pictures *pictures) {
    for (size_t i = 0; i < pictures->count; i++) free(pictures->list[i]);
    free(pictures->list);
    free(pictures->names);
    *pictures = (struct pictures){0};
}
