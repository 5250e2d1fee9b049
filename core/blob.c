/* SPDX-License-Identifier: MIT */
/* What the checks, the session and the tools all ask of a blob. */
#include "blob.h"

const struct morsel_blob_tensor *morsel_covered_input(const struct morsel_model *m, uint32_t first, uint32_t last,
                                                      const struct morsel_blob_tensor *y, const struct morsel_blob_tensor *known) {
    for (uint32_t i = first; i <= last; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(m, i);
        for (uint32_t n = 0; n < step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(m, step, n);
            if (x->place || x->ring_rows || x->first_step - first <= last - first || x == known) continue;
            if (morsel_overlap(x->offset, x->bytes, y->offset, morsel_slice_bytes(y))) return x;
        }
    }
    return NULL;
}
