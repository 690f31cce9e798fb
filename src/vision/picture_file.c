// SPDX-License-Identifier: Apache-2.0
// picture_file.c — tells the formats apart and turns pictures upright.
#include "vision/picture_file.h"

#include "base/alloc.h"
#include "vision/picture_child.h"
#include "vision/picture_format.h"

#include <string.h>

static bool begins(const struct glint_picture_file *file, size_t at, const char *bytes, size_t n) {
    return file->n >= at + n && memcmp(file->data + at, bytes, n) == 0;
}

// A picture in a box file ("ftyp"), AVIF or HEIC: which of the two, by its brands.
static bool has_brand(const struct glint_picture_file *file, const char *const *brands) {
    enum { MAX_BRAND = 64 };
    if (!begins(file, 4, "ftyp", 4))
        return false;
    const uint8_t *p = file->data;
    uint64_t end = (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
    for (size_t at = 8, n = 0; at + 4 <= end && n < MAX_BRAND; at += 4, n++)
        for (int i = 0; at != 12 && brands[i]; i++) // 12: a version
            if (begins(file, at, brands[i], 4))
                return true;
    return false;
}

#ifdef GLINT_LIBTIFF
static const glint_picture_reader tiff_read = glint_tiff_read;
#else
static const glint_picture_reader tiff_read = NULL;
#endif
#ifdef GLINT_LIBAVIF
static const glint_picture_reader avif_read = glint_avif_read;
#else
static const glint_picture_reader avif_read = NULL;
#endif
#ifdef GLINT_LIBHEIF
static const glint_picture_reader heic_read = glint_heic_read;
#else
static const glint_picture_reader heic_read = NULL;
#endif

struct format {
    glint_picture_reader read;  // NULL: not in this build, or not known
    const char *name, *library; // where it may be missing
    bool in_child;
};

static struct format format_of(const struct glint_picture_file *file) {
    static const char *const avif[] = {"avif", "avis", NULL};
    static const char *const heic[] = {"heic", "heix", "heim", "heis", "hevc", "hevx", NULL};
    if (begins(file, 0, "\x89PNG\r\n\x1a\n", 8))
        return (struct format){.read = glint_png_read};
    if (begins(file, 0, "\xff\xd8\xff", 3))
        return (struct format){.read = glint_jpeg_read};
    if (begins(file, 0, "RIFF", 4) && begins(file, 8, "WEBP", 4))
        return (struct format){.read = glint_webp_read};
    if (begins(file, 0, "GIF87a", 6) || begins(file, 0, "GIF89a", 6))
        return (struct format){.read = glint_gif_read};
    if (begins(file, 0, "BM", 2))
        return (struct format){.read = glint_bmp_read};
    if (begins(file, 0, "II*\0", 4) || begins(file, 0, "MM\0*", 4) || begins(file, 0, "II+\0", 4) ||
        begins(file, 0, "MM\0+", 4))
        return (struct format){tiff_read, "TIFF", "libtiff", false};
    if (has_brand(file, avif))
        return (struct format){avif_read, "AVIF", "libavif", true};
    if (has_brand(file, heic))
        return (struct format){heic_read, "HEIC", "libheif", true};
    return (struct format){.read = NULL};
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

// c * k / 255, rounded as Pillow rounds it.
static int share(int c, int k) {
    int x = c * k + 128;
    return ((x >> 8) + x) >> 8;
}

void glint_picture_from_cmyk(uint8_t rgb[3], const uint8_t cmyk[4]) {
    int white = 255 - cmyk[3];
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(white - share(cmyk[c], white));
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
    struct format format = format_of(file);
    int orientation = 1;
    *rgb = (struct glint_rgb){NULL, 0, 0};
    if (!format.read && format.name)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: found a picture in %s, but glint was built without %s; expected "
                          "PNG, JPEG, WebP, GIF or BMP",
                          file->name, format.name, format.library);
    if (!format.read)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: not a picture that glint reads: expected PNG, JPEG, WebP, GIF or "
                          "BMP, or TIFF, AVIF or HEIC where it was built with their libraries",
                          file->name);
    enum glint_status status =
        format.in_child ? glint_picture_in_child(format.read, rgb, file, &orientation, err)
                        : format.read(rgb, file, &orientation, err);
    if (status == GLINT_OK && orientation != 1)
        status = turn(rgb, orientation, file->name, err);
    if (status != GLINT_OK) {
        glint_free(rgb->data);
        rgb->data = NULL;
    }
    return status;
}
