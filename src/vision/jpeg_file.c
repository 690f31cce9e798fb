// SPDX-License-Identifier: Apache-2.0
// jpeg_file.c — JPEG through libjpeg-turbo with its default settings, which are Pillow's. Four
// components are taken as inverted CMYK, as Adobe writes it and Pillow reads it. A file that ends
// early is refused, not filled up with grey.
#include "vision/picture_format.h"

#include "base/alloc.h"

// jpeglib.h needs these first
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>
#include <string.h>

enum {
    // Scans of a progressive file; each goes over all pixels, and a few bytes make one.
    MAX_SCAN = 100,
    MAX_LARGE_SCAN = 20, // of the largest picture
    EXIF_MARKER = JPEG_APP0 + 1,
    EXIF_BYTES = 65533,
};

struct reader {
    struct jpeg_error_mgr error; // first: libjpeg points here
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf jump;
    struct glint_rgb *rgb;
    const char *name;
    uint8_t *row; // of four components
    char message[JMSG_LENGTH_MAX];
};

static struct reader *reader_of(j_common_ptr jpeg) {
    return (struct reader *)(void *)jpeg->err;
}

static void on_error(j_common_ptr jpeg) {
    struct reader *reader = reader_of(jpeg);
    jpeg->err->format_message(jpeg, reader->message);
    longjmp(reader->jump, 1);
}

// Warnings about odd data are passed over, as Pillow does; the end of the data is an error.
static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF)
        on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg) {
    struct reader *reader = reader_of(jpeg);
    int64_t n_scan = reader->jpeg.input_scan_number;
    int64_t pixels = (int64_t)reader->jpeg.image_width * reader->jpeg.image_height;
    if (n_scan > MAX_SCAN || n_scan * pixels > (int64_t)MAX_LARGE_SCAN * GLINT_PICTURE_PIXELS) {
        snprintf(reader->message, sizeof reader->message, "found %d scans of %d x %d pixels",
                 (int)n_scan, (int)reader->jpeg.image_width, (int)reader->jpeg.image_height);
        longjmp(reader->jump, 1);
    }
}

static void convert_cmyk(const uint8_t *in, uint8_t *out, size_t width) {
    for (size_t x = 0; x < width; x++, in += 4, out += 3) {
        uint8_t ink[4];
        for (int c = 0; c < 4; c++)
            ink[c] = (uint8_t)(255 - in[c]);
        glint_picture_from_cmyk(out, ink);
    }
}

static int orientation_of(const struct jpeg_decompress_struct *jpeg) {
    for (jpeg_saved_marker_ptr at = jpeg->marker_list; at; at = at->next)
        if (at->marker == EXIF_MARKER && at->data_length > 6 &&
            memcmp(at->data, "Exif\0\0", 6) == 0)
            return glint_exif_orientation(at->data + 6, at->data_length - 6);
    return 1;
}

static enum glint_status read_all(struct reader *reader, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    jpeg_mem_src(jpeg, file->data, (unsigned long)file->n);
    jpeg_save_markers(jpeg, EXIF_MARKER, EXIF_BYTES);
    jpeg_read_header(jpeg, TRUE);
    *orientation = orientation_of(jpeg);
    bool cmyk = jpeg->num_components == 4;
    if (jpeg->num_components != 1 && jpeg->num_components != 3 && !cmyk)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: JPEG: found %d components, expected 1, 3 or 4", file->name,
                          jpeg->num_components);
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    GLINT_TRY(
        glint_picture_room(reader->rgb, jpeg->image_width, jpeg->image_height, file->name, err));
    size_t width = jpeg->image_width;
    reader->row = cmyk ? glint_alloc(width, 4) : NULL;
    if (cmyk && !reader->row)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *out = reader->rgb->data + jpeg->output_scanline * width * 3;
        JSAMPROW row = cmyk ? reader->row : out;
        jpeg_read_scanlines(jpeg, &row, 1);
        if (cmyk)
            convert_cmyk(reader->row, out, width);
    }
    jpeg_finish_decompress(jpeg);
    return GLINT_OK;
}

enum glint_status glint_jpeg_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    enum glint_status status;
    struct reader *reader = glint_alloc(1, sizeof *reader); // outlives the jump
    if (!reader)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    reader->rgb = rgb;
    reader->name = file->name;
    reader->jpeg.err = jpeg_std_error(&reader->error);
    reader->error.error_exit = on_error;
    reader->error.emit_message = on_message;
    reader->progress.progress_monitor = on_progress;
    if (setjmp(reader->jump) == 0) {
        jpeg_create_decompress(&reader->jpeg);
        reader->jpeg.progress = &reader->progress;
        status = read_all(reader, file, orientation, err);
    } else {
        status = glint_fail(err, GLINT_E_FORMAT, "%s: JPEG: %s", file->name, reader->message);
    }
    jpeg_destroy_decompress(&reader->jpeg);
    glint_free(reader->row);
    glint_free(reader);
    return status;
}
