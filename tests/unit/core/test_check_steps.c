/* SPDX-License-Identifier: MIT */
/* Steps and what they name, at their limits; a step that equals one before it, and one that hardly does. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/kind.h"
#include "tests/unit/support/check_desk.h"
#include "tests/unit/support/damaged.h"

static struct desk d;

/* --- Operands, parameters, scratch --- */

static void operands_end_with_their_section(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_STEP, b.header->operands.count--);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_MATMUL].first_operand++);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_MATMUL].first_operand = 0xffffffff);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_LUT].input_count = 0);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_LUT].output_count = 0);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_LUT].output_count = 2);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_ADD].input_count = 1);
    for (uint32_t n = 0; n < 3; n++) {
        MISSHAPEN(MORSEL_ERR_STEP, INT_AT(b.header->operands.offset, b.steps[S_ADD].first_operand + n) = T_COUNT);
        MISSHAPEN(MORSEL_ERR_PARAMETER, INT_AT(b.header->operands.offset, b.steps[S_ADD].first_operand + n) = T_COUNT - 1);
    }
}

static void types_are_those_of_the_kind(void **state) {
    (void)state;
    struct morsel_blob_tensor *t;
    MISSHAPEN(MORSEL_ERR_STEP, t = &b.tensors[T_MAX], t->place = 1, t->offset = b.spare); /* nobody writes constants */
    MISSHAPEN(MORSEL_ERR_STEP, t = &b.tensors[T_MAX], t->type = MORSEL_INT8);             /* x is uint8 */
    MISSHAPEN(MORSEL_ERR_STEP, t = &b.tensors[T_DEPTHWISE], t->type = MORSEL_FLOAT32, t->scale = 1, t->zero_point = 0, t->bytes *= 4,
              b.header->arena_bytes += 4096, t->offset = b.header->arena_bytes - 256);
    MISSHAPEN(MORSEL_ERR_STEP, t = &b.tensors[T_ADD], t->type = MORSEL_INT32, t->scale = 1, t->zero_point = 0, t->bytes *= 4);
    MISSHAPEN(MORSEL_ERR_STEP, t = &b.tensors[T_AVERAGE], t->type = MORSEL_INT32, t->scale = 1, t->zero_point = 0, t->bytes *= 4);
}

static void parameters_lie_in_their_section(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_PARAMETER, b.header->parameters.count--);
    MISSHAPEN(MORSEL_ERR_PARAMETER, b.steps[S_MATMUL].parameters += 4);
    for (uint32_t by = 1; by < 4; by++) MISSHAPEN(MORSEL_ERR_PARAMETER, b.steps[S_MATMUL].parameters -= by);
    MISSHAPEN(MORSEL_ERR_PARAMETER, b.steps[S_CONV].parameters -= 4);
    MISSHAPEN(MORSEL_ERR_PARAMETER, b.steps[S_MATMUL].parameters = 0xfffffffc);
    /* A concat's record is as long as its inputs are many. */
    MISSHAPEN(MORSEL_ERR_PARAMETER, b.header->parameters.count = (b.steps[S_CONCAT].parameters - b.header->parameters.offset) / 4 + 2,
              b.header->steps.count = S_CONCAT + 1);
    MISSHAPEN(MORSEL_ERR_ORDER, b.header->parameters.count = (b.steps[S_CONCAT].parameters - b.header->parameters.offset) / 4 + 3,
              b.header->steps.count = S_CONCAT + 1);
}

static void scratch_lies_in_the_arena(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.header->arena_bytes);
    MISSHAPEN(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_bytes = 0xffffffff);
    MISSHAPEN(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = 0xffffffc0, b.steps[S_CONV].scratch_bytes = 64);
    MISSHAPEN(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = 0);
}

enum { PARAMETERS_AT = 2048, PARAMETER_WORDS = 64 };

static struct morsel_model report;

