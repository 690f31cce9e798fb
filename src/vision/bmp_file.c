// SPDX-License-Identifier: Apache-2.0
// bmp_file.c — BMP, as Windows and OS/2 write it: 1 to 32 bits, masks, the two run-length codings.
// The file's rows stand from the bottom up unless its height is negative.
#include "vision/picture_format.h"

#include "base/alloc.h"

#include <string.h>

enum {
    FILE_HEADER = 14,
    OLD_HEADER = 12,
    HEADER = 40,
    N_COLOUR = 256,
};
enum compression { RAW = 0, RLE8 = 1, RLE4 = 2, MASKS = 3, ALPHA_MASKS = 6 };

struct bmp {
    const uint8_t *data; // [n] the file
    size_t n;
    uint32_t pixels; // offset of the rows
    int64_t width, height;
    bool top_down;
    uint32_t bits;
    enum compression compression;
    uint32_t mask[3];            // red, green, blue; 16 and 32 bits
    uint8_t colour[N_COLOUR][3]; // red, green, blue; 8 bits and less
};

static uint32_t u16(const uint8_t *p) {
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p) {
    return u16(p) | u16(p + 2) << 16;
}

static enum glint_status refuse(const char *name, const char *what, long long found,
                                const char *expected, struct glint_error *err) {
    return glint_fail(err, GLINT_E_FORMAT, "%s: BMP: %s: found %lld, expected %s", name, what,
                      found, expected);
}

static void read_masks(struct bmp *bmp) {
    const uint32_t standard[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
    const uint8_t *at = bmp->data + FILE_HEADER + HEADER; // behind the header, or in a longer one
    bool given = bmp->compression == MASKS || bmp->compression == ALPHA_MASKS;
    uint32_t any = 0;
    for (int c = 0; c < 3; c++) {
        bmp->mask[c] = given && bmp->n >= FILE_HEADER + HEADER + 12 ? u32(at + 4 * c) : 0;
        any |= bmp->mask[c];
    }
    if (any == 0)
        memcpy(bmp->mask, standard[bmp->bits == 32], sizeof bmp->mask);
}

// The colour table, of four bytes a colour, three in old files.
static bool read_colours(struct bmp *bmp, uint32_t header, uint32_t n_colour) {
    size_t size = header == OLD_HEADER ? 3 : 4, at = FILE_HEADER + (size_t)header;
    if (n_colour == 0 || n_colour > N_COLOUR)
        n_colour = 1u << bmp->bits;
    if (header == HEADER && (bmp->compression == MASKS || bmp->compression == ALPHA_MASKS))
        at += 12;
    if (at + size * n_colour > bmp->n)
        return false;
    for (uint32_t i = 0; i < n_colour; i++)
        for (int c = 0; c < 3; c++)
            bmp->colour[i][c] = bmp->data[at + size * i + 2 - (size_t)c];
    if (bmp->pixels == FILE_HEADER + header) // as some writers have it
        bmp->pixels += (uint32_t)(size * n_colour);
    return true;
}

static enum glint_status read_header(struct bmp *bmp, const char *name, struct glint_error *err) {
    const uint8_t *data = bmp->data;
    uint32_t header = bmp->n >= FILE_HEADER + 4 ? u32(data + FILE_HEADER) : 0, n_colour = 0;
    bool old = header == OLD_HEADER;
    if ((!old && (header < HEADER || header > 124)) || bmp->n < FILE_HEADER + (size_t)header)
        return refuse(name, "header size", header, "12 or 40 to 124, inside the file", err);
    const uint8_t *at = data + FILE_HEADER;
    bmp->pixels = u32(data + 10);
    bmp->width = old ? (int64_t)u16(at + 4) : (int64_t)(int32_t)u32(at + 4);
    bmp->height = old ? (int64_t)u16(at + 6) : (int64_t)(int32_t)u32(at + 8);
    bmp->top_down = bmp->height < 0;
    bmp->height = bmp->top_down ? -bmp->height : bmp->height;
    bmp->bits = u16(at + (old ? 10 : 14));
    if (!old) {
        bmp->compression = (enum compression)u32(at + 16);
        n_colour = u32(at + 32);
    }
    if (bmp->bits != 1 && bmp->bits != 4 && bmp->bits != 8 && bmp->bits != 16 && bmp->bits != 24 &&
        bmp->bits != 32)
        return refuse(name, "bits a pixel", bmp->bits, "1, 4, 8, 16, 24 or 32", err);
    bool wide = bmp->bits == 16 || bmp->bits == 32;
    bool known = bmp->compression == RAW || (bmp->compression == RLE8 && bmp->bits == 8) ||
                 (bmp->compression == RLE4 && bmp->bits == 4) ||
                 ((bmp->compression == MASKS || bmp->compression == ALPHA_MASKS) &&
                  (wide || bmp->bits == 24));
    if (!known)
        return refuse(name, "compression", bmp->compression,
                      "none, run lengths of 4 or 8 bits, or masks", err);
    if (bmp->bits <= 8 && !read_colours(bmp, header, n_colour))
        return glint_fail(err, GLINT_E_FORMAT, "%s: BMP: the colour table ends behind the file",
                          name);
    read_masks(bmp);
    return GLINT_OK;
}

static uint8_t *row_at(const struct bmp *bmp, const struct glint_rgb *rgb, int64_t y) {
    return rgb->data + 3 * bmp->width * (bmp->top_down ? y : bmp->height - 1 - y);
}

// The bits of x under the mask, spread over 0 to 255.
static uint8_t channel(uint32_t x, uint32_t mask) {
    if (mask == 0)
        return 0;
    uint32_t lowest = mask & (0 - mask), most = mask / lowest;
    return (uint8_t)((uint64_t)((x & mask) / lowest) * 255 / most);
}

static void convert_row(const struct bmp *bmp, const uint8_t *in, uint8_t *out) {
    for (int64_t x = 0; x < bmp->width; x++, out += 3) {
        if (bmp->bits <= 8) {
            uint32_t bits = bmp->bits, per_byte = 8 / bits;
            uint32_t shift = 8 - bits * ((uint32_t)(x % per_byte) + 1);
            memcpy(out, bmp->colour[in[x / per_byte] >> shift & ((1u << bits) - 1)], 3);
        } else if (bmp->bits == 24) {
            for (int c = 0; c < 3; c++)
                out[c] = in[3 * x + 2 - c];
        } else {
            uint32_t value = bmp->bits == 16 ? u16(in + 2 * x) : u32(in + 4 * x);
            for (int c = 0; c < 3; c++)
                out[c] = channel(value, bmp->mask[c]);
        }
    }
}

static uint64_t stride_of(const struct bmp *bmp) {
    return ((uint64_t)bmp->width * bmp->bits + 31) / 32 * 4;
}

// ---- run lengths ----------------------------------------------------------------------------

struct cursor {
    const struct bmp *bmp;
    const struct glint_rgb *rgb; // NULL: only checks that the runs are whole
    size_t at;
    int64_t x, y;
};

static void put(struct cursor *cursor, uint32_t index) {
    const struct bmp *bmp = cursor->bmp;
    if (cursor->rgb && cursor->x < bmp->width && cursor->y < bmp->height)
        memcpy(row_at(bmp, cursor->rgb, cursor->y) + 3 * cursor->x, bmp->colour[index], 3);
    cursor->x++;
}

// i-th index in packed bytes.
static uint32_t index_in(const struct bmp *bmp, const uint8_t *bytes, uint32_t i) {
    return bmp->bits == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 ? 0 : 4) & 15;
}

