// SPDX-License-Identifier: Apache-2.0
// kv_ring.c — see kv_ring.h. A page holds a run of 256 rows for each layer, tensor and head, so
// rows are copied a run at a time.
#include "batch/kv_ring.h"

size_t glint_kv_ring_bytes(const struct glint_kv *kv, int n) {
    const struct glint_kv_plane *plane = glint_kv_plane(kv, true);
    size_t row = glint_kv_row_bytes(plane, 0) + glint_kv_row_bytes(plane, 1);
    return (size_t)plane->n_layer * (size_t)plane->n_head_kv * (size_t)n * row;
}

// One piece of a run: where it lies in the cache and in the bytes.
struct piece {
    char *rows; // device
    size_t at, n_bytes;
};

// Calls copy for every piece of rows [begin, begin + n).
static void each_piece(const struct glint_kv *kv, int i_sequence, int begin, int n,
                       void (*copy)(void *context, const struct piece *piece), void *context) {
    const struct glint_kv_plane *plane = glint_kv_plane(kv, true);
    struct glint_kv_table table = glint_kv_table(kv, i_sequence, true);
    struct piece piece = {.at = 0};
    int n_run = plane->n_layer * 2 * plane->n_head_kv; // [n_layer][2][n_head_kv]
    for (int run = 0; run < n_run; run++) {
        int layer = run / (2 * plane->n_head_kv), head = run % plane->n_head_kv;
        int tensor = run / plane->n_head_kv % 2;
        for (int i = 0, take; i < n; i += take) {
            int position = begin + i, left = GLINT_KV_PAGE_ROWS - position % GLINT_KV_PAGE_ROWS;
            take = n - i < left ? n - i : left;
            piece.rows = glint_kv_row(plane, table, layer, tensor, head, position);
            piece.n_bytes = (size_t)take * glint_kv_row_bytes(plane, tensor);
            copy(context, &piece);
            piece.at += piece.n_bytes;
        }
    }
}

struct reading {
    struct glint_backend *backend;
    char *bytes;
};

static void read_piece(void *context, const struct piece *piece) {
    const struct reading *reading = context;
    reading->backend->download(reading->backend, reading->bytes + piece->at, piece->rows,
                               piece->n_bytes);
}

void glint_kv_ring_read(const struct glint_kv *kv, int i_sequence, struct glint_backend *backend,
                        int begin, int n, void *bytes) {
    struct reading reading = {backend, bytes};
    each_piece(kv, i_sequence, begin, n, read_piece, &reading);
}

struct writing {
    struct glint_backend *backend;
    const char *bytes;
};

static void write_piece(void *context, const struct piece *piece) {
    const struct writing *writing = context;
    writing->backend->upload(writing->backend, piece->rows, writing->bytes + piece->at,
                             piece->n_bytes);
}

void glint_kv_ring_write(struct glint_kv *kv, int i_sequence, struct glint_backend *backend,
                         int begin, int n, const void *bytes) {
    struct writing writing = {backend, bytes};
    each_piece(kv, i_sequence, begin, n, write_piece, &writing);
}
