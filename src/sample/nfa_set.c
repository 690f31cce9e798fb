// SPDX-License-Identifier: Apache-2.0
// nfa_set.c — see nfa_set.h.
#include "sample/nfa_set.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

enum { MAX_WORK = 1 << 23 };

void glint_nfa_fini(struct glint_nfa *nfa) {
    glint_free(nfa->nodes);
    glint_free(nfa->members);
    glint_free(nfa->begins);
    glint_free(nfa->slots);
    glint_free(nfa->marks);
    glint_free(nfa->stack);
    *nfa = (struct glint_nfa){.n = 0};
}

enum glint_status glint_nfa_prepare(struct glint_nfa *nfa) {
    nfa->marks = glint_alloc(nfa->n, sizeof *nfa->marks);
    nfa->stack = glint_alloc(2 * (size_t)nfa->n + 2, sizeof *nfa->stack);
    return nfa->marks && nfa->stack ? GLINT_OK : GLINT_E_NOMEM;
}

static bool reserve(struct glint_nfa *nfa, uint32_t n_members) {
    uint32_t n = nfa->n_sets ? nfa->begins[nfa->n_sets] : 0;
    if (nfa->n_sets + 2 > nfa->set_capacity) {
        uint32_t capacity = nfa->set_capacity ? 2 * nfa->set_capacity : 64;
        uint32_t *begins = glint_realloc(nfa->begins, capacity, sizeof *begins);
        uint32_t *slots = glint_alloc(2 * (size_t)capacity, sizeof *slots);
        if (begins)
            nfa->begins = begins;
        if (!begins || !slots) {
            glint_free(slots);
            return false;
        }
        nfa->begins[0] = 0;
        glint_free(nfa->slots);
        nfa->slots = slots;
        nfa->set_capacity = capacity;
        nfa->n_slots = 0; // to be filled again
    }
    if (n + n_members > nfa->member_capacity) {
        uint32_t capacity = 2 * (n + n_members) + 256;
        uint32_t *members = glint_realloc(nfa->members, capacity, sizeof *members);
        if (!members)
            return false;
        nfa->members = members;
        nfa->member_capacity = capacity;
    }
    return true;
}

static uint32_t slot_of(const struct glint_nfa *nfa, const uint32_t *members, uint32_t n) {
    uint64_t hash = n;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ members[i]) * 0x9e3779b97f4a7c15u;
    uint32_t mask = nfa->n_slots - 1;
    uint32_t at = (uint32_t)(hash >> 32) & mask;
    for (; nfa->slots[at] != 0; at = (at + 1) & mask) {
        uint32_t set = nfa->slots[at] - 1;
        uint32_t begin = nfa->begins[set], length = nfa->begins[set + 1] - begin;
        if (length == n && memcmp(nfa->members + begin, members, n * sizeof *members) == 0)
            break;
    }
    return at;
}

// The set of the n members that stand behind the last set.
static uint32_t intern(struct glint_nfa *nfa, uint32_t n) {
    if (nfa->n_slots == 0) {
        nfa->n_slots = 2 * nfa->set_capacity;
        for (uint32_t set = 0; set < nfa->n_sets; set++) {
            uint32_t begin = nfa->begins[set], length = nfa->begins[set + 1] - begin;
            nfa->slots[slot_of(nfa, nfa->members + begin, length)] = set + 1;
        }
    }
    uint32_t begin = nfa->begins[nfa->n_sets];
    uint32_t at = slot_of(nfa, nfa->members + begin, n);
    if (nfa->slots[at] == 0) {
        nfa->slots[at] = ++nfa->n_sets;
        nfa->begins[nfa->n_sets] = begin + n;
    }
    return nfa->slots[at] - 1;
}

static void push(struct glint_nfa *nfa, uint32_t *n_stack, uint32_t node) {
    if (node == NOWHERE || nfa->marks[node] == nfa->generation)
        return;
    nfa->marks[node] = nfa->generation;
    nfa->stack[(*n_stack)++] = node;
}

