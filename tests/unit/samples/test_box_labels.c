/* SPDX-License-Identifier: MIT */
/* Boxes of a picture as YOLO's data sets write them: what is read, what is refused and where, whatever a text holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/samples/box_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3 };

/* In memory of exactly its size and the 0 behind it, as a file is read: a sanitizer sees what reads beyond. */
static bool parse(struct box_labels *labels, const char *text, size_t bytes, struct failure *failure) {
    char *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    *labels = (struct box_labels){0};
    *failure = (struct failure){0};
    bool good = box_labels_parse(labels, copy, bytes, "a.txt", CLASSES, failure);
    free(copy);
    return good;
}

static void boxes_are_read(void **state) {
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "2 0.5 0.25 0.5 0.5\r\n\n \t\n0  1 1\t.5 0.5 \n1.0 5e-1 .5 1 1";
    static const struct box_label wanted[] = {{2, 0.25, 0, 0.75, 0.5}, {0, 0.75, 0.75, 1, 1}, {1, 0, 0, 1, 1}};
    struct box_labels labels;
    struct failure failure;
    assert_true(parse(&labels, text, sizeof text - 1, &failure));
    assert_int_equal(labels.count, 3);
    assert_true(labels.there);
    for (size_t i = 0; i < 3; i++) {
        const struct box_label *box = &labels.list[i], *want = &wanted[i];
        assert_int_equal(box->class, want->class);
        assert_true(box->x0 == want->x0 && box->y0 == want->y0 && box->x1 == want->x1 && box->y1 == want->y1);
    }
    box_labels_free(&labels);
    assert_true(parse(&labels, "", 0, &failure));
    assert_true(labels.there && !labels.count);
    box_labels_free(&labels);
}

static void damaged_lines_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"0 .5 .5 .1", "a.txt:1: a box is five numbers, class x y width height; there are fewer"},
        {"0 .5 .5 .1 .1\n0", "a.txt:2: a box is five numbers, class x y width height; there are fewer"},
        {"\n\n0 .5 .5 .1 .1 .1 .1\n",
         "a.txt:3: a box is five numbers, class x y width height; there are more, as of an outline or with a p"},
        {"3 .5 .5 .1 .1", "a.txt:1: class 3; the network has classes 0 to 2"},
        {"-1 .5 .5 .1 .1", "a.txt:1: class -1; the network has classes 0 to 2"},
        {"0.5 .5 .5 .1 .1", "a.txt:1: class 0.5; the network has classes 0 to 2"},
        {"cat .5 .5 .1 .1", "a.txt:1: class is no number: 'cat .5 .5 .1 .1'"},
        {"0 nan .5 .1 .1", "a.txt:1: x is no number: 'nan .5 .1 .1'"},
        {"0 .5 1e999 .1 .1", "a.txt:1: y is no number: '1e999 .1 .1'"},
        {"0,.5,.5,.1,.1", "a.txt:1: class is no number: '0,.5,.5,.1,.1'"},
        {"0 .5 .5 .1x .1", "a.txt:1: width is no number: '.1x .1'"},
        {"0 320 .5 .1 .1", "a.txt:1: x is 320; it is a share of the picture's side, 0 to 1"},
        {"0 1.000001 .5 .1 .1", "a.txt:1: x is 1.000001; it is a share of the picture's side, 0 to 1"},
        {"0 .5 -.1 .1 .1", "a.txt:1: y is -0.1; it is a share of the picture's side, 0 to 1"},
        {"0 .5 .5 0 .1", "a.txt:1: width is 0; it is a share of the picture's side, above 0 and up to 1"},
        {"0 .5 .5 .1 1.5", "a.txt:1: height is 1.5; it is a share of the picture's side, above 0 and up to 1"},
        {"{\"boxes\": []}", "a.txt:1: class is no number: '{\"boxes\": []}'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct box_labels labels;
        struct failure failure;
        assert_false(parse(&labels, cases[i].text, strlen(cases[i].text), &failure));
        assert_int_equal(failure.status, STATUS_INPUT);
        assert_string_equal(failure.text, cases[i].said);
        box_labels_free(&labels);
    }
}

/* Bytes are replaced, taken out and put in, a 0 among them. What is taken lies in the picture. */
static void any_text_is_read_or_refused(void **state) {
    (void)state;
    static const char text[] = "2 0.5 0.25 0.5 0.5\n0 1 1 .5 0.5\n1 5e-1 .5 1 1\n", bytes[] = "0123456789.-+ex \t\r\n\0,naif";
    uint32_t seed = 1, taken = 0, refused = 0;
    for (int trial = 0; trial < 20000; trial++) {
        char changed[2 * sizeof text];
        size_t size = sizeof text - 1;
        memcpy(changed, text, size);
        for (uint32_t k = 0, changes = 1 + (seed >> 16) % 4; k < changes; k++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % size;
            char byte = bytes[(seed >> 20) % sizeof bytes];
            if (seed >> 30 == 0) memmove(changed + at, changed + at + 1, --size - at);
            else changed[at] = byte;
        }
        struct box_labels labels;
        struct failure failure;
        bool good = parse(&labels, changed, size, &failure);
        taken += good;
        refused += !good;
        for (size_t i = 0; good && i < labels.count; i++) {
            const struct box_label *box = &labels.list[i];
            assert_true(box->class < CLASSES && box->x0 >= 0 && box->x1 <= 1 && box->y0 >= 0 && box->y1 <= 1);
            assert_true(box->x0 < box->x1 && box->y0 < box->y1);
        }
        if (!good) assert_memory_equal(failure.text, "a.txt:", 6);
        box_labels_free(&labels);
    }
    assert_true(taken > 500 && refused > 500);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_read),
        cmocka_unit_test(damaged_lines_are_named),
        cmocka_unit_test(any_text_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
