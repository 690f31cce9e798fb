// SPDX-License-Identifier: Apache-2.0
// constraint.c — see constraint.h. The functions of glint.h that need no engine are here too.
#include "sample/constraint.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_STATES = 4 * GLINT_CONSTRAINT_MAX_REWIND };

struct state {          // after a token
    size_t begin;       // of its set of places
    size_t n_reasoning; // ordinary tokens in messages to self so far
};

struct glint_constraint {
    struct glint_grammar grammar;
    struct glint_matcher matcher;
    struct glint_mask_walk walk;
    struct glint_places places;      // sets of all states kept, one behind the other
    struct state states[MAX_STATES]; // [n_states], the last is the present one
    size_t n_states;
    bool has_budget;
    size_t budget;
    uint32_t *mask; // of the present state, if has_mask
    bool has_mask;
};

void glint_constraint_close(struct glint_constraint **constraint) {
    struct glint_constraint *old = *constraint;
    *constraint = NULL;
    if (!old)
        return;
    glint_places_fini(&old->places);
    glint_matcher_fini(&old->matcher);
    glint_mask_walk_fini(&old->walk);
    glint_grammar_fini(&old->grammar);
    glint_free(old->mask);
    glint_free(old);
}

static bool is_reasoning(const struct glint_constraint *c, size_t i_place) {
    const struct glint_node *node = &c->grammar.nodes[c->places.data[i_place].node];
    return node->kind == GLINT_NODE_LEX && node->flags & GLINT_LEX_REASONING;
}

static void apply_budget(struct glint_constraint *c, const struct state *state) {
    c->matcher.no_self = c->has_budget && state->n_reasoning >= c->budget;
}

// With the budget used up, what is left of reasoning is its end.
static void drop_reasoning(struct glint_constraint *c, size_t begin) {
    size_t n = begin;
    for (size_t i = begin; i < c->places.n; i++)
        if (!c->matcher.no_self || !is_reasoning(c, i))
            c->places.data[n++] = c->places.data[i];
    c->places.n = n;
}

enum glint_status glint_constraint_init(struct glint_constraint **constraint,
                                        struct glint_mask_space *space,
                                        const struct glint_constraint_rules *rules,
                                        struct glint_error *err) {
    struct glint_constraint *c = glint_alloc(1, sizeof *c);
    *constraint = NULL;
    if (!c) {
        glint_grammar_fini(rules->grammar);
        return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
    }
    c->grammar = *rules->grammar;
    *rules->grammar = (struct glint_grammar){.n_nodes = 0};
    c->has_budget = rules->has_budget;
    c->budget = rules->budget;
    c->mask = glint_alloc(space->n_words, sizeof *c->mask);
    enum glint_status status = c->mask ? GLINT_OK : GLINT_E_NOMEM;
    if (status == GLINT_OK)
        status = glint_matcher_init(&c->matcher, &c->grammar, err);
    if (status == GLINT_OK)
        status = glint_mask_walk_init(&c->walk, space, err);
    if (status == GLINT_OK) {
        c->n_states = 1;
        apply_budget(c, &c->states[0]);
        glint_matcher_start(&c->matcher, c->grammar.root, &c->places);
        drop_reasoning(c, 0);
        status = c->matcher.failed ? GLINT_E_NOMEM : GLINT_OK;
    }
    *constraint = c;
    if (status == GLINT_OK)
        return status;
    glint_constraint_close(constraint);
    return glint_fail(err, status, "constraint: no memory");
}

static unsigned symbol_of(const struct glint_vocab *vocab, int32_t id) {
    const struct glint_dialect *dialect = glint_vocab_dialect(vocab);
    if (id < 0)
        return 0;
    if (id == dialect->message)
        return GLINT_SYMBOL_MESSAGE;
    if (id == dialect->start)
        return GLINT_SYMBOL_START;
    if (id == dialect->eom)
        return GLINT_SYMBOL_EOM;
    if (id == dialect->eot || id == dialect->end_of_text || glint_vocab_is_stop(vocab, id))
        return GLINT_SYMBOL_END;
    return 0;
}

