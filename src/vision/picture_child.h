// SPDX-License-Identifier: Apache-2.0
// picture_child.h — runs a reader in a child process; for src/vision only. For decoders that crash
// on hostile files, believe sizes that their container does not know of, or write to stderr.
#ifndef GLINT_VISION_PICTURE_CHILD_H
#define GLINT_VISION_PICTURE_CHILD_H

#include "vision/picture_format.h"

// As read, which runs in a fork that keeps nothing of ours open, with 128 MiB of address space and
// 0.9 s of processor time until it calls glint_picture_child_room. That it crashed or wanted more
// is GLINT_E_FORMAT; GLINT_E_NOMEM or GLINT_E_IO: there could be no child.
enum glint_status glint_picture_in_child(glint_picture_reader read, struct glint_rgb *rgb,
                                         const struct glint_picture_file *file, int *orientation,
                                         struct glint_error *err);

// In the child, for the reader: glint_picture_room, and room and time to decode a picture of that
// size.
enum glint_status glint_picture_child_room(struct glint_rgb *rgb, int64_t width, int64_t height,
                                           const char *name, struct glint_error *err);

#endif
