// SPDX-License-Identifier: Apache-2.0
// q5_k.c — Q5_K: as Q4_K with a fifth bit a code, kept apart.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit_k.h"

#include <string.h>

static void decode_block(const struct glint_block_q5_k *block, float *values) {
    float d = glint_half_to_float(block->d);
    float dmin = glint_half_to_float(block->dmin);
    for (int j = 0; j < 8; j++, values += 32) {
        struct glint_scale_min packed = glint_q4_k_scale_min(block->scales, j);
        float scale = d * (float)packed.scale, min = dmin * (float)packed.min;
        const uint8_t *q = block->q + j / 2 * 32;
        for (int i = 0; i < 32; i++) {
            int code = (q[i] >> j % 2 * 4 & 15) | (block->high[i] >> j & 1) << 4;
            values[i] = scale * (float)code - min;
        }
    }
}

void glint_q5_k_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q5_k *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN_K, block++, values += GLINT_BLOCK_LEN_K)
        decode_block(block, values);
}

static void pack_codes(const int8_t code[GLINT_BLOCK_LEN_K], struct glint_block_q5_k *block) {
    for (int j = 0; j < 128; j++) {
        const int8_t *pair = code + j / 32 * 64 + j % 32;
        block->q[j] = (uint8_t)((pair[0] & 15) | (pair[32] & 15) << 4);
    }
    memset(block->high, 0, sizeof block->high);
    for (int i = 0; i < GLINT_BLOCK_LEN_K; i++)
        block->high[i % 32] |= (uint8_t)(code[i] >> 4 << i / 32);
}

static void encode_block(const float *x, const float *importance, struct glint_block_q5_k *block) {
    struct glint_fit_k fit;
    glint_fit_k_affine(&fit, x, importance, &(struct glint_fit_shape){32, 32, 63});
    block->d = fit.d;
    block->dmin = fit.dmin;
    glint_fit_k_pack(&fit, block->scales);
    pack_codes(fit.code, block);
}

void glint_q5_k_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q5_k *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN_K)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
