/* SPDX-License-Identifier: MIT */
/* Picture rules and labels: what is taken, and what each mistake is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tools/base/file.h"
#include "tools/base/text.h"
#include "tools/samples/rules/picture_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static struct failure failure;

static int make_file(void **state) {
    (void)state;
    strcpy(path, "/tmp/morsel_test_XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void put(const char *text) {
    struct failure failure;
    assert_true(file_write(path, text, strlen(text), &failure));
}

static void rules_are_read(void **state) {
    (void)state;
    struct morsel_blob_picture rule;
    put("{\"resize\": {\"mode\": \"short_side\", \"size\": 256}, \"crop\": [224, 192], \"channels\": \"BGR\",\n"
        " \"scale\": 0.00392156862745098, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, -0.225]}");
    assert_true(picture_rule_read(path, &rule, &failure));
    const struct morsel_blob_picture wanted = {.resize = MORSEL_RESIZE_SHORT_SIDE,
                                               .resize_height = 256,
                                               .resize_width = 256,
                                               .crop_height = 224,
                                               .crop_width = 192,
                                               .channels = MORSEL_CHANNELS_BGR,
                                               .scale = 0.00392156862745098f,
                                               .mean = {0.485f, 0.456f, 0.406f},
                                               .std = {0.229f, 0.224f, -0.225f}};
    assert_memory_equal(&rule, &wanted, sizeof rule);
    put("{\"resize\": {\"mode\": \"exact\", \"size\": [20, 30]}, \"channels\": \"GRAY\", \"scale\": 1, \"mean\": [0], \"std\": [255]}");
    assert_true(picture_rule_read(path, &rule, &failure));
    assert_int_equal(rule.resize_height, 20);
    assert_int_equal(rule.resize_width, 30);
    assert_int_equal(rule.crop_height, 0);
    put("{\"resize\": {\"mode\": \"none\"}, \"channels\": \"GRAY\", \"scale\": 1, \"mean\": [0], \"std\": [255]}\n");
    assert_true(picture_rule_read(path, &rule, &failure));
    assert_int_equal(rule.resize, MORSEL_RESIZE_NONE);
}

static uint32_t resize_word(const char *resize, const char *channels, const char *numbers) {
    struct morsel_blob_picture rule;
    char text[512];
    snprintf(text, sizeof text, "{\"resize\": {%s}, \"channels\": \"%s\", \"scale\": 1, \"mean\": [%s], \"std\": [%s]}", resize, channels,
             numbers, numbers);
    put(text);
    if (!picture_rule_read(path, &rule, &failure)) fail_msg("%s: %s", resize, failure.text);
    if (morsel_resize_mode(&rule) == MORSEL_RESIZE_LETTERBOX)
        assert_true(rule.resize_height == 7 && rule.resize_width == 9 && !rule.crop_height);
    return rule.resize;
}

static void filters_and_letterboxes_are_read(void **state) {
    (void)state;
    assert_int_equal(resize_word("\"mode\": \"short_side\", \"size\": 5, \"filter\": \"antialias\"", "RGB", "1, 1, 1"), 0x02);
    assert_int_equal(resize_word("\"mode\": \"short_side\", \"size\": 5, \"filter\": \"linear\"", "RGB", "1, 1, 1"), 0x12);
    assert_int_equal(resize_word("\"mode\": \"exact\", \"size\": [5, 6], \"filter\": \"nearest\"", "RGB", "1, 1, 1"), 0x21);
    assert_int_equal(resize_word("\"mode\": \"letterbox\", \"size\": [7, 9]", "RGB", "1, 1, 1"), 0x03);
    assert_int_equal(resize_word("\"mode\": \"letterbox\", \"size\": [7, 9], \"fill\": 114", "BGR", "1, 1, 1"), 0x72727203);
    assert_int_equal(resize_word("\"mode\": \"letterbox\", \"size\": [7, 9], \"fill\": 114, \"place\": \"centre\"", "GRAY", "1"),
                     0x00007203);
    assert_int_equal(
        resize_word("\"mode\": \"letterbox\", \"size\": [7, 9], \"fill\": [1, 2, 255], \"filter\": \"linear\", \"place\": \"corner\"",
                    "RGB", "1, 1, 1"),
        0xff020193u);
}

#define REST "\"channels\": \"RGB\", \"scale\": 1, \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}"
#define HEAD "{\"resize\": {\"mode\": \"none\"}, "

static void each_mistake_is_told(void **state) {
    (void)state;
    static const char *const mistakes[][2] = {
        {"", "line 1 is not JSON"},
        {"{\n\"resize\": {\"mode\": \"none\"},,\n" REST, "line 2 is not JSON"},
        {HEAD REST " x", "is not JSON"},
        {HEAD "\"channels\": \"RGB\",\n \"scale\": 1/255, \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}",
         "line 2 is not JSON, from column 12 on: JSON does not divide; write 0.00392156862745098 for 1/255"},
        {"{\"mode\": \"none\", " REST, "key \"mode\" belongs into \"resize\": {\"resize\": {"},
        {HEAD "\"filter\": \"linear\", " REST, "key \"filter\" belongs into \"resize\""},
        {"[]", "not a JSON object"},
        {"{}", "keys \"resize\", \"channels\", \"scale\", \"mean\", \"std\" are missing"},
        {"{\"channels\": \"RGB\", \"scale\": 1, \"std\": [1, 1, 1]}", "keys \"resize\", \"mean\" are missing"},
        {"{" REST, "key \"resize\" is missing"},
        {"{\"rezise\": {\"mode\": \"none\"}, " REST, "key \"rezise\" is unknown; did you mean \"resize\"?"},
        {HEAD "\"resize\": {\"mode\": \"none\"}, " REST, "stands twice"},
        {"{\"resize\": 5, " REST, "\"resize\" is not an object"},
        {"{\"resize\": {\"size\": 5}, " REST, "key \"mode\" is missing"},
        {"{\"resize\": {\"mode\": \"short\", \"size\": 5}, " REST, "none of \"none\""},
        {"{\"resize\": {\"mode\": \"none\", \"size\": 5}, " REST, "a \"size\" all the same"},
        {"{\"resize\": {\"mode\": \"exact\", \"size\": 5}, " REST, "[height, width]"},
        {"{\"resize\": {\"mode\": \"exact\", \"size\": [5, 5, 5]}, " REST, "[height, width]"},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 5.5}, " REST, "one whole number"},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 0}, " REST, "one whole number"},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 1e99}, " REST, "one whole number"},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 5, \"anti\": 1}, " REST, "key \"anti\" is unknown"},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 5, \"filter\": \"cubic\"}, " REST,
         "\"filter\" in \"resize\" is none of \"antialias\", \"linear\", \"nearest\""},
        {"{\"resize\": {\"mode\": \"short_side\", \"size\": 5, \"fill\": 1}, " REST, "are for mode \"letterbox\""},
        {"{\"resize\": {\"mode\": \"exact\", \"size\": [5, 5], \"place\": \"corner\"}, " REST, "are for mode \"letterbox\""},
        {"{\"resize\": {\"mode\": \"none\", \"filter\": \"linear\"}, " REST, "a \"filter\" all the same"},
        {"{\"resize\": {\"mode\": \"letterbox\", \"size\": 5}, " REST, "\"letterbox\" wants \"size\": [height, width]"},
        {"{\"resize\": {\"mode\": \"letterbox\", \"size\": [5, 5]}, \"crop\": [5, 5], " REST, "\"crop\" beside a letterbox"},
        {"{\"resize\": {\"mode\": \"letterbox\", \"size\": [5, 5], \"fill\": 256}, " REST, "\"fill\" in \"resize\" wants"},
        {"{\"resize\": {\"mode\": \"letterbox\", \"size\": [5, 5], \"fill\": [1, 2]}, " REST, "\"fill\" in \"resize\" wants"},
        {"{\"resize\": {\"mode\": \"letterbox\", \"size\": [5, 5], \"place\": \"top\"}, " REST, "none of \"centre\", \"corner\""},
        {HEAD "\"crop\": [0, 5], " REST, "\"crop\" wants"},
        {HEAD "\"channels\": \"rgb\", \"scale\": 1, \"mean\": [0], \"std\": [1]}", "\"channels\" is none of"},
        {HEAD "\"channels\": \"RGB\", \"scale\": 0, \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}", "\"scale\" wants"},
        {HEAD "\"channels\": \"RGB\", \"scale\": \"1\", \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}", "\"scale\" wants"},
        {HEAD "\"channels\": \"RGB\", \"scale\": 1e60, \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}", "\"scale\" wants"},
        {HEAD "\"channels\": \"RGB\", \"scale\": 1, \"mean\": [0], \"std\": [1, 1, 1]}", "\"mean\" wants an array of 3"},
        {HEAD "\"channels\": \"GRAY\", \"scale\": 1, \"mean\": [0], \"std\": [1, 1, 1]}", "\"std\" wants an array of 1"},
        {HEAD "\"channels\": \"RGB\", \"scale\": 1, \"mean\": [0, 0, 0], \"std\": [1, 0, 1]}", "\"std\" has a 0"},
        {HEAD "\"channels\": \"RGB\", \"scale\": 1, \"mean\": [0, 0, 0]}", "key \"std\" is missing"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct morsel_blob_picture rule;
        put(mistakes[i][0]);
        if (picture_rule_read(path, &rule, &failure)) fail_msg("taken: %s", mistakes[i][0]);
        if (!strstr(failure.text, mistakes[i][1]) || !strstr(failure.text, path) || strchr(failure.text, '\n'))
            fail_msg("for %s it says: %s", mistakes[i][0], failure.text);
    }
}

/* What --help shows is a rule. */
static void the_example_of_help_is_a_rule(void **state) {
    (void)state;
    struct morsel_blob_picture rule;
    put(PICTURE_RULE_EXAMPLE);
    assert_true(picture_rule_read(path, &rule, &failure));
    assert_int_equal(rule.crop_width, 224);
}

