// SPDX-License-Identifier: Apache-2.0
// backend.h — the interface between the model and what computes it. A backend fills one table;
// layer/ calls it and knows nothing else. Work is enqueued in call order; sync waits for it and
// reports the first failure.
#ifndef GLINT_OP_BACKEND_H
#define GLINT_OP_BACKEND_H

#include "base/log.h"
#include "base/status.h"
#include "op/op.h"

struct glint_backend;

// What the host must know to size a step's scratch. Fixed when a backend is opened.
struct glint_backend_limits {
    int max_rows;    // largest n of any op
    int max_col;     // largest n_col of any matrix
    int max_head;    // query heads
    int max_context; // positions of the longest sequence
    int head_dim;
};

struct glint_backend_ops {
    void (*embed)(struct glint_backend *backend, const struct glint_op_embed *op);
    void (*rms_norm)(struct glint_backend *backend, const struct glint_op_rms_norm *op);
    void (*add_rms_norm)(struct glint_backend *backend, const struct glint_op_add_rms_norm *op);
    void (*layer_norm)(struct glint_backend *backend, const struct glint_op_layer_norm *op);
    void (*add)(struct glint_backend *backend, const struct glint_op_add *op);
    void (*gelu)(struct glint_backend *backend, const struct glint_op_gelu *op);
    void (*rotate)(struct glint_backend *backend, const struct glint_op_rotate *op);
    void (*matmul)(struct glint_backend *backend, const struct glint_op_matmul *op);
    void (*head_norm_rope)(struct glint_backend *backend, const struct glint_op_head_norm_rope *op);
    void (*kv_store)(struct glint_backend *backend, const struct glint_op_kv_store *op);
    void (*attention)(struct glint_backend *backend, const struct glint_op_attention *op);
    void (*gate)(struct glint_backend *backend, const struct glint_op_gate *op);
    void (*swiglu)(struct glint_backend *backend, const struct glint_op_swiglu *op);
    void (*softcap)(struct glint_backend *backend, const struct glint_op_softcap *op);
    void (*copy_rows)(struct glint_backend *backend, const struct glint_op_copy_rows *op);
    void (*best)(struct glint_backend *backend, const struct glint_op_best *op);
};

// Every backend begins with this struct and keeps its own fields behind it.
struct glint_backend {
    const char *name; // "cpu"
    const char *tier; // "scalar", "avx2", "avx512", "vnni", "neon", "dotprod"
    int n_threads;    // host threads that compute; 0 on a device
    struct glint_backend_ops ops;
    // Device memory, 64-byte aligned, zeroed; NULL when out of memory.
    void *(*alloc)(struct glint_backend *backend, size_t bytes);
    void (*free)(struct glint_backend *backend, void *block);
    // Copies to and from the device, in order with the ops. On the CPU plain copies.
    void (*upload)(struct glint_backend *backend, void *device, const void *host, size_t bytes);
    void (*download)(struct glint_backend *backend, void *host, const void *device, size_t bytes);
    // Prepares a matrix whose data lies in the mapped file. The CPU borrows it as it is.
    enum glint_status (*bind)(struct glint_backend *backend, struct glint_matrix *matrix,
                              struct glint_error *err);
    enum glint_status (*sync)(struct glint_backend *backend, struct glint_error *err);
    void (*close)(struct glint_backend *backend);
};

#endif
