// SPDX-License-Identifier: Apache-2.0
// q6_k.c — Q6_K: sixteen sub-blocks of 16 six-bit codes around 32; signed byte scales under one
// binary16 factor.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit_k.h"

static void decode_block(const struct glint_block_q6_k *block, float *values) {
    float d = glint_half_to_float(block->d);
    for (int j = 0; j < 16; j++, values += 16) {
        float scale = d * (float)block->scales[j];
        const uint8_t *low = block->low + j / 8 * 64 + j % 4 * 16;
        const uint8_t *high = block->high + j / 8 * 32 + j % 2 * 16;
        for (int i = 0; i < 16; i++) {
            int code = (low[i] >> j / 4 % 2 * 4 & 15) | (high[i] >> j / 2 % 4 * 2 & 3) << 4;
            values[i] = scale * (float)(code - 32);
        }
    }
}

void glint_q6_k_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q6_k *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN_K, block++, values += GLINT_BLOCK_LEN_K)
        decode_block(block, values);
}

// One half of a block: 128 codes, -32..31.
static void pack_half(const int8_t code[128], uint8_t low[64], uint8_t high[32]) {
    for (int j = 0; j < 64; j++)
        low[j] = (uint8_t)(((code[j] + 32) & 15) | ((code[j + 64] + 32) & 15) << 4);
    for (int j = 0; j < 32; j++) {
        int first = (code[j] + 32) >> 4 | (code[j + 32] + 32) >> 4 << 2;
        int second = (code[j + 64] + 32) >> 4 | (code[j + 96] + 32) >> 4 << 2;
        high[j] = (uint8_t)(first | second << 4);
    }
}

static void encode_block(const float *x, const float *importance, struct glint_block_q6_k *block) {
    struct glint_fit_k fit;
    glint_fit_k_signed(&fit, x, importance, &(struct glint_fit_shape){16, 64, 128});
    block->d = fit.d;
    for (int j = 0; j < 16; j++)
        block->scales[j] = (int8_t)fit.scale[j];
    for (int half = 0; half < 2; half++)
        pack_half(fit.code + 128 * half, block->low + 64 * half, block->high + 32 * half);
}

void glint_q6_k_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q6_k *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN_K)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
