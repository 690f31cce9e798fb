// SPDX-License-Identifier: Apache-2.0
// prefix.h — prefix reuse in memory: which beginnings of sequences are in the cache, and what any
// sequence can go on from (kv.md 6 to 8).
//
// A checkpoint is a hold on the pages of a sequence at some length. Complete pages of the full
// layers carry their tokens and a hash of all tokens up to their end; a page that another sequence
// has computed already is replaced by the one that is there, so a common beginning is held once.
// A text finds the checkpoint that serves most of it; hashes find it, tokens decide.
//
// Tokens are units of 64 bits, so that a place of a picture is known by its picture and row. Texts
// of different groups share nothing. When a pool is used up, or there are too many, the checkpoint
// goes whose loss costs least: tokens to the next shorter one, less the longer nobody has used it.
#ifndef GLINT_BATCH_PREFIX_H
#define GLINT_BATCH_PREFIX_H

#include "batch/kv.h"

enum {
    GLINT_PREFIX_MAX_CHECKPOINTS = 512,
};

struct glint_prefix_text {
    uint64_t group;
    const uint64_t *units; // [n]
    int n;
};

struct glint_checkpoint {
    uint64_t group;
    struct glint_kv_hold hold;
    uint64_t *tail; // [hold.length % 256] units after the last complete page
    uint64_t hash;  // of all units
    void *more;     // [n_more] bytes of the caller, freed with the checkpoint by glint_free
    size_t n_more;
    double used_ms;
};

struct glint_prefix;

// kv outlives it; its full class must have layers. Host memory: 2 KiB a page of the full layers.
enum glint_status glint_prefix_open(struct glint_prefix **prefix, struct glint_kv *kv,
                                    struct glint_error *err);
void glint_prefix_close(struct glint_prefix **prefix);

// Keeps what the sequence holds of text (its first text->n tokens, which it can be cut to). When
// there is such a checkpoint already it counts as used. *checkpoint is the one; a new one's `more`
// is NULL. GLINT_E_NOMEM changes nothing.
enum glint_status glint_prefix_keep(struct glint_prefix *prefix, int i_sequence,
                                    const struct glint_prefix_text *text,
                                    struct glint_checkpoint **checkpoint, struct glint_error *err);

struct glint_prefix_match {
    struct glint_checkpoint *checkpoint; // to adopt from; NULL: none
    int n_kept;                          // rows that are there
    struct glint_checkpoint *closest;    // the one that agrees longest; NULL: none agrees at all
    int n_common;                        // units it shares with the text, at least n_kept
    int n_forgotten; // units of the longest one that was given up and began the text; 0: none
};
// What of text, n_max tokens at most, a sequence could go on from. Those that begin the text count
// as used.
struct glint_prefix_match glint_prefix_find(struct glint_prefix *prefix,
                                            const struct glint_prefix_text *text, int n_max);
// Unit i of a checkpoint's text.
uint64_t glint_prefix_unit(const struct glint_prefix *prefix,
                           const struct glint_checkpoint *checkpoint, int i);

// Gives up the checkpoint that is worth least, of those that free a page if there are any. False
// when there is none.
bool glint_prefix_evict(struct glint_prefix *prefix);
// Takes back what was just kept.
void glint_prefix_drop(struct glint_prefix *prefix, struct glint_checkpoint *checkpoint);
// Bytes of all `more`.
uint64_t glint_prefix_more_bytes(const struct glint_prefix *prefix);
int glint_prefix_count(const struct glint_prefix *prefix);
uint64_t glint_prefix_evicted(const struct glint_prefix *prefix);

#endif
