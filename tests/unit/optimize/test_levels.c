/* SPDX-License-Identifier: MIT */
/* Which outputs of a detector become one, in which order, and which stay as they are. What the numbers are: tests/parity/levels.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/levels.h"

static const struct levels_head plain = {0, false}, of_bins = {8, false}, product = {0, true};

/* A network that ends at the values of these names. */
static struct onnx_graph *with_outputs(const char *x, const char *nodes, const char *names) {
    struct bytes graph = {0};
    char copy[3000], *next = copy, *word;
    const char *list[20];
    struct onnx_names_given none = {0}, outputs = {list, 0};
    struct onnx_report report = {0};
    struct failure failure;
    int constants = 0;
    snprintf(copy, sizeof copy, "%s", nodes);
    add_value(&graph, 11, "x", 1, x);
    add_value(&graph, 12, "y", 1, NULL);
    while ((word = strsep(&next, ";"))) add_words(&graph, word, &constants);
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *g = load_bytes(&model, &failure);
    snprintf(copy, sizeof copy, "%s", names);
    for (next = copy; (word = strsep(&next, " "));) list[outputs.count++] = word;
    if (!g || !onnx_cut(g, &none, &outputs, &report, &failure) || !onnx_bind(g, NULL, 0, 1, &report, &failure) ||
        !onnx_infer(g, &report, &failure))
        fail_msg("%s: %s", nodes, failure.text);
    if (report.refusal_count) fail_msg("%s: %s", nodes, report.refusals[0].why);
    onnx_report_free(&report);
    return g;
}

/* "boxes 1x84x4, scores 1x84x1": what there is afterwards, as inference has it. */
static void check(const char *x, const char *nodes, const char *names, const struct levels_head *head, const char *wanted) {
    struct onnx_graph *g = with_outputs(x, nodes, names);
    struct onnx_report report = {0};
    struct failure failure;
    char text[400] = "";
    bool joined = levels_join(g, head);
    assert_true(onnx_infer(g, &report, &failure));
    if (report.refusal_count) fail_msg("%s: %s: %s", nodes, report.refusals[0].node, report.refusals[0].why);
    for (size_t i = 0; i < g->output_count; i++) {
        const struct onnx_shape *shape = &g->outputs[i]->shape;
        sprintf(text + strlen(text), "%s%s ", i ? ", " : "", g->outputs[i]->name);
        for (int k = 0; k < shape->rank; k++) sprintf(text + strlen(text), "%s%d", k ? "x" : "", (int)shape->dims[k]);
    }
    if (strcmp(text, wanted)) fail_msg("%s of %s: %s, wanted %s", names, nodes, text, wanted);
    if (joined && levels_join(g, head)) fail_msg("%s of %s: joined twice", names, nodes);
    onnx_report_free(&report);
    onnx_free(g);
}

/* Maps of 8x8, 4x4 and 2x2 cells: of a picture of 64 x 64. */
#define MAPS \
    "MaxPool x > a kernel_shape=8,8 strides=8,8; MaxPool x > b kernel_shape=16,16 strides=16,16; MaxPool x > c kernel_shape=32,32 " \
    "strides=32,32; Relu x > y"
#define ROWS(from, to, numbers) "Transpose " from " > t" to " perm=0,2,3,1; Reshape t" to " $-1," numbers " > " to
#define HEAD(numbers, count) \
    "; Conv a %" count "x3x1x1 > a" numbers "; Conv b %" count "x3x1x1 > b" numbers "; Conv c %" count "x3x1x1 > c" numbers

