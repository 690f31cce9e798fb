// SPDX-License-Identifier: Apache-2.0
// png_file.c — PNG through libpng. Samples of 16 bits keep their high byte, but grey alone is
// clipped at 255, as Pillow has it. tRNS is not looked at: alpha would be dropped anyway.
#include "vision/picture_format.h"

#include "base/alloc.h"

#include <png.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 1 << 24 }; // libpng refuses wider or higher pictures by itself

struct reader {
    const struct glint_picture_file *file;
    size_t at;
    png_structp png;
    png_infop info;
    struct glint_rgb *rgb;
    uint8_t *rows; // [n_pass > 1 ? height : 1][row_bytes]
    size_t row_bytes;
    int width, height, depth, colour;
    bool starved; // no memory
    char message[200];
};

static void on_error(png_structp png, png_const_charp message) {
    struct reader *reader = png_get_error_ptr(png);
    snprintf(reader->message, sizeof reader->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t n) {
    struct reader *reader = png_get_io_ptr(png);
    if (n > reader->file->n - reader->at)
        png_error(png, "the file ends too early");
    memcpy(out, reader->file->data + reader->at, n);
    reader->at += n;
}

static png_voidp on_alloc(png_structp png, png_alloc_size_t n) {
    struct reader *reader = png_get_mem_ptr(png);
    void *block = glint_alloc(n, 1);
    reader->starved = reader->starved || !block;
    return block;
}

static void on_free(png_structp png, png_voidp block) {
    (void)png;
    glint_free(block);
}

// One row of samples, one or two bytes each, to RGB.
static void convert(const struct reader *reader, const uint8_t *in, uint8_t *out) {
    const size_t width = (size_t)reader->width;
    png_colorp palette = NULL;
    int n_colour = 0, n_channel = png_get_channels(reader->png, reader->info);
    size_t bytes = reader->depth == 16 ? 2 : 1, step = bytes * (size_t)n_channel;
    if (reader->colour == PNG_COLOR_TYPE_PALETTE)
        png_get_PLTE(reader->png, reader->info, &palette, &n_colour);
    for (size_t x = 0; x < width; x++, in += step, out += 3) {
        if (reader->colour == PNG_COLOR_TYPE_PALETTE) {
            png_color colour = *in < n_colour ? palette[*in] : (png_color){0, 0, 0};
            out[0] = colour.red;
            out[1] = colour.green;
            out[2] = colour.blue;
        } else if (reader->colour & PNG_COLOR_MASK_COLOR) {
            for (size_t c = 0; c < 3; c++)
                out[c] = in[c * bytes];
        } else {
            bool clipped = reader->depth == 16 && reader->colour == PNG_COLOR_TYPE_GRAY;
            uint8_t grey = !clipped ? in[0] : in[0] ? 255 : in[1];
            memset(out, grey, 3);
        }
    }
}

static int orientation_of(const struct reader *reader) {
    png_uint_32 n = 0;
    png_bytep data = NULL;
    if (!png_get_eXIf_1(reader->png, reader->info, &n, &data))
        return 1;
    return glint_exif_orientation(data, n);
}

// Everything that may jump back to glint_png_read. Returns a status of its own failures.
static enum glint_status read_all(struct reader *reader, int *orientation,
                                  struct glint_error *err) {
    png_structp png = reader->png;
    const char *name = reader->file->name;
    png_set_read_fn(png, reader, on_read);
    png_set_user_limits(png, SIDE, SIDE);
    png_read_info(png, reader->info);
    reader->width = (int)png_get_image_width(png, reader->info);
    reader->height = (int)png_get_image_height(png, reader->info);
    reader->depth = png_get_bit_depth(png, reader->info);
    reader->colour = png_get_color_type(png, reader->info);
    GLINT_TRY(glint_picture_room(reader->rgb, reader->width, reader->height, name, err));
    if (reader->colour == PNG_COLOR_TYPE_GRAY && reader->depth < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    else if (reader->depth < 8)
        png_set_packing(png);
    int n_pass = png_set_interlace_handling(png);
    png_read_update_info(png, reader->info);
    reader->row_bytes = png_get_rowbytes(png, reader->info);
    size_t height = (size_t)reader->height, n_row = n_pass > 1 ? height : 1;
    reader->rows = glint_alloc(n_row, reader->row_bytes);
    if (!reader->rows)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory for %d x %d pixels", name,
                          reader->width, reader->height);
    for (int pass = 0; pass < n_pass; pass++)
        for (size_t y = 0; y < height; y++) {
            uint8_t *row = reader->rows + (n_pass > 1 ? y * reader->row_bytes : 0);
            png_read_row(png, row, NULL);
            if (pass == n_pass - 1)
                convert(reader, row, reader->rgb->data + y * (size_t)reader->width * 3);
        }
    png_read_end(png, reader->info); // an eXIf chunk may stand behind the pixels
    *orientation = orientation_of(reader);
    return GLINT_OK;
}

enum glint_status glint_png_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err) {
    enum glint_status status;
    struct reader *reader = glint_alloc(1, sizeof *reader); // outlives the jump
    if (!reader)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    reader->file = file;
    reader->rgb = rgb;
    reader->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning,
                                           reader, on_alloc, on_free);
    reader->info = reader->png ? png_create_info_struct(reader->png) : NULL;
    if (!reader->info)
        status = glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    else if (setjmp(png_jmpbuf(reader->png)) == 0)
        status = read_all(reader, orientation, err);
    else
        status = glint_fail(err, reader->starved ? GLINT_E_NOMEM : GLINT_E_FORMAT, "%s: PNG: %s",
                            file->name, reader->starved ? "no memory" : reader->message);
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
    glint_free(reader->rows);
    glint_free(reader);
    return status;
}
