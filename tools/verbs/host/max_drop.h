/* SPDX-License-Identifier: MIT */
/*
 * --max-drop: quantize, measure, keep layers in float; attempts at a blob that is as right as it is asked to be.
 *
 * The first attempt quantizes all that can be. Its top-1 may drop below the float network's by more than is allowed. Then every layer is
 * kept in float alone and its effect on the outputs measured, over typical inputs. The layers that hurt most are kept in float, twice as
 * many each time, until the criterion holds; in the end as few of them as it holds for.
 */
#ifndef MORSEL_TOOLS_VERBS_HOST_MAX_DROP_H
#define MORSEL_TOOLS_VERBS_HOST_MAX_DROP_H

#include "tools/verbs/host/conversion.h"
#include "tools/quant/accuracy.h"
#include "tools/quant/quantize.h"

enum { ATTEMPTS_MOST = 40 };

struct attempt {
    size_t float_count; /* layers kept in float */
    struct accuracy accuracy;
    double drop; /* of the share of right answers */
    size_t blob_bytes;
    uint32_t arena_bytes;
};

struct attempts {
    /* given by the caller */
    const struct conversion_call *call;
    struct conversion *conversion;
    struct quantizer *quantizer; /* prepared, observed */
    struct quant_data_wish wish; /* of the typical inputs */
    const char *eval;            /* labelled pictures, or NULL */
    size_t eval_limit;           /* so many of them; 0: all */
    bool want_blob;              /* false: the QDQ graph alone is wanted */
    double max_drop;             /* negative: the first attempt is taken as it is */
    /* made by max_drop_run() */
    struct quant_data *data, *some; /* labelled; some of the typical inputs */
    struct reference reference;
    size_t count, chosen;
    struct attempt list[ATTEMPTS_MOST];
    size_t ranked_count; /* layers, the one that hurts most first */
    const char **ranked;
    double base_db, *gains;   /* dB gained by keeping each alone in float */
    struct onnx_graph *graph; /* the QDQ graph that was chosen */
};

/* The conversion holds the blob of the attempt that was chosen. False: refusals in its report and no failure, or a failure. */
bool max_drop_run(struct attempts *attempts, struct failure *failure);
void max_drop_free(struct attempts *attempts);

/* float_top1 int8_top1 drop and what goes with them (null where nothing was measured), layers_float[], attempts[] */
void max_drop_json(struct json *json, const struct attempts *attempts);
/* A table of attempts and a list of the layers left in float. */
void max_drop_print(const struct attempts *attempts);

#endif
