// SPDX-License-Identifier: Apache-2.0
// pair_table.c — building the table of pair_table.h.
// At most half of the slots are used.
#include "token/pair_table.h"

#include "base/alloc.h"
#include "token/token_table.h"

#include <string.h>

enum glint_status glint_pair_table_init(struct glint_pair_table *table, int64_t n_pairs,
                                        struct glint_error *err) {
    unsigned bits = 4;
    while (((int64_t)1 << bits) < 2 * n_pairs)
        bits++;
    size_t n_slots = (size_t)1 << bits;
    table->shift = 64 - bits;
    table->slots = glint_alloc(n_slots, sizeof *table->slots);
    table->bytes = glint_alloc(256 * 256, sizeof *table->bytes);
    table->filter = glint_alloc((size_t)1 << (GLINT_PAIR_FILTER_BITS - 6), sizeof *table->filter);
    if (!table->slots || !table->bytes || !table->filter)
        return glint_fail(err, GLINT_E_NOMEM, "vocabulary: no memory for %lld merges",
                          (long long)n_pairs);
    memset(table->bytes, 0xff, 256 * 256 * sizeof *table->bytes); // rank NONE, joined -1
    for (size_t i = 0; i < n_slots; i++)
        table->slots[i] = (struct glint_pair_slot){-1, -1, {GLINT_RANK_NONE, -1}};
    return GLINT_OK;
}

void glint_pair_table_fini(struct glint_pair_table *table) {
    glint_free(table->slots);
    glint_free(table->bytes);
    glint_free(table->filter);
    table->slots = NULL;
    table->bytes = NULL;
    table->filter = NULL;
}

enum glint_status glint_pair_table_add(struct glint_pair_table *table, struct glint_pair_slot entry,
                                       int bytes) {
    if (bytes >= 0 && entry.join.rank < table->bytes[bytes].rank)
        table->bytes[bytes] = entry.join;
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    uint64_t hash = glint_pair_hash(entry.left, entry.right);
    uint64_t bit = hash >> (64 - GLINT_PAIR_FILTER_BITS);
    size_t at = (size_t)(hash >> table->shift);
    table->filter[bit >> 6] |= (uint64_t)1 << (bit & 63);
    for (int i_probe = 0; i_probe < GLINT_TABLE_MAX_PROBES; i_probe++, at = (at + 1) & mask) {
        struct glint_pair_slot *slot = &table->slots[at];
        if (slot->join.rank == GLINT_RANK_NONE) {
            *slot = entry;
            return GLINT_OK;
        }
        if (slot->left == entry.left && slot->right == entry.right) {
            if (entry.join.rank < slot->join.rank)
                slot->join = entry.join;
            return GLINT_OK;
        }
    }
    return GLINT_E_LIMIT;
}
