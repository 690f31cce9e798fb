// SPDX-License-Identifier: Apache-2.0
// unpack_scalar.c — weight blocks to tiles in plain C: one function a type that turns the blocks
// of one row into codes, scales and addends, and the spreading of 16 such rows over a tile.
// Scales and addends are the ones decode uses (quant/<type>.c), with the same roundings.
#include "base/half.h"
#include "cpu/matmul_tile.h"
#include "quant/blocks.h"

// One row of a tile.
struct row {
    uint8_t code[GLINT_TILE_COLS];
    float scale[GLINT_TILE_SUBS];
    float add[GLINT_TILE_SUBS];
};

static void row_q8_0(struct row *row, const void *blocks, int n_block) {
    const struct glint_block_q8_0 *block = blocks;
    for (int b = 0; b < n_block; b++) {
        row->scale[b] = glint_half_to_float(block[b].d);
        for (int i = 0; i < 32; i++)
            row->code[b * 32 + i] = (uint8_t)(block[b].q[i] + 128);
    }
}

static void nibbles(uint8_t *code, const uint8_t *q) {
    for (int i = 0; i < 16; i++) {
        code[i] = q[i] & 15;
        code[i + 16] = q[i] >> 4;
    }
}

static void fifth_bits(uint8_t *code, const uint8_t *high) {
    for (int i = 0; i < 32; i++)
        code[i] |= (uint8_t)((high[i / 8] >> i % 8 & 1) << 4);
}

static void row_q4_0(struct row *row, const void *blocks, int n_block) {
    const struct glint_block_q4_0 *block = blocks;
    for (int b = 0; b < n_block; b++) {
        row->scale[b] = glint_half_to_float(block[b].d);
        nibbles(row->code + b * 32, block[b].q);
    }
}

static void row_q4_1(struct row *row, const void *blocks, int n_block) {
    const struct glint_block_q4_1 *block = blocks;
    for (int b = 0; b < n_block; b++) {
        row->scale[b] = glint_half_to_float(block[b].d);
        row->add[b] = glint_half_to_float(block[b].m);
        nibbles(row->code + b * 32, block[b].q);
    }
}

static void row_q5_0(struct row *row, const void *blocks, int n_block) {
    const struct glint_block_q5_0 *block = blocks;
    for (int b = 0; b < n_block; b++) {
        row->scale[b] = glint_half_to_float(block[b].d);
        nibbles(row->code + b * 32, block[b].q);
        fifth_bits(row->code + b * 32, block[b].high);
    }
}

static void row_q5_1(struct row *row, const void *blocks, int n_block) {
    const struct glint_block_q5_1 *block = blocks;
    for (int b = 0; b < n_block; b++) {
        row->scale[b] = glint_half_to_float(block[b].d);
        row->add[b] = glint_half_to_float(block[b].m);
        nibbles(row->code + b * 32, block[b].q);
        fifth_bits(row->code + b * 32, block[b].high);
    }
}

