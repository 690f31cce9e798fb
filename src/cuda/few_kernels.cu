// SPDX-License-Identifier: Apache-2.0
// few_kernels.cu — rounding of x, and quantized products for up to 32 rows of it: as fast as the
// weights arrive. A block takes 16 rows of weights, a warp one of the eight ranges of columns.
#include "cuda/kernels.h"

#include "cuda/multiply.cuh"

static __device__ __forceinline__ int range_begin(int n_tile_col, int i_range) {
    return n_tile_col * i_range / GLINT_PACKED_RANGES;
}

// ---- rounding x -----------------------------------------------------------------------------

// The power of two that brings a range with this largest magnitude (as bits) below 2^15, where a
// half has eleven bits for values down to 2^-29 of it. NaN when it is not finite: every product of
// the row shall show it. 0 for what is nothing: as on the CPU, below 2^-100.
static __device__ float scale_for(uint32_t largest) {
    if (largest >= 0x7f800000u)
        return __uint_as_float(0x7fc00000u);
    uint32_t exponent = largest >> 23;
    return exponent < 27 ? 0.0f : __uint_as_float((268 - exponent) << 23);
}

static __device__ uint32_t largest_of(const float *x, int begin, int end, uint32_t *scratch) {
    uint32_t largest = 0;
    for (int c = begin + (int)threadIdx.x; c < end; c += GLINT_CUDA_THREADS) {
        uint32_t bits = __float_as_uint(x[c]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        uint32_t other = glint_shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = largest;
    __syncthreads();
    for (int w = 0; w < GLINT_CUDA_THREADS / 32; w++)
        largest = scratch[w] > largest ? scratch[w] : largest;
    return largest;
}

// Four values at column c of row i; the sums of 16 and 32 go along.
static __device__ void store_four(const struct glint_cuda_rounded *to, int i, int c,
                                  const float x[4]) {
    uint16_t half[4];
    float v[4];
    for (int j = 0; j < 4; j++) {
        half[j] = glint_float_half(x[j]);
        v[j] = glint_half_float(half[j]);
    }
    int lane = i % 8 * 4 + c % 16 / 4, odd = c / 16 % 2;
    int64_t block = (int64_t)(c / 32) * (to->n_token / 8) + i / 8;
    uint2 *out = (uint2 *)(void *)(to->half + (block * 32 + lane) * 8 + odd * 4);
    out->x = half[0] | (uint32_t)half[1] << 16;
    out->y = half[2] | (uint32_t)half[3] << 16;
    float sum = (v[0] + v[1]) + (v[2] + v[3]);
    sum += glint_shuffle_xor_float(sum, 1);
    sum += glint_shuffle_xor_float(sum, 2);
    float both = sum + glint_shuffle_xor_float(sum, 4);
    float *sums = to->sum + (int64_t)(c / 32) * 3 * to->n_token + i;
    if (c % 16 == 0)
        sums[(int64_t)odd * to->n_token] = sum;
    if (c % 32 == 0)
        sums[(int64_t)2 * to->n_token] = both;
}

// A block a range and row.
static __global__ void round_rows(struct glint_cuda_round op) {
    __shared__ uint32_t scratch[32];
    int w = (int)blockIdx.x, i = (int)blockIdx.y;
    int begin = range_begin(op.to.n_tile_col, w) * GLINT_PACKED_COLS;
    int end = range_begin(op.to.n_tile_col, w + 1) * GLINT_PACKED_COLS;
    int there = end < op.n_col ? end : op.n_col; // the rest are zeros
    const float *x = op.x + (int64_t)i * op.n_col;
    float scale = scale_for(largest_of(x, begin, there, scratch));
    for (int c = begin + 4 * (int)threadIdx.x; c < end; c += 4 * GLINT_CUDA_THREADS) {
        float four[4] = {0, 0, 0, 0};
        if (c < there)
            for (int j = 0; j < 4; j++)
                four[j] = x[c + j] * scale;
        store_four(&op.to, i, c, four);
    }
    if (threadIdx.x == 0)
        op.to.unscale[w * op.to.n_token + i] = scale > 0 ? 1 / scale : scale == 0 ? 1 : scale;
}

// ---- products -------------------------------------------------------------------------------

template <int DTYPE, int N_TILE>
static __device__ void multiply_range(float acc[N_TILE][4], const struct glint_cuda_product *op,
                                      const struct glint_cuda_matrix *w, int i_tile) {
    typedef glint_tile_layout<DTYPE> layout;
    int lane = (int)threadIdx.x % 32, i_range = (int)threadIdx.x / 32;
    int begin = range_begin(w->n_tile_col, i_range), end = range_begin(w->n_tile_col, i_range + 1);
    if (begin >= end)
        return;
    const unsigned char *tile =
        (const unsigned char *)w->data +
        ((uint64_t)i_tile * (uint64_t)w->n_tile_col + (uint64_t)begin) * layout::BYTES;
    int64_t step = (int64_t)(op->x.n_token / 8) * 32; // of 32 columns
    struct glint_x_block x = {(const uint4 *)(const void *)op->x.half + begin * 8 * step + lane,
                              op->x.sum + (int64_t)begin * 24 * op->x.n_token + lane % 4 * 2,
                              op->x.n_token, N_TILE > 1 || lane / 4 < op->n};
    for (int s = begin; s < end; s++, tile += layout::BYTES) {
        // Other warps compute while these loads are on their way.
        glint_tile_words<DTYPE> words;
        glint_load_tile<DTYPE>(&words, tile, lane);
#pragma unroll
        for (int b = 0; b < 8; b++) {
            glint_multiply_32<DTYPE, N_TILE>(acc, &words, b, x);
            x.half += step;
            x.sum += 3 * op->x.n_token;
        }
    }
}

template <int N_TILE>
static __global__ void __launch_bounds__(GLINT_CUDA_THREADS, N_TILE > 2    ? 1
                                                             : N_TILE == 1 ? 3
                                                                           : 2)
    product_few(struct glint_cuda_product op) {
    __shared__ float part[GLINT_PACKED_RANGES][8 * N_TILE][GLINT_PACKED_ROWS];
    int m = 0;
    while (m + 1 < op.n_matrix && (int)blockIdx.x >= op.first_tile[m + 1])
        m++;
    int i_tile = (int)blockIdx.x - op.first_tile[m];
    int lane = (int)threadIdx.x % 32, i_range = (int)threadIdx.x / 32;
    float acc[N_TILE][4] = {};
    switch (op.w[m].dtype) {
#define GLINT_FEW_CASE(dtype)                                                                      \
    case dtype:                                                                                    \
        multiply_range<dtype, N_TILE>(acc, &op, &op.w[m], i_tile);                                 \
        break;
        GLINT_FEW_CASE(GLINT_DTYPE_Q4_0)
        GLINT_FEW_CASE(GLINT_DTYPE_Q4_1)
        GLINT_FEW_CASE(GLINT_DTYPE_Q5_0)
        GLINT_FEW_CASE(GLINT_DTYPE_Q5_1)
        GLINT_FEW_CASE(GLINT_DTYPE_Q8_0)
        GLINT_FEW_CASE(GLINT_DTYPE_Q2_K)
        GLINT_FEW_CASE(GLINT_DTYPE_Q3_K)
        GLINT_FEW_CASE(GLINT_DTYPE_Q4_K)
        GLINT_FEW_CASE(GLINT_DTYPE_Q5_K)
        GLINT_FEW_CASE(GLINT_DTYPE_Q6_K)
#undef GLINT_FEW_CASE
    default:
        break;
    }
#pragma unroll
    for (int i = 0; i < N_TILE; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int token = i * 8 + lane % 4 * 2 + j % 2;
            float unscale = token < op.n ? op.x.unscale[i_range * op.x.n_token + token] : 0;
            part[i_range][token][lane / 4 + j / 2 * 8] = acc[i][j] * unscale;
        }
    __syncthreads();
    const struct glint_cuda_matrix *w = &op.w[m];
    for (int v = (int)threadIdx.x; v < op.n * GLINT_PACKED_ROWS; v += GLINT_CUDA_THREADS) {
        int token = v / GLINT_PACKED_ROWS, r = v % GLINT_PACKED_ROWS;
        float total = 0;
        for (int k = 0; k < GLINT_PACKED_RANGES; k++)
            total += part[k][token][r];
        int row = i_tile * GLINT_PACKED_ROWS + r;
        if (row < w->n_row)
            op.out[m][(int64_t)token * w->n_row + row] = total;
    }
}

extern "C" void glint_cuda_init_few(struct glint_cuda_kernels *kernels) {
    kernels->round = GLINT_CUDA_KERNEL(round_rows, struct glint_cuda_round);
    kernels->product_few[0] = GLINT_CUDA_KERNEL(product_few<1>, struct glint_cuda_product);
    kernels->product_few[1] = GLINT_CUDA_KERNEL(product_few<2>, struct glint_cuda_product);
    kernels->product_few[2] = GLINT_CUDA_KERNEL(product_few<4>, struct glint_cuda_product);
}
