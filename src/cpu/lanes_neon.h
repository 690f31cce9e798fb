// SPDX-License-Identifier: Apache-2.0
// lanes_neon.h — the operations of lanes.h on 128-bit registers. Included through lanes.h only.
#ifndef GLINT_CPU_LANES_NEON_H
#define GLINT_CPU_LANES_NEON_H

#ifdef __ARM_NEON
#define GLINT_LANES

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int32x4_t lanes_int;
typedef float32x4_t lanes_float;
enum { LANES = 4 };

static inline lanes_int int_load(const void *from) {
    return vreinterpretq_s32_u8(vld1q_u8(from));
}

static inline void int_store(void *to, lanes_int a) {
    vst1q_u8(to, vreinterpretq_u8_s32(a));
}

static inline lanes_int int_zero(void) {
    return vdupq_n_s32(0);
}

static inline lanes_int int_all(int value) {
    return vdupq_n_s32(value);
}

static inline lanes_int byte_all(int value) {
    return vreinterpretq_s32_u8(vdupq_n_u8((uint8_t)value));
}

// Four bytes (or one int32) to every lane.
static inline lanes_int int_spread(const void *from) {
    int32_t value;
    memcpy(&value, from, sizeof value);
    return vdupq_n_s32(value);
}

static inline lanes_int int_and(lanes_int a, lanes_int b) {
    return vandq_s32(a, b);
}

static inline lanes_int int_or(lanes_int a, lanes_int b) {
    return vorrq_s32(a, b);
}

static inline lanes_int int_xor(lanes_int a, lanes_int b) {
    return veorq_s32(a, b);
}

static inline lanes_int int_add(lanes_int a, lanes_int b) {
    return vaddq_s32(a, b);
}

static inline lanes_int int_mul(lanes_int a, lanes_int b) {
    return vmulq_s32(a, b);
}

// Shifts of 32-bit lanes.
static inline lanes_int int_left(lanes_int a, unsigned n) {
    return vshlq_s32(a, vdupq_n_s32((int)n));
}

static inline lanes_int int_right(lanes_int a, unsigned n) {
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-(int)n)));
}

static inline lanes_int int_right_signed(lanes_int a, unsigned n) {
    return vshlq_s32(a, vdupq_n_s32(-(int)n));
}

// sum and the four products of signed bytes in each lane.
static inline lanes_int dot_bytes(lanes_int sum, lanes_int w, lanes_int x) {
    int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(x);
#ifdef __ARM_FEATURE_DOTPROD
    return vdotq_s32(sum, a, b);
#else
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
    return vaddq_s32(sum, vpaddq_s32(low, high));
#endif
}

static inline lanes_float float_load(const float *from) {
    return vld1q_f32(from);
}

static inline void float_store(float *to, lanes_float a) {
    vst1q_f32(to, a);
}

static inline lanes_float float_all(float value) {
    return vdupq_n_f32(value);
}

static inline lanes_float float_mul(lanes_float a, lanes_float b) {
    return vmulq_f32(a, b);
}

static inline lanes_float float_fma(lanes_float a, lanes_float b, lanes_float c) {
    return vfmaq_f32(c, a, b);
}

static inline lanes_float float_from_int(lanes_int a) {
    return vcvtq_f32_s32(a);
}

static inline lanes_float float_from_bits(lanes_int a) {
    return vreinterpretq_f32_s32(a);
}

// The binary16 in the low half of each lane.
static inline lanes_float float_from_low_half(lanes_int a) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_s32(a))));
}

// 16 bytes of each of LANES rows, transposed: lane r of out[i] is bytes 4i..4i+3 of row r.
static inline void load_rows_16(lanes_int out[4], const uint8_t *from, size_t stride) {
    int32x4_t a0 = int_load(from), a1 = int_load(from + stride);
    int32x4_t a2 = int_load(from + 2 * stride), a3 = int_load(from + 3 * stride);
    int64x2_t even01 = vreinterpretq_s64_s32(vtrn1q_s32(a0, a1));
    int64x2_t odd01 = vreinterpretq_s64_s32(vtrn2q_s32(a0, a1));
    int64x2_t even23 = vreinterpretq_s64_s32(vtrn1q_s32(a2, a3));
    int64x2_t odd23 = vreinterpretq_s64_s32(vtrn2q_s32(a2, a3));
    out[0] = vreinterpretq_s32_s64(vzip1q_s64(even01, even23));
    out[1] = vreinterpretq_s32_s64(vzip1q_s64(odd01, odd23));
    out[2] = vreinterpretq_s32_s64(vzip2q_s64(even01, even23));
    out[3] = vreinterpretq_s32_s64(vzip2q_s64(odd01, odd23));
}

#endif
#endif
