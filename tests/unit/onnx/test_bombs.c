/* SPDX-License-Identifier: MIT */
/*
 * Small files that ask for much: functions that call each other, external data that overlaps, many names. What they would take is refused
 * before it is taken. Work that no limit ends is counted: this program's strcmp() is its own, and counts.
 */
#include "tests/unit/support/onnx_file.h"

#include "tools/onnx/internal.h"
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { FAN = 18, LONG = 12800, MANY = 2000, MEGABYTE = 1 << 20 };

static unsigned long long compared;

int strcmp(const char *a, const char *b) {
    compared++;
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

static void load_bad(struct bytes *model, const char *piece) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (graph) fail_msg("taken, but should say '%s'", piece);
    if (!strstr(failure.text, piece) || strchr(failure.text, '\n')) fail_msg("'%s' does not say '%s'", failure.text, piece);
}

static struct onnx_graph *load_good(struct bytes *model) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph) fail_msg("refused: %s", failure.text);
    return graph;
}

static const char *long_name(void) {
    static char name[LONG + 1];
    memset(name, 'x', LONG);
    return name;
}

/* my.NAME(a) = o */
static struct bytes function_message(const char *name) {
    struct bytes f = {0};
    put_text(&f, 1, name);
    put_text(&f, 10, "my");
    put_text(&f, 4, "a");
    put_text(&f, 5, "o");
    return f;
}

/* Hands the call's attribute v on, as its own. */
static void hand_on(struct bytes *node) {
    struct bytes attribute = {0};
    put_text(&attribute, 1, "v");
    put_number(&attribute, 20, 3);
    put_text(&attribute, 21, "v");
    put_message(node, 5, &attribute);
}

/* FAN nodes v0, v1, ... of a, and o. */
static struct bytes fan_of(const char *name, const char *op, bool hands_on) {
    struct bytes f = function_message(name), last = node_message("", "Identity", "a", "o", "");
    for (int i = 0; i < FAN; i++) {
        char value[16];
        snprintf(value, sizeof value, "v%d", i);
        struct bytes node = node_message("", op, "a", value, "");
        if (hands_on) hand_on(&node);
        put_message(&f, 7, &node);
    }
    put_message(&f, 7, &last);
    return f;
}

/* y = my.A(x), which calls my.B FAN times, which calls the leaf my.C FAN times. */
static struct bytes tree(struct bytes *call, struct bytes *leaf, const char *x, bool hands_on) {
    struct bytes graph = {0}, a = fan_of("A", "my.B", hands_on), b = fan_of("B", "my.C", hands_on);
    add_value(&graph, 11, x, 1, "1");
    add_value(&graph, 12, "y", 1, "1");
    put_message(&graph, 1, call);
    struct bytes model = model_message(&graph, 17);
    add_opset(&model, 8, "my", 1);
    put_message(&model, 25, &a);
    put_message(&model, 25, &b);
    put_message(&model, 25, leaf);
    return model;
}

static struct bytes call_of(const char *op, const char *x) {
    struct bytes node = {0};
    put_text(&node, 1, x);
    put_text(&node, 2, "y");
    put_text(&node, 4, op);
    put_text(&node, 7, "my");
    return node;
}

