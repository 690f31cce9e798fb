// SPDX-License-Identifier: Apache-2.0
// batch.h — the flat batch of one step: rows of any sequences, side by side.
// Rows of one sequence stand together in ascending position and continue its committed rows.
// Storage is fixed at open; filling a batch allocates nothing.
#ifndef GLINT_BATCH_BATCH_H
#define GLINT_BATCH_BATCH_H

#include "batch/kv.h"

struct glint_batch {
    int n, max_rows;
    int n_want;
    bool mutual;               // rows of a sequence see each other, earlier and later
    int32_t *id;               // [max_rows] token ids; ignored where feature is set
    const float **feature;     // [max_rows] NULL, or a ready row [width] instead of the embedding
    int32_t *position;         // [max_rows]
    int *sequence;             // [max_rows]
    int32_t *want;             // [n_want] rows whose logits are wanted, ascending
    struct glint_kv_ref *full; // [max_rows] filled by glint_batch_place
    struct glint_kv_ref *ring; // [max_rows]
    int32_t *want_position;    // [max_rows] scratch of the last layer
    struct glint_kv_ref *want_ref; // [max_rows] scratch of the last layer
};

enum glint_status glint_batch_init(struct glint_batch *batch, int max_rows,
                                   struct glint_error *err);
void glint_batch_fini(struct glint_batch *batch);
void glint_batch_clear(struct glint_batch *batch);
// Appends one row; the caller has seen to n < max_rows. feature may be NULL.
void glint_batch_add(struct glint_batch *batch, int i_sequence, int32_t position, int32_t id,
                     bool want_logits);
// Reserves cache rows for every sequence in the batch and fills the references. On failure
// nothing has changed.
enum glint_status glint_batch_place(struct glint_batch *batch, struct glint_kv *kv,
                                    struct glint_error *err);
// Makes the rows of the batch part of their sequences.
void glint_batch_commit(const struct glint_batch *batch, struct glint_kv *kv);

#endif
