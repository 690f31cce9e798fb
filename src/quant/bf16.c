// SPDX-License-Identifier: Apache-2.0
// bf16.c — BF16: one bfloat16 number a value, rounded to nearest even; past its range the largest
// finite one.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

void glint_bf16_decode(const void *blocks, float *values, size_t n) {
    const uint16_t *in = blocks;
    for (size_t i = 0; i < n; i++)
        values[i] = glint_bf16_to_float(in[i]);
}

void glint_bf16_encode(const float *values, const float *importance, void *blocks, size_t n) {
    (void)importance;
    const float largest = 0x1.fep127f;
    uint16_t *out = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = glint_bf16_from_float(glint_fit_clamp(values[i], -largest, largest));
}
