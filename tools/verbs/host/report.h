/* SPDX-License-Identifier: MIT */
/* What `morsel report` gathers of a network, and the sections of its page. */
#ifndef MORSEL_TOOLS_VERBS_HOST_REPORT_H
#define MORSEL_TOOLS_VERBS_HOST_REPORT_H

#include "tools/verbs/bench.h"
#include "tools/verbs/host/comparing.h"
#include "tools/verbs/inspect.h"
#include "tools/verbs/judge.h"

/* What the float network says of a picture that the model is wrong about. */
struct report_float {
    uint32_t class;
    float p;
};

struct report {
    const char *model, *float_model; /* paths; NULL: no float network */
    struct inspect inspect;
    struct bench bench;
    bool compared; /* `comparing` holds figures */
    struct comparing comparing;
    bool judged; /* `judge` holds answers */
    struct judge judge;
    size_t worst;                   /* so many pictures are shown */
    struct report_float *float_saw; /* [worst]; NULL: not known */
};

void report_network(const struct report *report, FILE *file);
void report_latency(const struct report *report, FILE *file);
void report_layers(const struct report *report, FILE *file);
bool report_answers(const struct report *report, FILE *file, struct failure *failure);
bool report_boxes(const struct report *report, FILE *file, struct failure *failure);

/* A page of the answers alone, `eval --report`: whether it may be written there, asked before the pictures are answered; and the page. */
bool report_may_be(const struct judge *judge, const char *path, struct failure *failure);
bool report_judge(const struct judge *judge, size_t worst, const char *path, struct failure *failure);

#endif
