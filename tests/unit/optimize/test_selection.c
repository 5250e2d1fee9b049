/* SPDX-License-Identifier: MIT */
/* Where a detector that sorts its boxes out ends instead, and which does not. What the numbers are: tests/detect/selection.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/selection.h"

/* Of a picture of 8 x 8: 64 candidates of 9 numbers as columns (c), as lines (t), and parts of these. */
#define COLUMNS(numbers) "Conv x %" numbers "x3x1x1 > m; Reshape m $1," numbers ",64 > c; Transpose c > t perm=0,2,1"
#define PARTS "; Slice t $0 $4 $2 > b; Slice t $4 $9 $2 > s"
#define BEST "; ReduceMax s > r axes=-1 keepdims=0; TopK r $20 > v i axis=-1; Unsqueeze i $2 > u"
#define GATHER(from, count, to) "; Tile u $1,1," count " > t" to "; GatherElements " from " t" to " > " to " axis=1"
#define SUPPRESS(boxes, scores) "; NonMaxSuppression " boxes " " scores " $10 #0.5 #0.5 > n; Gather n $2 > a axis=1; Cast a > y to=1"

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

/* "boxes 1x64x4, scores 1x64x5": what there is afterwards. NULL: nothing is changed. */
static void check(const char *nodes, const char *names, enum selection_form form, const char *wanted) {
    struct onnx_report report = {0};
    struct onnx_graph *g = with_outputs(nodes, names, &report);
    struct failure failure;
    const size_t outputs = g->output_count, count = g->node_count;
    struct selection_kind kind;
    char text[400] = "";
    const bool cut = selection_cut(g, form, &kind);
    if (cut != (wanted != NULL)) fail_msg("%s: %s", nodes, cut ? "cut" : "not cut");
    if (!cut) assert_true(g->output_count == outputs && g->node_count == count);
    if (cut) onnx_report_anew(&report);
    assert_true(onnx_infer(g, &report, &failure));
    if (cut && report.refusal_count) fail_msg("%s: %s: %s", nodes, report.refusals[0].node, report.refusals[0].why);
    for (size_t i = 0; i < g->output_count; i++) {
        const struct onnx_shape *shape = &g->outputs[i]->shape;
        sprintf(text + strlen(text), "%s%s ", i ? ", " : "", g->outputs[i]->name);
        for (int k = 0; k < shape->rank; k++) sprintf(text + strlen(text), "%s%d", k ? "x" : "", (int)shape->dims[k]);
    }
    if (cut && strcmp(text, wanted)) fail_msg("%s of %s: %s, wanted %s", names, nodes, text, wanted);
    if (cut && selection_cut(g, form, &kind)) fail_msg("%s of %s: cut twice", names, nodes);
    onnx_report_free(&report);
    onnx_free(g);
}

static void the_best_are_left_to_the_rule(void **state) {
    (void)state;
    check(COLUMNS("9") PARTS BEST GATHER("b", "4", "p") GATHER("s", "5", "q") "; Concat p q > y axis=2", "y", SELECTION_APART,
          "boxes 1x64x4, scores 1x64x5");
    check(COLUMNS("9") PARTS BEST GATHER("b", "4", "p") GATHER("s", "5", "q") "; Relu p > y", "q y", SELECTION_APART,
          "boxes 1x64x4, scores 1x64x5");
    check(COLUMNS("9") PARTS BEST GATHER("b", "4", "p") GATHER("s", "5", "q") "; Concat p q > y axis=2", "y", SELECTION_JOINED,
          "candidates 1x64x9");
    /* scores have four numbers, too, and stand in front */
    check(COLUMNS("8") "; Slice t $0 $4 $2 > s; Slice t $4 $8 $2 > b" BEST GATHER("s", "4", "q")
              GATHER("b", "4", "p") "; Concat q p > y axis=2",
          "y", SELECTION_APART, "boxes 1x64x4, scores 1x64x4");
}

static void other_numbers_of_a_candidate_stay(void **state) {
    (void)state;
    check(COLUMNS("12") PARTS "; Slice t $9 $12 $2 > o; Relu o > k" BEST GATHER("k", "3", "w") GATHER("b", "4", "p")
              GATHER("s", "5", "q") "; Concat p q w > y axis=2",
          "y", SELECTION_APART, "boxes 1x64x4, scores 1x64x5, others 1x64x3");
}

static void what_suppresses_is_left_to_the_rule(void **state) {
    (void)state;
    check(COLUMNS("9") PARTS "; Transpose s > z perm=0,2,1" SUPPRESS("b", "z"), "y", SELECTION_APART, "boxes 1x64x4, scores 1x64x5");
    check("Conv x %5x3x1x1 > m; Reshape m $1,5,64 > z; Conv x %4x3x1x1 > l; Reshape l $1,4,64 > k; Transpose k > b perm=0,2,1" SUPPRESS(
              "b", "z"),
          "y", SELECTION_APART, "boxes 1x64x4, scores 1x64x5");
    check(COLUMNS("9") PARTS "; MatMul b %4x4 > f; Transpose s > z perm=0,2,1" SUPPRESS("f", "z"), "y", SELECTION_JOINED,
          "candidates 1x64x9");
}

