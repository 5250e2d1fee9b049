/* SPDX-License-Identifier: MIT */
/* What ONNX Runtime's optimizers fuse gives what the operators give that it was made of; forms that nobody knows stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/pass.h"

/* Scores w of q and k, heads [1, 2, 5, 4] by `scale`, then values v and y as x is. */
#define SCORES(scale, terms) "MatMul q k > m; Mul m #" scale " > f;" terms "Softmax w > p axis:-1; MatMul p v > o; "
#define SIDE_BY_SIDE "Transpose o > z perm=0,2,1,3; Reshape z $1,5,8 > y"
#define PACKED "MatMul x %8x24 > p0; " HEADS_OF("p0")
#define HEADS_OF(p) \
    HEADS_FROM(p, "q", "0", "8", "0,2,1,3") HEADS_FROM(p, "k", "8", "16", "0,2,3,1") HEADS_FROM(p, "v", "16", "24", "0,2,1,3")
#define HEADS_FROM(p, name, from, to, perm) \
    "Slice " p " $" from " $" to " $2 > s" name "; Reshape s" name " $1,5,2,4 > r" name "; Transpose r" name " > " name " perm=" perm ";"
#define X_AS(name, perm) "Reshape x $1,5,2,4 > r" name "; Transpose r" name " > " name " perm=" perm ";"
#define CAUSAL "Trilu ~5x5 > a upper:0; Sub a #0.25 > c; Mul c #4e30 > b; Add f b > w;"
#define WINDOW "Trilu ~5x5 > l upper:0; Trilu l $-1 > a; Sub a #0.25 > c; Mul c #4e30 > b; Add f b > w;"
/* The halves a and b of each pair, by cosines of 0.25 and random sines. */
#define TURNED(sines) \
    "Reshape " sines " $1,5,1,2 > s; Mul a s > as; Mul b s > bs; Mul a #0.25 > ac; Mul b #0.25 > bc; Sub ac bs > l; Add as bc > u; "
#define X_ALL X_AS("q", "0,2,1,3") X_AS("k", "0,2,3,1") X_AS("v", "0,2,1,3")
#define HEADS(name, from, to, perm) \
    "Slice a $" from " $" to " $2 > s" name "; Reshape s" name " $1,5,2,4 > r" name "; Transpose r" name " > " name " perm=" perm ";"

#define BACK_AND_FORTH(d, next) \
    "Slice %2x3x8 $" d " $" next " $0 > w" d "; Transpose w" d " > t" d " perm=0,2,1; MatMul x t" d " > a" d "; Slice %2x3x3 $" d \
    " $" next " $0 > v" d "; Transpose v" d " > r" d " perm=0,2,1; Slice %2x5x3 $" d " $" next " $0 > s" d "; MatMul s" d " r" d " > b" d \
    "; Add a" d " b" d " > c" d "; Tanh c" d " > h" d "; "

