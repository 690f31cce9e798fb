// SPDX-License-Identifier: Apache-2.0
// gguf.h — a GGUF file (version 2 or 3, little-endian, one file or split) as typed views.
// Everything is checked at open: lengths, counts, types, alignment, that tensors lie inside the
// file without overlapping, that no key or tensor name occurs twice. After a successful open
// every view below may be read without further checks. What the keys and tensors mean is
// model/'s business. Read-only after open, so any number of threads may use it.
#ifndef GLINT_FORMAT_GGUF_H
#define GLINT_FORMAT_GGUF_H

#include "base/buffer.h"
#include "base/status.h"
#include "format/gguf_types.h"

enum {
    GLINT_GGUF_MAX_DIMS = 4,
    GLINT_GGUF_MAX_NAME = 1024, // bytes of a key or tensor name
    GLINT_GGUF_MAX_SHARDS = 1024,
    GLINT_GGUF_MAX_NESTING = 4, // arrays inside arrays
    GLINT_GGUF_MAX_ALIGNMENT = 1 << 20,
};

// One key and its value. Scalars are arrays of one item with is_array false.
struct glint_gguf_kv {
    const char *key;
    bool is_array;
    enum glint_gguf_type type; // of the items; GLINT_GGUF_ARRAY for arrays of arrays (opaque)
    uint64_t n;                // items
    const uint8_t *data;       // items as in the file, any alignment
    const uint64_t *starts;    // [n] offsets into data of a string array's items; else NULL
};

struct glint_gguf_tensor {
    const char *name;
    uint32_t type_id;                   // raw; known to glint_gguf_block
    uint32_t n_dims;                    // 1..4
    uint64_t dims[GLINT_GGUF_MAX_DIMS]; // fastest first; 1 past n_dims
    uint64_t n_values;
    const uint8_t *data; // [n_bytes], aligned to the file's alignment
    uint64_t n_bytes;
    uint32_t i_shard; // file that holds it
    uint64_t offset;  // of data from the start of that file
};

struct glint_gguf_shard {
    const char *path;
    uint64_t n_bytes; // of the whole file
    uint64_t data_offset;
    uint64_t n_tensors;
};

struct glint_gguf {
    const char *path; // as the caller named it
    uint32_t version;
    uint64_t alignment;              // bytes, a power of two
    const struct glint_gguf_kv *kvs; // [n_kvs] in file order (of the first shard)
    size_t n_kvs;
    const struct glint_gguf_tensor *tensors; // [n_tensors] in file order, shard after shard
    size_t n_tensors;
    const struct glint_gguf_shard *shards; // [n_shards], 1 when the model is not split
    size_t n_shards;
    uint64_t n_bytes;        // of all shards
    uint64_t n_tensor_bytes; // of all tensors, without padding
};

// path may name any shard of a split model; the others are looked for beside it. On failure
// *gguf is NULL and err names the file, the field, what was found and what was expected.
enum glint_status glint_gguf_open(struct glint_gguf **gguf, const char *path,
                                  struct glint_error *err);
// The same for bytes in memory (borrowed until close; data aligned to 8); `name` is used in
// errors. Split models are refused.
enum glint_status glint_gguf_open_memory(struct glint_gguf **gguf, const void *data, size_t n,
                                         const char *name, struct glint_error *err);
void glint_gguf_close(struct glint_gguf **gguf);

// NULL when absent; O(log n).
const struct glint_gguf_kv *glint_gguf_find(const struct glint_gguf *gguf, const char *key);
const struct glint_gguf_tensor *glint_gguf_find_tensor(const struct glint_gguf *gguf,
                                                       const char *name);
// Hint for the pages of one tensor; `advice` is an enum glint_advice of mapped_file.h.
void glint_gguf_advise(const struct glint_gguf *gguf, const struct glint_gguf_tensor *tensor,
                       int advice);

// Item i (< kv->n) of a value; false when it is of another class or does not fit. Integers of
// any width and sign count as integers; floats accept integers too.
bool glint_gguf_item_i64(const struct glint_gguf_kv *kv, uint64_t i, int64_t *value);
bool glint_gguf_item_f64(const struct glint_gguf_kv *kv, uint64_t i, double *value);
bool glint_gguf_item_bool(const struct glint_gguf_kv *kv, uint64_t i, bool *value);
bool glint_gguf_item_string(const struct glint_gguf_kv *kv, uint64_t i, struct glint_view *value);

// Required scalars: GLINT_E_NOTFOUND when the key is missing, GLINT_E_FORMAT when the value is of
// another class, is an array or is out of range. Any integer width and sign is accepted.
enum glint_status glint_gguf_get_u32(const struct glint_gguf *gguf, const char *key,
                                     uint32_t *value, struct glint_error *err);
enum glint_status glint_gguf_get_f32(const struct glint_gguf *gguf, const char *key, float *value,
                                     struct glint_error *err);
enum glint_status glint_gguf_get_bool(const struct glint_gguf *gguf, const char *key, bool *value,
                                      struct glint_error *err);
enum glint_status glint_gguf_get_string(const struct glint_gguf *gguf, const char *key,
                                        struct glint_view *value, struct glint_error *err);

// Optional scalars: a missing key leaves *value as it was and gives GLINT_OK.
enum glint_status glint_gguf_opt_u32(const struct glint_gguf *gguf, const char *key,
                                     uint32_t *value, struct glint_error *err);
enum glint_status glint_gguf_opt_f32(const struct glint_gguf *gguf, const char *key, float *value,
                                     struct glint_error *err);
enum glint_status glint_gguf_opt_bool(const struct glint_gguf *gguf, const char *key, bool *value,
                                      struct glint_error *err);
enum glint_status glint_gguf_opt_string(const struct glint_gguf *gguf, const char *key,
                                        struct glint_view *value, struct glint_error *err);

enum glint_gguf_class { GLINT_GGUF_INTS, GLINT_GGUF_FLOATS, GLINT_GGUF_BOOLS, GLINT_GGUF_STRINGS };
// Required array whose items are of that class; read the items with glint_gguf_item_*.
enum glint_status glint_gguf_get_array(const struct glint_gguf *gguf, const char *key,
                                       enum glint_gguf_class item_class,
                                       const struct glint_gguf_kv **kv, struct glint_error *err);

#endif
