/* SPDX-License-Identifier: MIT */
/* Which outputs of a detector become one, in which order, and which stay as they are. What the numbers are: tests/detect/levels.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/levels.h"

#include <math.h>

static const struct levels_head plain = {0, false}, of_bins = {8, false}, product = {0, true};

/* A network that ends at the values of these names. */
static struct onnx_graph *with_outputs(const char *x, const char *nodes, const char *names) {
    struct onnx_graph *g = read_words(13, x, NULL, nodes);
    char copy[200], *next = copy, *word;
    const char *list[20];
    struct onnx_names_given none = {0}, outputs = {list, 0};
    struct onnx_report report = {0};
    struct failure failure;
    snprintf(copy, sizeof copy, "%s", names);
    while ((word = strsep(&next, " "))) list[outputs.count++] = word;
    if (!onnx_cut(g, &none, &outputs, &report, &failure) || !onnx_bind(g, NULL, 0, 1, &report, &failure) ||
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

/* A coarser level of four anchors has as many rows as the finest would have of one. */
static void four_anchors_are_not_one(void **state) {
    (void)state;
    check("1,3,64,64",
          MAPS "; MaxPool x > d kernel_shape=64,64 strides=64,64; Conv d %4x3x1x1 > d4; Conv d %16x3x1x1 > d16" HEAD("4", "4")
              HEAD("16", "16") "; " ROWS("a4", "p", "1") "; " ROWS("b4", "q", "1") "; " ROWS("c4", "r", "1") "; " ROWS(
                  "d4", "s", "1") "; " ROWS("a16", "u", "4") "; " ROWS("b16", "v", "4") "; " ROWS("c16", "w", "4") "; " ROWS("d16", "k",
                                                                                                                             "4"),
          "p q r s u v w k", &plain, "boxes 1x340x4, scores 1x340x1");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("4", "4") HEAD("8", "8"), "a2 b2 c2 a4 b4 c4 a8 b8 c8", &plain,
          "boxes 1x84x4, scores 1x84x2, points 1x84x8");
}

/* Levels of a tiny picture have one cell each: their order tells them apart, from level to level or from part to part. */
static void levels_of_one_cell_are_told_by_their_order(void **state) {
    (void)state;
    static const char tiny[] =
        "GlobalMaxPool x > b; GlobalMaxPool x > c; MaxPool x > a kernel_shape=8,8 strides=8,8; Relu x > y" HEAD("2", "2") HEAD("4", "4");
    check("1,3,16,16", tiny, "a2 b2 c2 a4 b4 c4", &plain, "boxes 1x6x4, scores 1x6x2");
    check("1,3,16,16", tiny, "a2 a4 b2 b4 c2 c4", &plain, "boxes 1x6x4, scores 1x6x2");
}

/* Two of as many numbers: the last is the box. What is of no level stays behind. */
static void parts_have_their_order(void **state) {
    (void)state;
    check("1,3,64,64", MAPS HEAD("4", "4") HEAD("x", "4"), "a4 b4 c4 ax bx cx", &plain, "boxes 1x84x4, scores 1x84x4");
    check("1,3,64,64", MAPS HEAD("2", "2") HEAD("8", "8") "; GlobalMaxPool x > g", "g a2 b2 c2 a8 b8 c8", &plain,
          "boxes 1x168x4, scores 1x168x1, g 1x3x1x1");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("o", "1") HEAD("4", "4") HEAD("10", "10"), "a1 b1 c1 ao bo co a4 b4 c4 a10 b10 c10",
          &product, "boxes 1x84x4, scores 1x84x1, points 1x84x10");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("4", "4") HEAD("10", "10"), "a1 b1 c1 a4 b4 c4 a10 b10 c10", &product,
          "a1 1x1x8x8, b1 1x1x4x4, c1 1x1x2x2, a4 1x4x8x8, b4 1x4x4x4, c4 1x4x2x2, a10 1x10x8x8, b10 1x10x4x4, c10 1x10x2x2");
    check("1,3,64,64", MAPS HEAD("1", "1") HEAD("4", "4") "; Slice x $0,0,0,0 $1,1,1,2 > z; Reshape z $1,2 > f", "f a1 b1 c1 a4 b4 c4",
          &plain, "boxes 1x84x4, scores 1x84x1, f 1x2");
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

/* Numbers of an output, as the executor has them: [candidates][numbers] of one picture, whose pixels are i / 64 % 7 - 3. */
static float *numbers_of(struct onnx_graph *g, size_t output, size_t *count) {
    static float x[3 * 64 * 40];
    struct failure failure;
    for (int i = 0; i < 3 * 64 * 40; i++) x[i] = (float)(i / 64 % 7 - 3);
    struct executor *executor = executor_open(g, &failure);
    if (!executor) fail_msg("%s", failure.text);
    struct executor_run *run = executor_run_open(executor, &failure);
    const float *in = x;
    assert_true(run && executor_run(run, &in, NULL, NULL, &failure));
    const float *y = executor_output(run, output, count);
    float *copy = malloc(*count * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, y, *count * sizeof *copy);
    executor_run_close(run);
    executor_close(executor);
    return copy;
}

/* Element `number` of `numbers` of anchor `anchor` at a cell of a map [1, anchors * numbers, height, width]. */
static double at_cell(const float *map, const int *size, int cell, int anchor, int numbers, int number) {
    return (double)map[(anchor * numbers + number) * size[0] * size[1] + cell];
}

