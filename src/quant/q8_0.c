// SPDX-License-Identifier: Apache-2.0
// q8_0.c — Q8_0: 32 signed bytes and a scale. The scale puts the largest value on 127; a search
// gains nothing worth its time at eight bits.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

void glint_q8_0_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q8_0 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float d = glint_half_to_float(block->d);
        for (int i = 0; i < GLINT_BLOCK_LEN; i++)
            values[i] = d * (float)block->q[i];
    }
}

void glint_q8_0_encode(const float *values, const float *importance, void *blocks, size_t n) {
    (void)importance;
    struct glint_block_q8_0 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float peak = 0.0f;
        for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
            float size = values[i] < 0.0f ? -values[i] : values[i];
            peak = size > peak ? size : peak;
        }
        block->d = glint_fit_half(peak / 127.0f);
        float inverse = glint_fit_inverse(glint_half_to_float(block->d));
        for (int i = 0; i < GLINT_BLOCK_LEN; i++)
            block->q[i] = (int8_t)glint_fit_code(values[i] * inverse, -127, 127);
    }
}
