// SPDX-License-Identifier: Apache-2.0
// q4_0.c — Q4_0: 32 codes of four bits around 8, one scale.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

void glint_q4_0_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q4_0 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float d = glint_half_to_float(block->d);
        for (int j = 0; j < 16; j++) {
            values[j] = d * (float)((block->q[j] & 15) - 8);
            values[j + 16] = d * (float)((block->q[j] >> 4) - 8);
        }
    }
}

static void encode_block(const float *x, const float *w, struct glint_block_q4_0 *block) {
    block->d = glint_fit_half(glint_fit_signed(x, w, GLINT_BLOCK_LEN, 8));
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    for (int j = 0; j < 16; j++) {
        int low = glint_fit_round(x[j] * inverse, -8, 7) + 8;
        int high = glint_fit_round(x[j + 16] * inverse, -8, 7) + 8;
        block->q[j] = (uint8_t)(low | high << 4);
    }
}

void glint_q4_0_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q4_0 *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