/* What stands in front of the choice is an output as before, though the cut goes past it. */
static void other_outputs_stay(void **state) {
    (void)state;
    check(COLUMNS("9") PARTS "; Transpose s > z perm=0,2,1; GlobalMaxPool x > g" SUPPRESS("b", "z"), "g y", SELECTION_JOINED,
          "candidates 1x64x9, g 1x3x1x1");
    check(COLUMNS("9") PARTS "; Transpose s > z perm=0,2,1" SUPPRESS("b", "z"), "z y", SELECTION_JOINED, "candidates 1x64x9, z 1x5x64");
}

static void others_are_not_cut(void **state) {
    (void)state;
    check(COLUMNS("9") "; Relu t > y", "y", SELECTION_APART, NULL);                                                 /* no choice */
    check(COLUMNS("9") PARTS BEST GATHER("t", "9", "q") "; MatMul q %9x7 > y", "y", SELECTION_JOINED, NULL);        /* queries */
    check("Reshape x $1,3,64 > z; ReduceMax z > r axes=1 keepdims=0; TopK r $9 > y i", "y", SELECTION_APART, NULL); /* no layer at all */
    check(COLUMNS("9") "; TopK t $3 > y i axis=1", "y", SELECTION_APART, NULL);                                     /* no boxes */
    check(COLUMNS("9") PARTS "; TopK s $3 > v i axis=1; Relu b > y", "y", SELECTION_APART, NULL); /* not on the way to an output */
    check("Conv x %5x3x1x1 > m; Reshape m $1,64,5 > s; Conv x %4x3x1x1 > l; Reshape l $1,4,64 > k; Transpose k > z perm=0,2,1" SUPPRESS(
              "z", "s"),
          "y", SELECTION_JOINED, NULL); /* of two layers */
}

/* Corners or centres: what is between the cut and the suppression tells. */
static void boxes_are_told_apart(void **state) {
    (void)state;
#define NMS(boxes, more) \
    "; Transpose s > z perm=0,2,1; NonMaxSuppression " boxes " z $10 #0.5 #0.5 > n " more "; Gather n $2 > a axis=1; Cast a > y to=1"
    static const struct {
        const char *nodes;
        enum selection_form form;
        bool suppresses, centres;
    } cases[] = {
        {COLUMNS("9") PARTS NMS("b", ""), SELECTION_APART, true, false},
        {COLUMNS("9") PARTS NMS("b", ""), SELECTION_JOINED, true, false},
        {COLUMNS("9") PARTS NMS("b", "center_point_box:1"), SELECTION_APART, true, true},
        {COLUMNS("9") PARTS "; MatMul b %4x4 > f" NMS("f", ""), SELECTION_JOINED, true, true},
        {COLUMNS("9") PARTS "; MatMul b %4x4 > f" NMS("f", ""), SELECTION_APART, true, false},
        {COLUMNS("9") PARTS "; Mul b #-0.5 > f" NMS("f", ""), SELECTION_JOINED, true, true},
        {COLUMNS("9") PARTS "; Mul b #0.5 > h; ArgMax s > i axis=2 keepdims=1; Cast i > o to=1; Add h o > f" NMS("f", ""), SELECTION_JOINED,
         true, false},
        {COLUMNS("9") PARTS "; Sub b #1 > f" NMS("f", ""), SELECTION_JOINED, true, true},
        {COLUMNS("9") PARTS "; Sub s #1 > e; TopK e $3 > v i axis=1; GatherElements b i > y axis=1", SELECTION_JOINED, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_report report = {0};
        struct selection_kind kind;
        struct onnx_graph *g = with_outputs(cases[i].nodes, "y", &report);
        if (!selection_cut(g, cases[i].form, &kind)) fail_msg("%s: not cut", cases[i].nodes);
        if (kind.suppresses != cases[i].suppresses || kind.centres != cases[i].centres)
            fail_msg("%s: suppresses %d, centres %d", cases[i].nodes, kind.suppresses, kind.centres);
        onnx_report_free(&report);
        onnx_free(g);
    }
}

static void more_numbers_are_split_off(void **state) {
    (void)state;
    static const struct {
        const char *nodes, *names;
        int64_t scores;
        const char *wanted; /* NULL: nothing is changed */
    } cases[] = {
        {COLUMNS("9") "; Relu c > y", "y", 2, "boxes 4x64, scores 2x64, others 3x64"},
        {COLUMNS("9") "; Relu t > y", "y", 2, "boxes 64x4, scores 64x2, others 64x3"},
        {COLUMNS("9") "; Relu t > y; GlobalMaxPool x > g", "y g", 4, "boxes 64x4, scores 64x4, others 64x1, g 3x1"},
        {COLUMNS("9") "; Relu t > y", "y", 5, NULL},
        {COLUMNS("9") "; Relu t > y", "y", 0, NULL},
        {COLUMNS("9") "; Relu t > y", "y", INT64_MAX, NULL},
        {COLUMNS("9") "; Relu m > y", "y", 2, NULL},
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
        cmocka_unit_test(other_numbers_of_a_candidate_stay),
        cmocka_unit_test(what_suppresses_is_left_to_the_rule),
        cmocka_unit_test(other_outputs_stay),
        cmocka_unit_test(others_are_not_cut),
        cmocka_unit_test(boxes_are_told_apart),
        cmocka_unit_test(more_numbers_are_split_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
