/* SPDX-License-Identifier: MIT */
/* Goes through layers in order, as many at once as memory allows. */
#include "tools/quant/round/refine.h"
#include "tools/base/arena.h"
#include "tools/quant/round/refine_parts.h"

#include <stdlib.h>

/* Weights that several layers read, as the cells of a recurrent one do, are rounded to nearest: then a blob has them once. So it has the
 * biases of such cells, which get the mean of what each wants. */
static bool one_reads(const struct scheme_layer *layer) {
    return layer->node->inputs[1]->uses == 1;
}

static void refine_layer(const struct refine *refine, struct scheme_layer *layer, struct moments *m, struct pool *pool) {
    if (!m->known || !(m->count > 0)) return;
    if (m->second_count > 0 && one_reads(layer)) refine_weights(layer, m, pool);
    if (!refine->keep_biases) refine_biases(refine->scheme, layer, m);
}

/* How many layers from `first` on are looked at together. */
static size_t some_layers(const struct refine *refine, size_t first) {
    const struct scheme *scheme = refine->scheme;
    size_t count = 0;
    for (size_t bytes = 0; first + count < scheme->layer_count; count++) {
        bytes += moments_bytes(&scheme->layers[first + count], refine->round_most);
        if (count && bytes > refine->most_bytes) break;
    }
    return count;
}

static bool same_cell(const struct scheme_layer *a, const struct scheme_layer *b) {
    return scheme_is_cell(b->node) && a->node->inputs[1] == b->node->inputs[1] && !a->add && !b->add;
}

static void share_biases(struct scheme_layer *layers, size_t count) {
    double *mean = must_calloc(layers->outputs, sizeof *mean);
    size_t cells = 0;
    for (size_t i = 0; i < count; i++) {
        if (!same_cell(layers, &layers[i])) continue;
        for (uint32_t o = 0; o < layers->outputs; o++) mean[o] += ((double)layers[i].bias[o] - mean[o]) / (double)(cells + 1);
        cells++;
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t o = 0; o < layers->outputs && same_cell(layers, &layers[i]); o++) layers[i].bias[o] = (float)mean[o];
    free(mean);
}

/* The first of its cells. */
static bool leads_cells(const struct scheme *scheme, size_t at) {
    if (!scheme_is_cell(scheme->layers[at].node)) return false;
    size_t i = at;
    while (i-- > 0)
        if (same_cell(&scheme->layers[i], &scheme->layers[at])) return false;
    return true;
}

bool refine_layers(const struct refine *refine, struct failure *failure) {
    struct scheme *scheme = refine->scheme;
    if (!refine->round_most && refine->keep_biases) return true;
    struct pool *pool = each_pool(refine->threads, failure);
    bool good = pool != NULL;
    for (size_t first = 0, count; good && first < scheme->layer_count; first += count) {
        count = some_layers(refine, first);
        const struct moments_wish wish = {scheme, refine->executor, refine->data, refine->threads, first, count, refine->round_most};
        struct moments *moments = moments_collect(&wish, failure);
        good = moments != NULL;
        for (size_t i = 0; good && i < count; i++) refine_layer(refine, &scheme->layers[first + i], &moments[i], pool);
        moments_free(moments, count);
    }
    for (size_t i = 0; good && !refine->keep_biases && i < scheme->layer_count; i++)
        if (leads_cells(scheme, i)) share_biases(&scheme->layers[i], scheme->layer_count - i);
    pool_close(pool);
    return good;
}
