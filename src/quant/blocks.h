// SPDX-License-Identifier: Apache-2.0
// blocks.h — the public GGUF block layouts, byte for byte, and how their packed scales unpack.
// d and m fields are IEEE binary16. Every struct needs at most 2-byte alignment, which GGUF's
// tensor alignment gives. In the formulas q is the unsigned code of a value, i its place in the
// block, and the sub-block of a K type is i / 32 (Q4_K, Q5_K) or i / 16 (Q2_K, Q3_K, Q6_K).
#ifndef GLINT_QUANT_BLOCKS_H
#define GLINT_QUANT_BLOCKS_H

#include <assert.h>
#include <stdint.h>

enum {
    GLINT_BLOCK_LEN = 32,    // values of a Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 block
    GLINT_BLOCK_LEN_K = 256, // values of a K block
};

// value = d * q, q signed
struct glint_block_q8_0 {
    uint16_t d;
    int8_t q[32];
};

// value = d * (q - 8); byte j holds value j low and value j + 16 high
struct glint_block_q4_0 {
    uint16_t d;
    uint8_t q[16];
};

// value = d * q + m; order as Q4_0
struct glint_block_q4_1 {
    uint16_t d, m;
    uint8_t q[16];
};

// value = d * (q - 16); low four bits as Q4_0, bit i of high (little-endian) is bit 4 of value i
struct glint_block_q5_0 {
    uint16_t d;
    uint8_t high[4];
    uint8_t q[16];
};

// value = d * q + m; order as Q5_0
struct glint_block_q5_1 {
    uint16_t d, m;
    uint8_t high[4];
    uint8_t q[16];
};

// value = (d * scale) * q - dmin * min; scale is the low, min the high half of scales[i / 16].
// Value i of a half (128 values) lies in byte i % 32 of its 32, two bits from 2 * (i / 32).
struct glint_block_q2_k {
    uint8_t scales[16];
    uint8_t q[64];
    uint16_t d, dmin;
};

// value = (d * (scale - 32)) * (q - 4); q's low two bits as in Q2_K, its bit 2 is bit i / 32 of
// high[i % 32]
struct glint_block_q3_k {
    uint8_t high[32];
    uint8_t q[64];
    uint8_t scales[12];
    uint16_t d;
};

// value = (d * scale) * q - dmin * min; byte j of 32 holds value j low and value j + 32 high
struct glint_block_q4_k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t q[128];
};

// as Q4_K; bit 4 of value i is bit i / 32 of high[i % 32]
struct glint_block_q5_k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t high[32];
    uint8_t q[128];
};

// value = (d * scale) * (q - 32). In a half of 128 values, value i has its low four bits in
// low[i % 64] (low nibble for i < 64, high above) and its high two in high[i % 32] from
// bit 2 * (i / 32).
struct glint_block_q6_k {
    uint8_t low[128];
    uint8_t high[64];
    int8_t scales[16];
    uint16_t d;
};

static_assert(sizeof(struct glint_block_q8_0) == 34, "Q8_0 block");
static_assert(sizeof(struct glint_block_q4_0) == 18, "Q4_0 block");
static_assert(sizeof(struct glint_block_q4_1) == 20, "Q4_1 block");
static_assert(sizeof(struct glint_block_q5_0) == 22, "Q5_0 block");
static_assert(sizeof(struct glint_block_q5_1) == 24, "Q5_1 block");
static_assert(sizeof(struct glint_block_q2_k) == 84, "Q2_K block");
static_assert(sizeof(struct glint_block_q3_k) == 110, "Q3_K block");
static_assert(sizeof(struct glint_block_q4_k) == 144, "Q4_K block");
static_assert(sizeof(struct glint_block_q5_k) == 176, "Q5_K block");
static_assert(sizeof(struct glint_block_q6_k) == 210, "Q6_K block");

// Scale and min (0..63) of sub-block j (0..7) of Q4_K and Q5_K.
struct glint_scale_min {
    uint8_t scale, min;
};

static inline struct glint_scale_min glint_q4_k_scale_min(const uint8_t scales[12], int j) {
    struct glint_scale_min out;
    if (j < 4) {
        out.scale = scales[j] & 63;
        out.min = scales[j + 4] & 63;
    } else {
        out.scale = (uint8_t)((scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4);
        out.min = (uint8_t)((scales[j + 4] >> 4) | (scales[j] >> 6) << 4);
    }
    return out;
}

// Scale (-32..31) of sub-block j (0..15) of Q3_K.
static inline int glint_q3_k_scale(const uint8_t scales[12], int j) {
    int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
    int high = scales[8 + j % 4] >> 2 * (j / 4) & 3;
    return (low | high << 4) - 32;
}

#endif
