// SPDX-License-Identifier: Apache-2.0
// unpack_tmpl.h — weight blocks to tiles with vectors: the template of the unpack functions of
// a tier. LANES rows are loaded and
// transposed 16 bytes at a time; from there on everything is bytewise, the same for all rows.
// Results are those of unpack_scalar.c. Block layouts: quant/blocks.h.
#ifndef GLINT_CPU_UNPACK_TMPL_H
#define GLINT_CPU_UNPACK_TMPL_H

#include "cpu/lanes.h"
#include "cpu/matmul_tile.h"
#include "quant/blocks.h"

#ifdef GLINT_LANES

// Brings `bytes` at the ahead place of LANES / n_part rows to the L2 cache: part i of n_part of
// the rows from `row` on. Unpack functions do this between their loads: spread like that it
// hides behind the unpacking, in one burst it would gain nothing.
static inline void look_ahead(const struct glint_tile_source *source, int row, int i, int n_part,
                              int bytes) {
    int n_row = LANES / n_part;
    const uint8_t *at = source->ahead + (size_t)(row + i * n_row) * source->stride;
#pragma GCC unroll 4
    for (int r = 0; r < n_row; r++)
#pragma GCC unroll 8
        for (int line = 0; line < (bytes + 63) / 64; line++)
            _mm_prefetch((const char *)at + (size_t)r * source->stride + 64 * line, _MM_HINT_T1);
}

// Reads each line of the rows once: `bytes` of each to the stage, if there is one.
static struct glint_tile_source staged(const struct glint_tile_source *source, int bytes) {
    struct glint_tile_source copy = *source;
    if (source->stage == NULL)
        return copy;
    for (int r = 0; r < GLINT_TILE_ROWS; r++)
        for (int i = 0; i < bytes; i += (int)sizeof(lanes_int))
            int_store(source->stage + r * GLINT_TILE_STAGE + i,
                      int_load(source->rows + (size_t)r * source->stride + i));
    copy.rows = source->stage;
    copy.stride = GLINT_TILE_STAGE;
    return copy;
}

// Where the lanes of rows [row, row + LANES) go.
static inline void put_code(struct glint_tile *tile, int row, int column, lanes_int code) {
    int_store(tile->code[column / 4][row], code);
}

static inline lanes_float float_from_high_half(lanes_int a) {
    return float_from_low_half(int_right(a, 16));
}

static inline lanes_float float_negative(lanes_float a) {
    return float_mul(a, float_all(-1));
}

// Byte i of each lane.
static inline lanes_float float_from_byte(lanes_int a, unsigned i) {
    return float_from_int(int_and(int_right(a, 8 * i), int_all(255)));
}

static inline lanes_float float_from_signed_byte(lanes_int a, unsigned i) {
    return float_from_int(int_right_signed(int_left(a, 24 - 8 * i), 24));
}

// Sub-blocks first..first + 3 get factor * the four bytes of each lane.
static inline void put_four(float (*to)[GLINT_TILE_ROWS], int first, int row, lanes_float factor,
                            lanes_int bytes) {
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        float_store(&to[first + i][row], float_mul(factor, float_from_byte(bytes, (unsigned)i)));
}

static inline void put_four_signed(float (*to)[GLINT_TILE_ROWS], int first, int row,
                                   lanes_float factor, lanes_int bytes) {
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        float_store(&to[first + i][row],
                    float_mul(factor, float_from_signed_byte(bytes, (unsigned)i)));
}

// ---- types of 32 values a block ----

// Bits 4j..4j+3 of each lane to bit 4 of the four bytes.
static inline lanes_int fifth_bits(lanes_int high, unsigned j) {
    lanes_int four = int_and(int_right(high, 4 * j), int_all(15));
    return int_and(int_mul(four, int_all(0x02040810)), byte_all(16));
}

static inline void put_nibbles(struct glint_tile *tile, int row, int column, const lanes_int q[4]) {
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        put_code(tile, row, column + 4 * j, int_and(q[j], byte_all(15)));
        put_code(tile, row, column + 16 + 4 * j, int_and(int_right(q[j], 4), byte_all(15)));
    }
}

