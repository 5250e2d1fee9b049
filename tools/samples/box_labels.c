/* SPDX-License-Identifier: MIT */
/* Reads the boxes of a picture from a text, line by line, and finds that text. */
#include "tools/samples/box_labels.h"
#include "tools/base/arena.h"
#include "tools/base/file.h"
#include "tools/base/text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 5, BYTES_MOST = 16 << 20 };

static const char *const names[FIELDS] = {"class", "x", "y", "width", "height"};

struct line {
    const char *path, *at, *end;
    size_t number;
    uint32_t classes;
};

static void skip_blanks(struct line *line) {
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r')) line->at++;
}

static bool wrong_count(const struct line *line, const char *has, struct failure *failure) {
    return failure_set(failure, STATUS_INPUT, "%s:%zu: a box is five numbers, class x y width height; there are %s", line->path,
                       line->number, has);
}

/* At a character that is no blank: so strtod() stays in the line. */
static bool read_number(struct line *line, int field, double *value, struct failure *failure) {
    char *stop;
    *value = strtod(line->at, &stop);
    bool good = stop > line->at && stop <= line->end && (stop == line->end || *stop == ' ' || *stop == '\t' || *stop == '\r');
    int shown = line->end - line->at > 20 ? 20 : (int)(line->end - line->at);
    if (!good || !isfinite(*value))
        return failure_set(failure, STATUS_INPUT, "%s:%zu: %s is no number: '%.*s'", line->path, line->number, names[field], shown,
                           line->at);
    line->at = stop;
    return true;
}

static bool in_range(const struct line *line, const double *v, struct failure *failure) {
    if (v[0] != floor(v[0]) || v[0] < 0 || v[0] >= line->classes)
        return failure_set(failure, STATUS_INPUT, "%s:%zu: class %.9g; the network has classes 0 to %u", line->path, line->number, v[0],
                           line->classes - 1);
    for (int k = 1; k < FIELDS; k++)
        if (v[k] < 0 || v[k] > 1 || (k > 2 && v[k] == 0))
            return failure_set(failure, STATUS_INPUT, "%s:%zu: %s is %.9g; it is a share of the picture's side, %s 1", line->path,
                               line->number, names[k], v[k], k > 2 ? "above 0 and up to" : "0 to");
    return true;
}

static bool read_box(struct line *line, struct box_label *box, struct failure *failure) {
    double v[FIELDS];
    for (int k = 0; k < FIELDS; k++, skip_blanks(line)) {
        if (line->at == line->end) return wrong_count(line, "fewer", failure);
        if (!read_number(line, k, &v[k], failure)) return false;
    }
    if (line->at < line->end) return wrong_count(line, "more, as of an outline or with a p", failure);
    if (!in_range(line, v, failure)) return false;
    *box = (struct box_label){(uint32_t)v[0], fmax(v[1] - v[3] / 2, 0), fmax(v[2] - v[4] / 2, 0), fmin(v[1] + v[3] / 2, 1),
                              fmin(v[2] + v[4] / 2, 1)};
    return true;
}

bool box_labels_parse(struct box_labels *labels, const char *text, size_t bytes, const char *path, uint32_t classes,
                      struct failure *failure) {
    const char *const last = text + bytes;
    struct line line = {.path = path, .at = text + text_mark(text), .classes = classes};
    size_t lines = 1;
    for (const char *c = text; c < last; c++) lines += *c == '\n';
    labels->list = must_calloc(lines, sizeof *labels->list);
    labels->count = 0;
    labels->there = true;
    while (line.at < last) {
        const char *feed = memchr(line.at, '\n', (size_t)(last - line.at));
        line.end = feed ? feed : last;
        line.number++;
        skip_blanks(&line);
        if (line.at < line.end && !read_box(&line, &labels->list[labels->count++], failure)) return false;
        line.at = line.end + 1;
    }
    return true;
}

/* The path with another folder: `bytes` of it, then `folder`, then the rest from `rest` on, all with .txt for the picture's ending. */
static char *path_of(const char *picture, size_t bytes, const char *folder, size_t rest) {
    const char *name = strrchr(picture, '/'), *dot = strrchr(picture, '.');
    const size_t end = dot && (!name || dot > name) ? (size_t)(dot - picture) : strlen(picture), size = strlen(picture) + 32;
    char *path = must_calloc(size, 1);
    snprintf(path, size, "%.*s%s%.*s.txt", (int)bytes, picture, folder, (int)(end - rest), picture + rest);
    return path;
}

/* Where the last folder `images` begins in the path; `none` where there is none. */
static size_t images_folder(const char *picture, size_t none) {
    size_t found = none;
    for (const char *at = picture; (at = strstr(at, "images/")); at++)
        if (at == picture || at[-1] == '/') found = (size_t)(at - picture);
    return found;
}

static char *find_file(const char *picture) {
    const char *slash = strrchr(picture, '/');
    const size_t name = slash ? (size_t)(slash - picture) + 1 : 0, none = strlen(picture) + 1, images = images_folder(picture, none);
    for (int k = 0; k < 3; k++) {
        if (k == 2 && images == none) break;
        char *path =
            k < 2 ? path_of(picture, name, k ? "labels/" : "", name) : path_of(picture, images, "labels/", images + strlen("images/"));
        if (!access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR)) return path; /* what may not be read is said when it is */
        free(path);
    }
    return NULL;
}

bool box_labels_read(struct box_labels *labels, const char *picture, uint32_t classes, struct failure *failure) {
    *labels = (struct box_labels){0};
    char *path = find_file(picture);
    struct file_bytes bytes = {0};
    if (!path) return true;
    bool good = file_is_plain(path, failure) && file_read(path, BYTES_MOST, &bytes, failure) &&
                box_labels_parse(labels, (const char *)bytes.data, bytes.size, path, classes, failure);
    file_free(&bytes);
    free(path);
    return good;
}

void box_labels_free(struct box_labels *labels) {
    free(labels->list);
    *labels = (struct box_labels){0};
}