static void rows_and_maps_are_joined(void **state) {
    (void)state;
    check("1,3,64,64",
          MAPS HEAD("2", "2") HEAD("8", "8") "; " ROWS("a2", "p", "1") "; " ROWS("b2", "q", "1") "; " ROWS("c2", "r", "1") "; " ROWS(
              "a8", "u", "4") "; " ROWS("b8", "v", "4") "; " ROWS("c8", "w", "4"),
          "p q r u v w", &plain, "boxes 1x168x4, scores 1x168x1");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8"), "a2 b2 c2 a8 b8 c8", &plain, "boxes 1x168x4, scores 1x168x1");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8"), "c8 b8 a8 a2 c2 b2", &plain, "boxes 1x168x4, scores 1x168x1");
    check("2,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8"), "a2 a8 b2 b8 c2 c8", &plain, "boxes 2x168x4, scores 2x168x1");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8") HEAD("20", "20"), "a2 b2 c2 a8 b8 c8 a20 b20 c20", &plain,
          "boxes 1x168x4, scores 1x168x1, points 1x168x10");
    check("1,3,64,64", MAPS HEAD("5", "5") HEAD("32", "32"), "a5 b5 c5 a32 b32 c32", &of_bins, "boxes 1x84x4, scores 1x84x5");
    check("1,3,64,64", MAPS HEAD("5", "5") HEAD("4", "4"), "a5 b5 c5 a4 b4 c4", &plain, "boxes 1x84x4, scores 1x84x5");
}

/* Two of as many numbers: the last is the box. What is of no level stays behind. */
static void parts_have_their_order(void **state) {
    (void)state;
    check("1,3,64,64", MAPS HEAD("4", "4") HEAD("x", "4"), "a4 b4 c4 ax bx cx", &plain, "boxes 1x84x4, scores 1x84x4");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8") "; GlobalMaxPool x > g", "g a2 b2 c2 a8 b8 c8", &plain,
          "boxes 1x168x4, scores 1x168x1, g 1x3x1x1");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("o", "1") HEAD("4", "4") HEAD("10", "10"), "a1 b1 c1 ao bo co a4 b4 c4 a10 b10 c10",
          &product, "boxes 1x84x4, scores 1x84x1, points 1x84x10");
}

/* Of all levels in one output, scores in front of boxes. */
static void one_output_is_split(void **state) {
    (void)state;
#define ALL(numbers) "Slice x $0,0,0,0 $1,3,7,12 > z; Reshape z $1,84,3 > r; MatMul r %3x" numbers " > o; Relu x > y"
    check("1,3,64,64", ALL("37"), "o", &of_bins, "boxes 1x84x4, scores 1x84x5");
    check("1,3,64,64", ALL("33"), "o", &of_bins, "boxes 1x84x4, scores 1x84x1");
    check("1,3,64,64", ALL("32"), "o", &of_bins, "o 1x84x32");
    check("1,3,64,64", ALL("37"), "o", &plain, "o 1x84x37");
    check("1,3,64,64", "Slice x $0,0,0,0 $1,3,7,12 > z; Reshape z $1,84,3 > r; MatMul r %3x4 > boxes; MatMul r %3x32 > scores; Relu x > y",
          "boxes scores", &of_bins, "boxes 1x84x4, scores 1x84x32");
    check("1,3,64,64", "Slice x $0,0,0,0 $1,3,7,12 > z; Reshape z $1,84,3 > r; MatMul r %3x7 > scores; MatMul r %3x32 > boxes; Relu x > y",
          "scores boxes", &of_bins, "boxes_3 1x84x4, scores_2 1x84x7");
}

static void others_stay_as_they_are(void **state) {
    (void)state;
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8"), "a2 b2 c2 a8 b8", &plain,
          "a2 1x2x8x8, b2 1x2x4x4, c2 1x2x2x2, a8 1x8x8x8, b8 1x8x4x4");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("6", "6"), "a2 b2 c2 a6 b6 c6", &plain,
          "a2 1x2x8x8, b2 1x2x4x4, c2 1x2x2x2, a6 1x6x8x8, b6 1x6x4x4, c6 1x6x2x2");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("4", "4"), "a1 b1 c1 a4 b4 c4", &product,
          "a1 1x1x8x8, b1 1x1x4x4, c1 1x1x2x2, a4 1x4x8x8, b4 1x4x4x4, c4 1x4x2x2");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("4", "4"), "a1 c1 a4 c4", &plain, "a1 1x1x8x8, c1 1x1x2x2, a4 1x4x8x8, c4 1x4x2x2");
    check("1,3,64,64", "Relu x > y", "y", &plain, "y 1x3x64x64");
    check("1,3,64,64", "Relu x > y", "x", &plain, "x 1x3x64x64");
    check("4,5,6", "Relu x > y", "y", &of_bins, "y 4x5x6");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_maps_are_joined),
        cmocka_unit_test(parts_have_their_order),
        cmocka_unit_test(one_output_is_split),
        cmocka_unit_test(others_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
