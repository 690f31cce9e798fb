// SPDX-License-Identifier: Apache-2.0
// fit_scalar.c — the inner loops in plain C: the definition that tiers reproduce bit by bit.
#include "quant/fit_kernels.h"

#include <math.h>
#include <string.h>

enum { LANES = GLINT_FIT_LANES };

static void sum_scalar(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                       const float inverse[LANES], const float min[LANES],
                       struct glint_fit_sums *sums) {
    memset(sums, 0, sizeof *sums);
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j];
            float code =
                glint_fit_round(glint_fit_clamp((x - min[j]) * inverse[j], codes.low, codes.high));
            float weighted = tile->w[i * LANES + j] * code;
            sums->c[j] += weighted;
            sums->cc[j] += weighted * code;
            sums->cx[j] += weighted * x;
        }
    }
}

static void error_scalar(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                         const struct glint_fit_scales *scales, const float inverse[LANES],
                         float error[LANES]) {
    memset(error, 0, LANES * sizeof *error);
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j] - scales->min[j];
            float code = glint_fit_round(glint_fit_clamp(x * inverse[j], codes.low, codes.high));
            float miss = scales->scale[j] * code - x;
            error[j] += tile->w[i * LANES + j] * miss * miss;
        }
    }
}

// An ill-posed min is 0, one past its bound the bound.
static void solve_scalar(struct glint_fit_state *state, const struct glint_fit_sums *sums) {
    for (int j = 0; j < LANES; j++) {
        float c = sums->c[j], cc = sums->cc[j], cx = sums->cx[j];
        float w = state->w[j], wx = state->wx[j];
        float det = w * cc - c * c;
        float min = (cc * wx - c * cx) / (det > 0.0f ? det : 1.0f);
        min = det > 1e-5f * (w * cc) ? min : 0.0f;
        min = min > state->top_min[j] ? state->top_min[j] : min;
        float scale = (cx - min * c) / (cc > 0.0f ? cc : 1.0f);
        float error = state->wxx[j] + scale * (scale * cc + 2.0f * (min * c - cx)) +
                      min * (min * w - 2.0f * wx);
        if (scale > 0.0f && error < state->error[j]) {
            state->best.scale[j] = scale;
            state->best.min[j] = min;
            state->error[j] = error;
        }
    }
}

static void solve_signed_scalar(float scale[LANES], float gain[LANES],
                                const struct glint_fit_sums *sums) {
    for (int j = 0; j < LANES; j++) {
        float new_scale = sums->cx[j] / (sums->cc[j] > 0.0f ? sums->cc[j] : 1.0f);
        float new_gain = new_scale * sums->cx[j];
        if (new_gain > gain[j]) {
            scale[j] = new_scale;
            gain[j] = new_gain;
        }
    }
}

const struct glint_fit_kernels glint_fit_kernels_scalar = {sum_scalar, error_scalar, solve_scalar,
                                                           solve_signed_scalar};