static inline void put_five_bits(struct glint_tile *tile, int row, int column, const lanes_int q[4],
                                 lanes_int high) {
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        lanes_int low4 = int_and(q[j], byte_all(15));
        lanes_int high4 = int_and(int_right(q[j], 4), byte_all(15));
        put_code(tile, row, column + 4 * j, int_or(low4, fifth_bits(high, (unsigned)j)));
        put_code(tile, row, column + 16 + 4 * j, int_or(high4, fifth_bits(high, (unsigned)j + 4)));
    }
}

static void unpack_q8_0(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 34 * n_block);
    size_t stride = from.stride;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            const uint8_t *block = from.rows + (size_t)row * stride + (size_t)b * 34;
            look_ahead(source, row, b, 8, 8 * 34);
            float_store(&tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
#pragma GCC unroll 16
            for (int i = 0; i < 2; i++) {
                lanes_int q[4];
                load_rows_16(q, block + 2 + 16 * i, stride);
#pragma GCC unroll 16
                for (int j = 0; j < 4; j++)
                    put_code(tile, row, b * 32 + i * 16 + j * 4, int_xor(q[j], byte_all(128)));
            }
        }
}

static void unpack_q4_0(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 18 * n_block);
    size_t stride = from.stride;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            const uint8_t *block = from.rows + (size_t)row * stride + (size_t)b * 18;
            look_ahead(source, row, b, 8, 8 * 18);
            lanes_int q[4];
            float_store(&tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
            load_rows_16(q, block + 2, stride);
            put_nibbles(tile, row, b * 32, q);
        }
}

static void unpack_q4_1(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 20 * n_block);
    size_t stride = from.stride;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            const uint8_t *block = from.rows + (size_t)row * stride + (size_t)b * 20;
            look_ahead(source, row, b, 8, 8 * 20);
            lanes_int q[4], factors = load_rows_4(block, stride);
            float_store(&tile->scale[b][row], float_from_low_half(factors));
            float_store(&tile->add[b][row], float_from_high_half(factors));
            load_rows_16(q, block + 4, stride);
            put_nibbles(tile, row, b * 32, q);
        }
}

static void unpack_q5_0(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 22 * n_block);
    size_t stride = from.stride;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            const uint8_t *block = from.rows + (size_t)row * stride + (size_t)b * 22;
            look_ahead(source, row, b, 8, 8 * 22);
            lanes_int q[4];
            float_store(&tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
            load_rows_16(q, block + 6, stride);
            put_five_bits(tile, row, b * 32, q, load_rows_4(block + 2, stride));
        }
}

static void unpack_q5_1(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 24 * n_block);
    size_t stride = from.stride;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            const uint8_t *block = from.rows + (size_t)row * stride + (size_t)b * 24;
            look_ahead(source, row, b, 8, 8 * 24);
            lanes_int q[4], factors = load_rows_4(block, stride);
            float_store(&tile->scale[b][row], float_from_low_half(factors));
            float_store(&tile->add[b][row], float_from_high_half(factors));
            load_rows_16(q, block + 8, stride);
            put_five_bits(tile, row, b * 32, q, load_rows_4(block + 4, stride));
        }
}

// ---- types of 256 values a block ----

// Two bits from `shift` up of every byte.
static inline lanes_int two_bits(lanes_int a, unsigned shift) {
    return int_and(int_right(a, shift), byte_all(3));
}

// Header of Q4_K and Q5_K: d, dmin and twelve bytes of six-bit scales and mins.
static inline void put_scales_k(struct glint_tile *tile, int row, const uint8_t *block,
                                size_t stride) {
    lanes_int head[4];
    load_rows_16(head, block, stride);
    lanes_float d = float_from_low_half(head[0]);
    lanes_float negative_dmin = float_negative(float_from_high_half(head[0]));
    lanes_int low_scale = int_and(head[1], byte_all(63)), low_min = int_and(head[2], byte_all(63));
    lanes_int top = byte_all(48);
    lanes_int high_scale =
        int_or(int_and(head[3], byte_all(15)), int_and(int_right(head[1], 2), top));
    lanes_int high_min =
        int_or(int_and(int_right(head[3], 4), byte_all(15)), int_and(int_right(head[2], 2), top));
    put_four(tile->scale, 0, row, d, low_scale);
    put_four(tile->scale, 4, row, d, high_scale);
    put_four(tile->add, 0, row, negative_dmin, low_min);
    put_four(tile->add, 4, row, negative_dmin, high_min);
}

