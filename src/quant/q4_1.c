// SPDX-License-Identifier: Apache-2.0
// q4_1.c — Q4_1: 32 codes of four bits, a scale and an offset.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

void glint_q4_1_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q4_1 *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN, block++, values += GLINT_BLOCK_LEN) {
        float d = glint_half_to_float(block->d);
        float m = glint_half_to_float(block->m);
        for (int j = 0; j < 16; j++) {
            values[j] = d * (float)(block->q[j] & 15) + m;
            values[j + 16] = d * (float)(block->q[j] >> 4) + m;
        }
    }
}

static void encode_block(const float *x, const float *w, struct glint_block_q4_1 *block) {
    struct glint_fit fit = glint_fit_affine(x, w, GLINT_BLOCK_LEN, 16);
    block->d = glint_fit_half(fit.scale);
    block->m = glint_fit_half(fit.min);
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    float m = glint_half_to_float(block->m);
    for (int j = 0; j < 16; j++) {
        int low = glint_fit_round((x[j] - m) * inverse, 0, 15);
        int high = glint_fit_round((x[j + 16] - m) * inverse, 0, 15);
        block->q[j] = (uint8_t)(low | high << 4);
    }
}

void glint_q4_1_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q4_1 *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
