// SPDX-License-Identifier: Apache-2.0
// multiply_one.h — one row of x, the decode step: the walks of unpack_tmpl.h straight into sums.
// The weights are read once and nothing but their scales is stored, so that memory, not the
// core, sets the speed. Bits are those of unpack and multiply: sums are exact, and the float
// operations the same. The including file defines SINK_DOT and GLINT_MULTIPLY_ONE.
#ifndef GLINT_CPU_MULTIPLY_ONE_H
#define GLINT_CPU_MULTIPLY_ONE_H

#include "cpu/unpack_tmpl.h"

#ifdef GLINT_MULTIPLY_ONE
_Static_assert((int)LANES == (int)GLINT_TILE_ROWS, "one vector holds the sums of a tile");

INLINE struct sink open_sink(struct glint_tile *tile, const struct glint_tile_multiply *job,
                             enum glint_tile_class class) {
    return (struct sink){
        .tile = tile,
        .code = tile->code[0][0],
        .multiply = true,
        .class = class,
        .q = job->q,
        .scale_x = job->scale,
        .bias = job->bias,
        .acc = float_load(job->acc),
    };
}

#define ONE_BLOCKS(type, bytes, class)                                                             \
    static void one_##type(struct glint_tile *tile, const struct glint_tile_source *source,        \
                           const struct glint_tile_multiply *job) {                                \
        struct sink to = open_sink(tile, job, class);                                              \
        walk_blocks(&to, source, job->n_block, bytes, block_##type);                               \
        float_store(job->acc, to.acc);                                                             \
    }
ONE_BLOCKS(q8_0, 34, GLINT_TILE_SUB32_BYTE)
ONE_BLOCKS(q4_0, 18, GLINT_TILE_SUB32_OFFSET)
ONE_BLOCKS(q4_1, 20, GLINT_TILE_SUB32_ADD)
ONE_BLOCKS(q5_0, 22, GLINT_TILE_SUB32_OFFSET)
ONE_BLOCKS(q5_1, 24, GLINT_TILE_SUB32_ADD)

#define ONE_K(type, class)                                                                         \
    static void one_##type(struct glint_tile *tile, const struct glint_tile_source *source,        \
                           const struct glint_tile_multiply *job) {                                \
        struct sink to = open_sink(tile, job, class);                                              \
        walk_##type(&to, source);                                                                  \
        float_store(job->acc, to.acc);                                                             \
    }
ONE_K(q2_k, GLINT_TILE_SUB16_ADD)
ONE_K(q3_k, GLINT_TILE_SUB16_OFFSET)
ONE_K(q4_k, GLINT_TILE_SUB32_ADD)
ONE_K(q5_k, GLINT_TILE_SUB32_ADD)

static inline void fill_multiply_one(struct glint_matmul_kernels *kernels) {
    kernels->multiply_one[GLINT_DTYPE_Q8_0] = one_q8_0;
    kernels->multiply_one[GLINT_DTYPE_Q4_0] = one_q4_0;
    kernels->multiply_one[GLINT_DTYPE_Q4_1] = one_q4_1;
    kernels->multiply_one[GLINT_DTYPE_Q5_0] = one_q5_0;
    kernels->multiply_one[GLINT_DTYPE_Q5_1] = one_q5_1;
    kernels->multiply_one[GLINT_DTYPE_Q2_K] = one_q2_k;
    kernels->multiply_one[GLINT_DTYPE_Q3_K] = one_q3_k;
    kernels->multiply_one[GLINT_DTYPE_Q4_K] = one_q4_k;
    kernels->multiply_one[GLINT_DTYPE_Q5_K] = one_q5_k;
}

#endif
#endif
