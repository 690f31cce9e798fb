// SPDX-License-Identifier: Apache-2.0
// simd_neon.h — the vector of simd.h as four 128-bit registers. Included through simd.h only.
#ifndef GLINT_CPU_SIMD_NEON_H
#define GLINT_CPU_SIMD_NEON_H

#ifdef __ARM_NEON
#define GLINT_SIMD

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    float32x4_t part[4]; // lanes 0..3, 4..7, 8..11, 12..15
} vec;
enum {
    GLINT_SIMD_LANES = 16,
    // Register tiles: 6 rows of one vector are 24 sums, 4 operands and a factor: 29 registers.
    GLINT_SIMD_WIDE = 1,
    GLINT_SIMD_DEEP = 6,
    GLINT_SIMD_FEW = 4, // rows of the smaller tile: 16 heads are 6 + 6 + 4
};

// The same on every part of x; i is the part's number.
#define EACH_PART(value)                                                                           \
    vec out;                                                                                       \
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) out.part[i] = (value);                     \
    return out

static inline vec vec_set(float x) {
    EACH_PART(vdupq_n_f32(x));
}
static inline vec vec_zero(void) {
    return vec_set(0);
}
static inline vec vec_load(const float *p) {
    EACH_PART(vld1q_f32(p + 4 * i));
}
static inline void vec_store(float *p, vec x) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        vst1q_f32(p + 4 * i, x.part[i]);
}
// The first n lanes, 0 <= n <= 16; the others 0, their memory is not touched.
static inline vec vec_load_part(const float *p, int n) {
    if (n == GLINT_SIMD_LANES)
        return vec_load(p);
    float lane[GLINT_SIMD_LANES] = {0};
    for (int i = 0; i < n; i++)
        lane[i] = p[i];
    return vec_load(lane);
}
static inline void vec_store_part(float *p, vec x, int n) {
    if (n == GLINT_SIMD_LANES) {
        vec_store(p, x);
        return;
    }
    float lane[GLINT_SIMD_LANES];
    vec_store(lane, x);
    for (int i = 0; i < n; i++)
        p[i] = lane[i];
}
static inline vec vec_add(vec a, vec b) {
    EACH_PART(vaddq_f32(a.part[i], b.part[i]));
}
static inline vec vec_sub(vec a, vec b) {
    EACH_PART(vsubq_f32(a.part[i], b.part[i]));
}
static inline vec vec_mul(vec a, vec b) {
    EACH_PART(vmulq_f32(a.part[i], b.part[i]));
}
static inline vec vec_div(vec a, vec b) {
    EACH_PART(vdivq_f32(a.part[i], b.part[i]));
}
static inline vec vec_fma(vec a, vec b, vec c) { // a b + c
    EACH_PART(vfmaq_f32(c.part[i], a.part[i], b.part[i]));
}
static inline vec vec_fnma(vec a, vec b, vec c) { // c - a b
    EACH_PART(vfmsq_f32(c.part[i], a.part[i], b.part[i]));
}
static inline float32x4_t larger(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline vec vec_max(vec a, vec b) { // b when one is NaN
    EACH_PART(larger(a.part[i], b.part[i]));
}
static inline vec vec_min(vec a, vec b) { // b when one is NaN
    EACH_PART(vbslq_f32(vcltq_f32(a.part[i], b.part[i]), a.part[i], b.part[i]));
}
static inline vec vec_abs(vec x) {
    EACH_PART(vabsq_f32(x.part[i]));
}
static inline vec vec_copy_sign(vec magnitude, vec sign) {
    EACH_PART(vbslq_f32(vdupq_n_u32(0x80000000u), sign.part[i], magnitude.part[i]));
}
static inline vec vec_round(vec x) { // to the nearest, ties to even
    EACH_PART(vrndnq_f32(x.part[i]));
}
static inline float32x4_t power_of_two(float32x4_t n) {
    int32x4_t biased = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(biased, 23));
}
// x 2^n for whole n in [-126, 127], rounded once.
static inline vec vec_scale(vec x, vec n) {
    EACH_PART(vmulq_f32(x.part[i], power_of_two(n.part[i])));
}
// value where x >= limit or x is NaN, else 0.
static inline vec vec_zero_below(vec value, vec x, float limit) {
    EACH_PART(vreinterpretq_f32_u32(
        vbicq_u32(vreinterpretq_u32_f32(value.part[i]), vcltq_f32(x.part[i], vdupq_n_f32(limit)))));
}
// x < limit ? then : otherwise
static inline vec vec_below(vec x, float limit, vec then, vec otherwise) {
    EACH_PART(vbslq_f32(vcltq_f32(x.part[i], vdupq_n_f32(limit)), then.part[i], otherwise.part[i]));
}
// Lanes [begin, end) of x, `other` elsewhere; 0 <= begin <= end <= 16.
static inline vec vec_keep(vec x, int begin, int end, vec other) {
    const int32_t first[4] = {0, 1, 2, 3};
    int32x4_t lane = vld1q_s32(first);
    EACH_PART(vbslq_f32(vandq_u32(vcgeq_s32(lane, vdupq_n_s32(begin - 4 * i)),
                                  vcltq_s32(lane, vdupq_n_s32(end - 4 * i))),
                        x.part[i], other.part[i]));
}
static inline vec vec_even(vec x) { // lanes 0 0 2 2 ...
    EACH_PART(vtrn1q_f32(x.part[i], x.part[i]));
}
static inline vec vec_odd(vec x) { // lanes 1 1 3 3 ...
    EACH_PART(vtrn2q_f32(x.part[i], x.part[i]));
}
static inline vec vec_swap(vec x) { // lanes 1 0 3 2 ...
    EACH_PART(vrev64q_f32(x.part[i]));
}
// a b - c in even lanes, a b + c in odd ones.
static inline vec vec_fma_sub_add(vec a, vec b, vec c) {
    const uint32_t signs[4] = {0x80000000u, 0, 0x80000000u, 0};
    uint32x4_t sign = vld1q_u32(signs);
    EACH_PART(vfmaq_f32(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c.part[i]), sign)),
                        a.part[i], b.part[i]));
}
static inline float vec_half_value(uint16_t half) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}
static inline vec vec_half_load(const uint16_t *p) {
    EACH_PART(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))));
}
static inline void vec_half_store(uint16_t *p, vec x) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.part[i])));
}
static inline vec vec_bfloat_load(const uint16_t *p) {
    EACH_PART(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)));
}
static inline vec vec_int8_load(const int8_t *p) {
    int8x16_t bytes = vld1q_s8(p);
    int16x8_t shorts[2] = {vmovl_s8(vget_low_s8(bytes)), vmovl_s8(vget_high_s8(bytes))};
    EACH_PART(vcvtq_f32_s32(
        vmovl_s16(i % 2 == 0 ? vget_low_s16(shorts[i / 2]) : vget_high_s16(shorts[i / 2]))));
}

