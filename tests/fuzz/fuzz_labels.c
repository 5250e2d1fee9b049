/* SPDX-License-Identifier: MIT */
/*
 * Bytes as labels: lines of text or a JSON array of strings. Links the tool's files and libcjson.
 *
 *     fuzz_labels [--runs N] [--seconds N] [--seed N] [LABELS.txt...]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: what is refused has a reason, and no label steers a terminal once it is tamed.
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/base/text.h"
#include "tools/samples/rules/picture_rule.h"

#include <stdlib.h>

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const words[] = {"cat",
                                        "truck, lorry",
                                        "\xc3\xa9",
                                        "\x1b[2J",
                                        "\xe2\x80\xae",
                                        "\xc2\x9b",
                                        "\\u0041\\ud83d\\ude00",
                                        "\\u001b",
                                        " ",
                                        "\xf0\x9f\x98\x80",
                                        "\t",
                                        "\xff\xfe",
                                        "\\\"",
                                        "\xef\xbb\xbf",
                                        ""};
    uint64_t state = seed;
    int json = fuzz_below(&state, 2) == 0;
    const char *end = json ? "\"" : fuzz_below(&state, 3) ? "\n" : "\r\n";
    size_t size = 0, most = capacity < 2048 ? capacity : 2048;
    for (uint32_t n = fuzz_below(&state, 12); n; n--) {
        int length = snprintf((char *)bytes + size, most - size, "%s%s%s%s", json ? size ? ", \"" : "[\"" : "",
                              words[fuzz_below(&state, 15)], words[fuzz_below(&state, 15)], end);
        if (length < 0 || (size_t)length >= most - size) break;
        size += (size_t)length;
    }
    if (json && size && size < most) bytes[size++] = ']';
    return size;
}

static void check_label(char *label) {
    text_tame(label);
    for (const unsigned char *s = (const unsigned char *)label; *s;) {
        unsigned length = text_utf8_length(s);
        if (!length || text_steers(text_character(s, length))) abort();
        s += length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct failure failure = {0};
    char **labels = NULL;
    size_t count = 0;
    if (!labels_read(as_file(bytes, size), &labels, &count, &failure)) {
        if (!*failure.text || labels || count) abort();
        return 0;
    }
    if (!count) abort();
    for (size_t i = 0; i < count; i++) check_label(labels[i]);
    labels_free(labels, count);
    return 0;
}
