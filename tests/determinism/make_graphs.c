/* SPDX-License-Identifier: MIT */
/* make_graphs FOLDER: each recipe of the fuzzers as an ONNX file, N.onnx, in the last opset in which it is sound. */
#include "tests/fuzz/as_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seed_graph.h"
#include "tools/base/file.h"
#include "tools/base/message.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 20, FIRST_OPSET = 7, LAST_OPSET = 18 };

static bool is_sound(const uint8_t *bytes, size_t size) {
    struct failure failure;
    struct onnx_report report = {0};
    struct onnx_graph *graph = onnx_load(as_file(bytes, size), &failure);
    const bool sound = graph && onnx_infer(graph, &report, &failure) && !report.refusal_count;
    onnx_report_free(&report);
    if (graph) onnx_free(graph);
    return sound;
}

int main(int argc, char **argv) {
    static uint8_t bytes[MOST_BYTES];
    struct failure failure;
    for (size_t i = 0; argc == 2 && i < sizeof graph_recipes / sizeof *graph_recipes; i++) {
        char path[4096];
        int opset = LAST_OPSET;
        size_t size = seed_recipe(graph_recipes[i], opset, bytes, sizeof bytes);
        while (!is_sound(bytes, size) && opset > FIRST_OPSET) size = seed_recipe(graph_recipes[i], --opset, bytes, sizeof bytes);
        snprintf(path, sizeof path, "%s/%zu.onnx", argv[1], i);
        if (!file_write(path, bytes, size, &failure)) return message_failure(&failure);
    }
    return argc != 2;
}