/* A pool of one pixel alone on the desk; its record lies at `at`. */
static const struct morsel_blob_pool one_pixel = {{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0, 0, 255};

static void set_alone(uint32_t kind, uint32_t inputs, uint32_t at) {
    desk_set(&d, kind, inputs, NULL);
    d.header->steps.count = 1;
    d.header->parameters = (struct morsel_blob_section){PARAMETERS_AT, PARAMETER_WORDS};
    d.check.report = &report;
    d.step.parameters = at;
    memcpy(d.bytes + at, &one_pixel, sizeof one_pixel);
}

static void records_lie_in_their_section_and_are_aligned(void **state) {
    (void)state;
    const uint32_t end = PARAMETERS_AT + 4 * PARAMETER_WORDS;
    for (uint32_t at = PARAMETERS_AT - 64; at < end; at++) {
        set_alone(MORSEL_STEP_MAX_POOL, 1, at);
        int fits = at % 4 == 0 && at >= PARAMETERS_AT && at + sizeof one_pixel <= end;
        assert_int_equal(morsel_check_steps(&d.check), fits ? MORSEL_OK : MORSEL_ERR_PARAMETER);
    }
}

/* 64 steps have 16 KB of slots. */
static void scratch_begins_behind_the_last_slot(void **state) {
    (void)state;
    struct morsel_blob_step steps[64];
    for (uint32_t at = 0; at < 20480; at += 64) {
        set_alone(MORSEL_STEP_MAX_POOL, 1, PARAMETERS_AT);
        d.step.scratch_offset = at;
        d.step.scratch_bytes = 64;
        d.header->arena_bytes = 1 << 20;
        d.header->steps.count = 64;
        for (int i = 0; i < 64; i++) steps[i] = d.step;
        d.check.steps = steps;
        assert_int_equal(morsel_check_steps(&d.check), at >= 16384 ? MORSEL_OK : MORSEL_ERR_PLAN);
    }
}

/* Four bytes an input: so much is read, where so much is left to read. */
static void operands_are_counted(void **state) {
    (void)state;
    for (uint32_t inputs = 1; inputs <= 3; inputs++)
        for (uint64_t left = 0; left < 20; left++) {
            set_alone(inputs == 1 ? MORSEL_STEP_MAX_POOL : MORSEL_STEP_CONCAT, inputs, PARAMETERS_AT);
            d.read = 64 * (uint64_t)DESK_BYTES - left;
            assert_int_equal(morsel_check_steps(&d.check) == MORSEL_ERR_STEP, left < 4 * (uint64_t)inputs);
            assert_true(d.read == 64 * (uint64_t)DESK_BYTES - left + 4 * (uint64_t)inputs);
        }
}

static void kinds_are_those_of_the_format(void **state) {
    (void)state;
    static const uint32_t none[] = {0, 26, 27, 28, 32, 0x7fffffff, 0x80000000, 0xffffffff};
    for (uint32_t i = 0; i < 8; i++) {
        set_alone(MORSEL_STEP_MAX_POOL, 1, PARAMETERS_AT);
        d.header->format_version = MORSEL_FORMAT_VERSION;
        d.step.kind = none[i];
        assert_int_equal(morsel_check_steps(&d.check), MORSEL_ERR_STEP);
    }
}

/* Those that an older library does not know are none of the version that it opens. */
static void kinds_are_those_of_the_version(void **state) {
    (void)state;
    assert_int_equal(MORSEL_STEP_SINCE_2, 15);
    for (uint32_t kind = 1; kind < MORSEL_STEP_KIND_COUNT; kind++) {
        set_alone(kind, morsel_kinds[kind]->numbers ? 2 : 1, PARAMETERS_AT);
        d.header->format_version = 1;
        d.x->type = morsel_kinds[kind]->x_types & 1u << MORSEL_UINT8     ? MORSEL_UINT8
                    : morsel_kinds[kind]->x_types & 1u << MORSEL_FLOAT32 ? MORSEL_FLOAT32
                                                                         : MORSEL_INT32;
        d.b->type = morsel_kinds[kind]->numbers ? MORSEL_FLOAT32 : d.x->type;
        d.y->type = morsel_kinds[kind]->y_types == 1u << MORSEL_FLOAT32 ? MORSEL_FLOAT32 : MORSEL_UINT8;
        int two = morsel_kinds[kind]->inputs == 2 && !morsel_kinds[kind]->numbers;
        assert_int_equal(morsel_check_steps(&d.check) == MORSEL_ERR_STEP, kind >= 15 || two);
        d.header->format_version = 2;
        assert_int_equal(morsel_check_steps(&d.check) == MORSEL_ERR_STEP, two);
    }
}

/* As core/format.h lists them: which types x may have, and y; whether all have one. */
static int types_fit(uint32_t kind, uint32_t x, uint32_t second, uint32_t y) {
    int x_bytes = x <= MORSEL_INT8 && second <= MORSEL_INT8, y_ok = y != MORSEL_INT32;
    int x_ok = x != MORSEL_INT32 && second != MORSEL_INT32;
    switch (kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE:
    case MORSEL_STEP_FC:
    case MORSEL_STEP_MATMUL:
    case MORSEL_STEP_VIEW_MATMUL:
    case MORSEL_STEP_LUT: return x_bytes && y_ok;
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: return x_ok && y == x;
    case MORSEL_STEP_CONCAT:
    case MORSEL_STEP_GATHER: return x == y && second == y;
    case MORSEL_STEP_GRID_SAMPLE:
    case MORSEL_STEP_FLOAT_MATMUL: return x == MORSEL_FLOAT32 && second == MORSEL_FLOAT32 && y == MORSEL_FLOAT32;
    case MORSEL_STEP_NON_MAX_SUPPRESSION: return x == MORSEL_FLOAT32 && second == MORSEL_FLOAT32 && y == MORSEL_INT32;
    case MORSEL_STEP_RANGE:
    case MORSEL_STEP_FACTORS: return x == MORSEL_FLOAT32 && y == MORSEL_FLOAT32;
    case MORSEL_STEP_QUANTIZE: return x == MORSEL_FLOAT32 && second == MORSEL_FLOAT32 && y == MORSEL_UINT8;
    case MORSEL_STEP_DYNAMIC_CONV:
    case MORSEL_STEP_DYNAMIC_DEPTHWISE:
    case MORSEL_STEP_DYNAMIC_FC: return x == MORSEL_UINT8 && second == MORSEL_FLOAT32 && y == MORSEL_FLOAT32;
    case MORSEL_STEP_LOOKUP: return (x == MORSEL_INT32 || x == MORSEL_FLOAT32) && y_ok;
    case MORSEL_STEP_CAST: return x == MORSEL_INT32 && y == MORSEL_FLOAT32;
    default: return x_ok && y_ok;
    }
}

/* A product of floats has two inputs or three; a pool, with as many tensors, one alone. */
static void inputs_that_may_be_absent_are_counted(void **state) {
    (void)state;
    for (uint32_t floats = 0; floats < 2; floats++)
        for (uint32_t inputs = 1; inputs < 4; inputs++) {
            set_alone(floats ? MORSEL_STEP_FLOAT_MATMUL : MORSEL_STEP_MAX_POOL, inputs, PARAMETERS_AT);
            d.header->format_version = MORSEL_FORMAT_VERSION;
            struct morsel_blob_tensor *tensors = (void *)(d.bytes + DESK_TENSORS_AT);
            for (uint32_t i = 0; floats && i < DESK_TENSORS; i++) tensors[i].type = MORSEL_FLOAT32;
            assert_int_equal(morsel_check_steps(&d.check) == MORSEL_ERR_STEP, floats ? inputs < 2 : inputs > 1);
        }
}

/* Parameters of 0 are refused later, if at all. */
static void types_are_in_the_sets_of_the_kind(void **state) {
    (void)state;
    assert_true(MORSEL_UINT8 == 0 && MORSEL_INT8 == 1 && MORSEL_FLOAT32 == 3);
    for (uint32_t pick = 0; pick < 64 * MORSEL_STEP_KIND_COUNT; pick++) {
        uint32_t kind = pick / 64, x = pick & 3, second = pick >> 2 & 3, y = pick >> 4 & 3;
        int two = kind == MORSEL_STEP_MATMUL || kind == MORSEL_STEP_BINARY || kind == MORSEL_STEP_CONCAT ||
                  kind == MORSEL_STEP_FLOAT_MATMUL || kind >= MORSEL_STEP_GRID_SAMPLE ||
                  (kind >= MORSEL_STEP_QUANTIZE && kind <= MORSEL_STEP_DYNAMIC_FC);
        if (!kind) continue;
        set_alone(kind, two ? 2 : 1, PARAMETERS_AT);
        d.header->format_version = MORSEL_FORMAT_VERSION;
        memset(d.bytes + PARAMETERS_AT, 0, 4 * PARAMETER_WORDS);
        if (!two) second = x;
        d.b->type = second;
        d.x->type = x;
        d.y->type = y;
        assert_int_equal(morsel_check_steps(&d.check) == MORSEL_ERR_STEP, !types_fit(kind, x, second, y));
    }
}

/* --- Constants that the kinds share --- */

static void data_ends_with_its_section(void **state) {
    (void)state;
    desk_set(&d, MORSEL_STEP_UNARY, 1, NULL);
    const uint32_t end = DESK_BYTES, all = end - DESK_DATA;
    assert_true(morsel_check_data(&d.check, DESK_DATA, all));
    assert_false(morsel_check_data(&d.check, DESK_DATA, all + 1));
    assert_false(morsel_check_data(&d.check, DESK_DATA - 64, 64));
    assert_true(morsel_check_data(&d.check, end, 0));
    assert_false(morsel_check_data(&d.check, end, 1));
    assert_false(morsel_check_data(&d.check, end + 64, 0));
    assert_false(morsel_check_data(&d.check, DESK_DATA, UINT64_MAX));
    assert_false(morsel_check_data(&d.check, DESK_DATA, UINT64_MAX - DESK_DATA + 1)); /* the sum is 0 */
    for (uint32_t by = 1; by < 64; by++) assert_false(morsel_check_data(&d.check, DESK_DATA + by, 4));
}

static void floats_are_counted_and_finite(void **state) {
    (void)state;
    desk_set(&d, MORSEL_STEP_UNARY, 1, NULL);
    float *values = (float *)(void *)(d.bytes + DESK_DATA);
    for (uint32_t count = 0; count < 40; count++)
        for (uint32_t bad = 0; bad < 40; bad++) {
            d.read = 0;
            values[bad] = bad % 2 ? INFINITY : NAN;
            assert_int_equal(morsel_check_floats(&d.check, DESK_DATA, count), bad >= count);
            assert_true(d.read == 4 * count);
            values[bad] = FLT_MAX;
        }
    const uint64_t most = 0x7fffffff;
    d.header->data.count = 0xffffffff;
    d.read = 64 * (uint64_t)DESK_BYTES - 1; /* nothing more is read */
    assert_false(morsel_check_floats(&d.check, DESK_DATA, most + 1));
    assert_true(d.read == 64 * (uint64_t)DESK_BYTES - 1);
}

/* Numbers of binary16, two in a word. */
static void halves_are_counted_and_finite(void **state) {
    (void)state;
    desk_set(&d, MORSEL_STEP_UNARY, 1, NULL);
    uint16_t *values = (uint16_t *)(void *)(d.bytes + DESK_DATA);
    for (uint32_t count = 0; count < 80; count += 2)
        for (uint32_t bad = 0; bad < 80; bad++) {
            static const uint16_t odd[] = {0x7c00, 0xfc00, 0x7c01, 0xffff};
            d.read = 0;
            values[bad] = odd[bad % 4];
            assert_int_equal(morsel_check_halves(&d.check, DESK_DATA, count), bad >= count);
            assert_true(d.read == 2 * count);
            values[bad] = bad % 2 ? 0x7bff : 0xfbff; /* the largest there are */
        }
    d.read = 64 * (uint64_t)DESK_BYTES - 7;
    assert_false(morsel_check_halves(&d.check, DESK_DATA, 4));
    d.header->data.count = 0xffffffff;
    d.read = 5;
    assert_false(morsel_check_halves(&d.check, DESK_DATA, (uint64_t)0x7fffffff + 1));
    assert_true(d.read == 5);
}

static void zeros_of_weights_are_bytes(void **state) {
    (void)state;
    for (uint32_t count = 0; count < 40; count++)
        for (uint32_t at = 0; at < 40; at++)
            for (int32_t v = -130; v <= 130; v += v == -127 ? 253 : 1) {
                int32_t values[40] = {0};
                values[at] = v;
                assert_int_equal(morsel_all_small((const uint32_t *)values, count), at >= count || (v >= -128 && v <= 127));
            }
}

static void reading_has_an_end(void **state) {
    (void)state;
    desk_set(&d, MORSEL_STEP_UNARY, 1, NULL);
    const uint64_t most = 64 * (uint64_t)DESK_BYTES;
    assert_true(morsel_check_affords(&d.check, most));
    assert_true(morsel_check_affords(&d.check, 0));
    assert_false(morsel_check_affords(&d.check, 1));
    assert_true(d.read == most + 1);
}

static void ranges_are_those_of_the_type(void **state) {
    (void)state;
    struct morsel_blob_tensor y = {.type = MORSEL_UINT8};
    for (int32_t low = -130; low < 260; low++)
        for (int32_t high = -130; high < 260; high += 13) {
            y.type = MORSEL_UINT8;
            assert_int_equal(morsel_check_integers(&y, low, high), low >= 0 && low <= high && high <= 255);
            assert_int_equal(morsel_check_range(&y, low, high, 1, 0), low >= 0 && low <= high && high <= 255);
            y.type = MORSEL_INT8;
            assert_int_equal(morsel_check_integers(&y, low, high), low >= -128 && low <= high && high <= 127);
            y.type = MORSEL_FLOAT32;
            assert_true(morsel_check_integers(&y, low, high));
            assert_int_equal(morsel_check_range(&y, low, high, (float)low, (float)high), low <= high);
        }
    y.type = MORSEL_UINT8;
    assert_true(morsel_check_integers(&y, 255, 255) && morsel_check_integers(&y, 0, 255) && !morsel_check_integers(&y, 0, 256));
    y.type = MORSEL_INT8;
    assert_true(morsel_check_integers(&y, -128, 127) && !morsel_check_integers(&y, -129, 127) && !morsel_check_integers(&y, -128, 128));
    y.type = MORSEL_FLOAT32;
    assert_true(morsel_check_range(&y, 0, 0, -INFINITY, INFINITY) && !morsel_check_range(&y, 0, 0, NAN, 1));
}

/* --- Steps that equal one before, once much was read --- */

enum change { SAME, KIND, PARAMETERS, INPUT, OUTPUT, SECOND_INPUT, INNER };

/* Two pools, sums, or lists of one; the second is refused where it is looked at by itself. `odd` is what a changed operand states. */
static enum morsel_error check_two(enum change change, uint64_t read, uint32_t odd) {
    struct builder b;
    struct morsel_model model;
    uint32_t count, x[2] = {0, 2}, dims[4] = {1, 4, 4, 1}, list[2] = {1, 16};
    builder_start(&b);
    for (int i = 0; i < 4; i++) builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0);
    struct morsel_blob_pool pool = {{1, 1, 1, 1, 2, 1, 0, 0, 0, 0}, 0, 0, 255};
    struct morsel_blob_binary sum = {MORSEL_BINARY_ADD, 1, {16, 1, 1, 1, 1, 1}, {1}, {1}, 1, 1, 0, 0, 255, -1, 1};
    for (uint32_t i = 0; i < 2; i++) {
        if (change == INNER) builder_step(&b, MORSEL_STEP_CONCAT, &x[i], 1, 2 * i + 1, list, sizeof list, 0);
        else if (change != SECOND_INPUT) builder_step(&b, MORSEL_STEP_MAX_POOL, &x[i], 1, 2 * i + 1, &pool, sizeof pool, 0);
        else builder_step(&b, MORSEL_STEP_BINARY, (uint32_t[]){0, x[i]}, 2, 2 * i + 1, &sum, sizeof sum, 0);
    }
    builder_data(&b, "", 1);
    builder_input(&b, 0, "x");
    builder_input(&b, 2, "x2");
    builder_output(&b, 3, "y");
    uint8_t *blob = builder_finish(&b, &count);
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_blob_step *steps = (void *)(blob + h->steps.offset);
    struct morsel_blob_tensor *tensors = (void *)(blob + h->tensors.offset);
    struct morsel_blob_pool *second = (void *)(blob + steps[1].parameters);
    if (change == KIND) steps[1].kind = MORSEL_STEP_AVERAGE_POOL; /* which takes no dilation */
    for (uint32_t i = 0; change == KIND && i < 4; i++) tensors[i].zero_point = (int32_t)odd;
    if (change == INNER) ((struct morsel_blob_concat *)(void *)second)->inner[0] = 15;
    if (change == PARAMETERS) second->out_max = 256;
    if (change == INPUT) tensors[2].dims[1] = odd;
    if (change == OUTPUT) tensors[3].dims[1] = odd;
    if (change == SECOND_INPUT) tensors[2].bytes = 15, tensors[2].zero_point = (int32_t)odd;
    memset(&model, 0, sizeof model);
    model.blob = blob;
    model.blob_bytes = count;
    read *= count;
    uint16_t checked[MORSEL_CHECKED] = {0};
    struct morsel_check c = {&report, &model, h, tensors, steps, NULL, &read, checked, 0};
    enum morsel_error error = morsel_check_steps(&c);
    free(blob);
    return error;
}

