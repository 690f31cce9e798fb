// SPDX-License-Identifier: Apache-2.0
// fit.h — the arithmetic all encoders share: rounding, binary16 scales that stay finite, and the
// search for the scale (and offset) of a group of values that leaves the least squared error.
// Groups are fitted eight at a time, side by side in a tile, so that plain loops over the lanes
// become vector code and no sum depends on the compiler's choice.
#ifndef GLINT_QUANT_FIT_H
#define GLINT_QUANT_FIT_H

#include <stddef.h>
#include <stdint.h>

enum {
    GLINT_FIT_LANES = 8,    // groups of a tile
    GLINT_FIT_VALUES = 256, // values of a K block, or of eight other blocks
};

// Nearest integer to x, ties to even; |x| below 2^22. Adding and taking away 1.5 * 2^23 leaves the
// rounding to the adder, so that loops of this vectorize.
static inline float glint_fit_round(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

static inline float glint_fit_clamp(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// Code nearest to x, a value already divided by its scale.
static inline int glint_fit_code(float x, int low, int high) {
    return (int)glint_fit_round(glint_fit_clamp(x, (float)low, (float)high));
}

// 1 / scale, or 0 for a scale of 0: then every code becomes that of zero.
static inline float glint_fit_inverse(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

// Nearest finite binary16 number.
uint16_t glint_fit_half(float value);

// Up to eight groups of n values side by side: value i of group j is x[i * 8 + j], the weight of
// its squared error w[i * 8 + j], in (0, 1]. Borrowed.
struct glint_fit_tile {
    int n;          // values of a group, 16 or 32
    const float *x; // [n, GLINT_FIT_LANES]
    const float *w; // [n, GLINT_FIT_LANES]
};

// Room for 256 values: one tile of groups of 32, or two of groups of 16.
struct glint_fit_values {
    float x[GLINT_FIT_VALUES];
    float w[GLINT_FIT_VALUES];
};

// Lays out n_group groups of n values tile after tile; missing groups become zeros. importance is
// [n_group * n] or NULL. Values are cut to what any type can hold.
void glint_fit_fill(struct glint_fit_values *out, const float *values, const float *importance,
                    int n_group, int n);
struct glint_fit_tile glint_fit_tile_at(const struct glint_fit_values *values, int n, int i_tile);

// Codes a type has; value = scale * code + min.
struct glint_fit_codes {
    float low, high;
};

struct glint_fit_scales {
    float scale[GLINT_FIT_LANES];
    float min[GLINT_FIT_LANES];
};

// Best scale and min of each group for codes 0..high; min stays at or below top_min.
void glint_fit_affine(const struct glint_fit_tile *tile, float high, float top_min,
                      struct glint_fit_scales *out);
// Best scale, of either sign, for codes -half..half - 1; min is 0.
void glint_fit_signed(const struct glint_fit_tile *tile, float half, struct glint_fit_scales *out);

// Weighted sums over a group, every value taking its nearest code c.
struct glint_fit_sums {
    float c[GLINT_FIT_LANES], cc[GLINT_FIT_LANES], cx[GLINT_FIT_LANES];
};
void glint_fit_sum(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                   const struct glint_fit_scales *scales, struct glint_fit_sums *sums);
// Weighted squared error of each group, every value taking its nearest code.
void glint_fit_error(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                     const struct glint_fit_scales *scales, float error[GLINT_FIT_LANES]);

#endif
