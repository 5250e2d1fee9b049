/* SPDX-License-Identifier: MIT */
/* Running what was planned: nothing is decided here. Frames of a run: morsel_run, the entries, an entry's task, rows or units, a kernel. */
#ifndef MORSEL_RUN_H
#define MORSEL_RUN_H

#include "stage.h"

/* The argument of an entry's tasks. */
struct morsel_entry {
    const struct morsel_session *session;
    uint32_t first; /* step */
};

/* Tasks of steps by themselves, before which one padding row is filled for all where they have none of their own. */
void morsel_run_shares(void *entry, uint32_t task);
void morsel_start_tasks(const struct morsel_call *call);

/* Tasks of a group and of a chain. */
void morsel_run_group(void *entry, uint32_t task);
void morsel_run_chain(void *entry, uint32_t task);

/* Has the convolution `part`, a piece of step `index`, fetch the weights that share `place` of a later step will need. */
void morsel_fetch_share(const struct morsel_session *session, uint32_t index, struct morsel_conv_args *part, uint32_t place);

/* Rows begin .. end of a step with a window, counted through the batch, or of one picture of a step of a group. tests/a76 counts its
 * calls. */
void morsel_run_rows(const struct morsel_call *call, const struct morsel_held *x, const struct morsel_held *y, const uint8_t *padding_row,
                     uint32_t task, uint32_t begin, uint32_t end);

/* Units begin .. end of a step without a window. tests/a76 counts these calls, too. */
void morsel_run_units(const struct morsel_call *call, uint32_t task, uint32_t begin, uint32_t end);

/* Of kinds, by core/kinds.c: points at a row, calls of kernels with a window, and of others for units begin .. end. */
void morsel_point_binary(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements);
void morsel_point_unary(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements);
void morsel_point_lut(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements);
void morsel_run_conv(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n);
void morsel_run_float_conv(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n);
void morsel_run_pool(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n);
void morsel_run_fc(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_matmul(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_float_matmul(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_binary(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_unary(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_lut(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_mean(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_layer_norm(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_resize(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_softmax(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_lookup(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_grid_sample(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_non_max_suppression(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_cast(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_gather(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_range(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_factors(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_quantize(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);
void morsel_run_concat(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end);

/* All of a step with a window, in one task. */
void morsel_run_pictures(const struct morsel_call *call);

/* What a step with a window reads and writes, whole. */
void morsel_whole_pictures(const struct morsel_call *call, struct morsel_held *x, struct morsel_held *y);

#endif
