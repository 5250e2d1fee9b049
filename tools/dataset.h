/* SPDX-License-Identifier: MIT */
/*
 * Labelled pictures: a folder with a subfolder for each class, or CIFAR-10's binary files (a file of 3073-byte records, or a folder
 * of such).
 */
#ifndef MORSEL_TOOLS_DATASET_H
#define MORSEL_TOOLS_DATASET_H

#include "tools/file.h"
#include "tools/image/image.h"

struct dataset_item {
    char *path;            /* of a picture; NULL for a record */
    const uint8_t *record; /* label, then 32 x 32 red, green, blue planes */
    uint32_t class;        /* index of the label */
};

struct dataset {
    size_t count, room;
    struct dataset_item *items;
    size_t file_count;
    struct file_bytes files[16]; /* the binary files */
};

/* The classes of the network that is asked. */
struct dataset_classes {
    uint32_t count;
    const char *(*label)(const void *ctx, uint32_t index); /* NULL from the first that has none */
    const void *ctx;
};

/*
 * Lists what is in `path`, at most `limit` items (0: all), the same ones each time: of folders every class in turn, as evenly as can be.
 * A subfolder's name is a label (whatever its case, '/', ' ', '-' and '_' being the same), or a class number, or, where no name is one, the
 * subfolders are the classes in the order of their names.
 */
bool dataset_open(struct dataset *dataset, const char *path, size_t limit, const struct dataset_classes *classes, struct failure *failure);
bool dataset_image(const struct dataset *dataset, size_t index, struct image *image, struct failure *failure);
void dataset_close(struct dataset *dataset);

#endif