static void unpack_q4_k(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 144);
    size_t stride = from.stride;
    (void)n_block;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = from.rows + (size_t)row * stride;
        put_scales_k(tile, row, block, stride);
        for (int i = 0; i < 8; i++) { // 16 bytes: columns of an even block, then of the odd one
            lanes_int q[4];
            int column = i / 2 * 64 + i % 2 * 16;
            look_ahead(source, row, i, 8, 144);
            load_rows_16(q, block + 16 + 16 * i, stride);
#pragma GCC unroll 16
            for (int j = 0; j < 4; j++) {
                put_code(tile, row, column + 4 * j, int_and(q[j], byte_all(15)));
                put_code(tile, row, column + 32 + 4 * j, int_and(int_right(q[j], 4), byte_all(15)));
            }
        }
    }
}

static void unpack_q5_k(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 176);
    size_t stride = from.stride;
    (void)n_block;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = from.rows + (size_t)row * stride;
        put_scales_k(tile, row, block, stride);
#pragma GCC unroll 16
        for (int half = 0; half < 2; half++) { // columns 0..15 or 16..31 of every block
            lanes_int high[4];
            load_rows_16(high, block + 16 + 16 * half, stride);
#pragma GCC unroll 16
            for (int pair = 0; pair < 4; pair++) {
                look_ahead(source, row, half * 4 + pair, 8, 176);
                lanes_int q[4];
                int column = pair * 64 + half * 16;
                load_rows_16(q, block + 48 + 32 * pair + 16 * half, stride);
#pragma GCC unroll 16
                for (int j = 0; j < 4; j++) {
                    lanes_int bits = int_right(high[j], 2 * (unsigned)pair);
                    lanes_int even = int_and(int_left(bits, 4), byte_all(16));
                    lanes_int odd = int_and(int_left(bits, 3), byte_all(16));
                    put_code(tile, row, column + 4 * j, int_or(int_and(q[j], byte_all(15)), even));
                    put_code(tile, row, column + 32 + 4 * j,
                             int_or(int_and(int_right(q[j], 4), byte_all(15)), odd));
                }
            }
        }
    }
}

static void unpack_q6_k(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 210);
    size_t stride = from.stride;
    (void)n_block;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = from.rows + (size_t)row * stride;
        lanes_int scales[4];
        load_rows_16(scales, block + 192, stride);
        lanes_float d = float_from_high_half(load_rows_4(block + 206, stride));
#pragma GCC unroll 16
        for (int i = 0; i < 4; i++)
            put_four_signed(tile->scale, 4 * i, row, d, scales[i]);
        for (int part = 0; part < 4; part++) { // half of the block, half of its 32 columns
            look_ahead(source, row, part, 4, 210);
            lanes_int low[4], low32[4], high[4];
            int column = part / 2 * 128 + part % 2 * 16;
            load_rows_16(low, block + part / 2 * 64 + part % 2 * 16, stride);
            load_rows_16(low32, block + part / 2 * 64 + 32 + part % 2 * 16, stride);
            load_rows_16(high, block + 128 + part / 2 * 32 + part % 2 * 16, stride);
#pragma GCC unroll 16
            for (int j = 0; j < 4; j++) {
                lanes_int four = byte_all(15), top = byte_all(48);
                put_code(tile, row, column + 4 * j,
                         int_or(int_and(low[j], four), int_and(int_left(high[j], 4), top)));
                put_code(tile, row, column + 32 + 4 * j,
                         int_or(int_and(low32[j], four), int_and(int_left(high[j], 2), top)));
                put_code(tile, row, column + 64 + 4 * j,
                         int_or(int_and(int_right(low[j], 4), four), int_and(high[j], top)));
                put_code(tile, row, column + 96 + 4 * j,
                         int_or(int_and(int_right(low32[j], 4), four),
                                int_and(int_right(high[j], 2), top)));
            }
        }
    }
}

