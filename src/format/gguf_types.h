// SPDX-License-Identifier: Apache-2.0
// gguf_types.h — the numbers of the public GGUF format: value types, and the size of every
// tensor type the format defines, also those that glint cannot compute with.
#ifndef GLINT_FORMAT_GGUF_TYPES_H
#define GLINT_FORMAT_GGUF_TYPES_H

#include <stddef.h>
#include <stdint.h>

enum glint_gguf_type {
    GLINT_GGUF_U8 = 0,
    GLINT_GGUF_I8 = 1,
    GLINT_GGUF_U16 = 2,
    GLINT_GGUF_I16 = 3,
    GLINT_GGUF_U32 = 4,
    GLINT_GGUF_I32 = 5,
    GLINT_GGUF_F32 = 6,
    GLINT_GGUF_BOOL = 7,
    GLINT_GGUF_STRING = 8,
    GLINT_GGUF_ARRAY = 9,
    GLINT_GGUF_U64 = 10,
    GLINT_GGUF_I64 = 11,
    GLINT_GGUF_F64 = 12,
    GLINT_GGUF_N_TYPES = 13,
};

// "u32", "string", ...; "unknown" past the last.
const char *glint_gguf_type_name(uint32_t type);
// Bytes of a value of fixed size; 0 for strings, arrays and unknown types.
size_t glint_gguf_type_bytes(uint32_t type);

// Size of a tensor type: block_len values take block_bytes bytes.
struct glint_gguf_block {
    const char *name; // as the format spells it: "Q4_K", "IQ2_XS"
    uint32_t block_len;
    uint32_t block_bytes;
};
// NULL when the format defines no such type (or withdrew it).
const struct glint_gguf_block *glint_gguf_block(uint32_t type_id);

#endif
