// SPDX-License-Identifier: Apache-2.0
// many_kernels.cu — quantized products for many rows of x: a block takes 128 rows of weights and
// 128 of x, a warp 32 by 64 of these. x comes through shared memory in stages of 64 columns, copied
// ahead; weights go from device memory to registers. The sums are those of few_kernels.cu, bit for
// bit.
#include "cuda/kernels.h"

#include "cuda/multiply.cuh"

enum {
    WARP_TILES = 2,  // of weights, a warp
    WARP_TOKENS = 8, // tiles of 8 rows of x, a warp
    N_TOKEN_TILE = GLINT_MANY_TOKENS / 8,
    STAGE_BLOCKS = GLINT_MANY_STAGE_COLS / 32,
    STAGES_A_TILE = GLINT_PACKED_COLS / GLINT_MANY_STAGE_COLS,
};

// Copies 64 columns of this block's rows of x, and their sums.
static __device__ void fetch_stage(unsigned char *stage, const struct glint_cuda_rounded *x,
                                   int i_stage, int first_token) {
    for (int i = (int)threadIdx.x; i < GLINT_MANY_X_BYTES / 16; i += GLINT_CUDA_THREADS) {
        int b = i / (N_TOKEN_TILE * 32), at = i % (N_TOKEN_TILE * 32);
        int64_t block = (int64_t)(i_stage * STAGE_BLOCKS + b) * (x->n_token / 8) + first_token / 8;
        glint_copy_async(stage + i * 16, x->half + (block * 32 + at) * 8);
    }
    for (int i = (int)threadIdx.x; i < GLINT_MANY_SUM_BYTES / 16; i += GLINT_CUDA_THREADS) {
        int kind = i / (GLINT_MANY_TOKENS / 4), at = i % (GLINT_MANY_TOKENS / 4) * 4;
        glint_copy_async(stage + GLINT_MANY_X_BYTES + i * 16,
                         x->sum + ((int64_t)i_stage * STAGE_BLOCKS * 3 + kind) * x->n_token +
                             first_token + at);
    }
}

struct pass {
    const struct glint_cuda_product *op;
    const struct glint_cuda_matrix *w;
    float *out;
    unsigned char *stages;
    int first_tile;  // of this warp's tiles of weights
    int first_token; // of the block
    int warp_token;  // of the warp in the block
};

template <int DTYPE>
static __device__ void add_range(float total[WARP_TILES][WARP_TOKENS][4],
                                 float acc[WARP_TILES][WARP_TOKENS][4], const struct pass *pass,
                                 int i_range) {
    int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < WARP_TOKENS; i++) {
        const float *at = pass->op->x.unscale + (int64_t)i_range * pass->op->x.n_token +
                          pass->first_token + pass->warp_token + i * 8 + lane % 4 * 2;
        float unscale[2] = {at[0], at[1]};
#pragma unroll
        for (int m = 0; m < WARP_TILES; m++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                total[m][i][j] += acc[m][i][j] * unscale[j % 2];
                acc[m][i][j] = 0;
            }
    }
}

