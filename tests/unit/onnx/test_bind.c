/* SPDX-License-Identifier: MIT */
/* onnx_bind(): what the user gives, the batch, and what is still free. */
#include "tests/unit/support/onnx_file.h"

#define NO_BINDING \
    { NULL, {0, {0}}, false }

struct row {
    const char *x, *z; /* the inputs as the file has them; NULL: no shape */
    struct onnx_binding bindings[2];
    int64_t batch;
    const char *x_out, *z_out; /* after it; NULL: refused */
    const char *says;          /* the first notice, or the error; NULL: neither */
    int status;
};

static const struct row rows[] = {
    {"1,3,8,8", "4", {NO_BINDING}, 1, "1,3,8,8", "4", NULL, STATUS_DONE},
    {"batch,3,8,8", "4", {NO_BINDING}, 1, "1,3,8,8", "4", "input 'x': its free first dimension 'batch'", STATUS_DONE},
    {"batch,3,8,8", "4", {NO_BINDING}, 5, "5,3,8,8", "4", "is taken as the batch, 5", STATUS_DONE},
    {"batch,3,8,8", "4", {NO_BINDING}, 0, "1,3,8,8", "4", "is taken as the batch, 1", STATUS_DONE},
    {"?,3,8,8", "4", {NO_BINDING}, 1, "1,3,8,8", "4", "its free first dimension is taken", STATUS_DONE},
    {"16,3,8,8", "4", {NO_BINDING}, 1, "16,3,8,8", "4", NULL, STATUS_DONE},
    {"16,3,8,8", "4", {NO_BINDING}, 2, "16,3,8,8", "4", "a batch of 2 has no effect", STATUS_DONE},
    /* one name, one number, wherever it stands */
    {"n,3,8,8", "n,7", {NO_BINDING}, 2, "2,3,8,8", "2,7", "'x'", STATUS_DONE},
    {"n,3,8,8", "7,n", {NO_BINDING}, 2, "2,3,8,8", "7,2", "'x'", STATUS_DONE},
    {"n,3,h,w", "4", {{"h", {1, {8}}, true}, {"w", {1, {9}}, true}}, 1, "1,3,8,9", "4", "'n'", STATUS_DONE},
    {"n,3,8,8", "4", {{"n", {1, {6}}, true}, NO_BINDING}, 1, "6,3,8,8", "4", NULL, STATUS_DONE},
    {"n,3,h,h", "h", {{"x", {4, {2, 3, 5, 5}}, false}, NO_BINDING}, 1, "2,3,5,5", "5", NULL, STATUS_DONE},
    {"16,3,8,8", "4", {{"x", {4, {1, 3, 9, 9}}, false}, NO_BINDING}, 1, "1,3,9,9", "4", NULL, STATUS_DONE},
    {NULL, "4", {{"x", {2, {1, 3}}, false}, NO_BINDING}, 1, "1,3", "4", NULL, STATUS_DONE},
    /* refused */
    {"n,3,h,8", "4", {NO_BINDING}, 1, NULL, NULL, "input 'x' [1,3,h,8]: dimension 'h' is free; give it with --dim h=NUMBER", STATUS_INPUT},
    {"n,3,?,8", "4", {NO_BINDING}, 1, NULL, NULL, "dimension 2 is free; give it with --shape x=...", STATUS_INPUT},
    {NULL, "4", {NO_BINDING}, 1, NULL, NULL, "input 'x' has no shape", STATUS_INPUT},
    {"1,3",
     "4",
     {{"y", {2, {1, 3}}, false}, NO_BINDING},
     1,
     NULL,
     NULL,
     "no input is named 'y'; the inputs are 'x' [1,3], 'z' [4]",
     STATUS_CALL},
    {"1,3", "4", {{"x", {3, {1, 3, 1}}, false}, NO_BINDING}, 1, NULL, NULL, "has 2 dimensions, the shape given for it 3", STATUS_CALL},
    {"1,3", "4", {{"x", {2, {0, 3}}, false}, NO_BINDING}, 1, NULL, NULL, "1 or more", STATUS_INPUT},
    {"n,3", "4", {{"m", {1, {3}}, true}, NO_BINDING}, 1, NULL, NULL, "no input has a dimension named 'm'", STATUS_CALL},
    {"n,3", "4", {{"n", {1, {0}}, true}, NO_BINDING}, 1, NULL, NULL, "needs one number", STATUS_CALL},
    {"1000000,1000000,1000000", "4", {NO_BINDING}, 1, NULL, NULL, "too large", STATUS_INPUT},
};

static void check_shape(const struct row *row, const char *expected, const struct onnx_shape *shape) {
    struct number numbers[8];
    int count = read_numbers(expected, numbers, 8);
    bool good = count == shape->rank;
    for (int i = 0; i < count && good; i++) good = shape->dims[i] == numbers[i].integer;
    if (!good) fail_msg("'%s' and '%s': not %s", row->x ? row->x : "", row->z, expected);
}

static void check_row(const struct row *row) {
    struct bytes graph = {0};
    struct onnx_report report = {0};
    struct failure failure = {0};
    add_value(&graph, 11, "x", 1, row->x);
    add_value(&graph, 11, "z", 1, row->z);
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "n", "Any", "x z", "y", "");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *net = load_bytes(&model, &failure);
    assert_non_null(net);
    size_t count = !!row->bindings[0].name + !!row->bindings[1].name;
    bool good = onnx_bind(net, row->bindings, count, row->batch, &report, &failure);
    const char *said = !good ? failure.text : report.notice_count ? report.notices[0] : "";
    if (good != (row->x_out != NULL)) fail_msg("'%s' and '%s': %s", row->x ? row->x : "", row->z, good ? "taken" : failure.text);
    assert_int_equal(good ? STATUS_DONE : failure.status, row->status);
    if (row->says ? !strstr(said, row->says) : *said != 0)
        fail_msg("'%s' and '%s' say '%s', not '%s'", row->x ? row->x : "", row->z, said, row->says ? row->says : "");
    if (good) {
        check_shape(row, row->x_out, &net->inputs[0]->shape);
        check_shape(row, row->z_out, &net->inputs[1]->shape);
    }
    onnx_free(net);
    onnx_report_free(&report);
}

static void shapes_are_bound_or_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_are_bound_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
