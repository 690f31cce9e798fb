// SPDX-License-Identifier: Apache-2.0
// unpack_tmpl.h — weight blocks to codes, scales and addends with vectors: the template of a
// tier's unpack functions (unpack_tiles.h) and of its one-row products (multiply_one.h). Rows are
// loaded LANES at a time and transposed 16 bytes at a time; from there on everything is bytewise,
// the same for all rows. Results are those of unpack_scalar.c. Block layouts: quant/blocks.h.
#ifndef GLINT_CPU_UNPACK_TMPL_H
#define GLINT_CPU_UNPACK_TMPL_H

#include "cpu/lanes.h"
#include "cpu/matmul_tile.h"
#include "quant/blocks.h"

#ifdef GLINT_LANES
#ifndef SINK_DOT
#define SINK_DOT(sum, code, x) (sum) // a tier that makes tiles only
#endif

// Brings `bytes` at the ahead place of one row to the L2 cache.
INLINE void look_ahead_row(const struct glint_tile_source *source, int row, int bytes) {
    const char *at = (const char *)source->ahead + (size_t)row * source->stride;
#pragma GCC unroll 8
    for (int line = 0; line < (bytes + 63) / 64; line++)
        __builtin_prefetch(at + 64 * line, 0, 2);
}

// The same for LANES / n_part rows: part i of n_part of those from `row` on (or for one row, in one
// part of several). Unpack functions do this between their loads: spread like that it hides behind
// the unpacking, in one burst it would gain nothing. (Not inlined, both would be functions without
// effect to the compiler, and removed.)
INLINE void look_ahead(const struct glint_tile_source *source, int row, int i, int n_part,
                       int bytes) {
    int n_row = LANES / n_part;
    if (n_row == 0 && i * LANES % n_part == 0)
        look_ahead_row(source, row + i * LANES / n_part, bytes);
#pragma GCC unroll 4
    for (int r = 0; r < n_row; r++)
        look_ahead_row(source, row + i * n_row + r, bytes);
}

// Where codes go: into the tile, or straight into the sums of one row of x, which then needs no
// tile. Scales and addends always go to the tile. Functions that take a sink are inlined, so
// `multiply` is a constant in them.
struct sink {
    struct glint_tile *tile;
    uint8_t *code; // of the tile, from the block at hand on
    bool multiply;
    // The rest only if it multiplies.
    enum glint_tile_class class;
    const int8_t *q; // of x, from the block at hand on
    const float *scale_x;
    const char *bias;
    lanes_int sum[GLINT_TILE_SUBS]; // from the block at hand on
    lanes_float acc;
};

INLINE void start_sums(struct sink *to, int first, int n) {
    if (!to->multiply)
        return;
#pragma GCC unroll 16
    for (int i = 0; i < n; i++)
        to->sum[i] =
            glint_class_adds(to->class) ? int_zero() : int_spread(to->bias + (first + i) * 4);
}

// Block b at hand: the columns from 32b on.
INLINE void start_block(struct sink *to, int b, const int8_t *q) {
    to->code = to->tile->code[b * 8][0];
    to->q = q + b * 32;
    start_sums(to, b, 1);
}

// Block b of x is complete: adds its products, in the order of glint_matmul_kernels.multiply.
// Its sums are those from `first` on.
INLINE void finish_block(struct sink *to, int b, int first) {
    if (!to->multiply)
        return;
    int subs = glint_class_subs(to->class);
    lanes_float product =
        float_mul(float_from_int(to->sum[first]), float_load(to->tile->scale[b * subs]));
    if (subs == 2)
        product = float_fma(float_from_int(to->sum[first + 1]),
                            float_load(to->tile->scale[b * 2 + 1]), product);
    to->acc = float_fma(product, float_all(to->scale_x[b]), to->acc);
    if (!glint_class_adds(to->class))
        return;
#pragma GCC unroll 2
    for (int s = b * subs; s < (b + 1) * subs; s++)
        to->acc = float_fma(float_load(to->tile->add[s]),
                            float_from_bits(int_spread(to->bias + s * 4)), to->acc);
}

