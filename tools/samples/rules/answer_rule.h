/* SPDX-License-Identifier: MIT */
/* The answer rule, which `morsel convert` takes beside the network: what its outputs mean. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_ANSWER_RULE_H
#define MORSEL_TOOLS_SAMPLES_RULES_ANSWER_RULE_H

#include "core/format.h"
#include "core/morsel.h"
#include "tools/base/npy.h"

/* As the file states it; what depends on the network is found by answer_rule_fit(). */
struct answer_rule {
    struct morsel_blob_answer record;
    char *output, *scores; /* names of outputs, or their numbers; NULL: they are found by their shapes */
    bool unit;             /* coordinates are parts of the input's sides */
    bool cells;            /* boxes are told in cells of 8, 16, 32 pixels (and 64), which become anchors */
    bool centre;           /* those stand for their centres, not for their corners */
    bool levels;           /* each size of cells may have outputs of its own: levels_join() makes one of them, by the next two */
    bool product;
    int bins;
    bool by_threshold;  /* a threshold, or what it is of, is stated */
    uint32_t numbers;   /* of a point; 0: not stated */
    uint32_t layout;    /* of maps: 1: channels first, 2: last, 0: not stated */
    char head[16];      /* as it is called there; of "yolov10" selection_cut() leaves boxes and scores, as of an SSD */
    struct npy anchors; /* float32 [candidates, 4]; no data: none */
    char *anchors_path; /* their file; NULL: there is none */
};

/* False: `failure` says what is wrong and where, in one line that names the file. Goes with answer_rule_free() in either case. */
bool answer_rule_read(const char *path, struct answer_rule *out, struct failure *failure);
void answer_rule_free(struct answer_rule *rule);
/* The first output is a vector. */
void answer_rule_embedding(struct answer_rule *out);

/* Whether answer_rule_fit() checks how many labels there are: else they are those of the first output's classes. */
bool answer_rule_has_labels(const struct answer_rule *rule);

/* An output as the ONNX graph states it. */
struct answer_output {
    const char *name;
    uint32_t rank, dims[MORSEL_MAX_RANK];
};

/* A network as the rule asks for it. Height and width are those of the pictures that go in, so many at once; 0: it takes none. */
struct answer_network {
    const struct answer_output *outputs;
    uint32_t output_count, height, width, label_count, images;
};

/* Puts the height, the width and the count of pictures that such an input takes. Without a picture rule it is 1 or 3 channels that tell. */
void answer_rule_sides(struct answer_network *network, const struct answer_output *input, const struct morsel_blob_picture *picture);

/* The rule for a network, as a blob holds it: `words` are for free(). False: `failure` says which output does not fit. */
bool answer_rule_fit(const struct answer_rule *rule, const struct answer_network *network, uint32_t **words, size_t *count,
                     struct failure *failure);

#endif
