// SPDX-License-Identifier: Apache-2.0
// dtype.h — what a weight block means: one row of dtype.def a type, one file a type.
// Numbers are the public GGUF type ids. Everything here is scalar and exact; kernels that are
// fast live in cpu/ and cuda/ and are checked against this.
#ifndef GLINT_QUANT_DTYPE_H
#define GLINT_QUANT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum glint_dtype {
    GLINT_DTYPE_F32 = 0,
    GLINT_DTYPE_F16 = 1,
    GLINT_DTYPE_Q4_0 = 2,
    GLINT_DTYPE_Q4_1 = 3,
    GLINT_DTYPE_Q5_0 = 6,
    GLINT_DTYPE_Q5_1 = 7,
    GLINT_DTYPE_Q8_0 = 8,
    GLINT_DTYPE_Q2_K = 10,
    GLINT_DTYPE_Q3_K = 11,
    GLINT_DTYPE_Q4_K = 12,
    GLINT_DTYPE_Q5_K = 13,
    GLINT_DTYPE_Q6_K = 14,
    GLINT_DTYPE_BF16 = 30,
};

struct glint_dtype_info {
    enum glint_dtype dtype;
    const char *name;     // as users type it: "q4_k", "bf16"
    uint32_t block_len;   // values a block holds: 1, 32 or 256
    uint32_t block_bytes; // bytes of a block
    bool is_float;        // F32, F16, BF16
    // n is a multiple of block_len. decode: bytes -> floats, exactly (weight = one float32
    // evaluation of the public formula). encode: floats -> bytes with little squared error, each
    // value's error weighted by importance[i] >= 0, [n], or all alike when NULL; float types and
    // Q8_0 do not look at it. NaN and infinity are the caller's to refuse.
    void (*decode)(const void *blocks, float *values, size_t n);
    void (*encode)(const float *values, const float *importance, void *blocks, size_t n);
};

// NULL when glint has no such type. `id` comes from a file and may be anything.
const struct glint_dtype_info *glint_dtype_info(uint32_t id);
// By user name, any letter case ("Q4_K"); NULL when unknown.
const struct glint_dtype_info *glint_dtype_by_name(const char *name);
// i = 0, 1, ... in table order; NULL past the last.
const struct glint_dtype_info *glint_dtype_at(size_t i);
// The public name of a GGUF type id that glint may not support ("IQ2_XS"), or "unknown".
const char *glint_dtype_public_name(uint32_t id);
// Bytes of n values; n must be a multiple of the block length.
size_t glint_dtype_bytes(enum glint_dtype dtype, uint64_t n);

#endif
