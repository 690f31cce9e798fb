// SPDX-License-Identifier: Apache-2.0
// fit_kernels.h — the inner loops of fit.c as a table, so that a tier can stand in for them.
// The scalar versions are the definition; a tier gives the same bits, so that a quantized file
// does not depend on the machine that made it.
#ifndef GLINT_QUANT_FIT_KERNELS_H
#define GLINT_QUANT_FIT_KERNELS_H

#include "quant/fit.h"

// What the affine search knows of eight groups whose values were moved to start at 0.
struct glint_fit_state {
    float w[GLINT_FIT_LANES], wx[GLINT_FIT_LANES], wxx[GLINT_FIT_LANES]; // weighted sums
    float top_min[GLINT_FIT_LANES];                                      // bound on min
    float error[GLINT_FIT_LANES];                                        // the smallest so far
    struct glint_fit_scales best;
};

struct glint_fit_kernels {
    // Sums over the codes nearest to (x - min) * inverse.
    void (*sum)(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                const float inverse[GLINT_FIT_LANES], const float min[GLINT_FIT_LANES],
                struct glint_fit_sums *sums);
    // glint_fit_error; inverse is that of the scales.
    void (*error)(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                  const struct glint_fit_scales *scales, const float inverse[GLINT_FIT_LANES],
                  float error[GLINT_FIT_LANES]);
    // The least-squares scale and min for the codes summed up, kept where they beat the best.
    void (*solve)(struct glint_fit_state *state, const struct glint_fit_sums *sums);
    // The same without mins: the error of the best scale for codes c is
    // sum(w x x) - sum(c x)^2 / sum(c c), so the largest `gain` (the second term) wins.
    void (*solve_signed)(float scale[GLINT_FIT_LANES], float gain[GLINT_FIT_LANES],
                         const struct glint_fit_sums *sums);
};

extern const struct glint_fit_kernels glint_fit_kernels_scalar;
#ifdef GLINT_FIT_AVX2
extern const struct glint_fit_kernels glint_fit_kernels_avx2;
#endif
// The fastest table for this machine.
const struct glint_fit_kernels *glint_fit_kernels(void);

#endif
