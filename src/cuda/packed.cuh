// SPDX-License-Identifier: Apache-2.0
// packed.cuh — how quantized matrices lie on the device, and how a warp takes a tile apart.
//
// The bytes of 16 rows by 256 columns make a tile, as many as the blocks of the file have (Q3_K: 4
// bytes a row more). Tiles of a row of tiles follow each other. In a tile: scales; low bits of the
// codes; high bits. Codes stand in the order in which the lanes of a warp feed them to
// mma.m16n8k16, so that every load is 16 bytes a lane, 512 a warp.
//
// Lane l = 4 r + t takes rows r and r + 8, and of each 16 columns the four from 4 t on. Its eight
// codes of 16 columns are four registers of two halves: a0 = row r, columns 4t, 4t + 1; a1 = row
// r + 8, the same; a2, a3: columns 4t + 2, 4t + 3. A half is 1024 + code, which is an OR with
// 0x6400; where low bits are nibbles, row r + 8 stays where it lies in the word and is 16 times
// its code, which its scale makes good.
//
// Types without a minimum have the offset taken off again, exactly. For the others a block of the
// product is  scale * sum (1024 + code) x  +  add * sum x  with  add = -1024 scale - minimum.
#ifndef GLINT_CUDA_PACKED_CUH
#define GLINT_CUDA_PACKED_CUH

#include "cuda/intrinsics.cuh"
#include "cuda/kernels.h"

// How the scales of a row and tile are stored.
enum glint_scale_form {
    GLINT_SCALE_K,     // Q4_K, Q5_K: 16 bytes: d, dmin, then 8 x (scale, min) of 6 bits, see below
    GLINT_SCALE_BYTES, // Q6_K, Q3_K: 16 signed bytes; d of all rows after them
    GLINT_SCALE_PAIRS, // Q2_K: 16 bytes scale | min << 4; d, dmin of all rows after them
    GLINT_SCALE_HALF,  // Q4_0, Q5_0, Q8_0: 8 halves
    GLINT_SCALE_HALVES // Q4_1, Q5_1: 8 halves d; 8 halves m of all rows after them
};

// GLINT_SCALE_K: field 2 j is scale j, field 2 j + 1 is min j. Field i < 15 is bits 6 * (i % 5) of
// word i / 5; the last field has two bits on top of each word, lowest first.

template <int DTYPE> struct glint_packed;
#define GLINT_PACKED(dtype, low, high, sub, form, has_min, offset_)                                \
    template <> struct glint_packed<dtype> {                                                       \
        enum {                                                                                     \
            LOW = low,                                                                             \
            HIGH = high,                                                                           \
            SUB = sub,                                                                             \
            FORM = form,                                                                           \
            HAS_MIN = has_min,                                                                     \
            OFFSET = offset_                                                                       \
        };                                                                                         \
    }
GLINT_PACKED(GLINT_DTYPE_Q4_0, 4, 0, 32, GLINT_SCALE_HALF, 0, 8);
GLINT_PACKED(GLINT_DTYPE_Q4_1, 4, 0, 32, GLINT_SCALE_HALVES, 1, 0);
GLINT_PACKED(GLINT_DTYPE_Q5_0, 4, 1, 32, GLINT_SCALE_HALF, 0, 16);
GLINT_PACKED(GLINT_DTYPE_Q5_1, 4, 1, 32, GLINT_SCALE_HALVES, 1, 0);
GLINT_PACKED(GLINT_DTYPE_Q8_0, 8, 0, 32, GLINT_SCALE_HALF, 0, 128);
GLINT_PACKED(GLINT_DTYPE_Q2_K, 2, 0, 16, GLINT_SCALE_PAIRS, 1, 0);
GLINT_PACKED(GLINT_DTYPE_Q3_K, 2, 1, 16, GLINT_SCALE_BYTES, 0, 4);
GLINT_PACKED(GLINT_DTYPE_Q4_K, 4, 0, 32, GLINT_SCALE_K, 1, 0);
GLINT_PACKED(GLINT_DTYPE_Q5_K, 4, 1, 32, GLINT_SCALE_K, 1, 0);
GLINT_PACKED(GLINT_DTYPE_Q6_K, 4, 2, 16, GLINT_SCALE_BYTES, 0, 32);
#undef GLINT_PACKED

