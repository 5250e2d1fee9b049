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
        if (i % 3 == 2) g->numbers_copied = (size_t)48 * 512 * 512;
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++) left = left || graph_is(g->nodes[k], texts[i / 3][0]);
        if (left != wanted) fail_msg("%s: %s", texts[i / 3][1], left ? "it stays" : "it went");
        if (!g->numbers_tried) fail_msg("nothing was tried");
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_tried_as_long_as_there_is_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
