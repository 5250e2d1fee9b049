/* SPDX-License-Identifier: MIT */
/*
 * Labelled pictures: a folder with a subfolder for each class, or CIFAR-10's binary files (a file of 3073-byte records, or a folder
 * of such).
 */
#ifndef MORSEL_TOOLS_SAMPLES_DATASET_H
#define MORSEL_TOOLS_SAMPLES_DATASET_H

#include "tools/base/file.h"
#include "tools/samples/image/image.h"

struct dataset_item {
    char *path;         /* of a picture; NULL for a record */
    const char *binary; /* the file of a record: label, then 32 x 32 red, green, blue planes */
    uint64_t offset;    /* where it begins there */
    uint32_t class;     /* index of the label */
};

struct dataset {
    size_t count, room;
    struct dataset_item *items;
    size_t file_count;
    char *files[16]; /* the binary files */
};

/* The classes of the network that is asked. */
struct dataset_classes {
    uint32_t count;
    const char *(*label)(const void *ctx, uint32_t index); /* NULL from the first that has none */
    const void *ctx;
};

/*
 * Lists what is in `path`, at most `limit` items (0: all), the same ones each time. Of folders every class comes in turn, as evenly as can
 * be. A subfolder's name is a label or a class number; case does not count, and '/', ' ', '-' and '_' are the same. Where no name is one,
 * the subfolders are the classes in the order of their names.
 */
bool dataset_open(struct dataset *dataset, const char *path, size_t limit, const struct dataset_classes *classes, struct failure *failure);

/*
 * Adds all the pictures of `path`, whatever they show: one picture, a folder that holds some at any depth, CIFAR-10 binary files. The class
 * of each is the folder that it lies in, counted from 0. Of a folder without any the count stays as it is.
 */
bool dataset_add(struct dataset *dataset, const char *path, struct failure *failure);

/* What an item is called: the path of a picture, FILE:N of record N (from 0) in a binary file; in `text` where it has to be made. */
const char *dataset_name(const struct dataset *dataset, size_t index, char *text, size_t size);

bool dataset_image(const struct dataset *dataset, size_t index, struct image *image, struct failure *failure);
void dataset_close(struct dataset *dataset);

/* For dataset_add(): one item; the records of a binary file. */
void dataset_add_item(struct dataset *dataset, struct dataset_item item);
bool dataset_add_binary(struct dataset *dataset, const char *path, size_t limit, struct failure *failure);

#endif
