// SPDX-License-Identifier: Apache-2.0
// fit.c — laying out groups in tiles, and the two searches over scales. The inner loops are a
// table of fit_kernels.h.
#include "quant/fit.h"

#include "base/half.h"
#include "quant/fit_kernels.h"

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

const struct glint_fit_kernels *glint_fit_kernels(void) {
#ifdef GLINT_FIT_AVX2
    if (__builtin_cpu_supports("avx2"))
        return &glint_fit_kernels_avx2;
#endif
    return &glint_fit_kernels_scalar;
}

static void invert(const float scale[LANES], float inverse[LANES]) {
    for (int j = 0; j < LANES; j++)
        inverse[j] = glint_fit_inverse(scale[j]);
}

void glint_fit_sum(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                   const struct glint_fit_scales *scales, struct glint_fit_sums *sums) {
    float inverse[LANES];
    invert(scales->scale, inverse);
    glint_fit_kernels()->sum(tile, codes, inverse, scales->min, sums);
}

void glint_fit_error(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                     const struct glint_fit_scales *scales, float error[LANES]) {
    float inverse[LANES];
    invert(scales->scale, inverse);
    glint_fit_kernels()->error(tile, codes, scales, inverse, error);
}

// Where the groups start (at most top_min) and how wide they are.
struct extent {
    float low[LANES], span[LANES];
};

// Moves each group to start at 0 and takes the sums the search needs.
static void start_affine(struct glint_fit_state *fit, float moved[GLINT_FIT_VALUES],
                         const struct glint_fit_tile *tile, float top_min, struct extent *extent) {
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
        extent->low[j] = least[j] < top_min ? least[j] : top_min;
        extent->span[j] = most[j] > extent->low[j] ? most[j] - extent->low[j] : 0.0f;
        fit->top_min[j] = top_min - extent->low[j];
        fit->w[j] = fit->wx[j] = fit->wxx[j] = 0.0f;
        fit->error[j] = INFINITY;
        fit->best.scale[j] = fit->best.min[j] = 0.0f;
    }
    for (int i = 0; i < tile->n; i++) {
        for (int j = 0; j < LANES; j++) {
            float x = tile->x[i * LANES + j] - extent->low[j], w = tile->w[i * LANES + j];
            moved[i * LANES + j] = x;
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
    const struct glint_fit_kernels *kernels = glint_fit_kernels();
    const struct glint_fit_codes codes = {0.0f, high};
    const float origin[LANES] = {0};
    float values[GLINT_FIT_VALUES], inverse[LANES];
    struct glint_fit_state state;
    struct glint_fit_sums sums;
    struct extent extent;
    start_affine(&state, values, tile, top_min, &extent);
    const struct glint_fit_tile moved = {tile->n, values, tile->w};
    for (int i = 0; i < N_TRY; i++) {
        float steps = high + first + (last - first) * (float)i / (float)(N_TRY - 1);
        for (int j = 0; j < LANES; j++)
            inverse[j] = extent.span[j] > 0.0f ? steps / extent.span[j] : 0.0f;
        kernels->sum(&moved, codes, inverse, origin, &sums);
        kernels->solve(&state, &sums);
    }
    for (int i = 0; i < N_POLISH; i++) {
        invert(state.best.scale, inverse);
        kernels->sum(&moved, codes, inverse, state.best.min, &sums);
        kernels->solve(&state, &sums);
    }
    for (int j = 0; j < LANES; j++) {
        out->scale[j] = state.best.scale[j];
        out->min[j] = state.best.min[j] + extent.low[j];
    }
}

// Tries scales that put the value of largest size at the low end of the codes, or a little beyond
// or short of it; then polishes the best.
void glint_fit_signed(const struct glint_fit_tile *tile, float half, struct glint_fit_scales *out) {
    enum { N_TRY = 14, N_POLISH = 1 };
    const struct glint_fit_kernels *kernels = glint_fit_kernels();
    const struct glint_fit_codes codes = {-half, half - 1.0f};
    float peak[LANES] = {0}, gain[LANES] = {0}, inverse[LANES];
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
        kernels->sum(tile, codes, inverse, out->min, &sums);
        kernels->solve_signed(out->scale, gain, &sums);
    }
    for (int i = 0; i < N_POLISH; i++) {
        invert(out->scale, inverse);
        kernels->sum(tile, codes, inverse, out->min, &sums);
        kernels->solve_signed(out->scale, gain, &sums);
    }
}
