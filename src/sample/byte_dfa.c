// SPDX-License-Identifier: Apache-2.0
// byte_dfa.c — the store of automata, and building one from words or from a step function.
#include "sample/byte_dfa.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE_BYTES = 16 };

void glint_dfa_fini(struct glint_dfa *dfa) {
    glint_free(dfa->states);
    glint_free(dfa->edges);
    *dfa = (struct glint_dfa){.n_states = 0};
}

static bool grow(void **block, size_t *capacity, size_t wanted, size_t size) {
    if (wanted <= *capacity)
        return true;
    size_t larger = wanted > 2 * *capacity ? wanted + 64 : 2 * *capacity;
    void *grown = glint_realloc(*block, larger, size);
    if (!grown)
        return false;
    *block = grown;
    *capacity = larger;
    return true;
}

// Room for more states and edges. States and targets are 32-bit.
static bool reserve(struct glint_dfa *dfa, size_t n_states, size_t n_edges) {
    void *states = dfa->states, *edges = dfa->edges;
    bool ok = dfa->n_states + n_states < GLINT_DFA_NONE &&
              grow(&states, &dfa->state_capacity, dfa->n_states + n_states, sizeof *dfa->states);
    dfa->states = states;
    ok = ok && dfa->n_edges + n_edges < UINT32_MAX &&
         grow(&edges, &dfa->edge_capacity, dfa->n_edges + n_edges, sizeof *dfa->edges);
    dfa->edges = edges;
    dfa->failed = dfa->failed || !ok;
    return ok;
}

// ---- words ------------------------------------------------------------------------------------

static int compare_views(const void *a, const void *b) {
    const struct glint_view *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->data, y->data, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

void glint_dfa_sort(struct glint_view *words, size_t n) {
    if (n > 1)
        qsort(words, n, sizeof *words, compare_views);
}

struct word_range { // words that share their first `depth` bytes
    size_t begin, end, depth;
    uint32_t state;
};

// Adds the state of a range and queues the ranges its edges lead to.
static void add_word_state(struct glint_dfa *dfa, const struct glint_view *words,
                           const struct word_range *range, struct word_range *queue,
                           size_t *n_queue) {
    struct glint_dfa_state *state = &dfa->states[range->state];
    size_t at = range->begin;
    *state = (struct glint_dfa_state){.first_edge = (uint32_t)dfa->n_edges};
    for (; at < range->end && words[at].n == range->depth; at++)
        state->flags |= GLINT_DFA_ACCEPT;
    while (at < range->end) {
        char byte = words[at].data[range->depth];
        size_t end = at + 1;
        while (end < range->end && words[end].data[range->depth] == byte)
            end++;
        uint32_t target = (uint32_t)dfa->n_states++;
        dfa->edges[dfa->n_edges++] = (struct glint_dfa_edge){target, (uint8_t)byte, (uint8_t)byte};
        state->n_edges++;
        queue[(*n_queue)++] = (struct word_range){at, end, range->depth + 1, target};
        at = end;
    }
}

uint32_t glint_dfa_words(struct glint_dfa *dfa, struct glint_view *words, size_t n) {
    size_t n_bytes = 0, n_queue = 1;
    for (size_t i = 0; i < n; i++)
        n_bytes += words[i].n;
    struct word_range *queue = glint_alloc(n_bytes + 1, sizeof *queue);
    uint32_t start = (uint32_t)dfa->n_states;
    if (!queue || !reserve(dfa, n_bytes + 1, n_bytes)) {
        dfa->failed = true;
        glint_free(queue);
        return GLINT_DFA_NONE;
    }
    glint_dfa_sort(words, n);
    dfa->n_states++;
    queue[0] = (struct word_range){0, n, 0, start};
    for (size_t i = 0; i < n_queue; i++)
        add_word_state(dfa, words, &queue[i], queue, &n_queue);
    glint_free(queue);
    return start;
}

uint32_t glint_dfa_literal(struct glint_dfa *dfa, struct glint_view text) {
    return glint_dfa_words(dfa, &text, 1);
}

uint32_t glint_dfa_without_first(struct glint_dfa *dfa, uint32_t state, const char *bytes) {
    struct glint_dfa_state made = {.first_edge = (uint32_t)dfa->n_edges};
    unsigned n_bytes = 0;
    if (dfa->failed || !reserve(dfa, 1, 256))
        return GLINT_DFA_NONE;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t target = glint_dfa_step(dfa, state, (uint8_t)byte);
        struct glint_dfa_edge *last = made.n_edges ? &dfa->edges[dfa->n_edges - 1] : NULL;
        if (target == GLINT_DFA_NONE || (byte != 0 && strchr(bytes, (int)byte)))
            continue;
        n_bytes++;
        if (last && last->target == target && last->high + 1u == byte) {
            last->high = (uint8_t)byte;
            continue;
        }
        dfa->edges[dfa->n_edges++] = (struct glint_dfa_edge){target, (uint8_t)byte, (uint8_t)byte};
        made.n_edges++;
    }
    made.flags = (uint16_t)(dfa->states[state].flags & ~(unsigned)GLINT_DFA_WIDE);
    made.flags = (uint16_t)(made.flags | (n_bytes > WIDE_BYTES ? GLINT_DFA_WIDE : 0));
    dfa->states[dfa->n_states] = made;
    return (uint32_t)dfa->n_states++;
}

