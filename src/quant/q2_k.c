// SPDX-License-Identifier: Apache-2.0
// q2_k.c — Q2_K: sixteen sub-blocks of 16 two-bit codes; four-bit scales and mins under two
// binary16 factors.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit_k.h"

#include <string.h>

static void decode_block(const struct glint_block_q2_k *block, float *values) {
    float d = glint_half_to_float(block->d);
    float dmin = glint_half_to_float(block->dmin);
    for (int j = 0; j < 16; j++, values += 16) {
        float scale = d * (float)(block->scales[j] & 15);
        float min = dmin * (float)(block->scales[j] >> 4);
        const uint8_t *q = block->q + j / 8 * 32 + j % 2 * 16;
        for (int i = 0; i < 16; i++)
            values[i] = scale * (float)(q[i] >> j / 2 % 4 * 2 & 3) - min;
    }
}

void glint_q2_k_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q2_k *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN_K, block++, values += GLINT_BLOCK_LEN_K)
        decode_block(block, values);
}

static void encode_block(const float *x, const float *importance, struct glint_block_q2_k *block) {
    struct glint_fit_k fit;
    glint_fit_k_affine(&fit, x, importance, &(struct glint_fit_shape){16, 4, 15});
    block->d = fit.d;
    block->dmin = fit.dmin;
    for (int j = 0; j < 16; j++)
        block->scales[j] = (uint8_t)(fit.scale[j] | fit.min[j] << 4);
    memset(block->q, 0, sizeof block->q);
    for (int i = 0; i < GLINT_BLOCK_LEN_K; i++)
        block->q[i / 128 * 32 + i % 32] |= (uint8_t)(fit.code[i] << (i / 32 % 4 * 2));
}

void glint_q2_k_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q2_k *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN_K)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
