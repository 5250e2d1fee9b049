/* SPDX-License-Identifier: MIT */
/* What a call of `morsel run` asks for, and what has come of it. */
#ifndef MORSEL_TOOLS_VERBS_RUN_H
#define MORSEL_TOOLS_VERBS_RUN_H

#include "tools/base/options.h"
#include "tools/network/network.h"
#include "tools/verbs/answers.h"
#include "tools/verbs/drawings.h"
#include "tools/verbs/pictures.h"
#include "tools/verbs/results.h"

enum { IO_MOST = 512 };

struct job {
    struct network_call call;
    struct network network;
    struct network_run *run;
    struct option_texts input_texts, output_texts, texts;
    struct pictures named; /* whatever folders and lists hold */
    char *const *pictures; /* [picture_count] */
    uint32_t picture_count, runs;
    const char *csv, *draw;
    struct drawings drawings;
    /* Of a run's pictures, [its images]: what is drawn into, and what is at fault; its text is "" where nothing is. */
    struct image *images;
    struct failure *wrong;
    uint32_t broken; /* pictures that are */
    /* Of each input and output: the file that it comes from or goes to (NULL: not asked for), and what is in it. */
    const char *input_paths[IO_MOST], *output_paths[IO_MOST];
    struct npy arrays[IO_MOST];
    uint8_t *stacked[IO_MOST]; /* every run's values, one behind the other */
    uint32_t top;              /* 0: not given */
    struct answers answers;
    struct results results;
    uint32_t done;  /* runs; one without a sound picture is none */
    double seconds; /* of all of them */
    bool want_json;
};

/* --- Which file is for what (run_files.c) --- */

/* Whether options go together, before anything is read. */
bool run_check_call(const struct job *job, struct failure *failure);

/* The network is read: files find their inputs. */
bool run_bind_inputs(struct job *job, struct failure *failure);
/* It is started, which may have joined outputs: files find those, and none goes where something is read from, or another output goes. */
bool run_bind_outputs(struct job *job, struct failure *failure);

#endif
