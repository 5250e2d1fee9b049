/* SPDX-License-Identifier: MIT */
/* PNG through libpng: any colour kind, depth and interlacing; turned as its EXIF orientation says. 16 bits keep their upper byte, alpha is
 * left out and gamma not applied, as by Pillow's convert("RGB") of colours. */
#include "tools/samples/image/lib/exif.h"
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const uint8_t *start, *at, *end;
    struct image *image;
    struct failure *failure;
    png_structp png;
    png_infop info;
    png_bytep *rows;
    size_t lacking; /* memory that there was none of */
};

static png_voidp take(png_structp png, png_alloc_size_t size) {
    void *memory = malloc(size);
    if (!memory) ((struct reader *)png_get_mem_ptr(png))->lacking = size;
    return memory;
}

static void give(png_structp png, png_voidp memory) {
    (void)png;
    free(memory);
}

static void stop(png_structp png, png_const_charp text) {
    struct reader *reader = png_get_error_ptr(png);
    if (reader->lacking) failure_memory(reader->failure, reader->lacking);
    else failure_set(reader->failure, STATUS_INPUT, "it is a damaged PNG picture: %s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void warn(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void read_bytes(png_structp png, png_bytep to, size_t count) {
    struct reader *reader = png_get_io_ptr(png);
    if ((size_t)(reader->end - reader->at) < count) png_error(png, "it ends before its last pixel");
    memcpy(to, reader->at, count);
    reader->at += count;
}

/* Whatever the file holds becomes 8 bits of red, green and blue. */
static void to_rgb(png_structp png) {
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
}

/* What a picture's bytes hold beside it, and a few of them may unfold to gigabytes of. */
static void leave_out(png_structp png) {
#ifdef PNG_HANDLE_AS_UNKNOWN_SUPPORTED
    static const png_byte chunks[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, chunks, sizeof chunks / 5);
#else
    (void)png;
#endif
}

/* Everything that may end in a jump. */
static bool read_picture(struct reader *reader) {
    struct image *image = reader->image;
    png_set_user_limits(reader->png, IMAGE_SIDE_MOST, IMAGE_SIDE_MOST);
    png_set_read_fn(reader->png, reader, read_bytes);
    leave_out(reader->png);
    png_read_info(reader->png, reader->info);
    if (!image_allocate(image, png_get_image_width(reader->png, reader->info), png_get_image_height(reader->png, reader->info),
                        (size_t)(reader->end - reader->start), reader->failure))
        return false;
    to_rgb(reader->png);
    png_read_update_info(reader->png, reader->info);
    if (png_get_rowbytes(reader->png, reader->info) != (size_t)image->width * 3)
        png_error(reader->png, "its pixels are of an unknown kind");
    if (!(reader->rows = malloc(image->height * sizeof *reader->rows)))
        return failure_memory(reader->failure, image->height * sizeof *reader->rows);
    for (uint32_t y = 0; y < image->height; y++) reader->rows[y] = image->rgb + (size_t)y * image->width * 3;
    png_read_image(reader->png, reader->rows);
    png_read_end(reader->png, reader->info); /* EXIF may stand behind the pixels, too */
    return true;
}

/* A function of its own, so that no local variable lives across the jump. */
static bool read_guarded(struct reader *reader) {
    if (setjmp(png_jmpbuf(reader->png))) return false;
    return read_picture(reader);
}

static unsigned orientation_of(const struct reader *reader) {
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 size = 0;
    png_bytep block = NULL;
    if (png_get_eXIf_1(reader->png, reader->info, &size, &block) && block) return exif_orientation(block, size);
#endif
    return 1;
}

bool image_decode_png(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure) {
    struct reader reader = {.at = bytes, .start = bytes, .end = bytes + size, .image = image, .failure = failure};
    reader.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader, stop, warn, &reader, take, give);
    if (!reader.png) return failure_memory(failure, sizeof reader);
    reader.info = png_create_info_struct(reader.png);
    bool good = reader.info ? read_guarded(&reader) : failure_memory(failure, sizeof reader);
    good = good && exif_turn(image, orientation_of(&reader), failure);
    png_destroy_read_struct(&reader.png, &reader.info, NULL);
    free(reader.rows);
    return good;
}