/* The same numbers, x being [1, 5, 8]. */
static const struct {
    const char *fused, *plain;
} forms[] = {
    {"ms.FusedMatMul x x > y transB:1 alpha~0.5", "Transpose x > t perm=0,2,1; MatMul x t > m; Mul m #0.5 > y"},
    {"ms.FusedMatMul x x > y transA:1", "Transpose x > t perm=0,2,1; MatMul t x > y"},
    {"ms.BiasGelu x %8 > y", "Add x %8 > a; ms.Gelu a > y"},
    {"ms.FastGelu x > g; Sub g %8 > y", "Gelu x > g approximate@tanh; Sub g %8 > y"},
    {"ms.FastGelu x %8 > y", "Add x %8 > a; Gelu a > y approximate@tanh"},
    {"Mul x #2 > s; ms.SkipLayerNormalization x s %8 > y epsilon~0.01",
     "Mul x #2 > s; Add x s > a; LayerNormalization a %8 > y epsilon~0.01"},
    {"ms.SkipLayerNormalization x x %8 %8 %8 > n - - t epsilon~0.01; Mul n t > y",
     "Add x %8 > b; Add b x > t; LayerNormalization t %8 %8 > n epsilon~0.01; Mul n t > y"},
    {"ms.Attention x %8x24 %24 > y num_heads:2",
     "MatMul x %8x24 > p; Add p %24 > a;" HEADS("q", "0", "8", "0,2,1,3") HEADS("k", "8", "16", "0,2,3,1")
         HEADS("v", "16", "24", "0,2,1,3") "MatMul q k > m; Mul m #0.5 > f; Softmax f > w axis:-1; MatMul w v > o; Transpose o > z "
                                           "perm=0,2,1,3; Reshape z $1,5,8 > y"},
    {"ms.Attention x %8x24 > y num_heads:2 scale~0.3", PACKED SCORES("0.3", "Identity f > w;") SIDE_BY_SIDE},
    {"ms.Attention x %8x24 - - - %2x1x5 > y num_heads:2 scale~0.3", PACKED SCORES("0.3", "Add f %2x1x5 > w;") SIDE_BY_SIDE},
    {"ms.Attention x %8x24 > y num_heads:2 unidirectional:1", PACKED SCORES("0.5", CAUSAL) SIDE_BY_SIDE},
    {"ms.MultiHeadAttention x x x > y num_heads:2", X_ALL SCORES("0.5", "Identity f > w;") SIDE_BY_SIDE},
    {"ms.MultiHeadAttention x x x - - %1x1x5x5 > y num_heads:2 scale~0.3", X_ALL SCORES("0.3", "Add f %1x1x5x5 > w;") SIDE_BY_SIDE},
    {"Attention x x x > y q_num_heads:2 kv_num_heads:2", X_ALL SCORES("0.5", "Identity f > w;") SIDE_BY_SIDE},
    {"Attention x x x %5x5 > y q_num_heads:2 kv_num_heads:2 scale~0.3", X_ALL SCORES("0.3", "Add f %5x5 > w;") SIDE_BY_SIDE},
    {"Attention x x x > y q_num_heads:2 kv_num_heads:2 is_causal:1", X_ALL SCORES("0.5", CAUSAL) SIDE_BY_SIDE},
    /* four heads of queries, two for each of keys and values */
    {"Reshape x $1,5,4,2 > a; Transpose a > q perm=0,2,1,3; Slice q $0 $2 $1 > k; Attention q k k > y scale~0.3",
     "Reshape x $1,5,4,2 > a; Transpose a > q perm=0,2,1,3; Gather q $0,0,1,1 > v axis:1; Transpose v > t perm=0,1,3,2; MatMul q t > m; "
     "Mul m #0.3 > f; Softmax f > p axis:-1; MatMul p v > y"},
    {"Attention x x x > y q_num_heads:2 kv_num_heads:2 is_causal:1 left_window_size:1", X_ALL SCORES("0.5", WINDOW) SIDE_BY_SIDE},
    {"RotaryEmbedding x ~1x5x2 %1x5x2 > y num_heads:2",
     "Reshape x $1,5,2,4 > h; Slice h $0 $2 $3 > a; Slice h $2 $4 $3 > b; " TURNED("%1x5x2") "Concat l u > z axis:3; Reshape z $1,5,8 > y"},
    {"RotaryEmbedding x ~1x5x2 %1x5x2 > y num_heads:2 interleaved:1",
     "Reshape x $1,5,2,2,2 > h; Gather h #0 > a axis:4; Gather h #1 > b axis:4; " TURNED(
         "%1x5x2") "Unsqueeze l $4 > v; Unsqueeze u $4 > w; Concat v w > z axis:4; Reshape z $1,5,8 > y"},
    {"ms.RotaryEmbedding x $0 ~5x2 %5x2 > y num_heads:2 rotary_embedding_dim:4",
     "Reshape x $1,5,2,4 > h; Slice h $0 $2 $3 > a; Slice h $2 $4 $3 > b; " TURNED("%5x2") "Concat l u > z axis:3; Reshape z $1,5,8 > y"},
    {"Sum x %8 %5x8 x > y", "Add x %8 > a; Add a %5x8 > b; Add b x > y"},
    {"Neg x > n; Max n %8 x > y", "Neg x > n; Max n %8 > a; Max a x > y"},
    {"Neg x > n; Min n %8 x > y", "Neg x > n; Min n %8 > a; Min a x > y"},
    {"Mean x %8 %5x8 > y", "Add x %8 > a; Add a %5x8 > b; Div b #3 > y"},
    {"AveragePool x > y kernel_shape=2 dilations=3", "Slice x $0 $5 $2 > a; Slice x $3 $8 $2 > b; Add a b > c; Mul c #0.5 > y"},
    {"LpPool x > y kernel_shape=2 dilations=3 p:1", "Abs x > p; Slice p $0 $5 $2 > a; Slice p $3 $8 $2 > b; Add a b > y"},
    {"LRN x > y size:2 alpha~0.5 beta~0.5 bias~2",
     "Mul x x > s; Pad s $0,0,0,0,1,0 > p; Slice p $1 $6 $1 > b; Add s b > c; Mul c #0.25 > m; Add m #2 > a; Sqrt a > r; Div x r > y"},
    {"Unsqueeze x $0 > a; ms.FusedConv a %5x1x1x1 > b activation@Clip activation_params~~-0.25,0.5; Squeeze b $0 > y",
     "Unsqueeze x $0 > a; Conv a %5x1x1x1 > b; Clip b #-0.25 #0.5 > c; Squeeze c $0 > y"},
    /* a box, others, and what a reduction adds to */
    {"Reshape $0,1,2,0,1,3 $2,3 > i; ScatterND x i %2 > y",
     "Reshape x $40 > f; Slice f $0 $10 > a; Slice f $12 $40 > b; Concat a %2 b > c axis:0; Reshape c $1,5,8 > y"},
    {"Reshape $1,2 $1,2,1 > i; Slice x $0 $2 $1 > s; Slice s $0 $1 $2 > u; ScatterElements x i u > y axis:1 reduction@add",
     "Slice x $0 $2 $1 > s; Slice s $0 $1 $2 > u; Pad u $0,1,0,0,2,7 > p; Add x p > y"},
    {"Reshape $4,-3 $1,2,1 > i; ScatterElements x i %1x2x1 > y axis:1",
     "Reshape x $40 > f; Slice f $0 $16 > a; Slice f $17 $32 > b; Slice f $33 $40 > c; Slice %2 $0 $1 > u; Slice %2 $1 $2 > v; "
     "Concat a v b u c > d axis:0; Reshape d $1,5,8 > y"},
    /* x as a picture of 2 planes of 5 x 4, whose windows overlap; as 5 planes of 2 x 4 */
    {"Reshape x $1,1,2,5,4 > v; Conv v %3x1x2x3x1 %3 > c pads=1,0,0,1,0,0; Reshape c $1,3,3,12 > y",
     "Reshape x $1,2,5,4 > v; Pad v $0,1,0,0,0,1,0,0 > p; Slice p $0 $2 $1 > a; Slice p $1 $3 $1 > b; Slice p $2 $4 $1 > c; "
     "Concat a b c > d axis:0; Reshape %3x1x2x3x1 $3,2,3,1 > w; Conv d w %3 > e; Transpose e > f perm=1,0,2,3; Reshape f $1,3,3,12 > y"},
    {"Reshape x $1,1,5,2,4 > v; MaxPool v > p kernel_shape=2,2,2 strides=3,1,2; Reshape p $1,2,2 > y",
     "Reshape x $1,5,2,4 > v; MaxPool v > p kernel_shape=2,2 strides=1,2; Slice p $0 $2 $1 > a; "
     "Slice p $3 $5 $1 > b; ReduceMax a $1 > m keepdims:0; ReduceMax b $1 > n keepdims:0; Concat m n > c axis:0; Reshape c $1,2,2 > y"},
    {"SwiGLU x %1x5x8 > y alpha~0.5", "Mul x #0.5 > a; Sigmoid a > s; Mul x s > m; Mul m %1x5x8 > y"},
    {"GlobalLpPool x > y p:1", "Abs x > a; ReduceSum a $2 > y"},
    {"LpPool x > y kernel_shape=2 pads=1,0",
     "Pad x $0,0,1,0,0,0 > p; Mul p p > s; Slice s $0 $8 $2 > a; Slice s $1 $9 $2 > b; Add a b > c; Sqrt c > y"},
    {"MeanVarianceNormalization x > y axes=1",
     "ReduceMean x $1 > m; Sub x m > d; Mul d d > s; ReduceMean s $1 > v; Sqrt v > r; Div d r > y"},
    {"ms.SkipSimplifiedLayerNormalization x x %8 > n - - t epsilon~0.01; Mul n t > y",
     "Add x x > t; Mul t t > s; ReduceMean s $2 > m; Add m #0.01 > e; Sqrt e > r; Div t r > d; Mul d %8 > n; Mul n t > y"},
    {"SimplifiedLayerNormalization x %8 > y epsilon~0.01",
     "Mul x x > s; ReduceMean s $2 > m; Add m #0.01 > e; Sqrt e > r; Div x r > d; Mul d %8 > y"},
    /* two cells; a state that is given */
    {"Reshape x $5,1,8 > r; Slice r $0 $2 $0 > t; RNN t %1x3x8 %1x3x3 %1x6 > y",
     "Reshape x $5,8 > r; Transpose %3x8 > w; Transpose %3x3 > v; MatMul r w > a; Slice %6 $0 $3 > b; Slice %6 $3 $6 > c; Add a b > d; "
     "Add d c > e; Slice e $0 $1 $0 > f; Tanh f > h; MatMul h v > i; Slice e $1 $2 $0 > j; Add i j > k; Tanh k > l; Concat h l > m axis:0; "
     "Reshape m $2,1,1,3 > y"},
    /* from the end; the same cells */
    {"Reshape x $5,1,8 > r; Slice r $0 $2 $0 > t; RNN t %1x3x8 %1x3x3 %1x6 > y direction@reverse",
     "Reshape x $5,8 > r; Transpose %3x8 > w; Transpose %3x3 > v; MatMul r w > a; Slice %6 $0 $3 > b; Slice %6 $3 $6 > c; Add a b > d; "
     "Add d c > e; Slice e $1 $2 $0 > f; Tanh f > h; MatMul h v > i; Slice e $0 $1 $0 > j; Add i j > k; Tanh k > l; Concat l h > m axis:0; "
     "Reshape m $2,1,1,3 > y"},
    /* each direction has a state of its own */
    {"RNN x %2x3x8 %2x3x3 - - %2x5x3 > - y direction@bidirectional",
     BACK_AND_FORTH("0", "1") BACK_AND_FORTH("1", "2") "Concat h0 h1 > y axis:0"},
    {"GRU x %1x9x8 %1x9x3 %1x18 - %1x5x3 > - y",
     "Transpose %9x8 > w; MatMul x w > a; Slice %18 $0 $9 > d; Slice %18 $9 $18 > e; Add a d > p; Add p e > q; Slice %9x3 $0 $6 $0 > f; "
     "Transpose f > g; MatMul %1x5x3 g > b; Slice q $0 $6 $2 > c; Add c b > i; Sigmoid i > j; Slice j $0 $3 $2 > z; Slice j $3 $6 $2 > r; "
     "Mul r %1x5x3 > k; Slice %9x3 $6 $9 $0 > l; Transpose l > m; MatMul k m > o; Slice q $6 $9 $2 > t; Add t o > v; Tanh v > n; "
     "Sub %1x5x3 n > s; Mul z s > u; Add n u > y"},
    {"LSTM x %1x12x8 %1x12x3 %1x24 - %1x5x3 %1x5x3 > - y",
     "Transpose %12x8 > w; MatMul x w > a; Transpose %12x3 > v; MatMul %1x5x3 v > b; Add a b > c; Slice %24 $0 $12 > d; Slice %24 $12 $24 "
     "> e; "
     "Add c d > f; Add f e > g; Slice g $0 $3 $2 > i; Slice g $3 $6 $2 > o; Slice g $6 $9 $2 > k; Slice g $9 $12 $2 > n; Sigmoid i > i1; "
     "Sigmoid o > o1; Sigmoid k > k1; Tanh n > n1; Mul i1 n1 > m; Mul k1 %1x5x3 > l; Add m l > c1; Tanh c1 > t; Mul o1 t > y"},
    {"GRU x %1x9x8 %1x9x3 %1x18 - %1x5x3 > - y linear_before_reset:1",
     "Transpose %9x8 > w; MatMul x w > a; Transpose %9x3 > v; MatMul %1x5x3 v > b; Slice %18 $0 $9 > d; Slice %18 $9 $18 > e; Add a d > p; "
     "Add b e > q; Slice p $0 $3 $2 > p0; Slice p $3 $6 $2 > p1; Slice p $6 $9 $2 > p2; Slice q $0 $3 $2 > q0; Slice q $3 $6 $2 > q1; "
     "Slice q $6 $9 $2 > q2; Add p0 q0 > z0; Sigmoid z0 > z; Add p1 q1 > r0; Sigmoid r0 > r; Mul r q2 > m; Add p2 m > n0; Tanh n0 > n; "
     "Sub %1x5x3 n > s; Mul z s > u; Add n u > y"},
    {"Reshape x $5,8 > r; ms.FusedGemm r %8x3 %3 > y alpha~0.5 activation@Tanh",
     "Reshape x $5,8 > r; Gemm r %8x3 %3 > g alpha~0.5; Tanh g > y"},
    {"ms.FusedConv x %5x5x3 %5 x > y activation@LeakyRelu pads=1,1",
     "Conv x %5x5x3 %5 > c pads=1,1; Add c x > a; LeakyRelu a > y alpha~0.01"},
};

