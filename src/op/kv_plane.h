// SPDX-License-Identifier: Apache-2.0
// kv_plane.h — where key and value rows lie: the address rule shared by batch/, which hands out
// pages, and the kernels, which read them.
//
// A page holds 256 consecutive positions of one sequence for every layer of one class (full or
// sliding), both tensors and all KV heads:
//     [n_layer][2: K, V][n_head_kv][256][head_dim]        in elements of the cache type
// so each (layer, tensor, head) run is contiguous. A sequence names its pages by a table; the
// page of position p is table[(p / 256) % n_table], which is a growing list for full layers and
// a ring for sliding ones. No sum depends on where a page lies (NC-1).
#ifndef GLINT_OP_KV_PLANE_H
#define GLINT_OP_KV_PLANE_H

#include "quant/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GLINT_KV_PAGE_ROWS = 256, // positions of a page
    GLINT_KV_TILE = 64,       // keys summed together; boundaries at multiples in position (NC-1)
    GLINT_KV_SPLIT = 1024,    // keys of one partial softmax; merged in ascending order (NC-2)
};

struct glint_kv_plane {
    enum glint_dtype dtype_k, dtype_v; // F32, F16 or Q8_0 (head_dim then divisible by 32)
    int n_layer;                       // layers of this class
    int n_head_kv;
    int head_dim;
    char *pages;       // [n_page][page_bytes], device memory
    size_t page_bytes; // of one page
    int n_page;
};

// Bytes of one row (one head, one position) of K (tensor 0) or V (tensor 1).
static inline size_t glint_kv_row_bytes(const struct glint_kv_plane *plane, int tensor) {
    return glint_dtype_bytes(tensor ? plane->dtype_v : plane->dtype_k, (uint64_t)plane->head_dim);
}

// Bytes of one layer of a page: all K heads, then all V heads.
static inline size_t glint_kv_layer_bytes(const struct glint_kv_plane *plane) {
    return (size_t)plane->n_head_kv * GLINT_KV_PAGE_ROWS *
           (glint_kv_row_bytes(plane, 0) + glint_kv_row_bytes(plane, 1));
}

// Offset inside a page of row 0 of (layer, tensor, head).
static inline size_t glint_kv_run_offset(const struct glint_kv_plane *plane, int i_layer,
                                         int tensor, int head) {
    size_t k = (size_t)GLINT_KV_PAGE_ROWS * glint_kv_row_bytes(plane, 0);
    size_t v = (size_t)GLINT_KV_PAGE_ROWS * glint_kv_row_bytes(plane, 1);
    size_t at = (size_t)i_layer * glint_kv_layer_bytes(plane);
    return tensor ? at + (size_t)plane->n_head_kv * k + (size_t)head * v : at + (size_t)head * k;
}

// A sequence's page table for one plane.
struct glint_kv_table {
    const int32_t *page; // [n_table] page numbers
    int32_t n_table;     // ring length, or entries so far
};

// The row of `position` in the run of (layer, tensor, head).
static inline char *glint_kv_row(const struct glint_kv_plane *plane, struct glint_kv_table table,
                                 int i_layer, int tensor, int head, int32_t position) {
    int32_t page = table.page[(position / GLINT_KV_PAGE_ROWS) % table.n_table];
    return plane->pages + (size_t)page * plane->page_bytes +
           glint_kv_run_offset(plane, i_layer, tensor, head) +
           (size_t)(position % GLINT_KV_PAGE_ROWS) * glint_kv_row_bytes(plane, tensor);
}

#endif
