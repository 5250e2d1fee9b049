/* SPDX-License-Identifier: MIT */
/*
 * Random attributes, several at once, of nodes on floats and of nodes between bytes of any scale: each is refused with a reason or gives a
 * blob that opens. test_random_attributes [SEED [TRIALS OF EACH ROW [OPERATOR]]]
 */
#include "tests/unit/support/attribute_trial.h"

static uint64_t state = 1;
static unsigned trials = 60;
static const char *only;

static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Mostly small numbers, as sound files have them; now and then any. */
static void put_value(char *to, size_t room, char kind) {
    static const char *const texts[] = {"SAME_UPPER", "SAME_LOWER", "VALID",   "NOTSET", "constant", "reflect",
                                        "edge",       "linear",     "nearest", "DCR",    "CRD"};
    int used = snprintf(to, room, "%c", kind);
    if (kind == '~') snprintf(to + used, room - (size_t)used, "%g", ((int)below(400) - 100) / 64.0);
    else if (kind == '@') snprintf(to + used, room - (size_t)used, "%s", texts[below(sizeof texts / sizeof *texts)]);
    else
        for (uint32_t n = kind == ':' ? 1 : 1 + below(4); n--;)
            used += snprintf(to + used, room - (size_t)used, "%d%s", (int)below(6) - (below(4) ? 0 : 3), n ? "," : "");
}

/* Some of the row's attributes, and of those it might have, changed. */
static void random_attributes(const struct row *row, char *to, size_t room) {
    char list[300], all[300], next[300], value[100];
    snprintf(to, room, "%s", row->attributes);
    snprintf(all, sizeof all, "%s %s", row->attributes, row->more);
    for (char *rest = all, *word; (word = strsep(&rest, " "));) {
        size_t length = strcspn(word, ":=~@");
        if (!*word || below(2)) continue;
        if (below(8)) put_value(value, sizeof value, word[length]);
        else snprintf(value, sizeof value, "%s", hostile[below(sizeof hostile / sizeof *hostile)]);
        snprintf(list, sizeof list, "%s", to);
        replaced(next, sizeof next, list, word, length, value);
        snprintf(to, room, "%s", next);
    }
}

static const struct number scales[] = {{1e-45, 0}, {1e-39, 0}, {1e-20, 0}, {0.02, 0}, {0.02, 0}, {0.5, 0}, {1, 0}, {1e20, 0}, {3e38, 0}};

/* name -> bytes -> floats */
static void add_bytes(struct bytes *graph, const char *from, const char *to, int type) {
    static const struct number zeros[] = {{0, 0}, {3, 3}, {100, 100}};
    char scale[40], zero[40], q[40], names[140];
    snprintf(scale, sizeof scale, "%s_s", to);
    snprintf(zero, sizeof zero, "%s_z", to);
    snprintf(q, sizeof q, "%s_q", to);
    add_constant(graph, scale, ONNX_FLOAT, 0, NULL, &scales[below(sizeof scales / sizeof *scales)], 1);
    add_constant(graph, zero, type, 0, NULL, &zeros[below(3)], 1);
    if (from) {
        snprintf(names, sizeof names, "%s %s %s", from, scale, zero);
        add_node(graph, q, "QuantizeLinear", names, q, "");
    }
    snprintf(names, sizeof names, "%s %s %s", q, scale, zero);
    add_node(graph, to, "DequantizeLinear", names, to, "");
}

/* An input of the node, as one_node() reads it: what is of floats comes from bytes. */
static void add_operand(struct bytes *graph, const char *word, const char *name) {
    struct number numbers[64];
    char from[40];
    int count = read_numbers(word + 2, numbers, 64);
    int64_t dim = count;
    bool from_bytes = word[0] == 'f' && (word[1] == ':' || (word[1] == '%' && below(4)));
    snprintf(from, sizeof from, "%s%s", name, !from_bytes ? "" : word[1] == ':' ? "_in" : "_q");
    if (word[1] == ':') add_value(graph, 11, from, type_of_letter(word[0]), word + 2);
    else if (word[1] == '%') add_ones(graph, from, from_bytes ? ONNX_INT8 : type_of_letter(word[0]), numbers, count);
    else add_constant(graph, from, type_of_letter(word[0]), word[1] == '=', &dim, numbers, count);
    if (from_bytes) add_bytes(graph, word[1] == ':' ? from : NULL, name, word[1] == ':' ? ONNX_UINT8 : ONNX_INT8);
}

static struct bytes node_of_bytes(const struct row *row, const char *attributes) {
    struct bytes graph = {0};
    char copy[300], names[300] = "", *next = copy, *word, name[16];
    bool two = !strcmp(row->op, "Split");
    snprintf(copy, sizeof copy, "%s", row->inputs);
    for (int i = 0; (word = strsep(&next, " ")); i++) {
        snprintf(name, sizeof name, "%s", "-");
        if (strcmp(word, "-")) {
            snprintf(name, sizeof name, "x%d", i);
            add_operand(&graph, word, name);
        }
        strcat(strcat(names, i ? " " : ""), name);
    }
    add_node(&graph, "the_node", row->op, names, two ? "t0 t1" : "t0", attributes);
    for (int i = 0; i <= two; i++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "t%d", i);
        snprintf(to, sizeof to, "y%d", i);
        add_bytes(&graph, from, to, ONNX_UINT8);
        add_value(&graph, 12, to, ONNX_FLOAT, NULL);
    }
    return model_message(&graph, row->opset);
}

static void random_attributes_do_no_harm(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned trial = 0; trial < trials && (!only || !strcmp(only, rows[i].op)); trial++) {
            char attributes[300], what[700];
            uint64_t seed = state;
            bool between = below(4); /* bytes */
            random_attributes(&rows[i], attributes, sizeof attributes);
            struct bytes model =
                between ? node_of_bytes(&rows[i], attributes)
                        : one_node(rows[i].op, rows[i].opset, rows[i].inputs, attributes, !strcmp(rows[i].op, "Split") ? 2 : 1);
            snprintf(what, sizeof what, "seed %llu: %s, opset %d, '%s' '%s'%s", (unsigned long long)seed, rows[i].op, rows[i].opset,
                     rows[i].inputs, attributes, between ? ", of bytes" : "");
            try_model(&model, what);
        }
    print_message("%zu times a network, %zu times refused, %zu times run in float\n", converted, refused, executed);
    if (!only) assert_true(converted > 10 * trials && refused > 10 * trials && executed > 10 * trials);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_attributes_do_no_harm)};
    if (argc > 1) state = strtoull(argv[1], NULL, 0);
    if (argc > 2) trials = (unsigned)strtoul(argv[2], NULL, 0);
    if (argc > 3) only = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
