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

// In all four lanes of part i the sum of x[i]: its lanes 8, 4, 2, 1 apart, in this order.
static inline __m512 add_lanes(const __m512 x[4]) {
    __m512 left = _mm512_add_ps(_mm512_shuffle_f32x4(x[0], x[1], 0x44),
                                _mm512_shuffle_f32x4(x[0], x[1], 0xee));
    __m512 right = _mm512_add_ps(_mm512_shuffle_f32x4(x[2], x[3], 0x44),
                                 _mm512_shuffle_f32x4(x[2], x[3], 0xee));
    __m512 sum = _mm512_add_ps(_mm512_shuffle_f32x4(left, right, 0x88),
                               _mm512_shuffle_f32x4(left, right, 0xdd));
    sum = _mm512_add_ps(sum, _mm512_permute_ps(sum, 0x4e));
    return _mm512_add_ps(sum, _mm512_permute_ps(sum, 0xb1));
}

// Lane 0 of each part.
static inline __m128 part_heads(__m512 x) {
    const __m512i head = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(head, x));
}

// Four inverses side by side, one in each part. The squares' sums are whole numbers below 2^24.
#define ROUND_BEST
static inline float round_best(int8_t *q, int32_t *sum, const float *x, float max) {
    __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
    float inverse[GLINT_ROUND_TRIES], score[4], scale[4];
    __m512 product[GLINT_ROUND_TRIES], square[GLINT_ROUND_TRIES];
#pragma GCC unroll 4
    for (int c = 0; c < GLINT_ROUND_TRIES; c++) {
        inverse[c] = glint_round_inverse(c, max);
        __m512 factor = _mm512_set1_ps(inverse[c]);
        __m512 a = _mm512_mul_ps(low, factor), b = _mm512_mul_ps(high, factor);
        __m512 round_a = _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        __m512 round_b = _mm512_roundscale_ps(b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        product[c] = _mm512_fmadd_ps(b, round_b, _mm512_mul_ps(a, round_a));
        square[c] = _mm512_fmadd_ps(round_b, round_b, _mm512_mul_ps(round_a, round_a));
    }
    // glint_rounding_of
    __m128 factor = _mm_loadu_ps(inverse), squares = part_heads(add_lanes(square));
    __m128 fit = _mm_div_ps(part_heads(add_lanes(product)), squares);
    _mm_storeu_ps(scale, _mm_div_ps(fit, factor));
    _mm_storeu_ps(
        score, _mm_div_ps(_mm_mul_ps(_mm_mul_ps(fit, fit), squares), _mm_mul_ps(factor, factor)));
    int best = 0;
    for (int c = 1; c < GLINT_ROUND_TRIES; c++)
        best = score[c] > score[best] ? c : best;
    __m512 best_factor = _mm512_set1_ps(inverse[best]);
    __m256i all = _mm256_inserti128_si256(
        _mm256_castsi128_si256(
            _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(low, best_factor)))),
        _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(high, best_factor))), 1);
    _mm256_storeu_si256((__m256i *)(void *)q, all);
    __m256i eights =
        _mm256_sad_epu8(_mm256_xor_si256(all, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
    __m256i sums = _mm256_add_epi64(eights, _mm256_unpackhi_epi64(eights, eights));
    sum[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(sums)) - 16 * 128;
    sum[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1)) - 16 * 128;
    return scale[best];
}

#include "cpu/quantize_tmpl.h"

static inline __m512 bf16_to_float(__m256i half) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

static inline __m512 f16_to_float(__m256i half) {
    return _mm512_cvtph_ps(half);
}

// Hardware fetches a row within its page of 4 KiB; these lines are of the next.
enum { DOT_ONE_AHEAD = 2048 };

#define DOT_ONE(type)                                                                              \
    static void dot_one_##type(float(*lanes)[GLINT_DOT_LANES],                                     \
                               const void *const w[GLINT_DOT_ROWS], const float *x,                \
                               int64_t n_col) {                                                    \
        __m512 sum[GLINT_DOT_ROWS];                                                                \
        for (int r = 0; r < GLINT_DOT_ROWS; r++)                                                   \
            sum[r] = _mm512_setzero_ps();                                                          \
        int64_t c = 0;                                                                             \
        for (; c + 16 <= n_col; c += 16) {                                                         \
            __m512 value = _mm512_loadu_ps(x + c);                                                 \
            for (int r = 0; r < GLINT_DOT_ROWS; r++) {                                             \
                const char *at = (const char *)w[r] + 2 * c;                                       \
                if (c % 32 == 0)                                                                   \
                    _mm_prefetch(at + DOT_ONE_AHEAD, _MM_HINT_T0);                                 \
                __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)at);              \
                sum[r] = _mm512_fmadd_ps(type##_to_float(half), value, sum[r]);                    \
            }                                                                                      \
        }                                                                                          \
        if (c < n_col) {                                                                           \
            __mmask16 some = (__mmask16)((1u << (n_col - c)) - 1);                                 \
            __m512 value = _mm512_maskz_loadu_ps(some, x + c);                                     \
            for (int r = 0; r < GLINT_DOT_ROWS; r++) {                                             \
                __m256i half = _mm256_maskz_loadu_epi16(some, (const char *)w[r] + 2 * c);         \
                sum[r] = _mm512_fmadd_ps(type##_to_float(half), value, sum[r]);                    \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < GLINT_DOT_ROWS; r++)                                                   \
            _mm512_storeu_ps(lanes[r], sum[r]);                                                    \
    }
DOT_ONE(bf16)
DOT_ONE(f16)

void glint_matmul_init_avx512(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    fill_unpack(kernels);
    fill_multiply(kernels);
    fill_dot(kernels);
    kernels->dot_one[GLINT_DTYPE_BF16] = dot_one_bf16;
    kernels->dot_one[GLINT_DTYPE_F16] = dot_one_f16;
}