static void read_three(const char *text) {
    char **labels;
    size_t count;
    put(text);
    if (!labels_read(path, &labels, &count, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(count, 3);
    assert_string_equal(labels[0], "a cat");
    assert_string_equal(labels[1], "dog, big");
    assert_string_equal(labels[2], "caf\xc3\xa9");
    labels_free(labels, count);
}

static void labels_are_read(void **state) {
    (void)state;
    char **labels;
    size_t count;
    read_three("a cat\ndog, big\ncaf\xc3\xa9\n");
    read_three("a cat\r\ndog, big\r\ncaf\xc3\xa9");
    read_three("\xEF\xBB\xBF"
               "a cat\ndog, big\ncaf\xc3\xa9\n");
    read_three("\xEF\xBB\xBF[\"a cat\", \"dog, big\", \"caf\\u00e9\"]");
    read_three(" [\"a cat\", \"dog, big\", \"caf\\u00e9\"]\n");
    read_three("{\"0\": \"a cat\", \"2\": \"caf\\u00e9\", \"1\": \"dog, big\"}\n");
    read_three("{\"model\": 5, \"id2label\": {\"0\": \"a cat\", \"1\": \"dog, big\", \"2\": \"caf\\u00e9\"}}");
    static const char *const mistakes[][2] = {{"", "holds no label"},
                                              {"{}", "holds no label"},
                                              {"{\"0\": \"a\", \"2\": \"b\"}", "it is a JSON object, and \"2\" is no class of 2"},
                                              {"{\"0\": \"a\", \"0\": \"b\"}", "\"0\" is no class of 2"},
                                              {"{\"0\": \"a\", \"01\": \"b\"}", "\"01\" is no class of 2"},
                                              {"{\"0\": 5}", "\"0\" is no class of 1 with a name"},
                                              {PICTURE_RULE_EXAMPLE, "it is a JSON object, and \"resize\" is no class"},
                                              {"[]", "holds no label"},
                                              {"[\"a\", 5]", "element 1 of the array is not a string"},
                                              {"[\"a\"", "is not JSON"}};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        put(mistakes[i][0]);
        assert_false(labels_read(path, &labels, &count, &failure));
        assert_non_null(strstr(failure.text, mistakes[i][1]));
    }
    char long_one[TEXT_LABEL_MOST + 3] = "\n";
    memset(long_one + 1, 'x', TEXT_LABEL_MOST);
    put(long_one);
    assert_true(labels_read(path, &labels, &count, &failure));
    labels_free(labels, count);
    long_one[TEXT_LABEL_MOST + 1] = 'x';
    put(long_one);
    assert_false(labels_read(path, &labels, &count, &failure));
    assert_non_null(strstr(failure.text, "label 1 has 1025 bytes"));
    assert_false(labels_read("/tmp/morsel_no_such_file", &labels, &count, &failure));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_are_read, make_file, remove_file),
        cmocka_unit_test_setup_teardown(filters_and_letterboxes_are_read, make_file, remove_file),
        cmocka_unit_test_setup_teardown(each_mistake_is_told, make_file, remove_file),
        cmocka_unit_test_setup_teardown(the_example_of_help_is_a_rule, make_file, remove_file),
        cmocka_unit_test_setup_teardown(labels_are_read, make_file, remove_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
