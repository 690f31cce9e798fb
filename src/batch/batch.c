// SPDX-License-Identifier: Apache-2.0
// batch.c — filling the flat batch and placing its rows in the cache.
#include "batch/batch.h"

#include "base/alloc.h"

enum glint_status glint_batch_init(struct glint_batch *batch, int max_rows,
                                   struct glint_error *err) {
    *batch = (struct glint_batch){.max_rows = max_rows};
    size_t n = (size_t)max_rows;
    batch->id = glint_alloc(n, sizeof *batch->id);
    batch->feature = glint_alloc(n, sizeof *batch->feature);
    batch->position = glint_alloc(n, sizeof *batch->position);
    batch->sequence = glint_alloc(n, sizeof *batch->sequence);
    batch->want = glint_alloc(n, sizeof *batch->want);
    batch->full = glint_alloc(n, sizeof *batch->full);
    batch->ring = glint_alloc(n, sizeof *batch->ring);
    batch->want_position = glint_alloc(n, sizeof *batch->want_position);
    batch->want_ref = glint_alloc(n, sizeof *batch->want_ref);
    if (!batch->want_position || !batch->want_ref || !batch->id || !batch->feature ||
        !batch->position || !batch->sequence || !batch->want || !batch->full || !batch->ring) {
        glint_batch_fini(batch);
        return glint_fail(err, GLINT_E_NOMEM, "batch: no memory for %d rows", max_rows);
    }
    return GLINT_OK;
}

void glint_batch_fini(struct glint_batch *batch) {
    glint_free(batch->id);
    glint_free(batch->feature);
    glint_free(batch->position);
    glint_free(batch->sequence);
    glint_free(batch->want);
    glint_free(batch->full);
    glint_free(batch->ring);
    glint_free(batch->want_position);
    glint_free(batch->want_ref);
    *batch = (struct glint_batch){0};
}

void glint_batch_clear(struct glint_batch *batch) {
    batch->n = 0;
    batch->n_want = 0;
}

void glint_batch_add(struct glint_batch *batch, int i_sequence, int32_t position, int32_t id,
                     bool want_logits) {
    GLINT_ASSERT(batch->n < batch->max_rows);
    int i = batch->n++;
    batch->id[i] = id;
    batch->feature[i] = NULL;
    batch->position[i] = position;
    batch->sequence[i] = i_sequence;
    if (want_logits)
        batch->want[batch->n_want++] = i;
}

// Rows of the run of one sequence that starts at row i.
static int run_length(const struct glint_batch *batch, int i) {
    int end = i + 1;
    while (end < batch->n && batch->sequence[end] == batch->sequence[i])
        end++;
    return end - i;
}

enum glint_status glint_batch_place(struct glint_batch *batch, struct glint_kv *kv,
                                    struct glint_error *err) {
    for (int i = 0; i < batch->n;) {
        int n = run_length(batch, i), s = batch->sequence[i];
        GLINT_ASSERT(batch->position[i] == glint_kv_length(kv, s));
        enum glint_status status = glint_kv_reserve(kv, s, n, err);
        if (status != GLINT_OK) { // give back what this call took
            for (int j = 0; j < i; j += run_length(batch, j))
                glint_kv_truncate(kv, batch->sequence[j], glint_kv_length(kv, batch->sequence[j]));
            return status;
        }
        i += n;
    }
    for (int i = 0, end = 0; i < batch->n; i++) {
        int s = batch->sequence[i];
        if (i == end)
            end += run_length(batch, i);
        struct glint_kv_ref ref = {.position = batch->position[i],
                                   .ahead = batch->mutual ? end - 1 - i : 0};
        ref.table = glint_kv_table(kv, s, false);
        batch->full[i] = ref;
        ref.table = glint_kv_table(kv, s, true);
        batch->ring[i] = ref;
    }
    return GLINT_OK;
}

void glint_batch_commit(const struct glint_batch *batch, struct glint_kv *kv) {
    for (int i = 0; i < batch->n;) {
        int n = run_length(batch, i);
        glint_kv_commit(kv, batch->sequence[i], n);
        i += n;
    }
}
