// SPDX-License-Identifier: Apache-2.0
// matmul_avx512.c — the matrix product kernels on 512-bit registers, without VNNI.
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <stdbool.h>

#define TOKENS     4
#define VECTORS    2
#define DOT_TOKENS 4

#include "cpu/dot_pairs.h"
#include "cpu/dot_simd.h"
#include "cpu/multiply_tmpl.h"
#include "cpu/unpack_tiles.h"

// Magnitudes compare as their bits; NaN and infinity lie above all numbers.
static inline uint32_t largest_magnitude(const float *x) {
    __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + 16);
    __m512i mask = _mm512_set1_epi32(0x7fffffff);
    __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a), mask),
                                    _mm512_and_si512(_mm512_castps_si512(b), mask));
    return _mm512_reduce_max_epu32(bits);
}

// Lanes 8, 4, 2, 1 apart, in this order.
static inline float add_lanes(__m512 x) {
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    b = _mm_add_ss(b, _mm_movehdup_ps(b));
    return _mm_cvtss_f32(b);
}

static inline struct glint_rounding round_block(int8_t *q, int32_t *sum, const float *x,
                                                float factor) {
    __m512 inverse = _mm512_set1_ps(factor);
    __m512 low = _mm512_mul_ps(_mm512_loadu_ps(x), inverse);
    __m512 high = _mm512_mul_ps(_mm512_loadu_ps(x + 16), inverse);
    __m512i low_q = _mm512_cvtps_epi32(low), high_q = _mm512_cvtps_epi32(high);
    _mm_storeu_si128((__m128i *)(void *)q, _mm512_cvtepi32_epi8(low_q));
    _mm_storeu_si128((__m128i *)(void *)(q + 16), _mm512_cvtepi32_epi8(high_q));
    sum[0] = _mm512_reduce_add_epi32(low_q);
    sum[1] = _mm512_reduce_add_epi32(high_q);
    __m512i square =
        _mm512_add_epi32(_mm512_mullo_epi32(low_q, low_q), _mm512_mullo_epi32(high_q, high_q));
    __m512 product = _mm512_fmadd_ps(high, _mm512_cvtepi32_ps(high_q),
                                     _mm512_mul_ps(low, _mm512_cvtepi32_ps(low_q)));
    return glint_rounding_of(add_lanes(product), _mm512_reduce_add_epi32(square), factor);
}

#include "cpu/quantize_tmpl.h"

void glint_matmul_init_avx512(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
}
