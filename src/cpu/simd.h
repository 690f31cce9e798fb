// SPDX-License-Identifier: Apache-2.0
// simd.h — vectors of 16 floats, in the instruction set that the including file is compiled for:
// one AVX-512 register, two of AVX2 or four of NEON. All do the same operations on the same lanes,
// so kernels written on them give the same bits on every tier. Without any of them the header is
// empty.
#ifndef GLINT_CPU_SIMD_H
#define GLINT_CPU_SIMD_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "cpu/simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "cpu/simd_avx2.h"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include "cpu/simd_neon.h"
#endif

#ifdef GLINT_SIMD
#ifdef __AVX2__

// Sum and largest of 16 lanes: halves are joined until one value is left.
static inline float vec_sum(vec x) {
    __m256 y = _mm256_add_ps(vec_low(x), vec_high(x));
    __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    z = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));
}

static inline float vec_greatest(vec x) {
    __m256 y = _mm256_max_ps(vec_low(x), vec_high(x));
    __m128 z = _mm_max_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    z = _mm_max_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_max_ss(z, _mm_movehdup_ps(z)));
}

#endif

// e^x for x <= 88: below -87.33 the result is 0; NaN stays NaN. Largest error 1.1 units in the
// last place. x = n ln 2 + r, the polynomial is minimax on |r| <= ln 2 / 2.
static inline vec vec_exp(vec x) {
    const float lowest = -87.33f;
    vec n = vec_round(vec_mul(x, vec_set(0x1.715476p+0f)));
    vec r = vec_fnma(n, vec_set(0x1.62e43p-1f), x);
    r = vec_fnma(n, vec_set(-0x1.05c61p-29f), r);
    vec p = vec_set(0x1.6a23f2p-10f);
    p = vec_fma(p, r, vec_set(0x1.123a0ap-7f));
    p = vec_fma(p, r, vec_set(0x1.5558f2p-5f));
    p = vec_fma(p, r, vec_set(0x1.555492p-3f));
    p = vec_fma(p, r, vec_set(0x1.fffffcp-2f));
    p = vec_fma(p, vec_mul(r, r), r);
    return vec_zero_below(vec_scale(vec_add(p, vec_set(1)), n), x, lowest);
}

// 1 / (1 + e^-x), relative error 2.5 units in the last place until it underflows to 0. The
// exponential is taken of minus the magnitude, so nothing overflows.
static inline vec vec_sigmoid(vec x) {
    vec e = vec_exp(vec_sub(vec_zero(), vec_abs(x)));
    return vec_div(vec_below(x, 0, e, vec_set(1)), vec_add(vec_set(1), e));
}

// x / 2 (1 + erf(x / sqrt 2)), off by at most 1e-7 |x|. With s = |x| and P a weighted minimax
// polynomial on [0, 6.5], erfc(s / sqrt 2) = e^-P(s); past 6.5 it is below 1e-10 and taken as 0.
static inline vec vec_gelu(vec x) {
    const float last = 6.5f;
    vec s = vec_abs(x);
    vec p = vec_set(0x1.21bc2cp-25f);
    p = vec_fma(p, s, vec_set(-0x1.d01d38p-21f));
    p = vec_fma(p, s, vec_set(0x1.47b154p-17f));
    p = vec_fma(p, s, vec_set(-0x1.04def8p-14f));
    p = vec_fma(p, s, vec_set(0x1.c51d2ap-13f));
    p = vec_fma(p, s, vec_set(-0x1.fdfefp-16f));
    p = vec_fma(p, s, vec_set(-0x1.3a1ed8p-8f));
    p = vec_fma(p, s, vec_set(0x1.29b778p-5f));
    p = vec_fma(p, s, vec_set(0x1.45f28ep-2f));
    p = vec_fma(p, s, vec_set(0x1.988458p-1f));
    vec e = vec_exp(vec_sub(vec_zero(), vec_mul(p, vec_min(vec_set(last), s))));
    e = vec_zero_below(e, vec_sub(vec_set(last), s), 0);
    vec half = vec_mul(x, vec_set(0.5f));
    return vec_mul(half, vec_below(x, 0, e, vec_sub(vec_set(2), e)));
}

// Largest error 2 units in the last place. Odd polynomial near 0, 1 - 2 / (1 + e^2x) elsewhere.
static inline vec vec_tanh(vec x) {
    const float small = 0.6f, saturated = 10;
    vec a = vec_abs(x);
    vec z = vec_mul(a, a);
    vec p = vec_set(-0x1.830c08p-8f);
    p = vec_fma(p, z, vec_set(0x1.54e01cp-6f));
    p = vec_fma(p, z, vec_set(-0x1.b89edap-5f));
    p = vec_fma(p, z, vec_set(0x1.1109dcp-3f));
    p = vec_fma(p, z, vec_set(-0x1.55553ep-2f));
    p = vec_fma(vec_mul(p, z), a, a);
    vec e = vec_exp(vec_mul(vec_min(vec_set(saturated), a), vec_set(2)));
    vec q = vec_sub(vec_set(1), vec_div(vec_set(2), vec_add(vec_set(1), e)));
    return vec_copy_sign(vec_below(a, small, p, q), x);
}

#endif
#endif
