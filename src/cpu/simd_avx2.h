// SPDX-License-Identifier: Apache-2.0
// simd_avx2.h — the vector of simd.h as two 256-bit registers. Included through simd.h only.
#ifndef GLINT_CPU_SIMD_AVX2_H
#define GLINT_CPU_SIMD_AVX2_H

#ifdef __AVX2__
#define GLINT_SIMD

#include <immintrin.h>
#include <stdint.h>

typedef struct {
    __m256 low, high; // lanes 0..7, 8..15
} vec;
enum {
    GLINT_SIMD_LANES = 16,
    // Register tiles: 6 rows of one vector are 12 sums, 2 operands and a factor: 15 registers.
    GLINT_SIMD_WIDE = 1,
    GLINT_SIMD_DEEP = 6,
    GLINT_SIMD_FEW = 4, // rows of the smaller tile: 16 heads are 6 + 6 + 4
};

static inline vec vec_zero(void) {
    return (vec){_mm256_setzero_ps(), _mm256_setzero_ps()};
}
static inline vec vec_set(float x) {
    return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
static inline vec vec_load(const float *p) {
    return (vec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
static inline void vec_store(float *p, vec x) {
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
}
// All bits of lane i when i < n.
static inline __m256i vec_first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// The first n lanes, 0 <= n <= 16; the others 0, their memory is not touched.
static inline vec vec_load_part(const float *p, int n) {
    return (vec){_mm256_maskload_ps(p, vec_first(n)),
                 n > 8 ? _mm256_maskload_ps(p + 8, vec_first(n - 8)) : _mm256_setzero_ps()};
}
static inline void vec_store_part(float *p, vec x, int n) {
    _mm256_maskstore_ps(p, vec_first(n), x.low);
    if (n > 8)
        _mm256_maskstore_ps(p + 8, vec_first(n - 8), x.high);
}
static inline vec vec_add(vec a, vec b) {
    return (vec){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
static inline vec vec_sub(vec a, vec b) {
    return (vec){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
static inline vec vec_mul(vec a, vec b) {
    return (vec){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
static inline vec vec_div(vec a, vec b) {
    return (vec){_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
static inline vec vec_fma(vec a, vec b, vec c) { // a b + c
    return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
static inline vec vec_fnma(vec a, vec b, vec c) { // c - a b
    return (vec){_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
}
static inline vec vec_max(vec a, vec b) { // b when one is NaN
    return (vec){_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
static inline vec vec_min(vec a, vec b) { // b when one is NaN
    return (vec){_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
static inline vec vec_abs(vec x) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (vec){_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
}
static inline vec vec_copy_sign(vec magnitude, vec sign) {
    __m256 mask = _mm256_set1_ps(-0.0f);
    return (vec){_mm256_or_ps(magnitude.low, _mm256_and_ps(sign.low, mask)),
                 _mm256_or_ps(magnitude.high, _mm256_and_ps(sign.high, mask))};
}
static inline vec vec_round(vec x) { // to the nearest, ties to even
    return (vec){_mm256_round_ps(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                 _mm256_round_ps(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
static inline __m256 vec_power_of_two(__m256 n) {
    __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
// x 2^n for whole n in [-126, 127], rounded once.
static inline vec vec_scale(vec x, vec n) {
    return (vec){_mm256_mul_ps(x.low, vec_power_of_two(n.low)),
                 _mm256_mul_ps(x.high, vec_power_of_two(n.high))};
}
// value where x >= limit or x is NaN, else 0.
static inline vec vec_zero_below(vec value, vec x, float limit) {
    __m256 bound = _mm256_set1_ps(limit);
    return (vec){_mm256_and_ps(value.low, _mm256_cmp_ps(x.low, bound, _CMP_NLT_UQ)),
                 _mm256_and_ps(value.high, _mm256_cmp_ps(x.high, bound, _CMP_NLT_UQ))};
}
// x < limit ? then : otherwise
static inline vec vec_below(vec x, float limit, vec then, vec otherwise) {
    __m256 bound = _mm256_set1_ps(limit);
    return (vec){
        _mm256_blendv_ps(otherwise.low, then.low, _mm256_cmp_ps(x.low, bound, _CMP_LT_OQ)),
        _mm256_blendv_ps(otherwise.high, then.high, _mm256_cmp_ps(x.high, bound, _CMP_LT_OQ))};
}
static inline __m256 vec_between(int begin, int end) {
    return _mm256_castsi256_ps(_mm256_andnot_si256(vec_first(begin), vec_first(end)));
}
// Lanes [begin, end) of x, `other` elsewhere; 0 <= begin <= end <= 16.
static inline vec vec_keep(vec x, int begin, int end, vec other) {
    return (vec){_mm256_blendv_ps(other.low, x.low, vec_between(begin, end)),
                 _mm256_blendv_ps(other.high, x.high, vec_between(begin - 8, end - 8))};
}
static inline vec vec_even(vec x) { // lanes 0 0 2 2 ...
    return (vec){_mm256_moveldup_ps(x.low), _mm256_moveldup_ps(x.high)};
}
static inline vec vec_odd(vec x) { // lanes 1 1 3 3 ...
    return (vec){_mm256_movehdup_ps(x.low), _mm256_movehdup_ps(x.high)};
}
static inline vec vec_swap(vec x) { // lanes 1 0 3 2 ...
    return (vec){_mm256_permute_ps(x.low, 0xb1), _mm256_permute_ps(x.high, 0xb1)};
}
// a b - c in even lanes, a b + c in odd ones.
static inline vec vec_fma_sub_add(vec a, vec b, vec c) {
    return (vec){_mm256_fmaddsub_ps(a.low, b.low, c.low),
                 _mm256_fmaddsub_ps(a.high, b.high, c.high)};
}
static inline __m128i vec_load_16_bytes(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}
static inline float vec_half_value(uint16_t half) {
    return _cvtsh_ss(half);
}
static inline vec vec_half_load(const uint16_t *p) {
    return (vec){_mm256_cvtph_ps(vec_load_16_bytes(p)), _mm256_cvtph_ps(vec_load_16_bytes(p + 8))};
}
static inline void vec_half_store(uint16_t *p, vec x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(void *)(p + 8),
                     _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT));
}
static inline vec vec_bfloat_load(const uint16_t *p) {
    __m256i low = _mm256_cvtepu16_epi32(vec_load_16_bytes(p));
    __m256i high = _mm256_cvtepu16_epi32(vec_load_16_bytes(p + 8));
    return (vec){_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
                 _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
static inline vec vec_int8_load(const int8_t *p) {
    __m128i bytes = vec_load_16_bytes(p);
    return (vec){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                 _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

static inline __m256 vec_low(vec x) {
    return x.low;
}
static inline __m256 vec_high(vec x) {
    return x.high;
}

// Rows of 8 become columns.
static inline void vec_transpose_8(__m256 r[8]) {
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < 8; i++)
        r[i] = t[i];
}

// Rows of 16 become columns: lane i of r[j] and lane j of r[i] change places.
static inline void vec_transpose(vec r[16]) {
    __m256 a[8], b[8], c[8], d[8];
    for (int i = 0; i < 8; i++) {
        a[i] = r[i].low;
        b[i] = r[i].high;
        c[i] = r[i + 8].low;
        d[i] = r[i + 8].high;
    }
    vec_transpose_8(a);
    vec_transpose_8(b);
    vec_transpose_8(c);
    vec_transpose_8(d);
    for (int i = 0; i < 8; i++) {
        r[i] = (vec){a[i], c[i]};
        r[i + 8] = (vec){b[i], d[i]};
    }
}

#endif
#endif
