// SPDX-License-Identifier: Apache-2.0
// packing.cu — blocks of the file to tiles (packed.cuh), and what reads tiles value by value: the
// table look-up and the products with float32 weights and activations.
#include "cuda/kernels.h"

#include "cuda/packed.cuh"
#include "quant/blocks.h"

// ---- codes of the file's blocks -------------------------------------------------------------

static __device__ uint32_t nibble_of(const uint8_t *q, int i) {
    return q[i % 16] >> i / 16 * 4 & 15;
}

static __device__ uint32_t fifth_of(const uint8_t *high, int i) {
    return (uint32_t)(high[i / 8] >> i % 8 & 1) << 4;
}

template <class BLOCK> static __device__ const BLOCK *block_at(const uint8_t *row, int c) {
    return (const BLOCK *)(const void *)row + c / 32;
}

// Code of column c of 256, from the row's blocks of these columns.
template <int DTYPE> static __device__ uint32_t code_of(const uint8_t *row, int c) {
    int i = c % 32;
    if (DTYPE == GLINT_DTYPE_Q4_0)
        return nibble_of(block_at<glint_block_q4_0>(row, c)->q, i);
    if (DTYPE == GLINT_DTYPE_Q4_1)
        return nibble_of(block_at<glint_block_q4_1>(row, c)->q, i);
    if (DTYPE == GLINT_DTYPE_Q5_0) {
        const glint_block_q5_0 *block = block_at<glint_block_q5_0>(row, c);
        return nibble_of(block->q, i) | fifth_of(block->high, i);
    }
    if (DTYPE == GLINT_DTYPE_Q5_1) {
        const glint_block_q5_1 *block = block_at<glint_block_q5_1>(row, c);
        return nibble_of(block->q, i) | fifth_of(block->high, i);
    }
    if (DTYPE == GLINT_DTYPE_Q8_0)
        return (uint32_t)(block_at<glint_block_q8_0>(row, c)->q[i] + 128);
    if (DTYPE == GLINT_DTYPE_Q2_K)
        return ((const glint_block_q2_k *)row)->q[c / 128 * 32 + i] >> c / 32 % 4 * 2 & 3;
    if (DTYPE == GLINT_DTYPE_Q3_K) {
        const glint_block_q3_k *block = (const glint_block_q3_k *)row;
        return (block->q[c / 128 * 32 + i] >> c / 32 % 4 * 2 & 3) | (block->high[i] >> c / 32 & 1)
                                                                        << 2;
    }
    if (DTYPE == GLINT_DTYPE_Q4_K)
        return ((const glint_block_q4_k *)row)->q[c / 64 * 32 + i] >> c / 32 % 2 * 4 & 15;
    if (DTYPE == GLINT_DTYPE_Q5_K) {
        const glint_block_q5_k *block = (const glint_block_q5_k *)row;
        return (block->q[c / 64 * 32 + i] >> c / 32 % 2 * 4 & 15) | (block->high[i] >> c / 32 & 1)
                                                                        << 4;
    }
    const glint_block_q6_k *block = (const glint_block_q6_k *)row;
    return (block->low[c / 128 * 64 + c % 64] >> c / 64 % 2 * 4 & 15) |
           (block->high[c / 128 * 32 + i] >> c / 32 % 4 * 2 & 3) << 4;
}

// ---- scales ---------------------------------------------------------------------------------

static __device__ uint32_t both_halves(uint16_t low, uint16_t high) {
    return low | (uint32_t)high << 16;
}

static __device__ uint32_t scale_or_min(const uint8_t *scales, int i) {
    int j = i / 2, is_min = i % 2;
    if (j < 4)
        return scales[j + 4 * is_min] & 63;
    return (is_min ? scales[j + 4] >> 4 : scales[j + 4] & 15) | (scales[j - 4 * !is_min] >> 6) << 4;
}

static __device__ void pack_scales_k(uint32_t word[4], const uint8_t *scales, uint16_t d,
                                     uint16_t dmin) {
    word[0] = both_halves(d, dmin);
    word[1] = word[2] = word[3] = 0;
    for (int i = 0; i < 15; i++)
        word[1 + i / 5] |= scale_or_min(scales, i) << 6 * (i % 5);
    for (int i = 0; i < 3; i++)
        word[1 + i] |= scale_or_min(scales, 15) >> 2 * i << 30;
}

