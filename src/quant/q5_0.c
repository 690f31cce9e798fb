// SPDX-License-Identifier: Apache-2.0
// q5_0.c — Q5_0: 32 codes of five bits around 16, one scale; the fifth bits stand apart.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

#include <string.h>

void glint_q5_0_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q5_0 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float d = glint_half_to_float(block->d);
        for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
            int low = block->q[i % 16] >> (i < 16 ? 0 : 4) & 15;
            int high = block->high[i / 8] >> i % 8 & 1;
            values[i] = d * (float)((low | high << 4) - 16);
        }
    }
}

static void encode_block(const float *x, const float *w, struct glint_block_q5_0 *block) {
    memset(block, 0, sizeof *block);
    block->d = glint_fit_half(glint_fit_signed(x, w, GLINT_BLOCK_LEN, 16));
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
        int code = glint_fit_round(x[i] * inverse, -16, 15) + 16;
        block->q[i % 16] |= (uint8_t)((code & 15) << (i < 16 ? 0 : 4));
        block->high[i / 8] |= (uint8_t)(code >> 4 << i % 8);
    }
}

void glint_q5_0_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q5_0 *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
