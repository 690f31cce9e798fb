// SPDX-License-Identifier: Apache-2.0
// q4_k.c — Q4_K: eight sub-blocks of 32 four-bit codes; six-bit scales and mins under two
// binary16 factors.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit_k.h"

static void decode_block(const struct glint_block_q4_k *block, float *values) {
    float d = glint_half_to_float(block->d);
    float dmin = glint_half_to_float(block->dmin);
    for (int j = 0; j < 8; j++, values += 32) {
        struct glint_scale_min packed = glint_q4_k_scale_min(block->scales, j);
        float scale = d * (float)packed.scale, min = dmin * (float)packed.min;
        const uint8_t *q = block->q + j / 2 * 32;
        for (int i = 0; i < 32; i++)
            values[i] = scale * (float)(q[i] >> j % 2 * 4 & 15) - min;
    }
}

void glint_q4_k_decode(const void *blocks, float *values, size_t n) {
    const struct glint_block_q4_k *block = blocks;
    for (; n > 0; n -= GLINT_BLOCK_LEN_K, block++, values += GLINT_BLOCK_LEN_K)
        decode_block(block, values);
}

static void pack_codes(const int8_t code[GLINT_BLOCK_LEN_K], uint8_t q[128]) {
    for (int j = 0; j < 128; j++) {
        const int8_t *pair = code + j / 32 * 64 + j % 32;
        q[j] = (uint8_t)(pair[0] | pair[32] << 4);
    }
}

static void encode_block(const float *x, const float *importance, struct glint_block_q4_k *block) {
    struct glint_fit_k fit;
    glint_fit_k_affine(&fit, x, importance, &(struct glint_fit_shape){32, 16, 63});
    block->d = fit.d;
    block->dmin = fit.dmin;
    glint_fit_k_pack(&fit, block->scales);
    pack_codes(fit.code, block->q);
}

void glint_q4_k_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q4_k *block = blocks;
    for (size_t i = 0; i < n; i += GLINT_BLOCK_LEN_K)
        encode_block(values + i, importance ? importance + i : NULL, block++);
}
