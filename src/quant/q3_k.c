// SPDX-License-Identifier: Apache-2.0
// q3_k.c — Q3_K: sixteen sub-blocks of 16 three-bit codes around 4; signed six-bit scales under
// one binary16 factor; the third bits stand apart.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit_k.h"

#include <string.h>

static void decode_block(const struct glint_block_q3_k *block, float *values) {
    float d = glint_half_to_float(block->d);
    for (int j = 0; j < 16; j++, values += 16) {
        float scale = d * (float)glint_q3_k_scale(block->scales, j);
        const uint8_t *q = block->q + j / 8 * 32 + j % 2 * 16;
        const uint8_t *high = block->high + j % 2 * 16;
        for (int i = 0; i < 16; i++) {
            int code = (q[i] >> j / 2 % 4 * 2 & 3) | (high[i] >> j / 2 & 1) << 2;
            values[i] = scale * (float)(code - 4);
        }
    }
}

void glint_q3_k_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q3_k *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN_K, block++, values += GLINT_BLOCK_LEN_K)
        decode_block(block, values);
}

static void pack_scales(const int16_t scale[16], uint8_t packed[12]) {
    memset(packed, 0, 12);
    for (int j = 0; j < 16; j++) {
        int bits = scale[j] + 32;
        packed[j % 8] |= (uint8_t)((bits & 15) << (j < 8 ? 0 : 4));
        packed[8 + j % 4] |= (uint8_t)(bits >> 4 << 2 * (j / 4));
    }
}

static void encode_block(const float *x, const float *importance, struct glint_block_q3_k *block) {
    struct glint_fit_k fit;
    glint_fit_k_signed(&fit, x, importance, &(struct glint_fit_shape){16, 8, 32});
    block->d = fit.d;
    pack_scales(fit.scale, block->scales);
    memset(block->q, 0, sizeof block->q);
    memset(block->high, 0, sizeof block->high);
    for (int i = 0; i < GLINT_BLOCK_LEN_K; i++) {
        int bits = fit.code[i] + 4;
        block->q[i / 128 * 32 + i % 32] |= (uint8_t)((bits & 3) << (i / 32 % 4 * 2));
        block->high[i % 32] |= (uint8_t)(bits >> 2 << i / 32);
    }
}

void glint_q3_k_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q3_k *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN_K)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
