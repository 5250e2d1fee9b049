/* SPDX-License-Identifier: MIT */
/* Bias correction: what quantized weights and inputs miss on average goes into biases. */
#include "tools/base/arena.h"
#include "tools/quant/round/refine_parts.h"

#include <stdlib.h>

static float scale_of(const struct scheme_layer *layer, int64_t output) {
    return layer->scales[layer->scale_count > 1 ? output : 0];
}

/* What the weights w * u give more than the integers q * b, in units of the sums, for one output on average. */
static double missing(const struct moments *m, const float *exact, int64_t group, int64_t row) {
    const struct patch *p = &m->patch;
    const double *u = m->first_u + group * p->length, *b = m->first_b + group * p->length;
    double sum = 0;
    for (int64_t k = 0; k < p->length; k++) {
        int64_t at = group * p->weight_group + row * p->weight_row + k * p->weight_column;
        sum += (double)exact[at] * (u[k] / MOMENTS_FINE) - (double)m->layer->values[at] * b[k];
    }
    return sum / m->count;
}

void refine_biases(const struct scheme *scheme, struct scheme_layer *layer, const struct moments *m) {
    float *exact = must_calloc(layer->weights->count, sizeof *exact);
    scheme_exact_weights(layer, exact);
    for (int64_t o = 0; o < m->patch.groups * m->patch.rows; o++) {
        double more = missing(m, exact, o / m->patch.rows, o % m->patch.rows);
        layer->bias[o] += (float)(more * (double)scheme->values[layer->x].scale * (double)scale_of(layer, o));
    }
    free(exact);
}