// Sum and largest of 16 lanes: halves are joined until one value is left.
static inline float vec_sum(vec x) {
    float32x4_t four = vaddq_f32(vaddq_f32(x.part[0], x.part[2]), vaddq_f32(x.part[1], x.part[3]));
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
static inline float vec_greatest(vec x) {
    float lane[4];
    vst1q_f32(lane, larger(larger(x.part[0], x.part[2]), larger(x.part[1], x.part[3])));
    float a = lane[0] > lane[2] ? lane[0] : lane[2], b = lane[1] > lane[3] ? lane[1] : lane[3];
    return a > b ? a : b;
}

// Rows of 4 become columns.
static inline void vec_transpose_4(float32x4_t r[4]) {
    float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1]));
    float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
    float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]));
    float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
    r[0] = vreinterpretq_f32_f64(vzip1q_f64(even01, even23));
    r[1] = vreinterpretq_f32_f64(vzip1q_f64(odd01, odd23));
    r[2] = vreinterpretq_f32_f64(vzip2q_f64(even01, even23));
    r[3] = vreinterpretq_f32_f64(vzip2q_f64(odd01, odd23));
}

// Rows of 16 become columns: lane i of r[j] and lane j of r[i] change places.
static inline void vec_transpose(vec r[16]) {
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++) {
            float32x4_t upper[4], lower[4];
            for (int i = 0; i < 4; i++) {
                upper[i] = r[4 * a + i].part[b];
                lower[i] = r[4 * b + i].part[a];
            }
            vec_transpose_4(upper);
            vec_transpose_4(lower);
            for (int i = 0; i < 4; i++) {
                r[4 * b + i].part[a] = upper[i];
                r[4 * a + i].part[b] = lower[i];
            }
        }
}

#undef EACH_PART
#endif
#endif
