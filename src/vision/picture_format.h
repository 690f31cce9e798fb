// SPDX-License-Identifier: Apache-2.0
// picture_format.h — the readers behind picture_file.c, one a format; for src/vision only.
// A reader fills rgb through glint_picture_room and returns the orientation of the EXIF block in
// *orientation where there is one (1 to 8; 1 is upright). On failure the caller frees rgb->data.
#ifndef GLINT_VISION_PICTURE_FORMAT_H
#define GLINT_VISION_PICTURE_FORMAT_H

#include "vision/picture_file.h"

typedef enum glint_status (*glint_picture_reader)(struct glint_rgb *rgb,
                                                  const struct glint_picture_file *file,
                                                  int *orientation, struct glint_error *err);

enum glint_status glint_png_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err);
enum glint_status glint_jpeg_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err);
enum glint_status glint_webp_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err);
enum glint_status glint_gif_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err);
enum glint_status glint_bmp_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err);

// Sets the size and takes memory for it, after checking both.
enum glint_status glint_picture_room(struct glint_rgb *rgb, int64_t width, int64_t height,
                                     const char *name, struct glint_error *err);

// Orientation in a TIFF block, the body of EXIF; 1 when it says nothing sensible.
int glint_exif_orientation(const uint8_t *data, size_t n);

#endif
