// SPDX-License-Identifier: Apache-2.0
// cache_ops.c — queues the ops that touch the key/value cache: tells the device where the rows of
// the batch lie, and splits attention along the keys.
#include "cuda/cuda_backend.h"

#include <string.h>

enum { TABLE_STEP = 64 }; // page tables are padded, so that they do not move as sequences grow

static struct glint_cuda_plane plane_of(const struct glint_kv_plane *plane, int i_layer) {
    return (struct glint_cuda_plane){
        .pages = plane->pages,
        .page_bytes = plane->page_bytes,
        .dtype_k = (int)plane->dtype_k,
        .dtype_v = (int)plane->dtype_v,
        .n_head_kv = plane->n_head_kv,
        .head_dim = plane->head_dim,
        .row_bytes = {(uint32_t)glint_kv_row_bytes(plane, 0),
                      (uint32_t)glint_kv_row_bytes(plane, 1)},
        .offset = {glint_kv_run_offset(plane, i_layer, 0, 0),
                   glint_kv_run_offset(plane, i_layer, 1, 0)},
    };
}

// Rows of the batch and the page tables they share, gathered on the host.
struct gathered {
    const struct glint_cuda_ref *ref;
    const int32_t *tables;
};

// How many of the n rows, at least one, have room for their tables.
static int gather(struct glint_cuda *cuda, const struct glint_kv_ref *ref, int n,
                  struct gathered *out) {
    struct glint_cuda_ref *refs = cuda->refs;
    int32_t *tables = cuda->tables;
    size_t used = 0;
    const struct glint_kv_ref *before = NULL;
    int i = 0;
    for (; i < n && i < cuda->limits.max_rows; i++) {
        const struct glint_kv_table *table = &ref[i].table;
        if (!before || before->table.page != table->page ||
            before->table.n_table != table->n_table) {
            size_t n_entry = ((size_t)table->n_table + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
            if (used + n_entry > cuda->max_tables)
                break;
            memcpy(tables + used, table->page, (size_t)table->n_table * sizeof *tables);
            memset(tables + used + table->n_table, 0,
                   (n_entry - (size_t)table->n_table) * sizeof *tables);
            refs[i].table = (int32_t)used;
            used += n_entry;
        } else {
            refs[i].table = refs[i - 1].table;
        }
        before = &ref[i];
        refs[i].position = ref[i].position;
        refs[i].ahead = ref[i].ahead;
        refs[i].n_table = table->n_table;
    }
    // Both or none: the second may empty the stage.
    size_t bytes = used * sizeof *tables + (size_t)i * sizeof *refs + 1024;
    if (cuda->stage_used + bytes > cuda->stage_bytes || cuda->n_entry + 2 > GLINT_CUDA_MAX_ENTRY)
        glint_cuda_drain(cuda);
    out->tables = glint_cuda_stage(cuda, tables, used * sizeof *tables);
    out->ref = glint_cuda_stage(cuda, refs, (size_t)i * sizeof *refs);
    return i;
}

static void kv_store(struct glint_backend *backend, const struct glint_op_kv_store *op) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    int n_head = op->plane->n_head_kv;
    for (int at = 0, n; at < op->n; at += n) {
        struct gathered rows;
        n = gather(cuda, op->ref + at, op->n - at, &rows);
        int64_t from = (int64_t)at * n_head * op->plane->head_dim;
        struct glint_cuda_store params = {.plane = plane_of(op->plane, op->i_layer),
                                          .k = op->k + from,
                                          .v = op->v + from,
                                          .ref = rows.ref,
                                          .tables = rows.tables,
                                          .n = n};
        unsigned n_warp = (unsigned)n * (unsigned)n_head * 2;
        glint_cuda_push(cuda, cuda->kernels.kv_store,
                        &(struct glint_cuda_shape){
                            .op = "kv_store",
                            .grid = {(n_warp * 32 + GLINT_CUDA_THREADS - 1) / GLINT_CUDA_THREADS},
                            .block = GLINT_CUDA_THREADS,
                            .rows = n},
                        &params, GLINT_CUDA_END(struct glint_cuda_store, n));
    }
}

static int n_split_of(const struct glint_kv_ref *ref, int32_t window) {
    int32_t begin = window > 0 && ref->position >= window ? ref->position - window + 1 : 0;
    return (ref->position + ref->ahead) / GLINT_CUDA_SPLIT - begin / GLINT_CUDA_SPLIT + 1;
}

// Rounded up by at most an eighth: a grid that grows with every page would make every step new.
static int round_splits(int n) {
    int step = 1;
    while (n / step >= 16)
        step *= 2;
    return (n + step - 1) / step * step;
}

static void attention(struct glint_backend *backend, const struct glint_op_attention *op) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    int dim = op->plane->head_dim, group = op->n_head / op->plane->n_head_kv;
    bool few = op->n <= GLINT_CUDA_FEW_ROWS; // more blocks then; the bits are the same
    int heads = few ? GLINT_CUDA_HEADS_FEW : GLINT_CUDA_HEADS;
    int n_chunk = (group + heads - 1) / heads;
    for (int at = 0, n; at < op->n; at += n) {
        int most = 1; // rows from `at` on, as many as the scratch holds
        int n_split = n_split_of(op->ref + at, op->window);
        for (n = 1; at + n < op->n; n++) {
            int more = n_split_of(op->ref + at + n, op->window);
            more = more > n_split ? more : n_split;
            size_t floats = (size_t)(n + 1) * (size_t)round_splits(more) * (size_t)op->n_head *
                            (size_t)(dim + 2);
            if (floats > cuda->part_floats)
                break;
            n_split = more;
            most = n + 1;
        }
        struct gathered rows;
        n = gather(cuda, op->ref + at, most, &rows);
        int64_t from = (int64_t)at * op->n_head * dim;
        struct glint_cuda_attention params = {.plane = plane_of(op->plane, op->i_layer),
                                              .ref = rows.ref,
                                              .tables = rows.tables,
                                              .q = op->q + from,
                                              .out = op->out + from,
                                              .part = cuda->part,
                                              .n = n,
                                              .n_head = op->n_head,
                                              .n_split = round_splits(n_split),
                                              .window = op->window,
                                              .scale = op->scale};
        size_t bytes = GLINT_CUDA_END(struct glint_cuda_attention, scale);
        glint_cuda_push(cuda, few ? cuda->kernels.attention_few : cuda->kernels.attention,
                        &(struct glint_cuda_shape){
                            .op = "attention",
                            .grid = {(unsigned)params.n_split,
                                     (unsigned)(op->plane->n_head_kv * n_chunk), (unsigned)n},
                            .block = GLINT_CUDA_THREADS,
                            .rows = n},
                        &params, bytes);
        glint_cuda_push(cuda, cuda->kernels.attention_merge,
                        &(struct glint_cuda_shape){.op = "attention",
                                                   .grid = {(unsigned)op->n_head, (unsigned)n},
                                                   .block = 128,
                                                   .rows = n},
                        &params, bytes);
    }
}

void glint_cuda_cache_fill(struct glint_backend_ops *ops) {
    ops->kv_store = kv_store;
    ops->attention = attention;
}
