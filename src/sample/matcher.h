// SPDX-License-Identifier: Apache-2.0
// matcher.h — where in a grammar an output stands.
// A grammar may be at several places at once, so a state is a set of places: a node, how far its
// lexeme is, and a call stack. Stacks are shared: a frame points to the one below, and equal
// frames are one frame, so that a place is four numbers and sets can be copied and compared. Every
// place in a set can be completed; nothing ever gets stuck.
#ifndef GLINT_SAMPLE_MATCHER_H
#define GLINT_SAMPLE_MATCHER_H

#include "sample/grammar.h"

enum {
    GLINT_MATCHER_MAX_PLACES = 1024, // of one set; more are left out, which allows less
};

struct glint_place {
    uint32_t node;
    uint32_t state; // of a LEX
    uint32_t count; // characters of a LEX that counts them
    uint32_t frame;
};

struct glint_places { // a growing array
    struct glint_place *data;
    size_t n, capacity;
};

// A call, or what is known about the object or array that the call below is in.
struct glint_frame {
    uint32_t parent;
    uint32_t next;    // CALL: node behind it; else GLINT_NODE_NONE
    uint32_t member;  // mark: of the object, that was written; GLINT_NODE_NONE: another
    uint32_t n;       // mark: members or items so far
    uint16_t missing; // mark: required members that were not written
    uint16_t nesting; // calls below
};

struct glint_matcher {
    const struct glint_grammar *grammar;
    struct glint_frame *frames; // frames[0]: the empty stack
    uint32_t n_frames, frame_capacity;
    uint32_t *slots; // hash table of frames: index + 1
    uint32_t n_slots;
    uint32_t *seen; // hash table of the places of the set being built: generation and index
    uint64_t generation;
    bool no_self;     // reasoning is used up: headers that begin it are left out
    size_t set_begin; // of the set being built
    bool failed;      // out of memory
};

enum glint_status glint_matcher_init(struct glint_matcher *matcher,
                                     const struct glint_grammar *grammar, struct glint_error *err);
void glint_matcher_fini(struct glint_matcher *matcher);

// Each appends the set that follows to `out` (behind what is there, which may be the set that is
// read). No places: not allowed.
void glint_matcher_start(struct glint_matcher *matcher, uint32_t node, struct glint_places *out);
void glint_matcher_step(struct glint_matcher *matcher, size_t begin, size_t end, uint8_t byte,
                        struct glint_places *out);
void glint_matcher_symbol(struct glint_matcher *matcher, size_t begin, size_t end, unsigned symbol,
                          struct glint_places *out);
// The set behind a node that is done, for a place in it.
void glint_matcher_leave(struct glint_matcher *matcher, struct glint_place place,
                         struct glint_places *out);

bool glint_places_reserve(struct glint_places *places, size_t n);
void glint_places_fini(struct glint_places *places);

#endif
