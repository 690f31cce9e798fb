// SPDX-License-Identifier: Apache-2.0
// unpack_tiles.h — the unpack functions of a tier: the walks of unpack_tmpl.h into tiles.
#ifndef GLINT_CPU_UNPACK_TILES_H
#define GLINT_CPU_UNPACK_TILES_H

#include "cpu/unpack_tmpl.h"

#ifdef GLINT_LANES

#define UNPACK_BLOCKS(type, bytes)                                                                 \
    static void unpack_##type(struct glint_tile *tile, const struct glint_tile_source *source,     \
                              int n_block) {                                                       \
        struct sink to = {.tile = tile};                                                           \
        walk_blocks(&to, source, n_block, bytes, block_##type);                                    \
    }
UNPACK_BLOCKS(q8_0, 34)
UNPACK_BLOCKS(q4_0, 18)
UNPACK_BLOCKS(q4_1, 20)
UNPACK_BLOCKS(q5_0, 22)
UNPACK_BLOCKS(q5_1, 24)

#define UNPACK_K(type)                                                                             \
    static void unpack_##type(struct glint_tile *tile, const struct glint_tile_source *source,     \
                              int n_block) {                                                       \
        (void)n_block;                                                                             \
        struct sink to = {.tile = tile, .code = tile->code[0][0]};                                 \
        walk_##type(&to, source);                                                                  \
    }
UNPACK_K(q2_k)
UNPACK_K(q3_k)
UNPACK_K(q4_k)
UNPACK_K(q5_k)
UNPACK_K(q6_k)

static inline void fill_unpack(struct glint_matmul_kernels *kernels) {
    kernels->unpack[GLINT_DTYPE_Q8_0] = unpack_q8_0;
    kernels->unpack[GLINT_DTYPE_Q4_0] = unpack_q4_0;
    kernels->unpack[GLINT_DTYPE_Q4_1] = unpack_q4_1;
    kernels->unpack[GLINT_DTYPE_Q5_0] = unpack_q5_0;
    kernels->unpack[GLINT_DTYPE_Q5_1] = unpack_q5_1;
    kernels->unpack[GLINT_DTYPE_Q2_K] = unpack_q2_k;
    kernels->unpack[GLINT_DTYPE_Q3_K] = unpack_q3_k;
    kernels->unpack[GLINT_DTYPE_Q4_K] = unpack_q4_k;
    kernels->unpack[GLINT_DTYPE_Q5_K] = unpack_q5_k;
    kernels->unpack[GLINT_DTYPE_Q6_K] = unpack_q6_k;
}

#endif
#endif