static void row_q2_k(struct row *row, const void *blocks, int n_block) {
    (void)n_block;
    const struct glint_block_q2_k *block = blocks;
    float d = glint_half_to_float(block->d), dmin = glint_half_to_float(block->dmin);
    for (int s = 0; s < 16; s++) {
        row->scale[s] = d * (float)(block->scales[s] & 15);
        row->add[s] = -dmin * (float)(block->scales[s] >> 4);
    }
    for (int i = 0; i < 256; i++)
        row->code[i] = block->q[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

static void row_q3_k(struct row *row, const void *blocks, int n_block) {
    (void)n_block;
    const struct glint_block_q3_k *block = blocks;
    float d = glint_half_to_float(block->d);
    for (int s = 0; s < 16; s++)
        row->scale[s] = d * (float)glint_q3_k_scale(block->scales, s);
    for (int i = 0; i < 256; i++)
        row->code[i] = (uint8_t)((block->q[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3) |
                                 (block->high[i % 32] >> i / 32 & 1) << 2);
}

// The scales of Q4_K and Q5_K.
static void scales_k(struct row *row, uint16_t d_half, uint16_t dmin_half, const uint8_t *scales) {
    float d = glint_half_to_float(d_half), dmin = glint_half_to_float(dmin_half);
    for (int s = 0; s < 8; s++) {
        struct glint_scale_min packed = glint_q4_k_scale_min(scales, s);
        row->scale[s] = d * (float)packed.scale;
        row->add[s] = -dmin * (float)packed.min;
    }
}

static void row_q4_k(struct row *row, const void *blocks, int n_block) {
    (void)n_block;
    const struct glint_block_q4_k *block = blocks;
    scales_k(row, block->d, block->dmin, block->scales);
    for (int i = 0; i < 256; i++)
        row->code[i] = block->q[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;
}

static void row_q5_k(struct row *row, const void *blocks, int n_block) {
    (void)n_block;
    const struct glint_block_q5_k *block = blocks;
    scales_k(row, block->d, block->dmin, block->scales);
    for (int i = 0; i < 256; i++)
        row->code[i] = (uint8_t)((block->q[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15) |
                                 (block->high[i % 32] >> i / 32 & 1) << 4);
}

static void row_q6_k(struct row *row, const void *blocks, int n_block) {
    (void)n_block;
    const struct glint_block_q6_k *block = blocks;
    float d = glint_half_to_float(block->d);
    for (int s = 0; s < 16; s++)
        row->scale[s] = d * (float)block->scales[s];
    for (int i = 0; i < 256; i++) {
        int low = block->low[i / 128 * 64 + i % 64] >> i / 64 % 2 * 4 & 15;
        int high = block->high[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
        row->code[i] = (uint8_t)(low | high << 4);
    }
}

typedef void (*row_fn)(struct row *row, const void *blocks, int n_block);

static void unpack(struct glint_tile *tile, const struct glint_tile_source *source, int n_block,
                   row_fn fn) {
    struct row row = {.code = {0}};
    for (int r = 0; r < GLINT_TILE_ROWS; r++) {
        fn(&row, source->rows + (size_t)r * source->stride, n_block);
        for (int c = 0; c < n_block * 32; c++)
            tile->code[c / 4][r][c % 4] = row.code[c];
        for (int s = 0; s < GLINT_TILE_SUBS; s++) {
            tile->scale[s][r] = row.scale[s];
            tile->add[s][r] = row.add[s];
        }
    }
}

// One row a quantized type: enum suffix, name, columns of a scale, class, offset.
#define TYPES(ROW)                                                                                 \
    ROW(Q8_0, q8_0, 32, GLINT_TILE_SUB32_BYTE, 128)                                                \
    ROW(Q4_0, q4_0, 32, GLINT_TILE_SUB32_OFFSET, 8)                                                \
    ROW(Q4_1, q4_1, 32, GLINT_TILE_SUB32_ADD, 0)                                                   \
    ROW(Q5_0, q5_0, 32, GLINT_TILE_SUB32_OFFSET, 16)                                               \
    ROW(Q5_1, q5_1, 32, GLINT_TILE_SUB32_ADD, 0)                                                   \
    ROW(Q2_K, q2_k, 16, GLINT_TILE_SUB16_ADD, 0)                                                   \
    ROW(Q3_K, q3_k, 16, GLINT_TILE_SUB16_OFFSET, 4)                                                \
    ROW(Q4_K, q4_k, 32, GLINT_TILE_SUB32_ADD, 0)                                                   \
    ROW(Q5_K, q5_k, 32, GLINT_TILE_SUB32_ADD, 0)                                                   \
    ROW(Q6_K, q6_k, 16, GLINT_TILE_SUB16_OFFSET, 32)

#define UNPACK(upper, lower, sub, class, offset)                                                   \
    static void unpack_##lower(struct glint_tile *tile, const struct glint_tile_source *source,    \
                               int n_block) {                                                      \
        unpack(tile, source, n_block, row_##lower);                                                \
    }
TYPES(UNPACK)

void glint_unpack_init_scalar(struct glint_matmul_kernels *kernels) {
#define SLOT(upper, lower, sub, class, offset)                                                     \
    kernels->unpack[GLINT_DTYPE_##upper] = unpack_##lower;
    TYPES(SLOT)
}

struct glint_weight_kind glint_weight_kind(enum glint_dtype dtype) {
    switch (dtype) {
#define KIND(upper, lower, sub, class, offset)                                                     \
    case GLINT_DTYPE_##upper:                                                                      \
        return (struct glint_weight_kind){class, sub, offset};
        TYPES(KIND)
    default:
        return (struct glint_weight_kind){GLINT_TILE_N_CLASS, 0, 0};
    }
}