/* Where memory is limited, what is not refused in time ends the test. */
static void limit_memory(struct rlimit *before) {
#ifndef SANITIZED
    assert_int_equal(getrlimit(RLIMIT_DATA, before), 0);
    struct rlimit limit = {(rlim_t)1 << 30, before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
#else
    (void)before;
#endif
}

static void free_memory(const struct rlimit *before) {
#ifndef SANITIZED
    assert_int_equal(setrlimit(RLIMIT_DATA, before), 0);
#else
    (void)before;
#endif
}

static void load_bomb(struct bytes *model, const char *piece) {
    struct rlimit before;
    limit_memory(&before);
    load_bad(model, piece);
    free_memory(&before);
}

/* The name of the call's input, in the place of each a of the leaf. */
static void names_that_calls_copy_are_paid_for(void **state) {
    (void)state;
    struct bytes leaf = function_message("C"), node = node_message("", "Sum", "", "o", ""), call = call_of("A", long_name());
    for (int i = 0; i < MANY; i++) put_text(&node, 1, "a");
    put_message(&leaf, 7, &node);
    struct bytes model = tree(&call, &leaf, long_name(), false);
    assert_true(model.size < 40000);
    load_bomb(&model, "its functions expand to more than 64 MB of memory, at call");
}

/* And its name, in front of the name of each node. */
static void names_of_nodes_are_paid_for(void **state) {
    (void)state;
    struct bytes leaf = function_message("C"), call = call_of("A", "x");
    put_text(&call, 3, long_name());
    for (int i = 0; i < FAN; i++) {
        struct bytes node = node_message("", "Relu", "a", i ? "" : "o", "");
        put_message(&leaf, 7, &node);
    }
    struct bytes model = tree(&call, &leaf, "x", false);
    load_bomb(&model, "more than 64 MB of memory");
}

static void attributes_that_calls_copy_are_paid_for(void **state) {
    (void)state;
    struct bytes leaf = fan_of("C", "Relu", true), call = call_of("A", "x"), attribute = {0};
    put_text(&attribute, 1, "v");
    put_text(&attribute, 4, long_name());
    put_number(&attribute, 20, 3);
    put_message(&call, 5, &attribute);
    struct bytes model = tree(&call, &leaf, "x", true);
    load_bomb(&model, "more than 64 MB of memory");
}

/* Two bytes of a node, 250 of memory. */
static void what_nodes_become_in_memory_is_paid_for(void **state) {
    (void)state;
    struct bytes leaf = function_message("C"), node = node_message("", "Relu", "a", "o", ""), call = call_of("A", "x");
    for (int i = 0; i < 10 * MANY; i++) put_text(&node, 5, "");
    put_message(&leaf, 7, &node);
    struct bytes model = tree(&call, &leaf, "x", false);
    load_bomb(&model, "more than 64 MB of memory");
}

/* All of one list with all of another would be far more than `most`. */
static void load_counting(struct bytes *model, unsigned long long most) {
    compared = 0;
    onnx_free(load_good(model));
    print_message("%llu names compared\n", compared);
    assert_in_range(compared, 1, most);
}

/* Inputs and outputs are matched once for each function, not for each call, and never all with all. */
static void ports_of_a_function_are_matched_once(void **state) {
    (void)state;
    struct bytes leaf = function_message("C"), node = node_message("", "Relu", "a", "o", ""), call = call_of("A", "x");
    put_message(&leaf, 7, &node);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "i%d", i);
        put_text(&leaf, 4, name);
        name[0] = 'o';
        put_text(&leaf, 5, name);
    }
    struct bytes model = tree(&call, &leaf, "x", false);
    load_counting(&model, MANY * MANY / 4);
}

/* Nodes look for their function among many, of which one is called. */
static void functions_are_found_in_order(void **state) {
    (void)state;
    struct bytes leaf = fan_of("C", "Relu", false), call = call_of("A", "x");
    struct bytes model = tree(&call, &leaf, "x", false);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        struct bytes other = function_message(name);
        put_message(&model, 25, &other);
    }
    load_counting(&model, 40 * FAN * FAN * FAN);
}

