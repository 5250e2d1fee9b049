/* SPDX-License-Identifier: MIT */
/* What a file's message would take is known before protobuf-c unpacks it, and bounded. */
#include "tests/unit/support/onnx_file.h"

#include "tools/onnx/internal.h"

enum { MANY = 3000000, PIECES = 64, DEEP = 100000, DEPTH_MOST = 10, TRIALS = 20000 };

static void load_bad(struct bytes *model, const char *piece) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (graph) fail_msg("taken, but should say '%s'", piece);
    if (!strstr(failure.text, piece)) fail_msg("'%s' does not say '%s'", failure.text, piece);
}

static void relu(struct bytes *graph) {
    add_value(graph, 11, "x", 1, "1,3");
    add_value(graph, 12, "y", 1, "1,3");
    add_node(graph, "", "Relu", "x", "y", "");
}

static struct bytes filled(size_t size, const char *pattern) {
    struct bytes b = {malloc(size), size};
    assert_non_null(b.data);
    for (size_t i = 0; i < size; i++) b.data[i] = (unsigned char)pattern[i & 1];
    return b;
}

/* Two bytes each, which would become 250. */
static void empty_attributes_are_refused_by_what_they_would_take(void **state) {
    (void)state;
    struct bytes node = filled(2 * MANY, "\x2a\x00"), graph = {0}; /* field 5, of no bytes */
    put_message(&graph, 1, &node);
    struct bytes model = model_message(&graph, 17);
    load_bad(&model, "would take over 247 MB of memory to read");
    node = filled(2 * MANY, "\x2a\x00");
    put_message(&graph, 1, &node);
    model = model_message(&graph, 17);
    load_bad(&model, "number 5: attribute");
}

/* Fields that the schema leaves out are kept by protobuf-c, too. */
static void empty_unknown_fields_are_refused_by_what_they_would_take(void **state) {
    (void)state;
    struct bytes node = filled(2 * MANY, "\x4a\x00"), graph = {0}; /* field 9 */
    put_message(&graph, 1, &node);
    struct bytes model = model_message(&graph, 17);
    load_bad(&model, "number 9");
}

/* protobuf-c copies all that came before for each. */
static void a_graph_of_too_many_pieces_is_refused(void **state) {
    (void)state;
    for (int pieces = PIECES; pieces <= PIECES + 1; pieces++) {
        struct bytes model = {0};
        put_number(&model, 1, 8);
        add_opset(&model, 8, "", 17);
        for (int i = 0; i < pieces; i++) {
            struct bytes graph = {0};
            if (i == 0) relu(&graph);
            else add_value(&graph, 13, "z", 1, "1");
            put_message(&model, 7, &graph);
        }
        struct failure failure = {0};
        if (pieces > PIECES) load_bad(&model, "has a Model in over 64 pieces, 'graph' at byte");
        else onnx_free(load_bytes(&model, &failure)), assert_string_equal(failure.text, "");
    }
}

/* Each node looks for its own. */
static void too_many_operator_sets_are_refused(void **state) {
    (void)state;
    for (int more = 254; more <= 255; more++) { /* beside the two that model_message() imports */
        struct bytes graph = {0};
        struct failure failure = {0};
        relu(&graph);
        struct bytes model = model_message(&graph, 17);
        for (int i = 0; i < more; i++) add_opset(&model, 8, "my", 1);
        if (more > 254) load_bad(&model, "imports 257 operator sets (opset_import); 256 are the most");
        else onnx_free(load_bytes(&model, &failure)), assert_string_equal(failure.text, "");
    }
}

/* The walk and protobuf-c go as deep as the schema does. */
static int depth_of(const ProtobufCMessageDescriptor *message, int above) {
    int most = above;
    if (above > DEPTH_MOST) fail_msg("messages of the schema nest over %d deep: %s", DEPTH_MOST, message->name);
    for (unsigned i = 0; i < message->n_fields; i++)
        if (message->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            int depth = depth_of(message->fields[i].descriptor, above + 1);
            if (depth > most) most = depth;
        }
    return most;
}

static void no_message_of_the_schema_contains_itself(void **state) {
    (void)state;
    assert_int_equal(depth_of(&onnx__model__descriptor, 1), 7); /* Model Graph ValueInfo Type TensorType Shape Dimension */
}

static size_t varint_bytes(uint64_t x) {
    size_t bytes = 1;
    while (x >>= 7) bytes++;
    return bytes;
}

