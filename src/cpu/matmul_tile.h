// SPDX-License-Identifier: Apache-2.0
// matmul_tile.h — the unit of work of the matrix products: what the drivers (matmul_quant.c,
// matmul_float.c) hand to the kernels of a tier.
//
// A quantized matrix is multiplied tile by tile. A tile is 16 rows by 256 columns, unpacked to
// one byte a code and laid out so that a 64-byte vector holds four consecutive columns of all 16
// rows; two tiles make a panel. Every tier shares this layout, so a tier without an unpack
// function of its own for a weight type still multiplies it.
//
// Numeric contract. Integer sums are exact, so their order is free; every float operation is
// named in glint_tile_multiply's formula. All tiers, row counts and thread counts therefore give
// the same bits.
#ifndef GLINT_CPU_MATMUL_TILE_H
#define GLINT_CPU_MATMUL_TILE_H

#include "op/op.h"

enum {
    GLINT_TILE_ROWS = 16,
    GLINT_TILE_COLS = 256,
    GLINT_TILE_BLOCKS = 8,     // x blocks of 32 columns in a tile
    GLINT_TILE_SUBS = 16,      // sub-blocks of 16 columns in a tile
    GLINT_PANEL_TILES = 2,     // tiles a kernel multiplies at once
    GLINT_PANEL_ROWS = 32,     // their rows
    GLINT_MATMUL_N_DTYPE = 31, // weight types are enum values below this
    GLINT_MATMUL_CHUNK = 512,  // rows of x quantized and multiplied together
    GLINT_DOT_ROWS = 4,        // weight rows of one float kernel call
    GLINT_DOT_LANES = 16,      // partial sums of one float dot product
    GLINT_ROUND_TRIES = 4,     // scales tried for a block of x
};

// How the codes of a weight type become values.
enum glint_tile_class {
    GLINT_TILE_SUB32_OFFSET, // scale * (code - offset), a scale for 32 columns; codes below 64
    GLINT_TILE_SUB32_BYTE,   // the same, codes 0..255
    GLINT_TILE_SUB32_ADD,    // scale * code + add, for 32 columns; codes below 64
    GLINT_TILE_SUB16_OFFSET, // for 16 columns
    GLINT_TILE_SUB16_ADD,
    GLINT_TILE_N_CLASS
};

static inline bool glint_class_adds(enum glint_tile_class class) {
    return class == GLINT_TILE_SUB32_ADD || class == GLINT_TILE_SUB16_ADD;
}

static inline int glint_class_subs(enum glint_tile_class class) { // scales of 32 columns
    return class == GLINT_TILE_SUB16_OFFSET || class == GLINT_TILE_SUB16_ADD ? 2 : 1;
}

struct glint_weight_kind {
    enum glint_tile_class class;
    int sub;    // columns that share a scale: 32 or 16
    int offset; // 0 for the ADD classes
};

struct glint_tile {
    uint8_t code[GLINT_TILE_COLS / 4][GLINT_TILE_ROWS][4]; // [column / 4][row][column % 4]
    float scale[GLINT_TILE_SUBS][GLINT_TILE_ROWS];         // [column / sub][row]
    float add[GLINT_TILE_SUBS][GLINT_TILE_ROWS];           // ADD classes only
};

// 16 rows of weights, n_block * 32 columns of each.
struct glint_tile_source {
    const uint8_t *rows;
    size_t stride;        // bytes from one row to the next
    const uint8_t *ahead; // rows of a later tile, as far apart; only prefetched from
};

// One tile-wide stretch of x, rounded: columns of n_token rows. Bias belongs to a weight kind: of
// each sub-block the sum s of its q, as int32 -offset * s, or for ADD classes as float scale * s.
struct glint_tile_multiply {
    const struct glint_tile *tile; // [GLINT_PANEL_TILES]
    float *acc;                    // [n_token][GLINT_PANEL_ROWS], added to
    const int8_t *q;               // [n_token][GLINT_TILE_COLS], -127..127
    const float *scale;            // [n_token][GLINT_TILE_BLOCKS]
    const void *bias;              // [n_token][GLINT_TILE_COLS / sub], int32_t or float
    int n_token;
    int n_block; // blocks of 32 columns that exist, 1..GLINT_TILE_BLOCKS
};

