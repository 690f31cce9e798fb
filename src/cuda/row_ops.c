// SPDX-License-Identifier: Apache-2.0
// row_ops.c — queues every op but products and those of the cache (row_kernels.cu).
#include "cuda/cuda_backend.h"

static unsigned blocks_for(int64_t count) {
    return (unsigned)((count + GLINT_CUDA_THREADS - 1) / GLINT_CUDA_THREADS);
}

// One block a row.
static void push_rows(struct glint_backend *backend, const void *kernel, const char *name, int n,
                      const void *op, size_t bytes) {
    if (n > 0)
        glint_cuda_push(
            glint_cuda_of(backend), kernel,
            &(struct glint_cuda_shape){
                .op = name, .grid = {(unsigned)n}, .block = GLINT_CUDA_ROW_THREADS, .rows = n},
            op, bytes);
}

// One thread a value.
static void push_values(struct glint_backend *backend, const void *kernel,
                        const struct glint_cuda_shape *shape, const void *op, size_t bytes) {
    if (shape->grid[0] > 0)
        glint_cuda_push(glint_cuda_of(backend), kernel, shape, op, bytes);
}

static void embed(struct glint_backend *backend, const struct glint_op_embed *op) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (op->n == 0)
        return;
    struct glint_cuda_embed params = {.out = op->out,
                                      .table = glint_cuda_matrix_of(op->table),
                                      .id = glint_cuda_stage(cuda, op->id, (size_t)op->n * 4),
                                      .n = op->n};
    glint_cuda_push(
        cuda, cuda->kernels.embed,
        &(struct glint_cuda_shape){.op = "embed",
                                   .grid = {blocks_for(op->table->n_col), (unsigned)op->n},
                                   .block = GLINT_CUDA_THREADS,
                                   .rows = op->n},
        &params, GLINT_CUDA_END(struct glint_cuda_embed, n));
}

static void rms_norm(struct glint_backend *backend, const struct glint_op_rms_norm *op) {
    push_rows(backend, glint_cuda_of(backend)->kernels.rms_norm, "rms_norm", op->n, op,
              GLINT_CUDA_END(struct glint_op_rms_norm, width));
}

static void add_rms_norm(struct glint_backend *backend, const struct glint_op_add_rms_norm *op) {
    push_rows(backend, glint_cuda_of(backend)->kernels.add_rms_norm, "add_rms_norm", op->n, op,
              GLINT_CUDA_END(struct glint_op_add_rms_norm, width));
}

static void layer_norm(struct glint_backend *backend, const struct glint_op_layer_norm *op) {
    push_rows(backend, glint_cuda_of(backend)->kernels.layer_norm, "layer_norm", op->n, op,
              GLINT_CUDA_END(struct glint_op_layer_norm, width));
}

static void best(struct glint_backend *backend, const struct glint_op_best *op) {
    push_rows(backend, glint_cuda_of(backend)->kernels.best, "best", op->n, op,
              GLINT_CUDA_END(struct glint_op_best, width));
}

static void add(struct glint_backend *backend, const struct glint_op_add *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.add,
                &(struct glint_cuda_shape){.op = "add",
                                           .grid = {blocks_for((int64_t)op->n * op->width)},
                                           .block = GLINT_CUDA_THREADS,
                                           .rows = op->n},
                op, GLINT_CUDA_END(struct glint_op_add, width));
}

static void gelu(struct glint_backend *backend, const struct glint_op_gelu *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.gelu,
                &(struct glint_cuda_shape){.op = "gelu",
                                           .grid = {blocks_for((int64_t)op->n * op->width)},
                                           .block = GLINT_CUDA_THREADS,
                                           .rows = op->n},
                op, GLINT_CUDA_END(struct glint_op_gelu, width));
}

static void rotate(struct glint_backend *backend, const struct glint_op_rotate *op) {
    int64_t count = (int64_t)op->n * op->n_head * (op->head_dim / 2);
    push_values(backend, glint_cuda_of(backend)->kernels.rotate,
                &(struct glint_cuda_shape){.op = "rotate",
                                           .grid = {blocks_for(count)},
                                           .block = GLINT_CUDA_THREADS,
                                           .rows = op->n},
                op, GLINT_CUDA_END(struct glint_op_rotate, head_dim));
}

static void head_norm_rope(struct glint_backend *backend,
                           const struct glint_op_head_norm_rope *op) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (op->n == 0)
        return;
    struct glint_op_head_norm_rope params = *op;
    if (op->inv_freq)
        params.position = glint_cuda_stage(cuda, op->position, (size_t)op->n * 4);
    else
        params.position = NULL;
    glint_cuda_push(
        cuda, cuda->kernels.head_norm_rope,
        &(struct glint_cuda_shape){.op = "head_norm_rope",
                                   .grid = {blocks_for((int64_t)op->n * op->n_head * 32)},
                                   .block = GLINT_CUDA_THREADS,
                                   .rows = op->n},
        &params, GLINT_CUDA_END(struct glint_op_head_norm_rope, halves));
}

static void gate(struct glint_backend *backend, const struct glint_op_gate *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.gate,
                &(struct glint_cuda_shape){
                    .op = "gate", .grid = {blocks_for(op->count)}, .block = GLINT_CUDA_THREADS},
                op, GLINT_CUDA_END(struct glint_op_gate, count));
}

static void swiglu(struct glint_backend *backend, const struct glint_op_swiglu *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.swiglu,
                &(struct glint_cuda_shape){
                    .op = "swiglu", .grid = {blocks_for(op->count)}, .block = GLINT_CUDA_THREADS},
                op, GLINT_CUDA_END(struct glint_op_swiglu, count));
}

static void softcap(struct glint_backend *backend, const struct glint_op_softcap *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.softcap,
                &(struct glint_cuda_shape){
                    .op = "softcap", .grid = {blocks_for(op->count)}, .block = GLINT_CUDA_THREADS},
                op, GLINT_CUDA_END(struct glint_op_softcap, cap));
}

static void copy_rows(struct glint_backend *backend, const struct glint_op_copy_rows *op) {
    push_values(backend, glint_cuda_of(backend)->kernels.copy_rows,
                &(struct glint_cuda_shape){.op = "copy_rows",
                                           .grid = {blocks_for((int64_t)op->n * op->width)},
                                           .block = GLINT_CUDA_THREADS,
                                           .rows = op->n},
                op, GLINT_CUDA_END(struct glint_op_copy_rows, x_stride));
}

void glint_cuda_rows_fill(struct glint_backend_ops *ops) {
    ops->embed = embed;
    ops->rms_norm = rms_norm;
    ops->add_rms_norm = add_rms_norm;
    ops->layer_norm = layer_norm;
    ops->add = add;
    ops->gelu = gelu;
    ops->rotate = rotate;
    ops->head_norm_rope = head_norm_rope;
    ops->gate = gate;
    ops->swiglu = swiglu;
    ops->softcap = softcap;
    ops->copy_rows = copy_rows;
    ops->best = best;
}
