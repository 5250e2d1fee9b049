/* SPDX-License-Identifier: MIT */
/* Products with ones in the places of integers are lines of a table; what is computed of a table's lines is computed of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/pass.h"

#define PLACES "Cast x > i to:7; "
#define ONE_HOT PLACES "OneHot i $4 $0,1 > "
#define EQUAL PLACES "Unsqueeze i $2 > u; Equal u $0,1,2,3 > "
/* what a OneHot of 4 is: 1 in places from the start, or from the end */
#define ONES EQUAL "a; Equal u $-4,-3,-2,-1 > b; Or a b > c; Cast c > f to:1; "

static const struct form {
    const char *text, *plain, *gone; /* NULL: the text itself */
} forms[] = {
    {ONE_HOT "h; Cast h > f to:1; MatMul f %4x3 > y", ONES "MatMul f %4x3 > y", "MatMul"},
    {ONE_HOT "h; Cast h > f to:1; MatMul f %4x3 > m; Add m %3 > a; Tanh a > y", ONES "MatMul f %4x3 > m; Add m %3 > s; Tanh s > y", "Tanh"},
    {EQUAL "a; Cast a > f to:1; MatMul f %4x3 > y", NULL, "MatMul"},
    {PLACES "Unsqueeze i $2 > u; Expand u $5,8,4 > e; Equal $0,1,2,3 e > a; Cast a > f to:1; MatMul f %4x3 > y", NULL, "MatMul"},
    {EQUAL "a; Cast a > f to:1; MatMul f %4x3 > m; MatMul f %4x5 > n; Concat m n > y axis:2", NULL, "MatMul"},
    /* what reads the ones themselves */
    {ONE_HOT "h; Cast h > y to:1", ONES "Mul f #1 > y", "OneHot"},
    {"Cast x > i to:6; OneHot i $4 $0,1 > h; Cast h > y to:1", ONES "Mul f #1 > y", "OneHot"},
    {ONE_HOT "h axis:0; Cast h > y to:1", ONES "Transpose f > y perm=2,0,1", "OneHot"},
    {ONE_HOT "h axis:1; Cast h > y to:1", ONES "Transpose f > y perm=0,2,1", "OneHot"},
    {PLACES "OneHot i $4 $-1,2 > h; Cast h > y to:1", ONES "Mul f #3 > t; Sub t #1 > y", "OneHot"},
    /* of a table of 9 lines what is computed of 40 */
    {PLACES "Gather %9x4 i > g; Add g %4 > a; Tanh a > y", NULL, "Tanh"},
    {PLACES "Gather %9x4 i > g; Sub %1x1x4 g > a; Mul a #3 > y", NULL, "Sub"},
    {PLACES "Gather %9x1 i > g; Sub g #0.5 > a; Sigmoid a > y", NULL, "Sigmoid"},
    {PLACES "Gather %9 i > g; Exp g > y", NULL, "Exp"},
    {PLACES "Gather %99x4 i > g; Tanh g > y", NULL, "Tanh"},
    /* of constants nothing is left */
    {"OneHot $0,5,-1,2 $4 $-1,2 > h; Cast h > f to:1; Reshape f $2,8 > r; Gather r $1,0,1,0,1 > k; Mul x k > y",
     "Cast $0,0,0,2,0,0,0,1 > c to:1; Cast $2,-1,-1,-1,-1,-1,-1,-1 > a to:1; Cast $-1,-1,-1,2,-1,-1,2,-1 > b to:1; Unsqueeze a $0 > d; "
     "Unsqueeze b $0 > e; Concat d e > r axis:0; Gather r $1,0,1,0,1 > k; Mul x k > y",
     "OneHot"},
};

static size_t count_of(const struct onnx_graph *g, const char *op) {
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) count += !strcmp(g->nodes[i]->op, op);
    return count;
}

/* From -5 to 8: in front of all lines, from the end, of the table, and behind it. */
static void places(float *x) {
    for (int i = 0; i < 40; i++) x[i] = (float)(i * 11 % 14 - 5);
}

/* By all passes; or as the float executor has it, which knows no OneHot: without the others. */
static void compare(const struct form *form, const float *x, bool alone) {
    struct onnx_graph *g = network(17, "5,8", form->text), *plain = network(17, "5,8", form->plain ? form->plain : form->text);
    size_t count, again;
    if (alone) graph_unfuse(g);
    else graph_optimize(g, NULL);
    const char *gone = alone ? "OneHot" : form->gone;
    if (count_of(g, gone)) fail_msg("%s: there is %s", form->text, gone);
    float *y = run_graph(g, x, &count), *want = run_graph(plain, x, &again);
    assert_int_equal(count, again);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(y[i] - want[i]) <= (alone ? 0 : 1e-6F)))
            fail_msg("%s: element %zu is %g, not %g", form->text, i, (double)y[i], (double)want[i]);
    free(y);
    free(want);
    onnx_free(g);
    onnx_free(plain);
}

static void lines_are_the_same_numbers(void **state) {
    (void)state;
    float x[40];
    places(x);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        compare(&forms[i], x, false);
        compare(&forms[i], x, true);
    }
}

static void other_products_and_tables_stay(void **state) {
    (void)state;
    static const struct {
        const char *text, *stays;
    } rows[] = {
        {PLACES "Unsqueeze i $2 > u; Equal u $1,2,3,4 > a; Cast a > f to:1; MatMul f %4x3 > y", "MatMul"},
        {PLACES "Unsqueeze i $1 > u; Equal u $0,1,2,3,4,5,6,7 > a; Cast a > f to:1; MatMul f %8x3 > y", "MatMul"},
        {"Unsqueeze x $2 > u; Equal u %4 > a; Cast a > f to:1; MatMul f %4x3 > y", "MatMul"},
        {PLACES "OneHot i $4 $0,2 > h; Cast h > f to:1; MatMul f %4x3 > y", "MatMul"},
        {PLACES "OneHot i $3 $0,1 > h axis:1; Cast h > f to:1; MatMul f %8x3 > y", "MatMul"},
        {PLACES "OneHot i $4 $0,1 > h axis:1; Cast h > f to:1; MatMul f %8x3 > y", "MatMul"},
        /* lines that are read twice, a table that is, another axis; tables that would be longer, or no numbers */
        {PLACES "Relu %9x4 > t; Gather t i > g; Gather t i > h; Tanh g > a; Exp h > b; Add a b > y", "Tanh"},
        {PLACES "Gather %9x4 i > g axis:1; Tanh g > y", "Tanh"},
        {PLACES "Gather %8x4 i > g; Add g %8x1 > a; Tanh a > y", "Tanh"},
        {PLACES "Gather ~9x4 i > g; Sub g #0.25 > z; Log z > y", "Log"},
        {PLACES "Gather %9x4 i > g; Tanh g > t; Add t g > y", "Tanh"},
        {PLACES "Gather %9x4 i > g; Add g %8x1 > a; Tanh a > y", "Tanh"},
        {PLACES "Gather %9x1 i > g; Add g %4 > a; Tanh a > y", "Tanh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_graph *g = network(17, "5,8", rows[i].text);
        graph_optimize(g, NULL);
        if (!count_of(g, rows[i].stays)) fail_msg("%s: there is no %s", rows[i].text, rows[i].stays);
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_numbers),
        cmocka_unit_test(other_products_and_tables_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
