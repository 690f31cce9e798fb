// SPDX-License-Identifier: Apache-2.0
// siphash.h — SipHash-2-4 (Aumasson, Bernstein 2012): 64 bits of a byte string under a key of 128.
// Who does not know the key cannot find two strings with the same hash faster than by chance.
#ifndef GLINT_BASE_SIPHASH_H
#define GLINT_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct glint_siphash {
    uint64_t v[4];
    uint64_t n;      // bytes so far
    uint8_t tail[8]; // [n % 8] of them, not mixed in yet
};

// key0 is the key's first eight bytes, little endian, key1 the others.
void glint_siphash_init(struct glint_siphash *hash, uint64_t key0, uint64_t key1);
// Any number of pieces gives the same as all at once.
void glint_siphash_add(struct glint_siphash *hash, const void *data, size_t n);
uint64_t glint_siphash_end(struct glint_siphash *hash);

#endif