template <int DTYPE> static __device__ void multiply_block(const struct pass *pass) {
    typedef glint_tile_layout<DTYPE> layout;
    const struct glint_cuda_rounded *x = &pass->op->x;
    int lane = (int)threadIdx.x % 32, n_tile_col = pass->w->n_tile_col;
    int n_stage = n_tile_col * STAGES_A_TILE, i_range = 0;
    int n_tile_row = (pass->w->n_row + GLINT_PACKED_ROWS - 1) / GLINT_PACKED_ROWS;
    float acc[WARP_TILES][WARP_TOKENS][4] = {}, total[WARP_TILES][WARP_TOKENS][4] = {};
    const unsigned char *tile[WARP_TILES];
    for (int m = 0; m < WARP_TILES; m++) { // past the last tile: that one again, unused
        int i = pass->first_tile + m < n_tile_row ? pass->first_tile + m : n_tile_row - 1;
        tile[m] = (const unsigned char *)pass->w->data +
                  (uint64_t)i * (uint64_t)n_tile_col * layout::BYTES;
    }
    for (int i = 0; i < GLINT_MANY_STAGES - 1; i++) {
        if (i < n_stage)
            fetch_stage(pass->stages + i * GLINT_MANY_STAGE_BYTES, x, i, pass->first_token);
        glint_copy_commit();
    }
    for (int s = 0; s < n_tile_col; s++) {
        while (n_tile_col * (i_range + 1) / GLINT_PACKED_RANGES <= s)
            add_range<DTYPE>(total, acc, pass, i_range++);
        glint_tile_words<DTYPE> words[WARP_TILES];
#pragma unroll
        for (int m = 0; m < WARP_TILES; m++)
            glint_load_tile<DTYPE>(&words[m], tile[m] + (uint64_t)s * layout::BYTES, lane);
#pragma unroll
        for (int part = 0; part < STAGES_A_TILE; part++) {
            int i_stage = s * STAGES_A_TILE + part, ahead = i_stage + GLINT_MANY_STAGES - 1;
            glint_copy_wait<GLINT_MANY_STAGES - 2>();
            __syncthreads();
            if (ahead < n_stage)
                fetch_stage(pass->stages + ahead % GLINT_MANY_STAGES * GLINT_MANY_STAGE_BYTES, x,
                            ahead, pass->first_token);
            glint_copy_commit();
            unsigned char *stage =
                pass->stages + i_stage % GLINT_MANY_STAGES * GLINT_MANY_STAGE_BYTES;
#pragma unroll
            for (int b = 0; b < STAGE_BLOCKS; b++) {
                struct glint_x_block block = {
                    (const uint4 *)(const void *)stage +
                        (b * N_TOKEN_TILE + pass->warp_token / 8) * 32 + lane,
                    (const float *)(const void *)(stage + GLINT_MANY_X_BYTES) +
                        b * 3 * GLINT_MANY_TOKENS + pass->warp_token + lane % 4 * 2,
                    GLINT_MANY_TOKENS, true};
#pragma unroll
                for (int m = 0; m < WARP_TILES; m++)
                    glint_multiply_32<DTYPE, WARP_TOKENS>(acc[m], &words[m],
                                                          part * STAGE_BLOCKS + b, block);
            }
        }
    }
    while (i_range < GLINT_PACKED_RANGES)
        add_range<DTYPE>(total, acc, pass, i_range++);
#pragma unroll
    for (int m = 0; m < WARP_TILES; m++)
#pragma unroll
        for (int i = 0; i < WARP_TOKENS; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int row = (pass->first_tile + m) * GLINT_PACKED_ROWS + lane / 4 + j / 2 * 8;
                int token = pass->first_token + pass->warp_token + i * 8 + lane % 4 * 2 + j % 2;
                if (row < pass->w->n_row && token < pass->op->n)
                    pass->out[(int64_t)token * pass->w->n_row + row] = total[m][i][j];
            }
}

// grid: groups of rows of weights, of all matrices; groups of rows of x
static __global__ void __launch_bounds__(GLINT_CUDA_THREADS, 1)
    product_many(struct glint_cuda_product op) {
    GLINT_CUDA_SHARED(stages);
    int m = 0;
    while (m + 1 < op.n_matrix && (int)blockIdx.x >= op.first_tile[m + 1])
        m++;
    int warp = (int)threadIdx.x / 32;
    struct pass pass = {&op, &op.w[m], op.out[m], stages, 0, 0, 0};
    pass.first_tile =
        ((int)blockIdx.x - op.first_tile[m]) * (GLINT_MANY_ROWS / 16) + warp / 2 * WARP_TILES;
    pass.first_token = (int)blockIdx.y * GLINT_MANY_TOKENS;
    pass.warp_token = warp % 2 * WARP_TOKENS * 8;
    GLINT_PACKED_SWITCH(op.w[m].dtype, multiply_block, &pass)
}

extern "C" void glint_cuda_init_many(struct glint_cuda_kernels *kernels) {
    kernels->product_many = GLINT_CUDA_KERNEL(product_many, struct glint_cuda_product);
}
