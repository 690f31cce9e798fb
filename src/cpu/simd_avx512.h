// SPDX-License-Identifier: Apache-2.0
// simd_avx512.h — the vector of simd.h as one 512-bit register. Included through simd.h only.
#ifndef GLINT_CPU_SIMD_AVX512_H
#define GLINT_CPU_SIMD_AVX512_H

#ifdef __AVX512F__
#define GLINT_SIMD

#include <immintrin.h>
#include <stdint.h>

typedef __m512 vec;
enum {
    GLINT_SIMD_LANES = 16,
    // Register tiles: 4 rows of 4 vectors are 16 sums, 4 operands and a factor.
    GLINT_SIMD_WIDE = 4,
    GLINT_SIMD_DEEP = 4,
    GLINT_SIMD_FEW = 2, // rows of the smaller tile
};

static inline vec vec_zero(void) {
    return _mm512_setzero_ps();
}
static inline vec vec_set(float x) {
    return _mm512_set1_ps(x);
}
static inline vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vec_store(float *p, vec x) {
    _mm512_storeu_ps(p, x);
}
static inline __mmask16 vec_first(int n) {
    return (__mmask16)((1u << n) - 1);
}
// The first n lanes, 0 <= n <= 16; the others 0, their memory is not touched.
static inline vec vec_load_part(const float *p, int n) {
    return _mm512_maskz_loadu_ps(vec_first(n), p);
}
static inline void vec_store_part(float *p, vec x, int n) {
    _mm512_mask_storeu_ps(p, vec_first(n), x);
}
static inline vec vec_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
    return _mm512_div_ps(a, b);
}
static inline vec vec_fma(vec a, vec b, vec c) { // a b + c
    return _mm512_fmadd_ps(a, b, c);
}
static inline vec vec_fnma(vec a, vec b, vec c) { // c - a b
    return _mm512_fnmadd_ps(a, b, c);
}
static inline vec vec_max(vec a, vec b) { // b when one is NaN
    return _mm512_max_ps(a, b);
}
static inline vec vec_min(vec a, vec b) { // b when one is NaN
    return _mm512_min_ps(a, b);
}
static inline vec vec_abs(vec x) {
    return _mm512_abs_ps(x);
}
static inline vec vec_copy_sign(vec magnitude, vec sign) {
    return _mm512_or_ps(magnitude, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}
static inline vec vec_round(vec x) { // to the nearest, ties to even
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// x 2^n for whole n in [-126, 127], rounded once.
static inline vec vec_scale(vec x, vec n) {
    return _mm512_scalef_ps(x, n);
}
// value where x >= limit or x is NaN, else 0.
static inline vec vec_zero_below(vec value, vec x, float limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_NLT_UQ), value);
}
// x < limit ? then : otherwise
static inline vec vec_below(vec x, float limit, vec then, vec otherwise) {
    return _mm512_mask_mov_ps(otherwise, _mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_LT_OQ),
                              then);
}
// Lanes [begin, end) of x, `other` elsewhere; 0 <= begin <= end <= 16.
static inline vec vec_keep(vec x, int begin, int end, vec other) {
    return _mm512_mask_mov_ps(other, (__mmask16)(vec_first(end) & ~vec_first(begin)), x);
}
static inline vec vec_even(vec x) { // lanes 0 0 2 2 ...
    return _mm512_moveldup_ps(x);
}
static inline vec vec_odd(vec x) { // lanes 1 1 3 3 ...
    return _mm512_movehdup_ps(x);
}
static inline vec vec_swap(vec x) { // lanes 1 0 3 2 ...
    return _mm512_permute_ps(x, 0xb1);
}
// a b - c in even lanes, a b + c in odd ones.
static inline vec vec_fma_sub_add(vec a, vec b, vec c) {
    return _mm512_fmaddsub_ps(a, b, c);
}
static inline float vec_half_value(uint16_t half) {
    return _cvtsh_ss(half);
}
static inline vec vec_half_load(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline void vec_half_store(uint16_t *p, vec x) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline vec vec_bfloat_load(const uint16_t *p) {
    __m256i halves = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
static inline vec vec_int8_load(const int8_t *p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

static inline __m256 vec_low(vec x) {
    return _mm512_castps512_ps256(x);
}
static inline __m256 vec_high(vec x) {
    return _mm512_extractf32x8_ps(x, 1);
}

// Rows of 16 become columns: lane i of r[j] and lane j of r[i] change places.
static inline void vec_transpose(vec r[16]) {
    vec t[16];
    for (int i = 0; i < 16; i += 2) { // pairs of rows: 2 x 2
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) { // 4 x 4 within 128 bits
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) { // blocks of 128 bits
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

#endif
#endif
