// SPDX-License-Identifier: Apache-2.0
// token_mask.c — see token_mask.h.
#include "sample/token_mask.h"

#include "base/alloc.h"

#include <string.h>

enum {
    LARGE_SUBTREE = 64, // nodes below which a table does not pay
};

enum glint_status glint_mask_space_open(struct glint_mask_space **space,
                                        const struct glint_vocab *vocab, int32_t n_tokens,
                                        struct glint_error *err) {
    GLINT_REQUIRE(n_tokens >= glint_vocab_n_tokens(vocab), err);
    struct glint_mask_space *made = glint_alloc(1, sizeof *made);
    *space = NULL;
    if (!made)
        return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
    made->vocab = vocab;
    made->n_tokens = n_tokens;
    made->n_words = ((size_t)n_tokens + 63) / 64 * 2;
    enum glint_status status = glint_token_trie_init(&made->trie, vocab, err);
    *space = made;
    if (status != GLINT_OK)
        glint_mask_space_close(space);
    return status;
}

void glint_mask_space_close(struct glint_mask_space **space) {
    if (!*space)
        return;
    glint_token_trie_fini(&(*space)->trie);
    glint_lex_tables_fini(&(*space)->tables);
    glint_free(*space);
    *space = NULL;
}

enum glint_status glint_mask_walk_init(struct glint_mask_walk *walk, struct glint_mask_space *space,
                                       struct glint_error *err) {
    *walk = (struct glint_mask_walk){.space = space};
    for (uint32_t i = 0; i < space->trie.n; i++)
        if (space->trie.nodes[i].depth > walk->max_depth)
            walk->max_depth = space->trie.nodes[i].depth;
    walk->set_begins = glint_alloc(2 * (walk->max_depth + 2), sizeof *walk->set_begins);
    walk->bytes = glint_alloc(2 * (walk->max_depth + 2), sizeof *walk->bytes);
    if (walk->set_begins && walk->bytes)
        return GLINT_OK;
    glint_mask_walk_fini(walk);
    return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
}

void glint_mask_walk_fini(struct glint_mask_walk *walk) {
    glint_lex_tables_fini(&walk->tables);
    glint_free(walk->set_begins);
    glint_free(walk->bytes);
    *walk = (struct glint_mask_walk){.max_depth = 0};
}

struct job { // one mask
    struct glint_mask_walk *walk;
    struct glint_matcher *matcher;
    struct glint_places *places;
    uint32_t *mask;
    bool failed;
};

struct tree { // what is walked: all tokens, or the tails of a lexeme
    const struct glint_trie_node *nodes;
    const int32_t *ids;
    const uint16_t *counts;      // NULL: none
    uint32_t count, least, most; // with counts: characters so far, and their limits
    uint32_t root;
    size_t level; // which half of the walk's scratch
};

static void set_id(const struct job *job, int32_t id) {
    job->mask[id >> 5] |= 1u << (id & 31);
}

static bool count_fits(const struct tree *tree, uint32_t at) {
    uint32_t count = tree->count + tree->counts[at];
    return count >= tree->least && count <= tree->most;
}

static void set_ids(const struct job *job, const struct tree *tree, uint32_t i) {
    const struct glint_trie_node *node = &tree->nodes[i];
    for (uint32_t at = node->first_id; at < node[1].first_id; at++)
        if (!tree->counts || count_fits(tree, at))
            set_id(job, tree->ids[at]);
}

static void add_range(uint32_t bytes[8], const struct glint_dfa_edge *edge) {
    for (unsigned word = edge->low >> 5; word <= edge->high >> 5; word++) {
        unsigned low = word == edge->low >> 5 ? edge->low & 31 : 0;
        unsigned high = word == edge->high >> 5 ? edge->high & 31 : 31;
        bytes[word] |= UINT32_MAX >> (31 - high) & UINT32_MAX << low;
    }
}

