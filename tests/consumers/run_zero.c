/* SPDX-License-Identifier: MIT */
/* Knows the installed morsel.h and libmorsel.a alone. run_zero FILE.morsel: runs it on zeros and prints the bytes of its outputs. */
#include <morsel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *load(const char *path, size_t *size) {
    void *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) || (*size = (size_t)ftell(file)) == 0) return NULL;
    rewind(file);
    if (posix_memalign(&bytes, MORSEL_ALIGNMENT, *size) || fread(bytes, 1, *size, file) != *size) return NULL;
    fclose(file);
    return bytes;
}

static int print_outputs(const struct morsel_session *session) {
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) {
        printf("%s:", view.name);
        for (uint32_t k = 0; k < view.bytes; k++) printf(" %02x", ((uint8_t *)view.data)[k]);
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv) {
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view view;
    void *arena = NULL;
    size_t size = 0;
    const void *blob = argc == 2 ? load(argv[1], &size) : NULL;
    enum morsel_error error = blob ? morsel_open(&model, blob, size, 0) : MORSEL_ERR_ARGUMENT;
    if (!error && posix_memalign(&arena, MORSEL_ALIGNMENT, morsel_arena_bytes(&model) + 1)) return 3;
    if (!error) error = morsel_session_open(&session, &model, arena, morsel_arena_bytes(&model), NULL);
    for (uint32_t i = 0; !error && i < morsel_input_count(&model); i++) {
        error = morsel_input(&session, i, &view);
        memset(view.data, 0, view.bytes);
    }
    if (!error) error = morsel_run(&session);
    if (!error) return print_outputs(&session);
    fprintf(stderr, "%s\n", morsel_error_text(error));
    return 1;
}
