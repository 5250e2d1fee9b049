/* SPDX-License-Identifier: MIT */
/* A network over labelled pictures: an answer for each, and what follows from all of them. `eval` says it, `report` shows it. Of a detector
 * judge_boxes.h has it. */
#ifndef MORSEL_TOOLS_VERBS_JUDGE_H
#define MORSEL_TOOLS_VERBS_JUDGE_H

#include "tools/base/json.h"
#include "tools/network/network.h"
#include "tools/samples/dataset.h"
#include "tools/verbs/judge_boxes.h"

/* Of more classes there is no matrix: its bytes would grow with their square. */
enum { JUDGE_MATRIX_MOST = 1000, JUDGE_WORST = 5 };

/* What the network said of one picture. */
struct judge_answer {
    uint32_t class;  /* what it took the picture for */
    uint32_t rank;   /* the place of the true class, 0 being the first */
    float p, p_true; /* probabilities of both */
};

struct judge_class {
    size_t images, answers, right; /* of the class, taken for it, both */
};

/* What is asked for. */
struct judge_call {
    const struct network_call *network;
    const char *data;
    size_t limit; /* pictures at most, 0: all */
    unsigned threads;
    const char *against, *against_answer; /* of a detector: a network in float whose boxes are wanted, and its answer rule; NULL: none */
};

struct judge {
    struct network network, against;
    struct dataset dataset;
    uint32_t batch; /* images of a run */
    size_t classes;
    unsigned worker_count;
    struct judge_worker *workers;
    struct judge_answer *answers; /* [dataset.count] */
    double seconds;
    char isa[32];              /* the best kernels that were used */
    struct judge_boxes *boxes; /* of a detector, in the place of all that follows; NULL: it is none */
    /* Counted when all are answered. */
    size_t top1, top5;
    struct judge_class *of; /* [classes] */
    size_t miss_count;
    size_t *misses;   /* pictures with another answer, the surest first */
    uint32_t *matrix; /* [true class][answer]; NULL of too many classes */
};

/* In two parts: whether network and data go together, then the work. judge_free() lets go of it, whatever came of it. */
bool judge_open(struct judge *judge, const struct judge_call *call, struct failure *failure);
bool judge_run(struct judge *judge, struct failure *failure);
void judge_free(struct judge *judge);

/* Pictures with a wrong answer, or with wrong boxes. */
size_t judge_wrong(const struct judge *judge);

/* Whether the path is a file that the network or a picture is read from. */
bool judge_reads(const struct judge *judge, const char *path);

/* A class's label, or "class 7" in `text` where it has none. */
const char *judge_label(const struct judge *judge, size_t class, char text[32]);

/* Shares of what was taken for the class, and of what is of it; NAN of none. */
double judge_precision(const struct judge_class *class);
double judge_recall(const struct judge_class *class);

/* The classes that have pictures, least recall first; `order` has room for all. How many. */
size_t judge_order(const struct judge *judge, size_t *order);

/* Two classes, and how many pictures of the first were taken for the second. */
struct judge_pair {
    uint32_t truth, answer;
    size_t images;
};

/* The most frequent first, at most `most` of them; how many. */
size_t judge_pairs(const struct judge *judge, struct judge_pair *pairs, size_t most);

/* Classes, confusions, and so many of the worst misses: as text, and as keys of an object that is open. */
void judge_print(const struct judge *judge, size_t worst);
void judge_json(const struct judge *judge, size_t worst, struct json *json);

#endif
