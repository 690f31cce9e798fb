// SPDX-License-Identifier: Apache-2.0
// gguf_bytes.h — GGUF files byte by byte, so that tests can also make wrong ones.
#ifndef GLINT_TESTS_UNIT_FORMAT_GGUF_BYTES_H
#define GLINT_TESTS_UNIT_FORMAT_GGUF_BYTES_H

#include "format/gguf.h"

#include <string.h>

static inline void gguf_le(struct glint_buffer *out, uint64_t value, int n) {
    for (int i = 0; i < n; i++)
        glint_buffer_append_char(out, (char)(value >> 8 * i));
}

static inline void gguf_head(struct glint_buffer *out, uint32_t version, uint64_t n_tensors,
                             uint64_t n_kvs) {
    glint_buffer_append(out, "GGUF", 4);
    gguf_le(out, version, 4);
    gguf_le(out, n_tensors, 8);
    gguf_le(out, n_kvs, 8);
}

static inline void gguf_text(struct glint_buffer *out, const char *text) {
    gguf_le(out, strlen(text), 8);
    glint_buffer_append(out, text, strlen(text));
}

static inline void gguf_key(struct glint_buffer *out, const char *key, uint32_t type) {
    gguf_text(out, key);
    gguf_le(out, type, 4);
}

static inline void gguf_array(struct glint_buffer *out, const char *key, uint32_t type,
                              uint64_t n) {
    gguf_key(out, key, GLINT_GGUF_ARRAY);
    gguf_le(out, type, 4);
    gguf_le(out, n, 8);
}

// A tensor of one or two dimensions (n_rows 0: one).
static inline void gguf_tensor(struct glint_buffer *out, const char *name, uint64_t n_cols,
                               uint64_t n_rows, uint32_t type_id, uint64_t offset) {
    gguf_text(out, name);
    gguf_le(out, n_rows ? 2 : 1, 4);
    gguf_le(out, n_cols, 8);
    if (n_rows)
        gguf_le(out, n_rows, 8);
    gguf_le(out, type_id, 4);
    gguf_le(out, offset, 8);
}

static inline void gguf_pad(struct glint_buffer *out, size_t alignment) {
    while (out->n % alignment)
        glint_buffer_append_char(out, 0);
}

static inline void gguf_data(struct glint_buffer *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        glint_buffer_append_char(out, (char)(i * 7 + 1));
}

// One value of each type, some arrays, three tensors.
static inline void gguf_sample(struct glint_buffer *out, uint32_t version) {
    gguf_head(out, version, 3, 18);
    static const char *const names[] = {"u8", "i8", "u16", "i16", "u32", "i32"};
    static const uint64_t values[] = {200, 0x9c, 60000, 0x8ad0, 4000000000u, 0xfffffff9u};
    static const int sizes[] = {1, 1, 2, 2, 4, 4};
    for (int i = 0; i < 6; i++) {
        gguf_key(out, names[i], (uint32_t)i);
        gguf_le(out, values[i], sizes[i]);
    }
    gguf_key(out, "f32", GLINT_GGUF_F32);
    gguf_le(out, 0x3fc00000, 4); // 1.5
    gguf_key(out, "bool", GLINT_GGUF_BOOL);
    gguf_le(out, 1, 1);
    gguf_key(out, "string", GLINT_GGUF_STRING);
    gguf_text(out, "text");
    gguf_key(out, "u64", GLINT_GGUF_U64);
    gguf_le(out, UINT64_MAX, 8);
    gguf_key(out, "i64", GLINT_GGUF_I64);
    gguf_le(out, (uint64_t)-5, 8);
    gguf_key(out, "f64", GLINT_GGUF_F64);
    gguf_le(out, 0x4004000000000000, 8); // 2.5
    gguf_array(out, "ints", GLINT_GGUF_I16, 3);
    gguf_le(out, 0x0001fffe0003, 6);
    gguf_array(out, "bools", GLINT_GGUF_BOOL, 2);
    gguf_le(out, 0x0100, 2);
    gguf_array(out, "strings", GLINT_GGUF_STRING, 3);
    gguf_text(out, "a");
    gguf_text(out, "");
    gguf_text(out, "ccc");
    gguf_array(out, "nested", GLINT_GGUF_ARRAY, 2);
    gguf_le(out, GLINT_GGUF_U8, 4);
    gguf_le(out, 2, 8);
    gguf_le(out, 0x0201, 2);
    gguf_le(out, GLINT_GGUF_STRING, 4);
    gguf_le(out, 1, 8);
    gguf_text(out, "x");
    gguf_array(out, "empty", GLINT_GGUF_STRING, 0);
    gguf_key(out, "general.alignment", GLINT_GGUF_U32);
    gguf_le(out, 64, 4);
    gguf_tensor(out, "b", 32, 2, 8, 64);  // Q8_0: 68 bytes
    gguf_tensor(out, "a", 3, 0, 0, 0);    // F32: 12 bytes
    gguf_tensor(out, "c", 5, 2, 30, 192); // BF16: 20 bytes
    gguf_pad(out, 64);
    gguf_data(out, 192 + 20);
}

#endif
