/* SPDX-License-Identifier: MIT */
/* Functions are recognised by what they give, as long as what is tried of them is paid for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/pass.h"

/* What is tried of functions to learn what they are is paid for, too, and so are the slopes that are written. */
static void functions_are_tried_as_long_as_there_is_room(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"Exp", "Neg x > n; Exp n > e; Add e #1 > d; Div x d > y"},
        {"Sub", "Identity %4x1x1 > w; Relu x > r; Neg x > n; Relu n > m; Mul m w > k; Sub r k > y"},
    };
    for (size_t i = 0; i < 6; i++) {
        struct onnx_graph *g = network(13, "1,4,8,8", texts[i / 3][1]);
        bool left = false, wanted = i % 3 == 1 || i == 5;
        g->numbers_read = 0;
        if (i % 3 == 1) g->numbers_tried = 1 << 23;
        if (i % 3 == 2) g->numbers_copied = (size_t)52 * 512 * 512;
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++) left = left || graph_is(g->nodes[k], texts[i / 3][0]);
        if (left != wanted) fail_msg("%s: %s", texts[i / 3][1], left ? "it stays" : "it went");
        if (!g->numbers_tried) fail_msg("nothing was tried");
        onnx_free(g);
    }
}

/* GPT-2's Gelu is older than ONNX's: ONNX Runtime's has its name until opset 20. */
static void a_gelu_by_tanh_has_a_name_in_each_opset(void **state) {
    (void)state;
    static const char gelu[] = "Pow x #3 > c; Mul c #0.044715 > k; Add x k > s; Mul s #0.7978845608 > t; Tanh t > h; Add h #1 > o; "
                               "Mul x #0.5 > g; Mul g o > y";
    static const struct row rows[] = {{17, PICTURE, gelu, "ms.FastGelu"}, {20, PICTURE, gelu, "Gelu"}};
    CHECK(rows);
    check_numbers(17, PICTURE, gelu, 3, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_tried_as_long_as_there_is_room),
                                       cmocka_unit_test(a_gelu_by_tanh_has_a_name_in_each_opset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
