// SPDX-License-Identifier: Apache-2.0
// available_memory.h — how much memory this process may still take without swapping.
#ifndef GLINT_BASE_AVAILABLE_MEMORY_H
#define GLINT_BASE_AVAILABLE_MEMORY_H

#include <stdint.h>

// The least of: what the system calls available, what is left in each control group (cached file
// pages count as free there too), and what the limit of the address space leaves (`ulimit -v`).
// n_mapped: bytes of mapped files that the caller counts among what it is going to need. 0:
// unknown.
uint64_t glint_available_memory(uint64_t n_mapped);
// The first two of these, from the files below root ("" for this machine); for tests.
uint64_t glint_available_memory_in(const char *root);

#endif
