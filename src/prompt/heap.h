// SPDX-License-Identifier: Apache-2.0
// heap.h — memory of one rendering: values, text and spans, all released together.
// Three chains of blocks so that the newest text or list can grow where it stands: adding
// to it again and again, as templates do, then costs what was added and not what is there.
// Invariant: held_bytes <= max_bytes; nothing handed out moves.
#ifndef GLINT_PROMPT_HEAP_H
#define GLINT_PROMPT_HEAP_H

#include <stdbool.h>
#include <stddef.h>

enum glint_heap_chain { GLINT_HEAP_OBJECTS, GLINT_HEAP_BYTES, GLINT_HEAP_ITEMS, GLINT_HEAP_N };

struct glint_heap_block;

struct glint_heap {   // all-zero is a valid empty heap
    size_t max_bytes; // 0: 1 GiB
    size_t held_bytes;
    bool failed; // a request went past max_bytes or memory ran out
    struct glint_heap_block *newest[GLINT_HEAP_N];
};

void glint_heap_fini(struct glint_heap *heap);
// Zeroed memory, aligned to 16 in OBJECTS and ITEMS; NULL (and failed) when it does not fit.
// A zero size gives a valid pointer.
void *glint_heap_take(struct glint_heap *heap, enum glint_heap_chain chain, size_t count,
                      size_t size);
// Room for more bytes directly behind `end`, if `end` is where the chain stands; else NULL.
void *glint_heap_extend(struct glint_heap *heap, enum glint_heap_chain chain, const void *end,
                        size_t bytes);

#endif
