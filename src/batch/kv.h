// SPDX-License-Identifier: Apache-2.0
// kv.h — the key/value cache of all sequences, in two classes (kv.md 4 and 5).
//
// Full layers keep every position: a sequence takes pages of 256 positions from one shared pool
// as it grows. Sliding layers keep the last window plus slack in a ring of pages, which come from a
// pool of their own. Rows are a function of the token prefix only, so dropping rows from the end
// is a length reset as long as the ring still holds the window before the new end: no copying.
//
// Life of rows: reserve(n) makes room for rows [length, length + n) and may recycle ring pages;
// the forward pass writes them; commit(n) makes them part of the sequence. Reserved rows that
// are not committed are scratch.
//
// Pages are counted references. A hold keeps the pages of a sequence as they are at some length,
// and any sequence can adopt it and go on from there. A page that others refer to is copied before
// rows they rely on are overwritten, and not before.
#ifndef GLINT_BATCH_KV_H
#define GLINT_BATCH_KV_H

#include "model/config.h"
#include "op/backend.h"

struct glint_kv_params {
    int n_sequence; // slots
    int n_context;  // positions of one sequence at most
    int n_cell;     // positions of all sequences together at most; the shared pool's size
    int max_rows;   // rows of one sequence in one step at most
    int slack;      // evaluated rows that can always be rolled back, at least max_rows
    int n_spare;    // rings of pages beyond those of the slots, for holds
    enum glint_dtype full_k, full_v;       // F32, F16, Q8_0
    enum glint_dtype sliding_k, sliding_v; // F32, F16
};

struct glint_kv;

// Bytes of the planes that these parameters need on the device.
uint64_t glint_kv_bytes(const struct glint_config *config, const struct glint_kv_params *params);

enum glint_status glint_kv_open(struct glint_kv **kv, const struct glint_config *config,
                                struct glint_backend *backend, const struct glint_kv_params *params,
                                struct glint_error *err);
void glint_kv_close(struct glint_kv **kv);

const struct glint_kv_plane *glint_kv_plane(const struct glint_kv *kv, bool sliding);
// The page table of a sequence as kernels want it; valid until the next reserve of the sequence.
struct glint_kv_table glint_kv_table(const struct glint_kv *kv, int i_sequence, bool sliding);

// Committed positions.
int glint_kv_length(const struct glint_kv *kv, int i_sequence);
// Oldest position whose sliding rows are still there.
int glint_kv_ring_begin(const struct glint_kv *kv, int i_sequence);
// Makes room for n rows after the committed ones, 1 <= n <= max_rows. GLINT_E_LIMIT over the
// context, GLINT_E_NOMEM when a pool is used up; then nothing has changed. Without holds the
// sliding layers' pool never is.
enum glint_status glint_kv_reserve(struct glint_kv *kv, int i_sequence, int n,
                                   struct glint_error *err);
void glint_kv_commit(struct glint_kv *kv, int i_sequence, int n);
// True when the sequence can be cut to `length` and continued exactly.
bool glint_kv_can_truncate(const struct glint_kv *kv, int i_sequence, int length);
// Requires can_truncate. Pages past the end return to their pools.
void glint_kv_truncate(struct glint_kv *kv, int i_sequence, int length);

// The first `length` rows of a sequence, kept by reference. The fields are kv.c's, to be read only.
struct glint_kv_hold {
    int length;
    int n_full, n_ring;
    int i_ring;    // number of the first ring page: it begins at position i_ring * 256
    int32_t *page; // [n_full + n_ring] owned
};
// Requires can_truncate(length), length > 0. GLINT_E_NOMEM only for the list itself.
enum glint_status glint_kv_hold_open(struct glint_kv *kv, struct glint_kv_hold *hold,
                                     int i_sequence, int length, struct glint_error *err);
void glint_kv_hold_close(struct glint_kv *kv, struct glint_kv_hold *hold);
// True when a sequence can go on exactly after the first `length` rows of the hold.
bool glint_kv_hold_reaches(const struct glint_kv *kv, const struct glint_kv_hold *hold, int length);
// The empty sequence becomes those rows, by reference. Requires hold_reaches.
void glint_kv_adopt(struct glint_kv *kv, int i_sequence, const struct glint_kv_hold *hold,
                    int length);

// For who gives pages a meaning (prefix.c). Page `i` of a sequence's full layers.
int32_t glint_kv_full_page(const struct glint_kv *kv, int i_sequence, int i);
// A number that changes when other rows may have been written to a page that was complete.
uint64_t glint_kv_page_life(const struct glint_kv *kv, int32_t page);
// Puts another page that holds the same rows in the place of page i, which is complete.
void glint_kv_replace_full(struct glint_kv *kv, int i_sequence, int i, int32_t page);
// References to a page of a class.
int glint_kv_page_refs(const struct glint_kv *kv, bool sliding, int32_t page);
// Bytes of pages that no sequence refers to, only holds do.
uint64_t glint_kv_held_bytes(const struct glint_kv *kv);

#endif