// Adds n_col columns to the 16 partial sums of each (row, token): column c to lane c % 16, in
// ascending order, fused. Columns past the last count as zeros, up to a multiple of 16.
struct glint_dot {
    float *lanes;                   // [GLINT_DOT_ROWS][n_token][GLINT_DOT_LANES]
    const float *w[GLINT_DOT_ROWS]; // [n_col rounded up to 16] each
    const float *x;                 // [n_token][x_stride]
    size_t x_stride;                // floats
    int n_token;
    int n_col;
};

// One way of rounding a block of x.
struct glint_rounding {
    float scale;
    float score; // |x|^2 less the squared error, times a constant of the block
};

// The c-th factor tried for a block whose largest magnitude is max: it lands on 127 or a little
// below. The rounding errors of 32 values are luck; the best of four tries is a tenth smaller.
static inline float glint_round_inverse(int c, float max) {
    return (127.0f - 0.75f * (float)c) / max;
}

static inline struct glint_rounding glint_rounding_of(float product, int32_t square,
                                                      float inverse) {
    float fit = product / (float)square;
    float scale = fit / inverse;
    return (struct glint_rounding){scale, fit * fit * (float)square / (inverse * inverse)};
}

struct glint_matmul_kernels {
    // x [n] -> q [GLINT_TILE_COLS], scale [GLINT_TILE_BLOCKS], sum [GLINT_TILE_SUBS] of its q;
    // n is a multiple of 32. With r = x * inverse, q is r rounded to even and the scale is
    // (sum r q / sum q q) / inverse, the one with the least squared error for these q; of
    // GLINT_ROUND_TRIES inverses the one whose error is least is taken, the first on a tie.
    // sum r q is added in 16 lanes, then lanes 8, 4, 2, 1 apart. A block with a value that is not
    // finite gets scale NaN, q 0; one whose largest magnitude is below 2^-100 counts as zero.
    void (*quantize)(int8_t *q, float *scale, int32_t *sum, const float *x, int n);
    // Reads no byte outside the source's blocks.
    void (*unpack[GLINT_MATMUL_N_DTYPE])(struct glint_tile *tile,
                                         const struct glint_tile_source *source, int n_block);
    // For each token t and row r, block b = 0, 1, ... in order (float32, one rounding each):
    //   SUB32: p = (float)(sum of code * q + bias[b]) * scale_w[b]
    //   SUB16: p = fma((float)(sum + bias[2b + 1]), scale_w[2b + 1],
    //                  (float)(sum + bias[2b]) * scale_w[2b])
    //   acc = fma(p, scale_x[b], acc)
    // without the bias for ADD classes, which go on, for each sub-block s of b in order:
    //   acc = fma(add[s], bias[s], acc)
    void (*multiply[GLINT_TILE_N_CLASS])(const struct glint_tile_multiply *job);
    // unpack and multiply at once for n_token 1: `tile` is scratch, job->acc the sums of its 16
    // rows. NULL: none.
    void (*multiply_one[GLINT_MATMUL_N_DTYPE])(struct glint_tile *tile,
                                               const struct glint_tile_source *source,
                                               const struct glint_tile_multiply *job);
    // n values of a float type, n any. NULL: the type's own decode.
    void (*decode[GLINT_MATMUL_N_DTYPE])(const void *blocks, float *values, size_t n);
    void (*dot)(const struct glint_dot *job);
    // decode and dot at once for one row of x: the 16 partial sums of GLINT_DOT_ROWS weight rows
    // with x [n_col], n_col any. NULL: none.
    void (*dot_one[GLINT_MATMUL_N_DTYPE])(float (*lanes)[GLINT_DOT_LANES],
                                          const void *const w[GLINT_DOT_ROWS], const float *x,
                                          int64_t n_col);
};

// One function a tier, in rising order; each overwrites the kernels it has.
void glint_matmul_init_scalar(struct glint_matmul_kernels *kernels);
void glint_matmul_init_avx2(struct glint_matmul_kernels *kernels);
void glint_matmul_init_avx512(struct glint_matmul_kernels *kernels);
void glint_matmul_init_vnni(struct glint_matmul_kernels *kernels);
void glint_matmul_init_neon(struct glint_matmul_kernels *kernels);
void glint_matmul_init_dotprod(struct glint_matmul_kernels *kernels);

// unpack_scalar.c: the unpack functions of every quantized type, and their kinds.
void glint_unpack_init_scalar(struct glint_matmul_kernels *kernels);
struct glint_weight_kind glint_weight_kind(enum glint_dtype dtype);

#endif
