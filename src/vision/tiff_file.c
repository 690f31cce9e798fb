// SPDX-License-Identifier: Apache-2.0
// tiff_file.c — TIFF through libtiff: the first picture of the file, row by row or tile by tile,
// turned to RGB as Pillow does it. Samples of 16 bits keep their high byte, but grey of 16 and 32
// bits is clipped to 0 and 255; associated alpha is divided out before it is dropped. YCbCr is read
// where JPEG packs it; Lab, and YCbCr without JPEG, are refused.
#include "vision/picture_format.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

enum {
    BLOCK_BYTES = 1 << 26, // a row or a tile at most
    MAX_SAMPLE = 6,        // of a pixel: Pillow's limit
    MAX_BITS = 32,
    PALETTE_BITS = 8,
};

enum kind { GREY, PALETTE, RGB, CMYK };

struct reader {
    const struct glint_picture_file *file;
    uint64_t at;
    struct glint_rgb *rgb;
    TIFF *tiff;
    enum kind kind;
    uint32_t width, height;
    uint16_t bits, n_sample, format, packing;
    uint16_t n_plane, step;    // planes that are read; samples of a pixel in each
    bool inverted, associated; // 0 is white; colours were multiplied by alpha
    uint8_t palette[1 << PALETTE_BITS][3];
    uint8_t *block;  // a row or a tile
    bool ends_early; // a JPEG stream
    char message[200];
};

// ---- the file in memory, for libtiff --------------------------------------------------------

static tmsize_t on_read(thandle_t handle, void *out, tmsize_t n) {
    struct reader *reader = handle;
    uint64_t left = reader->at < reader->file->n ? reader->file->n - reader->at : 0;
    size_t take = (uint64_t)n < left ? (size_t)n : (size_t)left;
    memcpy(out, reader->file->data + (take > 0 ? reader->at : 0), take);
    reader->at += take;
    return (tmsize_t)take;
}

static tmsize_t on_write(thandle_t handle, void *in, tmsize_t n) {
    (void)handle;
    (void)in;
    (void)n;
    return 0;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
    struct reader *reader = handle;
    uint64_t from = whence == SEEK_CUR ? reader->at : whence == SEEK_END ? reader->file->n : 0;
    reader->at = from + offset;
    return reader->at;
}

static int on_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle) {
    return ((const struct reader *)handle)->file->n;
}

// Without it libtiff would copy each strip. It does not write to a file that it reads.
static int on_map(thandle_t handle, void **base, toff_t *size) {
    const struct glint_picture_file *file = ((const struct reader *)handle)->file;
    memcpy(base, &file->data, sizeof *base);
    *size = file->n;
    return 1;
}

static void on_unmap(thandle_t handle, void *base, toff_t size) {
    (void)handle;
    (void)base;
    (void)size;
}

// ---- what libtiff says ----------------------------------------------------------------------

// The first error is the cause; what follows are complaints about it.
static int on_error(TIFF *tiff, void *context, const char *module, const char *format,
                    va_list words) {
    struct reader *reader = context;
    (void)tiff;
    (void)module;
    if (reader->message[0] == 0)
        vsnprintf(reader->message, sizeof reader->message, format, words);
    return 1;
}

// libtiff fills up a JPEG stream that ends early and only warns, in libjpeg's words.
static int on_warning(TIFF *tiff, void *context, const char *module, const char *format,
                      va_list words) {
    struct reader *reader = context;
    char text[100];
    (void)tiff;
    vsnprintf(text, sizeof text, format, words);
    if (module && strcmp(module, "JPEGLib") == 0 && strncmp(text, "Premature end", 13) == 0)
        reader->ends_early = true;
    return 1;
}

static enum glint_status damaged(const struct reader *reader, struct glint_error *err) {
    const char *text = reader->ends_early        ? "a JPEG stream in it ends too early"
                       : reader->message[0] != 0 ? reader->message
                                                 : "damaged";
    return glint_fail(err, GLINT_E_FORMAT, "%s: TIFF: %s", reader->file->name, text);
}

static TIFF *open_tiff(struct reader *reader) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    // A strip that has to be turned bit by bit is copied: never more than the file has.
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(BLOCK_BYTES + reader->file->n));
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, reader);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, reader);
    // c: a strip is left whole, since rows are read one by one
    TIFF *tiff = TIFFClientOpenExt(reader->file->name, "rc", reader, on_read, on_write, on_seek,
                                   on_close, on_size, on_map, on_unmap, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

// ---- what kind of picture -------------------------------------------------------------------

static bool packing_known(uint16_t packing) {
    static const uint16_t known[] = {COMPRESSION_NONE,          COMPRESSION_CCITTRLE,
                                     COMPRESSION_CCITTFAX3,     COMPRESSION_CCITTFAX4,
                                     COMPRESSION_LZW,           COMPRESSION_JPEG,
                                     COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                     COMPRESSION_PACKBITS,      COMPRESSION_ZSTD};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (packing == known[i])
            return true;
    return false;
}

static bool read_palette(struct reader *reader) {
    uint16_t *red = NULL, *green = NULL, *blue = NULL;
    if (reader->bits > PALETTE_BITS ||
        !TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &red, &green, &blue))
        return false;
    for (int i = 0; i < 1 << reader->bits; i++) {
        reader->palette[i][0] = (uint8_t)(red[i] >> 8);
        reader->palette[i][1] = (uint8_t)(green[i] >> 8);
        reader->palette[i][2] = (uint8_t)(blue[i] >> 8);
    }
    return true;
}

