// SPDX-License-Identifier: Apache-2.0
// dot_simd.h — the float kernels of a tier on the 16-lane vectors of simd.h: decoding of the
// 16-bit float types, and dot products of 4 weight rows with up to DOT_TOKENS rows of x.
#ifndef GLINT_CPU_DOT_SIMD_H
#define GLINT_CPU_DOT_SIMD_H

#include "cpu/matmul_tile.h"
#include "cpu/simd.h"
#include "quant/codec.h"

#if defined(GLINT_SIMD) && defined(DOT_TOKENS)

// Rows of x [token, token + n_token) by all weight rows; n_token is constant where it is inlined.
static inline __attribute__((always_inline)) void dot_block(const struct glint_dot *job, int token,
                                                            int n_token) {
    vec sum[GLINT_DOT_ROWS][DOT_TOKENS];
    float *lanes[GLINT_DOT_ROWS];
    const float *x = job->x + (size_t)token * job->x_stride;
#pragma GCC unroll 16
    for (int r = 0; r < GLINT_DOT_ROWS; r++) {
        lanes[r] = job->lanes + (r * job->n_token + token) * GLINT_DOT_LANES;
#pragma GCC unroll 16
        for (int t = 0; t < n_token; t++)
            sum[r][t] = vec_load(lanes[r] + t * GLINT_DOT_LANES);
    }
    int c = 0;
    for (; c + GLINT_DOT_LANES <= job->n_col; c += GLINT_DOT_LANES) {
        vec value[DOT_TOKENS];
#pragma GCC unroll 16
        for (int t = 0; t < n_token; t++)
            value[t] = vec_load(x + (size_t)t * job->x_stride + c);
#pragma GCC unroll 16
        for (int r = 0; r < GLINT_DOT_ROWS; r++) {
            vec w = vec_load(job->w[r] + c);
#pragma GCC unroll 16
            for (int t = 0; t < n_token; t++)
                sum[r][t] = vec_fma(w, value[t], sum[r][t]);
        }
    }
    if (c < job->n_col)
#pragma GCC unroll 16
        for (int t = 0; t < n_token; t++) {
            vec value = vec_load_part(x + (size_t)t * job->x_stride + c, job->n_col - c);
#pragma GCC unroll 16
            for (int r = 0; r < GLINT_DOT_ROWS; r++)
                sum[r][t] = vec_fma(vec_load(job->w[r] + c), value, sum[r][t]);
        }
#pragma GCC unroll 16
    for (int r = 0; r < GLINT_DOT_ROWS; r++)
#pragma GCC unroll 16
        for (int t = 0; t < n_token; t++)
            vec_store(lanes[r] + t * GLINT_DOT_LANES, sum[r][t]);
}

static void dot(const struct glint_dot *job) {
    int token = 0;
    for (; token + DOT_TOKENS <= job->n_token; token += DOT_TOKENS)
        dot_block(job, token, DOT_TOKENS);
    for (; token < job->n_token; token++)
        dot_block(job, token, 1);
}

static void decode_f16(const void *blocks, float *values, size_t n) {
    const uint16_t *half = blocks;
    size_t i = 0;
    for (; i + GLINT_SIMD_LANES <= n; i += GLINT_SIMD_LANES)
        vec_store(values + i, vec_half_load(half + i));
    glint_f16_decode(half + i, values + i, n - i);
}

static void decode_bf16(const void *blocks, float *values, size_t n) {
    const uint16_t *half = blocks;
    size_t i = 0;
    for (; i + GLINT_SIMD_LANES <= n; i += GLINT_SIMD_LANES)
        vec_store(values + i, vec_bfloat_load(half + i));
    glint_bf16_decode(half + i, values + i, n - i);
}

static inline void fill_dot(struct glint_matmul_kernels *kernels) {
    kernels->dot = dot;
    kernels->decode[GLINT_DTYPE_F16] = decode_f16;
    kernels->decode[GLINT_DTYPE_BF16] = decode_bf16;
}

#endif
#endif
