// SPDX-License-Identifier: Apache-2.0
// gguf_parse.h — one GGUF file's bytes into key/values and tensors; used by gguf.c only.
// Checks all that one file can tell about itself. What needs several files (splits) or several
// entries (names that occur twice, overlaps) is gguf.c's part.
#ifndef GLINT_FORMAT_GGUF_PARSE_H
#define GLINT_FORMAT_GGUF_PARSE_H

#include "format/gguf.h"

struct glint_gguf_part {
    const char *path;    // borrowed, for messages
    const uint8_t *data; // [n] borrowed: kvs and tensors point into it
    size_t n;
    uint32_t version;
    uint64_t alignment;
    uint64_t data_offset;      // where tensor data starts
    struct glint_gguf_kv *kvs; // [n_kvs] owned, with their keys and indices
    size_t n_kvs;
    struct glint_gguf_tensor *tensors; // [n_tensors] owned, with their names; i_shard is 0
    size_t n_tensors;
};

// path, data and n are set by the caller. On failure nothing is left to free.
enum glint_status glint_gguf_part_parse(struct glint_gguf_part *part, struct glint_error *err);
void glint_gguf_part_fini(struct glint_gguf_part *part);

// "an array of 4 u32", "the string "x"", ...: what a message calls a value. Returns text.
const char *glint_gguf_describe(const struct glint_gguf_kv *kv, char *text, size_t n);

#endif
