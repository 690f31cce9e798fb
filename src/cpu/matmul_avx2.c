// SPDX-License-Identifier: Apache-2.0
// matmul_avx2.c — the matrix product kernels on 256-bit registers.
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <stdbool.h>

#define TOKENS       2
#define VECTORS      2
#define STEPS        2
#define SIGNED_BYTES 1
#define DOT_TOKENS   1

#include "cpu/dot_pairs.h"
#include "cpu/dot_simd.h"
#include "cpu/multiply_tmpl.h"
#include "cpu/unpack_tmpl.h"

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

// 16 values to bytes; returns their sum.
static inline int32_t round_16(int8_t *q, const float *x, __m256 inverse, bool finite) {
    __m256 low = finite ? _mm256_loadu_ps(x) : _mm256_setzero_ps();
    __m256 high = finite ? _mm256_loadu_ps(x + 8) : _mm256_setzero_ps();
    __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(low, inverse));
    __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(high, inverse));
    __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(shorts), _mm256_extracti128_si256(shorts, 1));
    _mm_storeu_si128((__m128i *)(void *)q, bytes);
    a = _mm256_add_epi32(a, b);
    __m128i c = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0x4e));
    c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0xb1));
    return _mm_cvtsi128_si32(c);
}

static void quantize(int8_t *q, float *scale, int32_t *sum, const float *x, int n) {
    for (int b = 0; b < n / 32; b++, q += 32, sum += 2, x += 32) {
        uint32_t bits = largest_magnitude(x);
        float max;
        memcpy(&max, &bits, sizeof max);
        bool finite = bits < 0x7f800000u, zero = !(max >= 0x1p-100f);
        scale[b] = !finite ? NAN : zero ? 0 : max / 127.0f;
        __m256 inverse = _mm256_set1_ps(!finite || zero ? 0 : 127.0f / max);
        sum[0] = round_16(q, x, inverse, finite);
        sum[1] = round_16(q + 16, x + 16, inverse, finite);
    }
}

void glint_matmul_init_avx2(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
}
