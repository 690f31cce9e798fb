// SPDX-License-Identifier: Apache-2.0
// lex_table.c — one pass over a subtree of the tokens with one automaton.
#include "sample/lex_table.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_IDS = 4096 };

struct need { // a token that stays inside
    int32_t id;
    uint32_t need;
};

struct leaving { // the lexeme ends at a node of the tree
    uint32_t node;
    uint16_t count;
    bool here; // its tokens end there and nowhere inside
};

struct table_build {
    const struct glint_lex_query *query;
    struct glint_lex_table *table;
    uint32_t **rows;           // [dfa n_states] next state by byte, made as they are needed
    uint32_t *states, *counts; // [max_depth + 2] along the path
    struct need *needs;        // [n_needs]
    struct leaving *leaving;   // [n_leaving]
    size_t n_needs, n_leaving, need_capacity, leaving_capacity;
    bool failed;
};

static void table_fini(struct glint_lex_table *table) {
    glint_free(table->inside);
    glint_free(table->ids);
    glint_free(table->need_begins);
    for (int i = 0; i < GLINT_TABLE_STEPS; i++)
        glint_free(table->upto[i]);
    glint_free(table->tails.nodes);
    glint_free(table->tails.ids);
    glint_free(table->tails.counts);
    glint_free(table);
}

void glint_lex_tables_fini(struct glint_lex_tables *tables) {
    for (size_t i = 0; i < tables->n_slots; i++)
        if (tables->slots[i])
            table_fini(tables->slots[i]);
    glint_free(tables->slots);
    *tables = (struct glint_lex_tables){.n = 0};
}

// ---- the pass ---------------------------------------------------------------------------------

static const uint32_t *row_of(struct table_build *b, uint32_t state) {
    if (b->rows[state])
        return b->rows[state];
    uint32_t *row = glint_alloc(256, sizeof *row);
    if (!row) {
        b->failed = true;
        return NULL;
    }
    for (int byte = 0; byte < 256; byte++)
        row[byte] = glint_dfa_step(b->query->dfa, state, (uint8_t)byte);
    b->rows[state] = row;
    return row;
}

