// SPDX-License-Identifier: Apache-2.0
// picture_file.h — picture files to upright 8-bit RGB, the bytes that Pillow's exif_transpose and
// convert("RGB") give: alpha is dropped, palettes and grey become RGB, colour profiles are not
// looked at. The input is hostile: a size is checked before anything of that size is allocated.
#ifndef GLINT_VISION_PICTURE_FILE_H
#define GLINT_VISION_PICTURE_FILE_H

#include "vision/resample.h"

enum { GLINT_PICTURE_PIXELS = 178956970 }; // of a picture at most: Pillow's limit

struct glint_picture_file {
    const uint8_t *data; // [n]
    size_t n;
    const char *name; // for errors
};

// Decodes by the first bytes, whatever the name says. On success rgb->data is the caller's to
// glint_free; on failure it is NULL.
enum glint_status glint_picture_decode(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                       struct glint_error *err);

#endif
