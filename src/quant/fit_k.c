// SPDX-License-Identifier: Apache-2.0
// fit_k.c — K blocks: free fits of the groups, integers under common factors, then rounds of
// moving each integer to its best neighbour and fitting the factors anew.
#include "quant/fit_k.h"

#include "base/half.h"
#include "quant/fit.h"

#include <math.h>

enum { LANES = GLINT_FIT_LANES, MAX_GROUP = 16 };

// A block while it is being fitted.
struct block {
    struct glint_fit_values values;
    struct glint_fit_codes codes;
    int n_group;                                     // values of a group
    int n_tile;                                      // eight groups each
    int low_scale, high_scale, high_min;             // ranges of the integers; high_min 0: no mins
    double w[MAX_GROUP], wx[MAX_GROUP];              // weighted sums of each group
    struct glint_fit_scales fits[MAX_GROUP / LANES]; // free scales and mins
};

// The integer scales of a block with their factors, and the error they leave.
struct choice {
    uint16_t d, dmin; // binary16
    int scale[MAX_GROUP], min[MAX_GROUP];
    double error;
};

static struct glint_fit_tile tile_at(const struct block *block, int i_tile) {
    return glint_fit_tile_at(&block->values, block->n_group, i_tile);
}

static void block_init(struct block *block, const float *x, const float *importance,
                       const struct glint_fit_shape *shape) {
    int n_groups = GLINT_FIT_VALUES / shape->n_group;
    block->n_group = shape->n_group;
    block->n_tile = n_groups / LANES;
    glint_fit_fill(&block->values, x, importance, n_groups, shape->n_group);
    for (int j = 0; j < n_groups; j++) {
        struct glint_fit_tile tile = tile_at(block, j / LANES);
        block->w[j] = block->wx[j] = 0.0;
        for (int at = j % LANES; at < tile.n * LANES; at += LANES) {
            block->w[j] += (double)tile.w[at];
            block->wx[j] += (double)tile.w[at] * (double)tile.x[at];
        }
    }
}

// A binary16 factor whose peak-fold is top. Not 0 while top is not, so that tiny weights do not
// vanish before they must.
static uint16_t factor_for(float top, int peak) {
    uint16_t half = glint_fit_half(top / (float)peak);
    if ((half & 0x7fffu) == 0 && top != 0.0f)
        half |= 1u;
    return half;
}

// The integers nearest to the free fits under factors that put the largest on `peak`.
static void choose_nearest(const struct block *block, int peak, struct choice *choice) {
    float top_scale = 0.0f, top_min = 0.0f;
    for (int j = 0; j < block->n_tile * LANES; j++) {
        const struct glint_fit_scales *fit = &block->fits[j / LANES];
        float scale = fit->scale[j % LANES], min = -fit->min[j % LANES];
        top_scale = fabsf(scale) > fabsf(top_scale) ? scale : top_scale;
        top_min = min > top_min ? min : top_min;
    }
    choice->d = factor_for(top_scale, peak);
    choice->dmin = block->high_min > 0 ? factor_for(top_min, block->high_min) : 0;
    float d_inverse = glint_fit_inverse(glint_half_to_float(choice->d));
    float dmin_inverse = glint_fit_inverse(glint_half_to_float(choice->dmin));
    for (int j = 0; j < block->n_tile * LANES; j++) {
        const struct glint_fit_scales *fit = &block->fits[j / LANES];
        float scale = fit->scale[j % LANES], min = -fit->min[j % LANES];
        choice->scale[j] = glint_fit_code(scale * d_inverse, block->low_scale, block->high_scale);
        choice->min[j] = glint_fit_code(min * dmin_inverse, 0, block->high_min);
    }
}

