// SPDX-License-Identifier: Apache-2.0
// arena.h — bump allocation out of one block, released together.
// Invariant: used <= capacity; every block handed out is 64-byte aligned and zeroed at init only.
#ifndef GLINT_BASE_ARENA_H
#define GLINT_BASE_ARENA_H

#include "base/status.h"

struct glint_arena {
    char *base;      // owned, from glint_alloc
    size_t capacity; // bytes
    size_t used;     // bytes
    size_t peak;     // largest `used` so far
};

enum glint_status glint_arena_init(struct glint_arena *arena, size_t capacity,
                                   struct glint_error *err);
void glint_arena_fini(struct glint_arena *arena);
// NULL when it does not fit or the product overflows; never grows.
void *glint_arena_take(struct glint_arena *arena, size_t count, size_t size);
size_t glint_arena_mark(const struct glint_arena *arena);
void glint_arena_reset(struct glint_arena *arena, size_t mark);

#endif
