/* SPDX-License-Identifier: MIT */
/* JPEG through libjpeg-turbo: baseline and progressive; gray, YCbCr, RGB, CMYK and YCCK; turned as its EXIF orientation says.
 * The time it takes is bounded by bytes and pixels: pixels are no more than the bytes can hold, and scans over them are few. */
#include "tools/samples/image/lib/exif.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* The library's headers want stdio.h and size_t before them. */
#include <jpeglib.h>
#include <jerror.h>

enum { SCANS_MOST = 100 }; /* encoders write a dozen at most */

struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf stop;
    struct image *image;
    struct failure *failure;
    uint8_t *row; /* CMYK: one row as the library gives it */
    unsigned orientation;
};

static void stop(j_common_ptr common) {
    struct decoder *decoder = common->client_data;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    bool memory = common->err->msg_code == JERR_OUT_OF_MEMORY;
    failure_set(decoder->failure, memory ? STATUS_SYSTEM : STATUS_INPUT, "%s: %s", memory ? "libjpeg" : "it is a damaged JPEG picture",
                text);
    longjmp(decoder->stop, 1);
}

/* Warnings pass, but for the end of the file before the last pixel: half a picture is not a picture. */
static void warn(j_common_ptr common, int level) {
    if (level < 0 && common->err->msg_code == JWRN_JPEG_EOF) stop(common);
}

/* CMYK as Adobe writes it, inverted: 255 is no ink. */
static void put_cmyk(const uint8_t *from, uint32_t width, bool inverted, uint8_t *to) {
    for (uint32_t x = 0; x < width; x++, from += 4, to += 3) {
        unsigned k = inverted ? from[3] : 255u - from[3];
        for (int c = 0; c < 3; c++) to[c] = (uint8_t)(((inverted ? from[c] : 255u - from[c]) * k + 127) / 255);
    }
}

static void read_rows(struct decoder *decoder) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    struct image *image = decoder->image;
    bool cmyk = jpeg->out_color_space == JCS_CMYK;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *to = image->rgb + (size_t)jpeg->output_scanline * image->width * 3;
        JSAMPROW row = cmyk ? decoder->row : to;
        if (jpeg_read_scanlines(jpeg, &row, 1) == 1 && cmyk) put_cmyk(row, image->width, jpeg->saw_Adobe_marker, to);
    }
}

static unsigned find_orientation(const struct jpeg_decompress_struct *jpeg) {
    for (jpeg_saved_marker_ptr marker = jpeg->marker_list; marker; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length >= 14 && !memcmp(marker->data, "Exif\0\0", 6))
            return exif_orientation(marker->data + 6, marker->data_length - 6);
    return 1;
}

/* In a few bytes a scan says that it adds nothing to a whole picture, and takes its time to do so. */
static void count_scans(j_common_ptr common) {
    struct decoder *decoder = common->client_data;
    if (decoder->jpeg.input_scan_number <= SCANS_MOST) return;
    failure_set(decoder->failure, STATUS_INPUT, "it is a JPEG picture of more than %d scans; save it anew", SCANS_MOST);
    longjmp(decoder->stop, 1);
}

/* Each block of 8 x 8 takes a bit at least: codes of Huffman's kind have one, and a first scan has one for each block. The arithmetic kind
 * knows no such bound. */
static bool can_hold(const struct jpeg_decompress_struct *jpeg, size_t size, struct failure *failure) {
    uint64_t blocks = 0;
    for (int c = 0; c < jpeg->num_components; c++)
        blocks += (uint64_t)jpeg->comp_info[c].width_in_blocks * jpeg->comp_info[c].height_in_blocks;
    return jpeg->arith_code || blocks / 8 <= size ||
           failure_set(failure, STATUS_INPUT, "it is a damaged JPEG picture: it states %u x %u pixels, more than its %zu bytes can hold",
                       jpeg->image_width, jpeg->image_height, size);
}

/* Everything that may end in a jump to decoder->stop. */
static bool read_picture(struct decoder *decoder, const uint8_t *bytes, size_t size) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &decoder->progress;
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(jpeg, bytes, size);
    jpeg_read_header(jpeg, TRUE);
    decoder->orientation = find_orientation(jpeg);
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    if (!can_hold(jpeg, size, decoder->failure)) return false;
    if (!image_allocate(decoder->image, jpeg->image_width, jpeg->image_height, size, decoder->failure)) return false;
    if (cmyk && !(decoder->row = malloc((size_t)jpeg->image_width * 4)))
        return failure_memory(decoder->failure, (size_t)jpeg->image_width * 4);
    jpeg_start_decompress(jpeg);
    read_rows(decoder);
    jpeg_finish_decompress(jpeg);
    return true;
}

/* A function of its own, so that no local variable lives across the jump. */
static bool read_guarded(struct decoder *decoder, const uint8_t *bytes, size_t size) {
    if (setjmp(decoder->stop)) return false;
    return read_picture(decoder, bytes, size) && exif_turn(decoder->image, decoder->orientation, decoder->failure);
}

bool image_decode_jpeg(const uint8_t *bytes, size_t size, struct image *image, struct failure *failure) {
    struct decoder decoder = {.image = image, .failure = failure};
    decoder.jpeg.err = jpeg_std_error(&decoder.errors);
    decoder.jpeg.client_data = &decoder;
    decoder.errors.error_exit = stop;
    decoder.errors.emit_message = warn;
    decoder.progress.progress_monitor = count_scans;
    bool good = read_guarded(&decoder, bytes, size);
    jpeg_destroy_decompress(&decoder.jpeg);
    free(decoder.row);
    return good;
}
