// SPDX-License-Identifier: Apache-2.0
// merge_long.c — merging of long pieces, window by window.
// Why windows are exact: a list of tokens is what merging gives exactly when each two neighbours,
// merged on their own, stay as they are, because until a merge crosses a border both sides go on
// as if they were alone. So where two overlapping windows have one token in common, the first
// one's tokens up to it and the second one's from it on fit together. The next window starts at
// a border of this one, which nearly always is that place; when nothing is in common, the piece
// starts again with larger windows, in the end one for all of it.
// Inside a window: a node a byte and a heap of (rank, position). A heap entry is stale when its
// node has been swallowed or its pair has changed since; a rank names one pair of ids, so
// comparing ranks is enough. Tokens at a position only grow, so no stale entry comes back.
#include "token/merge.h"

#include "base/alloc.h"

#define NO_NODE UINT32_MAX

struct node {
    uint32_t previous, next; // NO_NODE at the ends
    int32_t id;
    uint32_t rank; // of the pair with the next node; GLINT_RANK_NONE when swallowed
};

struct token {
    size_t begin; // in the piece
    int32_t id;
};

struct run { // tokens of one window
    struct token *tokens;
    size_t n;
    size_t end; // in the piece
};

struct merger {
    const struct glint_vocab *vocab;
    struct glint_view piece;
    size_t window;      // bytes
    uint64_t *heap;     // rank << 32 | position, a binary min-heap
    struct node *nodes; // [window]
    size_t n_heap;
    struct run runs[2];
};

static void heap_sink(struct merger *merger, size_t at, uint64_t entry) {
    uint64_t *heap = merger->heap;
    size_t n = merger->n_heap;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n)
            child += heap[child + 1] < heap[child];
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

static void nodes_init(struct merger *merger, const unsigned char *bytes, size_t n) {
    const struct glint_vocab *vocab = merger->vocab;
    merger->n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        struct node *node = &merger->nodes[i];
        bool last = i + 1 == n;
        node->previous = i ? (uint32_t)i - 1 : NO_NODE;
        node->next = last ? NO_NODE : (uint32_t)i + 1;
        node->id = vocab->byte_ids[bytes[i]];
        node->rank =
            last ? GLINT_RANK_NONE : vocab->pairs.bytes[bytes[i] * 256 + bytes[i + 1]].rank;
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
    node->rank = glint_pair_table_find(&merger->vocab->pairs, node->id, right).rank;
    if (node->rank != GLINT_RANK_NONE)
        heap_push(merger, (uint64_t)node->rank << 32 | at);
}

static void join_at(struct merger *merger, uint32_t at) {
    struct node *node = &merger->nodes[at];
    struct node *right = &merger->nodes[node->next];
    node->id = glint_pair_table_find(&merger->vocab->pairs, node->id, right->id).joined;
    node->next = right->next;
    right->rank = GLINT_RANK_NONE;
    if (node->next != NO_NODE)
        merger->nodes[node->next].previous = at;
    pair_update(merger, at);
    if (node->previous != NO_NODE)
        pair_update(merger, node->previous);
}

// Merges the window that starts at `begin` of the piece.
static void merge_window(struct merger *merger, size_t begin, struct run *run) {
    size_t n = merger->piece.n - begin;
    if (n > merger->window)
        n = merger->window;
    nodes_init(merger, (const unsigned char *)merger->piece.data + begin, n);
    while (merger->n_heap > 0) {
        uint64_t top = heap_pop(merger);
        uint32_t at = (uint32_t)top;
        if (merger->nodes[at].rank == (uint32_t)(top >> 32))
            join_at(merger, at);
    }
    run->n = 0;
    run->end = begin + n;
    for (uint32_t at = 0; at != NO_NODE; at = merger->nodes[at].next)
        run->tokens[run->n++] = (struct token){begin + at, merger->nodes[at].id};
}

static enum glint_status reserve_window(struct merger *merger, struct glint_encoding *encoding,
                                        struct glint_error *err) {
    size_t n = merger->window;
    // A join takes one entry off the heap and adds at most two: never more than 2n at a time.
    size_t unit = 2 * sizeof(uint64_t) + sizeof(struct node) + 2 * sizeof(struct token);
    if (n * unit > encoding->scratch_bytes) {
        glint_free(encoding->scratch);
        encoding->scratch = glint_alloc(n, unit);
        encoding->scratch_bytes = encoding->scratch ? n * unit : 0;
        if (!encoding->scratch)
            return glint_fail(err, GLINT_E_NOMEM, "text: no memory to merge %zu bytes at once", n);
    }
    merger->heap = encoding->scratch;
    merger->runs[0].tokens = (struct token *)(void *)(merger->heap + 2 * n);
    merger->runs[1].tokens = merger->runs[0].tokens + n;
    merger->nodes = (struct node *)(void *)(merger->runs[1].tokens + n);
    return GLINT_OK;
}

// Finds a token in both: *i of a, from where it stands on, and *j of b, from 0 on.
static bool find_common(const struct run *a, const struct run *b, size_t *i, size_t *j) {
    for (*j = 0; *i < a->n && *j < b->n;) {
        size_t begin_a = a->tokens[*i].begin, begin_b = b->tokens[*j].begin;
        if (begin_a == begin_b && a->tokens[*i].id == b->tokens[*j].id)
            return true;
        *i += begin_a <= begin_b;
        *j += begin_b <= begin_a;
    }
    return false;
}

// Appends the ids of the whole piece; false when two windows had nothing in common.
static bool merge_windows(struct merger *merger, struct glint_encoding *encoding) {
    struct run *run = &merger->runs[0], *next = &merger->runs[1];
    size_t first = 0; // token of run that is still to be appended
    merge_window(merger, 0, run);
    while (run->end < merger->piece.n) {
        size_t overlap_begin = run->end - merger->window / 4, i = run->n - 1, j;
        while (i > first && run->tokens[i].begin > overlap_begin)
            i--;
        if (i == first)
            return false; // no way forward: the tokens are as long as the window
        merge_window(merger, run->tokens[i].begin, next);
        if (!find_common(run, next, &i, &j))
            return false;
        for (; first < i; first++)
            encoding->ids[encoding->n++] = run->tokens[first].id;
        first = j;
        struct run *swap = run;
        run = next;
        next = swap;
    }
    for (; first < run->n; first++)
        encoding->ids[encoding->n++] = run->tokens[first].id;
    return true;
}

enum glint_status glint_merge_long(const struct glint_vocab *vocab, struct glint_view piece,
                                   size_t window, struct glint_encoding *encoding,
                                   struct glint_error *err) {
    struct merger merger = {.vocab = vocab, .piece = piece, .window = window};
    size_t n_before = encoding->n;
    for (;; merger.window *= 4) {
        if (merger.window >= piece.n)
            merger.window = piece.n;
        if (merger.window >= NO_NODE)
            return glint_fail(err, GLINT_E_LIMIT,
                              "text: a piece of %zu bytes needs merging at once, expected less "
                              "than 4 GiB",
                              piece.n);
        GLINT_TRY(reserve_window(&merger, encoding, err));
        if (merge_windows(&merger, encoding))
            return GLINT_OK;
        encoding->n = n_before;
    }
}
