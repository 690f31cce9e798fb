// SPDX-License-Identifier: Apache-2.0
// pair_table.h — which two neighbouring tokens join, in which order of preference, into what.
// An open-addressing hash table keyed by the two ids, and a direct table for pairs of single
// bytes, where every piece starts. Probing is bounded at build time, as in token_table.h.
#ifndef GLINT_TOKEN_PAIR_TABLE_H
#define GLINT_TOKEN_PAIR_TABLE_H

#include "base/status.h"

#define GLINT_RANK_NONE UINT32_MAX // the pair does not join

struct glint_join {
    uint32_t rank;  // lower joins first; GLINT_RANK_NONE: never
    int32_t joined; // id of the result
};

struct glint_pair_slot {
    int32_t left, right;
    struct glint_join join; // rank GLINT_RANK_NONE: empty slot
};

enum { GLINT_PAIR_FILTER_BITS = 22 }; // 512 KiB, which stays in the second-level cache

struct glint_pair_table {
    struct glint_pair_slot *slots; // owned, 1 << (64 - shift) of them
    unsigned shift;
    uint64_t *filter;         // owned, 1 << GLINT_PAIR_FILTER_BITS bits: 0 where no pair hashes to
    struct glint_join *bytes; // owned, [256 * 256]: first byte * 256 + second byte
};

enum glint_status glint_pair_table_init(struct glint_pair_table *table, int64_t n_pairs,
                                        struct glint_error *err);
void glint_pair_table_fini(struct glint_pair_table *table);
// Adds a pair; one that is there already keeps its lower rank. bytes: first * 256 + second when
// both tokens are single bytes, else -1. GLINT_E_LIMIT when too many pairs collide.
enum glint_status glint_pair_table_add(struct glint_pair_table *table, struct glint_pair_slot entry,
                                       int bytes);
static inline uint64_t glint_pair_hash(int32_t left, int32_t right) {
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key = (key ^ key >> 29) * 0xd6e8feb86659fd93u;
    return (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
}

static inline struct glint_join glint_pair_table_find(const struct glint_pair_table *table,
                                                      int32_t left, int32_t right) {
    uint64_t hash = glint_pair_hash(left, right), bit = hash >> (64 - GLINT_PAIR_FILTER_BITS);
    // Most pairs that are asked for do not join.
    if (!(table->filter[bit >> 6] >> (bit & 63) & 1))
        return (struct glint_join){GLINT_RANK_NONE, -1};
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t at = (size_t)(hash >> table->shift);
    for (;; at = (at + 1) & mask) {
        const struct glint_pair_slot *slot = &table->slots[at];
        if ((slot->left == left && slot->right == right) || slot->join.rank == GLINT_RANK_NONE)
            return slot->join;
    }
}

#endif
