// SPDX-License-Identifier: Apache-2.0
// multiply_tmpl.h — rounded rows times tiles: the template of the multiply kernels of a tier.
// The including file defines TOKENS and VECTORS, the register block (rows of x by vectors of
// weight rows), then includes dot_quads.h or dot_pairs.h, which provide
//   dot_steps(class)           columns / 4 that one call of dot_add handles
//   dot_add(sum, at, shape, k) adds the products of those columns, from column 4k on
//   DOT_SIGNED_BYTES           1 when it makes eight-bit codes signed
// One register block goes through a whole tile before the next, so its sums stay in registers.
#ifndef GLINT_CPU_MULTIPLY_TMPL_H
#define GLINT_CPU_MULTIPLY_TMPL_H

#include "cpu/multiply_shape.h"

#ifdef DOT_SIGNED_BYTES
// Whether the bias goes into the sum of codes times q. With DOT_SIGNED_BYTES
// eight-bit codes are made signed, which leaves nothing to correct.
INLINE bool class_starts_at_bias(enum glint_tile_class class) {
    return !glint_class_adds(class) && !(DOT_SIGNED_BYTES && class == GLINT_TILE_SUB32_BYTE);
}

// Exact sums of one sub-block.
INLINE void sum_sub(lanes_int sum[TOKENS][VECTORS], const struct place *at, struct shape shape,
                    int i_sub) {
    int steps = 8 / glint_class_subs(shape.class), first = i_sub * steps;
#pragma GCC unroll 16
    for (int t = 0; t < shape.n_token; t++)
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++)
            sum[t][v] = !class_starts_at_bias(shape.class)
                            ? int_zero()
                            : int_spread(at->bias + t * bias_stride(shape.class) + i_sub * 4);
#pragma GCC unroll 16
    for (int k = first; k < first + steps; k += dot_steps(shape.class))
        dot_add(sum, at, shape, k);
}

INLINE void add_block(lanes_float acc[TOKENS][VECTORS], const struct place *at,
                      struct shape shape) {
    lanes_float product[TOKENS][VECTORS];
    int subs = glint_class_subs(shape.class);
#pragma GCC unroll 16
    for (int s = 0; s < subs; s++) {
        lanes_int sum[TOKENS][VECTORS];
        sum_sub(sum, at, shape, s);
#pragma GCC unroll 16
        for (int t = 0; t < shape.n_token; t++)
#pragma GCC unroll 16
            for (int v = 0; v < VECTORS; v++) {
                lanes_float scale = float_load(at->scale[v] + s * GLINT_TILE_ROWS);
                lanes_float value = float_from_int(sum[t][v]);
                product[t][v] =
                    s == 0 ? float_mul(value, scale) : float_fma(value, scale, product[t][v]);
            }
    }
#pragma GCC unroll 16
    for (int t = 0; t < shape.n_token; t++)
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++)
            acc[t][v] =
                float_fma(product[t][v], float_all(at->scale_x[t * GLINT_TILE_BLOCKS]), acc[t][v]);
    if (!glint_class_adds(shape.class))
        return;
#pragma GCC unroll 16
    for (int s = 0; s < subs; s++)
#pragma GCC unroll 16
        for (int t = 0; t < shape.n_token; t++) {
            const char *bias = at->bias + t * bias_stride(shape.class) + s * 4;
#pragma GCC unroll 16
            for (int v = 0; v < VECTORS; v++)
                acc[t][v] = float_fma(float_load(at->add[v] + s * GLINT_TILE_ROWS),
                                      float_from_bits(int_spread(bias)), acc[t][v]);
        }
}

// Rows of x [token, token + shape.n_token) by weight rows [row, row + VECTORS * LANES).
INLINE void multiply_block(const struct glint_tile_multiply *job, int token, int row,
                           struct shape shape) {
    struct place at = {
        .q = job->q + token * GLINT_TILE_COLS,
        .scale_x = job->scale + token * GLINT_TILE_BLOCKS,
        .bias = (const char *)job->bias + token * bias_stride(shape.class),
    };
    float *to = job->acc + token * GLINT_PANEL_ROWS + row;
    lanes_float acc[TOKENS][VECTORS];
#pragma GCC unroll 16
    for (int v = 0; v < VECTORS; v++) {
        int r = row + v * LANES;
        const struct glint_tile *tile = &job->tile[r / GLINT_TILE_ROWS];
        at.code[v] = tile->code[0][r % GLINT_TILE_ROWS];
        at.scale[v] = &tile->scale[0][r % GLINT_TILE_ROWS];
        at.add[v] = &tile->add[0][r % GLINT_TILE_ROWS];
#pragma GCC unroll 16
        for (int t = 0; t < shape.n_token; t++)
            acc[t][v] = float_load(to + t * GLINT_PANEL_ROWS + v * LANES);
    }
    int subs = glint_class_subs(shape.class);
    for (int b = 0; b < job->n_block; b++) {
        add_block(acc, &at, shape);
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) {
            at.code[v] += 8 * 64;
            at.scale[v] += subs * GLINT_TILE_ROWS;
            at.add[v] += subs * GLINT_TILE_ROWS;
        }
        at.q += 32;
        at.scale_x++;
        at.bias += subs * 4;
    }
#pragma GCC unroll 16
    for (int v = 0; v < VECTORS; v++)
#pragma GCC unroll 16
        for (int t = 0; t < shape.n_token; t++)
            float_store(to + t * GLINT_PANEL_ROWS + v * LANES, acc[t][v]);
}

// The cases above the register block's height are never taken; they only have to compile.
INLINE void multiply_rest(const struct glint_tile_multiply *job, int token, int row,
                          enum glint_tile_class class) {
    switch (job->n_token - token) {
    case 1:
        multiply_block(job, token, row, (struct shape){class, 1});
        break;
    case 2:
        multiply_block(job, token, row, (struct shape){class, TOKENS < 2 ? TOKENS : 2});
        break;
    case 3:
        multiply_block(job, token, row, (struct shape){class, TOKENS < 3 ? TOKENS : 3});
        break;
    case 4:
        multiply_block(job, token, row, (struct shape){class, TOKENS < 4 ? TOKENS : 4});
        break;
    case 5:
        multiply_block(job, token, row, (struct shape){class, TOKENS < 5 ? TOKENS : 5});
        break;
    default:
        break;
    }
}

INLINE void multiply(const struct glint_tile_multiply *job, enum glint_tile_class class) {
    for (int row = 0; row < GLINT_PANEL_ROWS; row += VECTORS * LANES) {
        int token = 0;
        for (; token + TOKENS <= job->n_token; token += TOKENS)
            multiply_block(job, token, row, (struct shape){class, TOKENS});
        multiply_rest(job, token, row, class);
    }
}

static void multiply_sub32_offset(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB32_OFFSET);
}

static void multiply_sub32_byte(const struct glint_tile_multiply *job) {
    multiply(job, GLINT_TILE_SUB32_BYTE);
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

static inline void fill_multiply(struct glint_matmul_kernels *kernels) {
    kernels->multiply[GLINT_TILE_SUB32_OFFSET] = multiply_sub32_offset;
    kernels->multiply[GLINT_TILE_SUB32_BYTE] = multiply_sub32_byte;
    kernels->multiply[GLINT_TILE_SUB32_ADD] = multiply_sub32_add;
    kernels->multiply[GLINT_TILE_SUB16_OFFSET] = multiply_sub16_offset;
    kernels->multiply[GLINT_TILE_SUB16_ADD] = multiply_sub16_add;
}

#endif
#endif
