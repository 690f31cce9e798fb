// SPDX-License-Identifier: Apache-2.0
// matmul_avx512.c — the matrix product kernels on 512-bit registers, without VNNI.
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <stdbool.h>

#define TOKENS       4
#define VECTORS      2
#define STEPS        2
#define SIGNED_BYTES 1
#define DOT_TOKENS   4

#include "cpu/dot_pairs.h"
#include "cpu/dot_simd.h"
#include "cpu/multiply_tmpl.h"
#include "cpu/unpack_tmpl.h"

// Magnitudes compare as their bits; NaN and infinity lie above all numbers.
static inline uint32_t largest_magnitude(__m512 a, __m512 b) {
    __m512i mask = _mm512_set1_epi32(0x7fffffff);
    __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a), mask),
                                    _mm512_and_si512(_mm512_castps_si512(b), mask));
    return _mm512_reduce_max_epu32(bits);
}

static void quantize(int8_t *q, float *scale, int32_t *sum, const float *x, int n) {
    for (int b = 0; b < n / 32; b++, q += 32, sum += 2, x += 32) {
        __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
        uint32_t bits = largest_magnitude(low, high);
        float max;
        memcpy(&max, &bits, sizeof max);
        bool finite = bits < 0x7f800000u, zero = !(max >= 0x1p-100f);
        scale[b] = !finite ? NAN : zero ? 0 : max / 127.0f;
        __m512 inverse = _mm512_set1_ps(!finite || zero ? 0 : 127.0f / max);
        if (!finite)
            low = high = _mm512_setzero_ps();
        __m512i low_q = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
        __m512i high_q = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
        _mm_storeu_si128((__m128i *)(void *)q, _mm512_cvtepi32_epi8(low_q));
        _mm_storeu_si128((__m128i *)(void *)(q + 16), _mm512_cvtepi32_epi8(high_q));
        sum[0] = _mm512_reduce_add_epi32(low_q);
        sum[1] = _mm512_reduce_add_epi32(high_q);
    }
}

void glint_matmul_init_avx512(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
}
