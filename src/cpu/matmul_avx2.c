// SPDX-License-Identifier: Apache-2.0
// matmul_avx2.c — the matrix product kernels on 256-bit registers.
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <stdbool.h>

// 4 rows of x by 8 weight rows: their sums and what is on the way to them fit 16 registers.
#define TOKENS     4
#define VECTORS    1
#define DOT_TOKENS 1

#include "cpu/dot_pairs.h"
#include "cpu/dot_simd.h"
#include "cpu/multiply_tmpl.h"
#include "cpu/unpack_tiles.h"

static inline __m256i magnitude_bits(const float *x) {
    return _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x)), _mm256_set1_epi32(0x7fffffff));
}

// Magnitudes compare as their bits; NaN and infinity lie above all numbers.
static inline uint32_t largest_magnitude(const float *x) {
    __m256i a = _mm256_max_epi32(magnitude_bits(x), magnitude_bits(x + 8));
    __m256i b = _mm256_max_epi32(magnitude_bits(x + 16), magnitude_bits(x + 24));
    a = _mm256_max_epi32(a, b);
    __m128i c = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    c = _mm_max_epi32(c, _mm_shuffle_epi32(c, 0x4e));
    c = _mm_max_epi32(c, _mm_shuffle_epi32(c, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(c);
}

static inline int32_t add_lanes(__m256i x) {
    __m128i c = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0x4e));
    c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0xb1));
    return _mm_cvtsi128_si32(c);
}

// Sums over a block so far: of q * q, and of r * q in 16 lanes.
struct block_sums {
    __m256i square;
    __m256 low, high;
};

// 16 values to bytes; returns their sum.
static inline int32_t round_16(int8_t *q, __m256 low, __m256 high, struct block_sums *sums) {
    __m256i a = _mm256_cvtps_epi32(low), b = _mm256_cvtps_epi32(high);
    __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(shorts), _mm256_extracti128_si256(shorts, 1));
    _mm_storeu_si128((__m128i *)(void *)q, bytes);
    sums->square = _mm256_add_epi32(sums->square, _mm256_madd_epi16(shorts, shorts));
    sums->low = _mm256_fmadd_ps(low, _mm256_cvtepi32_ps(a), sums->low);
    sums->high = _mm256_fmadd_ps(high, _mm256_cvtepi32_ps(b), sums->high);
    return add_lanes(_mm256_add_epi32(a, b));
}

static inline struct glint_rounding round_block(int8_t *q, int32_t *sum, const float *x,
                                                float factor) {
    __m256 inverse = _mm256_set1_ps(factor);
    struct block_sums sums = {_mm256_setzero_si256(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int h = 0; h < 2; h++)
        sum[h] = round_16(q + 16 * h, _mm256_mul_ps(_mm256_loadu_ps(x + 16 * h), inverse),
                          _mm256_mul_ps(_mm256_loadu_ps(x + 16 * h + 8), inverse), &sums);
    __m256 a = _mm256_add_ps(sums.low, sums.high);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    b = _mm_add_ss(b, _mm_movehdup_ps(b));
    return glint_rounding_of(_mm_cvtss_f32(b), add_lanes(sums.square), factor);
}

#include "cpu/quantize_tmpl.h"

void glint_matmul_init_avx2(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
}
