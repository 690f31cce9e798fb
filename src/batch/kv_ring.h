// SPDX-License-Identifier: Apache-2.0
// kv_ring.h — rows of a sequence's sliding layers as bytes, to be kept and put back (kv.md 7).
// The bytes are [n_sliding][2: K, V][n_head_kv][n rows][head_dim] in elements of the cache type,
// rows in ascending position: where pages lie shows nowhere, so what one sequence held can be put
// into another, to the same bits.
#ifndef GLINT_BATCH_KV_RING_H
#define GLINT_BATCH_KV_RING_H

#include "batch/kv.h"

// Bytes of n rows.
size_t glint_kv_ring_bytes(const struct glint_kv *kv, int n);
// Copies the rows of positions [begin, begin + n), which the ring holds: glint_kv_ring_begin and
// after, below what was ever reserved. The caller syncs the backend before it reads.
void glint_kv_ring_read(const struct glint_kv *kv, int i_sequence, struct glint_backend *backend,
                        int begin, int n, void *bytes);
// The other way round, into rows that are reserved or committed.
void glint_kv_ring_write(struct glint_kv *kv, int i_sequence, struct glint_backend *backend,
                         int begin, int n, const void *bytes);

#endif
