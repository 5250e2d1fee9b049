/* SPDX-License-Identifier: MIT */
/* From a step of the blob to a call: what the function of a kind gets, and those functions, which core/kinds.c names. */
#ifndef MORSEL_PREPARE_H
#define MORSEL_PREPARE_H

#include "call.h"

/* Fills the call of step `index` from the blob, but for how it runs; the model is open and the arena large enough. */
void morsel_prepare(struct morsel_call *call, const struct morsel_session *session, const struct morsel_kernels *kernels,
                    const struct morsel_kernels *plain, uint32_t index);

struct morsel_preparation {
    const struct morsel_model *model;
    struct morsel_blocks blocks;
    const struct morsel_blob_step *step;
    const void *parameters;                       /* the step's record */
    const struct morsel_blob_tensor *x, *y;       /* its first input, its output */
    void *x_at, *y_at;                            /* where those lie */
    const struct morsel_kernels *kernels, *plain; /* the best ones, and plain C for what they refuse */
};

void morsel_prepare_conv(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_float_conv(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_pool(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_fc(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_matmul(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_view_matmul(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_float_matmul(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_binary(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_unary(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_lut(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_mean(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_layer_norm(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_resize(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_softmax(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_concat(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_lookup(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_grid_sample(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_non_max_suppression(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_cast(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_gather(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_range(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_factors(struct morsel_call *call, const struct morsel_preparation *w);
void morsel_prepare_quantize(struct morsel_call *call, const struct morsel_preparation *w);

#endif
