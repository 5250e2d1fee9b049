/* SPDX-License-Identifier: MIT */
/* Where a detector that sorts its boxes out ends instead, and which does not. What the numbers are: tests/detect/selection.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/selection.h"

/* Of a picture of 8 x 8: 64 candidates of some numbers as columns (c), as lines (t), and parts of these. */
#define LINES(numbers) "Conv x %" numbers "x3x1x1 > m; Reshape m $1," numbers ",64 > c; Transpose c > t perm=0,2,1"
#define PARTS "; Slice t $0 $4 $2 > b; Slice t $4 $9 $2 > s"
/* Of the best 20 candidates the best 20 classes: box (p), score (q), class (k). */
#define BEST "; ReduceMax s > r axes=-1 keepdims:0; TopK r $20 > v i axis:-1; Unsqueeze i $2 > u" LINE("s", "5", "w")
#define LINE(from, count, to) "; Tile u $1,1," count " > t" to "; GatherElements " from " t" to " > " to " axis:1"
#define CLASSES "; Flatten w > f axis:1; TopK f $20 > h j axis:-1; Unsqueeze h $2 > q; Mod j $5 > e; Unsqueeze e $2 > d; Cast d > k to:1"
#define YOLOV10 LINES("9") PARTS BEST CLASSES LINE("b", "4", "p")
/* What is suppressed: the same parts, of lines that only a run knows. */
#define SUPPRESSED \
    LINES("9") \
    PARTS "; ReduceMax s > r axes=-1 keepdims:0; Unsqueeze r $1 > z; NonMaxSuppression b z $10 #0.5 #0.5 > n; Gather n $2 > l axis:1; " \
          "Squeeze l $1 > i; Squeeze b $0 > o; Gather o i > p; Squeeze r $0 > g; Gather g i > h; Unsqueeze h $1 > q; ArgMax s > a axis:2 " \
          "keepdims:0; Squeeze a $0 > e; Gather e i > d; Cast d > f to:1; Unsqueeze f $1 > k"
#define TOLD "; Concat p q k > y axis:-1"

/* Inferred, whatever is refused of it, with outputs of these names. */
static struct onnx_graph *with_outputs(const char *nodes, const char *names, struct onnx_report *report) {
    struct onnx_graph *g = read_words(13, "1,3,8,8", NULL, nodes);
    char copy[200], *next = copy, *word;
    const char *list[8];
    struct onnx_names_given none = {0}, outputs = {list, 0};
    struct failure failure;
    snprintf(copy, sizeof copy, "%s", names);
    while ((word = strsep(&next, " "))) list[outputs.count++] = word;
    if (!onnx_cut(g, &none, &outputs, report, &failure) || !onnx_bind(g, NULL, 0, 1, report, &failure) || !onnx_infer(g, report, &failure))
        fail_msg("%s: %s", nodes, failure.text);
    return g;
}

/* What the outputs are afterwards, as "boxes 1x64x4, scores 1x64x5". */
static void check(const char *nodes, const char *names, enum selection kind, const char *wanted) {
    struct onnx_report report = {0};
    struct onnx_graph *g = with_outputs(nodes, names, &report);
    struct failure failure;
    const size_t count = g->node_count;
    char text[400] = "";
    const enum selection found = selection_cut(g);
    if (found != kind) fail_msg("%s: %d, wanted %d", nodes, found, kind);
    if (found == SELECTION_NONE) assert_true(g->node_count == count);
    else onnx_report_anew(&report);
    assert_true(onnx_infer(g, &report, &failure));
    if (found && report.refusal_count) fail_msg("%s: %s: %s", nodes, report.refusals[0].node, report.refusals[0].why);
    for (size_t i = 0; i < g->output_count; i++) {
        const struct onnx_shape *shape = &g->outputs[i]->shape;
        sprintf(text + strlen(text), "%s%s ", i ? ", " : "", g->outputs[i]->name);
        for (int k = 0; k < shape->rank; k++) sprintf(text + strlen(text), "%s%d", k ? "x" : "", (int)shape->dims[k]);
    }
    if (found && strcmp(text, wanted)) fail_msg("%s of %s: %s, wanted %s", names, nodes, text, wanted);
    if (found && selection_cut(g)) fail_msg("%s of %s: cut twice", names, nodes);
    onnx_report_free(&report);
    onnx_free(g);
}