// The bytes that may follow the places [begin, end).
static void collect_bytes(const struct job *job, size_t begin, size_t end, uint32_t bytes[8]) {
    const struct glint_grammar *grammar = job->matcher->grammar;
    memset(bytes, 0, 8 * sizeof *bytes);
    for (size_t i = begin; i < end; i++) {
        const struct glint_place *place = &job->places->data[i];
        if (grammar->nodes[place->node].kind != GLINT_NODE_LEX)
            continue;
        const struct glint_dfa_state *state = &grammar->dfa.states[place->state];
        for (uint16_t e = 0; e < state->n_edges; e++)
            add_range(bytes, &grammar->dfa.edges[state->first_edge + e]);
    }
}

static bool is_wide(const struct job *job, const struct glint_place *place) {
    const struct glint_grammar *grammar = job->matcher->grammar;
    return grammar->nodes[place->node].kind == GLINT_NODE_LEX &&
           grammar->dfa.states[place->state].flags & GLINT_DFA_WIDE;
}

static void apply_table(struct job *job, struct glint_place place, uint32_t node);

// Takes the wide places out of the set [begin, places->n) and answers for them below tree node i.
static void take_wide(struct job *job, size_t begin, uint32_t i) {
    for (size_t at = begin; at < job->places->n;) {
        struct glint_place place = job->places->data[at];
        if (!is_wide(job, &place)) {
            at++;
            continue;
        }
        job->places->data[at] = job->places->data[--job->places->n];
        apply_table(job, place, i);
    }
}

// Walks the tree with the set of places [begin, places->n), which is dropped.
static void walk_tree(struct job *job, const struct tree *tree, size_t begin) {
    size_t half = tree->level * (job->walk->max_depth + 2);
    size_t *begins = job->walk->set_begins + half;
    uint32_t(*bytes)[8] = job->walk->bytes + half;
    const struct glint_trie_node *nodes = tree->nodes;
    uint32_t base = nodes[tree->root].depth, end = nodes[tree->root].end;
    begins[0] = begin;
    begins[1] = job->places->n;
    if (begins[0] == begins[1])
        return;
    collect_bytes(job, begins[0], begins[1], bytes[0]);
    for (uint32_t i = tree->root + 1; i < end && !job->failed;) {
        uint32_t depth = nodes[i].depth - base;
        uint8_t byte = nodes[i].byte;
        if (!(bytes[depth - 1][byte >> 5] >> (byte & 31) & 1)) {
            i = nodes[i].end;
            continue;
        }
        size_t from = begins[depth];
        job->places->n = from;
        glint_matcher_step(job->matcher, begins[depth - 1], from, byte, job->places);
        job->failed = job->failed || job->matcher->failed;
        if (job->places->n > from)
            set_ids(job, tree, i);
        if (tree->level == 0 && nodes[i].end - i > LARGE_SUBTREE)
            take_wide(job, from, i);
        if (job->places->n == from || nodes[i].end == i + 1) {
            i = nodes[i].end;
            continue;
        }
        begins[depth + 1] = job->places->n;
        collect_bytes(job, from, job->places->n, bytes[depth]);
        i++;
    }
    job->places->n = begin;
}

static void add_bits(const struct job *job, const uint32_t *bits) {
    for (size_t i = 0; i < job->walk->space->n_words; i++)
        job->mask[i] |= bits[i];
}

// Tokens that stay inside the lexeme and need at most `room` characters.
static void add_inside(const struct job *job, const struct glint_lex_table *table, uint32_t room) {
    if (room >= table->max_need) { // also where nothing is counted
        add_bits(job, table->inside);
    } else if (room < GLINT_TABLE_STEPS && table->upto[room]) {
        add_bits(job, table->upto[room]);
    } else {
        uint32_t end = table->need_begins[room + 1], from = 0;
        if (table->upto[0]) { // few need more than the last step
            add_bits(job, table->upto[GLINT_TABLE_STEPS - 1]);
            from = table->need_begins[GLINT_TABLE_STEPS];
        }
        for (uint32_t i = from; i < end; i++)
            set_id(job, table->ids[i]);
    }
}