// Photometric meaning, bits and samples to a kind that put_pixel knows; false for others.
static bool find_kind(struct reader *reader, uint16_t photometric) {
    const uint16_t bits = reader->bits;
    bool whole = reader->format == SAMPLEFORMAT_UINT, deep = bits == 16 || bits == 32;
    switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        reader->kind = GREY;
        reader->inverted = photometric == PHOTOMETRIC_MINISWHITE && bits <= 8; // as in Pillow
        if (reader->format == SAMPLEFORMAT_IEEEFP)
            return bits == 32;
        return deep ? whole || reader->format == SAMPLEFORMAT_INT
                    : whole && (bits == 1 || bits == 2 || bits == 4 || bits == 8);
    case PHOTOMETRIC_PALETTE:
        reader->kind = PALETTE;
        return whole && (bits == 1 || bits == 2 || bits == 4 || bits == 8) && read_palette(reader);
    case PHOTOMETRIC_YCBCR: // libjpeg turns it to RGB
        reader->kind = RGB;
        return whole && bits == 8 && reader->n_sample == 3 && reader->packing == COMPRESSION_JPEG &&
               reader->n_plane == 1 &&
               TIFFSetField(reader->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    case PHOTOMETRIC_RGB:
        reader->kind = RGB;
        return whole && (bits == 8 || bits == 16) && reader->n_sample >= 3;
    case PHOTOMETRIC_SEPARATED:
        reader->kind = CMYK;
        return whole && (bits == 8 || bits == 16) && reader->n_sample >= 4 && reader->n_plane == 1;
    default:
        return false;
    }
}

static enum glint_status read_head(struct reader *reader, int *orientation,
                                   struct glint_error *err) {
    TIFF *tiff = reader->tiff;
    uint16_t photometric = PHOTOMETRIC_MINISWHITE, planar = 0, turn = 1, n_extra = 0, *extra = NULL;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &reader->width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &reader->height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &reader->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &reader->n_sample);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &reader->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &reader->packing);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &turn);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &n_extra, &extra);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    *orientation = turn >= 1 && turn <= 8 ? turn : 1;
    reader->n_plane = planar == PLANARCONFIG_SEPARATE && reader->n_sample > 1 ? 3 : 1;
    reader->step = planar == PLANARCONFIG_SEPARATE ? 1 : reader->n_sample;
    if (!packing_known(reader->packing) || !TIFFIsCODECConfigured(reader->packing))
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: TIFF: found compression %d, expected none, CCITT, LZW, JPEG, "
                          "Deflate, PackBits or Zstandard",
                          reader->file->name, reader->packing);
    bool known = reader->bits <= MAX_BITS && reader->n_sample >= 1 &&
                 reader->n_sample <= MAX_SAMPLE && find_kind(reader, photometric);
    reader->associated = known && reader->kind == RGB && reader->n_sample > 3 && n_extra > 0 &&
                         extra[0] == EXTRASAMPLE_ASSOCALPHA;
    if (!known || (reader->associated && reader->n_plane > 1))
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: TIFF: found %d samples of %d bits, format %d, in colours %d, "
                          "expected grey, palette, RGB or CMYK of a common depth",
                          reader->file->name, reader->n_sample, reader->bits, reader->format,
                          photometric);
    if (reader->kind != RGB) // of grey with alpha the first plane is enough
        reader->n_plane = 1;
    return glint_picture_room(reader->rgb, reader->width, reader->height, reader->file->name, err);
}

// ---- samples to RGB -------------------------------------------------------------------------

static uint8_t clip(int64_t x) {
    return x < 0 ? 0 : x > 255 ? 255 : (uint8_t)x;
}

// The i-th sample of a row as 8 bits, or as an index into the palette.
static uint8_t sample(const struct reader *reader, const uint8_t *row, size_t i) {
    const unsigned bits = reader->bits;
    if (bits == 8)
        return row[i];
    if (bits < 8) {
        unsigned last = (1U << bits) - 1, at = (unsigned)(i * bits % 8);
        unsigned x = row[i * bits / 8] >> (8 - bits - at) & last;
        return (uint8_t)(reader->kind == PALETTE ? x : x * 255 / last);
    }
    if (bits == 16) {
        uint16_t x;
        memcpy(&x, row + 2 * i, sizeof x);
        if (reader->kind != GREY)
            return (uint8_t)(x >> 8);
        return clip(reader->format == SAMPLEFORMAT_INT ? (int16_t)x : x);
    }
    if (reader->format == SAMPLEFORMAT_IEEEFP) {
        float x;
        memcpy(&x, row + 4 * i, sizeof x);
        return x > 0 ? x < 255 ? (uint8_t)x : 255 : 0; // 0 for no number too
    }
    int32_t x; // as in Pillow, also where it is meant without a sign
    memcpy(&x, row + 4 * i, sizeof x);
    return clip(x);
}

