/* SPDX-License-Identifier: MIT */
/* What `morsel run` found out, picture by picture, as text or JSON. */
#ifndef MORSEL_TOOLS_VERBS_RESULTS_H
#define MORSEL_TOOLS_VERBS_RESULTS_H

#include "tools/base/json.h"
#include "tools/network/network.h"

enum { RESULTS_TOP_MOST = 1000 };

/* How many pixels are of a class. */
struct results_share {
    uint32_t index;
    uint64_t pixels;
};

struct result {
    const char *file;
    uint32_t image; /* within the file: rows of an array */
    bool numbered;  /* the file holds several */
    double ms;      /* of the run */
    uint32_t top_count;
    struct morsel_class *top;
    uint32_t box_count;
    struct morsel_box *boxes; /* of a detector, in the place of classes */
    size_t vector_count;
    float *vector; /* of an embedding */
    uint32_t point_count;
    struct morsel_point *points; /* of a pose and the like */
    uint32_t share_count, width, height;
    struct results_share *shares; /* of a segmentation, the largest first */
    char *wrong;                  /* in the place of an answer: what is at fault with the picture */
    const char *drawn;            /* the file that it was drawn to, or NULL */
};

struct results {
    const struct network *network;
    uint32_t top;     /* how many classes are wanted */
    bool check_names; /* say whether the answer is what the file's name starts with */
    const char *p;    /* what p is: "softmax over the scores" */
    bool probabilities;
    const char *mask; /* where the classes of pixels are kept; NULL: nowhere */
    size_t count;
    struct result *list;
};

/* Each adds what was found in one picture, which is copied; `of` has its file, image, whether that is numbered, and time. Of scores, which
 * become probabilities in place, the best are kept. */
void results_add(struct results *results, const struct result *of, float *scores, size_t count);
void results_add_classes(struct results *results, const struct result *of, const struct morsel_class *classes, uint32_t count);
void results_add_boxes(struct results *results, const struct result *of, const struct morsel_box *boxes, uint32_t count);
void results_add_vector(struct results *results, const struct result *of, const float *vector, size_t count);
void results_add_points(struct results *results, const struct result *of, const struct morsel_point *points, uint32_t count);
void results_add_wrong(struct results *results, const struct result *of, const char *wrong);
/* Classes of pixels, which are counted. */
void results_add_pixels(struct results *results, const struct result *of, const uint8_t *classes, uint32_t width, uint32_t height);
double results_share(const struct result *result, uint32_t i); /* of all pixels */
void results_print(const struct results *results, const struct result *result);
void results_json(const struct results *results, struct json *json);
void results_free(struct results *results);

/* How many answers agree with their file's name, and how many files have a name that starts with a label. */
size_t results_right(const struct results *results);
size_t results_known(const struct results *results);

#endif
