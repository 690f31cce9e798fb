// SPDX-License-Identifier: Apache-2.0
// lanes_avx2.h — the operations of lanes.h on 256-bit registers. Included through lanes.h only.
#ifndef GLINT_CPU_LANES_AVX2_H
#define GLINT_CPU_LANES_AVX2_H

#ifdef __AVX2__
#define GLINT_LANES

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __m256i lanes_int;
typedef __m256 lanes_float;
enum { LANES = 8 };

static inline lanes_int int_load(const void *from) {
    return _mm256_loadu_si256(from);
}

static inline void int_store(void *to, lanes_int a) {
    _mm256_storeu_si256(to, a);
}

static inline lanes_int int_zero(void) {
    return _mm256_setzero_si256();
}

static inline lanes_int int_all(int value) {
    return _mm256_set1_epi32(value);
}

static inline lanes_int byte_all(int value) {
    return _mm256_set1_epi8((char)value);
}

// Four bytes (or one int32) to every lane.
static inline lanes_int int_spread(const void *from) {
    int32_t value;
    memcpy(&value, from, sizeof value);
    return _mm256_set1_epi32(value);
}

static inline lanes_int int_and(lanes_int a, lanes_int b) {
    return _mm256_and_si256(a, b);
}

static inline lanes_int int_or(lanes_int a, lanes_int b) {
    return _mm256_or_si256(a, b);
}

static inline lanes_int int_xor(lanes_int a, lanes_int b) {
    return _mm256_xor_si256(a, b);
}

static inline lanes_int int_add(lanes_int a, lanes_int b) {
    return _mm256_add_epi32(a, b);
}

static inline lanes_int int_mul(lanes_int a, lanes_int b) {
    return _mm256_mullo_epi32(a, b);
}

// Shifts of 32-bit lanes.
static inline lanes_int int_left(lanes_int a, unsigned n) {
    return _mm256_slli_epi32(a, (int)n);
}

static inline lanes_int int_right(lanes_int a, unsigned n) {
    return _mm256_srli_epi32(a, (int)n);
}

static inline lanes_int int_right_signed(lanes_int a, unsigned n) {
    return _mm256_srai_epi32(a, (int)n);
}

// Products of unsigned w and signed x, pairs summed to 16 bits; the caller knows that they fit.
static inline lanes_int byte_pairs(lanes_int w, lanes_int x) {
    return _mm256_maddubs_epi16(w, x);
}

static inline lanes_int short_add(lanes_int a, lanes_int b) {
    return _mm256_add_epi16(a, b);
}

// Pairs of 16 bits summed to 32.
static inline lanes_int short_pairs(lanes_int a) {
    return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}

static inline lanes_int byte_abs(lanes_int a) {
    return _mm256_abs_epi8(a);
}

// x where by is positive, -x where it is negative.
static inline lanes_int byte_negate(lanes_int x, lanes_int by) {
    return _mm256_sign_epi8(x, by);
}

static inline lanes_float float_load(const float *from) {
    return _mm256_loadu_ps(from);
}

static inline void float_store(float *to, lanes_float a) {
    _mm256_storeu_ps(to, a);
}

static inline lanes_float float_all(float value) {
    return _mm256_set1_ps(value);
}

static inline lanes_float float_mul(lanes_float a, lanes_float b) {
    return _mm256_mul_ps(a, b);
}

static inline lanes_float float_fma(lanes_float a, lanes_float b, lanes_float c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline lanes_float float_from_int(lanes_int a) {
    return _mm256_cvtepi32_ps(a);
}

static inline lanes_float float_from_bits(lanes_int a) {
    return _mm256_castsi256_ps(a);
}

// The binary16 in the low half of each lane.
static inline lanes_float float_from_low_half(lanes_int a) {
    __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}

static inline __m256i rows_4_apart(const uint8_t *from, size_t stride) {
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)from);
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(from + 4 * stride));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// 16 bytes of each of LANES rows, transposed: lane r of out[i] is bytes 4i..4i+3 of row r.
static inline void load_rows_16(lanes_int out[4], const uint8_t *from, size_t stride) {
    __m256i a0 = rows_4_apart(from, stride);
    __m256i a1 = rows_4_apart(from + stride, stride);
    __m256i a2 = rows_4_apart(from + 2 * stride, stride);
    __m256i a3 = rows_4_apart(from + 3 * stride, stride);
    __m256i low01 = _mm256_unpacklo_epi32(a0, a1), high01 = _mm256_unpackhi_epi32(a0, a1);
    __m256i low23 = _mm256_unpacklo_epi32(a2, a3), high23 = _mm256_unpackhi_epi32(a2, a3);
    out[0] = _mm256_unpacklo_epi64(low01, low23);
    out[1] = _mm256_unpackhi_epi64(low01, low23);
    out[2] = _mm256_unpacklo_epi64(high01, high23);
    out[3] = _mm256_unpackhi_epi64(high01, high23);
}

#endif
#endif
