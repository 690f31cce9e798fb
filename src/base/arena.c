// SPDX-License-Identifier: Apache-2.0
// arena.c — bump allocation; sizes are rounded up so that every block starts at 64 bytes.
#include "base/arena.h"

#include "base/alloc.h"

enum { ALIGNMENT = 64 };

enum glint_status glint_arena_init(struct glint_arena *arena, size_t capacity,
                                   struct glint_error *err) {
    *arena = (struct glint_arena){.base = NULL};
    arena->base = glint_alloc(capacity, 1);
    if (!arena->base)
        return glint_fail(err, GLINT_E_NOMEM, "arena: %zu bytes are not available", capacity);
    arena->capacity = capacity;
    return GLINT_OK;
}

void glint_arena_fini(struct glint_arena *arena) {
    glint_free(arena->base);
    *arena = (struct glint_arena){.base = NULL};
}

void *glint_arena_take(struct glint_arena *arena, size_t count, size_t size) {
    size_t room = arena->capacity - arena->used;
    if (!arena->base || (size != 0 && count > room / size))
        return NULL;
    char *block = arena->base + arena->used;
    size_t bytes = count * size;
    size_t padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    arena->used += padded < room ? padded : room; // the last block needs no padding
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    return block;
}

size_t glint_arena_mark(const struct glint_arena *arena) {
    return arena->used;
}

void glint_arena_reset(struct glint_arena *arena, size_t mark) {
    GLINT_ASSERT(mark <= arena->used);
    arena->used = mark;
}
