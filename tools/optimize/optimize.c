/* SPDX-License-Identifier: MIT */
/* The passes in their order, round after round. */
#include "tools/optimize/optimize.h"
#include "core/format.h"
#include "tools/onnx/internal.h"
#include "tools/optimize/pass.h"

/* Every change takes a node away or brings it closer to its last form; the bound is for faults only. Networks take up to a dozen rounds.
 * Where each round changes one node, as in Max(Max(x, x), x) .., nodes looked at end it: what is left is right, and longer. */
enum { MOST_ROUNDS = 1000, LEAST_LOOKS = 1 << 16, LOOKS_OF_A_NODE = 8 };

/* Nodes that decompositions may add, for each step that a blob holds: a LayerNormalization, which is one step in the end, has so many.
 * Networks seen add 2,000. */
enum { MOST_ADDED = 8 * MORSEL_FORMAT_MAX_STEPS };

struct rounds {
    size_t done, looks, most_looks;
};

static void limit_growth(struct onnx_graph *g) {
    g->memory->most_nodes = g->node_count + MOST_ADDED;
    g->memory->outgrown = NULL;
}

static struct rounds rounds_of(struct onnx_graph *g) {
    limit_growth(g);
    return (struct rounds){.most_looks = LEAST_LOOKS + LOOKS_OF_A_NODE * g->node_count};
}

static bool one_more(struct rounds *rounds, const struct onnx_graph *g) {
    rounds->looks += g->node_count;
    return rounds->done++ < MOST_ROUNDS && rounds->looks <= rounds->most_looks && !g->memory->outgrown;
}

bool graph_outgrown(const struct onnx_graph *g) {
    return g->memory->outgrown != NULL;
}

static void refuse_outgrown(const struct onnx_graph *g, struct onnx_report *report) {
    if (g->memory->outgrown && report)
        onnx_refuse(report, g->memory->outgrown,
                    "the nodes before it, decomposed into what a blob holds, come to over %d more: cut the network into several",
                    MOST_ADDED);
}

/* The nodes whose results are computed: nothing is left of them. */
static int pass_constants(struct onnx_graph *g) {
    int changes = 0;
    edit_settle(g);
    for (size_t i = 0; i < g->node_count; i++) changes += g->nodes[i]->folded || graph_fold(g, g->nodes[i]);
    edit_clean(g);
    return changes;
}

static const struct {
    const char *name, *what;
    int (*run)(struct onnx_graph *g);
} passes[GRAPH_PASSES] = {
    {"constants", "results that do not depend on an input are computed", pass_constants},
    {"floats", "values of float16 and double are float", pass_floats},
    {"noops", "nodes that give what they get are gone", pass_noops},
    {"opset", "operators of opsets 7 to 13 are in the form of opset 14",
     pass_opset}, /* before functions get names: HardSwish has one there */
    {"einsum", "sums of products by letters are matrix products", pass_einsum},
    {"fused", "what is fused, or rare, is said in operators that all have", pass_fused},
    {"norms", "normalizations are decomposed into means and roots", pass_norms},
    {"tables", "products with ones are lines of a table, and what is computed of these is in it", pass_tables},
    {"choices", "computed bounds and divisions that spare zeros are arithmetic", pass_choices},
    {"integers", "what floats are made of is computed in floats, exact up to 2^24", pass_integers},
    {"ends", "maxima' places, comparisons and logarithms are signs, maxima and sums", pass_ends},
    {"picks", "constants that choose are lines of a row, and factors", pass_picks},
    {"masks", "masks are arithmetic", pass_masks}, /* both behind the choices, which are conditions, too */
    {"matrices", "cubic resizes and running sums are products with matrices", pass_matrices},
    {"moves", "reshapes of reshapes and transposes of transposes are one", pass_moves},
    /* before affine maps: the sums and products of a decomposed function belong to it */
    {"activations", "decomposed activations have their names", pass_activations},
    {"pads", "zeros of Pad are the padding of the window behind them", pass_pads},
    {"pools", "means and maxima over whole pictures are global pools", pass_pools},
    {"reduces", "maxima, sums and norms are said with pools and means", pass_reduces},
    {"affine-merge", "affine maps of affine maps are one", pass_affine_merge},
    {"affine-before", "batch norms and affine maps are in the weights before them", pass_affine_before},
    {"affine-after", "batch norms and affine maps are in the weights behind them", pass_affine_after},
    {"dense", "factors of Gemm are in its weights, computed sums behind it", pass_dense},
    /* at the end: what stands behind a convolution is in its weights by now */
    {"windows", "large windows of convolutions are smaller ones over more channels", pass_windows},
};

static int round_of_passes(struct onnx_graph *g, struct graph_pass_done *done) {
    int all = 0;
    for (int i = 0; i < GRAPH_PASSES; i++) {
        int changes = passes[i].run(g);
        if (changes) edit_clean(g);
        else edit_settle(g);
        done[i].changes += changes;
        all += changes;
    }
    return all;
}

void graph_optimize_counted(struct onnx_graph *g, struct graph_pass_done done[GRAPH_PASSES]) {
    for (int i = 0; i < GRAPH_PASSES; i++) done[i] = (struct graph_pass_done){passes[i].name, passes[i].what, 0};
    struct rounds rounds = rounds_of(g);
    while (one_more(&rounds, g) && round_of_passes(g, done)) {}
}

void graph_optimize(struct onnx_graph *g, struct onnx_report *report) {
    struct graph_pass_done done[GRAPH_PASSES];
    graph_optimize_counted(g, done);
    refuse_outgrown(g, report);
    for (int i = 0; report && i < GRAPH_PASSES; i++)
        if (done[i].changes)
            onnx_notice(report, "optimized, %s: %s; %d change%s", done[i].name, done[i].what, done[i].changes,
                        done[i].changes == 1 ? "" : "s");
}

typedef int (*const passes_in_order[])(struct onnx_graph *g); /* NULL behind the last */

/* One after the other, which a sum of calls leaves to the compiler: how many changes. */
static int run_in_order(struct onnx_graph *g, passes_in_order list) {
    int changes = 0;
    for (; *list; list++) changes += (*list)(g);
    return changes;
}

void graph_unfuse(struct onnx_graph *g) {
    static passes_in_order fused = {pass_floats, pass_fused, pass_one_hots, pass_moved, NULL};
    limit_growth(g);
    if (run_in_order(g, fused)) edit_clean(g);
    edit_settle(g);
}

void graph_decompose(struct onnx_graph *g, struct onnx_report *report) {
    static passes_in_order fused = {pass_fused, pass_moved, NULL}, said = {pass_einsum, pass_norms, pass_reduces, pass_maxima, NULL},
                           chosen = {pass_tables, pass_integers, pass_ends, pass_picks, pass_masks, NULL};
    const int reals = pass_floats(g);
    if (reals) onnx_notice(report, "%d values of float16 and double are float in the blob, its inputs and outputs, too", reals);
    struct rounds rounds = rounds_of(g);
    int all = run_in_order(g, fused);
    for (int changes = 1; changes && one_more(&rounds, g); all += changes) changes = run_in_order(g, chosen);
    int made = pass_matrices(g); /* of constants, constants */
    for (int changes = made; changes; made += changes) changes = pass_constants(g);
    all += made;
    all += run_in_order(g, said);
    if (all) edit_clean(g);
    edit_settle(g);
    refuse_outgrown(g, report);
}