// All tokens below a node of the token tree that go on from a place in a wide lexeme.
static void apply_table(struct job *job, struct glint_place place, uint32_t node) {
    struct glint_mask_walk *walk = job->walk;
    const struct glint_grammar *grammar = job->matcher->grammar;
    const struct glint_node *lex = &grammar->nodes[place.node];
    bool shared = place.state < grammar->n_shared;
    bool counts = lex->most != GLINT_NO_LIMIT || lex->least > 0;
    struct glint_lex_query query = {.dfa = &grammar->dfa,
                                    .trie = &walk->space->trie,
                                    .n_words = walk->space->n_words,
                                    .state = place.state,
                                    .node = node,
                                    .counted = shared || counts};
    const struct glint_lex_table *table =
        glint_lex_tables_get(shared ? &walk->space->tables : &walk->tables, &query);
    if (!table) {
        job->failed = true;
        return;
    }
    add_inside(job, table, lex->most == GLINT_NO_LIMIT ? GLINT_NO_LIMIT : lex->most - place.count);
    struct tree tails = {.nodes = table->tails.nodes,
                         .ids = table->tails.ids,
                         .counts = counts ? table->tails.counts : NULL,
                         .count = place.count,
                         .least = lex->least,
                         .most = lex->most,
                         .level = 1};
    set_ids(job, &tails, 0);
    size_t begin = job->places->n;
    glint_matcher_leave(job->matcher, place, job->places);
    job->failed = job->failed || job->matcher->failed;
    if (!job->failed)
        walk_tree(job, &tails, begin);
    job->places->n = begin;
}

static void add_symbols(struct job *job, unsigned symbols) {
    const struct glint_vocab *vocab = job->walk->space->vocab;
    const struct glint_dialect *dialect = glint_vocab_dialect(vocab);
    const struct {
        unsigned symbol;
        int32_t id;
    } ids[] = {
        {GLINT_SYMBOL_MESSAGE, dialect->message},   {GLINT_SYMBOL_START, dialect->start},
        {GLINT_SYMBOL_EOM, dialect->eom},           {GLINT_SYMBOL_END, dialect->eot},
        {GLINT_SYMBOL_END, dialect->end_of_text},   {GLINT_SYMBOL_END, glint_vocab_eos(vocab)},
        {GLINT_SYMBOL_END, glint_vocab_eot(vocab)},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (symbols & ids[i].symbol && ids[i].id >= 0 && ids[i].id != dialect->eom)
            set_id(job, ids[i].id);
    if (symbols & GLINT_SYMBOL_EOM && dialect->eom >= 0)
        set_id(job, dialect->eom);
}

enum glint_status glint_mask_fill(struct glint_mask_walk *walk, struct glint_matcher *matcher,
                                  struct glint_places *places, size_t begin, uint32_t *mask) {
    struct job job = {walk, matcher, places, mask, false};
    size_t end = places->n;
    memset(mask, 0, walk->space->n_words * sizeof *mask);
    if (!glint_places_reserve(places, 2 * end - begin))
        return GLINT_E_NOMEM;
    memcpy(places->data + end, places->data + begin, (end - begin) * sizeof *places->data);
    places->n = 2 * end - begin;
    for (size_t i = begin; i < end; i++) {
        const struct glint_node *node = &matcher->grammar->nodes[places->data[i].node];
        if (node->kind == GLINT_NODE_SYMBOL)
            add_symbols(&job, node->target);
    }
    take_wide(&job, end, 0);
    struct tree all = {.nodes = walk->space->trie.nodes, .ids = walk->space->trie.ids};
    walk_tree(&job, &all, end);
    places->n = end;
    return job.failed ? GLINT_E_NOMEM : GLINT_OK;
}