// ---- machines ---------------------------------------------------------------------------------

struct build {
    const struct glint_machine *machine;
    struct glint_dfa made; // every state that is reached, untrimmed
    uint64_t *keys;        // [made.n_states] the machine's states, in the order found
    size_t key_capacity;
    uint32_t *slots; // hash table: index + 1
    size_t n_slots;
    bool large;
};

static size_t slot_of(const struct build *b, uint64_t key) {
    size_t at = (size_t)((key ^ key >> 31) * 0x9e3779b97f4a7c15u >> 20) & (b->n_slots - 1);
    while (b->slots[at] != 0 && b->keys[b->slots[at] - 1] != key)
        at = (at + 1) & (b->n_slots - 1);
    return at;
}

static bool rehash(struct build *b) {
    uint32_t *slots = glint_alloc(b->n_slots ? 2 * b->n_slots : 256, sizeof *slots);
    if (!slots)
        return false;
    glint_free(b->slots);
    b->slots = slots;
    b->n_slots = b->n_slots ? 2 * b->n_slots : 256;
    for (size_t i = 0; i < b->made.n_states; i++)
        b->slots[slot_of(b, b->keys[i])] = (uint32_t)i + 1;
    return true;
}

// Index of the machine's state, added when new; GLINT_DFA_NONE on failure.
static uint32_t find_or_add(struct build *b, uint64_t key) {
    size_t at = b->n_slots ? slot_of(b, key) : 0;
    if (b->n_slots && b->slots[at] != 0)
        return b->slots[at] - 1;
    b->large = b->large || b->made.n_states >= GLINT_DFA_MAX_STATES;
    void *keys = b->keys;
    bool ok = !b->large && reserve(&b->made, 1, 0) &&
              grow(&keys, &b->key_capacity, b->made.n_states + 1, sizeof *b->keys);
    b->keys = keys;
    if (ok && 2 * (b->made.n_states + 1) > b->n_slots) {
        ok = rehash(b);
        at = ok ? slot_of(b, key) : 0;
    }
    if (!ok) {
        b->made.failed = b->made.failed || !b->large;
        return GLINT_DFA_NONE;
    }
    uint32_t index = (uint32_t)b->made.n_states++;
    b->keys[index] = key;
    b->slots[at] = index + 1;
    return index;
}

static void add_edge(struct build *b, size_t i_state, uint8_t byte, uint32_t target) {
    struct glint_dfa_state *state = &b->made.states[i_state];
    if (state->n_edges > 0) {
        struct glint_dfa_edge *last = &b->made.edges[b->made.n_edges - 1];
        if (last->target == target && last->high + 1 == byte) {
            last->high = byte;
            return;
        }
    }
    if (!reserve(&b->made, 0, 1))
        return;
    b->made.edges[b->made.n_edges++] = (struct glint_dfa_edge){target, byte, byte};
    state->n_edges++;
}

static bool in_alphabet(const struct glint_machine *machine, int byte) {
    return !machine->alphabet || (byte != 0 && strchr(machine->alphabet, byte) != NULL);
}

