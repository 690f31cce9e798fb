// SPDX-License-Identifier: Apache-2.0
// safetensors.h — a safetensors file, or a sharded set with its index, as named views.
// Checked at open: header size and JSON, every dtype, shape and offset, that the tensors of a
// file cover its data exactly once (no hole, no overlap), that the index and the shards agree.
// Read-only after open.
#ifndef GLINT_FORMAT_SAFETENSORS_H
#define GLINT_FORMAT_SAFETENSORS_H

#include "base/buffer.h"
#include "base/status.h"

enum { GLINT_SAFETENSORS_MAX_DIMS = 8 };

enum glint_safetensors_dtype {
    GLINT_SAFETENSORS_BOOL,
    GLINT_SAFETENSORS_U8,
    GLINT_SAFETENSORS_I8,
    GLINT_SAFETENSORS_U16,
    GLINT_SAFETENSORS_I16,
    GLINT_SAFETENSORS_F16,
    GLINT_SAFETENSORS_BF16,
    GLINT_SAFETENSORS_U32,
    GLINT_SAFETENSORS_I32,
    GLINT_SAFETENSORS_F32,
    GLINT_SAFETENSORS_U64,
    GLINT_SAFETENSORS_I64,
    GLINT_SAFETENSORS_F64,
    GLINT_SAFETENSORS_F8_E4M3,
    GLINT_SAFETENSORS_F8_E5M2,
    GLINT_SAFETENSORS_N_DTYPES,
};

struct glint_safetensors_tensor {
    const char *name;
    enum glint_safetensors_dtype dtype;
    uint32_t n_dims;                           // 0 for a scalar
    uint64_t dims[GLINT_SAFETENSORS_MAX_DIMS]; // outermost first
    uint64_t n_values;
    const uint8_t *data; // [n_bytes] row-major little-endian, any alignment
    uint64_t n_bytes;
    uint32_t i_file;
};

struct glint_safetensors {
    const char *path;                               // as the caller named it
    const struct glint_safetensors_tensor *tensors; // [n_tensors], sorted by name
    size_t n_tensors;
    size_t n_files;
    uint64_t n_tensor_bytes;
};

// path: a .safetensors file, an index (.json), or a folder that holds model.safetensors.index.json
// or model.safetensors (the index wins). On failure *set is NULL.
enum glint_status glint_safetensors_open(struct glint_safetensors **set, const char *path,
                                         struct glint_error *err);
// One file's bytes in memory, borrowed until close; `name` is used in errors.
enum glint_status glint_safetensors_open_memory(struct glint_safetensors **set, const void *data,
                                                size_t n, const char *name,
                                                struct glint_error *err);
void glint_safetensors_close(struct glint_safetensors **set);
// NULL when absent; O(log n).
const struct glint_safetensors_tensor *glint_safetensors_find(const struct glint_safetensors *set,
                                                              const char *name);
// Path of the file that holds a tensor, for messages.
const char *glint_safetensors_file(const struct glint_safetensors *set, uint32_t i_file);
// Bytes [offset, offset + n) of the tensor will not be needed again soon.
void glint_safetensors_done_with(const struct glint_safetensors *set,
                                 const struct glint_safetensors_tensor *tensor, uint64_t offset,
                                 uint64_t n);
// "BF16", ... as the format spells it, and bytes of one value.
const char *glint_safetensors_dtype_name(enum glint_safetensors_dtype dtype);
size_t glint_safetensors_dtype_bytes(enum glint_safetensors_dtype dtype);

#endif
