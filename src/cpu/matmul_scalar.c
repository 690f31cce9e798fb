// SPDX-License-Identifier: Apache-2.0
// matmul_scalar.c — the definition of the matrix product kernels in plain C. matmul_tile.h has
// the formulas; every tier gives these bits.
#include "base/half.h"
#include "cpu/matmul_tile.h"

#include <math.h>
#include <string.h>

// Rounds r = x * inverse and scores the result; the score is the larger the smaller the squared
// error of the best scale for these q.
static struct glint_rounding round_block(int8_t *q, int32_t *sum, const float *x, float inverse) {
    float lane[16];
    int32_t square = 0;
    sum[0] = sum[1] = 0;
    for (int i = 0; i < 32; i++) {
        float r = x[i] * inverse;
        q[i] = (int8_t)lrintf(r);
        sum[i / 16] += q[i];
        square += q[i] * q[i];
        lane[i % 16] = i < 16 ? r * (float)q[i] : fmaf(r, (float)q[i], lane[i % 16]);
    }
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return glint_rounding_of(lane[0], square, inverse);
}

// Magnitudes of floats are ordered as their bits; NaN is above all.
static inline uint32_t largest_magnitude(const float *x) {
    uint32_t largest = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = glint_float_bits(x[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

#include "cpu/quantize_tmpl.h"

// Sum of code * q over `sub` columns from column `col`.
static int32_t dot_codes(const struct glint_tile *tile, int row, const int8_t *q, int col,
                         int sub) {
    int32_t sum = 0;
    for (int c = col; c < col + sub; c++)
        sum += tile->code[c / 4][row][c % 4] * q[c];
    return sum;
}

static float multiply_one(const struct glint_tile_multiply *job, enum glint_tile_class class,
                          int token, int row, float acc) {
    const struct glint_tile *tile = &job->tile[row / GLINT_TILE_ROWS];
    const int8_t *q = job->q + token * GLINT_TILE_COLS;
    int r = row % GLINT_TILE_ROWS;
    int per_block = glint_class_subs(class);
    int sub = 32 / per_block;
    const int32_t *bias = (const int32_t *)job->bias + token * (GLINT_TILE_COLS / sub);
    const float *add = (const float *)job->bias + token * (GLINT_TILE_COLS / sub);
    for (int b = 0; b < job->n_block; b++) {
        float product = 0;
        for (int s = b * per_block; s < (b + 1) * per_block; s++) {
            int32_t sum =
                dot_codes(tile, r, q, s * sub, sub) + (glint_class_adds(class) ? 0 : bias[s]);
            product = s == b * per_block ? (float)sum * tile->scale[s][r]
                                         : fmaf((float)sum, tile->scale[s][r], product);
        }
        acc = fmaf(product, job->scale[token * GLINT_TILE_BLOCKS + b], acc);
        for (int s = b * per_block; glint_class_adds(class) && s < (b + 1) * per_block; s++)
            acc = fmaf(tile->add[s][r], add[s], acc);
    }
    return acc;
}

static void multiply(const struct glint_tile_multiply *job, enum glint_tile_class class) {
    for (int t = 0; t < job->n_token; t++)
        for (int r = 0; r < GLINT_PANEL_ROWS; r++) {
            float *acc = &job->acc[t * GLINT_PANEL_ROWS + r];
            *acc = multiply_one(job, class, t, r, *acc);
        }
}

static void multiply_sub32_offset(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB32_OFFSET);
}

static void multiply_sub32_add(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB32_ADD);
}

static void multiply_sub16_offset(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB16_OFFSET);
}

static void multiply_sub16_add(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB16_ADD);
}

static void dot(const struct glint_dot *job) {
    for (int r = 0; r < GLINT_DOT_ROWS; r++)
        for (int t = 0; t < job->n_token; t++) {
            float *lanes = job->lanes + (r * job->n_token + t) * GLINT_DOT_LANES;
            const float *x = job->x + (size_t)t * job->x_stride;
            int n_padded = (job->n_col + GLINT_DOT_LANES - 1) / GLINT_DOT_LANES * GLINT_DOT_LANES;
            for (int c = 0; c < n_padded; c++) {
                float *lane = &lanes[c % GLINT_DOT_LANES];
                *lane = fmaf(job->w[r][c], c < job->n_col ? x[c] : 0, *lane);
            }
        }
}

void glint_matmul_init_scalar(struct glint_matmul_kernels *kernels) {
    kernels->quantize = quantize;
    kernels->multiply[GLINT_TILE_SUB32_OFFSET] = multiply_sub32_offset;
    kernels->multiply[GLINT_TILE_SUB32_BYTE] = multiply_sub32_offset;
    kernels->multiply[GLINT_TILE_SUB32_ADD] = multiply_sub32_add;
    kernels->multiply[GLINT_TILE_SUB16_OFFSET] = multiply_sub16_offset;
    kernels->multiply[GLINT_TILE_SUB16_ADD] = multiply_sub16_add;
    kernels->dot = dot;
    glint_unpack_init_scalar(kernels);
}