static void unpack_q2_k(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 84);
    size_t stride = from.stride;
    (void)n_block;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = from.rows + (size_t)row * stride;
        lanes_int scales[4], factors = load_rows_4(block + 80, stride);
        load_rows_16(scales, block, stride);
        lanes_float d = float_from_low_half(factors);
        lanes_float negative_dmin = float_negative(float_from_high_half(factors));
#pragma GCC unroll 16
        for (int i = 0; i < 4; i++) {
            put_four(tile->scale, 4 * i, row, d, int_and(scales[i], byte_all(15)));
            put_four(tile->add, 4 * i, row, negative_dmin,
                     int_and(int_right(scales[i], 4), byte_all(15)));
        }
        for (int part = 0; part < 4; part++) {
            look_ahead(source, row, part, 4, 84);
            lanes_int q[4];
            int column = part / 2 * 128 + part % 2 * 16;
            load_rows_16(q, block + 16 + 16 * part, stride);
#pragma GCC unroll 16
            for (int group = 0; group < 4; group++)
#pragma GCC unroll 16
                for (int j = 0; j < 4; j++)
                    put_code(tile, row, column + 32 * group + 4 * j,
                             two_bits(q[j], 2 * (unsigned)group));
        }
    }
}

// Sixteen six-bit scales from 32 down, in the last 16 bytes of a block, after two others.
static inline void put_scales_q3_k(struct glint_tile *tile, int row, const uint8_t *block,
                                   size_t stride) {
    lanes_int tail[4];
    load_rows_16(tail, block + 94, stride);
    lanes_float d = float_from_high_half(tail[3]);
    lanes_int packed[3]; // bytes 0..3, 4..7, 8..11
#pragma GCC unroll 16
    for (int i = 0; i < 3; i++)
        packed[i] = int_or(int_right(tail[i], 16), int_left(tail[i + 1], 16));
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++) {
        lanes_int low = int_and(int_right(packed[i % 2], i / 2 * 4), byte_all(15));
        lanes_int high = two_bits(packed[2], 2 * (unsigned)i);
        lanes_int scale = int_or(low, int_left(high, 4));
#pragma GCC unroll 16
        for (int j = 0; j < 4; j++) {
            lanes_int value = int_and(int_right(scale, 8 * (unsigned)j), int_all(255));
            value = int_add(value, int_all(-32));
            float_store(&tile->scale[4 * i + j][row], float_mul(d, float_from_int(value)));
        }
    }
}

static void unpack_q3_k(struct glint_tile *tile, const struct glint_tile_source *source,
                        int n_block) {
    struct glint_tile_source from = staged(source, 110);
    size_t stride = from.stride;
    (void)n_block;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = from.rows + (size_t)row * stride;
        put_scales_q3_k(tile, row, block, stride);
#pragma GCC unroll 16
        for (int part = 0; part < 4; part++) {
            look_ahead(source, row, part, 4, 110);
            lanes_int q[4], high[4];
            int column = part / 2 * 128 + part % 2 * 16;
            load_rows_16(q, block + 32 + 16 * part, stride);
            load_rows_16(high, block + part % 2 * 16, stride);
#pragma GCC unroll 16
            for (int group = 0; group < 4; group++)
#pragma GCC unroll 16
                for (int j = 0; j < 4; j++) {
                    // Bit 4 * (part / 2) + group to bit 2.
                    lanes_int third = int_right(high[j], 4 * (unsigned)(part / 2));
                    third = group < 2 ? int_left(third, 2 - (unsigned)group)
                                      : int_right(third, (unsigned)group - 2);
                    put_code(
                        tile, row, column + 32 * group + 4 * j,
                        int_or(two_bits(q[j], 2 * (unsigned)group), int_and(third, byte_all(4))));
                }
        }
    }
}

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