// Columns are counted from the block at hand; rows are [row, row + LANES).
INLINE void put_code(struct sink *to, int row, int column, lanes_int code) {
    if (to->multiply) {
        lanes_int *sum = &to->sum[column / 32 * glint_class_subs(to->class) +
                                  column % 32 / (32 / glint_class_subs(to->class))];
        *sum = SINK_DOT(*sum, code, int_spread(to->q + column));
    } else
        int_store(to->code + (column / 4 * GLINT_TILE_ROWS + row) * 4, code);
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
INLINE void put_four(float (*to)[GLINT_TILE_ROWS], int first, int row, lanes_float factor,
                     lanes_int bytes) {
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        float_store(&to[first + i][row], float_mul(factor, float_from_byte(bytes, (unsigned)i)));
}

INLINE void put_four_signed(float (*to)[GLINT_TILE_ROWS], int first, int row, lanes_float factor,
                            lanes_int bytes) {
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

INLINE void put_nibbles(struct sink *to, int row, const lanes_int q[4]) {
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        put_code(to, row, 4 * j, int_and(q[j], byte_all(15)));
        put_code(to, row, 16 + 4 * j, int_and(int_right(q[j], 4), byte_all(15)));
    }
}

INLINE void put_five_bits(struct sink *to, int row, const lanes_int q[4], lanes_int high) {
#pragma GCC unroll 16
    for (int j = 0; j < 4; j++) {
        lanes_int low4 = int_and(q[j], byte_all(15));
        lanes_int high4 = int_and(int_right(q[j], 4), byte_all(15));
        put_code(to, row, 4 * j, int_or(low4, fifth_bits(high, (unsigned)j)));
        put_code(to, row, 16 + 4 * j, int_or(high4, fifth_bits(high, (unsigned)j + 4)));
    }
}

// One block of LANES rows.
typedef void (*block_fn)(struct sink *to, int row, int b, const uint8_t *block, size_t stride);

INLINE void block_q8_0(struct sink *to, int row, int b, const uint8_t *block, size_t stride) {
    float_store(&to->tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
#pragma GCC unroll 16
    for (int i = 0; i < 2; i++) {
        lanes_int q[4];
        load_rows_16(q, block + 2 + 16 * i, stride);
#pragma GCC unroll 16
        for (int j = 0; j < 4; j++)
            put_code(to, row, i * 16 + j * 4, int_xor(q[j], byte_all(128)));
    }
}

INLINE void block_q4_0(struct sink *to, int row, int b, const uint8_t *block, size_t stride) {
    lanes_int q[4];
    float_store(&to->tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
    load_rows_16(q, block + 2, stride);
    put_nibbles(to, row, q);
}

INLINE void block_q4_1(struct sink *to, int row, int b, const uint8_t *block, size_t stride) {
    lanes_int q[4], factors = load_rows_4(block, stride);
    float_store(&to->tile->scale[b][row], float_from_low_half(factors));
    float_store(&to->tile->add[b][row], float_from_high_half(factors));
    load_rows_16(q, block + 4, stride);
    put_nibbles(to, row, q);
}

INLINE void block_q5_0(struct sink *to, int row, int b, const uint8_t *block, size_t stride) {
    lanes_int q[4];
    float_store(&to->tile->scale[b][row], float_from_low_half(load_rows_4(block, stride)));
    load_rows_16(q, block + 6, stride);
    put_five_bits(to, row, q, load_rows_4(block + 2, stride));
}

INLINE void block_q5_1(struct sink *to, int row, int b, const uint8_t *block, size_t stride) {
    lanes_int q[4], factors = load_rows_4(block, stride);
    float_store(&to->tile->scale[b][row], float_from_low_half(factors));
    float_store(&to->tile->add[b][row], float_from_high_half(factors));
    load_rows_16(q, block + 8, stride);
    put_five_bits(to, row, q, load_rows_4(block + 4, stride));
}

// n_block blocks of `bytes` each.
INLINE void walk_blocks(struct sink *to, const struct glint_tile_source *source, int n_block,
                        int bytes, block_fn fn) {
    const int8_t *q = to->q;
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES)
        for (int b = 0; b < n_block; b++) {
            look_ahead(source, row, b, 8, 8 * bytes);
            start_block(to, b, q);
            fn(to, row, b, source->rows + (size_t)row * source->stride + (size_t)b * (size_t)bytes,
               source->stride);
            finish_block(to, b, 0);
        }
}

// ---- types of 256 values a block ----

// Two bits from `shift` up of every byte.
static inline lanes_int two_bits(lanes_int a, unsigned shift) {
    return int_and(int_right(a, shift), byte_all(3));
}

// Header of Q4_K and Q5_K: d, dmin and twelve bytes of six-bit scales and mins.
INLINE void put_scales_k(struct sink *to, int row, const uint8_t *block, size_t stride) {
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
    put_four(to->tile->scale, 0, row, d, low_scale);
    put_four(to->tile->scale, 4, row, d, high_scale);
    put_four(to->tile->add, 0, row, negative_dmin, low_min);
    put_four(to->tile->add, 4, row, negative_dmin, high_min);
}

INLINE void walk_q4_k(struct sink *to, const struct glint_tile_source *source) {
    size_t stride = source->stride;
    start_sums(to, 0, 8);
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = source->rows + (size_t)row * stride;
        put_scales_k(to, row, block, stride);
#pragma GCC unroll 16
        for (int i = 0; i < 8; i++) { // 16 bytes: columns of an even block, then of the odd one
            lanes_int q[4];
            int column = i / 2 * 64 + i % 2 * 16;
            look_ahead(source, row, i, 8, 144);
            load_rows_16(q, block + 16 + 16 * i, stride);
#pragma GCC unroll 16
            for (int j = 0; j < 4; j++) {
                put_code(to, row, column + 4 * j, int_and(q[j], byte_all(15)));
                put_code(to, row, column + 32 + 4 * j, int_and(int_right(q[j], 4), byte_all(15)));
            }
        }
    }
#pragma GCC unroll 16
    for (int b = 0; b < GLINT_TILE_BLOCKS; b++)
        finish_block(to, b, b);
}

INLINE void walk_q5_k(struct sink *to, const struct glint_tile_source *source) {
    size_t stride = source->stride;
    start_sums(to, 0, 8);
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = source->rows + (size_t)row * stride;
        put_scales_k(to, row, block, stride);
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
                    put_code(to, row, column + 4 * j, int_or(int_and(q[j], byte_all(15)), even));
                    put_code(to, row, column + 32 + 4 * j,
                             int_or(int_and(int_right(q[j], 4), byte_all(15)), odd));
                }
            }
        }
    }
