// SPDX-License-Identifier: Apache-2.0
// alloc.c — blocks with a 64-byte header in front that remembers their size and origin.
// Owns the only mutable globals of the library: how much is held, and what tests ordered. They
// belong to the process, not to an engine, because every folder allocates, before any engine
// exists. All of them are plain counts, so relaxed atomics suffice: nothing else is published
// through them.
#include "base/alloc.h"

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GLINT_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define GLINT_ASAN 1
#endif

enum { ALIGNMENT = 64 };

// From here on blocks come from calloc, whose large blocks are fresh pages of the system: a cache
// of gigabytes costs memory only where it is used. Up to 63 bytes are lost to alignment, which
// would hide short overruns, so the address sanitizer gets exact blocks at any size.
#ifdef GLINT_ASAN
#define LAZY_BYTES SIZE_MAX
#else
#define LAZY_BYTES ((size_t)1 << 18)
#endif

struct header {
    void *origin; // what the system gave
    size_t bytes; // what the caller asked for
};
_Static_assert(sizeof(struct header) <= ALIGNMENT, "the header fits in front of a block");

static atomic_size_t live_blocks;
static atomic_size_t live_bytes;
static _Atomic uint64_t fail_countdown; // 0: off
static _Thread_local int n_forbid;      // depth of forbid_begin on this thread

static struct header *header_of(void *block) {
    return (struct header *)(void *)((char *)block - ALIGNMENT);
}

// True when a test ordered this allocation to fail.
static bool must_fail(void) {
    uint64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (left != 0 &&
           !atomic_compare_exchange_weak_explicit(&fail_countdown, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return left == 1;
}

// A block whose bytes are zero only if `zero` is set.
static void *take(size_t count, size_t size, bool zero) {
    if (n_forbid > 0)
        glint_abort(__FILE__, __LINE__, "no allocation inside a step");
    if (must_fail())
        return NULL;
    if (size != 0 && count > (SIZE_MAX / 2 - 2 * ALIGNMENT) / size)
        return NULL;
    size_t bytes = count * size;
    char *origin;
    char *block;
    if (bytes < LAZY_BYTES) {
        void *exact = NULL;
        if (posix_memalign(&exact, ALIGNMENT, ALIGNMENT + bytes) != 0)
            return NULL;
        origin = exact;
        block = origin + ALIGNMENT;
        if (zero)
            memset(block, 0, bytes);
    } else {
        origin = calloc(1, bytes + 2 * ALIGNMENT);
        if (!origin)
            return NULL;
        block = origin + 2 * ALIGNMENT - (uintptr_t)origin % ALIGNMENT;
    }
    *header_of(block) = (struct header){.origin = origin, .bytes = bytes};
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, bytes, memory_order_relaxed);
    return block;
}

void *glint_alloc(size_t count, size_t size) {
    return take(count, size, true);
}

void *glint_realloc(void *block, size_t count, size_t size) {
    void *grown = take(count, size, false);
    if (!grown || !block)
        return grown;
    size_t before = header_of(block)->bytes;
    size_t after = header_of(grown)->bytes;
    memcpy(grown, block, before < after ? before : after);
    glint_free(block);
    return grown;
}

void glint_free(void *block) {
    if (!block)
        return;
    struct header *header = header_of(block);
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&live_bytes, header->bytes, memory_order_relaxed);
    free(header->origin);
}

char *glint_strndup(const char *text, size_t n) {
    if (n == SIZE_MAX)
        return NULL;
    char *copy = take(n + 1, 1, false);
    if (!copy)
        return NULL;
    if (n != 0)
        memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

size_t glint_alloc_live_blocks(void) {
    return atomic_load_explicit(&live_blocks, memory_order_relaxed);
}

size_t glint_alloc_live_bytes(void) {
    return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

uint64_t glint_alloc_fail_at(uint64_t n) {
    return atomic_exchange_explicit(&fail_countdown, n, memory_order_relaxed);
}

void glint_alloc_forbid_begin(void) {
    n_forbid++;
}

void glint_alloc_forbid_end(void) {
    GLINT_ASSERT(n_forbid > 0);
    n_forbid--;
}