static int clamp_int(int value, int low, int high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

// The integers of one tile moved by the same small steps.
struct trial {
    int scale[LANES], min[LANES];
    struct glint_fit_scales real;
};

static void trial_at(const struct block *block, const struct choice *choice, int i_tile,
                     struct trial *trial, int step_scale, int step_min) {
    float d = glint_half_to_float(choice->d), dmin = glint_half_to_float(choice->dmin);
    for (int j = 0; j < LANES; j++) {
        int scale = choice->scale[i_tile * LANES + j] + step_scale;
        int min = choice->min[i_tile * LANES + j] + step_min;
        trial->scale[j] = clamp_int(scale, block->low_scale, block->high_scale);
        trial->min[j] = clamp_int(min, 0, block->high_min);
        trial->real.scale[j] = d * (float)trial->scale[j];
        trial->real.min[j] = -(dmin * (float)trial->min[j]);
    }
}

// Moves each group's integers to the best of their neighbours, and sets the error.
static void improve(const struct block *block, struct choice *choice) {
    int reach = block->high_min > 0 ? 1 : 0;
    choice->error = 0.0;
    for (int t = 0; t < block->n_tile; t++) {
        struct glint_fit_tile tile = tile_at(block, t);
        struct trial best, trial;
        float least[LANES], error[LANES];
        trial_at(block, choice, t, &best, 0, 0);
        glint_fit_error(&tile, block->codes, &best.real, least);
        for (int move = 0; move < 3 * (2 * reach + 1); move++) {
            if (move == 3 * reach + 1)
                continue; // no move at all
            trial_at(block, choice, t, &trial, move % 3 - 1, move / 3 - reach);
            glint_fit_error(&tile, block->codes, &trial.real, error);
            for (int j = 0; j < LANES; j++) {
                if (error[j] >= least[j])
                    continue;
                least[j] = error[j];
                best.scale[j] = trial.scale[j];
                best.min[j] = trial.min[j];
            }
        }
        for (int j = 0; j < LANES; j++) {
            choice->scale[t * LANES + j] = best.scale[j];
            choice->min[t * LANES + j] = best.min[j];
            choice->error += (double)least[j];
        }
    }
}

// The factors that suit the integers and codes of `choice` best: least squares in d and dmin,
// where a value is d * (scale * code) - dmin * min.
static void refit(const struct block *block, struct choice *choice) {
    double aa = 0.0, ab = 0.0, bb = 0.0, ax = 0.0, bx = 0.0;
    for (int t = 0; t < block->n_tile; t++) {
        struct glint_fit_tile tile = tile_at(block, t);
        struct glint_fit_sums sums;
        struct trial now;
        trial_at(block, choice, t, &now, 0, 0);
        glint_fit_sum(&tile, block->codes, &now.real, &sums);
        for (int j = 0; j < LANES; j++) {
            double scale = now.scale[j], min = now.min[j];
            aa += scale * scale * (double)sums.cc[j];
            ab -= scale * min * (double)sums.c[j];
            bb += min * min * block->w[t * LANES + j];
            ax += scale * (double)sums.cx[j];
            bx -= min * block->wx[t * LANES + j];
        }
    }
    double det = aa * bb - ab * ab, d = 0.0, dmin = 0.0;
    if (det > 1e-9 * aa * bb) {
        d = (ax * bb - bx * ab) / det;
        dmin = (bx * aa - ax * ab) / det;
    } else if (aa > 0.0) {
        dmin = (double)glint_half_to_float(choice->dmin);
        d = (ax - dmin * ab) / aa;
    }
    if (d != 0.0)
        choice->d = glint_fit_half((float)d);
    if (dmin > 0.0)
        choice->dmin = glint_fit_half((float)dmin);
}

static void store(const struct block *block, const struct choice *choice, struct glint_fit_k *out) {
    out->d = choice->d;
    out->dmin = choice->dmin;
    for (int t = 0; t < block->n_tile; t++) {
        struct glint_fit_tile tile = tile_at(block, t);
        struct trial now;
        trial_at(block, choice, t, &now, 0, 0);
        for (int j = 0; j < LANES; j++) {
            int at = t * LANES + j;
            float inverse = glint_fit_inverse(now.real.scale[j]);
            out->scale[at] = (int16_t)now.scale[j];
            out->min[at] = (int16_t)now.min[j];
            for (int i = 0; i < tile.n; i++) {
                float x = (tile.x[i * LANES + j] - now.real.min[j]) * inverse;
                x = glint_fit_round(glint_fit_clamp(x, block->codes.low, block->codes.high));
                out->code[at * tile.n + i] = (int8_t)x;
            }
        }
    }
}

static void finish(const struct block *block, int peak, struct glint_fit_k *out) {
    enum { N_ROUND = 2 };
    struct choice best, next;
    choose_nearest(block, peak, &best);
    improve(block, &best);
    for (int i = 1; i < N_ROUND; i++) {
        next = best;
        refit(block, &next);
        improve(block, &next);
        if (next.error >= best.error)
            break;
        best = next;
    }
    store(block, &best, out);
}

void glint_fit_k_affine(struct glint_fit_k *fit, const float *x, const float *importance,
                        const struct glint_fit_shape *shape) {
    struct block block;
    block_init(&block, x, importance, shape);
    block.codes = (struct glint_fit_codes){0.0f, (float)(shape->n_level - 1)};
    block.low_scale = 0;
    block.high_scale = block.high_min = shape->peak;
    for (int t = 0; t < block.n_tile; t++) {
        struct glint_fit_tile tile = tile_at(&block, t);
        glint_fit_affine(&tile, block.codes.high, 0.0f, &block.fits[t]);
    }
    finish(&block, shape->peak, fit);
}

void glint_fit_k_signed(struct glint_fit_k *fit, const float *x, const float *importance,
                        const struct glint_fit_shape *shape) {
    struct block block;
    float half = (float)(shape->n_level / 2);
    block_init(&block, x, importance, shape);
    block.codes = (struct glint_fit_codes){-half, half - 1.0f};
    block.low_scale = -shape->peak;
    block.high_scale = shape->peak - 1;
    block.high_min = 0;
    for (int t = 0; t < block.n_tile; t++) {
        struct glint_fit_tile tile = tile_at(&block, t);
        glint_fit_signed(&tile, half, &block.fits[t]);
    }
    finish(&block, -shape->peak, fit);
}

void glint_fit_k_pack(const struct glint_fit_k *fit, uint8_t scales[12]) {
    const int16_t *scale = fit->scale, *min = fit->min;
    for (int j = 0; j < 4; j++) {
        scales[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
        scales[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
        scales[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
}
