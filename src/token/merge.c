// SPDX-License-Identifier: Apache-2.0
// merge.c — the two ways of merging of merge.h; they give the same ids.
// The long way keeps a node a byte and a heap of (rank, position). A heap entry is stale when its
// node has been swallowed or its pair has changed since; a rank names one pair of ids, so
// comparing ranks is enough. Ids at a position only ever grow longer, so no entry comes back.
#include "token/merge.h"

#include "base/alloc.h"

#include <string.h>

enum { SHORT_PIECE = 64 }; // bytes; above it the heap is faster

static void merge_short(const struct glint_vocab *vocab, const unsigned char *piece, size_t n,
                        struct glint_encoding *encoding) {
    int32_t ids[SHORT_PIECE], joined[SHORT_PIECE];
    uint32_t ranks[SHORT_PIECE]; // of the pair that starts here
    size_t n_ids = n;
    for (size_t i = 0; i < n; i++)
        ids[i] = vocab->byte_ids[piece[i]];
    for (size_t i = 0; i + 1 < n; i++) {
        struct glint_join join = vocab->pairs.bytes[piece[i] * 256 + piece[i + 1]];
        ranks[i] = join.rank;
        joined[i] = join.joined;
    }
    while (n_ids > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n_ids; i++)
            best = ranks[i] < ranks[best] ? i : best;
        if (ranks[best] == GLINT_RANK_NONE)
            break;
        ids[best] = joined[best];
        n_ids--;
        for (size_t i = best + 1; i < n_ids; i++) {
            ids[i] = ids[i + 1];
            ranks[i - 1] = ranks[i];
            joined[i - 1] = joined[i];
        }
        if (best > 0) {
            struct glint_join join = glint_pair_table_find(&vocab->pairs, ids[best - 1], ids[best]);
            ranks[best - 1] = join.rank;
            joined[best - 1] = join.joined;
        }
        if (best + 1 < n_ids) {
            struct glint_join join = glint_pair_table_find(&vocab->pairs, ids[best], ids[best + 1]);
            ranks[best] = join.rank;
            joined[best] = join.joined;
        }
    }
    memcpy(encoding->ids + encoding->n, ids, n_ids * sizeof ids[0]);
    encoding->n += n_ids;
}

#define NO_NODE UINT32_MAX

struct node {
    uint32_t previous, next; // NO_NODE at the ends
    int32_t id;              // -1: swallowed by the node before
    uint32_t rank;           // of the pair with the next node
};

struct merger {
    const struct glint_pair_table *pairs;
    struct node *nodes;
    uint64_t *heap; // rank << 32 | position, a binary min-heap
    size_t n_heap;
};

static void heap_sink(struct merger *merger, size_t at, uint64_t entry) {
    uint64_t *heap = merger->heap;
    size_t n = merger->n_heap;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (entry <= heap[child])
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void heap_push(struct merger *merger, uint64_t entry) {
    uint64_t *heap = merger->heap;
    size_t at = merger->n_heap++;
    while (at > 0 && heap[(at - 1) / 2] > entry) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

static uint64_t heap_pop(struct merger *merger) {
    uint64_t top = merger->heap[0];
    merger->n_heap--;
    if (merger->n_heap > 0)
        heap_sink(merger, 0, merger->heap[merger->n_heap]);
    return top;
}

static void nodes_init(struct merger *merger, const struct glint_vocab *vocab,
                       const unsigned char *piece, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct node *node = &merger->nodes[i];
        node->previous = i ? (uint32_t)i - 1 : NO_NODE;
        node->next = i + 1 < n ? (uint32_t)i + 1 : NO_NODE;
        node->id = vocab->byte_ids[piece[i]];
        node->rank =
            i + 1 < n ? vocab->pairs.bytes[piece[i] * 256 + piece[i + 1]].rank : GLINT_RANK_NONE;
        if (node->rank != GLINT_RANK_NONE)
            merger->heap[merger->n_heap++] = (uint64_t)node->rank << 32 | i;
    }
    for (size_t i = merger->n_heap / 2; i-- > 0;)
        heap_sink(merger, i, merger->heap[i]);
}

// Recomputes the pair that starts at node `at`.
static void pair_update(struct merger *merger, uint32_t at) {
    struct node *node = &merger->nodes[at];
    node->rank = GLINT_RANK_NONE;
    if (node->next == NO_NODE)
        return;
    int32_t right = merger->nodes[node->next].id;
    node->rank = glint_pair_table_find(merger->pairs, node->id, right).rank;
    if (node->rank != GLINT_RANK_NONE)
        heap_push(merger, (uint64_t)node->rank << 32 | at);
}

static void join_at(struct merger *merger, uint32_t at) {
    struct node *node = &merger->nodes[at];
    struct node *right = &merger->nodes[node->next];
    node->id = glint_pair_table_find(merger->pairs, node->id, right->id).joined;
    node->next = right->next;
    right->id = -1;
    right->rank = GLINT_RANK_NONE;
    if (node->next != NO_NODE)
        merger->nodes[node->next].previous = at;
    pair_update(merger, at);
    if (node->previous != NO_NODE)
        pair_update(merger, node->previous);
}

static enum glint_status merge_long(const struct glint_vocab *vocab, const unsigned char *piece,
                                    size_t n, struct glint_encoding *encoding,
                                    struct glint_error *err) {
    if (n >= NO_NODE)
        return glint_fail(err, GLINT_E_LIMIT,
                          "text: a piece of %zu bytes without a break, at most "
                          "4294967294 expected",
                          n);
    // A join takes one entry off the heap and adds at most two: never more than 2n at a time.
    size_t bytes = n * (sizeof(struct node) + 2 * sizeof(uint64_t));
    if (bytes > encoding->scratch_bytes) {
        void *scratch = glint_realloc(encoding->scratch, bytes, 1);
        if (!scratch)
            return glint_fail(err, GLINT_E_NOMEM, "text: no memory to merge a piece of %zu bytes",
                              n);
        encoding->scratch = scratch;
        encoding->scratch_bytes = bytes;
    }
    struct merger merger = {.pairs = &vocab->pairs, .heap = encoding->scratch};
    merger.nodes = (struct node *)(void *)(merger.heap + 2 * n);
    nodes_init(&merger, vocab, piece, n);
    while (merger.n_heap > 0) {
        uint64_t top = heap_pop(&merger);
        uint32_t at = (uint32_t)top;
        if (merger.nodes[at].rank == (uint32_t)(top >> 32))
            join_at(&merger, at);
    }
    for (uint32_t at = 0; at != NO_NODE; at = merger.nodes[at].next)
        encoding->ids[encoding->n++] = merger.nodes[at].id;
    return GLINT_OK;
}

enum glint_status glint_merge_piece(const struct glint_vocab *vocab, const char *piece, size_t n,
                                    struct glint_encoding *encoding, struct glint_error *err) {
    if (n > SHORT_PIECE)
        return merge_long(vocab, (const unsigned char *)piece, n, encoding, err);
    merge_short(vocab, (const unsigned char *)piece, n, encoding);
    return GLINT_OK;
}
