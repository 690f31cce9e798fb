// SPDX-License-Identifier: Apache-2.0
// alloc.h — the one place that takes memory from the system.
// Products are checked for overflow, blocks are aligned to 64 bytes, allocations are counted,
// and tests can make the n-th one fail or forbid them altogether inside a step.
#ifndef GLINT_BASE_ALLOC_H
#define GLINT_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

// count * size bytes, zeroed, 64-byte aligned; NULL when out of memory or the product overflows.
// A zero product gives a valid block.
void *glint_alloc(size_t count, size_t size);
// Grows or shrinks a block of glint_alloc (or NULL), keeping min(old, new) bytes; the new part
// is not zeroed. On NULL the old block is still valid.
void *glint_realloc(void *block, size_t count, size_t size);
void glint_free(void *block); // accepts NULL
// Copy of n bytes plus a terminating zero byte; NULL when out of memory.
char *glint_strndup(const char *text, size_t n);

// Blocks and bytes now held.
size_t glint_alloc_live_blocks(void);
size_t glint_alloc_live_bytes(void);

// Tests: the n-th allocation from now (1 = the next) fails, later ones succeed; 0 switches off.
// Returns what was left of the former order: 0 when it has struck or none was given.
uint64_t glint_alloc_fail_at(uint64_t n);
// Tests: between begin and end on this thread every allocation aborts the program.
void glint_alloc_forbid_begin(void);
void glint_alloc_forbid_end(void);

#endif
