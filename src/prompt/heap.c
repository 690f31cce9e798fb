// SPDX-License-Identifier: Apache-2.0
// heap.c — blocks double in size up to a cap, so small renderings stay small.
#include "prompt/heap.h"

#include "base/alloc.h"

#include <stdint.h>

#define DEFAULT_BYTES ((size_t)1 << 30)

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 22, ALIGNMENT = 16 };

struct glint_heap_block {
    struct glint_heap_block *older;
    size_t capacity; // of data, bytes
    size_t used;
    _Alignas(ALIGNMENT) char data[];
};

void glint_heap_fini(struct glint_heap *heap) {
    for (int i = 0; i < GLINT_HEAP_N; i++) {
        while (heap->newest[i]) {
            struct glint_heap_block *older = heap->newest[i]->older;
            glint_free(heap->newest[i]);
            heap->newest[i] = older;
        }
    }
    *heap = (struct glint_heap){.max_bytes = heap->max_bytes};
}

static struct glint_heap_block *add_block(struct glint_heap *heap, enum glint_heap_chain chain,
                                          size_t bytes) {
    struct glint_heap_block *newest = heap->newest[chain];
    size_t capacity = newest ? 2 * newest->capacity : FIRST_BLOCK;
    if (capacity > LARGEST_BLOCK)
        capacity = LARGEST_BLOCK;
    size_t max_bytes = heap->max_bytes ? heap->max_bytes : DEFAULT_BYTES;
    if (capacity < bytes) // twice the need, so that a long text can grow where it stands
        capacity = bytes <= max_bytes / 4 ? 2 * bytes : bytes;
    if (heap->held_bytes > max_bytes || capacity > max_bytes - heap->held_bytes)
        return NULL;
    struct glint_heap_block *block = glint_alloc(1, sizeof *block + capacity);
    if (!block)
        return NULL;
    block->older = newest;
    block->capacity = capacity;
    heap->newest[chain] = block;
    heap->held_bytes += capacity;
    return block;
}

void *glint_heap_take(struct glint_heap *heap, enum glint_heap_chain chain, size_t count,
                      size_t size) {
    if (heap->failed || (size != 0 && count > SIZE_MAX / 2 / size)) {
        heap->failed = true;
        return NULL;
    }
    size_t bytes = count * size;
    if (chain != GLINT_HEAP_BYTES)
        bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct glint_heap_block *block = heap->newest[chain];
    if (!block || bytes > block->capacity - block->used)
        block = add_block(heap, chain, bytes);
    if (!block) {
        heap->failed = true;
        return NULL;
    }
    void *taken = block->data + block->used;
    block->used += bytes;
    return taken;
}

void *glint_heap_extend(struct glint_heap *heap, enum glint_heap_chain chain, const void *end,
                        size_t bytes) {
    struct glint_heap_block *block = heap->newest[chain];
    if (heap->failed || !block || (const char *)end != block->data + block->used ||
        bytes > block->capacity - block->used)
        return NULL;
    block->used += bytes;
    return block->data + (block->used - bytes);
}