// Appends the set behind the present one over a token; *reasoning: it was a piece of reasoning.
static void step_token(struct glint_constraint *c, int32_t id, bool *reasoning) {
    const struct glint_vocab *vocab = c->walk.space->vocab;
    size_t begin = c->states[c->n_states - 1].begin, end = c->places.n;
    unsigned symbol = symbol_of(vocab, id);
    *reasoning = false;
    if (symbol != 0) {
        glint_matcher_symbol(&c->matcher, begin, end, symbol, &c->places);
        return;
    }
    if (glint_vocab_is_special(vocab, id))
        return;
    struct glint_view bytes = glint_vocab_bytes(vocab, id);
    for (size_t i = begin; i < end; i++)
        *reasoning = *reasoning || is_reasoning(c, i);
    size_t from = begin, to = end;
    for (size_t i = 0; i < bytes.n && to > from; i++) {
        glint_matcher_step(&c->matcher, from, to, (uint8_t)bytes.data[i], &c->places);
        from = to;
        to = c->places.n;
    }
    memmove(c->places.data + end, c->places.data + from, (to - from) * sizeof *c->places.data);
    c->places.n = bytes.n > 0 ? end + (to - from) : end;
}

// Forgets the oldest states.
static void forget(struct glint_constraint *c) {
    size_t n = c->n_states - GLINT_CONSTRAINT_MAX_REWIND - 1;
    size_t begin = c->states[n].begin;
    memmove(c->places.data, c->places.data + begin, (c->places.n - begin) * sizeof *c->places.data);
    c->places.n -= begin;
    c->n_states -= n;
    for (size_t i = 0; i < c->n_states; i++) {
        c->states[i] = c->states[i + n];
        c->states[i].begin -= begin;
    }
}

enum glint_status glint_constraint_accept(struct glint_constraint *constraint, int32_t id,
                                          struct glint_error *err) {
    struct glint_constraint *c = constraint;
    if (c->n_states == MAX_STATES)
        forget(c);
    size_t end = c->places.n;
    struct state next = {end, c->states[c->n_states - 1].n_reasoning};
    bool reasoning;
    step_token(c, id, &reasoning);
    next.n_reasoning += reasoning;
    apply_budget(c, &next);
    drop_reasoning(c, end);
    if (c->matcher.failed || c->places.n == end) {
        c->places.n = end;
        apply_budget(c, &c->states[c->n_states - 1]);
        if (c->matcher.failed)
            return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
        return glint_fail(err, GLINT_E_ARG, "token %d: the constraint does not allow it here", id);
    }
    c->states[c->n_states++] = next;
    c->has_mask = false;
    return GLINT_OK;
}

enum glint_status glint_constraint_rewind(struct glint_constraint *constraint, size_t n,
                                          struct glint_error *err) {
    struct glint_constraint *c = constraint;
    if (n >= c->n_states)
        return glint_fail(err, GLINT_E_ARG,
                          "constraint: cannot take back %zu tokens, expected at most %zu", n,
                          c->n_states - 1);
    if (n == 0)
        return GLINT_OK;
    c->places.n = c->states[c->n_states - n].begin;
    c->n_states -= n;
    c->has_mask = false;
    apply_budget(c, &c->states[c->n_states - 1]);
    return GLINT_OK;
}

enum glint_status glint_constraint_mask(struct glint_constraint *constraint, const uint32_t **mask,
                                        struct glint_error *err) {
    struct glint_constraint *c = constraint;
    if (!c->has_mask) {
        enum glint_status status = glint_mask_fill(&c->walk, &c->matcher, &c->places,
                                                   c->states[c->n_states - 1].begin, c->mask);
        if (status != GLINT_OK)
            return glint_fail(err, status, "constraint: no memory");
    }
    c->has_mask = true;
    *mask = c->mask;
    return GLINT_OK;
}

bool glint_constraint_is_done(const struct glint_constraint *constraint) {
    const struct glint_constraint *c = constraint;
    for (size_t i = c->states[c->n_states - 1].begin; i < c->places.n; i++)
        if (c->grammar.nodes[c->places.data[i].node].kind == GLINT_NODE_STOP)
            return true;
    return false;
}