// Calls BODY<dtype>(arguments) for a type known at run time.
#define GLINT_PACKED_SWITCH(dtype, BODY, ...)                                                      \
    switch (dtype) {                                                                               \
    case GLINT_DTYPE_Q4_0:                                                                         \
        BODY<GLINT_DTYPE_Q4_0>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q4_1:                                                                         \
        BODY<GLINT_DTYPE_Q4_1>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q5_0:                                                                         \
        BODY<GLINT_DTYPE_Q5_0>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q5_1:                                                                         \
        BODY<GLINT_DTYPE_Q5_1>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q8_0:                                                                         \
        BODY<GLINT_DTYPE_Q8_0>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q2_K:                                                                         \
        BODY<GLINT_DTYPE_Q2_K>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q3_K:                                                                         \
        BODY<GLINT_DTYPE_Q3_K>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q4_K:                                                                         \
        BODY<GLINT_DTYPE_Q4_K>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q5_K:                                                                         \
        BODY<GLINT_DTYPE_Q5_K>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    case GLINT_DTYPE_Q6_K:                                                                         \
        BODY<GLINT_DTYPE_Q6_K>(__VA_ARGS__);                                                       \
        break;                                                                                     \
    default:                                                                                       \
        break;                                                                                     \
    }

// Bytes of the scales of a tile.
static constexpr int glint_scale_bytes(int form) {
    return form == GLINT_SCALE_K || form == GLINT_SCALE_HALF ? 256
           : form == GLINT_SCALE_BYTES                       ? 256 + 32
           : form == GLINT_SCALE_PAIRS                       ? 256 + 64
                                                             : 512;
}

template <int DTYPE> struct glint_tile_layout {
    typedef glint_packed<DTYPE> type;
    enum {
        LOW_AT = glint_scale_bytes(type::FORM),
        N_LOW = 128 * type::LOW / 32,   // words a lane
        N_HIGH = 128 * type::HIGH / 32, // words a lane
        HIGH_AT = LOW_AT + N_LOW * 128,
        BYTES = HIGH_AT + N_HIGH * 128,
        MULTIPLE = type::LOW == 4 ? 16 : 1, // of the codes of rows 8 to 15
        N_SUB = 256 / type::SUB,
    };
};

// Word i of a lane's share of the plane at `at`.
static __device__ __forceinline__ uint32_t *glint_plane_word(void *plane, int lane, int i) {
    return (uint32_t *)plane + i / 4 * 128 + lane * 4 + i % 4;
}

// ---- codes ----------------------------------------------------------------------------------

static constexpr uint32_t GLINT_HALF_1024 = 0x64006400u;

// Bit `from` of the word goes to bit `to`.
static __device__ __forceinline__ uint32_t glint_move_bits(uint32_t word, int from, int to) {
    return from >= to ? word >> (from - to) : word << (to - from);
}

// A lane's codes of columns 16 k to 16 k + 15 as halves, from its words of the tile; k is known at
// compile time.
template <int DTYPE>
static __device__ __forceinline__ void glint_unpack(uint32_t a[4], const uint32_t *low,
                                                    const uint32_t *high, int k) {
    typedef glint_packed<DTYPE> type;
    for (int i = 0; i < 4; i++) {
        int up = type::LOW == 4 && i % 2 ? 4 : 0; // row r + 8
        if (type::LOW == 8)
            a[i] = glint_byte_perm(low[2 * k + i % 2], 0x64, i / 2 ? 0x4342u : 0x4140u);
        else if (type::LOW == 4)
            a[i] = (low[k] >> i / 2 * 8 & 0x000f000fu << up) | GLINT_HALF_1024;
        else
            a[i] = (low[k / 2] >> 2 * (i + 4 * (k % 2)) & 0x00030003u) | GLINT_HALF_1024;
        if (type::HIGH == 2)
            a[i] |= glint_move_bits(high[k / 2], 2 * (i + 4 * (k % 2)), 4 + up) & 0x00300030u << up;
        if (type::HIGH == 1)
            a[i] |= glint_move_bits(high[k / 4], i + 4 * (k % 4), type::LOW + up) &
                    (0x00010001u << type::LOW) << up;
    }
    if (!type::HAS_MIN) {
        // The bits of 1024 + offset * multiple, twice.
        const uint32_t first = GLINT_HALF_1024 + type::OFFSET * 0x00010001u;
        const uint32_t second =
            GLINT_HALF_1024 + type::OFFSET * glint_tile_layout<DTYPE>::MULTIPLE * 0x00010001u;
        for (int i = 0; i < 4; i++)
            a[i] = glint_half2_sub(a[i], i % 2 ? second : first);
    }
}

