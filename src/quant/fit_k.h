// SPDX-License-Identifier: Apache-2.0
// fit_k.h — from 256 values to what a K block stores: integer scales (and mins) of its groups
// under one or two binary16 factors, and the codes.
#ifndef GLINT_QUANT_FIT_K_H
#define GLINT_QUANT_FIT_K_H

#include <stdint.h>

// How a K block is cut and coded.
struct glint_fit_shape {
    int n_group; // values of a group: 16 or 32
    int n_level; // codes: 0..n_level - 1, or -n_level / 2..n_level / 2 - 1 without mins
    int peak;    // largest integer scale and min; signed scales are -peak..peak - 1
};

// value = (d * scale) * code - dmin * min; without mins dmin and min are 0.
struct glint_fit_k {
    uint16_t d, dmin;           // binary16
    int16_t scale[16], min[16]; // [256 / n_group]
    int8_t code[256];
};

// Fits x [256]; importance [256] or NULL.
void glint_fit_k_affine(struct glint_fit_k *fit, const float *x, const float *importance,
                        const struct glint_fit_shape *shape);
void glint_fit_k_signed(struct glint_fit_k *fit, const float *x, const float *importance,
                        const struct glint_fit_shape *shape);
// Packs eight six-bit scales and mins as Q4_K and Q5_K store them.
void glint_fit_k_pack(const struct glint_fit_k *fit, uint8_t scales[12]);

#endif
