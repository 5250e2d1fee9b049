/* SPDX-License-Identifier: MIT */
/* What `morsel run` found out, picture by picture, as text or JSON. */
#ifndef MORSEL_TOOLS_VERBS_RESULTS_H
#define MORSEL_TOOLS_VERBS_RESULTS_H

#include "tools/base/json.h"
#include "tools/network/network.h"

enum { RESULTS_TOP_MOST = 1000 };

struct results_class {
    uint32_t index;
    float p;
};

struct result {
    const char *file;
    uint32_t image; /* within the file: rows of an array */
    bool numbered;  /* the file holds several */
    double ms;      /* of the run */
    uint32_t top_count;
    struct results_class *top;
    uint32_t box_count;
    struct morsel_box *boxes; /* of a detector, in the place of classes */
    size_t vector_count;
    float *vector; /* of an embedding */
};

struct results {
    const struct network *network;
    uint32_t top;     /* how many classes are wanted */
    bool check_names; /* say whether the answer is what the file's name starts with */
    bool probabilities;
    float threshold; /* classes below are left out */
    size_t count;
    struct result *list;
};

/* Adds the scores of one picture, which are turned into probabilities in place. */
void results_add(struct results *results, const char *file, uint32_t image, bool numbered, float *scores, size_t count, double ms);
/* What a detector found in one picture; a vector. They are copied. */
void results_add_boxes(struct results *results, const char *file, uint32_t image, bool numbered, const struct morsel_box *boxes,
                       uint32_t count, double ms);
void results_add_vector(struct results *results, const char *file, uint32_t image, bool numbered, const float *vector, size_t count,
                        double ms);
void results_print(const struct results *results, const struct result *result);
void results_json(const struct results *results, struct json *json);
void results_free(struct results *results);

/* How many answers agree with their file's name, and how many files have a name that starts with a label. */
size_t results_right(const struct results *results);
size_t results_known(const struct results *results);

#endif
