// SPDX-License-Identifier: Apache-2.0
// codec.h — declares the decode and encode functions of every row of dtype.def.
// Callers outside quant/ go through struct glint_dtype_info; kernels of one type may call directly.
// Both promise what dtype.h says of the fields of the same name.
#ifndef GLINT_QUANT_CODEC_H
#define GLINT_QUANT_CODEC_H

#include "quant/blocks.h"

#include <stddef.h>

#define GLINT_DTYPE_ROW(upper, lower, length, bytes, is_float)                                     \
    void glint_##lower##_decode(const void *blocks, float *values, size_t n);                      \
    void glint_##lower##_encode(const float *values, const float *importance, void *blocks,        \
                                size_t n);
#include "quant/dtype.def"
#undef GLINT_DTYPE_ROW

#endif
