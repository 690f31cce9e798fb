// SPDX-License-Identifier: Apache-2.0
// lanes_avx512.h — the operations of lanes.h on 512-bit registers. Included through lanes.h only.
#ifndef GLINT_CPU_LANES_AVX512_H
#define GLINT_CPU_LANES_AVX512_H

#ifdef __AVX512BW__
#define GLINT_LANES

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __m512i lanes_int;
typedef __m512 lanes_float;
enum { LANES = 16 };

static inline lanes_int int_load(const void *from) {
    return _mm512_loadu_si512(from);
}

static inline void int_store(void *to, lanes_int a) {
    _mm512_storeu_si512(to, a);
}

static inline lanes_int int_zero(void) {
    return _mm512_setzero_si512();
}

static inline lanes_int int_all(int value) {
    return _mm512_set1_epi32(value);
}

static inline lanes_int byte_all(int value) {
    return _mm512_set1_epi8((char)value);
}

// Four bytes (or one int32) to every lane.
static inline lanes_int int_spread(const void *from) {
    int32_t value;
    memcpy(&value, from, sizeof value);
    return _mm512_set1_epi32(value);
}

static inline lanes_int int_and(lanes_int a, lanes_int b) {
    return _mm512_and_si512(a, b);
}

static inline lanes_int int_or(lanes_int a, lanes_int b) {
    return _mm512_or_si512(a, b);
}

static inline lanes_int int_xor(lanes_int a, lanes_int b) {
    return _mm512_xor_si512(a, b);
}

static inline lanes_int int_add(lanes_int a, lanes_int b) {
    return _mm512_add_epi32(a, b);
}

static inline lanes_int int_mul(lanes_int a, lanes_int b) {
    return _mm512_mullo_epi32(a, b);
}

// Shifts of 32-bit lanes.
static inline lanes_int int_left(lanes_int a, unsigned n) {
    return _mm512_slli_epi32(a, n);
}

static inline lanes_int int_right(lanes_int a, unsigned n) {
    return _mm512_srli_epi32(a, n);
}

static inline lanes_int int_right_signed(lanes_int a, unsigned n) {
    return _mm512_srai_epi32(a, n);
}

// Products of unsigned w and signed x, pairs summed to 16 bits; the caller knows that they fit.
static inline lanes_int byte_pairs(lanes_int w, lanes_int x) {
    return _mm512_maddubs_epi16(w, x);
}

static inline lanes_int short_add(lanes_int a, lanes_int b) {
    return _mm512_add_epi16(a, b);
}

// Pairs of 16 bits summed to 32.
static inline lanes_int short_pairs(lanes_int a) {
    return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}

static inline lanes_int byte_abs(lanes_int a) {
    return _mm512_abs_epi8(a);
}

// x where by is positive, -x where it is negative.
static inline lanes_int byte_negate(lanes_int x, lanes_int by) {
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(by), _mm512_setzero_si512(), x);
}

static inline lanes_float float_load(const float *from) {
    return _mm512_loadu_ps(from);
}

static inline void float_store(float *to, lanes_float a) {
    _mm512_storeu_ps(to, a);
}

static inline lanes_float float_all(float value) {
    return _mm512_set1_ps(value);
}

static inline lanes_float float_mul(lanes_float a, lanes_float b) {
    return _mm512_mul_ps(a, b);
}

static inline lanes_float float_fma(lanes_float a, lanes_float b, lanes_float c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline lanes_float float_from_int(lanes_int a) {
    return _mm512_cvtepi32_ps(a);
}

static inline lanes_float float_from_bits(lanes_int a) {
    return _mm512_castsi512_ps(a);
}

// The binary16 in the low half of each lane.
static inline lanes_float float_from_low_half(lanes_int a) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a));
}

static inline __m512i rows_4_apart(const uint8_t *from, size_t stride) {
    __m512i a = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)from));
    a = _mm512_inserti32x4(a, _mm_loadu_si128((const __m128i *)(const void *)(from + 4 * stride)),
                           1);
    a = _mm512_inserti32x4(a, _mm_loadu_si128((const __m128i *)(const void *)(from + 8 * stride)),
                           2);
    return _mm512_inserti32x4(
        a, _mm_loadu_si128((const __m128i *)(const void *)(from + 12 * stride)), 3);
}

// 16 bytes of each of LANES rows, transposed: lane r of out[i] is bytes 4i..4i+3 of row r.
static inline void load_rows_16(lanes_int out[4], const uint8_t *from, size_t stride) {
    __m512i a0 = rows_4_apart(from, stride);
    __m512i a1 = rows_4_apart(from + stride, stride);
    __m512i a2 = rows_4_apart(from + 2 * stride, stride);
    __m512i a3 = rows_4_apart(from + 3 * stride, stride);
    __m512i low01 = _mm512_unpacklo_epi32(a0, a1), high01 = _mm512_unpackhi_epi32(a0, a1);
    __m512i low23 = _mm512_unpacklo_epi32(a2, a3), high23 = _mm512_unpackhi_epi32(a2, a3);
    out[0] = _mm512_unpacklo_epi64(low01, low23);
    out[1] = _mm512_unpackhi_epi64(low01, low23);
    out[2] = _mm512_unpacklo_epi64(high01, high23);
    out[3] = _mm512_unpackhi_epi64(high01, high23);
}

#endif
#endif
