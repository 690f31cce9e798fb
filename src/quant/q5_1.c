// SPDX-License-Identifier: Apache-2.0
// q5_1.c — Q5_1: 32 codes of five bits, a scale and an offset; the fifth bits stand apart.
#include "base/half.h"
#include "quant/codec.h"
#include "quant/fit.h"

#include <math.h>
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

static void encode_block(const float *x, float scale, float min, struct glint_block_q5_1 *block) {
    memset(block, 0, sizeof *block);
    block->d = glint_fit_half(scale);
    block->m = glint_fit_half(min);
    float inverse = glint_fit_inverse(glint_half_to_float(block->d));
    float m = glint_half_to_float(block->m);
    for (int i = 0; i < GLINT_BLOCK_LEN; i++) {
        int code = glint_fit_code((x[i] - m) * inverse, 0, 31);
        block->q[i % 16] |= (uint8_t)((code & 15) << (i < 16 ? 0 : 4));
        block->high[i / 8] |= (uint8_t)(code >> 4 << i % 8);
    }
}

// Up to eight blocks together: that is how the fit is fast.
void glint_q5_1_encode(const float *values, const float *importance, void *blocks, size_t n) {
    struct glint_block_q5_1 *block = blocks;
    struct glint_fit_values lanes;
    struct glint_fit_scales fit;
    for (size_t i = 0; i < n; i += GLINT_FIT_VALUES) {
        int n_block =
            (int)((n - i < GLINT_FIT_VALUES ? n - i : GLINT_FIT_VALUES) / GLINT_BLOCK_LEN);
        glint_fit_fill(&lanes, values + i, importance ? importance + i : NULL, n_block,
                       GLINT_BLOCK_LEN);
        struct glint_fit_tile tile = glint_fit_tile_at(&lanes, GLINT_BLOCK_LEN, 0);
        glint_fit_affine(&tile, 31.0f, INFINITY, &fit);
        for (int j = 0; j < n_block; j++)
            encode_block(values + i + j * GLINT_BLOCK_LEN, fit.scale[j], fit.min[j], block++);
    }
}