static __device__ void pack_scale_bytes(uint8_t *tile, int row, const int8_t scale[16],
                                        uint16_t d) {
    for (int j = 0; j < 16; j++)
        tile[row * 16 + j] = (uint8_t)scale[j];
    ((uint16_t *)(void *)(tile + 256))[row] = d;
}

// d, and m where the type has it, of each 32 columns that exist.
template <class BLOCK>
static __device__ void pack_halves(uint8_t *tile, int row, const uint8_t *blocks, int n_block) {
    for (int j = 0; j < 8; j++) {
        const uint16_t *block = (const uint16_t *)(const void *)((const BLOCK *)blocks + j);
        ((uint16_t *)(void *)tile)[row * 8 + j] = j < n_block ? block[0] : 0;
        if (sizeof(BLOCK) == sizeof(glint_block_q4_1) || sizeof(BLOCK) == sizeof(glint_block_q5_1))
            ((uint16_t *)(void *)(tile + 256))[row * 8 + j] = j < n_block ? block[1] : 0;
    }
}

template <int DTYPE>
static __device__ void pack_scales(uint8_t *tile, int row, const uint8_t *blocks, int n_block) {
    uint32_t *word = (uint32_t *)(void *)(tile + row * 16);
    if (DTYPE == GLINT_DTYPE_Q4_0)
        pack_halves<glint_block_q4_0>(tile, row, blocks, n_block);
    if (DTYPE == GLINT_DTYPE_Q4_1)
        pack_halves<glint_block_q4_1>(tile, row, blocks, n_block);
    if (DTYPE == GLINT_DTYPE_Q5_0)
        pack_halves<glint_block_q5_0>(tile, row, blocks, n_block);
    if (DTYPE == GLINT_DTYPE_Q5_1)
        pack_halves<glint_block_q5_1>(tile, row, blocks, n_block);
    if (DTYPE == GLINT_DTYPE_Q8_0)
        pack_halves<glint_block_q8_0>(tile, row, blocks, n_block);
    if (DTYPE == GLINT_DTYPE_Q4_K) {
        const glint_block_q4_k *block = (const glint_block_q4_k *)blocks;
        pack_scales_k(word, block->scales, block->d, block->dmin);
    }
    if (DTYPE == GLINT_DTYPE_Q5_K) {
        const glint_block_q5_k *block = (const glint_block_q5_k *)blocks;
        pack_scales_k(word, block->scales, block->d, block->dmin);
    }
    if (DTYPE == GLINT_DTYPE_Q6_K) {
        const glint_block_q6_k *block = (const glint_block_q6_k *)blocks;
        pack_scale_bytes(tile, row, block->scales, block->d);
    }
    if (DTYPE == GLINT_DTYPE_Q3_K) {
        const glint_block_q3_k *block = (const glint_block_q3_k *)blocks;
        int8_t scale[16];
        for (int j = 0; j < 16; j++) {
            int low = j < 8 ? block->scales[j] & 15 : block->scales[j - 8] >> 4;
            scale[j] = (int8_t)((low | (block->scales[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32);
        }
        pack_scale_bytes(tile, row, scale, block->d);
    }
    if (DTYPE == GLINT_DTYPE_Q2_K) {
        const glint_block_q2_k *block = (const glint_block_q2_k *)blocks;
        for (int j = 0; j < 16; j++)
            tile[row * 16 + j] = block->scales[j];
        ((uint32_t *)(void *)(tile + 256))[row] = both_halves(block->d, block->dmin);
    }
}

// ---- tiles ----------------------------------------------------------------------------------

// Where in its plane of BITS a code lies: word of the lane, and bit.
struct place {
    int lane, word, bit;
};

static __device__ struct place place_of(int bits, int row, int c) {
    int k = c / 16, quarter = c % 16 / 4, e = c % 4;
    struct place place = {row % 8 * 4 + quarter, 0, 0};
    if (bits == 8) {
        place.word = 2 * k + row / 8;
        place.bit = 8 * e;
    } else {
        int per_word = 4 / bits, i = row / 8 + e / 2 * 2;
        place.word = k / per_word;
        place.bit = bits * (i + 4 * (k % per_word)) + 16 * (e % 2);
    }
    return place;
}

static __device__ uint32_t plane_code(const uint8_t *plane, int bits, int row, int c) {
    struct place place = place_of(bits, row, c);
    return *glint_plane_word((void *)plane, place.lane, place.word) >> place.bit &
           ((1u << bits) - 1);
}

enum { PACK_THREADS = 128 };

// The word of a plane: eight codes of BITS for each 16 columns that it covers.
static __device__ uint32_t pack_word(int bits, int shift, int lane, int word,
                                     const uint8_t (*code)[GLINT_PACKED_COLS]) {
    int span = bits == 8 ? 16 : 16 * (4 / bits), first = bits == 8 ? word / 2 * 16 : word * span;
    uint32_t sum = 0;
    for (int i = 0; i < 8 * span / 16; i++) {
        int row = lane / 4 + i % 2 * 8, c = first + i / 8 * 16 + lane % 4 * 4 + i / 2 % 4;
        struct place place = place_of(bits, row, c);
        if (place.word == word)
            sum |= (code[row][c] >> shift & ((1u << bits) - 1)) << place.bit;
    }
    return sum;
}

static __device__ void pack_plane(uint8_t *plane, int bits, int shift,
                                  const uint8_t (*code)[GLINT_PACKED_COLS]) {
    for (int v = (int)threadIdx.x; v < 4096 * bits / 32; v += PACK_THREADS)
        *glint_plane_word(plane, v % 32, v / 32) = pack_word(bits, shift, v % 32, v / 32, code);
}

template <int DTYPE>
static __device__ void pack_tile(const struct glint_cuda_pack *op, uint8_t (*code)[256]) {
    typedef glint_tile_layout<DTYPE> layout;
    int n_tile_col = (op->n_col + GLINT_PACKED_COLS - 1) / GLINT_PACKED_COLS;
    int s = (int)blockIdx.x, first_row = (int)blockIdx.y * GLINT_PACKED_ROWS;
    uint8_t *tile =
        (uint8_t *)op->out +
        ((uint64_t)(op->i_tile + (int)blockIdx.y) * (uint64_t)n_tile_col + (uint64_t)s) *
            layout::BYTES;
    const uint8_t *in = (const uint8_t *)op->in;
    // Bytes of 256 columns as in the file.
    const uint64_t block_bytes =
        DTYPE == GLINT_DTYPE_Q3_K ? sizeof(glint_block_q3_k) : layout::BYTES / GLINT_PACKED_ROWS;
    uint64_t row_bytes = block_bytes * (uint64_t)op->n_col / GLINT_PACKED_COLS;
    int n_col = op->n_col - s * GLINT_PACKED_COLS; // may be more than a tile's
    for (int i = (int)threadIdx.x; i < 4096; i += PACK_THREADS) {
        int row = i / 256, c = i % 256;
        const uint8_t *blocks =
            in + (uint64_t)(first_row + row) * row_bytes + (uint64_t)s * block_bytes;
        code[row][c] =
            first_row + row < op->n_row && c < n_col ? (uint8_t)code_of<DTYPE>(blocks, c) : 0;
    }
    for (int i = (int)threadIdx.x; i < layout::LOW_AT / 4; i += PACK_THREADS)
        ((uint32_t *)(void *)tile)[i] = 0;
    __syncthreads();
    int row = (int)threadIdx.x;
    if (row < GLINT_PACKED_ROWS && first_row + row < op->n_row)
        pack_scales<DTYPE>(tile, row,
                           in + (uint64_t)(first_row + row) * row_bytes + (uint64_t)s * block_bytes,
                           n_col / 32);
    pack_plane(tile + layout::LOW_AT, glint_packed<DTYPE>::LOW, 0, code);
    if (glint_packed<DTYPE>::HIGH > 0)
        pack_plane(tile + layout::HIGH_AT, glint_packed<DTYPE>::HIGH, glint_packed<DTYPE>::LOW,
                   code);
}

static __global__ void pack(struct glint_cuda_pack op) {
    __shared__ uint8_t code[GLINT_PACKED_ROWS][GLINT_PACKED_COLS];
    GLINT_PACKED_SWITCH(op.dtype, pack_tile, &op, code)
}

// ---- value by value -------------------------------------------------------------------------

template <int DTYPE>
static __device__ void tile_value(float *value, const uint8_t *tiles, uint64_t i_tile, int row,
                                  int c) {
    typedef glint_packed<DTYPE> type;
    typedef glint_tile_layout<DTYPE> layout;
    const uint8_t *tile = tiles + i_tile * layout::BYTES;
    uint32_t code = plane_code(tile + layout::LOW_AT, type::LOW, row, c);
    if (type::HIGH > 0)
        code |= plane_code(tile + layout::HIGH_AT, type::HIGH, row, c) << type::LOW;
    struct glint_row_scales scales;
    glint_load_scales<DTYPE>(&scales, tile, row);
    struct glint_sub_scale sub = glint_sub_scale_at<DTYPE>(&scales, c / type::SUB);
    *value = sub.scale * (float)((int)code - type::OFFSET);
    if (type::HAS_MIN)
        *value -= sub.min;
}

static __device__ float float_value(int dtype, const void *data, uint64_t i) {
    if (dtype == GLINT_DTYPE_F32)
        return ((const float *)data)[i];
    uint16_t bits = ((const uint16_t *)data)[i];
    return dtype == GLINT_DTYPE_F16 ? glint_half_float(bits)
                                    : __uint_as_float((uint32_t)bits << 16);
}

static __device__ float matrix_value(const struct glint_cuda_matrix *w, int row, int c) {
    if (w->n_tile_col == 0)
        return float_value(w->dtype, w->data, (uint64_t)row * (uint64_t)w->n_col + (uint64_t)c);
    float value = 0;
    uint64_t i_tile = (uint64_t)(row / GLINT_PACKED_ROWS) * (uint64_t)w->n_tile_col +
                      (uint64_t)(c / GLINT_PACKED_COLS);
    GLINT_PACKED_SWITCH(w->dtype, tile_value, &value, (const uint8_t *)w->data, i_tile,
                        row % GLINT_PACKED_ROWS, c % GLINT_PACKED_COLS)
    return value;
}

static __global__ void embed(struct glint_cuda_embed op) {
    int c = (int)(blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x), i = (int)blockIdx.y;
    if (c < op.table.n_col)
        op.out[(int64_t)i * op.table.n_col + c] = matrix_value(&op.table, op.id[i], c);
}

// ---- exact products -------------------------------------------------------------------------

enum { EXACT_LANES = 16, EXACT_TOKENS = 8 };

// 16 rows of weights and 8 of x a block; 16 partial sums a product, column c going to sum c % 16 in
// ascending order, then folded in halves: the order of the CPU (numerics.md).
static __global__ void exact(struct glint_cuda_exact op) {
    __shared__ float w[GLINT_PACKED_ROWS][GLINT_PACKED_COLS + 16];
    int row = (int)threadIdx.x / EXACT_LANES, lane = (int)threadIdx.x % EXACT_LANES;
    int first_row = (int)blockIdx.x * GLINT_PACKED_ROWS, first = (int)blockIdx.y * EXACT_TOKENS;
    int n = op.n - first < EXACT_TOKENS ? op.n - first : EXACT_TOKENS, n_col = op.w.n_col;
    float sum[EXACT_TOKENS] = {0};
    for (int at = 0; at < n_col; at += GLINT_PACKED_COLS) {
        for (int i = (int)threadIdx.x; i < 4096; i += GLINT_CUDA_THREADS) {
            int r = first_row + i / 256, c = at + i % 256;
            w[i / 256][i % 256] = r < op.w.n_row && c < n_col ? matrix_value(&op.w, r, c) : 0;
        }
        __syncthreads();
        for (int c = lane; c < GLINT_PACKED_COLS && at + c < n_col; c += EXACT_LANES) {
            const float *x = op.x + (int64_t)first * n_col + at + c;
#pragma unroll
            for (int t = 0; t < EXACT_TOKENS; t++)
                if (t < n)
                    sum[t] = fmaf(w[row][c], x[(int64_t)t * n_col], sum[t]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int t = 0; t < EXACT_TOKENS; t++) {
        for (int half = EXACT_LANES / 2; half > 0; half /= 2)
            sum[t] += glint_shuffle_xor_float(sum[t], half);
        if (lane == 0 && t < n && first_row + row < op.w.n_row)
            op.out[(int64_t)(first + t) * op.w.n_row + first_row + row] = sum[t];
    }
}

extern "C" void glint_cuda_init_packing(struct glint_cuda_kernels *kernels) {
    kernels->pack = GLINT_CUDA_KERNEL(pack, struct glint_cuda_pack);
    kernels->embed = GLINT_CUDA_KERNEL(embed, struct glint_cuda_embed);
    kernels->exact = GLINT_CUDA_KERNEL(exact, struct glint_cuda_exact);
}