/* Of two functions, inputs or attributes of one name the first counts. */
static void the_first_of_a_name_counts(void **state) {
    (void)state;
    struct bytes graph = {0}, call = call_of("C", "x"), model;
    add_value(&graph, 11, "x", 1, "1");
    add_value(&graph, 11, "z", 1, "1");
    add_value(&graph, 12, "y", 1, "1");
    put_text(&call, 1, "z");
    add_attribute(&call, "v:1");
    add_attribute(&call, "v:2");
    put_message(&graph, 1, &call);
    model = model_message(&graph, 17);
    add_opset(&model, 8, "my", 1);
    for (int i = 0; i < 2; i++) {
        struct bytes f = function_message("C"), node = node_message("", i ? "Neg" : "Relu", "a", "o", "");
        hand_on(&node);
        put_text(&f, 4, "a");
        put_message(&f, 7, &node);
        put_message(&model, 25, &f);
    }
    struct onnx_graph *net = load_good(&model);
    assert_int_equal(net->node_count, 1);
    assert_string_equal(net->nodes[0]->op, "Relu");
    assert_string_equal(net->nodes[0]->inputs[0]->name, "x");
    assert_int_equal(onnx_attribute_int(net->nodes[0], "v", 0), 1);
    onnx_free(net);
}

static void a_function_of_too_many_operator_sets_is_refused(void **state) {
    (void)state;
    for (int count = 256; count <= 257; count++) {
        struct bytes leaf = fan_of("C", "Relu", false), call = call_of("A", "x");
        for (int i = 0; i < count; i++) add_opset(&leaf, 9, "my", 1);
        struct bytes model = tree(&call, &leaf, "x", false);
        if (count > 256) load_bad(&model, "function 'C' imports 257 operator sets (opset_import); 256 are the most");
        else onnx_free(load_good(&model));
    }
}

/* Each of 16 functions calls the next one twice: 2^16 nodes of a file that holds 32. */
static void calls_that_double_are_refused(void **state) {
    (void)state;
    struct bytes graph = {0}, call = call_of("A0", "x");
    add_value(&graph, 11, "x", 1, "1");
    add_value(&graph, 12, "y", 1, "1");
    put_message(&graph, 1, &call);
    struct bytes model = model_message(&graph, 17);
    add_opset(&model, 8, "my", 1);
    for (int i = 0; i < 16; i++) {
        char own[16], next[16];
        snprintf(own, sizeof own, "A%d", i);
        snprintf(next, sizeof next, i < 15 ? "my.A%d" : "Relu", i + 1);
        struct bytes f = function_message(own), first = node_message("", next, "a", "v", ""), second = node_message("", next, "v", "o", "");
        put_message(&f, 7, &first);
        put_message(&f, 7, &second);
        put_message(&model, 25, &f);
    }
    load_bad(&model, "its functions expand to more than 8528 nodes");
}

static void an_input_that_is_given_out_is_refused(void **state) {
    (void)state;
    struct bytes leaf = fan_of("C", "Relu", false), call = call_of("A", "x");
    put_text(&leaf, 5, "a");
    struct bytes model = tree(&call, &leaf, "x", false);
    load_bad(&model, "function 'C' gives out its input 'a', which is not taken");
}

/* `count` initializers of all of `bytes`, which lie in `files` files. */
static struct bytes overlapping(int count, int files, int64_t bytes) {
    struct bytes graph = {0};
    add_value(&graph, 11, "x", 1, "1");
    add_value(&graph, 12, "y", 1, "1");
    add_node(&graph, "", "Relu", "x", "y", "");
    for (int i = 0; i < count; i++) {
        struct bytes tensor = {0}, entry = {0};
        char name[32];
        put_number(&tensor, 1, bytes);
        put_number(&tensor, 2, 3);
        snprintf(name, sizeof name, "w%d", i);
        put_text(&tensor, 8, name);
        snprintf(name, sizeof name, "w%d.bin", i % files);
        put_text(&entry, 1, "location");
        put_text(&entry, 2, name);
        put_message(&tensor, 13, &entry);
        put_number(&tensor, 14, 1);
        put_message(&graph, 5, &tensor);
    }
    return model_message(&graph, 17);
}