static float *numbers_of(const char *text, const float *x, size_t *count) {
    struct onnx_graph *g = network(28, "1,5,8", text);
    graph_optimize(g, NULL);
    for (size_t i = 0; i < g->node_count; i++)
        if (*g->nodes[i]->domain && strcmp(g->nodes[i]->op, "Gelu") && strcmp(g->nodes[i]->op, "FastGelu"))
            fail_msg("%s: there is %s", text, g->nodes[i]->op);
    float *y = run_graph(g, x, count);
    onnx_free(g);
    return y;
}

static void forms_are_alike(void **state) {
    (void)state;
    float x[40];
    for (int i = 0; i < 40; i++) x[i] = (float)(i * 37 % 41) / 20 - 1;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t count, again;
        float *fused = numbers_of(forms[k].fused, x, &count), *plain = numbers_of(forms[k].plain, x, &again), most = 0;
        assert_int_equal(count, again);
        for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(plain[i]));
        assert_true(most > 0.1F);
        for (size_t i = 0; i < count; i++)
            if (!(fabsf(fused[i] - plain[i]) <= 1e-6F * most))
                fail_msg("%s: %g, not %g", forms[k].fused, (double)fused[i], (double)plain[i]);
        free(fused);
        free(plain);
    }
}

static void other_forms_stay(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, "2,4,4", "ms.FusedMatMul x x > y transBatchA:1", "ms.FusedMatMul"},
        {17, "1,5,8", "ms.Attention x %8x24 %24 > y num_heads:2 do_rotary:1", "ms.Attention"},
        {17, "1,5,8", "ms.Attention x %8x24 %24 - %2x1x2x3x4 > y num_heads:2", "ms.Attention"},
        {17, "1,5,8", "ms.SkipLayerNormalization x x %8 > n m; Add n m > y", "ms.SkipLayerNormalization Add"},
        /* what is added to places of no box, and places that are not known */
        {17, "1,5,8", "Reshape $4,2 $1,2,1 > i; ScatterElements x i %1x2x1 > y axis:1 reduction@add", "ScatterElements"},
        {17, "1,5,8", "Cast x > i to:7; ScatterElements x i x > y axis:1", "Cast ScatterElements"},
        /* more axes than any tensor has, no channels, and a window beside a mask, which may leave a query without keys */
        {17, "1,5,8", "MeanVarianceNormalization x > y axes=0,0,0,0,0,0,0,0,0,0", "MeanVarianceNormalization"},
        {22, "1,5,8", "Slice x $0 $0 $1 > z; AveragePool z > y kernel_shape=2 dilations=2", "Slice AveragePool"},
        {28, "1,5,8", "Attention x x x %5x5 > y q_num_heads:2 kv_num_heads:2 left_window_size:1", "Attention"},
        /* how many tokens there are, read by another than Attention */
        {17, "2,3", "Cast x > i to:6; ms.EmbedLayerNormalization i - %9x4 %3x4 - %4 %4 i > e n; Cast n > y to:1",
         "Cast ms.EmbedLayerNormalization Cast"},
        {17, "1,5,8", "RNN x %1x3x8 %1x3x3 > - y clip~1", "RNN"},
        {17, "1,5,8", "Mul x #2 > z; Slice z $0 $3 $1 > w; RNN x w %1x3x3 > - y", "Mul Slice RNN"},
        /* in no table, with fewer inputs than those that are */
        {17, "1,5,8", "ms.Unknown x > y", "ms.Unknown"},
        {17, "1,5,8", "ms.Unknown - x > y", "ms.Unknown"},
        /* ONNX Runtime lets the last query see all keys then */
        {17, "1,5,8", "Slice x $0 $3 $1 > q; ms.MultiHeadAttention q x x > y num_heads:2 unidirectional:1", "Slice ms.MultiHeadAttention"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_graph *g = network(rows[i].opset, rows[i].x, rows[i].nodes);
        char left[100] = "";
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++)
            strcat(strcat(strcat(left, k ? " " : ""), *g->nodes[k]->domain ? "ms." : ""), g->nodes[k]->op);
        if (strcmp(left, rows[i].left)) fail_msg("%s: %s, not %s", rows[i].nodes, left, rows[i].left);
        onnx_free(g);
    }
}