// The pixel whose samples begin at the i-th of a row.
static void put_pixel(const struct reader *reader, const uint8_t *row, size_t i, uint8_t *out) {
    uint8_t ink[4];
    if (reader->kind == GREY) {
        memset(out, sample(reader, row, i) ^ (reader->inverted ? 255 : 0), 3);
        return;
    }
    if (reader->kind == PALETTE) {
        memcpy(out, reader->palette[sample(reader, row, i)], 3);
        return;
    }
    for (size_t c = 0; c < (reader->kind == CMYK ? 4 : 3); c++)
        ink[c] = sample(reader, row, i + c);
    if (reader->kind == CMYK)
        glint_picture_from_cmyk(out, ink);
    else if (!reader->associated)
        memcpy(out, ink, 3);
    else {
        int alpha = sample(reader, row, i + 3);
        for (int c = 0; c < 3; c++)
            out[c] = alpha == 0 ? 0 : clip(ink[c] * 255 / alpha);
    }
}

// n pixels of a row of samples, of one plane or of all.
static void put_row(const struct reader *reader, const uint8_t *row, size_t n, int plane,
                    uint8_t *out) {
    if (reader->n_plane > 1)
        for (size_t x = 0; x < n; x++)
            out[3 * x + (size_t)plane] = sample(reader, row, x);
    else
        for (size_t x = 0; x < n; x++)
            put_pixel(reader, row, x * reader->step, out + 3 * x);
}

// ---- rows and tiles -------------------------------------------------------------------------

static bool read_rows(const struct reader *reader, int plane) {
    const size_t width = reader->width;
    for (uint32_t y = 0; y < reader->height; y++) {
        if (TIFFReadScanline(reader->tiff, reader->block, y, (uint16_t)plane) != 1 ||
            reader->ends_early)
            return false;
        put_row(reader, reader->block, width, plane, reader->rgb->data + y * width * 3);
    }
    return true;
}

static bool read_tiles(const struct reader *reader, int plane) {
    uint32_t wide = 0, high = 0;
    TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &wide);
    TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &high);
    const size_t row_bytes = (size_t)TIFFTileRowSize(reader->tiff), width = reader->width;
    if (wide < 1 || high < 1)
        return false;
    for (uint64_t y = 0; y < reader->height; y += high)
        for (uint64_t x = 0; x < width; x += wide) {
            if (TIFFReadTile(reader->tiff, reader->block, (uint32_t)x, (uint32_t)y, 0,
                             (uint16_t)plane) < 0 ||
                reader->ends_early)
                return false;
            size_t n = width - x < wide ? (size_t)(width - x) : wide;
            for (uint64_t k = 0; k < high && y + k < reader->height; k++)
                put_row(reader, reader->block + k * row_bytes, n, plane,
                        reader->rgb->data + ((y + k) * width + x) * 3);
        }
    return true;
}

static enum glint_status read_all(struct reader *reader, int *orientation,
                                  struct glint_error *err) {
    const char *name = reader->file->name;
    GLINT_TRY(read_head(reader, orientation, err));
    bool tiled = TIFFIsTiled(reader->tiff) != 0, good = true;
    uint64_t bytes = tiled ? TIFFTileSize64(reader->tiff) : TIFFScanlineSize64(reader->tiff);
    uint64_t row = tiled ? TIFFTileRowSize64(reader->tiff) : bytes;
    uint32_t width = reader->width, height = 1; // of a block
    if (tiled) {
        TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &width);
        TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &height);
    }
    if (bytes < 1 || row < 1 || bytes > BLOCK_BYTES)
        return glint_fail(err, GLINT_E_LIMIT,
                          "%s: TIFF: found a %s of %llu bytes, expected 1 to %d", name,
                          tiled ? "tile" : "row", (unsigned long long)bytes, BLOCK_BYTES);
    // Where libtiff understands the file in another way
    if (row < ((uint64_t)width * reader->step * reader->bits + 7) / 8 || height > bytes / row)
        return damaged(reader, err);
    reader->block = glint_alloc((size_t)bytes, 1);
    if (!reader->block)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    for (int plane = 0; plane < reader->n_plane && good; plane++)
        good = tiled ? read_tiles(reader, plane) : read_rows(reader, plane);
    return good ? GLINT_OK : damaged(reader, err);
}

enum glint_status glint_tiff_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    struct reader *reader = glint_alloc(1, sizeof *reader);
    if (!reader)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    reader->file = file;
    reader->rgb = rgb;
    reader->tiff = open_tiff(reader);
    enum glint_status status =
        reader->tiff ? read_all(reader, orientation, err) : damaged(reader, err);
    if (reader->tiff)
        TIFFClose(reader->tiff);
    glint_free(reader->block);
    glint_free(reader);
    return status;
}
