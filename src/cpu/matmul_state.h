// SPDX-License-Identifier: Apache-2.0
// matmul_state.h — what matmul.c owns and its two drivers use: the kernels of the tier, the
// rounded rows of x, and scratch of each worker. Sized at open; nothing grows in a step.
#ifndef GLINT_CPU_MATMUL_STATE_H
#define GLINT_CPU_MATMUL_STATE_H

#include "cpu/cpu_backend.h"
#include "cpu/matmul_tile.h"

enum {
    GLINT_MATMUL_GROUP = 4,    // panels multiplied while one stretch of x stays in the L2 cache
    GLINT_DOT_COLS = 1024,     // columns a float kernel handles at once: weights stay in L1
    GLINT_DOT_TOKENS = 64,     // rows of x at once: they stay in L2
    GLINT_DOT_GROUP_ROWS = 64, // weight rows between two passes over them
};

struct glint_matmul_worker {
    struct glint_tile tile[GLINT_PANEL_TILES];
    // Rows of the last, short panel, with zero rows after them; a K block or 8 short ones each.
    uint8_t tail[GLINT_PANEL_ROWS][GLINT_TILE_BLOCKS * 34];
    float decoded[GLINT_DOT_ROWS][GLINT_DOT_COLS];
    // Partial sums: panels of [token][row], or [row][token][lane] of the float path.
    float acc[GLINT_MATMUL_GROUP * GLINT_PANEL_ROWS * GLINT_MATMUL_CHUNK];
};
_Static_assert(GLINT_DOT_GROUP_ROWS *GLINT_DOT_TOKENS *GLINT_DOT_LANES <=
                   GLINT_MATMUL_GROUP * GLINT_PANEL_ROWS * GLINT_MATMUL_CHUNK,
               "the float path's partial sums fit");

struct glint_cpu_matmul {
    struct glint_matmul_kernels kernels;
    // x, rounded, by stretches of GLINT_TILE_COLS columns: [stretch][token][...]
    int8_t *q;
    float *scale;
    void *bias[GLINT_MATMUL_MAX];
    struct glint_matmul_worker *worker; // [n_workers]
};

// Both compute all of op, whose matrices are all of their path.
void glint_matmul_quant(struct glint_cpu *cpu, const struct glint_op_matmul *op);
void glint_matmul_float(struct glint_cpu *cpu, const struct glint_op_matmul *op);
// About the cycles of op's products with n rows of x, for glint_cpu_run.
int64_t glint_matmul_work(const struct glint_op_matmul *op, int n);

#endif