static double mean_of_bins(const float *map, const int *size, int cell, int number, int bins) {
    double sum = 0, all = 0;
    for (int k = 0; k < bins; k++) {
        double e = exp(at_cell(map, size, cell, 0, 4 * bins, number * bins + k));
        sum += k * e;
        all += e;
    }
    return sum / all;
}

/* A picture of 64 x 40 pixels: 8 x 5, 4 x 3 and 2 x 2 cells, of which those at the lower edge are cut. */
#define CUT \
    "MaxPool x > a kernel_shape=8,8 strides=8,8; MaxPool a > b kernel_shape=2,2 strides=2,2 ceil_mode:1; MaxPool b > c " \
    "kernel_shape=2,2 strides=2,2 ceil_mode:1; Relu x > y"
static const char cut[] = "1,3,40,64";
static const int sides[3][2] = {{5, 8}, {3, 4}, {2, 2}};
enum { CUT_CELLS = 40 + 12 + 4 };

/* What the maps of three levels hold, and then what they become. */
static void compare_numbers(const char *nodes, const char *names, const struct levels_head *head, int anchors) {
    struct onnx_graph *g = with_outputs(cut, nodes, names);
    const int parts = (int)g->output_count / 3, bins = head->bins;
    float *maps[9];
    size_t count, seen = 0;
    for (size_t i = 0; i < g->output_count; i++) maps[i] = numbers_of(g, i, &count);
    const int classes = (int)g->outputs[0]->shape.dims[1] / anchors;
    assert_true(levels_join(g, head));
    assert_true(g->output_count == 2);
    float *boxes = numbers_of(g, 0, &count);
    assert_int_equal(count, 4 * CUT_CELLS * anchors);
    float *scores = numbers_of(g, 1, &count);
    assert_int_equal(count, classes * CUT_CELLS * anchors);
    for (int level = 0; level < 3; level++)
        for (int cell = 0; cell < sides[level][0] * sides[level][1]; cell++)
            for (int anchor = 0; anchor < anchors; anchor++, seen++) {
                const float *box = maps[3 * (parts - 1) + level];
                for (int k = 0; k < 4; k++) {
                    double wanted = bins ? mean_of_bins(box, sides[level], cell, k, bins) : at_cell(box, sides[level], cell, anchor, 4, k);
                    assert_true(fabs((double)boxes[4 * seen + (size_t)k] - wanted) <= 1e-4 * (1 + fabs(wanted)));
                }
                for (int k = 0; k < classes; k++) {
                    double wanted = at_cell(maps[level], sides[level], cell, anchor, classes, k);
                    if (head->product) wanted = sqrt(wanted * at_cell(maps[3 + level], sides[level], cell, anchor, classes, k));
                    assert_true(fabs((double)scores[(size_t)classes * seen + (size_t)k] - wanted) <= 1e-4 * (1 + fabs(wanted)));
                }
            }
    assert_int_equal(seen, CUT_CELLS * anchors);
    for (int i = 0; i < 3 * parts; i++) free(maps[i]);
    free(boxes);
    free(scores);
    onnx_free(g);
}

#define POSITIVE(numbers) "; Sigmoid a" numbers " > as" numbers "; Sigmoid b" numbers " > bs" numbers "; Sigmoid c" numbers " > cs" numbers

static void numbers_stand_where_they_should(void **state) {
    (void)state;
    compare_numbers(CUT HEAD("2", "2") HEAD("8", "8"), "a2 b2 c2 a8 b8 c8", &plain, 2);
    compare_numbers(CUT HEAD("3", "3") HEAD("4", "4"), "a3 b3 c3 a4 b4 c4", &plain, 1);
    compare_numbers(CUT HEAD("3", "3") HEAD("32", "32"), "a3 b3 c3 a32 b32 c32", &of_bins, 1);
    compare_numbers(CUT HEAD("1", "1") HEAD("o", "1") HEAD("4", "4") POSITIVE("1") POSITIVE("o"), "as1 bs1 cs1 aso bso cso a4 b4 c4",
                    &product, 1);
}

/* One output for all levels: the numbers of a candidate are cut, and keep their candidate. */
static void what_is_split_stays_in_its_row(void **state) {
    (void)state;
    static const char nodes[] = "Slice x $0,0,0,0 $1,3,7,8 > z; Reshape z $1,56,3 > r; MatMul r %3x37 > o; Relu x > y";
    struct onnx_graph *g = with_outputs(cut, nodes, "o");
    size_t count;
    float *whole = numbers_of(g, 0, &count);
    assert_true(levels_join(g, &of_bins));
    float *scores = numbers_of(g, 1, &count);
    assert_int_equal(count, 5 * CUT_CELLS);
    for (size_t i = 0; i < 5 * (size_t)CUT_CELLS; i++) assert_true(scores[i] == whole[37 * (i / 5) + i % 5]);
    float *boxes = numbers_of(g, 0, &count);
    for (size_t i = 0; i < 4 * (size_t)CUT_CELLS; i++) {
        static const int one[2] = {1, 1};
        double wanted = mean_of_bins(whole + 37 * (i / 4) + 5, one, 0, (int)(i % 4), 8);
        assert_true(fabs((double)boxes[i] - wanted) <= 1e-4 * (1 + wanted));
    }
    free(whole);
    free(scores);
    free(boxes);
    onnx_free(g);
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
        cmocka_unit_test(four_anchors_are_not_one),
        cmocka_unit_test(levels_of_one_cell_are_told_by_their_order),
        cmocka_unit_test(parts_have_their_order),
        cmocka_unit_test(one_output_is_split),
        cmocka_unit_test(numbers_stand_where_they_should),
        cmocka_unit_test(what_is_split_stays_in_its_row),
        cmocka_unit_test(others_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
