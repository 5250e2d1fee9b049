/* SPDX-License-Identifier: MIT */
/* make_graphs FOLDER: each recipe of the fuzzers as an ONNX file, N.onnx, in an opset in which it is sound. */
#include "tests/fuzz/every_operator.h"
#include "tests/fuzz/fuzz.h"
#include "tools/base/file.h"
#include "tools/base/message.h"

#include <stdio.h>

int main(int argc, char **argv) {
    static unsigned char seen[OPERATORS_MOST];
    static uint8_t bytes[RECIPE_BYTES];
    struct failure failure;
    const int last = last_opset();
    for (size_t i = 0; argc == 2 && i < sizeof graph_recipes / sizeof *graph_recipes; i++) {
        char path[4096];
        const size_t size = seed_recipe(graph_recipes[i], sound_opset(graph_recipes[i], last, seen, &failure), bytes, sizeof bytes);
        snprintf(path, sizeof path, "%s/%zu.onnx", argv[1], i);
        if (!file_write(path, bytes, size, &failure)) return message_failure(&failure);
    }
    return argc != 2;
}