/* Squares, and pools that became layers: 8 bits would be too coarse. */
static void pools_that_become_layers_stay_float(void **state) {
    (void)state;
    static const char *const nodes[] = {"AveragePool x > y kernel_shape=2 dilations=3", "LpPool x > y kernel_shape=2 dilations=3",
                                        "LRN x > y size:3"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct onnx_graph *g = network(22, "1,5,8", nodes[i]);
        size_t layers = 0;
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++) {
            if (!graph_is(g->nodes[k], "Conv") && !graph_is(g->nodes[k], "AveragePool")) continue;
            layers++;
            assert_int_equal(onnx_attribute_int(g->nodes[k], ONNX_EXACT_MARK, 0), ONNX_STAYS_FLOAT);
        }
        assert_int_equal(layers, 1);
        onnx_free(g);
    }
}

/* Where a shape is known, and the type is not, inference asks nothing of the node: inputs that it needs may be missing. */
static void what_is_unchecked_stays(void **state) {
    (void)state;
    static const char *const nodes[] = {"ms.EmbedLayerNormalization a x > y", "ms.SkipLayerNormalization a > y", "ms.Attention a > y",
                                        "ms.BiasGelu a > y"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct onnx_report report = {0};
        char text[100];
        snprintf(text, sizeof text, "my.Nothing x > a; %s", nodes[i]);
        struct onnx_graph *g = claimed_network(17, "4,6", "2,6,6", text, &report);
        g->nodes[1]->inputs[0]->shape = (struct onnx_shape){2, {4, 6}};
        graph_optimize(g, NULL);
        assert_int_equal(g->node_count, 2);
        assert_string_equal(g->nodes[1]->domain, "com.microsoft");
        onnx_report_free(&report);
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_alike),
        cmocka_unit_test(other_forms_stay),
        cmocka_unit_test(pools_that_become_layers_stay_float),
        cmocka_unit_test(what_is_unchecked_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
