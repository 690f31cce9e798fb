// SPDX-License-Identifier: Apache-2.0
// grammar.h — what a constrained output may look like: lexemes (automata over bytes) joined by
// nodes, with calls for what nests.
// A value is a CHOICE that ends in RETURN; using one is a CALL. Objects and arrays are nodes of
// their own: which members were written and how many items there are is kept on the call stack,
// so that members come in any order and counts cost nothing. Special tokens are SYMBOLs.
// A lexeme that takes almost any byte and may end without a closing byte (raw text, whose
// accepting states are boundaries) is followed by "<" alone: token tables rely on it.
// The grammar is plain data; matcher.h walks it.
#ifndef GLINT_SAMPLE_GRAMMAR_H
#define GLINT_SAMPLE_GRAMMAR_H

#include "sample/byte_dfa.h"

#define GLINT_NODE_NONE UINT32_MAX
#define GLINT_NO_LIMIT  UINT32_MAX

enum {
    GLINT_GRAMMAR_MAX_NESTING = 100, // calls inside each other
    GLINT_GRAMMAR_MAX_MEMBERS = 500, // of one object
    GLINT_GRAMMAR_MAX_NODES = 1000000,
};
enum { GLINT_HEIGHT_NONE = UINT16_MAX }; // no finite value

enum glint_symbol { // special tokens, as bits
    GLINT_SYMBOL_MESSAGE = 1,
    GLINT_SYMBOL_START = 2,
    GLINT_SYMBOL_EOM = 4,
    GLINT_SYMBOL_END = 8, // every token that ends the turn
};

enum glint_node_kind {
    GLINT_NODE_LEX,     // target: start state; then next
    GLINT_NODE_CALL,    // target: a CHOICE; then next
    GLINT_NODE_CHOICE,  // links [target, target + n): one of them
    GLINT_NODE_RETURN,  // behind the call
    GLINT_NODE_MEMBERS, // target: object
    GLINT_NODE_ITEMS,   // target: array
    GLINT_NODE_SYMBOL,  // target: enum glint_symbol; then next
    GLINT_NODE_STOP,    // all is said
};
// Of MEMBERS and ITEMS: what may stand there.
enum glint_node_part {
    GLINT_PART_FIRST, // a member, or the end
    GLINT_PART_NEXT,  // a member, after a comma
    GLINT_PART_AFTER, // a comma, or the end
};
enum {                       // of LEX
    GLINT_LEX_REASONING = 1, // the body of a message to self
    GLINT_LEX_TO_SELF = 2,   // a header that begins one
};

struct glint_node {
    uint8_t kind, part, flags;
    uint16_t height; // of CHOICE: calls that its shallowest value nests
    uint32_t target, n;
    uint32_t next;
    uint32_t least, most; // of LEX: characters; 0 and GLINT_NO_LIMIT when not counted
};

struct glint_link { // an alternative of a CHOICE
    uint32_t node;
    uint32_t object, array; // what it is, or GLINT_NODE_NONE: for its height
    uint16_t height;
};

struct glint_member {
    uint32_t key;   // node that spells the key and goes on to call the value
    uint32_t value; // CHOICE
    bool required;
};
struct glint_object {
    uint32_t first_member, n_members;
    uint32_t n_required;
    uint32_t other;       // as a member's key, for keys that are not listed; or NONE
    uint32_t other_value; // CHOICE
    uint32_t least, most; // members
    uint32_t comma, close_first, close_after; // nodes; comma NONE: members need none
};
struct glint_array {
    uint32_t first_item, n_items; // calls of values of the first items, in grammar->items
    uint32_t rest;                // of all others; NONE: there are none
    uint32_t least, most;
    uint32_t comma, close_first, close_after;
};

struct glint_grammar { // all-zero is a valid empty one
    struct glint_dfa dfa;
    struct glint_node *nodes;
    struct glint_link *links;
    struct glint_member *members;
    struct glint_object *objects;
    struct glint_array *arrays;
    uint32_t *items;
    uint32_t n_nodes, n_links, n_members, n_objects, n_arrays, n_items;
    uint32_t node_capacity, link_capacity, member_capacity, object_capacity, array_capacity,
        item_capacity;
    // Lexemes that every grammar has, at the front of the store and the same in each: tables about
    // them can be shared.
    uint32_t any, json_text, json_text_closed, raw_text;
    uint32_t n_shared; // states of those
    uint32_t root;     // node where the output begins
    bool failed;       // out of memory, or too many nodes
};

// The shared lexemes. GLINT_E_NOMEM.
enum glint_status glint_grammar_init(struct glint_grammar *grammar, struct glint_error *err);
void glint_grammar_fini(struct glint_grammar *grammar);

// Each returns the index of what it added. Failures are the grammar's.
uint32_t glint_grammar_add(struct glint_grammar *grammar, struct glint_node node);
uint32_t glint_grammar_lex(struct glint_grammar *grammar, uint32_t start, uint32_t next);
uint32_t glint_grammar_text(struct glint_grammar *grammar, const char *text, uint32_t next);
uint32_t glint_grammar_call(struct glint_grammar *grammar, uint32_t choice, uint32_t next);
uint32_t glint_grammar_symbol(struct glint_grammar *grammar, unsigned symbol, uint32_t next);
// The links are the caller's, copied behind one another.
void glint_grammar_set_choice(struct glint_grammar *grammar, uint32_t choice,
                              const struct glint_link *links, uint32_t n);
uint32_t glint_grammar_add_member(struct glint_grammar *grammar, struct glint_member member);
uint32_t glint_grammar_add_item(struct glint_grammar *grammar, uint32_t call);
uint32_t glint_grammar_add_object(struct glint_grammar *grammar, struct glint_object object);
uint32_t glint_grammar_add_array(struct glint_grammar *grammar, struct glint_array array);

// Fills in heights, once everything is there. Then a CHOICE of GLINT_HEIGHT_NONE, or above
// GLINT_GRAMMAR_MAX_NESTING, has no value that could be written.
void glint_grammar_measure(struct glint_grammar *grammar);

#endif