// n indices as they are; they fill whole 16-bit words. False when the file ends in them.
static bool put_plain(struct cursor *cursor, uint32_t n) {
    const struct bmp *bmp = cursor->bmp;
    size_t bytes = bmp->bits == 8 ? n : (n + 1) / 2, padded = (bytes + 1) / 2 * 2;
    if (bytes > bmp->n - cursor->at)
        return false;
    for (uint32_t i = 0; i < n; i++)
        put(cursor, index_in(bmp, bmp->data + cursor->at, i));
    size_t left = bmp->n - cursor->at;
    cursor->at += padded < left ? padded : left;
    return true;
}

static bool read_runs(struct cursor *cursor) {
    const struct bmp *bmp = cursor->bmp;
    while (cursor->y < bmp->height) {
        if (bmp->n - cursor->at < 2)
            return false;
        uint32_t count = bmp->data[cursor->at], code = bmp->data[cursor->at + 1];
        cursor->at += 2;
        const uint8_t pair[2] = {(uint8_t)code, (uint8_t)code};
        for (uint32_t i = 0; i < count; i++)
            put(cursor, bmp->bits == 8 ? code : index_in(bmp, pair, i % 2));
        if (count > 0)
            continue;
        if (code == 0) { // end of the row
            cursor->x = 0;
            cursor->y++;
        } else if (code == 1) { // end of the picture
            return true;
        } else if (code == 2) { // a move
            if (bmp->n - cursor->at < 2)
                return false;
            cursor->x += bmp->data[cursor->at];
            cursor->y += bmp->data[cursor->at + 1];
            cursor->at += 2;
        } else if (!put_plain(cursor, code)) {
            return false;
        }
    }
    return true;
}

enum glint_status glint_bmp_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err) {
    struct bmp bmp = {.data = file->data, .n = file->n};
    *orientation = 1;
    GLINT_TRY(read_header(&bmp, file->name, err));
    bool runs = bmp.compression == RLE8 || bmp.compression == RLE4;
    uint64_t stride = stride_of(&bmp);
    // Before any memory is taken: are there as many bytes as the size asks for?
    if (bmp.pixels > bmp.n || (!runs && bmp.width > 0 && bmp.height > 0 &&
                               (bmp.n - bmp.pixels) / stride < (uint64_t)bmp.height))
        return glint_fail(err, GLINT_E_FORMAT, "%s: BMP: %lld x %lld pixels end behind the file",
                          file->name, (long long)bmp.width, (long long)bmp.height);
    GLINT_TRY(glint_picture_room(rgb, bmp.width, bmp.height, file->name, err));
    if (!runs) {
        for (int64_t y = 0; y < bmp.height; y++)
            convert_row(&bmp, bmp.data + bmp.pixels + (uint64_t)y * stride, row_at(&bmp, rgb, y));
        return GLINT_OK;
    }
    struct cursor check = {.bmp = &bmp, .at = bmp.pixels}, cursor = check;
    if (!read_runs(&check)) // before memory of that size is touched
        return glint_fail(err, GLINT_E_FORMAT, "%s: BMP: it ends too early", file->name);
    for (int64_t i = 0; i < bmp.width * bmp.height; i++) // places that no run covers
        memcpy(rgb->data + 3 * i, bmp.colour[0], 3);
    cursor.rgb = rgb;
    read_runs(&cursor);
    return GLINT_OK;
}