static void steps_that_differ_are_looked_at(void **state) {
    (void)state;
    for (uint64_t read = 0; read < 9; read += 4) {
        assert_int_equal(check_two(SAME, read, 0), MORSEL_OK);
        assert_int_equal(check_two(KIND, read, 0), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(PARAMETERS, read, 0), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(INPUT, read, 5), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(OUTPUT, read, 5), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(SECOND_INPUT, read, 0), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(INNER, read, 0), MORSEL_ERR_PARAMETER);
    }
}

/* Steps are found by a number of 9 bits made of all that they state: now and then two that differ come to the same one. */
static void steps_that_differ_are_looked_at_wherever_they_stand(void **state) {
    (void)state;
    for (uint32_t odd = 20; odd < 20 + 8 * MORSEL_CHECKED; odd++) {
        assert_int_equal(check_two(KIND, 8, odd), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(INPUT, 8, odd), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(OUTPUT, 8, odd), MORSEL_ERR_PARAMETER);
        assert_int_equal(check_two(SECOND_INPUT, 8, odd), MORSEL_ERR_PARAMETER);
    }
}

/* In front of the steps stands what would be one that equals the first. */
static void nothing_stands_before_the_first_step(void **state) {
    (void)state;
    struct morsel_blob_step steps[2];
    set_alone(MORSEL_STEP_MAX_POOL, 1, PARAMETERS_AT);
    memset(d.bytes + PARAMETERS_AT, 0, sizeof one_pixel);
    steps[0] = steps[1] = d.step;
    d.check.steps = &steps[1];
    d.read = 8 * (uint64_t)DESK_BYTES;
    assert_int_equal(morsel_check_steps(&d.check), MORSEL_ERR_PARAMETER);
}

