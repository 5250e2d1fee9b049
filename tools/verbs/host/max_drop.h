/* SPDX-License-Identifier: MIT */
/*
 * --max-drop: quantize, measure, keep nodes in float; attempts at a blob that is as right as it is asked to be.
 *
 * The first attempt quantizes all that can be. It may be more wrong than is allowed: its top-1 lower than the float network's, or, of a
 * detector, the share of boxes that both find, F1, lower than 1.
 *
 * Of other networks every layer is then kept in float alone and its effect on the outputs measured, over typical inputs. The layers that
 * hurt most are kept in float, twice as many each time, until the criterion holds; in the end as few of them as it holds for.
 *
 * Of a detector tools/quant/float_order.h has the order. Boxes come and go as their p's errors do, so the part of the noise that an
 * attempt has to be rid of is known from the first one.
 */
#ifndef MORSEL_TOOLS_VERBS_HOST_MAX_DROP_H
#define MORSEL_TOOLS_VERBS_HOST_MAX_DROP_H

#include "tools/verbs/host/conversion.h"
#include "tools/quant/accuracy.h"
#include "tools/quant/float_order.h"
#include "tools/quant/quantize.h"

enum { ATTEMPTS_MOST = 40 };

struct attempt {
    size_t steps;       /* so many of the ranked */
    size_t float_count; /* nodes kept in float: layers, of a detector functions and others, too */
    struct accuracy accuracy;
    double drop; /* of the share of right answers, or of boxes that agree */
    size_t blob_bytes;
    uint32_t arena_bytes;
};

struct attempts {
    /* given by the caller */
    const struct conversion_call *call;
    struct conversion *conversion;
    struct quantizer *quantizer; /* prepared, observed */
    struct quant_data_wish wish; /* of the typical inputs */
    const char *eval;            /* labelled pictures, of a detector any; or NULL */
    size_t eval_limit;           /* so many of them; 0: all */
    bool want_blob;              /* false: the QDQ graph alone is wanted */
    double max_drop;             /* negative: the first attempt is taken as it is */
    /* made by max_drop_run() */
    struct boxes_rule *rule;        /* of a detector; NULL: it is none */
    struct quant_data *data, *some; /* of `eval`; some of the typical inputs */
    struct reference reference;
    size_t count, chosen;
    struct attempt list[ATTEMPTS_MOST];
    size_t ranked_count; /* layers, the one that hurts most first; of a detector the steps of `order` */
    const char **ranked;
    double base_db, *gains; /* dB gained by keeping each alone in float */
    struct float_order order;
    struct onnx_graph *graph; /* the QDQ graph that was chosen */
};

/* The conversion holds the blob of the attempt that was chosen. False: refusals in its report and no failure, or a failure. */
bool max_drop_run(struct attempts *attempts, struct failure *failure);
void max_drop_free(struct attempts *attempts);

/* Nodes that the first `steps` of the ranked keep in float, and their names. */
size_t max_drop_floats(const struct attempts *attempts, size_t steps);
const char *const *max_drop_names(const struct attempts *attempts);

/* float_top1 int8_top1 drop and what goes with them (null where nothing was measured), layers_float[], attempts[] */
void max_drop_json(struct json *json, const struct attempts *attempts);
/* A table of attempts and a list of the layers left in float. */
void max_drop_print(const struct attempts *attempts);

#endif
