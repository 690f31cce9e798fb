// SPDX-License-Identifier: Apache-2.0
#include "quant/fit.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

enum { LANES = GLINT_FIT_LANES };

// Past this no type has values, and no sum of squares below overflows.
static const float LARGEST = 1e9f;

uint16_t glint_fit_half(float value) {
    return glint_half_from_float(glint_fit_clamp(value, -65504.0f, 65504.0f));
}

// Weights of group j of a tile: importance times a term that favours large values, to which
// models are more sensitive than their share of the plain squared error says.
static void fill_weights(const float *x, float *w, const float *importance, int n) {
    float square = 0.0f, top = 0.0f;
    for (int i = 0; i < n; i++)
        square += x[i * LANES] * x[i * LANES];
    float base = sqrtf(square / (float)n);
    for (int i = 0; i < n; i++) {
        float weight = fabsf(x[i * LANES]) + base;
        weight *= importance != NULL ? importance[i] : 1.0f;
        w[i * LANES] = weight;
        top = weight > top ? weight : top;
    }
    // The small term: a group nobody cares for is coded as if all its values counted alike.
    float inverse = glint_fit_inverse(top) * (1.0f - 1e-6f);
    for (int i = 0; i < n; i++)
        w[i * LANES] = w[i * LANES] * inverse + 1e-6f;
}

void glint_fit_fill(struct glint_fit_values *out, const float *values, const float *importance,
                    int n_group, int n) {
    if (n_group * n < GLINT_FIT_VALUES)
        memset(out, 0, sizeof *out);
    for (int j = 0; j < n_group; j++) {
        int at = j / LANES * n * LANES + j % LANES;
        for (int i = 0; i < n; i++)
            out->x[at + i * LANES] = glint_fit_clamp(values[j * n + i], -LARGEST, LARGEST);
        fill_weights(out->x + at, out->w + at, importance != NULL ? importance + j * n : NULL, n);
    }
}

struct glint_fit_tile glint_fit_tile_at(const struct glint_fit_values *values, int n, int i_tile) {
    int at = i_tile * n * LANES;
    return (struct glint_fit_tile){n, values->x + at, values->w + at};
}

static void sum_codes(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                      const float inverse[LANES], const float min[LANES],
                      struct glint_fit_sums *sums) {
    float c[LANES] = {0}, cc[LANES] = {0}, cx[LANES] = {0};
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j];
            float code =
                glint_fit_round(glint_fit_clamp((x - min[j]) * inverse[j], codes.low, codes.high));
            float weighted = tile->w[i * LANES + j] * code;
            c[j] += weighted;
            cc[j] += weighted * code;
            cx[j] += weighted * x;
        }
    }
    memcpy(sums->c, c, sizeof c);
    memcpy(sums->cc, cc, sizeof cc);
    memcpy(sums->cx, cx, sizeof cx);
}

void glint_fit_sum(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                   const struct glint_fit_scales *scales, struct glint_fit_sums *sums) {
    float inverse[LANES];
    for (int j = 0; j < LANES; j++)
        inverse[j] = glint_fit_inverse(scales->scale[j]);
    sum_codes(tile, codes, inverse, scales->min, sums);
}

void glint_fit_error(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                     const struct glint_fit_scales *scales, float error[LANES]) {
    float inverse[LANES], scale[LANES], min[LANES], sum[LANES] = {0};
    memcpy(scale, scales->scale, sizeof scale);
    memcpy(min, scales->min, sizeof min);
    for (int j = 0; j < LANES; j++)
        inverse[j] = glint_fit_inverse(scale[j]);
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j] - min[j];
            float code = glint_fit_round(glint_fit_clamp(x * inverse[j], codes.low, codes.high));
            float miss = scale[j] * code - x;
            sum[j] += tile->w[i * LANES + j] * miss * miss;
        }
    }
    memcpy(error, sum, sizeof sum);
}

// State of the affine search: the values moved so that each group starts at 0, and the best fit
// so far in those terms.
struct affine {
    float x[GLINT_FIT_VALUES];
    float top_min[LANES]; // bound on min
    float w[LANES], wx[LANES], wxx[LANES];
    float error[LANES]; // the smallest so far
    struct glint_fit_scales best;
};

