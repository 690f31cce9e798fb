// SPDX-License-Identifier: Apache-2.0
// token_table.h — bytes to token id, an open-addressing hash table.
// A slot carries the first eight bytes, so that most look-ups touch one cache line; longer keys
// compare the rest with the vocabulary's bytes. Probing is bounded at build time: a file whose
// tokens collide on purpose is refused, not slow.
#ifndef GLINT_TOKEN_TOKEN_TABLE_H
#define GLINT_TOKEN_TOKEN_TABLE_H

#include "base/status.h"

#include <string.h>

enum { GLINT_TABLE_MAX_PROBES = 256 };

#ifdef __GNUC__
#define GLINT_PREFETCH(address) __builtin_prefetch(address)
#else
#define GLINT_PREFETCH(address) ((void)(address))
#endif

struct glint_token_slot {
    uint64_t head; // first 8 bytes, zero after the key's end
    uint32_t n;    // bytes of the key; 0: empty slot
    int32_t id;
};

struct glint_token_table {
    struct glint_token_slot *slots; // owned, 1 << (64 - shift) of them
    unsigned shift;
    const char *bytes;      // borrowed: bytes of all tokens
    const uint32_t *begins; // borrowed: [n_tokens + 1] offsets into bytes
};

enum glint_status glint_token_table_init(struct glint_token_table *table, int64_t n_keys,
                                         struct glint_error *err);
void glint_token_table_fini(struct glint_token_table *table);
// Adds the key of token id (not empty). *other is -1, or the id that already has these bytes
// (then nothing is added). GLINT_E_LIMIT when too many keys collide.
enum glint_status glint_token_table_add(struct glint_token_table *table, int32_t id,
                                        int32_t *other);

// First eight bytes at data, zero from the end of n on. `readable` >= n bytes may be read.
static inline uint64_t glint_token_head(const char *data, size_t n, size_t readable) {
    uint64_t head = 0;
    if (readable >= sizeof head) {
        memcpy(&head, data, sizeof head);
        // On a little-endian machine the first byte is the lowest.
        return n >= sizeof head ? head : head & (((uint64_t)1 << 8 * n) - 1);
    }
    memcpy(&head, data, n);
    return head;
}

static inline uint64_t glint_token_hash(const char *data, size_t n, uint64_t head) {
    uint64_t hash = (head ^ n * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    for (size_t at = 8; at < n; at += 8) {
        // The last word overlaps the one before it; the length is in the hash already.
        size_t from = at + 8 <= n ? at : n - 8;
        uint64_t word;
        memcpy(&word, data + from, sizeof word);
        hash = (hash ^ hash >> 29 ^ word) * 0xd6e8feb86659fd93u;
    }
    return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
}

// A key that was hashed ahead of its look-up, so that the slot can be on its way meanwhile.
struct glint_token_key {
    const char *data;
    size_t n; // >= 1
    uint64_t head, hash;
};

static inline struct glint_token_key glint_token_key_of(const char *data, size_t n,
                                                        size_t readable) {
    struct glint_token_key key = {data, n, glint_token_head(data, n, readable), 0};
    key.hash = glint_token_hash(data, n, key.head);
    return key;
}

static inline void glint_token_table_prefetch(const struct glint_token_table *table,
                                              const struct glint_token_key *key) {
    GLINT_PREFETCH(&table->slots[key->hash >> table->shift]);
}

// Id of the key, or -1.
static inline int32_t glint_token_table_find(const struct glint_token_table *table,
                                             const struct glint_token_key *key) {
    const char *data = key->data;
    size_t n = key->n;
    uint64_t head = key->head;
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t at = (size_t)(key->hash >> table->shift);
    for (;; at = (at + 1) & mask) {
        const struct glint_token_slot *slot = &table->slots[at];
        if (slot->n == 0)
            return -1;
        if (slot->head != head || slot->n != n)
            continue;
        if (n <= 8 || memcmp(table->bytes + table->begins[slot->id] + 8, data + 8, n - 8) == 0)
            return slot->id;
    }
}

#endif
