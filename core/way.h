/* SPDX-License-Identifier: MIT */
/*
 * How steps run otherwise than one after the other: a group of steps takes turns, tasks share steps and chains. A table of these stands
 * beside that of kinds (kinds_all.c): a program whose networks have no groups, or that runs in one task, may leave them out. So may one
 * whose networks have neither a picture rule nor an answer rule.
 */
#ifndef MORSEL_WAY_H
#define MORSEL_WAY_H

#include "plan.h"

struct morsel_check; /* check.h */

struct morsel_way {
    morsel_task *run; /* a task of an entry */
    /* Makes an entry that begins with step `first`, where there is to be one; returns its last step, or `first`. */
    uint32_t (*make)(struct morsel_moves *moves, uint32_t first);
    /* Groups: whether one is sound, and whether it may write one tensor over another. Rules: whether both are sound, whatever the index. */
    enum morsel_error (*check)(const struct morsel_check *c, uint32_t index);
    int (*trails)(const struct morsel_check *c, const struct morsel_blob_group *g, const struct morsel_blob_tensor *x,
                  const struct morsel_blob_tensor *y);
    /* Tasks: which steps are cut by channels, before there are entries; what tasks share of the steps that are in none, after it. */
    void (*cut)(const struct morsel_session *session, uint32_t strided_pixels);
    void (*share)(const struct morsel_session *session);
    /* And how many bands there is room for behind the planned arena; a task's share of steps, and what is done before the tasks start. */
    void (*bands)(struct morsel_session *session, size_t room);
    morsel_task *steps;
    void (*start)(const struct morsel_call *call);
};

/* By enum morsel_mode, and rules behind them; NULL: open refuses groups and rules, and a session has one task. Steps by themselves are
 * run.c's. */
#define MORSEL_WAYS 4
#define MORSEL_WAY_RULES 3
extern const struct morsel_way *const morsel_ways[MORSEL_WAYS];

extern const struct morsel_way morsel_way_groups, morsel_way_tasks, morsel_way_rules;

#endif
