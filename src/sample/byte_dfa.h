// SPDX-License-Identifier: Apache-2.0
// byte_dfa.h — deterministic automata over bytes, many in one store.
// A lexeme of a grammar (a literal, a number, the inside of a string) is one start state in the
// store. From every state some accepting state can be reached: what cannot is cut off while
// building, so whoever follows the edges never gets stuck.
#ifndef GLINT_SAMPLE_BYTE_DFA_H
#define GLINT_SAMPLE_BYTE_DFA_H

#include "base/buffer.h"
#include "base/status.h"

enum {
    GLINT_DFA_ACCEPT = 1,   // the lexeme may end here
    GLINT_DFA_BOUNDARY = 2, // between two characters: entering it counts one
    GLINT_DFA_WIDE = 4,     // many bytes lead on: its tokens are worth a table
};
#define GLINT_DFA_NONE UINT32_MAX
enum { GLINT_DFA_MAX_STATES = 20000 }; // of one machine

struct glint_dfa_edge {
    uint32_t target;
    uint8_t low, high; // bytes, both included
};

struct glint_dfa_state {
    uint32_t first_edge;
    uint16_t n_edges; // in ascending order of bytes
    uint16_t flags;
};

struct glint_dfa { // all-zero is a valid empty store
    struct glint_dfa_state *states;
    struct glint_dfa_edge *edges;
    size_t n_states, n_edges, state_capacity, edge_capacity;
    bool failed; // out of memory
};

void glint_dfa_fini(struct glint_dfa *dfa);

// The state that a byte leads to, or GLINT_DFA_NONE.
static inline uint32_t glint_dfa_step(const struct glint_dfa *dfa, uint32_t state, uint8_t byte) {
    const struct glint_dfa_state *s = &dfa->states[state];
    const struct glint_dfa_edge *edge = dfa->edges + s->first_edge;
    for (uint16_t i = 0; i < s->n_edges; i++)
        if (byte <= edge[i].high)
            return byte >= edge[i].low ? edge[i].target : GLINT_DFA_NONE;
    return GLINT_DFA_NONE;
}

void glint_dfa_sort(struct glint_view *words, size_t n); // by bytes

// The builders return the start state. Running out of memory sets dfa->failed.
uint32_t glint_dfa_literal(struct glint_dfa *dfa, struct glint_view text);
// Any of the words [n], n >= 1; sorts them. An empty word makes the start state accept.
uint32_t glint_dfa_words(struct glint_dfa *dfa, struct glint_view *words, size_t n);

// A copy of a state that none of these bytes leave.
uint32_t glint_dfa_without_first(struct glint_dfa *dfa, uint32_t state, const char *bytes);

// A deterministic machine given by its step function, over states that are 64-bit words.
struct glint_machine {
    void *context;
    uint64_t start;
    uint64_t (*step)(void *context, uint64_t state, uint8_t byte); // GLINT_MACHINE_DEAD: none
    unsigned (*flags)(void *context, uint64_t state);              // GLINT_DFA_ACCEPT, BOUNDARY
    const char *alphabet;                                          // NULL: all bytes
    const bool *begins; // [256] false: a byte leads where the one before it does; NULL: all true
};
#define GLINT_MACHINE_DEAD UINT64_MAX

enum glint_machine_fit {
    GLINT_MACHINE_FITS,
    GLINT_MACHINE_EMPTY, // accepts nothing
    GLINT_MACHINE_LARGE, // over GLINT_DFA_MAX_STATES
};
// *start is set when it fits.
enum glint_machine_fit glint_dfa_build(struct glint_dfa *dfa, const struct glint_machine *machine,
                                       uint32_t *start);

#endif
