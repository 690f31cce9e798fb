// SPDX-License-Identifier: Apache-2.0
// bind.h — taking the tensors of a GGUF file one by one: type and shape are checked, matrices are
// borrowed from the mapped file in their own type, vectors are decoded into one float32 block on
// the device. In the end a tensor that nobody took is refused: it would mean another model.
#ifndef GLINT_MODEL_BIND_H
#define GLINT_MODEL_BIND_H

#include "format/gguf.h"
#include "op/backend.h"

enum { GLINT_BIND_NAME = 64 }; // bytes that the name of any tensor takes

struct glint_binder {
    const struct glint_gguf *gguf;
    struct glint_backend *backend;
    float *vectors; // device block [n_float]; the caller's after close
    float *host;    // its contents, copied over at finish
    size_t n_float, used;
    bool *taken;           // [gguf->n_tensors]
    uint64_t weight_bytes; // of the tensors taken
    struct glint_error *err;
};

// Floats that a vector of n takes in the block.
static inline size_t glint_bind_floats(int64_t n) {
    return ((size_t)n + 15) / 16 * 16;
}

// gguf, backend and err are borrowed. n_float: sum of glint_bind_floats over all vectors.
enum glint_status glint_binder_init(struct glint_binder *binder, const struct glint_gguf *gguf,
                                    struct glint_backend *backend, size_t n_float,
                                    struct glint_error *err);
// Frees the binder and returns status, that of the binding. When it is GLINT_OK the block becomes
// the caller's, in *vectors (to backend->free).
enum glint_status glint_binder_close(struct glint_binder *binder, enum glint_status status,
                                     float **vectors, uint64_t *weight_bytes);

// Finds a tensor of these dimensions, fastest first, and takes it.
enum glint_status glint_bind_find(struct glint_binder *binder, const char *name,
                                  const int64_t *dims, uint32_t n_dims,
                                  const struct glint_gguf_tensor **out);
enum glint_status glint_bind_matrix(struct glint_binder *binder, const char *name, int64_t n_col,
                                    int64_t n_row, struct glint_matrix *matrix);
// Values must be finite.
enum glint_status glint_bind_vector(struct glint_binder *binder, const char *name, int64_t n,
                                    const float **slot);
// The host's copy of a bound vector, until fini.
static inline const float *glint_bind_host(const struct glint_binder *binder, const float *slot) {
    return binder->host + (slot - binder->vectors);
}
// Room for n floats that come from no tensor; the caller fills the host's copy.
float *glint_bind_room(struct glint_binder *binder, int64_t n, const float **slot);
// base^(-2i / head_dim) for i < head_dim / 2.
void glint_bind_inv_freq(struct glint_binder *binder, int head_dim, float rope_base,
                         const float **slot);
// Refuses tensors that nobody took (`what`: "a text model of 4 layers"), fills the device block.
enum glint_status glint_bind_finish(struct glint_binder *binder, const char *what);

// Looks for the first weight that is not finite, in file order, when a step produced NaN.
// GLINT_E_FORMAT naming tensor, row and column; GLINT_OK when every weight is finite.
enum glint_status glint_bind_find_nonfinite(const struct glint_gguf *gguf, struct glint_error *err);

#endif
