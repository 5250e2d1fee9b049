/* SPDX-License-Identifier: MIT */
/* What names may hold: text that steers no terminal, in lines, in JSON and in XML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tools/base/json.h"
#include "tools/base/message.h"
#include "tools/base/progress.h"
#include "tools/base/text.h"

/* The character as UTF-8, whatever it is. */
static const char *utf8(unsigned c) {
    static char text[5];
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    memset(text, 0, sizeof text);
    for (int i = n - 1; i > 0; i--, c >>= 6) text[i] = (char)(0x80 | (c & 63));
    text[0] = (char)(n == 1 ? c : (0xF00u >> n & 0xFF) | c);
    return text;
}

static const struct range {
    unsigned first, last;
} steering[] = {{1, 31}, {127, 159}, {0x61C, 0x61C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

static bool is_steering(unsigned c) {
    for (size_t i = 0; i < sizeof steering / sizeof steering[0]; i++)
        if (c >= steering[i].first && c <= steering[i].last) return true;
    return false;
}

/* Every character of Unicode, alone. */
static void what_steers_becomes_question_marks(void **state) {
    char text[8], wanted[8];
    (void)state;
    for (unsigned c = 1; c < 0x110000; c++) {
        strcpy(text, utf8(c));
        strcpy(wanted, text);
        if (is_steering(c) || (c >= 0xD800 && c < 0xE000)) memset(wanted, '?', strlen(wanted));
        if (strcmp(text_tame(text), wanted) != 0) fail_msg("U+%04X", c);
    }
}

static void what_is_no_utf8_becomes_question_marks(void **state) {
    (void)state;
    char text[] = "a\x80z \xC3(\xC3 \xE2\x82z \xF0\x9F\x98z \xC0\x80 \xE0\x80\x80 \xF4\x90\x80\x80 \xF5\xFF";
    assert_string_equal(text_tame(text), "a?z ?(? ??z ???z ?? ??? ???? ??");
    char cut[] = "\xC3\xA4\xE2\x82";
    assert_string_equal(text_tame(cut), "\xC3\xA4??");
}

static void json_escapes_what_steers(void **state) {
    (void)state;
    char *text = NULL, wanted[64];
    size_t size = 0;
    for (unsigned c = 1; c < 0x3000; c++) {
        struct json json = {.file = open_memstream(&text, &size)};
        json_text(&json, NULL, utf8(c));
        fclose(json.file);
        if (is_steering(c)) snprintf(wanted, sizeof wanted, "\"\\u%04x\"", c);
        else snprintf(wanted, sizeof wanted, "\"%s%s\"", c == '"' || c == '\\' ? "\\" : "", utf8(c));
        assert_string_equal(text, wanted);
        free(text);
    }
}

static void xml_has_blanks_for_what_steers(void **state) {
    (void)state;
    static const char name[] = "<a&\">\n\033\xC2\x9B\xE2\x80\xAE\xC3\xA4\xEF\xBF\xBF\xFF";
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    text_put_xml(file, name, false);
    text_put_xml(file, name, true);
    fclose(file);
    assert_string_equal(text, "&#60;a&#38;&#34;&#62;    \xC3\xA4??&#60;a&#38;&#34;&#62;\n   \xC3\xA4??");
    free(text);
}

static void a_stream_keeps_all_that_is_printed(void **state) {
    struct text_stream stream;
    (void)state;
    assert_non_null(text_open(&stream));
    for (int i = 0; i < 100000; i++) fprintf(stream.file, "%06d ", i);
    assert_non_null(text_close(&stream));
    assert_int_equal(stream.size, 700000);
    assert_int_equal(strlen(stream.text), 700000);
    assert_memory_equal(stream.text + 7 * 54321, "054321 ", 7);
    free(stream.text);
}

/* Records by the million are kept: each in the bytes it has. */
static void a_stream_gives_text_after_text(void **state) {
    struct text_stream stream;
    (void)state;
    assert_non_null(text_open(&stream));
    char *none = text_take(&stream);
    fputs("a long record", stream.file);
    char *first = text_take(&stream);
    fputs("short", stream.file);
    char *second = text_take(&stream);
    fputs("rest", stream.file);
    assert_string_equal(text_close(&stream), "rest");
    assert_string_equal(none, "");
    assert_string_equal(first, "a long record");
    assert_string_equal(second, "short");
    free(none);
    free(first);
    free(second);
    free(stream.text);
}

/* What the calls say on stderr. */
static char said[20000];

static void listen(void (*say)(const char *name), const char *name) {
    int kept = dup(2);
    FILE *file = tmpfile();
    assert_true(kept >= 0 && file && dup2(fileno(file), 2) == 2);
    say(name);
    fflush(stderr);
    assert_int_equal(dup2(kept, 2), 2);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = 0;
    fclose(file);
}

static void say_all(const char *name) {
    struct failure failure;
    failure_set(&failure, STATUS_INPUT, "%s", name);
    message_failure(&failure);
    message_error("%s", name);
    message_notice("%s", name);
    progress_say("%s", name);
}

static void say_one(const char *name) {
    message_error("%s!", name);
}

static void lines_on_stderr_are_tamed(void **state) {
    (void)state;
    listen(say_all, "a\033[2J\n\xC2\x9B\xE2\x80\xAE\x9B");
    assert_string_equal(said, "morsel: a?[2J???????\nmorsel: a?[2J???????\nmorsel: notice: a?[2J???????\nmorsel: a?[2J???????\n");
}

static void long_lines_are_whole(void **state) {
    (void)state;
    static char name[10001];
    for (size_t length = 2000; length <= 10000; length += length < 2100 ? 1 : 1000) {
        memset(name, 'x', length);
        name[length] = 0;
        listen(say_one, name);
        assert_int_equal(strlen(said), length + strlen("morsel: !\n"));
        assert_string_equal(said + strlen(said) - 2, "!\n");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_steers_becomes_question_marks), cmocka_unit_test(what_is_no_utf8_becomes_question_marks),
        cmocka_unit_test(json_escapes_what_steers),           cmocka_unit_test(xml_has_blanks_for_what_steers),
        cmocka_unit_test(a_stream_keeps_all_that_is_printed), cmocka_unit_test(a_stream_gives_text_after_text),
        cmocka_unit_test(lines_on_stderr_are_tamed),          cmocka_unit_test(long_lines_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
