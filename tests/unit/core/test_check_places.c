/* SPDX-License-Identifier: MIT */
/* The parameters of grid samples and of non-maximum suppression: what passes up to its limits, and the first that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/ops.h"
#include "tests/unit/support/check_desk.h"

static struct desk d;
static struct morsel_blob_grid_sample grid;
static struct morsel_blob_non_max_suppression objects;

#define PASSES(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_OK)
#define REFUSED(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_ERR_PARAMETER)
/* `change` is refused, and what stood there before passes. */
#define HARMED(check, field, value) \
    do { \
        __typeof__(field) old_ = (field); \
        (field) = (value); \
        REFUSED(check); \
        (field) = old_; \
        PASSES(check); \
    } while (0)

/* x 2 x 3 x 4 x 5, 6 x 7 places in each image. */
static int start_grid(void **state) {
    (void)state;
    grid = (struct morsel_blob_grid_sample){1, MORSEL_BEYOND_MIRROR, 1};
    desk_set(&d, MORSEL_STEP_GRID_SAMPLE, 2, &grid);
    d.x->type = d.b->type = d.y->type = MORSEL_FLOAT32;
    desk_shape(d.x, 2, 3, 4, 5);
    desk_shape(d.b, 2, 6, 7, 2);
    desk_shape(d.y, 2, 6, 7, 5);
    PASSES(grid_sample);
    return 0;
}

static void there_are_two_numbers_for_each_pixel(void **state) {
    (void)state;
    HARMED(grid_sample, d.b->bytes, d.b->bytes - 4);
    HARMED(grid_sample, d.b->bytes, d.b->bytes + 4);
    HARMED(grid_sample, d.b->bytes, 0x7ffffffc);
    d.b->rank = 2, d.b->dims[0] = 84, d.b->dims[1] = 2; /* however they lie */
    PASSES(grid_sample);
}

static void images_and_channels_stay(void **state) {
    (void)state;
    HARMED(grid_sample, d.y->dims[0], 1);
    HARMED(grid_sample, d.y->dims[3], 4);
    HARMED(grid_sample, d.x->rank, 3);
    HARMED(grid_sample, d.y->rank, 5);
}

static void sides_are_short(void **state) {
    (void)state;
    for (int side = 1; side < 3; side++) {
        HARMED(grid_sample, d.x->dims[side], MORSEL_FORMAT_GRID_SIDE);
        HARMED(grid_sample, d.x->dims[side], 0x7fffffff);
    }
    d.x->dims[1] = d.x->dims[2] = MORSEL_FORMAT_GRID_SIDE - 1;
    PASSES(grid_sample);
}

static void choices_are_in_range(void **state) {
    (void)state;
    HARMED(grid_sample, grid.nearest, 2);
    HARMED(grid_sample, grid.corners, 2);
    HARMED(grid_sample, grid.beyond, MORSEL_BEYOND_COUNT);
    HARMED(grid_sample, grid.nearest, 0x80000000);
    HARMED(grid_sample, grid.beyond, UINT32_MAX);
}

/* Seven objects of three classes in two images; five at most are selected of each. */
static int start_objects(void **state) {
    (void)state;
    objects = (struct morsel_blob_non_max_suppression){2, 3, 7, 5, 1, 0.5f, -INFINITY};
    desk_set(&d, MORSEL_STEP_NON_MAX_SUPPRESSION, 2, &objects);
    d.x->type = d.b->type = MORSEL_FLOAT32, d.y->type = MORSEL_INT32;
    d.x->bytes = 4 * 2 * 7 * 4;
    d.b->bytes = 4 * 2 * 3 * 7;
    d.y->bytes = 4 * 2 * 3 * 5 * 3;
    d.step.scratch_bytes = 7;
    PASSES(non_max_suppression);
    return 0;
}

static void boxes_and_scores_are_of_the_same_objects(void **state) {
    (void)state;
    HARMED(non_max_suppression, d.x->bytes, d.x->bytes - 4);
    HARMED(non_max_suppression, d.b->bytes, d.b->bytes + 4);
    HARMED(non_max_suppression, objects.images, 1);
    HARMED(non_max_suppression, objects.images, 0);
    HARMED(non_max_suppression, objects.classes, 4);
    HARMED(non_max_suppression, objects.classes, 0x80000003);
    HARMED(non_max_suppression, objects.count, 6);
    HARMED(non_max_suppression, objects.count, 0x40000007); /* times 4 it is 28 in 32 bits */
}

static void y_has_room_for_all(void **state) {
    (void)state;
    HARMED(non_max_suppression, d.y->bytes, d.y->bytes - 4);
    HARMED(non_max_suppression, d.y->bytes, d.y->bytes + 12);
    HARMED(non_max_suppression, objects.most, 0);
    HARMED(non_max_suppression, objects.most, 4);
    objects.most = 7, d.y->bytes = 2 * 3 * 7 * 3 * 4;
    PASSES(non_max_suppression);
    objects.most = 8, d.y->bytes = 2 * 3 * 8 * 3 * 4; /* more than there are */
    REFUSED(non_max_suppression);
}

static void there_is_a_mark_for_each_object(void **state) {
    (void)state;
    HARMED(non_max_suppression, d.step.scratch_bytes, 6);
    HARMED(non_max_suppression, d.step.scratch_bytes, 0);
    d.step.scratch_bytes = 64;
    PASSES(non_max_suppression);
}

static void numbers_are_numbers(void **state) {
    (void)state;
    HARMED(non_max_suppression, objects.centre, 2);
    HARMED(non_max_suppression, objects.overlap, NAN);
    HARMED(non_max_suppression, objects.overlap, INFINITY);
    HARMED(non_max_suppression, objects.least, NAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(there_are_two_numbers_for_each_pixel, start_grid),
        cmocka_unit_test_setup(images_and_channels_stay, start_grid),
        cmocka_unit_test_setup(sides_are_short, start_grid),
        cmocka_unit_test_setup(choices_are_in_range, start_grid),
        cmocka_unit_test_setup(boxes_and_scores_are_of_the_same_objects, start_objects),
        cmocka_unit_test_setup(y_has_room_for_all, start_objects),
        cmocka_unit_test_setup(there_is_a_mark_for_each_object, start_objects),
        cmocka_unit_test_setup(numbers_are_numbers, start_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