/* A range may be shared, not over and over: 16 times what the files have, or 64 MB. */
static void external_data_is_read_some_times_over(void **state) {
    (void)state;
    static const struct {
        int count, files;
        int64_t bytes;
        bool good;
    } cases[] = {{64, 1, MEGABYTE, true},     {65, 1, MEGABYTE, false},     {80, 5, MEGABYTE, true}, {81, 5, MEGABYTE, false},
                 {16, 1, 5 * MEGABYTE, true}, {17, 1, 5 * MEGABYTE, false}, {3000, 100, 1000, true}};
    static const unsigned char zeros[5 * MEGABYTE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < cases[i].files; k++) {
            char name[32];
            snprintf(name, sizeof name, "w%d.bin", k);
            write_scratch(name, zeros, (size_t)cases[i].bytes);
        }
        struct bytes model = overlapping(cases[i].count, cases[i].files, cases[i].bytes);
        if (cases[i].good) {
            struct onnx_graph *net = load_good(&model);
            assert_int_equal(net->file_count, cases[i].files);
            onnx_free(net);
        } else {
            load_bad(&model, "over 16 times the files is too much");
        }
    }
}

/* Each input has a dimension with a name of its own. */
static void dimensions_are_found_in_order(void **state) {
    (void)state;
    struct bytes graph = {0};
    struct failure failure = {0};
    struct onnx_report report = {0};
    for (int i = 0; i < MANY; i++) {
        char name[32], dim[32];
        snprintf(name, sizeof name, "x%d", i);
        snprintf(dim, sizeof dim, "n%d,n%d", i, (i + 1) % MANY);
        add_value(&graph, 11, name, 1, dim);
    }
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "", "Relu", "x0", "y", "");
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *net = load_good(&model);
    compared = 0;
    if (!onnx_bind(net, NULL, 0, 2, &report, &failure)) fail_msg("%s", failure.text);
    print_message("%llu names compared\n", compared);
    assert_in_range(compared, 1, MANY * MANY / 8);
    assert_int_equal(report.notice_count, MANY);
    for (int i = 0; i < MANY; i++) assert_true(net->inputs[i]->shape.dims[0] == 2 && net->inputs[i]->shape.dims[1] == 2);
    onnx_free(net);
    onnx_report_free(&report);
}

/* One that everybody knows, as tables of names were made by. */
static uint64_t fnv1a(const char *name) {
    uint64_t h = 14695981039346656037u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h ^ h >> 32;
}

/* Names that a known hash puts beside each other are spread by one with a key. */
static void names_chosen_to_meet_do_not(void **state) {
    (void)state;
    struct bytes graph = {0};
    char name[32];
    add_value(&graph, 11, "x", 1, "1");
    add_value(&graph, 12, "y", 1, "1");
    add_node(&graph, "", "Relu", "x", "y", "");
    for (unsigned long long i = 0, found = 0; found < MANY; i++) {
        snprintf(name, sizeof name, "%llx", i);
        if (fnv1a(name) % 8192 >= 16) continue;
        add_node(&graph, "", "Relu", "x", name, "");
        found++;
    }
    struct bytes model = model_message(&graph, 17);
    load_counting(&model, MANY * MANY / 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_calls_copy_are_paid_for),
        cmocka_unit_test(names_of_nodes_are_paid_for),
        cmocka_unit_test(attributes_that_calls_copy_are_paid_for),
        cmocka_unit_test(what_nodes_become_in_memory_is_paid_for),
        cmocka_unit_test(ports_of_a_function_are_matched_once),
        cmocka_unit_test(functions_are_found_in_order),
        cmocka_unit_test(the_first_of_a_name_counts),
        cmocka_unit_test(a_function_of_too_many_operator_sets_is_refused),
        cmocka_unit_test(calls_that_double_are_refused),
        cmocka_unit_test(an_input_that_is_given_out_is_refused),
        cmocka_unit_test(external_data_is_read_some_times_over),
        cmocka_unit_test(dimensions_are_found_in_order),
        cmocka_unit_test(names_chosen_to_meet_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