// ---- scales ---------------------------------------------------------------------------------

// What a lane holds of the scales of one row.
struct glint_row_scales {
    uint32_t word[4], more[4];
    float d, dmin; // of the types that have one for the whole row
};

template <int DTYPE>
static __device__ __forceinline__ void glint_load_scales(struct glint_row_scales *scales,
                                                         const unsigned char *tile, int row) {
    const int form = glint_packed<DTYPE>::FORM;
    uint4 load = *(const uint4 *)(const void *)(tile + row * 16);
    scales->word[0] = load.x;
    scales->word[1] = load.y;
    scales->word[2] = load.z;
    scales->word[3] = load.w;
    if (form == GLINT_SCALE_HALVES) {
        uint4 more = *(const uint4 *)(const void *)(tile + 256 + row * 16);
        scales->more[0] = more.x;
        scales->more[1] = more.y;
        scales->more[2] = more.z;
        scales->more[3] = more.w;
    }
    uint32_t both = 0;
    if (form == GLINT_SCALE_K)
        both = load.x;
    if (form == GLINT_SCALE_BYTES)
        both = *(const uint16_t *)(const void *)(tile + 256 + row * 2);
    if (form == GLINT_SCALE_PAIRS)
        both = *(const uint32_t *)(const void *)(tile + 256 + row * 4);
    scales->d = glint_half_float((uint16_t)both);
    scales->dmin = glint_half_float((uint16_t)(both >> 16));
}

struct glint_sub_scale {
    float scale, min; // value = scale * (code - offset) - min
};

// An integer below 2^23 as a float, without a conversion.
static __device__ __forceinline__ float glint_small_float(uint32_t n) {
    return __uint_as_float(n | 0x4b000000u) - 8388608.0f;
}

static __device__ __forceinline__ uint32_t glint_scale_field(const uint32_t *word, int i) {
    if (i == 15)
        return word[1] >> 30 | word[2] >> 30 << 2 | word[3] >> 30 << 4;
    return word[1 + i / 5] >> 6 * (i % 5) & 63;
}

// Of sub-block j, known at compile time: the products that quant/ forms, rounded once.
template <int DTYPE>
static __device__ __forceinline__ struct glint_sub_scale
glint_sub_scale_at(const struct glint_row_scales *scales, int j) {
    const int form = glint_packed<DTYPE>::FORM;
    struct glint_sub_scale out = {0, 0};
    if (form == GLINT_SCALE_K) {
        out.scale = scales->d * glint_small_float(glint_scale_field(scales->word, 2 * j));
        out.min = scales->dmin * glint_small_float(glint_scale_field(scales->word, 2 * j + 1));
    } else if (form == GLINT_SCALE_BYTES) {
        out.scale = scales->d * (float)(int8_t)(scales->word[j / 4] >> j % 4 * 8);
    } else if (form == GLINT_SCALE_PAIRS) {
        uint32_t both = scales->word[j / 4] >> j % 4 * 8;
        out.scale = scales->d * glint_small_float(both & 15);
        out.min = scales->dmin * glint_small_float(both >> 4 & 15);
    } else {
        out.scale = glint_half_float((uint16_t)(scales->word[j / 2] >> j % 2 * 16));
        if (form == GLINT_SCALE_HALVES)
            out.min = -glint_half_float((uint16_t)(scales->more[j / 2] >> j % 2 * 16));
    }
    return out;
}

#endif
