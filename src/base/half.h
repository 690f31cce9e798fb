// SPDX-License-Identifier: Apache-2.0
// half.h — IEEE binary16 and bfloat16 against float, round to nearest even.
#ifndef GLINT_BASE_HALF_H
#define GLINT_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t glint_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float glint_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Exact, subnormals, infinities and NaN included.
static inline float glint_half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 31)
        return glint_float_from_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0)
        return glint_float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    // Subnormal: mantissa * 2^-24 is exact in float.
    float value = (float)mantissa * 0x1p-24f;
    return glint_float_from_bits(sign | glint_float_bits(value));
}

// Values past 65504 become infinity; NaN stays NaN.
static inline uint16_t glint_half_from_float(float value) {
    uint32_t bits = glint_float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) // rounds to 65536 or more
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // below 2^-14: let the float adder round to a multiple of 2^-24
        float rounded = glint_float_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (glint_float_bits(rounded) - 0x3f000000u));
    }
    uint32_t odd = (magnitude >> 13) & 1u;
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

static inline float glint_bf16_to_float(uint16_t bf16) {
    return glint_float_from_bits((uint32_t)bf16 << 16);
}

static inline uint16_t glint_bf16_from_float(float value) {
    uint32_t bits = glint_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u); // quiet NaN
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif
