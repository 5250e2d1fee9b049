/* SPDX-License-Identifier: MIT */
/* Names the files that pictures are drawn to, and looks at what stands there. */
#include "tools/verbs/drawings.h"
#include "tools/base/arena.h"
#include "tools/base/folder.h"
#include "tools/samples/image/draw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* OUT/NAME.png; an ending that pictures have goes. */
static char *name_in(const char *folder, const char *name) {
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    const size_t whole = strlen(name), length = dot && dot > (slash ? slash + 1 : name) && image_name(name) ? (size_t)(dot - name) : whole;
    const size_t bytes = strlen(folder) + whole + 8;
    char *path = must_calloc(bytes, 1);
    snprintf(path, bytes, "%.*s/%.*s%s", (int)folder_length(folder), folder, (int)length, name, DRAW_ENDING);
    return path;
}

/* A picture's number, and where it goes. */
struct drawn {
    const char *path;
    size_t picture;
};

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct drawn *)a)->path, ((const struct drawn *)b)->path);
}

static bool all_differ(const struct drawings *drawings, const struct pictures *pictures, struct failure *failure) {
    struct drawn *all = must_calloc(drawings->count, sizeof *all), *twice = NULL;
    for (size_t i = 0; i < drawings->count; i++) all[i] = (struct drawn){drawings->paths[i], i};
    qsort(all, drawings->count, sizeof *all, by_path);
    for (size_t i = 1; i < drawings->count && !twice; i++)
        if (!by_path(&all[i - 1], &all[i])) twice = &all[i - 1];
    if (twice)
        failure_set(failure, STATUS_CALL, "--draw: %.200s and %.200s would both become %.200s", pictures->list[twice[0].picture],
                    pictures->list[twice[1].picture], twice->path);
    free(all);
    return !twice;
}

bool drawings_plan(struct drawings *drawings, const char *draw, const struct pictures *pictures, struct failure *failure) {
    const size_t length = strlen(draw);
    drawings->folder = (length && draw[length - 1] == '/') || folder_is(draw) ? draw : NULL;
    if (!drawings->folder && pictures->count != 1)
        return failure_set(failure, STATUS_CALL, "--draw %s: of several pictures it wants a folder: --draw %s/", draw, draw);
    drawings->paths = must_calloc(pictures->count, sizeof *drawings->paths);
    drawings->count = pictures->count;
    for (size_t i = 0; i < pictures->count; i++)
        drawings->paths[i] = drawings->folder ? name_in(draw, pictures->names[i]) : must_have(strdup(draw), length + 1);
    return all_differ(drawings, pictures, failure);
}

/* Which file a path names, by whatever links. */
struct place {
    dev_t device;
    ino_t node;
};

static bool place_of(const char *path, struct place *place) {
    struct stat status = {0};
    if (stat(path, &status) || !S_ISREG(status.st_mode)) return false;
    *place = (struct place){status.st_dev, status.st_ino};
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

bool drawings_can_write(const struct drawings *drawings, const struct pictures *pictures, const struct network *network,
                        struct failure *failure) {
    struct place *read = must_calloc(pictures->count, sizeof *read), place;
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < pictures->count; i++) count += place_of(pictures->list[i], &read[count]);
    qsort(read, count, sizeof *read, by_place);
    for (size_t i = 0; i < drawings->count && good; i++) {
        const char *path = drawings->paths[i];
        if (folder_is(path))
            good = failure_set(failure, STATUS_CALL, "--draw %s: it is a folder, and a picture is to be written there", path);
        else if (place_of(path, &place) && (bsearch(&place, read, count, sizeof place, by_place) || network_reads(network, path)))
            good = failure_set(failure, STATUS_CALL, "--draw %s would be written over: it is read as well", path);
    }
    free(read);
    return good && (drawings->folder ? folder_can_make(drawings->folder, failure) : draw_can_write(drawings->paths[0], failure));
}

void drawings_free(struct drawings *drawings) {
    for (size_t i = 0; i < drawings->count; i++) free(drawings->paths[i]);
    free(drawings->paths);
    *drawings = (struct drawings){0};
}
