// SPDX-License-Identifier: Apache-2.0
// nfa_set.h — a nondeterministic automaton over bytes, and its sets of nodes as states of a
// deterministic one, made as they are met. Sets are interned: equal sets have one number.
#ifndef GLINT_SAMPLE_NFA_SET_H
#define GLINT_SAMPLE_NFA_SET_H

#include "base/buffer.h"
#include "base/status.h"

enum glint_nfa_kind {
    GLINT_NFA_SPLIT,
    GLINT_NFA_BYTES,
    GLINT_NFA_BEGIN, // passed before the first byte only
    GLINT_NFA_END,   // passed after the last byte only
    GLINT_NFA_ACCEPT,
};

struct glint_nfa_node {
    uint8_t kind, low, high; // BYTES: low to high
    bool inner;              // BYTES: not the first of a character
    uint32_t out, out2;      // UINT32_MAX: nowhere; out2: of SPLIT
};

struct glint_nfa { // all-zero is a valid empty one
    struct glint_nfa_node *nodes;
    uint32_t n, capacity, first;
    uint32_t *members; // of all sets, ascending within one
    uint32_t *begins;  // [n_sets + 1] into members
    uint32_t n_sets, set_capacity, member_capacity;
    uint32_t *slots; // hash table: set + 1
    uint32_t n_slots;
    uint32_t *marks; // [n] generation in which a node was seen
    uint32_t *stack; // [2 n + 2]
    uint32_t generation;
    uint64_t n_work; // nodes looked at so far
    bool exhausted;  // that was too much: every step is NONE from here on
    bool failed;     // out of memory
};
void glint_nfa_fini(struct glint_nfa *nfa);
// After the nodes are there.
enum glint_status glint_nfa_prepare(struct glint_nfa *nfa);

// UINT32_MAX: no set (or failed).
uint32_t glint_nfa_start(struct glint_nfa *nfa);
uint32_t glint_nfa_step(struct glint_nfa *nfa, uint32_t set, uint8_t byte);
// The text may end here.
bool glint_nfa_accepts(struct glint_nfa *nfa, uint32_t set);
bool glint_nfa_is_boundary(const struct glint_nfa *nfa, uint32_t set); // between characters

#endif
