/* SPDX-License-Identifier: MIT */
/* What a network may take of memory while it is lowered: small files that ask for much are refused before it is taken. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"

enum { SLICES = 40, LINE = 1 << 14 };

static void add_list(struct bytes *file, const char *name, int64_t number) {
    const int64_t one = 1;
    add_constant(file, name, ONNX_INT64, 1, &one, &(struct number){0, number}, 1);
}

static void add_integer(struct bytes *file, const char *name, int64_t number) {
    add_constant(file, name, ONNX_INT64, 0, NULL, &(struct number){0, number}, 1);
}

/* A line that is cut again and again, to what it was: each view has an entry for every element. */
static struct onnx_graph *sliced_line(void) {
    struct bytes file = {0};
    add_value(&file, 11, "v0", ONNX_UINT8, "1,16384");
    add_value(&file, 12, "v40", ONNX_UINT8, NULL);
    add_list(&file, "zero", 0);
    add_list(&file, "end", LINE);
    add_list(&file, "one", 1);
    for (int i = 0; i < SLICES; i++) {
        char inputs[40], output[12];
        snprintf(inputs, sizeof inputs, "v%d zero end one", i);
        snprintf(output, sizeof output, "v%d", i + 1);
        add_node(&file, output, "Slice", inputs, output, "");
    }
    struct bytes message = model_message(&file, 13);
    return inferred_bytes(&message);
}

/* Two pieces of 2^16 bytes for each Slice: 1 MiB is short of 40 of them, and no more is taken than that and one node's. */
static void views_have_room_in_all(void **state) {
    (void)state;
    struct onnx_report report = {0}, none = {0};
    struct onnx_graph *graph = sliced_line();
    assert_null(lower_within(graph, &report, 1 << 20));
    assert_int_equal(report.refusal_count, 1);
    assert_non_null(strstr(report.refusals[0].why, "too many for what the file holds"));
    struct net *net = lower_within(graph, &none, memory_room(graph));
    assert_non_null(net);
    assert_in_range(net->taken_bytes, SLICES * LINE * sizeof(int32_t), 4 * SLICES * LINE * sizeof(int32_t));
    net_free(net);
    onnx_report_free(&report);
    onnx_report_free(&none);
    onnx_free(graph);
}

/* A ramp of 2^21 numbers is computed, a longer one is more than a file without numbers asks for. */
static void results_that_are_computed_have_room(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct onnx_report report = {0};
        struct bytes file = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, "1");
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_integer(&file, "zero", 0);
        add_integer(&file, "end", (1 << 21) + 1000 * more);
        add_integer(&file, "one", 1);
        add_node(&file, "range", "Range", "zero end one", "ramp", "");
        add_node(&file, "last", "Gather", "ramp end_of_it", "y", "");
        add_list(&file, "end_of_it", -1);
        struct bytes message = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&message);
        assert_int_equal(graph->nodes[0]->folded, !more);
        struct net *net = lower(graph, &report);
        if (more) assert_non_null(strstr(report.refusals[0].why, "2098152 numbers is too large to be computed"));
        if (net) net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

/* What does not lie in steps is walked for each node that reads it, and that has an end; what does costs nothing. */
static void walks_have_room_in_all(void **state) {
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct onnx_report report = {0};
        struct bytes file = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, "1,16384");
        add_list(&file, "from", backwards ? -1 : 0);
        add_list(&file, "to", backwards ? -LINE - 1 : LINE - 1);
        add_list(&file, "step", backwards ? -1 : 1);
        add_list(&file, "axis", 1);
        add_node(&file, "cut", "Slice", "x from to axis step", "line", "");
        for (int i = 0; i < SLICES; i++) {
            char output[16];
            snprintf(output, sizeof output, "y%d", i);
            add_value(&file, 12, output, ONNX_FLOAT, NULL);
            add_node(&file, output, "Tanh", "line", output, "");
        }
        struct bytes message = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&message);
        graph->floats_meant = true;
        struct net *net = lower_within(graph, &report, 1 << 20);
        assert_int_equal(net != NULL, !backwards);
        assert_int_equal(report.refusal_count > 0, backwards);
        if (backwards) assert_non_null(strstr(report.refusals[0].why, "too many for what the file holds"));
        if (net) net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

