/* SPDX-License-Identifier: MIT */
/* Boxes and points drawn into pictures: where their names stand. */
#include "tools/samples/image/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { WIDTH = 100, HEIGHT = 40, LETTER = 6, LINE = 9 };

static uint8_t rgb[HEIGHT][WIDTH][3];

static struct image blank(uint32_t width) {
    memset(rgb, 7, sizeof rgb);
    return (struct image){width, HEIGHT, &rgb[0][0][0]};
}

/* The columns of row y that are drawn to, of a picture of `width`: from *first to before *end. */
static void drawn(uint32_t width, uint32_t y, uint32_t *first, uint32_t *end) {
    const uint8_t *row = &rgb[0][0][0] + (size_t)3 * width * y;
    *first = *end = 0;
    for (uint32_t x = width; x-- > 0;)
        if (row[3 * x] != 7) *first = x;
    for (uint32_t x = 0; x < width; x++)
        if (row[3 * x] != 7) *end = x + 1;
}

static void a_name_begins_with_its_box(void **state) {
    (void)state;
    struct image image = blank(WIDTH);
    uint32_t first, end;
    draw_box(&image, 20, 20, 60, 35, 0, "NAME");
    drawn(WIDTH, 20 - LINE, &first, &end);
    assert_int_equal(first, 20);
    assert_int_equal(end, 20 + 4 * LETTER + 1);
}

static void a_name_ends_within_the_picture(void **state) {
    (void)state;
    struct image image = blank(WIDTH);
    uint32_t first, end;
    draw_box(&image, 90, 20, 98, 35, 0, "NAME");
    drawn(WIDTH, 20 - LINE, &first, &end);
    assert_int_equal(first, WIDTH - 4 * LETTER - 1);
    assert_int_equal(end, WIDTH);
    drawn(WIDTH, 30, &first, &end); /* the box stays where it is */
    assert_int_equal(first, 90);
}

static void a_long_name_begins_with_the_picture(void **state) {
    (void)state;
    struct image image = blank(20);
    uint32_t first, end;
    draw_box(&image, 10, 20, 18, 35, 0, "NAME");
    drawn(20, 20 - LINE, &first, &end);
    assert_int_equal(first, 0);
    assert_int_equal(end, 20);
}

static void the_name_of_a_point_is_on_its_left_near_the_right_side(void **state) {
    (void)state;
    struct image image = blank(WIDTH);
    uint32_t first, end;
    draw_point(&image, 50, 20, 1, "AB");
    drawn(WIDTH, 20 - LINE / 2, &first, &end);
    assert_true(first > 50);
    image = blank(WIDTH);
    draw_point(&image, 95, 20, 1, "AB");
    drawn(WIDTH, 20 - LINE / 2, &first, &end);
    assert_true(end < 95 && end - first == 2 * LETTER + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_begins_with_its_box),
        cmocka_unit_test(a_name_ends_within_the_picture),
        cmocka_unit_test(a_long_name_begins_with_the_picture),
        cmocka_unit_test(the_name_of_a_point_is_on_its_left_near_the_right_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