// The least-squares scale and min for the codes summed up, kept where they beat the best.
// Without branches, so that it vectorizes: an ill-posed min is 0, one past its bound the bound.
static void solve_affine(struct affine *fit, const struct glint_fit_sums *sums) {
    for (int j = 0; j < LANES; j++) {
        float c = sums->c[j], cc = sums->cc[j], cx = sums->cx[j];
        float w = fit->w[j], wx = fit->wx[j], top_min = fit->top_min[j];
        float best_scale = fit->best.scale[j], best_min = fit->best.min[j], least = fit->error[j];
        float det = w * cc - c * c;
        float min = (cc * wx - c * cx) / (det > 0.0f ? det : 1.0f);
        min = det > 1e-5f * w * cc ? min : 0.0f;
        min = min > top_min ? top_min : min;
        float scale = (cx - min * c) / (cc > 0.0f ? cc : 1.0f);
        float error = fit->wxx[j] + scale * (scale * cc + 2.0f * (min * c - cx)) +
                      min * (min * w - 2.0f * wx);
        error = scale > 0.0f ? error : INFINITY;
        best_scale = error < least ? scale : best_scale;
        best_min = error < least ? min : best_min;
        least = error < least ? error : least;
        fit->best.scale[j] = best_scale;
        fit->best.min[j] = best_min;
        fit->error[j] = least;
    }
}

// Moves the values, sums them, and returns the width of each group in span.
static void start_affine(struct affine *fit, const struct glint_fit_tile *tile, float top_min,
                         float low[LANES], float span[LANES]) {
    float least[LANES], most[LANES];
    memcpy(least, tile->x, sizeof least);
    memcpy(most, tile->x, sizeof most);
    for (int i = 1; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j];
            least[j] = x < least[j] ? x : least[j];
            most[j] = x > most[j] ? x : most[j];
        }
    }
    for (int j = 0; j < LANES; j++) {
        low[j] = least[j] < top_min ? least[j] : top_min;
        span[j] = most[j] > low[j] ? most[j] - low[j] : 0.0f;
        fit->top_min[j] = top_min - low[j];
        fit->w[j] = fit->wx[j] = fit->wxx[j] = 0.0f;
        fit->error[j] = INFINITY;
        fit->best.scale[j] = fit->best.min[j] = 0.0f;
    }
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j] - low[j], w = tile->w[i * LANES + j];
            fit->x[i * LANES + j] = x;
            fit->w[j] += w;
            fit->wx[j] += w * x;
            fit->wxx[j] += w * x * x;
        }
    }
}

// Tries the codes that a range of scales gives, then polishes the best by going back and forth
// between nearest codes and least squares.
void glint_fit_affine(const struct glint_fit_tile *tile, float high, float top_min,
                      struct glint_fit_scales *out) {
    enum { N_TRY = 12, N_POLISH = 2 };
    const float first = -1.0f, last = 1.2f; // codes more than `high` that the span is cut into
    struct glint_fit_codes codes = {0.0f, high};
    struct affine fit;
    struct glint_fit_sums sums;
    float low[LANES], span[LANES], inverse[LANES];
    start_affine(&fit, tile, top_min, low, span);
    const struct glint_fit_tile moved = {tile->n, fit.x, tile->w};
    const float origin[LANES] = {0};
    for (int i = 0; i < N_TRY; i++) {
        float steps = high + first + (last - first) * (float)i / (float)(N_TRY - 1);
        for (int j = 0; j < LANES; j++)
            inverse[j] = span[j] > 0.0f ? steps / span[j] : 0.0f;
        sum_codes(&moved, codes, inverse, origin, &sums);
        solve_affine(&fit, &sums);
    }
    for (int i = 0; i < N_POLISH; i++) {
        for (int j = 0; j < LANES; j++)
            inverse[j] = glint_fit_inverse(fit.best.scale[j]);
        sum_codes(&moved, codes, inverse, fit.best.min, &sums);
        solve_affine(&fit, &sums);
    }
    for (int j = 0; j < LANES; j++) {
        out->scale[j] = fit.best.scale[j];
        out->min[j] = fit.best.min[j] + low[j];
    }
}

// Tries scales that put the value of largest size at either end of the codes, or a little beyond
// or short of it; the least-squares scale of codes c has error sum(w x x) - (sum c x)^2 / sum c c.
void glint_fit_signed(const struct glint_fit_tile *tile, float half, struct glint_fit_scales *out) {
    enum { N_TRY = 16 };
    struct glint_fit_codes codes = {-half, half - 1.0f};
    float peak[LANES] = {0}, best[LANES] = {0}, inverse[LANES];
    const float origin[LANES] = {0};
    struct glint_fit_sums sums;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j];
            peak[j] = fabsf(x) > fabsf(peak[j]) ? x : peak[j];
        }
    }
    for (int i = 0; i < N_TRY; i++) {
        float steps = half + 1.0f - 2.0f * (float)i / (float)(N_TRY - 1);
        for (int j = 0; j < LANES; j++)
            inverse[j] = peak[j] != 0.0f ? -steps / peak[j] : 0.0f;
        sum_codes(tile, codes, inverse, origin, &sums);
        for (int j = 0; j < LANES; j++) {
            float scale = sums.cx[j] / (sums.cc[j] > 0.0f ? sums.cc[j] : 1.0f);
            float gain = scale * sums.cx[j];
            out->scale[j] = gain > best[j] ? scale : out->scale[j];
            best[j] = gain > best[j] ? gain : best[j];
        }
    }
}