static bool more(void **block, size_t *capacity, size_t n, size_t size) {
    if (n < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 256;
    void *grown = glint_realloc(*block, larger, size);
    if (!grown)
        return false;
    *block = grown;
    *capacity = larger;
    return true;
}

static void set_bit(uint32_t *bits, int32_t id) {
    bits[id >> 5] |= 1u << (id & 31);
}

static void add_leaving(struct table_build *b, uint32_t node, uint32_t count, bool here) {
    void *block = b->leaving;
    b->failed = b->failed || !more(&block, &b->leaving_capacity, b->n_leaving, sizeof *b->leaving);
    b->leaving = block;
    if (!b->failed)
        b->leaving[b->n_leaving++] = (struct leaving){node, (uint16_t)count, here};
}

static void add_inside(struct table_build *b, uint32_t i, const struct glint_dfa_state *state,
                       uint32_t count) {
    const struct glint_trie_node *node = &b->query->trie->nodes[i];
    if (!b->query->counted) {
        for (uint32_t at = node->first_id; at < node[1].first_id; at++)
            set_bit(b->table->inside, b->query->trie->ids[at]);
        return;
    }
    // A character that has begun needs its place too.
    uint32_t need = count + !(state->flags & (GLINT_DFA_BOUNDARY | GLINT_DFA_ACCEPT));
    for (uint32_t at = node->first_id; at < node[1].first_id && !b->failed; at++) {
        void *block = b->needs;
        b->failed = !more(&block, &b->need_capacity, b->n_needs, sizeof *b->needs);
        b->needs = block;
        if (!b->failed)
            b->needs[b->n_needs++] = (struct need){b->query->trie->ids[at], need};
    }
}

static void visit(struct table_build *b, uint32_t i, uint32_t state, uint32_t count) {
    const struct glint_dfa_state *s = &b->query->dfa->states[state];
    bool ends = (s->flags & GLINT_DFA_ACCEPT) != 0, goes_on = s->n_edges > 0;
    if (goes_on)
        add_inside(b, i, s, count);
    if (ends && (!goes_on || s->flags & GLINT_DFA_BOUNDARY))
        add_leaving(b, i, count, !goes_on);
}

static void pass(struct table_build *b) {
    const struct glint_trie_node *nodes = b->query->trie->nodes;
    uint32_t root = b->query->node, base = nodes[root].depth;
    b->states[0] = b->query->state;
    b->counts[0] = 0;
    for (uint32_t i = root + 1; i < nodes[root].end && !b->failed;) {
        uint32_t depth = nodes[i].depth - base;
        const uint32_t *row = row_of(b, b->states[depth - 1]);
        uint32_t state = row ? row[nodes[i].byte] : GLINT_DFA_NONE;
        if (state == GLINT_DFA_NONE) {
            i = nodes[i].end;
            continue;
        }
        uint32_t flags = b->query->dfa->states[state].flags;
        b->states[depth] = state;
        b->counts[depth] = b->counts[depth - 1] + ((flags & GLINT_DFA_BOUNDARY) != 0);
        visit(b, i, state, b->counts[depth]);
        i = b->query->dfa->states[state].n_edges > 0 ? i + 1 : nodes[i].end;
    }
}

// ---- tokens that stay -------------------------------------------------------------------------

static void sort_needs(struct table_build *b) {
    struct glint_lex_table *table = b->table;
    for (size_t i = 0; i < b->n_needs; i++)
        table->max_need = b->needs[i].need > table->max_need ? b->needs[i].need : table->max_need;
    table->n_ids = (uint32_t)b->n_needs;
    table->ids = glint_alloc(b->n_needs, sizeof *table->ids);
    table->need_begins = glint_alloc((size_t)table->max_need + 3, sizeof *table->need_begins);
    if (!table->ids || !table->need_begins) {
        b->failed = true;
        return;
    }
    uint32_t *begins = table->need_begins + 1; // one ahead while filling
    for (size_t i = 0; i < b->n_needs; i++)
        begins[b->needs[i].need + 1]++;
    for (uint32_t need = 0; need <= table->max_need; need++)
        begins[need + 1] += begins[need];
    for (size_t i = 0; i < b->n_needs; i++) {
        table->ids[begins[b->needs[i].need]++] = b->needs[i].id;
        set_bit(table->inside, b->needs[i].id);
    }
}

static void fill_upto(struct table_build *b) {
    struct glint_lex_table *table = b->table;
    size_t n_words = b->query->n_words;
    if (table->n_ids <= FEW_IDS)
        return;
    for (uint32_t need = 0; need < GLINT_TABLE_STEPS; need++) {
        uint32_t *bits = glint_alloc(n_words, sizeof *bits);
        if (!bits) {
            b->failed = true;
            return;
        }
        table->upto[need] = bits;
        if (need > 0)
            memcpy(bits, table->upto[need - 1], n_words * sizeof *bits);
        if (need > table->max_need)
            continue;
        for (uint32_t i = table->need_begins[need]; i < table->need_begins[need + 1]; i++)
            set_bit(bits, table->ids[i]);
    }
}

// ---- tails ------------------------------------------------------------------------------------

struct tail { // a node of the token tree, as the continuation of some leaving
    uint32_t node;
    uint16_t count;
    uint8_t byte;
};

struct tail_build {
    const struct glint_token_trie *trie;
    struct glint_tail_trie *out;
    struct tail *stack; // lists of nodes to be merged, one behind the other
    size_t n_stack, stack_capacity, id_capacity;
    uint32_t node_capacity;
    bool failed;
};

static void push_tail(struct tail_build *b, uint32_t node, uint16_t count) {
    void *block = b->stack;
    b->failed = b->failed || !more(&block, &b->stack_capacity, b->n_stack, sizeof *b->stack);
    b->stack = block;
    if (!b->failed)
        b->stack[b->n_stack++] = (struct tail){node, count, b->trie->nodes[node].byte};
}

static void add_tail_ids(struct tail_build *b, uint32_t node, uint16_t count, uint32_t *n_ids) {
    const struct glint_trie_node *at = &b->trie->nodes[node];
    for (uint32_t i = at->first_id; i < at[1].first_id && !b->failed; i++) {
        if (*n_ids == b->id_capacity) {
            size_t capacity = b->id_capacity ? 2 * b->id_capacity : 256;
            int32_t *ids = glint_realloc(b->out->ids, capacity, sizeof *ids);
            b->out->ids = ids ? ids : b->out->ids;
            uint16_t *counts = glint_realloc(b->out->counts, capacity, sizeof *counts);
            b->out->counts = counts ? counts : b->out->counts;
            b->failed = !ids || !counts;
            b->id_capacity = b->failed ? b->id_capacity : capacity;
        }
        if (b->failed)
            return;
        b->out->ids[*n_ids] = b->trie->ids[i];
        b->out->counts[(*n_ids)++] = count;
    }
}

static int compare_tails(const void *a, const void *b) {
    const struct tail *x = a, *y = b;
    if (x->byte != y->byte)
        return x->byte < y->byte ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static uint32_t add_tail_node(struct tail_build *b, uint32_t depth, uint8_t byte, uint32_t n_ids) {
    if (b->out->n + 2 > b->node_capacity) {
        uint32_t capacity = b->node_capacity ? 2 * b->node_capacity : 256;
        struct glint_trie_node *nodes = glint_realloc(b->out->nodes, capacity, sizeof *nodes);
        if (!nodes) {
            b->failed = true;
            return 0;
        }
        b->out->nodes = nodes;
        b->node_capacity = capacity;
    }
    b->out->nodes[b->out->n] =
        (struct glint_trie_node){.first_id = n_ids, .depth = (uint16_t)depth, .byte = byte};
    return b->out->n++;
}

static void merge_children(struct tail_build *b, size_t begin, uint32_t depth, uint32_t *n_ids);

// The node for the tails on the stack [begin, end), which are of one byte, and all below it.
static void merge(struct tail_build *b, size_t begin, size_t end, uint32_t depth, uint32_t *n_ids) {
    const struct glint_trie_node *nodes = b->trie->nodes;
    uint32_t node = add_tail_node(b, depth, b->stack[begin].byte, *n_ids);
    size_t children = b->n_stack;
    for (size_t i = begin; i < end && !b->failed; i++) {
        struct tail tail = b->stack[i];
        add_tail_ids(b, tail.node, tail.count, n_ids);
        for (uint32_t j = tail.node + 1; j < nodes[tail.node].end; j = nodes[j].end)
            push_tail(b, j, tail.count);
    }
    merge_children(b, children, depth + 1, n_ids);
    if (!b->failed)
        b->out->nodes[node].end = b->out->n;
}

// Nodes for the tails from `begin` on, which leave the stack.
static void merge_children(struct tail_build *b, size_t begin, uint32_t depth, uint32_t *n_ids) {
    size_t n = b->n_stack;
    if (n > begin && !b->failed)
        qsort(b->stack + begin, n - begin, sizeof *b->stack, compare_tails);
    for (size_t i = begin; i < n && !b->failed;) {
        size_t end = i + 1;
        while (end < n && b->stack[end].byte == b->stack[i].byte)
            end++;
        merge(b, i, end, depth, n_ids);
        i = end;
    }
    b->n_stack = begin;
}

static void build_tails(struct table_build *b) {
    struct tail_build tails = {.trie = b->query->trie, .out = &b->table->tails};
    const struct glint_trie_node *nodes = b->query->trie->nodes;
    uint32_t n_ids = 0;
    add_tail_node(&tails, 0, 0, 0);
    for (size_t i = 0; i < b->n_leaving && !tails.failed; i++) {
        struct leaving leaving = b->leaving[i];
        if (leaving.here)
            add_tail_ids(&tails, leaving.node, leaving.count, &n_ids);
    }
    for (size_t i = 0; i < b->n_leaving && !tails.failed; i++) {
        struct leaving leaving = b->leaving[i];
        uint32_t j = leaving.node + 1;
        // A text that may end and also go on is followed by "<" alone (grammar.h).
        for (; j < nodes[leaving.node].end; j = nodes[j].end)
            if (leaving.here || nodes[j].byte == '<')
                push_tail(&tails, j, leaving.count);
    }
    merge_children(&tails, 0, 1, &n_ids);
    if (!tails.failed) {
        struct glint_tail_trie *out = tails.out;
        out->nodes[0].end = out->n;
        out->nodes[out->n] = (struct glint_trie_node){.first_id = n_ids, .end = out->n};
    }
    b->failed = b->failed || tails.failed;
    glint_free(tails.stack);
}

// ---- all of it --------------------------------------------------------------------------------

static uint32_t deepest(const struct glint_token_trie *trie, uint32_t root) {
    uint32_t depth = 0;
    for (uint32_t i = root; i < trie->nodes[root].end; i++)
        depth = trie->nodes[i].depth > depth ? trie->nodes[i].depth : depth;
    return depth;
}

static struct glint_lex_table *make_table(const struct glint_lex_query *query) {
    struct table_build b = {.query = query};
    size_t n_path = deepest(query->trie, query->node) + 2;
    b.table = glint_alloc(1, sizeof *b.table);
    b.rows = glint_alloc(query->dfa->n_states, sizeof *b.rows);
    b.states = glint_alloc(n_path, sizeof *b.states);
    b.counts = glint_alloc(n_path, sizeof *b.counts);
    if (b.table)
        b.table->inside = glint_alloc(query->n_words, sizeof *b.table->inside);
    b.failed = !b.table || !b.table->inside || !b.rows || !b.states || !b.counts;
    if (!b.failed) {
        b.table->state = query->state;
        b.table->node = query->node;
        pass(&b);
    }
    if (!b.failed && query->counted)
        sort_needs(&b);
    if (!b.failed && query->counted)
        fill_upto(&b);
    if (!b.failed)
        build_tails(&b);
    for (size_t i = 0; b.rows && i < query->dfa->n_states; i++)
        glint_free(b.rows[i]);
    glint_free(b.rows);
    glint_free(b.states);
    glint_free(b.counts);
    glint_free(b.needs);
    glint_free(b.leaving);
    if (b.failed && b.table) {
        table_fini(b.table);
        b.table = NULL;
    }
    return b.table;
}

static size_t slot_of(const struct glint_lex_tables *tables, uint32_t state, uint32_t node) {
    uint64_t hash = ((uint64_t)state << 32 | node) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (tables->n_slots - 1);
    while (tables->slots[at] &&
           (tables->slots[at]->state != state || tables->slots[at]->node != node))
        at = (at + 1) & (tables->n_slots - 1);
    return at;
}

static bool grow_slots(struct glint_lex_tables *tables) {
    struct glint_lex_tables larger = {.n = tables->n,
                                      .n_slots = tables->n_slots ? 2 * tables->n_slots : 64};
    larger.slots = glint_alloc(larger.n_slots, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < tables->n_slots; i++) {
        struct glint_lex_table *table = tables->slots[i];
        if (table)
            larger.slots[slot_of(&larger, table->state, table->node)] = table;
    }
    glint_free(tables->slots);
    *tables = larger;
    return true;
}

const struct glint_lex_table *glint_lex_tables_get(struct glint_lex_tables *tables,
                                                   const struct glint_lex_query *query) {
    if (2 * (tables->n + 1) > tables->n_slots && !grow_slots(tables))
        return NULL;
    size_t at = slot_of(tables, query->state, query->node);
    if (!tables->slots[at]) {
        tables->slots[at] = make_table(query);
        tables->n += tables->slots[at] != NULL;
    }
    return tables->slots[at];
}