#pragma GCC unroll 16
    for (int b = 0; b < GLINT_TILE_BLOCKS; b++)
        finish_block(to, b, b);
}

INLINE void walk_q6_k(struct sink *to, const struct glint_tile_source *source) {
    size_t stride = source->stride;
    start_sums(to, 0, 16);
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = source->rows + (size_t)row * stride;
        lanes_int scales[4];
        load_rows_16(scales, block + 192, stride);
        lanes_float d = float_from_high_half(load_rows_4(block + 206, stride));
#pragma GCC unroll 16
        for (int i = 0; i < 4; i++)
            put_four_signed(to->tile->scale, 4 * i, row, d, scales[i]);
#pragma GCC unroll 16
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
                put_code(to, row, column + 4 * j,
                         int_or(int_and(low[j], four), int_and(int_left(high[j], 4), top)));
                put_code(to, row, column + 32 + 4 * j,
                         int_or(int_and(low32[j], four), int_and(int_left(high[j], 2), top)));
                put_code(to, row, column + 64 + 4 * j,
                         int_or(int_and(int_right(low[j], 4), four), int_and(high[j], top)));
                put_code(to, row, column + 96 + 4 * j,
                         int_or(int_and(int_right(low32[j], 4), four),
                                int_and(int_right(high[j], 2), top)));
            }
        }
    }
#pragma GCC unroll 16
    for (int b = 0; b < GLINT_TILE_BLOCKS; b++)
        finish_block(to, b, 2 * b);
}

INLINE void walk_q2_k(struct sink *to, const struct glint_tile_source *source) {
    size_t stride = source->stride;
    start_sums(to, 0, 16);
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = source->rows + (size_t)row * stride;
        lanes_int scales[4], factors = load_rows_4(block + 80, stride);
        load_rows_16(scales, block, stride);
        lanes_float d = float_from_low_half(factors);
        lanes_float negative_dmin = float_negative(float_from_high_half(factors));
#pragma GCC unroll 16
        for (int i = 0; i < 4; i++) {
            put_four(to->tile->scale, 4 * i, row, d, int_and(scales[i], byte_all(15)));
            put_four(to->tile->add, 4 * i, row, negative_dmin,
                     int_and(int_right(scales[i], 4), byte_all(15)));
        }
#pragma GCC unroll 16
        for (int part = 0; part < 4; part++) {
            look_ahead(source, row, part, 4, 84);
            lanes_int q[4];
            int column = part / 2 * 128 + part % 2 * 16;
            load_rows_16(q, block + 16 + 16 * part, stride);
#pragma GCC unroll 16
            for (int group = 0; group < 4; group++)
#pragma GCC unroll 16
                for (int j = 0; j < 4; j++)
                    put_code(to, row, column + 32 * group + 4 * j,
                             two_bits(q[j], 2 * (unsigned)group));
        }
    }
#pragma GCC unroll 16
    for (int b = 0; b < GLINT_TILE_BLOCKS; b++)
        finish_block(to, b, 2 * b);
}

// Sixteen six-bit scales from 32 down, in the last 16 bytes of a block, after two others.
INLINE void put_scales_q3_k(struct sink *to, int row, const uint8_t *block, size_t stride) {
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
            float_store(&to->tile->scale[4 * i + j][row], float_mul(d, float_from_int(value)));
        }
    }
}

INLINE void walk_q3_k(struct sink *to, const struct glint_tile_source *source) {
    size_t stride = source->stride;
    start_sums(to, 0, 16);
    for (int row = 0; row < GLINT_TILE_ROWS; row += LANES) {
        const uint8_t *block = source->rows + (size_t)row * stride;
        put_scales_q3_k(to, row, block, stride);
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
                        to, row, column + 32 * group + 4 * j,
                        int_or(two_bits(q[j], 2 * (unsigned)group), int_and(third, byte_all(4))));
                }
        }
    }
#pragma GCC unroll 16
    for (int b = 0; b < GLINT_TILE_BLOCKS; b++)
        finish_block(to, b, 2 * b);
}

#endif
#endif
