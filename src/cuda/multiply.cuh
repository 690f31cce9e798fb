// SPDX-License-Identifier: Apache-2.0
// multiply.cuh — the arithmetic of a quantized product, the same for one row of x and for hundreds.
//
// For one output, range by range (GLINT_PACKED_RANGES), blocks of 32 or 16 columns ascending:
//     c   = sum over the block of code * x_half            tensor cores, float32 sums
//     acc = fma(scale, c, acc)
//     acc = fma(add, sum of x_half, acc)                   types with a minimum
// then total = total + acc * unscale, ranges ascending. Other rows of x are other columns of the
// tensor cores' operands: they take no part in a row's sums.
#ifndef GLINT_CUDA_MULTIPLY_CUH
#define GLINT_CUDA_MULTIPLY_CUH

#include "cuda/packed.cuh"

// The part of x that a warp multiplies with 32 columns of weights: this lane's places in it.
struct glint_x_block {
    const uint4 *half; // of the first 8 rows; the next 8 are 32 further on
    const float *sum;  // of the first of this lane's two rows; the next 8 rows are 8 further on
    int n_token;       // floats from one kind of sum to the next
    bool live;         // false: this lane's row of x does not exist
};

// One lane's words of a tile.
template <int DTYPE> struct glint_tile_words {
    typedef glint_tile_layout<DTYPE> layout;
    uint32_t low[layout::N_LOW], high[layout::N_HIGH > 0 ? layout::N_HIGH : 1];
    struct glint_row_scales scales[2]; // rows r, r + 8
};

template <int N>
static __device__ __forceinline__ void glint_load_words(uint32_t *words, const unsigned char *plane,
                                                        int lane) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
        uint4 load = *(const uint4 *)(const void *)(plane + i * 128 + lane * 16);
        words[i] = load.x;
        words[i + 1] = load.y;
        words[i + 2] = load.z;
        words[i + 3] = load.w;
    }
}

template <int DTYPE>
static __device__ __forceinline__ void glint_load_tile(glint_tile_words<DTYPE> *words,
                                                       const unsigned char *tile, int lane) {
    typedef glint_tile_layout<DTYPE> layout;
    glint_load_words<layout::N_LOW>(words->low, tile + layout::LOW_AT, lane);
    glint_load_words<layout::N_HIGH>(words->high, tile + layout::HIGH_AT, lane);
    glint_load_scales<DTYPE>(&words->scales[0], tile, lane / 4);
    glint_load_scales<DTYPE>(&words->scales[1], tile, lane / 4 + 8);
}

// Scale and addend of sub-block j for the sums of 1024 + code (packed.cuh).
struct glint_factor {
    float scale, add;
};

template <int DTYPE>
static __device__ __forceinline__ struct glint_factor
glint_factor_at(const struct glint_row_scales *scales, int half, int j) {
    struct glint_sub_scale sub = glint_sub_scale_at<DTYPE>(&scales[half], j);
    struct glint_factor out = {sub.scale, 0};
    if (half)
        out.scale *= 1.0f / glint_tile_layout<DTYPE>::MULTIPLE;
    if (glint_packed<DTYPE>::HAS_MIN)
        out.add = fmaf(-1024.0f, out.scale, -sub.min);
    return out;
}

// acc[8 rows of x][4] += columns 32 b to 32 b + 31 of a tile times x; b is known at compile time.
template <int DTYPE, int N_TILE>
static __device__ __forceinline__ void glint_multiply_32(float acc[N_TILE][4],
                                                         const glint_tile_words<DTYPE> *words,
                                                         int b, struct glint_x_block x) {
    typedef glint_packed<DTYPE> type;
    const int n_sub = 32 / type::SUB;
    uint32_t a[2][4];
    struct glint_factor factor[2][2]; // [sub][row]
    glint_unpack<DTYPE>(a[0], words->low, words->high, 2 * b);
    glint_unpack<DTYPE>(a[1], words->low, words->high, 2 * b + 1);
#pragma unroll
    for (int s = 0; s < n_sub; s++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            factor[s][h] = glint_factor_at<DTYPE>(words->scales, h, n_sub * b + s);
#pragma unroll
    for (int i = 0; i < N_TILE; i++) {
        uint4 load = {0, 0, 0, 0};
        if (x.live)
            load = x.half[i * 32];
        uint32_t half[2][2] = {{load.x, load.y}, {load.z, load.w}};
        float c[4] = {0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < 2; k++) {
            glint_mma(c, a[k], half[k]);
            if (k + 1 < 2 && type::SUB == 32)
                continue;
            int s = type::SUB == 32 ? 0 : k;
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[i][j] = fmaf(factor[s][j / 2].scale, c[j], acc[i][j]);
            if (type::HAS_MIN) {
                const float *at = x.sum + (type::SUB == 32 ? 2 : k) * x.n_token + i * 8;
                float2 sum = *(const float2 *)(const void *)at;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] = fmaf(factor[s][j / 2].add, j % 2 ? sum.y : sum.x, acc[i][j]);
            }
            c[0] = c[1] = c[2] = c[3] = 0;
        }
    }
}

#endif
