// SPDX-License-Identifier: Apache-2.0
// cuda_backend.h — the CUDA backend's own fields, and what the C files of this folder call of each
// other. Ops queue launches (queue.c); a sync, a copy or a full queue runs them.
#ifndef GLINT_CUDA_CUDA_BACKEND_H
#define GLINT_CUDA_CUDA_BACKEND_H

#include "cuda/cuda.h"
#include "cuda/kernels.h"

#include <cuda_runtime_api.h>

enum {
    GLINT_CUDA_MAX_QUEUE = 2048, // launches
    GLINT_CUDA_MAX_GRAPH = 8,    // remembered sequences of launches
    GLINT_CUDA_GRAPH_ROWS = 64,  // steps of more rows are not remembered: they do not come again
    GLINT_CUDA_MAX_COPY = 64,    // downloads between two syncs
};

struct glint_cuda_launch {
    const void *kernel;
    const char *op; // for messages
    dim3 grid;
    unsigned block, shared_bytes;
    int rows;
    unsigned char params[GLINT_CUDA_PARAM_BYTES];
};

// A sequence of launches that was run before: the same again is one call.
struct glint_cuda_graph {
    struct glint_cuda_launch *launches; // [GLINT_CUDA_MAX_QUEUE], owned
    int n;                              // 0: free
    cudaGraphExec_t exec;               // NULL until it comes a second time
    uint64_t used;
};

struct glint_cuda_copy {
    void *to;
    const void *from; // in pinned
    size_t bytes;
};

struct glint_cuda {
    struct glint_backend base; // first
    int device;
    struct glint_backend_limits limits;
    struct glint_cuda_kernels kernels;
    cudaStream_t stream;
    cudaEvent_t sent[2]; // halves of `pinned` that have left
    char tier[16];       // "sm_90"

    struct glint_cuda_launch *queue; // [GLINT_CUDA_MAX_QUEUE]
    int n_queue;
    struct glint_cuda_graph graph[GLINT_CUDA_MAX_GRAPH];
    uint64_t clock;

    // Host arrays of the step (ids, positions, page tables), in pinned memory and on the device at
    // the same offsets. What is there already is not stored twice, so that a step of the same
    // shape has its arrays at the same addresses.
    char *stage_host, *stage;
    size_t stage_bytes, stage_used, stage_sent;
    int n_entry;
    struct glint_cuda_entry {
        size_t at, bytes;
    } * entry; // [GLINT_CUDA_MAX_ENTRY]

    // What cache_ops.c gathers before it is staged.
    struct glint_cuda_ref *refs; // [limits.max_rows]
    int32_t *tables;             // [max_tables]
    size_t max_tables;

    char *pinned; // [GLINT_CUDA_PINNED_BYTES] for uploads of weights and downloads
    size_t pinned_used;
    struct glint_cuda_copy copy[GLINT_CUDA_MAX_COPY];
    int n_copy;

    char *raw;                   // device: rows of a matrix on their way to tiles
    struct glint_cuda_rounded x; // scratch; n_token is its capacity
    float *part;                 // scratch of attention
    size_t part_floats;
    void **weights; // [n_weight] owned
    size_t n_weight, max_weight;

    cudaError_t failed; // the first failure; everything after it is skipped
    const char *failed_op;
    int failed_rows;
};

enum { GLINT_CUDA_MAX_ENTRY = 8192, GLINT_CUDA_PINNED_BYTES = 64 << 20 };

static inline struct glint_cuda *glint_cuda_of(struct glint_backend *backend) {
    return (struct glint_cuda *)backend;
}

// ---- queue.c --------------------------------------------------------------------------------

// Remembers the first failure, with the op it came from. True when there was none.
bool glint_cuda_check(struct glint_cuda *cuda, cudaError_t error, const char *op, int rows);

struct glint_cuda_shape {
    const char *op;
    unsigned grid[3]; // 0 counts as 1
    unsigned block, shared_bytes;
    int rows;
};
// Queues a launch. `bytes` of params end with the last member, without padding.
void glint_cuda_push(struct glint_cuda *cuda, const void *kernel,
                     const struct glint_cuda_shape *shape, const void *params, size_t bytes);
#define GLINT_CUDA_END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
// Sends what is queued to the device.
void glint_cuda_flush(struct glint_cuda *cuda);
// Flushes, waits, and starts the stage anew.
void glint_cuda_drain(struct glint_cuda *cuda);
// The device's copy of a host array, from the next flush on; NULL when it is larger than the stage.
const void *glint_cuda_stage(struct glint_cuda *cuda, const void *host, size_t bytes);
void glint_cuda_forget_graphs(struct glint_cuda *cuda);

// ---- the ops --------------------------------------------------------------------------------

void glint_cuda_rows_fill(struct glint_backend_ops *ops);  // row_ops.c
void glint_cuda_cache_fill(struct glint_backend_ops *ops); // cache_ops.c
void glint_cuda_matmul(struct glint_backend *backend, const struct glint_op_matmul *op);
enum glint_status glint_cuda_bind(struct glint_backend *backend, struct glint_matrix *matrix,
                                  struct glint_error *err); // product.c
struct glint_cuda_matrix glint_cuda_matrix_of(const struct glint_matrix *matrix);
// Bytes of scratch that products and attention want for these limits.
struct glint_cuda_scratch {
    size_t half, sum, unscale, part; // bytes
    int n_token;
};
struct glint_cuda_scratch glint_cuda_scratch_for(const struct glint_backend_limits *limits);

#endif