/* A convolution with less scratch than the same one before it. */
static void steps_with_less_scratch_are_looked_at(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model = {.blob = b.bytes, .blob_bytes = b.count};
    uint64_t read = 5 * (uint64_t)b.count;
    b.steps[S_DEPTHWISE] = b.steps[S_CONV];
    uint16_t checked[MORSEL_CHECKED] = {0};
    struct morsel_check c = {&report, &model, b.header, b.tensors, b.steps, NULL, &read, checked, 0};
    b.header->steps.count = 2;
    assert_int_equal(morsel_check_steps(&c), MORSEL_OK);
    b.steps[S_DEPTHWISE].scratch_bytes = 11;
    assert_int_equal(morsel_check_steps(&c), MORSEL_ERR_PARAMETER);
    free(b.bytes);
}

/* Three equal steps, each with 128 bytes of floats. The first is looked at, the others as long as not more than four times the blob was
 * read. */
static void equal_steps_are_read_until_much_was(void **state) {
    (void)state;
    struct builder b;
    struct morsel_model model;
    uint32_t count, steps = 3;
    float floats[16] = {1};
    builder_start(&b);
    for (uint32_t i = 0; i <= steps; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 16}, 1, 0);
    uint32_t at = builder_data(&b, floats, sizeof floats);
    struct morsel_blob_unary affine = {MORSEL_UNARY_AFFINE, 16, 0, 0, 16, at, at};
    for (uint32_t i = 0; i < steps; i++) builder_step(&b, MORSEL_STEP_UNARY, (uint32_t[]){0}, 1, i + 1, &affine, sizeof affine, 0);
    builder_input(&b, 0, "x");
    builder_output(&b, steps, "y");
    uint8_t *blob = builder_finish(&b, &count);
    assert_int_equal(morsel_open(&model, blob, count, 0), MORSEL_OK);
    const struct morsel_blob_header *h = (const void *)blob;
    for (uint64_t start = 0; start < 6 * (uint64_t)count; start += start + 300 < 4 * (uint64_t)count ? 7 : 1) {
        uint64_t read = start, want = start;
        uint16_t checked[MORSEL_CHECKED] = {0};
        struct morsel_check c = {.report = &report, .model = &model, .header = h, .read = &read, .checked = checked};
        c.tensors = (void *)(blob + h->tensors.offset);
        c.steps = (void *)(blob + h->steps.offset);
        assert_int_equal(morsel_check_steps(&c), MORSEL_OK);
        for (uint32_t i = 0; i < steps; i++) {
            want += 4;
            if (!i || want <= 4 * (uint64_t)count) want += 128;
        }
        assert_true(read == want);
    }
    free(blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_end_with_their_section),
        cmocka_unit_test(types_are_those_of_the_kind),
        cmocka_unit_test(parameters_lie_in_their_section),
        cmocka_unit_test(scratch_lies_in_the_arena),
        cmocka_unit_test(records_lie_in_their_section_and_are_aligned),
        cmocka_unit_test(scratch_begins_behind_the_last_slot),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(kinds_are_those_of_the_format),
        cmocka_unit_test(kinds_are_those_of_the_version),
        cmocka_unit_test(types_are_in_the_sets_of_the_kind),
        cmocka_unit_test(inputs_that_may_be_absent_are_counted),
        cmocka_unit_test(data_ends_with_its_section),
        cmocka_unit_test(floats_are_counted_and_finite),
        cmocka_unit_test(halves_are_counted_and_finite),
        cmocka_unit_test(zeros_of_weights_are_bytes),
        cmocka_unit_test(reading_has_an_end),
        cmocka_unit_test(ranges_are_those_of_the_type),
        cmocka_unit_test(steps_that_differ_are_looked_at),
        cmocka_unit_test(steps_that_differ_are_looked_at_wherever_they_stand),
        cmocka_unit_test(nothing_stands_before_the_first_step),
        cmocka_unit_test(steps_with_less_scratch_are_looked_at),
        cmocka_unit_test(equal_steps_are_read_until_much_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
