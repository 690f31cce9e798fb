// SPDX-License-Identifier: Apache-2.0
// matmul_neon.c — the matrix product kernels on the 128-bit registers of 64-bit Arm.
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <stdbool.h>

// 4 rows of x by 8 weight rows: 24 registers of sums, a code vector each and a piece of x.
#define TOKENS     4
#define VECTORS    2
#define DOT_TOKENS 1

#include "cpu/dot_signed.h"
#include "cpu/dot_simd.h"
#include "cpu/multiply_tmpl.h"
#include "cpu/unpack_tiles.h"

// Magnitudes compare as their bits; NaN and infinity lie above all numbers.
static inline uint32_t largest_magnitude(const float *x) {
    uint32x4_t most = vdupq_n_u32(0);
    for (int i = 0; i < 8; i++)
        most = vmaxq_u32(most, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + 4 * i))));
    return vmaxvq_u32(most);
}

// 4 values to whole numbers; adds to the sums of q * q, and of r * q in 4 of 16 lanes.
static inline int32x4_t round_4(const float *x, float factor, int32x4_t *square,
                                float32x4_t *product) {
    float32x4_t r = vmulq_n_f32(vld1q_f32(x), factor);
    int32x4_t q = vcvtnq_s32_f32(r);
    *square = vmlaq_s32(*square, q, q);
    *product = vfmaq_f32(*product, r, vcvtq_f32_s32(q));
    return q;
}

static inline struct glint_rounding round_block(int8_t *q, int32_t *sum, const float *x,
                                                float factor) {
    int32x4_t square = vdupq_n_s32(0);
    vec product = vec_zero();
    for (int h = 0; h < 2; h++) {
        int32x4_t part[4];
        for (int i = 0; i < 4; i++)
            part[i] = round_4(x + 16 * h + 4 * i, factor, &square, &product.part[i]);
        int16x8_t low = vcombine_s16(vmovn_s32(part[0]), vmovn_s32(part[1]));
        int16x8_t high = vcombine_s16(vmovn_s32(part[2]), vmovn_s32(part[3]));
        vst1q_s8(q + 16 * h, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        sum[h] = vaddvq_s32(vaddq_s32(vaddq_s32(part[0], part[1]), vaddq_s32(part[2], part[3])));
    }
    return glint_rounding_of(vec_sum(product), vaddvq_s32(square), factor);
}

#include "cpu/quantize_tmpl.h"

void glint_matmul_init_neon(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
}
