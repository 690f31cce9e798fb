// SPDX-License-Identifier: Apache-2.0
// f16.c — F16: one binary16 number a value, rounded to nearest even; past its range the largest
// finite one.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

void glint_f16_decode(const void *blocks, float *values, size_t n) {
    const uint16_t *in = blocks;
    for (size_t i = 0; i < n; i++)
        values[i] = glint_half_to_float(in[i]);
}

void glint_f16_encode(const float *values, const float *importance, void *blocks, size_t n) {
    (void)importance;
    uint16_t *out = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = glint_fit_half(values[i]);
}
