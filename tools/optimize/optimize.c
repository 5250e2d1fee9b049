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
    {"constants", "what depends on constants alone is computed", pass_constants},
    {"floats", "values of float16 and double are float", pass_floats},
    {"noops", "nodes that change nothing are gone", pass_noops},
    {"opset", "operators of opsets 7 to 13 are in the form of opset 14",
     pass_opset}, /* before functions get names: HardSwish has one there */
    {"einsum", "Einsum is a matrix product", pass_einsum},
    {"fused", "fused and rare operators are written in common ones", pass_fused},
    {"norms", "normalizations are means, differences and roots", pass_norms},
    {"tables", "products with one-hot rows are table lookups, with what follows in the table", pass_tables},
    {"choices", "Clip by computed bounds and divisions that spare zeros are arithmetic", pass_choices},
    {"integers", "integer arithmetic in front of a Cast to float is of floats, exact up to 2^24", pass_integers},
    {"ends", "ArgMax, TopK, comparisons and LogSoftmax are arithmetic", pass_ends},
    {"picks", "gathers and Where by constants are Gather and Mul", pass_picks},
    {"masks", "conditions and masks are arithmetic", pass_masks}, /* both behind the choices, which are conditions, too */
    {"matrices", "cubic Resize and CumSum are products with matrices", pass_matrices},
    {"moves", "a Reshape of a Reshape is one, and so is a Transpose of a Transpose", pass_moves},
    /* before affine maps: the sums and products of a decomposed function belong to it */
    {"activations", "decomposed activations are single operators again", pass_activations},
    {"pads", "Pad is the padding of the window behind it", pass_pads},
    {"pools", "means and maxima over whole pictures are global pools", pass_pools},
    {"reduces", "ReduceMax, ReduceSum and norms are pools and means", pass_reduces},
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