/* If in If in If: subgraphs are no part of the schema, and are stepped over whole. */
static void subgraphs_nest_as_deep_as_they_like(void **state) {
    (void)state;
    static const int fields[] = {5, 6, 1}; /* attribute of a node, its graph, a node of that */
    static size_t sizes[DEEP + 1];
    struct bytes node = {0}, graph = {0};
    struct failure failure = {0};
    for (size_t i = DEEP; i-- > 0;) sizes[i] = sizes[i + 1] + 1 + varint_bytes(sizes[i + 1]);
    node.data = malloc(sizes[0] + 64);
    assert_non_null(node.data);
    for (size_t i = 0; i < DEEP; i++) {
        node.data[node.size++] = (unsigned char)(fields[i % 3] << 3 | 2);
        for (uint64_t x = sizes[i + 1]; x > 127 || (node.data[node.size++] = (unsigned char)x, false); x >>= 7)
            node.data[node.size++] = (unsigned char)(x & 127) | 128;
    }
    assert_int_equal(node.size, sizes[0]);
    put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 4, "Relu");
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, "1,3");
    put_message(&graph, 1, &node);
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *loaded = load_bytes(&model, &failure);
    if (!loaded) fail_msg("%s", failure.text);
    onnx_free(loaded);
}

static uint64_t live, peak;

/* The size stands in front of the block. */
static void *counted_alloc(void *unused, size_t size) {
    (void)unused;
    uint64_t *block = malloc(2 * sizeof *block + size);
    live += size;
    if (live > peak) peak = live;
    if (block) *block = size;
    return block ? block + 2 : NULL;
}

static void counted_free(void *unused, void *bytes) {
    (void)unused;
    uint64_t *block = bytes;
    if (block) live -= block[-2], free(block - 2);
}

static uint32_t random_state = 1;

static uint32_t below(uint32_t n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

/* Any fields of a message: known ones in both forms of numbers, unknown ones, again and again. */
static void put_random(struct bytes *to, const ProtobufCMessageDescriptor *message) {
    for (uint32_t fields = below(12) ? below(4) : below(50); fields--;) {
        const ProtobufCFieldDescriptor *field = &message->fields[below(message->n_fields)];
        struct bytes inner = {0};
        unsigned char zeros[100] = {0};
        bool whole = field->type == PROTOBUF_C_TYPE_INT32 || field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_UINT64;
        if (!below(9)) put_block(to, 60, zeros, below(100));
        else if (!below(9)) put_number(to, 61, (int64_t)below(1000));
        else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            put_random(&inner, field->descriptor);
            put_message(to, (int)field->id, &inner);
        } else if (whole && below(2)) put_number(to, (int)field->id, (int64_t)below(1000));
        else if (field->type == PROTOBUF_C_TYPE_FLOAT && below(2)) put_float(to, (int)field->id, 1);
        else if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES || field->label == PROTOBUF_C_LABEL_REPEATED)
            put_block(to, (int)field->id, zeros, 8 * below(12)); /* packed numbers, or text */
    }
}

static void the_bound_holds_for_what_is_allocated(void **state) {
    (void)state;
    ProtobufCAllocator counting = {counted_alloc, counted_free, NULL};
    size_t unpacked = 0;
    for (int i = 0; i < TRIALS; i++) {
        struct bytes file = {0};
        struct failure failure = {0};
        uint64_t bound;
        put_random(&file, &onnx__model__descriptor);
        if (file.size && onnx_check_message(file.data, file.size, &bound, &failure)) {
            peak = 0;
            Onnx__Model *model = onnx__model__unpack(&counting, file.size, file.data);
            if (peak > bound)
                fail_msg("trial %d: %llu bytes are allocated, over the bound of %llu", i, (unsigned long long)peak,
                         (unsigned long long)bound);
            unpacked += model != NULL;
            if (model) onnx__model__free_unpacked(model, &counting);
        }
        free(file.data);
    }
    print_message("%zu of %d messages unpacked\n", unpacked, TRIALS);
    assert_true(unpacked > TRIALS / 2);
}

/* Networks take little more than their files: the bound is far away. */
static void a_network_takes_little_more_than_its_file(void **state) {
    (void)state;
    FILE *file = fopen("models/cifar10/network.onnx", "rb");
    static unsigned char bytes[4 << 20];
    struct failure failure = {0};
    uint64_t taken;
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(onnx_check_message(bytes, size, &taken, &failure));
    print_message("%zu bytes of file, %llu in memory\n", size, (unsigned long long)taken);
    assert_true(taken < 2 * size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_attributes_are_refused_by_what_they_would_take),
        cmocka_unit_test(empty_unknown_fields_are_refused_by_what_they_would_take),
        cmocka_unit_test(a_graph_of_too_many_pieces_is_refused),
        cmocka_unit_test(too_many_operator_sets_are_refused),
        cmocka_unit_test(no_message_of_the_schema_contains_itself),
        cmocka_unit_test(subgraphs_nest_as_deep_as_they_like),
        cmocka_unit_test(the_bound_holds_for_what_is_allocated),
        cmocka_unit_test(a_network_takes_little_more_than_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
