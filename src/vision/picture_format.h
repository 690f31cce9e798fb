// SPDX-License-Identifier: Apache-2.0
// picture_format.h — the readers behind picture_file.c, one a format; for src/vision only.
// A reader fills rgb through glint_picture_room and returns the orientation of the EXIF block in
// *orientation where there is one, or what the format has in its place (1 to 8; 1 is upright). On
// failure the caller frees rgb->data.
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
// These three are there where CMake found their library. AVIF and HEIC only in a child
// (picture_child.h).
enum glint_status glint_tiff_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err);
enum glint_status glint_avif_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err);
enum glint_status glint_heic_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err);

// Sets the size and takes memory for it, after checking both.
enum glint_status glint_picture_room(struct glint_rgb *rgb, int64_t width, int64_t height,
                                     const char *name, struct glint_error *err);

// Cyan, magenta, yellow and black, 0 for no ink, to RGB as Pillow rounds it.
void glint_picture_from_cmyk(uint8_t rgb[3], const uint8_t cmyk[4]);

// Orientation in a TIFF block, the body of EXIF; 1 when it says nothing sensible.
int glint_exif_orientation(const uint8_t *data, size_t n);

#endif
