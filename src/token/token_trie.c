// SPDX-License-Identifier: Apache-2.0
// token_trie.c — sorted tokens to a tree: each token adds nodes from where it parts from the one
// before it.
#include "token/token_trie.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t head; // first eight bytes, the first one highest, zero after the end
    struct glint_view bytes;
    int32_t id;
};

static uint64_t head_of(struct glint_view bytes) {
    uint64_t head = 0;
    for (size_t i = 0; i < 8; i++)
        head = head << 8 | (i < bytes.n ? (uint8_t)bytes.data[i] : 0);
    return head;
}

static int compare(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    size_t n = x->bytes.n < y->bytes.n ? x->bytes.n : y->bytes.n;
    int order = memcmp(x->bytes.data, y->bytes.data, n);
    if (order != 0)
        return order;
    return (x->bytes.n > y->bytes.n) - (x->bytes.n < y->bytes.n);
}

static size_t common(struct glint_view a, struct glint_view b) {
    size_t n = 0;
    while (n < a.n && n < b.n && a.data[n] == b.data[n])
        n++;
    return n;
}

// Fills nodes from entries [n] in order; open[d]: the last node of depth d.
static void fill(struct glint_token_trie *trie, const struct entry *entries, size_t n,
                 uint32_t *open) {
    struct glint_view before = {.data = "", .n = 0};
    uint32_t n_nodes = 1;
    open[0] = 0;
    for (size_t i = 0; i < n; i++) {
        struct glint_view bytes = entries[i].bytes;
        size_t shared = common(before, bytes);
        for (size_t d = before.n; d > shared; d--)
            trie->nodes[open[d]].end = n_nodes;
        for (size_t d = shared + 1; d <= bytes.n; d++) {
            trie->nodes[n_nodes] = (struct glint_trie_node){
                .first_id = (uint32_t)i, .depth = (uint16_t)d, .byte = (uint8_t)bytes.data[d - 1]};
            open[d] = n_nodes++;
        }
        trie->ids[i] = entries[i].id;
        before = bytes;
    }
    for (size_t d = before.n + 1; d > 0; d--)
        trie->nodes[open[d - 1]].end = n_nodes;
    trie->nodes[n_nodes] = (struct glint_trie_node){.end = n_nodes, .first_id = (uint32_t)n};
    trie->n = n_nodes;
}

enum glint_status glint_token_trie_init(struct glint_token_trie *trie,
                                        const struct glint_vocab *vocab, struct glint_error *err) {
    int32_t n_tokens = glint_vocab_n_tokens(vocab);
    size_t n = 0, n_nodes = 1, longest = 0;
    struct entry *entries = glint_alloc((size_t)n_tokens, sizeof *entries);
    *trie = (struct glint_token_trie){.n = 0};
    for (int32_t id = 0; entries && id < n_tokens; id++) {
        struct glint_view bytes = glint_vocab_bytes(vocab, id);
        if (bytes.n == 0 || bytes.n > UINT16_MAX || glint_vocab_is_special(vocab, id))
            continue;
        entries[n++] = (struct entry){head_of(bytes), bytes, id};
        longest = bytes.n > longest ? bytes.n : longest;
    }
    if (entries && n > 0)
        qsort(entries, n, sizeof *entries, compare);
    for (size_t i = 0; entries && i < n; i++)
        n_nodes += entries[i].bytes.n - (i ? common(entries[i - 1].bytes, entries[i].bytes) : 0);
    uint32_t *open = glint_alloc(longest + 1, sizeof *open);
    if (n_nodes < UINT32_MAX) {
        trie->nodes = glint_alloc(n_nodes + 1, sizeof *trie->nodes);
        trie->ids = glint_alloc(n, sizeof *trie->ids);
    }
    bool ok = entries && open && trie->nodes && trie->ids;
    if (ok)
        fill(trie, entries, n, open);
    glint_free(entries);
    glint_free(open);
    if (ok)
        return GLINT_OK;
    glint_token_trie_fini(trie);
    return glint_fail(err, GLINT_E_NOMEM, "token trie: no memory for %zu nodes", n_nodes);
}

void glint_token_trie_fini(struct glint_token_trie *trie) {
    glint_free(trie->nodes);
    glint_free(trie->ids);
    *trie = (struct glint_token_trie){.n = 0};
}
