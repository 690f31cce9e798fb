// SPDX-License-Identifier: Apache-2.0
// quantize_tmpl.h — rounding x to int8 blocks, included by a tier file that defines for 32 values
// largest_magnitude(x) and round_block(q, sum, x, inverse), or instead of the latter, with
// ROUND_BEST, round_best(q, sum, x, max). matmul_tile.h has the formula.
#ifndef GLINT_CPU_QUANTIZE_TMPL_H
#define GLINT_CPU_QUANTIZE_TMPL_H

#include "cpu/matmul_tile.h"

#include <math.h>
#include <string.h>

#ifndef ROUND_BEST
// Rounds by the best of the inverses; the scale.
static float round_best(int8_t *q, int32_t *sum, const float *x, float max) {
    float best = 0, score = -1;
    for (int c = 0; c < GLINT_ROUND_TRIES; c++) {
        float inverse = glint_round_inverse(c, max);
        struct glint_rounding rounding = round_block(q, sum, x, inverse);
        if (rounding.score > score) {
            score = rounding.score;
            best = inverse;
        }
    }
    return round_block(q, sum, x, best).scale;
}
#endif

static void quantize_block(int8_t *q, float *scale, int32_t *sum, const float *x) {
    uint32_t bits = largest_magnitude(x);
    float max;
    memcpy(&max, &bits, sizeof max);
    if (bits >= 0x7f800000u || !(max >= 0x1p-100f)) {
        *scale = bits >= 0x7f800000u ? NAN : 0;
        memset(q, 0, 32);
        sum[0] = sum[1] = 0;
        return;
    }
    *scale = round_best(q, sum, x, max);
}

static void quantize(int8_t *q, float *scale, int32_t *sum, const float *x, int n) {
    for (int b = 0; b < n / 32; b++)
        quantize_block(q + b * 32, scale + b, sum + b * 2, x + b * 32);
}

#endif
