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

static void encode_block(const float *x, float scale, struct glint_block_q4_0 *block) {
    block->d = glint_fit_half(scale);
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    for (int j = 0; j < 16; j++) {
        int low = glint_fit_code(x[j] * inverse, -8, 7) + 8;
        int high = glint_fit_code(x[j + 16] * inverse, -8, 7) + 8;
        block->q[j] = (uint8_t)(low | high << 4);
    }
}

// Up to eight blocks together: that is how the fit is fast.
void glint_q4_0_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q4_0 *block = blocks;
    struct glint_fit_values lanes;
    struct glint_fit_scales fit;
    for (size_t i = 0; i < n; i += GLINT_FIT_VALUES) {
        int n_block =
            (int)((n - i < GLINT_FIT_VALUES ? n - i : GLINT_FIT_VALUES) / GLINT_BLOCK_LEN);
        glint_fit_fill(&lanes, values + i, importance ? importance + i : NULL, n_block,
                       GLINT_BLOCK_LEN);
        struct glint_fit_tile tile = glint_fit_tile_at(&lanes, GLINT_BLOCK_LEN, 0);
        glint_fit_signed(&tile, 8.0f, &fit);
        for (int j = 0; j < n_block; j++)
            encode_block(values + i + j * GLINT_BLOCK_LEN, fit.scale[j], block++);
    }
}
