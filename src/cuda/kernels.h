// SPDX-License-Identifier: Apache-2.0
// kernels.h — the edge between the C files of this folder and the CUDA files: what every kernel
// takes, by value, and the table of kernels that the CUDA files fill. All pointers are device
// memory. A row op whose struct in op.h holds device pointers alone is its own parameter.
#ifndef GLINT_CUDA_KERNELS_H
#define GLINT_CUDA_KERNELS_H

#include "op/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GLINT_CUDA_THREADS = 256,     // of a block, except where a kernel says otherwise
    GLINT_CUDA_ROW_THREADS = 512, // of the norms: one block a row
    GLINT_CUDA_PARAM_BYTES = 256, // of the largest parameter
};

// ---- packed weights (packed.cuh) ------------------------------------------------------------

enum {
    GLINT_PACKED_ROWS = 16,  // of a tile
    GLINT_PACKED_COLS = 256, // of a tile; matrices are padded with zeros
    GLINT_PACKED_RANGES = 8, // parts of a row that are summed alone, then in order
};

// A matrix as the product kernels see it: packed when quantized, else rows as in the file.
struct glint_cuda_matrix {
    const void *data;
    int dtype; // enum glint_dtype
    int n_row, n_col;
    int n_tile_col; // tiles of a row of tiles; 0: not packed
};

struct glint_cuda_pack {
    void *out;      // tiles
    const void *in; // rows of blocks, of which n_row are there
    int dtype, n_row, n_col;
    int i_tile; // of the first row of tiles
};

// ---- products -------------------------------------------------------------------------------

// Rows of x rounded to binary16, by groups of 8 rows ("tiles" of tokens), in the order in which a
// warp multiplies them. Range w of row i was scaled by 1 / unscale[w][i], a power of two.
struct glint_cuda_rounded {
    uint16_t *half; // [n_col / 32][n_token / 8][32 lanes][8]
    float *sum;     // [n_col / 32][3: first 16, last 16, both][n_token] sums of them
    float *unscale; // [GLINT_PACKED_RANGES][n_token]
    int n_token;    // rows rounded up
    int n_tile_col; // ceil(n_col / 256)
};

struct glint_cuda_round {
    struct glint_cuda_rounded to;
    const float *x; // [n, n_col]
    int n, n_col;
};

struct glint_cuda_product {
    struct glint_cuda_rounded x;
    int n; // rows of x
    int n_matrix;
    struct glint_cuda_matrix w[GLINT_MATMUL_MAX];
    float *out[GLINT_MATMUL_MAX];         // [n, w.n_row]
    int first_tile[GLINT_MATMUL_MAX + 1]; // blocks of matrix m begin at first_tile[m]
};

struct glint_cuda_exact {
    const float *x; // [n, n_col]
    struct glint_cuda_matrix w;
    float *out; // [n, w.n_row]
    int n;
};

// ---- rows -----------------------------------------------------------------------------------

struct glint_cuda_embed {
    float *out; // [n, n_col]
    struct glint_cuda_matrix table;
    const int32_t *id; // [n]
    int n;
};

// A row of the batch in the cache; its pages begin at tables[table].
struct glint_cuda_ref {
    int32_t position, ahead, table, n_table;
};

struct glint_cuda_plane {
    char *pages;
    uint64_t page_bytes;
    int dtype_k, dtype_v;
    int n_head_kv, head_dim;
    uint32_t row_bytes[2]; // of K and V
    uint64_t offset[2];    // of head 0 of this layer's K and V in a page
};

struct glint_cuda_store {
    struct glint_cuda_plane plane;
    const float *k, *v;               // [n, n_head_kv, head_dim]
    const struct glint_cuda_ref *ref; // [n]
    const int32_t *tables;
    int n;
};

enum {
    GLINT_CUDA_SPLIT = 256,   // keys of one partial softmax; borders are multiples in position
    GLINT_CUDA_HEADS = 8,     // query heads of one block of the attention kernel
    GLINT_CUDA_HEADS_FEW = 2, // the same when there are few rows
    GLINT_CUDA_FEW_ROWS = 4,
    GLINT_CUDA_MAX_DIM = 256,
};

struct glint_cuda_attention {
    struct glint_cuda_plane plane;
    const struct glint_cuda_ref *ref; // [n]
    const int32_t *tables;
    const float *q; // [n, n_head, head_dim]
    float *out;     // [n, n_head, head_dim]
    float *part;    // [n][n_split][n_head][head_dim + 2: sum, largest, total]
    int n, n_head, n_split, window;
    float scale;
};

// ---- the table ------------------------------------------------------------------------------

struct glint_cuda_kernels {
    const void *embed, *rms_norm, *add_rms_norm, *layer_norm, *add, *gelu, *rotate, *head_norm_rope;
    const void *kv_store, *gate, *swiglu, *softcap, *copy_rows, *best;
    const void *pack, *round, *exact;
    const void *product_few[3]; // up to 8, 16, 32 rows
    const void *product_many;
    const void *attention, *attention_few, *attention_merge;
};
// One function a CUDA file.
void glint_cuda_init_rows(struct glint_cuda_kernels *kernels);
void glint_cuda_init_packing(struct glint_cuda_kernels *kernels);
void glint_cuda_init_few(struct glint_cuda_kernels *kernels);
void glint_cuda_init_many(struct glint_cuda_kernels *kernels);
void glint_cuda_init_attention(struct glint_cuda_kernels *kernels);

// What product_many needs.
enum {
    GLINT_MANY_ROWS = 128,   // of weights, a block
    GLINT_MANY_TOKENS = 128, // of x, a block
    GLINT_MANY_STAGE_COLS = 64,
    GLINT_MANY_STAGES = 4,
    // x and its sums of one stage
    GLINT_MANY_X_BYTES = GLINT_MANY_STAGE_COLS * GLINT_MANY_TOKENS * 2,
    GLINT_MANY_SUM_BYTES = GLINT_MANY_STAGE_COLS / 32 * 3 * GLINT_MANY_TOKENS * 4,
    GLINT_MANY_STAGE_BYTES = GLINT_MANY_X_BYTES + GLINT_MANY_SUM_BYTES,
};

#ifdef __cplusplus
}
#endif

#endif