/* To the byte; what is asked for is not taken. */
static void room_is_kept_to_the_byte(void **state) {
    (void)state;
    struct onnx_report report = {0};
    struct onnx_graph *graph = sliced_line();
    struct lowering l = {.graph = graph, .net = net_new("small"), .report = &report, .memory_room = 1 << 12};
    size_t taken = l.net->taken_bytes;
    assert_true(has_room(&l, (1 << 12) - taken));
    assert_false(has_room(&l, (1 << 12) - taken + 1));
    assert_false(has_room(&l, UINT64_MAX));
    assert_false(room_for(&l, graph->nodes[0], (1 << 12) + 1));
    assert_int_equal(report.refusal_count, 1);
    assert_int_equal(l.net->taken_bytes, taken);
    net_free(l.net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void room_grows_with_the_file(void **state) {
    (void)state;
    struct onnx_graph small = {.numbers_read = 0}, large = {.numbers_read = 1000}, huge = {.numbers_read = SIZE_MAX};
    assert_true(memory_room(&large) > memory_room(&small));
    assert_true(memory_room(&huge) > memory_room(&large));
}

/* A file without numbers has room for its arrays, and whatever shapes it states, that ends. */
static void room_grows_with_arrays_to_an_end(void **state) {
    (void)state;
    const int64_t dims[] = {1, 1000, 1000000, (int64_t)1 << 40};
    size_t room[4];
    for (int i = 0; i < 4; i++) {
        struct onnx_value value = {.shape = {1, {dims[i]}}, .is_input = true}, *values[] = {&value};
        const struct onnx_graph graph = {.values = values, .value_count = 1, .inputs = values, .input_count = 1};
        room[i] = memory_room(&graph);
    }
    assert_true(room[0] < (size_t)300 << 20);
    assert_true(room[1] > room[0] && room[2] > room[1]);
    assert_true(room[2] < room[0] + ((size_t)128 << 20));
    assert_int_equal(room[3] >> 20, 256);
}

/* Nodes that each double a constant come to any number: no run holds what they make, until an input has a part in it. */
static void what_constants_come_to_makes_no_room(void **state) {
    (void)state;
    size_t room[2];
    for (int part = 0; part < 2; part++) {
        const int64_t one = 1;
        struct bytes file = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, "1");
        add_value(&file, 12, "v30", ONNX_FLOAT, NULL);
        add_constant(&file, "v0", ONNX_FLOAT, 1, &one, &(struct number){1, 0}, 1);
        for (int i = 0; i < 30; i++) {
            char inputs[32], output[16];
            snprintf(inputs, sizeof inputs, "v%d v%d", i, i);
            snprintf(output, sizeof output, "v%d", i + 1);
            add_node(&file, output, "Concat", i == 0 && part ? "v0 x" : inputs, output, "axis:0");
        }
        struct bytes message = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&message);
        room[part] = memory_room(graph);
        onnx_free(graph);
    }
    assert_true(room[0] < (size_t)65 << 20);
    assert_int_equal(room[1] >> 20, 256);
}

/* The lowering ends where no merging could make it short enough: what follows takes no memory. */
static void too_long_a_network_is_refused_early(void **state) {
    (void)state;
    struct onnx_report report = {0};
    struct bytes file = {0};
    add_value(&file, 11, "v0", ONNX_FLOAT, "1,4");
    add_value(&file, 12, "v33000", ONNX_FLOAT, NULL);
    for (int i = 0; i < 33000; i++) {
        char input[16], output[16];
        snprintf(input, sizeof input, "v%d", i);
        snprintf(output, sizeof output, "v%d", i + 1);
        add_node(&file, output, "Sigmoid", input, output, "");
    }
    struct bytes message = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&message);
    assert_null(lower(graph, &report));
    assert_int_equal(report.refusal_count, 1);
    assert_string_equal(report.refusals[0].node, "v32770");
    assert_non_null(strstr(report.refusals[0].why, "come to over 32768 steps, and a blob holds 4096"));
    onnx_report_free(&report);
    onnx_free(graph);
}

/* As many outputs as a blob holds, and one more: before any node is looked at. */
static void too_many_outputs_are_refused_first(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct onnx_report report = {0};
        struct bytes file = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, "1,4");
        for (int i = 0; i < (int)MORSEL_FORMAT_MAX_IO + more; i++) {
            char output[16];
            snprintf(output, sizeof output, "y%d", i);
            add_value(&file, 12, output, ONNX_FLOAT, NULL);
            add_node(&file, output, i < (int)MORSEL_FORMAT_MAX_IO ? "Sigmoid" : "Nonsense", "x", output, "");
        }
        struct bytes message = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&message);
        const size_t before = report.refusal_count;
        struct net *net = lower(graph, &report);
        assert_int_equal(net == NULL, more);
        assert_int_equal(report.refusal_count - before, more);
        if (more) assert_non_null(strstr(report.refusals[before].why, "one of 257 outputs, and a blob holds 256"));
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

/* Twice the length, by a matrix; false: it is refused with these words. */
static bool doubles(const char *dims, const char *words) {
    const int64_t three = 3;
    const struct number scales[3] = {{1, 1}, {1, 1}, {2, 2}};
    struct onnx_report report = {0};
    struct bytes file = {0};
    add_value(&file, 11, "x", ONNX_FLOAT, dims);
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 1, &three, scales, 3);
    add_node(&file, "r", "Resize", "x - s", "y", "mode@linear");
    struct bytes message = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&message);
    struct net *net = lower(graph, &report);
    bool done = net != NULL;
    if (!done) assert_non_null(strstr(report.refusals[0].why, words));
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return done;
}

static void a_matrix_of_a_resize_has_a_limit(void **state) {
    (void)state;
    assert_true(doubles("1,1,500", ""));
    assert_false(doubles("1,1,3000", "from 3000 to 6000 along axis 2 takes a matrix of more than 2^24 numbers"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_have_room_in_all),
        cmocka_unit_test(walks_have_room_in_all),
        cmocka_unit_test(results_that_are_computed_have_room),
        cmocka_unit_test(room_is_kept_to_the_byte),
        cmocka_unit_test(room_grows_with_the_file),
        cmocka_unit_test(a_matrix_of_a_resize_has_a_limit),
        cmocka_unit_test(room_grows_with_arrays_to_an_end),
        cmocka_unit_test(what_constants_come_to_makes_no_room),
        cmocka_unit_test(too_long_a_network_is_refused_early),
        cmocka_unit_test(too_many_outputs_are_refused_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