static void the_best_are_left_to_the_rule(void **state) {
    (void)state;
    check(YOLOV10 TOLD, "y", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5");
    check(YOLOV10 "; Concat p q k > l axis:2; Reshape l $1,20,6 > z; Identity z > y", "y", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5");
    check(YOLOV10
          "; QuantizeLinear p #0.1 > p1; DequantizeLinear p1 #0.1 > pf; QuantizeLinear k #1 > kb; DequantizeLinear kb #1 > kf; Concat pf q "
          "kf > y axis:2",
          "y", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5");
    check(LINES("12") PARTS "; Slice t $9 $12 $2 > o" BEST CLASSES LINE("b", "4", "p") LINE("o", "3", "g") "; Concat p q k g > y axis:2",
          "y", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5, others 1x64x3");
}

static void what_is_suppressed_is_left_to_the_rule(void **state) {
    (void)state;
    check(SUPPRESSED TOLD, "y", SELECTION_SUPPRESSED, "boxes 1x64x4, scores 1x64x5");
    check(SUPPRESSED "; Concat p q k > l2 axis:1; Pad l2 $0,0,300,0 > z2; Slice z2 $0 $300 $0 > w2; Reshape w2 $1,300,6 > y", "y",
          SELECTION_SUPPRESSED, "boxes 1x64x4, scores 1x64x5");
    /* boxes are moved apart by class for the suppression alone */
    check(LINES("9") PARTS
          "; ReduceMax s > r axes=-1 keepdims:0; Unsqueeze r $1 > z; ArgMax s > a axis:2 keepdims:1; Cast a > c1 to:1; Mul c1 "
          "#1000 > c2; Add b c2 > far; NonMaxSuppression far z $10 #0.5 #0.5 > n; Gather n $2 > l axis:1; Squeeze l $1 > i; "
          "Squeeze b $0 > o; Gather o i > p; Squeeze r $0 > g; Gather g i > h; Unsqueeze h $1 > q; Squeeze a $0,2 > e; "
          "Gather e i > d; Cast d > f to:1; Unsqueeze f $1 > k" TOLD,
          "y", SELECTION_SUPPRESSED, "boxes 1x64x4, scores 1x64x5");
}

static void other_outputs_stay(void **state) {
    (void)state;
    check(YOLOV10 TOLD "; GlobalMaxPool x > m2", "y m2 s", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5, m2 1x3x1x1, s 1x64x5");
    check(YOLOV10 TOLD, "y v", SELECTION_BEST, "boxes 1x64x4, scores 1x64x5, v 1x20");
    check(YOLOV10 TOLD, "v y", SELECTION_NONE, NULL); /* which one a rule would mean is not known */
}

/* What is computed behind the choice would be lost, and what is told in another order be taken for something else. */
static void others_are_not_cut(void **state) {
    (void)state;
    static const char *const texts[] = {
        LINES("9") "; Relu t > y",
        LINES("9") PARTS "; ReduceMax s > q axes=-1 keepdims:1; Concat b q q > y axis:2",
        YOLOV10 "; Sigmoid q > l; Concat p l k > y axis:2",
        YOLOV10 "; Mul p #8 > l; Concat l q k > y axis:2",
        YOLOV10 "; MatMul p %4x4 > l; Concat l q k > y axis:2",
        YOLOV10 "; Concat p k q > y axis:2",
        YOLOV10 "; Concat q p k > y axis:2",
        YOLOV10 "; Concat p q q > y axis:2",
        YOLOV10 "; Concat p q > y axis:2",
        YOLOV10 "; Concat p q k > l axis:2; Relu l > y",
        YOLOV10 "; Concat p q k > l axis:2; MatMul l %6x6 > y",
        YOLOV10 "; Concat p q k > l axis:2; Slice l $0 $5 $2 > y",
        YOLOV10 "; Slice p $0 $2 $2 > l1; Slice p $2 $4 $2 > l2; Concat l1 l2 q k > y axis:2",
        YOLOV10 "; Concat p q k > l axis:1; Reshape l $1,20,6 > y",
        YOLOV10 "; Gather p $1,0,3,2 > l axis:2; Concat l q k > y axis:2",
        YOLOV10 "; Slice q $0 $20 $1 > l; Mul l l > r2; Concat p r2 k > y axis:2",
        /* classes that a background shifts, those of other scores, and a place among all */
        YOLOV10 "; Add e $1 > e1; Unsqueeze e1 $2 > e2; Cast e2 > k1 to:1; Concat p q k1 > y axis:2",
        YOLOV10 "; Mod j $4 > e1; Unsqueeze e1 $2 > e2; Cast e2 > k1 to:1; Concat p q k1 > y axis:2",
        YOLOV10 "; Unsqueeze j $2 > e2; Cast e2 > k1 to:1; Concat p q k1 > y axis:2",
        YOLOV10 "; Cast q > k1 to:1; Concat p q k1 > y axis:2",
        /* an angle behind the class */
        LINES("10") PARTS "; Slice t $9 $10 $2 > o" BEST CLASSES LINE("b", "4", "p") LINE("o", "1", "g") "; Concat p q k g > y axis:2",
        /* the least, and the best of candidates by the least of their classes */
        LINES("9") PARTS BEST
        "; Flatten w > f axis:1; TopK f $20 > h j axis:-1 largest:0; Unsqueeze h $2 > q; Mod j $5 > e; Unsqueeze e $2 > d; "
        "Cast d > k to:1" LINE("b", "4", "p") TOLD,
        /* the best candidate of each class */
        LINES("9") PARTS BEST
        "; ReduceMax s > f axes=1 keepdims:0; TopK f $5 > h j axis:-1; Unsqueeze h $2 > q; Unsqueeze j $2 > d; Cast d > k "
        "to:1" LINE("b", "4", "l") "; Slice l $0 $5 $1 > p; Concat p q k > y axis:2",
        /* scores by class of as many classes as candidates, as NonMaxSuppression reads them */
        "Conv x %4x3x1x1 > m; Reshape m $1,4,64 > c; Transpose c > b perm=0,2,1; Conv x %64x3x1x1 > ms; Reshape ms $1,64,64 > z; "
        "NonMaxSuppression b z $10 #0.5 #0.5 > n; Gather n $2 > l axis:1; Squeeze l $1 > i; Squeeze b $0 > o; Gather o i > p; GatherND z n "
        "> h; "
        "Unsqueeze h $1 > q; Gather n $1 > e axis:1; Cast e > k to:1; Concat p q k > y axis:1",
        /* queries of a transformer */
        LINES("9") PARTS BEST LINE("t", "9", "g") "; MatMul g %9x6 > y",
        "Identity x > y",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check(texts[i], "y", SELECTION_NONE, NULL);
}

/* Lines that are told in float16 are picked like others. */
static void float16_is_told_in_float(void **state) {
    (void)state;
    check(YOLOV10 "; Cast p > ph to:10; Cast q > qh to:10; Cast k > kh to:10; Concat ph qh kh > y axis:2", "y", SELECTION_BEST,
          "boxes 1x64x4, scores 1x64x5");
}

static void more_numbers_are_split_off(void **state) {
    (void)state;
    static const struct {
        const char *nodes, *names;
        int64_t scores;
        const char *wanted; /* NULL: nothing is changed */
    } cases[] = {
        {LINES("9") "; Relu c > y", "y", 2, "boxes 4x64, scores 2x64, others 3x64"},
        {LINES("9") "; Relu t > y", "y", 2, "boxes 64x4, scores 64x2, others 64x3"},
        {LINES("9") "; Relu t > y; GlobalMaxPool x > g", "y g", 4, "boxes 64x4, scores 64x4, others 64x1, g 3x1"},
        {LINES("9") "; Relu t > y", "y", 5, NULL},
        {LINES("9") "; Relu t > y", "y", 0, NULL},
        {LINES("9") "; Relu t > y", "y", INT64_MAX, NULL},
        {LINES("9") "; Relu m > y", "y", 2, NULL},
        {LINES("9") PARTS "; Relu t > y", "y s", 2, NULL}, /* which has the scores */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_report report = {0};
        struct onnx_graph *g = with_outputs(cases[i].nodes, cases[i].names, &report);
        struct failure failure;
        char text[200] = "";
        assert_int_equal(selection_split(g, cases[i].scores), cases[i].wanted != NULL);
        assert_true(onnx_infer(g, &report, &failure) && !report.refusal_count);
        for (size_t k = 0; k < g->output_count; k++) {
            const struct onnx_value *v = g->outputs[k];
            sprintf(text + strlen(text), "%s%s %dx%d", k ? ", " : "", v->name, (int)v->shape.dims[1], (int)v->shape.dims[2]);
        }
        if (cases[i].wanted) assert_string_equal(text, cases[i].wanted);
        onnx_report_free(&report);
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_left_to_the_rule),
        cmocka_unit_test(what_is_suppressed_is_left_to_the_rule),
        cmocka_unit_test(other_outputs_stay),
        cmocka_unit_test(others_are_not_cut),
        cmocka_unit_test(float16_is_told_in_float),
        cmocka_unit_test(more_numbers_are_split_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
