// SPDX-License-Identifier: Apache-2.0
// q5_1.c — Q5_1: 32 codes of five bits, a scale and an offset; the fifth bits stand apart.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

#include <string.h>

void glint_q5_1_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q5_1 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float d = glint_half_to_float(block->d);
        float m = glint_half_to_float(block->m);
        for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
            int low = block->q[i % 16] >> (i < 16 ? 0 : 4) & 15;
            int high = block->high[i / 8] >> i % 8 & 1;
            values[i] = d * (float)(low | high << 4) + m;
        }
    }
}

static void encode_block(const float *x, const float *w, struct glint_block_q5_1 *block) {
    memset(block, 0, sizeof *block);
    struct glint_fit fit = glint_fit_affine(x, w, GLINT_BLOCK_LEN, 32);
    block->d = glint_fit_half(fit.scale);
    block->m = glint_fit_half(fit.min);
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    float m = glint_half_to_float(block->m);
    for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
        int code = glint_fit_round((x[i] - m) * inverse, 0, 31);
        block->q[i % 16] |= (uint8_t)((code & 15) << (i < 16 ? 0 : 4));
        block->high[i / 8] |= (uint8_t)(code >> 4 << i % 8);
    }
}

void glint_q5_1_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q5_1 *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
