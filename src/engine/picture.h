// SPDX-License-Identifier: Apache-2.0
// picture.h — what a session needs of pictures; private to engine/.
#ifndef GLINT_ENGINE_PICTURE_H
#define GLINT_ENGINE_PICTURE_H

#include <glint/glint.h>

// Rows of a picture for the decoder's entry norm [n_tokens, width], computed if they have not
// been yet; valid until the picture is closed.
enum glint_status glint_picture_rows(struct glint_picture *picture, const float **rows,
                                     struct glint_error *err);
// Width of its rows.
int glint_picture_width(const struct glint_picture *picture);
// When a group of a video's frames begins, in seconds.
double glint_picture_seconds(const struct glint_picture *picture, int i_group);
// An odd number that pictures of a realm share when they are the same at the model's size: a hash
// of 64 bits of the pixels, also of pictures that the vision has long forgotten.
uint64_t glint_picture_identity(const struct glint_picture *picture);

#endif
