/* SPDX-License-Identifier: MIT */
/* readme_main PICTURE.ppm...: what the README's classify() answers for pictures of 32 x 32, a line each. */
#include <stdint.h>
#include <stdio.h>

int classify(const uint8_t *rgb, uint32_t width, uint32_t height);

int main(int argc, char **argv) {
    static uint8_t rgb[32 * 32 * 3];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file || fscanf(file, "P6 32 32 255") == EOF || fgetc(file) == EOF || fread(rgb, 1, sizeof rgb, file) != sizeof rgb) return 1;
        fclose(file);
        printf("%d\n", classify(rgb, 32, 32));
    }
    return 0;
}
