// SPDX-License-Identifier: Apache-2.0
// resample.h — Lanczos resampling of 8-bit RGB, bit for bit what Pillow gives (model.md C.3):
// horizontal, then vertical, an 8-bit picture in between; a dimension that keeps its size is
// left alone.
#ifndef GLINT_VISION_RESAMPLE_H
#define GLINT_VISION_RESAMPLE_H

#include "base/status.h"

#include <stdint.h>

struct glint_rgb {
    uint8_t *data; // [height, width, 3]
    int height, width;
};

// Fills out->data (the caller's, of out's size) from in. Fails only for lack of memory.
enum glint_status glint_resample(const struct glint_rgb *out, const struct glint_rgb *in,
                                 struct glint_error *err);

#endif
