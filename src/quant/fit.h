// SPDX-License-Identifier: Apache-2.0
// fit.h — the arithmetic all encoders share: rounding, binary16 scales that stay finite, and the
// search for the scale (and offset) of a group of values that leaves the least squared error.
#ifndef GLINT_QUANT_FIT_H
#define GLINT_QUANT_FIT_H

#include <stddef.h>
#include <stdint.h>

// Nearest integer to x clamped to [low, high], ties to even. Bounds are below 2^22. Adding and
// taking away 1.5 * 2^23 leaves the rounding to the adder, so that loops of this vectorize.
static inline int glint_fit_round(float x, int low, int high) {
    x = x < (float)low ? (float)low : x;
    x = x > (float)high ? (float)high : x;
    return (int)((x + 12582912.0f) - 12582912.0f);
}

// 1 / scale, or 0 for a scale of 0: then every code becomes that of zero.
static inline float glint_fit_inverse(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

// Nearest finite binary16 number.
uint16_t glint_fit_half(float value);

struct glint_fit {
    float scale;
    float min; // value = scale * code + min
};

// Values x [n], n <= 32, weights w [n] >= 0. Codes are 0..n_level - 1.
struct glint_fit glint_fit_affine(const float *x, const float *w, int n, int n_level);
// Scale (either sign) for codes -n_half .. n_half - 1 and value = scale * code.
float glint_fit_signed(const float *x, const float *w, int n, int n_half);

// How a K block of 256 values is cut and coded.
struct glint_fit_shape {
    int n_sub;   // values of a sub-block, 16 or 32
    int n_level; // codes of a value: 0..n_level - 1, or -n_level / 2 .. n_level / 2 - 1
    int peak;    // largest scale and min; signed scales are -peak..peak - 1
};

// What a K block with mins stores: value = (d * scale) * code - dmin * min.
struct glint_fit_k {
    uint16_t d, dmin;           // binary16
    uint8_t scale[16], min[16]; // [256 / n_sub]
};

// Fits x [256] with weights w [256] (NULL: all alike); code [256].
void glint_fit_k_affine(struct glint_fit_k *fit, uint8_t *code, const float *x, const float *w,
                        const struct glint_fit_shape *shape);
// The same without mins, scale [256 / n_sub], code [256]; returns d.
uint16_t glint_fit_k_signed(int8_t *scale, int8_t *code, const float *x, const float *w,
                            const struct glint_fit_shape *shape);
// Packs eight six-bit scales and mins as Q4_K and Q5_K store them.
void glint_fit_pack_scales(const struct glint_fit_k *fit, uint8_t scales[12]);

#endif
