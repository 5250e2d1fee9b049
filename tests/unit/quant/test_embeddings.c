/* SPDX-License-Identifier: MIT */
/* Tables of embeddings without data: int8 and a scale for each line, of the large ones that nobody excludes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/insert/place.h"

/* What the table of the only Gather is made of; NULL: it stays as it is. */
static const struct onnx_node *table_of(const struct onnx_graph *g) {
    for (size_t i = 0; i < g->node_count; i++)
        if (!strcmp(g->nodes[i]->op, "Gather")) return g->nodes[i]->inputs[0]->producer;
    fail_msg("there is no Gather");
    return NULL;
}

static void check(const char *text, const char *excluded, bool bytes) {
    const struct scheme_options options = {.dynamic = true, .excluded = &excluded, .excluded_count = excluded != NULL};
    struct onnx_graph *g = network(17, "1,4", text);
    struct scheme *s = place(g, &options);
    scheme_make_layers(s);
    struct onnx_graph *made = insert(s);
    const struct onnx_node *table = table_of(made);
    if ((table != NULL) != bytes) fail_msg("%s", text);
    if (table) {
        const struct onnx_tensor *integers = table->inputs[0]->constant, *scales = table->inputs[1]->constant;
        assert_string_equal(table->op, "DequantizeLinear");
        assert_int_equal(onnx_attribute_int(table, "axis", 1), 0);
        assert_int_equal(integers->type, ONNX_INT8);
        assert_int_equal(scales->count, integers->shape.dims[0]);
        for (size_t i = 0; i < integers->count; i++) {
            const double scale = onnx_number(scales, i / (size_t)integers->shape.dims[1]);
            assert_true(fabs((double)onnx_integer(integers, i) * scale - (double)some_number((int)i)) <= scale * 0.501);
        }
    }
    onnx_free(made);
    onnx_free(g);
}

static void large_tables_become_bytes(void **state) {
    (void)state;
    check("Cast x > i to:7; Gather %1024x16 i > y", NULL, true);
    check("Cast x > i to:7; Gather %1024x16 i > y axis:0", NULL, true);
    check("Cast x > i to:7; Gather %1024x16 i > y", "Gather", false);
    check("Cast x > i to:7; Gather %1023x16 i > y", NULL, false);
    check("Cast x > i to:7; Gather %1100x15 i > y", NULL, false);
    check("Cast x > i to:7; Gather %1024x16 i > y axis:1", NULL, false);
    check("Cast x > i to:7; Gather %64x16x16 i > y", NULL, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_tables_become_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