static void explore(struct build *b) {
    const struct glint_machine *machine = b->machine;
    bool used[256];
    for (int byte = 0; byte < 256; byte++)
        used[byte] = in_alphabet(machine, byte);
    find_or_add(b, machine->start);
    for (size_t i = 0; i < b->made.n_states && !b->made.failed && !b->large; i++) {
        uint64_t key = b->keys[i];
        b->made.states[i] =
            (struct glint_dfa_state){.first_edge = (uint32_t)b->made.n_edges,
                                     .flags = (uint16_t)machine->flags(machine->context, key)};
        uint32_t target = GLINT_DFA_NONE;
        for (int byte = 0; byte < 256; byte++) {
            if (byte == 0 || !machine->begins || machine->begins[byte]) {
                uint64_t next = used[byte] ? machine->step(machine->context, key, (uint8_t)byte)
                                           : GLINT_MACHINE_DEAD;
                target = next == GLINT_MACHINE_DEAD ? GLINT_DFA_NONE : find_or_add(b, next);
            }
            if (target != GLINT_DFA_NONE)
                add_edge(b, i, (uint8_t)byte, target);
        }
    }
}

// live[i]: an accepting state can be reached. Edges mostly lead to later states, so going
// backwards few passes are needed.
static void find_live(const struct glint_dfa *dfa, bool *live) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = dfa->n_states; i-- > 0;) {
            const struct glint_dfa_state *state = &dfa->states[i];
            bool now = (state->flags & GLINT_DFA_ACCEPT) != 0;
            for (uint16_t e = 0; !live[i] && !now && e < state->n_edges; e++)
                now = live[dfa->edges[state->first_edge + e].target];
            if (now && !live[i])
                changed = live[i] = true;
        }
    }
}

// Copies the live part of `made` to the end of dfa; map: [n] scratch.
static void append_live(struct glint_dfa *dfa, const struct glint_dfa *made, const bool *live,
                        uint32_t *map) {
    if (!reserve(dfa, made->n_states, made->n_edges))
        return;
    uint32_t n = (uint32_t)dfa->n_states;
    for (size_t i = 0; i < made->n_states; i++)
        map[i] = live[i] ? n++ : GLINT_DFA_NONE;
    for (size_t i = 0; i < made->n_states; i++) {
        if (!live[i])
            continue;
        struct glint_dfa_state state = made->states[i];
        const struct glint_dfa_edge *edges = made->edges + state.first_edge;
        unsigned n_bytes = 0;
        uint16_t n_kept = 0;
        uint32_t first = (uint32_t)dfa->n_edges;
        for (uint16_t e = 0; e < state.n_edges; e++) {
            if (!live[edges[e].target])
                continue;
            dfa->edges[dfa->n_edges++] =
                (struct glint_dfa_edge){map[edges[e].target], edges[e].low, edges[e].high};
            n_bytes += edges[e].high - edges[e].low + 1u;
            n_kept++;
        }
        uint16_t flags = (uint16_t)(state.flags | (n_bytes > WIDE_BYTES ? GLINT_DFA_WIDE : 0));
        dfa->states[dfa->n_states++] = (struct glint_dfa_state){first, n_kept, flags};
    }
}

enum glint_machine_fit glint_dfa_build(struct glint_dfa *dfa, const struct glint_machine *machine,
                                       uint32_t *start) {
    struct build b = {.machine = machine};
    *start = GLINT_DFA_NONE;
    explore(&b);
    enum glint_machine_fit fit = b.large ? GLINT_MACHINE_LARGE : GLINT_MACHINE_FITS;
    if (!b.large && !b.made.failed) {
        bool *live = glint_alloc(b.made.n_states, sizeof *live);
        uint32_t *map = glint_alloc(b.made.n_states, sizeof *map);
        if (live && map) {
            find_live(&b.made, live);
            fit = live[0] ? GLINT_MACHINE_FITS : GLINT_MACHINE_EMPTY;
            *start = (uint32_t)dfa->n_states;
            if (live[0])
                append_live(dfa, &b.made, live, map);
        } else {
            dfa->failed = true;
        }
        glint_free(live);
        glint_free(map);
    }
    dfa->failed = dfa->failed || b.made.failed;
    glint_dfa_fini(&b.made);
    glint_free(b.keys);
    glint_free(b.slots);
    return fit;
}