// Nodes reached from those on the stack without a byte go onto `out`; returns how many stay.
static uint32_t close_set(struct glint_nfa *nfa, uint32_t n_stack, uint8_t passed, uint32_t *out) {
    uint32_t n = 0;
    while (n_stack > 0) {
        uint32_t node = nfa->stack[--n_stack];
        nfa->n_work++;
        const struct glint_nfa_node *at = &nfa->nodes[node];
        if (at->kind == GLINT_NFA_SPLIT) {
            push(nfa, &n_stack, at->out);
            push(nfa, &n_stack, at->out2);
        } else if (at->kind == passed) {
            push(nfa, &n_stack, at->out);
        }
        bool stays = at->kind == GLINT_NFA_BYTES || at->kind == GLINT_NFA_ACCEPT ||
                     at->kind == GLINT_NFA_END;
        if (stays)
            out[n++] = node;
    }
    return n;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t finish(struct glint_nfa *nfa, uint32_t n_stack, uint8_t passed) {
    nfa->exhausted = nfa->exhausted || nfa->n_work > MAX_WORK;
    if (nfa->exhausted)
        return NOWHERE;
    if (!reserve(nfa, nfa->n)) {
        nfa->failed = true;
        return NOWHERE;
    }
    uint32_t *out = nfa->members + nfa->begins[nfa->n_sets];
    uint32_t n = close_set(nfa, n_stack, passed, out);
    if (n == 0)
        return NOWHERE;
    qsort(out, n, sizeof *out, ascending);
    return intern(nfa, n);
}

uint32_t glint_nfa_start(struct glint_nfa *nfa) {
    uint32_t n_stack = 0;
    nfa->generation++;
    push(nfa, &n_stack, nfa->first);
    return finish(nfa, n_stack, GLINT_NFA_BEGIN);
}

uint32_t glint_nfa_step(struct glint_nfa *nfa, uint32_t set, uint8_t byte) {
    uint32_t n_stack = 0;
    nfa->generation++;
    nfa->n_work += nfa->begins[set + 1] - nfa->begins[set];
    for (uint32_t i = nfa->begins[set]; i < nfa->begins[set + 1]; i++) {
        const struct glint_nfa_node *node = &nfa->nodes[nfa->members[i]];
        if (node->kind == GLINT_NFA_BYTES && byte >= node->low && byte <= node->high)
            push(nfa, &n_stack, node->out);
    }
    return n_stack ? finish(nfa, n_stack, GLINT_NFA_SPLIT) : NOWHERE;
}

bool glint_nfa_accepts(struct glint_nfa *nfa, uint32_t set) {
    uint32_t n_stack = 0;
    bool accepts = false;
    nfa->generation++;
    nfa->n_work += nfa->begins[set + 1] - nfa->begins[set];
    for (uint32_t i = nfa->begins[set]; i < nfa->begins[set + 1]; i++) {
        uint32_t node = nfa->members[i];
        accepts = accepts || nfa->nodes[node].kind == GLINT_NFA_ACCEPT;
        if (nfa->nodes[node].kind == GLINT_NFA_END)
            push(nfa, &n_stack, node);
    }
    while (n_stack > 0 && !accepts) {
        const struct glint_nfa_node *node = &nfa->nodes[nfa->stack[--n_stack]];
        accepts = node->kind == GLINT_NFA_ACCEPT;
        if (node->kind == GLINT_NFA_SPLIT || node->kind == GLINT_NFA_END)
            push(nfa, &n_stack, node->out);
        if (node->kind == GLINT_NFA_SPLIT)
            push(nfa, &n_stack, node->out2);
    }
    return accepts;
}

bool glint_nfa_is_boundary(const struct glint_nfa *nfa, uint32_t set) {
    return !nfa->nodes[nfa->members[nfa->begins[set]]].inner;
}
