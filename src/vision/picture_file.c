// SPDX-License-Identifier: Apache-2.0
// picture_file.c — tells the formats apart and turns pictures upright.
#include "vision/picture_file.h"

#include "base/alloc.h"
#include "vision/picture_format.h"

#include <string.h>

static bool begins(const struct glint_picture_file *file, size_t at, const char *bytes, size_t n) {
    return file->n >= at + n && memcmp(file->data + at, bytes, n) == 0;
}

static glint_picture_reader reader_of(const struct glint_picture_file *file) {
    if (begins(file, 0, "\x89PNG\r\n\x1a\n", 8))
        return glint_png_read;
    if (begins(file, 0, "\xff\xd8\xff", 3))
        return glint_jpeg_read;
    if (begins(file, 0, "RIFF", 4) && begins(file, 8, "WEBP", 4))
        return glint_webp_read;
    if (begins(file, 0, "GIF87a", 6) || begins(file, 0, "GIF89a", 6))
        return glint_gif_read;
    if (begins(file, 0, "BM", 2))
        return glint_bmp_read;
    return NULL;
}

enum glint_status glint_picture_room(struct glint_rgb *rgb, int64_t width, int64_t height,
                                     const char *name, struct glint_error *err) {
    if (width < 1 || height < 1)
        return glint_fail(err, GLINT_E_FORMAT, "%s: found a picture of %lld x %lld pixels", name,
                          (long long)width, (long long)height);
    if (width > GLINT_PICTURE_PIXELS || height > GLINT_PICTURE_PIXELS ||
        width * height > GLINT_PICTURE_PIXELS)
        return glint_fail(err, GLINT_E_LIMIT,
                          "%s: found a picture of %lld x %lld pixels, expected at most %d in all",
                          name, (long long)width, (long long)height, GLINT_PICTURE_PIXELS);
    *rgb = (struct glint_rgb){.height = (int)height, .width = (int)width};
    rgb->data = glint_alloc((size_t)(width * height), 3);
    return rgb->data ? GLINT_OK
                     : glint_fail(err, GLINT_E_NOMEM, "%s: no memory for %lld x %lld pixels", name,
                                  (long long)width, (long long)height);
}

// ---- orientation ----------------------------------------------------------------------------

static uint32_t number(const uint8_t *p, int n, bool big) {
    uint32_t x = 0;
    for (int i = 0; i < n; i++)
        x = x << 8 | p[big ? i : n - 1 - i];
    return x;
}

int glint_exif_orientation(const uint8_t *data, size_t n) {
    enum { TAG = 0x0112, ENTRY = 12, BYTE = 1, SHORT = 3, LONG = 4 };
    bool big = n >= 8 && memcmp(data, "MM\0*", 4) == 0;
    if (n < 8 || (!big && memcmp(data, "II*\0", 4) != 0))
        return 1;
    uint64_t at = number(data + 4, 4, big);
    if (at + 2 > n)
        return 1;
    uint32_t n_entry = number(data + at, 2, big);
    at += 2;
    for (uint32_t i = 0; i < n_entry && at + ENTRY <= n; i++, at += ENTRY) {
        if (number(data + at, 2, big) != TAG)
            continue;
        uint32_t type = number(data + at + 2, 2, big);
        int size = type == SHORT ? 2 : type == LONG ? 4 : type == BYTE ? 1 : 0;
        uint32_t value = number(data + at + 8, size, big);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

// Where the upright picture's first pixel lies, and the way to the next one along and down.
struct path {
    int64_t first, along, down;
};

static struct path path_of(int orientation, int64_t width, int64_t height) {
    const int64_t right = 1, below = width, last_col = width - 1, last_row = (height - 1) * width;
    switch (orientation) {
    case 2: // mirrored
        return (struct path){last_col, -right, below};
    case 3: // half a turn
        return (struct path){last_row + last_col, -right, -below};
    case 4: // upside down
        return (struct path){last_row, right, -below};
    case 5: // transposed
        return (struct path){0, below, right};
    case 6: // a quarter turn clockwise
        return (struct path){last_row, -below, right};
    case 7: // transposed the other way
        return (struct path){last_row + last_col, -below, -right};
    default: // 8, a quarter turn counter-clockwise
        return (struct path){last_col, below, -right};
    }
}

static enum glint_status turn(struct glint_rgb *rgb, int orientation, const char *name,
                              struct glint_error *err) {
    bool swaps = orientation >= 5;
    struct path path = path_of(orientation, rgb->width, rgb->height);
    struct glint_rgb out = {NULL, 0, 0};
    GLINT_TRY(glint_picture_room(&out, swaps ? rgb->height : rgb->width,
                                 swaps ? rgb->width : rgb->height, name, err));
    uint8_t *to = out.data;
    for (int64_t y = 0; y < out.height; y++)
        for (int64_t x = 0; x < out.width; x++, to += 3)
            memcpy(to, rgb->data + 3 * (path.first + x * path.along + y * path.down), 3);
    glint_free(rgb->data);
    *rgb = out;
    return GLINT_OK;
}

enum glint_status glint_picture_decode(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                       struct glint_error *err) {
    glint_picture_reader read = reader_of(file);
    int orientation = 1;
    *rgb = (struct glint_rgb){NULL, 0, 0};
    if (!read)
        return glint_fail(
            err, GLINT_E_FORMAT,
            "%s: not a picture that glint reads: expected PNG, JPEG, WebP, GIF or BMP", file->name);
    enum glint_status status = read(rgb, file, &orientation, err);
    if (status == GLINT_OK && orientation != 1)
        status = turn(rgb, orientation, file->name, err);
    if (status != GLINT_OK) {
        glint_free(rgb->data);
        rgb->data = NULL;
    }
    return status;
}
