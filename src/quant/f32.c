// SPDX-License-Identifier: Apache-2.0
// f32.c — F32: the value itself, little-endian.
#include "quant/codec.h"

#include <string.h>

void glint_f32_decode(const void *blocks, float *values, size_t n) {
    memcpy(values, blocks, n * sizeof(float));
}

void glint_f32_encode(const float *values, const float *importance, void *blocks, size_t n) {
    (void)importance;
    memcpy(blocks, values, n * sizeof(float));
}
